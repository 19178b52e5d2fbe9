//! What happens to shipments: parcels leave the store, their numbers are corrected, and what was never
//! sent is open again. What an order contains is shipped once: each item counts how much of it has been,
//! and the order is locked meanwhile.

use std::collections::HashMap;
use std::ops::ControlFlow::{Break, Continue};

use host_interface::{Method, Response};
use serde::{Deserialize, Serialize};

use super::entry::{
    COMMENT, NOTIFY_CUSTOMER, NewEntry, ORDER_KEY, ORDER_VERSION, STATUS, check_status,
};
use super::history::enter;
use super::items::{FULFILMENT_ITEMS, NAME, ORDERITEMS, QUANTITY, SHIPPED, SKU};
use super::notice::{self, Contained, Occasion};
use super::order::{self, ORDERS};
use super::shipment::{
    self, CARRIER, CREATED_BY, ITEMS, SHIPMENTS, STATUS_AFTER, STATUS_BEFORE, TRACKING_ID,
    TRACKING_URL,
};
use super::state::{STATE, State};
use crate::error::{Error, FaultKind};
use crate::model::field::{Handle, Typed, created_on, int, key, modified_on};
use crate::model::moment;
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::resource::{Brings, Resource};
use crate::model::value::Value;
use crate::service::call::Call;
use crate::service::hooks::{Gives, Scene, Service, Special};
use crate::service::{crud, once};
use crate::sql;
use crate::store::Transaction;
use crate::wire::body::Body;
use crate::wire::draft::{Draft, Intent};
use crate::wire::{object, request};

/// A shipment as a client describes it.
static NEW_SHIPMENT: Resource = Resource {
    kind: "shipments",
    view: Some("shipments.shipment"),
    singular: "shipment",
    list: &[
        TRACKING_ID.field,
        CARRIER.field,
        TRACKING_URL.field,
        NEW_STATUS.field,
        NOTIFY_CUSTOMER.field,
        COMMENT.field,
    ],
    brings: Some(Brings { name: "items", of: &NEW_LINE, by: None }),
    versioned: false,
    ..Resource::CRUD
}
.checked();

/// How much of one item is in it.
static NEW_LINE: Resource = Resource {
    view: Some("shipments.line"),
    singular: "line",
    list: &[NEW_ITEM.field, NEW_QUANTITY.field],
    brings: None,
    ..NEW_SHIPMENT
}
.checked();

/// The number of a parcel, as clients of other systems send it.
pub(super) static TRACKING: Resource = Resource {
    view: Some("shipments.tracking"),
    singular: "tracking number",
    list: &[TRACKING_ID.field.required()],
    brings: None,
    ..NEW_SHIPMENT
}
.checked();

pub(crate) const SERVICE: Service = Service {
    before_update: Some(|before, after, scene| Box::pin(correct(before, after, scene))),
    after_delete: Some(|deleted, scene| Box::pin(reopen(deleted, scene))),
    special: &[Special {
        method: Method::Post,
        path: "orders/{id:digits}/shipments",
        name: "create",
        action: Some("store.edit"),
        asset: None,
        takes: Some(&NEW_SHIPMENT),
        gives: Gives::Part(&SHIPMENTS, ORDER_VERSION),
        run: |call| Box::pin(create(call)),
    }],
    ..Service::of(&SHIPMENTS)
};

const NEW_STATUS: Handle<i64> =
    key("order_state_id", "orderstatuses").related_as("orderstatus").nullable().number();
const NEW_ITEM: Handle<i64> = key("orderitem_id", "orderitems").required().number();
const NEW_QUANTITY: Handle<i64> = int("quantity").between(1, i32::MAX as i64).required().number();

/// What leaves the store together.
struct Parcel {
    tracking_id: String,
    carrier: String,
    tracking_url: String,
    lines: Vec<Line>,
}

/// How much of one item is in a parcel.
struct Line {
    item: i64,
    quantity: i64,
    sku: String,
    name: String,
}

/// The same as a shipment keeps and shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Shipped {
    orderitem_id: i64,
    quantity: i64,
}

