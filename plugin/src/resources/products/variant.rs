//! The rules of variants beside the master of their product: the first one gets the product's stock, and the last
//! one gives it back.

use host_interface::Response;

use super::catalogue::{
    DEFAULT, FOLLOWS, HAD_OPTIONS, HAS_OPTIONS, IS_MASTER, MANAGE_STOCK, OPTIONS, OWNER, PRICE,
    PRODUCTS, QUANTITY, SKU, UPC, VARIANT_COUNT, VARIANT_PRICE, VARIANT_QUANTITY, VARIANTS,
};
use super::options;
use crate::error::{Error, Fault, FaultKind};
use crate::model::field::{Field, Money, Typed};
use crate::model::parameters::Parameters;
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::value::Value;
use crate::resources::route::post;
use crate::resources::stockmovements::{Movement, reason, record};
use crate::service::call::Call;
use crate::service::hooks::{Answer, Service, Special};
use crate::service::write::Write;
use crate::sql::{self, Statement};
use crate::wire::draft::{Draft, Intent};
use crate::wire::object;

pub(crate) const SERVICE: Service = Service {
    insert: Some(|draft, write| Box::pin(insert(draft, write))),
    derive: Some(|draft, before, write| Box::pin(check_change(draft, before, write))),
    before_update: Some(|before, after, write| Box::pin(follow_change(before, after, write))),
    // The variant that was the default no longer is.
    spreads: |written, _| Ok(written.get(&DEFAULT)? == Some(true)),
    deletable,
    after_delete: Some(|variant, write| Box::pin(remove(variant, write))),
    special: &[Special {
        action: Some("store.create"),
        ..post(
            "products/{id:digits}/variants",
            "create",
            "Add a variant",
            &VARIANTS,
            Answer::Part(&VARIANTS, PRODUCT_VERSION),
            |call| Box::pin(create(call)),
        )
    }],
    ..Service::of(&VARIANTS)
};

/// The member of `meta` with the version that the product has with a new variant.
const PRODUCT_VERSION: &str = "product_version";

/// `POST /products/<id>/variants`
async fn create(call: &Call<'_>) -> Result<Response, Error> {
    let mut draft = Draft::sent(call.request, &VARIANTS, None, Intent::Create)?;
    let key = call.path_key(&PRODUCTS)?;
    let mut write = Write::begin(call).await?;
    let product = write.target(&PRODUCTS, key).await?;
    draft.set(&OWNER, key)?;
    let inserted = add(&product, &mut draft, &mut write).await?;
    let location = object::record_path(&VARIANTS, inserted, &call.shop.root);
    let version = (PRODUCT_VERSION, product.version() + 1);
    let answer = write.added(&VARIANTS, inserted, version, location).await?;
    write.commit(answer).await
}

/// Inserts the variant that a draft describes, below the product that it names.
async fn insert(draft: &mut Draft, write: &mut Write<'_>) -> Result<i64, Error> {
    let product = write.target(&PRODUCTS, draft.need(&OWNER)?).await?;
    add(&product, draft, write).await
}

/// Adds a variant to a product, and returns its key. The first one takes the stock of the product.
async fn add(product: &Record, draft: &mut Draft, write: &mut Write<'_>) -> Result<i64, Error> {
    let key = product.key();
    let others = of_product(key, write).await?;
    let (stock, is_first) = (product.need(&QUANTITY)?, others.is_empty());
    complete(draft, product.need(&PRICE)?, if is_first { stock } else { 0 })?;
    options::check(draft, &others)?;
    let sum = if is_first { 0 } else { stock };
    refuse_too_many(draft, sum)?;
    refuse_unstocked(draft, key, write).await?;
    let variant = draft.as_record();
    write.validate(draft, &variant).await?;
    let inserted = write.insert(draft).await?;
    take_limits(key, write).await?;
    if variant.need(&DEFAULT)? {
        take_default(key, inserted, write).await?;
    }
    let quantities = [0, variant.need(&VARIANT_QUANTITY)?];
    let sku = variant.need(&SKU)?;
    if is_first {
        let moved = reason::TO_VARIANT;
        let from = Movement::of(key, product.need(&SKU)?, [stock, 0], moved);
        let to = Movement::of(key, sku, quantities, moved).of_variant(inserted);
        record(vec![from, to], write).await?;
        let had_options = (&*HAD_OPTIONS, product.need(&HAS_OPTIONS)?.into_value());
        let values = [had_options, (&*HAS_OPTIONS, true.into_value())];
        write.change(&PRODUCTS, key, &values).await?;
    } else {
        let created = Movement::of(key, sku, quantities, reason::CREATED_VARIANT);
        record(vec![created.of_variant(inserted)], write).await?;
        write.change(&PRODUCTS, key, &[]).await?;
    }
    Ok(inserted)
}

