//! The administration: pages for people with a browser, at `/administrator/`.
//!
//! A page is an entry in [`PAGES`], a function and a template. [`Administration::answer`] does the
//! rest for all pages: it checks the session, the permission and the origin of a form, records
//! changes, and sets the headers of the answer. Pages call the routes of extensions only through
//! [`Visit::ask`].

mod assets;
mod authenticator;
mod authority;
mod catalogue;
mod confirm;
mod cookies;
mod form;
mod pace;
mod page_request;
mod pages;
mod paths;
mod problem;
mod sign_in;
mod throttle;
mod view;
mod visit;

use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Response, StatusCode};

use crate::api::gate::Api;
use crate::base::error::Error;
use crate::base::secret;
use crate::identity::sessions::{self, Session};
use crate::site::Site;
use crate::site::operations::{self, Operation, Recorded};
use crate::watch::audit::{Actor, Audit};

use self::authenticator::Authenticator;
use self::catalogue::Catalogue;
use self::cookies::Cookies;
use self::form::Form;
use self::pages::{
    account, api, audit, dashboard, extensions, groups, parameters, permissions, token, token_new,
    token_rotate, tokens, users, why,
};
use self::paths::{ADMIN, MANAGE, Needed, SIGN_IN, SIGN_IN_PAGE, SIGN_OUT, SIGN_OUT_PAGE, href};
use self::problem::Problem;
use self::view::{Link, Notice, View};
use self::visit::{Outcome, Visit, section};

pub(crate) use self::page_request::{Answered, PageRequest};
pub(crate) use self::paths::BASE;

/// The maximum size of a form: enough for the longest parameter that an extension can declare,
/// escaped.
const LONGEST_FORM: usize = 256 * 1024;
/// The maximum size of a form before sign-in.
const LONGEST_SIGN_IN: usize = 4 * 1024;

