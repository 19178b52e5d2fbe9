//! Inventory: the stock of products, its changes by differences, and what an order takes out of it.
//! `stock` contains what all changes share.

mod adjust;
mod record;
mod stock;

use crate::resources::products;
use crate::resources::route::post;
use crate::service::hooks::{Answer, Service};

pub(super) use stock::{Adjustment, Refusal, Sale, Stock, Whose, refuse_unnamed};

pub(super) const SERVICE: Service = Service {
    derive: Some(|draft, before, write| Box::pin(record::check_change(draft, before, write))),
    create: Some(|call| Box::pin(record::create(call))),
    delete: Some(|call| Box::pin(record::delete(call))),
    before_update: Some(|before, after, write| {
        Box::pin(products::next_quantity(before, after, write))
    }),
    special: &[
        post(
            "inventory/{id:digits}/adjust",
            "adjust",
            "Adjust the stock of a product",
            &adjust::ADJUSTMENT,
            Answer::One(&record::INVENTORY),
            |call| Box::pin(adjust::one(call)),
        ),
        post(
            "inventory/adjust",
            "adjust_all",
            "Adjust the stock of several products",
            &adjust::ADJUSTMENTS,
            Answer::All(&record::INVENTORY),
            |call| Box::pin(adjust::all(call)),
        ),
    ],
    ..Service::of(&record::INVENTORY)
};
