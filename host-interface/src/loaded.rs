//! A plugin as its host sees it: each call of the contract as a method.

use std::pin::Pin;
use std::task::{Context, Poll};

use abi_stable::std_types::RStr;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::auth::{Credentials, Verdict};
use crate::body::Body;
use crate::command::CommandOutput;
use crate::description::Description;
use crate::environment::Environment;
use crate::error::Error;
use crate::event::Event;
use crate::future::RawFuture;
use crate::metric::Metric;
use crate::names::plugin as name;
use crate::outcome::Outcome;
use crate::panel::{PanelContent, Subject};
use crate::person::{Erased, Erasure, Person};
use crate::plugin::{Copying, Detail, Named, Nothing, PluginObject, Running, Setting};
use crate::progress::{Listeners, Progress};
use crate::request::Request;
use crate::response::Response;

/// A plugin that a host has created from a library. Any number of its calls may be in progress at the same
/// time. Their futures may be polled on any thread, and dropped at any time.
pub struct LoadedPlugin {
    plugin: PluginObject,
    listeners: Listeners,
    /// The capabilities of the host.
    offered: Vec<String>,
}

impl LoadedPlugin {
    /// What the plugin declares. What this version of the contract does not understand is left out
    /// and named in [`Description::ignored`].
    ///
    /// # Errors
    /// When it panics, its description does not follow this contract, or it requires what this host
    /// does not offer.
    pub fn describe(&self) -> Result<Description, Error> {
        let text = self.ask(name::DESCRIBE)?;
        let description = Description::read(&text)?;
        let missing = description.requires.iter().find(|name| !self.offered.contains(name));
        match missing {
            Some(missing) => {
                Err(Error::Refused(format!("requires {missing:?}, which this host does not offer")))
            }
            None => Ok(description),
        }
    }

    /// The OpenAPI document of the plugin's routes as JSON text, if it has one.
    ///
    /// # Errors
    /// When the plugin panicked.
    pub fn openapi(&self) -> Result<Option<String>, Error> {
        serde_json::from_str(&self.ask(name::OPENAPI)?).map_err(Error::contract)
    }

    /// Creates the plugin's tables, or brings them up to date.
    ///
    /// # Errors
    /// When the plugin could not, or panicked.
    pub async fn install(&self) -> Result<(), Error> {
        self.call(name::INSTALL, &Nothing {}).await
    }

    /// Announces that the host serves from now on.
    ///
    /// # Errors
    /// [`Error::Panicked`].
    pub fn start(&self) -> Result<(), Error> {
        self.ask(name::START).map(drop)
    }

    /// Runs one of [`Description::commands`]. `options` has a value for each of its options.
    ///
    /// # Errors
    /// When the plugin could not, panicked, or has no such command. What it reports may also be a
    /// [failure](CommandOutput::failure).
    pub async fn command(
        &self,
        name: &str,
        options: Map<String, Value>,
        progress: impl Progress,
    ) -> Result<CommandOutput, Error> {
        let listening = self.listeners.listen(progress);
        let input = Running { name: name.to_owned(), options, task: listening.task };
        self.call(name::COMMAND, &input).await
    }

    /// Copies everything that the plugin keeps into another place, and returns one line about it, which is
    /// empty if the plugin keeps nothing.
    ///
    /// # Errors
    /// When the plugin could not, found a difference afterwards, or panicked.
    pub async fn copy(
        &self,
        target: Environment,
        progress: impl Progress,
    ) -> Result<String, Error> {
        let listening = self.listeners.listen(progress);
        self.call(name::COPY, &Copying { target, task: listening.task }).await
    }

    /// Checks whether the plugin and its database can answer now.
    ///
    /// # Errors
    /// When they cannot, with the reason.
    pub async fn health(&self) -> Result<(), Error> {
        self.call(name::HEALTH, &Nothing {}).await
    }

    /// What the plugin measures. A metric that this version of the contract does not understand is
    /// left out.
    ///
    /// # Errors
    /// When it could not measure, or panicked.
    pub async fn metrics(&self) -> Result<Vec<Metric>, Error> {
        let metrics: Vec<Value> = self.call(name::METRICS, &Nothing {}).await?;
        Ok(metrics.into_iter().filter_map(|metric| serde_json::from_value(metric).ok()).collect())
    }

    /// The content of one of [`Description::panels`]. To be called only for a user who has the permission
    /// to see it.
    ///
    /// # Errors
    /// When the plugin could not, panicked, or has no such panel.
    pub async fn panel(&self, name: &str) -> Result<PanelContent, Error> {
        self.call(name::PANEL, &Named { name: name.to_owned() }).await
    }

