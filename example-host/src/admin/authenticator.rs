//! Checking a name and a password, and the code of a second factor. This is the only place where the administration
//! does so.
//! Guessing is slowed down, takes the same time for names that do not exist, and is recorded. Users who
//! are known from before, by their device or their session, have limits and places of their own, so that
//! guesses of others do not keep them out.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use time::OffsetDateTime;
use tokio::sync::Semaphore;

use crate::base::error::Error;
use crate::base::secret::SecretHash;
use crate::base::settings::SecondFactors;
use crate::base::text::fold;
use crate::database::{row, select};
use crate::identity::devices::{Devices, HALF_SIGNED_IN, KNOWN, TRUSTED};
use crate::identity::failures::{self, Key};
use crate::identity::names::name_of;
use crate::identity::passwords;
use crate::identity::second_factor::{self, Code, SecondFactor};
use crate::identity::sessions::Session;
use crate::site::Site;
use crate::site::notices::About;
use crate::watch::audit::{Audit, Entry, Means, Origin, Record};

use super::pace::Pace;
use super::paths::SIGN_IN_PAGE;
use super::throttle::Throttle;

/// How much of a name that does not exist is recorded, in characters: people enter their password
/// in place of the name.
const SHOWN: usize = 3;

/// The maximum number of passwords that are checked or wait for that, and again as many of users who are
/// known. So a flood of attempts takes neither memory nor connections from others, and the rest is refused
/// at once.
const PLACES: usize = 16;

/// A request with a password, as it is recorded.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    /// The name of the page.
    pub(crate) page: &'static str,
    pub(crate) client: IpAddr,
    pub(crate) by: By<'a>,
    pub(crate) id: &'a str,
    pub(crate) id_of_client: Option<&'a str>,
}

/// What the user may be known by before the password is checked. A cookie is as good as a secret, so this cannot be
/// printed.
#[derive(Clone, Copy)]
pub(crate) enum By<'a> {
    /// The cookie of a device, if it has one.
    Device(Option<&'a str>),
    /// The session in which the password is asked for again, and whether a code was shown in it.
    Session { of: SecretHash, with_code: bool },
}

/// A user whose password was correct.
pub(crate) struct VerifiedUser {
    pub(crate) id: i64,
    pub(crate) username: String,
    pub(crate) blocked: bool,
    /// The hash that was verified. The password may have been changed since.
    pub(crate) hash: Option<String>,
}

/// The result of a check of a password or a code.
pub(crate) enum Attempt<T> {
    Accepted(T),
    Rejected,
    /// It was not checked.
    Later(Later),
}

/// Why a password or a code was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Later {
    /// The next attempt is allowed after so many seconds.
    Throttled(u64),
    /// Too many other passwords are being checked.
    Busy,
}

/// Why a user is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusal<'a> {
    WrongPassword,
    WrongCode,
    UnknownName(&'a str),
    Later(Later),
    Blocked,
    NotPermitted,
}

/// Checks passwords, and counts and records failed attempts.
pub(crate) struct Authenticator {
    pub(crate) site: Site,
    pub(crate) audit: Arc<Audit>,
    pub(crate) devices: Devices,
    pub(crate) second_factors: SecondFactors,
    throttle: Throttle,
    places: Semaphore,
    places_of_known: Semaphore,
    pace: Pace,
}

row! {
    /// A user, as far as a sign-in needs it.
    struct Found {
        id: i64,
        username: String,
        blocked: bool,
        hash: Option<String> = "password_hash",
    }
}

impl Authenticator {
    pub(crate) fn new(site: Site, audit: Arc<Audit>, second_factors: SecondFactors) -> Self {
        Self {
            site,
            audit,
            devices: Devices::default(),
            second_factors,
            throttle: Throttle::default(),
            places: Semaphore::new(PLACES),
            places_of_known: Semaphore::new(PLACES),
            pace: Pace::new(),
        }
    }

