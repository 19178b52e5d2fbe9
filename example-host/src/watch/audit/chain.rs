//! The chain of the audit trail: each entry has a hash over the hash of the entry before it and all
//! of its own columns, so that an entry that was changed, removed or inserted afterwards is found.
//!
//! Every transaction that writes waits for the others at the row of the site's state, as
//! `database/conflict.rs` describes; so entries are appended by one host at a time, and their keys
//! are in the order of the chain. On a Galera cluster, where locks cover one node only, two
//! appends collide in the row of the head, and one of them is repeated.

use sha2::{Digest, Sha256};

use crate::base::error::Error;
use crate::database::{Connection, Engine, sql};

use super::entry::Entry;
use super::rows::{self, Stored};

/// The maximum number of old entries that are removed in each transaction: more than are added, so
/// that a lowered limit is soon reached, and few enough to be fast.
const REMOVED_AT_ONCE: i64 = 1000;

/// The hash of an entry.
pub(super) type Hash = [u8; 32];

/// An entry of the chain: its key and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) id: i64,
    pub(super) hash: Hash,
}

/// The two ends of the chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// The newest entry.
    pub(super) last: Link,
    /// The last entry that was removed, because the trail is bounded: the one before the oldest.
    pub(super) anchor: Link,
    /// The last entry from before there was a chain.
    pub(super) unchained: i64,
}

impl Ends {
    pub(super) async fn read(connection: &mut Connection) -> Result<Self, Error> {
        let statement = sql("SELECT last_id, last_hash, anchor_id, anchor_hash, unchained_id \
             FROM host_audit_head");
        let (id, hash, anchor, anchor_hash, unchained): (i64, Vec<u8>, i64, Vec<u8>, i64) =
            connection.fetch_one(statement).await?;
        let last = Link { id, hash: whole(&hash) };
        let anchor = Link { id: anchor, hash: whole(&anchor_hash) };
        Ok(Self { last, anchor, unchained })
    }

    async fn write(&self, connection: &mut Connection) -> Result<(), Error> {
        let statement = sql("UPDATE host_audit_head SET last_id = ?, last_hash = ?, \
             anchor_id = ?, anchor_hash = ?, unchained_id = ?");
        let statement = statement.bind(self.last.id).bind(self.last.hash.as_slice());
        let statement = statement.bind(self.anchor.id).bind(self.anchor.hash.as_slice());
        connection.execute(statement.bind(self.unchained)).await?;
        Ok(())
    }
}

impl Link {
    /// The next entry of the chain.
    pub(super) fn next(&self, id: i64, stored: &Stored) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.hash);
        for text in stored.texts(id) {
            // With its length before it, no text can pass for the end of one and the beginning of
            // the next.
            let length = text.as_ref().map_or(u64::MAX, |text| text.len() as u64);
            hash.update(length.to_be_bytes());
            hash.update(text.unwrap_or_default());
        }
        Self { id, hash: hash.finalize().into() }
    }
}

/// Appends entries within a transaction, and then removes the oldest ones if the trail is to keep
/// only so many.
pub(super) async fn append(
    transaction: &mut Connection,
    entries: &[Entry],
    keep: Option<i64>,
) -> Result<(), Error> {
    let mut ends = Ends::read(transaction).await?;
    for entry in entries {
        let stored = Stored::of(entry);
        let id = transaction.insert(stored.insertion()).await?;
        let next = ends.last.next(id, &stored);
        let statement = sql("INSERT INTO host_audit_chain (id, previous, hash) VALUES (?, ?, ?)");
        let statement = statement.bind(id).bind(ends.last.id).bind(next.hash.as_slice());
        transaction.execute(statement).await?;
        ends.last = next;
    }
    if let Some(keep) = keep {
        prune(transaction, &mut ends, keep).await?;
    }
    ends.write(transaction).await
}

/// The hash of an entry and the key of the entry before it, as they are stored.
pub(super) type Linked = (i64, i64, Vec<u8>);

/// The links after this key, in the order of their keys.
pub(super) async fn after(connection: &mut Connection, id: i64) -> Result<Vec<Linked>, Error> {
    let statement = sql("SELECT id, previous, hash FROM host_audit_chain WHERE id > ? \
         ORDER BY id LIMIT ?");
    Ok(connection.fetch_all(statement.bind(id).bind(rows::AT_ONCE as i64)).await?)
}

