//! What a site decides about requests, as the trait that the author of a host implements: who is
//! asking, which extensions are enabled, and what is recorded. What a user may do is the other trait,
//! [`Principal`](host_interface::Principal) of the contract.

use std::borrow::Borrow;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Extensions, HeaderMap, Method, Response, Uri, header};
use host_interface::{Caller, Credentials, Verdict};

use crate::refusal::Refusal;
use crate::request_id::RequestId;
use crate::routing::{Record, Routes};

/// What a site decides about requests. All but [`Access::authenticate`] has a default.
pub trait Access: Send + Sync + 'static {
    /// An authenticated user, as the site wants to know them when their request is answered. Often
    /// simply [`Caller`].
    type User: Borrow<Caller> + Send + Sync + 'static;

    /// The user who sends a request, if they have access to the API. Without one, the answer is a 401.
    ///
    /// # Errors
    /// [`Refusal::Unavailable`] when that cannot be found out at the moment, or any other refusal.
    fn authenticate(
        &self,
        asking: Asking<'_>,
    ) -> impl Future<Output = Result<Option<Self::User>, Refusal>> + Send;

    /// Whether a request identifies its user. If it does, the user is authenticated on public routes
    /// too.
    fn is_identified(&self, asking: &Asking<'_>) -> bool {
        asking.headers().contains_key(header::AUTHORIZATION)
    }

    /// Whether the site knows who may do what. While it does not, every request is a 503.
    fn is_available(&self) -> bool {
        true
    }

    /// Whether the routes of an extension are there. Those of a disabled one are a 404.
    fn is_enabled(&self, extension: &str) -> bool {
        let _ = extension;
        true
    }

    /// Records an answered request and returns the answer. A refused request is recorded as well, and a
    /// change that has begun even if its client disconnects.
    fn answered(
        &self,
        asked: Asked<Self::User>,
        response: Response<Body>,
    ) -> impl Future<Output = Response<Body>> + Send {
        let _ = asked;
        async { response }
    }

    /// Records a change that was interrupted, which may or may not have been made.
    fn interrupted(&self, asked: &Asked<Self::User>) {
        let _ = asked;
    }
}

/// A request whose user is to be authenticated.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
    routes: &'a Routes,
    enabled: &'a (dyn Fn(&str) -> bool + Sync),
    again: bool,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(
        headers: &'a HeaderMap,
        extensions: &'a Extensions,
        routes: &'a Routes,
        enabled: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> Self {
        Self { headers, extensions, routes, enabled, again: false }
    }

    /// The same request after some time.
    pub(crate) fn repeated(self) -> Self {
        Self { again: true, ..self }
    }

    /// Whether the request was authenticated before, and has waited since, or its body is still arriving: it is not
    /// another one that counts towards a limit.
    pub fn is_repeated(&self) -> bool {
        self.again
    }

    /// The headers of the request.
    pub fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// What the application has stored with the request, for example a session.
    pub fn extensions(&self) -> &'a Extensions {
        self.extensions
    }

    /// The scheme, in lower case, and the secret of the `Authorization` header, which must occur
    /// exactly once.
    pub fn credentials(&self) -> Option<Credentials> {
        credentials(self.headers)
    }

    /// The key of the user with these credentials, from those enabled extensions that authenticate
    /// users.
    ///
    /// # Errors
    /// [`Refusal::Unavailable`] when an extension could not find out.
    pub async fn ask_extensions(self, credentials: &Credentials) -> Result<Option<i64>, Refusal> {
        for extension in self.routes.extensions() {
            if !extension.description().authenticates || !(self.enabled)(extension.name()) {
                continue;
            }
            match extension.plugin().authenticate(credentials).await {
                Ok(Verdict::Unknown) => {}
                Ok(Verdict::User(id)) => return Ok(Some(id)),
                Ok(_) => return Ok(None),
                Err(error) => {
                    let extension = extension.name();
                    tracing::error!(extension, %error, "an extension could not authenticate");
                    return Err(Refusal::Unavailable);
                }
            }
        }
        Ok(None)
    }
}

impl std::fmt::Debug for Asking<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Headers contain secrets.
        f.debug_struct("Asking").finish_non_exhaustive()
    }
}

/// A request that is being answered, without its headers and its body.
#[derive(Debug)]
#[non_exhaustive]
pub struct Asked<U> {
    /// Its id.
    pub id: RequestId,
    /// Its method.
    pub method: Method,
    /// Its address.
    pub uri: Uri,
    /// What the application has stored with it.
    pub extensions: Extensions,
    /// The name of its route; empty if there is none.
    pub route: Arc<str>,
    /// The record that the path of a change names; empty for a read.
    pub record: Record,
    /// The authenticated user.
    pub user: Option<U>,
}

/// Whether a request with this method may change something.
pub fn is_change(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE)
}

fn credentials(headers: &HeaderMap) -> Option<Credentials> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, secret) = value.to_str().ok()?.trim().split_once(' ')?;
    Some(Credentials::new(scheme.to_ascii_lowercase(), secret.trim()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn credentials_in_two_headers_are_refused() {
        let mut headers = HeaderMap::new();
        assert!(credentials(&headers).is_none());
        headers.append(header::AUTHORIZATION, HeaderValue::from_static("BEARER  abc "));
        let found = credentials(&headers);
        assert_eq!(found.as_ref().map(Credentials::scheme), Some("bearer"));
        assert_eq!(found.as_ref().map(Credentials::secret), Some("abc"));
        headers.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer abc"));
        assert!(credentials(&headers).is_none());
    }
}
