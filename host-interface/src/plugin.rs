//! What a plugin is: the trait that its author implements, and how its calls are answered by name.

use std::future::Future;
use std::sync::Arc;

use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RBox, RStr, RString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::auth::{Credentials, Verdict};
use crate::description::Description;
use crate::environment::Environment;
use crate::error::Error;
use crate::event::Event;
use crate::future::{RawFuture, begin, failed};
use crate::host::{HostHandle, answer};
use crate::metric::Metric;
use crate::names::plugin as name;
use crate::outcome::Outcome;
use crate::panel::PanelContent;
use crate::panic::{attempt, catch};
use crate::progress::ProgressHandle;
use crate::request::Request;
use crate::response::Response;

use raw::{RawPlugin, RawPlugin_TO};

/// A plugin, as its author writes it.
///
/// The life of a plugin: [`create`](Plugin::create), [`describe`](Plugin::describe),
/// [`install`](Plugin::install), [`start`](Plugin::start), any number of
/// [`handle`](Plugin::handle) at the same time, and [`shutdown`](Plugin::shutdown). Creating and
/// describing do no input or output. A panic in any of them is caught and fails that call alone.
///
/// Methods that return a future can be written as `async fn`. They are polled on the host's threads:
/// a future that needs an async runtime brings its own, because each library has its own copy of
/// a runtime's thread-local context. To spawn the work there and await its handle is enough.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// The extension's name, unique on a site: lower-case letters, digits and hyphens.
    const NAME: &'static str;

    /// Makes the plugin. Opens nothing yet: the tables may not exist.
    ///
    /// # Errors
    /// When the plugin cannot work in this environment, for example with a database that it
    /// does not support. The host reports it and serves its other plugins.
    fn create(host: HostHandle, environment: Environment) -> Result<Self, Error>;

    /// Returns what the plugin is and what it brings, the same each time.
    fn describe(&self) -> Description;

    /// The OpenAPI document of the plugin's routes as JSON text, where it has one.
    fn openapi(&self) -> Option<String> {
        None
    }

    /// The host serves from now on: the plugin's background work may begin. Not called by commands
    /// that only work on the site.
    fn start(&self) {}

    /// Creates the plugin's tables and the data that it cannot do without, or brings those of an
    /// older version up to date. Running it again changes nothing.
    fn install(self: Arc<Self>) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// Fills a site with data to try the plugin with, and returns one line about what it made.
    /// `options` has a value for each of [`Description::demo_options`], the default where none was
    /// chosen. `progress` is called from time to time. A host whose process ends half-way asks
    /// again, so the work is to be completed then, not done twice.
    fn demo(
        self: Arc<Self>,
        options: Map<String, Value>,
        progress: ProgressHandle,
    ) -> impl Future<Output = Result<String, Error>> + Send {
        let _ = (options, progress);
        async { Ok(String::new()) }
    }

    /// Copies everything that the plugin keeps into another place, for a site that moves to another
    /// database, and returns one line about what it copied and found to be the same on both sides.
    /// Called after [`install`](Plugin::install), while no request is served. The tables there are
    /// the plugin's to create; what a copy that was cut off has left in them is replaced. Keys stay
    /// the same, and a key that was used before the copy is not used again after it.
    ///
    /// A plugin that keeps nothing answers with an empty line.
    fn copy(
        self: Arc<Self>,
        target: Environment,
        progress: ProgressHandle,
    ) -> impl Future<Output = Result<String, Error>> + Send {
        let _ = (target, progress);
        async { Err(Error::failed("cannot copy its data")) }
    }

    /// Compares the numbers that the plugin keeps beside its records with the records, and returns
    /// those that differ. With `repair` it corrects them. Called while hosts serve the site, too.
    fn recount(
        self: Arc<Self>,
        repair: bool,
        progress: ProgressHandle,
    ) -> impl Future<Output = Result<Vec<Difference>, Error>> + Send {
        let _ = (repair, progress);
        async { Ok(Vec::new()) }
    }

    /// Whether the plugin and its database can answer now.
    fn health(self: Arc<Self>) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// What the plugin measures, as it is now. Asked every few seconds where a site is watched, so
    /// it is to be cheap.
    fn metrics(self: Arc<Self>) -> impl Future<Output = Result<Vec<Metric>, Error>> + Send {
        async { Ok(Vec::new()) }
    }

    /// The content of one of [`Description::panels`], for a user who has the permission to see it.
    fn panel(
        self: Arc<Self>,
        name: String,
    ) -> impl Future<Output = Result<PanelContent, Error>> + Send {
        async move { Err(Error::Contract(format!("there is no panel {name:?}"))) }
    }

    /// Identifies the user by these credentials. Called only for plugins that authenticate, see
    /// [`Description::authenticates`].
    fn authenticate(
        self: Arc<Self>,
        credentials: Credentials,
    ) -> impl Future<Output = Result<Verdict, Error>> + Send {
        let _ = credentials;
        async { Ok(Verdict::Unknown) }
    }

    /// Whether a parameter may have this value, which is of the declared kind and within its
    /// limits. Called before a site sets it, for what only the plugin can find out, for example
    /// whether a record with that key exists. [`Error::Refused`] has the reason, as one line for people.
    fn check_parameter(
        self: Arc<Self>,
        name: String,
        value: Value,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = (name, value);
        async { Ok(()) }
    }

    /// Reports an event that the plugin has asked for, see [`Description::events`].
    fn event(self: Arc<Self>, event: Event) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = event;
        async { Ok(()) }
    }

    /// Does one of [`Description::jobs`].
    fn job(self: Arc<Self>, name: String) -> impl Future<Output = Result<(), Error>> + Send {
        async move { Err(Error::Contract(format!("there is no job {name:?}"))) }
    }

    /// Answers a request to one of the plugin's routes. Errors of the client are ordinary responses; a
    /// panic becomes a 500, and a future that is not ready within the host's time limit a 504. One
    /// that reads is then dropped, as it is when its client disconnects. One that changes something
    /// runs to its end, which the host records, so the plugin has to bound its time; only the end of
    /// the host may cut it off.
    fn handle(self: Arc<Self>, request: Request) -> impl Future<Output = Response> + Send;

    /// Finishes, within the host's own time limit for stopping. No request is in progress, and none
    /// follows.
    fn shutdown(self: Arc<Self>) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// A number that a plugin keeps beside its records and that differs from what the records give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Difference {
    /// The table that it is kept in.
    pub table: String,
    /// What identifies its row: a JSON object of columns and values.
    pub key: String,
    /// The column.
    pub column: String,
    /// The number that is kept.
    pub kept: i64,
    /// The number that the records give.
    pub counted: i64,
}

