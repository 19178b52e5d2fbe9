//! Moments as people and programs write them: RFC 3339, where a moment without an offset is UTC and a day is
//! its beginning.

use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime, PrimitiveDateTime, UtcOffset};

/// What is expected of a moment, for messages.
pub(crate) const EXPECTED: &str =
    "a moment like 2027-01-31T18:00:00+01:00, one without an offset in UTC, or a day";

/// The moment in UTC, to the second; `None` if the text is not one.
pub(crate) fn parse(text: &str) -> Option<PrimitiveDateTime> {
    let text = text.trim();
    let with_offset = || {
        let moment =
            OffsetDateTime::parse(text, &Rfc3339).ok()?.checked_to_offset(UtcOffset::UTC)?;
        Some(PrimitiveDateTime::new(moment.date(), moment.time()))
    };
    let without = || {
        let seconds = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
        let minutes = format_description!("[year]-[month]-[day]T[hour]:[minute]");
        let text = text.replacen(' ', "T", 1);
        let read = PrimitiveDateTime::parse(&text, seconds);
        read.or_else(|_| PrimitiveDateTime::parse(&text, minutes)).ok()
    };
    let day = || {
        let day = Date::parse(text, format_description!("[year]-[month]-[day]")).ok()?;
        Some(day.midnight())
    };
    let moment = with_offset().or_else(without).or_else(day)?;
    // Not every engine has moments of other years.
    (1000..=9999).contains(&moment.year()).then(|| moment.truncate_to_second())
}

/// A moment as it is printed, for example `2027-01-31T18:00:00Z`.
pub(crate) fn show(moment: PrimitiveDateTime) -> String {
    // The format names only parts that every moment has.
    moment.assume_utc().format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_utc() {
        for (text, expected) in [
            ("2027-01-31T18:00:00+01:00", "2027-01-31T17:00:00Z"),
            ("2027-01-31T18:00:00.9Z", "2027-01-31T18:00:00Z"),
            ("2027-01-31T18:00:00", "2027-01-31T18:00:00Z"),
            ("2027-01-31 18:00", "2027-01-31T18:00:00Z"),
            (" 2027-01-31 ", "2027-01-31T00:00:00Z"),
        ] {
            assert_eq!(parse(text).map(show).as_deref(), Some(expected), "{text}");
        }
        for wrong in [
            "",
            "tomorrow",
            "2027-02-29",
            "2027-01-31T24:00:00Z",
            "31.01.2027",
            "0999-12-31",
            "0000-01-01T00:00:00+23:59",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
