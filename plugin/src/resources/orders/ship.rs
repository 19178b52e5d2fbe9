//! Writes of shipments: a parcel leaves the store, its number is corrected, or it is deleted and its
//! contents are open again. Nothing is shipped twice: each item counts how much of it has been shipped,
//! and the order is locked while it changes.

use std::collections::HashMap;

use host_interface::Response;
use serde::{Deserialize, Serialize};

use super::entry::{
    COMMENT, Entry, NOTIFY_CUSTOMER, ORDER_KEY, ORDER_VERSION, STATUS, check_status,
};
use super::history::enter;
use super::items::{FULFILMENT_ITEMS, NAME, ORDERITEMS, QUANTITY, SHIPPED, SKU, open_pieces};
use super::notice::{self, Contained, Occasion};
use super::order::ORDERS;
use super::shipment::{
    self, CARRIER, CREATED_BY, ITEMS, SHIPMENTS, STATUS_AFTER, STATUS_BEFORE, TRACKING_ID,
    TRACKING_URL,
};
use super::state::{STATE, State};
use crate::error::{Error, FaultKind};
use crate::model::field::{Handle, Typed, created_on, int, key, modified_on};
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::resource::{Children, Resource};
use crate::model::value::Value;
use crate::resources::route::post;
use crate::service::call::Call;
use crate::service::hooks::{Answer, Service};
use crate::service::write::Write;
use crate::sql;
use crate::wire::body::Body;
use crate::wire::draft::{Draft, Intent};
use crate::wire::object;

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
    children: Some(Children {
        name: "items",
        of: &NEW_LINE,
        if_empty: Some(
            "items must have at least one item; without it, all that is open is shipped.",
        ),
    }),
    versioned: false,
    ..Resource::CRUD
}
.checked();

/// How much of one item is in it.
static NEW_LINE: Resource = Resource {
    view: Some("shipments.line"),
    singular: "line",
    list: &[NEW_ITEM.field, NEW_QUANTITY.field],
    children: None,
    ..NEW_SHIPMENT
}
.checked();

/// The number of a parcel, as clients of other systems send it.
pub(super) static TRACKING: Resource = Resource {
    view: Some("shipments.tracking"),
    singular: "tracking number",
    list: &[TRACKING_ID.field.required()],
    children: None,
    ..NEW_SHIPMENT
}
.checked();

pub(crate) const SERVICE: Service = Service {
    before_update: Some(|before, after, write| Box::pin(correct(before, after, write))),
    after_delete: Some(|deleted, write| Box::pin(reopen(deleted, write))),
    special: &[post(
        "orders/{id:digits}/shipments",
        "create",
        "Add a shipment",
        &NEW_SHIPMENT,
        Answer::Part(&SHIPMENTS, ORDER_VERSION),
        |call| Box::pin(create(call)),
    )],
    ..Service::of(&SHIPMENTS)
};

const NEW_STATUS: Handle<i64> =
    key("order_state_id", "orderstatuses").related_as("orderstatus").nullable().number();
const NEW_ITEM: Handle<i64> = key("orderitem_id", "orderitems").required().number();
const NEW_QUANTITY: Handle<i64> = int("quantity").between(1, i32::MAX as i64).required().number();

/// What leaves the store together.
#[derive(Default)]
struct Parcel {
    tracking_id: String,
    carrier: String,
    tracking_url: String,
    lines: Vec<Line>,
}

/// The key of an item, and how much of it is in a parcel.
type Line = (i64, Contained);

/// A line as a shipment stores and shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Shipped {
    orderitem_id: i64,
    quantity: i64,
}

