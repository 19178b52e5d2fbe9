//! The header `Retry-After` of an answer, in seconds or as a date. Reads no clock.

use std::time::{Duration, SystemTime};

/// The longest time that a receiver may ask for.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the receiver asks to wait; `None` if the value has neither form.
pub(super) fn read(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let time = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a very long time.
        value.parse().map_or(LONGEST, Duration::from_secs)
    } else {
        // A date that has passed asks for nothing.
        httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default()
    };
    Some(time.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        // Mon, 23 Nov 2026 10:00:00 GMT
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_428_000);
        for (value, seconds) in [
            ("0", 0),
            ("120", 120),
            (" 7 ", 7),
            ("86400", 86_400),
            ("86401", 86_400),
            ("99999999999999999999999", 86_400),
            ("Mon, 23 Nov 2026 10:02:00 GMT", 120),
            ("Monday, 23-Nov-26 10:02:00 GMT", 120),
            ("Mon Nov 23 10:02:00 2026", 120),
            ("Mon, 23 Nov 2026 09:00:00 GMT", 0),
            ("Sun, 23 Nov 2036 10:00:00 GMT", 86_400),
        ] {
            assert_eq!(read(value, now), Some(Duration::from_secs(seconds)), "{value}");
        }
        for wrong in ["", "-1", "+1", "1.5", "soon", "2026-11-23T10:02:00Z"] {
            assert_eq!(read(wrong, now), None, "{wrong}");
        }
    }
}
