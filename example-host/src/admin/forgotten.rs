//! The pages for a forgotten password and for an invitation: one asks for a link, the other is that of the link. What is
//! done about a name is done after the answer, so that neither its content nor its time reveals anything. A `GET`
//! of a link changes nothing, because programs that check mails follow links.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use crate::base::lock::lock;
use crate::identity::password_links::{self, Purpose};
use crate::identity::passwords;
use crate::site::Site;
use crate::site::operations::password_links as operations;
use crate::watch::audit::{Actor, Means};

use super::authenticator::{Attempt, Authenticator};
use super::cookies::Cookies;
use super::form::Form;
use super::page_request::PageRequest;
use super::paths::{NEW_PASSWORD_PAGE, SIGN_IN, href};
use super::problem::Problem;
use super::second_step::{self, CODE, WRONG};
use super::sign_in;
use super::view::{Field, Layout, Notice, redirect, show};

/// How many requests may wait. What comes beyond them is dropped, as silently as what is beyond the limits.
const PLACES: usize = 256;

/// How many of them may be from one block of addresses, so that none keeps the others from their links. As many count
/// in an hour, so that what is dropped here would not be of any use.
const PLACES_OF_BLOCK: usize = 20;

/// The pause after each of them, so that many take hardly anything from others.
const PAUSE: Duration = Duration::from_millis(20);

/// The longest name or address that is looked up, in characters.
const NAME: usize = 254;

/// The field of a new password.
const PASSWORD: &str = "password";

/// The field of the secret of a link, and the parameter in its address.
const LINK: &str = "link";

#[derive(Template)]
#[template(path = "admin/forgotten.html")]
struct ForgottenPage {
    layout: Layout,
    name: Field,
    /// Whether the form was sent.
    sent: bool,
    minutes: u64,
}

#[derive(Template)]
#[template(path = "admin/new_password.html")]
struct NewPasswordPage {
    layout: Layout,
    username: String,
    link: String,
    password: Field,
    code: Option<Field>,
}

#[derive(Template)]
#[template(path = "admin/link_gone.html")]
struct GonePage {
    layout: Layout,
    /// Whether another link can be asked for.
    offered: bool,
}

/// Sends links to users who ask for them, one after the other.
pub(crate) struct Forgotten {
    site: Site,
    offered: bool,
    places: Places,
    turn: Arc<Semaphore>,
}

/// The places of requests that wait.
struct Places {
    all: Arc<Semaphore>,
    /// How many wait from each block of addresses.
    of_blocks: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// The place of a request, which is free again when it is dropped.
struct Place {
    block: IpAddr,
    of_blocks: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _among_all: OwnedSemaphorePermit,
}

impl Places {
    fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(PLACES)), of_blocks: Arc::default() }
    }

    /// A place for a request from this address, if there is one.
    fn take(&self, client: IpAddr) -> Option<Place> {
        let block = password_links::block(client);
        let mut of_blocks = lock(&self.of_blocks);
        if of_blocks.get(&block).is_some_and(|waiting| *waiting >= PLACES_OF_BLOCK) {
            return None;
        }
        let among_all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        *of_blocks.entry(block).or_default() += 1;
        drop(of_blocks);
        let of_blocks = Arc::clone(&self.of_blocks);
        Some(Place { block, of_blocks, _among_all: among_all })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut of_blocks = lock(&self.of_blocks);
        match of_blocks.get_mut(&self.block) {
            Some(waiting) if *waiting > 1 => *waiting -= 1,
            _ => {
                of_blocks.remove(&self.block);
            }
        }
    }
}

impl Forgotten {
    /// `allowed` is the setting of the site.
    pub(crate) fn new(site: Site, allowed: bool) -> Self {
        let offered = allowed && site.mailer().site_url().is_some();
        let (places, turn) = (Places::new(), Arc::new(Semaphore::new(1)));
        Self { site, offered, places, turn }
    }

    /// Whether links are sent.
    pub(crate) fn is_offered(&self) -> bool {
        self.offered
    }

