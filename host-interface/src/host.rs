//! What a host offers to its plugins.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

use abi_stable::StableAbi;
use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RArc, RBox, ROption, RStr, RString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::caller::{Caller, Denial, Principal};
use crate::delivery::{Delivered, Delivery};
use crate::error::Error;
use crate::future::{RawFuture, answer, answer_with, failed};
use crate::log::{Level, LogRecord};
use crate::mail::Mail;
use crate::names::fact;
use crate::names::host as name;
use crate::outcome::Outcome;
use crate::panic::{Contained, attempt, catch};
use crate::person::{ErasedEverywhere, Erasure, Person};
use crate::progress::{Listeners, Progress, ProgressHandle, Report};
use crate::trail::TrailEntry;
use crate::user::{User, UserQuery};

use raw::{RawHost, RawHost_TO};

/// What a host offers, as the author of a host writes it.
///
/// Plugins call it from threads of their own, many at a time. The methods without a future answer
/// at once, from memory. A future is polled on a plugin's threads, so it brings the runtime that it needs.
pub trait Host: Send + Sync + 'static {
    /// The user with this key as a caller, for what a plugin does on behalf of a user who is not
    /// asking at the moment. `None` if there is no such user, or if they are blocked.
    fn caller(&self, user: i64) -> Option<Caller> {
        let _ = user;
        None
    }

    /// Looks up a user, blocked ones included. `None` if there is none. An error if the host cannot find
    /// out.
    fn find_user(
        self: Arc<Self>,
        query: UserQuery,
    ) -> impl Future<Output = Result<Option<User>, Error>> + Send {
        let _ = query;
        async { Err(Error::Unsupported("this host does not look up users".to_owned())) }
    }

    /// The plugin's parameters as the text of a JSON object: the values that the site has set. It may also
    /// have the declared defaults of the others. The default, an empty object, is that of a host without
    /// parameters: all have their declared defaults.
    fn parameters(&self) -> String {
        "{}".to_owned()
    }

    /// A number that changes whenever [`Host::parameters`] does, so that plugins need not parse
    /// them for every request.
    fn parameters_revision(&self) -> u64 {
        0
    }

    /// Sends a mail. `Ok` means that it has been sent, or handed to a system that will send it.
    /// [`Error::Refused`] means that it can never be sent, for example because its address is invalid.
    /// After any other error the plugin may ask again, with the same [`Mail::id`].
    fn send_mail(self: Arc<Self>, mail: Mail) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = mail;
        async { Err(Error::Unsupported("this host does not send mails".to_owned())) }
    }

    /// Sends a request to another site, and returns what came of it: `Ok` also if it was not accepted, or if
    /// there was no answer. [`Error::Refused`] means that it can never be sent. The content of an answer is
    /// read and dropped.
    fn deliver(
        self: Arc<Self>,
        delivery: Delivery,
    ) -> impl Future<Output = Result<Delivered, Error>> + Send {
        let _ = delivery;
        async { Err(Error::Unsupported("this host sends no requests".to_owned())) }
    }

    /// Whether requests may be sent to this address, as far as that is known without looking its name up.
    ///
    /// # Errors
    /// [`Error::Refused`] with a sentence for the person who entered it; [`Error::Unsupported`] if the host
    /// sends no requests.
    fn may_deliver(&self, url: &str) -> Result<(), Error> {
        Err(Error::Unsupported(format!("this host sends no requests, to {url:?} neither")))
    }

    /// Encrypts a secret that the plugin has to keep in its database. The text can only be opened by
    /// [`Host::unseal`] with the same `bound_to`, by a host of the same site.
    ///
    /// # Errors
    /// [`Error::Failed`] if the host's key cannot be used, [`Error::Unsupported`] if it has none.
    fn seal(&self, bound_to: &str, secret: &str) -> Result<String, Error> {
        let _ = secret;
        Err(Error::Unsupported(format!("this host keeps no secrets, {bound_to:?} neither")))
    }

    /// The secret in a text that [`Host::seal`] made.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was made with another key, or for something else, or was changed.
    fn unseal(&self, bound_to: &str, sealed: &str) -> Result<String, Error> {
        let _ = sealed;
        Err(Error::Unsupported(format!("this host keeps no secrets, {bound_to:?} neither")))
    }

    /// Adds an entry to the audit trail, for what the plugin does of its own accord. Changes by requests have
    /// one already.
    fn record(
        self: Arc<Self>,
        entry: TrailEntry,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = entry;
        async { Err(Error::Unsupported("this host has no audit trail".to_owned())) }
    }

    /// The scope that a token with these scopes lacks for doing `action` to `asset`, whatever its user may
    /// do; `None` if it lacks none. The scopes are those of the fact
    /// [`TOKEN_SCOPES`](crate::fact::TOKEN_SCOPES).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the host has no scopes.
    fn missing_scope(
        &self,
        scopes: &str,
        action: &str,
        asset: &str,
    ) -> Result<Option<String>, Error> {
        let _ = (scopes, action, asset);
        Err(Error::Unsupported("this host has no scopes".to_owned()))
    }

    /// Everything that the site keeps about a person, as the text of one JSON object in pieces: the host's own part and
    /// that of each extension with a map of personal data, the calling one included. Who may ask is decided by the
    /// plugin, by the permission of its [map](crate::Privacy). It leaves an entry in the audit trail, with the user who
    /// asks, 0 for nobody.
    fn export_person(
        self: Arc<Self>,
        person: Person,
        by: i64,
    ) -> impl Future<Output = Result<Body, Error>> + Send {
        let _ = (person, by);
        async { Err(Error::Unsupported("this host does not copy a person's data".to_owned())) }
    }

    /// Removes what the site keeps about a person: what the extensions keep first, then the host's own part. If
    /// anything anywhere is not completed and the erasure is not forced, nothing is changed. It leaves an
    /// entry in the audit trail. Doing it again completes what was interrupted.
    fn erase_person(
        self: Arc<Self>,
        erasure: Erasure,
    ) -> impl Future<Output = Result<ErasedEverywhere, Error>> + Send {
        let _ = erasure;
        async { Err(Error::Unsupported("this host does not erase a person's data".to_owned())) }
    }

    /// Erases all persons again who were erased before, for databases that were restored from an earlier time. The
    /// number of persons.
    fn erase_again(self: Arc<Self>) -> impl Future<Output = Result<u64, Error>> + Send {
        async { Err(Error::Unsupported("this host does not erase a person's data".to_owned())) }
    }

    /// What stands for an e-mail address that is not kept: the same for addresses that differ only in case or in spaces
    /// around them. Only this site can make it, so that nobody finds the address by trying.
    ///
    /// # Errors
    /// [`Error::Failed`] if the host's key cannot be used, [`Error::Unsupported`] if it has none.
    fn email_hash(&self, email: &str) -> Result<String, Error> {
        let _ = email;
        Err(Error::Unsupported("this host does not erase a person's data".to_owned()))
    }

    /// Runs one of the plugin's [jobs](crate::Job) soon, without waiting for its interval. It must not
    /// block. A program that does not serve the site leaves the job to a host that does.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the host runs no jobs, [`Error::Contract`] if the plugin has declared no
    /// job of this name.
    fn wake(&self, job: &str) -> Result<(), Error> {
        Err(Error::Unsupported(format!("this host runs no jobs, {job:?} included")))
    }

    /// Writes a line to the host's log.
    fn log(&self, record: &LogRecord<'_>);

    /// Whether lines of this level and target are written at all. Plugins may keep the answer.
    fn log_enabled(&self, level: Level, target: &str) -> bool {
        let _ = target;
        level <= Level::Info
    }
}

