//! One's own account: the password, and where one has signed in.

use askama::Template;

use crate::base::error::Error;
use crate::identity::passwords;
use crate::identity::sessions::{self, SessionEntry};
use crate::identity::users;
use crate::site::state::change;

use super::users::changed;
use crate::admin::authority::Authority;
use crate::admin::door::{self, Claim};
use crate::admin::place::{SIGN_IN, href};
use crate::admin::problem::Problem;
use crate::admin::view::show;
use crate::admin::view::{Field, Layout, Moment, Notice, View};
use crate::admin::visit::{Outcome, Visit};

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

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    render(&visit, None, None).await
}

/// Sets one's own password. Whoever sits at a browser that somebody left has to know the one before.
pub(crate) async fn set_password(visit: Visit) -> Result<Outcome, Problem> {
    let state = visit.site.state();
    let user = visit.session.user;
    let (username, current) = (&visit.session.username, visit.form.get("current"));
    let claim = visit.door.check(visit.client, username, current);
    let wrong = match claim.await? {
        Claim::Right(proven) if proven.id == user => None,
        Claim::Right(_) | Claim::Wrong => Some("this is not your password".to_owned()),
        Claim::Wait(seconds) => Some(door::too_many(seconds)),
    };
    if let Some(wrong) = wrong {
        return Ok(Outcome::Again(render(&visit, Some(&wrong), None).await?));
    }
    let hash = match passwords::hash(visit.form.get("password").to_owned()).await {
        Ok(hash) => hash,
        Err(Error::Invalid(why)) => {
            return Ok(Outcome::Again(render(&visit, None, Some(&why)).await?));
        }
        Err(error) => return Err(error.into()),
    };
    let recorded = change!(state, |transaction| {
        Authority::of(&visit, transaction).await?;
        users::keep_password(transaction, user, &hash).await?;
        visit.record(transaction, changed("set the own password", user)).await
    })?;
    Ok(Outcome::Done {
        recorded,
        to: href(SIGN_IN),
        says: "Your password is changed. Sign in with the new one.".to_owned(),
    })
}

pub(crate) async fn sign_out_everywhere(visit: Visit) -> Result<Outcome, Problem> {
    let user = visit.session.user;
    let recorded = change!(visit.site.state(), |transaction| {
        sessions::end_all(transaction, user).await?;
        visit.record(transaction, changed("sign out everywhere", user)).await
    })?;
    Ok(Outcome::Done {
        recorded,
        to: href(SIGN_IN),
        says: "You are signed out everywhere.".to_owned(),
    })
}

async fn render(visit: &Visit, wrong: Option<&str>, unfit: Option<&str>) -> Result<View, Problem> {
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
            .hint("At least 12 characters. Afterwards you have to sign in again everywhere.")
            .fault(unfit),
        sessions: sessions::of_user(database, visit.session.user, &visit.secret).await?,
    })
}
