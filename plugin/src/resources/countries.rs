//! Countries, by their ISO 3166-1 codes.

use crate::model::field::{Handle, capitals, flag, text};
use crate::model::presentation::{Group, Presentation};
use crate::model::resource::{Resource, equals, search, unique};

pub(crate) static COUNTRIES: Resource = Resource {
    kind: "countries",
    singular: "country",
    table: "shop_countries",
    impersonal: Some("the world"),
    key: "shop_country_id",
    named_by: Some("country_isocode_2"),
    list: &[
        NAME.field,
        capitals("country_isocode_2", 2).required(),
        capitals("country_isocode_3", 3).required(),
        flag("enabled"),
    ],
    filters: &[
        search(&["country_name", "country_isocode_2", "country_isocode_3"]),
        equals("enabled"),
    ],
    unique: &[unique(&["country_isocode_2"]), unique(&["country_isocode_3"])],
    shown: Presentation {
        group: Some(Group::Settings),
        label: &["country_name"],
        columns: &["country_name", "country_isocode_2", "country_isocode_3", "enabled"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

/// The name that customers see.
pub(super) const NAME: Handle<String> = text("country_name", 255).required().words();