/// A plugin's way to its host. Clones are cheap and equal.
#[repr(transparent)]
#[derive(Clone, StableAbi)]
pub struct HostHandle(RArc<HostObject>);

type HostObject = RawHost_TO<'static, RBox<()>>;

impl HostHandle {
    /// A handle without a library, for tests of a plugin. A host is passed to
    /// [`Library::create`](crate::Library::create) instead.
    pub fn new(host: impl Host) -> Self {
        Self::listening(host, Listeners::default())
    }

    /// The user with this key as a caller, for what a plugin does on behalf of a user who is not
    /// asking at the moment. `None` if there is no such user, or if they are blocked.
    pub fn caller(&self, user: i64) -> Option<Caller> {
        self.0.caller(user).into_option()
    }

    /// The user with this key as a caller who may do no more than a token with these scopes could: those of the fact
    /// [`TOKEN_SCOPES`](crate::fact::TOKEN_SCOPES) of a caller that the plugin has kept.
    pub fn caller_within(&self, user: i64, scopes: &str) -> Option<Caller> {
        let caller = self.caller(user)?;
        Some(Caller::new(Within { caller, host: self.clone(), scopes: scopes.to_owned() }))
    }

    /// Looks up a user, blocked ones included. `None` if there is none.
    ///
    /// # Errors
    /// When the host cannot find out, for example because its database does not answer, and
    /// [`Error::Unsupported`] if it does not look up users.
    pub async fn find_user(&self, query: UserQuery) -> Result<Option<User>, Error> {
        self.call(name::FIND_USER, &query).await
    }

