//! Decides how the records of a page are found, so that a page of a large store costs no more than
//! a page of a small one. The choice depends on the indexes that a resource declares and on the
//! kept counts. Independent of SQL.

use time::PrimitiveDateTime;

use super::ties::Ties;
use crate::error::Error;
use crate::model::kept::{Aggregate, BLOCK};
use crate::model::moment;
use crate::model::question::{Condition, Page};
use crate::model::resource::{Index, Join};
use crate::model::value::{Kind, Value};

/// The offset from which it pays to look up where the page begins.
const FAR: i64 = 4_096;
/// The number of records up to which it pays to read all keys before counting.
pub const FEW: usize = 2_000;

/// A query whose result is needed before a page can be read cheaply.
#[derive(Clone, Debug)]
pub enum Probe {
    /// The keys of the records that contain a text, at most one more than [`FEW`]: finding them is
    /// almost the whole cost of such a page, so it must be done only once.
    Few,
    /// The number of records that satisfy the conditions, and the number of all records.
    Totals,
    /// The step nearest to the beginning of the page, and the number of records before it.
    Steps(&'static Aggregate),
    /// The joined records, in order, that the records of the page refer to.
    Groups(&'static Join, &'static Aggregate),
    /// The keys of the page along the index that has the beginnings of a long text, with these. The
    /// index is found in the given way.
    Beginnings(Approach),
    /// The keys that the group at an end of that page has on it. The total is known already, if it is
    /// given.
    Ties(Ties, Option<i64>),
}

/// The conclusion from the result of a probe.
#[derive(Clone, Debug)]
pub enum Next {
    /// The page can be read in this way.
    Read(Approach),
    /// Another probe is needed.
    Ask(Probe),
}

/// How the records of a page are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approach {
    /// The number of records that satisfy the conditions, if it is known already.
    pub total: Option<i64>,
    /// How their keys are found.
    pub keys: Keys,
    /// How much of long texts determines the order in which they are found.
    pub texts: Texts,
    /// Whether an index leads to them in their order, so that a scan ends with the page.
    pub is_straight: bool,
}

/// How much of long texts determines an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Texts {
    /// All of their characters.
    #[default]
    Whole,
    /// What an index has of them.
    Beginnings,
}

impl Approach {
    /// Finds these keys, in the order of whole texts.
    pub fn new(total: Option<i64>, keys: Keys) -> Self {
        Self { total, keys, ..Self::default() }
    }

    /// Finds its keys along an index that has only the beginnings of texts.
    fn by_beginnings(self) -> Self {
        Self { texts: Texts::Beginnings, ..self }
    }

    /// How to find a page for which no probe is needed.
    pub fn unasked(page: &Page) -> Self {
        let keys = if page.is_of_one() {
            Keys::One
        } else if !page.counted || begins_with_keys(page) {
            Keys::Together
        } else if let (true, Some(from)) = (page.by_change, page.from_change()) {
            Keys::Feed(from)
        } else if is_of_several(page) {
            Keys::FilterThenSortBy(index_of_several(page))
        } else if !page.resource.storage.counts.is_empty()
            && !is_of_few(page)
            && let Some(index) = index_of_all(page)
        {
            Keys::IndexScan(Some(index))
        } else {
            Keys::Planned
        };
        let total = (!page.counted).then_some(0);
        Self { total, keys, texts: Texts::Whole, is_straight: true }
    }

    /// The total of a page that is known to be empty.
    pub fn empty(&self) -> Option<i64> {
        self.total.filter(|_| self.keys == Keys::Empty)
    }
}

