//! The values of headers.

use axum::http::{HeaderMap, header};

/// The value of a header, if it is text.
pub(crate) fn text_of<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
