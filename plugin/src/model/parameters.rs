//! The store's parameters: their declarations and their values. The host stores them.

use host_interface::{Parameter, ParameterKind};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::Error;

/// The currency of prices in a new store.
pub const DEFAULT_CURRENCY: &str = "EUR";

/// The names of the parameters whose values the store checks itself.
pub(crate) mod name {
    pub(crate) const DEFAULT_CURRENCY: &str = "default_currency";
    pub(crate) const INITIAL_ORDER_STATUS: &str = "initial_order_status";
    pub(crate) const REPORT_STATUSES: &str = "report_statuses";
    pub(crate) const ORDER_MAIL_SUBJECT: &str = "order_mail_subject";
    pub(crate) const ORDER_MAIL_TEXT: &str = "order_mail_text";
    pub(crate) const CLOSED_STATUSES: &str = "closed_statuses";
    pub(crate) const SHIPPED_STATUS: &str = "shipped_status";
    pub(crate) const SHIPMENT_MAIL_SUBJECT: &str = "shipment_mail_subject";
    pub(crate) const SHIPMENT_MAIL_TEXT: &str = "shipment_mail_text";
}

/// The default subject of mails about orders.
pub const DEFAULT_SUBJECT: &str = "{{ store_name }}: your order {{ order_id }} is {{ status }}";

/// The default text of mails about orders.
pub const DEFAULT_TEXT: &str = "\
Hello{% if first_name %} {{ first_name }}{% endif %},

the status of your order {{ order_id }} of {{ created_on }} is now: {{ status }}.
{% if comment %}

{{ comment }}
{% endif %}
{% for item in backordered %}

Not in stock, and sent later: {{ item.quantity }} x {{ item.name or item.sku }}
{% endfor %}

Total: {{ order_total }} {{ currency_code }}
{% if tracking_url %}

Follow your parcel: {{ tracking_url }}
{% endif %}

{{ store_name }}
";

/// The default subject of mails about parcels.
pub const DEFAULT_SHIPMENT_SUBJECT: &str =
    "{{ store_name }}: a parcel of your order {{ order_id }} is on its way";

/// The default text of mails about parcels.
pub const DEFAULT_SHIPMENT_TEXT: &str = "\
Hello{% if first_name %} {{ first_name }}{% endif %},

a parcel of your order {{ order_id }} of {{ created_on }} is on its way.
{% if items %}

{% for item in items %}
{{ item.quantity }} x {{ item.name or item.sku }}
{% endfor %}
{% endif %}
{% if comment %}

{{ comment }}
{% endif %}
{% if tracking_id %}

Number: {{ tracking_id }}{% if carrier %} ({{ carrier }}){% endif %}

{% endif %}
{% if tracking_url %}

Follow your parcel: {{ tracking_url }}
{% endif %}

{{ store_name }}
";

/// The values that the site has set, with defaults for the others.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Parameters {
    /// The code of the currency of prices.
    pub default_currency: String,
    /// The key of the status of new orders.
    pub initial_order_status: i64,
    /// The prefix of invoice numbers.
    pub invoice_prefix: String,
    /// The keys of the statuses of orders that reports count.
    pub report_statuses: Vec<i64>,
    /// The quantity at which a product without a `notify_qty` counts as low in stock.
    pub low_stock_threshold: i64,
    /// The name of the store in mails to its customers.
    pub store_name: String,
    /// The template of the subject of mails about orders.
    pub order_mail_subject: String,
    /// The template of the text of mails about orders.
    pub order_mail_text: String,
    /// The keys of the statuses of orders that a warehouse has nothing to do with.
    pub closed_statuses: Vec<i64>,
    /// The key of the status of an order once nothing of it is open.
    pub shipped_status: i64,
    /// The template of the subject of mails about parcels.
    pub shipment_mail_subject: String,
    /// The template of the text of mails about parcels.
    pub shipment_mail_text: String,
    /// Whether clients must send `If-Match` with a PATCH or DELETE.
    #[serde(deserialize_with = "flag")]
    pub require_if_match: bool,
    /// Whether clients must send `Idempotency-Key` with a refund.
    #[serde(deserialize_with = "flag")]
    pub require_refund_key: bool,
    /// How many days the key and the answer of a write are kept.
    pub idempotency_days: i64,
    /// How many days deletions are kept in the feed of changes.
    pub change_days: i64,
    /// How many lines of an import are written in one transaction at most.
    pub import_lines: i64,
    /// After how many months orders with one of the closed statuses lose what is personal; 0 is never.
    pub retention_closed_months: i64,
    /// After how many months orders with any other status lose what is personal; 0 is never.
    pub retention_open_months: i64,
    /// After how many months addresses of customers without orders are removed; 0 is never.
    pub retention_customers_months: i64,
    /// All parameters with their values, as clients see them: without the values of secrets.
    #[serde(skip)]
    pub all: Map<String, Value>,
}

impl Parameters {
    /// Reads the parameters that the host passes. One that it does not pass has its default.
    ///
    /// # Errors
    /// When they are not what was declared.
    pub fn read(text: &str) -> Result<Self, Error> {
        let defaults = declared().into_iter().map(|of| (of.name, of.default));
        let mut all: Map<String, Value> = defaults.collect();
        let passed: Map<String, Value> = serde_json::from_str(text)?;
        all.extend(passed);
        let mut parameters = Parameters::deserialize(&Value::Object(all.clone()))?;
        parameters.all = shown(&declared(), all);
        Ok(parameters)
    }
}

