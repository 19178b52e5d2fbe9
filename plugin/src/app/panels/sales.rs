//! The panel of sales on the first page of the administration. It is made from the sums of the report, so
//! that both always show the same numbers, and reads no table itself.

use host_interface::{Chart, PanelContent, RecordLink, Table, with_separators};
use time::Date;
use time::macros::format_description;

use crate::error::Error;
use crate::model::value::money_text;
use crate::reports::Asked;
use crate::reports::sales::{Sales, Sums};
use crate::service::call::Shop;
use crate::store;

/// How many currencies get a chart; those with the most orders come first.
const CHARTS: usize = 3;

/// The panel of the report as it is without filters.
pub(super) async fn content(shop: &Shop) -> Result<PanelContent, Error> {
    let today = time::UtcDateTime::now().date();
    let asked = Asked::read(("", usize::MAX), "", &[], &*shop.parameters.current()?, today)?;
    Ok(drawn(&store::retry(|| Sales::read(&asked, shop.reports())).await?))
}

fn drawn(sales: &Sales) -> PanelContent {
    let totals = sales.currencies().map(|currency| (currency, sales.total(currency)));
    let mut totals: Vec<(&str, Sums)> = totals.filter(|(_, sums)| sums.orders > 0).collect();
    // Of those with the same number of orders, the first in the alphabet stays the first.
    totals.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.orders));
    if totals.is_empty() {
        return PanelContent::new().note("Nothing was sold.");
    }
    let charts = totals.iter().take(CHARTS).map(|(currency, sums)| chart(sales, currency, sums));
    let content = charts.fold(PanelContent::new(), PanelContent::chart);
    let columns = ["Currency", "Orders", "Items", "Net sales", "Per order"];
    let orders = orders_of(sales);
    let table = totals.into_iter().fold(Table::new(columns), |table, (currency, sums)| {
        let cells = [
            currency.to_owned(),
            with_separators(sums.orders),
            with_separators(sums.items),
            money(sums.net()),
            money(sums.net_per_order()),
        ];
        table.row_about(orders.clone(), cells)
    });
    // Lists have no filter for that.
    content
        .table(table)
        .note("Rows lead to the orders of these days, whatever their currency and status.")
}

/// The list of the orders of all days.
fn orders_of(sales: &Sales) -> RecordLink {
    let ends =
        [sales.periods.first().map(|of| of.range.from), sales.periods.last().map(|of| of.range.to)];
    let days = ["filter[date_from]", "filter[date_to]"].into_iter().zip(ends);
    let days = days.filter_map(|(name, day)| Some((name, day?.to_string())));
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(days).finish();
    RecordLink::list("orders", query)
}

fn chart(sales: &Sales, currency: &str, total: &Sums) -> Chart {
    let days = sales.periods.iter().map(|day| (day.range.from, day.sums(currency)));
    let best = days.clone().map(|(_, sums)| sums.net()).max();
    let most = best.map_or_else(String::new, |net| format!("{} {currency}", money(net)));
    let description = format!(
        "{} {currency} in {}, at most {most} on one day. The table shows all sums.",
        money(total.net()),
        orders_in_words(total.orders)
    );
    let chart =
        Chart::bars(currency, format!("Net sales in {currency} by day"), description).highest(most);
    days.fold(chart, |chart, (day, sums)| {
        let (label, net) = (short(day), sums.net());
        let orders = orders_in_words(sums.orders);
        let text = format!("{label}: {} {currency}, {orders}", money(net));
        chart.point(label, text, money_text(net))
    })
}

/// An amount as the report shows it, with separators.
fn money(units: i128) -> String {
    with_separators(money_text(units))
}

fn orders_in_words(orders: i64) -> String {
    if orders == 1 { "1 order".to_owned() } else { format!("{} orders", with_separators(orders)) }
}

/// A day in a form for people.
fn short(day: Date) -> String {
    let written = day.format(format_description!("[day padding:none] [month repr:short]"));
    written.unwrap_or_else(|_| day.to_string())
}
