//! What of each product was sold, the best first.

use host_interface::Response;
use serde_json::{Map, Value as Json};

use super::{ASKED, Asked, CURRENCY_CODE, average};
use crate::app::Call;
use crate::document::attributes;
use crate::error::Error;
use crate::resource::{Report, count, int, money, text};
use crate::sql::Table;
use crate::value::{Cell, Kind};

pub(super) static REPORT: Report = Report {
    view: "reports.products",
    of: || &ASKED,
    row: &[
        int("product_id").nullable(),
        text("sku", 255),
        text("name", 255),
        CURRENCY_CODE,
        count("quantity_sold"),
        count("orders"),
        money("revenue"),
        money("average_price"),
        int("stock").nullable(),
    ],
    totals: &[CURRENCY_CODE, count("quantity_sold"), count("orders"), money("revenue")],
    of_days: true,
    by_currency: true,
    previous: false,
};

/// The columns of the answer: a row of the page (0) or of the totals (1), the product or how many
/// there are, its SKU and name, the currency and its decimals, the sums, and what is in stock.
const COLUMNS: &[Kind] = &[
    Kind::COUNT,
    Kind::COUNT,
    Kind::WORD,
    Kind::WORD,
    Kind::WORD,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::MONEY,
    Kind::COUNT,
];

/// A product that has gone is shown as its last line has it. Lines that name no product are
/// counted together, so that the revenues add up to all that was sold.
const SOLD: &str = "\
    WITH k AS (SELECT i.product_id, o.currency_code, sum(i.orderitem_quantity) AS quantity, \
    count(DISTINCT i.order_key) AS orders, sum(i.orderitem_finalprice) AS revenue, \
    max(i.shop_orderitem_id) AS latest \
    FROM shop_orders o JOIN shop_orderitems i ON i.order_key = o.shop_order_id \
    WHERE o.created_on >= ? AND o.created_on <= ? AND o.order_state_id IN (?) \
    GROUP BY i.product_id, o.currency_code) \
    SELECT page.* FROM (SELECT 0 AS c0, s.product_id AS c1, \
    CASE WHEN s.product_id IS NULL THEN '' ELSE coalesce(p.sku, i.orderitem_sku) END AS c2, \
    CASE WHEN s.product_id IS NULL THEN '' ELSE coalesce(p.product_name, i.orderitem_name) END \
    AS c3, s.currency_code AS c4, coalesce(c.currency_num_decimals, 2) AS c5, s.quantity AS c6, \
    s.orders AS c7, s.revenue AS c8, p.quantity AS c9 \
    FROM (SELECT product_id, currency_code, quantity, orders, revenue, latest FROM k \
    ORDER BY revenue DESC, coalesce(product_id, 0), currency_code LIMIT ? OFFSET ?) s \
    JOIN shop_orderitems i ON i.shop_orderitem_id = s.latest \
    LEFT JOIN shop_products p ON p.shop_product_id = s.product_id \
    LEFT JOIN shop_currencies c ON c.currency_code = s.currency_code) page \
    UNION ALL SELECT total.* FROM (SELECT 1 AS c0, g.products AS c1, '' AS c2, '' AS c3, \
    g.currency_code AS c4, 0 AS c5, g.quantity AS c6, n.orders AS c7, g.revenue AS c8, 0 AS c9 \
    FROM (SELECT currency_code, count(*) AS products, sum(quantity) AS quantity, \
    sum(revenue) AS revenue FROM k GROUP BY currency_code) g \
    JOIN (SELECT o.currency_code, count(*) AS orders FROM shop_orders o \
    WHERE o.created_on >= ? AND o.created_on <= ? AND o.order_state_id IN (?) AND EXISTS \
    (SELECT 1 FROM shop_orderitems i WHERE i.order_key = o.shop_order_id) \
    GROUP BY o.currency_code) n ON n.currency_code = g.currency_code) total";

pub(super) async fn show(call: &Call<'_>) -> Result<Response, Error> {
    let asked = Asked::read(call)?;
    let [from, to] = asked.moments();
    let [limit, offset] = asked.limits();
    let statuses = || asked.statuses.clone();
    let binds = vec![from.clone(), to.clone(), statuses(), limit, offset, from, to, statuses()];
    let sold = call.app.reports().table(Table::new(SOLD, binds, COLUMNS)).await?;
    let mut sold = sold.rows()?;
    let text = |row: &[Cell<'_>], at: usize| row[at].text().to_owned();
    // An engine need not keep the order of the page that it took.
    sold.sort_by_key(|row| (-row[8].int(), row[1].int(), text(row, 4)));
    let mut rows = Vec::new();
    let mut totals: Vec<Map<String, Json>> = Vec::new();
    let mut total = 0;
    for row in &sold {
        let currency = text(row, 4);
        if row[0].int() == 1 {
            total += row[1].int();
            totals.push(attributes(REPORT.totals, &[&row[4..5], &row[6..9]].concat())?);
            continue;
        }
        let product = match &row[1] {
            Cell::Int(product) => product.to_string(),
            _ => "none".to_owned(),
        };
        let price = average(i128::from(row[8].int()), row[6].int(), row[5].int());
        let cells = [&row[1..5], &row[6..9], &[price], &row[9..10]].concat();
        rows.push((format!("products-{product}-{currency}"), attributes(REPORT.row, &cells)?));
    }
    totals.sort_by_key(|total| total["currency_code"].to_string());
    asked.answer(call, &rows, total, vec![asked.range(), ("totals", totals.into())])
}
