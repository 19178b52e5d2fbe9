//! What a plugin declares once it is created: routes, parameters, permissions. Calls nothing.

use serde::{Deserialize, Serialize};

use crate::acl::{Action, Asset, Grant};
use crate::parameter::Parameter;
use crate::route::Route;

/// What a plugin says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// The extension's name, which is always [`Plugin::NAME`](crate::Plugin::NAME).
    pub name: String,
    /// The plugin's own version.
    pub version: String,
    /// The media type of all of its responses. The host answers 406 to who does not accept it.
    #[serde(default)]
    pub media_type: String,
    /// The routes to register.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// The parameters that a site may set.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// What can be chosen about demonstration data, see [`Plugin::demo`](crate::Plugin::demo).
    #[serde(default)]
    pub demo_options: Vec<Parameter>,
    /// The actions it asks about.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// The assets it asks about, parents before children.
    #[serde(default)]
    pub assets: Vec<Asset>,
    /// The rules it suggests for a new site.
    #[serde(default)]
    pub grants: Vec<Grant>,
    /// Whether [`Plugin::authenticate`](crate::Plugin::authenticate) is to be asked.
    #[serde(default)]
    pub authenticates: bool,
}

impl Description {
    /// A plugin of this version that brings nothing yet.
    pub fn new(version: impl Into<String>) -> Self {
        Self { version: version.into(), ..Self::default() }
    }

    /// Says what all of its responses are.
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = media_type.into();
        self
    }

    /// Registers a route.
    pub fn route(mut self, route: Route) -> Self {
        self.routes.push(route);
        self
    }

    /// Registers routes.
    pub fn routes(mut self, routes: impl IntoIterator<Item = Route>) -> Self {
        self.routes.extend(routes);
        self
    }

    /// Declares parameters.
    pub fn parameters(mut self, parameters: impl IntoIterator<Item = Parameter>) -> Self {
        self.parameters.extend(parameters);
        self
    }

    /// Declares what can be chosen about demonstration data, for example how much there is to be.
    pub fn demo_options(mut self, options: impl IntoIterator<Item = Parameter>) -> Self {
        self.demo_options.extend(options);
        self
    }

    /// Declares what the plugin asks permissions about.
    pub fn permissions(
        mut self,
        actions: impl IntoIterator<Item = Action>,
        assets: impl IntoIterator<Item = Asset>,
        grants: impl IntoIterator<Item = Grant>,
    ) -> Self {
        self.actions.extend(actions);
        self.assets.extend(assets);
        self.grants.extend(grants);
        self
    }

    /// Asks to be asked for users by credentials.
    pub fn authenticates(mut self) -> Self {
        self.authenticates = true;
        self
    }
}
