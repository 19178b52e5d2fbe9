//! What a plugin is: the trait that its author implements, and how its calls are answered by name.

use std::future::Future;
use std::sync::Arc;

use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RBox, RStr, RString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::auth::{Credentials, Verdict};
use crate::body::Body;
use crate::command::CommandOutput;
use crate::description::Description;
use crate::environment::Environment;
use crate::error::Error;
use crate::event::Event;
use crate::future::{RawFuture, answer, answer_with, begin, failed};
use crate::host::HostHandle;
use crate::metric::Metric;
use crate::names::plugin as name;
use crate::outcome::Outcome;
use crate::panel::{PanelContent, Subject};
use crate::panic::{Contained, catch};
use crate::person::{Erased, Erasure, Person};
use crate::progress::ProgressHandle;
use crate::request::{Request, RequestObject};
use crate::response::Response;
use crate::routes::Routes;

use raw::{RawPlugin, RawPlugin_TO};

/// A plugin, as its author writes it.
///
/// The life of a plugin: [`create`](Plugin::create), [`describe`](Plugin::describe),
/// [`install`](Plugin::install), [`start`](Plugin::start), any number of
/// [`handle`](Plugin::handle) at the same time, and [`shutdown`](Plugin::shutdown). Commands that only work on
/// the site call neither `start` nor `handle`. Creating and describing do no input or output. A panic in
/// any of them is caught, and fails only that call.
///
/// Methods that return a future can be written as `async fn`. They are polled on the host's threads.
/// A future that needs an async runtime brings its own, because each library has its own copy of
/// a runtime's thread-local context: it spawns the work on that runtime and awaits the handle. What needs
/// the context to be made, such as a timer or a socket of tokio, has to be made within the spawned work.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// The extension's name, unique on a site: lower-case letters, digits and hyphens.
    const NAME: &'static str;

    /// Makes the plugin. Opens nothing yet: the tables may not exist.
    ///
    /// # Errors
    /// When the plugin cannot work in this environment, for example with a database that it
    /// does not support. The host reports it and serves its other plugins.
    fn create(host: HostHandle, environment: Environment) -> Result<Self, Error>;

    /// What the plugin is and what it brings, the same each time. [`Description::name`] becomes
    /// [`NAME`](Plugin::NAME), whatever it is.
    fn describe(&self) -> Description;

    /// The routes that have a function of their own to answer them, the same each time. Other routes are in
    /// [`Description::routes`], and answered by [`handle`](Plugin::handle).
    fn routes(&self) -> Routes<Self> {
        Routes::new()
    }

    /// The OpenAPI document of the plugin's routes as JSON text, if it has one.
    fn openapi(&self) -> Option<String> {
        None
    }

    /// Called when the host begins to serve the site: the plugin's background work may begin.
    fn start(&self) {}

    /// Creates the plugin's tables and the data that it cannot do without, or brings those of an
    /// older version up to date. Running it again changes nothing.
    fn install(self: Arc<Self>) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// Runs one of [`Description::commands`], by its name. `options` has a value for each of its options, the
    /// default if none was chosen. The plugin reports its progress from time to time. Hosts may serve the site
    /// meanwhile. After a process that ended half-way, an operator runs the command again: the work is then
    /// completed, and no part of it is done twice.
    fn command(
        self: Arc<Self>,
        name: String,
        options: Map<String, Value>,
        progress: ProgressHandle,
    ) -> impl Future<Output = Result<CommandOutput, Error>> + Send {
        let _ = (options, progress);
        async move { Err(Error::Contract(format!("there is no command {name:?}"))) }
    }

    /// Copies everything that the plugin keeps into another place, for a site that moves to another
    /// database, and returns one line about what it copied and found to be the same on both sides.
    /// Called after [`install`](Plugin::install), while no request is served. The plugin creates the
    /// tables in the other place, and replaces what an interrupted copy has left in them. Keys stay
    /// the same, and a key that was used before the copy is not used again after it.
    ///
    /// The default, an empty line, is for a plugin that keeps nothing. One that keeps anything has to copy it,
    /// or a site that has moved lacks it.
    fn copy(
        self: Arc<Self>,
        target: Environment,
        progress: ProgressHandle,
    ) -> impl Future<Output = Result<String, Error>> + Send {
        let _ = (target, progress);
        async { Ok(String::new()) }
    }

    /// Whether the plugin and its database can answer now.
    fn health(self: Arc<Self>) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// What the plugin measures, with the present values. Called every few seconds on a site that is
    /// monitored, so it must be cheap.
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

    /// The content of one of [`Description::detail_panels`] about this subject, for a user who has the
    /// permission to see it. It is part of a page with other things, so it should be short: of many rows the
    /// newest hundred or so, and a note that there are more.
    fn detail_panel(
        self: Arc<Self>,
        name: String,
        subject: Subject,
    ) -> impl Future<Output = Result<PanelContent, Error>> + Send {
        let _ = subject;
        async move { Err(Error::Contract(format!("there is no detail panel {name:?}"))) }
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
    /// whether a record with that key exists. [`Error::Refused`] has the reason, as one line for people. It
    /// does not contain the value of a [secret](crate::ParameterKind::Secret).
    fn check_parameter(
        self: Arc<Self>,
        name: String,
        value: Value,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = (name, value);
        async { Ok(()) }
    }

    /// Called after an [`Event`] that the plugin has asked for, see [`Description::events`]. The host only
    /// logs an error.
    fn event(self: Arc<Self>, event: Event) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = event;
        async { Ok(()) }
    }

    /// Does one of [`Description::jobs`], by its name. After an error, it is called again when the interval
    /// has passed. The end of the host may cut it off; it is then called again from the start.
    fn job(self: Arc<Self>, name: String) -> impl Future<Output = Result<(), Error>> + Send {
        async move { Err(Error::Contract(format!("there is no job {name:?}"))) }
    }

    /// Everything that the plugin keeps about a person, as the text of a JSON object: a member for each place
    /// that has something. Its pieces are taken as fast as whoever asks for it reads them. Called only for plugins with
    /// [`Description::privacy`].
    fn export_person(
        self: Arc<Self>,
        person: Person,
    ) -> impl Future<Output = Result<Body, Error>> + Send {
        let _ = person;
        async { Err(Error::Contract("there is no map of personal data".to_owned())) }
    }

    /// Removes what the plugin keeps about a person, in one transaction, and searches for them again. Nothing is
    /// changed by a dry run, or if something is not completed and the erasure is not forced: see
    /// [`Erased::open`]. Doing it again is no error. Called only for plugins with [`Description::privacy`].
    ///
    /// [`Error::Refused`] is for an erasure that cannot be done as asked, with the reason for people.
    fn erase_person(
        self: Arc<Self>,
        erasure: Erasure,
    ) -> impl Future<Output = Result<Erased, Error>> + Send {
        let _ = erasure;
        async { Err(Error::Contract("there is no map of personal data".to_owned())) }
    }

    /// Answers a request to a route that is not one of [`routes`](Plugin::routes), by the key that
    /// [`Request::handler`] is.
    ///
    /// For every route: errors of the client are ordinary responses. A
    /// panic becomes a 500, and a future that is not ready within the host's time limit a 504.
    ///
    /// A future that only reads (`GET`) is dropped at the time limit, or when its client disconnects. That
    /// of any other method continues to its end, which the host records. So the plugin has to limit its
    /// time; only the end of the host may cut it off.
    fn handle(self: Arc<Self>, request: Request) -> impl Future<Output = Response> + Send {
        let _ = request;
        // A host passes on only requests to what the plugin has registered.
        async { Response::new(500) }
    }

    /// Called last, when no request is in progress and none follows. The host waits for it within its
    /// time limit for stopping.
    fn shutdown(self: Arc<Self>) -> impl Future<Output = ()> + Send {
        async {}
    }
}