    /// The plugin's parameters as the text of a JSON object. One that is missing has the default that the
    /// plugin has declared.
    ///
    /// # Errors
    /// [`Error::Panicked`].
    pub fn parameters(&self) -> Result<String, Error> {
        self.ask(name::PARAMETERS, "")
    }

    /// A number that changes whenever the parameters do.
    pub fn parameters_revision(&self) -> u64 {
        self.0.parameters_revision()
    }

    /// Asks the host to send a mail.
    ///
    /// # Errors
    /// [`Error::Refused`] when this mail can never be sent, [`Error::Unsupported`] when the host
    /// sends none. Any other error is temporary, and the caller may ask again later; a mail that is
    /// sent twice has the same id.
    pub async fn send_mail(&self, mail: &Mail) -> Result<(), Error> {
        self.call(name::SEND_MAIL, mail).await
    }

    /// Has the host send a request to another site. `Ok` is also one that was not accepted, or that had no
    /// answer.
    ///
    /// # Errors
    /// [`Error::Refused`] when it can never be sent, [`Error::Unsupported`] when the host sends none.
    pub async fn deliver(&self, delivery: &Delivery) -> Result<Delivered, Error> {
        self.call(name::DELIVER, delivery).await
    }

    /// Whether requests may be sent to this address, as far as that is known without looking its name up.
    ///
    /// # Errors
    /// [`Error::Refused`] with a sentence for the person who entered it; [`Error::Unsupported`] if the host
    /// sends no requests.
    pub fn may_deliver(&self, url: &str) -> Result<(), Error> {
        self.ask(name::MAY_DELIVER, url).map(drop)
    }

    /// Encrypts a secret that the plugin has to keep in its database. `bound_to` names what it is for, for
    /// example `webhook 7`, and is needed to open it.
    ///
    /// # Errors
    /// [`Error::Failed`] if the host's key cannot be used, [`Error::Unsupported`] if it has none.
    pub fn seal(&self, bound_to: &str, secret: &str) -> Result<String, Error> {
        self.ask_json(name::SEAL, &Sealing { bound_to: bound_to.into(), text: secret.into() })
    }

    /// The secret in a text that [`HostHandle::seal`] made.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was made with another key, or for something else, or was changed.
    pub fn unseal(&self, bound_to: &str, sealed: &str) -> Result<String, Error> {
        self.ask_json(name::UNSEAL, &Sealing { bound_to: bound_to.into(), text: sealed.into() })
    }

