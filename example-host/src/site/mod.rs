//! A site: the host's database and its plugins. Opening a site installs missing tables and data.

mod administer;
pub(crate) mod backup;
mod claims;
pub(crate) mod commands;
pub(crate) mod copy;
mod erased;
mod events;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod keys;
mod libraries;
pub(crate) mod notices;
pub(crate) mod operations;
mod persons;
pub(crate) mod privacy;
pub(crate) mod quickstart;
mod reminders;
pub(crate) mod restore;
pub(crate) mod services;
pub(crate) mod snapshot;
pub(crate) mod state;
pub(crate) mod storage;
mod unserved;

pub use libraries::Libraries;
pub(crate) use unserved::Unserved;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use host_interface::{Description, Environment, LoadedPlugin};
use host_service::Extension;
use ipnet::IpNet;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::base::database_url::DatabaseUrl;
use crate::base::databases::Databases;
use crate::base::error::Error;
use crate::base::settings::MailSettings;
use crate::database::{Attempts, Database, sql, transact};
use crate::deliver::Sender;
use crate::extensions::commands::{self as declared, DeclaredCommand};
use crate::extensions::registry;
use crate::mail::Mailer;
use crate::secrets::Secrets;
use crate::site::erased::ErasedList;
use crate::site::events::Listener;
use crate::site::persons::Persons;
use crate::site::services::{OFFERED, Services, Shared};
use crate::site::state::State;
use crate::site::storage::Storage;
use crate::site::unserved::Failures;
use crate::watch::audit::Actor;
use crate::watch::metrics::Metrics;
use crate::watch::traffic::Traffic;

/// The path below which the routes of plugins are mounted.
pub(crate) const BASE_PATH: &str = "/api/index.php";

/// The time limit for the plugins to shut down after a command.
const SHUTDOWN_TIME: Duration = Duration::from_secs(10);

/// The time limit for closing the database after that.
const DATABASE_TIME: Duration = Duration::from_secs(5);

/// Extra time to wake a job that an extension asked for as it ended.
const WAKING_TIME: Duration = Duration::from_millis(100);

/// An open site. Clones share their state.
#[derive(Clone, Debug)]
pub struct Site {
    inner: Arc<Inner>,
    /// The actor that changes are recorded with, if any.
    actor: Option<Arc<Actor>>,
}

#[derive(Debug)]
struct Inner {
    state: Arc<State>,
    metrics: Arc<Metrics>,
    traffic: Traffic,
    storage: Storage,
    /// In the order of the descriptions; `None` for one that could not be installed.
    extensions: Vec<Option<Extension>>,
    libraries: Vec<LibraryEntry>,
    unserved: Vec<Unserved>,
    mailer: Mailer,
    secrets: Arc<Secrets>,
    erased: ErasedList,
    token_lifetime: Option<Duration>,
    closed: AtomicBool,
}

/// The library of an extension, as shown to administrators.
#[derive(Clone, Debug)]
pub(crate) struct LibraryEntry {
    /// The path that it was loaded from.
    pub(crate) file: String,
    /// The version of the contract that it was built with.
    pub(crate) contract_version: String,
}

impl Site {
    /// Opens a database with these plugins, and installs what is missing: the tables of the host
    /// and of each plugin, and their reference data.
    ///
    /// # Errors
    /// When a library cannot be loaded, a plugin fails, or the database cannot be used.
    pub async fn open(url: &DatabaseUrl, plugins: &[PathBuf]) -> Result<Self, Error> {
        Self::open_with(url, None, plugins, &MailSettings::default()).await
    }

    /// Opens a site like [`Site::open`], with an optional replica of the database for reports, and the
    /// settings for the delivery of mails.
    ///
    /// # Errors
    /// When a library cannot be loaded, a plugin fails, or the database cannot be used.
    pub async fn open_with(
        url: &DatabaseUrl,
        reports: Option<&DatabaseUrl>,
        plugins: &[PathBuf],
        mail: &MailSettings,
    ) -> Result<Self, Error> {
        let libraries = Libraries::Named(plugins.to_vec());
        let databases = Databases::new(url.clone()).reports(reports.cloned());
        Self::load(&databases, &libraries, mail)?.open().await
    }

