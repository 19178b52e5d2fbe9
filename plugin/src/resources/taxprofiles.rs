//! Tax profiles: kinds of goods that are taxed alike.

use crate::model::field::{flag, text};
use crate::model::resource::Resource;

pub(crate) static TAXPROFILES: Resource = Resource {
    kind: "taxprofiles",
    title: Some("Tax profiles"),
    singular: "tax profile",
    table: "shop_taxprofiles",
    key: "shop_taxprofile_id",
    named_by: Some("taxprofile_name"),
    list: &[text("taxprofile_name", 255).required(), flag("enabled")],
    ..Resource::CRUD
}
.checked();