/// `POST /orders/<id>/shipments`
async fn create(call: &Call<'_>) -> Result<Response, Error> {
    request::no_listing(call.request.query())?;
    let body = Body::read(call.request, &NEW_SHIPMENT, None)?;
    let key = crud::path_key(call, &ORDERS)?;
    let mut draft = Draft::read(&NEW_SHIPMENT, &body, Intent::Create);
    let mut transaction = match once::begin(call).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let order = crud::locked(call, &mut transaction, &ORDERS, key).await?;
    let contents = Contents::of(key, &mut transaction).await?;
    let lines = if body.has(ITEMS.name) {
        contents.pick(&mut draft)?
    } else {
        let again = shipment::last(key, &mut transaction).await?.is_some();
        contents.all_that_is_open(again, &mut draft)
    };
    check_status(&mut draft, &NEW_STATUS, Some(&order), &mut transaction).await?;
    let described = draft.as_record();
    let mut scene = Scene { call, transaction: &mut transaction };
    crud::validate(&mut draft, &described, Vec::new(), &mut scene).await?;
    let status = match described.get(&NEW_STATUS)? {
        Some(status) => status,
        None if contents.is_open_after(&lines) => order.need(&STATUS)?,
        None => call.shop.parameters.current()?.shipped_status,
    };
    let entry = NewEntry {
        status,
        comment: described.need(&COMMENT)?.to_owned(),
        notify: described.need(&NOTIFY_CUSTOMER)?,
        created_on: moment::now(),
    };
    let text = |field: &Handle<String>| Ok::<_, Error>(described.need(field)?.to_owned());
    let parcel = Parcel {
        tracking_id: text(&TRACKING_ID)?,
        carrier: text(&CARRIER)?,
        tracking_url: text(&TRACKING_URL)?,
        lines,
    };
    let shipment = ship(&order, &contents, &parcel, &entry, &mut scene).await?;
    let answer = shown(shipment, order.version() + 1, &mut scene).await?;
    let answer = once::commit(call, transaction, answer).await?;
    if entry.notify {
        call.shop.sender.wake();
    }
    Ok(answer)
}

/// `POST /orders/<id>/tracking`
pub(super) async fn track(call: &Call<'_>) -> Result<Response, Error> {
    request::no_listing(call.request.query())?;
    let body = Body::read(call.request, &TRACKING, None)?;
    let key = crud::path_key(call, &ORDERS)?;
    let mut draft = Draft::read(&TRACKING, &body, Intent::Create);
    let mut transaction = match once::begin(call).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let order = crud::locked(call, &mut transaction, &ORDERS, key).await?;
    let described = draft.as_record();
    let mut scene = Scene { call, transaction: &mut transaction };
    crud::validate(&mut draft, &described, Vec::new(), &mut scene).await?;
    let tracking_id = described.need(&TRACKING_ID)?.to_owned();
    let mut version = order.version() + 1;
    let shipment = match shipment::last(key, scene.transaction).await? {
        Some(last) if last.need(&TRACKING_ID)? == tracking_id => {
            version = order.version();
            last.key()
        }
        Some(last) => {
            let (touched, now) = (modified_on(), Value::now());
            let number = Value::Text(tracking_id);
            let changes = [(&*TRACKING_ID, &number), (&touched, &now)].into_iter();
            let update = sql::update(&SHIPMENTS, last.key(), changes, scene.transaction.dialect());
            scene.transaction.execute(update).await?;
            order::change(key, &[], scene.transaction).await?;
            last.key()
        }
        None => {
            let contents = Contents::of(key, scene.transaction).await?;
            let parcel = Parcel {
                tracking_id,
                carrier: String::new(),
                tracking_url: String::new(),
                lines: contents.open(),
            };
            let entry = NewEntry {
                status: order.need(&STATUS)?,
                comment: String::new(),
                notify: false,
                created_on: moment::now(),
            };
            ship(&order, &contents, &parcel, &entry, &mut scene).await?
        }
    };
    let answer = shown(shipment, version, &mut scene).await?;
    once::commit(call, transaction, answer).await
}

/// The answer with a new or changed shipment, and the version of its order.
async fn shown(key: i64, version: i64, scene: &mut Scene<'_>) -> Result<Response, Error> {
    let call = scene.call;
    let cells = scene.transaction.page(&Page::of_one(&SHIPMENTS, key)).await?;
    let of_order = Some((ORDER_VERSION, version));
    let answer = crud::single_with(201, call, &SHIPMENTS, &cells, of_order)?;
    Ok(answer.with_header("location", object::record_path(&SHIPMENTS, key, &call.shop.root)))
}