/// Fills in what a new variant omits, for a product with this price. Returns its quantity, which is `stock`
/// unless the body has others.
pub(super) fn complete(draft: &mut Draft, price: Money, stock: i64) -> Result<i64, Error> {
    let follows = match (draft.get(&FOLLOWS)?, draft.get(&VARIANT_PRICE)?) {
        (Some(follows), _) => follows,
        (None, price) => price.is_none(),
    };
    settle_price(draft, follows, price)?;
    if draft.get(&VARIANT_QUANTITY)?.is_none() {
        draft.set(&VARIANT_QUANTITY, stock)?;
    }
    draft.need(&VARIANT_QUANTITY)
}

/// The variants of a product beside its master, in the order of their keys.
pub(crate) async fn of_product(key: i64, write: &mut Write<'_>) -> Result<Vec<Record>, Error> {
    let of_product = Condition::equals(&OWNER, Value::Int(key));
    let all = Page { conditions: vec![of_product], ..Page::of(&VARIANTS) };
    let mut further = Vec::new();
    for variant in write.transaction.page(&all).await?.records(&VARIANTS)? {
        if !variant.need(&IS_MASTER)? {
            further.push(variant);
        }
    }
    Ok(further)
}

/// The movement by which a variant has got its stock.
pub(super) fn movement(variant: &Record, reason: &'static str) -> Result<Movement, Error> {
    let quantities = [0, variant.get(&VARIANT_QUANTITY)?.unwrap_or_default()];
    let moved = Movement::of(variant.need(&OWNER)?, variant.need(&SKU)?, quantities, reason);
    Ok(moved.of_variant(variant.key()))
}

/// Gives the new variants of a product the limits by which its stock is judged, if it has any. Those that it had before
/// have followed it.
pub(super) async fn take_limits(product: i64, write: &mut Write<'_>) -> Result<(), Error> {
    let statement = sql::complete(
        &VARIANTS,
        "min_out_qty = (SELECT min_out_qty FROM shop_products WHERE shop_product_id = product_id), \
         notify_qty = (SELECT notify_qty FROM shop_products WHERE shop_product_id = product_id)",
        "product_id = ? AND +is_master = 0 AND min_out_qty IS NULL AND notify_qty IS NULL \
         AND EXISTS (SELECT 1 FROM shop_products p WHERE p.shop_product_id = product_id \
         AND (p.min_out_qty IS NOT NULL OR p.notify_qty IS NOT NULL))",
        vec![Value::Int(product)],
    );
    write.transaction.execute(statement).await
}

/// Deletes the variants of a product beside its master.
pub(super) async fn delete_all(product: i64, write: &mut Write<'_>) -> Result<(), Error> {
    let statement = Statement::fixed(
        "DELETE FROM shop_variants WHERE product_id = ? AND +is_master = 0",
        vec![Value::Int(product)],
    );
    write.transaction.execute(statement).await
}

/// Has a variant of a new product seen first, in place of the master.
pub(super) async fn replace_master(product: i64, write: &mut Write<'_>) -> Result<(), Error> {
    let master = "product_id = ? AND is_master = 1";
    let statement =
        sql::complete(&VARIANTS, "isdefault_variant = 0", master, vec![Value::Int(product)]);
    write.transaction.execute(statement).await
}

