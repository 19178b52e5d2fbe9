//! The memory that the types of a document take, added up over everything that they consist of: a document of any size
//! takes less than 4 MB.

use serde_json::{Map, Value, json};

use super::model::{Action, Attribute, Filter, Kind, Nested, Query, Relation, Route, Shape, Types};
use super::reading;
use crate::admin::permission::Permission;

/// How much the types of one document may take.
const MOST: usize = 4_000_000;

/// The memory behind a value, beside what it takes itself.
trait Weight {
    fn weight(&self) -> usize;
}

impl Weight for String {
    fn weight(&self) -> usize {
        self.capacity()
    }
}

impl<T: Weight> Weight for Vec<T> {
    fn weight(&self) -> usize {
        self.capacity() * size_of::<T>() + self.iter().map(Weight::weight).sum::<usize>()
    }
}

impl<T: Weight> Weight for Option<T> {
    fn weight(&self) -> usize {
        self.as_ref().map_or(0, Weight::weight)
    }
}

impl<T: Weight> Weight for Box<T> {
    fn weight(&self) -> usize {
        size_of::<T>() + (**self).weight()
    }
}

/// The memory behind a value is that behind its members, of which those after the semicolon have none.
macro_rules! weights {
    ($($of:ident { $($heavy:ident),+ $(; $($light:ident),+)? })+) => {$(
        impl Weight for $of {
            fn weight(&self) -> usize {
                let Self { $($heavy,)+ $($($light: _,)+)? } = self;
                0 $(+ $heavy.weight())+
            }
        }
    )+};
}

weights! {
    Types { extension, kinds, groups; incomplete }
    Kind {
        name, title, singular, group, label, columns, key, attributes, list, show, create, update,
        delete, actions, nested, relations, filters, sorts, query; exported
    }
    Route {
        id, path, permissions, summary, body, media_type, accept, cascade;
        method, takes_key, takes_version
    }
    Permission { actions, asset }
    Action { name, title, route, parent }
    Nested { kind, name, title, route, query; single }
    Relation { name, kind; many, included }
    Query { search, exact, keys, sort, offset, limit, include, fields; most_rows }
    Filter { name, title, shape, reference }
    Attribute {
        name, title, description, shape, example, default, reference, minimum, maximum;
        required, read_only, nullable, max_length
    }
}

impl Weight for Shape {
    fn weight(&self) -> usize {
        match self {
            Self::Choice(words) => words.weight(),
            Self::List(of) => of.weight(),
            Self::Parts(of) | Self::Object(of) => of.weight(),
            _ => 0,
        }
    }
}

/// A document with so many types, each with so many attributes, whose texts are as long as they may be.
fn document(kinds: usize, attributes: usize) -> Value {
    let long = "x".repeat(1_000);
    let words: Vec<String> = (0..20).map(|nth| format!("{long}{nth}")).collect();
    let attribute = |nth: usize| match nth % 4 {
        0 => json!({"type": "string", "enum": words, "description": long}),
        1 => json!({"type": "array", "items": {"type": "object", "properties": {
            "a": {"type": "integer", "description": long}, "b": {"type": "string"}}}}),
        2 => json!({"type": "integer", "minimum": 0, "default": 7, "x-reference": "kind1"}),
        _ => json!({"type": "string", "title": long, "default": long, "example": long}),
    };
    let properties: Map<String, Value> =
        (0..attributes).map(|nth| (format!("attribute_{nth}"), attribute(nth))).collect();
    let body =
        json!({"content": {"application/json": {"schema": {"$ref": "#/components/record"}}}});
    let list = json!({"content": {"application/json": {"schema":
        {"type": "array", "items": {"$ref": "#/components/record"}}}}});
    let paths = (0..kinds).flat_map(|nth| {
        let all = json!({
            "get": {"responses": {"200": list}}, "post": {"requestBody": body, "summary": long},
        });
        let one = json!({
            "get": {"responses": {"200": body}}, "patch": {"requestBody": body, "summary": long},
            "delete": {"summary": long},
        });
        [(format!("/kind{nth}"), all), (format!("/kind{nth}/{{id}}"), one)]
    });
    let paths: Map<String, Value> = paths.collect();
    json!({"paths": paths, "components": {"record": {"properties": properties}}})
}

#[test]
fn the_types_of_a_document_take_less_than_4_mb_whatever_it_has() {
    for (kinds, attributes, is_whole) in [(5, 16, true), (400, 600, false), (2_000, 2, false)] {
        let types = reading::read("x", "application/json", &document(kinds, attributes));
        let weight = types.weight();
        assert_eq!(types.incomplete, !is_whole, "{kinds} types, {attributes} attributes");
        assert!(weight < MOST, "{kinds} types with {attributes} attributes take {weight} bytes");
        assert!(!types.kinds.is_empty() && !types.kinds[0].attributes.is_empty());
    }
}
