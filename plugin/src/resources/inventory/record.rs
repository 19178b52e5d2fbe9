//! Stock records: the stock of products. One can be removed and created again while its product remains.
//! Every write here changes the product too.

use host_interface::Response;

use crate::error::{Error, Fault, FaultKind};
use crate::model::field::{Handle, flag, int, modified_on, quantity};
use crate::model::presentation::{Group, Presentation};
use crate::model::record::Record;
use crate::model::resource::{Resource, Storage};
use crate::model::value::Value;
use crate::resources::products::{
    PRODUCT_COUNTS, PRODUCTS, QUANTITY, SKU, SKU_EXACT, VARIANT_COUNT, refuse_sum,
};
use crate::resources::stockmovements::{self, Movement, reason};
use crate::service::call::Call;
use crate::service::write::{Write, violated};
use crate::sql::{self, Statement};
use crate::wire::body::Body;
use crate::wire::draft::{Draft, Intent};

pub(crate) static INVENTORY: Resource = Resource {
    kind: "inventory",
    singular: "stock record",
    table: "shop_products",
    key: "shop_product_id",
    list: &[SKU.field, QUANTITY.field, MANAGE_STOCK.field],
    detail: &[
        int("product_source_id").nullable().read_only(),
        quantity("min_out_qty").nullable(),
        quantity("min_sale_qty").nullable(),
        quantity("max_sale_qty").nullable(),
        quantity("notify_qty").nullable(),
    ],
    hidden: &[modified_on(), VARIANT_COUNT.field, MASTER_WITH_RULES.field],
    filters: &[SKU_EXACT],
    fixed: &[("has_stock", 1)],
    storage: Storage { counts: PRODUCT_COUNTS, ..Storage::PLAIN },
    unique: PRODUCTS.unique,
    shown: Presentation {
        group: Some(Group::Catalogue),
        label: &["sku"],
        columns: &["sku", "quantity", "manage_stock"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

pub(super) const MANAGE_STOCK: Handle<bool> = flag("manage_stock").truth();
/// The master variant, if it has rules for what orders take.
pub(super) const MASTER_WITH_RULES: Handle<i64> = int("master_with_rules")
    .nullable()
    .computed(
        "(SELECT m.shop_variant_id FROM shop_variants m WHERE m.product_id = t.shop_product_id \
         AND m.is_master = 1 AND (m.allow_backorder > 0 OR m.quantity_restriction = 1))",
    )
    .number();

/// Creates the stock record of a product without one.
pub(super) async fn create(call: &Call<'_>) -> Result<Response, Error> {
    let body = Body::read(call.request, &INVENTORY, None)?;
    // Fields that are not given keep the values that the removal has left, so the body is read as a
    // change.
    let mut draft = Draft::read(&INVENTORY, &body, Intent::Update);
    let product = draft.required_key(&body)?;
    if draft.given(&MANAGE_STOCK)?.is_none() {
        draft.set(&MANAGE_STOCK, true)?;
    }
    draft.touch();
    let mut write = Write::begin(call).await?;
    if let Some(key) = product {
        write.transaction.lock(&PRODUCTS, key).await?;
        let name = INVENTORY.key;
        let product = write.records(&PRODUCTS, vec![key]).await?.remove(&key);
        if let Some(product) = &product {
            refuse_sum(&mut draft, product, &mut write).await?;
        }
        if product.is_none() {
            let detail = format!("{name}: there is no product with the id {key}.");
            draft.fault_at(FaultKind::MissingReference, name, detail);
        } else if !write.records(&INVENTORY, vec![key]).await?.is_empty() {
            let detail = format!("Product {key} already has a stock record.");
            draft.fault_at(FaultKind::Duplicate, name, detail);
        }
    }
    // A body that names no product is refused below.
    let key = product.unwrap_or(0);
    let after = draft.as_record_of(key);
    write.validate(&mut draft, &after).await?;
    let dialect = write.transaction.dialect();
    let creation = sql::create_stock_record(&INVENTORY, key, draft.changes(), dialect);
    let created = write.transaction.execute(creation).await;
    created.map_err(|error| violated(error, &draft))?;
    let stock = write.record(&INVENTORY, key).await?;
    let quantities = [0, stock.need(&QUANTITY)?];
    let moved = Movement::of(key, stock.need(&SKU)?, quantities, reason::STOCKED);
    stockmovements::record(vec![moved], &mut write).await?;
    let answer = write.created(&INVENTORY, key).await?;
    write.commit(answer).await
}

/// Refuses to change a quantity that is the sum of variants.
pub(super) async fn check_change(
    draft: &mut Draft,
    before: Option<&Record>,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    match before {
        Some(before) => refuse_sum(draft, before, write).await,
        None => Ok(()),
    }
}

/// Removes a stock record; the product remains, with a stock of zero.
pub(super) async fn delete(call: &Call<'_>) -> Result<Response, Error> {
    let key = call.path_key(&INVENTORY)?;
    let mut write = Write::begin(call).await?;
    let stock = write.target(&INVENTORY, key).await?;
    let pieces = stock.need(&QUANTITY)?;
    if stock.need(&VARIANT_COUNT)? > 0 && pieces > 0 {
        let detail = "The variants of this product have a stock, which would be lost.";
        return write.refuse(Fault::new(FaultKind::Refused, detail)).await;
    }
    let statement = Statement::fixed(
        "UPDATE shop_products SET version = version + 1, has_stock = 0, quantity = 0, \
         manage_stock = 0, min_out_qty = NULL, min_sale_qty = NULL, max_sale_qty = NULL, \
         notify_qty = NULL, modified_on = ? WHERE shop_product_id = ?",
        vec![Value::now(), Value::Int(key)],
    );
    write.transaction.execute(statement).await?;
    let moved = Movement::of(key, stock.need(&SKU)?, [pieces, 0], reason::UNSTOCKED);
    stockmovements::record(vec![moved], &mut write).await?;
    write.commit(Response::new(204)).await
}
