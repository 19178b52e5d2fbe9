//! Voucher movements: the ledger of a voucher. Entries are only ever added, and are deleted with their
//! voucher.

use crate::model::field::{Handle, choice, created_on, int, money, signed_money, text, user};
use crate::model::personal::Personal;
use crate::model::presentation::Presentation;
use crate::model::resource::{Nested, Order, Permissions, Resource};

pub(crate) static VOUCHERMOVEMENTS: Resource = Resource {
    kind: "vouchermovements",
    title: Some("Voucher movements"),
    singular: "voucher movement",
    table: "shop_voucher_ledger",
    key: "entry_id",
    list: &[
        int("voucher_id"),
        ADJUSTMENT_TYPE.field,
        signed_money("amount"),
        money("balance_before"),
        money("balance_after"),
        REASON.field,
        NOTE.field,
        user("user_id"),
        text("token_name", 255),
        created_on(),
    ],
    crud: false,
    order: Order { field: None, descending: true },
    nested: &[Nested { parent: "vouchers", segment: "ledger", by: "voucher_id", filters: &[] }],
    versioned: false,
    folds: false,
    permissions: Permissions::Of("vouchers"),
    shown: Presentation {
        label: &["created_on"],
        columns: &["created_on", "adjustment_type", "amount", "balance_after", "reason"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

pub(super) const ADJUSTMENT_TYPE: Handle<String> =
    choice("adjustment_type", &["credit", "debit", "correction"]).required().words();
pub(super) const REASON: Handle<String> =
    text("reason", 255).required().personal(Personal::FreeText).words();
pub(super) const NOTE: Handle<String> = text("note", 65_535).personal(Personal::FreeText).words();
