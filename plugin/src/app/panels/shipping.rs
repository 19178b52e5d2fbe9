//! The panel of the warehouse on the first page of the administration: how many orders wait to be
//! shipped, and for how long. It shows what the pick list has.

use host_interface::{PanelContent, RecordLink, Table, with_separators};

use crate::error::Error;
use crate::resources::pick_list;
use crate::service::call::Shop;

/// The field with the moment of an order.
const CREATED_ON: &str = "created_on";

/// The panel.
pub(super) async fn content(shop: &Shop) -> Result<PanelContent, Error> {
    let page = pick_list(shop, 1).await?;
    let first = shop.store.page(&page).await?;
    let records = first.records(page.resource)?;
    let Some(oldest) = records.first() else {
        return Ok(PanelContent::new().note("Nothing waits to be shipped."));
    };
    let key = oldest.key();
    let oldest = oldest.value(CREATED_ON)?.moment().map(|moment| moment.date().to_string());
    let table = Table::new(["What", "Now"])
        .row_about(
            RecordLink::list(page.resource.kind, ""),
            ["Orders to ship".to_owned(), with_separators(first.total())],
        )
        .row_about(
            RecordLink::one("orders", key),
            ["The oldest is of".to_owned(), oldest.unwrap_or_default()],
        );
    Ok(PanelContent::new().table(table))
}
