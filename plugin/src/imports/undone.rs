//! What a dry run has written and undone, as far as later lines of the file need it: so that its report is that of
//! the run. Knows nothing of how lines are written.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::reader::Line;
use crate::error::Error;
use crate::model::record::Record;
use crate::model::resource::{Resource, Unique};
use crate::model::value::fold;
use crate::service::taken::{Taken, digest, digest_of};

/// Of how many records it is remembered, which takes about 20 MB.
const REMEMBERED: usize = 900_000;

/// What a record is compared by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Compared {
    /// Its primary key, also where the unique text is empty.
    Id(i64),
    /// The unique text.
    Text(String),
}

/// What a dry run has written and undone: digests, because there may be many.
#[derive(Debug, Default)]
pub(super) struct Undone {
    /// The contents of the latest lines, by what their records are known by.
    contents: HashMap<u64, u64>,
    /// What the records are called by others of their type.
    names: HashSet<u64>,
    /// Their unique values.
    taken: Arc<Taken>,
}

/// What one transaction of it has written.
#[derive(Debug, Default)]
pub(super) struct Made {
    contents: Vec<(u64, u64)>,
    names: Vec<u64>,
    taken: Vec<(u64, i64)>,
}

impl Undone {
    /// Remembers what a transaction has written.
    pub(super) fn add(&mut self, made: Made) {
        let Made { contents, names, taken } = made;
        for (known, content) in contents {
            if self.contents.len() < REMEMBERED || self.contents.contains_key(&known) {
                self.contents.insert(known, content);
            }
        }
        if self.names.len() < REMEMBERED {
            self.names.extend(names);
        }
        // No transaction is going on, so nobody else has it, and nothing is copied.
        let all = Arc::make_mut(&mut self.taken);
        for (value, owner) in taken {
            all.add(value, owner, REMEMBERED);
        }
    }

    /// The content of the latest line whose record is known by this.
    pub(super) fn content(&self, known: &Compared) -> Option<u64> {
        self.contents.get(&digest(known)).copied()
    }

    /// Whether a record is, or may be, called so: of what is below such a record, only the run can find out.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let mut name = name;
        loop {
            if self.names.contains(&digest(&name)) {
                return true;
            }
            match name.rsplit_once('/') {
                Some((above, _)) => name = above,
                None => return false,
            }
        }
    }

    /// The unique values of its records.
    pub(super) fn taken(&self) -> Arc<Taken> {
        Arc::clone(&self.taken)
    }
}

impl Made {
    /// Notes the content of a line whose record is known by this.
    pub(super) fn line(&mut self, known: &Compared, content: u64) {
        self.contents.push((digest(known), content));
    }

    /// Notes the values of a unique group that a record has; the owner is 0 for a record that was created.
    pub(super) fn unique(
        &mut self,
        record: &Record,
        unique: &Unique,
        (resource, owner): (&Resource, i64),
    ) -> Result<(), Error> {
        let values = record.unique(unique)?;
        let digest = values.map(|values| digest_of(resource, unique, &values));
        self.taken.extend(digest.map(|digest| (digest, owner)));
        Ok(())
    }

    /// Notes what a record is called by others of its type, perhaps in any case.
    pub(super) fn name(&mut self, name: &str, any_case: bool) {
        let name = if any_case { fold(name) } else { name.to_owned() };
        self.names.push(digest(&name.as_str()));
    }
}

/// A digest of what a line has: two lines with the same one leave a record in the same state.
pub(super) fn content_of(line: &Line) -> u64 {
    let Ok(members) = &line.members else { return 0 };
    let mut members: Vec<(&str, &str)> =
        members.iter().map(|(name, literal)| (name.as_str(), literal.get())).collect();
    members.sort_unstable();
    digest(&members)
}
