//! The stock of each product, and of each variant of one that has it in these; the lowest first. Independent of
//! days.

use super::amounts::amount;
use super::asked::{ASKED, Asked};
use crate::error::Error;
use crate::model::field::{choice, count, int, money, quantity, text};
use crate::model::options;
use crate::model::resource::Report;
use crate::model::value::{Cell, Value};
use crate::sql::{Amount, InStock, Json, Rows, in_stock, row};
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

/// What one is worth in each of the parts that a value is kept in.
const WORTH: [i128; 3] = [10_i128.pow(18), 10_i128.pow(9), 1];

row! {
    /// The sums of a status: its products, the items in stock, and their value in parts.
    struct Held {
        status: i64 = "s.status",
        products: i64 = "sum(s.products)",
        units: i64 = "sum(s.units)",
        value_2: i64 = "sum(s.value_2)",
        value_1: i64 = "sum(s.value_1)",
        value_0: i64 = "sum(s.value_0)",
    }
}

/// The sums that the database keeps for each status; the configuration splits the last group.
const TOTALS: &str = "FROM (SELECT products, units, value_2, value_1, \
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
    let held = transaction.rows(in_stock(listing.offset, listing.limit)).await?;
    let binds = vec![vec![Value::Int(asked.low_stock)]];
    let sums = transaction.rows(Rows::<Held>::select(TOTALS, binds)).await?;
    transaction.end().await;

    let mut rows = Vec::new();
    for of in held {
        let InStock { product, variant, quantity, notify, .. } = of;
        let pieces = i128::from(quantity);
        let units = pieces * i128::from(ONE);
        let least = notify.map_or(low, |Amount(least)| least);
        // Without a limit of its own, it is out of stock when nothing is left.
        let out = of.out.map_or(0, |Amount(out)| out);
        let status = if !of.is_managed {
            "unmanaged"
        } else if units <= i128::from(out) {
            "out_of_stock"
        } else if units <= i128::from(least) {
            "low_stock"
        } else {
            "in_stock"
        };
        let mut id = format!("inventory-{product}");
        let mut name = of.name;
        if let (Some(variant), Some(Json(options))) = (variant, of.options) {
            id = format!("{id}-{variant}");
            name = options::named(&name, &options)?;
        }
        let optional = |number: Option<i64>| number.map_or(Cell::Null, Cell::Int);
        let cells = vec![
            Cell::Int(product),
            optional(variant),
            Cell::Text(of.sku.into()),
            Cell::Text(name.into()),
            Cell::Int(quantity),
            optional(notify.map(|Amount(least)| least)),
            Cell::Text(status.into()),
            amount(pieces * i128::from(of.price.0)),
        ];
        rows.push((id, cells));
    }

    let mut counts = [0; STATUSES.len()];
    let (mut units, mut value) = (0, 0);
    for of in sums {
        let status = usize::try_from(of.status).ok();
        let status = status.and_then(|number| KEPT.get(number));
        let status = STATUSES.iter().position(|known| Some(known) == status);
        let status = status.ok_or_else(|| Error::column("status", "a status", "a number"))?;
        counts[status] += of.products;
        units += of.units;
        for (part, worth) in [of.value_2, of.value_1, of.value_0].into_iter().zip(WORTH) {
            value += i128::from(part) * worth;
        }
    }
    let total = counts.iter().sum();
    let counts = counts.map(Cell::Int);
    let cells = [&counts[..], &[Cell::Int(units), amount(value)]].concat();
    let totals = attributes(REPORT.totals, &cells)?;
    asked.document(&REPORT, &rows, total, vec![("totals", totals.into())])
}
