//! Reports: what was sold, to whom, and what is left. Each is one question to the database, about
//! sums that it has kept or makes itself, and a page of rows with the sums of the whole range
//! beside them.
//!
//! Amounts of two currencies are never added up: there is a row, and a sum, for each.

mod customers;
mod days;
mod inventory;
mod period;
mod products;
mod ranking;
mod sales;
mod together;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json, json};

use crate::error::Error;
use crate::model::field::{Field, choice, moment, text};
use crate::model::moment;
use crate::model::parameters::Parameters;
use crate::model::resource::{Filter, Report, Resource, date_from, date_to, equals};
use crate::model::value::{Cell, Value, decimal_text};
use crate::store::{self, Store};
use crate::wire::document;
use crate::wire::request::{Listing, Scope};

use days::Days;
use period::{Range, Unit};
use together::Together;

/// A report: what it looks like, and how its document is made.
#[derive(Debug)]
pub struct Maker {
    /// What it looks like.
    pub report: &'static Report,
    make: Make,
}

/// How the document of a report is made.
type Make = for<'a> fn(&'a Asked, &'a Sources) -> BoxFuture<'a, Result<Vec<u8>, Error>>;

/// What was sold in each period.
pub static SALES: Maker =
    Maker { report: &sales::REPORT, make: |asked, sources| Box::pin(sales::made(asked, sources)) };

/// What was sold of each product.
pub static PRODUCTS: Maker = Maker {
    report: &products::REPORT,
    make: |asked, sources| Box::pin(products::made(asked, sources)),
};

/// What each customer spent.
pub static CUSTOMERS: Maker = Maker {
    report: &customers::REPORT,
    make: |asked, sources| Box::pin(customers::made(asked, sources)),
};

/// What is in stock of each product.
pub static INVENTORY: Maker = Maker {
    report: &inventory::REPORT,
    make: |asked, sources| Box::pin(inventory::made(asked, sources)),
};

/// What every report can be asked for. Without fields there is no order but the report's own.
static ASKED: Resource = Resource {
    kind: "reports",
    singular: "report",
    hidden: &[moment("created_on"), choice("period", &["day", "week", "month", "year"])],
    filters: FILTERS,
    crud: false,
    ..Resource::CRUD
};

const FILTERS: &[Filter] = &[date_from("created_on"), date_to("created_on"), equals("period")];

/// The code of the currency that a row's amounts are in.
const CURRENCY_CODE: Field = text("currency_code", 3);

/// What days have come to, for those reports that add them up, and the reports that are being computed.
#[derive(Debug, Default)]
pub struct Daily {
    products: Days<products::Sold>,
    customers: Days<customers::Spent>,
    together: Together<Asked, Vec<u8>>,
}

impl Daily {
    /// How many reports have been computed.
    pub fn computed(&self) -> u64 {
        self.together.computed()
    }
}

/// What a report is made from.
struct Sources {
    store: Store,
    daily: Arc<Daily>,
}

/// Gives the document of a report, which is computed for all who ask for it at the same moment, and not
/// on the thread of who asks.
///
/// # Errors
/// When the range has more periods than a report shows, and those of the database.
pub async fn show(
    asked: Asked,
    maker: &'static Maker,
    store: &Store,
    daily: &Arc<Daily>,
) -> Result<Vec<u8>, Error> {
    if maker.report.of_days {
        asked.range.periods(Unit::of(&asked.listing.conditions))?;
    }
    let compute = |asked: Asked| {
        let sources = Sources { store: store.clone(), daily: Arc::clone(daily) };
        async move { store::persist(|| (maker.make)(&asked, &sources)).await }
    };
    daily.together.ask(asked, compute).await
}

/// What a report is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The path of the report.
    path: String,
    listing: Listing,
    range: Range,
    /// The keys of the statuses whose orders count.
    statuses: Vec<Value>,
    /// The code of the store's own currency.
    currency: String,
    low_stock: i64,
}

impl Asked {
    /// Reads what a request to a report asks for.
    ///
    /// # Errors
    /// All faults of the query together.
    pub fn read(path: &str, query: &str, parameters: &Parameters) -> Result<Self, Error> {
        let listing = Listing::read(query, Scope::All(&ASKED))?;
        let range = Range::of(&listing.conditions, time::UtcDateTime::now().date());
        Ok(Self {
            path: path.to_owned(),
            listing,
            range,
            statuses: parameters.report_statuses.iter().copied().map(Value::Int).collect(),
            currency: parameters.default_currency.clone(),
            low_stock: parameters.low_stock_threshold,
        })
    }

    /// What the orders of a range that count have, as values to bind: the first moment, the last one,
    /// and their statuses.
    fn orders_of(&self, range: Range) -> [Vec<Value>; 3] {
        let Range { from, to } = range;
        let [first, _] = moment::bounds(from);
        let [_, last] = moment::bounds(to);
        [vec![Value::Moment(first)], vec![Value::Moment(last)], self.statuses.clone()]
    }

    /// What a page passes over and how many rows it has, as values to bind.
    fn limits(&self) -> [Vec<Value>; 2] {
        [vec![Value::Int(self.listing.limit)], vec![Value::Int(self.listing.offset)]]
    }

    /// The range as it stands in `meta`.
    fn range(&self) -> (&'static str, Json) {
        let Range { from, to } = self.range;
        ("range", json!({"date_from": from.to_string(), "date_to": to.to_string()}))
    }

    /// The document: rows with their ids, the number of all of them, and what stands beside.
    fn document(
        &self,
        rows: &[(String, Map<String, Json>)],
        total: i64,
        beside: Vec<(&'static str, Json)>,
    ) -> Result<Vec<u8>, Error> {
        let beside: Map<String, Json> =
            beside.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        document::computed("reports", rows, total, &self.listing, &self.path, &beside)
    }
}

/// A sum as a cell: as its text where it is more than the store itself can hold.
fn amount(sum: i128) -> Cell<'static> {
    match i64::try_from(sum) {
        Ok(units) => Cell::Int(units),
        Err(_) => Cell::Text(decimal_text(sum, 5, 2).into()),
    }
}

/// A sum of money in its smallest unit, from the two parts in which it is added up: of 10^4 and of the
/// unit.
fn wide(high: i64, low: i64) -> i128 {
    i128::from(high) * 1_000_000_000 + i128::from(low)
}

/// The sum of amounts divided by their count, rounded half away from zero to the decimals of the
/// currency; nothing on average where nothing was counted.
fn average(sum: i128, count: i64, decimals: i64) -> Cell<'static> {
    let places = u32::try_from(decimals.clamp(0, 5)).unwrap_or(5);
    let unit = 10_i128.pow(5 - places);
    let parts = i128::from(count) * unit;
    if parts == 0 {
        return Cell::Int(0);
    }
    let half = if sum < 0 { -(parts / 2) } else { parts / 2 };
    amount((sum + half) / parts * unit)
}
