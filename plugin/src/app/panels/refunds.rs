//! The panel of refunds on the first page of the administration: the latest ones, of all orders.

use host_interface::{PanelContent, RecordLink, Table, with_separators};

use crate::error::Error;
use crate::model::value::{Value, money_text};
use crate::service::call::Shop;
use crate::sql::{Amount, Rows, Written, row};

/// How many are shown.
const SHOWN: i64 = 10;

row! {
    struct Refund {
        key: i64 = "r.shop_orderrefund_id",
        made: Written = "r.created_on",
        order: String = "o.order_id",
        amount: Amount = "r.amount",
        currency: String = "r.currency_code",
        reason: String = "r.reason",
    }
}

/// The latest refunds, of all orders.
const LATEST: &str = "FROM shop_orderrefunds r JOIN shop_orders o ON o.shop_order_id = r.order_key \
    ORDER BY r.shop_orderrefund_id DESC LIMIT ?";

/// The panel.
pub(super) async fn content(shop: &Shop) -> Result<PanelContent, Error> {
    let latest = Rows::<Refund>::select(LATEST, vec![vec![Value::Int(SHOWN)]]);
    let refunds = shop.store.rows(latest).await?;
    if refunds.is_empty() {
        return Ok(PanelContent::new().note("Nothing was given back."));
    }
    let table = Table::new(["Order", "Day", "Amount", "Reason"]);
    let table = refunds.into_iter().fold(table, |table, refund| {
        table.row_about(RecordLink::one("orderrefunds", refund.key), shown(refund))
    });
    Ok(PanelContent::new().table(table))
}

fn shown(refund: Refund) -> [String; 4] {
    let Refund { made: Written(made), order, amount: Amount(amount), currency, reason, .. } =
        refund;
    let day = made.split_once('T').map_or(&*made, |(day, _)| day);
    let amount = with_separators(money_text(amount));
    [order, day.to_owned(), format!("{amount} {currency}"), reason]
}
