//! The page to sign in at, and the end of a session. Says nothing about which users there are.

use std::time::Instant;

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::database::{Database, sql};
use crate::passwords;
use crate::sessions;
use crate::users::fold;

use super::cookies::Cookies;
use super::form::{self, Form};
use super::view::{Field, Layout, Notice, redirect};
use super::visit::{Problem, show};
use super::{Administration, Arrival, MANAGE, SIGN_IN, href, may};

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
            username: Field::text("username", "Username").value(username).autocomplete("username"),
            password: Field::password("password", "Password").autocomplete("current-password"),
            next: next.to_owned(),
            alert: alert.to_owned(),
        }
    }
}

/// A user as whoever signs in names one.
struct Candidate {
    id: i64,
    blocked: bool,
    password: Option<String>,
}

/// Sends whoever has not signed in to where that is done, and from there back to where they wanted
/// to go.
pub(super) fn first(arrival: &Arrival, reads: bool) -> Response<Body> {
    if !reads || arrival.path == "/" {
        return redirect(&href(SIGN_IN));
    }
    let question = if arrival.query.is_empty() { "" } else { "?" };
    let wanted = href(&format!("{}{question}{}", arrival.path, arrival.query));
    let wanted = utf8_percent_encode(&wanted, NON_ALPHANUMERIC);
    redirect(&format!("{}?next={wanted}", href(SIGN_IN)))
}

/// The page itself, and what is sent from it.
pub(super) async fn answer(
    administration: &Administration,
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

    let throttle = &administration.throttle;
    if let Err(wait) = throttle.begin(&fold(username), arrival.client, Instant::now()) {
        let seconds = wait.as_secs() + 1;
        let alert = format!("Too many attempts. Try again in {seconds} seconds.");
        let mut response: Response<Body> = again(StatusCode::TOO_MANY_REQUESTS, &alert)?;
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        return Ok(response);
    }
    let database = administration.site.state().database();
    let candidate = candidate(database, username).await?;
    let kept = candidate.as_ref().and_then(|candidate| candidate.password.clone());
    let right = {
        let _turn = administration.hashing.acquire().await;
        passwords::verify(form.get("password").to_owned(), kept).await?
    };
    let Some(candidate) = candidate.filter(|_| right) else {
        tracing::warn!(target: "administration", client = %arrival.client, "a wrong password");
        return again(StatusCode::UNPROCESSABLE_ENTITY, "The username or the password is wrong.");
    };
    throttle.succeed(&fold(username), arrival.client);
    // From here on it is somebody who knows the password, and may be told the truth.
    if candidate.blocked || !may(&administration.site, candidate.id, MANAGE) {
        return again(StatusCode::FORBIDDEN, "This account may not use the administration.");
    }
    let address = arrival.client.to_string();
    let secret = sessions::begin(database, candidate.id, &address, cookies.session()).await?;
    cookies.begin_session(&secret);
    tracing::info!(target: "administration", user = candidate.id, "signed in");
    Ok(redirect(&form::inside(next).unwrap_or_else(|| href("/"))))
}

/// Ends the session.
pub(super) async fn end(
    administration: &Administration,
    cookies: &mut Cookies,
    reads: bool,
) -> Result<Response<Body>, Problem> {
    if reads {
        return Err(Problem::NoSuchMethod);
    }
    if let Some(secret) = cookies.session() {
        sessions::end(administration.site.state().database(), secret).await?;
    }
    cookies.end_session();
    cookies.leave_notice(&Notice::good("You have signed out."));
    Ok(redirect(&href(SIGN_IN)))
}

async fn candidate(database: &Database, username: &str) -> Result<Option<Candidate>, Problem> {
    let statement =
        sql("SELECT id, blocked, password_hash FROM host_users WHERE username_fold = ?");
    let row: Option<(i64, bool, Option<String>)> =
        database.fetch_optional(statement.bind(fold(username))).await?;
    Ok(row.map(|(id, blocked, password)| Candidate { id, blocked, password }))
}
