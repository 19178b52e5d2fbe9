//! The basic data of a demo store, before its first product, written in one transaction.

use std::collections::HashMap;

use super::make::{cents, chance, moment, pick};
use super::people;
use super::world::{Country, Setup, not_empty};
use crate::bulk::rows::{flag, folded, key, keyed_rows_of, push, rows_of, text, write};
use crate::error::Error;
use crate::model::value::Value;
use crate::sql::{RowsOf, Statement};
use crate::store::{Store, Transaction};

/// How many manufacturers have products. There is one more, so that one can be deleted; and so there is
/// another category, tax profile and order status.
pub(super) const MANUFACTURERS: u64 = 24;

/// The categories with products: title, and the number of the parent, from 1.
pub(super) const CATEGORIES: [(&str, i64); 22] = [
    ("Living", 0),
    ("Kitchen", 0),
    ("Outdoor", 0),
    ("Stationery", 0),
    ("Music", 0),
    ("Lamps", 1),
    ("Textiles", 1),
    ("Furniture", 1),
    ("Desk lamps", 6),
    ("Floor lamps", 6),
    ("Blankets", 7),
    ("Cushions", 7),
    ("Ceramics", 2),
    ("Knives", 2),
    ("Baking", 2),
    ("Tents", 3),
    ("Lanterns", 3),
    ("Backpacks", 3),
    ("Notebooks", 4),
    ("Fountain pens", 4),
    ("Strings", 5),
    ("Percussion", 5),
];

/// The category to which nothing belongs.
const EMPTY_CATEGORY: (&str, i64) = ("Gifts", 0);

/// The first category that contains products; the ones before it contain only categories.
pub(super) const FIRST_LEAF: usize = 8;

/// The value of one euro, in units of 10^-8, for a store that sells abroad.
pub(super) const RATES: [(&str, i64, &str); 8] = [
    ("CHF", 93_500_000, "pre"),
    ("DKK", 745_900_000, "post"),
    ("GBP", 85_720_000, "pre"),
    ("JPY", 16_341_000_000, "pre"),
    ("NOK", 1_172_400_000, "post"),
    ("PLN", 426_150_000, "post"),
    ("SEK", 1_129_800_000, "post"),
    ("USD", 108_440_000, "pre"),
];

/// The elements of the payment methods.
pub(super) const PAYMENTS: [(&str, &str); 4] = [
    ("Card", "payment_card"),
    ("Invoice", "payment_invoice"),
    ("Transfer", "payment_transfer"),
    ("Cash on delivery", "payment_cash"),
];

pub(super) const SHIPPING: [(&str, &str); 3] = [
    ("Parcel", "shipping_parcel"),
    ("Express", "shipping_express"),
    ("Pick up", "shipping_pickup"),
];

const FIRST: [&str; 12] = [
    "Aurora", "Birch", "Cobalt", "Dune", "Ember", "Fjord", "Granite", "Harbour", "Isle", "Juniper",
    "Kestrel", "Łąka",
];
const SECOND: [&str; 8] =
    ["Outdoor", "Ceramics", "Textiles", "Instruments", "Möbel", "Lighting", "Kitchen", "Papeterie"];

/// Sets up an empty store, and returns the records that others refer to.
pub(super) async fn install(store: &Store) -> Result<Setup, Error> {
    let mut transaction = store.begin().await?;
    transaction.lock_store().await?;
    let flags = Statement::fixed(
        "SELECT demo_set_up, EXISTS (SELECT 1 FROM shop_manufacturers) \
         OR EXISTS (SELECT 1 FROM shop_categories) OR EXISTS (SELECT 1 FROM shop_products) \
         OR EXISTS (SELECT 1 FROM shop_addresses) OR EXISTS (SELECT 1 FROM shop_orders) \
         OR EXISTS (SELECT 1 FROM shop_methods) OR EXISTS (SELECT 1 FROM shop_taxprofiles) \
         FROM shop_meta",
        Vec::new(),
    );
    match transaction.numbers(flags).await?[..] {
        [0, 0] => {
            let rows = [manufacturers(), categories(), methods(), coupons(), vouchers(), ledger()];
            for rows in rows.into_iter().chain(taxes()).chain([status()]) {
                write(rows, &mut transaction).await?;
            }
            currencies(&mut transaction).await?;
            let done = Statement::fixed("UPDATE shop_meta SET demo_set_up = 1", Vec::new());
            transaction.execute(done).await?;
        }
        [0, _] => return Err(not_empty()),
        _ => {}
    }
    let countries = countries(&mut transaction).await?;
    transaction.commit().await?;
    Ok(Setup { countries })
}

