//! Generated input for the parsers of requests: none of it causes a panic, accepted values are
//! rendered and parsed back unchanged, and everything else is refused. The expectations are
//! computed here, from the specification. `PROPTEST_CASES=1000000` tries more.

use std::cell::RefCell;
use std::collections::BTreeMap;

use host_interface::{Method, Request};
use plugin::error::Error;
use plugin::model::field::Field;
use plugin::model::moment;
use plugin::model::resource::Resource;
use plugin::model::value::{Cell, Kind, Value, is_noncharacter};
use plugin::wire::body::Body;
use plugin::wire::draft::{Draft, Intent};
use plugin::wire::literal;
use plugin::wire::request::{Listing, Scope, no_listing};
use proptest::prelude::*;
use proptest::sample::select;
use rust_decimal::Decimal;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::support::bare::JsonHeaders;
use crate::support::document::Document;

thread_local! {
    static SCHEMAS: RefCell<Document> = RefCell::new(Document::of_the_store());
}

fn request(body: &[u8]) -> Request {
    Request::builder(0, Method::Post).headers(JsonHeaders).body(body.to_vec()).build()
}

/// A value in the form of the database.
fn cell(value: &Value) -> Cell<'_> {
    match value {
        Value::Null => Cell::Null,
        Value::Int(number) | Value::Decimal { units: number, .. } => Cell::Int(*number),
        Value::Moment(moment) => Cell::Text(moment::render(*moment).into()),
        Value::Text(text) | Value::Json(text) => Cell::Text(text.as_str().into()),
    }
}

/// A value in the form that a client reads.
fn written(kind: Kind, value: &Value) -> Box<RawValue> {
    let mut text = Vec::new();
    literal::write(kind, &cell(value), &mut serde_json::Serializer::new(&mut text)).unwrap();
    RawValue::from_string(String::from_utf8(text).unwrap()).unwrap()
}

fn read(kind: Kind, nullable: bool, literal: &str) -> Result<Value, String> {
    literal::read(kind, nullable, &RawValue::from_string(literal.to_owned()).unwrap())
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// JSON of all kinds: values of some field, near misses, and typical stumbling blocks.
fn literal() -> impl Strategy<Value = String> {
    const PECULIAR: &[&str] = &[
        "null",
        "true",
        "false",
        "\"\"",
        "\" \"",
        "0",
        "-0",
        "1",
        "\"1\"",
        "-1",
        "1.0",
        "1e400",
        "[]",
        "{}",
        "[1,2]",
        "\"1, 2\"",
        "[1,\"2\",2]",
        "[null]",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1e400}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\\\\u0000\"}",
        "{\"\\u0000\":0}",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "\"99999999999999999999\"",
        "\"2026-02-28\"",
        "\"2026-02-30\"",
        "\"+2026-02-28\"",
        "\" 2026-02-28\"",
        "\"0000-01-01\"",
        "\"2026-02-28T23:59:59+14:00\"",
        "\"2026-02-28T23:59:59+25:00\"",
        "\"ada@example.com\"",
        "\"EUR\"",
        "\"percentage_cart\"",
        "\"ß\"",
        "1e-400",
        "1E2",
        "0.00001",
        "0.000001",
        "999999999999.99999",
        "\"1e2\"",
        "\"-\"",
        "\".5\"",
        "\"5.\"",
        "\"--5\"",
    ];
    prop_oneof![
        3 => select(PECULIAR).prop_map(str::to_owned),
        1 => any::<i64>().prop_map(|number| number.to_string()),
        1 => "-?[1-9][0-9]{0,14}(\\.[0-9]{1,6})?",
        1 => any::<String>().prop_map(|text| quoted(&text)),
    ]
}