pub(crate) type PluginObject = RawPlugin_TO<'static, RBox<()>>;

/// Wraps a plugin so that no panic of it reaches the boundary.
pub(crate) fn guard<P: Plugin>(plugin: P, host: HostHandle) -> PluginObject {
    let routes = Contained::new(plugin.routes());
    let guarded = Guarded { plugin: Contained::new(Arc::new(plugin)), routes, host };
    RawPlugin_TO::from_value(guarded, TD_Opaque)
}

/// The input of [`Plugin::command`] as it crosses.
#[derive(Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) name: String,
    pub(crate) options: Map<String, Value>,
    pub(crate) task: u64,
}

/// The input of [`Plugin::copy`] as it crosses.
#[derive(Serialize, Deserialize)]
pub(crate) struct Copying {
    pub(crate) target: Environment,
    pub(crate) task: u64,
}

/// The input of [`Plugin::panel`] and [`Plugin::job`] as it crosses.
#[derive(Serialize, Deserialize)]
pub(crate) struct Named {
    pub(crate) name: String,
}

/// The input of [`Plugin::detail_panel`] as it crosses.
#[derive(Serialize, Deserialize)]
pub(crate) struct Detail {
    pub(crate) name: String,
    pub(crate) subject: Subject,
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

/// A plugin whose panics are caught.
struct Guarded<P> {
    plugin: Contained<Arc<P>>,
    routes: Contained<Routes<P>>,
    host: HostHandle,
}

impl<P: Plugin> RawPlugin for Guarded<P> {
    fn ask(&self, name: RStr<'_>, _input: RStr<'_>) -> Outcome<RString> {
        catch(|| {
            let json = |text: serde_json::Result<String>| text.map_err(Error::contract);
            let text = match name.as_str() {
                name::DESCRIBE => {
                    let mut description = self.plugin.describe().routes(self.routes.described());
                    description.name = P::NAME.to_owned();
                    json(serde_json::to_string(&description))?
                }
                name::OPENAPI => json(serde_json::to_string(&self.plugin.openapi()))?,
                name::START => {
                    self.plugin.start();
                    String::new()
                }
                other => return Err(unsupported(other)),
            };
            Ok(text.into())
        })
    }

