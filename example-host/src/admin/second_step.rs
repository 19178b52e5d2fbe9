//! The page of the sign-in that asks for the code of a second factor. It is there for whoever has entered the right
//! password within the last minutes, which a cookie shows; that cookie is no session.

use askama::Template;
use axum::body::Body;
use axum::http::{Response, StatusCode};

use crate::identity::devices::{HALF_SIGNED_IN, TRUSTED};
use crate::identity::second_factor::{self, Code};
use crate::identity::sessions::Asked;

use super::authenticator::{Attempt, Authenticator, Refusal, VerifiedUser};
use super::cookies::Cookies;
use super::form::Form;
use super::page_request::PageRequest;
use super::paths::{SIGN_IN, SIGN_IN_PAGE, href, inside};
use super::problem::Problem;
use super::sign_in;
use super::view::{Field, Layout, Notice, redirect, show};

/// The field of the code.
pub(super) const CODE: &str = "code";

/// The message for every wrong code.
pub(super) const WRONG: &str =
    "this code is wrong, too old or has been used already; wait for the next one";

#[derive(Template)]
#[template(path = "admin/sign_in_code.html")]
struct CodePage {
    layout: Layout,
    username: String,
    code: Field,
    next: String,
    trust: bool,
    minutes: u64,
    /// The error message of the previous attempt.
    alert: String,
}

/// Shows the page, or handles its form.
pub(crate) async fn answer(
    authenticator: &Authenticator,
    request: &PageRequest,
    cookies: &mut Cookies,
) -> Result<Response<Body>, Problem> {
    let user = authenticator.half_signed_in(cookies.half_signed_in.as_deref()).await?;
    let factor = match &user {
        Some(user) => authenticator.second_factor(user.id).await?,
        None => None,
    };
    let (Some(user), Some(factor)) = (user, factor) else { return Ok(start_over(cookies)) };
    let form = Form::of_body(&request.body);
    let query = Form::of_query(&request.query);
    let next = if request.reads() { query.get("next") } else { form.get("next") };
    let trust = form.given("trust").is_some();
    let page = |wrong: Option<&str>, alert: &str| {
        show(&CodePage {
            layout: Layout::bare("Enter your code"),
            username: user.username.clone(),
            code: field().fault(wrong),
            next: next.to_owned(),
            trust,
            minutes: HALF_SIGNED_IN.lifetime.as_secs() / 60,
            alert: alert.to_owned(),
        })
    };
    if request.reads() {
        return Ok(page(None, "")?.response());
    }
    let device = cookies.device.clone();
    let asking = sign_in::asking(SIGN_IN_PAGE, request, device.as_deref());
    let known = (user.id, user.username.as_str());
    let code = match authenticator.check_code(asking, known, form.get(CODE)).await? {
        Attempt::Accepted(code) => code,
        Attempt::Rejected => {
            return Ok(page(Some(WRONG), "")?.with_status(StatusCode::UNPROCESSABLE_ENTITY));
        }
        Attempt::Later(later) => return Ok(page(None, &later.to_string())?.later(later)),
    };
    let what = match code {
        Code::App(_) => "sign in with a code",
        Code::Recovery(_) => "sign in with a recovery code",
    };
    let shown = (&user, Asked::Code(&factor));
    if !sign_in::begin(authenticator, request, cookies, shown, what).await? {
        authenticator.refuse(asking, known, Refusal::WrongPassword);
        return Ok(start_over(cookies));
    }
    if trust {
        let bound = user.bound_to(&factor);
        let database = authenticator.site.state().database();
        let cookie = authenticator.devices.sign(database, &TRUSTED, user.id, &[&bound]).await?;
        cookies.trust_browser(&cookie);
    }
    if let Code::Recovery(_) = code {
        cookies.leave_notice(&left(authenticator, &user).await?);
    }
    Ok(redirect(&inside(next).unwrap_or_else(|| href("/"))))
}

/// The field for a code.
pub(super) fn field() -> Field {
    Field::text(CODE, "Code")
        .hint("The six digits that your app shows now, or one of your recovery codes.")
        .autocomplete("one-time-code")
        .longest(Some(40))
}

/// How many recovery codes are left, for the user who has used one.
async fn left(authenticator: &Authenticator, user: &VerifiedUser) -> Result<Notice, Problem> {
    let database = authenticator.site.state().database();
    let left = second_factor::codes_left(database, user.id).await?;
    Ok(Notice::good(format!(
        "You have used a recovery code, and {left} are left. You can make new ones in your account."
    )))
}

/// Back to the name and the password.
fn start_over(cookies: &mut Cookies) -> Response<Body> {
    cookies.leave_notice(&Notice::bad("Enter your name and your password first."));
    redirect(&href(SIGN_IN))
}
