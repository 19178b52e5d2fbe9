//! Tax profiles: kinds of goods that are taxed alike.

use crate::model::field::{flag, text};
use crate::model::presentation::{Group, Presentation};
use crate::model::resource::Resource;

pub(crate) static TAXPROFILES: Resource = Resource {
    kind: "taxprofiles",
    title: Some("Tax profiles"),
    singular: "tax profile",
    table: "shop_taxprofiles",
    impersonal: Some("how a store works"),
    key: "shop_taxprofile_id",
    named_by: Some("taxprofile_name"),
    list: &[text("taxprofile_name", 255).required(), flag("enabled")],
    shown: Presentation {
        group: Some(Group::Settings),
        label: &["taxprofile_name"],
        columns: &["taxprofile_name", "enabled"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();