impl Difference {
    /// A difference in one column of one row. `key` is a JSON object of columns and values.
    pub fn new(
        table: impl Into<String>,
        key: impl Into<String>,
        column: impl Into<String>,
        kept: i64,
        counted: i64,
    ) -> Self {
        Self { table: table.into(), key: key.into(), column: column.into(), kept, counted }
    }
}

pub(crate) type PluginObject = RawPlugin_TO<'static, RBox<()>>;

/// Wraps a plugin so that no panic of it reaches the boundary.
pub(crate) fn guard<P: Plugin>(plugin: P, host: HostHandle) -> PluginObject {
    RawPlugin_TO::from_value(Guarded { plugin: Some(Arc::new(plugin)), host }, TD_Opaque)
}

/// The input of [`Plugin::demo`] as it crosses.
#[derive(Serialize, Deserialize)]
pub(crate) struct Demo {
    pub(crate) options: Map<String, Value>,
    pub(crate) task: u64,
}

/// The input of [`Plugin::copy`] as it crosses.
#[derive(Serialize, Deserialize)]
pub(crate) struct Copying {
    pub(crate) target: Environment,
    pub(crate) task: u64,
}

/// The input of [`Plugin::recount`] as it crosses.
#[derive(Serialize, Deserialize)]
pub(crate) struct Recount {
    pub(crate) repair: bool,
    pub(crate) task: u64,
}

/// The input of [`Plugin::panel`] and [`Plugin::job`] as it crosses.
#[derive(Serialize, Deserialize)]
pub(crate) struct Named {
    pub(crate) name: String,
}

/// The input of [`Plugin::check_parameter`] as it crosses.
#[derive(Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: Value,
}

/// The input of a call that takes none.
#[derive(Serialize, Deserialize)]
pub(crate) struct Nothing {}

/// A plugin whose panics are caught. The option is `Some` until it is dropped.
struct Guarded<P> {
    plugin: Option<Arc<P>>,
    host: HostHandle,
}