/// A resource of the store, and a body for it.
fn body() -> impl Strategy<Value = (&'static Resource, String)> {
    let resources: Vec<&Resource> = plugin::resources::REGISTRY.iter().collect();
    select(resources).prop_flat_map(|resource| {
        let known: Vec<String> =
            resource.fields().map(|field| field.name.to_owned()).chain(["items".into()]).collect();
        let name = prop_oneof![9 => select(known), 1 => any::<String>()];
        let members = proptest::collection::vec((name, literal()), 0..8);
        let related: Vec<&str> =
            resource.fields().filter_map(Field::relationship).map(|related| related.name).collect();
        let relation = prop_oneof![
            4 => select(if related.is_empty() { vec!["none"] } else { related }).prop_map(str::to_owned),
            1 => any::<String>(),
        ];
        let kind = prop_oneof![Just("countries"), Just("manufacturers"), Just("orderstatuses")];
        let named = (kind, literal()).prop_map(|(kind, id)| {
            format!("{{\"data\":{{\"type\":\"{kind}\",\"id\":{id}}}}}")
        });
        let linkage = prop_oneof![named, literal(), literal().prop_map(|to| format!("{{\"data\":{to}}}"))];
        let relationships = proptest::collection::vec((relation, linkage), 0..3);
        (members, relationships, any::<bool>()).prop_map(move |(members, relationships, flat)| {
            let object = |members: &[(String, String)]| {
                let members: Vec<String> =
                    members.iter().map(|(name, text)| format!("{}:{text}", quoted(name))).collect();
                format!("{{{}}}", members.join(","))
            };
            let (members, relationships) = (object(&members), object(&relationships));
            let text = if flat { members } else { format!(
                    "{{\"data\":{{\"attributes\":{members},\"relationships\":{relationships}}}}}"
                ) };
            (resource, text)
        })
    })
}

/// A query parameter and its value, not encoded.
fn parameter() -> impl Strategy<Value = (String, String)> {
    const NAMES: &[&str] = &[
        "page[offset]",
        "page[limit]",
        "list[ordering]",
        "list[direction]",
        "filter[search]",
        "filter[sku]",
        "filter[enabled]",
        "filter[category]",
        "filter[status]",
        "filter[date_from]",
        "filter[date_to]",
        "filter[period]",
        "filter[payment_type]",
        "utm",
        "page",
        "sort",
        "include",
    ];
    const VALUES: &[&str] = &[
        "0",
        "1",
        "20",
        "101",
        "-1",
        "99999999999999999999",
        "asc",
        "desc",
        "price",
        "created_on",
        "2026-01-01",
        "2025-12-31",
        "+2026-01-01",
        "0000-01-01",
        "week",
        "ß",
        " a b ",
        "%",
        "",
    ];
    let name = prop_oneof![9 => select(NAMES).prop_map(str::to_owned), 1 => any::<String>()];
    let value = prop_oneof![9 => select(VALUES).prop_map(str::to_owned), 1 => any::<String>()];
    (name, value)
}

