//! `Idempotency-Key`: the key that a client gives to a write, and the fingerprint of the write.
//! Independent of how the answers to such writes are kept.

use std::collections::BTreeMap;

use host_interface::{Method, Request};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::error::{Fault, FaultKind};

/// The greatest length of a key.
const MAX_KEY: usize = 255;
/// How many levels of a body are compared by their meaning; what is nested deeper counts as text.
/// Each level is parsed again on its own, so this limits the work.
const LEVELS: usize = 64;

/// The key of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key, without quotes around it.
    pub text: String,
    /// A digest of the write, in hexadecimal: requests with the same meaning have the same.
    pub fingerprint: String,
}

impl Key {
    /// Reads the key of a write; `None` for a read, and for a write without a key.
    ///
    /// # Errors
    /// When the header is sent twice, or contains no key.
    pub fn of(request: &Request) -> Result<Option<Key>, Fault> {
        let Some(sent) = request.header("idempotency-key") else { return Ok(None) };
        if request.method() == Method::Get {
            return Ok(None);
        }
        let unquoted = sent.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        let key = unquoted.unwrap_or(sent);
        let fits = (1..=MAX_KEY).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
        match std::str::from_utf8(key) {
            Ok(key) if fits && request.header_at("idempotency-key", 1).is_none() => {
                Ok(Some(Key { text: key.to_owned(), fingerprint: fingerprint(request) }))
            }
            _ => {
                let detail = format!(
                    "Send Idempotency-Key at most once, with 1 to {MAX_KEY} visible ASCII characters."
                );
                Err(Fault::at_header(FaultKind::InvalidHeader, "Idempotency-Key", detail))
            }
        }
    }
}

/// The SHA-256 of method, path, query and body. Neither the order of members nor white space nor the
/// way in which characters are escaped changes it; numbers count as they are written.
fn fingerprint(request: &Request) -> String {
    let mut digest = Sha256::new();
    for part in [request.method().as_str(), request.path(), request.query()] {
        digest.update(part);
        // None of the three contains one.
        digest.update("\n");
    }
    match serde_json::from_slice::<&RawValue>(request.body()) {
        Ok(body) => add(body.get(), LEVELS, &mut digest),
        // Only a DELETE that has such a body succeeds, and ignores it.
        Err(_) => digest.update(request.body()),
    }
    hex::encode(digest.finalize())
}

