//! Whether the `Accept` header of a request names the media type of an extension.

use axum::http::{HeaderMap, HeaderValue, header};
use mediatype::{MediaType, MediaTypeList, ReadParams};

/// Whether the client accepts this media type by name. Ranges with a wildcard do not count, nor
/// those with a parameter that makes it another type.
pub(crate) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    // Nearly every client sends exactly the name, which needs no parser.
    let exact = |value: &HeaderValue| value.as_bytes() == media_type.as_bytes();
    let wanted = MediaType::parse(media_type).ok();
    headers.get_all(header::ACCEPT).iter().any(|value| {
        exact(value)
            || value.to_str().is_ok_and(|text| {
                MediaTypeList::new(text)
                    .flatten()
                    .any(|range| wanted.as_ref().is_some_and(|wanted| is_exactly(&range, wanted)))
            })
    })
}

fn is_exactly(range: &MediaType<'_>, wanted: &MediaType<'_>) -> bool {
    let same =
        range.ty == wanted.ty && range.subty == wanted.subty && range.suffix == wanted.suffix;
    same && range.params().all(|(name, value)| match name.as_str() {
        name if name.eq_ignore_ascii_case("q") => is_positive_weight(value.as_str()),
        name => name.eq_ignore_ascii_case("ext") || name.eq_ignore_ascii_case("profile"),
    })
}

/// Whether a weight is well-formed and greater than zero: `0.001` to `1.000`.
fn is_positive_weight(weight: &str) -> bool {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let zeros = fraction.bytes().all(|byte| byte == b'0');
    let digits = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    digits && ((whole == "1" && zeros) || (whole == "0" && !zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: &str = "application/vnd.api+json";

    fn accepted(lines: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::ACCEPT, HeaderValue::from_static(line));
        }
        accepts(&headers, WANTED)
    }

    #[test]
    fn the_media_type_is_accepted_only_by_name() {
        assert!(accepted(&["application/vnd.api+json"]));
        assert!(accepted(&["text/html, Application/Vnd.Api+Json ; q=0.1"]));
        assert!(accepted(&["text/html", "application/vnd.api+json"]));
        assert!(accepted(&["application/vnd.api+json;profile=\"a,b\";ext=\"c\""]));
        assert!(accepted(&["application/vnd.api+json;charset=utf-8, application/vnd.api+json"]));
        assert!(accepted(&["not a range, application/vnd.api+json"]));
    }

    #[test]
    fn wildcards_other_types_and_other_parameters_are_not_accepted() {
        assert!(!accepted(&[]));
        assert!(!accepted(&[""]));
        assert!(!accepted(&["*/*"]));
        assert!(!accepted(&["application/*"]));
        assert!(!accepted(&["application/json"]));
        assert!(!accepted(&["application/vnd.api"]));
        assert!(!accepted(&["application/vnd.api+json;charset=utf-8"]));
        assert!(!accepted(&["application/vnd.api+json;q=0"]));
        assert!(!accepted(&["application/vnd.api+json;q=0.000"]));
        assert!(!accepted(&["application/vnd.api+json;q=2"]));
        assert!(!accepted(&["application/vnd.api+json;q=x"]));
    }
}
