//! The fields of a form or a query, and the checks that a form comes from a page of this site.

use axum::http::{HeaderMap, HeaderName, Uri, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::headers::text_of;
use super::paths::{href, inside};

/// The hidden field of each form with a token of its session.
pub(crate) const CSRF_TOKEN: &str = "csrf_token";

/// The header in which browsers state the origin of a request, on secure connections.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Names and values, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    pub(crate) fn of_body(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    pub(crate) fn of_query(query: &str) -> Self {
        Self::of_body(query.as_bytes())
    }

    pub(crate) fn of_fields(fields: Vec<(String, String)>) -> Self {
        Self(fields)
    }

    /// The value of a field; empty if it is missing.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// The value of a field, unless it is empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        Some(self.get(name)).filter(|value| !value.is_empty())
    }

    /// Every value of a field.
    pub(crate) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let named =
            move |(called, value): &'a (String, String)| (called == name).then_some(value.as_str());
        self.0.iter().filter_map(named)
    }

    /// Every field with its value.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether it contains a NUL character, which databases refuse.
    pub(crate) fn has_nul(&self) -> bool {
        self.fields().any(|(name, value)| name.contains('\0') || value.contains('\0'))
    }

    /// The values of a field, as keys.
    pub(crate) fn keys(&self, name: &str) -> Vec<i64> {
        self.all(name).filter_map(|value| value.parse().ok()).collect()
    }
}

/// The token that each form of a session must contain. It can only be read from a page of the
/// session, and the session's secret cannot be computed from it.
pub(crate) fn csrf_token(secret: &str) -> String {
    let digest = Sha256::new().chain_update(b"form ").chain_update(secret.as_bytes()).finalize();
    hex::encode(digest)
}

/// Whether a form contains the token of this session.
pub(crate) fn is_of_session(form: &Form, secret: &str) -> bool {
    form.get(CSRF_TOKEN).as_bytes().ct_eq(csrf_token(secret).as_bytes()).into()
}

/// A hash that shows whether data has changed since a form was opened.
pub(crate) fn fingerprint(parts: impl IntoIterator<Item = String>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
        digest.update("\n");
    }
    hex::encode(&digest.finalize()[..8])
}

/// Whether a browser sent this request from a page of this site. Every browser sends one of two
/// headers, which pages cannot set; a request with neither is refused.
pub(crate) fn is_from_here(headers: &HeaderMap) -> bool {
    if let Some(site) = text_of(headers, &SITE) {
        return site == "same-origin";
    }
    let origin = text_of(headers, &header::ORIGIN).and_then(|origin| origin.parse::<Uri>().ok());
    let origin = origin.as_ref().and_then(Uri::authority);
    match (origin, text_of(headers, &header::HOST)) {
        (Some(origin), Some(host)) => origin.as_str().eq_ignore_ascii_case(host),
        _ => false,
    }
}

/// The page that a form was sent from.
pub(crate) fn page_before(headers: &HeaderMap) -> String {
    let before = text_of(headers, &header::REFERER).and_then(|before| before.parse::<Uri>().ok());
    let before = before.as_ref().and_then(Uri::path_and_query).map(|path| path.as_str());
    before.and_then(inside).unwrap_or_else(|| href("/"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(sent: &[(&'static str, &'static str)]) -> HeaderMap {
        sent.iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn only_forms_of_the_same_origin_are_accepted() {
        for (sent, accepted) in [
            (&[("sec-fetch-site", "same-origin")][..], true),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("origin", "http://shop.example"), ("host", "shop.example")], true),
            (&[("origin", "http://shop.example:81"), ("host", "shop.example:81")], true),
            (&[("origin", "http://shop.example:81"), ("host", "shop.example")], false),
            (&[("origin", "http://evil.example"), ("host", "shop.example")], false),
            (&[("origin", "null"), ("host", "shop.example")], false),
            (&[("host", "shop.example")], false),
            (
                &[
                    ("sec-fetch-site", "cross-site"),
                    ("origin", "http://shop.example"),
                    ("host", "shop.example"),
                ],
                false,
            ),
        ] {
            assert_eq!(is_from_here(&headers(sent)), accepted, "{sent:?}");
        }
    }

    #[test]
    fn redirects_never_lead_to_another_site() {
        assert_eq!(
            inside("/administrator/users?page=2"),
            Some("/administrator/users?page=2".into())
        );
        for outside in [
            "https://evil.example/administrator/",
            "//evil.example/administrator/",
            "/administratorx",
            "/administrator",
            "/administrator/\\evil",
            "/administrator/\r\nset-cookie: a=b",
            "/other",
            "",
        ] {
            assert_eq!(inside(outside), None, "{outside:?}");
        }
    }

    #[test]
    fn the_token_of_another_session_is_refused() {
        let form = Form(vec![(CSRF_TOKEN.to_owned(), csrf_token("one"))]);
        assert!(is_of_session(&form, "one"));
        assert!(!is_of_session(&form, "other"));
        assert!(!is_of_session(&Form::default(), "one"));
    }
}