    /// The first half of opening a site: loads the libraries, without access to the database. A
    /// library that cannot be served does not keep the others from being served.
    ///
    /// # Errors
    /// When none of the libraries can be served: the reason of the first. When there is a database for an
    /// extension that no library has.
    pub fn load(
        databases: &Databases,
        libraries: &Libraries,
        mail: &MailSettings,
    ) -> Result<Loaded, Error> {
        let metrics = Arc::new(Metrics::new());
        let mailer = Mailer::new(mail, databases.host().beside("mail"), Arc::clone(&metrics))?;
        let mut created = Vec::new();
        let mut failures = Failures::default();
        for path in libraries.paths() {
            let loaded = Created::new(path, databases, &mailer);
            match loaded.and_then(|plugin| add(&mut created, plugin)) {
                Ok(()) => {}
                Err(error) => failures.add(path.display().to_string(), error),
            }
        }
        let any_failed = !failures.is_empty();
        let failures = failures.unless_all(created.is_empty())?;
        let names: Vec<&str> = created.iter().map(|created| created.extension.name()).collect();
        match databases.only_of(&names) {
            // It may be for an extension whose library could not be loaded.
            Err(error) if any_failed => tracing::warn!(%error, "a database is not used"),
            only => only?,
        }
        Ok(Loaded {
            databases: databases.clone(),
            metrics,
            mailer,
            created,
            failures,
            are_default: libraries.are_default(),
            actor: None,
            token_lifetime: None,
            deliver_to: Vec::new(),
            secrets: Arc::new(keys::secrets(databases, None)),
            erased: ErasedList::of(databases),
        })
    }

    /// The OpenAPI documents of the extensions that have one, as JSON text.
    ///
    /// # Errors
    /// When an extension fails.
    pub fn openapi(&self) -> Result<Vec<String>, Error> {
        Ok(self.openapi_documents()?.into_iter().map(|(_, document)| document).collect())
    }

    /// Shuts the plugins down and closes the database. The site cannot be used afterwards; closing
    /// it again does nothing.
    pub async fn close(&self) {
        let now = Instant::now();
        self.close_by(now + SHUTDOWN_TIME, now + SHUTDOWN_TIME + DATABASE_TIME).await;
    }

    /// Closes the site, with deadlines for the plugins and for the database.
    pub(crate) async fn close_by(&self, plugins: Instant, database: Instant) {
        if self.inner.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        // The other half of the time is for the plugins to shut down.
        let now = Instant::now();
        self.state().events().finish(now + plugins.duration_since(now) / 2).await;
        Extension::shut_down(self.served().cloned(), plugins).await;
        // An event that was waited for above, or the end of a plugin, may have woken a job.
        self.state().events().finish(plugins + WAKING_TIME).await;
        if timeout_at(database, self.state().database().close()).await.is_err() {
            tracing::error!("the host's database was not closed in time");
        }
    }

    /// The same site on behalf of an actor, with whom changes are recorded in the audit trail.
    pub(crate) fn on_behalf_of(&self, actor: Actor) -> Self {
        Self { inner: Arc::clone(&self.inner), actor: Some(Arc::new(actor)) }
    }

    /// The same site, where a page shows at once what came of its form.
    pub(crate) fn shown(&self) -> Self {
        let actor = self.actor().map(|actor| Arc::new(actor.shown()));
        Self { inner: Arc::clone(&self.inner), actor }
    }

    /// The actor that changes are recorded with, if any.
    pub(crate) fn actor(&self) -> Option<&Actor> {
        self.actor.as_deref()
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.inner.state
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.inner.metrics
    }