    /// Checks the password of a user.
    pub(crate) async fn check(
        &self,
        asking: Asking<'_>,
        username: &str,
        password: &str,
    ) -> Result<Attempt<VerifiedUser>, Error> {
        let database = self.site.state().database();
        // All invalid names count as one name. They are neither looked up nor hashed.
        let name = name_of("the name of a user", username).map(fold).unwrap_or_default();
        let later = |later| {
            self.refuse(asking, (0, ""), Refusal::Later(later));
            Ok(Attempt::Later(later))
        };
        let throttled = |wait: Duration| later(Later::Throttled(wait.as_secs() + 1));
        let known = self.known(asking.by, &name).await?;
        let is_known = known.is_some();
        let keys = known.unwrap_or_else(|| failures::of_new_device(&name, asking.client));
        if let Some(wait) = self.throttle.wait(&keys) {
            return throttled(wait);
        }
        let places = if is_known { &self.places_of_known } else { &self.places };
        let Ok(_place) = places.try_acquire() else { return later(Later::Busy) };
        if let Some(wait) = self.throttle.begin(database, &keys).await? {
            return throttled(wait);
        }
        let unknown = || Ok(self.rejected(asking, (0, ""), Refusal::UnknownName(username)));
        if name.is_empty() {
            return unknown();
        }
        let found = self.find(&name).await?;
        let kept = found.as_ref().and_then(|found| found.hash.clone());
        let check = passwords::verify(password.to_owned(), kept);
        let right = if is_known {
            self.pace.check_at_once(check).await?
        } else {
            self.pace.check(check).await?
        };
        let Some(Found { id, username, blocked, hash }) = found else { return unknown() };
        if !right {
            return Ok(self.rejected(asking, (id, &username), Refusal::WrongPassword));
        }
        self.throttle.succeed(database, &keys).await?;
        Ok(Attempt::Accepted(VerifiedUser { id, username, blocked, hash }))
    }

    /// Checks the code of a user whose password was right, and uses it up. This costs no hashing of passwords.
    pub(crate) async fn check_code(
        &self,
        asking: Asking<'_>,
        (user, username): (i64, &str),
        entered: &str,
    ) -> Result<Attempt<Code>, Error> {
        let database = self.site.state().database();
        let later = |wait: Duration| {
            let later = Later::Throttled(wait.as_secs() + 1);
            self.refuse(asking, (user, username), Refusal::Later(later));
            Ok(Attempt::Later(later))
        };
        let factor = SecondFactor::of(database, user).await?;
        let known = match &factor {
            Some(factor) => self.known_by_code(asking.by, username, factor).await?,
            None => None,
        };
        let keys = failures::of_code(user, known, asking.client);
        if let Some(wait) = self.throttle.wait(&keys) {
            return later(wait);
        }
        if let Some(wait) = self.throttle.begin(database, &keys).await? {
            return later(wait);
        }
        let code = match factor {
            Some(factor) => {
                let now = OffsetDateTime::now_utc().unix_timestamp();
                factor.read(self.site.secrets(), entered, now)?
            }
            None => None,
        };
        match code {
            Some(code) if second_factor::use_up(database, user, code).await? => {
                self.throttle.succeed(database, &keys).await?;
                if let Code::Recovery(_) = code {
                    self.site.notify(user, About::RecoveryCodeUsed).await;
                }
                Ok(Attempt::Accepted(code))
            }
            _ => {
                tracing::warn!(target: "administration", client = %asking.client, "a wrong code");
                self.refuse(asking, (user, username), Refusal::WrongCode);
                Ok(Attempt::Rejected)
            }
        }
    }

    /// The second factor of a user, if codes are asked for.
    pub(crate) async fn second_factor(&self, user: i64) -> Result<Option<SecondFactor>, Error> {
        match self.second_factors {
            SecondFactors::Off => Ok(None),
            _ => SecondFactor::of(self.site.state().database(), user).await,
        }
    }

    /// Whether a code is asked for in a session, beside the password.
    pub(crate) fn asks_for_a_code(&self, session: &Session) -> bool {
        self.second_factors != SecondFactors::Off && session.second_factor
    }

    /// Whether a user has to set up a second factor before anything else.
    pub(crate) fn must_set_up(&self, session: &Session) -> bool {
        let required = match self.second_factors {
            SecondFactors::Off => false,
            SecondFactors::Allowed => {
                let snapshot = self.site.state().snapshot();
                snapshot.access.requires_second_factor(session.user)
            }
            SecondFactors::Required => true,
        };
        required && !session.second_factor
    }