    /// Adds an entry to the host's audit trail, for what the plugin does of its own accord.
    ///
    /// # Errors
    /// When it cannot be written, and [`Error::Unsupported`] when the host has no trail.
    pub async fn record(&self, entry: &TrailEntry) -> Result<(), Error> {
        self.call(name::RECORD, entry).await
    }

    /// Everything that the site keeps about a person, as the text of one JSON object in pieces, from the host and all
    /// extensions with a map of personal data. The plugin has to check before that the caller has the permission
    /// that its [map](crate::Privacy) names. `by` is the user who asks, for the audit trail; 0 for nobody.
    ///
    /// # Errors
    /// When it cannot begin, and [`Error::Unsupported`] when the host knows nothing of it. What cannot be read later is
    /// an error of the body.
    pub async fn export_person(&self, person: &Person, by: i64) -> Result<Body, Error> {
        let input = Copying { person: Cow::Borrowed(person), by };
        let input = serde_json::to_string(&input).map_err(Error::contract)?;
        self.0.stream(RStr::from_str(name::EXPORT_PERSON), input.into()).await.into_result()
    }

    /// Has the host remove what the site keeps about a person, the calling plugin's part included: the host calls
    /// [`Plugin::erase_person`](crate::Plugin::erase_person) for that.
    ///
    /// # Errors
    /// [`Error::Refused`] when it cannot be done as asked, with the reason for people; any other error when a part
    /// failed, after which it can be repeated; [`Error::Unsupported`] when the host knows nothing of it.
    pub async fn erase_person(&self, erasure: &Erasure) -> Result<ErasedEverywhere, Error> {
        self.call(name::ERASE_PERSON, erasure).await
    }

    /// Has the host erase all persons again who were erased before, after the databases were restored from an
    /// earlier time. The number of persons.
    ///
    /// # Errors
    /// When one of them could not be erased, and [`Error::Unsupported`] when the host knows nothing of it.
    pub async fn erase_again(&self) -> Result<u64, Error> {
        self.call(name::ERASE_AGAIN, &()).await
    }

    /// What stands for an e-mail address that is not kept, see [`Person::email_hash`].
    ///
    /// # Errors
    /// [`Error::Failed`] if the host's key cannot be used, [`Error::Unsupported`] if it has none.
    pub fn email_hash(&self, email: &str) -> Result<String, Error> {
        self.ask(name::EMAIL_HASH, email)
    }

    /// Asks the host to run one of the plugin's [jobs](crate::Job) soon. Returns before it runs. During a
    /// command that works on the site without serving it, the job is left to a host that serves it, now
    /// or next time.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the host runs no jobs, [`Error::Contract`] if the plugin has declared no
    /// job of this name.
    pub fn wake(&self, job: &str) -> Result<(), Error> {
        self.ask(name::WAKE, job).map(drop)
    }

    /// Writes a line to the host's log.
    pub fn log(&self, record: &LogRecord<'_>) {
        let text = RStr::from_str;
        let (target, message) = (text(record.target()), text(record.message()));
        self.0.log(record.level().number(), target, message, text(record.fields()));
    }

    /// Whether lines of this level and target are written at all.
    pub fn log_enabled(&self, level: Level, target: &str) -> bool {
        self.0.log_enabled(level.number(), RStr::from_str(target))
    }

    /// The handle of a host that passes reports of progress to these listeners.
    pub(crate) fn listening(host: impl Host, listeners: Listeners) -> Self {
        let guarded = Guarded { host: Contained::new(Arc::new(host)), listeners };
        Self(RArc::new(RawHost_TO::from_value(guarded, TD_Opaque)))
    }

    /// The listener that the host has registered under this number.
    pub(crate) fn listener(&self, task: u64) -> ProgressHandle {
        ProgressHandle::new(Listener { host: self.clone(), task })
    }

    fn ask(&self, name: &str, input: &str) -> Result<String, Error> {
        let answer = self.0.ask(RStr::from_str(name), RStr::from_str(input));
        answer.into_result().map(String::from)
    }

