//! The map of personal data is complete: each column of text that a database has is marked, or named as impersonal.

use std::collections::BTreeSet;

use plugin::model::resource::Resource;
use plugin::model::value::Kind;
use plugin::privacy::{IMPERSONAL, PLACES, table};
use plugin::resources::REGISTRY;

use super::marked::typed_columns;
use crate::support::bare::Bare;
use crate::support::project::root;

/// Whether a column of this type has text.
fn is_text(form: &str) -> bool {
    matches!(form, "TEXT" | "text" | "character varying" | "varchar" | "mediumtext" | "json")
}

/// What a descriptor knows of a column.
enum Known {
    /// It has data of persons.
    Personal,
    /// Nobody writes text into it: a moment, a word of a few, keys.
    NoText,
    /// It has text.
    Text,
}

/// The descriptors of a table.
fn of_table(table: &str) -> Vec<&'static Resource> {
    let places = PLACES.iter().filter_map(|place| place.resource(REGISTRY));
    places.chain(REGISTRY.iter()).filter(|resource| resource.table == table).collect()
}

fn known(table: &str, column: &str) -> Option<Known> {
    // The copies of a text, folded or in part, are what it is.
    let name = column.strip_suffix("_fold").or(column.strip_suffix("_rest")).unwrap_or(column);
    let mut fields = of_table(table).into_iter().flat_map(Resource::fields);
    let field = fields.find(|field| field.name == name && field.joined.is_none())?;
    Some(match (field.personal, field.kind) {
        (Some(_), _) => Known::Personal,
        (_, Kind::DateTime | Kind::Choice(_) | Kind::Ids | Kind::JsonList(_) | Kind::Words(_)) => {
            Known::NoText
        }
        _ => Known::Text,
    })
}

#[tokio::test]
async fn each_column_of_text_is_personal_or_named_as_impersonal() {
    let store = Bare::open().await;
    let (mut unknown, mut both) = (Vec::new(), Vec::new());
    let mut named = BTreeSet::new();
    for [table, column, form] in typed_columns(&store).await {
        let name = format!("{table}.{column}");
        let plain = column.strip_suffix("_fold").or(column.strip_suffix("_rest"));
        let is_named = IMPERSONAL.iter().any(|of| {
            of.table == table
                && (of.columns.is_empty()
                    || of.columns.contains(&&*column)
                    || plain.is_some_and(|plain| of.columns.contains(&plain)))
        });
        let of_table = of_table(&table);
        let is_named = is_named || of_table.iter().any(|of| of.impersonal.is_some());
        if is_named {
            named.insert(table.clone());
        }
        match known(&table, &column) {
            Some(Known::Personal) if is_named => both.push(name),
            Some(Known::Personal | Known::NoText) => {}
            _ if !is_text(&form) || is_named => {}
            // Moments of tables without descriptors.
            _ if column.ends_with("_on") => {}
            _ if plugin::model::kept::ALL.iter().any(|kept| kept.table == table) => {}
            _ if table == plugin::model::kept::DAY_REVISIONS.table => {}
            _ => unknown.push(name),
        }
    }
    assert_eq!(
        unknown, [""; 0],
        "mark these where they are declared, or name why they need no mark"
    );
    assert_eq!(both, [""; 0], "these are personal and impersonal");
    for of in IMPERSONAL {
        let is_noted = matches!(of.table, "shop_derived" | "shop_migrations");
        assert!(is_noted || named.contains(of.table), "there is no {}", of.table);
        assert!(!of.why.is_empty());
    }
}

#[test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
fn the_description_has_each_place_once_with_what_it_is_for() {
    let declared = plugin::app::describe().privacy.unwrap();
    let names: BTreeSet<&str> = declared.places.iter().map(|place| &*place.name).collect();
    assert_eq!(names.len(), declared.places.len());
    for place in &declared.places {
        assert!(!place.what.is_empty(), "{} has no marked field", place.name);
        assert!(!place.purpose.is_empty() && !place.kept.is_empty());
    }
    let action = plugin::app::describe().actions;
    assert!(action.iter().any(|action| action.name == declared.action));
}

#[test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
fn the_document_of_the_api_has_the_table_of_places() {
    let document = std::fs::read_to_string(root().join("plugin/API.md")).unwrap();
    let table = table(REGISTRY);
    assert!(document.contains(&table), "plugin/API.md needs this table:\n{table}");
}
