//! Changes of stock by differences: of one product, or of many at once. Either all changes of a request
//! are made, in the order sent, or none.

use std::collections::HashMap;

use host_interface::Response;

use super::record::INVENTORY;
use super::stock::{Adjustment, Refusal, Stock, Whose, refuse_unnamed};
use crate::error::{Error, Fault, FaultKind};
use crate::model::field::{Handle, int, key, text};
use crate::model::resource::{Children, Resource};
use crate::model::value::{fold, short};
use crate::resources::products::{OWNER, SKU, VARIANTS};
use crate::service::call::Call;
use crate::service::write::Write;
use crate::sql::{self, OfSku};
use crate::store;
use crate::wire::body::Body;
use crate::wire::draft::{Draft, Intent};
use crate::wire::request;

/// A change of the quantity of one product, or of a variant of it.
pub(super) static ADJUSTMENT: Resource = Resource {
    kind: "inventory",
    view: Some("inventory.adjustment"),
    singular: "adjustment",
    list: &[
        SKU.field.nullable(),
        VARIANT.field,
        DELTA.field,
        REASON.field,
        REFERENCE.field,
        EXPECTED.field,
    ],
    versioned: false,
    ..Resource::CRUD
}
.checked();

/// Many changes in one body.
pub(super) static ADJUSTMENTS: Resource = Resource {
    kind: "inventory",
    view: Some("inventory.adjustments"),
    singular: "list of adjustments",
    children: Some(Children {
        name: "adjustments",
        of: &NAMED_ADJUSTMENT,
        if_empty: Some("adjustments must have at least one item."),
    }),
    versioned: false,
    ..Resource::CRUD
}
.checked();

/// One of many changes, with the product that it is about.
static NAMED_ADJUSTMENT: Resource = Resource {
    view: Some("inventory.step"),
    list: &[
        SKU.field,
        PRODUCT.field,
        VARIANT.field,
        DELTA.field,
        REASON.field,
        REFERENCE.field,
        EXPECTED.field,
    ],
    crud: false,
    ..ADJUSTMENT
}
.checked();

const DELTA: Handle<i64> =
    int("quantity_delta").between(-(i32::MAX as i64), i32::MAX as i64).required().number();
const REASON: Handle<String> = text("reason", 255).required().words();
const REFERENCE: Handle<String> = text("reference", 255).words();
const EXPECTED: Handle<i64> =
    int("expected_quantity").between(0, i32::MAX as i64).nullable().number();
const PRODUCT: Handle<i64> = key("shop_product_id", "products").nullable().number();
const VARIANT: Handle<i64> =
    int("variant_id").between(1, i64::MAX).nullable().referring_to("variants").number();

/// Changes the quantity of the product in the path, or of a variant of it.
pub(super) async fn one(call: &Call<'_>) -> Result<Response, Error> {
    let id = request::id(call.request)?;
    let mut draft = Draft::sent(call.request, &ADJUSTMENT, id, Intent::Create)?;
    let key = call.path_key(&INVENTORY)?;
    refuse_nothing(&mut draft)?;
    if sku(&draft)?.is_some() && draft.get(&VARIANT)?.is_some() {
        draft.refuse(&VARIANT, "Give either sku or variant_id.");
    }
    let mut write = Write::begin(call).await?;
    let record = write.target(&INVENTORY, key).await?;
    let mut named = Some(Whose { product: key, variant: draft.get(&VARIANT)? });
    if sku(&draft)?.is_some() {
        let found = whose(std::slice::from_ref(&draft), &mut write).await?;
        named = found.into_iter().flatten().find(|whose| whose.product == key);
    }
    let variant = named.and_then(|whose| whose.variant);
    let mut stock = Stock::of_one(record, variant, &mut write).await?;
    match named {
        Some(whose) => take(&mut draft, whose, &mut stock, &mut write).await?,
        None => {
            let sku = sku(&draft)?.map(short).unwrap_or_default();
            let detail = format!("Product {key} has no variant with the SKU {sku:?}.");
            draft.fault_at(FaultKind::MissingReference, SKU.name, detail);
        }
    }
    let adjustment = draft.as_record();
    write.validate(&mut draft, &adjustment).await?;
    stock.write(&mut write).await?;
    let answer = write.shown(&INVENTORY, key).await?;
    write.commit(answer).await
}

/// Changes the quantities of the products and variants that the body names.
pub(super) async fn all(call: &Call<'_>) -> Result<Response, Error> {
    refuse_version(call)?;
    let body = Body::read(call.request, &ADJUSTMENTS, None)?;
    let mut draft = Draft::read(&ADJUSTMENTS, &body, Intent::Create);
    check(&mut draft, &body)?;
    let mut write = Write::begin(call).await?;
    let named = whose(&draft.children, &mut write).await?;
    let known: Vec<Whose> = named.iter().flatten().copied().collect();
    let mut stock = Stock::lock(&known, &mut write).await?;
    // Until the lock, a SKU may have moved to another product.
    let writers = write.transaction.dialect().locks.is_some();
    if writers && whose(&draft.children, &mut write).await? != named {
        return Err(store::interrupted());
    }
    let mut order = Vec::new();
    for (child, named) in draft.children.iter_mut().zip(&named) {
        match named {
            Some(whose) => {
                take(child, *whose, &mut stock, &mut write).await?;
                order.push(whose.product);
            }
            None if child.faults.is_empty() => {
                let (by, detail) = match (sku(child)?, child.get(&VARIANT)?) {
                    (None, Some(key)) => {
                        (&*VARIANT, format!("There is no variant with the id {key}."))
                    }
                    (sku, _) => {
                        let sku = sku.map(short).unwrap_or_default();
                        (&*SKU, format!("There is no variant with the SKU {sku:?}."))
                    }
                };
                child.fault_at(FaultKind::MissingReference, by.name, detail);
            }
            None => {}
        }
    }
    let request = draft.as_record();
    write.validate(&mut draft, &request).await?;
    stock.write(&mut write).await?;
    let answer = write.all_shown(&INVENTORY, order).await?;
    write.commit(answer).await
}

