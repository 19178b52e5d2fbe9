//! The sales of each product, the best-selling first.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::amounts::{CURRENCY_CODE, amount, average, wide};
use super::asked::{ASKED, Asked};
use super::days::{Days, Line, Words, add};
use super::ranking::{Ranked, Ranking, word};
use crate::error::Error;
use crate::model::field::{count, int, money, text};
use crate::model::resource::Report;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::{Rows, row};
use crate::store::Store;
use crate::wire::document::attributes;

pub(crate) static REPORT: Report = Report {
    view: "reports.products",
    of: &ASKED,
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
        count("refunded_quantity"),
        money("refunded_amount"),
    ],
    totals: &[
        CURRENCY_CODE,
        count("quantity_sold"),
        count("orders"),
        money("revenue"),
        count("refunded_quantity"),
        money("refunded_amount"),
    ],
    of_days: true,
    by_currency: true,
    previous: false,
};

/// The sales of a product in a currency; or the number of orders of a currency with sales, since an
/// order with two products counts once.
#[derive(Clone, Debug)]
pub(crate) struct Sold {
    of: Of,
    currency: Arc<str>,
    quantity: i64,
    orders: i64,
    revenue: i128,
    /// What refunds have of the items, with tax.
    returned: i64,
    refunded: i128,
    /// The key of the latest item.
    latest: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    /// Lines without a product are counted together, so that the revenues add up to the whole.
    Product(Option<i64>),
    Currency,
}

/// The columns: 0 for a product or 1 for the whole currency; the product, or the number of
/// products; the currency; the sums, those of money in two parts; and the key of the latest item.
const COLUMNS: &[Kind] = &[
    Kind::COUNT,
    Kind::COUNT,
    Kind::WORD,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
];

/// The sales of each product, followed by the rest of a query on the orders of a range.
macro_rules! sold {
    ($of_products:literal) => {
        concat!(
            "WITH k AS (SELECT i.product_id, o.currency_code, sum(i.orderitem_quantity) AS quantity, \
             count(DISTINCT i.order_key) AS orders, {high i.orderitem_finalprice} AS revenue_1, \
             {low i.orderitem_finalprice} AS revenue_0, sum(i.refunded_quantity) AS returned, \
             {high i.refunded_amount} AS refunded_1, {low i.refunded_amount} AS refunded_0, max(i.shop_orderitem_id) AS latest \
             FROM shop_orders o JOIN shop_orderitems i ON i.order_key = o.shop_order_id \
             WHERE o.created_on >= ? AND o.created_on <= ? AND o.order_state_id IN (?) \
             GROUP BY i.product_id, o.currency_code), \
             n AS (SELECT o.currency_code, count(*) AS orders FROM shop_orders o \
             WHERE o.created_on >= ? AND o.created_on <= ? AND o.order_state_id IN (?) AND EXISTS \
             (SELECT 1 FROM shop_orderitems i WHERE i.order_key = o.shop_order_id) \
             GROUP BY o.currency_code) ",
            $of_products
        )
    };
}

impl Line for Sold {
    const TEXT: &'static str = sold!(
        "SELECT 0 AS c0, product_id AS c1, currency_code AS c2, quantity AS c3, orders AS c4, \
         revenue_1 AS c5, revenue_0 AS c6, returned AS c7, refunded_1 AS c8, refunded_0 AS c9, \
         latest AS c10 FROM k \
         UNION ALL SELECT 1, 0, currency_code, 0, orders, 0, 0, 0, 0, 0, 0 FROM n"
    );
    const RANGES: usize = 2;
    const COLUMNS: &'static [Kind] = COLUMNS;

    fn read(row: &[Cell<'_>], words: &mut Words) -> Result<Self, Error> {
        let [
            whole,
            product,
            currency,
            quantity,
            orders,
            revenue_1,
            revenue_0,
            returned,
            refunded_1,
            refunded_0,
            latest,
        ] = row
        else {
            return Err(Error::Contract("a row of what was sold has other columns"));
        };
        Ok(Self {
            of: match whole.int("part")? {
                1 => Of::Currency,
                _ => Of::Product(product.optional_int("product_id")?),
            },
            currency: words.get(currency.text("currency_code")?),
            quantity: quantity.int("quantity")?,
            orders: orders.int("orders")?,
            revenue: wide(revenue_1.int("revenue_1")?, revenue_0.int("revenue_0")?),
            returned: returned.int("returned")?,
            refunded: wide(refunded_1.int("refunded_1")?, refunded_0.int("refunded_0")?),
            latest: latest.int("latest")?,
        })
    }

    fn order(&self, other: &Self) -> Ordering {
        self.of.cmp(&other.of).then_with(|| self.currency.cmp(&other.currency))
    }

    fn add(&mut self, other: &Self) -> Result<(), Error> {
        add(&mut self.quantity, other.quantity)?;
        add(&mut self.orders, other.orders)?;
        self.revenue += other.revenue;
        add(&mut self.returned, other.returned)?;
        self.refunded += other.refunded;
        self.latest = self.latest.max(other.latest);
        Ok(())
    }
}

