//! The panel of refunds on the first page of the administration: the latest ones, of all orders.

use host_interface::{PanelContent, Table, with_separators};

use crate::error::Error;
use crate::model::value::{Cell, Kind, Value, decimal_text};
use crate::service::call::Shop;
use crate::sql;

/// How many are shown.
const SHOWN: i64 = 10;

/// The moment, the reference of the order, the amount, its currency, and the reason.
const LATEST: &str = "\
    SELECT r.created_on AS c0, o.order_id AS c1, r.amount AS c2, r.currency_code AS c3, \
    r.reason AS c4 FROM shop_orderrefunds r JOIN shop_orders o ON o.shop_order_id = r.order_key \
    ORDER BY r.shop_orderrefund_id DESC LIMIT ?";
const COLUMNS: &[Kind] = &[Kind::DateTime, Kind::WORD, Kind::MONEY, Kind::WORD, Kind::WORD];

/// The panel.
pub(super) async fn content(shop: &Shop) -> Result<PanelContent, Error> {
    let latest = sql::Table::new(LATEST, vec![vec![Value::Int(SHOWN)]], COLUMNS);
    let cells = shop.store.table(latest).await?;
    let rows = cells.rows()?;
    if rows.is_empty() {
        return Ok(PanelContent::new().note("Nothing was given back."));
    }
    let mut table = Table::new(["Day", "Order", "Amount", "Reason"]);
    for row in &rows {
        table = table.row(shown(row)?);
    }
    Ok(PanelContent::new().table(table))
}

fn shown(row: &[Cell<'_>]) -> Result<[String; 4], Error> {
    let [made, order, amount, currency, reason] = row else {
        return Err(Error::Contract("a row of refunds has other columns"));
    };
    let made = made.text("created_on")?;
    let day = made.split_once('T').map_or(made, |(day, _)| day);
    let amount = with_separators(decimal_text(amount.int("amount")?, 5, 2));
    let amount = format!("{amount} {}", currency.text("currency_code")?);
    let [order, reason] = [order.text("order_id")?, reason.text("reason")?].map(str::to_owned);
    Ok([day.to_owned(), order, amount, reason])
}
