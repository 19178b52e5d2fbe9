//! Whether somebody is who they claim to be: the one place where the administration checks a password,
//! whatever it is asked for. Guessing is slowed down, and takes the same time for a name that no user
//! has. What is behind the door is not known here.

use std::net::IpAddr;
use std::time::Instant;

use crate::base::error::Error;
use crate::base::text::fold;
use crate::database::sql;
use crate::identity::names::name_of;
use crate::identity::passwords;
use crate::site::Site;

use super::throttle::Throttle;

/// A user whose password was right.
pub(crate) struct Proven {
    pub(crate) id: i64,
    pub(crate) blocked: bool,
    /// What was kept of the password. It may have been changed since.
    pub(crate) hash: Option<String>,
}

/// What came of a claim.
pub(crate) enum Claim {
    Right(Proven),
    Wrong,
    /// Nothing was looked at. How many seconds it takes until something is.
    Wait(u64),
}

/// The way into the administration: the site, and how often somebody has tried lately.
pub(crate) struct Door {
    pub(crate) site: Site,
    throttle: Throttle,
}

impl Door {
    pub(crate) fn new(site: Site) -> Self {
        Self { site, throttle: Throttle::default() }
    }

    /// Looks whether this is the password of that user.
    pub(crate) async fn check(
        &self,
        client: IpAddr,
        username: &str,
        password: &str,
    ) -> Result<Claim, Error> {
        // All names that nobody can have count as one: there is nothing to look up and nothing to
        // hash.
        let name = name_of("the name of a user", username).map(fold).unwrap_or_default();
        if let Err(wait) = self.throttle.begin(&name, client, Instant::now()) {
            return Ok(Claim::Wait(wait.as_secs() + 1));
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
        Ok(Claim::Right(Proven { id, blocked, hash }))
    }
}

/// The message to somebody who has to wait.
pub(crate) fn too_many(seconds: u64) -> String {
    format!("Too many attempts. Try again in {seconds} seconds.")
}

fn wrong(client: IpAddr) -> Claim {
    tracing::warn!(target: "administration", %client, "a wrong password");
    Claim::Wrong
}
