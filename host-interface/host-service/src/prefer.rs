//! The preference `wait` of a request, as RFC 7240 defines the header `Prefer`: for how long a client lets
//! its answer be held open. What is unknown or malformed is ignored, as that standard wants it.

use axum::http::HeaderMap;

/// The longest wait in seconds; more than that is this much.
const LONGEST: u64 = 60;

/// The number of seconds for which the client is ready to wait, from 1 to 60.
pub(crate) fn wait(headers: &HeaderMap) -> Option<u64> {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    // Of a preference that is sent twice, the first one counts, even if it is malformed.
    let (_, value) = values
        .flat_map(|value| outside_of_quotes(value, ','))
        .map(preference)
        .find(|(name, _)| name.eq_ignore_ascii_case("wait"))?;
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    // What is too large for the type is above the longest wait, too.
    let seconds = is_number.then(|| value.parse().unwrap_or(u64::MAX).min(LONGEST))?;
    (seconds > 0).then_some(seconds)
}

/// The name and the value of a preference, without its parameters.
fn preference(text: &str) -> (&str, &str) {
    let text = outside_of_quotes(text, ';').next().unwrap_or_default();
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let value = trim(value);
    let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    (trim(name), quoted.unwrap_or(value))
}

/// The parts of a text between separators that are not in quotes.
fn outside_of_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |letter| {
        let separates = letter == separator && !quoted;
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        separates
    })
}

/// Without the white space that the standard allows.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn asked(lines: &[&'static str]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("prefer", HeaderValue::from_static(line));
        }
        wait(&headers)
    }

    #[test]
    fn the_wait_is_found_among_other_preferences_in_any_form() {
        assert_eq!(asked(&["wait=30"]), Some(30));
        assert_eq!(asked(&["WAIT = 30"]), Some(30));
        assert_eq!(asked(&["wait\t=\t\"30\""]), Some(30));
        assert_eq!(asked(&["wait=007"]), Some(7));
        assert_eq!(asked(&["respond-async, wait=30"]), Some(30));
        assert_eq!(asked(&["respond-async", "handling=lenient", "wait=30"]), Some(30));
        assert_eq!(asked(&["wait=30; strict; because=\"a, b; c\", return=minimal"]), Some(30));
        assert_eq!(asked(&[",, wait=30 ,"]), Some(30));
    }

    #[test]
    fn quotes_hide_what_only_looks_like_a_wait() {
        assert_eq!(asked(&[r#"note="wait=1, wait=2; \", wait=3", wait=30"#]), Some(30));
        assert_eq!(asked(&[r#"note="never ends, wait=1"#]), None);
        assert_eq!(asked(&[r#"note="never ends, wait=1"#, "wait=30"]), Some(30));
        assert_eq!(asked(&["note; wait=1"]), None);
    }

    #[test]
    fn the_first_of_several_counts() {
        assert_eq!(asked(&["wait=10, wait=20"]), Some(10));
        assert_eq!(asked(&["wait=10", "Wait=20"]), Some(10));
        assert_eq!(asked(&["wait=soon, wait=20"]), None);
    }

    #[test]
    fn no_wait_is_longer_than_a_minute() {
        assert_eq!(asked(&["wait=60"]), Some(60));
        assert_eq!(asked(&["wait=61"]), Some(60));
        assert_eq!(asked(&["wait=99999999999999999999999999"]), Some(60));
    }

    #[test]
    fn what_is_no_number_above_zero_is_ignored() {
        for malformed in [
            "",
            "wait",
            "wait=",
            "wait=\"\"",
            "wait=0",
            "wait=000",
            "wait=-1",
            "wait=+1",
            "wait=1.5",
            "wait=1e1",
            "wait=5s",
            "wait=5 6",
            "wait==5",
            "wait 5",
            "wait=\"5",
            "waits=5",
            "await=5",
        ] {
            assert_eq!(asked(&[malformed]), None, "{malformed}");
        }
        assert_eq!(asked(&[]), None);
    }

    #[test]
    fn a_value_that_is_no_text_is_ignored() -> Result<(), axum::http::header::InvalidHeaderValue> {
        let mut headers = HeaderMap::new();
        headers.append("prefer", HeaderValue::from_bytes(b"wait=5\xff")?);
        headers.append("prefer", HeaderValue::from_static("wait=7"));
        assert_eq!(wait(&headers), Some(7));
        Ok(())
    }
}
