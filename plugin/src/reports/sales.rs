//! The sales of each period, from the sums that the database keeps for each day.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::amounts::{CURRENCY_CODE, amount, average, wide};
use super::asked::{ASKED, Asked};
use super::period::{Months, Range, Unit};
use crate::error::Error;
use crate::model::field::{Field, count, int, money, signed_money, text};
use crate::model::moment;
use crate::model::resource::Report;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::Table;
use crate::store::Store;
use crate::wire::document::attributes;

pub(crate) static REPORT: Report = Report {
    view: "reports.sales",
    of: &ASKED,
    row: ROW,
    totals: TOTALS,
    of_days: true,
    by_currency: true,
    previous: true,
};

const ROW: &[Field] = &[
    text("period_start", 10),
    text("period_end", 10),
    CURRENCY_CODE,
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
/// The sums of a range, and what was given back in it, whenever it was ordered and whatever status the order has.
const TOTALS: &[Field] = &[
    CURRENCY_CODE,
    count("orders"),
    count("items_sold"),
    money("gross_sales"),
    money("discounts"),
    money("refunds"),
    money("shipping"),
    money("tax"),
    signed_money("net_sales"),
    signed_money("average_order_value"),
    signed_money("refunds_made"),
    int("refunds_count"),
];

/// The columns of the result: 0 for the range or 1 for the preceding one, the period, the currency and its decimals, and
/// the sums, those of amounts in two parts each. What was given back has 2 and 3, its number in the place of the
/// orders, and its amount in that of the refunds.
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

/// The kept sums of a range, as this part of the result: by the period, and grouped by it beside the currency
/// unless all of the range belongs to one period, which any of its days identifies. The MariaDB-specific comment makes
/// MariaDB sort the days, which is cheaper than looking up the group of each.
macro_rules! kept {
    ($part:literal, $table:literal, $column:literal, $period:literal, $group:literal) => {
        concat!(
            "SELECT /*! SQL_BIG_RESULT */ ",
            $part,
            " AS part, ",
            $period,
            " AS period, s.currency_code, sum(s.orders) AS orders, sum(s.items) AS items, \
             sum(s.subtotal_1) AS subtotal_1, sum(s.subtotal_0) AS subtotal_0, \
             sum(s.discount_1) AS discount_1, sum(s.discount_0) AS discount_0, \
             sum(s.refund_1) AS refund_1, sum(s.refund_0) AS refund_0, \
             sum(s.shipping_1) AS shipping_1, sum(s.shipping_0) AS shipping_0, \
             sum(s.tax_1) AS tax_1, sum(s.tax_0) AS tax_0 FROM ",
            $table,
            " s WHERE s.",
            $column,
            " >= ? AND s.",
            $column,
            " <= ? AND s.order_state_id IN (?) GROUP BY ",
            $group,
            "s.currency_code"
        )
    };
}

const DAYS: &str = kept!("0", "shop_sales_by_day", "day", "min(s.day)", "");
const BY_DAY: &str = kept!("0", "shop_sales_by_day", "day", "s.day", "s.day, ");
const BY_MONTH: &str = kept!("0", "shop_sales_by_month", "month", "s.month", "s.month, ");
const BY_YEAR: &str =
    kept!("0", "shop_sales_by_month", "month", "substr(s.month, 1, 4)", "substr(s.month, 1, 4), ");
const DAYS_BEFORE: &str = kept!("1", "shop_sales_by_day", "day", "min(s.day)", "");
const MONTHS_BEFORE: &str = kept!("1", "shop_sales_by_month", "month", "min(s.month)", "");

/// What was given back in a range, as this part of the result.
macro_rules! given_back {
    ($part:literal) => {
        concat!(
            "SELECT /*! SQL_BIG_RESULT */ ",
            $part,
            " AS part, '' AS period, r.currency_code, \
             sum(r.refunds - 2 * r.reversals) AS orders, 0 AS items, \
             0 AS subtotal_1, 0 AS subtotal_0, 0 AS discount_1, 0 AS discount_0, \
             sum(r.amount_1) AS refund_1, sum(r.amount_0) AS refund_0, \
             0 AS shipping_1, 0 AS shipping_0, 0 AS tax_1, 0 AS tax_0 \
             FROM shop_refunds_by_day r WHERE r.day >= ? AND r.day <= ? GROUP BY r.currency_code"
        )
    };
}

const MADE: &str = given_back!("2");
const MADE_BEFORE: &str = given_back!("3");

/// The parts of the result together.
const FIRST: &str = "SELECT g.part AS c0, g.period AS c1, g.currency_code AS c2, \
    coalesce(c.currency_num_decimals, 2) AS c3, g.orders AS c4, g.items AS c5, \
    g.subtotal_1 AS c6, g.subtotal_0 AS c7, g.discount_1 AS c8, g.discount_0 AS c9, \
    g.refund_1 AS c10, g.refund_0 AS c11, g.shipping_1 AS c12, g.shipping_0 AS c13, \
    g.tax_1 AS c14, g.tax_0 AS c15 FROM (";
const LAST: &str = ") g LEFT JOIN shop_currencies c ON c.currency_code = g.currency_code \
    WHERE g.part > 1 OR g.orders > 0";

/// The sums of the range by the periods of its unit, those of the preceding range, and what was given back in both.
fn sums(asked: &Asked) -> Table {
    let days = |Range { from, to }: Range| [from, to].map(|day| day.to_string());
    let months = |range| {
        days(range).map(|mut day| {
            day.truncate("YYYY-MM".len());
            day
        })
    };
    let value = |text: String| vec![Value::Text(text)];
    let by_months = |of_days, of_months, Months { before, whole, after }: Months| {
        let [before, after] = [before, after].map(|range| (of_days, range.map(days)));
        vec![before, (of_months, whole.map(months)), after]
    };
    let mut kept = match asked.unit() {
        Unit::Day | Unit::Week => vec![(BY_DAY, Some(days(asked.range)))],
        Unit::Month => by_months(DAYS, BY_MONTH, asked.range.months()),
        Unit::Year => by_months(DAYS, BY_YEAR, asked.range.months()),
    };
    // Nothing precedes the first year.
    let before = asked.range.before();
    kept.extend(match before.map(Range::months) {
        Some(parts @ Months { whole: Some(_), .. }) => by_months(DAYS_BEFORE, MONTHS_BEFORE, parts),
        // A few weeks are one part.
        _ => vec![(DAYS_BEFORE, before.map(days))],
    });
    let (mut texts, mut binds) = (Vec::new(), Vec::new());
    for (text, ends) in kept {
        let Some(ends) = ends else { continue };
        texts.push(text);
        binds.extend(ends.map(value));
        binds.push(asked.statuses.clone());
    }
    for (text, range) in [(MADE, Some(asked.range)), (MADE_BEFORE, before)] {
        let Some(range) = range else { continue };
        texts.push(text);
        binds.extend(days(range).map(value));
    }
    let text = [FIRST, &texts.join(" UNION ALL "), LAST].concat();
    Table::new(text, binds, COLUMNS)
}

/// The document of the report.
///
/// # Errors
/// Database errors, and when a sum is too large to be represented.
pub(crate) async fn show(asked: &Asked, store: &Store) -> Result<Vec<u8>, Error> {
    let sales = Sales::read(asked, store).await?;
    let currencies: Vec<&str> = sales.currencies().collect();
    let width = currencies.len();
    let total = sales.periods.len() * width;
    let (skipped, shown) = (asked.listing.offset, asked.listing.limit);
    let page = usize::try_from(skipped).unwrap_or(usize::MAX).min(total)..total;
    let unit = asked.unit().as_str();
    let mut rows = Vec::new();
    for position in page.take(usize::try_from(shown).unwrap_or(usize::MAX)) {
        let (period, currency) = (&sales.periods[position / width], currencies[position % width]);
        let Range { from, to } = period.range;
        let days = [from.to_string(), to.to_string()].map(|day| Cell::Text(day.into()));
        let sums = sums_of(&period.sums, currency).cells(currency);
        let cells: Vec<Cell<'_>> = days.into_iter().chain(sums).collect();
        let id = format!("sales-{unit}-{from}-{currency}");
        rows.push((id, cells));
    }
    let totals = totals(&sales.total, &sales.made, &currencies)?;
    // Currencies of this range that did not occur in the preceding one are shown there, too.
    let previous = self::totals(&sales.before, &sales.made_before, &currencies)?;
    let total = i64::try_from(total).unwrap_or(i64::MAX);
    asked.document(
        &REPORT,
        &rows,
        total,
        vec![asked.range(), ("totals", totals), ("previous", previous)],
    )
}

/// What was sold in a range.
pub(crate) struct Sales {
    /// The periods of the range, in order.
    pub(crate) periods: Vec<Period>,
    total: ByCurrency,
    before: ByCurrency,
    /// What was given back in the range, and in the preceding one.
    made: BTreeMap<String, Made>,
    made_before: BTreeMap<String, Made>,
    /// The store's own currency.
    own: String,
}

/// What was sold in a period.
pub(crate) struct Period {
    pub(crate) range: Range,
    sums: ByCurrency,
}

type ByCurrency = BTreeMap<String, Sums>;

/// The refunds of a range, less those that were undone in it.
#[derive(Clone, Copy, Default)]
struct Made {
    count: i64,
    amount: i128,
}

impl Sales {
    /// # Errors
    /// Database errors, and when a sum is too large to be represented.
    pub(crate) async fn read(asked: &Asked, store: &Store) -> Result<Self, Error> {
        let periods = asked.periods()?.into_iter();
        let cells = store.table(sums(asked)).await?;
        let mut sales = Self {
            periods: periods.map(|range| Period { range, sums: ByCurrency::new() }).collect(),
            total: ByCurrency::new(),
            before: ByCurrency::new(),
            made: BTreeMap::new(),
            made_before: BTreeMap::new(),
            own: asked.currency.clone(),
        };
        let rows = cells.rows()?;
        let mut latest = ("", 0);
        for row in &rows {
            sales.add(row, &mut latest)?;
        }
        Ok(sales)
    }

    /// The currencies of the range, in order; the store's own where nothing was sold.
    pub(crate) fn currencies(&self) -> impl Iterator<Item = &str> {
        let own = self.total.is_empty().then_some(&self.own);
        self.total.keys().chain(own).map(String::as_str)
    }

    /// What was sold in a currency in the whole range.
    pub(crate) fn total(&self, currency: &str) -> Sums {
        sums_of(&self.total, currency)
    }

    /// Adds a row of the answer. The rows of a period usually follow each other, so the position of the
    /// latest one is passed on.
    fn add<'r>(&mut self, row: &'r [Cell<'_>], latest: &mut (&'r str, usize)) -> Result<(), Error> {
        let [part, period, currency, sums @ ..] = row else {
            return Err(Error::Contract("a row of sums has other columns"));
        };
        let currency = currency.text("currency_code")?;
        let sums = Sums::of_row(sums)?;
        let made = Made { count: sums.orders, amount: sums.refund };
        match part.int("part")? {
            0 => {}
            1 => {
                self.before.entry(currency.to_owned()).or_default().add(&sums);
                return Ok(());
            }
            2 => {
                self.made.insert(currency.to_owned(), made);
                return Ok(());
            }
            _ => {
                self.made_before.insert(currency.to_owned(), made);
                return Ok(());
            }
        }
        const OTHER_PERIOD: Error = Error::Contract("a sum belongs to no requested period");
        let name = period.text("period")?;
        if latest.0 != name {
            *latest = (name, position(name, &self.periods).ok_or(OTHER_PERIOD)?);
        }
        let period = self.periods.get_mut(latest.1).ok_or(OTHER_PERIOD)?;
        self.total.entry(currency.to_owned()).or_default().add(&sums);
        period.sums.entry(currency.to_owned()).or_default().add(&sums);
        Ok(())
    }
}

