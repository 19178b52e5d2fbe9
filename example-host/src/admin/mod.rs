//! The administration: pages for people with a browser, at `/administrator/`.
//!
//! A page is an entry in [`PAGES`](table::PAGES), a function and a template. [`Administration::answer`] does the
//! rest for all pages: it checks the session, the permission and the origin of a form, records
//! changes, and sets the headers of the answer. Pages call the routes of extensions only through
//! [`Visit::ask`].

mod assets;
mod authenticator;
mod authority;
mod catalogue;
mod confirm;
mod cookies;
mod forgotten;
mod form;
mod headers;
mod multipart;
mod offers;
mod openapi;
mod pace;
mod page_request;
mod pages;
mod paths;
mod permission;
mod problem;
mod proof;
mod qr;
mod records;
mod second_step;
mod sign_in;
mod spool;
mod table;
mod tables;
mod throttle;
mod uploads;
mod view;
mod visit;

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Response};
use host_service::{Refusal, RequestId};

use crate::api::gate::Api;
use crate::base::error::Error;
use crate::base::secret;
use crate::base::settings::ServerSettings;
use crate::identity::sessions::{self, Session};
use crate::site::Site;
use crate::site::operations::Recorded;
use crate::watch::audit::{Actor, Audit, Means};

use self::authenticator::Authenticator;
use self::catalogue::Catalogue;
use self::cookies::Cookies;
use self::forgotten::Forgotten;
use self::form::Form;
use self::paths::{
    FORGOTTEN, FORGOTTEN_PAGE, MANAGE, NEW_PASSWORD, NEW_PASSWORD_PAGE, Needed, SECOND_FACTOR,
    SIGN_IN, SIGN_IN_CODE, SIGN_IN_PAGE, SIGN_OUT, SIGN_OUT_PAGE, href,
};
use self::problem::Problem;
use self::table::{PAGES, Page, Write};
use self::uploads::Uploads;
use self::view::{Link, Notice};
use self::visit::{Outcome, Visit, section};

pub(crate) use self::multipart::{FileLimits, Received};
pub(crate) use self::page_request::{Answered, PageRequest};
pub(crate) use self::paths::BASE;

/// The maximum size of a form: enough for the longest parameter that an extension can declare,
/// escaped.
const LONGEST_FORM: usize = 256 * 1024;
/// The maximum size of a form before sign-in.
const LONGEST_SIGN_IN: usize = 4 * 1024;

/// The pages of a site, with the state that is kept between requests.
pub(crate) struct Administration {
    site: Site,
    api: Api,
    audit: Arc<Audit>,
    catalogue: Arc<Catalogue>,
    uploads: Arc<Uploads>,
    pages: matchit::Router<&'static Page>,
    authenticator: Arc<Authenticator>,
    forgotten: Forgotten,
}

impl Administration {
    /// Builds the table of pages.
    pub(crate) fn new(
        site: Site,
        api: Api,
        audit: Arc<Audit>,
        settings: &ServerSettings,
    ) -> Result<Self, Error> {
        let mut pages = matchit::Router::new();
        for page in PAGES {
            let inserted = pages.insert(page.path, page);
            inserted.map_err(|error| Error::Invalid(format!("{}: {error}", page.path)))?;
        }
        let second_factors = settings.second_factors;
        let authenticator = Authenticator::new(site.clone(), Arc::clone(&audit), second_factors);
        let forgotten = Forgotten::new(site.clone(), settings.password_reset);
        let authenticator = Arc::new(authenticator);
        let (catalogue, uploads) = (Arc::default(), Arc::new(Uploads::new()));
        Ok(Self { site, api, audit, catalogue, uploads, pages, authenticator, forgotten })
    }

    /// Looks up the session, and returns what may be sent: before sign-in only a name and a password are
    /// expected, and a file only of a user who may import something.
    pub(crate) async fn recognise(&self, request: &mut PageRequest) -> Result<Expected, Error> {
        let cookies = Cookies::of(request);
        let session = self.session(&cookies).await?;
        let user = session.as_ref().map(|session| session.user);
        request.session = Some(session);
        let longest = if user.is_some() { LONGEST_FORM } else { LONGEST_SIGN_IN };
        let page = self.pages.at(&request.path).ok().map(|found| *found.value);
        let page = page.filter(|page| page.takes_file);
        let (Some(page), Some(boundary)) = (page, multipart::boundary(&request.headers)) else {
            return Ok(Expected::Form { longest });
        };
        let secret = cookies.session.clone().unwrap_or_default();
        let may = |user| {
            paths::may(&self.site, user, MANAGE)
                && (page.offered)(&self.site, &self.catalogue, user)
        };
        Ok(if user.is_some_and(may) && form::is_from_here(&request.headers) {
            Expected::File { boundary, secret }
        } else {
            Expected::Nothing
        })
    }