/// Makes a variant the one that customers see first, in place of another.
async fn take_default(product: i64, variant: i64, write: &mut Write<'_>) -> Result<(), Error> {
    let statement = Statement::fixed(
        "UPDATE shop_variants SET version = version + 1, isdefault_variant = 0 \
         WHERE product_id = ? AND isdefault_variant = 1 AND shop_variant_id <> ?",
        vec![Value::Int(product), Value::Int(variant)],
    );
    write.transaction.execute(statement).await
}

/// A product without a stock record has no stock, and neither have its variants.
pub(super) async fn refuse_unstocked(
    draft: &mut Draft,
    product: i64,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    // Products and variants have a quantity of the same name.
    if draft.get(&VARIANT_QUANTITY)?.unwrap_or_default() == 0 {
        return Ok(());
    }
    let statement = Statement::fixed(
        "SELECT has_stock FROM shop_products WHERE shop_product_id = ?",
        vec![Value::Int(product)],
    );
    if write.transaction.numbers(statement).await? == [0] {
        let detail = "This product has no stock record; POST /inventory creates one.";
        draft.fault_at(FaultKind::Refused, QUANTITY.name, detail);
    }
    Ok(())
}

/// Checks a change of a variant, and derives its price.
async fn check_change(
    draft: &mut Draft,
    before: Option<&Record>,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let Some(before) = before else { return Ok(()) };
    if draft.get(&DEFAULT)? == Some(false) && before.need(&DEFAULT)? {
        let detail = "Another variant takes it, by isdefault_variant 1.";
        draft.fault_at(FaultKind::Refused, DEFAULT.name, detail);
    }
    if before.need(&IS_MASTER)? {
        return check_master(draft, before);
    }
    let key = before.need(&OWNER)?;
    let product = write.record(&PRODUCTS, key).await?;
    let same_price = draft.get(&VARIANT_PRICE)? == before.get(&VARIANT_PRICE)?;
    let follows = match (draft.get(&FOLLOWS)?, draft.given(&VARIANT_PRICE)?) {
        (Some(follows), _) => Some(follows),
        (None, Some(Value::Null)) => Some(true),
        // A client may send back the price that it has read.
        (None, Some(_)) if same_price => None,
        (None, price) => price.map(|_| false),
    };
    if let Some(follows) = follows {
        let price = product.need(&PRICE)?;
        let own = before.need(&VARIANT_PRICE)?;
        settle_price(draft, follows, if follows { price } else { own })?;
    }
    let options_before = before.value(OPTIONS.name)?;
    if draft.given(&OPTIONS)?.is_some_and(|options| options != options_before) {
        let mut others = of_product(key, write).await?;
        others.retain(|other| other.key() != before.key());
        options::check(draft, &others)?;
    }
    if draft.given(&VARIANT_QUANTITY)?.is_some_and(|given| *given == Value::Null) {
        draft.refuse(&VARIANT_QUANTITY, "quantity must be a number.");
    }
    let own = before.get(&VARIANT_QUANTITY)?.unwrap_or_default();
    if draft.get(&VARIANT_QUANTITY)?.is_some_and(|pieces| pieces != own) {
        refuse_too_many(draft, product.need(&QUANTITY)? - own)?;
        refuse_unstocked(draft, key, write).await?;
    }
    Ok(())
}

/// Refuses what a master variant has of its product.
fn check_master(draft: &mut Draft, before: &Record) -> Result<(), Error> {
    let same: [(&Field, &str); 4] = [
        (&SKU, "products"),
        (&VARIANT_PRICE, "products"),
        (&UPC, "products"),
        (&MANAGE_STOCK, "inventory"),
    ];
    for (field, kind) in same {
        let own = before.value(field.name)?;
        if draft.given(field)?.is_some_and(|value| value != own) {
            let detail = format!(
                "The {} of a master variant is that of its product; PATCH /{kind}/{} changes it.",
                field.name,
                before.need(&OWNER)?
            );
            draft.fault_at(FaultKind::Refused, field.name, detail);
        }
    }
    if draft.get(&FOLLOWS)? == Some(false) {
        let detail = "The price of a master variant is that of its product.";
        draft.fault_at(FaultKind::Refused, FOLLOWS.name, detail);
    }
    let none = before.value(OPTIONS.name)?;
    if draft.given(&OPTIONS)?.is_some_and(|value| value != none) {
        let detail = "A master variant has no options.";
        draft.fault_at(FaultKind::Refused, OPTIONS.name, detail);
    }
    if draft.get(&VARIANT_QUANTITY)?.is_some() {
        let detail = "The stock of a master variant is that of its product.";
        draft.fault_at(FaultKind::Refused, VARIANT_QUANTITY.name, detail);
    }
    Ok(())
}

