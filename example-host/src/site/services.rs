//! The services that the host offers to a plugin, as the contract's `Host`. They use the state in
//! memory; users are looked up, and mails and requests sent, on the host's own runtime.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use futures_util::future::BoxFuture;
use host_interface::{
    Body, Caller, Delivered, Delivery, ErasedEverywhere, Erasure, Error, Host, Level, LogRecord,
    Mail, Person, TrailEntry, User, UserQuery, capability,
};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::base::text::{fold, one_line, without_addresses};
use crate::database::{row, select, sql, transact};
use crate::deliver::Sender;
use crate::extensions::jobs::{self, JobKey};
use crate::identity::scopes::Uncovered;
use crate::mail::Mailer;
use crate::secrets::{Secrets, SecretsError};
use crate::site::persons::Persons;
use crate::site::state::State;
use crate::watch::audit::{Actor, Record};

/// What plugins may rely on, beside what `host-service` offers.
pub(crate) const OFFERED: [&str; 8] = [
    capability::MAIL,
    capability::USERS,
    capability::EVENTS,
    capability::JOBS,
    capability::DELIVER,
    capability::SECRETS,
    capability::TRAIL,
    capability::PRIVACY,
];

/// The services of one plugin. They are created before the plugin is described, and linked to the
/// site after that; until then they grant no permission.
#[derive(Clone, Debug)]
pub(crate) struct Services {
    link: Arc<OnceLock<Link>>,
    started: Arc<AtomicBool>,
    runtime: Handle,
    mailer: Mailer,
}

/// What the services of all plugins of a site share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) state: Arc<State>,
    pub(crate) sender: Sender,
    pub(crate) secrets: Arc<Secrets>,
    /// The site as a whole, once it is open. Weak, because the site refers to its plugins.
    pub(crate) site: Arc<OnceLock<Weak<dyn Persons>>>,
}

crate::base::opaque::opaque!(Shared);

#[derive(Debug)]
struct Link {
    shared: Shared,
    extension: String,
}

impl Services {
    /// Services that use the caller's runtime.
    pub(crate) fn new(mailer: Mailer) -> Self {
        Self { link: Arc::default(), started: Arc::default(), runtime: Handle::current(), mailer }
    }

    /// Links the services to a site and an extension.
    pub(crate) fn link(&self, shared: Shared, extension: &str) {
        let link = Link { shared, extension: extension.to_owned() };
        if self.link.set(link).is_err() {
            tracing::error!(extension, "services were linked twice");
        }
    }

    /// Marks the plugin as started.
    pub(crate) fn started(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// Whether a log line only repeats an error that the program will exit with: a panic during the
    /// start.
    fn is_repeated(&self, record: &LogRecord<'_>) -> bool {
        record.level() == Level::Error
            && record.message().starts_with("panicked")
            && !self.started.load(Ordering::Relaxed)
    }

    fn linked(&self) -> Result<&Link, Error> {
        self.link.get().ok_or_else(|| Error::failed("the site is not open yet"))
    }

    /// The site as a whole, and the extension that asks it.
    fn persons(&self) -> Result<(Arc<dyn Persons>, String), Error> {
        let Link { shared, extension } = self.linked()?;
        let site = shared.site.get().and_then(Weak::upgrade);
        let site = site.ok_or_else(|| Error::failed("the site is not open"))?;
        Ok((site, extension.clone()))
    }

    /// Runs work on the host's runtime for a caller on another one.
    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        // In a box, because a runtime's code for a task is compiled again for each type of future.
        let work: BoxFuture<'static, _> = Box::pin(work);
        self.runtime.spawn(work).await.unwrap_or_else(|error| Err(Error::failed(error)))
    }
}

impl Host for Services {
    fn caller(&self, user: i64) -> Option<Caller> {
        self.link.get()?.shared.state.caller(user)
    }

    async fn find_user(self: Arc<Self>, query: UserQuery) -> Result<Option<User>, Error> {
        let link = Arc::clone(&self.link);
        self.run(async move {
            match link.get() {
                Some(link) => find_user(&link.shared.state, query).await,
                None => Ok(None),
            }
        })
        .await
    }