/// The values as they are shown: that of a secret is null, whether it is set or not.
fn shown(declared: &[Parameter], mut all: Map<String, Value>) -> Map<String, Value> {
    for secret in declared.iter().filter(|of| of.kind == ParameterKind::Secret) {
        all.insert(secret.name.clone(), Value::Null);
    }
    all
}

/// Reads a flag, which is 0 or 1.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    u8::deserialize(deserializer).map(|number| number == 1)
}

/// The parameters that a site may set.
pub fn declared() -> Vec<Parameter> {
    use ParameterKind::{Flag, Integer, IntegerList, Text};
    vec![
        Parameter::new(
            name::DEFAULT_CURRENCY,
            Text,
            DEFAULT_CURRENCY,
            "The code of the currency that prices are in. It cannot be deleted.",
        )
        .max_length(3),
        Parameter::new(
            name::INITIAL_ORDER_STATUS,
            Integer,
            5,
            "The id of the status of an order that is created without one.",
        )
        .at_least(1),
        Parameter::new("invoice_prefix", Text, "", "The prefix of invoice numbers.").max_length(32),
        Parameter::new(
            name::REPORT_STATUSES,
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
            name::ORDER_MAIL_SUBJECT,
            Text,
            DEFAULT_SUBJECT,
            "The template of the subject of mails about orders.",
        )
        .max_length(500),
        Parameter::new(
            name::ORDER_MAIL_TEXT,
            Text,
            DEFAULT_TEXT,
            "The template of the text of mails about orders. It may use store_name, order_id, \
             created_on, status, comment, first_name, last_name, email, order_total, \
             currency_code, of the latest parcel tracking_id, carrier and tracking_url, and \
             backordered, each with quantity, sku and name.",
        )
        .max_length(20_000),
        Parameter::new(
            name::CLOSED_STATUSES,
            IntegerList,
            vec![3, 6, 7, 8],
            "The ids of the order statuses with which an order is not on the pick list.",
        )
        .at_least(1)
        .max_length(100),
        Parameter::new(
            name::SHIPPED_STATUS,
            Integer,
            7,
            "The id of the status that an order gets when everything that was ordered is shipped.",
        )
        .at_least(1),
        Parameter::new(
            name::SHIPMENT_MAIL_SUBJECT,
            Text,
            DEFAULT_SHIPMENT_SUBJECT,
            "The template of the subject of mails about parcels.",
        )
        .max_length(500),
        Parameter::new(
            name::SHIPMENT_MAIL_TEXT,
            Text,
            DEFAULT_SHIPMENT_TEXT,
            "The template of the text of mails about parcels. It may use what that of mails about \
             orders may, and items, each with quantity, sku and name.",
        )
        .max_length(20_000),
        Parameter::new(
            "require_if_match",
            Flag,
            0,
            "Whether a PATCH or DELETE must have the header If-Match, so that no client overwrites \
             the change of another one unknowingly.",
        ),
        Parameter::new(
            "require_refund_key",
            Flag,
            0,
            "Whether a refund and its reversal must have the header Idempotency-Key, so that none is \
             recorded twice.",
        ),
        Parameter::new(
            "idempotency_days",
            Integer,
            7,
            "How many days the answer to a write with the header Idempotency-Key is kept.",
        )
        .at_least(1)
        .at_most(30),
        Parameter::new(
            "change_days",
            Integer,
            90,
            "How many days the feed of changes keeps deletions. A client that has not read it for \
             longer starts over.",
        )
        .at_least(1)
        .at_most(3_650),
        Parameter::new(
            "import_lines",
            Integer,
            500,
            "How many lines of an import are written in one transaction at most. More of them take less \
             time, and other writes wait longer.",
        )
        .at_least(1)
        .at_most(10_000),
        months(
            "retention_closed_months",
            "After how many months orders with a status of closed_statuses lose what is personal; 0 is \
             never. References, amounts and tax stay.",
        ),
        months(
            "retention_open_months",
            "After how many months orders with any other status lose what is personal; 0 is never.",
        ),
        months(
            "retention_customers_months",
            "After how many months without a change the addresses of customers who have no orders are \
             removed; 0 is never.",
        ),
    ]
}

/// A number of months, which is off unless the site sets it.
fn months(name: &str, description: &str) -> Parameter {
    Parameter::new(name, ParameterKind::Integer, 0, description).at_least(0).at_most(1_200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_as_null() {
        let text = Parameter::new("name", ParameterKind::Text, "", "");
        let declared = [text, Parameter::secret("key", ""), Parameter::secret("other", "")];
        let all = serde_json::json!({"name": "Lamps", "key": "s3cret"});
        let seen = shown(&declared, all.as_object().cloned().unwrap_or_default());
        let expected = serde_json::json!({"name": "Lamps", "key": null, "other": null});
        assert_eq!(Value::Object(seen), expected);
    }

    #[test]
    fn a_parameter_that_the_host_does_not_pass_has_its_default() -> Result<(), Error> {
        let read = Parameters::read("{}")?;
        let found = (&*read.default_currency, read.initial_order_status, read.require_if_match);
        assert_eq!(found, ("EUR", 5, false));
        assert_eq!(read.all.len(), declared().len());
        let read = Parameters::read(r#"{"default_currency": "CHF", "require_if_match": 1}"#)?;
        let found = (&*read.default_currency, read.initial_order_status, read.require_if_match);
        assert_eq!(found, ("CHF", 5, true));
        assert!(Parameters::read(r#"{"default_currency": 1}"#).is_err());
        Ok(())
    }
}