async fn countries(transaction: &mut Transaction) -> Result<HashMap<String, Country>, Error> {
    let statement = Statement::fixed(
        "SELECT c.country_isocode_2 || '|' || c.shop_country_id || '|' || c.country_name || '|' || \
         coalesce(z.shop_zone_id, 0) || '|' || coalesce(z.zone_name, '') FROM shop_countries c \
         LEFT JOIN shop_zones z ON z.shop_zone_id = (SELECT min(shop_zone_id) FROM shop_zones \
         WHERE country_id = c.shop_country_id)",
        Vec::new(),
    );
    let lines = transaction.texts(statement).await?;
    let parsed = lines.iter().filter_map(|line| {
        let words: Vec<&str> = line.splitn(5, '|').collect();
        let [code, key, name, zone, zone_name] = words[..] else { return None };
        let zone = Some(zone.parse().ok()?).filter(|zone| *zone != 0);
        let zone = zone.map(|zone| (zone, zone_name.to_owned()));
        let country = Country { key: key.parse().ok()?, name: name.to_owned(), zone };
        Some((code.to_owned(), country))
    });
    Ok(parsed.collect())
}

async fn currencies(transaction: &mut Transaction) -> Result<(), Error> {
    for (code, value, position) in RATES {
        let statement = Statement::fixed(
            "UPDATE shop_currencies SET version = version + 1, enabled = 1, currency_value = ?, \
             currency_position = ? WHERE currency_code = ?",
            vec![Value::Decimal { units: value, places: 8 }, text(position), text(code)],
        );
        transaction.execute(statement).await?;
    }
    Ok(())
}

fn manufacturers() -> RowsOf {
    let mut rows = keyed_rows_of("shop_manufacturers", &["shop_manufacturer_id"]);
    for number in 0..=MANUFACTURERS {
        let place = usize::try_from(number).unwrap_or_default();
        let (first, second) = (FIRST[place % 12], SECOND[(place + place / 12) % 8]);
        let name = format!("{first} {second}");
        push!(
            rows,
            ("shop_manufacturer_id", key(number)),
            ("manufacturer_name", text(&name)),
            ("manufacturer_name_fold", folded(&name)),
            // One brand in twelve is disabled.
            ("enabled", flag(number % 12 != 7)),
            ("ordering", key(number)),
            ("manufacturer_desc", text(format!("{second} from {first}, made to be repaired."))),
        );
    }
    rows
}

fn categories() -> RowsOf {
    let mut rows = keyed_rows_of("shop_categories", &["id"]);
    let mut placed: Vec<(i64, String)> = Vec::new();
    for ((title, parent), number) in CATEGORIES.into_iter().chain([EMPTY_CATEGORY]).zip(0..) {
        let alias = slug::slugify(title);
        let above = usize::try_from(parent - 1).ok().and_then(|place| placed.get(place));
        let (level, path) = match above {
            Some((level, path)) => (level + 1, format!("{path}/{alias}")),
            None => (1, alias.clone()),
        };
        push!(
            rows,
            ("id", key(number)),
            ("title", text(title)),
            ("title_fold", folded(title)),
            ("alias", text(&alias)),
            ("alias_fold", folded(&alias)),
            ("parent_id", Value::Int(parent)),
            ("level", Value::Int(level)),
            ("path", text(&path)),
            ("description", text(format!("Everything for {}.", title.to_lowercase()))),
        );
        placed.push((level, path));
    }
    rows
}

fn methods() -> RowsOf {
    let mut rows = rows_of("shop_methods");
    let shipping = SHIPPING.iter().map(|method| (1, method));
    let payment = PAYMENTS.iter().map(|method| (2, method));
    for ((kind, (name, element)), number) in shipping.chain(payment).zip(0..) {
        let element = text(*element);
        let params = Value::Json("{\"note\":\"\",\"min_total\":\"0.00\"}".to_owned());
        let (plain, fold) = (text(*name), folded(name));
        push!(
            rows,
            ("method_kind", Value::Int(kind)),
            ("name", plain),
            ("name_fold", fold),
            ("element", element),
            ("enabled", flag(true)),
            ("ordering", key(number)),
            ("params", params),
        );
    }
    rows
}

fn taxes() -> [RowsOf; 2] {
    let mut profiles = keyed_rows_of("shop_taxprofiles", &["shop_taxprofile_id"]);
    let mut rates = rows_of("shop_taxrates");
    for (name, number) in ["Standard goods", "Books and food", "Gift cards"].into_iter().zip(0..) {
        push!(
            profiles,
            ("shop_taxprofile_id", key(number)),
            ("taxprofile_name", text(name)),
            ("taxprofile_name_fold", folded(name)),
        );
    }
    for (name, percent, zone) in
        [("Standard rate", 19_000, 1), ("Reduced rate", 7_000, 1), ("Export", 0, 2)]
    {
        let percent = Value::Decimal { units: percent, places: 3 };
        push!(
            rates,
            ("taxrate_name", text(name)),
            ("taxrate_name_fold", folded(name)),
            ("tax_percent", percent),
            ("geozone_id", Value::Int(zone)),
        );
    }
    [profiles, rates]
}