    /// The content of one of [`Description::detail_panels`] about a request or a record that the panel is
    /// declared to be about. To be called only for a user who has the permission to see it.
    ///
    /// # Errors
    /// When the plugin could not, panicked, or has no such panel, and [`Error::Unsupported`] if it does not
    /// know detail panels or this kind of subject.
    pub async fn detail_panel(&self, name: &str, subject: &Subject) -> Result<PanelContent, Error> {
        let input = Detail { name: name.to_owned(), subject: subject.clone() };
        self.call(name::DETAIL_PANEL, &input).await
    }

    /// Asks the plugin for the user with these credentials, if it [authenticates](Description::authenticates).
    ///
    /// # Errors
    /// When it could not find out, or panicked.
    pub async fn authenticate(&self, credentials: &Credentials) -> Result<Verdict, Error> {
        self.call(name::AUTHENTICATE, credentials).await
    }

    /// Asks the plugin whether a parameter may have this value.
    ///
    /// # Errors
    /// [`Error::Refused`] when it may not, with the reason for people. Any other error when the
    /// plugin could not find out.
    pub async fn check_parameter(&self, name: &str, value: &Value) -> Result<(), Error> {
        let input = Setting { name: name.to_owned(), value: value.clone() };
        self.call(name::CHECK_PARAMETER, &input).await
    }

    /// Reports an event. To be called only for those that [`Description::events`] names.
    ///
    /// # Errors
    /// When the plugin could not deal with it, and [`Error::Unsupported`] if it does not know the event.
    pub async fn event(&self, event: &Event) -> Result<(), Error> {
        self.call(name::EVENT, event).await
    }

    /// Has the plugin do one of [`Description::jobs`].
    ///
    /// # Errors
    /// When it could not, panicked, or has no such job.
    pub async fn job(&self, name: &str) -> Result<(), Error> {
        self.call(name::JOB, &Named { name: name.to_owned() }).await
    }

    /// Everything that the plugin keeps about a person, as the text of a JSON object by place, in pieces. To be called
    /// only for plugins with [`Description::privacy`].
    ///
    /// # Errors
    /// When it could not find out, or panicked. What cannot be read later is an error of the body.
    pub async fn export_person(&self, person: &Person) -> Result<Body, Error> {
        let input = serde_json::to_string(person).map_err(Error::contract)?;
        let answer = self.plugin.stream(RStr::from_str(name::EXPORT_PERSON), input.into());
        answer.await.into_result()
    }

    /// Has the plugin remove what it keeps about a person. To be called only for plugins with
    /// [`Description::privacy`].
    ///
    /// # Errors
    /// [`Error::Refused`] when it cannot be done as asked, with the reason for people. Any other error when it
    /// failed, or the plugin panicked.
    pub async fn erase_person(&self, erasure: &Erasure) -> Result<Erased, Error> {
        self.call(name::ERASE_PERSON, erasure).await
    }

    /// Hands a request to the plugin.
    ///
    /// # Errors
    /// [`Error::Panicked`] if the handler panicked.
    pub fn handle(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Response, Error>> + Send + use<> {
        Answering(self.plugin.handle(request.into_raw()))
    }

    /// Lets the plugin finish. To be called last.
    ///
    /// # Errors
    /// [`Error::Panicked`].
    pub async fn shutdown(&self) -> Result<(), Error> {
        self.call(name::SHUTDOWN, &Nothing {}).await
    }

    pub(crate) fn new(
        plugin: PluginObject,
        listeners: Listeners,
        environment: &Environment,
    ) -> Self {
        Self { plugin, listeners, offered: environment.capabilities.clone() }
    }

    fn ask(&self, name: &str) -> Result<String, Error> {
        let answer = self.plugin.ask(RStr::from_str(name), RStr::from_str(""));
        answer.into_result().map(String::from)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        name: &str,
        input: &impl Serialize,
    ) -> Result<T, Error> {
        let input = serde_json::to_string(input).map_err(Error::contract)?;
        let answer = self.plugin.call(RStr::from_str(name), input.into()).await.into_result()?;
        serde_json::from_str(answer.as_str()).map_err(Error::contract)
    }
}

/// The response to come. By hand, because a response is large, and an `async` block would copy it twice
/// more.
struct Answering(RawFuture<Response>);

impl Future for Answering {
    type Output = Result<Response, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(Outcome::into_result)
    }
}

impl std::fmt::Debug for LoadedPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LoadedPlugin")
    }
}