    /// The cookie by which a device is known from now on, also for its codes if one of this second factor was shown on it.
    pub(crate) async fn sign_device(
        &self,
        user: i64,
        hash: &str,
        shown: Option<&SecondFactor>,
    ) -> Result<String, Error> {
        let with_code = shown.map(|factor| factor.with_password(hash));
        let bound: Vec<&str> = std::iter::once(hash).chain(with_code.as_deref()).collect();
        self.devices.sign(self.site.state().database(), &KNOWN, user, &bound).await
    }

    /// The same for the user whose session it is, and who has just set up a second factor there.
    pub(crate) async fn sign_own_device(&self, user: i64) -> Result<Option<String>, Error> {
        let database = self.site.state().database();
        let statement = select::<Found>("FROM host_users WHERE id = ?").bind(user);
        let found: Option<Found> = database.fetch_optional(statement).await?;
        let factor = SecondFactor::of(database, user).await?;
        let (Some(Found { hash: Some(hash), .. }), Some(factor)) = (found, factor) else {
            return Ok(None);
        };
        self.sign_device(user, &hash, Some(&factor)).await.map(Some)
    }

    /// Whether the browser with this cookie is trusted by a user with this second factor.
    pub(crate) async fn is_trusted(
        &self,
        cookie: Option<&str>,
        user: &VerifiedUser,
        factor: &SecondFactor,
    ) -> Result<bool, Error> {
        let Some(cookie) = cookie else { return Ok(false) };
        let database = self.site.state().database();
        let device = self.devices.read(database, &TRUSTED, cookie).await?;
        let Some(device) = device else { return Ok(false) };
        let bound = user.bound_to(factor);
        self.devices.is_of(database, &TRUSTED, &device, (user.id, &bound)).await
    }

    /// The user who has entered the password before, as a cookie of this site shows; `None` if it was too long ago,
    /// or something has changed since.
    pub(crate) async fn half_signed_in(
        &self,
        cookie: Option<&str>,
    ) -> Result<Option<VerifiedUser>, Error> {
        let Some(cookie) = cookie else { return Ok(None) };
        let database = self.site.state().database();
        let half = self.devices.read(database, &HALF_SIGNED_IN, cookie).await?;
        let Some(half) = half else { return Ok(None) };
        let statement = select::<Found>("FROM host_users WHERE id = ? AND NOT blocked");
        let found: Option<Found> = database.fetch_optional(statement.bind(half.user)).await?;
        let Some(Found { id, username, blocked, hash: Some(hash) }) = found else {
            return Ok(None);
        };
        let is_same = self.devices.is_of(database, &HALF_SIGNED_IN, &half, (id, &hash)).await?;
        let user = VerifiedUser { id, username, blocked, hash: Some(hash) };
        Ok(is_same.then_some(user))
    }

    /// What the attempts of a user who is known are counted for.
    async fn known(&self, by: By<'_>, name: &str) -> Result<Option<Vec<Key>>, Error> {
        match by {
            By::Session { of, .. } => Ok(Some(failures::of_session(of))),
            By::Device(cookie) => self.known_device(cookie, name, str::to_owned).await,
        }
    }

    /// What the codes of a user are counted for who has shown one of this second factor before.
    async fn known_by_code(
        &self,
        by: By<'_>,
        username: &str,
        factor: &SecondFactor,
    ) -> Result<Option<Key>, Error> {
        let keys = match by {
            By::Session { of, with_code } => with_code.then(|| failures::of_session(of)),
            By::Device(cookie) => {
                let bound = |hash: &str| factor.with_password(hash);
                self.known_device(cookie, &fold(username), bound).await?
            }
        };
        Ok(keys.and_then(|keys| keys.first().copied()))
    }

    /// What the attempts on a device are counted for whose cookie is that of this user, and bound to what `bound` makes
    /// of the hash of the password. Only a cookie that this site has signed costs a look-up.
    async fn known_device(
        &self,
        cookie: Option<&str>,
        name: &str,
        bound: impl Fn(&str) -> String,
    ) -> Result<Option<Vec<Key>>, Error> {
        let Some(cookie) = cookie else { return Ok(None) };
        let database = self.site.state().database();
        let device = self.devices.read(database, &KNOWN, cookie).await?;
        let Some(device) = device else { return Ok(None) };
        let Some(Found { id, hash: Some(hash), .. }) = self.find(name).await? else {
            return Ok(None);
        };
        let is_known = self.devices.is_of(database, &KNOWN, &device, (id, &bound(&hash))).await?;
        Ok(is_known.then(|| failures::of_device(device.hash)))
    }

