//! Order items: the lines of orders. They are snapshots, so their products may change or be
//! deleted. Values that a new line omits come from the catalogue.

use std::collections::HashMap;

use time::PrimitiveDateTime;

use super::entry::{FULFIL, ORDER, ORDER_KEY, ORDER_REFERENCE};
use crate::error::{Error, FaultKind};
use crate::model::field::{
    Field, Handle, Money, Units, created_on, flag, identifier, int, json, money, quantity, text,
};
use crate::model::record::Record;
use crate::model::resource::{Nested, Permissions, Resource};
use crate::model::value::MAX_AMOUNT;
use crate::resources::inventory::{Adjustment, Refusal, Stock};
use crate::resources::products::{self, PRODUCTS};
use crate::resources::stockmovements::reason;
use crate::resources::variants::{self, VARIANTS};
use crate::service::write::Write;
use crate::wire::draft::Draft;

pub(crate) static ORDERITEMS: Resource = Resource {
    kind: "orderitems",
    title: Some("Order items"),
    singular: "order item",
    table: "shop_orderitems",
    key: "shop_orderitem_id",
    list: &[ORDER_REFERENCE, SKU.field, NAME.field, QUANTITY.field, FINALPRICE.field, TAX.field],
    detail: &[
        PRODUCT.field,
        VARIANT.field,
        ATTRIBUTES,
        PRICE.field,
        OPTION_PRICE.field,
        FINALPRICE_WITH_TAX.field,
        DISCOUNT.field,
        WEIGHT,
        CREATED_ON.field,
    ],
    hidden: &[ORDER_KEY.field, TAKE_STOCK.field],
    joins: &[ORDER],
    crud: false,
    readable: true,
    nested: &[Nested {
        parent: "orders",
        segment: "items",
        by: ORDER_KEY.field.name,
        filters: &[],
    }],
    ..Resource::CRUD
}
.checked();

/// The items of an order as a warehouse sees them.
pub(crate) static FULFILMENT_ITEMS: Resource = Resource {
    kind: "orderitems",
    view: Some("orderitems.fulfilment"),
    singular: "order item",
    table: ORDERITEMS.table,
    key: ORDERITEMS.key,
    detail: &[
        SKU.field,
        NAME.field,
        QUANTITY.field,
        ATTRIBUTES,
        WEIGHT,
        PRODUCT.field,
        VARIANT.field,
    ],
    hidden: &[ORDER_KEY.field, SHIPPED.field],
    meta: Some(SHIPPED.field.name),
    shows_key: false,
    crud: false,
    nested: &[Nested {
        parent: "orders",
        segment: "items",
        by: ORDER_KEY.field.name,
        filters: &[],
    }],
    permissions: Permissions::Of("orders"),
    or_action: Some(FULFIL),
    ..Resource::CRUD
}
.checked();

pub(super) const SKU: Handle<String> = identifier("orderitem_sku", 255).derived().words();
pub(super) const NAME: Handle<String> = text("orderitem_name", 255).derived().words();
pub(super) const PRODUCT: Handle<i64> = int("product_id").nullable().number();
pub(super) const VARIANT: Handle<i64> = int("variant_id").nullable().number();
pub(super) const ATTRIBUTES: Field = json("orderitem_attributes");
pub(super) const WEIGHT: Field = quantity("orderitem_weight").nullable();
pub(super) const QUANTITY: Handle<i64> =
    int("orderitem_quantity").between(1, i32::MAX as i64).default(1).number();
const PRICE: Handle<Money> = money("orderitem_price").derived().money();
const OPTION_PRICE: Handle<Money> = money("orderitem_option_price").money();
const DISCOUNT: Handle<Money> = money("orderitem_discount").money();
const TAX: Handle<Money> = money("orderitem_tax").money();
const FINALPRICE: Handle<Money> = money("orderitem_finalprice").derived().read_only().money();
const FINALPRICE_WITH_TAX: Handle<Money> =
    money("orderitem_finalprice_with_tax").derived().read_only().money();
const CREATED_ON: Handle<PrimitiveDateTime> = created_on().derived().time();

/// Whether the line takes its quantity out of the stock.
const TAKE_STOCK: Handle<bool> = flag("take_stock").default(0).truth();

/// How many pieces of an item have been shipped.
pub(super) const SHIPPED: Handle<i64> =
    int("shipped").between(0, i32::MAX as i64).read_only().number();

/// The values that all lines of an order share.
pub(super) struct Terms {
    /// The exchange rate of the order's currency.
    pub(super) rate: Units<8>,
    /// The number of fraction digits of the currency's amounts.
    pub(super) decimals: i64,
    /// The moment of the order; `None` if it is invalid.
    pub(super) created_on: Option<PrimitiveDateTime>,
}

