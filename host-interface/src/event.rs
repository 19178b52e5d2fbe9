//! Events: what happens on a site and a plugin may want to hear of.

use serde::{Deserialize, Serialize};

/// Something that has happened. A plugin names the events that it wants in its description, see
/// [`Description::events`](crate::Description::events). They come after the fact, in no fixed order,
/// and one may be lost when the host's process ends: whatever must be right is checked against the
/// records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The plugin's parameters have another value. On each host of the site.
    ParametersChanged,
    /// The plugin was enabled or disabled. On each host of the site.
    #[non_exhaustive]
    Switched {
        /// Whether its routes are served now.
        enabled: bool,
    },
    /// A user was removed. On the host where that was done.
    #[non_exhaustive]
    UserRemoved {
        /// The user's primary key.
        user: i64,
    },
    /// The host begins to stop: what waits is to be answered. Requests may still arrive; the
    /// [shutdown](crate::Plugin::shutdown) follows when none is in progress.
    Stopping,
}

impl Event {
    /// An [`Event::Switched`].
    pub fn switched(enabled: bool) -> Self {
        Self::Switched { enabled }
    }

    /// An [`Event::UserRemoved`], by the user's primary key.
    pub fn user_removed(user: i64) -> Self {
        Self::UserRemoved { user }
    }

    /// The name by which a description asks for it.
    pub fn name(&self) -> &'static str {
        match self {
            Event::ParametersChanged => Self::PARAMETERS_CHANGED,
            Event::Switched { .. } => Self::SWITCHED,
            Event::UserRemoved { .. } => Self::USER_REMOVED,
            Event::Stopping => Self::STOPPING,
        }
    }

    /// The name of [`Event::ParametersChanged`].
    pub const PARAMETERS_CHANGED: &'static str = "parameters_changed";
    /// The name of [`Event::Switched`].
    pub const SWITCHED: &'static str = "switched";
    /// The name of [`Event::UserRemoved`].
    pub const USER_REMOVED: &'static str = "user_removed";
    /// The name of [`Event::Stopping`].
    pub const STOPPING: &'static str = "stopping";
}
