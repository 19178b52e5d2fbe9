//! Tax profiles: what kinds of goods are taxed alike.

use crate::model::resource::{Resource, flag, text};

pub(super) const TAXPROFILES: Resource = Resource {
    kind: "taxprofiles",
    title: Some("Tax profiles"),
    singular: "tax profile",
    table: "shop_taxprofiles",
    key: "shop_taxprofile_id",
    list: &[text("taxprofile_name", 255).required(), flag("enabled")],
    ..Resource::CRUD
};
