//! The basic data of a demo store, before its first product, written in one transaction.

use std::collections::HashMap;

use super::make::{cents, chance, flag, folded, key, keyed_rows_of, moment, pick, rows_of, text};
use super::people;
use super::world::{Country, Setup, not_empty};
use crate::error::Error;
use crate::model::value::Value;
use crate::sql::{self, RowsOf, Statement};
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

/// Writes rows.
pub(super) async fn write(rows: RowsOf, transaction: &mut Transaction) -> Result<(), Error> {
    let RowsOf { table, columns, keyed, values } = rows;
    let dialect = transaction.dialect();
    let statements = if keyed {
        sql::insert_keyed(table, columns, values, dialect)
    } else {
        sql::insert_many(table, columns, values, usize::MAX, dialect)
    };
    for statement in statements {
        transaction.execute(statement).await?;
    }
    Ok(())
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
    let mut rows = keyed_rows_of(
        "shop_manufacturers",
        &[
            "shop_manufacturer_id",
            "manufacturer_name",
            "manufacturer_name_fold",
            "enabled",
            "ordering",
            "manufacturer_desc",
        ],
    );
    for number in 0..=MANUFACTURERS {
        let place = usize::try_from(number).unwrap_or_default();
        let (first, second) = (FIRST[place % 12], SECOND[(place + place / 12) % 8]);
        let name = format!("{first} {second}");
        rows.push([
            key(number),
            text(&name),
            folded(&name),
            // One brand in twelve is disabled.
            flag(number % 12 != 7),
            key(number),
            text(format!("{second} from {first}, made to be repaired.")),
        ]);
    }
    rows
}

fn categories() -> RowsOf {
    let mut rows = keyed_rows_of(
        "shop_categories",
        &[
            "id",
            "title",
            "title_fold",
            "alias",
            "alias_fold",
            "parent_id",
            "level",
            "path",
            "description",
        ],
    );
    let mut placed: Vec<(i64, String)> = Vec::new();
    for ((title, parent), number) in CATEGORIES.into_iter().chain([EMPTY_CATEGORY]).zip(0..) {
        let alias = slug::slugify(title);
        let above = usize::try_from(parent - 1).ok().and_then(|place| placed.get(place));
        let (level, path) = match above {
            Some((level, path)) => (level + 1, format!("{path}/{alias}")),
            None => (1, alias.clone()),
        };
        rows.push([
            key(number),
            text(title),
            folded(title),
            text(&alias),
            folded(&alias),
            Value::Int(parent),
            Value::Int(level),
            text(&path),
            text(format!("Everything for {}.", title.to_lowercase())),
        ]);
        placed.push((level, path));
    }
    rows
}

fn methods() -> RowsOf {
    let mut rows = rows_of(
        "shop_methods",
        &["method_kind", "name", "name_fold", "element", "enabled", "ordering", "params"],
    );
    let shipping = SHIPPING.iter().map(|method| (1, method));
    let payment = PAYMENTS.iter().map(|method| (2, method));
    for ((kind, (name, element)), number) in shipping.chain(payment).zip(0..) {
        let element = text(*element);
        let params = Value::Json("{\"note\":\"\",\"min_total\":\"0.00\"}".to_owned());
        let (plain, fold) = (text(*name), folded(name));
        rows.push([Value::Int(kind), plain, fold, element, flag(true), key(number), params]);
    }
    rows
}

fn taxes() -> [RowsOf; 2] {
    let mut profiles = keyed_rows_of(
        "shop_taxprofiles",
        &["shop_taxprofile_id", "taxprofile_name", "taxprofile_name_fold"],
    );
    let mut rates = rows_of(
        "shop_taxrates",
        &["taxrate_name", "taxrate_name_fold", "tax_percent", "geozone_id"],
    );
    for (name, number) in ["Standard goods", "Books and food", "Gift cards"].into_iter().zip(0..) {
        profiles.push([key(number), text(name), folded(name)]);
    }
    for (name, percent, zone) in
        [("Standard rate", 19_000, 1), ("Reduced rate", 7_000, 1), ("Export", 0, 2)]
    {
        let percent = Value::Decimal { units: percent, places: 3 };
        rates.push([text(name), folded(name), percent, Value::Int(zone)]);
    }
    [profiles, rates]
}

/// A status beside those that every store has.
fn status() -> RowsOf {
    let mut rows = rows_of("shop_orderstatuses", &["orderstatus_name", "orderstatus_name_fold"]);
    let name = "Ready for pick-up";
    rows.push([text(name), folded(name)]);
    rows
}

fn coupons() -> RowsOf {
    let mut rows = rows_of(
        "shop_coupons",
        &[
            "coupon_name",
            "coupon_name_fold",
            "coupon_code",
            "coupon_code_fold",
            "enabled",
            "value",
            "value_type",
            "valid_from",
            "valid_to",
            "free_shipping",
            "max_uses",
            "min_subtotal",
        ],
    );
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
        rows.push([
            text(name),
            folded(name),
            text(code),
            folded(code),
            flag(code != "STAFF"),
            Value::money(cents(value)),
            text(kind),
            from,
            to,
            flag(code == "SHIPFREE"),
            Value::Int(if year == 0 { 0 } else { 500 }),
            Value::money(cents(if code == "SHIPFREE" { 4_000 } else { 0 })),
        ]);
    }
    rows
}

const VOUCHERS: u64 = 40;

fn vouchers() -> RowsOf {
    let mut rows = keyed_rows_of(
        "shop_vouchers",
        &[
            "shop_voucher_id",
            "voucher_code",
            "voucher_code_fold",
            "email_to",
            "email_to_fold",
            "voucher_value",
            "enabled",
            "created_on",
            "subject",
            "valid_to",
        ],
    );
    for number in 0..VOUCHERS {
        let mut rng = chance(1, number);
        let letters = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let code: String = (0..12).map(|_| char::from(pick(&mut rng, letters))).collect();
        let email = match number {
            0 => "admin@example.com".to_owned(),
            _ => people::email(number),
        };
        rows.push([
            key(number),
            text(&code),
            folded(&code),
            text(&email),
            folded(&email),
            Value::money(voucher_value(number)),
            flag(number % 13 != 12),
            moment(format!("2026-0{}-15T10:00:00", 1 + number % 6)),
            text("A gift for you"),
            if number % 3 == 0 { moment("2027-12-31T23:59:59") } else { Value::Null },
        ]);
    }
    rows
}

fn voucher_value(number: u64) -> i64 {
    cents([2_500, 5_000, 7_500, 10_000][usize::try_from(number % 4).unwrap_or_default()])
}

/// Every other voucher has been used in part.
fn ledger() -> RowsOf {
    let mut rows = rows_of(
        "shop_voucher_ledger",
        &[
            "voucher_id",
            "adjustment_type",
            "amount",
            "balance_before",
            "balance_after",
            "reason",
            "user_id",
            "created_on",
        ],
    );
    for number in (0..VOUCHERS).step_by(2) {
        let before = voucher_value(number);
        let amount = -before / 4;
        rows.push([
            key(number),
            text("debit"),
            Value::money(amount),
            Value::money(before),
            Value::money(before + amount),
            text("Used in the shop"),
            Value::Int(0),
            moment("2026-07-01T12:00:00"),
        ]);
    }
    rows
}
