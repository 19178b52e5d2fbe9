//! What a user may see of the records of extensions: the types whose routes the user has the permissions for.

use crate::base::error::Error;
use crate::identity::acl::{CORE_LOGIN_API, ROOT};
use crate::site::Site;

use crate::admin::catalogue::Catalogue;

use super::model::{Kind, Route, Types};

/// The types of an extension that a user may list, at least one.
pub(crate) struct Visible<'c> {
    pub(crate) types: &'c Types,
    pub(crate) kinds: Vec<&'c Kind>,
}

/// The types that a user may list, of all enabled extensions.
pub(crate) fn all<'c>(
    site: &Site,
    catalogue: &'c Catalogue,
    user: i64,
) -> Result<Vec<Visible<'c>>, Error> {
    let snapshot = site.state().snapshot();
    let documents = catalogue.documents(site)?.iter();
    let enabled = documents.filter(|document| snapshot.enabled(&document.extension));
    let found = enabled.map(|document| {
        let listed = |kind: &&Kind| kind.list.as_ref().is_some_and(|list| may(site, user, list));
        let types = &document.records;
        Visible { types, kinds: types.kinds.iter().filter(listed).collect() }
    });
    Ok(found.filter(|found| !found.kinds.is_empty()).collect())
}

/// The types of an extension, if it is enabled.
pub(crate) fn types<'c>(
    site: &Site,
    catalogue: &'c Catalogue,
    extension: &str,
) -> Result<Option<&'c Types>, Error> {
    let mut documents = catalogue.documents(site)?.iter();
    let document = documents.find(|document| document.extension == extension);
    let enabled = document.filter(|_| site.state().snapshot().enabled(extension));
    Ok(enabled.map(|document| &document.records))
}

/// Whether a user has the permission of a route.
pub(crate) fn may(site: &Site, user: i64, route: &Route) -> bool {
    let snapshot = site.state().snapshot();
    let mut permissions = route.permissions.iter();
    snapshot.access.allows(user, CORE_LOGIN_API, ROOT)
        && (route.permissions.is_empty()
            || permissions.any(|needed| needed.granted(user, &snapshot).is_some()))
}
