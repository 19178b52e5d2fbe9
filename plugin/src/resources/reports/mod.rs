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

use host_interface::{Method, Response};
use serde_json::{Map, Value as Json, json};

use crate::app::Call;
use crate::crud;
use crate::document;
use crate::error::Error;
use crate::request::{Listing, Scope};
use crate::resource::{
    Field, Filter, Gives, Report, Resource, Special, choice, date_from, date_to, equals, moment,
    text,
};
use crate::value::{Cell, Value, decimal_text};

use days::Days;
use period::Range;

pub(super) const REPORTS: Resource = Resource {
    kind: "reports",
    singular: "report",
    crud: false,
    special: &[
        report("reports/sales", "sales", &sales::REPORT, |call, _| Box::pin(sales::show(call))),
        report("reports/products", "products", &products::REPORT, |call, _| {
            Box::pin(products::show(call))
        }),
        report("reports/customers", "customers", &customers::REPORT, |call, _| {
            Box::pin(customers::show(call))
        }),
        report("reports/inventory", "inventory", &inventory::REPORT, |call, _| {
            Box::pin(inventory::show(call))
        }),
    ],
    ..Resource::CRUD
};

const fn report(
    path: &'static str,
    name: &'static str,
    report: &'static Report,
    run: crate::resource::Operation,
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

/// What days have come to, for those reports that add them up.
#[derive(Debug, Default)]
pub struct Daily {
    products: Days<products::Sold>,
    customers: Days<customers::Spent>,
}

/// What a report is asked for.
struct Asked {
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
        let moment = |day, time: &str| vec![Value::Moment(format!("{day}T{time}"))];
        [moment(from, "00:00:00"), moment(to, "23:59:59"), self.statuses.clone()]
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

    /// The answer: rows with their ids, the number of all of them, and what stands beside.
    fn answer(
        &self,
        call: &Call<'_>,
        rows: &[(String, Map<String, Json>)],
        total: i64,
        beside: Vec<(&'static str, Json)>,
    ) -> Result<Response, Error> {
        let beside: Map<String, Json> =
            beside.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (listing, path) = (&self.listing, call.request.path());
        Ok(crud::answer(200, document::computed("reports", rows, total, listing, path, &beside)?))
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
