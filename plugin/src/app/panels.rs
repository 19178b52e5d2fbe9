//! The panel of sales on the first page of the administration. It is made from the documents of the
//! report, so that both always show the same numbers, and reads no table itself.

use std::collections::BTreeMap;

use host_interface::{Chart, Panel, PanelContent, Table};
use serde::Deserialize;
use time::Date;
use time::macros::format_description;

use crate::error::Error;

/// The panel's name.
pub(super) const SALES: &str = "sales";

/// How many documents of a report are read at most. This covers more currencies than anyone
/// compares.
const DOCUMENTS: usize = 5;

/// How many rows are requested in a document: the maximum.
const ROWS: usize = 100;

/// How many currencies get a chart; those with the most orders come first.
const CHARTS: usize = 3;

/// The panels to declare to the host.
pub(super) fn declared() -> [Panel; 1] {
    [Panel::new(SALES, "Sales of the last 30 days", "store.view", "com_shop.reports")]
}

/// The parts of the report that have been read so far.
#[derive(Default)]
pub(super) struct Sales {
    documents: usize,
    days: Vec<Day>,
    total: usize,
    totals: Vec<Sums>,
}

impl Sales {
    /// The query for the next document, until all have been read.
    pub(super) fn missing(&self) -> Option<String> {
        let complete = self.documents > 0 && self.days.len() >= self.total;
        let offset = self.documents * ROWS;
        (!complete && self.documents < DOCUMENTS)
            .then(|| format!("page[limit]={ROWS}&page[offset]={offset}"))
    }

    /// Adds a document of the report.
    pub(super) fn add(&mut self, document: &[u8]) -> Result<(), Error> {
        let Document { data, meta } = serde_json::from_slice(document)?;
        self.documents += 1;
        self.days.extend(data.into_iter().map(|row| row.attributes));
        self.total = meta.total;
        self.totals = meta.totals;
        Ok(())
    }

    /// The panel.
    pub(super) fn content(self) -> PanelContent {
        content(self.days, self.totals)
    }
}

#[derive(Deserialize)]
struct Document {
    data: Vec<Row>,
    meta: Meta,
}

#[derive(Deserialize)]
struct Row {
    attributes: Day,
}

#[derive(Deserialize)]
struct Day {
    period_start: String,
    currency_code: String,
    orders: i64,
    net_sales: String,
}

#[derive(Deserialize)]
struct Meta {
    total: usize,
    totals: Vec<Sums>,
}

/// The sums of a currency.
#[derive(Deserialize)]
struct Sums {
    currency_code: String,
    orders: i64,
    items_sold: i64,
    net_sales: String,
    average_order_value: String,
}

fn content(days: Vec<Day>, mut totals: Vec<Sums>) -> PanelContent {
    totals.retain(|sums| sums.orders > 0);
    totals.sort_by(|left, right| {
        (right.orders, &left.currency_code).cmp(&(left.orders, &right.currency_code))
    });
    if totals.is_empty() {
        return PanelContent::new().note("Nothing was sold.");
    }
    let mut by_currency: BTreeMap<String, Vec<Day>> = BTreeMap::new();
    for day in days {
        by_currency.entry(day.currency_code.clone()).or_default().push(day);
    }
    let charts = totals.iter().take(CHARTS).filter_map(|sums| {
        let days = by_currency.get(&sums.currency_code)?;
        Some(chart(sums, days))
    });
    let content = charts.fold(PanelContent::new(), PanelContent::chart);
    let columns = ["Currency", "Orders", "Items", "Net sales", "Per order"];
    content.table(totals.into_iter().fold(Table::new(columns), |table, sums| {
        table.row([
            sums.currency_code,
            sums.orders.to_string(),
            sums.items_sold.to_string(),
            sums.net_sales,
            sums.average_order_value,
        ])
    }))
}

fn chart(sums: &Sums, days: &[Day]) -> Chart {
    let Sums { currency_code: currency, orders, net_sales, .. } = sums;
    let best = days.iter().max_by_key(|day| units(&day.net_sales));
    let most = best.map_or_else(String::new, |day| format!("{} {currency}", day.net_sales));
    let description = format!(
        "{net_sales} {currency} in {}, at most {most} on one day. The table shows all sums.",
        orders_in_words(*orders)
    );
    let chart =
        Chart::bars(currency, format!("Net sales in {currency} by day"), description).highest(most);
    days.iter().fold(chart, |chart, day| {
        let (label, orders) = (short(&day.period_start), orders_in_words(day.orders));
        let text = format!("{label}: {} {currency}, {orders}", day.net_sales);
        chart.point(label, text, &day.net_sales)
    })
}

fn orders_in_words(orders: i64) -> String {
    if orders == 1 { "1 order".to_owned() } else { format!("{orders} orders") }
}

/// A day in a form for people.
fn short(day: &str) -> String {
    let read = Date::parse(day, format_description!("[year]-[month]-[day]"));
    let written = read.ok().and_then(|date| {
        date.format(format_description!("[day padding:none] [month repr:short]")).ok()
    });
    written.unwrap_or_else(|| day.to_owned())
}

/// An amount as a whole number of its smallest unit, so that amounts can be compared.
fn units(amount: &str) -> i128 {
    const PLACES: usize = 5;
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    format!("{whole}{fraction:0<PLACES$}").parse().unwrap_or_default()
}
