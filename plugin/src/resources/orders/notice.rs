//! The mail to the customer about an order that has a new status or is on its way.

use super::amounts;
use super::entry::{Entry, ORDER_KEY};
use super::items::{BACKORDER_IN_MAIL, BACKORDERED, FULFILMENT_ITEMS, NAME, SKU, open_pieces};
use super::order;
use super::shipment::{self, SHIPMENTS};
use crate::error::Error;
use crate::model::field::Handle;
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::value::{Value, decimal_text};
use crate::resources::orderstatuses::{self, ORDERSTATUSES};
use crate::service::notification::Notice;
use crate::service::write::Write;

pub(super) use crate::service::notification::Contained;

/// What the mail is about.
pub(super) enum Occasion {
    /// The order has a status.
    Status,
    /// The shipment with this key is on its way, with these contents.
    Parcel(i64, Vec<Contained>),
}

/// Queues the mail about a new entry in the history of an order.
pub(super) async fn queue_mail(
    order: &Record,
    entry: &Entry,
    occasion: Occasion,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let parameters = write.call.shop.parameters.current()?;
    let status = write.record(&ORDERSTATUSES, entry.status).await?;
    let currency_code = order.need(&order::CURRENCY_CODE)?;
    let decimals = order.need(&amounts::CURRENCY_DECIMALS)?;
    let decimals = u8::try_from(decimals.clamp(0, 5)).unwrap_or(2);
    let text = |field: &Handle<String>| Ok::<_, Error>(order.need(field)?.to_owned());
    let mut notice = Notice {
        store_name: parameters.store_name.clone(),
        order_id: text(&order::REFERENCE)?,
        created_on: order.need(&order::CREATED_ON)?.date().to_string(),
        status: status.need(&orderstatuses::NAME)?.to_owned(),
        comment: entry.comment.clone(),
        first_name: text(&order::BILLING_FIRST_NAME)?,
        last_name: text(&order::BILLING_LAST_NAME)?,
        email: text(&order::USER_EMAIL)?,
        order_total: decimal_text(order.need(&amounts::TOTAL)?.0, 5, decimals),
        currency_code: currency_code.to_owned(),
        ..Notice::default()
    };
    let parcel = match &occasion {
        Occasion::Parcel(key, _) => Some(write.record(&SHIPMENTS, *key).await?),
        // Where the latest parcel is may be what the customer wants to know.
        Occasion::Status => shipment::last(order.key(), write).await?,
    };
    if let Some(parcel) = parcel {
        notice.tracking_id = parcel.need(&shipment::TRACKING_ID)?.to_owned();
        notice.carrier = parcel.need(&shipment::CARRIER)?.to_owned();
        notice.tracking_url = parcel.need(&shipment::TRACKING_URL)?.to_owned();
    }
    let mail = match occasion {
        Occasion::Status => {
            notice.backordered = missing(order.key(), write).await?;
            notice.into_mail(&parameters)?
        }
        Occasion::Parcel(_, contents) => {
            notice.items = contents;
            notice.into_shipment_mail(&parameters)?
        }
    };
    write.queue_mail(mail).await
}

/// What the customer still waits for because it was not in stock, of the variants that have this mentioned.
async fn missing(order: i64, write: &mut Write<'_>) -> Result<Vec<Contained>, Error> {
    let by_order = Condition::equals(&ORDER_KEY, Value::Int(order));
    let mentioned = Condition::equals(&BACKORDER_IN_MAIL, Value::Int(1));
    let page = Page { conditions: vec![by_order, mentioned], ..Page::of(&FULFILMENT_ITEMS) };
    let mut missing = Vec::new();
    for item in write.transaction.page(&page).await?.records(&FULFILMENT_ITEMS)? {
        let quantity = item.get(&BACKORDERED)?.unwrap_or(0).min(open_pieces(&item)?);
        if quantity > 0 {
            let [sku, name] = [item.need(&SKU)?, item.need(&NAME)?].map(str::to_owned);
            missing.push(Contained { quantity, sku, name });
        }
    }
    Ok(missing)
}
