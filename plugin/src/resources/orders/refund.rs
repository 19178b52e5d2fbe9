//! Refunds: what of an order was given back, recorded once it was. A refund is never changed or removed; another one
//! undoes it. Money does not move here: a payment service or a till has moved it.
//!
//! Nothing is given back twice: the order and its items have the sums of their refunds, and the order is locked while
//! they change.

use std::collections::HashMap;

use host_interface::Response;

use super::amounts::{REFUND, REFUNDED, SHIPPING_REFUNDED, SHIPPING_TAX_REFUNDED};
use super::entry::{
    self, Entry, NOTIFY_CUSTOMER, ORDER, ORDER_KEY, ORDER_REFERENCE, ORDER_VERSION, STATUS,
    below_order, check_status,
};
use super::history::enter;
use super::items::{
    AMOUNT_REFUNDED, BACKORDERED, FULFILMENT_ITEMS, ORDERITEMS, PRODUCT, QUANTITY,
    QUANTITY_REFUNDED, SHARE_REFUNDED, SHIPPED, TAX_REFUNDED, VARIANT,
};
use super::notice::{self, Occasion};
use super::order::{CURRENCY_CODE, ORDERS, REFERENCE};
use super::refund_amounts::Part;
use super::refund_draft::{
    Asked, Given, ITEMS, NEW_AMOUNT, NEW_ITEM, NEW_QUANTITY, NEW_SHIPPING, RESTOCK, Stored,
};
use super::refundable::{self, refunded};
use crate::error::{Error, Fault, FaultKind};
use crate::model::field::{
    Field, Handle, Money, Typed, created_on, flag, int, key, signed_money, text,
};
use crate::model::personal::Personal;
use crate::model::presentation::{Group, Presentation};
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::resource::{Children, Permissions, Resource};
use crate::model::value::Value;
use crate::resources::inventory::{Adjustment, Refusal, Stock, Whose};
use crate::resources::route::post;
use crate::resources::stockmovements::reason;
use crate::service::call::{Call, missing};
use crate::service::hooks::{Answer, Service, Special};
use crate::service::write::Write;
use crate::sql;
use crate::wire::draft::{Draft, Intent};
use crate::wire::object;