/// How the keys of a page are found. Where nothing else is said, they are read first, and then their rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// As the engine plans it: an index has the order, or there are few records.
    #[default]
    Planned,
    /// By scanning them in order, with this index if one is named. The conditions on its fields
    /// bound the scan; the others are tested on the way, because many records satisfy them.
    IndexScan(Option<&'static Index>),
    /// By filtering and then sorting: few records satisfy the conditions.
    FilterThenSort,
    /// By filtering with this index, if one is named, and then sorting, where the engine would
    /// overestimate how many records satisfy the conditions.
    FilterThenSortBy(Option<&'static Index>),
    /// From a bound on, skipping this many records after it.
    Seek(Condition, i64),
    /// From groups of records, each of which refers to joined records with the same name, along this index if
    /// one has these.
    Grouped(Option<&'static Index>, Vec<Group>),
    /// In the feed of changes, from this place on: nothing else limits the page.
    Feed(i64),
    /// The keys are known already.
    Known(Vec<i64>),
    /// The page has one record at most.
    One,
    /// Together with their rows: the conditions name the records, or a scan of the table meets them first.
    Together,
    /// The page is empty.
    Empty,
}

/// The records on a page that refer to joined records with the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The field that refers to the joined record.
    pub by: &'static str,
    /// The keys of the joined records; 0 means none.
    pub of: Vec<i64>,
    /// How many are skipped.
    pub offset: i64,
    /// How many are on the page at most.
    pub limit: i64,
}

impl Probe {
    /// The first probe before this page is read; `None` if an index leads to it.
    pub fn of(page: &Page) -> Option<Probe> {
        if is_of_few(page) {
            return None;
        }
        // Only large tables have kept counts, or one for texts.
        let storage = &page.resource.storage;
        let searches = |test: &Condition| matches!(test, Condition::Contains(..));
        if storage.counts.is_empty() {
            let of_texts = storage.search.is_some() && page.conditions.iter().any(searches);
            let probe = if is_of_text(page) { Probe::Few } else { Probe::Totals };
            return of_texts.then_some(probe);
        }
        // However many records there are, few of them are one of several kinds.
        if is_of_several(page) {
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
            None if !is_indexed(page) => Some(Probe::Totals),
            None => has_beginnings(page)
                .then(|| Probe::Beginnings(Approach::unasked(page).by_beginnings())),
        }
    }

    /// The kinds of the columns of the result.
    pub fn kinds(&self) -> &'static [Kind] {
        match self {
            Probe::Few => &[Kind::WORD],
            Probe::Totals => &[Kind::COUNT; 2],
            Probe::Steps(steps) if steps.day_of().is_some() => &[Kind::WORD, Kind::COUNT],
            Probe::Steps(_) => &[Kind::COUNT; 2],
            Probe::Groups(..) => &[Kind::COUNT; 3],
            Probe::Beginnings(_) => &[Kind::COUNT, Kind::WORD],
            Probe::Ties(..) => &[Kind::COUNT],
        }
    }

    /// The conclusion from the result.
    ///
    /// # Errors
    /// When the result has other columns than [`kinds`](Self::kinds), or a value of another type.
    pub fn answered(&self, page: &Page, rows: &[Vec<Value>]) -> Result<Next, Error> {
        let approach = match (self, rows) {
            (Probe::Few, [row]) => match few(row)? {
                Some(keys) => by_keys(page, keys),
                None => return Ok(Next::Ask(Probe::Totals)),
            },
            (Probe::Totals, [row]) => {
                let [total, all] = numbers(row, ["total", "everything"])?;
                let approach = Approach::new(Some(total), by_totals(page, total, all));
                if has_beginnings(page) && matches!(approach.keys, Keys::IndexScan(_)) {
                    return Ok(Next::Ask(Probe::Beginnings(approach.by_beginnings())));
                }
                approach
            }
            (Probe::Beginnings(along), rows) => {
                let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
                let rows = rows.iter().take(limit).map(|row| match &row[..] {
                    [key, beginning] => Ok((key.int("page_key")?, beginning.text("beginning")?)),
                    _ => Err(OTHER_COLUMNS),
                });
                let ties = Ties::along(&rows.collect::<Result<Vec<_>, Error>>()?);
                return Ok(untied(ties, along.total));
            }
            (Probe::Ties(ties, total), rows) => {
                let keys = rows.iter().map(|row| numbers(row, ["page_key"]).map(|[key]| key));
                let keys = keys.collect::<Result<Vec<_>, Error>>()?;
                return Ok(untied(ties.clone().with(keys), *total));
            }
            (Probe::Groups(..), []) => Approach::new(None, Keys::Empty),
            (Probe::Steps(_), []) => Approach::default(),
            (Probe::Steps(steps), [row]) => {
                let [step, passed] = &row[..] else { return Err(OTHER_COLUMNS) };
                let bound = bound(page, steps, step)?;
                let keys = Keys::Seek(bound, page.offset.saturating_sub(passed.int("passed")?));
                Approach::new(None, keys)
            }
            (Probe::Groups(join, _), rows) => {
                let rows = rows.iter().map(|row| numbers(row, ["joined", "passed", "named"]));
                let rows = rows.collect::<Result<Vec<_>, Error>>()?;
                let indexes = page.resource.storage.indexes;
                let index = indexes.iter().find(|index| index.fields == [join.by]);
                Approach::new(None, Keys::Grouped(index, groups(page, join.by, rows)))
            }
            _ => {
                return Err(Error::Contract(
                    "a question about a page has another number of answers",
                ));
            }
        };
        Ok(Next::Read(approach))
    }
}

