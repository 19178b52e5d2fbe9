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
mod orders;
mod orderstatuses;
pub(crate) mod products;
mod reports;
mod taxprofiles;
mod taxrates;
mod variants;
mod vouchers;
mod zones;

use crate::model::question::Record;
use crate::model::resource::{Field, Resource};
use crate::model::value::{Kind, Value};

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
    orders::ORDERHISTORIES,
    orders::ORDERITEMS,
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

/// A field by which records of a resource refer to a record.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What refers to it.
    pub resource: &'static Resource,
    /// By which field.
    pub field: &'static Field,
    /// The value by which the field knows the record.
    pub value: Value,
    /// The column of the record that must stay as it is for the sake of the reference, where that is
    /// not the key alone, which always stays.
    pub relies_on: Option<&'static str>,
}

/// The fields of all resources that refer to a record and keep it from being deleted.
pub fn referring_to(kind: &str, record: &Record) -> Vec<Reference> {
    let mut referring: Vec<Reference> = Vec::new();
    for resource in ALL {
        for field in resource.fields().filter(|field| !field.owned && field.joined.is_none()) {
            let (value, relies_on) = match field.kind {
                Kind::Key(target) if target == kind => (Value::Int(record.key()), field.within),
                Kind::Code { of, field, .. } if of == kind => {
                    (record.value(field).clone(), Some(field))
                }
                _ => continue,
            };
            // Resources that share a table would count the same rows.
            let counted = |known: &Reference| {
                (known.resource.table, known.field.name) == (resource.table, field.name)
            };
            if !referring.iter().any(counted) {
                referring.push(Reference { resource, field, value, relies_on });
            }
        }
    }
    referring
}