/// Notes that a parcel leaves the store: with a shipment, an entry in the history of the order, and
/// the mail to the customer if there is to be one. Returns the key of the shipment.
async fn ship(
    order: &Record,
    contents: &Contents,
    parcel: &Parcel,
    entry: &NewEntry,
    scene: &mut Scene<'_>,
) -> Result<i64, Error> {
    let before = order.need(&STATUS)?;
    let changed = before != entry.status;
    let status = |status| if changed { Value::Int(status) } else { Value::Null };
    let items = parcel
        .lines
        .iter()
        .map(|line| Shipped { orderitem_id: line.item, quantity: line.quantity });
    let now = Value::Moment(entry.created_on);
    let (created, touched) = (created_on(), modified_on());
    let values = [
        (&*ORDER_KEY, Value::Int(order.key())),
        (&*TRACKING_ID, parcel.tracking_id.clone().into_value()),
        (&*CARRIER, parcel.carrier.clone().into_value()),
        (&*TRACKING_URL, parcel.tracking_url.clone().into_value()),
        (&ITEMS, Value::Json(serde_json::to_string(&items.collect::<Vec<_>>())?)),
        (&*STATUS_BEFORE, status(before)),
        (&*STATUS_AFTER, status(entry.status)),
        (&*CREATED_BY, Value::Int(scene.call.user())),
        (&created, now.clone()),
        (&touched, now),
    ];
    let values = values.iter().map(|(field, value)| (*field, value));
    let insert = sql::insert(&SHIPMENTS, values, scene.transaction.dialect());
    let key = scene.transaction.insert(insert).await?;
    let lines = parcel.lines.iter().map(|line| (line.item, line.quantity));
    contents.count(lines, scene.transaction).await?;
    let state =
        if contents.is_open_after(&parcel.lines) { State::Partial } else { State::Fulfilled };
    enter(order, entry, &[(&*STATE, state.into_value())], scene).await?;
    if entry.notify {
        let contents = parcel.lines.iter().map(|line| Contained {
            quantity: line.quantity,
            sku: line.sku.clone(),
            name: line.name.clone(),
        });
        let occasion = Occasion::Parcel(key, contents.collect());
        notice::queue_mail(order, entry, occasion, scene).await?;
    }
    Ok(key)
}

/// A corrected shipment is a change of its order too.
async fn correct(before: &Record, after: &Record, scene: &mut Scene<'_>) -> Result<(), Error> {
    if before.values() == after.values() {
        Ok(())
    } else {
        order::change(before.need(&ORDER_KEY)?, &[], scene.transaction).await
    }
}

/// What was in a deleted shipment is open again. The order gets back the status that a shipment of it
/// has taken from it, if it still has the other one.
async fn reopen(deleted: &Record, scene: &mut Scene<'_>) -> Result<(), Error> {
    let key = deleted.need(&ORDER_KEY)?;
    let contents = Contents::of(key, scene.transaction).await?;
    let items = deleted.value(ITEMS.name)?.text(ITEMS.name)?;
    let items: Vec<Shipped> = serde_json::from_str(items)?;
    let back = items.iter().map(|item| (item.orderitem_id, -item.quantity));
    contents.count(back, scene.transaction).await?;
    let others = shipment::all(key, scene.transaction).await?;
    let order = crud::record(scene.transaction, &ORDERS, key).await?;
    let present = order.need(&STATUS)?;
    let state = if others.is_empty() { State::Unfulfilled } else { State::Partial };
    let state = (&*STATE, state.into_value());
    let mut taken = std::iter::once(deleted).chain(&others);
    let taken = taken.find_map(|by| {
        let after = by.get(&STATUS_AFTER).ok()??;
        by.get(&STATUS_BEFORE).ok()?.filter(|_| after == present)
    });
    match taken {
        Some(status) => {
            let (comment, created_on) = (String::new(), moment::now());
            let entry = NewEntry { status, comment, notify: false, created_on };
            enter(&order, &entry, &[state], scene).await.map(drop)
        }
        None => order::change(key, &[state], scene.transaction).await,
    }
}

/// The items of an order, in the order of their keys.
struct Contents(Vec<Content>);

/// An item of an order.
struct Content {
    item: i64,
    ordered: i64,
    shipped: i64,
    sku: String,
    name: String,
}

