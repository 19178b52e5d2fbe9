//! Order items: the lines of orders. They are snapshots, so what they were made from may change or
//! go. What a new line leaves open is taken from the catalogue.

use std::collections::HashMap;

use crate::error::{Error, FaultKind};
use crate::model::question::{Condition, Draft, Order, Page, Record, Shape};
use crate::model::resource::{Nested, Resource, amount, created_on, int, json, money, text};
use crate::model::value::{MAX_AMOUNT, Value};
use crate::store::Transaction;

use super::history::{ORDER, ORDER_KEY, ORDER_REFERENCE};
use crate::resources::products::PRODUCTS;
use crate::resources::variants::VARIANTS;

pub(crate) const ORDERITEMS: Resource = Resource {
    kind: "orderitems",
    title: Some("Order items"),
    singular: "order item",
    table: "shop_orderitems",
    key: "shop_orderitem_id",
    list: &[
        ORDER_REFERENCE,
        text("orderitem_sku", 255).derived(),
        text("orderitem_name", 255).derived(),
        int("orderitem_quantity").between(1, i32::MAX as i64).default(1),
        money("orderitem_finalprice").derived().read_only(),
        money("orderitem_tax"),
    ],
    detail: &[
        int("product_id").nullable(),
        int("variant_id").nullable(),
        json("orderitem_attributes"),
        money("orderitem_price").derived(),
        money("orderitem_option_price"),
        money("orderitem_finalprice_with_tax").derived().read_only(),
        money("orderitem_discount"),
        amount("orderitem_weight").nullable(),
        created_on().derived(),
    ],
    hidden: &[ORDER_KEY],
    joins: &[ORDER],
    crud: false,
    nested: &[Nested { parent: "orders", segment: "items", by: "order_key", filters: &[] }],
    ..Resource::CRUD
};

/// What the lines of one order have in common.
pub(super) struct Terms {
    /// The rate of the order's currency, in units of 10^-8.
    pub(super) rate: i64,
    /// How many fraction digits amounts of the currency have.
    pub(super) decimals: i64,
    /// The moment of the order.
    pub(super) created_on: Value,
}

/// What the lines of an order come to, in units of 10^-5.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) finalprice: i128,
    pub(super) tax: i128,
    pub(super) quantity: i64,
}

/// Fills in what the lines leave open, and works out what each comes to.
pub(super) async fn complete(
    lines: &mut [Draft],
    terms: &Terms,
    transaction: &mut Transaction,
) -> Result<Sums, Error> {
    let catalogue = Catalogue::of(lines, transaction).await?;
    let mut sums = Sums::default();
    for line in lines {
        if line.given("created_on").is_none() {
            line.set("created_on", terms.created_on.clone());
        }
        let listed = catalogue.fill(line, terms);
        let Some(finalprice) = work_out(line, listed, terms) else { continue };
        let tax = line.given("orderitem_tax").map_or(0, Value::int);
        line.set("orderitem_finalprice", Value::Int(finalprice));
        line.set("orderitem_finalprice_with_tax", Value::Int(finalprice + tax));
        sums.finalprice += i128::from(finalprice);
        sums.tax += i128::from(tax);
        sums.quantity += line.given("orderitem_quantity").map_or(0, Value::int);
    }
    Ok(sums)
}

/// An amount in units of 10^-13: a price in units of 10^-5 at a rate in units of 10^-8, exactly.
type Exact = i128;

/// A rate of one.
const ONE: i128 = 100_000_000;

/// The price of a line per piece, and what the line comes to: rounded once, half away from zero,
/// to the decimals of the currency. `listed` is the price of what is bought where the line names
/// none. Nothing where the line is at fault.
fn work_out(line: &mut Draft, listed: Option<Exact>, terms: &Terms) -> Option<i64> {
    let in_units = |line: &Draft, name| line.given(name).map(|value| i128::from(value.int()));
    let price = match in_units(line, "orderitem_price") {
        Some(price) => price * ONE,
        None => {
            let price = listed.unwrap_or(0);
            // The field keeps five digits; the line is worked out from all of them.
            let shown = rounded(price, ONE).and_then(within_limits);
            let Some(shown) = shown else {
                line.refuse("orderitem_price", "The price is too large in this currency.");
                return None;
            };
            line.set("orderitem_price", Value::Int(shown));
            price
        }
    };
    let quantity = in_units(line, "orderitem_quantity")?;
    let option_price = in_units(line, "orderitem_option_price")? * ONE;
    let discount = in_units(line, "orderitem_discount")? * ONE;
    let tax = in_units(line, "orderitem_tax")?;
    let exact = quantity.checked_mul(price + option_price).map(|gross| gross - discount);
    if exact.is_some_and(|exact| exact < 0) {
        line.refuse("orderitem_discount", "The discount must not exceed the price of the line.");
        return None;
    }
    let places = u32::try_from(terms.decimals.clamp(0, 5)).unwrap_or(5);
    let finalprice = exact
        .and_then(|exact| rounded(exact, 10_i128.pow(13 - places)))
        .map(|amount| amount * 10_i128.pow(5 - places));
    let fits = finalprice.filter(|amount| within_limits(amount + tax).is_some());
    let Some(finalprice) = fits.and_then(within_limits) else {
        line.refuse("orderitem_quantity", "The total of the line is too large.");
        return None;
    };
    Some(finalprice)
}

