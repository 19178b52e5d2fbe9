//! The list of all resources, alphabetical: the one place where a resource is registered.

mod categories;
mod config;
mod countries;
mod coupons;
mod currencies;
mod customers;
mod inventory;
mod manufacturers;
mod methods;
mod orderhistories;
mod orderitems;
mod orders;
mod orderstatuses;
mod products;
mod reports;
mod taxprofiles;
mod taxrates;
mod variants;
mod vouchers;
mod zones;

pub use reports::Daily;

use crate::plan::Record;
use crate::resource::{Field, Resource};
use crate::value::{Kind, Value};

/// Every resource of the store.
pub static ALL: &[Resource] = &[
    customers::ADDRESSES,
    categories::CATEGORIES,
    config::CONFIG,
    countries::COUNTRIES,
    coupons::COUPONS,
    currencies::CURRENCIES,
    customers::CUSTOMERS,
    inventory::INVENTORY,
    manufacturers::MANUFACTURERS,
    orderhistories::ORDERHISTORIES,
    orderitems::ORDERITEMS,
    orders::ORDERS,
    orderstatuses::ORDERSTATUSES,
    methods::PAYMENTMETHODS,
    products::PRODUCTS,
    reports::REPORTS,
    methods::SHIPPINGMETHODS,
    taxprofiles::TAXPROFILES,
    taxrates::TAXRATES,
    variants::VARIANTS,
    vouchers::VOUCHERS,
    zones::ZONES,
];

/// The resource of this kind.
pub fn find(kind: &str) -> Option<&'static Resource> {
    ALL.iter().find(|resource| resource.kind == kind)
}

/// The fields of all resources that refer to a record and keep it from being deleted, each with
/// the value by which it knows the record.
pub fn referring_to(
    kind: &str,
    record: &Record,
) -> Vec<(&'static Resource, &'static Field, Value)> {
    let mut referring: Vec<(&'static Resource, &'static Field, Value)> = Vec::new();
    for resource in ALL {
        for field in resource.fields().filter(|field| !field.owned && field.joined.is_none()) {
            let value = match field.kind {
                Kind::Key(target) if target == kind => Value::Int(record.key()),
                Kind::Code { of, field, .. } if of == kind => record.value(field).clone(),
                _ => continue,
            };
            // Resources that share a table would count the same rows.
            let counted = |known: &(&Resource, &Field, Value)| {
                (known.0.table, known.1.name) == (resource.table, field.name)
            };
            if !referring.iter().any(counted) {
                referring.push((resource, field, value));
            }
        }
    }
    referring
}
