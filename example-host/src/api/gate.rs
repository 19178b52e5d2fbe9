//! The checks before a plugin is called: route, `Accept` header and user. Their order is in
//! `answer.rs`.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, Method as HttpMethod, header};
use host_interface::{Credentials, Verdict};
use mediatype::{MediaType, MediaTypeList, ReadParams};

use crate::base::error::Error;
use crate::base::secret;
use crate::base::secret::SecretHash;
use crate::extensions::routing::{self, Matched, Route, Routes};
use crate::identity::acl::{CORE_LOGIN_API, ROOT};
use crate::identity::tokens::{self, Usage};
use crate::site::Site;
use crate::site::snapshot::Identity;
use crate::watch::audit::Means;

use super::problem::Refusal;

/// The data for these checks: the site's state in memory and the routes; it also records the use of
/// tokens.
pub(crate) struct Gate {
    pub(crate) site: Site,
    pub(crate) routes: Routes,
    pub(crate) usage: Arc<Usage>,
}

/// The authenticated user, and the credentials.
pub(crate) struct Admitted {
    pub(crate) identity: Arc<Identity>,
    pub(crate) means: Means,
}

/// Whether the client accepts this media type by name. Ranges with a wildcard do not count, nor
/// those with a parameter that makes it another type.
pub(crate) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    // Nearly every client sends exactly the name, which needs no parser.
    let exact = |value: &HeaderValue| value.as_bytes() == media_type.as_bytes();
    let wanted = MediaType::parse(media_type).ok();
    headers.get_all(header::ACCEPT).iter().any(|value| {
        exact(value)
            || value.to_str().is_ok_and(|text| {
                MediaTypeList::new(text)
                    .flatten()
                    .any(|range| wanted.as_ref().is_some_and(|wanted| is_exactly(&range, wanted)))
            })
    })
}

impl Gate {
    /// The enabled route for this path and method.
    pub(crate) fn route<'routes, 'path>(
        &'routes self,
        path: &'path str,
        method: &HttpMethod,
    ) -> Result<(Route, Matched<'routes, 'path>), Refusal> {
        let matched = self.routes.at(path).ok_or(Refusal::NotFound)?;
        let state = self.site.state();
        if !state.is_trusted() {
            return Err(Refusal::Unavailable);
        }
        let snapshot = state.snapshot();
        let routes = matched.enabled(|extension| snapshot.enabled(extension));
        if routes.is_empty() {
            return Err(Refusal::NotFound);
        }
        let wanted = routing::method(method);
        let found = routes.iter().find(|route| Some(route.method) == wanted);
        match found.map(|route| (*route).clone()) {
            Some(route) => Ok((route, matched)),
            None => Err(Refusal::MethodNotAllowed { allow: routing::allow(&routes) }),
        }
    }

    /// The user who sends the request.
    pub(crate) async fn authenticate(&self, headers: &HeaderMap) -> Result<Admitted, Refusal> {
        if !self.site.state().snapshot().token_auth() {
            return Err(Refusal::Unauthorised);
        }
        let credentials = credentials(headers).ok_or(Refusal::Unauthorised)?;
        let state = self.site.state();
        if let Some(admitted) = self.admitted(&credentials).await? {
            return Ok(admitted);
        }
        // Another process may have given the user access a moment ago.
        match state.catch_up().await {
            Ok(true) => self.admitted(&credentials).await?.ok_or(Refusal::Unauthorised),
            Ok(false) => Err(Refusal::Unauthorised),
            Err(error) => {
                tracing::error!(%error, "changes to the site cannot be read");
                Err(Refusal::Unavailable)
            }
        }
    }

    /// The user with this key, who has signed in to the administration and needs no token. The
    /// permission to use the API is required all the same.
    pub(crate) async fn signed_in(
        &self,
        user: i64,
        session: SecretHash,
    ) -> Result<Admitted, Refusal> {
        let found = self.by_id(user).await?;
        let found = found.filter(|found| self.has_access(found)).ok_or(Refusal::Unauthorised)?;
        Ok(Admitted { identity: found, means: Means::Session(session) })
    }

    /// The user with these credentials, if the user has access.
    async fn admitted(&self, credentials: &Credentials) -> Result<Option<Admitted>, Refusal> {
        let found = self.identify(credentials).await?;
        let admitted = found.filter(|found| self.has_access(&found.identity));
        if let Some(Admitted { means: Means::Token(token), .. }) = &admitted {
            self.usage.note(*token);
        }
        Ok(admitted)
    }