/// The sums of the lines of an order, in units of 10^-5.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) finalprice: i128,
    pub(super) tax: i128,
    pub(super) quantity: i64,
}

/// Fills in the omitted values of the lines, and computes the amounts of each.
pub(super) async fn complete(
    lines: &mut [Draft],
    terms: &Terms,
    write: &mut Write<'_>,
) -> Result<Sums, Error> {
    let catalogue = Catalogue::of(lines, write).await?;
    let mut sums = Sums::default();
    for line in lines {
        if line.given(&CREATED_ON)?.is_none()
            && let Some(moment) = terms.created_on
        {
            line.set(&CREATED_ON, moment)?;
        }
        let listed = catalogue.fill(line, terms)?;
        let Some(finalprice) = work_out(line, listed, terms)? else { continue };
        // A line with a final price has both.
        let (tax, quantity) = (line.need(&TAX)?, line.need(&QUANTITY)?);
        line.set(&FINALPRICE, finalprice)?;
        line.set(&FINALPRICE_WITH_TAX, Units(finalprice.0 + tax.0))?;
        sums.finalprice += i128::from(finalprice.0);
        sums.tax += i128::from(tax.0);
        sums.quantity += quantity;
    }
    Ok(sums)
}

/// Takes the quantities of the lines with `take_stock` out of the stock; the ledger has the reference of
/// the order. A line for which the stock does not suffice gets a fault.
pub(super) async fn take_stock(
    lines: &mut [Draft],
    reference: &str,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let mut products = Vec::new();
    for line in &*lines {
        if takes_stock(line)? {
            products.extend(line.get(&PRODUCT)?);
        }
    }
    let mut stock = Stock::lock(products, write).await?;
    for line in lines.iter_mut() {
        if !takes_stock(line)? || !line.faults.is_empty() {
            continue;
        }
        let Some(product) = line.get(&PRODUCT)? else {
            line.refuse(&TAKE_STOCK, "take_stock needs a product_id or a variant_id.");
            continue;
        };
        let (delta, reason) = (-line.need(&QUANTITY)?, reason::ORDERED);
        match stock.apply(Adjustment { product, delta, expected: None, reason, reference })? {
            Ok(()) => {}
            Err(Refusal::NoStock) => {
                let detail = format!("There is no stock record of product {product}.");
                line.fault_at(FaultKind::MissingReference, PRODUCT.name, detail);
            }
            Err(Refusal::Insufficient(quantity) | Refusal::Changed(quantity)) => {
                let detail = format!("Only {quantity} of product {product} are in stock.");
                let (field, meta) = (QUANTITY.name, ("quantity", quantity));
                line.fault_with(FaultKind::InsufficientStock, field, detail, meta);
            }
            Err(Refusal::TooLarge) => line.refuse(&QUANTITY, "The quantity would be too large."),
        }
    }
    if lines.iter().all(|line| line.faults.is_empty()) {
        stock.write(write).await
    } else {
        // The order is refused.
        Ok(())
    }
}

/// An amount in units of 10^-13: a price in units of 10^-5 at a rate in units of 10^-8, exactly.
type Exact = i128;

/// A rate of 1.
const ONE: i128 = 100_000_000;

/// Computes the price of a line per item, and the amount of the line, which is rounded once, half
/// away from zero, to the decimals of the currency. `listed` is the catalogue price, for a line
/// without a price. Returns `None` if the line is invalid.
fn work_out(
    line: &mut Draft,
    listed: Option<Exact>,
    terms: &Terms,
) -> Result<Option<Money>, Error> {
    let price = match line.get(&PRICE)? {
        Some(price) => i128::from(price.0) * ONE,
        None => {
            let price = listed.unwrap_or(0);
            // The field stores five digits; the amount of the line is computed from all digits.
            let shown = rounded(price, ONE).and_then(within_limits);
            let Some(shown) = shown else {
                line.refuse(&PRICE, "The price is too large in this currency.");
                return Ok(None);
            };
            line.set(&PRICE, shown)?;
            price
        }
    };
    let (Some(quantity), Some(option_price), Some(discount), Some(tax)) =
        (line.get(&QUANTITY)?, line.get(&OPTION_PRICE)?, line.get(&DISCOUNT)?, line.get(&TAX)?)
    else {
        return Ok(None);
    };
    let gross = i128::from(quantity).checked_mul(price + i128::from(option_price.0) * ONE);
    let exact = gross.map(|gross| gross - i128::from(discount.0) * ONE);
    if exact.is_some_and(|exact| exact < 0) {
        line.refuse(&DISCOUNT, "The discount must not exceed the price of the line.");
        return Ok(None);
    }
    let places = u32::try_from(terms.decimals.clamp(0, 5)).unwrap_or(5);
    let finalprice = exact
        .and_then(|exact| rounded(exact, 10_i128.pow(13 - places)))
        .map(|amount| amount * 10_i128.pow(5 - places));
    let fits = finalprice.filter(|amount| within_limits(amount + i128::from(tax.0)).is_some());
    let finalprice = fits.and_then(within_limits);
    if finalprice.is_none() {
        line.refuse(&QUANTITY, "The total of the line is too large.");
    }
    Ok(finalprice)
}

