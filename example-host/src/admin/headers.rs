//! The values of headers, and those of every page that protect it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// The content security policy: a page loads only the stylesheet, the script and images of this
/// site, and sends forms only to it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
     img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The value of a header, if it is text.
pub(crate) fn text_of<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The headers of every page.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        // Within the site the previous page is sent, because a refused form returns to it.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Lets browsers send the address of a page nowhere.
pub(crate) fn without_referrer(headers: &mut HeaderMap) {
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}
