//! The rules of products: where their stock is, and what they are created with.

use std::collections::HashSet;

use super::catalogue::{
    DEFAULT, HAD_OPTIONS, HAS_OPTIONS, OWNER, PRICE, PRODUCTS, QUANTITY, SKU, VARIANT_COUNT,
    VARIANT_QUANTITY,
};
use super::{options, variant};
use crate::error::{Error, FaultKind};
use crate::model::record::Record;
use crate::model::value::fold;
use crate::resources::stockmovements::{Movement, reason, record};
use crate::service::hooks::Service;
use crate::service::write::Write;
use crate::wire::draft::Draft;

pub(crate) const SERVICE: Service = Service {
    insert: Some(|draft, write| Box::pin(create(draft, write))),
    derive: Some(|draft, before, write| Box::pin(check_change(draft, before, write))),
    before_update: Some(|before, after, write| Box::pin(next_quantity(before, after, write))),
    before_delete: Some(|product, write| Box::pin(last_quantities(product, write))),
    ..Service::of(&PRODUCTS)
};

/// What `POST /products` does between the body and the answer: inserts the product, whose master variant the
/// database adds, and the variants in the body, of which the first has the stock unless it has its own.
async fn create(draft: &mut Draft, write: &mut Write<'_>) -> Result<i64, Error> {
    let mut variants = std::mem::take(&mut draft.children);
    if !variants.is_empty() {
        share_out(draft, &mut variants)?;
        options::check_all(&mut variants)?;
        refuse_equal_skus(draft, &mut variants)?;
    }
    let product = draft.as_record();
    let records: Vec<Record> = variants.iter().map(Draft::as_record).collect();
    draft.children = variants;
    write.validate_all(draft, &product, &records).await?;
    let key = write.insert(draft).await?;
    if draft.children.is_empty() {
        let quantities = [0, product.need(&QUANTITY)?];
        let created = Movement::of(key, product.need(&SKU)?, quantities, reason::CREATED);
        record(vec![created], write).await?;
        return Ok(key);
    }
    for variant in &mut draft.children {
        variant.set(&OWNER, key)?;
    }
    write.insert_all(&draft.children).await?;
    variant::take_limits(key, write).await?;
    let variants = variant::of_product(key, write).await?;
    let mut created = Vec::new();
    for variant in &variants {
        created.push(variant::movement(variant, reason::CREATED)?);
        if variant.need(&DEFAULT)? {
            variant::replace_master(key, write).await?;
        }
    }
    record(created, write).await?;
    Ok(key)
}

/// Completes the variants of a new product, and gives it their stock.
fn share_out(product: &mut Draft, variants: &mut [Draft]) -> Result<(), Error> {
    let stock = product.get(&QUANTITY)?.unwrap_or_default();
    let price = product.get(&PRICE)?.unwrap_or_default();
    let (mut left, mut sum, mut defaults) = (stock, 0, 0);
    for (position, draft) in variants.iter_mut().enumerate() {
        if draft.get(&VARIANT_QUANTITY)?.is_none() {
            let quantity = if position == 0 { std::mem::take(&mut left) } else { 0 };
            draft.set(&VARIANT_QUANTITY, quantity)?;
        }
        sum += variant::complete(draft, price, 0)?;
        if draft.get(&DEFAULT)? == Some(true) {
            defaults += 1;
        }
        if defaults > 1 {
            draft.refuse(&DEFAULT, "Only one variant of a product can be the default.");
        }
    }
    if left != 0 && stock != sum {
        let detail = "The quantity of the product is the sum of those of its variants.";
        product.refuse(&QUANTITY, detail);
    } else if sum > i64::from(i32::MAX) {
        product.refuse(&QUANTITY, "The quantity would be too large.");
    } else {
        product.set(&QUANTITY, sum)?;
    }
    let had_options = product.get(&HAS_OPTIONS)?.unwrap_or_default();
    product.set(&HAD_OPTIONS, had_options)?;
    product.set(&HAS_OPTIONS, true)
}

/// Refuses SKUs that a product and its new variants share; the database knows none of them yet.
fn refuse_equal_skus(product: &Draft, variants: &mut [Draft]) -> Result<(), Error> {
    let mut known = HashSet::new();
    known.extend(product.get(&SKU)?.map(fold));
    for variant in variants {
        let sku = variant.get(&SKU)?.map(fold).unwrap_or_default();
        if !sku.is_empty() && !known.insert(sku) {
            let detail = "Another variant in this body already has this sku.";
            variant.fault_at(FaultKind::Duplicate, SKU.name, detail);
        }
    }
    Ok(())
}

async fn check_change(
    draft: &mut Draft,
    before: Option<&Record>,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let Some(before) = before else { return Ok(()) };
    if before.need(&VARIANT_COUNT)? > 0 && draft.get(&HAS_OPTIONS)? == Some(false) {
        let detail = "has_options is 1 while the product has further variants.";
        draft.fault_at(FaultKind::Refused, HAS_OPTIONS.name, detail);
    }
    refuse_sum(draft, before, write).await?;
    variant::refuse_unstocked(draft, before.key(), write).await
}

/// Refuses to change the quantity of a product, or of its stock record, that is the sum of its variants.
pub(crate) async fn refuse_sum(
    draft: &mut Draft,
    before: &Record,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let changes =
        draft.get(&QUANTITY)?.map(|pieces| Ok::<_, Error>(before.need(&QUANTITY)? != pieces));
    if before.need(&VARIANT_COUNT)? == 0 || !changes.transpose()?.unwrap_or_default() {
        return Ok(());
    }
    let variants = variant::of_product(before.key(), write).await?;
    let keys: Vec<i64> = variants.iter().map(Record::key).collect();
    let detail = "The quantity is the sum of those of the product's variants; change theirs.";
    let meta = ("variants", keys);
    draft.fault_with(FaultKind::StockIsWithVariants, QUANTITY.name, detail, meta);
    Ok(())
}

/// Records the change of the quantity of a product or of its stock record.
pub(crate) async fn next_quantity(
    before: &Record,
    after: &Record,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let quantities = [before.need(&QUANTITY)?, after.need(&QUANTITY)?];
    let moved = Movement::of(after.key(), after.need(&SKU)?, quantities, reason::SET);
    record(vec![moved], write).await
}

/// Records that the stock of a product leaves with it.
async fn last_quantities(product: &Record, write: &mut Write<'_>) -> Result<(), Error> {
    if product.need(&VARIANT_COUNT)? == 0 {
        let quantities = [product.need(&QUANTITY)?, 0];
        let moved = Movement::of(product.key(), product.need(&SKU)?, quantities, reason::DELETED);
        return record(vec![moved], write).await;
    }
    let variants = variant::of_product(product.key(), write).await?;
    let moved = variants.iter().map(|variant| {
        let moved = variant::movement(variant, reason::DELETED)?;
        Ok(Movement { before: moved.after, after: 0, ..moved })
    });
    record(moved.collect::<Result<_, Error>>()?, write).await?;
    // Where a cascade fires no trigger, their stock would still be counted.
    variant::delete_all(product.key(), write).await
}
