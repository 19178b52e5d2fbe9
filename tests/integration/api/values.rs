//! Properties of the parsers: decimals against an independent implementation, the query against
//! arbitrary text.

use plugin::model::moment;
use plugin::model::question::Condition;
use plugin::model::value::{Form, Kind, Value, decimal_text};
use plugin::wire::literal::{Inexact, read, units};
use plugin::wire::request::{Listing, Scope};
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::json;
use serde_json::value::RawValue;

fn decimal_kind(places: u8) -> Kind {
    Kind::Decimal { places, shown: 0, min: i64::MIN + 1, max: i64::MAX }
}

/// What a literal is that must have a value.
fn read_text(kind: Kind, text: &str) -> Result<Value, String> {
    read(kind, false, &RawValue::from_string(text.to_owned()).unwrap())
}

proptest! {
    #[test]
    fn a_decimal_is_parsed_exactly_or_refused(
        whole in 0_u64..1_000_000_000_000, fraction in "[0-9]{0,8}", negative: bool,
        exponent in -6_i32..6, places in 0_u8..=8,
    ) {
        let sign = if negative { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        let literal = format!("{sign}{whole}{point}{fraction}e{exponent}");
        let plain: Decimal = format!("{sign}{whole}{point}{fraction}").parse().unwrap();
        let ten = Decimal::from(10);
        let mut expected = plain;
        for _ in 0..exponent.abs() {
            expected = if exponent > 0 { expected * ten } else { expected / ten };
        }
        let counted = expected * Decimal::from(10_i64.pow(places.into()));
        match units(&literal, places) {
            Ok(units) => prop_assert_eq!(Decimal::from(units), counted),
            Err(Inexact::TooPrecise) => prop_assert!(!counted.is_integer(), "{}", literal),
            Err(Inexact::TooLarge) => {
                prop_assert!(counted.abs() >= Decimal::from(10_i64.pow(18)), "{}", literal);
            }
        }
    }

    #[test]
    fn a_decimal_is_rendered_as_it_is_parsed(
        count in -999_999_999_999_999_999_i64..=999_999_999_999_999_999,
        places in 0_u8..=8, shown in 0_u8..=8,
    ) {
        let text = decimal_text(count, places, shown);
        prop_assert_eq!(units(&text, places), Ok(count));
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        prop_assert!(fraction.len() >= usize::from(shown.min(places)));
        prop_assert!(fraction.len() <= usize::from(shown.min(places)) || !fraction.ends_with('0'));
    }

    #[test]
    fn any_literal_is_a_value_or_an_error(text in any::<String>()) {
        let string = RawValue::from_string(serde_json::to_string(&text).unwrap()).unwrap();
        for kind in [
            Kind::Flag, Kind::DateTime, Kind::Ids, Kind::Json, Kind::Key("zones"), decimal_kind(5),
            Kind::Int { min: 0, max: 9 },
        ] {
            let _ = read(kind, false, &string);
        }
        if let Ok(raw) = RawValue::from_string(text) {
            for kind in [Kind::Flag, Kind::Ids, Kind::Json, decimal_kind(5)] {
                let _ = read(kind, true, &raw);
            }
        }
    }

    #[test]
    fn any_query_is_a_listing_or_a_list_of_faults(query in any::<String>()) {
        for resource in plugin::resources::REGISTRY.iter() {
            let _ = Listing::read(&query, Scope::All(resource), &[]);
        }
    }

    #[test]
    fn a_page_is_parsed_as_requested(offset in 0_i64.., limit in 1_i64..) {
        let resource = plugin::resources::REGISTRY.find("zones").unwrap();
        let query = format!("page[offset]={offset}&page%5Blimit%5D={limit}&utm=1");
        let listing = Listing::read(&query, Scope::All(resource), &[]).unwrap();
        prop_assert_eq!((listing.offset, listing.limit), (offset, limit.min(100)));
    }

    #[test]
    fn a_search_survives_its_encoding(text in "[a-z0-9 %_\\\\'&=+#?;éł日本\u{10fffd}\u{10ffff}]{1,40}") {
        let resource = plugin::resources::REGISTRY.find("zones").unwrap();
        let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let query = format!("filter[search]={encoded}");
        let listing = Listing::read(&query, Scope::All(resource), &[]).unwrap();
        // Noncharacters are left out.
        let cleaned = text.replace('\u{10ffff}', "");
        let cleaned = cleaned.trim();
        // None of these characters has another case.
        let contains = || Condition::Contains(&["zone_name", "zone_code"], cleaned.to_owned());
        let expected: Vec<Condition> = (!cleaned.is_empty()).then(contains).into_iter().collect();
        prop_assert_eq!(listing.conditions, expected);
    }
}

#[test]
fn a_value_is_read_as_its_kind_asks() {
    let number = Kind::Int { min: -9, max: 9 };
    // The spaces around a code count for its length, and are left out.
    let code = Kind::Text { max: 3, form: Form::Code };
    let free = Kind::Text { max: 9, form: Form::Free };
    let name = Kind::Text { max: 9, form: Form::Name };
    let not_a_name = "may contain only small letters a to z, digits and underscores";
    for (kind, sent, expected) in [
        (number, "9", Ok(Value::Int(9))),
        (number, r#""-9""#, Ok(Value::Int(-9))),
        (number, "10", Err("must be between -9 and 9")),
        (number, "-10", Err("must be between -9 and 9")),
        (number, "1.0", Err("must be a whole number")),
        (number, r#""+5""#, Err("must be a whole number")),
        (number, r#""-""#, Err("must be a whole number")),
        (number, r#""""#, Err("must be a whole number")),
        (code, r#"" ab""#, Ok(Value::Text("ab".to_owned()))),
        (code, r#"" ab ""#, Err("must be at most 3 characters long")),
        (name, r#""card_2""#, Ok(Value::Text("card_2".to_owned()))),
        (name, r#""Card""#, Err(not_a_name)),
        (name, r#""card-2""#, Err(not_a_name)),
        (name, r#""""#, Err(not_a_name)),
        (free, r#"" a\"\u0062\\""#, Ok(Value::Text(" a\"b\\".to_owned()))),
        (decimal_kind(2), r#""1.5""#, Ok(Value::Decimal { units: 150, places: 2 })),
        (decimal_kind(2), r#""1.""#, Err("must be a decimal number such as \"19.99\"")),
        (decimal_kind(2), r#"".5""#, Err("must be a decimal number such as \"19.99\"")),
    ] {
        assert_eq!(read_text(kind, sent), expected.map_err(str::to_owned), "{sent}");
    }
}

#[test]
fn a_moment_is_kept_in_utc_to_the_second() {
    for (sent, kept) in [
        ("2024-02-29", Some("2024-02-29T00:00:00")),
        ("2024-02-29T23:59:59", Some("2024-02-29T23:59:59")),
        ("2024-02-29T23:59:59Z", Some("2024-02-29T23:59:59")),
        ("2024-02-29T23:30:00-01:00", Some("2024-03-01T00:30:00")),
        ("2024-01-01T00:30:00+05:30", Some("2023-12-31T19:00:00")),
        ("2023-02-29", None),
        ("2024-13-01", None),
        ("2024-01-01 00:00:00", None),
        ("2024-01-01T24:00:00", None),
        ("2024-01-01T00:00:00.5Z", None),
        ("24-01-01", None),
        ("", None),
        ("ä024-01-01T00:00:00é", None),
        ("0001-01-01", Some("0001-01-01T00:00:00")),
        ("9999-12-31T23:59:59", Some("9999-12-31T23:59:59")),
        ("2024-01-01T00:00:00+23:59", Some("2023-12-31T00:01:00")),
        ("2024-01-01T00:00:00-00:30", Some("2024-01-01T00:30:00")),
        ("0000-12-31", None),
        ("0000-12-31T23:30:00-01:00", None),
        ("0001-01-01T00:30:00+01:00", None),
        ("9999-12-31T23:30:00-01:00", None),
        ("+2024-01-01", None),
        ("-2024-01-01", None),
        ("+024-01-01", None),
        ("+2024-01-01T00:00:00", None),
        (" 2024-01-01", None),
        ("2024-01-01 ", None),
        ("2024-01-01Z", None),
        ("2024-01-01T+1:00:00", None),
        ("2024-01-01T00:00:60", None),
        ("2024-01-01T00:00:00z", None),
        ("2024-01-01T00:00:00+24:00", None),
        ("2024-01-01T00:00:00+25:00", None),
        ("2024-01-01T00:00:00+01:60", None),
        ("2024-01-01T00:00:00+0100", None),
        ("2024-01-01T00:00:00+1:00", None),
        ("2024-01-01T00:00:00 +01:00", None),
        ("2024-01-01T00:00:00++1:00", None),
        ("２０２４-01-01", None),
    ] {
        assert_eq!(moment::read(sent).map(moment::render).as_deref(), kept, "{sent}");
    }
}

#[test]
fn ids_and_objects_are_kept_exactly() {
    let text = |text: &str| Ok(Value::Text(text.to_owned()));
    assert_eq!(read_text(Kind::Ids, "[3, 1, 3]"), text("3,1"));
    assert_eq!(read_text(Kind::Ids, "\" 7, 8 \""), text("7,8"));
    assert_eq!(read_text(Kind::Ids, "[]"), text(""));
    assert!(read_text(Kind::Ids, "[1.5]").is_err());
    assert!(read_text(Kind::Ids, "[0]").is_err());
    assert_eq!(
        read_text(Kind::Json, r#"{ "a" : [1, 2.50], "b": "x \" y" }"#),
        Ok(Value::Json(r#"{"a":[1,2.50],"b":"x \" y"}"#.to_owned()))
    );
    assert!(read_text(Kind::Json, "[1]").is_err());
    let deep = |levels| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    assert_eq!(read_text(Kind::Json, &deep(64)), Ok(Value::Json(deep(64))));
    assert!(read_text(Kind::Json, &deep(65)).is_err());
    assert!(read_text(Kind::Json, &deep(100_000)).is_err());
}

#[test]
fn a_value_has_bounds_and_its_fault_names_them() {
    let text = |text: &str| Ok(Value::Text(text.to_owned()));
    let list = |count: usize, length: usize| json!(vec!["a".repeat(length); count]).to_string();
    let any = Kind::Words(&[]);
    assert!(read_text(any, &list(64, 32)).is_ok());
    let names = Err("must be a list of at most 64 names in small letters".to_owned());
    for refused in [&list(65, 2), &list(1, 33), "[\"A\"]", "[\"\"]", "[\"a-b\"]", "[1]", "\"a\""] {
        assert_eq!(read_text(any, refused), names, "{refused}");
    }
    assert_eq!(read_text(any, r#"["b_c","a","b_c"]"#), text("b_c,a"));
    let some = Kind::Words(&["c", "b", "a"]);
    assert_eq!(read_text(some, r#"["a","c","a"]"#), text("c,a"));
    assert_eq!(
        read_text(some, r#"["a","d"]"#),
        Err("must be a list of some of c, b, a".to_owned())
    );

    let moment = "must be a date YYYY-MM-DD or a date and time YYYY-MM-DDTHH:MM:SS";
    assert_eq!(read_text(Kind::DateTime, "\"x\""), Err(moment.to_owned()));
    assert_eq!(read_text(Kind::Ids, "\" \""), text(""));
    let ids = Err("must be a list of whole numbers greater than 0".to_owned());
    assert_eq!(read_text(Kind::Ids, "\"1,,2\""), ids);

    let object = |length: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(length - 8));
    assert_eq!(read_text(Kind::Json, &object(65_536)), Ok(Value::Json(object(65_536))));
    let long = Err("must be at most 65536 bytes long".to_owned());
    assert_eq!(read_text(Kind::Json, &object(65_537)), long);
    let twice = read_text(Kind::Json, r#"{"a":1,"a":2}"#).unwrap_err();
    assert!(twice.contains("\"a\"") && !twice.contains("line"), "{twice}");
}

#[test]
fn ambiguous_objects_are_refused() {
    let read = |text: &str| read_text(Kind::Json, text);
    for kept in [
        r#"{"a":"\\u0000"}"#,
        r#"{"\\u0000":0}"#,
        r#"{"a":"\ud83d\ude00"}"#,
        r#"{"a":[1e2,1E+2,1.50,-0,0.1e-400,123456789012345678901234567890,1.7976931348623157e308]}"#,
        r#"{"a":{"b":1},"c":{"b":1},"":0}"#,
    ] {
        assert_eq!(read(kept), Ok(Value::Json(kept.to_owned())));
    }
    for refused in [
        r#"{"a":"\u0000"}"#,
        r#"{"a":"\\\u0000"}"#,
        r#"{"\u0000":0}"#,
        r#"{"a":"\uFFFE"}"#,
        r#"{"a":["\ufdd0"]}"#,
        r#"{"\ud83f\udffe":0}"#,
        r#"{"a":1e400}"#,
        r#"{"a":[[-1e400]]}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":"\udc00\ud800"}"#,
        r#"{"\ud800":0}"#,
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"b":[{"a":1,"b":{},"a":2}]}"#,
    ] {
        assert!(read(refused).is_err(), "{refused}");
    }
}

/// Letters whose folding differs from their lower case, with their entries in Unicode's table of
/// full case folding.
#[test]
fn folding_follows_unicode() {
    for (text, folded) in [
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("STRAẞE", "strasse"),
        ("İstanbul", "i\u{307}stanbul"),
        ("ISTANBUL", "istanbul"),
        ("ıstanbul", "ıstanbul"),
        ("ΟΔΟΣ", "οδοσ"),
        ("οδος", "οδοσ"),
        ("ÉCLAIR", "éclair"),
        ("ŁÓDŹ", "łódź"),
        ("ﬁsh", "fish"),
        ("Å", "å"),
    ] {
        assert_eq!(plugin::model::value::fold(text), folded, "{text}");
    }
}
