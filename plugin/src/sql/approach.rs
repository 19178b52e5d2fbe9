//! How the records of a page are found, so that a page of a large store costs no more than one of a
//! small store. The choice follows from the indexes that a resource declares and from what the store
//! has counted. Knows no SQL.

use time::PrimitiveDateTime;

use crate::model::field::Field;
use crate::model::kept::{BLOCK, Kept};
use crate::model::moment;
use crate::model::question::{Condition, Page};
use crate::model::resource::{Index, Join, Resource};
use crate::model::value::{Kind, Value};

/// From which offset on it pays to look up where the page begins.
const FAR: i64 = 4_096;
/// Up to how many records it pays to read all keys before counting.
pub const FEW: usize = 2_000;

/// A question whose answer has to be known before a page can be read at a small cost.
#[derive(Clone, Copy, Debug)]
pub enum Probe {
    /// The keys of the records that contain a text, at most one more than [`FEW`]: finding them is the
    /// whole cost of such a page, so it must not be done twice.
    Few,
    /// How many records satisfy the conditions, and how many there are in all.
    Totals,
    /// Near which step the page begins, and how many records come before that.
    Steps(&'static Kept),
    /// Which joined records, in their order, the records of the page belong to.
    Groups(&'static Join, &'static Kept),
}

/// What the answer to a probe leads to.
#[derive(Clone, Debug)]
pub enum Next {
    /// The page can be read.
    Read(Approach),
    /// Something else has to be asked.
    Ask(Probe),
}

/// How the records of a page are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approach {
    /// How many records satisfy the conditions, where that is known already.
    pub total: Option<i64>,
    /// How their keys are.
    pub keys: Keys,
}

impl Approach {
    /// How a page is found that needs no question.
    pub fn unasked(page: &Page) -> Self {
        match (page.resource.storage.counts.is_empty() || is_of_few(page), index_of_all(page)) {
            (false, Some(index)) => Approach { total: None, keys: Keys::IndexScan(Some(index)) },
            _ => Approach::default(),
        }
    }

    /// The total of a page that is known to be empty.
    pub fn empty(&self) -> Option<i64> {
        self.total.filter(|_| self.keys == Keys::Empty)
    }
}

/// How the keys of a page are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// As the engine plans it: an index has the order, or there are few records.
    #[default]
    Planned,
    /// By a scan in their order, of this index where one is named. The conditions on its fields bound the
    /// scan, the others are tested on the way: many records satisfy them.
    IndexScan(Option<&'static Index>),
    /// By the conditions, and then sorted: few records satisfy them.
    FilterThenSort,
    /// From a bound on, after which so many are skipped.
    Seek(Condition, i64),
    /// From groups of records, each of which belongs to joined records of one name.
    Grouped(Vec<Group>),
    /// These, which are known already.
    Known(Vec<i64>),
    /// Not at all: the page is empty.
    Empty,
}

/// Records on a page that belong to joined records of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The field that names the joined record.
    pub by: &'static str,
    /// The joined records; 0 is none.
    pub of: Vec<i64>,
    /// How many are skipped.
    pub offset: i64,
    /// How many are on the page at most.
    pub limit: i64,
}

impl Probe {
    /// The first question to ask before this page is read; none where an index leads to it.
    pub fn of(page: &Page) -> Option<Probe> {
        // Only large tables are counted.
        if page.resource.storage.counts.is_empty() || is_of_few(page) {
            return None;
        }
        if let Some(join) = joined_order(page) {
            let count = counted(page, Some(join.by));
            return Some(count.map_or(Probe::Totals, |count| Probe::Groups(join, count)));
        }
        let far = page.offset >= FAR;
        let steps =
            page.resource.storage.steps.iter().copied().find(|steps| far && leads(steps, page));
        match steps {
            Some(steps) => Some(Probe::Steps(steps)),
            None if is_of_text(page) => Some(Probe::Few),
            None => (!is_indexed(page)).then_some(Probe::Totals),
        }
    }

