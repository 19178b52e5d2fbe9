//! JSON Schema of single values: how a field of each kind appears in answers, in bodies and in
//! filters. Independent of routes and resources.
//!
//! A schema of input is as strict as JSON Schema permits, so that a generated client refuses what
//! the store would refuse. Rules that need the database, such as whether a reference exists or a
//! code is free, are checked only by the store.

use serde_json::{Map, Value, json};

use crate::model::field::{Field, Initial};
use crate::model::value::{Form, Kind, decimal_text};
use crate::wire::literal::{MAX_WORD, MAX_WORDS};

/// A schema with what its values mean, before what their form is.
pub fn described(mut schema: Value, meaning: &str) -> Value {
    let description = match schema["description"].as_str() {
        Some(form) => format!("{meaning} {form}"),
        None => meaning.to_owned(),
    };
    schema["description"] = json!(description);
    schema
}

/// A field in an answer.
pub fn output(field: &Field) -> Value {
    let name = |plain: &str| if field.nullable { json!([plain, "null"]) } else { json!(plain) };
    match field.kind {
        Kind::Int { min, max } => json!({
            "type": name("integer"), "format": width(min, max), "minimum": min, "maximum": max,
        }),
        Kind::Flag => json!({"type": "integer", "enum": [0, 1]}),
        Kind::Decimal { places, shown, min, .. } => {
            json!({"type": name("string"), "pattern": shown_decimal(places, shown, min)})
        }
        Kind::Text { max, form } => {
            let mut schema = json!({"type": "string"});
            if max < usize::MAX {
                schema["maxLength"] = json!(max);
            }
            match form {
                Form::Capitals => schema["pattern"] = json!(format!("^[A-Z]{{{max}}}$")),
                Form::Name => schema["pattern"] = json!("^[a-z0-9_]+$"),
                Form::Free | Form::Code | Form::Printable | Form::Identifier | Form::WebAddress => {
                }
            }
            schema
        }
        Kind::Choice(words) => json!({"type": "string", "enum": words}),
        Kind::DateTime => json!({"type": name("string"), "pattern": date_time()}),
        Kind::Ids => json!({
            "type": "array", "items": {"type": "integer", "format": "int64", "minimum": 1},
        }),
        Kind::Words(known) => words(known),
        Kind::Json => json!({"type": "object"}),
        Kind::JsonList(members) => json!({"type": "array", "items": object(members)}),
        Kind::JsonObject(members) => object(members),
        Kind::JsonByKey(members) => json!({
            "type": "object",
            "description": "A member for each, named by its key.",
            "additionalProperties": object(members),
        }),
        Kind::Key(_) => json!({
            "type": name("integer"),
            "format": "int64",
            "minimum": i64::from(!field.zero_is_none),
        }),
        Kind::Code { max, .. } => json!({"type": "string", "maxLength": max}),
        Kind::User => count(),
        Kind::Email => json!({"type": "string", "maxLength": 254}),
    }
}

/// A list of some of these words, or of any.
fn words(known: &[&str]) -> Value {
    let items = match known {
        [] => json!({"type": "string", "pattern": "^[a-z_]+$", "maxLength": MAX_WORD}),
        known => json!({"type": "string", "enum": known}),
    };
    json!({"type": "array", "maxItems": MAX_WORDS, "items": items})
}

/// An object with these members.
fn object(members: &[(&str, Kind)]) -> Value {
    let properties: Map<String, Value> =
        members.iter().map(|(name, kind)| ((*name).to_owned(), member(*kind))).collect();
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "required": required, "properties": properties})
}

/// A member of an object that the store has written.
fn member(kind: Kind) -> Value {
    match kind {
        Kind::Text { .. } => json!({"type": "string"}),
        Kind::Key(_) => key(),
        _ => output(&Field::of_kind("", kind)),
    }
}

/// A moment that is always set.
pub fn moment() -> Value {
    json!({"type": "string", "pattern": date_time()})
}

/// The primary key of a record, or its version.
pub fn key() -> Value {
    json!({"type": "integer", "format": "int64", "minimum": 1})
}

/// A number of something.
pub fn count() -> Value {
    json!({"type": "integer", "format": "int64", "minimum": 0})
}

/// The id of a record to which a field refers, in a relationship.
pub fn id_for(field: &Field) -> Value {
    let pattern = match field.kind {
        Kind::Int { min, max } => digits(min, max),
        _ => digits(1, i64::MAX),
    };
    json!({"type": "string", "pattern": pattern})
}

