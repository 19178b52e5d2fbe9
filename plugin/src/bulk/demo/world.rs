//! What a demonstration is of: how much of everything there is to be, and how a kind of record is made.
//! Knows no record.

use std::collections::HashMap;
use std::ops::Range;

use time::Date;

use crate::error::{Error, Fault, FaultKind};
use crate::sql::RowsOf;

/// What the records of a step are made from.
pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) products: u64,
    pub(super) customers: u64,
    pub(super) orders: u64,
    pub(super) today: Date,
    /// Whether the tables are without triggers, so that what these would add is made here.
    pub(super) bare: bool,
}

/// One kind of record with what belongs to it.
pub(super) struct Step {
    pub(super) name: &'static str,
    /// Gives how many records there are and the greatest key.
    pub(super) count: &'static str,
    pub(super) wanted: fn(&World) -> u64,
    /// Adds the rows of the record with this number, from 0.
    pub(super) make: fn(&World, u64, &mut [RowsOf]),
    /// The tables and columns that the rows go to, parents first.
    pub(super) tables: fn() -> Vec<RowsOf>,
}

impl Step {
    /// The rows of the records with these numbers.
    pub(super) fn rows(&self, world: &World, numbers: Range<u64>) -> Vec<RowsOf> {
        let mut tables = (self.tables)();
        for number in numbers {
            (self.make)(world, number, &mut tables);
        }
        tables
    }

    /// How many records there are, of what may be this statement's numbers.
    pub(super) fn done(counted: &[i64]) -> Result<u64, Error> {
        match counted {
            [done, greatest] if done == greatest => Ok(done.unsigned_abs()),
            [_, _] => Err(not_empty()),
            _ => Err(Error::Contract("a count is two numbers")),
        }
    }
}

/// What the records of a shop refer to.
pub(super) struct Setup {
    /// The keys of the countries that the shop sells to, each with one of its zones.
    pub(super) countries: HashMap<String, (i64, Option<i64>)>,
}

/// The store is not the demonstration's own.
pub(super) fn not_empty() -> Error {
    let detail = "The store already has records; demo data can only be added to an empty store.";
    Fault::new(FaultKind::Refused, detail).into()
}