    /// What the columns of the answer hold.
    pub fn kinds(&self) -> &'static [Kind] {
        match self {
            Probe::Few => &[Kind::WORD],
            Probe::Totals => &[Kind::COUNT; 2],
            Probe::Steps(steps) if steps.day_of().is_some() => &[Kind::WORD, Kind::COUNT],
            Probe::Steps(_) => &[Kind::COUNT; 2],
            Probe::Groups(..) => &[Kind::COUNT; 3],
        }
    }

    /// What follows from the answer.
    pub fn answered(&self, page: &Page, rows: &[Vec<Value>]) -> Next {
        let number = |row: &[Value], column: usize| row.get(column).map_or(0, Value::int);
        Next::Read(match (self, rows.first()) {
            (Probe::Few, row) => {
                let text = row.and_then(|row| row.first()).map_or("", Value::text);
                return match few(text) {
                    Some(keys) => Next::Read(by_keys(page, keys)),
                    None => Next::Ask(Probe::Totals),
                };
            }
            (Probe::Totals, row) => {
                let row = row.map(Vec::as_slice).unwrap_or_default();
                let (total, all) = (number(row, 0), number(row, 1));
                Approach { total: Some(total), keys: by_totals(page, total, all) }
            }
            (Probe::Groups(..), None) => Approach { total: None, keys: Keys::Empty },
            (Probe::Steps(_), None) => Approach::default(),
            (Probe::Steps(steps), Some(row)) => {
                let bound = bound(page, steps, &row[0]);
                let keys = Keys::Seek(bound, page.offset.saturating_sub(number(row, 1)));
                Approach { total: None, keys }
            }
            (Probe::Groups(join, _), Some(_)) => {
                let rows = rows.iter().map(|row| [0, 1, 2].map(|column| number(row, column)));
                Approach { total: None, keys: Keys::Grouped(groups(page, join.by, rows)) }
            }
        })
    }
}

/// The table of kept counts from which the total of a page can be read, for each value of one more
/// field where one is named.
pub fn counted(page: &Page, also: Option<&str>) -> Option<&'static Kept> {
    let has = |count: &&Kept| also.is_none_or(|by| count.has(by));
    page.resource.storage.counts.iter().copied().filter(has).find(|count| fits(count, page))
}

/// The join that a list is ordered by, if it is.
fn joined_order(page: &Page) -> Option<&'static Join> {
    let field = field_of(page.resource, page.order.field?)?;
    let (alias, _) = field.joined?;
    page.resource.joins.iter().find(|join| join.alias == alias)
}

/// Whether a page is short whatever is in the store.
fn is_of_few(page: &Page) -> bool {
    page.conditions.iter().any(|test| matches!(test, Condition::Key(_) | Condition::Keys(_)))
}

/// Whether a page is of the records that contain a text, in the order of their keys.
fn is_of_text(page: &Page) -> bool {
    matches!(page.conditions[..], [Condition::Contains(..)])
        && page.resource.fixed.is_empty()
        && page.order.field.is_none()
}

/// Whether there is an index that has the conditions of a page and then its order. There is one for
/// each order.
fn is_indexed(page: &Page) -> bool {
    equal_fields(page).is_some_and(|equal| equal.is_empty()) || index_of_all(page).is_some()
}

/// The index that has the conditions of a page, of which there are some, and then its order.
fn index_of_all(page: &Page) -> Option<&'static Index> {
    let equal = equal_fields(page).filter(|equal| !equal.is_empty())?;
    page.resource.storage.indexes.iter().find(|index| narrowed_by(index, page) == Some(equal.len()))
}

/// The fields that must be equal to something; nothing where there are other conditions than those
/// and bounds of the field that the list is ordered by.
fn equal_fields(page: &Page) -> Option<Vec<&'static str>> {
    let mut equal = Vec::new();
    for condition in &page.conditions {
        match condition {
            Condition::Equals(name, _) => equal.push(*name),
            Condition::AtLeast(name, _) | Condition::AtMost(name, _)
                if page.order.field == Some(name) => {}
            _ => return None,
        }
    }
    Some(equal)
}

/// By how many fields an index narrows a scan in the order of a page; nothing where it has another
/// order.
fn narrowed_by(index: &Index, page: &Page) -> Option<usize> {
    let narrowed = match page.order.field {
        Some(order) => index.fields.strip_suffix(&[order])?,
        None => index.fields,
    };
    let is_equal = |name: &&str| {
        let equals = |test: &Condition| matches!(test, Condition::Equals(of, _) if of == name);
        page.conditions.iter().any(equals)
    };
    narrowed.iter().all(is_equal).then_some(narrowed.len())
}

/// The keys of a list, which is empty where no record was found; nothing where it has more than [`FEW`].
fn few(list: &str) -> Option<Vec<i64>> {
    if list.is_empty() {
        return Some(Vec::new());
    }
    serde_json::from_str(list).ok().filter(|keys: &Vec<i64>| keys.len() <= FEW)
}

