//! The table of all routes of the store, with the permission that each of them needs. What is tested for every role, on
//! the API and in the administration, follows from it.

use Needs::{Configuration, Create, Delete, Edit, Pack, Person, Refund, See, Token, View};

/// The permission that a route needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    View,
    Create,
    Edit,
    Delete,
    /// The permission to see orders, or that to fulfil them.
    See,
    /// The permission to edit orders, or that to fulfil them.
    Pack,
    /// The permission to record refunds, which those who edit orders do not have.
    Refund,
    /// The permission to view the store's configuration, which a rule on the store does not cover.
    Configuration,
    /// The permission to copy and erase everything about a person.
    Person,
    /// Only a valid token.
    Token,
}

/// All routes: method, path with `{id}`, permission.
pub const ROUTES: &[(&str, &str, Needs)] = &[
    ("GET", "/addresses/{id}", View),
    ("GET", "/categories", View),
    ("POST", "/categories", Create),
    ("GET", "/categories/{id}", View),
    ("PATCH", "/categories/{id}", Edit),
    ("DELETE", "/categories/{id}", Delete),
    // Of each type that is named, or of at least one.
    ("GET", "/changes", View),
    ("GET", "/countries", View),
    ("POST", "/countries", Create),
    ("GET", "/countries/{id}", View),
    ("PATCH", "/countries/{id}", Edit),
    ("DELETE", "/countries/{id}", Delete),
    ("GET", "/countries/{id}/zones", View),
    ("GET", "/coupons", View),
    ("POST", "/coupons", Create),
    ("GET", "/coupons/{id}", View),
    ("PATCH", "/coupons/{id}", Edit),
    ("DELETE", "/coupons/{id}", Delete),
    ("GET", "/currencies", View),
    ("POST", "/currencies", Create),
    ("GET", "/currencies/{id}", View),
    ("PATCH", "/currencies/{id}", Edit),
    ("DELETE", "/currencies/{id}", Delete),
    ("GET", "/customers", View),
    ("POST", "/customers", Create),
    ("GET", "/customers/{id}", View),
    ("PATCH", "/customers/{id}", Edit),
    ("DELETE", "/customers/{id}", Delete),
    ("GET", "/customers/{id}/addresses", View),
    ("GET", "/customers/{id}/orders", View),
    ("GET", "/exports/{type}", View),
    ("GET", "/fulfilments", See),
    // Of the types that can be viewed.
    ("GET", "/imports", View),
    // With the mode that creates.
    ("POST", "/imports", Create),
    ("GET", "/imports/{id}", View),
    ("GET", "/imports/{id}/faults", View),
    ("GET", "/inventory", View),
    ("POST", "/inventory", Create),
    ("GET", "/inventory/{id}", View),
    ("PATCH", "/inventory/{id}", Edit),
    ("DELETE", "/inventory/{id}", Delete),
    ("POST", "/inventory/{id}/adjust", Edit),
    ("GET", "/inventory/{id}/ledger", View),
    ("POST", "/inventory/adjust", Edit),
    ("GET", "/manufacturers", View),
    ("POST", "/manufacturers", Create),
    ("GET", "/manufacturers/{id}", View),
    ("PATCH", "/manufacturers/{id}", Edit),
    ("DELETE", "/manufacturers/{id}", Delete),
    ("GET", "/orders", View),
    ("POST", "/orders", Create),
    ("GET", "/orders/{id}", View),
    ("PATCH", "/orders/{id}", Edit),
    ("DELETE", "/orders/{id}", Delete),
    ("GET", "/orders/{id}/fulfilment", See),
    ("GET", "/orders/{id}/items", View),
    ("GET", "/orders/{id}/history", View),
    ("POST", "/orders/{id}/history", Edit),
    ("GET", "/orders/{id}/refunds", View),
    ("POST", "/orders/{id}/refunds", Refund),
    ("POST", "/orders/{id}/refunds/{refund_id}/reverse", Refund),
    ("GET", "/orders/{id}/shipments", See),
    ("POST", "/orders/{id}/shipments", Pack),
    ("POST", "/orders/{id}/status", Pack),
    ("POST", "/orders/{id}/tracking", Pack),
    ("GET", "/orderhistories/{id}", View),
    ("GET", "/orderitems/{id}", View),
    ("GET", "/orderrefunds", View),
    ("GET", "/orderrefunds/{id}", View),
    ("GET", "/orderstatuses", View),
    ("POST", "/orderstatuses", Create),
    ("GET", "/orderstatuses/{id}", View),
    ("PATCH", "/orderstatuses/{id}", Edit),
    ("DELETE", "/orderstatuses/{id}", Delete),
    ("GET", "/paymentmethods", View),
    ("POST", "/paymentmethods", Create),
    ("GET", "/paymentmethods/{id}", View),
    ("PATCH", "/paymentmethods/{id}", Edit),
    ("DELETE", "/paymentmethods/{id}", Delete),
    ("POST", "/privacy/export", Person),
    ("POST", "/privacy/erase", Person),
    ("GET", "/products", View),
    ("POST", "/products", Create),
    ("GET", "/products/{id}", View),
    ("PATCH", "/products/{id}", Edit),
    ("DELETE", "/products/{id}", Delete),
    ("GET", "/products/{id}/variants", View),
    ("POST", "/products/{id}/variants", Create),
    ("GET", "/reports/customers", View),
    ("GET", "/reports/inventory", View),
    ("GET", "/reports/products", View),
    ("GET", "/reports/sales", View),
    ("GET", "/shipments/{id}", See),
    ("PATCH", "/shipments/{id}", Pack),
    ("DELETE", "/shipments/{id}", Pack),
    ("GET", "/shippingmethods", View),
    ("POST", "/shippingmethods", Create),
    ("GET", "/shippingmethods/{id}", View),
    ("PATCH", "/shippingmethods/{id}", Edit),
    ("DELETE", "/shippingmethods/{id}", Delete),
    ("GET", "/taxprofiles", View),
    ("POST", "/taxprofiles", Create),
    ("GET", "/taxprofiles/{id}", View),
    ("PATCH", "/taxprofiles/{id}", Edit),
    ("DELETE", "/taxprofiles/{id}", Delete),
    ("GET", "/taxrates", View),
    ("POST", "/taxrates", Create),
    ("GET", "/taxrates/{id}", View),
    ("PATCH", "/taxrates/{id}", Edit),
    ("DELETE", "/taxrates/{id}", Delete),
    ("GET", "/variants", View),
    ("GET", "/variants/{id}", View),
    ("PATCH", "/variants/{id}", Edit),
    ("DELETE", "/variants/{id}", Delete),
    ("GET", "/variants/{id}/ledger", View),
    ("GET", "/vouchers", View),
    ("POST", "/vouchers", Create),
    ("GET", "/vouchers/{id}", View),
    ("PATCH", "/vouchers/{id}", Edit),
    ("DELETE", "/vouchers/{id}", Delete),
    ("GET", "/webhooks", View),
    ("POST", "/webhooks", Create),
    ("GET", "/webhooks/{id}", View),
    ("PATCH", "/webhooks/{id}", Edit),
    ("DELETE", "/webhooks/{id}", Delete),
    ("GET", "/webhooks/{id}/deliveries", View),
    ("POST", "/webhooks/{id}/replay", Edit),
    ("POST", "/webhooks/{id}/rotate", Edit),
    ("POST", "/webhooks/{id}/test", Edit),
    ("GET", "/zones", View),
    ("POST", "/zones", Create),
    ("GET", "/zones/{id}", View),
    ("PATCH", "/zones/{id}", Edit),
    ("DELETE", "/zones/{id}", Delete),
    ("POST", "/vouchers/{id}/adjust", Edit),
    ("GET", "/vouchers/{id}/ledger", View),
    ("GET", "/vouchers/mine", Token),
    ("GET", "/config", Configuration),
];

/// An id without a record.
pub const NO_RECORD: &str = "999999999";

/// A path of the table with an id without a record, and with a type.
pub fn real(path: &str) -> String {
    let query = if path == "/imports" { "?type=zones&mode=create" } else { "" };
    let path = path.replace("{id}", NO_RECORD).replace("{refund_id}", NO_RECORD);
    path.replace("{type}", "zones") + query
}

/// The status of a permitted request with an empty body for a missing record.
pub fn permitted(method: &str, path: &str) -> u16 {
    match method {
        // A list below a record that does not exist is empty.
        "GET" if !path.ends_with("{id}") && !path.ends_with("/fulfilment") => 200,
        // A missing record is reported before a missing field.
        "POST" if path.contains("{id}") => 404,
        "POST" => 400,
        _ => 404,
    }
}
