//! Verifying the chains of the audit trail, a page at a time, in one snapshot of the database: hosts
//! may write meanwhile, and the memory does not depend on the number of entries.

use std::collections::BTreeMap;
use std::fmt;

use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::moment;
use crate::database::{Connection, Database, sql};

use super::chain::{self, Linked};
use super::ends::{Chain, Ends, Link, whole};
use super::rows::{self, AT_ONCE, Stored};

/// A trail without a fault.
#[derive(Debug)]
pub(crate) struct Verified {
    entries: u64,
    /// The times of the oldest and the newest entry.
    between: Option<(PrimitiveDateTime, PrimitiveDateTime)>,
    /// How many entries are from before there was a chain.
    unchained: i64,
    /// The last entry of each chain.
    last: [(Chain, Link); 2],
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
    /// An entry of this time is not in a chain.
    Inserted(PrimitiveDateTime),
    /// The entry was removed; the time is that of the entry before it in its chain, if there is one.
    Missing(Option<PrimitiveDateTime>),
}

/// Compares every entry with its chain.
pub(crate) async fn verify(database: &Database) -> Result<Result<Verified, Broken>, Error> {
    let mut snapshot = database.begin_read().await?;
    let verified = compare(&mut snapshot).await;
    snapshot.finish(verified).await
}

async fn compare(snapshot: &mut Connection) -> Result<Result<Verified, Broken>, Error> {
    if let Some(broken) = before_all(snapshot).await? {
        return Ok(Err(broken));
    }
    let [lasting, other] = Chain::ALL;
    let (lasting, other) =
        (Ends::read(snapshot, lasting).await?, Ends::read(snapshot, other).await?);
    let unchained = other.unchained;
    let statement = sql("SELECT count(*) FROM host_audit WHERE id <= ?").bind(unchained);
    let (before_chains,): (i64,) = snapshot.fetch_one(statement).await?;
    let mut walks = [lasting, other].map(Walk::from);
    let (mut entries, mut between) = (0, None);
    let mut done = unchained;
    while done < i64::MAX {
        let page = Stretch::after(snapshot, done).await?;
        for (id, Place { line, links }) in page.places.range(..=page.last) {
            if let Some(line) = line
                && links.iter().all(Option::is_none)
            {
                return Ok(Err(Broken { id: *id, fault: Fault::Inserted(line.at) }));
            }
            for (walk, link) in walks.iter_mut().zip(links) {
                if let Some(link) = link
                    && let Err(broken) = walk.step(line.as_ref(), link)
                {
                    return Ok(Err(broken));
                }
            }
            if let Some(line) = line {
                let at = line.at;
                entries += 1;
                between = Some((between.map_or(at, |(first, _)| first), at));
            }
        }
        done = page.last;
    }
    let broken = walks.iter().filter_map(Walk::end).min_by_key(|broken| broken.id);
    Ok(match broken {
        Some(broken) => Err(broken),
        None => {
            let [lasting, other] = walks;
            let last = [(Chain::Lasting, lasting.at), (Chain::Other, other.at)];
            Ok(Verified { entries, between, unchained: before_chains, last })
        }
    })
}

/// An entry whose key precedes all that are given: keys begin with 1.
async fn before_all(snapshot: &mut Connection) -> Result<Option<Broken>, Error> {
    let statement = sql("SELECT id, done_on FROM host_audit WHERE id <= 0 ORDER BY id LIMIT 1");
    let found: Option<(i64, PrimitiveDateTime)> = snapshot.fetch_optional(statement).await?;
    Ok(found.map(|(id, at)| Broken { id, fault: Fault::Inserted(at) }))
}

/// What there is under some keys, in their order.
struct Stretch {
    places: BTreeMap<i64, Place>,
    /// The key up to which everything is here.
    last: i64,
}

/// What there is under one key.
#[derive(Default)]
struct Place {
    line: Option<Stored>,
    /// In each chain.
    links: [Option<Linked>; 2],
}

impl Stretch {
    async fn after(snapshot: &mut Connection, id: i64) -> Result<Self, Error> {
        let mut page = Self { places: BTreeMap::new(), last: i64::MAX };
        let lines = rows::after(snapshot, id).await?;
        page.ends_with(lines.get(AT_ONCE - 1).map(|line| line.id));
        for line in lines {
            let place = page.places.entry(line.id).or_default();
            place.line = Some(line);
        }
        for (number, chain) in Chain::ALL.into_iter().enumerate() {
            let links = chain::after(snapshot, chain, id).await?;
            page.ends_with(links.get(AT_ONCE - 1).map(|(id, ..)| *id));
            for link in links {
                let place = page.places.entry(link.0).or_default();
                place.links[number] = Some(link);
            }
        }
        Ok(page)
    }

    /// Beyond the last row of a table whose page is full, nothing is known of it yet.
    fn ends_with(&mut self, last: Option<i64>) {
        self.last = self.last.min(last.unwrap_or(i64::MAX));
    }
}

/// The entries of a chain that have been compared so far.
struct Walk {
    /// The last of them.
    at: Link,
    /// Its time.
    before: Option<PrimitiveDateTime>,
    /// Where the chain has to end.
    end: Link,
}

impl From<Ends> for Walk {
    fn from(ends: Ends) -> Self {
        Self { at: ends.anchor, before: None, end: ends.last }
    }
}

impl Walk {
    /// Compares the next entry of the chain, or what is left of it.
    fn step(&mut self, line: Option<&Stored>, link: &Linked) -> Result<(), Broken> {
        let (id, previous, hash) = (link.0, link.1, whole(&link.2));
        let missing = |id| Err(Broken { id, fault: Fault::Missing(self.before) });
        let Some(stored) = line else { return missing(id) };
        if id <= self.at.id {
            return Err(Broken { id, fault: Fault::Inserted(stored.at) });
        }
        if previous > self.at.id {
            return missing(previous);
        }
        if previous < self.at.id
            && let Some(before) = self.before
        {
            return Err(Broken { id: self.at.id, fault: Fault::Inserted(before) });
        }
        let next = self.at.next(stored);
        if next.hash != hash {
            return Err(Broken { id, fault: Fault::Changed(stored.at) });
        }
        self.at = next;
        self.before = Some(stored.at);
        Ok(())
    }

    /// The fault at the end of the chain, once all of its entries were compared.
    fn end(&self) -> Option<Broken> {
        let Self { at, before, end } = self;
        let (id, fault) = match before {
            _ if at == end => return None,
            before if at.id < end.id => (end.id, Fault::Missing(*before)),
            Some(before) if at.id > end.id => (at.id, Fault::Inserted(*before)),
            Some(before) => (at.id, Fault::Changed(*before)),
            None => (at.id, Fault::Missing(None)),
        };
        Some(Broken { id, fault })
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
        // A chain without entries has no last one.
        for (chain, Link { id, hash }) in self.last.into_iter().filter(|(_, last)| last.id > 0) {
            let (name, hash) = (chain.name(), hex::encode(hash));
            write!(f, "; the last {name} entry is {id} with the hash {hash}")?;
        }
        Ok(())
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
