//! How the engines express what is kept of a record.

use crate::model::kept::{
    BLOCK_BITS, Group, Kept, Records, Room, SLOT, SLOT_COUNT, SLOTS, STOCK_STATUS, Sum, Summand,
    UNDECIDED, Value,
};

/// What one engine expresses otherwise than another.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The day of a moment, as text.
    pub(super) day: fn(&str) -> String,
    /// Between two whole numbers of which the first is divided.
    pub(super) divided_by: &'static str,
    /// An amount in units of 10^-5.
    pub(super) units: fn(&str) -> String,
    /// How often an amount has 10^4 in it.
    pub(super) high: fn(&str) -> String,
    /// How many units of 10^-5 are left.
    pub(super) low: fn(&str) -> String,
    /// A whole number as amounts are compared with it.
    pub(super) as_amount: fn(&str) -> String,
    /// The slot of the record with this key, where this is the last one that is counted in slot 0. Nothing
    /// where one writer goes at a time.
    pub(super) slot: Option<fn(key: &str, floor: &str) -> String>,
    /// A random number that no day has had yet.
    pub(super) revision: &'static str,
    /// The slot in which a connection gives a day another number.
    pub(super) own_slot: Option<&'static str>,
    /// What follows an insertion, so that a row of this key that is there already is changed.
    pub(super) on_conflict: fn(key: &str, change: &str) -> String,
    /// What an insertion was given for a column, in such a change.
    pub(super) given: fn(&str) -> String,
    /// What follows the columns of a table.
    pub(super) table_end: &'static str,
    /// The same of one whose rows are few, or known by a number.
    pub(super) plain_end: &'static str,
    /// What a column of a room is declared as.
    pub(super) room: fn(Room) -> String,
    /// What makes the triggers.
    pub triggers: fn() -> Vec<String>,
    /// How the tables are made anew by which texts are found.
    pub(super) texts: fn() -> Vec<Anew>,
}

/// A table that is made anew.
#[derive(Debug)]
pub struct Anew {
    /// The table.
    pub table: &'static str,
    /// What empties and fills it, one after the other.
    pub statements: Vec<String>,
}

/// 10^4 in units of 10^-5.
const PART: &str = "1000000000";

impl Terms {
    /// The columns that a row of a table is known by.
    pub fn known_by(&self, kept: &Kept) -> Vec<&'static str> {
        let by = kept.by.iter().map(|group| group.column);
        by.chain(self.slot.map(|_| SLOT)).collect()
    }

    /// What a record is counted under, whose columns have this before their names.
    pub(super) fn groups(&self, kept: &Kept, row: &str) -> Vec<String> {
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

    /// What a record adds to a sum.
    pub(super) fn summand(&self, sum: &Sum, row: &str) -> String {
        let quantity = format!("{row}quantity");
        let price = (self.units)(&format!("{row}price"));
        let by = self.divided_by;
        // A quantity times a price may be more than 64 bits hold.
        let whole = format!(
            "({quantity} * ({price} {by} {PART}) + {quantity} * ({price} % {PART}) {by} {PART})"
        );
        match sum.of {
            Summand::One => "1".to_owned(),
            Summand::Whole(column) => format!("{row}{column}"),
            Summand::High(column) => (self.high)(&format!("{row}{column}")),
            Summand::Low(column) => (self.low)(&format!("{row}{column}")),
            Summand::WorthHigh => format!("{whole} {by} {PART}"),
            Summand::WorthMiddle => format!("{whole} % {PART}"),
            Summand::WorthLow => format!("{quantity} * ({price} % {PART}) % {PART}"),
        }
    }

    /// What all of some records add to a sum.
    pub(super) fn total(&self, sum: &Sum) -> String {
        match sum.of {
            Summand::One => "count(*)".to_owned(),
            _ => format!("sum({})", self.summand(sum, "")),
        }
    }

    /// The slot that a record is counted in, asked of the database.
    pub(super) fn slot(&self, of: &Records, row: &str) -> Option<String> {
        let floor = floor(of);
        self.slot.map(|slot| slot(&format!("{row}{}", of.key), &floor))
    }
}

/// Asks for the last key that is counted in slot 0.
pub(super) fn floor(of: &Records) -> String {
    format!("(SELECT {} FROM {})", of.floor, SLOTS)
}

/// The remainder of a key that is its slot.
pub(super) fn remainder(key: &str) -> String {
    format!("{key} % {SLOT_COUNT}")
}
