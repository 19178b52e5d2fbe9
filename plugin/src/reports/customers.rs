//! What each customer has spent, the biggest spender first.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use time::PrimitiveDateTime;

use super::amounts::{CURRENCY_CODE, amount, average, wide};
use super::asked::{ASKED, Asked};
use super::days::{Days, Line, Words, add};
use super::ranking::{Ranked, Ranking, word};
use crate::error::Error;
use crate::model::field::{count, email, int, moment, money, text};
use crate::model::moment;
use crate::model::resource::Report;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::{Rows, row};
use crate::store::Store;
use crate::wire::document::attributes;

pub(crate) static REPORT: Report = Report {
    view: "reports.customers",
    of: &ASKED,
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

/// The spending of a customer in a currency. Guests are identified by their e-mail addresses, users
/// by their ids.
#[derive(Clone, Debug)]
pub(crate) struct Spent {
    user: i64,
    guest: Arc<str>,
    currency: Arc<str>,
    orders: i64,
    spent: i128,
    first: PrimitiveDateTime,
    last: PrimitiveDateTime,
    /// The key of the latest order.
    latest: i64,
}

/// The columns: 0 for a customer or 1 for the whole currency; the user, or the number of customers;
/// the address of a guest; the currency; the sums, that of money in two parts; the moments of the
/// first and the last order; and the key of the last.
const COLUMNS: &[Kind] = &[
    Kind::COUNT,
    Kind::COUNT,
    Kind::WORD,
    Kind::WORD,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::DateTime,
    Kind::DateTime,
    Kind::COUNT,
];

/// The spending of each customer, followed by the rest of a query.
macro_rules! spent {
    ($of_customers:literal) => {
        concat!(
            "WITH k AS (SELECT user_id, CASE WHEN user_id = 0 THEN user_email_fold ELSE '' END AS guest, \
             currency_code, count(*) AS orders, {high order_total} AS spent_1, \
             {low order_total} AS spent_0, \
             min(created_on) AS first_on, max(created_on) AS last_on, max(shop_order_id) AS latest \
             FROM shop_orders \
             WHERE created_on >= ? AND created_on <= ? AND order_state_id IN (?) \
             GROUP BY user_id, CASE WHEN user_id = 0 THEN user_email_fold ELSE '' END, \
             currency_code) ",
            $of_customers
        )
    };
}

impl Line for Spent {
    const TEXT: &'static str = spent!(
        "SELECT 0 AS c0, user_id AS c1, guest AS c2, currency_code AS c3, orders AS c4, \
         spent_1 AS c5, spent_0 AS c6, first_on AS c7, last_on AS c8, latest AS c9 FROM k"
    );
    const RANGES: usize = 1;
    const COLUMNS: &'static [Kind] = COLUMNS;

    fn read(row: &[Cell<'_>], words: &mut Words) -> Result<Self, Error> {
        let [_, user, guest, currency, orders, high, low, first, last, latest] = row else {
            return Err(Error::Contract("a row of what was spent has other columns"));
        };
        let moment = |cell: &Cell<'_>, column| {
            let moment = moment::parse(cell.text(column)?);
            moment.ok_or_else(|| Error::column(column, "a moment", "text"))
        };
        Ok(Self {
            user: user.int("user_id")?,
            guest: match guest.text("guest")? {
                "" => words.get(""),
                guest => guest.into(),
            },
            currency: words.get(currency.text("currency_code")?),
            orders: orders.int("orders")?,
            spent: wide(high.int("spent_1")?, low.int("spent_0")?),
            first: moment(first, "first_on")?,
            last: moment(last, "last_on")?,
            latest: latest.int("latest")?,
        })
    }

    fn order(&self, other: &Self) -> Ordering {
        let user = self.user.cmp(&other.user).then_with(|| self.guest.cmp(&other.guest));
        user.then_with(|| self.currency.cmp(&other.currency))
    }

    fn add(&mut self, other: &Self) -> Result<(), Error> {
        add(&mut self.orders, other.orders)?;
        self.spent += other.spent;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.latest = self.latest.max(other.latest);
        Ok(())
    }
}

