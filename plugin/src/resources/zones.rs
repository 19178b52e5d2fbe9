//! Zones: the subdivisions of countries.

use crate::model::field::{Handle, flag, identifier, key, text};
use crate::model::presentation::{Group, Presentation};
use crate::model::resource::{Nested, Resource, search, unique};

pub(crate) static ZONES: Resource = Resource {
    kind: "zones",
    singular: "zone",
    table: "shop_zones",
    impersonal: Some("the world"),
    key: "shop_zone_id",
    named_by: Some("zone_code"),
    list: &[
        NAME.field,
        identifier("zone_code", 32).required(),
        key("country_id", "countries").required(),
        flag("enabled"),
    ],
    filters: &[search(&["zone_name", "zone_code"])],
    unique: &[unique(&["zone_code", "country_id"])],
    nested: &[Nested {
        parent: "countries",
        segment: "zones",
        by: "country_id",
        filters: &["search"],
    }],
    shown: Presentation {
        group: Some(Group::Settings),
        label: &["zone_name"],
        columns: &["zone_name", "zone_code", "country_id", "enabled"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

/// The name that customers see.
pub(super) const NAME: Handle<String> = text("zone_name", 255).required().words();
