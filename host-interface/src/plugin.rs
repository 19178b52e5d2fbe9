//! What a plugin is: the trait its author implements, what it says of itself, and the handle by
//! which a host calls it.

use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RBox, ROption, RStr, RString};
use serde::{Deserialize, Serialize};

use crate::acl::{Action, Asset, Grant};
use crate::auth::{Credentials, Verdict};
use crate::error::Error;
use crate::future::BoxFuture;
use crate::host::{Environment, HostHandle};
use crate::message::{Request, Response};
use crate::panic::{attempt, catch};
use crate::raw::{Outcome, RawPlugin, RawPlugin_TO, RawProgress, RawProgress_TO};
use crate::route::Route;

/// A plugin, as its author writes it.
///
/// The life of a plugin: [`create`](Plugin::create), [`describe`](Plugin::describe),
/// [`install`](Plugin::install), any number of [`handle`](Plugin::handle) at the same time, and
/// [`shutdown`](Plugin::shutdown). Creating and describing do no input or output. A panic in any
/// of them is caught and fails that call alone.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// The extension's name, unique on a site: lower-case letters, digits and hyphens.
    const NAME: &'static str;

    /// Makes the plugin. Opens nothing yet: the tables may not exist.
    ///
    /// # Errors
    /// When the environment is nothing that the plugin can work in, for example a database that it
    /// does not know. The host says so and ends.
    fn create(host: HostHandle, environment: Environment) -> Result<Self, Error>;

    /// Says what the plugin is and what it brings. The same each time.
    fn describe(&self) -> Description;

    /// The OpenAPI document of the plugin's routes as JSON text, where it has one.
    fn openapi(&self) -> Option<String> {
        None
    }

    /// Creates the plugin's tables and the data that it cannot do without, or brings those of an
    /// older version up to date. Running it again changes nothing.
    fn install(&self) -> BoxFuture<Result<(), Error>> {
        BoxFuture::ready(Ok(()))
    }

    /// Fills a site with data to try the plugin with, and gives one line that says what it made.
    /// `progress` is called from time to time. A host whose process ends half-way asks again, so
    /// the work is to be completed then, not done twice.
    fn demo(&self, size: DemoSize, progress: ProgressHandle) -> BoxFuture<Result<String, Error>> {
        let _ = (size, progress);
        BoxFuture::ready(Ok(String::new()))
    }

    /// Whether the plugin can answer now, its database included.
    fn health(&self) -> BoxFuture<Result<(), Error>> {
        BoxFuture::ready(Ok(()))
    }

    /// Tells the user by its credentials. Asked only of plugins whose description says that they
    /// authenticate, see [`Description::authenticates`].
    fn authenticate(&self, credentials: Credentials) -> BoxFuture<Result<Verdict, Error>> {
        let _ = credentials;
        BoxFuture::ready(Ok(Verdict::Unknown))
    }

    /// Answers a request to one of the plugin's routes. Errors that the client made are ordinary
    /// responses; a panic becomes a 500, and a future that is not ready within the host's time a
    /// 504 after which it is dropped.
    fn handle(&self, request: Request) -> BoxFuture<Response>;

    /// Finishes. No request is under way, and none follows.
    fn shutdown(&self) -> BoxFuture<()> {
        BoxFuture::ready(())
    }
}

/// What a plugin says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// The extension's name, which is always [`Plugin::NAME`].
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
    /// The actions it asks about.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// The assets it asks about, parents before children.
    #[serde(default)]
    pub assets: Vec<Asset>,
    /// The rules it suggests for a new site.
    #[serde(default)]
    pub grants: Vec<Grant>,
    /// Whether [`Plugin::authenticate`] is to be asked.
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

/// A parameter that a site may set for a plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// The name: lower-case letters, digits and underscores.
    pub name: String,
    /// What values it takes.
    pub kind: ParameterKind,
    /// Its value where the site has set none.
    pub default: serde_json::Value,
    /// What it is for, a sentence for administrators.
    pub description: String,
}

impl Parameter {
    /// A parameter with its default.
    pub fn new(
        name: impl Into<String>,
        kind: ParameterKind,
        default: impl Into<serde_json::Value>,
        description: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), kind, default: default.into(), description: description.into() }
    }
}

/// The values that a [`Parameter`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// 0 or 1.
    Flag,
    /// An exact decimal as a string.
    Decimal,
    /// A list of whole numbers.
    IntegerList,
}

