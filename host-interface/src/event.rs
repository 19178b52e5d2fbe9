//! Events: what happens on a site and is reported to plugins that ask for it. Knows nothing of how.

use serde::{Deserialize, Serialize};

/// Something that has happened. A plugin names the events that it asks for in its description, see
/// [`Description::events`](crate::Description::events). They are reported afterwards, in no fixed order,
/// and one may be lost when the host's process ends. So a plugin does not rely on them for data that
/// must be correct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The plugin's parameters have changed. Reported on each host of the site.
    ParametersChanged,
    /// The plugin was enabled or disabled. Reported on each host of the site.
    #[non_exhaustive]
    Switched {
        /// Whether its routes are served now.
        enabled: bool,
    },
    /// A user was removed. Reported by the process in which that was done, a host or a command.
    #[non_exhaustive]
    UserRemoved {
        /// The user's primary key.
        user: i64,
    },
    /// The host begins to stop: requests that wait for something are to be answered now. Requests may
    /// still arrive; the [shutdown](crate::Plugin::shutdown) follows when none is in progress.
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
