//! Inventory: the stock of products, its changes by differences, and what an order takes out of it.
//! `stock` contains what all changes share.

mod adjust;
mod record;
mod stock;

use host_interface::Method;

use crate::resources::products;
use crate::service::hooks::{Answer, Service, Special};

pub(super) use stock::{Adjustment, Refusal, Sale, Stock, Whose, refuse_unnamed};

pub(super) const SERVICE: Service = Service {
    derive: Some(|draft, before, write| Box::pin(record::check_change(draft, before, write))),
    create: Some(|call| Box::pin(record::create(call))),
    delete: Some(|call| Box::pin(record::delete(call))),
    before_update: Some(|before, after, write| {
        Box::pin(products::next_quantity(before, after, write))
    }),
    special: &[
        Special {
            method: Method::Post,
            path: "inventory/{id:digits}/adjust",
            name: "adjust",
            action: Some("store.edit"),
            asset: None,
            body: Some(&adjust::ADJUSTMENT),
            answer: Answer::One(&record::INVENTORY),
            run: |call| Box::pin(adjust::one(call)),
        },
        Special {
            method: Method::Post,
            path: "inventory/adjust",
            name: "adjust_all",
            action: Some("store.edit"),
            asset: None,
            body: Some(&adjust::ADJUSTMENTS),
            answer: Answer::All(&record::INVENTORY),
            run: |call| Box::pin(adjust::all(call)),
        },
    ],
    ..Service::of(&record::INVENTORY)
};