    /// Receives a form with a file.
    pub(crate) async fn receive(
        &self,
        body: &mut Body,
        boundary: String,
        secret: &str,
        limits: FileLimits,
    ) -> Result<Received, Refusal> {
        let _place = self.uploads.place().ok_or(Refusal::Unavailable)?;
        multipart::receive(body, boundary, secret, &limits).await
    }

    async fn session(&self, cookies: &Cookies) -> Result<Option<Session>, Error> {
        match &cookies.session {
            Some(secret) => sessions::find(self.site.state().database(), secret).await,
            None => Ok(None),
        }
    }

    /// Answers a request. All pages and changes are reached only through this function.
    pub(crate) async fn answer(&self, request: PageRequest) -> Answered {
        if let Some(asset) = assets::find(&request.path) {
            return Answered { response: asset.response(), page: "administration.asset", user: 0 };
        }
        let mut shown = Shown { page: "none", user: 0 };
        let mut cookies = Cookies::of(&request);
        let answered = self.page(&request, &mut cookies, &mut shown).await;
        let mut response = answered.unwrap_or_else(|problem| view::problem(&problem, &request.id));
        headers::protect(response.headers_mut());
        if request.path == NEW_PASSWORD {
            // Its address is as good as a password.
            headers::without_referrer(response.headers_mut());
        }
        cookies.write(response.headers_mut());
        Answered { response, page: shown.page, user: shown.user }
    }

    /// Signing in and out apart, a request to a page is authenticated, located and authorised; a form that
    /// changes access is confirmed; then the page is run.
    async fn page(
        &self,
        request: &PageRequest,
        cookies: &mut Cookies,
        shown: &mut Shown,
    ) -> Result<Response<Body>, Problem> {
        let reads = request.reads();
        if !reads && request.method != Method::POST {
            return Err(Problem::NoSuchMethod);
        }
        if request.path == NEW_PASSWORD {
            // Without a referrer browsers send no origin either. Whoever could send its form knows the link.
            shown.page = NEW_PASSWORD_PAGE;
            let (authenticator, forgotten) = (&self.authenticator, &self.forgotten);
            return forgotten::choose(authenticator, forgotten, request, cookies).await;
        }
        if !reads && !form::is_from_here(&request.headers) {
            return Err(Problem::ForeignForm);
        }
        if request.path == SIGN_IN {
            shown.page = SIGN_IN_PAGE;
            self.catalogue.prepare(&self.site);
            let offered = self.forgotten.is_offered();
            return sign_in::answer(&self.authenticator, request, cookies, offered).await;
        }
        if request.path == FORGOTTEN {
            shown.page = FORGOTTEN_PAGE;
            return forgotten::ask(&self.forgotten, request);
        }
        if request.path == SIGN_IN_CODE {
            shown.page = SIGN_IN_PAGE;
            return second_step::answer(&self.authenticator, request, cookies).await;
        }
        let Some((session, form)) = self.authenticate(request, cookies).await? else {
            return Ok(sign_in::first(request));
        };
        shown.user = session.user;
        if request.path == SIGN_OUT {
            shown.page = SIGN_OUT_PAGE;
            return sign_in::end(&self.authenticator, request, &session, cookies).await;
        }
        let (page, visit) = self.locate(request, cookies, session, form)?;
        shown.page = page.name;
        if !visit.may(MANAGE) {
            // A user without access to the administration must not keep a session.
            cookies.end_session();
            return Ok(sign_in::first(request));
        }
        if self.authenticator.must_set_up(&visit.session) && page.path != SECOND_FACTOR {
            return Ok(view::redirect(&href(SECOND_FACTOR)));
        }
        if !(page.offered)(&self.site, &self.catalogue, visit.session.user) {
            return Err(Problem::NotFound);
        }
        if reads {
            let read = authorise(page.read, &visit)?;
            let notice = cookies.take_notice();
            return Ok(read(Visit { notice, ..visit }).await?.response());
        }
        let write = authorise(page.write, &visit)?;
        if (page.confirmed)(&visit)
            && let Some(response) = confirm::answer(&visit, request).await?
        {
            return Ok(response);
        }
        self.run(page, write, visit, request, cookies).await
    }

    /// The session of a request and its form, which must be of the same session.
    async fn authenticate(
        &self,
        request: &PageRequest,
        cookies: &Cookies,
    ) -> Result<Option<(Session, Form)>, Problem> {
        // Changes by another host must be visible, because the next request may go to either host.
        self.site.state().catch_up().await?;
        let session = match &request.session {
            Some(known) => known.clone(),
            None => self.session(cookies).await?,
        };
        let form = match &request.received {
            Some(received) => received.form.clone(),
            None => Form::of_body(&request.body),
        };
        let secret = cookies.session.as_deref().unwrap_or_default();
        if session.is_some() && !request.reads() && !form::is_of_session(&form, secret) {
            return Err(Problem::ForeignForm);
        }
        Ok(session.map(|session| (session, form)))
    }

