//! Order items: the lines of orders. They are snapshots, so their products may change or be
//! deleted. Values that a new line omits come from the catalogue.

use std::collections::HashMap;

use time::PrimitiveDateTime;

use super::entry::{FULFIL, ORDER, ORDER_KEY, ORDER_REFERENCE, below_order};
use crate::error::{Error, FaultKind};
use crate::model::field::{
    Field, Handle, Money, Units, created_on, flag, identifier, int, json, money, quantity, text,
};
use crate::model::options;
use crate::model::personal::Personal;
use crate::model::presentation::Presentation;
use crate::model::record::Record;
use crate::model::resource::{Permissions, Resource};
use crate::model::value::{MAX_AMOUNT, Value, decimal_text};
use crate::resources::inventory::{Adjustment, Refusal, Sale, Stock, Whose, refuse_unnamed};
use crate::resources::products::{self, PRODUCTS, VARIANTS};
use crate::resources::stockmovements::reason;
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
        ATTRIBUTES.derived(),
        PRICE.field,
        OPTION_PRICE.field,
        FINALPRICE_WITH_TAX.field,
        DISCOUNT.field,
        WEIGHT,
        CREATED_ON.field,
    ],
    hidden: &[
        ORDER_KEY.field,
        TAKE_STOCK.field,
        BACKORDERED.field,
        BACKORDER_IN_MAIL.field,
        QUANTITY_REFUNDED.field,
        AMOUNT_REFUNDED.field,
        TAX_REFUNDED.field,
        SHARE_REFUNDED.field,
    ],
    meta: &[BACKORDERED.field.name],
    joins: &[ORDER],
    crud: false,
    readable: true,
    nested: &[below_order("items")],
    shown: Presentation {
        label: &["orderitem_name"],
        columns: &[
            "orderitem_name",
            "orderitem_sku",
            "orderitem_quantity",
            "orderitem_finalprice",
            "orderitem_tax",
        ],
        ..Presentation::PLAIN
    },
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
    hidden: &[
        ORDER_KEY.field,
        SHIPPED.field,
        BACKORDERED.field,
        BACKORDER_IN_MAIL.field,
        QUANTITY_REFUNDED.field,
    ],
    meta: &[SHIPPED.field.name],
    shows_key: false,
    crud: false,
    nested: &[below_order("items")],
    permissions: Permissions::Of("orders"),
    or_action: Some(FULFIL),
    ..Resource::CRUD
}
.checked();

pub(super) const SKU: Handle<String> = identifier("orderitem_sku", 255).derived().words();
pub(super) const NAME: Handle<String> = text("orderitem_name", MAX_NAME).derived().words();
const MAX_NAME: usize = 255;
pub(super) const PRODUCT: Handle<i64> =
    int("product_id").nullable().referring_to("products").number();
pub(super) const VARIANT: Handle<i64> =
    int("variant_id").nullable().referring_to("variants").number();
pub(super) const ATTRIBUTES: Field = json("orderitem_attributes").personal(Personal::FreeText);
pub(super) const WEIGHT: Field = quantity("orderitem_weight").nullable();
pub(super) const QUANTITY: Handle<i64> =
    int("orderitem_quantity").between(1, i32::MAX as i64).default(1).number();
const PRICE: Handle<Money> = money("orderitem_price").derived().money();
const OPTION_PRICE: Handle<Money> = money("orderitem_option_price").money();
const DISCOUNT: Handle<Money> = money("orderitem_discount").money();
pub(super) const TAX: Handle<Money> = money("orderitem_tax").money();
const FINALPRICE: Handle<Money> = money("orderitem_finalprice").derived().read_only().money();
pub(super) const FINALPRICE_WITH_TAX: Handle<Money> =
    money("orderitem_finalprice_with_tax").derived().read_only().money();
const CREATED_ON: Handle<PrimitiveDateTime> = created_on().derived().time();

/// Whether the line takes its quantity out of the stock.
const TAKE_STOCK: Handle<bool> = flag("take_stock").default(0).truth();

/// How many pieces were ordered although they were not in stock.
pub(super) const BACKORDERED: Handle<i64> =
    int("backordered").between(1, i32::MAX as i64).nullable().read_only().number();
/// Whether mails mention them.
pub(super) const BACKORDER_IN_MAIL: Handle<bool> =
    flag("backorder_in_mail").default(0).read_only().truth();

