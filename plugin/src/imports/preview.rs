//! The beginning of a report on request: how the columns of a file are understood, and its first records as they
//! were read. People look at it before they import. Nothing is looked up and nothing is judged here.

use serde_json::{Value as Json, json};

use super::header::canonical;
use super::reader::{Line, Reader};
use crate::error::Error;
use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::model::table::{Column, Naming};
use crate::model::value::Kind;
use crate::wire::answer;

/// How many records are shown.
pub(super) const RECORDS: usize = 5;

/// The line of the report about the file that is read, with these records.
pub(super) fn of(
    reader: &Reader,
    first: &[Result<Line, Error>],
    resource: &'static Resource,
    registry: Registry,
) -> Json {
    let lines = || first.iter().filter_map(|line| line.as_ref().ok());
    let mut names: Vec<&str> = reader.columns().collect();
    if names.is_empty() {
        let members = lines().filter_map(|line| line.members.as_ref().ok()).flatten();
        for (name, _) in members {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    let columns: Vec<Json> =
        names.into_iter().map(|name| column(name, resource, registry)).collect();
    let records: Vec<Json> = lines().map(record).collect();
    json!({"preview": {"columns": columns, "records": records}})
}

/// A column, with the field that it is and what that takes. Both are null if there is no such field.
fn column(name: &str, resource: &'static Resource, registry: Registry) -> Json {
    let known = canonical(name, resource);
    let own = Column::all(resource, false, registry);
    let own = own.iter().find(|column| column.name() == known);
    let own = own.map(|column| (column.name().into_owned(), takes(column.kind())));
    let related = || {
        let Naming { one, by } = Naming::of(resource, registry).find(|of| of.name() == name)?;
        let takes = format!("the {} of a {}", by.name, one.target.singular);
        Some((one.field.name.to_owned(), takes))
    };
    let children = || {
        let children = resource.children.filter(|children| children.name == name)?;
        Some((children.name.to_owned(), "a list as JSON".to_owned()))
    };
    let (field, takes) = own.or_else(related).or_else(children).unzip();
    json!({"name": name, "field": field, "takes": takes})
}

/// What a field of this kind takes, in a few words.
fn takes(kind: Kind) -> String {
    match kind {
        Kind::Int { .. } => "a whole number".to_owned(),
        Kind::Flag => "1 or 0".to_owned(),
        Kind::Decimal { places, .. } => {
            format!("a number with a point and at most {places} places")
        }
        Kind::Text { max, .. } | Kind::Code { max, .. } => {
            format!("text of at most {max} characters")
        }
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        Kind::DateTime => "a moment, such as 2026-01-31T09:30:00".to_owned(),
        Kind::Ids => "a list of ids".to_owned(),
        Kind::Words(_) => "a list of words".to_owned(),
        Kind::Json | Kind::JsonObject(_) | Kind::JsonByKey(_) => "an object as JSON".to_owned(),
        Kind::JsonList(_) => "a list as JSON".to_owned(),
        Kind::Key(_) => "an id".to_owned(),
        Kind::User => "the id of a user".to_owned(),
        Kind::Email => "an e-mail address".to_owned(),
    }
}

/// A record as it was read, or what is wrong with its line.
fn record(line: &Line) -> Json {
    match &line.members {
        Ok(members) => {
            let members: serde_json::Map<String, Json> = members
                .iter()
                .map(|(name, literal)| {
                    // A literal is JSON already; a number with more digits than fit is shown as its text.
                    let value = serde_json::from_str(literal.get());
                    (name.clone(), value.unwrap_or_else(|_| literal.get().into()))
                })
                .collect();
            json!({"line": line.number, "members": members})
        }
        Err(fault) => {
            json!({"line": line.number, "errors": answer::members(vec![fault.clone()])})
        }
    }
}
