//! Changes of stock by differences: of one product, or of many at once. All steps of a request are
//! taken, in the order sent, or none.

use std::collections::HashMap;
use std::ops::ControlFlow::{Break, Continue};

use host_interface::Response;

use super::record::INVENTORY;
use super::stock::{Adjustment, Refusal, Stock};
use crate::error::{Error, Fault, FaultKind};
use crate::model::field::{Field, Handle, int, key, text};
use crate::model::question::Page;
use crate::model::resource::{Brings, Resource};
use crate::model::value::{fold, short};
use crate::resources::products::SKU;
use crate::service::call::Call;
use crate::service::hooks::Scene;
use crate::service::{crud, once};
use crate::sql;
use crate::store::{self, Transaction};
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
    brings: Some(Brings { name: "adjustments", of: &STEP, by: None }),
    versioned: false,
    ..Resource::CRUD
}
.checked();

/// One of many changes, with the product that it is about.
static STEP: Resource = Resource {
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
    request::no_listing(call.request.query())?;
    let id = request::id(call.request)?;
    let body = Body::read(call.request, &ADJUSTMENT, id)?;
    let key = crud::path_key(call, &INVENTORY)?;
    let mut draft = Draft::read(&ADJUSTMENT, &body, Intent::Create);
    refuse_nothing(&mut draft)?;
    let mut transaction = match once::begin(call).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let mut stock = Stock::of(crud::locked(call, &mut transaction, &INVENTORY, key).await?);
    take(&mut draft, key, &DELTA, &mut stock)?;
    let adjustment = draft.as_record();
    let mut scene = Scene { call, transaction: &mut transaction };
    crud::validate(&mut draft, &adjustment, Vec::new(), &mut scene).await?;
    stock.write(&mut scene).await?;
    let cells = transaction.page(&Page::of_one(&INVENTORY, key)).await?;
    once::commit(call, transaction, crud::single(200, call, &INVENTORY, &cells)?).await
}

/// Changes the quantities of the products that the body names.
pub(super) async fn all(call: &Call<'_>) -> Result<Response, Error> {
    request::no_listing(call.request.query())?;
    refuse_version(call)?;
    let body = Body::read(call.request, &ADJUSTMENTS, None)?;
    let mut draft = Draft::read(&ADJUSTMENTS, &body, Intent::Create);
    check(&mut draft, &body)?;
    let mut transaction = match once::begin(call).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let named = products(&draft.parts, &mut transaction).await?;
    let mut stock =
        Stock::lock(named.iter().flatten().copied().collect(), &mut transaction).await?;
    // Until the lock, a SKU may have moved to another product.
    let writers = transaction.dialect().locks.is_some();
    if writers && products(&draft.parts, &mut transaction).await? != named {
        return Err(store::interrupted());
    }
    let mut order = Vec::new();
    for (step, product) in draft.parts.iter_mut().zip(&named) {
        let by = if sku(step)?.is_some() { &*SKU } else { &*PRODUCT };
        match product {
            Some(product) => {
                take(step, *product, by, &mut stock)?;
                order.push(*product);
            }
            None if step.faults.is_empty() => {
                let sku = sku(step)?.map(short).unwrap_or_default();
                let detail = format!("There is no variant with the SKU {sku:?}.");
                step.fault_at(FaultKind::MissingReference, by.name, detail);
            }
            None => {}
        }
    }
    let request = draft.as_record();
    let mut scene = Scene { call, transaction: &mut transaction };
    crud::validate(&mut draft, &request, Vec::new(), &mut scene).await?;
    stock.write(&mut scene).await?;
    let answer = crud::each(call, &INVENTORY, order, &mut transaction).await?;
    once::commit(call, transaction, answer).await
}

/// One version cannot be that of several records.
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
    } else if draft.parts.is_empty() && draft.faults.is_empty() {
        draft.fault_at(FaultKind::InvalidValue, MEMBER, "adjustments must have at least one item.");
    }
    for step in &mut draft.parts {
        refuse_nothing(step)?;
        match (sku(step)?, step.get(&PRODUCT)?) {
            (Some(_), Some(_)) => step.refuse(&PRODUCT, "Give either sku or shop_product_id."),
            (None, None) if step.faults.is_empty() => {
                let detail = "Either sku or shop_product_id is required.";
                step.fault_at(FaultKind::MissingField, SKU.name, detail);
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

/// The SKU by which a step names its product; an empty one names none.
fn sku(step: &Draft) -> Result<Option<&str>, Error> {
    Ok(step.get(&SKU)?.filter(|sku| !sku.is_empty()))
}

/// The product of each step; `None` for a SKU that no variant has.
async fn products(
    steps: &[Draft],
    transaction: &mut Transaction,
) -> Result<Vec<Option<i64>>, Error> {
    let mut skus = Vec::new();
    for step in steps {
        skus.push(sku(step)?.map(fold));
    }
    let sought: Vec<String> = skus.iter().flatten().cloned().collect();
    let mut found = HashMap::new();
    if !sought.is_empty() {
        let cells = transaction.table(sql::find_skus(sought)).await?;
        for row in cells.rows()? {
            let [sku, product] = &row[..] else {
                return Err(Error::Contract("a row of SKUs has other columns"));
            };
            found.insert(sku.text("sku_fold")?.to_owned(), product.int("product_id")?);
        }
    }
    steps
        .iter()
        .zip(skus)
        .map(|(step, sku)| match sku {
            Some(sku) => Ok(found.get(&sku).copied()),
            None => step.get(&PRODUCT),
        })
        .collect()
}

/// Takes the step of a draft, or adds the fault that it is impossible. `by` is the field that names
/// the product. A draft that has a fault takes none.
fn take(draft: &mut Draft, product: i64, by: &Field, stock: &mut Stock) -> Result<(), Error> {
    if !draft.faults.is_empty() {
        return Ok(());
    }
    let step = Adjustment {
        product,
        delta: draft.need(&DELTA)?,
        expected: draft.get(&EXPECTED)?,
        reason: draft.need(&REASON)?,
        reference: draft.need(&REFERENCE)?,
    };
    match stock.apply(step)? {
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