impl Period {
    /// What was sold in a currency.
    pub(crate) fn sums(&self, currency: &str) -> Sums {
        sums_of(&self.sums, currency)
    }
}

/// The sums of a currency. There are none where nothing was sold in it, which is what is shown.
fn sums_of(sums: &ByCurrency, currency: &str) -> Sums {
    sums.get(currency).copied().unwrap_or_default()
}

/// The sums of these currencies, and of all others with sales or refunds.
fn totals(
    sums: &ByCurrency,
    made: &BTreeMap<String, Made>,
    currencies: &[&str],
) -> Result<Json, Error> {
    let others = sums.keys().chain(made.keys()).map(String::as_str);
    let all: BTreeSet<&str> = currencies.iter().copied().chain(others).collect();
    let rows = all.into_iter().map(|of| {
        let Made { count, amount: given } = made.get(of).copied().unwrap_or_default();
        let mut cells = sums_of(sums, of).cells(of);
        cells.extend([amount(given), Cell::Int(count)]);
        attributes(REPORT.totals, &cells)
    });
    let rows: Vec<Map<String, Json>> = rows.collect::<Result<_, Error>>()?;
    Ok(rows.into())
}

/// The position of the period that contains a day, or the first day of a month or year. A clipped
/// month or year begins before the first period.
fn position(text: &str, periods: &[Period]) -> Option<usize> {
    let whole = format!("{text}{}", "-01-01".get(text.len().checked_sub(4)?..)?);
    let day = moment::day(&whole)?;
    Some(periods.partition_point(|period| period.range.from <= day).saturating_sub(1))
}

