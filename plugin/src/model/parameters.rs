//! The store's parameters: what a site may set, and what it has set.

use std::sync::{Arc, PoisonError, RwLock};

use host_interface::{HostHandle, Parameter, ParameterKind};
use serde::Deserialize;

use crate::error::{Error, Fault, FaultKind};
use crate::model::question::{Condition, Page, Record};
use crate::model::value::Value;
use crate::resources;
use crate::service::notification;
use crate::store::Store;

/// The currency that a new store's prices are in.
pub const DEFAULT_CURRENCY: &str = "EUR";

/// What the site has set, defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Parameters {
    /// The code of the currency that prices are in.
    pub default_currency: String,
    /// The key of the status of new orders.
    pub initial_order_status: i64,
    /// The prefix of invoice numbers.
    pub invoice_prefix: String,
    /// The keys of the statuses whose orders reports count.
    pub report_statuses: Vec<i64>,
    /// Up to which quantity little is left of a product that says nothing of its own.
    pub low_stock_threshold: i64,
    /// What the store calls itself to its customers.
    pub store_name: String,
    /// The template of the subject of mails about orders.
    pub order_mail_subject: String,
    /// The template of the text of mails about orders.
    pub order_mail_text: String,
    /// All of them, as the host gave them.
    #[serde(skip)]
    pub all: serde_json::Map<String, serde_json::Value>,
}

impl Parameters {
    fn read(text: &str) -> Result<Self, Error> {
        let all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)?;
        let mut parameters: Parameters = serde_json::from_str(text)?;
        parameters.all = all;
        Ok(parameters)
    }
}

/// What a site may set.
pub fn declared() -> Vec<Parameter> {
    use ParameterKind::{Integer, IntegerList, Text};
    vec![
        Parameter::new(
            "default_currency",
            Text,
            DEFAULT_CURRENCY,
            "The code of the currency that prices are in. It cannot be deleted.",
        )
        .max_length(3),
        Parameter::new(
            "initial_order_status",
            Integer,
            5,
            "The id of the status of an order that is created without one.",
        )
        .at_least(1),
        Parameter::new("invoice_prefix", Text, "", "The prefix of invoice numbers.").max_length(32),
        Parameter::new(
            "report_statuses",
            IntegerList,
            vec![1, 2, 7, 8],
            "The ids of the order statuses that reports count.",
        )
        .at_least(1)
        .max_length(100),
        Parameter::new(
            "low_stock_threshold",
            Integer,
            2,
            "The quantity at which a product without a notify_qty counts as low in stock.",
        )
        .at_least(0)
        .at_most(i32::MAX),
        Parameter::new(
            "store_name",
            Text,
            "Online store",
            "The name of the store in mails to its customers.",
        )
        .max_length(100),
        Parameter::new(
            "order_mail_subject",
            Text,
            notification::DEFAULT_SUBJECT,
            "The template of the subject of mails about orders.",
        )
        .max_length(500),
        Parameter::new(
            "order_mail_text",
            Text,
            notification::DEFAULT_TEXT,
            "The template of the text of mails about orders. It may use store_name, order_id, \
             created_on, status, comment, first_name, last_name, email, order_total and \
             currency_code.",
        )
        .max_length(20_000),
    ]
}

/// Whether the store can work with a value that a site wants to set.
///
/// # Errors
/// When it cannot: a fault that says why. Those of the database.
pub async fn check(name: &str, value: &serde_json::Value, store: &Store) -> Result<(), Error> {
    let refuse = |why: String| Err(Fault::new(FaultKind::Refused, why).into());
    match name {
        "default_currency" => {
            let code = value.as_str().unwrap_or_default();
            let by_code = Condition::Equals("currency_code", Value::Text(code.to_owned()));
            match find(store, "currencies", by_code).await? {
                Some(currency) if currency.value("enabled").int() == 1 => Ok(()),
                Some(_) => refuse(format!("the currency {code} is disabled")),
                None => refuse(format!("there is no currency with the code {code:?}")),
            }
        }
        "initial_order_status" => match status(value, store).await? {
            Some(status) if status.value("enabled").int() == 1 => Ok(()),
            Some(_) => refuse(format!("the order status {value} is disabled")),
            None => refuse(format!("there is no order status with the id {value}")),
        },
        "report_statuses" => {
            for key in value.as_array().into_iter().flatten() {
                if status(key, store).await?.is_none() {
                    return refuse(format!("there is no order status with the id {key}"));
                }
            }
            Ok(())
        }
        "order_mail_subject" | "order_mail_text" => {
            notification::check(value.as_str().unwrap_or_default()).or_else(refuse)
        }
        _ => Ok(()),
    }
}

async fn status(key: &serde_json::Value, store: &Store) -> Result<Option<Record>, Error> {
    find(store, "orderstatuses", Condition::Key(key.as_i64().unwrap_or_default())).await
}

/// The record of this kind that satisfies a condition which only one can.
async fn find(
    store: &Store,
    kind: &'static str,
    condition: Condition,
) -> Result<Option<Record>, Error> {
    let resource = resources::find(kind).ok_or(Error::Contract("no resource is of this kind"))?;
    let page = Page { conditions: vec![condition], ..Page::of_one(resource, 0) };
    Ok(Record::all(resource, &store.page(&page).await?)?.pop())
}

/// The parameters as the host last gave them.
#[derive(Debug)]
pub struct ParameterCache {
    host: HostHandle,
    known: RwLock<Option<(u64, Arc<Parameters>)>>,
}

impl ParameterCache {
    /// Nothing is known yet.
    pub fn new(host: HostHandle) -> Self {
        Self { host, known: RwLock::new(None) }
    }

    /// The parameters in force: read again only when the host says that they have changed.
    ///
    /// # Errors
    /// When the host cannot give them, or gives something else.
    pub fn current(&self) -> Result<Arc<Parameters>, Error> {
        let revision = self.host.parameters_revision();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((of, parameters)) = known
            && of == revision
        {
            return Ok(parameters);
        }
        let parameters = Arc::new(Parameters::read(&self.host.parameters()?)?);
        let known = Some((revision, Arc::clone(&parameters)));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(parameters)
    }
}
