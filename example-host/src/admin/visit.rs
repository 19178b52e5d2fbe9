//! A visit to a page by somebody who has signed in, and what may come of it. Knows no page.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;

use crate::api::answer::Api;
use crate::base::error::Error;
use crate::base::secret;
use crate::base::secret::SecretHash;
use crate::database::Connection;
use crate::identity::sessions::Session;
use crate::site::Site;
use crate::watch::audit::{Audit, Entry, Means, Origin, Record};

use super::catalogue::Catalogue;
use super::door::Door;
use super::form::{self, Form};
use super::place::{ADMIN, Needed, may};
use super::problem::Problem;
use super::view::{Layout, Link, Notice, SignedIn, View};

/// A request to a page, by somebody with access to the administration.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) site: Site,
    pub(crate) api: Arc<Api>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) door: Arc<Door>,
    /// The pages that whoever has signed in may see.
    pub(crate) navigation: fn(&Visit) -> Vec<Link>,
    /// Where it comes from.
    pub(crate) client: IpAddr,
    /// What the log calls the request.
    pub(crate) id: String,
    /// What the client calls it.
    pub(crate) id_of_client: Option<String>,
    pub(crate) session: Session,
    /// What the browser keeps of the session.
    pub(crate) secret: String,
    pub(crate) params: Vec<String>,
    pub(crate) query: Form,
    pub(crate) form: Form,
    /// The path of the page, as the table of pages has it.
    pub(crate) path: &'static str,
    /// What the logs and the audit trail call the page.
    pub(crate) page: &'static str,
    /// What addresses of the site begin with, as the browser knows it.
    pub(crate) origin: String,
    pub(crate) notice: Option<Notice>,
}

/// What comes of a form that was sent. What has changed something is certain to stand in the audit
/// trail: only [`Visit::record`] makes what says so.
pub(crate) enum Outcome {
    /// It is done; the browser goes on to another page with this message.
    Done { recorded: Recorded, to: String, says: String },
    /// It is done, and what came of it can be shown this once.
    Shown { recorded: Recorded, view: View },
    /// All is as it was wanted already; the browser goes on in the same way.
    Unchanged { to: String, says: String },
    /// Something was asked, and this is the answer; nothing of the administration has changed.
    Answered(View),
    /// Nothing was done; the form is shown again with what is wrong.
    Again(View),
}

/// A change that was written down in the audit trail by the transaction that made it.
pub(crate) struct Recorded(Change);

impl Recorded {
    /// What was changed.
    pub(crate) fn change(&self) -> &Change {
        &self.0
    }
}

/// What was changed, for the log and the audit trail.
pub(crate) struct Change {
    /// What was done, for example `block a user`.
    pub(crate) what: &'static str,
    /// To what, for example `user 5`: a word for its kind, then what tells it, and where there is
    /// more to say, that after a colon.
    pub(crate) record: String,
}

impl Change {
    /// What was changed, and what more there is to say.
    fn record(&self) -> (Record, &str) {
        let (record, more) = self.record.split_once(": ").unwrap_or((&self.record, ""));
        let (kind, id) = record.split_once(' ').unwrap_or((record, ""));
        (Record { kind: kind.to_owned(), id: id.to_owned() }, more)
    }
}

impl Visit {
    /// Whether whoever has signed in has a permission.
    pub(crate) fn may(&self, needed: Needed) -> bool {
        may(&self.site, self.session.user, needed)
    }

    /// Refuses whoever has not.
    pub(crate) fn must(&self, needed: Needed) -> Result<(), Problem> {
        if self.may(needed) { Ok(()) } else { Err(Problem::Forbidden(needed)) }
    }

    /// Whether whoever has signed in may do everything.
    pub(crate) fn is_admin(&self) -> bool {
        self.may(ADMIN)
    }

    /// Asks the API as whoever has signed in, who needs no token for it here. The same is checked as
    /// of any other request, and the same is answered.
    pub(crate) async fn ask(&self, request: Request<Vec<u8>>) -> Result<Response<Bytes>, Problem> {
        let answered = self.api.ask(self.session.user, self.kept(), &self.id, request).await;
        let (parts, body) = answered.into_parts();
        let body = body.collect().await.map_err(|error| {
            tracing::error!(%error, "an answer of the API was interrupted");
            Problem::Failed
        })?;
        Ok(Response::from_parts(parts, body.to_bytes()))
    }

    /// Writes a change down in the audit trail, within the transaction that makes it: there is
    /// neither without the other.
    pub(crate) async fn record(
        &self,
        transaction: &mut Connection,
        change: Change,
    ) -> Result<Recorded, Error> {
        self.write(transaction, change, StatusCode::SEE_OTHER).await
    }

    /// The same where what came of it is shown at once.
    pub(crate) async fn record_shown(
        &self,
        transaction: &mut Connection,
        change: Change,
    ) -> Result<Recorded, Error> {
        self.write(transaction, change, StatusCode::OK).await
    }

    async fn write(
        &self,
        transaction: &mut Connection,
        change: Change,
        status: StatusCode,
    ) -> Result<Recorded, Error> {
        let (record, more) = change.record();
        let Session { user, username, .. } = &self.session;
        // Forms are all that changes something here, and they are posted.
        let entry = Entry::new(Origin::Administration, "POST", self.page, record)
            .by(*user, username, &Means::Session(self.kept()))
            .answered(status.as_u16(), &self.id)
            .called(self.id_of_client.as_deref());
        let entry = match more {
            "" => entry.saying(change.what),
            more => entry.saying(&format!("{}: {more}", change.what)),
        };
        self.audit.insert(transaction, &entry).await?;
        Ok(Recorded(change))
    }

    /// What is kept of the session.
    pub(crate) fn kept(&self) -> SecretHash {
        secret::hash(&self.secret)
    }

    /// The key in the path.
    pub(crate) fn id(&self) -> Result<i64, Problem> {
        let id = self.params.first().and_then(|id| id.parse().ok());
        id.ok_or(Problem::NotFound)
    }

    /// What is around the page of this visit.
    pub(crate) fn layout(&self, title: impl Into<String>) -> Layout {
        Layout {
            signed_in: Some(SignedIn {
                name: self.session.name.clone(),
                csrf_token: form::csrf_token(&self.secret),
                navigation: (self.navigation)(self),
                own: section(self.path) == "account",
            }),
            notice: self.notice.clone(),
            ..Layout::bare(title)
        }
    }
}

/// The first part of a path, which the pages of one section have in common.
pub(crate) fn section(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}