    fn ask_json(&self, name: &str, input: &impl Serialize) -> Result<String, Error> {
        self.ask(name, &serde_json::to_string(input).map_err(Error::contract)?)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        name: &str,
        input: &impl Serialize,
    ) -> Result<T, Error> {
        let input = serde_json::to_string(input).map_err(Error::contract)?;
        let answer = self.0.call(RStr::from_str(name), input.into()).await.into_result()?;
        serde_json::from_str(answer.as_str()).map_err(Error::contract)
    }
}

impl std::fmt::Debug for HostHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HostHandle")
    }
}

/// A listener on the side of the host.
struct Listener {
    host: HostHandle,
    task: u64,
}

impl Progress for Listener {
    fn report(&self, step: &str, done: u64, total: u64) {
        let report = Report { task: self.task, step: step.to_owned(), done, total };
        // Work continues whether or not its progress can be shown.
        if let Ok(report) = serde_json::to_string(&report) {
            drop(self.host.ask(name::PROGRESS, &report));
        }
    }
}

/// The input of sealing and of its reverse.
#[derive(Serialize, Deserialize)]
struct Sealing<'a> {
    bound_to: Cow<'a, str>,
    text: Cow<'a, str>,
}

/// The input of [`Host::missing_scope`].
#[derive(Serialize, Deserialize)]
struct Scoped<'a> {
    scopes: Cow<'a, str>,
    action: Cow<'a, str>,
    asset: Cow<'a, str>,
}

/// The input of [`Host::export_person`].
#[derive(Serialize, Deserialize)]
struct Copying<'a> {
    person: Cow<'a, Person>,
    by: i64,
}

/// A caller with the scopes of a token that is not there.
struct Within {
    caller: Caller,
    host: HostHandle,
    scopes: String,
}

impl Principal for Within {
    fn user(&self) -> i64 {
        self.caller.user()
    }

    fn fact(&self, name: &str) -> Option<&str> {
        if name == fact::TOKEN_SCOPES { Some(&self.scopes) } else { self.caller.fact(name) }
    }

    fn may(&self, action: &str, asset: &str) -> Result<(), Denial> {
        self.caller.may(action, asset)?;
        let (scopes, action, asset) = (self.scopes.as_str().into(), action.into(), asset.into());
        let missing = self.host.ask_json(name::MISSING_SCOPE, &Scoped { scopes, action, asset });
        match missing {
            Ok(missing) if missing.is_empty() => Ok(()),
            Ok(missing) => Err(Denial::InsufficientScope(missing)),
            Err(_) => Err(Denial::Forbidden),
        }
    }
}

/// A host whose panics are caught: each becomes a failure, or the answer that grants nothing.
struct Guarded<H> {
    host: Contained<Arc<H>>,
    listeners: Listeners,
}

impl<H: Host> RawHost for Guarded<H> {
    fn ask(&self, name: RStr<'_>, input: RStr<'_>) -> Outcome<RString> {
        catch(|| match name.as_str() {
            name::PARAMETERS => Ok(self.host.parameters().into()),
            name::PROGRESS => {
                self.listeners.report(&read(&input)?);
                Ok(RString::new())
            }
            name::WAKE => self.host.wake(input.as_str()).map(|()| RString::new()),
            name::MAY_DELIVER => self.host.may_deliver(input.as_str()).map(|()| RString::new()),
            name::SEAL => {
                let Sealing { bound_to, text } = read(&input)?;
                self.host.seal(&bound_to, &text).map(RString::from)
            }
            name::UNSEAL => {
                let Sealing { bound_to, text } = read(&input)?;
                self.host.unseal(&bound_to, &text).map(RString::from)
            }
            name::EMAIL_HASH => self.host.email_hash(input.as_str()).map(RString::from),
            name::MISSING_SCOPE => {
                let Scoped { scopes, action, asset } = read(&input)?;
                let missing = self.host.missing_scope(&scopes, &action, &asset)?;
                Ok(missing.unwrap_or_default().into())
            }
            other => Err(unsupported(other)),
        })
    }

