//! One's own account: the password, and where one has signed in.

use askama::Template;

use crate::database::sql;
use crate::error::Error;
use crate::passwords;
use crate::sessions::{self, SessionEntry};
use crate::state::change;
use crate::users;

use super::view::{Field, Layout, Moment, Notice, View};
use super::visit::{Change, Outcome, Problem, Visit, show};
use super::{SIGN_IN, href};

#[derive(Template)]
#[template(path = "admin/account.html")]
struct Page {
    layout: Layout,
    username: String,
    id: i64,
    current: Field,
    password: Field,
    sessions: Vec<SessionEntry>,
}

pub(super) async fn page(visit: Visit) -> Result<View, Problem> {
    written(&visit, None, None).await
}

/// Sets one's own password. Whoever sits at a browser that somebody left has to know the one before.
pub(super) async fn set_password(visit: Visit) -> Result<Outcome, Problem> {
    let state = visit.site.state();
    let user = visit.session.user;
    let statement = sql("SELECT password_hash FROM host_users WHERE id = ?");
    let (kept,): (Option<String>,) = state.database().fetch_one(statement.bind(user)).await?;
    if !passwords::verify(visit.form.get("current").to_owned(), kept).await? {
        return Ok(Outcome::Again(written(&visit, Some("this is not your password"), None).await?));
    }
    let hash = match passwords::hash(visit.form.get("password").to_owned()).await {
        Ok(hash) => hash,
        Err(Error::Invalid(why)) => {
            return Ok(Outcome::Again(written(&visit, None, Some(&why)).await?));
        }
        Err(error) => return Err(error.into()),
    };
    change!(state, |transaction| users::keep_password(transaction, user, &hash).await)?;
    Ok(Outcome::Done {
        change: Change { what: "set the own password", record: format!("user {user}") },
        to: href(SIGN_IN),
        says: "Your password is set. Sign in with it.".to_owned(),
    })
}

pub(super) async fn sign_out_everywhere(visit: Visit) -> Result<Outcome, Problem> {
    let user = visit.session.user;
    change!(visit.site.state(), |transaction| sessions::end_all(transaction, user).await)?;
    Ok(Outcome::Done {
        change: Change { what: "sign out everywhere", record: format!("user {user}") },
        to: href(SIGN_IN),
        says: "You have signed out everywhere.".to_owned(),
    })
}

async fn written(visit: &Visit, wrong: Option<&str>, unfit: Option<&str>) -> Result<View, Problem> {
    let database = visit.site.state().database();
    let mut layout = visit.layout("Your account");
    if wrong.or(unfit).is_some() {
        layout = layout.saying(Notice::bad("Your password was not changed."));
    }
    show(&Page {
        layout,
        username: visit.session.username.clone(),
        id: visit.session.user,
        current: Field::password("current", "Current password")
            .autocomplete("current-password")
            .fault(wrong),
        password: Field::password("password", "New password")
            .hint("At least 12 characters. You sign in again afterwards, everywhere.")
            .fault(unfit),
        sessions: sessions::of_user(database, visit.session.user, &visit.secret).await?,
    })
}