    /// The page that a request is for, and the visit to it.
    fn locate(
        &self,
        request: &PageRequest,
        cookies: &Cookies,
        session: Session,
        form: Form,
    ) -> Result<(&'static Page, Visit), Problem> {
        let found = self.pages.at(&request.path).map_err(|_| Problem::NotFound)?;
        let page = *found.value;
        let query = Form::of_query(&request.query);
        if query.has_nul() || form.has_nul() {
            return Err(Problem::Refused(
                "The request contains a character that is not allowed in text.".to_owned(),
            ));
        }
        let secret = cookies.session.clone().unwrap_or_default();
        let actor = Actor::of_form(
            page.name,
            (session.user, session.username.clone()),
            Means::Session(secret::hash(&secret)),
            &self.audit,
            (request.id.clone(), request.id_of_client.clone()),
        );
        let visit = Visit {
            site: self.site.on_behalf_of(actor),
            api: self.api.clone(),
            catalogue: Arc::clone(&self.catalogue),
            uploads: Arc::clone(&self.uploads),
            file: request.received.as_ref().and_then(|received| received.file.clone()),
            authenticator: Arc::clone(&self.authenticator),
            navigation,
            client: request.client,
            id: request.id.clone(),
            id_of_client: request.id_of_client.clone(),
            page: page.name,
            session,
            secret,
            params: found.params.iter().map(|(_, value)| value.to_owned()).collect(),
            query,
            form,
            path: page.path,
            origin: request.origin(),
            notice: None,
        };
        Ok((page, visit))
    }

    /// Does what a form is for, and answers with what came of it.
    async fn run(
        &self,
        page: &Page,
        write: Write,
        visit: Visit,
        request: &PageRequest,
        cookies: &mut Cookies,
    ) -> Result<Response<Body>, Problem> {
        let before = confirm::page_before(&visit, request);
        let (user, username) = (visit.session.user, visit.session.username.clone());
        let log = |recorded: &Recorded| {
            tracing::info!(
                target: "administration",
                user,
                username,
                page = page.name,
                what = recorded.what(),
                record = recorded.record(),
            );
            self.audit.has_written(1);
        };
        match write(visit).await {
            Ok(Outcome::Done { recorded, to, message }) => {
                log(&recorded);
                cookies.leave_notice(&Notice::good(message));
                Ok(view::redirect(&to))
            }
            Ok(Outcome::Shown { recorded, view, device }) => {
                log(&recorded);
                if let Some(device) = device {
                    cookies.remember_device(&device);
                }
                Ok(view.response())
            }
            Ok(Outcome::Unchanged { to, message } | Outcome::Written { to, message }) => {
                cookies.leave_notice(&Notice::good(message));
                Ok(view::redirect(&to))
            }
            Ok(Outcome::Answered(view)) => Ok(view.response()),
            Ok(Outcome::Again(view)) => Ok(view.again().response()),
            Err(Problem::Refused(why)) => {
                cookies.leave_notice(&Notice::bad(view::sentence(&why)));
                Ok(view::redirect(&before))
            }
            Err(problem) => Err(problem),
        }
    }
}

/// The page in place of one that has taken too long.
pub(crate) fn late(id: &RequestId) -> Response<Body> {
    let mut response = view::problem(&Problem::Late, id.as_str());
    headers::protect(response.headers_mut());
    response
}

/// What a page does for a method, if it does anything and the user may have it done.
fn authorise<T>(offered: Option<(Needed, T)>, visit: &Visit) -> Result<T, Problem> {
    let (needed, work) = offered.ok_or(Problem::NoSuchMethod)?;
    if visit.may(needed) { Ok(work) } else { Err(Problem::Forbidden(needed)) }
}

/// The navigation: the pages that the user may read.
fn navigation(visit: &Visit) -> Vec<Link> {
    let entries = PAGES.iter().filter_map(|page| {
        let entry = page.navigation.as_ref()?;
        let (needed, _) = page.read.as_ref()?;
        let is_shown =
            visit.may(needed) && (page.offered)(&visit.site, &visit.catalogue, visit.session.user);
        is_shown.then(|| Link {
            title: entry.title,
            href: href(page.path),
            icon: entry.icon,
            current: section(page.path) == section(visit.path),
        })
    });
    entries.collect()
}

/// What may be sent to a page.
pub(crate) enum Expected {
    /// A form of at most so many bytes.
    Form { longest: usize },
    /// A form with a file, of the session with this secret.
    File { boundary: String, secret: String },
    /// Nothing that would be read.
    Nothing,
}

/// The page and the user of a request, for the log.
struct Shown {
    page: &'static str,
    user: i64,
}
