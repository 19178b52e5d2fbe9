//! What a host offers to its plugins.

use abi_stable::StableAbi;
use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{RArc, RBox, ROption, RStr, RString};

use crate::error::Error;
use crate::future::BoxFuture;
use crate::log::{Level, LogRecord};
use crate::mail::Mail;
use crate::outcome::Outcome;
use crate::panic::{attempt, catch};
use crate::user::{User, UserQuery};

use raw::{RawHost, RawHost_TO};

/// What a host offers, as the author of a host writes it.
///
/// Plugins call it from threads of their own, many at a time. The methods without a future answer
/// at once, from memory; one that returns a future brings whatever runtime the future needs.
pub trait Host: Send + Sync + 'static {
    /// Whether the user may do `action` to `asset`. A user, action or asset that the host does not
    /// know is a no.
    fn authorise(&self, user: i64, action: &str, asset: &str) -> bool;

    /// Looks up a user, blocked ones included.
    fn find_user(&self, query: UserQuery) -> BoxFuture<Result<Option<User>, Error>>;

    /// The plugin's parameters as the text of a JSON object: what the site has set, and the
    /// declared default of each other one.
    fn parameters(&self) -> String;

    /// A number that changes whenever [`Host::parameters`] does, so that plugins need not read
    /// them for every request.
    fn parameters_revision(&self) -> u64;

    /// Sends a mail. It has been sent, or handed to a system that will send it, when the future is
    /// ready with `Ok`. [`Error::Refused`] says that it can never be sent, for example because no
    /// mail can have that address; after any other error it may be asked for again.
    fn send_mail(&self, mail: Mail) -> BoxFuture<Result<(), Error>>;

    /// Writes a line to the host's log.
    fn log(&self, record: &LogRecord<'_>);

    /// Whether lines of this level and target are written at all. Plugins may remember the answer.
    fn log_enabled(&self, level: Level, target: &str) -> bool {
        let _ = target;
        level <= Level::Info
    }
}

/// A plugin's way to its host. Clones are cheap and equal.
#[repr(transparent)]
#[derive(Clone, StableAbi)]
pub struct HostHandle(RArc<HostObject>);

impl HostHandle {
    /// The handle to hand to [`Library::create`](crate::Library::create).
    pub fn new(host: impl Host) -> Self {
        Self(RArc::new(RawHost_TO::from_value(Guarded(host), TD_Opaque)))
    }

    /// Whether the user may do `action` to `asset`. Answered from memory; a failure is a no.
    pub fn authorise(&self, user: i64, action: &str, asset: &str) -> bool {
        self.0.authorise(user, RStr::from_str(action), RStr::from_str(asset))
    }

    /// Looks up a user, blocked ones included.
    ///
    /// # Errors
    /// When the host cannot look, for example because its database does not answer.
    pub async fn find_user(&self, query: UserQuery) -> Result<Option<User>, Error> {
        let future = self.0.find_user(query).into_result()?;
        future.await.and_then(Outcome::into_result).map(ROption::into_option)
    }

    /// The plugin's parameters as the text of a JSON object, defaults filled in.
    ///
    /// # Errors
    /// When the host panics over it.
    pub fn parameters(&self) -> Result<String, Error> {
        self.0.parameters().into_result().map(String::from)
    }

    /// A number that changes whenever the parameters do.
    pub fn parameters_revision(&self) -> u64 {
        self.0.parameters_revision()
    }

    /// Asks the host to send a mail.
    ///
    /// # Errors
    /// [`Error::Refused`] when this mail can never be sent. Any other error is for now, and asking
    /// again later is the caller's; a mail that is sent twice all the same can be told by its id.
    pub async fn send_mail(&self, mail: &Mail) -> Result<(), Error> {
        let text = serde_json::to_string(mail).map_err(Error::failed)?;
        let future = self.0.send_mail(text.into()).into_result()?;
        future.await.and_then(Outcome::into_result)
    }

    /// Writes a line to the host's log.
    pub fn log(&self, record: &LogRecord<'_>) {
        self.0.log(record);
    }

    /// Whether lines of this level and target are written at all.
    pub fn log_enabled(&self, level: Level, target: &str) -> bool {
        self.0.log_enabled(level, RStr::from_str(target))
    }
}

impl std::fmt::Debug for HostHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HostHandle")
    }
}

type HostObject = RawHost_TO<'static, RBox<()>>;

/// A host whose panics are caught: each becomes the answer that grants nothing.
struct Guarded<H>(H);

impl<H: Host> RawHost for Guarded<H> {
    fn authorise(&self, user: i64, action: RStr<'_>, asset: RStr<'_>) -> bool {
        attempt(|| self.0.authorise(user, action.as_str(), asset.as_str())).unwrap_or(false)
    }

    fn find_user(&self, query: UserQuery) -> Outcome<BoxFuture<Outcome<ROption<User>>>> {
        catch(|| {
            let future = self.0.find_user(query);
            Ok(BoxFuture::new(async move {
                Outcome::from_result(future.await.and_then(|found| found).map(ROption::from))
            }))
        })
    }

    fn parameters(&self) -> Outcome<RString> {
        catch(|| Ok(RString::from(self.0.parameters())))
    }

    fn parameters_revision(&self) -> u64 {
        attempt(|| self.0.parameters_revision()).unwrap_or(0)
    }

    fn send_mail(&self, mail: RString) -> Outcome<BoxFuture<Outcome<()>>> {
        catch(|| {
            let mail = serde_json::from_str(mail.as_str())
                .map_err(|error| Error::Contract(error.to_string()))?;
            let future = self.0.send_mail(mail);
            Ok(BoxFuture::new(
                async move { Outcome::from_result(future.await.and_then(|sent| sent)) },
            ))
        })
    }

    fn log(&self, record: &LogRecord<'_>) {
        // A log that panics has nobody left to tell.
        drop(attempt(|| self.0.log(record)));
    }

    fn log_enabled(&self, level: Level, target: RStr<'_>) -> bool {
        attempt(|| self.0.log_enabled(level, target.as_str())).unwrap_or(false)
    }
}

mod raw {
    //! The host as it crosses.
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

    use crate::future::BoxFuture;
    use crate::log::{Level, LogRecord};
    use crate::outcome::Outcome;
    use crate::user::{User, UserQuery};

    #[sabi_trait]
    pub trait RawHost: Send + Sync {
        fn authorise(&self, user: i64, action: RStr<'_>, asset: RStr<'_>) -> bool;
        fn find_user(&self, query: UserQuery) -> Outcome<BoxFuture<Outcome<ROption<User>>>>;
        fn parameters(&self) -> Outcome<RString>;
        fn parameters_revision(&self) -> u64;
        fn send_mail(&self, mail: RString) -> Outcome<BoxFuture<Outcome<()>>>;
        fn log(&self, record: &LogRecord<'_>);
        #[sabi(last_prefix_field)]
        fn log_enabled(&self, level: Level, target: RStr<'_>) -> bool;
    }
}