impl ParameterKind {
    /// Whether a value is of this kind.
    ///
    /// ```
    /// use host_interface::ParameterKind;
    /// use serde_json::json;
    ///
    /// assert!(ParameterKind::IntegerList.admits(&json!([1, 2])));
    /// assert!(ParameterKind::Decimal.admits(&json!("0.25")));
    /// assert!(!ParameterKind::Flag.admits(&json!(2)));
    /// ```
    pub fn admits(self, value: &serde_json::Value) -> bool {
        match self {
            ParameterKind::Text => value.is_string(),
            ParameterKind::Integer => value.is_i64(),
            ParameterKind::Flag => matches!(value.as_i64(), Some(0 | 1)),
            ParameterKind::Decimal => value.as_str().is_some_and(is_decimal),
            ParameterKind::IntegerList => value
                .as_array()
                .is_some_and(|members| members.iter().all(serde_json::Value::is_i64)),
        }
    }

    /// What the kind is called to people, for example `a whole number`.
    pub fn as_str(self) -> &'static str {
        match self {
            ParameterKind::Text => "a string",
            ParameterKind::Integer => "a whole number",
            ParameterKind::Flag => "0 or 1",
            ParameterKind::Decimal => "a decimal number in a string",
            ParameterKind::IntegerList => "a list of whole numbers",
        }
    }
}

fn is_decimal(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    match unsigned.split_once('.') {
        None => digits(unsigned),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
    }
}

/// How much demonstration data is wanted; `None` leaves it to the plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemoSize {
    /// How many products.
    pub products: Option<u64>,
    /// How many orders.
    pub orders: Option<u64>,
}

/// Who is told how far a long piece of work has come.
pub trait Progress: Send + Sync + 'static {
    /// `done` of `total` units of the step named `step` are done.
    fn report(&self, step: &str, done: u64, total: u64);
}

/// Tells nobody.
impl Progress for () {
    fn report(&self, _step: &str, _done: u64, _total: u64) {}
}

/// A [`Progress`] on the other side of the boundary.
#[repr(transparent)]
#[derive(abi_stable::StableAbi)]
pub struct ProgressHandle(RawProgress_TO<'static, RBox<()>>);

impl ProgressHandle {
    /// The handle to hand to [`LoadedPlugin::demo`].
    pub fn new(progress: impl Progress) -> Self {
        Self(RawProgress_TO::from_value(Listener(progress), TD_Opaque))
    }

    /// `done` of `total` units of the step named `step` are done.
    pub fn report(&self, step: &str, done: u64, total: u64) {
        self.0.report(RStr::from_str(step), done, total);
    }
}

/// A plugin that a host has created from a library.
pub struct LoadedPlugin(PluginObject);

impl LoadedPlugin {
    /// What the plugin says of itself.
    ///
    /// # Errors
    /// When it panics, or describes itself in terms that this contract does not have.
    pub fn describe(&self) -> Result<Description, Error> {
        let text = self.0.describe().into_result()?;
        serde_json::from_str(text.as_str()).map_err(|error| Error::Contract(error.to_string()))
    }

    /// The OpenAPI document of the plugin's routes as JSON text, where it has one.
    ///
    /// # Errors
    /// When the plugin panics over it.
    pub fn openapi(&self) -> Result<Option<String>, Error> {
        let text = self.0.openapi().into_result()?;
        Ok(text.into_option().map(String::from))
    }

    /// Creates or migrates the plugin's tables.
    ///
    /// # Errors
    /// When the plugin could not, or panicked.
    pub async fn install(&self) -> Result<(), Error> {
        let future = self.0.install().into_result()?;
        future.await.and_then(Outcome::into_result)
    }

    /// Fills the site with demonstration data; gives one line that says what was made.
    ///
    /// # Errors
    /// When the plugin could not, or panicked.
    pub async fn demo(&self, size: DemoSize, progress: impl Progress) -> Result<String, Error> {
        let size = serde_json::to_string(&size).map_err(Error::failed)?;
        let future = self.0.demo(size.into(), ProgressHandle::new(progress)).into_result()?;
        future.await.and_then(Outcome::into_result).map(String::from)
    }

    /// Whether the plugin can answer now.
    ///
    /// # Errors
    /// When it cannot; the text says why.
    pub async fn health(&self) -> Result<(), Error> {
        let future = self.0.health().into_result()?;
        future.await.and_then(Outcome::into_result)
    }

    /// Asks the plugin whose credentials these are.
    ///
    /// # Errors
    /// When it could not find out.
    pub async fn authenticate(&self, credentials: Credentials) -> Result<Verdict, Error> {
        let future = self.0.authenticate(credentials).into_result()?;
        future.await.and_then(Outcome::into_result)
    }

    /// Hands a request to the plugin.
    ///
    /// # Errors
    /// When the handler panicked.
    pub async fn handle(&self, request: Request) -> Result<Response, Error> {
        self.0.handle(request).into_result()?.await
    }

    /// Lets the plugin finish.
    ///
    /// # Errors
    /// When it panicked over it.
    pub async fn shutdown(&self) -> Result<(), Error> {
        self.0.shutdown().into_result()?.await
    }
}

impl std::fmt::Debug for LoadedPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LoadedPlugin")
    }
}