    fn call(&self, name: RStr<'_>, input: RString) -> RawFuture<RString> {
        let (plugin, host) = (Arc::clone(&self.plugin), self.host.clone());
        let input = input.as_str();
        match name.as_str() {
            name::INSTALL => answer(input, |_: Nothing| plugin.install()),
            name::COMMAND => answer(input, |Running { name, options, task }| {
                plugin.command(name, options, host.listener(task))
            }),
            name::COPY => {
                answer(input, |Copying { target, task }| plugin.copy(target, host.listener(task)))
            }
            name::HEALTH => answer(input, |_: Nothing| plugin.health()),
            name::METRICS => answer(input, |_: Nothing| plugin.metrics()),
            name::PANEL => answer(input, |Named { name }| plugin.panel(name)),
            name::DETAIL_PANEL => {
                answer(input, |Detail { name, subject }| plugin.detail_panel(name, subject))
            }
            name::AUTHENTICATE => answer(input, |credentials| plugin.authenticate(credentials)),
            name::CHECK_PARAMETER => {
                answer(input, |Setting { name, value }| plugin.check_parameter(name, value))
            }
            name::EVENT => answer(input, |event| plugin.event(event)),
            name::JOB => answer(input, |Named { name }| plugin.job(name)),
            name::ERASE_PERSON => answer(input, |erasure| plugin.erase_person(erasure)),
            name::SHUTDOWN => answer(input, |_: Nothing| async move {
                plugin.shutdown().await;
                Ok(())
            }),
            other => failed(unsupported(other)),
        }
    }

    fn handle(&self, request: RequestObject) -> RawFuture<Response> {
        match self.routes.begin(&self.plugin, Request::received(request)) {
            Ok(answer) => answer,
            Err(request) => begin(|| {
                let answer = Arc::clone(&self.plugin).handle(request);
                async move { Ok(answer.await) }
            }),
        }
    }

    fn stream(&self, name: RStr<'_>, input: RString) -> RawFuture<Body> {
        let plugin = Arc::clone(&self.plugin);
        match name.as_str() {
            name::EXPORT_PERSON => answer_with(&input, |person| plugin.export_person(person)),
            other => failed(unsupported(other)),
        }
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

    use crate::body::Body;
    use crate::error::Error;
    use crate::future::{RawFuture, failed};
    use crate::outcome::Outcome;
    use crate::request::RequestObject;
    use crate::response::Response;

    #[sabi_trait]
    pub trait RawPlugin: Send + Sync {
        /// Answers at once.
        fn ask(&self, name: RStr<'_>, input: RStr<'_>) -> Outcome<RString>;
        /// Answers later.
        fn call(&self, name: RStr<'_>, input: RString) -> RawFuture<RString>;
        #[sabi(last_prefix_field)]
        fn handle(&self, request: RequestObject) -> RawFuture<Response>;
        /// Answers later and in pieces.
        fn stream(&self, name: RStr<'_>, _input: RString) -> RawFuture<Body> {
            failed(Error::Unsupported(format!("the plugin has no call {:?}", name.as_str())))
        }
    }
}
