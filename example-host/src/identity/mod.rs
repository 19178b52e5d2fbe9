//! Who somebody is and what they may do: users, groups, rules, tokens, passwords and sessions. Knows
//! nothing of requests, pages and extensions.

pub(crate) mod acl;
pub(crate) mod directory;
pub(crate) mod groups;
pub(crate) mod names;
pub(crate) mod passwords;
pub(crate) mod sessions;
pub(crate) mod tokens;
pub(crate) mod users;
