//! The store's parameters: what a site may set, and what it has set.

use std::sync::{Arc, PoisonError, RwLock};

use host_interface::{HostHandle, Parameter, ParameterKind};
use serde::Deserialize;

use crate::error::Error;

/// The currency that a new store's prices are in.
pub const DEFAULT_CURRENCY: &str = "EUR";

/// What the site has set, defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Parameters {
    /// The code of the currency that prices are in.
    pub default_currency: String,
    /// The key of the status of new orders.
    pub initial_order_status: i64,
    /// What stands before the number of an invoice.
    pub invoice_prefix: String,
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
    vec![
        Parameter::new(
            "default_currency",
            ParameterKind::Text,
            DEFAULT_CURRENCY,
            "The code of the currency that prices are in. It cannot be deleted.",
        ),
        Parameter::new(
            "initial_order_status",
            ParameterKind::Integer,
            5,
            "The id of the status that an order has where its creator names none.",
        ),
        Parameter::new(
            "invoice_prefix",
            ParameterKind::Text,
            "",
            "What stands before the number of an invoice, at most 32 characters.",
        ),
    ]
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