/// How a page is found if the records with these keys satisfy its conditions.
fn by_keys(page: &Page, mut keys: Vec<i64>) -> Approach {
    let total = i64::try_from(keys.len()).unwrap_or(i64::MAX);
    keys.sort_unstable();
    if page.order.descending {
        keys.reverse();
    }
    let [offset, limit] =
        [page.offset, page.limit].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let keys: Vec<i64> = keys.into_iter().skip(offset).take(limit).collect();
    let keys = if keys.is_empty() { Keys::Empty } else { Keys::Known(keys) };
    Approach { total: Some(total), keys }
}

/// How the keys are found if so many of all records satisfy the conditions. Filtering and sorting costs
/// as much as these are; scanning in order, as much as lies before the end of the page.
fn by_totals(page: &Page, total: i64, all: i64) -> Keys {
    let end = page.offset.saturating_add(page.limit);
    if total <= page.offset {
        return Keys::Empty;
    }
    let scanned = i128::from(all) * i128::from(end.min(total)) / i128::from(total);
    if joined_order(page).is_some() || i128::from(total) <= scanned {
        return Keys::FilterThenSort;
    }
    let leads = |index: &&Index| narrowed_by(index, page).is_some_and(|fields| fields > 0);
    let indexes = page.resource.storage.indexes.iter().filter(leads);
    Keys::IndexScan(indexes.max_by_key(|index| index.fields.len()))
}

/// Whether steps lead to the pages of a list.
fn leads(steps: &Kept, page: &Page) -> bool {
    let equal = equal_fields(page).filter(|equal| equal.len() == page.conditions.len());
    steps.day_of() == page.order.field
        && equal.is_some_and(|equal| equal.iter().all(|name| steps.has(name)))
        && page.resource.fixed.iter().all(|(name, _)| steps.has(name))
}

/// The bound that a step is.
fn bound(page: &Page, steps: &Kept, step: &Value) -> Condition {
    match (steps.day_of(), page.order.descending) {
        (None, false) => {
            Condition::AtLeast(page.resource.key, Value::Int(step.int().saturating_mul(BLOCK)))
        }
        (None, true) => {
            let next = step.int().saturating_add(1).saturating_mul(BLOCK);
            Condition::AtMost(page.resource.key, Value::Int(next - 1))
        }
        (Some(field), descending) => {
            // No trigger makes a step without a day.
            let moments = moment::day(step.text()).map(moment::bounds);
            let [first, last] =
                moments.map_or([Value::Null, Value::Null], |of| of.map(Value::Moment));
            match descending {
                false => Condition::AtLeast(field, first),
                true => Condition::AtMost(field, last),
            }
        }
    }
}

/// The groups of a page, from the joined records that its records belong to: of each, how many
/// records come before those of its name, and how many there are of its name.
fn groups(page: &Page, by: &'static str, rows: impl Iterator<Item = [i64; 3]>) -> Vec<Group> {
    let mut groups: Vec<(i64, Group)> = Vec::new();
    for [joined, before, count] in rows {
        match groups.last_mut().filter(|(known, _)| *known == before) {
            Some((_, group)) => group.of.push(joined),
            None => {
                let offset = page.offset.saturating_sub(before).max(0);
                let end = page.offset.saturating_add(page.limit).saturating_sub(before).min(count);
                let limit = (end - offset).max(0);
                groups.push((before, Group { by, of: vec![joined], offset, limit }));
            }
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Whether the total of a page can be read from a table of kept counts.
fn fits(count: &Kept, page: &Page) -> bool {
    let has = |name: &&str| count.has(name);
    // The first or the last moment of a day, as a filter asks for it.
    let whole_days = |name: &str, value: &Value, end: usize| {
        let is_end = |moment: PrimitiveDateTime| moment::bounds(moment.date())[end] == moment;
        count.day_of() == Some(name) && value.moment().is_some_and(is_end)
    };
    page.resource.fixed.iter().all(|(name, _)| has(name))
        && page.conditions.iter().all(|condition| match condition {
            Condition::Equals(name, Value::Int(_) | Value::Text(_)) => has(name),
            Condition::AtLeast(name, value) => whole_days(name, value, 0),
            Condition::AtMost(name, value) => whole_days(name, value, 1),
            Condition::Equals(..)
            | Condition::Key(_)
            | Condition::Keys(_)
            | Condition::Contains(..) => false,
        })
}

fn field_of(resource: &Resource, name: &str) -> Option<&'static Field> {
    resource.fields().find(|field| field.name == name)
}
