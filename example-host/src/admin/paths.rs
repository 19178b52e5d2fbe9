//! The addresses of the pages, and the permissions on the whole site that they require.

use crate::identity::acl::{CORE_ADMIN, CORE_MANAGE, ROOT};
use crate::site::Site;

/// The path below which the pages are.
pub(crate) const BASE: &str = "/administrator";

/// The permission that a page requires.
pub(crate) type Needed = &'static str;
pub(crate) const MANAGE: Needed = CORE_MANAGE;
pub(crate) const ADMIN: Needed = CORE_ADMIN;

/// The path of the sign-in page.
pub(crate) const SIGN_IN: &str = "/sign-in";
/// The name of that page in logs and in the audit trail.
pub(crate) const SIGN_IN_PAGE: &str = "administration.sign_in";
/// The path of the page that asks for the code of a second factor after the password.
pub(crate) const SIGN_IN_CODE: &str = "/sign-in/code";
/// The path of the page that sends a link to whoever has forgotten a password.
pub(crate) const FORGOTTEN: &str = "/sign-in/forgotten";
/// The name of that page.
pub(crate) const FORGOTTEN_PAGE: &str = "administration.forgotten";
/// The path of the page that such a link leads to.
pub(crate) const NEW_PASSWORD: &str = "/new-password";
/// The name of that page.
pub(crate) const NEW_PASSWORD_PAGE: &str = "administration.new_password";
/// The path of the page on which users set up their second factor.
pub(crate) const SECOND_FACTOR: &str = "/account/second-factor";
/// The path that ends a session.
pub(crate) const SIGN_OUT: &str = "/sign-out";
/// The name of that page.
pub(crate) const SIGN_OUT_PAGE: &str = "administration.sign_out";

/// The address of a page.
pub(crate) fn href(path: &str) -> String {
    format!("{BASE}{path}")
}

/// Whether a user may do something to the whole site.
pub(crate) fn may(site: &Site, user: i64, needed: Needed) -> bool {
    site.state().snapshot().access.allows(user, needed, ROOT)
}

/// An address, if it is within the administration. It may come from an untrusted source.
pub(crate) fn inside(address: &str) -> Option<String> {
    let below = address.strip_prefix(BASE)?;
    let plain = address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    (plain && below.starts_with('/')).then(|| address.to_owned())
}