/// Adds the canonical text of a literal.
fn add(literal: &str, levels: usize, digest: &mut Sha256) {
    let below = levels.saturating_sub(1);
    match literal.as_bytes().first() {
        Some(b'{') if levels > 0 => {
            // Names that occur twice are refused wherever a body may have members.
            let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(literal) else {
                return digest.update(literal);
            };
            digest.update("{");
            for (position, (name, value)) in members.iter().enumerate() {
                digest.update(if position > 0 { ",\"" } else { "\"" });
                digest.update(name.replace('\\', "\\\\").replace('"', "\\\""));
                digest.update("\":");
                add(value.get(), below, digest);
            }
            digest.update("}");
        }
        Some(b'[') if levels > 0 => {
            let Ok(values) = serde_json::from_str::<Vec<&RawValue>>(literal) else {
                return digest.update(literal);
            };
            digest.update("[");
            for (position, value) in values.iter().enumerate() {
                digest.update(if position > 0 { "," } else { "" });
                add(value.get(), below, digest);
            }
            digest.update("]");
        }
        Some(b'"') if literal.contains('\\') => {
            let text = serde_json::from_str::<String>(literal).ok();
            let text = text.and_then(|text| serde_json::to_string(&text).ok());
            digest.update(text.as_deref().unwrap_or(literal));
        }
        _ => digest.update(literal),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use host_interface::Headers;

    use super::*;

    /// The values of the only header of a request.
    struct Keys(Vec<&'static str>);

    impl Headers for Keys {
        fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
            (name == "idempotency-key").then(|| self.0.get(nth)).flatten().map(|key| key.as_bytes())
        }

        fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
            self.0.get(nth).map(|key| ("idempotency-key", key.as_bytes()))
        }
    }

    fn request(method: Method, path: &str, keys: &[&'static str], body: &str) -> Request {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let request = Request::builder(0, method).path(path).query(query);
        request.headers(Keys(keys.to_vec())).body(body.as_bytes().to_vec()).build()
    }

    #[test]
    fn a_key_has_1_to_255_visible_ascii_characters() {
        let key = |keys: &[&'static str]| {
            Key::of(&request(Method::Post, "/", keys, "{}")).map(|key| key.map(|key| key.text))
        };
        assert_eq!(key(&[]), Ok(None));
        assert_eq!(key(&["k"]), Ok(Some("k".to_owned())));
        assert_eq!(key(&["\"k\""]), key(&["k"]));
        assert_eq!(key(&["\""]), Ok(Some("\"".to_owned())));
        let longest: &'static str = String::leak("k".repeat(255));
        assert_eq!(key(&[longest]), Ok(Some(longest.to_owned())));
        for refused in ["", "\"\"", "a b", "\u{e9}", "a\tb", String::leak("k".repeat(256))] {
            assert!(key(&[refused]).is_err(), "{refused:?}");
        }
        assert!(key(&["k", "k"]).is_err());
        assert_eq!(Key::of(&request(Method::Get, "/", &["a b"], "")), Ok(None));
    }

    #[test]
    fn requests_with_the_same_meaning_have_the_same_fingerprint() {
        let of = |method, path: &str, body: &str| {
            Key::of(&request(method, path, &["k"], body)).unwrap().unwrap().fingerprint
        };
        let post = |body: &str| of(Method::Post, "/orders?a=1", body);
        let same = post(r#"{"a": [1.50, {"x": "é\"", "y": null}], "b": true}"#);
        assert_eq!(post(r#" {"b":true,"a":[1.50,{"y":null,"\u0078":"\u00e9\u0022"}]} "#), same);
        for other in [
            r#"{"a": [1.5, {"x": "é\"", "y": null}], "b": true}"#,
            r#"{"a": ["1.50", {"x": "é\"", "y": null}], "b": true}"#,
            r#"{"a": [{"x": "é\"", "y": null}, 1.50], "b": true}"#,
            r#"{"a": [1.50, {"x": "é", "y": null}], "b": true}"#,
            r#"{"a": [1.50, {"x": "é\"", "y": null}], "b": true, "c": ""}"#,
            r#"{"a": [1.50, {"x": "é\",\"y\":null", "z": null}], "b": true}"#,
            "",
        ] {
            assert_ne!(post(other), same, "{other}");
        }
        assert_ne!(post(r#"{"a":[1,23]}"#), post(r#"{"a":[12,3]}"#));
        assert_ne!(post(r#"{"a":[1,2]}"#), post(r#"{"a":[12]}"#));
        let body = r#"{"a": 1}"#;
        let all = [
            of(Method::Post, "/orders/1", body),
            of(Method::Patch, "/orders/1", body),
            of(Method::Patch, "/orders/1?a=1", body),
            of(Method::Patch, "/orders/2", body),
            of(Method::Delete, "/orders/1", ""),
            of(Method::Delete, "/orders/1", "no JSON"),
        ];
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
    }

    /// A body of a megabyte that is nested as deeply as possible neither overflows the stack nor
    /// keeps a processor busy for long.
    #[test]
    fn a_deeply_nested_body_has_a_fingerprint() {
        let deep = |inner: &str| {
            let half = 500_000;
            let body = format!("{}{inner}{}", "[".repeat(half), "]".repeat(half));
            Key::of(&request(Method::Post, "/", &["k"], &body)).unwrap().unwrap().fingerprint
        };
        assert_eq!(deep("1"), deep("1"));
        assert_ne!(deep("1"), deep("2"));
    }
}
