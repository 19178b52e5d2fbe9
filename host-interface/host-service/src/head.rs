//! Answers to `HEAD`: those to `GET` without their bodies.

use axum::body::{Body, HttpBody};
use axum::http::{HeaderValue, Response, StatusCode, header};

/// Removes the body and keeps its length in the header.
pub fn without_body(response: &mut Response<Body>) {
    if let Some(length) = response.body().size_hint().exact()
        && response.status() != StatusCode::NO_CONTENT
        && response.status() != StatusCode::NOT_MODIFIED
    {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    *response.body_mut() = Body::empty();
}
