//! The panels of the administration: what is declared to the host, and which file has the content of
//! which. Knows nothing of how a host draws them.

mod feed;
mod movements;
mod refunds;
mod sales;
mod shipping;
mod webhooks;

use host_interface::{DetailPanel, Panel, PanelContent, Subject};

use crate::error::Error;
use crate::service::call::{Shop, VIEW, asset};

const FEED: &str = "feed";
const REFUNDS: &str = "latest_refunds";
const SALES: &str = "sales";
const SHIPPING: &str = "shipping";
const WEBHOOKS: &str = "webhooks";

/// The panels of the first page.
pub(super) fn declared() -> [Panel; 5] {
    [
        Panel::new(SALES, "Sales of the last 30 days", VIEW, asset("reports")),
        Panel::new(SHIPPING, "To be shipped", VIEW, asset("orders")),
        Panel::new(REFUNDS, "Refunds", VIEW, asset("orders")),
        Panel::new(FEED, "Feed of changes", VIEW, asset("config")),
        Panel::new(WEBHOOKS, "Webhooks", VIEW, asset("webhooks")),
    ]
}

/// The panels about single requests and records.
pub(super) fn details() -> impl Iterator<Item = DetailPanel> {
    movements::LEDGERS.iter().map(|ledger| {
        DetailPanel::new(ledger.panel, ledger.title, VIEW, asset(ledger.governed_by))
            .about_requests_to(ledger.routes.iter().copied())
            .about_records(ledger.records.iter().copied())
    })
}

/// The content of a panel of the first page.
pub(super) async fn content(name: &str, shop: &Shop) -> Result<PanelContent, Error> {
    match name {
        SALES => sales::content(shop).await,
        SHIPPING => shipping::content(shop).await,
        REFUNDS => refunds::content(shop).await,
        FEED => feed::content(shop).await,
        WEBHOOKS => webhooks::content(shop).await,
        _ => Err(UNDECLARED),
    }
}

/// The content of a panel about a request or a record.
pub(super) async fn detail(
    name: &str,
    subject: &Subject,
    shop: &Shop,
) -> Result<PanelContent, Error> {
    let ledger = movements::LEDGERS.iter().find(|ledger| ledger.panel == name);
    movements::content(ledger.ok_or(UNDECLARED)?, subject, shop).await
}

const UNDECLARED: Error = Error::Contract("the host asked for a panel that was never declared");
