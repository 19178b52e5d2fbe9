//! Days and moments in UTC, to the second, and their texts. Independent of fields.

use std::ops::RangeInclusive;

use time::format_description::BorrowedFormatItem;
use time::macros::{format_description, time};
use time::{Date, Duration, PrimitiveDateTime};

const DATE: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");
const MOMENT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
/// The years that every engine can store and that have four digits.
const YEARS: RangeInclusive<i32> = 1..=9999;

/// Reads a day, `YYYY-MM-DD`.
pub fn day(text: &str) -> Option<Date> {
    let fits = has_shape(text, "0000-00-00");
    let day = fits.then(|| Date::parse(text, DATE).ok()).flatten();
    day.filter(|day| YEARS.contains(&day.year()))
}

/// Reads a date, or a date and time with or without an offset, as a moment in UTC.
pub fn read(text: &str) -> Option<PrimitiveDateTime> {
    const SHAPE: &str = "0000-00-00T00:00:00";
    if let Some(day) = day(text) {
        return Some(day.midnight());
    }
    let (local, zone) = text.split_at_checked(SHAPE.len())?;
    if !has_shape(local, SHAPE) {
        return None;
    }
    let local = parse(local).filter(|local| YEARS.contains(&local.year()))?;
    let utc = match zone {
        "" | "Z" => local,
        _ => local.checked_sub(offset(zone)?)?,
    };
    YEARS.contains(&utc.year()).then_some(utc)
}

/// Reads an offset from UTC: `+HH:MM` or `-HH:MM`.
fn offset(text: &str) -> Option<Duration> {
    let (sign, size) = match text.split_at_checked(1)? {
        ("+", size) => (1, size),
        ("-", size) => (-1, size),
        _ => return None,
    };
    if !has_shape(size, "00:00") {
        return None;
    }
    let (hours, minutes) = size.split_once(':')?;
    let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
    (hours < 24 && minutes < 60).then(|| Duration::minutes(sign * (60 * hours + minutes)))
}

/// Whether a text has this shape, where 0 matches any digit. This is checked before a date is
/// parsed, because the parsers also accept signs.
fn has_shape(text: &str, shape: &str) -> bool {
    let fits = |(byte, shape): (u8, u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => byte == shape,
    };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

/// Reads a moment in the form of the wire.
pub fn parse(text: &str) -> Option<PrimitiveDateTime> {
    PrimitiveDateTime::parse(text, MOMENT).ok()
}

/// The current moment, to the second.
pub fn now() -> PrimitiveDateTime {
    let now = time::UtcDateTime::now();
    let time = now.time().replace_nanosecond(0).unwrap_or(now.time());
    PrimitiveDateTime::new(now.date(), time)
}

/// The first and the last second of a day.
pub fn bounds(day: Date) -> [PrimitiveDateTime; 2] {
    [day.midnight(), day.with_time(time!(23:59:59))]
}

/// Writes a moment in the form of the wire.
pub fn render(moment: PrimitiveDateTime) -> String {
    // Formatting fails only if the writer does, and writing to memory does not.
    moment.format(MOMENT).unwrap_or_default()
}
