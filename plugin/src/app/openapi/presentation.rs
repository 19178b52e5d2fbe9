//! How people see records, as far as their schemas do not have it: the titles of fields whose names are no words, and the
//! `x-` members by which an administration shows records, for which OpenAPI has no word.

use serde_json::{Value, json};

use crate::app::routes::{Endpoint, Operation};
use crate::model::field::Field;
use crate::model::presentation::Group;
use crate::model::resource::{Resource, capitalised};
use crate::model::value::Kind;
use crate::resources::REGISTRY;

/// A schema of the key of a record of this kind, or of a relationship to one.
pub(super) fn naming(mut schema: Value, kind: &str) -> Value {
    if REGISTRY.find(kind).is_some_and(Resource::has_own_route) {
        schema["x-reference"] = json!(kind);
    }
    schema
}

/// What people read for words of names that are run together or cut short, beside the names of records.
const WORDS: [(&str, &str); 10] = [
    ("desc", "description"),
    ("finalprice", "final price"),
    ("isdefault", "is default"),
    ("isocode", "ISO code"),
    ("min", "minimum"),
    ("max", "maximum"),
    ("orderpayment", "payment"),
    ("ordershipping", "shipping"),
    ("params", "parameters"),
    ("qty", "quantity"),
];

/// A schema of values of a field, which may be the key of a record.
pub(super) fn of_field(mut schema: Value, field: &Field) -> Value {
    if let Some(title) = title(field) {
        schema["title"] = json!(title);
    }
    match (field.kind, field.refers) {
        (Kind::Key(kind), _) | (_, Some(kind)) => naming(schema, kind),
        _ => schema,
    }
}

/// The schema of a record's own key, which nobody knows by the name of its table.
pub(super) fn of_key(mut schema: Value) -> Value {
    schema["title"] = json!("ID");
    schema
}

/// Adds to the schema of a computed row where people find it.
pub(super) fn of_row(schema: &mut Value, resource: &Resource) {
    let group = REGISTRY.find(resource.kind).and_then(|of| of.shown.group);
    if let Some(group) = group.map(Group::title) {
        schema["x-group"] = json!(group);
    }
}

/// Adds to the schema of a record how it is named and listed.
pub(super) fn of_record(schema: &mut Value, resource: &Resource) {
    schema["x-singular"] = json!(resource.singular);
    of_row(schema, resource);
    for (member, names) in
        [("x-label", resource.shown.label), ("x-columns", resource.shown.columns)]
    {
        if !names.is_empty() {
            schema[member] = json!(names);
        }
    }
}

/// The title of a field whose name is no words; the others need none.
fn title(field: &Field) -> Option<String> {
    let name = match field.kind {
        Kind::Key(_) => field.name.strip_suffix("_id").unwrap_or(field.name),
        _ => field.name,
    };
    let parts: Vec<_> = name.split('_').map(|part| (part, in_words(part))).collect();
    parts.iter().any(|(_, known)| known.is_some()).then(|| {
        let words = parts.iter().map(|(part, known)| match *part {
            "id" | "sku" => part.to_ascii_uppercase(),
            _ => known.unwrap_or(part).to_owned(),
        });
        capitalised(&words.collect::<Vec<_>>().join(" "))
    })
}

/// The words that a part of a name stands for, such as those of a record that is called by two.
fn in_words(part: &str) -> Option<&'static str> {
    let is_meant = |singular: &str| {
        singular.contains(' ') && singular.split(' ').flat_map(str::chars).eq(part.chars())
    };
    let of_record = || REGISTRY.iter().map(|of| of.singular).find(|singular| is_meant(singular));
    let known = WORDS.iter().find(|(of, _)| *of == part).map(|(_, words)| *words);
    known.or_else(of_record)
}

/// The kinds of the records that are deleted with a record, if the route deletes one.
pub(super) fn cascade(endpoint: &Endpoint) -> Vec<&'static str> {
    let Operation::Delete = endpoint.operation else { return Vec::new() };
    let is_owned = |field: &Field| field.owned && field.kind == Kind::Key(endpoint.resource().kind);
    let owned = REGISTRY.iter().filter(|resource| resource.fields().any(is_owned));
    owned.map(|resource| resource.kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::field::{int, key, text};

    #[test]
    fn a_field_whose_name_is_no_words_has_a_title() {
        for (field, written) in [
            (text("orderitem_sku", 64), Some("Order item SKU")),
            (text("country_isocode_2", 2), Some("Country ISO code 2")),
            (key("taxprofile_id", "taxprofiles"), Some("Tax profile")),
            (int("max_sale_qty"), Some("Maximum sale quantity")),
            (text("product_name", 255), None),
            (key("country_id", "countries"), None),
        ] {
            assert_eq!(title(&field).as_deref(), written, "{}", field.name);
        }
    }
}
