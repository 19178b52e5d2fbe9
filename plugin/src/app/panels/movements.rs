//! The panels of movements: what a request has moved in a ledger, or what the ledger has of a record, newest
//! first; and the refunds of either. The ledgers differ only in their descriptions here; what writes them is
//! no concern of this file.

use host_interface::{PanelContent, Subject, Table, with_separators};
use time::macros::format_description;

use crate::error::Error;
use crate::model::moment;
use crate::model::value::{Cell, Kind, decimal_text};
use crate::service::call::Shop;
use crate::sql::{Entries, newest_refunds, newest_stock_movements, newest_voucher_movements};

/// A ledger as a panel.
#[derive(Debug)]
pub(super) struct Ledger {
    /// The name of the panel.
    pub(super) panel: &'static str,
    pub(super) title: &'static str,
    /// The kind of record whose permission a user needs.
    pub(super) governed_by: &'static str,
    /// The names of the routes that write it.
    pub(super) routes: &'static [&'static str],
    /// The kinds of records that it is about; each has the same keys.
    pub(super) records: &'static [&'static str],
    /// The headings of the columns that are read.
    columns: &'static [&'static str],
    read: fn(Entries, usize) -> crate::sql::Table,
}

pub(super) static LEDGERS: [Ledger; 3] = [
    Ledger {
        panel: "stock_movements",
        title: "Stock movements",
        governed_by: "inventory",
        routes: &[
            "inventory.adjust",
            "inventory.adjust_all",
            "inventory.create",
            "inventory.update",
            "inventory.delete",
            "products.create",
            "products.update",
            "products.delete",
            "orders.create",
            "orderrefunds.create",
            "orderrefunds.reverse",
            "variants.create",
            "variants.update",
            "variants.delete",
        ],
        records: &["inventory", "products"],
        columns: &[
            "Time",
            "Product",
            "SKU",
            "Difference",
            "Before",
            "After",
            "Reason",
            "Reference",
            "User",
            "Token",
        ],
        read: newest_stock_movements,
    },
    Ledger {
        panel: "voucher_movements",
        title: "Voucher movements",
        governed_by: "vouchers",
        routes: &["vouchers.adjust"],
        records: &["vouchers"],
        columns: &[
            "Time",
            "Voucher",
            "Type",
            "Difference",
            "Before",
            "After",
            "Reason",
            "User",
            "Token",
        ],
        read: newest_voucher_movements,
    },
    Ledger {
        panel: "refunds",
        title: "Refunds",
        governed_by: "orders",
        routes: &["orderrefunds.create", "orderrefunds.reverse"],
        records: &["orders"],
        columns: &[
            "Time",
            "Refund",
            "Order",
            "Amount",
            "Currency",
            "Reason",
            "Reference",
            "Undoes",
            "User",
        ],
        read: newest_refunds,
    },
];

/// The columns of amounts; the other numbers are ids.
const AMOUNTS: [&str; 4] = ["Difference", "Before", "After", "Amount"];

/// How many movements a panel shows.
const SHOWN: usize = 100;

/// The newest movements of a request or a record.
///
/// # Errors
/// Database errors, and when the ledger is not about this kind of subject.
pub(super) async fn content(
    ledger: &Ledger,
    subject: &Subject,
    shop: &Shop,
) -> Result<PanelContent, Error> {
    let entries = match subject {
        Subject::Request(id) => Entries::OfRequest(id.clone()),
        Subject::Record { kind, id } if ledger.records.contains(&kind.as_str()) => {
            match id.parse() {
                Ok(key) => Entries::OfRecord(key),
                // No record has such an id.
                Err(_) => return Ok(nothing()),
            }
        }
        _ => return Err(Error::Contract("the host asked for a panel about another subject")),
    };
    let table = (ledger.read)(entries, SHOWN + 1);
    let kinds = table.columns;
    let cells = shop.store.table(table).await?;
    let rows = cells.rows()?;
    if rows.is_empty() {
        return Ok(nothing());
    }
    let table =
        rows.iter().take(SHOWN).fold(Table::new(ledger.columns.iter().copied()), |table, row| {
            let cells = row.iter().zip(kinds).zip(ledger.columns);
            table.row(cells.map(|((cell, kind), column)| {
                let text = text(cell, *kind);
                if AMOUNTS.contains(column) { with_separators(text) } else { text }
            }))
        });
    let content = PanelContent::new().table(table);
    Ok(if rows.len() > SHOWN {
        content.note(format!("These are the newest {SHOWN}; there are more."))
    } else {
        content
    })
}

fn nothing() -> PanelContent {
    PanelContent::new().note("Nothing was moved.")
}

/// A cell in a form for people.
fn text(cell: &Cell<'_>, kind: Kind) -> String {
    match (cell, kind) {
        // An entry that no user has made.
        (Cell::Null, _) | (Cell::Int(0), Kind::User) => String::new(),
        (Cell::Int(units), Kind::Decimal { places, shown, .. }) => {
            decimal_text(*units, places, shown)
        }
        (Cell::Int(number), _) => number.to_string(),
        (Cell::Text(text), Kind::DateTime) => {
            let format = format_description!(
                "[day padding:none] [month repr:short] [year], [hour]:[minute]:[second] UTC"
            );
            let written = moment::parse(text).and_then(|moment| moment.format(format).ok());
            written.unwrap_or_else(|| text.to_string())
        }
        (Cell::Text(text), _) => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::REGISTRY;

    #[test]
    fn ledgers_name_kinds_that_exist_and_head_each_column() {
        for ledger in &LEDGERS {
            for kind in ledger.records {
                assert!(REGISTRY.iter().any(|resource| resource.kind == *kind), "{kind}");
            }
            let read = (ledger.read)(Entries::OfRecord(1), SHOWN);
            assert_eq!(read.columns.len(), ledger.columns.len(), "{}", ledger.panel);
        }
    }
}
