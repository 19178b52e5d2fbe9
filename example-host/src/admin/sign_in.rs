//! The sign-in page, and signing out. The answers do not reveal which users exist. The code of a second factor is asked
//! for on a page of its own, in `second_step.rs`.

use askama::Template;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::base::error::Error;
use crate::base::secret;
use crate::base::settings::SecondFactors;
use crate::database::transact;
use crate::identity::devices::HALF_SIGNED_IN;
use crate::identity::sessions::{self, Asked, Session, Shown};
use crate::watch::audit::{Actor, Means};

use super::authenticator::{Asking, Attempt, Authenticator, By, Refusal, VerifiedUser, record_of};
use super::cookies::Cookies;
use super::form::Form;
use super::page_request::PageRequest;
use super::paths::{MANAGE, SIGN_IN, SIGN_IN_CODE, SIGN_IN_PAGE, SIGN_OUT_PAGE, href, inside, may};
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
    /// Whether a link for a new password can be asked for.
    forgotten: bool,
    /// The error message of the previous attempt.
    alert: String,
}

impl SignInPage {
    fn new(username: &str, next: &str, forgotten: bool, alert: &str) -> Self {
        Self {
            layout: Layout::bare("Sign in"),
            username: Field::text("username", "Username")
                .value(username.chars().take(NAME).collect::<String>())
                .autocomplete("username"),
            password: Field::password("password", "Password").autocomplete("current-password"),
            next: next.to_owned(),
            forgotten,
            alert: alert.to_owned(),
        }
    }
}

/// Redirects to the sign-in page, and after that back to the requested page.
pub(crate) fn first(request: &PageRequest) -> Response<Body> {
    if !request.reads() || request.path == "/" {
        return redirect(&href(SIGN_IN));
    }
    let question = if request.query.is_empty() { "" } else { "?" };
    let wanted = href(&format!("{}{question}{}", request.path, request.query));
    redirect(&with_next(SIGN_IN, &wanted))
}

/// A page of the sign-in, with the page that follows it.
fn with_next(page: &str, next: &str) -> String {
    format!("{}?next={}", href(page), utf8_percent_encode(next, NON_ALPHANUMERIC))
}

/// Shows the page, or handles its form.
pub(crate) async fn answer(
    authenticator: &Authenticator,
    request: &PageRequest,
    cookies: &mut Cookies,
    forgotten: bool,
) -> Result<Response<Body>, Problem> {
    if request.reads() {
        let next = Form::of_query(&request.query);
        let mut page = SignInPage::new("", next.get("next"), forgotten, "");
        page.layout.notice = cookies.take_notice();
        return Ok(show(&page)?.response());
    }
    let form = Form::of_body(&request.body);
    let (username, next) = (form.get("username").trim(), form.get("next"));
    let page = |alert: &str| show(&SignInPage::new(username, next, forgotten, alert));
    let wrong = || Ok(page(WRONG)?.with_status(StatusCode::UNPROCESSABLE_ENTITY));
    let device = cookies.device.clone();
    let asking = asking(SIGN_IN_PAGE, request, device.as_deref());
    let user = match authenticator.check(asking, username, form.get("password")).await? {
        Attempt::Accepted(user) => user,
        Attempt::Rejected => return wrong(),
        Attempt::Later(later) => return Ok(page(&later.to_string())?.later(later)),
    };
    let state = authenticator.site.state();
    state.catch_up().await?;
    let refuse = |why| authenticator.refuse(asking, (user.id, &user.username), why);
    // The password was correct, so the answer may be specific.
    if user.blocked || !may(&authenticator.site, user.id, MANAGE) {
        refuse(if user.blocked { Refusal::Blocked } else { Refusal::NotPermitted });
        let alert = "This account may not use the administration.";
        return Ok(page(alert)?.with_status(StatusCode::FORBIDDEN));
    }
    let factor = authenticator.second_factor(user.id).await?;
    let asked = match &factor {
        None if authenticator.second_factors == SecondFactors::Off => Asked::Never,
        None => Asked::Nothing,
        Some(factor)
            if authenticator.is_trusted(cookies.trust.as_deref(), &user, factor).await? =>
        {
            Asked::Trust(factor)
        }
        Some(_) => {
            let hash = user.hash.as_deref().unwrap_or_default();
            let (devices, database) = (&authenticator.devices, state.database());
            let half = devices.sign(database, &HALF_SIGNED_IN, user.id, &[hash]).await?;
            cookies.ask_for_a_code(&half);
            return Ok(redirect(&with_next(SIGN_IN_CODE, next)));
        }
    };
    if !begin(authenticator, request, cookies, (&user, asked), "sign in").await? {
        refuse(Refusal::WrongPassword);
        return wrong();
    }
    Ok(redirect(&inside(next).unwrap_or_else(|| href("/"))))
}

