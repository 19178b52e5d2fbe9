//! Generators of values for demo data, from a fixed seed and the number of the record.
//! Independent of the kinds of records and of the database.

use fastrand::Rng;
use time::Date;

use crate::model::moment;
use crate::model::value::Value;

/// The random number generator of one record: the same for the same record on every machine.
pub(super) fn chance(kind: u64, number: u64) -> Rng {
    const SEED: u64 = 0x05ee_d0f5_a1e5;
    Rng::with_seed(SEED ^ (kind << 56) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

pub(super) fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())]
}

/// Euros and cents in units of 10^-5.
pub(super) fn cents(cents: i64) -> i64 {
    cents * 1_000
}

/// Parses a moment that the demo data contain.
pub(super) fn moment(text: impl AsRef<str>) -> Value {
    moment::parse(text.as_ref()).map_or(Value::Null, Value::Moment)
}

/// A moment this many days before today.
pub(super) fn days_ago(today: Date, days: u64, rng: &mut Rng) -> String {
    let days = time::Duration::days(i64::try_from(days).unwrap_or(0));
    let date = today.checked_sub(days).unwrap_or(today);
    let (hour, minute, second) = (rng.u8(6..23), rng.u8(..60), rng.u8(..60));
    format!("{date}T{hour:02}:{minute:02}:{second:02}")
}