/// Refuses `If-Match`, because one version cannot be that of several records.
fn refuse_version(call: &Call<'_>) -> Result<(), Error> {
    if call.request.header("if-match").is_none() {
        return Ok(());
    }
    let detail = "If-Match is about one record; send an expected_quantity with each adjustment.";
    Err(Fault::at_header(FaultKind::InvalidHeader, "If-Match", detail).into())
}

/// Adds the faults of the body that can be found without the database.
fn check(draft: &mut Draft, body: &Body<'_>) -> Result<(), Error> {
    const MEMBER: &str = "adjustments";
    if !body.has(MEMBER) {
        draft.fault_at(FaultKind::MissingField, MEMBER, "adjustments is required.");
    }
    for child in &mut draft.children {
        refuse_nothing(child)?;
        let (sku, product) = (sku(child)?.is_some(), child.get(&PRODUCT)?.is_some());
        let variant = child.get(&VARIANT)?.is_some();
        if sku && product {
            child.refuse(&PRODUCT, "Give either sku or shop_product_id.");
        } else if sku && variant {
            child.refuse(&VARIANT, "Give either sku or variant_id.");
        } else if !sku && !product && !variant && child.faults.is_empty() {
            let detail = "Either sku or shop_product_id is required.";
            child.fault_at(FaultKind::MissingField, SKU.name, detail);
        }
    }
    Ok(())
}

fn refuse_nothing(draft: &mut Draft) -> Result<(), Error> {
    if draft.get(&DELTA)? == Some(0) {
        draft.refuse(&DELTA, "quantity_delta must not be zero.");
    }
    Ok(())
}

/// The SKU by which a change names its product; an empty one names none.
fn sku(child: &Draft) -> Result<Option<&str>, Error> {
    Ok(child.get(&SKU)?.filter(|sku| !sku.is_empty()))
}

/// Whose stock each change is about; `None` for a SKU or a key that no variant has.
async fn whose(children: &[Draft], write: &mut Write<'_>) -> Result<Vec<Option<Whose>>, Error> {
    let (mut skus, mut variants) = (Vec::new(), Vec::new());
    for child in children {
        skus.push(sku(child)?.map(fold));
        variants.extend(child.get(&VARIANT)?);
    }
    let sought: Vec<String> = skus.iter().flatten().cloned().collect();
    let mut found = HashMap::new();
    if !sought.is_empty() {
        let sought = sql::find_skus(sought, write.transaction.dialect());
        for OfSku { sku, product, variant } in write.transaction.rows(sought).await? {
            found.insert(sku, Whose { product, variant });
        }
    }
    let variants = write.records(&VARIANTS, variants).await?;
    let whose = children.iter().zip(skus).map(|(child, sku)| {
        if let Some(sku) = sku {
            return Ok(found.get(&sku).copied());
        }
        let variant = child.get(&VARIANT)?;
        let owner = variant.and_then(|key| variants.get(&key)).map(|of| of.need(&OWNER));
        let product = child.get(&PRODUCT)?.map_or_else(|| owner.transpose(), |key| Ok(Some(key)));
        Ok(product?.map(|product| Whose { product, variant }))
    });
    whose.collect()
}

/// Makes the change that a draft without faults describes. If it is impossible, the draft gets a fault.
async fn take(
    draft: &mut Draft,
    whose: Whose,
    stock: &mut Stock,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    if !draft.faults.is_empty() {
        return Ok(());
    }
    let Whose { product, .. } = whose;
    let adjustment = Adjustment {
        whose,
        delta: draft.need(&DELTA)?,
        expected: draft.get(&EXPECTED)?,
        reason: draft.need(&REASON)?,
        reference: draft.need(&REFERENCE)?,
    };
    let Err(refusal) = stock.apply(adjustment)? else { return Ok(()) };
    let by_sku = sku(draft)?.is_some();
    match refusal {
        Refusal::NoStock => {
            let by = if by_sku { SKU.name } else { PRODUCT.name };
            let detail = format!("There is no stock record of product {product}.");
            draft.fault_at(FaultKind::MissingReference, by, detail);
        }
        Refusal::VariantRequired => {
            let by = if by_sku { &*SKU } else { &*VARIANT };
            refuse_unnamed(draft, by, product, write).await?;
        }
        Refusal::NoVariant(key) => {
            let detail = format!("Product {product} has no variant with the id {key}.");
            draft.fault_at(FaultKind::MissingReference, VARIANT.name, detail);
        }
        Refusal::Changed(quantity) => {
            let detail = format!("The quantity is {quantity}.");
            let meta = ("quantity", quantity);
            draft.fault_with(FaultKind::StockChanged, EXPECTED.name, detail, meta);
        }
        Refusal::Insufficient(quantity) => {
            let detail = format!("The quantity is {quantity} and cannot fall below zero.");
            let meta = ("quantity", quantity);
            draft.fault_with(FaultKind::InsufficientStock, DELTA.name, detail, meta);
        }
        Refusal::TooLarge => draft.refuse(&DELTA, "The quantity would be too large."),
    }
    Ok(())
}