impl Ranked for Spent {
    /// The rows of the page, and for each currency the number of customers and the sums.
    const PAGE: &'static str = spent!(
        "SELECT page.* FROM (SELECT 0 AS c0, user_id AS c1, guest AS c2, currency_code AS c3, \
         orders AS c4, spent_1 AS c5, spent_0 AS c6, first_on AS c7, last_on AS c8, latest AS c9 \
         FROM k ORDER BY spent_1 DESC, spent_0 DESC, user_id, guest, currency_code \
         LIMIT ? OFFSET ?) page \
         UNION ALL SELECT total.* FROM (SELECT 1, count(*), '', currency_code, sum(orders), \
         sum(spent_1) AS spent_1, sum(spent_0) AS spent_0, min(first_on), max(last_on), max(latest) \
         FROM k GROUP BY currency_code) total"
    );

    fn currency(&self) -> &Arc<str> {
        &self.currency
    }

    fn is_row(&self) -> bool {
        true
    }

    fn rank(&self, other: &Self) -> Ordering {
        other.spent.cmp(&self.spent).then_with(|| self.order(other))
    }

    fn total(&self) -> Self {
        self.clone()
    }
}

row! {
    /// What a page shows beside the sums: the address and names of the latest order.
    struct Names {
        order: i64 = "o.shop_order_id",
        email: String = "o.user_email",
        first: String = "o.billing_first_name",
        last: String = "o.billing_last_name",
        decimals: i64 = "coalesce(c.currency_num_decimals, 2)",
    }
}

const NAMES: &str = "FROM shop_orders o LEFT JOIN shop_currencies c \
    ON c.currency_code = o.currency_code WHERE o.shop_order_id IN (?)";

/// The document of the report.
///
/// # Errors
/// Database errors, and when a sum is too large to be represented.
pub(crate) async fn show(
    asked: &Asked,
    store: &Store,
    days: &Days<Spent>,
) -> Result<Vec<u8>, Error> {
    let mut transaction = store.begin_read().await?;
    let spent = Ranking::of(days, asked, &mut transaction).await?;
    let latest = spent.page.iter().map(|spent| Value::Int(spent.latest)).collect();
    let names = transaction.rows(Rows::<Names>::select(NAMES, vec![latest])).await?;
    transaction.end().await;

    let names: HashMap<i64, Names> = names.into_iter().map(|of| (of.order, of)).collect();
    let mut rows = Vec::new();
    for spent in &spent.page {
        let Some(Names { email, first, last, decimals, .. }) = names.get(&spent.latest) else {
            return Err(Error::Contract("a counted order is missing"));
        };
        let Spent { user, orders, first: first_on, last: last_on, .. } = *spent;
        let id = match user {
            0 => format!("customers-guest-{}-{}", spent.guest, spent.currency),
            user => format!("customers-{user}-{}", spent.currency),
        };
        let name = format!("{first} {last}").trim().to_owned();
        let moment = |moment| Cell::Text(moment::render(moment).into());
        let cells = vec![
            Cell::Int(user),
            word(email),
            Cell::Text(name.into()),
            word(&spent.currency),
            Cell::Int(orders),
            amount(spent.spent),
            amount(average(spent.spent, orders, *decimals)),
            moment(first_on),
            moment(last_on),
        ];
        rows.push((id, cells));
    }
    let mut totals: Vec<Map<String, Json>> = Vec::new();
    for (customers, Spent { currency, orders, spent, .. }) in &spent.totals {
        let sums = [word(currency), Cell::Int(*customers), Cell::Int(*orders), amount(*spent)];
        totals.push(attributes(REPORT.totals, &sums)?);
    }
    asked.document(&REPORT, &rows, spent.total, vec![asked.range(), ("totals", totals.into())])
}
