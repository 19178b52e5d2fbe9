//! The sales of each period, from the sums that the database keeps for each day.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::amounts::{CURRENCY_CODE, amount, average, wide};
use super::asked::{ASKED, Asked};
use super::period::{Range, Unit};
use crate::error::Error;
use crate::model::field::{Field, count, money, signed_money, text};
use crate::model::moment;
use crate::model::resource::Report;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::Table;
use crate::store::Store;
use crate::wire::document::attributes;

pub(crate) static REPORT: Report = Report {
    view: "reports.sales",
    of: &ASKED,
    row: &[
        text("period_start", 10),
        text("period_end", 10),
        CURRENCY_CODE,
        SUMS[0],
        SUMS[1],
        SUMS[2],
        SUMS[3],
        SUMS[4],
        SUMS[5],
        SUMS[6],
        SUMS[7],
        SUMS[8],
    ],
    totals: &[
        CURRENCY_CODE,
        SUMS[0],
        SUMS[1],
        SUMS[2],
        SUMS[3],
        SUMS[4],
        SUMS[5],
        SUMS[6],
        SUMS[7],
        SUMS[8],
    ],
    of_days: true,
    by_currency: true,
    previous: true,
};

const SUMS: [Field; 9] = [
    count("orders"),
    count("items_sold"),
    money("gross_sales"),
    money("discounts"),
    money("refunds"),
    money("shipping"),
    money("tax"),
    signed_money("net_sales"),
    signed_money("average_order_value"),
];

/// The columns of the result: the range, its period, the currency and its decimals, and the sums,
/// those of amounts in two parts each.
const COLUMNS: &[Kind] = &[
    Kind::COUNT,
    Kind::WORD,
    Kind::WORD,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
];

/// The sums of the range, grouped by the part of the day that identifies the period, and those of
/// the preceding range. The MariaDB-specific comment makes MariaDB sort the days, which is cheaper
/// than looking up the group of each.
macro_rules! sales_by {
    ($letters:literal) => {
        concat!(
            "SELECT g.part AS c0, g.period AS c1, g.currency_code AS c2, \
             coalesce(c.currency_num_decimals, 2) AS c3, g.orders AS c4, g.items AS c5, \
             g.subtotal_1 AS c6, g.subtotal_0 AS c7, g.discount_1 AS c8, g.discount_0 AS c9, \
             g.refund_1 AS c10, g.refund_0 AS c11, g.shipping_1 AS c12, g.shipping_0 AS c13, \
             g.tax_1 AS c14, g.tax_0 AS c15 \
             FROM (SELECT /*! SQL_BIG_RESULT */ 0 AS part, d.period, d.currency_code, sum(d.orders) AS orders, \
             sum(d.items) AS items, sum(d.subtotal_1) AS subtotal_1, sum(d.subtotal_0) AS subtotal_0, \
             sum(d.discount_1) AS discount_1, sum(d.discount_0) AS discount_0, \
             sum(d.refund_1) AS refund_1, sum(d.refund_0) AS refund_0, \
             sum(d.shipping_1) AS shipping_1, sum(d.shipping_0) AS shipping_0, \
             sum(d.tax_1) AS tax_1, sum(d.tax_0) AS tax_0 \
             FROM (SELECT substr(s.day, 1, ",
            $letters,
            ") AS period, s.* FROM shop_sales_by_day s \
             WHERE s.day >= ? AND s.day <= ? AND s.order_state_id IN (?)) d \
             GROUP BY d.period, d.currency_code HAVING sum(d.orders) > 0 \
             UNION ALL SELECT /*! SQL_BIG_RESULT */ 1, '', s.currency_code, sum(s.orders), sum(s.items), \
             sum(s.subtotal_1), sum(s.subtotal_0), sum(s.discount_1), sum(s.discount_0), \
             sum(s.refund_1), sum(s.refund_0), sum(s.shipping_1), sum(s.shipping_0), \
             sum(s.tax_1), sum(s.tax_0) \
             FROM shop_sales_by_day s \
             WHERE s.day >= ? AND s.day <= ? AND s.order_state_id IN (?) \
             GROUP BY s.currency_code HAVING sum(s.orders) > 0) g \
             LEFT JOIN shop_currencies c ON c.currency_code = g.currency_code"
        )
    };
}