pub(crate) static ORDERREFUNDS: Resource = Resource {
    kind: "orderrefunds",
    title: Some("Order refunds"),
    singular: "refund",
    table: "shop_orderrefunds",
    key: "shop_orderrefund_id",
    detail: &[
        ORDER_REFERENCE,
        AMOUNT.field,
        TAX_AMOUNT.field,
        SHIPPING_AMOUNT.field,
        CURRENCY.field,
        REASON.field,
        EXTERNAL.field,
        TRANSACTION_ID.field,
        entry::COMMENT.field,
        REVERSES.field,
        REVERSED.field,
        CREATED_BY.field,
        created_on(),
        ITEMS,
    ],
    hidden: &[ORDER_KEY.field, IS_REVERSAL.field, REQUEST_ID.field],
    joins: &[ORDER],
    crud: false,
    readable: true,
    listed_at: Some("orderrefunds"),
    nested: &[below_order("refunds")],
    permissions: Permissions::Of("orders"),
    shown: Presentation {
        group: Some(Group::Sales),
        label: &["order_id"],
        columns: &["order_id", "amount", "currency_code", "reason", "reversed", "created_on"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

/// A refund as a client describes it.
static NEW_REFUND: Resource = Resource {
    kind: "orderrefunds",
    view: Some("orderrefunds.refund"),
    singular: "refund",
    list: &[
        REASON.field.required(),
        EXTERNAL.field,
        TRANSACTION_ID.field,
        NEW_SHIPPING.field,
        NEW_AMOUNT.field,
        NEW_STATUS.field,
        NOTIFY_CUSTOMER.field,
        entry::COMMENT.field,
    ],
    children: Some(Children { name: ITEMS.name, of: &NEW_LINE, if_empty: None }),
    versioned: false,
    ..Resource::CRUD
}
.checked();

/// What is given back of one item.
static NEW_LINE: Resource = Resource {
    view: Some("orderrefunds.line"),
    singular: "line",
    list: &[NEW_ITEM.field, NEW_QUANTITY.field, NEW_AMOUNT.field, RESTOCK.field],
    children: None,
    ..NEW_REFUND
}
.checked();

/// What undoes a refund.
static REVERSAL: Resource = Resource {
    view: Some("orderrefunds.reversal"),
    singular: "reversal",
    list: &[REASON.field.required(), UNSTOCK.field],
    children: None,
    ..NEW_REFUND
}
.checked();

/// The action that permits refunds, and nothing else.
pub const MAKE_REFUNDS: &str = "store.refund";

pub(crate) const SERVICE: Service = Service {
    special: &[
        Special {
            action: Some(MAKE_REFUNDS),
            ..post(
                "orders/{id:digits}/refunds",
                "create",
                "Add a refund",
                &NEW_REFUND,
                Answer::Part(&ORDERREFUNDS, ORDER_VERSION),
                |call| Box::pin(create(call)),
            )
        },
        Special {
            action: Some(MAKE_REFUNDS),
            ..post(
                "orders/{id:digits}/refunds/{refund_id:digits}/reverse",
                "reverse",
                "Reverse a refund",
                &REVERSAL,
                Answer::Part(&ORDERREFUNDS, ORDER_VERSION),
                |call| Box::pin(reverse(call)),
            )
        },
    ],
    ..Service::of(&ORDERREFUNDS)
};

/// The sum, which is negative in a reversal like all of its amounts.
const AMOUNT: Handle<Money> = signed_money("amount").read_only().money();
const TAX_AMOUNT: Handle<Money> = signed_money("tax_amount").read_only().money();
const SHIPPING_AMOUNT: Handle<Money> = signed_money("shipping_amount").read_only().money();
const CURRENCY: Handle<String> = text("currency_code", 3).read_only().words();
const REASON: Handle<String> = text("reason", 255).personal(Personal::FreeText).words();
/// What it is called elsewhere, such as a credit note.
const EXTERNAL: Handle<String> = text("reference", 255).words();
const TRANSACTION_ID: Handle<String> =
    text("transaction_id", 255).personal(Personal::Identifier).words();
/// The refund that it undoes.
const REVERSES: Handle<i64> =
    key("reverses", "orderrefunds").nullable().snapshot().read_only().number();
/// Whether another one undoes it.
const REVERSED: Handle<bool> = flag("reversed").default(0).read_only().truth();
const CREATED_BY: Handle<i64> = int("created_by").read_only().number();
/// Whether it undoes another one, which sums count.
const IS_REVERSAL: Handle<bool> = flag("is_reversal").default(0).read_only().truth();
/// The request that has made it, by which what it has moved in stock is found.
const REQUEST_ID: Handle<String> = text("request_id", 64).read_only().words();

const NEW_STATUS: Handle<i64> =
    key("order_state_id", "orderstatuses").related_as("orderstatus").nullable().number();
/// Whether a reversal takes what the refund has put into the stock.
const UNSTOCK: Handle<bool> = flag("restock").default(1).truth();

/// `POST /orders/<id>/refunds`
async fn create(call: &Call<'_>) -> Result<Response, Error> {
    require_key(call)?;
    let mut draft = Draft::sent(call.request, &NEW_REFUND, None, Intent::Create)?;
    let key = call.path_key(&ORDERS)?;
    let mut write = Write::begin(call).await?;
    let order = write.target(&ORDERS, key).await?;
    let named = draft.children.iter().filter_map(|line| line.get(&NEW_ITEM).ok().flatten());
    let mut items = write.records(&ORDERITEMS, named.collect()).await?;
    items.retain(|_, item| item.need(&ORDER_KEY).is_ok_and(|of| of == key));
    let mut given = Asked::of(&order)?.given(&mut draft, &items)?;
    let moves = (reason::REFUNDED, order.need(&REFERENCE)?);
    let outside = outside(&given, &items, key, &mut write).await?;
    let stock = shift(&mut given, &items, &outside, moves, &mut draft, &mut write).await?;
    check_status(&mut draft, &NEW_STATUS, Some(&order), &mut write).await?;
    let described = draft.as_record();
    write.validate(&mut draft, &described).await?;
    let status = described.get(&NEW_STATUS)?;
    let entry = Entry {
        comment: described.need(&entry::COMMENT)?.to_owned(),
        notify: described.need(&NOTIFY_CUSTOMER)?,
        ..Entry::of(status.map_or_else(|| order.need(&STATUS), Ok)?)
    };
    let words = [&REASON, &EXTERNAL, &TRANSACTION_ID, &entry::COMMENT]
        .map(|field| described.need(field).map(|text| (&**field, text.to_owned().into_value())));
    let words = words.into_iter().collect::<Result<Vec<_>, Error>>()?;
    stock.write(&mut write).await?;
    let refund = record(&order, &given, &items, words, &entry, &mut write).await?;
    if entry.notify {
        notice::queue_mail(&order, &entry, Occasion::Status, &mut write).await?;
    }
    answer(&order, refund, write).await
}

/// `POST /orders/<id>/refunds/<refund id>/reverse`
async fn reverse(call: &Call<'_>) -> Result<Response, Error> {
    require_key(call)?;
    let mut draft = Draft::sent(call.request, &REVERSAL, None, Intent::Create)?;
    let (key, refund) = (call.path_key(&ORDERS)?, call.part_key(&ORDERREFUNDS)?);
    let mut write = Write::begin(call).await?;
    let order = write.target(&ORDERS, key).await?;
    let mut page = Page::of_one(&ORDERREFUNDS, refund);
    page.conditions.push(Condition::equals(&ORDER_KEY, Value::Int(key)));
    let Some(before) = write.transaction.page(&page).await?.records(&ORDERREFUNDS)?.pop() else {
        return write.refuse(missing(&ORDERREFUNDS)).await;
    };
    if before.get(&REVERSES)?.is_some() || before.need(&REVERSED)? {
        let detail = "This refund is undone already, or undoes another one.";
        return write.refuse(Fault::new(FaultKind::AlreadyReversed, detail)).await;
    }
    let described = draft.as_record();
    let unstock = described.get(&UNSTOCK)?.unwrap_or_default();
    let mut given = undone(&before, unstock)?;
    let keys = given.lines.iter().map(|line| line.orderitem_id).collect();
    let items = write.records(&ORDERITEMS, keys).await?;
    let moves = (reason::REVERSED, order.need(&REFERENCE)?);
    let unlimited = HashMap::new();
    let stock = shift(&mut given, &items, &unlimited, moves, &mut draft, &mut write).await?;
    write.validate(&mut draft, &described).await?;
    let why = described.need(&REASON)?.to_owned();
    let entry = Entry { comment: why.clone(), ..Entry::of(order.need(&STATUS)?) };
    let words = vec![
        (&*REASON, why.into_value()),
        (&*REVERSES, Value::Int(refund)),
        (&*IS_REVERSAL, true.into_value()),
    ];
    write.change(&ORDERREFUNDS, refund, &[(&*REVERSED, true.into_value())]).await?;
    stock.write(&mut write).await?;
    let reversal = record(&order, &given, &items, words, &entry, &mut write).await?;
    answer(&order, reversal, write).await
}

/// Refuses a write without a key, if the site requires one.
fn require_key(call: &Call<'_>) -> Result<(), Error> {
    if call.key.is_some() || !call.shop.parameters.current()?.require_refund_key {
        return Ok(());
    }
    let detail = "Send a refund with a key of its own, so that it is recorded once.";
    Err(Fault::at_header(FaultKind::KeyRequired, "Idempotency-Key", detail).into())
}

/// The lines of a refund.
fn stored(refund: &Record) -> Result<Vec<Stored>, Error> {
    Ok(serde_json::from_str(refund.value(ITEMS.name)?.text(ITEMS.name)?)?)
}

/// What undoes a refund.
fn undone(refund: &Record, unstock: bool) -> Result<Given, Error> {
    let lines = stored(refund)?;
    let units = |field: &Handle<Money>| Ok::<_, Error>(refund.need(field)?.0);
    let of_lines = lines.iter().fold(Part::default(), |sum, line| sum + line.part());
    let shipping = units(&SHIPPING_AMOUNT)?;
    let tax = units(&TAX_AMOUNT)? - of_lines.tax;
    let undone = |line: &Stored| {
        Stored::new(line.orderitem_id, -line.part(), unstock && line.is_restocked())
    };
    Ok(Given {
        shipping: -Part { amount: shipping, tax, ..Part::default() },
        rest: of_lines.amount + shipping - units(&AMOUNT)?,
        lines: lines.iter().map(undone).collect(),
    })
}

/// Records what was given back, in a refund, in the sums of the order and its items, and in the history of the
/// order. Returns the key of the refund.
async fn record(
    order: &Record,
    given: &Given,
    items: &HashMap<i64, Record>,
    words: Vec<(&Field, Value)>,
    entry: &Entry,
    write: &mut Write<'_>,
) -> Result<i64, Error> {
    let money = |units: i64| Value::money(units);
    let (amount, made) = (given.amount(), created_on());
    let mut values = vec![
        (&*ORDER_KEY, Value::Int(order.key())),
        (&*AMOUNT, money(amount)),
        (&*TAX_AMOUNT, money(given.tax())),
        (&*SHIPPING_AMOUNT, money(given.shipping.amount)),
        (&*CURRENCY, Value::Text(order.need(&CURRENCY_CODE)?.to_owned())),
        (&ITEMS, Value::Json(serde_json::to_string(&given.lines)?)),
        (&*REQUEST_ID, Value::Text(write.call.request.id().to_owned())),
        (&*CREATED_BY, Value::Int(write.call.user())),
        (&made, entry.created_on.into_value()),
    ];
    values.extend(words);
    let key = write.add(&ORDERREFUNDS, &values).await?;
    let mut changed = Vec::new();
    for line in &given.lines {
        let item = items.get(&line.orderitem_id);
        let item = item.ok_or(Error::Contract("a refund names an item that does not exist"))?;
        let sum = refunded(item)? + line.part();
        changed.push((line.orderitem_id, refundable::values(sum)));
    }
    let fields = [&*QUANTITY_REFUNDED, &*AMOUNT_REFUNDED, &*TAX_REFUNDED, &*SHARE_REFUNDED];
    let dialect = write.transaction.dialect();
    for update in sql::update_each(&ORDERITEMS, fields, &changed, std::iter::empty(), dialect) {
        write.transaction.execute(update).await?;
    }
    refundable::keep_refunded(order.key(), write).await?;
    let plus =
        |field: &Handle<Money>, more: i64| Ok::<_, Error>(money(order.need(field)?.0 + more));
    let sums = [
        (&*REFUND, plus(&REFUND, amount)?),
        (&*REFUNDED, plus(&REFUNDED, amount)?),
        (&*SHIPPING_REFUNDED, plus(&SHIPPING_REFUNDED, given.shipping.amount)?),
        (&*SHIPPING_TAX_REFUNDED, plus(&SHIPPING_TAX_REFUNDED, given.shipping.tax)?),
    ];
    enter(order, entry, &sums, write).await?;
    Ok(key)
}

/// How many pieces have left the stock and are not back yet, of each item of which some go back.
async fn outside(
    given: &Given,
    items: &HashMap<i64, Record>,
    order: i64,
    write: &mut Write<'_>,
) -> Result<HashMap<i64, i64>, Error> {
    let (mut outside, mut late) = (HashMap::new(), Vec::new());
    for line in given.lines.iter().filter(|line| line.is_restocked()) {
        let Some(item) = items.get(&line.orderitem_id) else { continue };
        let missing = item.get(&BACKORDERED)?.unwrap_or_default();
        outside.insert(item.key(), item.need(&QUANTITY)? - missing);
        if missing > 0 {
            late.push(item.key());
        }
    }
    if outside.is_empty() {
        return Ok(outside);
    }
    // What was not there when it was ordered may have been shipped since.
    for (key, item) in write.records(&FULFILMENT_ITEMS, late).await? {
        let shipped = item.need(&SHIPPED)?;
        outside.entry(key).and_modify(|pieces| *pieces = shipped.max(*pieces));
    }
    let of_order = Condition::equals(&ORDER_KEY, Value::Int(order));
    let all = Page { conditions: vec![of_order], ..Page::of(&ORDERREFUNDS) };
    for refund in write.transaction.page(&all).await?.records(&ORDERREFUNDS)? {
        for line in stored(&refund)?.iter().filter(|line| line.is_restocked()) {
            outside.entry(line.orderitem_id).and_modify(|pieces| *pieces -= line.quantity);
        }
    }
    Ok(outside)
}

/// Moves the pieces that a refund puts into the stock, or those that a reversal takes out of it, which is written later.
/// Where that is impossible, the draft of the line gets a fault, or that of the reversal. No more goes back than is
/// `outside` of the stock. A refund puts nothing into a stock that is not counted, and its line says so.
async fn shift(
    given: &mut Given,
    items: &HashMap<i64, Record>,
    outside: &HashMap<i64, i64>,
    (reason, reference): (&str, &str),
    draft: &mut Draft,
    write: &mut Write<'_>,
) -> Result<Stock, Error> {
    let mut moved = Vec::new();
    for line in given.lines.iter().filter(|line| line.is_restocked()) {
        let item = items.get(&line.orderitem_id);
        let product = item.map_or(Ok(None), |item| item.get(&PRODUCT))?;
        let variant = item.map_or(Ok(None), |item| item.get(&VARIANT))?;
        let whose = product.map(|product| Whose { product, variant });
        moved.push((line.orderitem_id, whose, line.quantity));
    }
    let whose: Vec<Whose> = moved.iter().filter_map(|(_, whose, _)| *whose).collect();
    let mut stock = Stock::lock(&whose, write).await?;
    let mut places = HashMap::new();
    for (place, line) in draft.children.iter().enumerate() {
        places.extend(line.get(&NEW_ITEM)?.map(|item| (item, place)));
    }
    for (item, whose, delta) in moved {
        let at = match places.get(&item) {
            Some(place) => &mut draft.children[*place],
            None => &mut *draft,
        };
        let Some(whose) = whose else {
            at.refuse(&RESTOCK, "The item has no product.");
            continue;
        };
        if delta > 0 && !stock.is_counted(whose)? {
            if let Some(line) = given.lines.iter_mut().find(|line| line.orderitem_id == item) {
                line.leave_stock();
            }
            continue;
        }
        let adjustment = Adjustment { whose, delta, expected: None, reason, reference };
        if let Err(refusal) = stock.apply(adjustment)? {
            refuse_stock(at, whose, refusal);
        } else if let Some(pieces) = outside.get(&item).filter(|pieces| delta > **pieces) {
            let detail = format!("Only {} pieces of it have left the stock.", (*pieces).max(0));
            at.refuse(&RESTOCK, detail);
        }
    }
    Ok(stock)
}

/// Adds the fault that the pieces of a line cannot be moved.
fn refuse_stock(draft: &mut Draft, whose: Whose, refusal: Refusal) {
    let (name, product) = (RESTOCK.name, whose.product);
    match refusal {
        Refusal::NoStock => {
            let detail = format!("There is no stock record of product {product}.");
            draft.fault_at(FaultKind::MissingReference, name, detail);
        }
        Refusal::NoVariant(key) => {
            let detail = format!("Product {product} has no variant with the id {key}.");
            draft.fault_at(FaultKind::MissingReference, name, detail);
        }
        Refusal::VariantRequired => {
            let detail = format!("Product {product} has variants now, and the item names none.");
            draft.fault_at(FaultKind::VariantRequired, name, detail);
        }
        Refusal::Insufficient(quantity) | Refusal::Changed(quantity) => {
            let detail = format!("Only {quantity} of product {product} are in stock.");
            let meta = ("quantity", quantity);
            draft.fault_with(FaultKind::InsufficientStock, name, detail, meta);
        }
        Refusal::TooLarge => draft.refuse(&RESTOCK, "The quantity would be too large."),
    }
}

/// The answer with a new refund, and the version of its order.
async fn answer(order: &Record, refund: i64, mut write: Write<'_>) -> Result<Response, Error> {
    let location = object::record_path(&ORDERREFUNDS, refund, &write.call.shop.root);
    let version = (ORDER_VERSION, order.version() + 1);
    let answer = write.added(&ORDERREFUNDS, refund, version, location).await?;
    write.commit(answer).await
}