impl Content {
    fn open(&self) -> i64 {
        self.ordered - self.shipped
    }

    fn line(&self, quantity: i64) -> Line {
        let (sku, name) = (self.sku.clone(), self.name.clone());
        Line { item: self.item, quantity, sku, name }
    }
}

impl Contents {
    async fn of(order: i64, transaction: &mut Transaction) -> Result<Self, Error> {
        let by_order = Condition::equals(&ORDER_KEY, Value::Int(order));
        let all = Page { limit: i64::MAX, ..Page::of_the(&FULFILMENT_ITEMS, by_order) };
        let records = transaction.page(&all).await?.records(&FULFILMENT_ITEMS)?;
        let contents = records.iter().map(|record| {
            Ok(Content {
                item: record.key(),
                ordered: record.need(&QUANTITY)?,
                shipped: record.need(&SHIPPED)?,
                sku: record.need(&SKU)?.to_owned(),
                name: record.need(&NAME)?.to_owned(),
            })
        });
        contents.collect::<Result<_, Error>>().map(Contents)
    }

    /// Everything that is open. The shipment of an order without items is empty.
    fn open(&self) -> Vec<Line> {
        let open = self.0.iter().filter(|content| content.open() > 0);
        open.map(|content| content.line(content.open())).collect()
    }

    /// The same, or the fault that nothing is, if the order has been shipped before.
    fn all_that_is_open(&self, again: bool, draft: &mut Draft) -> Vec<Line> {
        let open = self.open();
        if open.is_empty() && again {
            let detail = "Everything that was ordered has been shipped.".to_owned();
            draft.fault_with(FaultKind::OverFulfilled, ITEMS.name, detail, ("open", 0));
        }
        open
    }

    /// What a draft names, or its faults.
    fn pick(&self, draft: &mut Draft) -> Result<Vec<Line>, Error> {
        if draft.parts.is_empty() && draft.faults.is_empty() {
            let detail =
                "items must have at least one item; without it, all that is open is shipped.";
            draft.fault_at(FaultKind::InvalidValue, ITEMS.name, detail);
        }
        let known: HashMap<i64, &Content> =
            self.0.iter().map(|content| (content.item, content)).collect();
        let mut named = HashMap::new();
        let mut lines = Vec::new();
        for (place, part) in draft.parts.iter_mut().enumerate() {
            let (Some(item), Some(quantity)) = (part.get(&NEW_ITEM)?, part.get(&NEW_QUANTITY)?)
            else {
                continue;
            };
            let Some(content) = known.get(&item) else {
                let detail = format!("orderitem_id: the order has no item with the id {item}.");
                part.fault_at(FaultKind::MissingReference, NEW_ITEM.name, detail);
                continue;
            };
            if let Some(first) = named.insert(item, place) {
                let detail = format!("The item {item} is named before, at the place {first}.");
                part.refuse(&NEW_ITEM, detail);
            } else if quantity > content.open() {
                let open = content.open();
                let detail = match open {
                    0 => format!("All {} ordered have been shipped.", content.ordered),
                    _ => format!("Only {open} of the {} ordered are open.", content.ordered),
                };
                let meta = ("open", open);
                part.fault_with(FaultKind::OverFulfilled, NEW_QUANTITY.name, detail, meta);
            } else {
                lines.push(content.line(quantity));
            }
        }
        Ok(lines)
    }

    /// Whether something is open after these lines have been shipped.
    fn is_open_after(&self, lines: &[Line]) -> bool {
        let open: i64 = self.0.iter().map(Content::open).sum();
        open > lines.iter().map(|line| line.quantity).sum()
    }

    /// Counts these quantities as shipped, negative ones as open again.
    async fn count(
        &self,
        lines: impl Iterator<Item = (i64, i64)>,
        transaction: &mut Transaction,
    ) -> Result<(), Error> {
        let quantities: HashMap<i64, i64> = lines.collect();
        let changed = self.0.iter().filter_map(|content| {
            let more = quantities.get(&content.item)?;
            Some((content.item, Value::Int(content.shipped + more)))
        });
        let changed: Vec<(i64, Value)> = changed.collect();
        let none = std::iter::empty();
        for update in sql::update_each(&ORDERITEMS, &SHIPPED, &changed, none, transaction.dialect())
        {
            transaction.execute(update).await?;
        }
        Ok(())
    }
}
