//! Extensions: enabling and disabling them, and their parameters.

use serde_json::Value;

use crate::base::error::Error;
use crate::extensions::{parameters, registry};
use crate::identity::acl::CORE_ADMIN;
use crate::identity::administrators::Force;
use crate::site::Site;
use crate::site::state::change;

use super::author::{Author, Recorded};
use super::operation::Operation;

pub(crate) static ENABLE: Operation = Operation::new("enable an extension", CORE_ADMIN)
    .page("administration.extensions.enable")
    .command("extension enable");
pub(crate) static DISABLE: Operation = Operation::new("disable an extension", CORE_ADMIN)
    .page("administration.extensions.disable")
    .command("extension disable");
pub(crate) static CHANGE_PARAMETERS: Operation = Operation::new("change parameters", CORE_ADMIN)
    .page("administration.extensions.parameters")
    .command("config set");

/// Enables or disables an extension.
pub(crate) async fn set_enabled(site: &Site, name: &str, enabled: bool) -> Result<Recorded, Error> {
    let operation = if enabled { &ENABLE } else { &DISABLE };
    change!(site.state(), |transaction| {
        let author = Author::of(site, operation, Force::No, transaction).await?;
        registry::set_enabled(transaction, name, enabled).await?;
        author.record(transaction, ("extension", name), "").await
    })
}

/// Sets parameters of an extension, whose values have been checked; without a value a parameter has its
/// default again.
pub(crate) async fn change_parameters(
    site: &Site,
    extension: &str,
    values: &[(&str, Option<Value>)],
) -> Result<Recorded, Error> {
    let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    change!(site.state(), |transaction| {
        let author = Author::of(site, &CHANGE_PARAMETERS, Force::No, transaction).await?;
        for (name, value) in values {
            parameters::put(transaction, extension, name, value.as_ref()).await?;
        }
        author.record(transaction, ("extension", extension), &names).await
    })
}
