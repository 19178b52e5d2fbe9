//! The reference data that every store needs: countries and their subdivisions, currencies, and
//! order statuses. The first two come from the ISO lists of maintained crates.

use iso_currency::{Currency, IntoEnumIterator};

use crate::error::Error;
use crate::model::parameters::DEFAULT_CURRENCY;
use crate::model::value::{Value, fold};
use crate::sql::{self, Statement};
use crate::store::{self, Store, Transaction};

/// The statuses that every store has, by their keys from 1.
const ORDER_STATUSES: [&str; 8] =
    ["Confirmed", "Processed", "Failed", "Pending", "New", "Cancelled", "Shipped", "Delivered"];

/// Inserts the reference data into a new store, in one transaction. A store that has received them
/// before keeps its present records.
pub async fn install(store: &Store) -> Result<(), Error> {
    store::retry(|| install_once(store)).await
}

async fn install_once(store: &Store) -> Result<(), Error> {
    let mut transaction = store.begin().await?;
    // If several programs start at once, one of them inserts the data and the others wait for it.
    transaction.lock_store().await?;
    let plain = |text| Statement::fixed(text, Vec::new());
    let installed = plain("SELECT reference_installed FROM shop_meta");
    if transaction.numbers(installed).await? == [1] {
        return Ok(());
    }
    countries(&mut transaction).await?;
    currencies(&mut transaction).await?;
    order_statuses(&mut transaction).await?;
    transaction.execute(plain("UPDATE shop_meta SET reference_installed = 1")).await?;
    transaction.commit().await
}

async fn countries(transaction: &mut Transaction) -> Result<(), Error> {
    let mut countries = Vec::new();
    let mut zones = Vec::new();
    let mut zone_key = 0;
    for (country, key) in rust_iso3166::ALL.iter().zip(1..) {
        countries.extend([
            Value::Int(key),
            text(country.name),
            folded(country.name),
            text(country.alpha2),
            text(country.alpha3),
        ]);
        for zone in country.subdivisions().unwrap_or_default() {
            // Codes are stored without the country prefix.
            let code = zone.code.split_once('-').map_or(zone.code, |(_, code)| code);
            zone_key += 1;
            zones.extend([
                Value::Int(zone_key),
                text(zone.name),
                folded(zone.name),
                text(code),
                folded(code),
                Value::Int(key),
            ]);
        }
    }
    let columns = [
        "shop_country_id",
        "country_name",
        "country_name_fold",
        "country_isocode_2",
        "country_isocode_3",
    ];
    insert(transaction, "shop_countries", &columns, countries).await?;
    let columns = [
        "shop_zone_id",
        "zone_name",
        "zone_name_fold",
        "zone_code",
        "zone_code_fold",
        "country_id",
    ];
    insert(transaction, "shop_zones", &columns, zones).await
}

/// The currencies in which payments are made. Only the default one is enabled, because the store
/// has no exchange rates.
async fn currencies(transaction: &mut Transaction) -> Result<(), Error> {
    let payable = Currency::iter().filter(|currency| currency.flags().is_empty());
    let values = payable
        .zip(1..)
        .flat_map(|(currency, key)| {
            let name = currency.name();
            let decimals = currency.exponent().unwrap_or_default();
            [
                Value::Int(key),
                text(name),
                folded(name),
                text(currency.code()),
                Value::Int(i64::from(decimals)),
                Value::Int(i64::from(currency.code() == DEFAULT_CURRENCY)),
            ]
        })
        .collect();
    let columns = [
        "shop_currency_id",
        "currency_title",
        "currency_title_fold",
        "currency_code",
        "currency_num_decimals",
        "enabled",
    ];
    insert(transaction, "shop_currencies", &columns, values).await
}

async fn order_statuses(transaction: &mut Transaction) -> Result<(), Error> {
    let values = ORDER_STATUSES
        .iter()
        .zip(1..)
        .flat_map(|(name, key)| [Value::Int(key), text(name), folded(name), Value::Int(1)])
        .collect();
    let columns =
        ["shop_orderstatus_id", "orderstatus_name", "orderstatus_name_fold", "orderstatus_core"];
    insert(transaction, "shop_orderstatuses", &columns, values).await
}

/// Inserts rows with their keys, given as values row after row with the key first.
async fn insert(
    transaction: &mut Transaction,
    table: &str,
    columns: &[&str],
    values: Vec<Value>,
) -> Result<(), Error> {
    for statement in sql::insert_keyed(table, columns, values, transaction.dialect()) {
        transaction.execute(statement).await?;
    }
    Ok(())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn folded(text: &str) -> Value {
    Value::Text(fold(text))
}
