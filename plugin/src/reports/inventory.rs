//! The stock of each product, and of each variant of one that has it in these; the lowest first. Independent of
//! days.

use serde_json::{Map, Value as Json};

use super::amounts::amount;
use super::asked::{ASKED, Asked};
use crate::error::Error;
use crate::model::field::{choice, count, int, money, quantity, text};
use crate::model::options;
use crate::model::resource::Report;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::{Table, in_stock};
use crate::store::Store;
use crate::wire::document::attributes;

pub(crate) static REPORT: Report = Report {
    view: "reports.inventory",
    of: &ASKED,
    row: &[
        int("product_id"),
        int("shop_variant_id").nullable(),
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

/// One item, in units of 10^-5.
const ONE: i64 = 100_000;

/// The parts that a value is kept in, and what one is worth in each.
const PARTS: [(&str, i128); 3] =
    [("value_2", 10_i128.pow(18)), ("value_1", 10_i128.pow(9)), ("value_0", 1)];

/// The columns of the totals: a status, the number of its products, the number of items in stock,
/// and their value in parts.
const COLUMNS: &[Kind] =
    &[Kind::COUNT, Kind::COUNT, Kind::COUNT, Kind::COUNT, Kind::COUNT, Kind::COUNT];

/// The sums that the database keeps for each status; the configuration splits the last group.
const TOTALS: &str = "\
    SELECT s.status AS c0, sum(s.products) AS c1, sum(s.units) AS c2, sum(s.value_2) AS c3, \
    sum(s.value_1) AS c4, sum(s.value_0) AS c5 FROM (SELECT products, units, value_2, value_1, \
    value_0, CASE WHEN status < 4 THEN status WHEN quantity <= ? THEN 2 ELSE 3 END AS status \
    FROM (SELECT status, quantity, products, units, value_2, value_1, value_0 FROM shop_stock \
    UNION ALL SELECT status, quantity, products, units, value_2, value_1, value_0 \
    FROM shop_variant_stock) kept) s GROUP BY s.status";
/// The statuses by the numbers under which they are kept.
const KEPT: [&str; 4] = ["unmanaged", "out_of_stock", "low_stock", "in_stock"];

/// The document of the report.
///
/// # Errors
/// Database errors, and when a sum is too large to be represented.
pub(crate) async fn show(asked: &Asked, store: &Store) -> Result<Vec<u8>, Error> {
    let low = asked.low_stock.saturating_mul(ONE);
    // Both are read in one snapshot.
    let mut transaction = store.begin_read().await?;
    let listing = &asked.listing;
    let held = transaction.table(in_stock(listing.offset, listing.limit)).await?;
    let binds = vec![vec![Value::Int(asked.low_stock)]];
    let sums = transaction.table(Table::new(TOTALS, binds, COLUMNS)).await?;
    transaction.end();

    let mut rows: Vec<(String, Map<String, Json>)> = Vec::new();
    for row in held.rows()? {
        let [product, variant, sku, name, options, quantity, notify, out, managed, price] =
            &row[..]
        else {
            return Err(Error::Contract("a row of what is in stock has other columns"));
        };
        let pieces = i128::from(quantity.int("quantity")?);
        let units = pieces * i128::from(ONE);
        let least = notify.optional_int("notify_qty")?.unwrap_or(low);
        // Without a limit of its own, it is out of stock when nothing is left.
        let out = out.optional_int("min_out_qty")?.unwrap_or(0);
        let status = match managed.int("manage_stock")? {
            0 => "unmanaged",
            _ if units <= i128::from(out) => "out_of_stock",
            _ if units <= i128::from(least) => "low_stock",
            _ => "in_stock",
        };
        let value = amount(pieces * i128::from(price.int("price")?));
        let mut id = format!("inventory-{}", product.int("product_id")?);
        let mut name = name.text("name")?.to_owned();
        if let Some(variant) = variant.optional_int("shop_variant_id")? {
            id = format!("{id}-{variant}");
            name = options::named(&name, options.text("options")?)?;
        }
        let cells = [
            product.clone(),
            variant.clone(),
            sku.clone(),
            Cell::Text(name.into()),
            quantity.clone(),
            notify.clone(),
            Cell::Text(status.into()),
            value,
        ];
        rows.push((id, attributes(REPORT.row, &cells)?));
    }

    let mut counts = [0; STATUSES.len()];
    let (mut units, mut value) = (0, 0);
    for row in sums.rows()? {
        let [status, products, pieces, parts @ ..] = &row[..] else {
            return Err(Error::Contract("a row of the sums of stock has other columns"));
        };
        let status = usize::try_from(status.int("status")?).ok();
        let status = status.and_then(|number| KEPT.get(number));
        let status = STATUSES.iter().position(|known| Some(known) == status);
        let status = status.ok_or_else(|| Error::column("status", "a status", "a number"))?;
        counts[status] += products.int("products")?;
        units += pieces.int("units")?;
        for (part, (column, one)) in parts.iter().zip(PARTS) {
            value += one * i128::from(part.int(column)?);
        }
    }
    let total = counts.iter().sum();
    let counts = counts.map(Cell::Int);
    let cells = [&counts[..], &[Cell::Int(units), amount(value)]].concat();
    let totals = attributes(REPORT.totals, &cells)?;
    asked.document(&rows, total, vec![("totals", totals.into())])
}