    /// The recent requests to the API.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.inner.traffic
    }

    /// The longest life of a token on this site, if it is limited.
    pub(crate) fn token_lifetime(&self) -> Option<Duration> {
        self.inner.token_lifetime
    }

    /// Reminds users of tokens that are about to end, until the future is dropped.
    pub(crate) async fn remind(&self) {
        reminders::follow(self.state().database(), &self.inner.mailer).await;
    }

    /// What delivers mails.
    pub(crate) fn mailer(&self) -> &Mailer {
        &self.inner.mailer
    }

    /// The secrets, with whose key addresses are hashed.
    pub(crate) fn secrets(&self) -> &Arc<Secrets> {
        &self.inner.secrets
    }

    /// The list of the persons who were erased.
    pub(crate) fn erased(&self) -> &ErasedList {
        &self.inner.erased
    }

    /// The files and the size of the database.
    pub(crate) fn storage(&self) -> &Storage {
        &self.inner.storage
    }

    /// The extensions that this host serves.
    pub(crate) fn served(&self) -> impl Iterator<Item = &Extension> {
        self.inner.extensions.iter().flatten()
    }

    /// Their plugins with their descriptions.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = (&Description, &Arc<LoadedPlugin>)> {
        self.served().map(|extension| (extension.description(), extension.plugin()))
    }

    /// Asks the plugins of all enabled extensions at the same time, each in a task of its own.
    pub(crate) fn ask_enabled<A: Future<Output: Send + 'static> + Send + 'static>(
        &self,
        ask: impl Fn(Arc<LoadedPlugin>) -> A,
    ) -> Vec<(String, JoinHandle<A::Output>)> {
        let enabled = self.plugins().filter(|(of, _)| self.state().snapshot().enabled(&of.name));
        let asked = |(of, plugin): (&Description, _)| {
            (of.name.clone(), tokio::spawn(ask(Arc::clone(plugin))))
        };
        enabled.map(asked).collect()
    }

    /// The libraries that this host does not serve.
    pub(crate) fn unserved(&self) -> &[Unserved] {
        &self.inner.unserved
    }

    /// Refuses work on what all extensions keep while one of them is missing.
    pub(crate) fn all_served(&self) -> Result<(), Error> {
        match self.unserved().first() {
            Some(Unserved { reason, .. }) => Err(Error::Invalid(reason.clone())),
            None => Ok(()),
        }
    }

    /// The OpenAPI documents, each with its extension.
    pub(crate) fn openapi_documents(&self) -> Result<Vec<(&Description, String)>, Error> {
        let mut documents = Vec::new();
        for (description, plugin) in self.plugins() {
            let document = plugin.openapi().map_err(|source| Error::Plugin {
                plugin: description.name.clone(),
                step: "openapi",
                source,
            })?;
            documents.extend(document.map(|document| (description, document)));
        }
        Ok(documents)
    }

    /// The description of a loaded extension, with its plugin and its library.
    pub(crate) fn loaded(
        &self,
        extension: &str,
    ) -> Option<(&Description, &LoadedPlugin, &LibraryEntry)> {
        let all = self.inner.extensions.iter().zip(&self.inner.libraries);
        let mut installed = all.filter_map(|(known, library)| Some((known.as_ref()?, library)));
        let (found, library) = installed.find(|(known, _)| known.name() == extension)?;
        Some((found.description(), found.plugin(), library))
    }
}

/// The loaded libraries of a site, checked for conflicts.
pub struct Loaded {
    databases: Databases,
    metrics: Arc<Metrics>,
    mailer: Mailer,
    created: Vec<Created>,
    failures: Failures,
    /// Whether nobody has named the libraries.
    are_default: bool,
    actor: Option<Arc<Actor>>,
    token_lifetime: Option<Duration>,
    deliver_to: Vec<IpNet>,
    secrets: Arc<Secrets>,
    erased: ErasedList,
}

impl Loaded {
    /// The commands of the extensions.
    pub fn commands(&self) -> Vec<DeclaredCommand> {
        let descriptions: Vec<&Description> =
            self.created.iter().map(|created| created.extension.description()).collect();
        declared::all(&descriptions)
    }

    /// Whether an extension is among them.
    pub(crate) fn has(&self, extension: &str) -> bool {
        self.created.iter().any(|created| created.extension.name() == extension)
    }

    /// On behalf of an actor, with whom the rules of new extensions are recorded.
    pub(crate) fn on_behalf_of(self, actor: Actor) -> Self {
        Self { actor: Some(Arc::new(actor)), ..self }
    }

    /// With tokens that end at the latest after so long.
    pub fn token_lifetime(self, longest: Option<Duration>) -> Self {
        Self { token_lifetime: longest, ..self }
    }

