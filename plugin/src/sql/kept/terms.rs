//! The SQL expressions for kept numbers in which engines differ.

use crate::model::kept::{
    Addend, Aggregate, BLOCK_BITS, ColumnType, Group, Records, SLOT, SLOT_COUNT, SLOTS,
    STOCK_STATUS, Sum, UNDECIDED, Value,
};
use crate::model::value::Kind;

/// The SQL of one engine, where engines differ.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The day of a moment, as text.
    pub(super) day: fn(&str) -> String,
    /// The operator for integer division.
    pub(super) divided_by: &'static str,
    /// An amount in units of 10^-5.
    pub units: fn(&str) -> String,
    /// JSON as text.
    pub(super) text: fn(&str) -> String,
    /// The multiples of 10^4 in an amount.
    pub(super) high: fn(&str) -> String,
    /// The rest in units of 10^-5.
    pub(super) low: fn(&str) -> String,
    /// A whole number in a form that can be compared with amounts.
    pub(super) as_amount: fn(&str) -> String,
    /// The slot of the record with this key, given the last key that is counted in slot 0. `None`
    /// on an engine with one writer at a time.
    pub(super) slot: Option<fn(key: &str, floor: &str) -> String>,
    /// A random, unique number for the revision of a day.
    pub(super) revision: &'static str,
    /// The slot in which a connection writes revisions of days.
    pub(super) own_slot: Option<&'static str>,
    /// The suffix of an insertion that updates the row if one with this key exists.
    pub(super) on_conflict: fn(key: &str, change: &str) -> String,
    /// The inserted value of a column, within such an update.
    pub(super) given: fn(&str) -> String,
    /// The suffix of the definition of a table.
    pub(super) table_end: &'static str,
    /// The suffix for a table of few rows, or one whose rows have numeric keys.
    pub(super) plain_end: &'static str,
    /// The declaration of the type of a column.
    pub(super) room: fn(ColumnType) -> String,
    /// The statements that create the tables for substring search, and their triggers.
    pub indexes: fn() -> Vec<String>,
    /// The statements that create the triggers of kept numbers.
    pub triggers: fn() -> Vec<String>,
    /// How the tables for substring search are rebuilt.
    pub(super) texts: fn() -> Vec<Rebuild>,
    /// How these tables are compared with the texts.
    pub(super) indexed: fn() -> Vec<Comparison>,
    /// What shipments contain, as a table with the columns `order_key`, `item` and `quantity`.
    pub(super) lines_of_shipments: &'static str,
    /// What refunds have of items, as a table with the columns `refund`, `order_key`, `item`, `quantity`, `restock`,
    /// and in the form of columns of money `amount`, `tax` and `share`.
    pub(super) lines_of_refunds: &'static str,
    /// The items of the order `shop_order_id` as a JSON list without spaces: of each its key, quantity and amount with
    /// tax, and what was given back of both. Amounts are in units, and the keys ascend.
    pub(super) refundable_lines: &'static str,
}

/// A table to rebuild.
#[derive(Debug)]
pub struct Rebuild {
    /// The table.
    pub table: &'static str,
    /// The statements that empty and refill it, in order.
    pub statements: Vec<String>,
}

/// A comparison of something stored with what it follows from.
#[derive(Debug)]
pub struct Comparison {
    /// The table that has it.
    pub table: &'static str,
    /// The columns that identify a difference, with their kinds.
    pub identity: Vec<(&'static str, Kind)>,
    /// The column that differs.
    pub column: &'static str,
    /// Reads the differences: the columns that identify each, the stored and the counted number.
    pub differences: String,
    /// The records whose number determines how long that takes.
    pub of: &'static Records,
    /// How it is corrected.
    pub repair: Repair,
}

/// How differences are corrected.
#[derive(Debug)]
pub enum Repair {
    /// Not at all: nobody knows which of the two is right.
    Impossible,
    /// One by one, with these statements, each of which is right whatever has been written since.
    Each(Vec<Correction>),
    /// All at once, with these statements.
    Whole(Vec<String>),
}

/// A statement that corrects a difference.
#[derive(Debug)]
pub struct Correction {
    /// Its text.
    pub text: String,
    /// The values that it binds, each as its place among those that identify the difference.
    pub binds: &'static [usize],
}

impl Comparison {
    /// A comparison of a column of these records, each of which its key identifies. Nobody knows which of
    /// two numbers is right.
    pub(super) fn of(
        of: &'static Records,
        column: &'static str,
        differences: impl Into<String>,
    ) -> Self {
        let (table, identity) = (of.table, vec![(of.key, Kind::COUNT)]);
        let differences = differences.into();
        Self { table, identity, column, differences, of, repair: Repair::Impossible }
    }
}

impl Correction {
    pub(super) fn new(text: impl Into<String>, binds: &'static [usize]) -> Self {
        Self { text: text.into(), binds }
    }
}

/// 10^4 in units of 10^-5.
const PART: &str = "1000000000";

impl Terms {
    /// The columns that identify a row of a table.
    pub fn identity(&self, kept: &Aggregate) -> Vec<&'static str> {
        let by = kept.by.iter().map(|group| group.column);
        by.chain(self.slot.map(|_| SLOT)).collect()
    }

