//! The stock of each product, the lowest first. Independent of days.

use serde_json::{Map, Value as Json};

use super::amounts::amount;
use super::asked::{ASKED, Asked};
use crate::error::Error;
use crate::model::field::{Field, amount as quantity, choice, count, flag, int, money, text};
use crate::model::question::{Page, Shape};
use crate::model::resource::{Order, Report, Resource};
use crate::model::value::{Cell, Kind, Value};
use crate::sql::Table;
use crate::store::Store;
use crate::wire::document::attributes;

pub(crate) static REPORT: Report = Report {
    view: "reports.inventory",
    of: &ASKED,
    row: &[
        int("product_id"),
        text("sku", 255),
        text("name", 255),
        int("quantity"),
        quantity("notify_qty").nullable(),
        choice("stock_status", STATUSES),
        money("stock_value"),
    ],
    totals: &[
        count(STATUSES[0]),
        count(STATUSES[1]),
        count(STATUSES[2]),
        count(STATUSES[3]),
        count("units"),
        money("value"),
    ],
    of_days: false,
    by_currency: false,
    previous: false,
};

const STATUSES: &[&str] = &["in_stock", "low_stock", "out_of_stock", "unmanaged"];

/// The fields that it reads of each product, after the key.
pub(crate) const STOCK: &[Field] = &[
    text("sku", 255),
    text("product_name", 255),
    int("quantity"),
    quantity("notify_qty").nullable(),
    quantity("min_out_qty").nullable(),
    flag("manage_stock"),
    money("price"),
];

/// One item, in units of 10^-5.
const ONE: i64 = 100_000;

/// The factor of each of the parts in which a value is kept.
const PARTS: [i128; 3] = [10_i128.pow(18), 10_i128.pow(9), 1];

/// The columns of the totals: a status, the number of its products, the number of items in stock,
/// and their value in parts.
const COLUMNS: &[Kind] =
    &[Kind::COUNT, Kind::COUNT, Kind::COUNT, Kind::COUNT, Kind::COUNT, Kind::COUNT];

/// The sums that the database keeps for each status; the configuration splits the last group.
const TOTALS: &str = "\
    SELECT s.status AS c0, sum(s.products) AS c1, sum(s.units) AS c2, sum(s.value_2) AS c3, \
    sum(s.value_1) AS c4, sum(s.value_0) AS c5 FROM (SELECT products, units, value_2, value_1, \
    value_0, CASE WHEN status < 4 THEN status WHEN quantity <= ? THEN 2 ELSE 3 END AS status \
    FROM shop_stock) s GROUP BY s.status";
/// The statuses by the numbers under which they are kept.
const KEPT: [&str; 4] = ["unmanaged", "out_of_stock", "low_stock", "in_stock"];

/// The document of the report, for products read through this resource, whose list is [`STOCK`].
///
/// # Errors
/// Database errors, and when a sum is too large to be represented.
pub(crate) async fn show(
    asked: &Asked,
    store: &Store,
    stock: &'static Resource,
) -> Result<Vec<u8>, Error> {
    let page = Page {
        resource: stock,
        shape: Shape::List,
        conditions: Vec::new(),
        order: Order { field: Some("quantity"), descending: false },
        offset: asked.listing.offset,
        limit: asked.listing.limit,
    };
    let low = asked.low_stock.saturating_mul(ONE);
    // Both are read in one snapshot.
    let mut transaction = store.begin_read().await?;
    let products = transaction.page(&page).await?;
    let binds = vec![vec![Value::Int(asked.low_stock)]];
    let sums = transaction.table(Table::new(TOTALS, binds, COLUMNS)).await?;
    transaction.commit().await?;

    let mut rows: Vec<(String, Map<String, Json>)> = Vec::new();
    for row in products.rows()? {
        let number = |at: usize| row.get(at).map_or(0, Cell::int);
        let quantity = i128::from(number(3));
        let notify = row.get(4).filter(|cell| **cell != Cell::Null).map_or(low, Cell::int);
        let pieces = quantity * i128::from(ONE);
        let status = match number(6) {
            0 => "unmanaged",
            _ if pieces <= i128::from(number(5)) => "out_of_stock",
            _ if pieces <= i128::from(notify) => "low_stock",
            _ => "in_stock",
        };
        let worth = [Cell::Text(status.into()), amount(quantity * i128::from(number(7)))];
        let cells = [&row[..5], &worth].concat();
        rows.push((format!("inventory-{}", number(0)), attributes(REPORT.row, &cells)?));
    }

    let mut counts = [0; STATUSES.len()];
    let (mut units, mut value) = (0, 0);
    for row in sums.rows()? {
        let number = |at: usize| row.get(at).map_or(0, Cell::int);
        let status = usize::try_from(number(0)).ok().and_then(|number| KEPT.get(number));
        for (known, count) in STATUSES.iter().zip(&mut counts) {
            if Some(known) == status {
                *count += number(1);
            }
        }
        units += number(2);
        value += PARTS.iter().zip(3..).map(|(one, at)| one * i128::from(number(at))).sum::<i128>();
    }
    let counts = counts.map(Cell::Int);
    let cells = [&counts[..], &[Cell::Int(units), amount(value)]].concat();
    let totals = attributes(REPORT.totals, &cells)?;
    asked.document(&rows, products.total(), vec![("totals", totals.into())])
}
