//! The quick start: on the first start a site gets demonstration data, an administrator and a
//! token. Each step is recorded when it is done, so that a start after a crash completes what is
//! missing. Where the site listens and how secrets are shown is the caller's.

use host_interface::Progress;
use serde_json::Map;

use crate::base::error::Error;
use crate::base::secret;
use crate::database::sql;
use crate::identity::tokens;
use crate::identity::users::{NewUser, Prepared};
use crate::site::Site;
use crate::site::state::change;

/// The name of the administrator that the quick start makes.
const ADMINISTRATOR: &str = "admin";

/// How far the first start has come.
const STATE: &str = "SELECT demo_filled, quick_start_finished FROM host_state";

/// What the first start made. Shown once: only hashes of it are kept.
#[derive(Clone)]
pub struct FirstStart {
    /// The administrator's name to sign in with.
    pub username: String,
    /// The administrator's password.
    pub password: String,
    /// The administrator's API token.
    pub token: String,
}

/// The secrets must not reach a log by way of a debug format.
impl std::fmt::Debug for FirstStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirstStart").field("username", &self.username).finish_non_exhaustive()
    }
}

/// Does what is left of the first start; `None` where nothing was.
///
/// A site that somebody set up by hand, so that it has users, is left as it is.
///
/// # Errors
/// When an extension or the database fails. Calling it again goes on from there.
pub async fn prepare<P: Progress>(
    site: &Site,
    progress: impl FnMut() -> P,
) -> Result<Option<FirstStart>, Error> {
    let state = site.state();
    let (demo_filled, finished): (bool, bool) = state.database().fetch_one(sql(STATE)).await?;
    if finished || has_users(site).await? {
        return Ok(None);
    }
    if !demo_filled {
        site.demo(&Map::new(), progress).await?;
    }
    let password: String = secret::random_text()?.chars().take(20).collect();
    let administrator = Prepared::from(NewUser {
        username: ADMINISTRATOR.to_owned(),
        email: "admin@example.com".to_owned(),
        groups: vec!["Super Users".to_owned()],
        password: Some(password.clone()),
    });
    let administrator = administrator.await?;

    // All or nothing: a crash leaves either no administrator or one whose start is finished, and
    // of two starts at the same time one makes it.
    let token = change!(state, |transaction| {
        let (_, finished): (bool, bool) = transaction.fetch_one(sql(STATE)).await?;
        if finished {
            return Ok(None);
        }
        let id = administrator.insert(transaction).await?;
        site.record(transaction, "user", id, "add a user").await?;
        let token = tokens::insert(transaction, id).await?;
        site.record(transaction, "user", id, "generate a token").await?;
        transaction.execute(sql("UPDATE host_state SET quick_start_finished = TRUE")).await?;
        Ok(Some(token))
    })?;
    Ok(token.map(|token| FirstStart { username: ADMINISTRATOR.to_owned(), password, token }))
}

async fn has_users(site: &Site) -> Result<bool, Error> {
    let statement = sql("SELECT id FROM host_users LIMIT 1");
    let found: Option<(i64,)> = site.state().database().fetch_optional(statement).await?;
    Ok(found.is_some())
}
