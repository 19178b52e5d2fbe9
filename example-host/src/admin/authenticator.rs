//! Checking a name and a password. This is the only place where the administration does so.
//! Guessing is slowed down, and takes the same time for names that do not exist.

use std::net::IpAddr;
use std::time::Instant;

use crate::base::error::Error;
use crate::base::text::fold;
use crate::database::sql;
use crate::identity::names::name_of;
use crate::identity::passwords;
use crate::site::Site;

use super::throttle::Throttle;

/// A user whose password was correct.
pub(crate) struct VerifiedUser {
    pub(crate) id: i64,
    pub(crate) blocked: bool,
    /// The hash that was verified. The password may have been changed since.
    pub(crate) hash: Option<String>,
}

/// The result of a check.
pub(crate) enum Attempt {
    Accepted(VerifiedUser),
    Rejected,
    /// The password was not checked; the next attempt is allowed after so many seconds.
    Throttled(u64),
}

/// Checks passwords, and counts failed attempts.
pub(crate) struct Authenticator {
    pub(crate) site: Site,
    throttle: Throttle,
}

impl Authenticator {
    pub(crate) fn new(site: Site) -> Self {
        Self { site, throttle: Throttle::default() }
    }

    /// Checks the password of a user.
    pub(crate) async fn check(
        &self,
        client: IpAddr,
        username: &str,
        password: &str,
    ) -> Result<Attempt, Error> {
        // All invalid names count as one name. They are neither looked up nor hashed.
        let name = name_of("the name of a user", username).map(fold).unwrap_or_default();
        if let Err(wait) = self.throttle.begin(&name, client, Instant::now()) {
            return Ok(Attempt::Throttled(wait.as_secs() + 1));
        }
        if name.is_empty() {
            return Ok(wrong(client));
        }
        let statement =
            sql("SELECT id, blocked, password_hash FROM host_users WHERE username_fold = ?");
        let row: Option<(i64, bool, Option<String>)> =
            self.site.state().database().fetch_optional(statement.bind(name.as_str())).await?;
        let kept = row.as_ref().and_then(|(_, _, hash)| hash.clone());
        let right = passwords::verify(password.to_owned(), kept).await?;
        let Some((id, blocked, hash)) = row.filter(|_| right) else { return Ok(wrong(client)) };
        self.throttle.succeed(&name, client);
        Ok(Attempt::Accepted(VerifiedUser { id, blocked, hash }))
    }
}

/// The message after too many attempts.
pub(crate) fn too_many_attempts(seconds: u64) -> String {
    format!("Too many attempts. Try again in {seconds} seconds.")
}

fn wrong(client: IpAddr) -> Attempt {
    tracing::warn!(target: "administration", %client, "a wrong password");
    Attempt::Rejected
}