fn encoded(pairs: &[(String, String)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The day that a text in the specified form denotes, as year, month and day.
fn calendar_day(text: &str) -> Option<(i64, i64, i64)> {
    let part = |text: &str, length| {
        let digits = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<i64>().unwrap())
    };
    let [year, month, day] = <[&str; 3]>::try_from(text.split('-').collect::<Vec<_>>()).ok()?;
    let (year, month, day) = (part(year, 4)?, part(month, 2)?, part(day, 2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    };
    let exists = year >= 1 && (1..=12).contains(&month) && (1..=length).contains(&day);
    exists.then_some((year, month, day))
}

/// The seconds from the beginning of the year 1 to that of a day, added up year by year.
fn seconds((year, month, day): (i64, i64, i64)) -> i64 {
    let before = year - 1;
    let mut days = before * 365 + before / 4 - before / 100 + before / 400 + day - 1;
    let lengths = (1..month).map(|month| {
        (28..=31).rev().find(|day| calendar_day(&format!("{year:04}-{month:02}-{day}")).is_some())
    });
    days += lengths.map(Option::unwrap).sum::<i64>();
    days * 86_400
}

proptest! {
    #[test]
    fn any_bytes_are_a_body_or_a_list_of_faults(bytes in any::<Vec<u8>>()) {
        let request = request(&bytes);
        for resource in plugin::resources::REGISTRY.iter() {
            if let Err(error) = Body::read(&request, resource, Some(1)) {
                prop_assert!(matches!(error, Error::Faults(faults) if !faults.is_empty()));
            }
        }
    }

    #[test]
    fn accepted_values_are_rendered_and_parsed_back_unchanged((resource, text) in body()) {
        let request = request(text.as_bytes());
        let Ok(body) = Body::read(&request, resource, Some(1)) else { return Ok(()) };
        for intent in [Intent::Create, Intent::Update] {
            let draft = Draft::read(resource, &body, intent);
            for field in resource.fields() {
                let Some(value) = draft.given(field).unwrap() else { continue };
                // The path determines the key of the parent record.
                if *value == Value::Null && !field.nullable {
                    continue;
                }
                let again = literal::read(field.kind, field.nullable, &written(field.kind, value));
                prop_assert_eq!(again.as_ref(), Ok(value), "{} of {}", field.name, text);
            }
            for fault in &draft.faults {
                prop_assert!(!fault.detail.is_empty() && fault.source.is_some(), "{:?}", fault);
            }
        }
    }

    /// A client that checks its bodies against the schemas may send whatever the store accepts.
    #[test]
    fn an_accepted_body_matches_its_schema((resource, text) in body()) {
        let request = request(text.as_bytes());
        // Numbers between two that a double can represent are rounded before they are compared.
        let exact = !text.contains("999999999999.99999") && !text.contains("922337203685477580");
        let json = serde_json::from_str::<Json>(&text).ok().filter(|_| resource.crud && exact);
        let Some(json) = json else { return Ok(()) };
        for (intent, form) in [(Intent::Create, "new"), (Intent::Update, "change")] {
            let id = (intent == Intent::Update).then_some(1);
            let Ok(body) = Body::read(&request, resource, id) else { continue };
            let mut draft = Draft::read(resource, &body, intent);
            // No record has such a key, which is looked up later.
            let nobody = resource.fields().any(|field| {
                let key = matches!(field.kind, Kind::Key(_));
                let least = i64::from(!field.zero_is_none);
                key && matches!(draft.given(field), Ok(Some(Value::Int(key))) if *key < least)
            });
            if nobody || !draft.take_faults().is_empty() {
                continue;
            }
            // Creating a stock record needs the key of its product, which is read elsewhere.
            if resource.kind == "inventory" && form == "new" && !body.has("shop_product_id") {
                continue;
            }
            let form = if json.get("data").is_some() { format!("{form}.document") } else { form.to_owned() };
            let schema = format!("#/components/schemas/{}.{form}", resource.kind);
            let faults = SCHEMAS.with_borrow_mut(|schemas| schemas.faults(&schema, &json));
            prop_assert_eq!(faults, None, "{}", text);
        }
    }

    #[test]
    fn any_query_is_read_or_refused(query in any::<String>()) {
        let _ = no_listing(&query);
        for resource in plugin::resources::REGISTRY.iter() {
            let _ = Listing::read(&query, Scope::All(resource), &[]);
        }
    }

    #[test]
    fn a_query_is_parsed_back_from_the_links_of_its_page(
        pairs in proptest::collection::vec(parameter(), 0..5),
    ) {
        for kind in ["products", "orders", "zones"] {
            let scope = Scope::All(plugin::resources::REGISTRY.find(kind).unwrap());
            let Ok(listing) = Listing::read(&encoded(&pairs), scope, &[]) else { continue };
            let mut link = listing.sent.clone();
            link.push(("page[offset]".to_owned(), listing.offset.to_string()));
            link.push(("page[limit]".to_owned(), listing.limit.to_string()));
            let again = Listing::read(&encoded(&link), scope, &[]).unwrap();
            prop_assert_eq!(Listing { paged: true, ..listing }, again);
        }
    }

    #[test]
    fn a_day_is_in_the_calendar_or_refused(
        text in prop_oneof![
            "[0-9]{4}-[01][0-9]-[0-3][0-9]",
            "[+-]?[0-9]{3,5}-?[0-9]{1,2}-?[0-9 ]{1,2}",
            any::<String>(),
        ],
    ) {
        let expected = calendar_day(&text);
        let found = moment::day(&text).map(|day| {
            (i64::from(day.year()), i64::from(u8::from(day.month())), i64::from(day.day()))
        });
        prop_assert_eq!(found, expected, "{:?}", text);
        let query = encoded(&[("filter[date_from]".to_owned(), text.clone())]);
        let scope = Scope::All(plugin::resources::REGISTRY.find("orders").unwrap());
        let listed = Listing::read(&query, scope, &[]);
        // The value of a filter is trimmed and cleaned, and counts as not sent if nothing remains.
        let seen = |c: &char| !c.is_control() && !is_noncharacter(*c);
        let cleaned: String = text.chars().filter(seen).collect();
        let taken = cleaned.trim().is_empty() || calendar_day(cleaned.trim()).is_some();
        prop_assert_eq!(listed.is_ok(), taken, "{:?}", text);
    }

    #[test]
    fn a_moment_is_kept_in_utc_or_refused(
        day in prop_oneof![
            "[0-9]{4}-[01][0-9]-[0-3][0-9]",
            select(&["0001-01-01", "9999-12-31", "0000-12-31", "2024-02-29", " 2026-01-01"][..])
                .prop_map(str::to_owned),
        ],
        (hour, minute, second) in (0_i64..26, 0_i64..62, 0_i64..62),
        zone in prop_oneof![
            Just(String::new()), Just("Z".to_owned()), "[+-][0-2][0-9]:[0-6][0-9]", "[ zZ+-]{1,2}",
            "[+-][0-9]{1,4}",
        ],
    ) {
        let text = format!("{day}T{hour:02}:{minute:02}:{second:02}{zone}");
        let offset = match zone.as_str() {
            "" | "Z" => Some(0),
            _ => zone.split_at(1).1.split_once(':').and_then(|(hours, minutes)| {
                let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
                let sign = if zone.starts_with('-') { -1 } else { 1 };
                (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
            }),
        };
        let on_clock = hour < 24 && minute < 60 && second < 60;
        let utc = calendar_day(&day).filter(|_| on_clock).zip(offset).map(|(day, offset)| {
            seconds(day) + hour * 3_600 + minute * 60 + second - offset
        });
        let within = utc.filter(|utc| (0..seconds((9999, 12, 31)) + 86_400).contains(utc));
        let kept = read(Kind::DateTime, false, &quoted(&text));
        prop_assert_eq!(kept.is_ok(), within.is_some(), "{:?}", text);
        if let (Ok(Value::Moment(kept)), Some(within)) = (kept, within) {
            let kept = moment::render(kept);
            let (day, time) = kept.split_once('T').unwrap();
            let parts: Vec<i64> = time.split(':').map(|part| part.parse().unwrap()).collect();
            let seconds = seconds(calendar_day(day).unwrap());
            prop_assert_eq!(seconds + parts[0] * 3_600 + parts[1] * 60 + parts[2], within);
        }
    }

    #[test]
    fn the_text_of_a_decimal_is_accepted_exactly_or_refused(
        text in prop_oneof!["-?[0-9]{1,14}(\\.[0-9]{1,9})?", "[-+.0-9e]{0,8}", any::<String>()],
        places in 0_u8..=8,
    ) {
        let max = 10_i64.pow(15);
        let kind = Kind::Decimal { places, shown: 0, min: -max, max };
        let plain = text.strip_prefix('-').unwrap_or(&text);
        let plain = plain.split('.').all(|part| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
        }) && plain.matches('.').count() < 2;
        let number: Option<Decimal> = text.parse().ok().filter(|_| plain);
        let units = number.map(|number| number * Decimal::from(10_i64.pow(places.into())));
        let exact = units.filter(|units| units.is_integer() && units.abs() <= Decimal::from(max));
        match read(kind, false, &quoted(&text)) {
            Ok(value) => {
                prop_assert_eq!(Some(Decimal::from(value.int("value").unwrap())), exact, "{}", text);
                let again = literal::read(kind, false, &written(kind, &value));
                prop_assert_eq!(again, Ok(value));
            }
            Err(complaint) => prop_assert_eq!(exact, None, "{}: {}", text, complaint),
        }
    }

    #[test]
    fn an_object_is_returned_unchanged(object in object(), spaced: bool) {
        let text = if spaced { serde_json::to_string_pretty(&object).unwrap() } else { object.to_string() };
        let kept = read(Kind::Json, false, &text);
        let text_of_all = object.to_string();
        if text_of_all.contains("\\u0000") || text_of_all.contains(is_noncharacter) { prop_assert!(kept.is_err(), "{}", text) } else {                 let kept = kept.unwrap();
                prop_assert_eq!(kept.text("object").unwrap(), object.to_string());
                let again = literal::read(Kind::Json, false, &written(Kind::Json, &kept));
                prop_assert_eq!(again, Ok(kept));
             }
    }
}

/// A JSON object without backslashes in its texts, so that any escape in the output is that of a
/// NUL.
fn object() -> impl Strategy<Value = Json> {
    let text = "[^\\\\]{0,8}";
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Json::from),
        text.prop_map(Json::from),
    ];
    let value = leaf.prop_recursive(6, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            members(inner),
        ]
    });
    members(value)
}

fn members(value: impl Strategy<Value = Json>) -> impl Strategy<Value = Json> {
    let members = proptest::collection::btree_map("[^\\\\]{0,6}", value, 0..5);
    members.prop_map(|members: BTreeMap<String, Json>| members.into_iter().collect())
}
