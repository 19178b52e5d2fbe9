//! Identity and permissions: users, groups, rules, tokens, passwords and sessions.

pub(crate) mod acl;
pub(crate) mod administrators;
pub(crate) mod devices;
pub(crate) mod directory;
pub(crate) mod failures;
pub(crate) mod groups;
mod hashing;
pub(crate) mod names;
pub(crate) mod password_links;
pub(crate) mod passwords;
pub(crate) mod persons;
pub(crate) mod rates;
pub(crate) mod scopes;
pub(crate) mod second_factor;
pub(crate) mod sessions;
pub(crate) mod tokens;
pub(crate) mod totp;
pub(crate) mod users;
pub(crate) mod uses;
mod window;
