//! Products of a demo store, some with variants.

use fastrand::Rng;

use crate::model::options::digest;
use crate::model::value::Value;
use crate::sql::RowsOf;

use super::make::{cents, chance, days_ago, moment, pick};
use super::setup::{CATEGORIES, FIRST_LEAF, MANUFACTURERS};
use super::world::{DemoStep, World};
use crate::bulk::rows::{flag, folded, key, keyed_rows_of, push, rows_of, text};

pub(super) static PRODUCTS: DemoStep = DemoStep {
    name: "products",
    count: "SELECT count(*), coalesce(max(shop_product_id), 0) FROM shop_products",
    wanted: |world| world.products,
    make,
    tables: || {
        vec![
            keyed_rows_of("shop_products", &["shop_product_id"]),
            rows_of("shop_variants"),
            rows_of("shop_variants"),
            rows_of("shop_inventory_ledger"),
        ]
    },
    // A movement names its variant.
    last: |_| {
        Some(
            "INSERT INTO shop_inventory_ledger (product_id, variant_id, sku, quantity_delta, \
         quantity_before, quantity_after, reason, created_on) \
         SELECT v.product_id, v.shop_variant_id, v.sku, v.quantity, 0, v.quantity, \
         'opening stock', p.created_on FROM shop_variants v \
         JOIN shop_products p ON p.shop_product_id = v.product_id \
         WHERE v.is_master = 0 AND v.quantity > 0 AND v.shop_variant_id NOT IN \
         (SELECT variant_id FROM shop_inventory_ledger WHERE variant_id IS NOT NULL) \
         ORDER BY v.shop_variant_id",
        )
    },
};

/// What orders need of a product.
pub(super) struct Product {
    pub(super) name: String,
    pub(super) sku: String,
    /// The selling price, in units of 10^-5.
    pub(super) price: i64,
    /// Whether it is sold in [variants](variant).
    pub(super) varies: bool,
    category: usize,
    list_price: i64,
}

/// What orders need of a variant beside its product.
pub(super) struct Variant {
    pub(super) sku: String,
    /// The names and the values of its options.
    pub(super) options: [(&'static str, &'static str); 2],
}

/// The sizes and colours of a product that is sold in variants, with the endings of their SKUs.
const SIZES: [&str; 3] = ["S", "M", "L"];
const COLOURS: [(&str, &str); 2] = [("red", "RED"), ("blue", "BLU")];
/// How many variants a product has that is sold in variants.
pub(super) const VARIANTS: u64 = 6;

/// The variant of a product with this number, from 0.
pub(super) fn variant(product: &Product, number: u64) -> Variant {
    let number = usize::try_from(number).unwrap_or_default();
    let size = SIZES[number / COLOURS.len() % SIZES.len()];
    let (colour, ending) = COLOURS[number % COLOURS.len()];
    Variant {
        sku: format!("{}-{size}-{ending}", product.sku),
        options: [("Size", size), ("Colour", colour)],
    }
}

/// Options as the text of a JSON object.
pub(super) fn as_object(options: &[(&str, &str)]) -> String {
    let members = options.iter().map(|(name, value)| format!("\"{name}\":\"{value}\""));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// One product in so many has no stock record yet.
const UNSTOCKED: u64 = 300;
/// One product in so many is sold in variants.
const VARYING: u64 = 10;

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
    let initials: String =
        kind.chars().filter(char::is_ascii_alphabetic).take(3).collect::<String>().to_uppercase();
    let sku = format!("{initials}-{:05}", number + 1);
    let varies = number % VARYING == VARYING - 4;
    Product { name, sku, price, varies, category, list_price }
}

