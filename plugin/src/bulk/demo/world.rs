//! The world of a demo store: its size, and how the records of a kind are generated. Independent of
//! the kinds of records.

use std::collections::HashMap;
use std::ops::Range;

use time::Date;

use crate::error::{Error, Fault, FaultKind};
use crate::sql::RowsOf;
use crate::sql::dialect::Dialect;

/// The data from which the records of a step are generated.
pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) products: u64,
    pub(super) customers: u64,
    pub(super) orders: u64,
    pub(super) today: Date,
    /// Whether the triggers of the tables are removed, so that the rows which triggers would add
    /// must be generated here.
    pub(super) bare: bool,
}

/// One kind of record and its generator.
pub(super) struct DemoStep {
    pub(super) name: &'static str,
    /// SQL that returns the number of records and the greatest key.
    pub(super) count: &'static str,
    pub(super) wanted: fn(&World) -> u64,
    /// Adds the rows of the record with this number, from 0.
    pub(super) make: fn(&World, u64, &mut [RowsOf]),
    /// The tables and columns that receive the rows, parents first.
    pub(super) tables: fn() -> Vec<RowsOf>,
    /// The statement that adds what refers to keys given by the engine, when all rows are there. It changes
    /// nothing where that has been done.
    pub(super) last: fn(&Dialect) -> Option<&'static str>,
}

impl DemoStep {
    /// Generates the rows of the records with these numbers.
    pub(super) fn rows(&self, world: &World, numbers: Range<u64>) -> Vec<RowsOf> {
        let mut tables = (self.tables)();
        for number in numbers {
            (self.make)(world, number, &mut tables);
        }
        // Those to which nothing was added have no columns, unless the key is one.
        tables.retain(|rows| !rows.columns.is_empty());
        tables
    }

    /// The number of existing records. Their keys must be those that demo data have.
    pub(super) fn done(counted: &[i64]) -> Result<u64, Error> {
        match counted {
            [done, greatest] if done == greatest => Ok(done.unsigned_abs()),
            [_, _] => Err(not_empty()),
            _ => Err(Error::Contract("a count must consist of two numbers")),
        }
    }
}

/// The records that the records of a demo store refer to.
pub(super) struct Setup {
    /// The countries, by their codes of two letters.
    pub(super) countries: HashMap<String, Country>,
}

/// A country with one of its zones, if it has any.
pub(super) struct Country {
    pub(super) key: i64,
    pub(super) name: String,
    pub(super) zone: Option<(i64, String)>,
}

/// The store has records that are not demo data.
pub(super) fn not_empty() -> Error {
    let detail = "The store already has records; demo data can only be added to an empty store.";
    Fault::new(FaultKind::Refused, detail).into()
}
