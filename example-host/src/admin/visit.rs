//! A request to a page by a signed-in user, and its possible outcomes.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use futures_util::future::BoxFuture;
use host_service::ClientAddress;
use http_body_util::{BodyExt, Limited};

use crate::api::gate::{self, Api};
use crate::api::{asking, errors};
use crate::base::secret::{self, SecretHash};
use crate::identity::sessions::Session;
use crate::site::Site;
use crate::site::operations::Recorded;

use super::authenticator::{Asking, Authenticator, By};
use super::catalogue::Catalogue;
use super::form::{self, Form};
use super::paths::{ADMIN, Needed, href, may};
use super::problem::Problem;
use super::records::navigation::{self, Group};
use super::records::visible::{self, Visible};
use super::uploads::{SentFile, Uploads};
use super::view::{Layout, Link, Notice, Section, SignedIn, View};

/// The maximum size of an answer of the API on a page, in bytes. One in pieces may have no end.
const ANSWER: usize = 16 * 1024 * 1024;

/// A request to a page, by a user with access to the administration.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) site: Site,
    pub(crate) api: Api,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) authenticator: Arc<Authenticator>,
    /// Builds the navigation for the user.
    pub(crate) navigation: fn(&Visit) -> Vec<Link>,
    /// The address of the client.
    pub(crate) client: IpAddr,
    /// The id of the request in the log.
    pub(crate) id: String,
    /// The id that the client sent.
    pub(crate) id_of_client: Option<String>,
    /// The name of the page.
    pub(crate) page: &'static str,
    pub(crate) session: Session,
    /// The secret of the session.
    pub(crate) secret: String,
    pub(crate) params: Vec<String>,
    pub(crate) query: Form,
    pub(crate) form: Form,
    /// The file of the form.
    pub(crate) file: Option<Arc<SentFile>>,
    pub(crate) uploads: Arc<Uploads>,
    /// The path of the page in the table of pages.
    pub(crate) path: &'static str,
    /// The origin of the site, as the browser uses it.
    pub(crate) origin: String,
    pub(crate) notice: Option<Notice>,
}

/// The outcome of a form. What was done is always in the audit trail, because only the operations of a site
/// create a [`Recorded`].
pub(crate) enum Outcome {
    /// The change was made; the browser is redirected to another page with this message.
    Done { recorded: Recorded, to: String, message: String },
    /// The change was made, and its result is shown once. The device may be known from now on by another cookie.
    Shown { recorded: Recorded, view: View, device: Option<String> },
    /// Nothing had to be changed; the browser is redirected with this message.
    Unchanged { to: String, message: String },
    /// A request to the API was answered, or something was looked up; nothing of the administration has changed.
    Answered(View),
    /// The API has made a change, which it records itself; the browser is redirected with this message.
    Written { to: String, message: String },
    /// Nothing was changed; the form is shown again with its faults.
    Again(View),
}

impl Outcome {
    /// A change that was made, with the path of the page that the browser is redirected to.
    pub(crate) fn done(recorded: Recorded, to: &str, message: impl Into<String>) -> Self {
        Self::Done { recorded, to: href(to), message: message.into() }
    }

    /// A change that was made, with the page that shows its result.
    pub(crate) fn shown(recorded: Recorded, view: View) -> Self {
        Self::Shown { recorded, view, device: None }
    }

    /// A form that changes nothing, with the path of that page.
    pub(crate) fn unchanged(to: &str) -> Self {
        Self::Unchanged { to: href(to), message: "Nothing was changed.".to_owned() }
    }
}

impl Visit {
    /// Whether the user has a permission.
    pub(crate) fn may(&self, needed: Needed) -> bool {
        may(&self.site, self.session.user, needed)
    }

    /// Whether the user may do everything.
    pub(crate) fn is_admin(&self) -> bool {
        self.may(ADMIN)
    }

