//! Values for the fields of a body, from the rules of each field. Every one of them is valid by itself, and comes
//! with the form in which the store shows it.

use fastrand::Rng;
use plugin::model::field::{Access, Field, Initial};
use plugin::model::value::{Form, Kind};
use serde_json::{Value, json};

use super::memory::Records;

/// Words that are easily taken for each other: by case, by accents, by what an engine makes of a pattern.
const WORDS: [&str; 22] = [
    "oak",
    "Oak",
    "OAK lamp",
    "oak  lamp",
    "éclair",
    "Éclair",
    "eclair",
    "straße",
    "STRASSE",
    "日本の椅子",
    "a%b",
    "a_b",
    "a\\b",
    "it's",
    "\"quoted\"",
    "zebra",
    "Zebra",
    "ångström",
    "🙂 lamp",
    " spaced ",
    "-1",
    "x",
];
/// A key that no record has.
pub const MISSING: i64 = 987_654_321;

/// A value as it is sent, and as it is shown.
pub struct Given {
    pub sent: Value,
    pub shown: Value,
}

impl Given {
    fn same(value: Value) -> Option<Given> {
        Some(Given { sent: value.clone(), shown: value })
    }
}

/// A value for a field; `None` if it names a record and there is none.
pub fn random(field: &Field, records: &Records, rng: &mut Rng) -> Option<Given> {
    if field.nullable && !field.required && rng.u8(..6) == 0 {
        return Given::same(Value::Null);
    }
    match field.kind {
        Kind::Int { min, max } => {
            let number = match rng.u8(..10) {
                0 => min.max(-1_000_000),
                1 => max.min(1_000_000),
                _ => rng.i64(0..40).clamp(min, max),
            };
            whole(number, rng)
        }
        Kind::Flag => {
            let on = rng.bool();
            let forms = [json!(i64::from(on)), json!(on), json!(i64::from(on).to_string())];
            Some(Given { sent: rng.choice(forms)?, shown: json!(i64::from(on)) })
        }
        Kind::Decimal { places, shown, min, max } => {
            let one = 10_i64.pow(places.into());
            let units = match rng.u8(..12) {
                0 => min.max(-1_000 * one),
                1 => max.min(1_000 * one),
                2..5 => rng.i64(0..50 * one),
                _ => rng.i64(0..5_000) * one / 100,
            };
            let units = units.clamp(min, max);
            let sent = json!(decimal(units, places, rng.u8(..=places)));
            Some(Given { sent, shown: json!(decimal(units, places, shown)) })
        }
        Kind::Text { max, form } => {
            let text = text(max, form, field.required, rng);
            let shown = if form.is_trimmed() { text.trim() } else { &*text };
            Some(Given { shown: json!(shown), sent: json!(text) })
        }
        Kind::Choice(words) => Given::same(json!(rng.choice(words)?)),
        Kind::DateTime => {
            let (month, day, hour) = (rng.u8(1..=12), rng.u8(1..=28), rng.u8(..24));
            let shown = format!("2025-{month:02}-{day:02}T{hour:02}:30:15");
            let sent = format!("{shown}{}", if rng.bool() { "Z" } else { "" });
            Some(Given { sent: json!(sent), shown: json!(shown) })
        }
        Kind::Ids => {
            let mut ids: Vec<i64> = (0..rng.usize(..4)).map(|_| rng.i64(1..9)).collect();
            let sent = json!(ids);
            let mut seen = Vec::new();
            ids.retain(|id| {
                !seen.contains(id) && {
                    seen.push(*id);
                    true
                }
            });
            Some(Given { sent, shown: json!(ids) })
        }
        // No record of the walks has one.
        Kind::Words(_) => None,
        Kind::Json => {
            Given::same(json!({"list": [1, "two", null], "text": word(rng), "n": rng.u8(..)}))
        }
        // Only the store sets such values.
        Kind::JsonList(_) | Kind::JsonObject(_) | Kind::JsonByKey(_) => None,
        Kind::Key(_) if field.zero_is_none && rng.u8(..4) == 0 => whole(0, rng),
        Kind::Key(_) if rng.u8(..50) == 0 => whole(MISSING, rng),
        Kind::Key(kind) => whole(records.any(kind, rng)?, rng),
        Kind::Code { of, field: code, .. } => {
            let key = records.any(of, rng)?;
            Given::same(records.value(of, key, code))
        }
        Kind::User => whole(rng.i64(0..6), rng),
        Kind::Email => {
            let names = ["ann", "Bo.Lee", "it's+me", "zoë"];
            let hosts = ["example.com", "Example.COM", "shop.example"];
            Given::same(json!(format!("{}@{}", rng.choice(names)?, rng.choice(hosts)?)))
        }
    }
}

/// The value that a new record has in a field that its body omits; `None` where rules of the resource give one.
pub fn default(field: &Field) -> Option<Value> {
    if field.access == Access::Touched || field.computed.is_some() || field.joined.is_some() {
        return None;
    }
    match (field.initial, field.kind) {
        (Initial::Derived | Initial::Now, _) => None,
        (Initial::Unset, Kind::Text { .. }) if !field.nullable => Some(json!("")),
        (Initial::Unset, _) => Some(Value::Null),
        (Initial::Int(units), Kind::Decimal { places, shown, .. }) => {
            Some(json!(decimal(units, places, shown)))
        }
        (Initial::Int(number), _) => Some(json!(number)),
        (Initial::Text(_), Kind::Ids | Kind::Words(_)) => Some(json!([])),
        (Initial::Text(text), kind) if kind.is_json() => serde_json::from_str(text).ok(),
        (Initial::Text(text), _) => Some(json!(text)),
    }
}

/// A word, or one with a number so that not all of them are taken soon.
pub fn word(rng: &mut Rng) -> String {
    let word = rng.choice(WORDS).unwrap_or_default();
    if rng.bool() { word.to_owned() } else { format!("{word}{}", rng.u8(..40)) }
}

/// The text of a decimal with at least so many of its fraction digits.
fn decimal(units: i64, places: u8, least: u8) -> String {
    let exact = rust_decimal::Decimal::new(units, places.into()).normalize();
    format!("{exact:.*}", usize::from(least).max(exact.scale().try_into().unwrap()))
}

fn whole(number: i64, rng: &mut Rng) -> Option<Given> {
    let sent = if rng.bool() { json!(number) } else { json!(number.to_string()) };
    Some(Given { sent, shown: json!(number) })
}

fn text(max: usize, form: Form, required: bool, rng: &mut Rng) -> String {
    let random = |of: &str, count: usize, rng: &mut Rng| -> String {
        let letters: Vec<char> = of.chars().collect();
        (0..count).filter_map(|_| rng.choice(&letters)).collect()
    };
    let text = match form {
        Form::Capitals => return random("ABCDEFGHIJKLMNOPQRSTUVWXYZ", max, rng),
        Form::Name => {
            let count = rng.usize(1..4).min(max);
            random("abc_1", count, rng)
        }
        Form::WebAddress => format!("https://example.com/{}", rng.u8(..)),
        Form::Code => word(rng).split_whitespace().collect(),
        Form::Free | Form::Printable | Form::Identifier if !required && rng.u8(..8) == 0 => {
            String::new()
        }
        Form::Free if max <= 255 && rng.u8(..40) == 0 => "É".repeat(max),
        Form::Free | Form::Printable | Form::Identifier => word(rng),
    };
    text.chars().take(max).collect()
}