/// The document of the report.
///
/// # Errors
/// Database errors, and when a sum is too large to be represented.
pub(crate) async fn show(asked: &Asked, store: &Store) -> Result<Vec<u8>, Error> {
    let (unit, periods) = (asked.unit(), asked.periods()?);
    let text = match unit {
        Unit::Day | Unit::Week => sales_by!("10"),
        Unit::Month => sales_by!("7"),
        Unit::Year => sales_by!("4"),
    };
    let days = |range: Option<Range>| match range {
        Some(Range { from, to }) => [from.to_string(), to.to_string()],
        // Nothing precedes the first year.
        None => ["9".to_owned(), "0".to_owned()],
    };
    let [from, to] = days(Some(asked.range)).map(|day| vec![Value::Text(day)]);
    let [before_from, before_to] = days(asked.range.before()).map(|day| vec![Value::Text(day)]);
    let statuses = || asked.statuses.clone();
    let binds = vec![from, to, statuses(), before_from, before_to, statuses()];
    let sums = store.table(Table::new(text, binds, COLUMNS)).await?;
    let sums = Sales::read(&sums.rows()?, &periods, &asked.currency)?;

    let currencies: Vec<&String> = sums.currencies.iter().collect();
    let width = currencies.len();
    let total = periods.len() * width;
    let (skipped, shown) = (asked.listing.offset, asked.listing.limit);
    let page = usize::try_from(skipped).unwrap_or(usize::MAX).min(total)..total;
    let mut rows = Vec::new();
    for position in page.take(usize::try_from(shown).unwrap_or(0)) {
        let (period, currency) = (position / width, currencies[position % width]);
        let Range { from, to } = periods[period];
        let sum = sums.by_period.get(&(period, currency.clone())).copied().unwrap_or_default();
        let days = [from.to_string(), to.to_string()].map(|day| Cell::Text(day.into()));
        let cells: Vec<Cell<'_>> = days.into_iter().chain(sum.cells(currency)).collect();
        let id = format!("sales-{}-{from}-{currency}", unit.as_str());
        rows.push((id, attributes(REPORT.row, &cells)?));
    }
    let totals = totals(&sums.total, currencies.iter().copied())?;
    // Currencies of this range that did not occur in the preceding one are shown there, too.
    let before: BTreeSet<&String> = sums.before.keys().chain(currencies).collect();
    let previous = self::totals(&sums.before, before.into_iter())?;
    let total = i64::try_from(total).unwrap_or(i64::MAX);
    asked.document(&rows, total, vec![asked.range(), ("totals", totals), ("previous", previous)])
}

fn totals<'a>(
    sums: &BTreeMap<String, Sums>,
    currencies: impl Iterator<Item = &'a String>,
) -> Result<Json, Error> {
    let rows = currencies.map(|currency| {
        let cells = sums.get(currency).copied().unwrap_or_default().cells(currency);
        attributes(REPORT.totals, &cells)
    });
    let rows: Vec<Map<String, Json>> = rows.collect::<Result<_, Error>>()?;
    Ok(rows.into())
}

/// The sales by period and currency.
#[derive(Default)]
struct Sales {
    /// The currencies that occur in the range, or the store's own.
    currencies: BTreeSet<String>,
    by_period: BTreeMap<(usize, String), Sums>,
    total: BTreeMap<String, Sums>,
    before: BTreeMap<String, Sums>,
}

impl Sales {
    fn read(rows: &[Vec<Cell<'_>>], periods: &[Range], currency: &str) -> Result<Self, Error> {
        let mut sales = Sales::default();
        for row in rows {
            let [part, period, currency, sums @ ..] = &row[..] else {
                return Err(Error::Contract("a row of sums has other columns"));
            };
            let currency = currency.text().to_owned();
            let sums = Sums::read(sums);
            if part.int() == 1 {
                sales.before.insert(currency, sums);
                continue;
            }
            let period = position(period.text(), periods)
                .ok_or(Error::Contract("a sum belongs to no requested period"))?;
            sales.currencies.insert(currency.clone());
            sales.total.entry(currency.clone()).or_default().add(&sums);
            sales.by_period.entry((period, currency)).or_default().add(&sums);
        }
        if sales.currencies.is_empty() {
            sales.currencies.insert(currency.to_owned());
        }
        Ok(sales)
    }
}

/// The position of the period that contains a day, or the first day of a month or year. A clipped
/// month or year begins before the first period.
fn position(text: &str, periods: &[Range]) -> Option<usize> {
    let whole = format!("{text}{}", "-01-01".get(text.len().checked_sub(4)?..)?);
    let day = moment::day(&whole)?;
    Some(periods.partition_point(|period| period.from <= day).saturating_sub(1))
}

#[derive(Clone, Copy, Default)]
struct Sums {
    decimals: i64,
    orders: i64,
    items: i64,
    subtotal: i128,
    discount: i128,
    refund: i128,
    shipping: i128,
    tax: i128,
}

impl Sums {
    fn read(cells: &[Cell<'_>]) -> Self {
        let number = |at: usize| cells.get(at).map_or(0, Cell::int);
        let amount = |at: usize| wide(number(at), number(at + 1));
        Self {
            decimals: number(0),
            orders: number(1),
            items: number(2),
            subtotal: amount(3),
            discount: amount(5),
            refund: amount(7),
            shipping: amount(9),
            tax: amount(11),
        }
    }

    fn add(&mut self, other: &Self) {
        self.decimals = other.decimals;
        self.orders += other.orders;
        self.items += other.items;
        self.subtotal += other.subtotal;
        self.discount += other.discount;
        self.refund += other.refund;
        self.shipping += other.shipping;
        self.tax += other.tax;
    }

    fn cells(self, currency: &str) -> Vec<Cell<'static>> {
        let net = self.subtotal - self.discount - self.refund;
        vec![
            Cell::Text(currency.to_owned().into()),
            Cell::Int(self.orders),
            Cell::Int(self.items),
            amount(self.subtotal),
            amount(self.discount),
            amount(self.refund),
            amount(self.shipping),
            amount(self.tax),
            amount(net),
            average(net, self.orders, self.decimals),
        ]
    }
}