    /// Sends a request to the API as the signed-in user, without a token. Checks and answer are the
    /// same as for any other request.
    pub(crate) fn ask(
        &self,
        request: Request<Body>,
    ) -> BoxFuture<'_, Result<Response<Bytes>, Problem>> {
        // In a box of its own: pages that ask several times would be too deep for the compiler.
        Box::pin(async move { whole(self.ask_in_pieces(request).await).await })
    }

    /// Sends a request to the API, with the answer as it comes.
    pub(crate) async fn ask_in_pieces(&self, mut request: Request<Body>) -> Response<Body> {
        request.extensions_mut().insert(ClientAddress(self.client));
        let by = asking::SignedIn { user: self.session.user, session: self.session_hash() };
        gate::ask(&self.api, by, &self.id, request).await
    }

    /// The request, if it comes with a password.
    pub(crate) fn asking(&self) -> Asking<'_> {
        let Self { page, client, id, id_of_client, .. } = self;
        let by = By::Session { of: self.session_hash(), with_code: self.session.with_code };
        Asking { page, client: *client, by, id, id_of_client: id_of_client.as_deref() }
    }

    /// The hash of the session's secret.
    pub(crate) fn session_hash(&self) -> SecretHash {
        secret::hash(&self.secret)
    }

    /// The key in the path.
    pub(crate) fn id(&self) -> Result<i64, Problem> {
        let id = self.params.first().and_then(|id| id.parse().ok());
        id.ok_or(Problem::NotFound)
    }

    /// The navigation of the types of records that the user may list.
    fn sections(&self, found: &[Visible<'_>]) -> Vec<Section> {
        let shown = match (section(self.path), self.params.as_slice()) {
            ("records", [extension, kind, ..]) => Some((extension.as_str(), kind.as_str())),
            _ => None,
        };
        let groups = navigation::groups(found).into_iter().map(|Group { title, kinds }| Section {
            title: title.to_owned(),
            links: kinds
                .into_iter()
                .map(|(extension, kind)| {
                    let address = href(&format!("/records/{extension}/{}", kind.name));
                    let current = shown == Some((extension, kind.name.as_str()));
                    (kind.title.clone(), address, current)
                })
                .collect(),
        });
        groups.collect()
    }

    /// The layout of the page.
    pub(crate) fn layout(&self, title: impl Into<String>) -> Layout {
        // A document that cannot be read has no records.
        let found = visible::all(&self.site, &self.catalogue, self.session.user);
        let mut found = found.unwrap_or_default();
        let mut navigation = (self.navigation)(self);
        if self.authenticator.must_set_up(&self.session) {
            // No other page is shown before.
            found.clear();
            navigation.clear();
        }
        let sought = if self.path == SEARCH { self.query.get("q") } else { "" };
        Layout {
            signed_in: Some(SignedIn {
                name: self.session.name.clone(),
                csrf_token: form::csrf_token(&self.secret),
                navigation,
                sections: self.sections(&found),
                search: navigation::is_searched(&found).then(|| sought.to_owned()),
                own: section(self.path) == "account",
            }),
            notice: self.notice.clone(),
            ..Layout::bare(title)
        }
    }
}

/// The path of the search in the table of pages.
const SEARCH: &str = "/search";

/// An answer of the API as a whole.
pub(crate) async fn whole(answer: Response<Body>) -> Result<Response<Bytes>, Problem> {
    let (parts, body) = answer.into_parts();
    let body = Limited::new(body, ANSWER).collect().await.map_err(|error| {
        tracing::error!(%error, "an answer of the API was interrupted");
        Problem::Failed
    })?;
    Ok(Response::from_parts(parts, body.to_bytes()))
}

/// Why the API has refused a request: the sentences of its answer.
pub(crate) async fn refusal(answer: Response<Body>) -> Result<String, Problem> {
    let status = answer.status();
    let details = details(whole(answer).await?.body());
    Ok(if details.is_empty() {
        format!("The API has answered {status}.")
    } else {
        details.join(" ")
    })
}

/// The sentences of an answer with errors.
pub(crate) fn details(body: &[u8]) -> Vec<String> {
    let details = errors::read(body).into_iter().map(|error| error.detail);
    details.filter(|detail| !detail.is_empty()).collect()
}

/// The first segment of a path, which identifies the section of a page.
pub(crate) fn section(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}
