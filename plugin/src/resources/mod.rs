//! The list of all resources, in alphabetical order: the only place where a resource is registered.
//! Each has a file with its descriptor and its service, which has the rules that a descriptor
//! cannot express.
//!
//! # A new resource
//!
//! 1. A file here with its descriptor, its rules if it has any, and its line in the list below.
//!    `manufacturers.rs` is the shortest.
//! 2. Its table, as a migration for each of the three engines in `plugin/migrations`, which
//!    `store/migrations.rs` lists.
//! 3. In `app/openapi`, what its properties mean (`properties.txt`), and the key of a record of the demo
//!    store with which its operations succeed (`examples.rs`).
//! 4. For the tests, the right that each of its routes needs, in `tests/integration/support/rights.rs`, and
//!    its attributes and filters, in `tests/spec/fields.md`.
//!
//! Its routes, permissions, validation, SQL and schemas, its links and what clients can include, the
//! triggers of the feed and its type there, and the place of its table in the order of `copy` follow
//! from the descriptor. `tests/integration/store/recipe.rs` makes one, and counts the files.

mod categories;
mod changes;
mod config;
mod countries;
mod coupons;
mod currencies;
mod customers;
mod exports;
mod imports;
mod inventory;
mod manufacturers;
mod methods;
mod orders;
mod orderstatuses;
mod privacy;
pub(crate) mod products;
mod reports;
mod route;
mod stockmovements;
mod taxprofiles;
mod taxrates;
mod vouchermovements;
mod vouchers;
mod webhooks;
mod zones;

pub(crate) use exports::exportable;
pub use orders::{FULFIL, MAKE_REFUNDS, pick_list};

use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::service::hooks::Service;

/// Every resource of the store, with the additions of its file to the five operations.
pub static SERVICES: &[Service] = ALL;

const ALL: &[Service] = &[
    Service::of(&customers::ADDRESSES),
    categories::SERVICE,
    changes::SERVICE,
    config::SERVICE,
    Service::of(&countries::COUNTRIES),
    coupons::SERVICE,
    currencies::SERVICE,
    Service::of(&customers::CUSTOMERS),
    exports::SERVICE,
    imports::FAULT_SERVICE,
    imports::SERVICE,
    inventory::SERVICE,
    Service::of(&manufacturers::MANUFACTURERS),
    orders::FULFILMENT_SERVICE,
    orders::HISTORY_SERVICE,
    Service::of(&orders::ORDERITEMS),
    orders::REFUND_SERVICE,
    orders::SERVICE,
    orderstatuses::SERVICE,
    Service::of(&methods::PAYMENTMETHODS),
    privacy::SERVICE,
    products::SERVICE,
    reports::SERVICE,
    orders::SHIPMENT_SERVICE,
    Service::of(&methods::SHIPPINGMETHODS),
    Service::of(&stockmovements::STOCKMOVEMENTS),
    Service::of(&taxprofiles::TAXPROFILES),
    Service::of(&taxrates::TAXRATES),
    products::VARIANT_SERVICE,
    Service::of(&vouchermovements::VOUCHERMOVEMENTS),
    vouchers::SERVICE,
    webhooks::DELIVERY_SERVICE,
    webhooks::SERVICE,
    Service::of(&zones::ZONES),
];

/// The resources without their services.
pub const REGISTRY: Registry = Registry(&RESOURCES);

static RESOURCES: [&Resource; ALL.len()] = {
    let mut resources = [ALL[0].of; ALL.len()];
    let mut position = 0;
    while position < ALL.len() {
        resources[position] = ALL[position].of;
        position += 1;
    }
    resources
};
