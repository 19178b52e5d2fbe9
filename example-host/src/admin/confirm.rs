//! Asks for the password once more before a change that decides who has access and what they may do: a
//! browser that was left open must not be enough for that. The change then continues with all that was
//! entered.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

use crate::identity::sessions;

use super::arrival::Arrival;
use super::door::{self, Claim};
use super::form::{self, CSRF_TOKEN};
use super::place::{href, inside};
use super::problem::Problem;
use super::view::{Field, Layout, View, show};
use super::visit::Visit;

/// The field with the password of whoever has signed in.
const CONFIRMATION: &str = "confirmation";

/// The field with a password that is to be set.
const PASSWORD: &str = "password";

/// The field with the page to go back to.
const BACK: &str = "back";

#[derive(Template)]
#[template(path = "admin/confirm.html")]
struct Page {
    layout: Layout,
    /// Where the form was sent, and is sent again.
    action: String,
    back: String,
    /// What was entered, for its hidden fields.
    entered: Vec<(String, String)>,
    fields: Vec<Field>,
    alert: String,
}

/// What somebody is answered who has not confirmed their password lately, nor does so now.
pub(crate) async fn answer(
    visit: &Visit,
    arrival: &Arrival,
) -> Result<Option<Response<Body>>, Problem> {
    if visit.session.is_confirmed() {
        return Ok(None);
    }
    let Some(password) = visit.form.given(CONFIRMATION) else {
        return render(visit, arrival, None, "")
            .map(|page| Some(page.with_status(StatusCode::FORBIDDEN)));
    };
    let database = visit.site.state().database();
    let claim = visit.door.check(arrival.client, &visit.session.username, password).await?;
    let confirmed = match &claim {
        Claim::Right(proven) if proven.id == visit.session.user => {
            sessions::confirm(database, &visit.secret, proven.id, proven.hash.as_deref()).await?
        }
        _ => false,
    };
    if confirmed {
        return Ok(None);
    }
    if let Claim::Wait(seconds) = claim {
        let page = render(visit, arrival, None, &door::too_many(seconds))?;
        let mut response = page.with_status(StatusCode::TOO_MANY_REQUESTS);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        return Ok(Some(response));
    }
    let page = render(visit, arrival, Some("this is not your password"), "")?;
    Ok(Some(page.with_status(StatusCode::UNPROCESSABLE_ENTITY)))
}

/// The page that a form was sent from before anything had to be confirmed, to go back to.
pub(crate) fn page_before(visit: &Visit, arrival: &Arrival) -> String {
    let before = visit.form.given(BACK).and_then(inside);
    before.unwrap_or_else(|| form::page_before(&arrival.headers))
}

fn render(
    visit: &Visit,
    arrival: &Arrival,
    wrong: Option<&str>,
    alert: &str,
) -> Result<View, Problem> {
    let own = Field::password(CONFIRMATION, "Your password")
        .autocomplete("current-password")
        .fault(wrong);
    let mut fields = vec![own];
    // A password that was entered is not sent back, not even to where it came from.
    if visit.form.given(PASSWORD).is_some() {
        let again = Field::password(PASSWORD, "The new password again")
            .hint("The password that you have just entered for the user.");
        fields.push(again);
    }
    let shown = |name: &str| [CSRF_TOKEN, BACK, CONFIRMATION, PASSWORD].contains(&name);
    let entered = visit.form.fields().filter(|(name, _)| !shown(name));
    let entered = entered.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    show(&Page {
        layout: visit.layout("Confirm your password"),
        action: href(&arrival.path),
        back: page_before(visit, arrival),
        entered,
        fields,
        alert: alert.to_owned(),
    })
}