impl Ranked for Sold {
    /// The rows of the page, and for each currency the number of products and the sums.
    const PAGE: &'static str = sold!(
        "SELECT page.* FROM (SELECT 0 AS c0, product_id AS c1, currency_code AS c2, \
         quantity AS c3, orders AS c4, revenue_1 AS c5, revenue_0 AS c6, returned AS c7, \
         refunded_1 AS c8, refunded_0 AS c9, latest AS c10 FROM k \
         ORDER BY revenue_1 DESC, revenue_0 DESC, coalesce(product_id, 0), currency_code \
         LIMIT ? OFFSET ?) page \
         UNION ALL SELECT 1, g.products, g.currency_code, g.quantity, n.orders, g.revenue_1, \
         g.revenue_0, g.returned, g.refunded_1, g.refunded_0, 0 \
         FROM (SELECT currency_code, count(*) AS products, sum(quantity) AS quantity, \
         sum(revenue_1) AS revenue_1, sum(revenue_0) AS revenue_0, sum(returned) AS returned, \
         sum(refunded_1) AS refunded_1, sum(refunded_0) AS refunded_0 \
         FROM k GROUP BY currency_code) g \
         JOIN n ON n.currency_code = g.currency_code"
    );

    fn currency(&self) -> &Arc<str> {
        &self.currency
    }

    fn is_row(&self) -> bool {
        self.of != Of::Currency
    }

    fn rank(&self, other: &Self) -> Ordering {
        let tie = |sold: &Self| match sold.of {
            Of::Product(product) => product.unwrap_or(0),
            Of::Currency => i64::MAX,
        };
        let revenue = other.revenue.cmp(&self.revenue);
        revenue.then_with(|| tie(self).cmp(&tie(other))).then_with(|| self.order(other))
    }

    fn total(&self) -> Self {
        let total = Self { of: Of::Currency, ..self.clone() };
        // Adding up the orders of the products of a currency would count some orders twice.
        let orders = if self.is_row() { 0 } else { self.orders };
        Self { orders, ..total }
    }
}

row! {
    /// What a page shows beside the sums. A deleted product is shown as in its latest line.
    struct Names {
        item: i64 = "i.shop_orderitem_id",
        sku: String = "CASE WHEN i.product_id IS NULL THEN '' ELSE coalesce(p.sku, i.orderitem_sku) END",
        name: String =
            "CASE WHEN i.product_id IS NULL THEN '' ELSE coalesce(p.product_name, i.orderitem_name) END",
        decimals: i64 = "coalesce(c.currency_num_decimals, 2)",
        stock: Option<i64> = "p.quantity",
    }
}

const NAMES: &str = "FROM shop_orderitems i JOIN shop_orders o ON o.shop_order_id = i.order_key \
    LEFT JOIN shop_products p ON p.shop_product_id = i.product_id \
    LEFT JOIN shop_currencies c ON c.currency_code = o.currency_code \
    WHERE i.shop_orderitem_id IN (?)";

/// The document of the report.
///
/// # Errors
/// Database errors, and when a sum is too large to be represented.
pub(crate) async fn show(
    asked: &Asked,
    store: &Store,
    days: &Days<Sold>,
) -> Result<Vec<u8>, Error> {
    let mut transaction = store.begin_read().await?;
    let sold = Ranking::of(days, asked, &mut transaction).await?;
    let latest = sold.page.iter().map(|sold| Value::Int(sold.latest)).collect();
    let names = transaction.rows(Rows::<Names>::select(NAMES, vec![latest])).await?;
    transaction.end().await;

    let names: HashMap<i64, Names> = names.into_iter().map(|of| (of.item, of)).collect();
    let mut rows = Vec::new();
    for sold in &sold.page {
        // A line without names can only come from a store with broken references.
        let Some(Names { sku, name, decimals, stock, .. }) = names.get(&sold.latest) else {
            return Err(Error::Contract("a sold item is missing"));
        };
        let Sold { quantity, orders, revenue, returned, refunded, .. } = *sold;
        let (product, key) = match sold.of {
            Of::Product(Some(product)) => (Cell::Int(product), product.to_string()),
            _ => (Cell::Null, "none".to_owned()),
        };
        let cells = vec![
            product,
            word(sku),
            word(name),
            word(&sold.currency),
            Cell::Int(quantity),
            Cell::Int(orders),
            amount(revenue),
            amount(average(revenue, quantity, *decimals)),
            stock.map_or(Cell::Null, Cell::Int),
            Cell::Int(returned),
            amount(refunded),
        ];
        let id = format!("products-{key}-{}", sold.currency);
        rows.push((id, cells));
    }
    let mut totals: Vec<Map<String, Json>> = Vec::new();
    for (_, total) in &sold.totals {
        let sums = [
            word(&total.currency),
            Cell::Int(total.quantity),
            Cell::Int(total.orders),
            amount(total.revenue),
            Cell::Int(total.returned),
            amount(total.refunded),
        ];
        totals.push(attributes(REPORT.totals, &sums)?);
    }
    asked.document(&REPORT, &rows, sold.total, vec![asked.range(), ("totals", totals.into())])
}