/// A field in a body, which accepts more forms than an answer contains.
pub fn input(field: &Field) -> Value {
    let schema = match field.kind {
        Kind::Int { min, max } => whole(min, Some(max)),
        Kind::Key(_) => whole(i64::from(!field.zero_is_none), None),
        Kind::User => whole(0, None),
        Kind::Flag => flag(),
        Kind::Decimal { places, min, max, .. } => decimal(places, min, max),
        Kind::DateTime => input_moment(),
        Kind::Ids => json!({"anyOf": [
            {"type": "array", "items": {"anyOf": [
                {"type": "integer", "format": "int64", "minimum": 1, "maximum": i64::MAX},
                {"type": "string", "pattern": "^0*[1-9][0-9]{0,17}$"},
            ]}},
            {
                "type": "string",
                "pattern": r"^ *(0*[1-9][0-9]{0,17}( *, *0*[1-9][0-9]{0,17})*)? *$",
                "description": "The numbers, separated by commas.",
            },
        ]}),
        Kind::Text { max, form: Form::Capitals } => {
            json!({"type": "string", "pattern": format!(r"^\s*[A-Z]{{{max}}}\s*$")})
        }
        Kind::Text { form: Form::Name, .. } | Kind::Choice(_) => {
            output(&Field { nullable: false, ..*field })
        }
        Kind::Json => json!({
            "type": "object",
            "propertyNames": {"pattern": r"^[^\u0000]*$"},
            // The default, without which a generator of clients permits no member.
            "additionalProperties": true,
            "description": "Any JSON object of at most 64 KiB, nested at most 64 levels deep, without NUL \
                characters and noncharacters of Unicode.",
        }),
        Kind::Words(_) | Kind::JsonList(_) | Kind::JsonObject(_) | Kind::JsonByKey(_) => {
            output(field)
        }
        Kind::Text { max, form: Form::WebAddress } => json!({
            "type": "string",
            "pattern": r"^([hH][tT][tT][pP][sS]?://[^\s\u0000-\u001f\u007f-\u009f]+)?$",
            "maxLength": max,
        }),
        Kind::Text { max, form } => text(Some(max), form, field.required),
        // White space at its ends may exceed its length.
        Kind::Code { .. } => text(None, Form::Identifier, field.required),
        Kind::Email => {
            let address = json!({"type": "string", "format": "email", "maxLength": 254});
            if field.required {
                address
            } else {
                either(address, json!({"type": "string", "maxLength": 0}))
            }
        }
    };
    if field.nullable { or_null(schema) } else { schema }
}

/// A value in a filter: the text of a query parameter. An empty text counts as not sent.
pub fn filter(kind: Kind) -> Value {
    let schema = match kind {
        Kind::Flag => flag(),
        Kind::Int { .. } | Kind::Key(_) | Kind::User => json!({
            "type": "integer", "format": "int64", "minimum": i64::MIN, "maximum": i64::MAX,
        }),
        Kind::Decimal { .. } => json!({"type": "string", "pattern": DECIMAL}),
        Kind::Choice(words) => json!({"type": "string", "enum": words}),
        Kind::DateTime => input_day(),
        Kind::Text { .. }
        | Kind::Code { .. }
        | Kind::Email
        | Kind::Ids
        | Kind::Words(_)
        | Kind::Json
        | Kind::JsonList(_)
        | Kind::JsonObject(_)
        | Kind::JsonByKey(_) => {
            return json!({"type": "string"});
        }
    };
    or_empty(schema)
}

/// Text to search for. Control characters in it, and white space around it, are ignored.
pub fn sought(max: usize) -> Value {
    let (ignored, counted) = (r"[\u0000-\u001f\u007f-\u009f]", r"[^\u0000-\u001f\u007f-\u009f]");
    json!({
        "type": "string",
        "description": format!("At most {max} characters."),
        "pattern": format!(r"^(\s|{ignored})*({counted}{ignored}*){{0,{max}}}(\s|{ignored})*$"),
    })
}

/// A moment as clients may write it.
pub fn input_moment() -> Value {
    json!({
        "type": "string",
        "pattern": format!("^{}({TIME}({OFFSET})?)?$", day()),
        "description": "A date, or a date and time with an optional offset; UTC without one.",
    })
}

/// A day, `YYYY-MM-DD`.
pub fn input_day() -> Value {
    json!({"type": "string", "format": "date", "pattern": format!("^{}$", day())})
}

/// A value that may be empty, which counts as not sent. White space and control characters count as
/// empty.
pub fn or_empty(schema: Value) -> Value {
    let empty = json!({"type": "string", "pattern": r"^[\s\u0000-\u001f\u007f-\u009f]*$"});
    either(schema, empty)
}

