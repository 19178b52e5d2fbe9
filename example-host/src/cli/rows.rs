//! The rows of the lists that commands print. The names and the order of their members are an interface:
//! programs read them.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::base::moment;
use crate::base::text::one_line;
use crate::extensions::parameters::ParameterEntry;
use crate::extensions::registry::ExtensionEntry;
use crate::identity::acl::{Decision, RuleEntry};
use crate::identity::groups::GroupEntry;
use crate::identity::tokens::TokenEntry;
use crate::identity::users::UserEntry;

use super::listing::Row;

#[derive(Serialize)]
pub(super) struct User {
    id: i64,
    name: String,
    email: String,
    groups: Vec<String>,
    state: &'static str,
    second_factor: &'static str,
}

#[derive(Serialize)]
pub(super) struct Token {
    name: String,
    state: &'static str,
    scopes: Option<Vec<String>>,
    expires_on: Option<String>,
    used_on: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Group {
    id: i64,
    title: String,
    parent: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Rule {
    group: String,
    action: String,
    asset: String,
    setting: &'static str,
}

#[derive(Serialize)]
pub(super) struct Explanation {
    decision: &'static str,
    reason: String,
}

#[derive(Serialize)]
pub(super) struct Extension {
    name: String,
    version: String,
    state: &'static str,
}

#[derive(Serialize)]
pub(super) struct Parameter {
    name: String,
    value: Value,
    state: &'static str,
    description: String,
}

/// A row of a table that a command of extensions reports. Its columns are those that they declare.
#[derive(Serialize)]
pub(super) struct Reported(pub(super) Map<String, Value>);

impl Row for User {}

impl Row for Token {
    const WITHOUT: &'static [(&'static str, &'static str)] =
        &[("scopes", "all"), ("expires_on", "never"), ("used_on", "never")];
}

impl Row for Group {}
impl Row for Rule {}
impl Row for Explanation {}
impl Row for Extension {}

impl Row for Parameter {
    const AS_JSON: &'static [&'static str] = &["value"];
}

impl Row for Reported {}

impl From<UserEntry> for User {
    fn from(user: UserEntry) -> Self {
        let UserEntry { id, username: name, email, groups, blocked, second_factor } = user;
        let state = if blocked { "blocked" } else { "active" };
        let second_factor = if second_factor { "set" } else { "none" };
        Self { id, name, email, groups, state, second_factor }
    }
}

impl From<TokenEntry> for Token {
    fn from(token: TokenEntry) -> Self {
        Self {
            state: if token.is_expired() { "expired" } else { "active" },
            name: token.name,
            scopes: token.scopes,
            expires_on: token.expires_on.map(moment::show),
            used_on: token.used_on.map(moment::show),
        }
    }
}

impl From<GroupEntry> for Group {
    fn from(group: GroupEntry) -> Self {
        let GroupEntry { id, title, parent, .. } = group;
        Self { id, title, parent }
    }
}

impl From<RuleEntry> for Rule {
    fn from(rule: RuleEntry) -> Self {
        let RuleEntry { group, action, asset, allowed } = rule;
        Self { group, action, asset, setting: if allowed { "allow" } else { "deny" } }
    }
}

impl From<Decision> for Explanation {
    fn from(decision: Decision) -> Self {
        let Decision { allowed, reason } = decision;
        Self { decision: if allowed { "allowed" } else { "denied" }, reason }
    }
}

impl From<ExtensionEntry> for Extension {
    fn from(extension: ExtensionEntry) -> Self {
        let ExtensionEntry { name, version, enabled, .. } = extension;
        Self { name, version, state: if enabled { "enabled" } else { "disabled" } }
    }
}

impl From<ParameterEntry> for Parameter {
    fn from(parameter: ParameterEntry) -> Self {
        Self {
            name: parameter.full_name(),
            value: parameter.value,
            state: if parameter.set { "set" } else { "default" },
            description: one_line(parameter.description),
        }
    }
}