/// How the records that satisfy the conditions of a page are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// By a table of kept counts.
    Kept(&'static Aggregate),
    /// By a query of kept counts of other tables.
    Elsewhere(&'static str),
    /// In the feed of changes, from this place on.
    InFeed(i64),
    /// One by one, or as the engine's index of texts finds them.
    Records,
}

impl Count {
    /// The cheapest way.
    pub(super) fn of(page: &Page) -> Self {
        let elsewhere = page.resource.storage.everything.filter(|_| page.conditions.is_empty());
        match (counted(page, None), elsewhere, page.only_changed()) {
            (Some(count), _, _) => Count::Kept(count),
            (None, Some(query), _) => Count::Elsewhere(query),
            (None, None, Some(since)) => Count::InFeed(since),
            (None, None, None) => Count::Records,
        }
    }
}

/// The table of kept counts that contains the total of a page, for each value of one more field if
/// one is given.
fn counted(page: &Page, also: Option<&str>) -> Option<&'static Aggregate> {
    let has = |count: &&Aggregate| also.is_none_or(|by| count.has(by));
    page.resource.storage.counts.iter().copied().filter(has).find(|count| fits(count, page))
}

/// The join that determines the order of a list, if one does.
fn joined_order(page: &Page) -> Option<&'static Join> {
    let field = page.resource.field(page.order.field?)?;
    let (alias, _) = field.joined?;
    page.resource.joins.iter().find(|join| join.alias == alias)
}

/// Whether a page is short in any store.
fn is_of_few(page: &Page) -> bool {
    let is_of_few =
        |test: &Condition| matches!(test, Condition::OfPart(..) | Condition::Changed(_));
    !page.counted || page.is_of_one() || page.conditions.iter().any(is_of_few)
}

/// Whether the records of a page have one of several values.
fn is_of_several(page: &Page) -> bool {
    page.conditions.iter().any(|condition| matches!(condition, Condition::OneOf(..)))
}

/// The index with the most fields that have one of the wanted values, before any other field.
fn index_of_several(page: &Page) -> Option<&'static Index> {
    let wanted = |name: &&&'static str| {
        page.conditions.iter().any(|condition| match condition {
            Condition::Equals(of, _) | Condition::OneOf(of, _) => of == *name,
            _ => false,
        })
    };
    let narrowed = |index: &&Index| index.fields.iter().take_while(wanted).count();
    page.resource.storage.indexes.iter().filter(|index| narrowed(index) > 1).max_by_key(narrowed)
}

/// Whether a page is where the primary key begins or ends, so that a scan meets its rows first and
/// reads no others.
fn begins_with_keys(page: &Page) -> bool {
    let Page { resource, conditions, order, .. } = page;
    page.is_first() && conditions.is_empty() && order.field.is_none() && resource.joins.is_empty()
}

/// Whether a page lists the records that contain a text, in the order of their keys.
fn is_of_text(page: &Page) -> bool {
    matches!(page.conditions[..], [Condition::Contains(..)])
        && page.resource.fixed.is_empty()
        && page.order.field.is_none()
}

/// Whether the index of the order of a page has only the beginnings of texts.
fn has_beginnings(page: &Page) -> bool {
    let field = page.order.field.and_then(|name| page.resource.field(name));
    field.is_some_and(|field| page.resource.is_split(field))
}

/// Whether an index has the fields of the conditions followed by the order of a page. Each order
/// without conditions has one.
fn is_indexed(page: &Page) -> bool {
    equal_fields(page).is_some_and(|equal| equal.is_empty()) || index_of_all(page).is_some()
}

/// The index on the fields of the conditions of a page, if it has any, followed by its order.
fn index_of_all(page: &Page) -> Option<&'static Index> {
    let equal = equal_fields(page).filter(|equal| !equal.is_empty())?;
    page.resource.storage.indexes.iter().find(|index| narrowed_by(index, page) == Some(equal.len()))
}

/// The fields that must equal a value; `None` if there are conditions other than these and bounds
/// on the field that determines the order.
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

/// By how many fields an index narrows a scan in the order of a page; `None` if it has another
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

const OTHER_COLUMNS: Error =
    Error::Contract("the answer to a question about a page has other columns");

/// The numbers of a row with these columns.
fn numbers<const N: usize>(row: &[Value], columns: [&str; N]) -> Result<[i64; N], Error> {
    let row: &[Value; N] = row.try_into().map_err(|_| OTHER_COLUMNS)?;
    let mut numbers = [0; N];
    for ((number, value), column) in numbers.iter_mut().zip(row).zip(columns) {
        *number = value.int(column)?;
    }
    Ok(numbers)
}