/// Copies every entry with its place in the chain to another database, so that what has been noted
/// of the chain elsewhere is true of the copy, too.
pub(crate) async fn copy(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    rows::copy(from, to).await?;
    let mut last = 0;
    loop {
        let links = after(from, last).await?;
        if links.is_empty() {
            break;
        }
        for (id, previous, hash) in links {
            last = id;
            let statement =
                sql("INSERT INTO host_audit_chain (id, previous, hash) VALUES (?, ?, ?)");
            to.execute(statement.bind(id).bind(previous).bind(hash.as_slice())).await?;
        }
    }
    let ends = Ends::read(from).await?;
    ends.write(to).await?;
    // The other engines continue after the highest key that a row has had.
    let highest = ends.last.id.max(last);
    if to.engine() == Engine::Postgres && highest > 0 {
        let statement = sql("SELECT setval('host_audit_id_seq', ?, TRUE)").bind(highest);
        let _: (i64,) = to.fetch_one(statement).await?;
    }
    Ok(())
}

/// Removes the oldest entries above the limit. They are selected by their keys, which takes the
/// same time however many entries there are.
async fn prune(transaction: &mut Connection, ends: &mut Ends, keep: i64) -> Result<(), Error> {
    let (oldest,): (Option<i64>,) =
        transaction.fetch_one(sql("SELECT min(id) FROM host_audit")).await?;
    let Some(oldest) = oldest else { return Ok(()) };
    let last = ends.last.id.saturating_sub(keep).min(oldest.saturating_add(REMOVED_AT_ONCE));
    if last < oldest {
        return Ok(());
    }
    let statement = sql("SELECT id, hash FROM host_audit_chain WHERE id <= ? \
         ORDER BY id DESC LIMIT 1");
    let removed: Option<(i64, Vec<u8>)> = transaction.fetch_optional(statement.bind(last)).await?;
    // Entries from before there was a chain have none of it.
    if let Some((id, hash)) = removed {
        ends.anchor = Link { id, hash: whole(&hash) };
    }
    for statement in
        ["DELETE FROM host_audit WHERE id <= ?", "DELETE FROM host_audit_chain WHERE id <= ?"]
    {
        transaction.execute(sql(statement).bind(last)).await?;
    }
    Ok(())
}

/// A stored hash, whose length the tables check.
pub(super) fn whole(hash: &[u8]) -> Hash {
    hash.try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::entry::{Origin, Record};
    use super::*;

    fn entry(method: &str, route: &str) -> Entry {
        Entry::new(Origin::Api, method, route, Record::default())
    }

    #[test]
    fn every_column_and_the_entry_before_are_in_the_hash() {
        let before = Link { id: 1, hash: [7; 32] };
        let plain = entry("POST", "x");
        let hash = |before: &Link, id, entry: &Entry| before.next(id, &Stored::of(entry)).hash;
        let of_plain = hash(&before, 2, &plain);
        assert_eq!(of_plain, hash(&before, 2, &plain.clone()));
        let record = Record { kind: "k".to_owned(), id: String::new() };
        let others = [
            Entry { user: 1, ..plain.clone() },
            Entry { username: "a".to_owned(), ..plain.clone() },
            Entry { means: "a".to_owned(), ..plain.clone() },
            Entry { origin: Origin::CommandLine, ..plain.clone() },
            // The same letters in other columns.
            entry("POS", "Tx"),
            entry("POSTx", ""),
            Entry { what: "a".to_owned(), ..plain.clone() },
            Entry { record: record.clone(), ..plain.clone() },
            Entry { record: Record { kind: record.id, id: record.kind }, ..plain.clone() },
            Entry { status: 1, ..plain.clone() },
            Entry { request: "a".to_owned(), ..plain.clone() },
            Entry { request_of_client: Some(String::new()), ..plain.clone() },
            Entry { at: plain.at + time::Duration::SECOND, ..plain.clone() },
        ];
        let mut hashes: Vec<Hash> = others.iter().map(|other| hash(&before, 2, other)).collect();
        hashes.push(of_plain);
        hashes.push(hash(&before, 3, &plain));
        hashes.push(hash(&Link { id: 1, hash: [8; 32] }, 2, &plain));
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
    }
}
