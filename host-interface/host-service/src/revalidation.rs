//! Conditional reads: the answer to a read has an `ETag` of its content, and a client that sends
//! the tag gets a 304 if the content is the same.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use twox_hash::XxHash3_64;

/// The tags that a client sent; empty unless the request is a read.
#[derive(Debug, Default)]
pub(crate) struct Conditional {
    reads: bool,
    tags: Vec<HeaderValue>,
}

impl Conditional {
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> Self {
        match *method {
            Method::GET | Method::HEAD => {
                let tags = headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect();
                Self { reads: true, tags }
            }
            _ => Self::default(),
        }
    }

    /// The tag of an answer with this body; `None` if it gets no tag. One that the plugin has set takes
    /// precedence.
    pub(crate) fn tag(&self, head: &Response<Body>, body: &[u8]) -> Option<HeaderValue> {
        if !self.reads || head.status() != StatusCode::OK {
            return None;
        }
        if let Some(tag) = head.headers().get(header::ETAG) {
            return Some(tag.clone());
        }
        // Different contents get the same tag only if a 64-bit hash and the length are equal.
        let hash = XxHash3_64::oneshot(body);
        // The tag is weak, because the same content may be sent compressed or not.
        HeaderValue::try_from(format!("W/\"{:x}-{hash:x}\"", body.len())).ok()
    }

    /// Adds the tag to an answer, and removes the body if the client has the content.
    pub(crate) fn apply(&self, tag: HeaderValue, response: &mut Response<Body>) {
        let headers = response.headers_mut();
        headers.entry(header::ETAG).or_insert_with(|| tag.clone());
        // Caches must revalidate the answer each time and must not share it between users.
        let private = HeaderValue::from_static("private, no-cache");
        headers.entry(header::CACHE_CONTROL).or_insert(private);
        // The client may have the content in either form, and the answer names that one.
        let compressed = compressed_tag(&tag);
        let mut forms = std::iter::once(tag).chain(compressed);
        if let Some(known) = forms.find(|tag| self.tags.iter().any(|list| names(list, tag))) {
            headers.insert(header::ETAG, known);
            headers.remove(header::CONTENT_TYPE);
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
        }
    }
}

/// The tag of the same content when it is compressed; `None` for a weak tag, which does not depend on
/// the form of the content.
pub fn compressed_tag(tag: &HeaderValue) -> Option<HeaderValue> {
    let opaque = tag.to_str().ok()?.strip_prefix('"')?.strip_suffix('"')?;
    HeaderValue::try_from(format!("\"{opaque}-gzip\"")).ok()
}

/// Whether a list of tags contains this one or is `*`. Weak and strong tags are equal here.
fn names(list: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(list), Ok(tag)) = (list.to_str(), tag.to_str()) else { return false };
    list.trim() == "*" || list.split(',').any(|other| opaque(other) == opaque(tag))
}

/// A tag without the prefix of weak tags.
fn opaque(tag: &str) -> &str {
    tag.trim().trim_start_matches("W/")
}
