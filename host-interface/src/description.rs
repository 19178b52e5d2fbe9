//! What a plugin declares once it is created: routes, parameters, permissions, panels. Calls nothing.

use serde::{Deserialize, Serialize};

use crate::acl::{Action, Asset, Grant};
use crate::panel::Panel;
use crate::parameter::Parameter;
use crate::route::Route;

/// What a plugin declares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// The extension's name, which is always [`Plugin::NAME`](crate::Plugin::NAME).
    pub name: String,
    /// The plugin's own version.
    pub version: String,
    /// The media type of all of its responses. The host answers 406 to clients that do not accept it.
    #[serde(default)]
    pub media_type: String,
    /// The path of a route to try the plugin with by a GET request, below the host's entry point;
    /// may be empty.
    #[serde(default)]
    pub sample_path: String,
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
    /// The panels that it contributes to the first page of the administration.
    #[serde(default)]
    pub panels: Vec<Panel>,
    /// Whether [`Plugin::authenticate`](crate::Plugin::authenticate) is to be asked.
    #[serde(default)]
    pub authenticates: bool,
}

impl Description {
    /// A plugin of this version that brings nothing yet.
    pub fn new(version: impl Into<String>) -> Self {
        Self { version: version.into(), ..Self::default() }
    }

    /// Sets the media type of all of its responses.
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = media_type.into();
        self
    }

    /// Names a path to try the plugin with.
    pub fn sample_path(mut self, path: impl Into<String>) -> Self {
        self.sample_path = path.into();
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

    /// Contributes panels to the first page of the administration.
    pub fn panels(mut self, panels: impl IntoIterator<Item = Panel>) -> Self {
        self.panels.extend(panels);
        self
    }

    /// Has the host ask [`Plugin::authenticate`](crate::Plugin::authenticate).
    pub fn authenticates(mut self) -> Self {
        self.authenticates = true;
        self
    }
}