    /// With networks to which extensions may send requests, too.
    pub fn deliver_to(self, networks: Vec<IpNet>) -> Self {
        Self { deliver_to: networks, ..self }
    }

    /// With these secrets, whose key may be elsewhere than beside the database.
    pub(crate) fn secrets(self, secrets: &Arc<Secrets>) -> Self {
        Self { secrets: Arc::clone(secrets), ..self }
    }

    /// With this list of the persons who were erased, which may be elsewhere than beside the database.
    pub(crate) fn erased(self, erased: ErasedList) -> Self {
        Self { erased, ..self }
    }

    /// Opens the site, see [`Site::open`].
    ///
    /// # Errors
    /// When a plugin fails, the database cannot be used, or the site has other extensions than
    /// [`Libraries::Default`].
    pub async fn open(self) -> Result<Site, Error> {
        let Loaded { databases, created, failures, are_default, actor, secrets, .. } = self;
        let url = databases.host();
        let names = created.iter().map(|created| created.extension.name());
        let shared = !names.clone().any(|name| databases.has_own(name));
        let storage = Storage::new(url, names.map(|name| (name, file_stem(name))), shared);

        let libraries = created.iter().map(|created| created.library.clone()).collect();
        let database = Database::open(url)?;
        // Only one process at a time may install.
        let mut start = database.start(url).await?;
        let sender = Sender::new(self.deliver_to, Arc::clone(&self.metrics));
        let opened: Arc<OnceLock<Weak<dyn Persons>>> = Arc::default();
        let installed = start.run(async {
            refuse_unfinished_copy(&database, url).await?;
            if are_default {
                let names = created.iter().map(|created| created.extension.name());
                libraries::refuse_to_add(&database, names).await?;
            }
            let state = state_of(database, &created);
            let (secrets, site) = (Arc::clone(&secrets), Arc::clone(&opened));
            let shared = Shared { state, sender, secrets, site };
            install(shared, &databases, created, failures, actor.as_deref()).await
        });
        let installed = installed.await;
        // The lock is released also if the start failed, so that waiting starts continue.
        start.end().await;
        let (state, extensions, failures) = installed?;
        let inner = Arc::new(Inner {
            state,
            metrics: self.metrics,
            traffic: Traffic::default(),
            storage,
            extensions,
            libraries,
            unserved: failures.logged(),
            mailer: self.mailer,
            secrets,
            erased: self.erased,
            token_lifetime: self.token_lifetime,
            closed: AtomicBool::new(false),
        });
        let as_persons: Arc<dyn Persons> = inner.clone();
        // It is opened once, so that nothing else is there.
        let _ = opened.set(Arc::downgrade(&as_persons));
        Ok(Site { actor, inner })
    }
}

/// A plugin that has been created and described but not installed.
struct Created {
    library: LibraryEntry,
    extension: Extension,
    services: Services,
}

impl Created {
    fn new(path: &Path, databases: &Databases, mailer: &Mailer) -> Result<Self, Error> {
        let library = host_service::open(path)?;
        let services = Services::new(mailer.clone());
        let file = path.display().to_string();
        let (url, replica) = databases.of_extension(library.name(), file_stem(library.name()))?;
        let mut environment = Environment::new(url).base_path(BASE_PATH).capabilities(OFFERED);
        if let Some(replica) = replica {
            environment = environment.reports_url(replica);
        }
        let extension = Extension::create(&library, services.clone(), environment);
        let extension = extension.map_err(|error| match error {
            // The library is what the operator named.
            host_service::Error::Plugin { step, source, .. } => {
                Error::Plugin { plugin: file.clone(), step, source }
            }
            error => error.into(),
        })?;
        let contract_version = library.contract_version().to_owned();
        Ok(Self { library: LibraryEntry { file, contract_version }, extension, services })
    }
}

/// The name of an extension's file: its name without the kind of extension, so that the tables of
/// `webservices-shop` are in `shop.db`.
pub(crate) fn file_stem(extension: &str) -> &str {
    extension.strip_prefix("webservices-").filter(|rest| !rest.is_empty()).unwrap_or(extension)
}

