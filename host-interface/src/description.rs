//! What a plugin declares once it is created: routes, parameters, permissions, commands, panels. Calls
//! nothing.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::acl::{Action, Asset, Grant};
use crate::command::Command;
use crate::error::Error;
use crate::job::Job;
use crate::panel::{DetailPanel, Panel};
use crate::parameter::Parameter;
use crate::person::Privacy;
use crate::route::{Method, Route};

/// What a plugin declares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// The extension's name, which is always [`Plugin::NAME`](crate::Plugin::NAME).
    pub name: String,
    /// The plugin's own version.
    pub version: String,
    /// The media type of all of its responses. The host answers 406 to clients that do not accept it. If
    /// it is empty, the host does not check what clients accept.
    #[serde(default)]
    pub media_type: String,
    /// A path below the host's entry point to try the plugin with by a GET request; may be empty.
    #[serde(default)]
    pub sample_path: String,
    /// The routes to register.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// The parameters that a site may set.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// The commands that it offers to operators.
    #[serde(default)]
    pub commands: Vec<Command>,
    /// The actions that it asks [`Caller::may`](crate::Caller::may) about.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// The assets that it asks about, parents before children.
    #[serde(default)]
    pub assets: Vec<Asset>,
    /// The rules that it suggests for a new site.
    #[serde(default)]
    pub grants: Vec<Grant>,
    /// The panels that it contributes to the first page of the administration.
    #[serde(default)]
    pub panels: Vec<Panel>,
    /// The panels that it contributes where the administration shows one request or one record.
    #[serde(default)]
    pub detail_panels: Vec<DetailPanel>,
    /// Whether [`Plugin::authenticate`](crate::Plugin::authenticate) is to be asked.
    #[serde(default)]
    pub authenticates: bool,
    /// The names of the [events](crate::Event) that are reported to it.
    #[serde(default)]
    pub events: Vec<String>,
    /// The jobs that the host runs.
    #[serde(default)]
    pub jobs: Vec<Job>,
    /// Where it keeps data of persons. `None` is a plugin that does not know: administrators see that
    /// it may keep some. One that keeps none has a map without places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<Privacy>,
    /// The capabilities that it needs, see [`capability`](crate::capability). A host that lacks one of
    /// them does not serve the plugin.
    #[serde(default)]
    pub requires: Vec<String>,
    /// What the host's version of the contract did not understand, one line each. Filled in by the host's
    /// side, and never crosses.
    #[serde(skip)]
    pub ignored: Vec<String>,
}

impl Description {
    /// The description of a plugin of this version, without anything else.
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

    /// Offers commands to operators.
    pub fn commands(mut self, commands: impl IntoIterator<Item = Command>) -> Self {
        self.commands.extend(commands);
        self
    }

    /// Declares actions that the plugin asks permission for.
    pub fn actions(mut self, actions: impl IntoIterator<Item = Action>) -> Self {
        self.actions.extend(actions);
        self
    }

    /// Declares assets that it asks about, parents before children.
    pub fn assets(mut self, assets: impl IntoIterator<Item = Asset>) -> Self {
        self.assets.extend(assets);
        self
    }

    /// Suggests rules for a new site.
    pub fn grants(mut self, grants: impl IntoIterator<Item = Grant>) -> Self {
        self.grants.extend(grants);
        self
    }

    /// Contributes panels to the first page of the administration.
    pub fn panels(mut self, panels: impl IntoIterator<Item = Panel>) -> Self {
        self.panels.extend(panels);
        self
    }

    /// Contributes panels about single requests and records.
    pub fn detail_panels(mut self, panels: impl IntoIterator<Item = DetailPanel>) -> Self {
        self.detail_panels.extend(panels);
        self
    }

    /// Has the host ask [`Plugin::authenticate`](crate::Plugin::authenticate).
    pub fn authenticates(mut self) -> Self {
        self.authenticates = true;
        self
    }

