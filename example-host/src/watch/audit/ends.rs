//! The chains of the audit trail as the database keeps them: which there are, and their two ends.

use crate::base::error::Error;
use crate::database::{Connection, row, select, sql};

/// One of the chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// Of the lasting entries, which `Entry` describes.
    Lasting,
    /// Of all others.
    Other,
}

/// A statement about a table of a chain, whose name is between the two parts.
macro_rules! of_chain {
    ($chain:expr, $before:literal, $after:literal) => {
        match $chain {
            Chain::Lasting => sql(concat!($before, " host_audit_lasting_", $after)),
            Chain::Other => sql(concat!($before, " host_audit_", $after)),
        }
    };
}
pub(super) use of_chain;

impl Chain {
    pub(super) const ALL: [Chain; 2] = [Chain::Lasting, Chain::Other];

    /// The name in exports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Chain::Lasting => "lasting",
            Chain::Other => "other",
        }
    }
}

/// The hash of an entry.
pub(super) type Hash = [u8; 32];

/// An entry of a chain: its key and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) id: i64,
    pub(super) hash: Hash,
}

/// The two ends of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    /// The newest entry.
    pub(super) last: Link,
    /// The last entry that was removed, because the trail is bounded: the one before the oldest.
    pub(super) anchor: Link,
    /// The last entry from before there was a chain, as long as any of them is kept.
    pub(super) unchained: i64,
}

impl Ends {
    pub(super) async fn read(connection: &mut Connection, chain: Chain) -> Result<Self, Error> {
        row! {
            struct Head {
                last_id: i64,
                last_hash: Vec<u8>,
                anchor_id: i64,
                anchor_hash: Vec<u8>,
                unchained_id: i64,
            }
        }
        let table = match chain {
            Chain::Lasting => "FROM host_audit_lasting_head",
            Chain::Other => "FROM host_audit_head",
        };
        let head: Head = connection.fetch_one(select::<Head>(table)).await?;
        Ok(Self {
            last: Link { id: head.last_id, hash: whole(&head.last_hash) },
            anchor: Link { id: head.anchor_id, hash: whole(&head.anchor_hash) },
            unchained: head.unchained_id,
        })
    }

    pub(super) async fn write(
        &self,
        connection: &mut Connection,
        chain: Chain,
    ) -> Result<(), Error> {
        let statement = of_chain!(
            chain,
            "UPDATE",
            "head SET last_id = ?, last_hash = ?, anchor_id = ?, anchor_hash = ?, unchained_id = ?"
        );
        let statement = statement.bind(self.last.id).bind(self.last.hash.as_slice());
        let statement = statement.bind(self.anchor.id).bind(self.anchor.hash.as_slice());
        connection.execute(statement.bind(self.unchained)).await?;
        Ok(())
    }
}

/// A stored hash, whose length the tables check.
pub(super) fn whole(hash: &[u8]) -> Hash {
    hash.try_into().unwrap_or_default()
}