/// `POST /orders/<id>/shipments`
async fn create(call: &Call<'_>) -> Result<Response, Error> {
    let body = Body::read(call.request, &NEW_SHIPMENT, None)?;
    let key = call.path_key(&ORDERS)?;
    let mut draft = Draft::read(&NEW_SHIPMENT, &body, Intent::Create);
    let mut write = Write::begin(call).await?;
    let order = write.target(&ORDERS, key).await?;
    let contents = Contents::of(key, &mut write).await?;
    let lines = if body.has(ITEMS.name) {
        contents.pick(&mut draft)?
    } else {
        let again = shipment::last(key, &mut write).await?.is_some();
        contents.all_that_is_open(again, &mut draft)
    };
    check_status(&mut draft, &NEW_STATUS, Some(&order), &mut write).await?;
    let described = draft.as_record();
    write.validate(&mut draft, &described).await?;
    let status = match described.get(&NEW_STATUS)? {
        Some(status) => status,
        None if contents.is_open_after(&lines) => order.need(&STATUS)?,
        None => call.shop.parameters.current()?.shipped_status,
    };
    let text = |field: &Handle<String>| Ok::<_, Error>(described.need(field)?.to_owned());
    let notify = described.need(&NOTIFY_CUSTOMER)?;
    let entry = Entry { comment: text(&COMMENT)?, notify, ..Entry::of(status) };
    let parcel = Parcel {
        tracking_id: text(&TRACKING_ID)?,
        carrier: text(&CARRIER)?,
        tracking_url: text(&TRACKING_URL)?,
        lines,
    };
    let shipment = ship(&order, &contents, parcel, &entry, &mut write).await?;
    let answer = shown(shipment, order.version() + 1, &mut write).await?;
    write.commit(answer).await
}

/// `POST /orders/<id>/tracking`
pub(super) async fn track(call: &Call<'_>) -> Result<Response, Error> {
    let mut draft = Draft::sent(call.request, &TRACKING, None, Intent::Create)?;
    let key = call.path_key(&ORDERS)?;
    let mut write = Write::begin(call).await?;
    let order = write.target(&ORDERS, key).await?;
    let described = draft.as_record();
    write.validate(&mut draft, &described).await?;
    let tracking_id = described.need(&TRACKING_ID)?.to_owned();
    let mut version = order.version() + 1;
    let shipment = match shipment::last(key, &mut write).await? {
        Some(last) if last.need(&TRACKING_ID)? == tracking_id => {
            version = order.version();
            last.key()
        }
        Some(last) => {
            let number = (&*TRACKING_ID, tracking_id.into_value());
            write.change(&SHIPMENTS, last.key(), &[number]).await?;
            write.change(&ORDERS, key, &[]).await?;
            last.key()
        }
        None => {
            let contents = Contents::of(key, &mut write).await?;
            let lines = contents.all_that_is_open(false, &mut draft);
            write.validate(&mut draft, &described).await?;
            let parcel = Parcel { tracking_id, lines, ..Parcel::default() };
            let entry = Entry::of(order.need(&STATUS)?);
            ship(&order, &contents, parcel, &entry, &mut write).await?
        }
    };
    let answer = shown(shipment, version, &mut write).await?;
    write.commit(answer).await
}

/// The answer with a new or changed shipment, and the version of its order.
async fn shown(key: i64, version: i64, write: &mut Write<'_>) -> Result<Response, Error> {
    let location = object::record_path(&SHIPMENTS, key, &write.call.shop.root);
    write.added(&SHIPMENTS, key, (ORDER_VERSION, version), location).await
}

