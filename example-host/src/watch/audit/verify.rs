//! Verifying the chain of the audit trail, a page at a time, in one snapshot of the database: hosts
//! may write meanwhile, and the memory does not depend on the number of entries.

use std::collections::BTreeMap;
use std::fmt;

use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::moment;
use crate::database::{Connection, Database, sql};

use super::chain::{self, Ends, Link, Linked, whole};
use super::rows::{self, AT_ONCE, Line};

/// A chain without a fault.
#[derive(Debug)]
pub(crate) struct Verified {
    entries: u64,
    /// The times of the oldest and the newest entry.
    between: Option<(PrimitiveDateTime, PrimitiveDateTime)>,
    /// How many entries are from before there was a chain.
    unchained: i64,
    last: Link,
}

/// The first entry with a fault.
#[derive(Debug)]
pub(crate) struct Broken {
    id: i64,
    fault: Fault,
}

#[derive(Debug)]
enum Fault {
    /// An entry of this time does not have the columns that it was written with.
    Changed(PrimitiveDateTime),
    /// An entry of this time is not in the chain.
    Inserted(PrimitiveDateTime),
    /// The entry was removed; the time is that of the entry before it, if there is one.
    Missing(Option<PrimitiveDateTime>),
}

/// Compares every entry with the chain.
pub(crate) async fn verify(database: &Database) -> Result<Result<Verified, Broken>, Error> {
    let mut snapshot = database.begin_read().await?;
    let verified = walk(&mut snapshot).await;
    snapshot.finish(verified).await
}

async fn walk(snapshot: &mut Connection) -> Result<Result<Verified, Broken>, Error> {
    let ends = Ends::read(snapshot).await?;
    let statement = sql("SELECT count(*) FROM host_audit WHERE id <= ?").bind(ends.unchained);
    let (unchained,): (i64,) = snapshot.fetch_one(statement).await?;
    let mut walk = Walk { at: ends.anchor, entries: 0, between: None };
    let mut done = ends.unchained;
    while done < i64::MAX {
        let (lines, links) =
            (rows::after(snapshot, done).await?, chain::after(snapshot, done).await?);
        // Beyond a page that is full, nothing is known of its table yet.
        let of_lines = lines.get(AT_ONCE - 1).map_or(i64::MAX, |line| line.place.id);
        let of_links = links.get(AT_ONCE - 1).map_or(i64::MAX, |(id, ..)| *id);
        done = of_lines.min(of_links);
        let mut both: BTreeMap<i64, (Option<Line>, Option<Linked>)> = BTreeMap::new();
        for line in lines {
            let entry = both.entry(line.place.id).or_default();
            entry.0 = Some(line);
        }
        for link in links {
            let entry = both.entry(link.0).or_default();
            entry.1 = Some(link);
        }
        for (id, (line, link)) in both.range(..=done) {
            if let Err(broken) = walk.step(*id, line.as_ref(), link.as_ref()) {
                return Ok(Err(broken));
            }
        }
    }
    let Walk { at, entries, between } = walk;
    Ok(match between.map(|(_, last)| last) {
        _ if at == ends.last => Ok(Verified { entries, between, unchained, last: at }),
        last if at.id < ends.last.id => {
            Err(Broken { id: ends.last.id, fault: Fault::Missing(last) })
        }
        Some(last) if at.id > ends.last.id => {
            Err(Broken { id: at.id, fault: Fault::Inserted(last) })
        }
        Some(last) => Err(Broken { id: at.id, fault: Fault::Changed(last) }),
        None => Err(Broken { id: at.id, fault: Fault::Missing(None) }),
    })
}

/// The entries that have been compared so far.
struct Walk {
    /// The last of them.
    at: Link,
    entries: u64,
    between: Option<(PrimitiveDateTime, PrimitiveDateTime)>,
}

impl Walk {
    /// Compares the next entry, or what is left of it, with the chain.
    fn step(&mut self, id: i64, line: Option<&Line>, link: Option<&Linked>) -> Result<(), Broken> {
        let before = self.between.map(|(_, last)| last);
        let missing = |id| Err(Broken { id, fault: Fault::Missing(before) });
        let Some(Line { place, stored, .. }) = line else { return missing(id) };
        let broken = |fault| Err(Broken { id, fault });
        let (previous, hash) = match link {
            Some((_, previous, hash)) if id > self.at.id => (*previous, whole(hash)),
            _ => return broken(Fault::Inserted(place.at)),
        };
        if previous > self.at.id {
            return missing(previous);
        }
        if previous < self.at.id
            && let Some(before) = before
        {
            return Err(Broken { id: self.at.id, fault: Fault::Inserted(before) });
        }
        let next = self.at.next(id, stored);
        if next.hash != hash {
            return broken(Fault::Changed(place.at));
        }
        self.at = next;
        self.entries += 1;
        self.between = Some((self.between.map_or(place.at, |(first, _)| first), place.at));
        Ok(())
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries verified", self.entries)?;
        if let Some((first, last)) = self.between {
            write!(f, ", from {} to {}", moment::show(first), moment::show(last))?;
        }
        if self.unchained > 0 {
            write!(f, "; {} earlier ones are from before there was a chain", self.unchained)?;
        }
        write!(f, "; the last is {} with the hash {}", self.last.id, hex::encode(self.last.hash))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the audit trail is broken: entry {} ", self.id)?;
        match self.fault {
            Fault::Changed(at) => write!(f, "of {} was changed", moment::show(at)),
            Fault::Inserted(at) => write!(f, "of {} was inserted", moment::show(at)),
            Fault::Missing(Some(before)) => {
                write!(f, "is missing, after that of {}", moment::show(before))
            }
            Fault::Missing(None) => write!(f, "is missing, at the beginning"),
        }
    }
}