pub(crate) type PluginObject = RawPlugin_TO<'static, RBox<()>>;

/// Wraps a plugin so that nothing it does reaches the boundary as a panic.
pub(crate) fn guard<P: Plugin>(plugin: P) -> PluginObject {
    RawPlugin_TO::from_value(Guarded(Some(plugin)), TD_Opaque)
}

pub(crate) fn loaded(object: PluginObject) -> LoadedPlugin {
    LoadedPlugin(object)
}

pub(crate) fn environment_text(environment: &Environment) -> Result<String, Error> {
    serde_json::to_string(environment).map_err(Error::failed)
}

struct Listener<P>(P);

impl<P: Progress> RawProgress for Listener<P> {
    fn report(&self, step: RStr<'_>, done: u64, total: u64) {
        // Work goes on whether or not it can be shown.
        drop(attempt(|| self.0.report(step.as_str(), done, total)));
    }
}

/// A plugin whose panics are caught. The option is `Some` until it is dropped.
struct Guarded<P>(Option<P>);

impl<P> Guarded<P> {
    fn call<T>(&self, call: impl FnOnce(&P) -> Result<T, Error>) -> Outcome<T> {
        catch(|| match &self.0 {
            Some(plugin) => call(plugin),
            None => Err(Error::Contract("called after it was dropped".to_owned())),
        })
    }
}

impl<P: Plugin> RawPlugin for Guarded<P> {
    fn describe(&self) -> Outcome<RString> {
        self.call(|plugin| {
            let description = Description { name: P::NAME.to_owned(), ..plugin.describe() };
            serde_json::to_string(&description).map(RString::from).map_err(Error::failed)
        })
    }

    fn openapi(&self) -> Outcome<ROption<RString>> {
        self.call(|plugin| Ok(plugin.openapi().map(RString::from).into()))
    }

    fn install(&self) -> Outcome<BoxFuture<Outcome<()>>> {
        self.call(|plugin| Ok(flatten(plugin.install())))
    }

    fn demo(
        &self,
        size: RString,
        progress: ProgressHandle,
    ) -> Outcome<BoxFuture<Outcome<RString>>> {
        self.call(|plugin| {
            let size = serde_json::from_str(size.as_str())
                .map_err(|error| Error::Contract(error.to_string()))?;
            let future = plugin.demo(size, progress);
            Ok(BoxFuture::new(async move {
                Outcome::from_result(future.await.and_then(|done| done).map(RString::from))
            }))
        })
    }

    fn health(&self) -> Outcome<BoxFuture<Outcome<()>>> {
        self.call(|plugin| Ok(flatten(plugin.health())))
    }

    fn authenticate(&self, credentials: Credentials) -> Outcome<BoxFuture<Outcome<Verdict>>> {
        self.call(|plugin| Ok(flatten(plugin.authenticate(credentials))))
    }

    fn handle(&self, request: Request) -> Outcome<BoxFuture<Response>> {
        self.call(|plugin| Ok(plugin.handle(request)))
    }

    fn shutdown(&self) -> Outcome<BoxFuture<()>> {
        self.call(|plugin| Ok(plugin.shutdown()))
    }
}

impl<P> Drop for Guarded<P> {
    fn drop(&mut self) {
        let plugin = self.0.take();
        // A plugin that cannot be dropped has nobody left to tell.
        drop(attempt(move || drop(plugin)));
    }
}

/// Makes one failure of the two that a future may have: its own, and its panic.
fn flatten<T: Send + 'static>(future: BoxFuture<Result<T, Error>>) -> BoxFuture<Outcome<T>> {
    BoxFuture::new(async move { Outcome::from_result(future.await.and_then(|result| result)) })
}