/// The keys in a list; `None` if there are more than [`FEW`].
fn few(row: &[Value]) -> Result<Option<Vec<i64>>, Error> {
    let keys: Vec<i64> = match row {
        // The list of no keys is NULL on some engines.
        [Value::Null] => Vec::new(),
        [list] => serde_json::from_str(list.text("keys")?)?,
        _ => return Err(OTHER_COLUMNS),
    };
    Ok((keys.len() <= FEW).then_some(keys))
}

/// How to find a page whose records are known up to these groups.
fn untied(ties: Ties, total: Option<i64>) -> Next {
    match ties.next() {
        Some(_) => Next::Ask(Probe::Ties(ties, total)),
        None => Next::Read(Approach::new(total, known(ties.keys()))),
    }
}

/// How to find a page with these keys.
fn known(keys: Vec<i64>) -> Keys {
    if keys.is_empty() { Keys::Empty } else { Keys::Known(keys) }
}

/// How to find a page if the records with these keys satisfy its conditions.
fn by_keys(page: &Page, mut keys: Vec<i64>) -> Approach {
    let total = i64::try_from(keys.len()).unwrap_or(i64::MAX);
    keys.sort_unstable();
    if page.order.descending {
        keys.reverse();
    }
    let [offset, limit] =
        [page.offset, page.limit].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let passed = |key: &i64| page.after.is_some_and(|after| *key <= after);
    let keys = known(keys.into_iter().skip_while(passed).skip(offset).take(limit).collect());
    Approach::new(Some(total), keys)
}

/// How to find the keys if this many of all records satisfy the conditions. The cost of filtering
/// and sorting is the number of matches; that of scanning in order is the number of records up to
/// the end of the page.
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
fn leads(steps: &Aggregate, page: &Page) -> bool {
    let equal = equal_fields(page).filter(|equal| equal.len() == page.conditions.len());
    steps.day_of() == page.order.field
        && equal.is_some_and(|equal| equal.iter().all(|name| steps.has(name)))
        && page.resource.fixed.iter().all(|(name, _)| steps.has(name))
}

/// The bound that a step stands for.
fn bound(page: &Page, steps: &Aggregate, step: &Value) -> Result<Condition, Error> {
    Ok(match (steps.day_of(), page.order.descending) {
        (None, false) => {
            let first = step.int("block")?.saturating_mul(BLOCK);
            Condition::AtLeast(page.resource.key, Value::Int(first))
        }
        (None, true) => {
            let next = step.int("block")?.saturating_add(1).saturating_mul(BLOCK);
            Condition::AtMost(page.resource.key, Value::Int(next - 1))
        }
        (Some(field), descending) => {
            let day = moment::day(step.text("day")?);
            let day = day.ok_or_else(|| Error::column("day", "a day", "text"))?;
            let [first, last] = moment::bounds(day).map(Value::Moment);
            if descending {
                Condition::AtMost(field, last)
            } else {
                Condition::AtLeast(field, first)
            }
        }
    })
}

/// The groups of a page, from the joined records that its records refer to: for each, the number of
/// records before those of its name, and the number of records of its name.
fn groups(page: &Page, by: &'static str, rows: Vec<[i64; 3]>) -> Vec<Group> {
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

/// Whether a table of kept counts contains the total of a page.
fn fits(count: &Aggregate, page: &Page) -> bool {
    let has = |name: &&str| count.has(name);
    // The first or the last moment of a day, which is what a filter by day compares with.
    let whole_days = |name: &str, value: &Value, end: usize| {
        let is_end = |moment: PrimitiveDateTime| moment::bounds(moment.date())[end] == moment;
        count.day_of() == Some(name) && value.moment().is_some_and(is_end)
    };
    page.resource.fixed.iter().all(|(name, _)| has(name))
        && page.conditions.iter().all(|condition| match condition {
            Condition::Equals(name, Value::Int(0)) if count.merges_unset(name) => false,
            Condition::Equals(name, Value::Int(_) | Value::Text(_)) => has(name),
            Condition::OneOf(name, _) => has(name),
            Condition::AtLeast(name, value) => whole_days(name, value, 0),
            Condition::AtMost(name, value) => whole_days(name, value, 1),
            Condition::Equals(..)
            | Condition::Contains(..)
            | Condition::OfPart(..)
            | Condition::Changed(_) => false,
        })
}
