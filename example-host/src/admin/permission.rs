//! A permission as an OpenAPI document declares it: one of several actions on an asset.

use serde_json::Value;

use crate::site::Site;
use crate::site::snapshot::Snapshot;

use super::openapi::{members, string};

/// One of these actions on an asset.
pub(crate) struct Permission {
    pub(crate) actions: Vec<String>,
    pub(crate) asset: String,
}

/// The maximum number of permissions of which one is enough.
const ALTERNATIVES: usize = 100;

impl Permission {
    /// Reads a list, of which one permission is enough.
    pub(crate) fn read_all(declared: &Value) -> Vec<Self> {
        members(declared).filter_map(Self::read).take(ALTERNATIVES).collect()
    }

    /// Reads `{"action", "or", "asset"}`.
    pub(crate) fn read(declared: &Value) -> Option<Self> {
        declared.is_object().then(|| {
            let actions = std::iter::once(&declared["action"]).chain(members(&declared["or"]));
            Self { actions: actions.map(string).collect(), asset: string(&declared["asset"]) }
        })
    }

    /// Whether it allows to copy or erase a person's data.
    pub(crate) fn is_about_persons(&self, site: &Site) -> bool {
        self.actions.iter().any(|action| site.is_about_persons(action, &self.asset))
    }

    /// The action by which a user has the permission.
    pub(crate) fn granted(&self, user: i64, snapshot: &Snapshot) -> Option<&String> {
        let allows = |action: &&String| snapshot.access.allows(user, action, &self.asset);
        self.actions.iter().find(allows)
    }
}
