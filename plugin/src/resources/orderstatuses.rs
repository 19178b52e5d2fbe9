//! Order statuses. The core ones, which every store has, stay and stay enabled.

use crate::error::{Fault, FaultKind};
use crate::model::parameters::Parameters;
use crate::model::question::Record;
use crate::model::resource::{Complaint, Resource, flag, text};

pub(super) const ORDERSTATUSES: Resource = Resource {
    kind: "orderstatuses",
    title: Some("Order statuses"),
    singular: "order status",
    table: "shop_orderstatuses",
    key: "shop_orderstatus_id",
    list: &[
        text("orderstatus_name", 64).required(),
        flag("orderstatus_core").read_only().default(0),
        flag("enabled"),
    ],
    check: core_stays_enabled,
    deletable: core_stays,
    changeable: the_status_of_new_orders_stays_enabled,
    ..Resource::CRUD
};

fn is_core(status: &Record) -> bool {
    status.value("orderstatus_core").int() == 1
}

fn core_stays_enabled(status: &Record) -> Vec<Complaint> {
    match is_core(status) && status.value("enabled").int() == 0 {
        true => vec![("enabled", "A core order status cannot be disabled.".to_owned())],
        false => Vec::new(),
    }
}

fn core_stays(status: &Record, parameters: &Parameters) -> Result<(), Fault> {
    let refuse = |why: &str| Err(Fault::new(FaultKind::Refused, why));
    if is_core(status) {
        return refuse("A core order status cannot be deleted.");
    }
    match status.key() == parameters.initial_order_status {
        true => refuse("The status of new orders cannot be deleted."),
        false => Ok(()),
    }
}

fn the_status_of_new_orders_stays_enabled(
    before: &Record,
    after: &Record,
    parameters: &Parameters,
) -> Vec<Complaint> {
    let disabled = before.value("enabled").int() == 1 && after.value("enabled").int() == 0;
    match disabled && before.key() == parameters.initial_order_status {
        true => vec![("enabled", "The status of new orders cannot be disabled.".to_owned())],
        false => Vec::new(),
    }
}