/// The extensions whose files exist; none if the tables are on a server.
fn with_files<'a>(url: &DatabaseUrl, extensions: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let has_file = |name: &&str| url.file_of_extension(file_stem(name)).is_some_and(|f| f.exists());
    extensions.filter(has_file).collect()
}

/// Adds a plugin to those before it, unless they do not fit together.
fn add(created: &mut Vec<Created>, plugin: Created) -> Result<(), Error> {
    created.push(plugin);
    check_together(created).inspect_err(|_| drop(created.pop()))
}

/// Checks the extensions against each other.
fn check_together(created: &[Created]) -> Result<(), Error> {
    let extensions = created.iter().map(|created| created.extension.clone());
    host_service::check_together(extensions.collect())?;
    let mut files = HashSet::new();
    let names = created.iter().map(|created| created.extension.name());
    match names.into_iter().find(|name| !files.insert(file_stem(name))) {
        Some(name) => Err(Error::Description {
            plugin: name.to_owned(),
            reason: "would use the database file of another extension".to_owned(),
        }),
        None => Ok(()),
    }
}

fn state_of(database: Database, created: &[Created]) -> Arc<State> {
    let descriptions = created.iter().map(|created| created.extension.description().clone());
    Arc::new(State::new(database, descriptions.collect()))
}

/// Registers the extensions with the host, then installs each plugin.
async fn install(
    shared: Shared,
    databases: &Databases,
    created: Vec<Created>,
    mut failures: Failures,
    actor: Option<&Actor>,
) -> Result<(Arc<State>, Vec<Option<Extension>>, Failures), Error> {
    let state = Arc::clone(&shared.state);
    register(&state, databases, actor).await?;
    state.reload().await?;
    let mut extensions = Vec::new();
    for Created { library, extension, services } in created {
        services.link(shared.clone(), extension.name());
        extensions.push(match extension.plugin().install().await {
            Ok(()) => {
                services.started();
                Some(extension)
            }
            Err(source) => {
                let file = library.file;
                let error = Error::Plugin { plugin: file.clone(), step: "install", source };
                failures.add(file, error);
                None
            }
        });
    }
    let failures = failures.unless_all(extensions.iter().all(Option::is_none))?;
    let installed = extensions.iter().flatten().map(Extension::name);
    let files = with_files(databases.host(), installed);
    transact!(state.database(), Attempts::of_a_start(), |transaction| {
        registry::note_files(transaction, &files).await
    })?;
    let listeners = extensions.iter().flatten();
    let listeners =
        listeners.map(|of| Listener::new(of.name(), &of.description().events, of.plugin()));
    state.events().begin(listeners.collect());
    Ok((state, extensions, failures))
}

/// Refuses a database with an unfinished copy of a site.
async fn refuse_unfinished_copy(database: &Database, url: &DatabaseUrl) -> Result<(), Error> {
    let (copying,): (bool,) = database.fetch_one(sql("SELECT copying FROM host_state")).await?;
    if copying { Err(Error::UnfinishedCopy(url.to_string())) } else { Ok(()) }
}

async fn register(
    state: &State,
    databases: &Databases,
    actor: Option<&Actor>,
) -> Result<(), Error> {
    transact!(state.database(), Attempts::of_a_start(), |transaction| {
        let mut changed = registry::register_built_in(transaction).await?;
        for description in state.descriptions() {
            let registration = registry::register(transaction, description).await?;
            changed |= registration.changed;
            let (name, own) = (&description.name, databases.has_own(&description.name));
            let not_given = || databases.not_given(name).into();
            registry::note_database(transaction, name, own, not_given).await?;
            if let Some(file) = databases.host().file_of_extension(file_stem(name)) {
                registry::ensure_file(transaction, name, &file).await?;
            }
            if let Some(actor) = actor
                && !registration.granted.is_empty()
            {
                let what = format!("install an extension: {}", registration.granted.join(", "));
                actor.record(transaction, ("extension", name), &what).await?;
            }
        }
        // Other processes reload their state only if something has changed.
        if changed {
            crate::site::state::bump(transaction).await?;
        }
        Ok(())
    })
}