/// All pages. The pages in the navigation are in its order.
const PAGES: &[Page] = &[
    Page::at("/", "administration.dashboard")
        .in_navigation("Dashboard", "dashboard")
        .reads(MANAGE, |visit| Box::pin(dashboard::page(visit))),
    Page::at("/users", "administration.users")
        .in_navigation("Users", "users")
        .reads(MANAGE, |visit| Box::pin(users::list(visit))),
    Page::at("/users/new", "administration.users.new")
        .reads(MANAGE, |visit| Box::pin(users::blank(visit)))
        .does(&operations::users::ADD, |visit| Box::pin(users::add(visit)))
        .confirmed(),
    Page::at("/users/{id}", "administration.users.edit")
        .reads(MANAGE, |visit| Box::pin(users::page(visit)))
        .does(&operations::users::CHANGE, |visit| Box::pin(users::save(visit)))
        .confirmed(),
    Page::at("/users/{id}/token", "administration.users.token")
        .reads(MANAGE, |visit| Box::pin(token::page(visit)))
        .does(&operations::tokens::GENERATE, |visit| Box::pin(token::generate(visit)))
        .confirmed(),
    Page::at("/users/{id}/token/new", "administration.users.token.new")
        .reads(MANAGE, |visit| Box::pin(token_new::blank(visit)))
        .does(&operations::tokens::CREATE, |visit| Box::pin(token_new::add(visit)))
        .confirmed(),
    Page::at("/users/{id}/token/{token}/rotate", "administration.users.token.rotate")
        .reads(MANAGE, |visit| Box::pin(token_rotate::page(visit)))
        .does(&operations::tokens::ROTATE, |visit| Box::pin(token_rotate::rotate(visit)))
        .confirmed(),
    Page::at("/users/{id}/token/{token}/revoke", "administration.users.token.revoke")
        .does(&operations::tokens::REVOKE, |visit| Box::pin(token::revoke(visit)))
        .confirmed(),
    Page::at("/users/{id}/permissions", "administration.users.permissions")
        .reads(MANAGE, |visit| Box::pin(why::of_user(visit))),
    Page::at("/users/{id}/block", "administration.users.block")
        .does(&operations::users::BLOCK, |visit| Box::pin(users::block(visit))),
    Page::at("/users/{id}/unblock", "administration.users.unblock")
        .does(&operations::users::UNBLOCK, |visit| Box::pin(users::unblock(visit)))
        .confirmed(),
    Page::at("/users/{id}/sign-out", "administration.users.sign_out")
        .does(&operations::users::SIGN_OUT, |visit| Box::pin(users::sign_out(visit))),
    Page::at("/users/{id}/delete", "administration.users.delete")
        .reads(MANAGE, |visit| Box::pin(users::confirm(visit)))
        .does(&operations::users::REMOVE, |visit| Box::pin(users::delete(visit)))
        .confirmed(),
    Page::at("/tokens", "administration.tokens")
        .in_navigation("API tokens", "tokens")
        .reads(MANAGE, |visit| Box::pin(tokens::page(visit))),
    Page::at("/groups", "administration.groups")
        .in_navigation("Groups", "groups")
        .reads(MANAGE, |visit| Box::pin(groups::list(visit))),
    Page::at("/groups/new", "administration.groups.new")
        .reads(ADMIN, |visit| Box::pin(groups::blank(visit)))
        .does(&operations::groups::ADD, |visit| Box::pin(groups::add(visit)))
        .confirmed(),
    Page::at("/groups/{id}", "administration.groups.edit")
        .reads(ADMIN, |visit| Box::pin(groups::page(visit)))
        .does(&operations::groups::RENAME, |visit| Box::pin(groups::save(visit)))
        .confirmed(),
    Page::at("/groups/{id}/delete", "administration.groups.delete")
        .reads(ADMIN, |visit| Box::pin(groups::confirm(visit)))
        .does(&operations::groups::REMOVE, |visit| Box::pin(groups::delete(visit)))
        .confirmed(),
    Page::at("/permissions", "administration.permissions")
        .in_navigation("Permissions", "permissions")
        .reads(MANAGE, |visit| Box::pin(permissions::page(visit)))
        .does(&operations::permissions::CHANGE, |visit| Box::pin(permissions::save(visit)))
        .confirmed(),
    Page::at("/permissions/why", "administration.permissions.why")
        .reads(MANAGE, |visit| Box::pin(why::page(visit))),
    Page::at("/extensions", "administration.extensions")
        .in_navigation("Extensions", "extensions")
        .reads(MANAGE, |visit| Box::pin(extensions::list(visit))),
    Page::at("/extensions/{name}", "administration.extensions.extension")
        .reads(MANAGE, |visit| Box::pin(extensions::page(visit))),
    Page::at("/extensions/{name}/routes", "administration.extensions.routes")
        .reads(MANAGE, |visit| Box::pin(extensions::routes(visit))),
    Page::at("/extensions/{name}/parameters", "administration.extensions.parameters")
        .reads(MANAGE, |visit| Box::pin(parameters::page(visit)))
        .does(&operations::extensions::CHANGE_PARAMETERS, |visit| {
            Box::pin(parameters::save(visit))
        }),
    Page::at("/extensions/{name}/enable", "administration.extensions.enable")
        .does(&operations::extensions::ENABLE, |visit| Box::pin(extensions::enable(visit)))
        .confirmed(),
    Page::at("/extensions/{name}/disable", "administration.extensions.disable")
        .does(&operations::extensions::DISABLE, |visit| Box::pin(extensions::disable(visit))),
    Page::at("/api", "administration.api")
        .in_navigation("API", "api")
        .reads(MANAGE, |visit| Box::pin(api::list(visit))),
    Page::at("/api/openapi.json", "administration.api.document")
        .reads(MANAGE, |visit| Box::pin(api::download(visit))),
    Page::at("/api/{extension}/{operation}", "administration.api.operation")
        .reads(MANAGE, |visit| Box::pin(api::page(visit)))
        .asks(MANAGE, |visit| Box::pin(api::ask(visit))),
    Page::at("/audit", "administration.audit")
        .in_navigation("Audit", "audit")
        .reads(ADMIN, |visit| Box::pin(audit::page(visit))),
    Page::at("/audit/export", "administration.audit.export")
        .reads(ADMIN, |visit| Box::pin(audit::export(visit))),
    Page::at("/account", "administration.account")
        .reads(MANAGE, |visit| Box::pin(account::page(visit)))
        .does(&operations::users::CHANGE_OWN_PASSWORD, |visit| {
            Box::pin(account::set_password(visit))
        }),
    Page::at("/account/sign-out-everywhere", "administration.account.sign_out_everywhere")
        .does(&operations::users::SIGN_OUT_EVERYWHERE, |visit| {
            Box::pin(account::sign_out_everywhere(visit))
        }),
];

