//! Where the pages are, and which permission on the whole site somebody needs there. Knows no page.

use crate::identity::acl::{CORE_ADMIN, CORE_MANAGE, ROOT};
use crate::site::Site;

/// Where the pages are.
pub(crate) const BASE: &str = "/administrator";

/// Who may do something by a page.
pub(crate) type Needed = &'static str;
pub(crate) const MANAGE: Needed = CORE_MANAGE;
pub(crate) const ADMIN: Needed = CORE_ADMIN;

/// The path of the page to sign in at, which nobody has to have signed in for.
pub(crate) const SIGN_IN: &str = "/sign-in";
/// The path that ends a session.
pub(crate) const SIGN_OUT: &str = "/sign-out";

/// The address of a page.
pub(crate) fn href(path: &str) -> String {
    format!("{BASE}{path}")
}

/// Whether a user may do something to the whole site.
pub(crate) fn may(site: &Site, user: i64, needed: Needed) -> bool {
    site.state().snapshot().access.allows(user, needed, ROOT)
}

/// An address within the administration, as somebody may have made it up.
pub(crate) fn inside(address: &str) -> Option<String> {
    let below = address.strip_prefix(BASE)?;
    let plain = address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    (plain && below.starts_with('/')).then(|| address.to_owned())
}
