//! Text and time in the form in which they are compared and stored.

use time::{OffsetDateTime, PrimitiveDateTime};
use unicase::UniCase;

/// The case-folded form of a text, for comparisons that ignore case.
pub(crate) fn fold(text: &str) -> String {
    UniCase::new(text).to_folded_case()
}

/// A text on a single line, for log lines and terminals.
pub(crate) fn one_line(text: impl ToString) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The current time as it is stored in the tables: UTC, to the second.
pub(crate) fn now() -> PrimitiveDateTime {
    let now = OffsetDateTime::now_utc();
    PrimitiveDateTime::new(now.date(), now.time()).truncate_to_second()
}
