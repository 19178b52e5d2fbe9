//! Changes of stock by differences: of one product, or of many at once. Either all changes of a request
//! are made, in the order sent, or none.

use std::collections::HashMap;

use host_interface::Response;

use super::record::INVENTORY;
use super::stock::{Adjustment, Refusal, Stock};
use crate::error::{Error, Fault, FaultKind};
use crate::model::field::{Field, Handle, int, key, text};
use crate::model::resource::{Children, Resource};
use crate::model::value::{fold, short};
use crate::resources::products::SKU;
use crate::service::call::Call;
use crate::service::write::Write;
use crate::sql;
use crate::store;
use crate::wire::body::Body;
use crate::wire::draft::{Draft, Intent};
use crate::wire::request;

/// A change of the quantity of one product.
pub(super) static ADJUSTMENT: Resource = Resource {
    kind: "inventory",
    view: Some("inventory.adjustment"),
    singular: "adjustment",
    list: &[DELTA.field, REASON.field, REFERENCE.field, EXPECTED.field],
    versioned: false,
    ..Resource::CRUD
}
.checked();

/// Many changes in one body.
pub(super) static ADJUSTMENTS: Resource = Resource {
    kind: "inventory",
    view: Some("inventory.adjustments"),
    singular: "list of adjustments",
    children: Some(Children { name: "adjustments", of: &NAMED_ADJUSTMENT }),
    versioned: false,
    ..Resource::CRUD
}
.checked();

/// One of many changes, with the product that it is about.
static NAMED_ADJUSTMENT: Resource = Resource {
    view: Some("inventory.step"),
    list: &[SKU.field, PRODUCT.field, DELTA.field, REASON.field, REFERENCE.field, EXPECTED.field],
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

/// Changes the quantity of the product in the path.
pub(super) async fn one(call: &Call<'_>) -> Result<Response, Error> {
    let id = request::id(call.request)?;
    let mut draft = Draft::sent(call.request, &ADJUSTMENT, id, Intent::Create)?;
    let key = call.path_key(&INVENTORY)?;
    refuse_nothing(&mut draft)?;
    let mut write = Write::begin(call).await?;
    let mut stock = Stock::of(write.target(&INVENTORY, key).await?);
    take(&mut draft, key, &DELTA, &mut stock)?;
    let adjustment = draft.as_record();
    write.validate(&mut draft, &adjustment).await?;
    stock.write(&mut write).await?;
    let answer = write.shown(&INVENTORY, key).await?;
    write.commit(answer).await
}

/// Changes the quantities of the products that the body names.
pub(super) async fn all(call: &Call<'_>) -> Result<Response, Error> {
    refuse_version(call)?;
    let body = Body::read(call.request, &ADJUSTMENTS, None)?;
    let mut draft = Draft::read(&ADJUSTMENTS, &body, Intent::Create);
    check(&mut draft, &body)?;
    let mut write = Write::begin(call).await?;
    let named = products(&draft.children, &mut write).await?;
    let mut stock = Stock::lock(named.iter().flatten().copied().collect(), &mut write).await?;
    // Until the lock, a SKU may have moved to another product.
    let writers = write.transaction.dialect().locks.is_some();
    if writers && products(&draft.children, &mut write).await? != named {
        return Err(store::interrupted());
    }
    let mut order = Vec::new();
    for (child, product) in draft.children.iter_mut().zip(&named) {
        let by = if sku(child)?.is_some() { &*SKU } else { &*PRODUCT };
        match product {
            Some(product) => {
                take(child, *product, by, &mut stock)?;
                order.push(*product);
            }
            None if child.faults.is_empty() => {
                let sku = sku(child)?.map(short).unwrap_or_default();
                let detail = format!("There is no variant with the SKU {sku:?}.");
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
    } else if draft.children.is_empty() && draft.faults.is_empty() {
        draft.fault_at(FaultKind::InvalidValue, MEMBER, "adjustments must have at least one item.");
    }
    for child in &mut draft.children {
        refuse_nothing(child)?;
        match (sku(child)?, child.get(&PRODUCT)?) {
            (Some(_), Some(_)) => child.refuse(&PRODUCT, "Give either sku or shop_product_id."),
            (None, None) if child.faults.is_empty() => {
                let detail = "Either sku or shop_product_id is required.";
                child.fault_at(FaultKind::MissingField, SKU.name, detail);
            }
            _ => {}
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

/// The product of each change; `None` for a SKU that no variant has.
async fn products(children: &[Draft], write: &mut Write<'_>) -> Result<Vec<Option<i64>>, Error> {
    let mut skus = Vec::new();
    for child in children {
        skus.push(sku(child)?.map(fold));
    }
    let sought: Vec<String> = skus.iter().flatten().cloned().collect();
    let mut found = HashMap::new();
    if !sought.is_empty() {
        let cells = write.transaction.table(sql::find_skus(sought)).await?;
        for row in cells.rows()? {
            let [sku, product] = &row[..] else {
                return Err(Error::Contract("a row of SKUs has other columns"));
            };
            found.insert(sku.text("sku_fold")?.to_owned(), product.int("product_id")?);
        }
    }
    children
        .iter()
        .zip(skus)
        .map(|(child, sku)| match sku {
            Some(sku) => Ok(found.get(&sku).copied()),
            None => child.get(&PRODUCT),
        })
        .collect()
}

/// Makes the change that a draft without faults describes. If it is impossible, the draft gets a fault.
/// `by` is the field that names the product.
fn take(draft: &mut Draft, product: i64, by: &Field, stock: &mut Stock) -> Result<(), Error> {
    if !draft.faults.is_empty() {
        return Ok(());
    }
    let adjustment = Adjustment {
        product,
        delta: draft.need(&DELTA)?,
        expected: draft.get(&EXPECTED)?,
        reason: draft.need(&REASON)?,
        reference: draft.need(&REFERENCE)?,
    };
    match stock.apply(adjustment)? {
        Ok(()) => {}
        Err(Refusal::NoStock) => {
            let detail = format!("There is no stock record of product {product}.");
            draft.fault_at(FaultKind::MissingReference, by.name, detail);
        }
        Err(Refusal::Changed(quantity)) => {
            let detail = format!("The quantity is {quantity}.");
            let meta = ("quantity", quantity);
            draft.fault_with(FaultKind::StockChanged, EXPECTED.name, detail, meta);
        }
        Err(Refusal::Insufficient(quantity)) => {
            let detail = format!("The quantity is {quantity} and cannot fall below zero.");
            let meta = ("quantity", quantity);
            draft.fault_with(FaultKind::InsufficientStock, DELTA.name, detail, meta);
        }
        Err(Refusal::TooLarge) => draft.refuse(&DELTA, "The quantity would be too large."),
    }
    Ok(())
}