/// Notes that a parcel leaves the store: with a shipment, an entry in the history of the order, and
/// the mail to the customer if there is to be one. Returns the key of the shipment.
async fn ship(
    order: &Record,
    contents: &Contents,
    parcel: Parcel,
    entry: &Entry,
    write: &mut Write<'_>,
) -> Result<i64, Error> {
    let before = order.need(&STATUS)?;
    let changed = before != entry.status;
    let status = |status| if changed { Value::Int(status) } else { Value::Null };
    let Parcel { tracking_id, carrier, tracking_url, lines } = parcel;
    let items = lines.iter().map(|(item, Contained { quantity, .. })| Shipped {
        orderitem_id: *item,
        quantity: *quantity,
    });
    let now = Value::Moment(entry.created_on);
    let (created, touched) = (created_on(), modified_on());
    let values = [
        (&*ORDER_KEY, Value::Int(order.key())),
        (&*TRACKING_ID, tracking_id.into_value()),
        (&*CARRIER, carrier.into_value()),
        (&*TRACKING_URL, tracking_url.into_value()),
        (&ITEMS, Value::Json(serde_json::to_string(&items.collect::<Vec<_>>())?)),
        (&*STATUS_BEFORE, status(before)),
        (&*STATUS_AFTER, status(entry.status)),
        (&*CREATED_BY, Value::Int(write.call.user())),
        (&created, now.clone()),
        (&touched, now),
    ];
    let key = write.add(&SHIPMENTS, &values).await?;
    let shipped = lines.iter().map(|(item, contained)| (*item, contained.quantity));
    contents.count(shipped, write).await?;
    let state = if contents.is_open_after(&lines) { State::Partial } else { State::Fulfilled };
    enter(order, entry, &[(&*STATE, state.into_value())], write).await?;
    if entry.notify {
        let contents = lines.into_iter().map(|(_, contained)| contained);
        let occasion = Occasion::Parcel(key, contents.collect());
        notice::queue_mail(order, entry, occasion, write).await?;
    }
    Ok(key)
}

/// A corrected shipment is a change of its order too.
async fn correct(before: &Record, after: &Record, write: &mut Write<'_>) -> Result<(), Error> {
    if before.values() == after.values() {
        Ok(())
    } else {
        write.change(&ORDERS, before.need(&ORDER_KEY)?, &[]).await
    }
}

/// Opens what was in a deleted shipment again. An order that still has the status which the shipment gave it
/// gets back the one before, and so does one that a later shipment had completed. What a shipment that stands
/// has set otherwise stays.
async fn reopen(deleted: &Record, write: &mut Write<'_>) -> Result<(), Error> {
    let key = deleted.need(&ORDER_KEY)?;
    let contents = Contents::of(key, write).await?;
    let items = deleted.value(ITEMS.name)?.text(ITEMS.name)?;
    let items: Vec<Shipped> = serde_json::from_str(items)?;
    let back = items.iter().map(|item| (item.orderitem_id, -item.quantity));
    contents.count(back, write).await?;
    let others = shipment::all(key, write).await?;
    let order = write.record(&ORDERS, key).await?;
    let present = order.need(&STATUS)?;
    let now = Contents::of(key, write).await?;
    let state = (&*STATE, now.state(!others.is_empty()).into_value());
    // The latest shipment has completed the order, if anything has: now it no longer is complete.
    let completed = others.first().filter(|last| {
        let completes = !contents.is_open_after(&[]) && now.is_open_after(&[]);
        completes && last.key() > deleted.key()
    });
    let mut taken = std::iter::once(deleted).chain(completed);
    let taken = taken.find_map(|by| {
        let after = by.get(&STATUS_AFTER).ok()??;
        by.get(&STATUS_BEFORE).ok()?.filter(|_| after == present)
    });
    match taken {
        Some(status) => enter(&order, &Entry::of(status), &[state], write).await.map(drop),
        None => write.change(&ORDERS, key, &[state]).await,
    }
}

/// The items of an order, in the order of their keys.
struct Contents(Vec<Content>);

/// An item of an order.
struct Content {
    item: i64,
    ordered: i64,
    shipped: i64,
    open: i64,
    sku: String,
    name: String,
}

impl Content {
    fn line(&self, quantity: i64) -> Line {
        let (sku, name) = (self.sku.clone(), self.name.clone());
        (self.item, Contained { quantity, sku, name })
    }
}

