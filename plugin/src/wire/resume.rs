//! Where a client goes on in a list of changed records: the cursor that `links.next` carries. Clients pass it
//! back as it is. Independent of what is read there.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// The last record that a client has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// In the order of changes: the place of its latest change, which is a moment that no other change has.
    Change(i64),
    /// In the order of keys.
    Key {
        /// Its key.
        key: i64,
        /// The place up to which changes were known when the list began.
        seen: i64,
    },
}

impl Resume {
    /// The text for the client, in a list of records of this kind.
    pub fn text(self, kind: &str) -> String {
        let after = match self {
            Resume::Change(place) => format!("change {place}"),
            Resume::Key { key, seen } => format!("key {key} {seen}"),
        };
        // The end shows that nothing was cut off.
        BASE64_URL_SAFE_NO_PAD.encode(format!("{kind} {after} ."))
    }

    /// Reads the text; `None` if no store has made it for a list of records of this kind.
    pub fn read(text: &str, kind: &str) -> Option<Self> {
        let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let parts: Vec<&str> = text.split(' ').collect();
        let [of, after @ .., "."] = &parts[..] else { return None };
        if *of != kind {
            return None;
        }
        Some(match after {
            ["change", place] => Resume::Change(place.parse().ok()?),
            ["key", key, seen] => Resume::Key { key: key.parse().ok()?, seen: seen.parse().ok()? },
            _ => return None,
        })
    }
}
