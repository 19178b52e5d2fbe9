//! What a plugin declares about permissions: the actions and assets that it asks about, and the
//! groups to which it suggests to grant them. The host decides.

use serde::{Deserialize, Serialize};

/// Something that a user may be allowed to do, for example `store.view`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Action {
    /// The name that [`Caller::may`](crate::Caller::may) is asked with.
    pub name: String,
    /// Its title for administrators.
    pub title: String,
}

impl Action {
    /// An action with its title.
    pub fn new(name: impl Into<String>, title: impl Into<String>) -> Self {
        Self { name: name.into(), title: title.into() }
    }
}

/// Something that an action may be done to. Assets form a tree below the host's `root`, and a
/// rule on an asset also applies to everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Asset {
    /// The name, unique on the site, for example `com_shop.products`.
    pub name: String,
    /// The name of the asset above it; `root` for the topmost.
    pub parent: String,
    /// Its title for administrators.
    pub title: String,
    /// Whether a token with scopes reaches it only by a scope that names it, and not by one for all assets,
    /// such as `*:view`.
    #[serde(default)]
    pub named_only: bool,
}

impl Asset {
    /// An asset below `parent`.
    pub fn new(
        name: impl Into<String>,
        parent: impl Into<String>,
        title: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), parent: parent.into(), title: title.into(), named_only: false }
    }

    /// Sets that a token with scopes reaches it only by a scope that names it.
    pub fn named_only(mut self) -> Self {
        self.named_only = true;
        self
    }
}

/// A rule that the plugin suggests for a new site. The host applies it once, when it installs the
/// plugin for the first time, to a group of that name if it has one; from then on the site decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Grant {
    /// The title of a group of users.
    pub group: String,
    /// The name of an [`Action`].
    pub action: String,
    /// The name of an [`Asset`].
    pub asset: String,
}

impl Grant {
    /// The suggestion that `group` may do `action` to `asset`.
    pub fn new(
        group: impl Into<String>,
        action: impl Into<String>,
        asset: impl Into<String>,
    ) -> Self {
        Self { group: group.into(), action: action.into(), asset: asset.into() }
    }
}
