//! Manufacturers: the brands that products carry.

use crate::model::field::{flag, int, text};
use crate::model::presentation::{Group, Presentation};
use crate::model::resource::{Resource, equals, search};

pub(crate) static MANUFACTURERS: Resource = Resource {
    kind: "manufacturers",
    singular: "manufacturer",
    table: "shop_manufacturers",
    impersonal: Some("what a store sells"),
    key: "shop_manufacturer_id",
    named_by: Some("manufacturer_name"),
    list: &[text("manufacturer_name", 255).required(), flag("enabled"), int("ordering")],
    detail: &[text("manufacturer_desc", 65_535)],
    filters: &[search(&["manufacturer_name"]), equals("enabled")],
    shown: Presentation {
        group: Some(Group::Catalogue),
        label: &["manufacturer_name"],
        columns: &["manufacturer_name", "enabled", "ordering"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();