/// An example value of a field.
pub fn example_of(field: &Field) -> Value {
    match field.kind {
        Kind::Int { min, max } => json!(1.clamp(min, max)),
        Kind::Flag => json!(1),
        Kind::Decimal { places, shown, max, .. } => {
            // 19.5, or the greatest value below it that the field can hold.
            let unit = 10_i64.pow(places.into());
            json!(decimal_text((19 * unit + unit / 2).min(max), places, shown))
        }
        Kind::Text { max, form: Form::Capitals } => json!("EURO"[..max.min(4)]),
        Kind::Text { form: Form::Name, .. } => json!("simple"),
        Kind::Text { form: Form::Code | Form::Printable, .. } => json!("SPRING-26"),
        Kind::Text { form: Form::WebAddress, .. } => json!("https://example.com/"),
        Kind::Text { max, .. } => json!(&"Any text"[..max.min(8)]),
        Kind::Choice(words) => json!(words.first()),
        Kind::DateTime => json!("2026-01-31T12:00:00"),
        Kind::Ids => json!([1, 2]),
        Kind::Words(known) => json!(known.first().into_iter().collect::<Vec<_>>()),
        Kind::Json => json!({}),
        Kind::JsonList(members) => json!([example_object(members)]),
        Kind::JsonObject(members) => example_object(members),
        Kind::JsonByKey(members) => json!({"1": example_object(members)}),
        Kind::Key(_) | Kind::User => json!(1),
        Kind::Code { max: 3, .. } => json!("EUR"),
        Kind::Code { .. } => json!("20260131-0000001"),
        Kind::Email => json!("ada@example.com"),
    }
}

fn example_object(members: &[(&str, Kind)]) -> Value {
    let value = |kind| match kind {
        Kind::Text { .. } => json!("invalid_value"),
        _ => example_of(&Field::of_kind("", kind)),
    };
    let example = members.iter().map(|(name, kind)| ((*name).to_owned(), value(*kind)));
    Value::Object(example.collect())
}

/// What a new record gets where a body omits a field, as a sentence; `None` where its meaning has
/// it, and for no value or an empty text.
pub fn default_of(field: &Field) -> Option<String> {
    let value = match (field.initial, field.kind) {
        (Initial::Int(units), Kind::Decimal { places, shown, .. }) => {
            decimal_text(units, places, shown)
        }
        (Initial::Int(number), _) => number.to_string(),
        (Initial::Text(text), _) if !text.is_empty() => text.to_owned(),
        (Initial::Now, _) => "the moment of the request".to_owned(),
        (Initial::Unset | Initial::Text(_) | Initial::Derived, _) => return None,
    };
    Some(format!("Default: {value}."))
}

const DECIMAL: &str = r"^-?[0-9]+(\.[0-9]+)?$";

/// The pattern of the shortest exact texts of decimals with at least `shown` fraction digits.
fn shown_decimal(places: u8, shown: u8, min: i64) -> String {
    let sign = if min < 0 { "-?" } else { "" };
    let further = match places.saturating_sub(shown) {
        0 => String::new(),
        more => format!("([0-9]{{0,{}}}[1-9])?", more - 1),
    };
    let fraction = match shown {
        0 => format!(r"(\.[0-9]{{0,{}}}[1-9])?", places.saturating_sub(1)),
        _ => format!(r"\.[0-9]{{{shown}}}{further}"),
    };
    format!("^{sign}(0|[1-9][0-9]*){fraction}$")
}

/// 0 or 1 in any accepted form. Not a single list of all forms, because client generators refuse
/// such a list.
fn flag() -> Value {
    json!({"anyOf": [
        {"type": "integer", "enum": [0, 1]},
        {"type": "boolean"},
        {"type": "string", "enum": ["0", "1"]},
    ]})
}

/// A whole number, also as a string of digits.
fn whole(min: i64, max: Option<i64>) -> Value {
    let max = max.unwrap_or(i64::MAX);
    json!({"anyOf": [
        {"type": "integer", "format": width(min, max), "minimum": min, "maximum": max},
        {"type": "string", "pattern": digits(min, max)},
    ]})
}

/// The format of the whole numbers between two limits.
fn width(min: i64, max: i64) -> &'static str {
    if i32::try_from(min).is_ok() && i32::try_from(max).is_ok() { "int32" } else { "int64" }
}

/// The pattern of the whole numbers between two limits.
fn digits(min: i64, max: i64) -> String {
    let mut forms = vec![format!("0*({})", up_to(max.unsigned_abs()))];
    if min <= 0 {
        forms.push("-?0+".to_owned());
    }
    if min < 0 {
        forms.push(format!("-0*({})", up_to(min.unsigned_abs())));
    }
    format!("^({})$", forms.join("|"))
}

/// The pattern of the numbers from 1 to `max`.
fn up_to(max: u64) -> String {
    let digits = max.to_string();
    let mut forms = Vec::new();
    if digits.len() > 1 {
        forms.push(format!("[1-9][0-9]{{0,{}}}", digits.len() - 2));
    }
    // Numbers with as many digits: the first digit that differs is smaller.
    for (place, digit) in digits.bytes().enumerate() {
        let least = if place == 0 { b'1' } else { b'0' };
        if digit > least {
            let (same, left) = (&digits[..place], digits.len() - place - 1);
            let (least, most) = (char::from(least), char::from(digit - 1));
            forms.push(format!("{same}[{least}-{most}][0-9]{{{left}}}"));
        }
    }
    forms.push(digits);
    forms.join("|")
}

