//! Examples that are true of the demo store of a first start: whoever sends those of an operation to
//! it succeeds, whatever was sent before. So each change has a record of its own, and each record that
//! is deleted is one to which no other refers.

use serde_json::{Value, json};

use super::properties;
use super::schema;
use crate::model::field::Field;
use crate::model::resource::Resource;
use crate::model::value::Kind;

/// The keys in paths and bodies that are not 1, by the name of an operation or the first part of it.
const KEYS: &[(&str, i64)] = &[
    ("addresses.list_of_customers", 0),
    ("categories", 9),
    ("categories.delete", 23),
    ("countries", 15),
    ("countries.delete", 9),
    ("coupons", 2),
    ("coupons.delete", 12),
    ("currencies", 42),
    ("currencies.delete", 1),
    ("customers.delete", 250),
    ("inventory.adjust", 4),
    ("inventory.create", 300),
    ("inventory.delete", 3),
    ("inventory.update", 2),
    ("manufacturers", 2),
    ("manufacturers.delete", 25),
    ("orderfulfilments.show", 1200),
    ("orderfulfilments.status", 1199),
    ("orderfulfilments.tracking", 1198),
    ("orderhistories.create", 1200),
    ("orderrefunds.create", 1190),
    ("orderrefunds.reverse", 48),
    ("orderrefunds.reverse.refund_id", 3),
    ("orders.delete", 4),
    ("orders.list_of_customers", 0),
    ("orders.update", 3),
    ("orderstatuses.delete", 9),
    ("paymentmethods", 4),
    ("paymentmethods.delete", 7),
    ("products.delete", 299),
    ("products.update", 5),
    ("shipments.create", 1197),
    ("shipments.delete", 9),
    ("shipments.update", 8),
    ("shippingmethods.delete", 3),
    ("taxprofiles.delete", 3),
    ("taxrates.delete", 3),
    ("variants", 303),
    ("variants.create", 17),
    ("variants.delete", 306),
    ("variants.list_of_products", 7),
    ("variants.update", 304),
    ("vouchers.adjust", 2),
    ("vouchers.delete", 40),
    ("vouchers.update", 3),
    ("webhooks.delete", 2),
    ("webhooks.rotate", 3),
    ("webhooks.test", 4),
    ("webhooks.update", 5),
    ("zones", 189),
    ("zones.delete", 5046),
    ("zones.list_of_countries", 15),
];

/// The key of the record that an operation is about.
pub(super) fn key(operation: &str) -> i64 {
    let group = operation.split('.').next().unwrap_or_default();
    let of = |name: &str| KEYS.iter().find(|(known, _)| *known == name).map(|(_, key)| *key);
    of(operation).or_else(|| of(group)).unwrap_or(1)
}

/// The SKU of a product.
pub(super) const SKU: &str = "STR-00001";

/// A value of a field of a resource, or of a view of it.
pub(super) fn value(resource: &Resource, view: &str, field: &Field) -> Value {
    let property = properties::find(view, resource.kind, field.name);
    of_text(field, property.and_then(|of| of.example))
}

/// A value of a field of a new record: where it must be unique, another one than that of records in
/// answers.
pub(super) fn new_value(resource: &Resource, view: &str, field: &Field) -> Value {
    let property = properties::find(view, resource.kind, field.name);
    of_text(field, property.and_then(|of| of.new.or(of.example)))
}

fn of_text(field: &Field, text: Option<&str>) -> Value {
    let number = || text.and_then(|text| text.parse::<i64>().ok());
    match (field.kind, text) {
        (_, None) => schema::example_of(field),
        (Kind::Key(_), _) => json!(number()),
        (Kind::Json, Some(text)) => serde_json::from_str(text).unwrap_or_default(),
        (_, Some(text)) => json!(text),
    }
}
