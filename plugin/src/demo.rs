//! A small store to try the services with. The same on every machine: nothing in it is left to
//! chance.

use host_interface::{DemoSize, ProgressHandle};

use crate::error::Error;
use crate::sql::{self, Statement};
use crate::store::Store;
use crate::value::{Value, fold};

/// How many manufacturers a demonstration store has where nothing is said.
const MANUFACTURERS: usize = 24;
/// How many products share one manufacturer.
const PRODUCTS_OF_ONE: u64 = 25;
/// How many records are written in one transaction.
const BATCH: usize = 1_000;

const FIRST: [&str; 12] = [
    "Aurora", "Birch", "Cobalt", "Dune", "Ember", "Fjord", "Granite", "Harbour", "Isle", "Juniper",
    "Kestrel", "Łąka",
];
const SECOND: [&str; 8] =
    ["Outdoor", "Ceramics", "Textiles", "Instruments", "Möbel", "Lighting", "Kitchen", "Papeterie"];

/// What one euro buys, in units of 10^-8, for a store that sells abroad.
const RATES: [(&str, i64, &str); 8] = [
    ("CHF", 93_500_000, "pre"),
    ("DKK", 745_900_000, "post"),
    ("GBP", 85_720_000, "pre"),
    ("JPY", 16_341_000_000, "pre"),
    ("NOK", 1_172_400_000, "post"),
    ("PLN", 426_150_000, "post"),
    ("SEK", 1_129_800_000, "post"),
    ("USD", 108_440_000, "pre"),
];

/// Fills the store up to the size, and says in one line what is in it. A store that is as large
/// already stays as it is, so that a run that was interrupted is completed by the next.
///
/// # Errors
/// Those of the database. What was written before stays.
pub async fn fill(
    store: &Store,
    size: DemoSize,
    progress: &ProgressHandle,
) -> Result<String, Error> {
    let wanted = size.products.map_or(MANUFACTURERS, |products| {
        usize::try_from(products.div_ceil(PRODUCTS_OF_ONE)).unwrap_or(usize::MAX)
    });
    manufacturers(store, wanted, progress).await?;
    currencies(store, progress).await?;
    Ok(format!("{wanted} manufacturers, {} currencies with rates", RATES.len()))
}

async fn manufacturers(
    store: &Store,
    wanted: usize,
    progress: &ProgressHandle,
) -> Result<(), Error> {
    let columns =
        ["manufacturer_name", "manufacturer_name_fold", "enabled", "ordering", "manufacturer_desc"];
    loop {
        let mut transaction = store.begin().await?;
        let text = "SELECT count(*) FROM shop_manufacturers".to_owned();
        let counted = transaction.numbers(Statement { text, binds: Vec::new() }).await?;
        let done = counted.first().and_then(|count| usize::try_from(*count).ok()).unwrap_or(0);
        if done >= wanted {
            return Ok(());
        }
        let until = wanted.min(done + BATCH);
        let rows: Vec<Vec<Value>> = (done..until).map(manufacturer).collect();
        for statement in sql::insert_rows("shop_manufacturers", &columns, &rows, store.dialect()) {
            transaction.execute(statement).await?;
        }
        transaction.commit().await?;
        progress.report("manufacturers", until as u64, wanted as u64);
    }
}

fn manufacturer(number: usize) -> Vec<Value> {
    let (first, second) = (FIRST[number % 12], SECOND[(number + number / 24) % 8]);
    let series = number / 96;
    let name = match series {
        0 => format!("{first} {second}"),
        _ => format!("{first} {second} {}", series + 1),
    };
    let description = format!("{second} from {first}, made to be repaired.");
    vec![
        Value::Text(name.clone()),
        Value::Text(fold(&name)),
        // One brand in twelve is no longer sold.
        Value::Int(i64::from(number % 12 != 7)),
        Value::Int(i64::try_from(number + 1).unwrap_or_default()),
        Value::Text(description),
    ]
}

async fn currencies(store: &Store, progress: &ProgressHandle) -> Result<(), Error> {
    let mut transaction = store.begin().await?;
    for (code, value, position) in RATES {
        let text = "UPDATE shop_currencies SET enabled = 1, currency_value = ?, \
                    currency_position = ? WHERE currency_code = ?";
        let binds =
            vec![Value::Int(value), Value::Text(position.to_owned()), Value::Text(code.to_owned())];
        transaction.execute(Statement { text: text.to_owned(), binds }).await?;
    }
    transaction.commit().await?;
    progress.report("currencies", RATES.len() as u64, RATES.len() as u64);
    Ok(())
}
