//! A request to a page before sign-in is checked, and the answer to it.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Response, header};

use crate::identity::sessions::Session;

use super::headers::text_of;
use super::multipart::Received;

/// A request to a page.
pub(crate) struct PageRequest {
    pub(crate) method: Method,
    /// The path below [`BASE`], with a leading slash.
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The form in place of the body, if it has a file.
    pub(crate) received: Option<Received>,
    pub(crate) client: IpAddr,
    /// Whether the browser uses HTTPS, to this server or to a proxy.
    pub(crate) encrypted: bool,
    /// The id of the request in the log.
    pub(crate) id: String,
    /// The id that the client sent.
    pub(crate) id_of_client: Option<String>,
    /// The session, if it has been looked up.
    pub(crate) session: Option<Option<Session>>,
}

impl PageRequest {
    /// Whether it asks for a page, and sends no form.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }

    /// The origin of the site, as the browser uses it.
    pub(crate) fn origin(&self) -> String {
        let scheme = if self.encrypted { "https" } else { "http" };
        let host = text_of(&self.headers, &header::HOST).unwrap_or("localhost");
        format!("{scheme}://{host}")
    }
}

/// The answer, with the page and the user for the log.
pub(crate) struct Answered {
    pub(crate) response: Response<Body>,
    /// The name of the page.
    pub(crate) page: &'static str,
    /// The key of the signed-in user; 0 if there is none.
    pub(crate) user: i64,
}