impl<P: Plugin> Guarded<P> {
    fn plugin(&self) -> Result<Arc<P>, Error> {
        let gone = || Error::Contract("called after it was dropped".to_owned());
        self.plugin.as_ref().map(Arc::clone).ok_or_else(gone)
    }
}

impl<P: Plugin> RawPlugin for Guarded<P> {
    fn ask(&self, name: RStr<'_>, _input: RStr<'_>) -> Outcome<RString> {
        catch(|| {
            let plugin = self.plugin()?;
            let json = |text: serde_json::Result<String>| text.map_err(Error::contract);
            let text = match name.as_str() {
                name::DESCRIBE => {
                    let name = P::NAME.to_owned();
                    json(serde_json::to_string(&Description { name, ..plugin.describe() }))?
                }
                name::OPENAPI => json(serde_json::to_string(&plugin.openapi()))?,
                name::START => {
                    plugin.start();
                    String::new()
                }
                other => return Err(unsupported(other)),
            };
            Ok(text.into())
        })
    }

    fn call(&self, name: RStr<'_>, input: RString) -> RawFuture<RString> {
        let plugin = match self.plugin() {
            Ok(plugin) => plugin,
            Err(error) => return failed(error),
        };
        let host = self.host.clone();
        let input = input.as_str();
        match name.as_str() {
            name::INSTALL => answer(input, |_: Nothing| plugin.install()),
            name::DEMO => {
                answer(input, |Demo { options, task }| plugin.demo(options, host.listener(task)))
            }
            name::COPY => {
                answer(input, |Copying { target, task }| plugin.copy(target, host.listener(task)))
            }
            name::RECOUNT => answer(input, |Recount { repair, task }| {
                plugin.recount(repair, host.listener(task))
            }),
            name::HEALTH => answer(input, |_: Nothing| plugin.health()),
            name::METRICS => answer(input, |_: Nothing| plugin.metrics()),
            name::PANEL => answer(input, |Named { name }| plugin.panel(name)),
            name::AUTHENTICATE => answer(input, |credentials| plugin.authenticate(credentials)),
            name::CHECK_PARAMETER => {
                answer(input, |Setting { name, value }| plugin.check_parameter(name, value))
            }
            name::EVENT => match serde_json::from_str(input) {
                Ok(event) => answer("{}", |_: Nothing| plugin.event(event)),
                // An event of a later version, which the plugin did not ask for by a name that it knows.
                Err(error) => failed(Error::Unsupported(format!("the event: {error}"))),
            },
            name::JOB => answer(input, |Named { name }| plugin.job(name)),
            name::SHUTDOWN => answer(input, |_: Nothing| async move {
                plugin.shutdown().await;
                Ok(())
            }),
            other => failed(unsupported(other)),
        }
    }

    fn handle(&self, request: Request) -> RawFuture<Response> {
        match self.plugin() {
            Ok(plugin) => begin(|| {
                let answer = plugin.handle(request);
                async move { Ok(answer.await) }
            }),
            Err(error) => failed(error),
        }
    }
}

impl<P> Drop for Guarded<P> {
    fn drop(&mut self) {
        let plugin = self.plugin.take();
        // There is nowhere left to report a plugin that cannot be dropped.
        drop(attempt(move || drop(plugin)));
    }
}

fn unsupported(name: &str) -> Error {
    Error::Unsupported(format!("the plugin has no call {name:?}"))
}

mod raw {
    //! The plugin as it crosses. New methods go to the end and have a default body; mostly a new name
    //! for `ask` or `call` will do.
    #![allow(
        unsafe_code,
        missing_docs,
        unreachable_pub,
        non_local_definitions,
        clippy::used_underscore_items,
        reason = "generated by sabi_trait"
    )]

    use abi_stable::sabi_trait;
    use abi_stable::std_types::{RStr, RString};

    use crate::future::RawFuture;
    use crate::outcome::Outcome;
    use crate::request::Request;
    use crate::response::Response;

    #[sabi_trait]
    pub trait RawPlugin: Send + Sync {
        /// Answers at once.
        fn ask(&self, name: RStr<'_>, input: RStr<'_>) -> Outcome<RString>;
        /// Answers later.
        fn call(&self, name: RStr<'_>, input: RString) -> RawFuture<RString>;
        #[sabi(last_prefix_field)]
        fn handle(&self, request: Request) -> RawFuture<Response>;
    }
}