/// Divides an amount by `unit`, rounded half away from zero.
fn rounded(amount: Exact, unit: i128) -> Option<i128> {
    let half = if amount < 0 { -(unit / 2) } else { unit / 2 };
    amount.checked_add(half).map(|amount| amount / unit)
}

fn within_limits(amount: i128) -> Option<Money> {
    i64::try_from(amount).ok().filter(|amount| (0..=MAX_AMOUNT).contains(amount)).map(Units)
}

/// The products and variants of all lines of an order, read in one go.
struct Catalogue {
    products: HashMap<i64, Record>,
    variants: HashMap<i64, Record>,
}

impl Catalogue {
    async fn of(lines: &[Draft], write: &mut Write<'_>) -> Result<Self, Error> {
        let (mut products, mut variants) = (Vec::new(), Vec::new());
        for line in lines {
            if leaves_open(line)? {
                products.extend(line.get(&PRODUCT)?);
                variants.extend(line.get(&VARIANT)?);
            }
        }
        let variants = write.records(&VARIANTS, variants).await?;
        for variant in variants.values() {
            products.push(variant.need(&variants::PRODUCT)?);
        }
        Ok(Self { products: write.records(&PRODUCTS, products).await?, variants })
    }

    /// Fills in the name and the SKU of a line that omits something, and returns the price in the
    /// order's currency. A line that omits nothing is a snapshot, whatever has happened to its
    /// product.
    fn fill(&self, line: &mut Draft, terms: &Terms) -> Result<Option<Exact>, Error> {
        let open = leaves_open(line)?;
        let variant = match line.get(&VARIANT)?.filter(|_| open) {
            Some(key) => match self.variants.get(&key) {
                Some(variant) => Some(variant),
                None => return Ok(missing(line, &VARIANT, key, "variant")),
            },
            None => None,
        };
        let mut product = line.get(&PRODUCT)?;
        if let Some(variant) = variant {
            let of_variant = variant.need(&variants::PRODUCT)?;
            if product.is_some_and(|product| product != of_variant) {
                line.refuse(&VARIANT, "variant_id must be a variant of the product.");
                return Ok(None);
            }
            line.set(&PRODUCT, of_variant)?;
            product = Some(of_variant);
        }
        let product = match product.filter(|_| open) {
            Some(key) => match self.products.get(&key) {
                Some(product) => Some(product),
                None => return Ok(missing(line, &PRODUCT, key, "product")),
            },
            None => None,
        };
        let sold = variant.or(product);
        let text = |from: Option<&Record>, field: &Handle<String>| {
            let found = from.map(|record| record.need(field)).transpose()?;
            Ok::<_, Error>(found.unwrap_or_default().to_owned())
        };
        if line.given(&SKU)?.is_none() {
            line.set(&SKU, text(sold, &products::SKU)?)?;
        }
        if line.given(&NAME)?.is_none() {
            line.set(&NAME, text(product, &products::NAME)?)?;
        }
        let Some(sold) = sold else { return Ok(None) };
        let mut price = sold.need(&products::PRICE)?;
        // A master variant has the price of its product, which may be on sale.
        let of_the_product =
            variant.map_or(Ok(true), |variant| variant.need(&variants::IS_MASTER))?;
        if let Some(product) = product.filter(|_| of_the_product)
            && let Some(on_sale) = product.get(&products::SALE_PRICE)?
        {
            price = on_sale;
        }
        Ok(Some(i128::from(price.0) * i128::from(terms.rate.0)))
    }
}

/// Whether a line omits something that comes from the catalogue, or takes from the stock.
fn leaves_open(line: &Draft) -> Result<bool, Error> {
    Ok(takes_stock(line)?
        || line.given(&SKU)?.is_none()
        || line.given(&NAME)?.is_none()
        || line.given(&PRICE)?.is_none())
}

fn takes_stock(line: &Draft) -> Result<bool, Error> {
    Ok(line.get(&TAKE_STOCK)? == Some(true))
}

fn missing<T>(line: &mut Draft, field: &Handle<i64>, key: i64, singular: &str) -> Option<T> {
    let name = field.name;
    let detail = format!("{name}: there is no {singular} with the id {key}.");
    line.fault_at(FaultKind::MissingReference, name, detail);
    None
}
