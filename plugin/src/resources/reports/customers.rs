//! What each customer has spent, the biggest spender first.

use host_interface::Response;
use serde_json::{Map, Value as Json};

use super::{ASKED, Asked, CURRENCY_CODE, average};
use crate::app::Call;
use crate::document::attributes;
use crate::error::Error;
use crate::resource::{Report, count, email, int, moment, money, text};
use crate::sql::Table;
use crate::value::{Cell, Kind};

pub(super) static REPORT: Report = Report {
    view: "reports.customers",
    of: || &ASKED,
    row: &[
        int("user_id"),
        email("email"),
        text("name", 511),
        CURRENCY_CODE,
        count("orders"),
        money("total_spent"),
        money("average_order_value"),
        moment("first_order_on"),
        moment("last_order_on"),
    ],
    totals: &[CURRENCY_CODE, count("customers"), count("orders"), money("total_spent")],
    of_days: true,
    by_currency: true,
    previous: false,
};

/// The columns of the answer: a row of the page (0) or of the totals (1), the user or how many
/// customers there are, the address of a guest, the address and names of the latest order, the
/// currency and its decimals, the sums, and the moments of the first and the last order.
const COLUMNS: &[Kind] = &[
    Kind::COUNT,
    Kind::COUNT,
    Kind::WORD,
    Kind::WORD,
    Kind::WORD,
    Kind::WORD,
    Kind::WORD,
    Kind::COUNT,
    Kind::COUNT,
    Kind::MONEY,
    Kind::DateTime,
    Kind::DateTime,
];

/// Guests are told apart by their addresses, users by their ids.
const SPENT: &str = "\
    WITH k AS (SELECT user_id, CASE WHEN user_id = 0 THEN user_email_fold ELSE '' END AS guest, \
    currency_code, count(*) AS orders, sum(order_total) AS spent, min(created_on) AS first_on, \
    max(created_on) AS last_on, max(shop_order_id) AS latest FROM shop_orders \
    WHERE created_on >= ? AND created_on <= ? AND order_state_id IN (?) \
    GROUP BY user_id, CASE WHEN user_id = 0 THEN user_email_fold ELSE '' END, currency_code) \
    SELECT page.* FROM (SELECT 0 AS c0, s.user_id AS c1, s.guest AS c2, o.user_email AS c3, \
    o.billing_first_name AS c4, o.billing_last_name AS c5, s.currency_code AS c6, \
    coalesce(c.currency_num_decimals, 2) AS c7, s.orders AS c8, s.spent AS c9, \
    s.first_on AS c10, s.last_on AS c11 \
    FROM (SELECT user_id, guest, currency_code, orders, spent, first_on, last_on, latest FROM k \
    ORDER BY spent DESC, user_id, guest, currency_code LIMIT ? OFFSET ?) s \
    JOIN shop_orders o ON o.shop_order_id = s.latest \
    LEFT JOIN shop_currencies c ON c.currency_code = s.currency_code) page \
    UNION ALL SELECT total.* FROM (SELECT 1 AS c0, count(*) AS c1, '' AS c2, '' AS c3, '' AS c4, \
    '' AS c5, currency_code AS c6, 0 AS c7, sum(orders) AS c8, sum(spent) AS c9, \
    min(first_on) AS c10, max(last_on) AS c11 FROM k GROUP BY currency_code) total";

pub(super) async fn show(call: &Call<'_>) -> Result<Response, Error> {
    let asked = Asked::read(call)?;
    let [from, to] = asked.moments();
    let [limit, offset] = asked.limits();
    let binds = vec![from, to, asked.statuses.clone(), limit, offset];
    let spent = call.app.reports().table(Table::new(SPENT, binds, COLUMNS)).await?;
    let mut spent = spent.rows()?;
    let text = |row: &[Cell<'_>], at: usize| row[at].text().to_owned();
    // An engine need not keep the order of the page that it took.
    spent.sort_by_key(|row| (-row[9].int(), row[1].int(), text(row, 2), text(row, 6)));
    let mut rows = Vec::new();
    let mut totals: Vec<Map<String, Json>> = Vec::new();
    let mut total = 0;
    for row in &spent {
        if row[0].int() == 1 {
            total += row[1].int();
            let cells = [&row[6..7], &row[1..2], &row[8..10]].concat();
            totals.push(attributes(REPORT.totals, &cells)?);
            continue;
        }
        let (guest, currency) = (row[2].text(), row[6].text());
        let id = match row[1].int() {
            0 => format!("customers-guest-{guest}-{currency}"),
            user => format!("customers-{user}-{currency}"),
        };
        let name = [row[4].text(), row[5].text()].join(" ").trim().to_owned();
        let value = average(i128::from(row[9].int()), row[8].int(), row[7].int());
        let name = [Cell::Text(name.into())];
        let cells =
            [&row[1..2], &row[3..4], &name, &row[6..7], &row[8..10], &[value], &row[10..12]];
        rows.push((id, attributes(REPORT.row, &cells.concat())?));
    }
    totals.sort_by_key(|total| total["currency_code"].to_string());
    asked.answer(call, &rows, total, vec![asked.range(), ("totals", totals.into())])
}
