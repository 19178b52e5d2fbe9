//! The list of all resources, alphabetical: the one place where a resource is registered.

mod categories;
mod countries;
mod coupons;
mod currencies;
mod customers;
mod inventory;
mod manufacturers;
mod methods;
mod orderstatuses;
mod products;
mod taxprofiles;
mod taxrates;
mod variants;
mod zones;

use crate::resource::{Field, Resource};
use crate::value::Kind;

/// Every resource of the store.
pub static ALL: &[Resource] = &[
    customers::ADDRESSES,
    categories::CATEGORIES,
    countries::COUNTRIES,
    coupons::COUPONS,
    currencies::CURRENCIES,
    customers::CUSTOMERS,
    inventory::INVENTORY,
    manufacturers::MANUFACTURERS,
    orderstatuses::ORDERSTATUSES,
    methods::PAYMENTMETHODS,
    products::PRODUCTS,
    methods::SHIPPINGMETHODS,
    taxprofiles::TAXPROFILES,
    taxrates::TAXRATES,
    variants::VARIANTS,
    zones::ZONES,
];

/// The resource of this kind.
pub fn find(kind: &str) -> Option<&'static Resource> {
    ALL.iter().find(|resource| resource.kind == kind)
}

/// The fields of all resources that refer to records of this kind.
pub fn referring_to(kind: &str) -> impl Iterator<Item = (&'static Resource, &'static Field)> {
    ALL.iter().flat_map(move |resource| {
        let refers = move |field: &&Field| {
            !field.owned && matches!(field.kind, Kind::Key(target) if target == kind)
        };
        resource.fields().filter(refers).map(move |field| (resource, field))
    })
}