fn make(world: &World, number: u64, tables: &mut [RowsOf]) {
    let product = product(number);
    let mut rng = chance(3, number);
    let kind = match (product.varies, rng.u8(..20)) {
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
        push!(
            tables[1],
            ("product_id", key(number)),
            ("is_master", flag(true)),
            ("isdefault_variant", flag(true)),
            ("sku", text(&product.sku)),
            ("sku_fold", folded(&product.sku)),
            ("price", Value::money(product.list_price)),
            ("upc", text(&upc)),
            ("manage_stock", flag(manage_stock)),
            ("price_follows_product", flag(true)),
        );
    }
    let (visible, enabled) = (rng.u8(..30) != 0, rng.u8(..25) != 0);
    let manufacturer = rng.i64(1..=i64::try_from(MANUFACTURERS).unwrap_or(1));
    let pieces = if has_stock { stock(&mut rng) } else { 0 };
    let variants = i64::try_from(VARIANTS).unwrap_or(1);
    let end_of_range = if product.varies { Value::money(product.list_price) } else { Value::Null };
    let [created, modified] =
        if modified < created { [modified, created] } else { [created, modified] };
    push!(
        tables[0],
        ("shop_product_id", key(number)),
        ("product_source_id", Value::Int(i64::try_from(10_000 + number).unwrap_or_default())),
        ("product_type", text(kind)),
        ("product_name", text(&product.name)),
        ("product_name_fold", folded(&product.name)),
        ("visibility", flag(visible)),
        ("enabled", flag(enabled)),
        ("manufacturer_id", Value::Int(manufacturer)),
        ("category_id", Value::Int(i64::try_from(product.category + 1).unwrap_or_default())),
        ("taxprofile_id", Value::Int(if CATEGORIES[product.category].1 == 4 { 2 } else { 1 })),
        ("has_options", flag(product.varies)),
        ("variant_count", Value::Int(if product.varies { variants } else { 0 })),
        ("price_from", end_of_range.clone()),
        ("price_to", end_of_range),
        ("sku", text(&product.sku)),
        ("sku_fold", folded(&product.sku)),
        ("upc", text(upc)),
        ("price", Value::money(product.list_price)),
        ("sale_price", if on_sale { Value::money(product.price) } else { Value::Null }),
        ("main_image", text(&image)),
        ("main_image_fold", folded(&image)),
        ("created_on", moment(&created)),
        ("modified_on", moment(modified)),
        ("quantity", Value::Int(pieces)),
        ("manage_stock", flag(manage_stock)),
        ("has_stock", flag(has_stock)),
        ("notify_qty", least_stock(has_stock)),
    );
    if product.varies {
        let of_each = pieces / variants;
        for nth in 0..VARIANTS {
            let variant = variant(&product, nth);
            let held = if nth == 0 { pieces - (variants - 1) * of_each } else { of_each };
            push!(
                tables[2],
                ("product_id", key(number)),
                ("sku", text(&variant.sku)),
                ("sku_fold", folded(&variant.sku)),
                ("price", Value::money(product.list_price)),
                ("price_follows_product", flag(true)),
                ("weight", Value::money(rng.i64(1..40) * 10_000)),
                ("options", Value::Json(as_object(&variant.options))),
                ("options_key", text(digest(&variant.options))),
                ("quantity", Value::Int(held)),
                ("notify_qty", least_stock(has_stock)),
            );
        }
    } else if pieces > 0 {
        push!(
            tables[3],
            ("product_id", key(number)),
            ("sku", text(&product.sku)),
            ("quantity_delta", Value::Int(pieces)),
            ("quantity_before", Value::Int(0)),
            ("quantity_after", Value::Int(pieces)),
            ("reason", text("opening stock")),
            ("created_on", moment(created)),
        );
    }
}

/// The quantity at and below which a stock counts as low.
fn least_stock(has_stock: bool) -> Value {
    if has_stock { Value::money(5 * 100_000) } else { Value::Null }
}

/// One product in ten is sold out, and one in ten nearly so.
fn stock(rng: &mut Rng) -> i64 {
    match rng.u8(..10) {
        0 => 0,
        1 => rng.i64(1..5),
        _ => rng.i64(6..200),
    }
}