/// How many pieces of an item have been shipped.
pub(super) const SHIPPED: Handle<i64> =
    int("shipped").between(0, i32::MAX as i64).read_only().number();

/// What refunds have of an item: pieces, money, the tax in it, and what the pieces cost.
pub(super) const QUANTITY_REFUNDED: Handle<i64> =
    int("refunded_quantity").between(0, i32::MAX as i64).read_only().number();
pub(super) const AMOUNT_REFUNDED: Handle<Money> = money("refunded_amount").read_only().money();
pub(super) const TAX_REFUNDED: Handle<Money> = money("refunded_tax").read_only().money();
pub(super) const SHARE_REFUNDED: Handle<Money> = money("refunded_share").read_only().money();

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
        if line.given(&ATTRIBUTES)?.is_none() {
            line.set_value(&ATTRIBUTES, Value::Json("{}".to_owned()))?;
        }
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
    let mut taken = Vec::new();
    for line in &*lines {
        taken.extend(whose(line)?);
    }
    let mut stock = Stock::lock(&taken, write).await?;
    for line in lines.iter_mut() {
        if !takes_stock(line)? || !line.faults.is_empty() {
            continue;
        }
        let Some(whose) = whose(line)? else {
            line.refuse(&TAKE_STOCK, "take_stock needs a product_id or a variant_id.");
            continue;
        };
        if let Err(refusal) = take(line, whose, &mut stock, reference)? {
            refuse(line, whose, refusal, write).await?;
        }
    }
    if lines.iter().all(|line| line.faults.is_empty()) {
        stock.write(write).await
    } else {
        // The order is refused.
        Ok(())
    }
}

/// Takes the quantity of a line out of the stock, as the rules of its variant allow. A quantity that they do
/// not allow is a fault of the line.
fn take(
    line: &mut Draft,
    whose: Whose,
    stock: &mut Stock,
    reference: &str,
) -> Result<Result<(), Refusal>, Error> {
    let wanted = line.need(&QUANTITY)?;
    let pieces = match stock.sale(whose, wanted)? {
        Err(refusal) => return Ok(Err(refusal)),
        Ok(Sale::Uncounted) => return Ok(Ok(())),
        Ok(Sale::TooFew(least)) => {
            let least = decimal_text(least, 5, 0);
            line.refuse(&QUANTITY, format!("An order has at least {least} of it."));
            return Ok(Ok(()));
        }
        Ok(Sale::TooMany(most)) => {
            let most = decimal_text(most, 5, 0);
            line.refuse(&QUANTITY, format!("An order has at most {most} of it."));
            return Ok(Ok(()));
        }
        Ok(Sale::Taken { pieces, missing, in_mail }) => {
            if missing > 0 {
                line.set(&BACKORDERED, missing)?;
                line.set(&BACKORDER_IN_MAIL, in_mail)?;
            }
            pieces
        }
    };
    if pieces == 0 {
        return Ok(Ok(()));
    }
    let (delta, reason) = (-pieces, reason::ORDERED);
    stock.apply(Adjustment { whose, delta, expected: None, reason, reference })
}

/// Adds the fault of a line whose stock cannot be taken.
async fn refuse(
    line: &mut Draft,
    whose: Whose,
    refusal: Refusal,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let product = whose.product;
    match refusal {
        Refusal::NoStock => {
            let detail = format!("There is no stock record of product {product}.");
            line.fault_at(FaultKind::MissingReference, PRODUCT.name, detail);
        }
        Refusal::VariantRequired => refuse_unnamed(line, &VARIANT, product, write).await?,
        Refusal::NoVariant(key) => {
            let detail = format!("Product {product} has no variant with the id {key}.");
            line.fault_at(FaultKind::MissingReference, VARIANT.name, detail);
        }
        Refusal::Insufficient(quantity) | Refusal::Changed(quantity) => {
            let what = match whose.variant {
                Some(key) => format!("variant {key}"),
                None => format!("product {product}"),
            };
            let detail = format!("Only {quantity} of {what} are in stock.");
            let (field, meta) = (QUANTITY.name, ("quantity", quantity));
            line.fault_with(FaultKind::InsufficientStock, field, detail, meta);
        }
        Refusal::TooLarge => line.refuse(&QUANTITY, "The quantity would be too large."),
    }
    Ok(())
}