/// A status beside those that every store has.
fn status() -> RowsOf {
    let mut rows = rows_of("shop_orderstatuses");
    let name = "Ready for pick-up";
    push!(rows, ("orderstatus_name", text(name)), ("orderstatus_name_fold", folded(name)),);
    rows
}

fn coupons() -> RowsOf {
    let mut rows = rows_of("shop_coupons");
    for (name, code, value, kind, year) in [
        ("Welcome", "WELCOME10", 1_000, "percentage_cart", 0),
        ("Spring", "SPRING", 500, "fixed_cart", 2025),
        ("Summer", "SUMMER", 1500, "percentage_cart", 2025),
        ("Autumn", "AUTUMN", 500, "fixed_cart", 2026),
        ("Winter", "WINTER", 2000, "percentage_product", 2026),
        ("Friends", "FRIENDS", 2500, "percentage_cart", 0),
        ("Staff", "STAFF", 3000, "percentage_cart", 0),
        ("Birthday", "BIRTHDAY", 1000, "fixed_cart", 0),
        ("Newsletter", "NEWS5", 500, "percentage_cart", 0),
        ("No shipping", "SHIPFREE", 0, "fixed_cart", 0),
        ("Lamp week", "LAMPS", 1250, "fixed_product", 2026),
        ("Clearance", "CLEAR50", 5000, "percentage_product", 2026),
    ] {
        let (from, to) = match year {
            0 => (Value::Null, Value::Null),
            year => {
                (moment(format!("{year}-01-01T00:00:00")), moment(format!("{year}-12-31T23:59:59")))
            }
        };
        push!(
            rows,
            ("coupon_name", text(name)),
            ("coupon_name_fold", folded(name)),
            ("coupon_code", text(code)),
            ("coupon_code_fold", folded(code)),
            ("enabled", flag(code != "STAFF")),
            ("value", Value::money(cents(value))),
            ("value_type", text(kind)),
            ("valid_from", from),
            ("valid_to", to),
            ("free_shipping", flag(code == "SHIPFREE")),
            ("max_uses", Value::Int(if year == 0 { 0 } else { 500 })),
            ("min_subtotal", Value::money(cents(if code == "SHIPFREE" { 4_000 } else { 0 }))),
        );
    }
    rows
}

const VOUCHERS: u64 = 40;

fn vouchers() -> RowsOf {
    let mut rows = keyed_rows_of("shop_vouchers", &["shop_voucher_id"]);
    for number in 0..VOUCHERS {
        let mut rng = chance(1, number);
        let letters = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let code: String = (0..12).map(|_| char::from(pick(&mut rng, letters))).collect();
        let email = match number {
            0 => "admin@example.com".to_owned(),
            _ => people::email(number),
        };
        push!(
            rows,
            ("shop_voucher_id", key(number)),
            ("voucher_code", text(&code)),
            ("voucher_code_fold", folded(&code)),
            ("email_to", text(&email)),
            ("email_to_fold", folded(&email)),
            ("voucher_value", Value::money(voucher_value(number))),
            ("enabled", flag(number % 13 != 12)),
            ("created_on", moment(format!("2026-0{}-15T10:00:00", 1 + number % 6))),
            ("subject", text("A gift for you")),
            ("valid_to", if number % 3 == 0 { moment("2027-12-31T23:59:59") } else { Value::Null }),
        );
    }
    rows
}

fn voucher_value(number: u64) -> i64 {
    cents([2_500, 5_000, 7_500, 10_000][usize::try_from(number % 4).unwrap_or_default()])
}

/// Every other voucher has been used in part.
fn ledger() -> RowsOf {
    let mut rows = rows_of("shop_voucher_ledger");
    for number in (0..VOUCHERS).step_by(2) {
        let before = voucher_value(number);
        let amount = -before / 4;
        push!(
            rows,
            ("voucher_id", key(number)),
            ("adjustment_type", text("debit")),
            ("amount", Value::money(amount)),
            ("balance_before", Value::money(before)),
            ("balance_after", Value::money(before + amount)),
            ("reason", text("Used in the shop")),
            ("user_id", Value::Int(0)),
            ("created_on", moment("2026-07-01T12:00:00")),
        );
    }
    rows
}