    /// Sends a link beside the request that asks for it.
    fn send(&self, name: String, client: IpAddr) {
        let Some(place) = self.places.take(client) else { return };
        let (site, turn) = (self.site.clone(), Arc::clone(&self.turn));
        self.site.state().events().run(&Handle::current(), async move {
            // The semaphore is never closed.
            let _turn = turn.acquire().await.ok();
            if let Err(error) = operations::send_reset(&site, &name, client).await {
                tracing::error!(%error, "a link for a new password could not be sent");
            }
            sleep(PAUSE).await;
            drop(place);
        });
    }
}

/// The page that asks for a name or an address. Its answer is the same for all of them.
pub(crate) fn ask(forgotten: &Forgotten, request: &PageRequest) -> Result<Response<Body>, Problem> {
    if !forgotten.is_offered() {
        return Err(Problem::NotFound);
    }
    if !request.reads() {
        let form = Form::of_body(&request.body);
        let name: String = form.get("name").trim().chars().take(NAME).collect();
        if !name.is_empty() && !form.has_nul() {
            forgotten.send(name, request.client);
        }
    }
    let page = ForgottenPage {
        layout: Layout::bare("Forgotten password"),
        name: Field::text("name", "Username or e-mail").autocomplete("username"),
        sent: !request.reads(),
        minutes: Purpose::Reset.lifetime().as_secs() / 60,
    };
    Ok(show(&page)?.response())
}

/// The page of a link, or its form: the new password, and the code of a second factor.
pub(crate) async fn choose(
    authenticator: &Authenticator,
    forgotten: &Forgotten,
    request: &PageRequest,
    cookies: &mut Cookies,
) -> Result<Response<Body>, Problem> {
    let reads = request.reads();
    let form = if reads { Form::of_query(&request.query) } else { Form::of_body(&request.body) };
    let secret = form.get(LINK);
    let site = &authenticator.site;
    let gone = || {
        let layout = Layout::bare("This link is no longer good");
        let page = GonePage { layout, offered: forgotten.is_offered() };
        Ok(show(&page)?.with_status(StatusCode::NOT_FOUND))
    };
    let Some(link) = password_links::find(site.state().database(), secret).await? else {
        return gone();
    };
    // A mailbox alone is not enough for a user with a second factor.
    let asks = authenticator.second_factor(link.user).await?.is_some();
    let page = |unacceptable: Option<&str>, wrong: Option<&str>| {
        let title = match link.purpose {
            Purpose::Reset => "Choose a new password",
            Purpose::Invitation => "Choose your password",
        };
        let password = Field::password(PASSWORD, "New password").hint("At least 12 characters.");
        show(&NewPasswordPage {
            layout: Layout::bare(title),
            username: link.username.clone(),
            link: secret.to_owned(),
            password: password.fault(unacceptable),
            code: asks.then(|| second_step::field().fault(wrong)),
        })
    };
    if reads {
        return Ok(page(None, None)?.response());
    }
    let password = form.get(PASSWORD);
    if let Err(why) = passwords::check(password) {
        let why = why.to_string();
        return Ok(page(Some(&why), None)?.with_status(StatusCode::UNPROCESSABLE_ENTITY));
    }
    if asks {
        let device = cookies.device.clone();
        let asking = sign_in::asking(NEW_PASSWORD_PAGE, request, device.as_deref());
        let user = (link.user, link.username.as_str());
        match authenticator.check_code(asking, user, form.get(CODE)).await? {
            Attempt::Accepted(_) => {}
            Attempt::Rejected => {
                let page = page(None, Some(WRONG))?;
                return Ok(page.with_status(StatusCode::UNPROCESSABLE_ENTITY));
            }
            Attempt::Later(later) => return Err(Problem::Later(later)),
        }
    }
    let hash = passwords::hash(password.to_owned()).await?;
    let actor = Actor::of_form(
        NEW_PASSWORD_PAGE,
        (link.user, link.username.clone()),
        Means::Link(request.client),
        &authenticator.audit,
        (request.id.clone(), request.id_of_client.clone()),
    );
    let site = site.on_behalf_of(actor);
    if !operations::choose(&site, (&link, secret), &hash).await? {
        return gone();
    }
    authenticator.audit.has_written(1);
    cookies.leave_notice(&Notice::good("Your password was set. Sign in with it."));
    Ok(redirect(&href(SIGN_IN)))
}
