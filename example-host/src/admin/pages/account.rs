//! The user's own account: the password and the sessions.

use askama::Template;

use crate::base::error::Error;
use crate::identity::passwords;
use crate::identity::sessions::{self, SessionEntry};
use crate::site::operations::users as operations;

use crate::admin::authenticator::Attempt;
use crate::admin::paths::{SIGN_IN, href};
use crate::admin::problem::Problem;
use crate::admin::view::show;
use crate::admin::view::{Field, Layout, Moment, Notice, View};
use crate::admin::visit::{Outcome, Visit};

#[derive(Template)]
#[template(path = "admin/account.html")]
struct AccountPage {
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

/// Changes the user's own password. The current one is required, because a browser may have been
/// left open.
pub(crate) async fn set_password(visit: Visit) -> Result<Outcome, Problem> {
    let user = visit.session.user;
    let (username, current) = (&visit.session.username, visit.form.get("current"));
    let attempt = visit.authenticator.check(visit.asking(), username, current);
    match attempt.await? {
        Attempt::Accepted(verified) if verified.id == user => {}
        Attempt::Accepted(_) | Attempt::Rejected => {
            let wrong = Some("this is not your password");
            return Ok(Outcome::Again(render(&visit, wrong, None).await?));
        }
        Attempt::Later(later) => return Err(Problem::Later(later)),
    }
    let hash = match passwords::hash(visit.form.get("password").to_owned()).await {
        Ok(hash) => hash,
        Err(Error::Invalid(why)) => {
            return Ok(Outcome::Again(render(&visit, None, Some(&why)).await?));
        }
        Err(error) => return Err(error.into()),
    };
    let recorded = operations::change_own_password(&visit.site, user, &hash).await?;
    Ok(Outcome::Done {
        recorded,
        to: href(SIGN_IN),
        message: "Your password was changed. Sign in with the new one.".to_owned(),
    })
}

pub(crate) async fn sign_out_everywhere(visit: Visit) -> Result<Outcome, Problem> {
    let recorded = operations::sign_out_everywhere(&visit.site, visit.session.user).await?;
    Ok(Outcome::Done {
        recorded,
        to: href(SIGN_IN),
        message: "You have signed out everywhere.".to_owned(),
    })
}

async fn render(
    visit: &Visit,
    wrong: Option<&str>,
    unacceptable: Option<&str>,
) -> Result<View, Problem> {
    let database = visit.site.state().database();
    let mut layout = visit.layout("Your account");
    if wrong.or(unacceptable).is_some() {
        layout = layout.with_notice(Notice::bad("Your password was not changed."));
    }
    show(&AccountPage {
        layout,
        username: visit.session.username.clone(),
        id: visit.session.user,
        current: Field::password("current", "Current password")
            .autocomplete("current-password")
            .fault(wrong),
        password: Field::password("password", "New password")
            .hint("At least 12 characters. The change ends all your sessions.")
            .fault(unacceptable),
        sessions: sessions::of_user(database, visit.session.user, &visit.secret).await?,
    })
}
