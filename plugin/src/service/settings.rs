//! The site's parameters, cached until they change, and the check whether the store accepts a
//! value.

use std::sync::{Arc, PoisonError, RwLock};

use host_interface::HostHandle;

use super::notification;
use crate::error::{Error, Fault, FaultKind};
use crate::model::field::{ENABLED, Handle, PAR, Units, decimal};
use crate::model::parameters::{Parameters, name as of};
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::registry::Registry;
use crate::model::value::Value;
use crate::store::Store;

const RATE: Handle<Units<8>> = decimal("currency_value", 8, 1, i64::MAX).units();

/// The latest parameters from the host.
#[derive(Debug)]
pub struct ParameterCache {
    host: HostHandle,
    known: RwLock<Option<(u64, Arc<Parameters>)>>,
}

impl ParameterCache {
    /// An empty cache.
    pub fn new(host: HostHandle) -> Self {
        Self { host, known: RwLock::new(None) }
    }

    /// The present parameters, which are read again only when the host's revision of them has
    /// changed.
    ///
    /// # Errors
    /// When the host fails to return them, or returns invalid ones.
    pub fn current(&self) -> Result<Arc<Parameters>, Error> {
        let revision = self.host.parameters_revision();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((read_at, parameters)) = known
            && read_at == revision
        {
            return Ok(parameters);
        }
        let parameters = Arc::new(Parameters::read(&self.host.parameters()?)?);
        let known = Some((revision, Arc::clone(&parameters)));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(parameters)
    }
}

/// Checks a value of a parameter that a site wants to set.
///
/// # Errors
/// A fault with the reason if the store cannot work with the value.
pub async fn check(
    name: &str,
    value: &serde_json::Value,
    store: &Store,
    registry: Registry,
) -> Result<(), Error> {
    let refuse = |why: String| Err(Fault::new(FaultKind::Refused, why).into());
    let find = async |kind, condition| find(kind, condition, store, registry).await;
    let status = async |key: &serde_json::Value| {
        let key = Value::Int(key.as_i64().unwrap_or_default());
        find("orderstatuses", Condition::Equals("shop_orderstatus_id", key)).await
    };
    match name {
        of::DEFAULT_CURRENCY => {
            let code = value.as_str().unwrap_or_default();
            let by_code = Condition::Equals("currency_code", Value::Text(code.to_owned()));
            match find("currencies", by_code).await? {
                Some(currency) if !currency.need(&ENABLED)? => {
                    refuse(format!("the currency {code} is disabled"))
                }
                // The rates of all currencies are values of the default one.
                Some(currency) if currency.need(&RATE)? != PAR => {
                    refuse(format!("set the currency_value of {code} to 1 first"))
                }
                Some(_) => Ok(()),
                None => refuse(format!("there is no currency with the code {code:?}")),
            }
        }
        of::INITIAL_ORDER_STATUS | of::SHIPPED_STATUS => match status(value).await? {
            Some(status) if status.need(&ENABLED)? => Ok(()),
            Some(_) => refuse(format!("the order status {value} is disabled")),
            None => refuse(format!("there is no order status with the id {value}")),
        },
        of::REPORT_STATUSES | of::CLOSED_STATUSES => {
            for key in value.as_array().into_iter().flatten() {
                if status(key).await?.is_none() {
                    return refuse(format!("there is no order status with the id {key}"));
                }
            }
            Ok(())
        }
        of::ORDER_MAIL_SUBJECT
        | of::ORDER_MAIL_TEXT
        | of::SHIPMENT_MAIL_SUBJECT
        | of::SHIPMENT_MAIL_TEXT => {
            notification::check(value.as_str().unwrap_or_default()).or_else(refuse)
        }
        _ => Ok(()),
    }
}

/// The record of this kind that a condition on unique values selects.
async fn find(
    kind: &'static str,
    condition: Condition,
    store: &Store,
    registry: Registry,
) -> Result<Option<Record>, Error> {
    let resource = registry.find(kind).ok_or(Error::Contract("no resource is of this kind"))?;
    Ok(store.page(&Page::of_the(resource, condition)).await?.records(resource)?.pop())
}
