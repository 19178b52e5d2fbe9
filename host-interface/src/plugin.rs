//! What a plugin is: the trait its author implements, what it says of itself, and the handle by
//! which a host calls it.

use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RBox, ROption, RString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::auth::{Credentials, Verdict};
use crate::description::Description;
use crate::environment::Environment;
use crate::error::Error;
use crate::future::BoxFuture;
use crate::host::HostHandle;
use crate::message::{Request, Response};
use crate::metric::Metric;
use crate::outcome::Outcome;
use crate::panic::{attempt, catch};
use crate::progress::{Progress, ProgressHandle};

use raw::{RawPlugin, RawPlugin_TO};

/// A plugin, as its author writes it.
///
/// The life of a plugin: [`create`](Plugin::create), [`describe`](Plugin::describe),
/// [`install`](Plugin::install), [`start`](Plugin::start), any number of
/// [`handle`](Plugin::handle) at the same time, and [`shutdown`](Plugin::shutdown). Creating and describing do no input or output. A panic in any
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

    /// The host serves from now on: what the plugin does by itself, beside answering, may begin.
    /// Not called where a command only works on the site.
    fn start(&self) {}

    /// Fills a site with data to try the plugin with, and returns one line about what it made.
    /// `options` has a value for each of [`Description::demo_options`], the default where none was
    /// chosen. `progress` is called from time to time. A host whose process ends half-way asks
    /// again, so the work is to be completed then, not done twice.
    fn demo(
        &self,
        options: Map<String, Value>,
        progress: ProgressHandle,
    ) -> BoxFuture<Result<String, Error>> {
        let _ = (options, progress);
        BoxFuture::ready(Ok(String::new()))
    }

    /// Copies everything that the plugin keeps into another place, for a site that moves to another
    /// database, and gives one line that says what it copied and found to be the same on both
    /// sides. Called after [`install`](Plugin::install), while nobody writes. The tables there are
    /// the plugin's to create; what a copy that was cut off has left in them is replaced. Keys stay
    /// as they are, and one that was given before the copy is not given again after it.
    ///
    /// A plugin that keeps nothing answers with an empty line.
    fn copy(
        &self,
        target: Environment,
        progress: ProgressHandle,
    ) -> BoxFuture<Result<String, Error>> {
        let _ = (target, progress);
        BoxFuture::ready(Err(Error::failed("cannot copy its data")))
    }

    /// Compares the numbers that the plugin keeps beside its records with what these come to, and gives those
    /// that differ. With `mend` it sets them right. Both are done while hosts serve the site.
    fn recount(
        &self,
        mend: bool,
        progress: ProgressHandle,
    ) -> BoxFuture<Result<Vec<Difference>, Error>> {
        let _ = (mend, progress);
        BoxFuture::ready(Ok(Vec::new()))
    }

    /// Whether the plugin can answer now, its database included.
    fn health(&self) -> BoxFuture<Result<(), Error>> {
        BoxFuture::ready(Ok(()))
    }

    /// What the plugin measures, as it is now. Asked every few seconds where a site is watched, so
    /// it is to be cheap.
    fn metrics(&self) -> BoxFuture<Result<Vec<Metric>, Error>> {
        BoxFuture::ready(Ok(Vec::new()))
    }

    /// Tells the user by its credentials. Asked only of plugins whose description says that they
    /// authenticate, see [`Description::authenticates`].
    fn authenticate(&self, credentials: Credentials) -> BoxFuture<Result<Verdict, Error>> {
        let _ = credentials;
        BoxFuture::ready(Ok(Verdict::Unknown))
    }

    /// Whether a parameter may have this value, which is of the declared kind and within its
    /// limits. Asked before a site sets it, for what only the plugin can know: whether a record of
    /// that key exists, for example. [`Error::Refused`] says why not, in a line for people.
    fn check_parameter(&self, name: &str, value: &Value) -> BoxFuture<Result<(), Error>> {
        let _ = (name, value);
        BoxFuture::ready(Ok(()))
    }

    /// Answers a request to one of the plugin's routes. Errors that the client made are ordinary
    /// responses; a panic becomes a 500, and where a future is not ready within the host's time, its
    /// client is told 504. One that reads is dropped then, or when its client leaves. One that
    /// changes something goes on to its end, which the host writes down, so it has to see to it that
    /// there is one; only the end of the host may cut it off.
    fn handle(&self, request: Request) -> BoxFuture<Response>;

    /// Finishes, within the time that the host has for its own end. No request is under way, and
    /// none follows.
    fn shutdown(&self) -> BoxFuture<()> {
        BoxFuture::ready(())
    }
}

