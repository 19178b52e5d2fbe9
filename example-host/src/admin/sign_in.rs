//! The sign-in page, and signing out. The answers do not reveal which users exist.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::identity::sessions;

use super::authenticator::{self, Attempt, Authenticator};
use super::cookies::Cookies;
use super::form::Form;
use super::page_request::PageRequest;
use super::paths::{MANAGE, SIGN_IN, href, inside, may};
use super::problem::Problem;
use super::view::{Field, Layout, Notice, redirect, show};

/// The message for every failed sign-in, whatever the reason.
const WRONG: &str = "The username or the password is wrong.";

/// How many characters of an entered name are shown again: the maximum length of a name.
const NAME: usize = 150;

#[derive(Template)]
#[template(path = "admin/sign_in.html")]
struct Page {
    layout: Layout,
    username: Field,
    password: Field,
    next: String,
    /// The error message of the previous attempt.
    alert: String,
}

impl Page {
    fn new(username: &str, next: &str, alert: &str) -> Self {
        Self {
            layout: Layout::bare("Sign in"),
            username: Field::text("username", "Username")
                .value(username.chars().take(NAME).collect::<String>())
                .autocomplete("username"),
            password: Field::password("password", "Password").autocomplete("current-password"),
            next: next.to_owned(),
            alert: alert.to_owned(),
        }
    }
}

/// Redirects to the sign-in page, and after that back to the requested page.
pub(crate) fn first(request: &PageRequest, reads: bool) -> Response<Body> {
    if !reads || request.path == "/" {
        return redirect(&href(SIGN_IN));
    }
    let question = if request.query.is_empty() { "" } else { "?" };
    let wanted = href(&format!("{}{question}{}", request.path, request.query));
    let wanted = utf8_percent_encode(&wanted, NON_ALPHANUMERIC);
    redirect(&format!("{}?next={wanted}", href(SIGN_IN)))
}

/// Shows the page, or handles its form.
pub(crate) async fn answer(
    authenticator: &Authenticator,
    request: &PageRequest,
    cookies: &mut Cookies,
    reads: bool,
) -> Result<Response<Body>, Problem> {
    if reads {
        let next = Form::of_query(&request.query);
        let mut page = Page::new("", next.get("next"), "");
        page.layout.notice = cookies.take_notice();
        return Ok(show(&page)?.response());
    }
    let form = Form::of_body(&request.body);
    let (username, next) = (form.get("username").trim(), form.get("next"));
    let again =
        |status, alert: &str| Ok(show(&Page::new(username, next, alert))?.with_status(status));

    let wrong = || again(StatusCode::UNPROCESSABLE_ENTITY, WRONG);
    let database = authenticator.site.state().database();
    let user = match authenticator.check(request.client, username, form.get("password")).await? {
        Attempt::Accepted(user) => user,
        Attempt::Rejected => return wrong(),
        Attempt::Throttled(seconds) => {
            let status = StatusCode::TOO_MANY_REQUESTS;
            let mut response: Response<Body> =
                again(status, &authenticator::too_many_attempts(seconds))?;
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            return Ok(response);
        }
    };
    // The password was correct, so the answer may be specific.
    if user.blocked || !may(&authenticator.site, user.id, MANAGE) {
        return again(StatusCode::FORBIDDEN, "This account may not use the administration.");
    }
    let address = request.client.to_string();
    let (hash, before) = (user.hash.as_deref(), cookies.session());
    let Some(secret) = sessions::begin(database, user.id, hash, &address, before).await? else {
        return wrong();
    };
    cookies.begin_session(&secret);
    tracing::info!(target: "administration", user = user.id, "signed in");
    Ok(redirect(&inside(next).unwrap_or_else(|| href("/"))))
}

/// Ends the session.
pub(crate) async fn end(
    authenticator: &Authenticator,
    cookies: &mut Cookies,
    reads: bool,
) -> Result<Response<Body>, Problem> {
    if reads {
        return Err(Problem::NoSuchMethod);
    }
    if let Some(secret) = cookies.session() {
        sessions::end(authenticator.site.state().database(), secret).await?;
    }
    cookies.end_session();
    cookies.leave_notice(&Notice::good("You have signed out."));
    Ok(redirect(&href(SIGN_IN)))
}