/// A request with a password or a code, as it is recorded.
pub(super) fn asking<'a>(
    page: &'static str,
    request: &'a PageRequest,
    device: Option<&'a str>,
) -> Asking<'a> {
    Asking {
        page,
        client: request.client,
        by: By::Device(device),
        id: &request.id,
        id_of_client: request.id_of_client.as_deref(),
    }
}

/// Begins the session of a user. Returns `false` if the password, the second factor or the user has changed since
/// they were checked.
pub(super) async fn begin(
    authenticator: &Authenticator,
    request: &PageRequest,
    cookies: &mut Cookies,
    (user, factor): (&VerifiedUser, Asked<'_>),
    what: &str,
) -> Result<bool, Problem> {
    let database = authenticator.site.state().database();
    let secret = secret::random_text().map_err(Error::from)?;
    let hash = user.hash.as_deref();
    let shown = match factor {
        Asked::Code(factor) => Some(factor),
        Asked::Never | Asked::Nothing | Asked::Trust(_) => None,
    };
    let device = authenticator.sign_device(user.id, hash.unwrap_or_default(), shown).await?;
    let actor = Actor::of_form(
        SIGN_IN_PAGE,
        (user.id, user.username.clone()),
        Means::Session(secret::hash(&secret)),
        &authenticator.audit,
        (request.id.clone(), request.id_of_client.clone()),
    );
    let (address, before) = (request.client.to_string(), cookies.session.as_deref());
    let begun: Result<bool, Error> = transact!(database, |transaction| {
        let shown = Shown { user: user.id, hash, factor };
        if !sessions::begin(transaction, &secret, shown, &address, before).await? {
            return Ok(false);
        }
        actor.record_event(transaction, record_of(user.id), what).await?;
        Ok(true)
    });
    if !begun? {
        return Ok(false);
    }
    authenticator.audit.has_written(1);
    cookies.begin_session(&secret);
    cookies.remember_device(&device);
    tracing::info!(target: "administration", user = user.id, "signed in");
    Ok(true)
}

/// Ends the session.
pub(crate) async fn end(
    authenticator: &Authenticator,
    request: &PageRequest,
    session: &Session,
    cookies: &mut Cookies,
) -> Result<Response<Body>, Problem> {
    if request.reads() {
        return Err(Problem::NoSuchMethod);
    }
    if let Some(secret) = &cookies.session {
        let user = session.user;
        let actor = Actor::of_form(
            SIGN_OUT_PAGE,
            (user, session.username.clone()),
            Means::Session(secret::hash(secret)),
            &authenticator.audit,
            (request.id.clone(), request.id_of_client.clone()),
        );
        let ended: Result<bool, Error> =
            transact!(authenticator.site.state().database(), |transaction| {
                let ended = sessions::end(transaction, secret).await?;
                if ended {
                    actor.record_event(transaction, record_of(user), "sign out").await?;
                }
                Ok(ended)
            });
        authenticator.audit.has_written(ended?.into());
    }
    cookies.end_session();
    cookies.leave_notice(&Notice::good("You have signed out."));
    Ok(redirect(&href(SIGN_IN)))
}
