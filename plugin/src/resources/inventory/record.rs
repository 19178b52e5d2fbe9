//! Stock records: the stock side of products. That of a product can be removed and created again while
//! the product remains. Every write here changes the product.

use std::ops::ControlFlow::{Break, Continue};

use host_interface::Response;

use crate::error::{Error, FaultKind};
use crate::model::field::{Handle, amount, flag, int, modified_on};
use crate::model::question::Page;
use crate::model::resource::{Resource, Storage};
use crate::model::value::Value;
use crate::resources::products::{PRODUCT_COUNTS, PRODUCTS, QUANTITY, SKU, SKU_EXACT};
use crate::resources::stockmovements::{self, Movement, reason};
use crate::service::call::Call;
use crate::service::hooks::Scene;
use crate::service::{crud, once};
use crate::sql::{self, Statement};
use crate::wire::body::Body;
use crate::wire::draft::{Draft, Intent};
use crate::wire::request;

pub(crate) static INVENTORY: Resource = Resource {
    kind: "inventory",
    singular: "stock record",
    table: "shop_products",
    key: "shop_product_id",
    list: &[SKU.field, QUANTITY.field, MANAGE_STOCK.field],
    detail: &[
        int("product_source_id").nullable().read_only(),
        amount("min_out_qty").nullable(),
        amount("min_sale_qty").nullable(),
        amount("max_sale_qty").nullable(),
        amount("notify_qty").nullable(),
    ],
    hidden: &[modified_on()],
    filters: &[SKU_EXACT],
    fixed: &[("has_stock", 1)],
    storage: Storage { counts: PRODUCT_COUNTS, ..Storage::PLAIN },
    unique: PRODUCTS.unique,
    ..Resource::CRUD
}
.checked();

const MANAGE_STOCK: Handle<bool> = flag("manage_stock").truth();

/// Creates the stock record of a product without one.
pub(super) async fn create(call: &Call<'_>) -> Result<Response, Error> {
    let resource = &INVENTORY;
    request::no_listing(call.request.query())?;
    let body = Body::read(call.request, resource, None)?;
    // Fields that are not given keep their values since the removal, so the body is read as a
    // change.
    let mut draft = Draft::read(resource, &body, Intent::Update);
    let product = draft.required_key(&body)?;
    if draft.given(&MANAGE_STOCK)?.is_none() {
        draft.set(&MANAGE_STOCK, true)?;
    }
    draft.touch();
    let mut transaction = match once::begin(call).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    if let Some(key) = product {
        transaction.lock(&PRODUCTS, key).await?;
        let products = transaction.page(&Page::of_one(&PRODUCTS, key)).await?;
        let stocks = transaction.page(&Page::of_one(resource, key)).await?;
        if products.total() == 0 {
            draft.fault_at(
                FaultKind::MissingReference,
                resource.key,
                format!("{}: there is no product with the id {key}.", resource.key),
            );
        } else if stocks.total() > 0 {
            let detail = format!("Product {key} already has a stock record.");
            draft.fault_at(FaultKind::Duplicate, resource.key, detail);
        }
    }
    // A body that names no product is refused below.
    let key = product.unwrap_or(0);
    let after = draft.as_record_of(key);
    let mut scene = Scene { call, transaction: &mut transaction };
    crud::validate(&mut draft, &after, Vec::new(), &mut scene).await?;
    let creation = sql::create_stock_record(resource, key, draft.changes(), transaction.dialect());
    let written = transaction.execute(creation).await;
    written.map_err(|error| crud::violated(error, &draft, resource))?;
    let cells = transaction.page(&Page::of_one(resource, key)).await?;
    for stock in cells.records(resource)? {
        let quantities = [0, stock.need(&QUANTITY)?];
        let moved = Movement::of(key, stock.need(&SKU)?, quantities, reason::STOCKED);
        let mut scene = Scene { call, transaction: &mut transaction };
        stockmovements::record(vec![moved], &mut scene).await?;
    }
    once::commit(call, transaction, crud::created(call, resource, key, &cells)?).await
}

/// Removes a stock record; the product remains, with a stock of zero.
pub(super) async fn delete(call: &Call<'_>) -> Result<Response, Error> {
    let resource = &INVENTORY;
    request::no_listing(call.request.query())?;
    let key = crud::path_key(call, resource)?;
    let mut transaction = match once::begin(call).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let stock = crud::locked(call, &mut transaction, resource, key).await?;
    let statement = Statement::fixed(
        "UPDATE shop_products SET version = version + 1, has_stock = 0, quantity = 0, \
         manage_stock = 0, min_out_qty = NULL, min_sale_qty = NULL, max_sale_qty = NULL, \
         notify_qty = NULL, modified_on = ? WHERE shop_product_id = ?",
        vec![Value::now(), Value::Int(key)],
    );
    transaction.execute(statement).await?;
    let quantities = [stock.need(&QUANTITY)?, 0];
    let moved = Movement::of(key, stock.need(&SKU)?, quantities, reason::UNSTOCKED);
    let mut scene = Scene { call, transaction: &mut transaction };
    stockmovements::record(vec![moved], &mut scene).await?;
    once::commit(call, transaction, Response::new(204)).await
}
