//! The user's own account: the password and the sessions.

use askama::Template;

use crate::base::settings::SecondFactors;
use crate::identity::passwords;
use crate::identity::sessions::{self, SessionEntry};
use crate::site::operations::users as operations;

use crate::admin::paths::SIGN_IN;
use crate::admin::problem::Problem;
use crate::admin::proof::{Faults, Proof};
use crate::admin::view::{Field, Layout, Moment, View, show};
use crate::admin::visit::{Outcome, Visit};

#[derive(Template)]
#[template(path = "admin/account.html")]
struct AccountPage {
    layout: Layout,
    username: String,
    id: i64,
    current: Field,
    code: Option<Field>,
    password: Field,
    sessions: Vec<SessionEntry>,
    /// Whether the user has a second factor; `None` if the site has none.
    second_factor: Option<bool>,
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    render(&visit, Faults::default(), None).await
}

/// Changes the user's own password. The current one is required, because a browser may have been
/// left open.
pub(crate) async fn set_password(visit: Visit) -> Result<Outcome, Problem> {
    let user = visit.session.user;
    // A code is good once, so it is not asked for in vain.
    if let Err(why) = passwords::check(visit.form.get("password")) {
        let why = why.to_string();
        return Ok(Outcome::Again(render(&visit, Faults::default(), Some(&why)).await?));
    }
    match visit.prove(visit.form.get("current")).await? {
        Proof::Given(_) => {}
        Proof::Wrong(faults) => return Ok(Outcome::Again(render(&visit, faults, None).await?)),
        Proof::Later(later) => return Err(Problem::Later(later)),
    }
    let hash = passwords::hash(visit.form.get("password").to_owned()).await?;
    let recorded = operations::change_own_password(&visit.site, user, &hash).await?;
    let message = "Your password was changed. Sign in with the new one.";
    Ok(Outcome::done(recorded, SIGN_IN, message))
}

pub(crate) async fn sign_out_everywhere(visit: Visit) -> Result<Outcome, Problem> {
    let recorded = operations::sign_out_everywhere(&visit.site, visit.session.user).await?;
    Ok(Outcome::done(recorded, SIGN_IN, "You have signed out everywhere."))
}

async fn render(
    visit: &Visit,
    faults: Faults,
    unacceptable: Option<&str>,
) -> Result<View, Problem> {
    let database = visit.site.state().database();
    let is_refused = faults.password.or(faults.code).or(unacceptable).is_some();
    show(&AccountPage {
        layout: visit
            .layout("Your account")
            .warning_if(is_refused, "Your password was not changed."),
        username: visit.session.username.clone(),
        id: visit.session.user,
        current: Field::password("current", "Current password")
            .autocomplete("current-password")
            .fault(faults.password),
        code: visit.code_field(faults),
        password: Field::password("password", "New password")
            .hint("At least 12 characters. The change ends all your sessions.")
            .fault(unacceptable),
        second_factor: (visit.authenticator.second_factors != SecondFactors::Off)
            .then_some(visit.session.second_factor),
        sessions: sessions::of_user(database, visit.session.user, &visit.secret).await?,
    })
}