    /// Asks for events by their names, for example
    /// [`Event::USER_REMOVED`](crate::Event::USER_REMOVED).
    pub fn events<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.events.extend(names.into_iter().map(Into::into));
        self
    }

    /// Declares jobs.
    pub fn jobs(mut self, jobs: impl IntoIterator<Item = Job>) -> Self {
        self.jobs.extend(jobs);
        self
    }

    /// Declares where the plugin keeps data of persons, which [`Plugin::export_person`](crate::Plugin::export_person)
    /// and [`Plugin::erase_person`](crate::Plugin::erase_person) then have to know.
    pub fn privacy(mut self, privacy: Privacy) -> Self {
        self.privacy = Some(privacy);
        self
    }

    /// Names capabilities that the plugin needs, see [`capability`](crate::capability).
    pub fn requires<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.requires.extend(names.into_iter().map(Into::into));
        self
    }

    /// Reads a description that may be of a later version: an element of a list that is not
    /// understood is left out and named in [`Description::ignored`].
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        let mut members: Map<String, Value> =
            serde_json::from_str(text).map_err(Error::contract)?;
        let mut ignored = Vec::new();
        retain::<Route>(&mut members, "routes", &mut ignored);
        retain::<Parameter>(&mut members, "parameters", &mut ignored);
        retain::<Command>(&mut members, "commands", &mut ignored);
        retain::<Action>(&mut members, "actions", &mut ignored);
        retain::<Asset>(&mut members, "assets", &mut ignored);
        retain::<Grant>(&mut members, "grants", &mut ignored);
        retain::<Panel>(&mut members, "panels", &mut ignored);
        retain::<DetailPanel>(&mut members, "detail_panels", &mut ignored);
        retain::<Job>(&mut members, "jobs", &mut ignored);
        let mut description: Self =
            serde_json::from_value(Value::Object(members)).map_err(Error::contract)?;
        for route in &mut description.routes {
            if route.waits && route.method != Method::Get {
                route.waits = false;
                ignored.push(format!("routes: {}: waits, which only a GET route may", route.name));
            }
        }
        Ok(Self { ignored, ..description })
    }
}

/// Keeps those elements of a list that can be read as `T`.
fn retain<T: serde::de::DeserializeOwned>(
    members: &mut Map<String, Value>,
    list: &str,
    ignored: &mut Vec<String>,
) {
    let Some(Value::Array(elements)) = members.get_mut(list) else { return };
    elements.retain(|element| match T::deserialize(element) {
        Ok(_) => true,
        Err(error) => {
            let name = element.get("name").or(element.get("pattern")).and_then(Value::as_str);
            ignored.push(format!("{list}: {}: {error}", name.unwrap_or("unnamed")));
            false
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_later_version_adds_is_left_out_and_named() -> Result<(), Error> {
        let text = r#"{
            "name": "later", "version": "1", "new_member": [1, 2],
            "routes": [
                {"method": "QUERY", "pattern": "v1/all", "name": "all.query", "handler": 0},
                {"method": "GET", "pattern": "v1/{id:hex}", "name": "all.hex", "handler": 2},
                {"method": "GET", "pattern": "v1/{id:digits}", "name": "all", "handler": 1, "cached": true}
            ],
            "detail_panels": [
                {"name": "spoken", "sound": "bell"},
                {"name": "moved", "title": "", "action": "", "asset": "", "orders": ["paid"]}
            ],
            "commands": [
                {"name": "paint", "help": "", "options": [
                    {"name": "paint", "kind": "colour", "default": "red", "description": ""}
                ]},
                {"name": "prune", "help": "Prune.", "interactive": true}
            ],
            "jobs": [{"name": "tidy", "at": "midnight"}],
            "requires": ["time_travel"]
        }"#;
        let description = Description::read(text)?;
        let routes: Vec<&str> = description.routes.iter().map(|route| &*route.name).collect();
        assert_eq!(routes, ["all"]);
        assert_eq!(description.requires, ["time_travel"]);
        // What a panel is about in a later version only is nothing to a host of this one.
        assert_eq!(description.detail_panels, [DetailPanel::new("moved", "", "", "")]);
        assert_eq!(description.commands, [Command::new("prune", "Prune.")]);
        let about: Vec<_> = description.ignored.iter().map(|line| line.split_at(17).0).collect();
        let expected = [
            "routes: all.query",
            "routes: all.hex: ",
            "commands: paint: ",
            "detail_panels: sp",
            "jobs: tidy: missi",
        ];
        assert_eq!(about, expected);
        Ok(())
    }

    #[test]
    fn only_a_get_route_waits() -> Result<(), Error> {
        let route = |method| Route::new(method, "v1/news", format!("news.{method}"), 0).waits();
        let sent = Description::new("1").routes([Method::Get, Method::Post].map(route));
        let text = serde_json::to_string(&sent).map_err(Error::contract)?;
        let read = Description::read(&text)?;
        let waits: Vec<bool> = read.routes.iter().map(|route| route.waits).collect();
        assert_eq!(waits, [true, false]);
        assert_eq!(read.ignored, ["routes: news.POST: waits, which only a GET route may"]);
        Ok(())
    }
}