/// What was sold in a currency. Amounts are in units of 10^-5.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sums {
    /// How many decimals the currency has.
    decimals: i64,
    pub(crate) orders: i64,
    pub(crate) items: i64,
    subtotal: i128,
    discount: i128,
    refund: i128,
    shipping: i128,
    tax: i128,
}

impl Sums {
    /// What is left of the sales after discounts and refunds.
    pub(crate) fn net(&self) -> i128 {
        self.subtotal - self.discount - self.refund
    }

    /// What is left, per order.
    pub(crate) fn net_per_order(&self) -> i128 {
        average(self.net(), self.orders, self.decimals)
    }

    fn of_row(cells: &[Cell<'_>]) -> Result<Self, Error> {
        let [decimals, orders, items, amounts @ ..] = cells else {
            return Err(Error::Contract("a row of sums has other columns"));
        };
        let [
            subtotal_1,
            subtotal_0,
            discount_1,
            discount_0,
            refund_1,
            refund_0,
            shipping_1,
            shipping_0,
            tax_1,
            tax_0,
        ] = amounts
        else {
            return Err(Error::Contract("a row of sums has other columns"));
        };
        Ok(Self {
            decimals: decimals.int("currency_num_decimals")?,
            orders: orders.int("orders")?,
            items: items.int("items")?,
            subtotal: wide(subtotal_1.int("subtotal_1")?, subtotal_0.int("subtotal_0")?),
            discount: wide(discount_1.int("discount_1")?, discount_0.int("discount_0")?),
            refund: wide(refund_1.int("refund_1")?, refund_0.int("refund_0")?),
            shipping: wide(shipping_1.int("shipping_1")?, shipping_0.int("shipping_0")?),
            tax: wide(tax_1.int("tax_1")?, tax_0.int("tax_0")?),
        })
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
        vec![
            Cell::Text(currency.to_owned().into()),
            Cell::Int(self.orders),
            Cell::Int(self.items),
            amount(self.subtotal),
            amount(self.discount),
            amount(self.refund),
            amount(self.shipping),
            amount(self.tax),
            amount(self.net()),
            amount(self.net_per_order()),
        ]
    }
}
