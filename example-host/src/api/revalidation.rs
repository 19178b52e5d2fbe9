//! Conditional reads: an answer to a read has a tag of its content, and a client that names the tag gets
//! a 304 instead of what it has already. Knows nothing of what a body contains.

use std::hash::{DefaultHasher, Hasher};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

/// What a client has of that for which it asks: nothing, unless it reads.
#[derive(Debug, Default)]
pub(crate) struct Known {
    reads: bool,
    tags: Vec<HeaderValue>,
}

impl Known {
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> Self {
        match *method {
            Method::GET | Method::HEAD => {
                let tags = headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect();
                Self { reads: true, tags }
            }
            _ => Self::default(),
        }
    }

    /// The tag of an answer with this body, where it is to have one.
    pub(crate) fn tag(&self, status: u16, body: &[u8]) -> Option<HeaderValue> {
        if !self.reads || status != StatusCode::OK.as_u16() {
            return None;
        }
        // Two contents of one resource with one tag would have to agree in 64 bits and in length.
        let mut hasher = DefaultHasher::new();
        hasher.write(body);
        // Weak, because the same content may be compressed on its way or not.
        HeaderValue::try_from(format!("W/\"{:x}-{:x}\"", body.len(), hasher.finish())).ok()
    }

    /// Tags an answer, and takes its content away if the client has it. The plugin's own tag goes
    /// before.
    pub(crate) fn settle(&self, tag: HeaderValue, response: &mut Response<Body>) {
        let headers = response.headers_mut();
        let tag = headers.entry(header::ETAG).or_insert(tag).clone();
        // Whoever keeps it asks each time whether it is still the same, and keeps it for one user.
        let private = HeaderValue::from_static("private, no-cache");
        headers.entry(header::CACHE_CONTROL).or_insert(private);
        if self.tags.iter().any(|known| names(known, &tag)) {
            headers.remove(header::CONTENT_TYPE);
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
        }
    }
}

/// Whether a list of tags has this one, or is any. Weak tags are as good as strong ones here.
fn names(list: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(list), Ok(tag)) = (list.to_str(), tag.to_str()) else { return false };
    list.trim() == "*" || list.split(',').any(|known| opaque(known) == opaque(tag))
}

/// A tag without the word that it is weak.
fn opaque(tag: &str) -> &str {
    tag.trim().trim_start_matches("W/")
}