impl Contents {
    async fn of(order: i64, write: &mut Write<'_>) -> Result<Self, Error> {
        let by_order = Condition::equals(&ORDER_KEY, Value::Int(order));
        let all = Page { conditions: vec![by_order], ..Page::of(&FULFILMENT_ITEMS) };
        let records = write.transaction.page(&all).await?.records(&FULFILMENT_ITEMS)?;
        let contents = records.iter().map(|record| {
            Ok(Content {
                item: record.key(),
                ordered: record.need(&QUANTITY)?,
                shipped: record.need(&SHIPPED)?,
                open: open_pieces(record)?,
                sku: record.need(&SKU)?.to_owned(),
                name: record.need(&NAME)?.to_owned(),
            })
        });
        contents.collect::<Result<_, Error>>().map(Contents)
    }

    /// How far the order has been shipped.
    fn state(&self, has_shipment: bool) -> State {
        match (self.is_open_after(&[]), has_shipment) {
            (true, true) => State::Partial,
            (true, false) => State::Unfulfilled,
            (false, false) if self.0.is_empty() => State::Unfulfilled,
            (false, _) => State::Fulfilled,
        }
    }

    /// A line for each item of which something is open; none for an order without items. If nothing is open, and the
    /// order has been shipped before or has items, which were given back, the draft gets a fault.
    fn all_that_is_open(&self, again: bool, draft: &mut Draft) -> Vec<Line> {
        let open = self.0.iter().filter(|content| content.open > 0);
        let open: Vec<Line> = open.map(|content| content.line(content.open)).collect();
        if open.is_empty() && (again || !self.0.is_empty()) {
            let detail = "Everything that was ordered has been shipped or refunded.".to_owned();
            draft.fault_with(FaultKind::OverFulfilled, ITEMS.name, detail, ("open", 0));
        }
        open
    }

    /// The lines that a draft names. It gets a fault for each that is not open.
    fn pick(&self, draft: &mut Draft) -> Result<Vec<Line>, Error> {
        let known: HashMap<i64, &Content> =
            self.0.iter().map(|content| (content.item, content)).collect();
        let mut named = HashMap::new();
        let mut lines = Vec::new();
        for (place, child) in draft.children.iter_mut().enumerate() {
            let (Some(item), Some(quantity)) = (child.get(&NEW_ITEM)?, child.get(&NEW_QUANTITY)?)
            else {
                continue;
            };
            let Some(content) = known.get(&item) else {
                let detail = format!("orderitem_id: the order has no item with the id {item}.");
                child.fault_at(FaultKind::MissingReference, NEW_ITEM.name, detail);
                continue;
            };
            if let Some(first) = named.insert(item, place) {
                let detail = format!("The item {item} is named before, at the place {first}.");
                child.refuse(&NEW_ITEM, detail);
            } else if quantity > content.open {
                let open = content.open;
                let detail = match open {
                    0 => format!("All {} ordered have been shipped or refunded.", content.ordered),
                    _ => format!("Only {open} of the {} ordered are open.", content.ordered),
                };
                let meta = ("open", open);
                child.fault_with(FaultKind::OverFulfilled, NEW_QUANTITY.name, detail, meta);
            } else {
                lines.push(content.line(quantity));
            }
        }
        Ok(lines)
    }

    /// Whether something is open after these lines have been shipped.
    fn is_open_after(&self, lines: &[Line]) -> bool {
        let open: i64 = self.0.iter().map(|content| content.open).sum();
        open > lines.iter().map(|(_, contained)| contained.quantity).sum()
    }

    /// Counts these quantities as shipped, negative ones as open again.
    async fn count(
        &self,
        lines: impl Iterator<Item = (i64, i64)>,
        write: &mut Write<'_>,
    ) -> Result<(), Error> {
        let quantities: HashMap<i64, i64> = lines.collect();
        let changed = self.0.iter().filter_map(|content| {
            let more = quantities.get(&content.item)?;
            Some((content.item, [Value::Int(content.shipped + more)]))
        });
        let changed: Vec<_> = changed.collect();
        let none = std::iter::empty();
        for update in
            sql::update_each(&ORDERITEMS, [&SHIPPED], &changed, none, write.transaction.dialect())
        {
            write.transaction.execute(update).await?;
        }
        Ok(())
    }
}