    fn parameters(&self) -> String {
        self.link.get().map_or_else(
            || "{}".to_owned(),
            |link| link.shared.state.snapshot().parameters.json(&link.extension).to_owned(),
        )
    }

    fn parameters_revision(&self) -> u64 {
        let link = self.link.get();
        link.map_or(0, |link| link.shared.state.snapshot().parameters.revision(&link.extension))
    }

    /// Answers before the job is due, because the calling thread must not wait for the database.
    fn wake(&self, job: &str) -> Result<(), Error> {
        let unknown = || Error::Contract(format!("there is no job {job:?}"));
        let Link { shared, extension } = self.link.get().ok_or_else(unknown)?;
        let state = &shared.state;
        let of = state.descriptions().iter().find(|of| of.name == *extension);
        let known = of.is_some_and(|of| of.jobs.iter().any(|known| known.name == job));
        if !known {
            return Err(unknown());
        }
        let key = JobKey { extension: extension.clone(), name: job.to_owned() };
        let woken = Arc::clone(state);
        state.events().run(&self.runtime, async move {
            match jobs::wake(woken.database(), &key).await {
                Ok(()) => woken.woken().notify_one(),
                Err(error) => {
                    let JobKey { extension, name } = &key;
                    tracing::error!(extension, job = name, %error, "a job could not be woken");
                }
            }
        });
        Ok(())
    }

    async fn send_mail(self: Arc<Self>, mail: Mail) -> Result<(), Error> {
        let mailer = self.mailer.clone();
        self.run(async move {
            mailer.send(&mail).await.map_err(|error| {
                let refused = error.is_permanent();
                let error = one_line(error);
                let logged = without_addresses(&error);
                tracing::warn!(error = logged, refused, mail = mail.id, "a mail was not sent");
                if refused { Error::Refused(error) } else { Error::Failed(error) }
            })
        })
        .await
    }

    /// A request that the plugin does not wait for any more is given up.
    async fn deliver(self: Arc<Self>, delivery: Delivery) -> Result<Delivered, Error> {
        let Link { shared, extension } = self.linked()?;
        let (sender, extension) = (shared.sender.clone(), extension.clone());
        let mut sending = JoinSet::new();
        let work = async move { sender.deliver(&extension, delivery).await };
        sending.spawn_on(work, &self.runtime);
        match sending.join_next().await {
            Some(sent) => sent.unwrap_or_else(|error| Err(Error::failed(error))),
            None => Err(Error::failed("it was not begun")),
        }
    }

    fn may_deliver(&self, url: &str) -> Result<(), Error> {
        self.linked()?.shared.sender.may_deliver(url)
    }

    fn seal(&self, bound_to: &str, secret: &str) -> Result<String, Error> {
        let Link { shared, extension } = self.linked()?;
        shared.secrets.seal(extension, bound_to, secret).map_err(|error| unusable(extension, error))
    }

    fn unseal(&self, bound_to: &str, sealed: &str) -> Result<String, Error> {
        let Link { shared, extension } = self.linked()?;
        shared.secrets.open(extension, bound_to, sealed).map_err(|error| unusable(extension, error))
    }

    async fn record(self: Arc<Self>, entry: TrailEntry) -> Result<(), Error> {
        let link = Arc::clone(&self.link);
        self.run(async move {
            let Some(Link { shared, extension }) = link.get() else {
                return Err(Error::failed("the site is not open yet"));
            };
            record(&shared.state, extension, &entry).await.map_err(|error| {
                tracing::error!(extension, %error, "an extension could not add to the audit trail");
                Error::failed("the host's database does not answer")
            })
        })
        .await
    }

    async fn export_person(self: Arc<Self>, person: Person, by: i64) -> Result<Body, Error> {
        let (site, extension) = self.persons()?;
        self.run(site.export(extension, person, by)).await
    }

    /// It is completed even if the plugin does not wait for it any more.
    async fn erase_person(self: Arc<Self>, erasure: Erasure) -> Result<ErasedEverywhere, Error> {
        let (site, extension) = self.persons()?;
        self.run(site.erase(extension, erasure)).await
    }

    async fn erase_again(self: Arc<Self>) -> Result<u64, Error> {
        let (site, extension) = self.persons()?;
        self.run(site.erase_again(extension)).await
    }