type Work<T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send>>;
type Read = fn(Visit) -> Work<View>;
type Write = fn(Visit) -> Work<Outcome>;

/// A page: its path, and the permissions to read and to change.
struct Page {
    path: &'static str,
    /// Its name in logs and metrics.
    name: &'static str,
    navigation: Option<Entry>,
    read: Option<(Needed, Read)>,
    write: Option<(Needed, Write)>,
    /// The operation that its form does.
    operation: Option<&'static Operation>,
    /// Whether the page changes access or permissions, so that the user must have entered the
    /// password recently.
    confirmed: bool,
}

/// A page in the navigation.
struct Entry {
    title: &'static str,
    icon: &'static str,
}

impl Page {
    const fn at(path: &'static str, name: &'static str) -> Self {
        Self {
            path,
            name,
            navigation: None,
            read: None,
            write: None,
            operation: None,
            confirmed: false,
        }
    }

    const fn in_navigation(mut self, title: &'static str, icon: &'static str) -> Self {
        self.navigation = Some(Entry { title, icon });
        self
    }

    const fn reads(mut self, needed: Needed, read: Read) -> Self {
        self.read = Some((needed, read));
        self
    }

    /// A form that does an operation, whose permission it needs.
    const fn does(mut self, operation: &'static Operation, write: Write) -> Self {
        self.write = Some((operation.needs, write));
        self.operation = Some(operation);
        self
    }

    /// A form that sends a request to the API.
    const fn asks(mut self, needed: Needed, write: Write) -> Self {
        self.write = Some((needed, write));
        self
    }

    const fn confirmed(mut self) -> Self {
        self.confirmed = true;
        self
    }
}

/// The pages of a site, with the state that is kept between requests.
pub(crate) struct Administration {
    site: Site,
    api: Api,
    audit: Arc<Audit>,
    catalogue: Arc<Catalogue>,
    pages: matchit::Router<&'static Page>,
    authenticator: Arc<Authenticator>,
}

impl Administration {
    /// Builds the table of pages.
    pub(crate) fn new(site: Site, api: Api, audit: Arc<Audit>) -> Result<Self, Error> {
        let mut pages = matchit::Router::new();
        for page in PAGES {
            let inserted = pages.insert(page.path, page);
            inserted.map_err(|error| Error::Invalid(format!("{}: {error}", page.path)))?;
        }
        let authenticator = Arc::new(Authenticator::new(site.clone(), Arc::clone(&audit)));
        let catalogue = Arc::default();
        Ok(Self { site, api, audit, catalogue, pages, authenticator })
    }

    /// Looks up the session, and returns the maximum size of a form: before sign-in only a name and
    /// a password are expected.
    pub(crate) async fn recognise(&self, request: &mut PageRequest) -> Result<usize, Error> {
        let session = self.session(&Cookies::of(request)).await?;
        let longest = if session.is_some() { LONGEST_FORM } else { LONGEST_SIGN_IN };
        request.session = Some(session);
        Ok(longest)
    }

