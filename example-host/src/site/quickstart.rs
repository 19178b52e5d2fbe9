//! The quick start: on the first start a site gets demonstration data, an administrator and a
//! token. Each completed step is recorded, so that a start after a crash completes the rest.

use host_interface::{Progress, occasion};

use crate::base::error::Error;
use crate::base::secret;
use crate::database::sql;
use crate::identity::users::{NewUser, Prepared};
use crate::site::Site;
use crate::site::operations::tokens;
use crate::site::operations::users::{self, Groups, Who};
use crate::site::state::change;

/// The name of the administrator that the quick start creates.
const ADMINISTRATOR: &str = "admin";

/// The recorded progress of the first start.
const STATE: &str = "SELECT demo_filled, quick_start_finished FROM host_state";

/// The administrator that the first start created. The secrets can be shown only once, because only
/// their hashes are stored.
#[derive(Clone)]
pub struct FirstStart {
    /// The administrator's name to sign in with.
    pub username: String,
    /// The administrator's password.
    pub password: String,
    /// The administrator's API token.
    pub token: String,
}

/// The secrets must not reach a log through a debug format.
impl std::fmt::Debug for FirstStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirstStart").field("username", &self.username).finish_non_exhaustive()
    }
}

/// Completes the first start; `None` if it was complete.
///
/// A site with users that were added by other means is not changed.
///
/// # Errors
/// When an extension or the database fails. The next call continues from there.
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
        site.run_on(occasion::TRIAL, progress).await?;
    }
    let password: String = secret::random_text()?.chars().take(20).collect();
    let administrator = Prepared::new(NewUser {
        username: ADMINISTRATOR.to_owned(),
        email: "admin@example.com".to_owned(),
        groups: vec!["Super Users".to_owned()],
        password: Some(password.clone()),
    });
    let administrator = administrator.await?;

    // In one transaction: after a crash there is either no administrator or a complete one, and of
    // two concurrent starts only one creates it.
    let token = change!(state, |transaction| {
        let (_, finished): (bool, bool) = transaction.fetch_one(sql(STATE)).await?;
        if finished {
            return Ok(None);
        }
        let Prepared { profile, groups, password_hash } = &administrator;
        let (groups, hash) = (Groups::Titles(groups), password_hash.as_deref());
        let id = match users::add_within(transaction, site, profile, groups, hash).await? {
            Ok((id, _)) => id,
            Err(faults) => return Err(administrator.taken(&faults)),
        };
        let (token, _) = tokens::generate_within(transaction, site, Who::Key(id)).await?;
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
