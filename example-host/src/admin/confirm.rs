//! Asks for the password again, and for the code of a second factor, before a change to access or permissions, because a
//! browser that was left open must not be enough for that. The change then continues with the values that were
//! entered.

use askama::Template;
use axum::body::Body;
use axum::http::{Response, StatusCode};

use crate::identity::sessions;

use super::form::{self, CSRF_TOKEN};
use super::page_request::PageRequest;
use super::paths::{href, inside};
use super::problem::Problem;
use super::proof::{CODE, Faults, Proof};
use super::view::{Field, Layout, View, show};
use super::visit::Visit;

/// The field for the password of the signed-in user.
const CONFIRMATION: &str = "confirmation";

/// The field for a new password.
const PASSWORD: &str = "password";

/// The field with the page to go back to.
const BACK: &str = "back";

#[derive(Template)]
#[template(path = "admin/confirm.html")]
struct PasswordPage {
    layout: Layout,
    /// The address of the original form.
    action: String,
    back: String,
    /// The values that were entered, for hidden fields.
    entered: Vec<(String, String)>,
    fields: Vec<Field>,
    alert: String,
}

/// The page that asks for the password; `None` if it was entered recently or with this request.
pub(crate) async fn answer(
    visit: &Visit,
    request: &PageRequest,
) -> Result<Option<Response<Body>>, Problem> {
    if visit.session.is_confirmed() {
        return Ok(None);
    }
    let Some(password) = visit.form.given(CONFIRMATION) else {
        return render(visit, request, Faults::default(), "")
            .map(|page| Some(page.with_status(StatusCode::FORBIDDEN)));
    };
    let faults = match visit.prove(password).await? {
        Proof::Given(verified) => {
            let (database, hash) = (visit.site.state().database(), verified.hash.as_deref());
            if sessions::confirm(database, &visit.secret, verified.id, hash).await? {
                return Ok(None);
            }
            Faults::of_password()
        }
        Proof::Wrong(faults) => faults,
        Proof::Later(later) => {
            let page = render(visit, request, Faults::default(), &later.to_string())?;
            return Ok(Some(page.later(later)));
        }
    };
    let page = render(visit, request, faults, "")?;
    Ok(Some(page.with_status(StatusCode::UNPROCESSABLE_ENTITY)))
}

/// The page that the original form was sent from.
pub(crate) fn page_before(visit: &Visit, request: &PageRequest) -> String {
    let before = visit.form.given(BACK).and_then(inside);
    before.unwrap_or_else(|| form::page_before(&request.headers))
}

fn render(
    visit: &Visit,
    request: &PageRequest,
    faults: Faults,
    alert: &str,
) -> Result<View, Problem> {
    let own = Field::password(CONFIRMATION, "Your password")
        .autocomplete("current-password")
        .fault(faults.password);
    let mut fields = vec![own];
    fields.extend(visit.code_field(faults));
    // A new password is not sent back to the browser, so it has to be entered again.
    if visit.form.given(PASSWORD).is_some() {
        let again = Field::password(PASSWORD, "The new password again")
            .hint("The new password that you entered for the user in the previous form.");
        fields.push(again);
    }
    let shown = |name: &str| [CSRF_TOKEN, BACK, CONFIRMATION, CODE, PASSWORD].contains(&name);
    let entered = visit.form.fields().filter(|(name, _)| !shown(name));
    let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    show(&PasswordPage {
        layout: visit.layout("Confirm your password"),
        action: href(&request.path),
        back: page_before(visit, request),
        entered,
        fields,
        alert: alert.to_owned(),
    })
}
