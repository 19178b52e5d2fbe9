//! Orders, their items, their histories, their shipments, and their refunds. `entry` contains the entries of
//! histories and what all parts of an order share, `history` the requests that add entries, `shipping` where an
//! order goes, `state` how far it has been shipped, `refundable` what can be given back, `refund_draft` what of
//! that a client asks for, `refund_amounts` its arithmetic, `amounts` what an order costs, and `notice` the mails
//! about it.

mod amounts;
mod entry;
mod fulfilment;
mod history;
mod items;
mod notice;
mod order;
mod refund;
mod refund_amounts;
mod refund_draft;
mod refundable;
mod ship;
mod shipment;
mod shipping;
mod state;

pub use entry::FULFIL;
pub(super) use fulfilment::SERVICE as FULFILMENT_SERVICE;
pub use fulfilment::pick_list;
pub(super) use history::SERVICE as HISTORY_SERVICE;
pub(super) use items::ORDERITEMS;
pub(super) use order::SERVICE;
pub use refund::MAKE_REFUNDS;
pub(super) use refund::SERVICE as REFUND_SERVICE;
pub(super) use ship::SERVICE as SHIPMENT_SERVICE;
