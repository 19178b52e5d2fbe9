//! The chains of the audit trail: each entry has a hash over the hash of the entry before it in its
//! chain and all of its own columns, so that an entry that was changed, removed or inserted afterwards
//! is found. Lasting entries have a chain of their own, because they are removed at another time than
//! the others: so each chain loses entries at its oldest end only, where its anchor takes their place.
//!
//! Every transaction that writes waits for the others at the row of the site's state, as
//! `database/conflict.rs` describes; so entries are appended by one host at a time, and their keys
//! are in the order of the chain. On a Galera cluster, where locks cover one node only, two
//! appends collide in the row of the head, and one of them is repeated.

use sha2::{Digest, Sha256};

use crate::base::error::Error;
use crate::database::{Connection, Engine, Statement, sql};

use super::bounds::Bounds;
use super::ends::{Chain, Ends, Link, of_chain};
use super::entry::Entry;
use super::rows::{self, Stored};

impl Chain {
    fn of(entry: &Entry) -> Self {
        if entry.lasting { Chain::Lasting } else { Chain::Other }
    }

    fn insertion(self, id: i64, previous: i64, hash: &[u8]) -> Statement {
        let statement =
            of_chain!(self, "INSERT INTO", "chain (id, previous, hash) VALUES (?, ?, ?)");
        statement.bind(id).bind(previous).bind(hash)
    }
}

impl Link {
    /// The next entry of the chain.
    pub(super) fn next(&self, stored: &Stored) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.hash);
        for text in stored.texts() {
            // With its length before it, no text can pass for the end of one and the beginning of
            // the next.
            let length = text.as_ref().map_or(u64::MAX, |text| text.len() as u64);
            hash.update(length.to_be_bytes());
            hash.update(text.unwrap_or_default());
        }
        Self { id: stored.id, hash: hash.finalize().into() }
    }
}

/// Appends entries within a transaction, each to its chain, and then removes what the bounds do not
/// keep, if there are any.
pub(super) async fn append(
    transaction: &mut Connection,
    entries: &[Entry],
    bounds: Option<Bounds>,
) -> Result<(), Error> {
    for chain in Chain::ALL {
        let new = entries.iter().filter(|entry| Chain::of(entry) == chain);
        let new: Vec<Stored> = new.map(Stored::of).collect();
        if new.is_empty() && bounds.is_none() {
            continue;
        }
        let before = Ends::read(transaction, chain).await?;
        let mut ends = before;
        for mut stored in new {
            stored.id = transaction.insert(stored.insertion()).await?;
            let next = ends.last.next(&stored);
            transaction.execute(chain.insertion(next.id, ends.last.id, &next.hash)).await?;
            ends.last = next;
        }
        if let Some(bounds) = bounds {
            bounds.apply(transaction, chain, &mut ends).await?;
        }
        if ends != before {
            ends.write(transaction, chain).await?;
        }
    }
    Ok(())
}

/// The hash of an entry and the key of the entry before it, as they are stored.
pub(super) type Linked = (i64, i64, Vec<u8>);

/// The links of a chain after this key, in the order of their keys.
pub(super) async fn after(
    connection: &mut Connection,
    chain: Chain,
    id: i64,
) -> Result<Vec<Linked>, Error> {
    let statement = of_chain!(
        chain,
        "SELECT id, previous, hash FROM",
        "chain WHERE id > ? ORDER BY id LIMIT ?"
    );
    Ok(connection.fetch_all(statement.bind(id).bind(rows::AT_ONCE as i64)).await?)
}

/// Copies every entry with its place in its chain to another database, so that what has been noted
/// of the chains elsewhere is true of the copy, too.
pub(crate) async fn copy(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    rows::copy(from, to).await?;
    let mut highest = 0;
    for chain in Chain::ALL {
        let mut last = 0;
        loop {
            let links = after(from, chain, last).await?;
            if links.is_empty() {
                break;
            }
            for (id, previous, hash) in links {
                last = id;
                to.execute(chain.insertion(id, previous, &hash)).await?;
            }
        }
        let ends = Ends::read(from, chain).await?;
        ends.write(to, chain).await?;
        highest = highest.max(ends.last.id).max(last);
    }
    // The other engines continue after the highest key that a row has had.
    if to.engine() == Engine::Postgres && highest > 0 {
        let statement = sql("SELECT setval('host_audit_id_seq', ?, TRUE)").bind(highest);
        let _: (i64,) = to.fetch_one(statement).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::ends::Hash;
    use super::super::entry::{Origin, Record};
    use super::*;

    fn entry(method: &str, route: &str) -> Entry {
        Entry::new(Origin::Api, method, route, Record::default())
    }

    #[test]
    fn every_column_and_the_entry_before_are_in_the_hash() {
        let before = Link { id: 1, hash: [7; 32] };
        let plain = entry("POST", "x");
        let hash = |before: &Link, id, entry: &Entry| {
            let mut stored = Stored::of(entry);
            stored.id = id;
            before.next(&stored).hash
        };
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
