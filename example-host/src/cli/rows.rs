//! The rows of the lists that commands print. The names and the order of their members are an interface:
//! programs read them.

use serde_json::{Value, json};

use crate::base::moment;
use crate::base::text::one_line;
use crate::extensions::parameters::ParameterEntry;
use crate::extensions::registry::ExtensionEntry;
use crate::identity::acl::{Decision, RuleEntry};
use crate::identity::groups::GroupEntry;
use crate::identity::tokens::TokenEntry;
use crate::identity::users::UserEntry;

use super::listing::Lines;

/// The lines of tokens.
pub(super) const TOKENS: Lines = Lines {
    without: &[("scopes", "all"), ("expires_on", "never"), ("used_on", "never")],
    ..Lines::PLAIN
};

/// The lines of parameters.
pub(super) const PARAMETERS: Lines = Lines { as_json: &["value"], ..Lines::PLAIN };

pub(super) fn user(user: UserEntry) -> Value {
    json!({
        "id": user.id,
        "name": user.username,
        "email": user.email,
        "groups": user.groups,
        "state": if user.blocked { "blocked" } else { "active" },
        "second_factor": if user.second_factor { "set" } else { "none" },
    })
}

pub(super) fn token(token: TokenEntry) -> Value {
    json!({
        "name": token.name,
        "state": if token.is_expired() { "expired" } else { "active" },
        "scopes": token.scopes,
        "expires_on": token.expires_on.map(moment::show),
        "used_on": token.used_on.map(moment::show),
    })
}

pub(super) fn group(group: GroupEntry) -> Value {
    json!({ "id": group.id, "title": group.title, "parent": group.parent })
}

pub(super) fn rule(rule: RuleEntry) -> Value {
    let RuleEntry { group, action, asset, allowed } = rule;
    let setting = if allowed { "allow" } else { "deny" };
    json!({ "group": group, "action": action, "asset": asset, "setting": setting })
}

pub(super) fn explanation(decision: Decision) -> Value {
    let Decision { allowed, reason } = decision;
    json!({ "decision": if allowed { "allowed" } else { "denied" }, "reason": reason })
}

pub(super) fn extension(extension: ExtensionEntry) -> Value {
    let ExtensionEntry { name, version, enabled, .. } = extension;
    let state = if enabled { "enabled" } else { "disabled" };
    json!({ "name": name, "version": version, "state": state })
}

pub(super) fn parameter(parameter: ParameterEntry) -> Value {
    json!({
        "name": parameter.full_name(),
        "value": parameter.value,
        "state": if parameter.set { "set" } else { "default" },
        "description": one_line(parameter.description),
    })
}
