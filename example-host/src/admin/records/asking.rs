//! Requests that read records: sent to an extension's own routes as the session's user, so that rights and checks are
//! those of the API.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::time::timeout;

use crate::admin::problem::{Problem, Trouble};
use crate::admin::visit::{Visit, details};
use crate::base::error::Error;

use super::listing::with_query;
use super::model::{Kind, Route, Types};
use super::record::{Listed, Record};
use super::visible;

/// The part of the time for the request to a page that one answer may take, so that the page ends before that.
const PART: u32 = 3;

/// What is encoded of a key in a path: all but what RFC 3986 calls unreserved, which nobody has to decode.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The maximum number of reasons of a refusal that are shown.
const REASONS: usize = 10;

/// The names and the values of a query.
pub(crate) type Asked = [(String, String)];

/// A request that the API has refused.
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    /// Its reasons, in the words of the API; empty if it gives none.
    pub(crate) reasons: String,
}

impl Visit {
    /// Whether the user has the permission of a route.
    pub(crate) fn may_use(&self, route: &Route) -> bool {
        visible::may(&self.site, self.session.user, route)
    }

    /// Whether the user may read single records of a type.
    pub(crate) fn may_show(&self, kind: &Kind) -> bool {
        kind.show.as_ref().is_some_and(|show| self.may_use(show))
    }

    /// The types of an extension, if it is enabled.
    pub(crate) fn types(&self, extension: &str) -> Result<Option<&Types>, Error> {
        visible::types(&self.site, &self.catalogue, extension)
    }
}

/// A key as a segment of a path.
pub(crate) fn segment(key: &str) -> String {
    utf8_percent_encode(key, RESERVED).to_string()
}

/// The path of a route for a record, which may belong to another one.
pub(crate) fn address(route: &Route, id: &str, parent: &str) -> String {
    // In one pass, so that a key with braces stays a key.
    let parts = route.path.split('/').map(|part| match part {
        "{id}" => segment(id),
        "{parent}" => segment(parent),
        other => other.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

/// The answer of a route.
pub(crate) async fn get(
    visit: &Visit,
    route: &Route,
    id: &str,
    query: &Asked,
) -> Result<Result<Value, Refused>, Problem> {
    let address = with_query(address(route, id, ""), query);
    let request = Request::builder().uri(address).header(header::ACCEPT, &route.accept);
    let request = request.body(Body::empty()).map_err(|_| Problem::NotFound)?;
    let time = visit.api.limits().request_timeout / PART;
    let Ok(answer) = timeout(time, visit.ask(request)).await else {
        return Err(Problem::Trouble(Trouble::Slow));
    };
    let answer = answer?;
    if !answer.status().is_success() {
        let mut reasons = details(answer.body());
        reasons.truncate(REASONS);
        return Ok(Err(Refused { status: answer.status(), reasons: reasons.join(" ") }));
    }
    serde_json::from_slice(answer.body()).map(Ok).map_err(|error| {
        tracing::error!(route = route.id, %error, "an answer of the API is not JSON");
        Problem::Trouble(Trouble::Failing)
    })
}

/// One record, with the answer that it is in.
pub(crate) async fn show(
    visit: &Visit,
    kind: &Kind,
    id: &str,
    query: &Asked,
) -> Result<(Record, Value), Problem> {
    let route = kind.show.as_ref().ok_or(Problem::NotFound)?;
    let answer = get(visit, route, id, query).await??;
    let record = Record::of_answer(kind, &answer);
    Ok((record.ok_or(Problem::Trouble(Trouble::Failing))?, answer))
}

/// A page of a list; `id` is the key of the record that it is below.
pub(crate) async fn list(
    visit: &Visit,
    kind: &Kind,
    route: &Route,
    id: &str,
    query: &Asked,
) -> Result<Result<Listed, Refused>, Problem> {
    Ok(get(visit, route, id, query).await?.map(|answer| Listed::read(kind, &answer)))
}

impl From<Refused> for Problem {
    fn from(Refused { status, reasons }: Refused) -> Self {
        if let Some(trouble) = Trouble::of_extension(status) {
            return Problem::Trouble(trouble);
        }
        match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => Problem::Trouble(Trouble::Gone),
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => {
                Problem::Trouble(Trouble::Denied(reasons))
            }
            _ if reasons.is_empty() => Problem::Trouble(Trouble::Failing),
            _ => Problem::Refused(reasons),
        }
    }
}