/// Whose stock a line takes from; `None` if it takes nothing, or names nothing.
fn whose(line: &Draft) -> Result<Option<Whose>, Error> {
    let product = if takes_stock(line)? { line.get(&PRODUCT)? } else { None };
    let variant = line.get(&VARIANT)?;
    Ok(product.map(|product| Whose { product, variant }))
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
            } else if line.get(&PRODUCT)?.is_none() || line.given(&ATTRIBUTES)?.is_none() {
                variants.extend(line.get(&VARIANT)?);
            }
        }
        let variants = write.records(&VARIANTS, variants).await?;
        for variant in variants.values() {
            products.push(variant.need(&products::OWNER)?);
        }
        Ok(Self { products: write.records(&PRODUCTS, products).await?, variants })
    }

    /// Fills in the name and the SKU of a line that omits something, and returns the price in the
    /// order's currency. A line that omits nothing is a snapshot, whatever has happened to its
    /// product.
    fn fill(&self, line: &mut Draft, terms: &Terms) -> Result<Option<Exact>, Error> {
        if !leaves_open(line)? {
            self.describe(line)?;
            return Ok(None);
        }
        let variant = match line.get(&VARIANT)? {
            Some(key) => match self.variants.get(&key) {
                Some(variant) => Some(variant),
                None => return Ok(missing(line, &VARIANT, key, "variant")),
            },
            None => None,
        };
        let mut product = line.get(&PRODUCT)?;
        if let Some(variant) = variant {
            let of_variant = variant.need(&products::OWNER)?;
            if product.is_some_and(|product| product != of_variant) {
                line.refuse(&VARIANT, "variant_id must be a variant of the product.");
                return Ok(None);
            }
            line.set(&PRODUCT, of_variant)?;
            product = Some(of_variant);
        }
        let product = match product {
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
        let is_master = variant.map_or(Ok(true), |variant| variant.need(&products::IS_MASTER))?;
        let further = variant.filter(|_| !is_master);
        if line.given(&NAME)?.is_none() {
            let mut name = text(product, &products::NAME)?;
            if let Some(variant) = further {
                let options = variant.value(products::OPTIONS.name)?;
                name = options::named(&name, options.text(products::OPTIONS.name)?)?;
            }
            line.set(&NAME, name.chars().take(MAX_NAME).collect())?;
        }
        if let Some(variant) = variant {
            take_options(line, variant)?;
        }
        let Some(sold) = sold else { return Ok(None) };
        let mut price = sold.need(&products::PRICE)?;
        // A variant with the price of its product may be on sale with it.
        let of_the_product =
            variant.map_or(Ok(true), |variant| variant.need(&products::FOLLOWS))?;
        if let Some(product) = product.filter(|_| of_the_product)
            && let Some(on_sale) = product.get(&products::SALE_PRICE)?
        {
            price = on_sale;
        }
        Ok(Some(i128::from(price.0) * i128::from(terms.rate.0)))
    }

    /// Fills in the product and the options of a snapshot, as long as its variant is there.
    fn describe(&self, line: &mut Draft) -> Result<(), Error> {
        let variant = line.get(&VARIANT)?.and_then(|key| self.variants.get(&key));
        let Some(variant) = variant else { return Ok(()) };
        let of_variant = variant.need(&products::OWNER)?;
        match line.get(&PRODUCT)? {
            None => line.set(&PRODUCT, of_variant)?,
            Some(product) if product == of_variant => {}
            // A snapshot may name what never belonged together.
            Some(_) => return Ok(()),
        }
        take_options(line, variant)
    }
}

/// Fills in the options of a variant, of which a master has none.
fn take_options(line: &mut Draft, variant: &Record) -> Result<(), Error> {
    if variant.need(&products::IS_MASTER)? || line.given(&ATTRIBUTES)?.is_some() {
        return Ok(());
    }
    line.set_value(&ATTRIBUTES, variant.value(products::OPTIONS.name)?.clone())
}

/// How many pieces of an item are to be shipped. What was given back is first of all what has not been.
pub(super) fn open_pieces(item: &Record) -> Result<i64, Error> {
    let done = item.need(&SHIPPED)? + item.need(&QUANTITY_REFUNDED)?;
    Ok((item.need(&QUANTITY)? - done).max(0))
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
