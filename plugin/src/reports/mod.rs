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

use host_interface::{Method, Response};
use serde_json::{Map, Value as Json, json};

use crate::app::Call;
use crate::error::Error;
use crate::model::moment;
use crate::model::resource::{
    Field, Filter, Gives, Report, Resource, Special, Step, choice, date_from, date_to, equals,
    moment, text,
};
use crate::model::value::{Cell, Value, decimal_text};
use crate::service::crud;
use crate::store::{self, Store};
use crate::wire::document;
use crate::wire::request::{Listing, Scope};

use days::Days;
use period::{Range, Unit};
use together::Together;

pub(crate) const REPORTS: Resource = Resource {
    kind: "reports",
    singular: "report",
    crud: false,
    special: &[
        report("reports/sales", "sales", &sales::REPORT, |call, _| {
            Box::pin(show(call, &sales::REPORT, |asked, sources| {
                Box::pin(sales::made(asked, sources))
            }))
        }),
        report("reports/products", "products", &products::REPORT, |call, _| {
            Box::pin(show(call, &products::REPORT, |asked, sources| {
                Box::pin(products::made(asked, sources))
            }))
        }),
        report("reports/customers", "customers", &customers::REPORT, |call, _| {
            Box::pin(show(call, &customers::REPORT, |asked, sources| {
                Box::pin(customers::made(asked, sources))
            }))
        }),
        report("reports/inventory", "inventory", &inventory::REPORT, |call, _| {
            Box::pin(show(call, &inventory::REPORT, |asked, sources| {
                Box::pin(inventory::made(asked, sources))
            }))
        }),
    ],
    ..Resource::CRUD
};

const fn report(
    path: &'static str,
    name: &'static str,
    report: &'static Report,
    run: crate::model::resource::Operation,
) -> Special {
    Special {
        method: Method::Get,
        path,
        name,
        action: Some("store.view"),
        asset: None,
        takes: None,
        gives: Gives::Report(report),
        run,
    }
}

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

/// How the document of a report is made.
type Made = for<'a> fn(&'a Asked, &'a Sources) -> Step<'a, Vec<u8>>;

/// Answers with a report, which is computed for all who ask for it at the same moment, and not on the
/// thread of who asks.
async fn show(call: &Call<'_>, report: &Report, made: Made) -> Result<Response, Error> {
    let asked = Asked::read(call)?;
    if report.of_days {
        asked.range.periods(Unit::of(&asked.listing.conditions))?;
    }
    let compute = |asked: Asked| {
        let sources =
            Sources { store: call.app.reports().clone(), daily: Arc::clone(&call.app.daily) };
        async move { store::persist(|| made(&asked, &sources)).await }
    };
    Ok(crud::answer(200, call.app.daily.together.ask(asked, compute).await?))
}

/// What a report is asked for.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
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
    fn read(call: &Call<'_>) -> Result<Self, Error> {
        let listing = Listing::read(call.request.query(), Scope::All(&ASKED))?;
        let range = Range::of(&listing.conditions, time::UtcDateTime::now().date());
        let parameters = call.app.parameters.current()?;
        Ok(Self {
            path: call.request.path().to_owned(),
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
