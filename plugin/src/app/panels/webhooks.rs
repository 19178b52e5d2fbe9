//! The panel of webhooks on the first page of the administration: those that fail, and how far they are behind.

use host_interface::{PanelContent, RecordLink, Table, with_separators};

use super::feed::shown;
use crate::error::Error;
use crate::service::call::Shop;
use crate::webhooks::{self, State};

/// The panel.
pub(super) async fn content(shop: &Shop) -> Result<PanelContent, Error> {
    let all = webhooks::conditions(&shop.store).await?;
    let is_well = |state: &str| state == State::Active.name();
    let (well, ill): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|one| is_well(&one.state) && one.failing_since.is_none());
    let content = PanelContent::new();
    if ill.is_empty() {
        let note = match well.len() {
            0 => "There is no webhook.".to_owned(),
            1 => "The webhook delivers.".to_owned(),
            count => format!("All {count} webhooks deliver."),
        };
        return Ok(content.note(note));
    }
    let mut table = Table::new(["Webhook", "State", "Fails since", "Behind", "Last failure"]);
    for one in ill {
        let webhook = RecordLink::one("webhooks", one.id);
        let cells = [
            format!("{}: {}", one.id, one.url),
            one.state,
            one.failing_since.map(shown).unwrap_or_default(),
            with_separators(one.behind),
            one.last_failure,
        ];
        table = table.row_about(webhook, cells);
    }
    Ok(content.table(table))
}
