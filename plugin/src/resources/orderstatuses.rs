//! Order statuses. The core ones, which every store has, can be neither deleted nor disabled.

use crate::error::{Error, Fault, FaultKind};
use crate::model::field::{Complaint, ENABLED, Handle, flag, text};
use crate::model::parameters::Parameters;
use crate::model::presentation::{Group, Presentation};
use crate::model::record::Record;
use crate::model::resource::Resource;
use crate::service::hooks::Service;

pub(crate) static ORDERSTATUSES: Resource = Resource {
    kind: "orderstatuses",
    title: Some("Order statuses"),
    singular: "order status",
    table: "shop_orderstatuses",
    impersonal: Some("how a store works"),
    key: "shop_orderstatus_id",
    list: &[NAME.field, CORE.field, ENABLED.field],
    shown: Presentation {
        group: Some(Group::Settings),
        label: &["orderstatus_name"],
        columns: &["orderstatus_name", "orderstatus_core", "enabled"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service {
    check: core_stays_enabled,
    deletable: core_stays,
    changeable: what_the_site_uses_stays_enabled,
    ..Service::of(&ORDERSTATUSES)
};

/// The name that customers see.
pub(super) const NAME: Handle<String> = text("orderstatus_name", 64).required().words();
const CORE: Handle<bool> = flag("orderstatus_core").read_only().default(0).truth();

fn core_stays_enabled(status: &Record) -> Result<Vec<Complaint>, Error> {
    let core = status.get(&CORE)? == Some(true);
    Ok(if core && status.get(&ENABLED)? == Some(false) {
        vec![(ENABLED.name, "A core order status cannot be disabled.".to_owned())]
    } else {
        Vec::new()
    })
}

fn core_stays(status: &Record, parameters: &Parameters) -> Result<(), Error> {
    let refuse = |why: &str| Err(Fault::new(FaultKind::Refused, why).into());
    if status.need(&CORE)? {
        return refuse("A core order status cannot be deleted.");
    }
    match used_as(status, parameters) {
        Some(what) => refuse(&format!("The status of {what} orders cannot be deleted.")),
        None => Ok(()),
    }
}

/// What the site's parameters use a status for.
fn used_as(status: &Record, parameters: &Parameters) -> Option<&'static str> {
    let uses = [("new", parameters.initial_order_status), ("shipped", parameters.shipped_status)];
    uses.into_iter().find_map(|(what, key)| (status.key() == key).then_some(what))
}

fn what_the_site_uses_stays_enabled(
    before: &Record,
    after: &Record,
    parameters: &Parameters,
) -> Result<Vec<Complaint>, Error> {
    let disabled = before.need(&ENABLED)? && !after.need(&ENABLED)?;
    let used = used_as(before, parameters).filter(|_| disabled);
    let complaint =
        |what| (ENABLED.name, format!("The status of {what} orders cannot be disabled."));
    Ok(used.map(complaint).into_iter().collect())
}