/// Sets the price of a variant, which is `otherwise` where the body gives none.
fn settle_price(draft: &mut Draft, follows: bool, otherwise: Money) -> Result<(), Error> {
    let given = draft.get(&VARIANT_PRICE)?;
    if follows && given.is_some_and(|given| given != otherwise) {
        let detail = "A price that follows the product's is that of the product.";
        draft.refuse(&VARIANT_PRICE, detail);
        return Ok(());
    }
    draft.set(&VARIANT_PRICE, given.unwrap_or(otherwise))?;
    draft.set(&FOLLOWS, follows)
}

/// Refuses a quantity with which that of the product would be too large; the others have so many pieces.
fn refuse_too_many(draft: &mut Draft, others: i64) -> Result<(), Error> {
    let pieces = draft.get(&VARIANT_QUANTITY)?.unwrap_or_default();
    if others + pieces > i64::from(i32::MAX) {
        let detail = "The quantity of the product would be too large.";
        draft.refuse(&VARIANT_QUANTITY, detail);
    }
    Ok(())
}

/// Records what a change of a variant changes beside it.
async fn follow_change(
    before: &Record,
    after: &Record,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    if before.values() == after.values() {
        return Ok(());
    }
    let product = after.need(&OWNER)?;
    if after.need(&DEFAULT)? && !before.need(&DEFAULT)? {
        take_default(product, after.key(), write).await?;
    }
    if let Some(pieces) = after.get(&VARIANT_QUANTITY)? {
        let quantities = [before.get(&VARIANT_QUANTITY)?.unwrap_or_default(), pieces];
        let moved = Movement::of(product, after.need(&SKU)?, quantities, reason::SET);
        record(vec![moved.of_variant(after.key())], write).await?;
    }
    write.change(&PRODUCTS, product, &[]).await
}

fn deletable(variant: &Record, _: &Parameters) -> Result<(), Error> {
    if variant.need(&IS_MASTER)? {
        let detail = "A master variant stays as long as its product.";
        return Err(Fault::new(FaultKind::Refused, detail).into());
    }
    Ok(())
}

/// Records where the stock of a removed variant goes: the last one gives it back to the product, that of
/// another one is gone. A default variant leaves this to the master.
async fn remove(variant: &Record, write: &mut Write<'_>) -> Result<(), Error> {
    let key = variant.need(&OWNER)?;
    let product = write.record(&PRODUCTS, key).await?;
    let pieces = variant.get(&VARIANT_QUANTITY)?.unwrap_or_default();
    let leaves = |reason| {
        let moved = Movement::of(key, variant.need(&SKU)?, [pieces, 0], reason);
        Ok::<_, Error>(moved.of_variant(variant.key()))
    };
    if variant.need(&DEFAULT)? {
        let statement = Statement::fixed(
            "UPDATE shop_variants SET version = version + 1, isdefault_variant = 1 \
             WHERE product_id = ? AND is_master = 1",
            vec![Value::Int(key)],
        );
        write.transaction.execute(statement).await?;
    }
    if product.need(&VARIANT_COUNT)? > 0 {
        record(vec![leaves(reason::REMOVED_VARIANT)?], write).await?;
        return write.change(&PRODUCTS, key, &[]).await;
    }
    let back = Movement::of(key, product.need(&SKU)?, [0, pieces], reason::FROM_VARIANT);
    record(vec![leaves(reason::FROM_VARIANT)?, back], write).await?;
    let had_options = product.need(&HAD_OPTIONS)?.into_value();
    write.change(&PRODUCTS, key, &[(&*HAS_OPTIONS, had_options)]).await
}
