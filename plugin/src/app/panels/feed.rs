//! The panel of the feed of changes on the first page of the administration: how far behind it is, and
//! from when on it can be followed.

use host_interface::{PanelContent, Table, with_separators};
use time::PrimitiveDateTime;
use time::macros::format_description;

use crate::changes::moment_of;
use crate::error::Error;
use crate::service::call::Shop;

/// From how many seconds on an operator should look for the cause.
const LATE: i64 = 10;

/// The panel.
pub(super) async fn content(shop: &Shop) -> Result<PanelContent, Error> {
    let (clock, backlog) = (shop.feed.clock().await?, shop.feed.backlog().await?);
    let behind = match backlog.behind {
        1 => "1 second".to_owned(),
        seconds => format!("{} seconds", with_separators(seconds)),
    };
    let table = Table::new(["What", "Now"])
        .row(["Changes that are not yet in the feed".to_owned(), with_separators(backlog.queued)])
        .row(["Waiting for at most".to_owned(), behind])
        .row(["Latest change".to_owned(), shown(moment_of(clock.seq))])
        .row(["Clients can continue from".to_owned(), shown(moment_of(clock.floor))]);
    let content = PanelContent::new().table(table);
    if backlog.behind <= LATE {
        return Ok(content);
    }
    Ok(content.note(
        "Changes enter the feed later than they should: see the log of the hosts for the cause.",
    ))
}

/// A moment in a form for people.
pub(super) fn shown(moment: PrimitiveDateTime) -> String {
    const FORM: &[time::format_description::BorrowedFormatItem<'_>] =
        format_description!("[year]-[month]-[day] [hour]:[minute]:[second] UTC");
    moment.format(FORM).unwrap_or_else(|_| moment.to_string())
}
