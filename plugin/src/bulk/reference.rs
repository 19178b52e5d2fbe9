//! The reference data that every store needs: countries and their subdivisions, currencies, and
//! order statuses. The first two come from the ISO lists of maintained crates.

use iso_currency::{Currency, IntoEnumIterator};

use super::rows::{flag, folded, key, keyed_rows_of, push, text, write};
use crate::error::Error;
use crate::model::parameters::DEFAULT_CURRENCY;
use crate::model::value::Value;
use crate::sql::Statement;
use crate::store::{self, Store, Transaction};

/// The statuses that every store has, by their keys from 1.
const ORDER_STATUSES: [&str; 8] =
    ["Confirmed", "Processed", "Failed", "Pending", "New", "Cancelled", "Shipped", "Delivered"];

/// Inserts the reference data into a new store, in one transaction. A store that has received them
/// before keeps its present records.
pub async fn install(store: &Store) -> Result<(), Error> {
    // Each start of a program would wait for those who write otherwise.
    if store::retry(|| is_installed(store)).await? {
        return Ok(());
    }
    store::retry(|| install_once(store)).await
}

async fn is_installed(store: &Store) -> Result<bool, Error> {
    let mut reading = store.begin_read().await?;
    let installed = reading.numbers(installed()).await? == [1];
    reading.end().await;
    Ok(installed)
}

fn installed() -> Statement {
    Statement::fixed("SELECT reference_installed FROM shop_meta", Vec::new())
}

async fn install_once(store: &Store) -> Result<(), Error> {
    let mut transaction = store.begin().await?;
    // If several programs start at once, one of them inserts the data and the others wait for it.
    transaction.lock_store().await?;
    if transaction.numbers(installed()).await? == [1] {
        return Ok(());
    }
    countries(&mut transaction).await?;
    currencies(&mut transaction).await?;
    order_statuses(&mut transaction).await?;
    let note = "UPDATE shop_meta SET reference_installed = 1";
    transaction.execute(Statement::fixed(note, Vec::new())).await?;
    transaction.commit().await
}

async fn countries(transaction: &mut Transaction) -> Result<(), Error> {
    let mut countries = keyed_rows_of("shop_countries", &["shop_country_id"]);
    let mut zones = keyed_rows_of("shop_zones", &["shop_zone_id"]);
    let mut zone_number = 0;
    for (country, number) in rust_iso3166::ALL.iter().zip(0..) {
        push!(
            countries,
            ("shop_country_id", key(number)),
            ("country_name", text(country.name)),
            ("country_name_fold", folded(country.name)),
            ("country_isocode_2", text(country.alpha2)),
            ("country_isocode_3", text(country.alpha3)),
        );
        for zone in country.subdivisions().unwrap_or_default() {
            // Codes are stored without the country prefix.
            let code = zone.code.split_once('-').map_or(zone.code, |(_, code)| code);
            push!(
                zones,
                ("shop_zone_id", key(zone_number)),
                ("zone_name", text(zone.name)),
                ("zone_name_fold", folded(zone.name)),
                ("zone_code", text(code)),
                ("zone_code_fold", folded(code)),
                ("country_id", key(number)),
            );
            zone_number += 1;
        }
    }
    write(countries, transaction).await?;
    write(zones, transaction).await
}

/// The currencies in which payments are made. Only the default one is enabled, because the store
/// has no exchange rates.
async fn currencies(transaction: &mut Transaction) -> Result<(), Error> {
    let mut currencies = keyed_rows_of("shop_currencies", &["shop_currency_id"]);
    let payable = Currency::iter().filter(|currency| currency.flags().is_empty());
    for (currency, number) in payable.zip(0..) {
        let decimals = currency.exponent().unwrap_or_default();
        push!(
            currencies,
            ("shop_currency_id", key(number)),
            ("currency_title", text(currency.name())),
            ("currency_title_fold", folded(currency.name())),
            ("currency_code", text(currency.code())),
            ("currency_num_decimals", Value::Int(i64::from(decimals))),
            ("enabled", flag(currency.code() == DEFAULT_CURRENCY)),
        );
    }
    write(currencies, transaction).await
}

async fn order_statuses(transaction: &mut Transaction) -> Result<(), Error> {
    let mut statuses = keyed_rows_of("shop_orderstatuses", &["shop_orderstatus_id"]);
    for (name, number) in ORDER_STATUSES.into_iter().zip(0..) {
        push!(
            statuses,
            ("shop_orderstatus_id", key(number)),
            ("orderstatus_name", text(name)),
            ("orderstatus_name_fold", folded(name)),
            ("orderstatus_core", flag(true)),
        );
    }
    write(statuses, transaction).await
}
