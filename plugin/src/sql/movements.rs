//! The newest movements of a request or a record, from a ledger or of refunds. Each query follows one index, and
//! sorts at most what one request has written.

use super::statement::Table;
use crate::model::value::{Kind, MAX_AMOUNT, Value};

/// A difference of quantities.
const DIFFERENCE: Kind = Kind::Int { min: i64::MIN, max: i64::MAX };
/// A difference of balances.
const AMOUNT: Kind = Kind::Decimal { places: 5, shown: 2, min: -MAX_AMOUNT, max: MAX_AMOUNT };

/// Some entries of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Those that the request with this id has written.
    OfRequest(String),
    /// Those of the record with this key.
    OfRecord(i64),
}

/// The newest movements of stock, at most so many: time, key and SKU of the product, difference, quantities
/// before and after, reason, reference, user, token.
pub fn newest_stock_movements(entries: Entries, limit: usize) -> Table {
    macro_rules! newest {
        ($column:literal) => {
            concat!(
                "SELECT created_on AS c0, product_id AS c1, sku AS c2, quantity_delta AS c3, \
                 quantity_before AS c4, quantity_after AS c5, reason AS c6, reference AS c7, \
                 user_id AS c8, token_name AS c9 FROM shop_inventory_ledger WHERE ",
                $column,
                " = ? ORDER BY entry_id DESC LIMIT ?"
            )
        };
    }
    const COLUMNS: &[Kind] = &[
        Kind::DateTime,
        Kind::COUNT,
        Kind::WORD,
        DIFFERENCE,
        Kind::COUNT,
        Kind::COUNT,
        Kind::WORD,
        Kind::WORD,
        Kind::User,
        Kind::WORD,
    ];
    newest([newest!("request_id"), newest!("product_id")], entries, limit, COLUMNS)
}

/// The newest movements of vouchers, at most so many: time, code of the voucher, type, difference, balances
/// before and after, reason, user, token.
pub fn newest_voucher_movements(entries: Entries, limit: usize) -> Table {
    macro_rules! newest {
        ($column:literal) => {
            concat!(
                "SELECT l.created_on AS c0, v.voucher_code AS c1, l.adjustment_type AS c2, \
                 l.amount AS c3, l.balance_before AS c4, l.balance_after AS c5, l.reason AS c6, \
                 l.user_id AS c7, l.token_name AS c8 FROM shop_voucher_ledger l \
                 JOIN shop_vouchers v ON v.shop_voucher_id = l.voucher_id WHERE l.",
                $column,
                " = ? ORDER BY l.entry_id DESC LIMIT ?"
            )
        };
    }
    const COLUMNS: &[Kind] = &[
        Kind::DateTime,
        Kind::WORD,
        Kind::WORD,
        AMOUNT,
        Kind::MONEY,
        Kind::MONEY,
        Kind::WORD,
        Kind::User,
        Kind::WORD,
    ];
    newest([newest!("request_id"), newest!("voucher_id")], entries, limit, COLUMNS)
}

/// The newest refunds of an order or a request, at most so many: time, key, reference of the order, amount, currency,
/// reason, reference, the refund that it undoes, user.
pub fn newest_refunds(entries: Entries, limit: usize) -> Table {
    macro_rules! newest {
        ($column:literal) => {
            concat!(
                "SELECT r.created_on AS c0, r.shop_orderrefund_id AS c1, o.order_id AS c2, \
                 r.amount AS c3, r.currency_code AS c4, r.reason AS c5, r.reference AS c6, \
                 r.reverses AS c7, r.created_by AS c8 FROM shop_orderrefunds r \
                 JOIN shop_orders o ON o.shop_order_id = r.order_key WHERE r.",
                $column,
                " = ? ORDER BY r.shop_orderrefund_id DESC LIMIT ?"
            )
        };
    }
    const COLUMNS: &[Kind] = &[
        Kind::DateTime,
        Kind::COUNT,
        Kind::WORD,
        AMOUNT,
        Kind::WORD,
        Kind::WORD,
        Kind::WORD,
        Kind::COUNT,
        Kind::User,
    ];
    newest([newest!("request_id"), newest!("order_key")], entries, limit, COLUMNS)
}

/// A query of a request or of a record, from the text for each.
fn newest(
    [of_request, of_record]: [&'static str; 2],
    entries: Entries,
    limit: usize,
    columns: &'static [Kind],
) -> Table {
    let (text, key) = match entries {
        Entries::OfRequest(id) => (of_request, Value::Text(id)),
        Entries::OfRecord(key) => (of_record, Value::Int(key)),
    };
    let limit = Value::Int(i64::try_from(limit).unwrap_or(i64::MAX));
    Table::new(text, vec![vec![key], vec![limit]], columns)
}