    fn call(&self, name: RStr<'_>, input: RString) -> RawFuture<RString> {
        let host = Arc::clone(&self.host);
        match name.as_str() {
            name::FIND_USER => answer(&input, |query| host.find_user(query)),
            name::SEND_MAIL => answer(&input, |mail| host.send_mail(mail)),
            name::DELIVER => answer(&input, |delivery| host.deliver(delivery)),
            name::RECORD => answer(&input, |entry| host.record(entry)),
            name::ERASE_PERSON => answer(&input, |erasure| host.erase_person(erasure)),
            name::ERASE_AGAIN => answer(&input, |(): ()| host.erase_again()),
            other => failed(unsupported(other)),
        }
    }

    fn stream(&self, name: RStr<'_>, input: RString) -> RawFuture<Body> {
        let host = Arc::clone(&self.host);
        match name.as_str() {
            name::EXPORT_PERSON => answer_with(&input, |Copying { person, by }| {
                host.export_person(person.into_owned(), by)
            }),
            other => failed(unsupported(other)),
        }
    }

    fn caller(&self, user: i64) -> ROption<Caller> {
        attempt(|| self.host.caller(user)).unwrap_or_default().into()
    }

    fn parameters_revision(&self) -> u64 {
        attempt(|| self.host.parameters_revision()).unwrap_or(0)
    }

    fn log_enabled(&self, level: u8, target: RStr<'_>) -> bool {
        let level = Level::from_number(level);
        attempt(|| self.host.log_enabled(level, target.as_str())).unwrap_or(false)
    }

    fn log(&self, level: u8, target: RStr<'_>, message: RStr<'_>, fields: RStr<'_>) {
        let (target, message, fields) = (target.as_str(), message.as_str(), fields.as_str());
        let record = LogRecord::new(Level::from_number(level), target, message, fields);
        // There is nowhere left to report a log that panics.
        drop(attempt(|| self.host.log(&record)));
    }
}

fn unsupported(name: &str) -> Error {
    Error::Unsupported(format!("the host has no call {name:?}"))
}

/// The input of a call that answers at once.
fn read<T: DeserializeOwned>(input: &RStr<'_>) -> Result<T, Error> {
    serde_json::from_str(input.as_str()).map_err(Error::contract)
}

mod raw {
    //! The host as it crosses. New methods go to the end and have a default body; mostly a new name for
    //! `ask` or `call` will do.
    #![allow(
        unsafe_code,
        missing_docs,
        unreachable_pub,
        non_local_definitions,
        clippy::used_underscore_items,
        reason = "generated by sabi_trait"
    )]

    use abi_stable::sabi_trait;
    use abi_stable::std_types::{ROption, RStr, RString};

    use crate::body::Body;
    use crate::caller::Caller;
    use crate::error::Error;
    use crate::future::{RawFuture, failed};
    use crate::outcome::Outcome;

    #[sabi_trait]
    pub trait RawHost: Send + Sync {
        /// Answers at once.
        fn ask(&self, name: RStr<'_>, input: RStr<'_>) -> Outcome<RString>;
        /// Answers later.
        fn call(&self, name: RStr<'_>, input: RString) -> RawFuture<RString>;
        fn caller(&self, user: i64) -> ROption<Caller>;
        fn parameters_revision(&self) -> u64;
        fn log_enabled(&self, level: u8, target: RStr<'_>) -> bool;
        #[sabi(last_prefix_field)]
        fn log(&self, level: u8, target: RStr<'_>, message: RStr<'_>, fields: RStr<'_>);
        /// Answers later and in pieces.
        fn stream(&self, name: RStr<'_>, _input: RString) -> RawFuture<Body> {
            failed(Error::Unsupported(format!("the host has no call {:?}", name.as_str())))
        }
    }
}