/// An exact decimal within limits that are given in units, as a string or a number.
fn decimal(places: u8, min: i64, max: i64) -> Value {
    let unit = 10_i64.pow(places.into());
    let sign = if min < 0 { "-?" } else { "" };
    let digits = (max / unit).to_string().len();
    let fraction = format!(r"(\.[0-9]{{1,{places}}}0*)?");
    let text = match max % unit {
        _ if min > 0 => {
            // Has a digit other than 0, before the point or after leading zeros.
            let whole = format!("0*[1-9][0-9]{{0,{}}}{fraction}", digits - 1);
            let below_one = (0..places)
                .map(|zeros| format!(r"0+\.0{{{zeros}}}[1-9][0-9]{{0,{}}}0*", places - 1 - zeros));
            let all: Vec<String> = std::iter::once(whole).chain(below_one).collect();
            format!("^({})$", all.join("|"))
        }
        // The greatest value is a power of ten, with one digit more than any other value.
        0 => format!(r"^{sign}0*({}(\.0+)?|[0-9]{{1,{}}}{fraction})$", max / unit, digits - 1),
        _ => format!("^{sign}0*[0-9]{{1,{digits}}}{fraction}$"),
    };
    let mut number = Map::from_iter([("type".to_owned(), json!("number"))]);
    // A limit that binary floating point cannot represent is replaced by the nearest whole number.
    match min % unit {
        0 => number.insert("minimum".to_owned(), json!(min / unit)),
        1.. => number.insert("exclusiveMinimum".to_owned(), json!(min / unit)),
        _ => number.insert("exclusiveMinimum".to_owned(), json!(min / unit - 1)),
    };
    match max % unit {
        0 => number.insert("maximum".to_owned(), json!(max / unit)),
        _ => number.insert("exclusiveMaximum".to_owned(), json!(max / unit + 1)),
    };
    json!({
        "anyOf": [
            {"type": "string", "pattern": text, "description": "Better than a number, which programs round."},
            number,
        ],
        "description": format!("An exact decimal with at most {places} digits after the point."),
    })
}

/// Text of a form. A required text contains more than white space.
fn text(max: Option<usize>, form: Form, required: bool) -> Value {
    // The characters that are allowed, and those of which one is required where the text must not
    // be blank.
    let (any, visible) = match form {
        Form::Code => (r"[^\s\u0000-\u001f\u007f-\u009f]", r"[^\s\u0000-\u001f\u007f-\u009f]"),
        Form::Printable => (r"[^\u0000-\u001f\u007f-\u009f]", r"[^\s\u0000-\u001f\u007f-\u009f]"),
        Form::Free | Form::Capitals | Form::Name | Form::Identifier | Form::WebAddress => {
            (r"[^\u0000]", r"[^\s\u0000]")
        }
    };
    let ends = match form {
        Form::Code | Form::Printable => r"\s*",
        _ => "",
    };
    let pattern = if required {
        format!("^{ends}{any}*{visible}{any}*{ends}$")
    } else {
        format!("^{ends}{any}*{ends}$")
    };
    let mut schema = json!({"type": "string", "pattern": pattern});
    if required {
        schema["minLength"] = json!(1);
    }
    if let Some(max) = max.filter(|max| *max < usize::MAX) {
        schema["maxLength"] = json!(max);
    }
    schema
}

fn or_null(mut schema: Value) -> Value {
    match schema.get_mut("type") {
        Some(name) => {
            *name = json!([name.take(), "null"]);
            schema
        }
        None => either(schema, json!({"type": "null"})),
    }
}

/// A value that matches one of the two schemas.
fn either(mut schema: Value, other: Value) -> Value {
    match schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(options) => {
            options.push(other);
            schema
        }
        None => json!({"anyOf": [schema, other]}),
    }
}

/// The pattern of an existing day in the years 0001 to 9999.
fn day() -> String {
    // Years divisible by 4, except those divisible by 100 but not by 400. The year 0000 is
    // excluded.
    let fours = "(0[48]|[2468][048]|[13579][26])";
    let leap = format!("([0-9]{{2}}{fours}|{fours}00)");
    let year = "([0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})";
    let months = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])\
        |(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8])";
    format!("({year}-({months})|{leap}-02-29)")
}

const TIME: &str = "T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";
const OFFSET: &str = "Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]";

/// The pattern of a moment in an answer.
fn date_time() -> String {
    format!("^{}{TIME}$", day())
}