    fn email_hash(&self, email: &str) -> Result<String, Error> {
        let Link { shared, extension } = self.linked()?;
        shared.secrets.hash_of_address(email).map_err(|error| unusable(extension, error.into()))
    }

    fn missing_scope(
        &self,
        scopes: &str,
        action: &str,
        asset: &str,
    ) -> Result<Option<String>, Error> {
        let known = self.linked()?.shared.state.scopes();
        match known.check(&known.granted(scopes), action, asset) {
            Ok(()) => Ok(None),
            Err(Uncovered::Lacks(scope)) => Ok(Some(scope)),
            Err(Uncovered::ByAny) => {
                Err(Error::Refused(format!("no scope covers {action} on {asset}")))
            }
        }
    }

    /// The metadata of a log line is fixed at compile time, so there is a macro call for each
    /// level, and the plugin's own target is a field.
    fn log(&self, record: &LogRecord<'_>) {
        let (source, fields, message) = (record.target(), record.fields(), record.message());
        match record.level() {
            Level::Error if self.is_repeated(record) => {
                tracing::debug!(target: "plugin", source, fields, "{message}");
            }
            Level::Error => tracing::error!(target: "plugin", source, fields, "{message}"),
            Level::Warn => tracing::warn!(target: "plugin", source, fields, "{message}"),
            Level::Info => tracing::info!(target: "plugin", source, fields, "{message}"),
            Level::Debug => tracing::debug!(target: "plugin", source, fields, "{message}"),
            Level::Trace => tracing::trace!(target: "plugin", source, fields, "{message}"),
        }
    }

    fn log_enabled(&self, level: Level, _target: &str) -> bool {
        match level {
            Level::Error => tracing::enabled!(target: "plugin", tracing::Level::ERROR),
            Level::Warn => tracing::enabled!(target: "plugin", tracing::Level::WARN),
            Level::Info => tracing::enabled!(target: "plugin", tracing::Level::INFO),
            Level::Debug => tracing::enabled!(target: "plugin", tracing::Level::DEBUG),
            Level::Trace => tracing::enabled!(target: "plugin", tracing::Level::TRACE),
        }
    }
}

/// What the plugin learns of a secret that cannot be sealed or opened.
fn unusable(extension: &str, error: SecretsError) -> Error {
    let (text, permanent) = (one_line(&error), error.is_permanent());
    tracing::warn!(extension, error = text, "a secret cannot be used");
    if permanent { Error::Refused(text) } else { Error::Failed(text) }
}

/// Writes an entry for what an extension does of its own accord.
async fn record(
    state: &State,
    extension: &str,
    entry: &TrailEntry,
) -> Result<(), crate::base::error::Error> {
    transact!(state.database(), |transaction| {
        let statement = sql("SELECT id, username FROM host_users WHERE id = ?").bind(entry.user);
        let user: Option<(i64, String)> = transaction.fetch_optional(statement).await?;
        // A user who was removed meanwhile keeps the key.
        let user = user.unwrap_or((entry.user, String::new()));
        let actor = Actor::of_extension(extension, one_line(&entry.action), user);
        let record = Record { kind: one_line(&entry.kind), id: one_line(&entry.id) };
        actor.record_event(transaction, record, &one_line(&entry.details)).await
    })
}

async fn find_user(state: &State, query: UserQuery) -> Result<Option<User>, Error> {
    row! {
        struct Found {
            id: i64,
            username: String,
            name: String,
            email: String,
        }
    }
    let by = |condition| select::<Found>(condition);
    let statement = match query {
        UserQuery::Id(id) => by("FROM host_users WHERE id = ?").bind(id),
        UserQuery::Username(name) => {
            by("FROM host_users WHERE username_fold = ?").bind(fold(&name))
        }
        UserQuery::Email(address) => {
            by("FROM host_users WHERE email_fold = ?").bind(fold(&address))
        }
        _ => return Err(Error::Unsupported("this host looks users up in other ways".to_owned())),
    };
    let found: Result<Option<Found>, _> = state.database().fetch_optional(statement).await;
    let row = found.map_err(|error| {
        tracing::error!(%error, "a user could not be looked up");
        Error::failed("the host's database does not answer")
    })?;
    Ok(row.map(|Found { id, username, name, email }| User::new(id, username, name, email)))
}
