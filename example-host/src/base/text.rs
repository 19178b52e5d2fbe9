//! Text and time in the one form in which they are compared and kept. Knows nothing of what they are
//! about.

use time::{OffsetDateTime, PrimitiveDateTime};
use unicase::UniCase;

/// Text as it is compared without regard to case.
pub(crate) fn fold(text: &str) -> String {
    UniCase::new(text).to_folded_case()
}

/// Any text on a single line, as log lines and terminals want it.
pub(crate) fn one_line(text: impl ToString) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The time as the tables keep it: UTC, to the second.
pub(crate) fn now() -> PrimitiveDateTime {
    let now = OffsetDateTime::now_utc();
    PrimitiveDateTime::new(now.date(), now.time()).truncate_to_second()
}