/// How many times `unit` fits into an amount, rounded half away from zero.
fn rounded(amount: Exact, unit: i128) -> Option<i128> {
    let half = if amount < 0 { -(unit / 2) } else { unit / 2 };
    amount.checked_add(half).map(|amount| amount / unit)
}

fn within_limits(amount: i128) -> Option<i64> {
    i64::try_from(amount).ok().filter(|amount| (0..=MAX_AMOUNT).contains(amount))
}

/// What the lines of an order are about, read at once for all of them.
struct Catalogue {
    products: HashMap<i64, Record>,
    variants: HashMap<i64, Record>,
}

impl Catalogue {
    async fn of(lines: &[Draft], transaction: &mut Transaction) -> Result<Self, Error> {
        let open = || lines.iter().filter(|line| leaves_open(line));
        let named = |name| open().filter_map(move |line| key_in(line, name)).collect::<Vec<_>>();
        let variants = records(&VARIANTS, named("variant_id"), transaction).await?;
        let of_variants = variants.values().map(|variant| variant.value("product_id").int());
        let products = named("product_id").into_iter().chain(of_variants).collect();
        Ok(Self { products: records(&PRODUCTS, products, transaction).await?, variants })
    }

    /// Fills in the name and the SKU of a line that leaves something open, and gives the price in
    /// the order's currency. A line that says it all is a snapshot, whatever has become of what it
    /// was made from.
    fn fill(&self, line: &mut Draft, terms: &Terms) -> Option<Exact> {
        let variant = match key_in(line, "variant_id").filter(|_| leaves_open(line)) {
            Some(key) => match self.variants.get(&key) {
                Some(variant) => Some(variant),
                None => return missing(line, "variant_id", key, "variant"),
            },
            None => None,
        };
        let product = match (key_in(line, "product_id"), variant) {
            (Some(product), Some(variant)) if variant.value("product_id").int() != product => {
                let detail = "variant_id must be a variant of the product.";
                line.refuse("variant_id", detail);
                return None;
            }
            (product, Some(variant)) => {
                let of_variant = variant.value("product_id").int();
                line.set("product_id", Value::Int(of_variant));
                Some(product.unwrap_or(of_variant))
            }
            (product, None) => product,
        };
        let product = match product.filter(|_| leaves_open(line)) {
            Some(key) => match self.products.get(&key) {
                Some(product) => Some(product),
                None => return missing(line, "product_id", key, "product"),
            },
            None => None,
        };
        let sold = variant.or(product);
        let text = |from: Option<&Record>, field| {
            Value::Text(from.map_or("", |record| record.value(field).text()).to_owned())
        };
        if line.given("orderitem_sku").is_none() {
            line.set("orderitem_sku", text(sold, "sku"));
        }
        if line.given("orderitem_name").is_none() {
            line.set("orderitem_name", text(product, "product_name"));
        }
        // The price of a master variant is its product's, which may be on sale.
        let on_sale = product
            .filter(|_| variant.is_none_or(|variant| variant.value("is_master").int() == 1))
            .map(|product| product.value("sale_price"))
            .filter(|price| **price != Value::Null);
        let price = on_sale.or(sold.map(|sold| sold.value("price")))?;
        Some(i128::from(price.int()) * i128::from(terms.rate))
    }
}

/// Whether a line leaves something to the catalogue.
fn leaves_open(line: &Draft) -> bool {
    ["orderitem_sku", "orderitem_name", "orderitem_price"]
        .into_iter()
        .any(|name| line.given(name).is_none())
}

fn key_in(line: &Draft, name: &str) -> Option<i64> {
    line.given(name).filter(|value| **value != Value::Null).map(Value::int)
}

fn missing<T>(line: &mut Draft, name: &str, key: i64, singular: &str) -> Option<T> {
    let detail = format!("{name}: there is no {singular} with the id {key}.");
    line.fault_at(FaultKind::MissingReference, name, detail);
    None
}

/// The records with these keys, as many as there are.
async fn records(
    resource: &'static Resource,
    mut keys: Vec<i64>,
    transaction: &mut Transaction,
) -> Result<HashMap<i64, Record>, Error> {
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let page = Page {
        resource,
        shape: Shape::Detail,
        limit: i64::try_from(keys.len()).unwrap_or(i64::MAX),
        conditions: vec![Condition::Keys(keys)],
        order: Order::KEY,
        offset: 0,
    };
    let cells = transaction.page(&page).await?;
    let found = Record::all(resource, &cells)?;
    Ok(found.into_iter().map(|record| (record.key(), record)).collect())
}
