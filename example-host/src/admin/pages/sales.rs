//! The sales of the last days, as an extension reports them to whoever has signed in: asked by the
//! same way as from outside, so that nobody sees here what they may not see there. Knows of the
//! report what its document says, and no table.

use std::collections::BTreeMap;

use axum::http::{Method, Request, StatusCode, header};
use serde::Deserialize;
use time::Date;
use time::macros::format_description;

use crate::site::BASE_PATH;

use super::chart::{Chart, Shown};
use crate::admin::problem::Problem;
use crate::admin::visit::Visit;

/// The route that answers with the report.
const ROUTE: &str = "reports.sales";

/// How many rows are asked for at once, which is as many as are given.
const ROWS: usize = 100;

/// How often more rows are asked for. Beyond that there are more currencies than anybody compares.
const PAGES: usize = 5;

/// For how many currencies a chart is drawn, those with the most orders first.
const CHARTS: usize = 3;

/// What there is to say of sales.
pub(crate) enum Sales {
    /// No extension reports any.
    Unknown,
    /// They cannot be shown, for this reason.
    Hidden(String),
    /// Nothing was sold.
    None,
    Sold(Sold),
}

/// What was sold.
pub(crate) struct Sold {
    pub(crate) charts: Vec<Chart>,
    /// The sums of each currency.
    pub(crate) totals: Vec<Sums>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Sums {
    pub(crate) currency_code: String,
    pub(crate) orders: i64,
    pub(crate) items_sold: i64,
    pub(crate) net_sales: String,
    pub(crate) average_order_value: String,
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

/// What an error document says.
#[derive(Deserialize)]
struct Errors {
    errors: Vec<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    detail: String,
}

/// The sales of the last 30 days.
pub(crate) async fn of_the_last_days(visit: &Visit) -> Result<Sales, Problem> {
    let state = visit.site.state();
    let found = state.descriptions().iter().find_map(|extension| {
        let route = extension.routes.iter().find(|route| route.name == ROUTE)?;
        Some((extension, route.pattern.as_str()))
    });
    let Some((extension, pattern)) = found else { return Ok(Sales::Unknown) };
    if !state.snapshot().enabled(&extension.name) {
        return Ok(Sales::Hidden(format!(
            "The extension {} is disabled, so there are no sales to show.",
            extension.name
        )));
    }
    let mut days = Vec::new();
    let mut totals = Vec::new();
    for page in 0..PAGES {
        let offset = page * ROWS;
        let request = Request::builder()
            .method(Method::GET)
            .uri(format!("{BASE_PATH}/{pattern}?page[limit]={ROWS}&page[offset]={offset}"))
            .header(header::ACCEPT, &extension.media_type)
            .body(Vec::new());
        let response = visit.ask(request.map_err(failed)?).await?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let said: Option<Errors> = serde_json::from_slice(response.body()).ok();
                let why = said.and_then(|said| said.errors.into_iter().next());
                let why = why.map(|fault| fault.detail).unwrap_or_default();
                return Ok(Sales::Hidden(format!("You may not see the sales. {why}")));
            }
            status => {
                return Ok(Sales::Hidden(format!(
                    "{} currently answers with status {status}.",
                    extension.name
                )));
            }
        }
        let document: Document = serde_json::from_slice(response.body()).map_err(failed)?;
        totals = document.meta.totals;
        days.extend(document.data.into_iter().map(|row| row.attributes));
        if days.len() >= document.meta.total {
            break;
        }
    }
    Ok(sold(days, totals))
}

fn sold(days: Vec<Day>, mut totals: Vec<Sums>) -> Sales {
    totals.retain(|sums| sums.orders > 0);
    totals.sort_by(|left, right| {
        (right.orders, &left.currency_code).cmp(&(left.orders, &right.currency_code))
    });
    if totals.is_empty() {
        return Sales::None;
    }
    let mut by_currency: BTreeMap<String, Vec<Day>> = BTreeMap::new();
    for day in days {
        by_currency.entry(day.currency_code.clone()).or_default().push(day);
    }
    let charts = totals.iter().take(CHARTS).filter_map(|sums| {
        let days = by_currency.remove(&sums.currency_code)?;
        Some(chart(sums, &days))
    });
    Sales::Sold(Sold { charts: charts.collect(), totals })
}

fn chart(sums: &Sums, days: &[Day]) -> Chart {
    let Sums { currency_code: currency, orders, net_sales, .. } = sums;
    let ends = [days.first(), days.last()].map(|day| day.map_or_else(String::new, shortly));
    let shown = days.iter().map(|day| Shown {
        label: format!("{}: {} {currency}, {}", shortly(day), day.net_sales, of_orders(day.orders)),
        amounts: vec![("usual", units(&day.net_sales))],
    });
    let best = days.iter().max_by_key(|day| units(&day.net_sales));
    let most = best.map_or_else(String::new, |day| format!("{} {currency}", day.net_sales));
    Chart::new(
        format!("sales-{currency}"),
        format!("Net sales in {currency} by day"),
        format!(
            "{net_sales} {currency} in {}, at most {most} on one day. The table shows all sums.",
            of_orders(*orders)
        ),
        ends,
        shown.collect(),
    )
    .up_to(most)
}

fn of_orders(orders: i64) -> String {
    if orders == 1 { "1 order".to_owned() } else { format!("{orders} orders") }
}

/// A day as people write it.
fn shortly(day: &Day) -> String {
    let read = Date::parse(&day.period_start, format_description!("[year]-[month]-[day]"));
    let written = read.ok().and_then(|date| {
        date.format(format_description!("[day padding:none] [month repr:short]")).ok()
    });
    written.unwrap_or_else(|| day.period_start.clone())
}

/// An amount as a whole number of its smallest part, so that amounts can be compared. What was paid
/// back beyond what was sold is no height.
fn units(amount: &str) -> u128 {
    const PLACES: usize = 5;
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    format!("{whole}{fraction:0<PLACES$}").parse().unwrap_or_default()
}

fn failed(error: impl std::fmt::Display) -> Problem {
    tracing::error!(%error, "the sales could not be read");
    Problem::Failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_compared_exactly() {
        assert_eq!(units("20.00"), 2_000_000);
        assert_eq!(units("0.12345"), 12_345);
        assert_eq!(units("7"), 700_000);
        assert_eq!(units("-3.00"), 0);
    }
}