    async fn find(&self, name: &str) -> Result<Option<Found>, Error> {
        let statement = select::<Found>("FROM host_users WHERE username_fold = ?").bind(name);
        self.site.state().database().fetch_optional(statement).await
    }

    /// Records that a user was refused; the key is 0 if the user is not known. Anybody can cause
    /// this any number of times, so the trail has a number of them for each minute.
    pub(crate) fn refuse(
        &self,
        asking: Asking<'_>,
        (user, username): (i64, &str),
        why: Refusal<'_>,
    ) {
        let Asking { page, client, id, id_of_client, .. } = asking;
        let record = match user {
            0 => Record::default(),
            _ => record_of(user),
        };
        let refused = match why {
            _ if page == SIGN_IN_PAGE => "sign in",
            Refusal::WrongCode => "code",
            _ => "password",
        };
        let entry = Entry::new(Origin::Administration, "POST", page, record)
            .by(user, username, &Means::Password(client))
            .saying(&format!("{refused} refused: {why}"))
            .answered(why.status(), id)
            .called(id_of_client);
        self.audit.note_seldom(&format!("{page} {} {user}", why.status()), entry);
    }

    fn rejected(
        &self,
        asking: Asking<'_>,
        user: (i64, &str),
        why: Refusal<'_>,
    ) -> Attempt<VerifiedUser> {
        tracing::warn!(target: "administration", client = %asking.client, "a wrong password");
        self.refuse(asking, user, why);
        Attempt::Rejected
    }
}

/// A user as the audit trail names it.
pub(super) fn record_of(user: i64) -> Record {
    Record { kind: "user".to_owned(), id: user.to_string() }
}

impl VerifiedUser {
    /// What a trusted browser is bound to.
    pub(crate) fn bound_to(&self, factor: &SecondFactor) -> String {
        format!("{} {}", self.hash.as_deref().unwrap_or_default(), factor.trust())
    }
}

impl Refusal<'_> {
    /// The status of the answer.
    fn status(self) -> u16 {
        match self {
            Refusal::WrongPassword | Refusal::WrongCode | Refusal::UnknownName(_) => 422,
            Refusal::Later(later) => later.status().as_u16(),
            Refusal::Blocked | Refusal::NotPermitted => 403,
        }
    }
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::WrongPassword => f.write_str("wrong password"),
            Refusal::WrongCode => f.write_str("wrong code"),
            Refusal::UnknownName(name) => {
                let shown: String =
                    name.chars().take(SHOWN.min(name.chars().count() / 2)).collect();
                write!(f, "unknown name {shown}…")
            }
            Refusal::Later(Later::Throttled(_)) => f.write_str("too many attempts"),
            Refusal::Later(Later::Busy) => f.write_str("too many sign-ins at once"),
            Refusal::Blocked => f.write_str("blocked"),
            Refusal::NotPermitted => f.write_str("not permitted"),
        }
    }
}

impl Later {
    /// The status of the answer.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Later::Throttled(_) => StatusCode::TOO_MANY_REQUESTS,
            Later::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// After how many seconds another attempt makes sense.
    pub(crate) fn seconds(self) -> u64 {
        match self {
            Later::Throttled(seconds) => seconds,
            Later::Busy => 1,
        }
    }
}

/// The message for the user.
impl fmt::Display for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Later::Throttled(seconds @ ..=120) => {
                write!(f, "Too many attempts. Try again in {seconds} seconds.")
            }
            Later::Throttled(seconds) => {
                write!(f, "Too many attempts. Try again in {} minutes.", seconds.div_ceil(60))
            }
            Later::Busy => f.write_str("Too many sign-ins at once. Try again in a moment."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_half_of_an_unknown_name_is_recorded() {
        for (name, shown) in
            [("", ""), ("x", ""), ("ann", "a"), ("hunter2", "hun"), ("日本語", "日")]
        {
            assert_eq!(Refusal::UnknownName(name).to_string(), format!("unknown name {shown}…"));
        }
    }
}