    async fn session(&self, cookies: &Cookies) -> Result<Option<Session>, Error> {
        match cookies.session() {
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
        let mut response = answered.unwrap_or_else(|problem| view::problem(&problem, &request));
        view::protect(response.headers_mut());
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
        let reads = matches!(request.method, Method::GET | Method::HEAD);
        if !reads && request.method != Method::POST {
            return Err(Problem::NoSuchMethod);
        }
        if !reads && !form::is_from_here(&request.headers) {
            return Err(Problem::ForeignForm);
        }
        if request.path == SIGN_IN {
            shown.page = SIGN_IN_PAGE;
            return sign_in::answer(&self.authenticator, request, cookies, reads).await;
        }
        let Some((session, form)) = self.authenticate(request, cookies, reads).await? else {
            return Ok(sign_in::first(request, reads));
        };
        shown.user = session.user;
        if request.path == SIGN_OUT {
            shown.page = SIGN_OUT_PAGE;
            return sign_in::end(&self.authenticator, request, &session, cookies, reads).await;
        }
        let (page, visit) = self.locate(request, cookies, session, form)?;
        shown.page = page.name;
        if !visit.may(MANAGE) {
            // A user without access to the administration must not keep a session.
            cookies.end_session();
            return Ok(sign_in::first(request, reads));
        }
        if reads {
            let read = authorise(page.read, &visit)?;
            let notice = cookies.take_notice();
            return Ok(read(Visit { notice, ..visit }).await?.response());
        }
        let write = authorise(page.write, &visit)?;
        if page.confirmed
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
        reads: bool,
    ) -> Result<Option<(Session, Form)>, Problem> {
        // Changes by another host must be visible, because the next request may go to either host.
        self.site.state().catch_up().await?;
        let session = match &request.session {
            Some(known) => known.clone(),
            None => self.session(cookies).await?,
        };
        let form = Form::of_body(&request.body);
        let secret = cookies.session().unwrap_or_default();
        if session.is_some() && !reads && !form::is_of_session(&form, secret) {
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
        let secret = cookies.session().unwrap_or_default().to_owned();
        let actor = Actor::of_page(
            page.name,
            (session.user, session.username.clone()),
            secret::hash(&secret),
            &self.audit,
            (request.id.clone(), request.id_of_client.clone()),
        );
        let visit = Visit {
            site: self.site.on_behalf_of(actor),
            api: self.api.clone(),
            catalogue: Arc::clone(&self.catalogue),
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
            origin: view::origin(request),
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
            Ok(Outcome::Shown { recorded, view }) => {
                log(&recorded);
                Ok(view.response())
            }
            Ok(Outcome::Unchanged { to, message }) => {
                cookies.leave_notice(&Notice::good(message));
                Ok(view::redirect(&to))
            }
            Ok(Outcome::Answered(view)) => Ok(view.response()),
            Ok(Outcome::Again(view)) => Ok(view.with_status(StatusCode::UNPROCESSABLE_ENTITY)),
            Err(Problem::Refused(why)) => {
                cookies.leave_notice(&Notice::bad(view::sentence(&why)));
                Ok(view::redirect(&before))
            }
            Err(problem) => Err(problem),
        }
    }
}

/// What a page does for a method, if it does anything and the user may have it done.
fn authorise<T>(offered: Option<(Needed, T)>, visit: &Visit) -> Result<T, Problem> {
    let (needed, work) = offered.ok_or(Problem::NoSuchMethod)?;
    visit.must(needed)?;
    Ok(work)
}

impl std::fmt::Debug for Administration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Administration").finish_non_exhaustive()
    }
}

/// The navigation: the pages that the user may read.
fn navigation(visit: &Visit) -> Vec<Link> {
    let entries = PAGES.iter().filter_map(|page| {
        let entry = page.navigation.as_ref()?;
        let (needed, _) = page.read.as_ref()?;
        visit.may(needed).then(|| Link {
            title: entry.title,
            href: href(page.path),
            icon: entry.icon,
            current: section(page.path) == section(visit.path),
        })
    });
    entries.collect()
}

/// The page and the user of a request, for the log.
struct Shown {
    page: &'static str,
    user: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_do_the_operations_of_the_table() {
        for page in PAGES.iter().filter(|page| page.write.is_some()) {
            match page.operation {
                Some(operation) => {
                    assert_eq!(operation.page, Some(page.name));
                    assert!(
                        operations::ALL.contains(&operation),
                        "{} is in no table",
                        operation.what
                    );
                }
                None => assert_eq!(page.name, "administration.api.operation", "does no operation"),
            }
        }
        for operation in operations::ALL {
            let Some(name) = operation.page else { continue };
            let page = PAGES.iter().find(|page| page.name == name);
            let does_one = page.is_some_and(|page| page.operation.is_some());
            assert!(does_one, "{} is on no page {name}", operation.what);
        }
    }
}
