//! Products of a demo store, some with variants.

use fastrand::Rng;

use crate::model::value::Value;
use crate::sql::RowsOf;

use super::make::{
    cents, chance, days_ago, flag, folded, key, keyed_rows_of, moment, pick, rows_of, text,
};
use super::setup::{CATEGORIES, FIRST_LEAF, MANUFACTURERS};
use super::world::{DemoStep, World};

pub(super) static PRODUCTS: DemoStep = DemoStep {
    name: "products",
    count: "SELECT count(*), coalesce(max(shop_product_id), 0) FROM shop_products",
    wanted: |world| world.products,
    make,
    tables: || {
        vec![
            keyed_rows_of(
                "shop_products",
                &[
                    "shop_product_id",
                    "product_source_id",
                    "product_type",
                    "product_name",
                    "product_name_fold",
                    "visibility",
                    "enabled",
                    "manufacturer_id",
                    "category_id",
                    "taxprofile_id",
                    "has_options",
                    "sku",
                    "sku_fold",
                    "upc",
                    "price",
                    "sale_price",
                    "main_image",
                    "main_image_fold",
                    "created_on",
                    "modified_on",
                    "quantity",
                    "manage_stock",
                    "has_stock",
                    "notify_qty",
                ],
            ),
            rows_of("shop_variants", VARIANT),
            rows_of("shop_variants", VARIANT),
            rows_of("shop_inventory_ledger", LEDGER),
        ]
    },
};

/// The columns of the master variant, which come first, and of the other variants.
const VARIANT: &[&str] = &[
    "product_id",
    "is_master",
    "isdefault_variant",
    "sku",
    "sku_fold",
    "price",
    "upc",
    "manage_stock",
    "weight",
];

/// The columns of the movement that the stock of a product begins with.
const LEDGER: &[&str] = &[
    "product_id",
    "sku",
    "quantity_delta",
    "quantity_before",
    "quantity_after",
    "reason",
    "created_on",
];

/// What orders need of a product.
pub(super) struct Product {
    pub(super) name: String,
    pub(super) sku: String,
    /// The selling price, in units of 10^-5.
    pub(super) price: i64,
    category: usize,
    list_price: i64,
    variable: bool,
}

/// One product in so many has no stock record yet.
const UNSTOCKED: u64 = 300;

const QUALITIES: [&str; 16] = [
    "Quiet",
    "Bright",
    "Folding",
    "Northern",
    "Little",
    "Grand",
    "Simple",
    "Woven",
    "Turned",
    "Smoked",
    "Travelling",
    "Everyday",
    "Evening",
    "Garden",
    "Studio",
    "Émaillé",
];
const NAMES: [&str; 16] = [
    "Heron", "Maple", "Brook", "Linden", "Otter", "Tide", "Meadow", "Copper", "Fern", "Slate",
    "Wren", "Harvest", "Polar", "Olive", "Sorrel", "Höhe",
];

/// The product with this number; always the same for the same number.
pub(super) fn product(number: u64) -> Product {
    let mut rng = chance(2, number);
    let category = rng.usize(FIRST_LEAF..CATEGORIES.len());
    let kind = CATEGORIES[category].0.trim_end_matches('s');
    let series = number / 256;
    let place = usize::try_from(number % 256).unwrap_or_default();
    let mut name = format!("{} {kind} {}", QUALITIES[place % 16], NAMES[place / 16]);
    if series > 0 {
        name.push_str(&format!(" {}", series + 1));
    }
    let list_price = cents(rng.i64(3..240) * 100 + pick(&mut rng, &[0, 49, 50, 90, 95, 99]));
    let price = if rng.u8(..5) == 0 { list_price * 4 / 5 / 1_000 * 1_000 } else { list_price };
    let variable = rng.u8(..7) == 0;
    let initials: String =
        kind.chars().filter(char::is_ascii_alphabetic).take(3).collect::<String>().to_uppercase();
    let sku = format!("{initials}-{:05}", number + 1);
    Product { name, sku, price, category, list_price, variable }
}

fn make(world: &World, number: u64, tables: &mut [RowsOf]) {
    let product = product(number);
    let mut rng = chance(3, number);
    let kind = match (product.variable, rng.u8(..20)) {
        (true, _) => "variable",
        (false, 0) => "downloadable",
        _ => "simple",
    };
    let age = rng.u64(1..700);
    let created = days_ago(world.today, age, &mut rng);
    let modified = days_ago(world.today, rng.u64(..=age), &mut rng);
    let image = format!("images/products/{}.jpg", product.sku.to_lowercase());
    let on_sale = product.price != product.list_price;
    let upc = format!("40{:010}", number + 1);
    let has_stock = number % UNSTOCKED != UNSTOCKED - 1;
    let manage_stock = has_stock && kind != "downloadable";
    if world.bare {
        tables[1].push([
            key(number),
            flag(true),
            flag(true),
            text(&product.sku),
            folded(&product.sku),
            Value::money(product.list_price),
            text(&upc),
            flag(manage_stock),
            Value::Null,
        ]);
    }
    let (visible, enabled) = (rng.u8(..30) != 0, rng.u8(..25) != 0);
    let manufacturer = rng.i64(1..=i64::try_from(MANUFACTURERS).unwrap_or(1));
    let pieces = if has_stock { stock(&mut rng) } else { 0 };
    let [created, modified] =
        if modified < created { [modified, created] } else { [created, modified] };
    tables[0].push([
        key(number),
        Value::Int(i64::try_from(10_000 + number).unwrap_or_default()),
        text(kind),
        text(&product.name),
        folded(&product.name),
        flag(visible),
        flag(enabled),
        Value::Int(manufacturer),
        Value::Int(i64::try_from(product.category + 1).unwrap_or_default()),
        Value::Int(if CATEGORIES[product.category].1 == 4 { 2 } else { 1 }),
        flag(product.variable),
        text(&product.sku),
        folded(&product.sku),
        text(upc),
        Value::money(product.list_price),
        if on_sale { Value::money(product.price) } else { Value::Null },
        text(&image),
        folded(&image),
        moment(&created),
        moment(modified),
        Value::Int(pieces),
        flag(manage_stock),
        flag(has_stock),
        if has_stock { Value::money(5 * 100_000) } else { Value::Null },
    ]);
    if pieces > 0 {
        tables[3].push([
            key(number),
            text(&product.sku),
            Value::Int(pieces),
            Value::Int(0),
            Value::Int(pieces),
            text("opening stock"),
            moment(created),
        ]);
    }
    if product.variable {
        for (size, extra) in [("S", 0), ("M", 2_00), ("L", 5_00)].iter().take(rng.usize(2..=3)) {
            let sku = format!("{}-{size}", product.sku);
            tables[2].push([
                key(number),
                flag(false),
                flag(false),
                text(&sku),
                folded(&sku),
                Value::money(product.list_price + cents(*extra)),
                text(""),
                flag(true),
                Value::money(rng.i64(1..40) * 10_000),
            ]);
        }
    }
}

/// One product in ten is sold out, and one in ten nearly so.
fn stock(rng: &mut Rng) -> i64 {
    match rng.u8(..10) {
        0 => 0,
        1 => rng.i64(1..5),
        _ => rng.i64(6..200),
    }
}
