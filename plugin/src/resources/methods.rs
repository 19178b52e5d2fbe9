//! Shipping and payment methods: two kinds of store extensions in one table, so that their ids are
//! unique across both.

use crate::model::field::{flag, int, json, name, text};
use crate::model::presentation::{Group, Presentation};
use crate::model::resource::{Resource, unique};

/// The two kinds of methods in the table.
const SHIPPING: i64 = 1;
const PAYMENT: i64 = 2;

pub(crate) static SHIPPINGMETHODS: Resource = Resource {
    kind: "shippingmethods",
    title: Some("Shipping methods"),
    singular: "shipping method",
    fixed: &[("method_kind", SHIPPING)],
    ..METHOD
}
.checked();

pub(crate) static PAYMENTMETHODS: Resource = Resource {
    kind: "paymentmethods",
    title: Some("Payment methods"),
    singular: "payment method",
    fixed: &[("method_kind", PAYMENT)],
    ..METHOD
}
.checked();

static METHOD: Resource = Resource {
    table: "shop_methods",
    impersonal: Some("how a store works"),
    key: "extension_id",
    list: &[
        text("name", 255).required(),
        name("element", 255).required(),
        flag("enabled"),
        int("ordering"),
    ],
    detail: &[json("params")],
    unique: &[unique(&["element"])],
    shown: Presentation {
        group: Some(Group::Settings),
        label: &["name"],
        columns: &["name", "element", "enabled", "ordering"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();
