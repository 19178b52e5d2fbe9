//! The page to sign in at, and the end of a session. Says nothing about which users there are.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::identity::sessions;

use super::arrival::Arrival;
use super::cookies::Cookies;
use super::door::{self, Claim, Door};
use super::form::Form;
use super::place::{MANAGE, SIGN_IN, href, inside, may};
use super::problem::Problem;
use super::view::{Field, Layout, Notice, redirect, show};

/// The message to everybody who is not let in, whatever the reason.
const WRONG: &str = "The username or the password is wrong.";

/// How much of a name is shown again: as much as a name can have.
const NAME: usize = 150;

#[derive(Template)]
#[template(path = "admin/sign_in.html")]
struct Page {
    layout: Layout,
    username: Field,
    password: Field,
    next: String,
    /// What was wrong the last time.
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

/// Sends whoever has not signed in to where that is done, and from there back to where they wanted
/// to go.
pub(crate) fn first(arrival: &Arrival, reads: bool) -> Response<Body> {
    if !reads || arrival.path == "/" {
        return redirect(&href(SIGN_IN));
    }
    let question = if arrival.query.is_empty() { "" } else { "?" };
    let wanted = href(&format!("{}{question}{}", arrival.path, arrival.query));
    let wanted = utf8_percent_encode(&wanted, NON_ALPHANUMERIC);
    redirect(&format!("{}?next={wanted}", href(SIGN_IN)))
}

/// The page itself, and what is sent from it.
pub(crate) async fn answer(
    door: &Door,
    arrival: &Arrival,
    cookies: &mut Cookies,
    reads: bool,
) -> Result<Response<Body>, Problem> {
    if reads {
        let next = Form::of_query(&arrival.query);
        let mut page = Page::new("", next.get("next"), "");
        page.layout.notice = cookies.take_notice();
        return Ok(show(&page)?.response());
    }
    let form = Form::of_body(&arrival.body);
    let (username, next) = (form.get("username").trim(), form.get("next"));
    let again =
        |status, alert: &str| Ok(show(&Page::new(username, next, alert))?.with_status(status));

    let wrong = || again(StatusCode::UNPROCESSABLE_ENTITY, WRONG);
    let database = door.site.state().database();
    let user = match door.check(arrival.client, username, form.get("password")).await? {
        Claim::Right(user) => user,
        Claim::Wrong => return wrong(),
        Claim::Wait(seconds) => {
            let status = StatusCode::TOO_MANY_REQUESTS;
            let mut response: Response<Body> = again(status, &door::too_many(seconds))?;
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            return Ok(response);
        }
    };
    // From here on it is somebody who knows the password, and may be told the truth.
    if user.blocked || !may(&door.site, user.id, MANAGE) {
        return again(StatusCode::FORBIDDEN, "This account may not use the administration.");
    }
    let address = arrival.client.to_string();
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
    door: &Door,
    cookies: &mut Cookies,
    reads: bool,
) -> Result<Response<Body>, Problem> {
    if reads {
        return Err(Problem::NoSuchMethod);
    }
    if let Some(secret) = cookies.session() {
        sessions::end(door.site.state().database(), secret).await?;
    }
    cookies.end_session();
    cookies.leave_notice(&Notice::good("You have signed out."));
    Ok(redirect(&href(SIGN_IN)))
}
