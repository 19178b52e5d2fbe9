//! Entries about what anybody can cause any number of times, such as wrong passwords: the first of its
//! kind is written, and the others of a minute are one entry with their number. So nobody can fill
//! the trail, which would remove the entries about changes from it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::base::lock::lock;

use super::entry::{Entry, Record};

/// How long entries are counted before their number is written.
const COUNTED_FOR: Duration = Duration::from_secs(60);

/// The maximum number of kinds that are counted at a time; all further ones are counted as one.
/// With an entry a minute for each, a trail of the default length goes back more than two days
/// even during an attack.
const KINDS: usize = 30;

/// The kind in place of further ones.
const OTHERS: &str = "";

/// The kinds of entries of the last minute.
#[derive(Debug, Default)]
pub(super) struct Seldom {
    known: Mutex<HashMap<String, Counted>>,
}

#[derive(Debug)]
struct Counted {
    since: Instant,
    /// The first one that was not written.
    entry: Option<Entry>,
    count: u64,
}

impl Seldom {
    /// The entry, if it is to be written at once; otherwise it is counted.
    pub(super) fn first(&self, key: &str, entry: Entry, now: Instant) -> Option<Entry> {
        let mut known = lock(&self.known);
        let is_full = known.len() >= KINDS && !known.contains_key(key);
        let (key, entry) = if is_full { (OTHERS, unspecific(entry)) } else { (key, entry) };
        match known.get_mut(key) {
            Some(counted) => {
                counted.count += 1;
                counted.entry.get_or_insert(entry);
                None
            }
            None => {
                let counted = Counted { since: now, entry: None, count: 0 };
                known.insert(key.to_owned(), counted);
                Some(entry)
            }
        }
    }

    /// The entries about what was counted for a minute.
    pub(super) fn due(&self, now: Instant) -> Vec<Entry> {
        let mut known = lock(&self.known);
        let mut due = Vec::new();
        known.retain(|_, counted| {
            if now.saturating_duration_since(counted.since) < COUNTED_FOR {
                return true;
            }
            let numbered = counted.numbered();
            // Its entry is the first one of the next minute.
            counted.since = now;
            let goes_on = numbered.is_some();
            due.extend(numbered);
            goes_on
        });
        due
    }

    /// The entries about everything that was counted.
    pub(super) fn rest(&self) -> Vec<Entry> {
        lock(&self.known).drain().filter_map(|(_, mut counted)| counted.numbered()).collect()
    }
}

impl Counted {
    fn numbered(&mut self) -> Option<Entry> {
        let count = std::mem::take(&mut self.count);
        let mut entry = self.entry.take()?;
        if count > 1 {
            entry.what = format!("{} ({count} times within a minute)", entry.what);
        }
        Some(entry)
    }
}

/// An entry that stands for others of its kind, without user, token and record.
fn unspecific(entry: Entry) -> Entry {
    let Entry { at, origin, method, route, status, .. } = entry;
    let others = Entry::new(origin, &method, &route, Record::default());
    let others = others.saying("refused: more users or tokens than are recorded one by one");
    Entry { at, status, ..others }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Origin;
    use super::*;

    fn entry(what: &str) -> Entry {
        Entry::new(Origin::Administration, "POST", "x", Record::default()).saying(what)
    }

    fn whats(entries: impl IntoIterator<Item = Entry>) -> Vec<String> {
        entries.into_iter().map(|entry| entry.what).collect()
    }

    #[test]
    fn the_first_is_written_and_the_others_of_each_minute_are_one_entry() {
        let (seldom, begun) = (Seldom::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(whats(seldom.first("a", entry("a"), at(0))), ["a"]);
        assert_eq!(whats(seldom.first("b", entry("b"), at(0))), ["b"]);
        for second in 1..4 {
            assert_eq!(seldom.first("a", entry("a"), at(second)), None);
        }
        assert_eq!(whats(seldom.due(at(59))), [""; 0]);
        assert_eq!(whats(seldom.due(at(60))), ["a (3 times within a minute)"]);
        assert_eq!(seldom.first("a", entry("a"), at(61)), None, "this was an entry of the minute");
        assert_eq!(whats(seldom.first("b", entry("b"), at(61))), ["b"], "this was none");
        assert_eq!(whats(seldom.due(at(120))), ["a"]);
        assert_eq!(whats(seldom.due(at(300))), [""; 0]);
        assert_eq!(whats(seldom.first("a", entry("a"), at(301))), ["a"]);
        assert_eq!(seldom.first("a", entry("a"), at(302)), None);
        assert_eq!(whats(seldom.rest()), ["a"]);
    }

    #[test]
    fn the_number_of_kinds_is_limited() {
        let (seldom, now) = (Seldom::default(), Instant::now());
        let named = |number: i64| Entry { user: number, ..entry("a") };
        let notes = (1..1_000).map(|number| seldom.first(&number.to_string(), named(number), now));
        let written: Vec<Entry> = notes.flatten().collect();
        assert_eq!(written.len(), KINDS + 1);
        assert_eq!(written.last().map(|entry| entry.user), Some(0));
        let due = seldom.due(now + COUNTED_FOR);
        assert_eq!(due.len(), 1);
        assert!(due.iter().all(|entry| entry.user == 0 && entry.what.contains("(968 times")));
    }
}