    /// The values of a record by which it is grouped; `row` is the prefix of its columns.
    pub(super) fn groups(&self, kept: &Aggregate, row: &str) -> Vec<String> {
        kept.by.iter().map(|group| self.group(group, kept.of, row)).collect()
    }

    fn group(&self, group: &Group, of: &Records, row: &str) -> String {
        let [managed, quantity, least, notify] =
            STOCK_STATUS.map(|column| format!("{row}{column}"));
        let pieces = (self.as_amount)(&quantity);
        match group.value {
            Value::Same => format!("{row}{}", group.column),
            Value::OrZero => format!("coalesce({row}{}, 0)", group.column),
            Value::Day(moment) => (self.day)(&format!("{row}{moment}")),
            Value::Month(moment) => {
                format!("substr({}, 1, 7)", (self.day)(&format!("{row}{moment}")))
            }
            Value::Block => format!("{row}{} >> {BLOCK_BITS}", of.key),
            Value::StockStatus => format!(
                "CASE WHEN {managed} = 0 THEN 0 WHEN {pieces} <= coalesce({least}, 0) THEN 1 \
                 WHEN {notify} IS NULL THEN {UNDECIDED} WHEN {pieces} <= {notify} THEN 2 ELSE 3 END"
            ),
            Value::StockQuantity => format!(
                "CASE WHEN {managed} <> 0 AND {pieces} > coalesce({least}, 0) AND {notify} IS NULL \
                 THEN {quantity} ELSE 0 END"
            ),
        }
    }

    /// The contribution of a record to a sum.
    pub(super) fn summand(&self, sum: &Sum, row: &str) -> String {
        let quantity = format!("{row}quantity");
        let price = (self.units)(&format!("{row}price"));
        let by = self.divided_by;
        // The product of quantity and price may exceed 64 bits.
        let whole = format!(
            "({quantity} * ({price} {by} {PART}) + {quantity} * ({price} % {PART}) {by} {PART})"
        );
        match sum.of {
            Addend::One => "1".to_owned(),
            Addend::Whole(column) => format!("{row}{column}"),
            Addend::High(column) => (self.high)(&format!("{row}{column}")),
            Addend::Low(column) => (self.low)(&format!("{row}{column}")),
            Addend::WorthHigh => format!("{whole} {by} {PART}"),
            Addend::WorthMiddle => format!("{whole} % {PART}"),
            Addend::WorthLow => format!("{quantity} * ({price} % {PART}) % {PART}"),
        }
    }

    /// The contributions of a record to the sums of its row, negative unless `row` is the one after a change.
    pub(super) fn summands(&self, kept: &Aggregate, row: &str) -> impl Iterator<Item = String> {
        kept.sums.iter().map(move |sum| match (row, sum.of) {
            ("NEW.", _) => self.summand(sum, row),
            (_, Addend::One) => "-1".to_owned(),
            _ => format!("-({})", self.summand(sum, row)),
        })
    }

    /// What adds the inserted numbers to those of a row; `row` is the prefix of its columns.
    pub(super) fn added(&self, kept: &Aggregate, row: &str) -> Vec<String> {
        let add = |column| format!("{column} = {row}{column} + {}", (self.given)(column));
        kept.sums.iter().map(|sum| add(sum.column)).collect()
    }

    /// The contribution of a set of records to a sum.
    pub(super) fn total(&self, sum: &Sum) -> String {
        match sum.of {
            Addend::One => "count(*)".to_owned(),
            _ => format!("sum({})", self.summand(sum, "")),
        }
    }

    /// A query for the slot in which a record is counted.
    pub(super) fn slot(&self, of: &Records, row: &str) -> Option<String> {
        let floor = floor(of);
        self.slot.map(|slot| slot(&format!("{row}{}", of.key), &floor))
    }
}

/// The conditions that all numbers of a row are zero; `row` is the prefix of its columns.
pub(super) fn zeros(kept: &Aggregate, row: &str) -> impl Iterator<Item = String> {
    kept.sums.iter().map(move |sum| format!("{row}{} = 0", sum.column))
}

/// The condition on the records that are counted, after this word; nothing if all are.
pub(super) fn only(only: Option<(&str, i64)>, word: &str, row: &str) -> String {
    only.map_or_else(String::new, |(column, value)| format!("{word}{row}{column} = {value}"))
}

/// A query for the last key that is counted in slot 0.
pub(super) fn floor(of: &Records) -> String {
    format!("(SELECT {} FROM {})", of.floor, SLOTS)
}

/// The remainder of a key, which is its slot.
pub(super) fn remainder(key: &str) -> String {
    format!("{key} % {SLOT_COUNT}")
}
