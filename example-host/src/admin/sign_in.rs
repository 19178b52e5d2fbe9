//! The sign-in page, and signing out. The answers do not reveal which users exist.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::base::error::Error;
use crate::base::secret;
use crate::database::transact;
use crate::identity::sessions::{self, Session};
use crate::watch::audit::{Actor, Record};

use super::authenticator::{Asking, Attempt, Authenticator, By, Refusal};
use super::cookies::Cookies;
use super::form::Form;
use super::page_request::PageRequest;
use super::paths::{MANAGE, SIGN_IN, SIGN_IN_PAGE, SIGN_OUT_PAGE, href, inside, may};
use super::problem::Problem;
use super::view::{Field, Layout, Notice, redirect, show};

/// The message for every failed sign-in, whatever the reason.
const WRONG: &str = "The username or the password is wrong.";

/// How many characters of an entered name are shown again: the maximum length of a name.
const NAME: usize = 150;

#[derive(Template)]
#[template(path = "admin/sign_in.html")]
struct SignInPage {
    layout: Layout,
    username: Field,
    password: Field,
    next: String,
    /// The error message of the previous attempt.
    alert: String,
}

impl SignInPage {
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
        let mut page = SignInPage::new("", next.get("next"), "");
        page.layout.notice = cookies.take_notice();
        return Ok(show(&page)?.response());
    }
    let form = Form::of_body(&request.body);
    let (username, next) = (form.get("username").trim(), form.get("next"));
    let again = |status, alert: &str| {
        Ok(show(&SignInPage::new(username, next, alert))?.with_status(status))
    };

    let wrong = || again(StatusCode::UNPROCESSABLE_ENTITY, WRONG);
    let asking = Asking {
        page: SIGN_IN_PAGE,
        client: request.client,
        by: By::Device(cookies.device()),
        id: &request.id,
        id_of_client: request.id_of_client.as_deref(),
    };
    let user = match authenticator.check(asking, username, form.get("password")).await? {
        Attempt::Accepted(user) => user,
        Attempt::Rejected => return wrong(),
        Attempt::Later(later) => {
            let mut response: Response<Body> = again(later.status(), &later.to_string())?;
            let seconds = HeaderValue::from(later.seconds());
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
            return Ok(response);
        }
    };
    let state = authenticator.site.state();
    state.catch_up().await?;
    let refuse = |why| authenticator.refuse(asking, (user.id, &user.username), why);
    // The password was correct, so the answer may be specific.
    if user.blocked || !may(&authenticator.site, user.id, MANAGE) {
        refuse(if user.blocked { Refusal::Blocked } else { Refusal::NotPermitted });
        return again(StatusCode::FORBIDDEN, "This account may not use the administration.");
    }
    let secret = secret::random_text().map_err(Error::from)?;
    let hash = user.hash.as_deref().unwrap_or_default();
    let device = authenticator.devices.sign(state.database(), user.id, hash).await?;
    let actor = Actor::of_page(
        SIGN_IN_PAGE,
        (user.id, user.username.clone()),
        secret::hash(&secret),
        &authenticator.audit,
        (request.id.clone(), request.id_of_client.clone()),
    );
    let (verified, address) = ((user.id, user.hash.as_deref()), request.client.to_string());
    let before = cookies.session();
    let begun: Result<bool, Error> = transact!(state.database(), |transaction| {
        if !sessions::begin(transaction, &secret, verified, &address, before).await? {
            return Ok(false);
        }
        actor.record_event(transaction, record(user.id), "sign in").await?;
        Ok(true)
    });
    if !begun? {
        refuse(Refusal::WrongPassword);
        return wrong();
    }
    authenticator.audit.has_written(1);
    cookies.begin_session(&secret);
    cookies.remember_device(&device);
    tracing::info!(target: "administration", user = user.id, "signed in");
    Ok(redirect(&inside(next).unwrap_or_else(|| href("/"))))
}

/// Ends the session.
pub(crate) async fn end(
    authenticator: &Authenticator,
    request: &PageRequest,
    session: &Session,
    cookies: &mut Cookies,
    reads: bool,
) -> Result<Response<Body>, Problem> {
    if reads {
        return Err(Problem::NoSuchMethod);
    }
    if let Some(secret) = cookies.session() {
        let user = session.user;
        let actor = Actor::of_page(
            SIGN_OUT_PAGE,
            (user, session.username.clone()),
            secret::hash(secret),
            &authenticator.audit,
            (request.id.clone(), request.id_of_client.clone()),
        );
        let ended: Result<bool, Error> =
            transact!(authenticator.site.state().database(), |transaction| {
                let ended = sessions::end(transaction, secret).await?;
                if ended {
                    actor.record_event(transaction, record(user), "sign out").await?;
                }
                Ok(ended)
            });
        authenticator.audit.has_written(ended?.into());
    }
    cookies.end_session();
    cookies.leave_notice(&Notice::good("You have signed out."));
    Ok(redirect(&href(SIGN_IN)))
}

fn record(user: i64) -> Record {
    Record { kind: "user".to_owned(), id: user.to_string() }
}
