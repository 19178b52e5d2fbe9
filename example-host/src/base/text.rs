//! Text and time in the form in which they are compared and stored.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use time::{OffsetDateTime, PrimitiveDateTime};
use unicase::UniCase;

/// The case-folded form of a text, for comparisons that ignore case.
pub fn fold(text: &str) -> String {
    UniCase::new(text).to_folded_case()
}

/// A text on a single line, for log lines and terminals.
pub(crate) fn one_line(text: impl ToString) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text whose first letter is a capital.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// A text that no spreadsheet takes for a formula.
pub(crate) fn harmless(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text }
}

/// A text for a log, which must not contain an e-mail address: a mail server repeats that of a mail that it refuses.
pub(crate) fn without_addresses(text: &str) -> String {
    let words = text.split(' ').map(|word| if word.contains('@') { "…@…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// A network such as `10.0.0.0/8`, or an address alone; `None` if the text is neither.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    let address = || text.parse().ok().map(|address: IpAddr| IpNet::from(address));
    text.parse().ok().or_else(address)
}

/// The network that an address belongs to, by the length of its prefix for either version of addresses.
pub(crate) fn network_of(address: IpAddr, of_ipv4: u8, of_ipv6: u8) -> IpAddr {
    let length = if address.is_ipv4() { of_ipv4 } else { of_ipv6 };
    IpNet::new(address, length).map_or(address, |network| network.network())
}

/// Each of several values once, in the order in which they come first.
pub(crate) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// A time in milliseconds, in which the clock of the database counts.
pub(crate) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The current time as it is stored in the tables: UTC, to the second.
pub(crate) fn now() -> PrimitiveDateTime {
    let now = OffsetDateTime::now_utc();
    PrimitiveDateTime::new(now.date(), now.time()).truncate_to_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_gets_an_apostrophe() {
        for text in ["=1+1", "+1", "-1", "@A1", "\t=1", "\r=1"] {
            assert_eq!(harmless(text.to_owned()), format!("'{text}"));
        }
        for text in ["", "5", "a=1", "2026-11-23T00:00:00Z"] {
            assert_eq!(harmless(text.to_owned()), text);
        }
    }
}
