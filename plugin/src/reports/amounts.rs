//! Sums of money in reports, which may be larger than any amount of the store.

use crate::model::field::{Field, text};
use crate::model::value::{Cell, money_text};

/// The code of the currency of a row's amounts.
pub(super) const CURRENCY_CODE: Field = text("currency_code", 3);

/// A sum as a cell: as text where it exceeds what the store itself can represent.
pub(super) fn amount(sum: i128) -> Cell<'static> {
    match i64::try_from(sum) {
        Ok(units) => Cell::Int(units),
        Err(_) => Cell::Text(money_text(sum).into()),
    }
}

/// A sum of money in its smallest unit, from the two parts in which it is added up: multiples of
/// 10^4, and units.
pub(super) fn wide(high: i64, low: i64) -> i128 {
    i128::from(high) * 1_000_000_000 + i128::from(low)
}

/// The sum of amounts divided by their count, rounded half away from zero to the decimals of the
/// currency; 0 where the count is 0.
pub(super) fn average(sum: i128, count: i64, decimals: i64) -> i128 {
    let places = u32::try_from(decimals.clamp(0, 5)).unwrap_or(5);
    let unit = 10_i128.pow(5 - places);
    let parts = i128::from(count) * unit;
    if parts == 0 {
        return 0;
    }
    let half = if sum < 0 { -(parts / 2) } else { parts / 2 };
    (sum + half) / parts * unit
}
