//! Tax rates, in percent.

use crate::model::field::{decimal, flag, int, text};
use crate::model::presentation::{Group, Presentation};
use crate::model::resource::Resource;

/// A hundred percent, in units of 10^-3.
const WHOLE: i64 = 100_000;

pub(crate) static TAXRATES: Resource = Resource {
    kind: "taxrates",
    title: Some("Tax rates"),
    singular: "tax rate",
    table: "shop_taxrates",
    impersonal: Some("how a store works"),
    key: "shop_taxrate_id",
    list: &[
        text("taxrate_name", 255).required(),
        decimal("tax_percent", 3, 0, WHOLE).required(),
        int("geozone_id").nullable().naming("geozones"),
        flag("enabled"),
    ],
    shown: Presentation {
        group: Some(Group::Settings),
        label: &["taxrate_name"],
        columns: &["taxrate_name", "tax_percent", "enabled"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();
