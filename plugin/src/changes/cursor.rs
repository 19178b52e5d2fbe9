//! The cursor of a client: which feed it reads, which types, and how far it has come. Clients pass it back
//! as it is. It is no secret and gives no right: permissions are checked with each request.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::model::registry::Registry;
use crate::model::resource::Resource;

/// How far a client has come in the feed, and in which one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cursor {
    /// The name of the feed.
    pub(crate) feed: String,
    /// The types.
    pub(crate) kinds: Vec<&'static str>,
    /// Whether the client has named the types. Otherwise they are those that it might view.
    pub(crate) named: bool,
    /// How far it has come.
    pub(crate) step: Position,
}

/// How far a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Position {
    /// It copies all records: it has those of the types before this one, and those up to this key.
    Walk {
        /// The type.
        kind: &'static str,
        /// The key.
        key: i64,
        /// The place at which it began to copy, after which it goes on.
        since: i64,
    },
    /// It follows changes, and has seen those up to this place.
    Follow(i64),
}

impl Cursor {
    /// The text for the client.
    pub(crate) fn text(&self) -> String {
        let named = if self.named { "named" } else { "all" };
        let kinds = self.kinds.join(",");
        let step = match self.step {
            Position::Walk { kind, key, since } => format!("{kind} {key} {since}"),
            Position::Follow(seq) => seq.to_string(),
        };
        // The end shows that nothing was cut off.
        BASE64_URL_SAFE_NO_PAD.encode(format!("{} {named} {kinds} {step} .", self.feed))
    }

    /// Reads the text; `None` if it is not one that a store has made.
    pub(crate) fn read(text: &str, registry: Registry) -> Option<Self> {
        let kind = |name: &str| {
            let resource = registry.find(name).filter(|resource| resource.is_followed());
            resource.map(|resource: &'static Resource| resource.kind)
        };
        let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let parts: Vec<&str> = text.strip_suffix(" .")?.split(' ').collect();
        let [feed, named, kinds, step @ ..] = &parts[..] else { return None };
        let step = match step {
            [seq] => Position::Follow(seq.parse().ok()?),
            [name, key, since] => Position::Walk {
                kind: kind(name)?,
                key: key.parse().ok()?,
                since: since.parse().ok()?,
            },
            _ => return None,
        };
        let named = match *named {
            "named" => true,
            "all" => false,
            _ => return None,
        };
        let kinds = kinds.split(',').map(kind).collect::<Option<Vec<_>>>()?;
        Some(Self { feed: (*feed).to_owned(), kinds, named, step })
    }

    /// The place that the client has come to, or goes on from after its copy.
    pub(crate) fn seq(&self) -> i64 {
        match self.step {
            Position::Walk { since, .. } => since,
            Position::Follow(seq) => seq,
        }
    }
}
