//! An event: what has happened to a record, and how often a webhook has tried to send that. Plain data.

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A record came to be.
    Created,
    /// A record has changed.
    Updated,
    /// A record does not exist any more.
    Deleted,
    /// The receiver has to copy everything anew.
    Resync,
    /// Somebody tries the webhook.
    Test,
}

/// What a webhook sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// The type of the record.
    pub(super) kind: &'static str,
    /// Its key.
    pub(super) record: i64,
    /// The place of its change in the feed.
    pub(super) seq: i64,
    pub(super) what: What,
    /// How often it has been sent.
    pub(super) attempts: i64,
}

/// The events that a webhook may choose, as its field has them.
pub(crate) const EVENTS: &[&str] = &["created", "updated", "deleted"];

/// In place of the type, in an event that is about the whole store.
pub(super) const SHOP: &str = "shop";
/// In place of the type, in an event that is about the webhook itself.
pub(super) const WEBHOOK: &str = "webhook";

impl What {
    const ALL: [Self; 5] = [Self::Created, Self::Updated, Self::Deleted, Self::Resync, Self::Test];

    /// Its name on the wire and in the database.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
            Self::Resync => "resync",
            Self::Test => "test",
        }
    }

    /// The one with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.name() == name)
    }
}

impl Event {
    /// That a receiver has to copy everything anew, because it goes on at this place.
    pub(super) fn resync(seq: i64) -> Self {
        Self { kind: SHOP, record: 0, seq, what: What::Resync, attempts: 0 }
    }

    /// That somebody tries the webhook with this key.
    pub(super) fn test() -> Self {
        Self { kind: WEBHOOK, record: 0, seq: 0, what: What::Test, attempts: 0 }
    }

    /// Its name, for example `orders.created`.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.kind, self.what.name())
    }

    /// The record that it is about, if it is about one.
    pub(super) fn about(&self) -> Option<(&'static str, i64)> {
        match self.what {
            What::Created | What::Updated | What::Deleted => Some((self.kind, self.record)),
            What::Resync | What::Test => None,
        }
    }
}