    fn has_access(&self, identity: &Identity) -> bool {
        self.site.state().snapshot().access.allows(identity.user.id, CORE_LOGIN_API, ROOT)
    }

    async fn by_id(&self, user: i64) -> Result<Option<Arc<Identity>>, Refusal> {
        let state = self.site.state();
        let user = tokens::by_id(state.database(), user).await.map_err(failed)?;
        Ok(user.map(|user| state.identity(user)))
    }

    async fn identify(&self, credentials: &Credentials) -> Result<Option<Admitted>, Refusal> {
        let state = self.site.state();
        if credentials.scheme() == "bearer" {
            let hash = secret::hash(credentials.secret());
            let found = state.identify(&hash).await.map_err(failed)?;
            return Ok(found.map(|identity| Admitted { identity, means: Means::Token(hash) }));
        }
        for extension in self.routes.extensions() {
            if !extension.authenticates || !state.snapshot().enabled(&extension.name) {
                continue;
            }
            match extension.plugin.authenticate(credentials).await {
                Ok(Verdict::Unknown) => {}
                Ok(Verdict::Refused) => return Ok(None),
                Ok(Verdict::User(id)) => {
                    let means = Means::Scheme(credentials.scheme().to_owned());
                    let found = self.by_id(id).await?;
                    return Ok(found.map(|identity| Admitted { identity, means }));
                }
                Ok(_) => return Ok(None),
                Err(error) => {
                    let extension = &extension.name;
                    tracing::error!(extension, %error, "an extension could not authenticate");
                    return Err(Refusal::Unavailable);
                }
            }
        }
        Ok(None)
    }
}

fn failed(error: Error) -> Refusal {
    tracing::error!(%error, "a user could not be looked up");
    Refusal::Unavailable
}

/// The scheme and the secret of the `Authorization` header, which must occur exactly once.
fn credentials(headers: &HeaderMap) -> Option<Credentials> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, secret) = value.to_str().ok()?.trim().split_once(' ')?;
    Some(Credentials::new(scheme.to_ascii_lowercase(), secret.trim()))
}

fn is_exactly(range: &MediaType<'_>, wanted: &MediaType<'_>) -> bool {
    let same =
        range.ty == wanted.ty && range.subty == wanted.subty && range.suffix == wanted.suffix;
    same && range.params().all(|(name, value)| match name.as_str() {
        name if name.eq_ignore_ascii_case("q") => is_positive_weight(value.as_str()),
        name => name.eq_ignore_ascii_case("ext") || name.eq_ignore_ascii_case("profile"),
    })
}

/// Whether a weight is well-formed and greater than zero: `0.001` to `1.000`.
fn is_positive_weight(weight: &str) -> bool {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let zeros = fraction.bytes().all(|byte| byte == b'0');
    let digits = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    digits && ((whole == "1" && zeros) || (whole == "0" && !zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: &str = "application/vnd.api+json";

    fn accepted(lines: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::ACCEPT, HeaderValue::from_static(line));
        }
        accepts(&headers, WANTED)
    }

    #[test]
    fn the_media_type_is_accepted_only_by_name() {
        assert!(accepted(&["application/vnd.api+json"]));
        assert!(accepted(&["text/html, Application/Vnd.Api+Json ; q=0.1"]));
        assert!(accepted(&["text/html", "application/vnd.api+json"]));
        assert!(accepted(&["application/vnd.api+json;profile=\"a,b\";ext=\"c\""]));
        assert!(accepted(&["application/vnd.api+json;charset=utf-8, application/vnd.api+json"]));
        assert!(accepted(&["not a range, application/vnd.api+json"]));
    }

    #[test]
    fn wildcards_other_types_and_other_parameters_are_not_accepted() {
        assert!(!accepted(&[]));
        assert!(!accepted(&[""]));
        assert!(!accepted(&["*/*"]));
        assert!(!accepted(&["application/*"]));
        assert!(!accepted(&["application/json"]));
        assert!(!accepted(&["application/vnd.api"]));
        assert!(!accepted(&["application/vnd.api+json;charset=utf-8"]));
        assert!(!accepted(&["application/vnd.api+json;q=0"]));
        assert!(!accepted(&["application/vnd.api+json;q=0.000"]));
        assert!(!accepted(&["application/vnd.api+json;q=2"]));
        assert!(!accepted(&["application/vnd.api+json;q=x"]));
    }

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