/// A number that a plugin keeps beside its records, and that is not what they come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The table that it is kept in.
    pub table: String,
    /// What its row is known by: a JSON object of columns and values.
    pub key: String,
    /// The column.
    pub column: String,
    /// The number that is kept.
    pub kept: i64,
    /// What the records come to.
    pub counted: i64,
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

    /// Says that the host serves from now on.
    ///
    /// # Errors
    /// When the plugin panicked over it.
    pub fn start(&self) -> Result<(), Error> {
        self.0.start().into_result()
    }

    /// Fills the site with demonstration data; returns one line about what was made. The options are
    /// those that the plugin declares, each with a value that it admits.
    ///
    /// # Errors
    /// When the plugin could not, or panicked.
    pub async fn demo(
        &self,
        options: &Map<String, Value>,
        progress: impl Progress,
    ) -> Result<String, Error> {
        let options = serde_json::to_string(options).map_err(Error::failed)?;
        let future = self.0.demo(options.into(), ProgressHandle::new(progress)).into_result()?;
        future.await.and_then(Outcome::into_result).map(String::from)
    }

    /// Copies everything that the plugin keeps into another place; gives one line that says what.
    ///
    /// # Errors
    /// When the plugin could not, found a difference afterwards, or panicked.
    pub async fn copy(
        &self,
        target: &Environment,
        progress: impl Progress,
    ) -> Result<String, Error> {
        let target = environment_text(target)?;
        let future = self.0.copy(target.into(), ProgressHandle::new(progress)).into_result()?;
        future.await.and_then(Outcome::into_result).map(String::from)
    }

    /// Compares what the plugin keeps beside its records with what these come to, and gives what differs. With
    /// `mend` it is set right.
    ///
    /// # Errors
    /// When the plugin could not, or panicked.
    pub async fn recount(
        &self,
        mend: bool,
        progress: impl Progress,
    ) -> Result<Vec<Difference>, Error> {
        let future = self.0.recount(mend, ProgressHandle::new(progress)).into_result()?;
        let text = future.await.and_then(Outcome::into_result)?;
        serde_json::from_str(text.as_str()).map_err(|error| Error::Contract(error.to_string()))
    }

    /// Whether the plugin can answer now.
    ///
    /// # Errors
    /// When it cannot; the text says why.
    pub async fn health(&self) -> Result<(), Error> {
        let future = self.0.health().into_result()?;
        future.await.and_then(Outcome::into_result)
    }

    /// What the plugin measures.
    ///
    /// # Errors
    /// When it could not say.
    pub async fn metrics(&self) -> Result<Vec<Metric>, Error> {
        let future = self.0.metrics().into_result()?;
        let text = future.await.and_then(Outcome::into_result)?;
        serde_json::from_str(text.as_str()).map_err(|error| Error::Contract(error.to_string()))
    }

    /// Asks the plugin whose credentials these are.
    ///
    /// # Errors
    /// When it could not find out.
    pub async fn authenticate(&self, credentials: Credentials) -> Result<Verdict, Error> {
        let future = self.0.authenticate(credentials).into_result()?;
        future.await.and_then(Outcome::into_result)
    }

    /// Asks the plugin whether a parameter may have this value.
    ///
    /// # Errors
    /// [`Error::Refused`] when it may not; the text says why, to people. Any other error when the
    /// plugin could not find out.
    pub async fn check_parameter(&self, name: &str, value: &Value) -> Result<(), Error> {
        let value = RString::from(value.to_string());
        let future = self.0.check_parameter(RString::from(name), value).into_result()?;
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

    fn start(&self) -> Outcome<()> {
        self.call(|plugin| {
            plugin.start();
            Ok(())
        })
    }

    fn demo(
        &self,
        options: RString,
        progress: ProgressHandle,
    ) -> Outcome<BoxFuture<Outcome<RString>>> {
        self.call(|plugin| {
            let options = serde_json::from_str(options.as_str())
                .map_err(|error| Error::Contract(error.to_string()))?;
            let future = plugin.demo(options, progress);
            Ok(BoxFuture::new(async move {
                Outcome::from_result(future.await.and_then(|done| done).map(RString::from))
            }))
        })
    }

    fn copy(
        &self,
        target: RString,
        progress: ProgressHandle,
    ) -> Outcome<BoxFuture<Outcome<RString>>> {
        self.call(|plugin| {
            let target = serde_json::from_str(target.as_str())
                .map_err(|error| Error::Contract(error.to_string()))?;
            let future = plugin.copy(target, progress);
            Ok(BoxFuture::new(async move {
                Outcome::from_result(future.await.and_then(|done| done).map(RString::from))
            }))
        })
    }

    fn recount(
        &self,
        mend: bool,
        progress: ProgressHandle,
    ) -> Outcome<BoxFuture<Outcome<RString>>> {
        self.call(|plugin| {
            let future = plugin.recount(mend, progress);
            Ok(BoxFuture::new(async move {
                let found = future.await.and_then(|found| found);
                let text = found.and_then(|of| serde_json::to_string(&of).map_err(Error::failed));
                Outcome::from_result(text.map(RString::from))
            }))
        })
    }

    fn health(&self) -> Outcome<BoxFuture<Outcome<()>>> {
        self.call(|plugin| Ok(flatten(plugin.health())))
    }

    fn metrics(&self) -> Outcome<BoxFuture<Outcome<RString>>> {
        self.call(|plugin| {
            let future = plugin.metrics();
            Ok(BoxFuture::new(async move {
                let metrics = future.await.and_then(|metrics| metrics);
                let text = metrics.and_then(|of| serde_json::to_string(&of).map_err(Error::failed));
                Outcome::from_result(text.map(RString::from))
            }))
        })
    }

    fn authenticate(&self, credentials: Credentials) -> Outcome<BoxFuture<Outcome<Verdict>>> {
        self.call(|plugin| Ok(flatten(plugin.authenticate(credentials))))
    }

    fn check_parameter(&self, name: RString, value: RString) -> Outcome<BoxFuture<Outcome<()>>> {
        self.call(|plugin| {
            let value = serde_json::from_str(value.as_str())
                .map_err(|error| Error::Contract(error.to_string()))?;
            Ok(flatten(plugin.check_parameter(name.as_str(), &value)))
        })
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

mod raw {
    //! The plugin as it crosses.
    #![allow(
        unsafe_code,
        missing_docs,
        unreachable_pub,
        non_local_definitions,
        clippy::used_underscore_items,
        reason = "generated by sabi_trait"
    )]

    use abi_stable::sabi_trait;
    use abi_stable::std_types::{ROption, RString};

    use crate::auth::{Credentials, Verdict};
    use crate::future::BoxFuture;
    use crate::message::{Request, Response};
    use crate::outcome::Outcome;
    use crate::progress::ProgressHandle;

    #[sabi_trait]
    pub trait RawPlugin: Send + Sync {
        fn describe(&self) -> Outcome<RString>;
        fn openapi(&self) -> Outcome<ROption<RString>>;
        fn install(&self) -> Outcome<BoxFuture<Outcome<()>>>;
        fn start(&self) -> Outcome<()>;
        fn demo(
            &self,
            options: RString,
            progress: ProgressHandle,
        ) -> Outcome<BoxFuture<Outcome<RString>>>;
        fn copy(
            &self,
            target: RString,
            progress: ProgressHandle,
        ) -> Outcome<BoxFuture<Outcome<RString>>>;
        fn recount(
            &self,
            mend: bool,
            progress: ProgressHandle,
        ) -> Outcome<BoxFuture<Outcome<RString>>>;
        fn health(&self) -> Outcome<BoxFuture<Outcome<()>>>;
        fn metrics(&self) -> Outcome<BoxFuture<Outcome<RString>>>;
        fn authenticate(&self, credentials: Credentials) -> Outcome<BoxFuture<Outcome<Verdict>>>;
        fn check_parameter(&self, name: RString, value: RString)
        -> Outcome<BoxFuture<Outcome<()>>>;
        fn handle(&self, request: Request) -> Outcome<BoxFuture<Response>>;
        #[sabi(last_prefix_field)]
        fn shutdown(&self) -> Outcome<BoxFuture<()>>;
    }
}
