//! A request to a page as it comes in, and the answer to it. Knows nothing of connections.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Response, header};

use crate::identity::sessions::Session;

/// A request to a page.
pub(crate) struct Arrival {
    pub(crate) method: Method,
    /// Below [`BASE`], with a slash at the front.
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) client: IpAddr,
    /// Whether the browser speaks to the site through TLS, here or at a proxy.
    pub(crate) encrypted: bool,
    /// What the log calls the request.
    pub(crate) id: String,
    /// What the client calls it.
    pub(crate) id_of_client: Option<String>,
    /// Who has signed in, if that has been looked up.
    pub(crate) session: Option<Option<Session>>,
}

/// The answer, and what the log is to say of the request.
pub(crate) struct Answered {
    pub(crate) response: Response<Body>,
    /// The page that it was to.
    pub(crate) page: &'static str,
    /// Who has signed in; 0 where nobody has.
    pub(crate) user: i64,
}

/// Where a header is read that is text.
pub(crate) fn text_of<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
