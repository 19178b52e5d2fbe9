//! The header of a file of CSV: which column is which field, and how cells become what a body has. Knows nothing
//! of how a file is read.

use serde_json::value::RawValue;

use super::source::invalid;
use crate::error::{Error, Fault, FaultKind};
use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::model::table::{Column, Naming};
use crate::model::value::Kind;
use crate::wire::body::LineMember;
use crate::wire::importing::{ID, Import, Mode};
use crate::wire::names::unknown;
use crate::wire::table::{HARMLESS, UNSET, is_escaped};

/// The columns of a file.
#[derive(Debug)]
pub(super) struct Header {
    resource: &'static Resource,
    /// Those that a file of the type may have.
    known: Vec<(String, Literal)>,
    /// The one that it must have.
    key: Option<&'static str>,
    /// Those that it has.
    columns: Vec<(String, Literal)>,
}

/// How a cell becomes a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Literal {
    /// As text, which every kind of value is read from.
    Text,
    /// As a flag, for which spreadsheets have words.
    Flag,
    /// As it is.
    Json,
}

impl Header {
    /// The columns that a file may have which is imported so.
    pub(super) fn of(import: &Import, registry: Registry) -> Self {
        let resource = import.resource;
        let own = Column::all(resource, false, registry);
        let own = own.iter().map(|column| {
            let literal = match column.kind() {
                Kind::Flag => Literal::Flag,
                kind if kind.is_json() => Literal::Json,
                _ => Literal::Text,
            };
            (column.name().into_owned(), literal)
        });
        let names = Naming::of(resource, registry).map(|naming| (naming.name(), Literal::Text));
        let children = resource.children.map(|children| (children.name.to_owned(), Literal::Json));
        let key = (import.mode != Mode::Create).then(|| import.key.name(resource));
        let known = own.chain(names).chain(children).collect();
        Self { resource, known, key, columns: Vec::new() }
    }

    /// Reads the names of the columns, which are on this line.
    ///
    /// # Errors
    /// When one is unknown or repeated, or the key is missing.
    pub(super) fn read(&mut self, line: u64, names: Vec<String>) -> Result<(), Error> {
        if names.first().is_some_and(|name| name.starts_with(HARMLESS)) {
            let detail = "This file was exported for reading only (safe=1), with apostrophes that are no part of \
                the texts; export it again without.";
            return Err(invalid(detail));
        }
        for (position, name) in names.iter().enumerate() {
            let name = canonical(name.trim(), self.resource);
            let column = position + 1;
            let Some(known) = self.known.iter().find(|(known, _)| known == name) else {
                let known = self.known.iter().map(|(known, _)| known.as_str());
                let what = unknown("column", name, self.resource.kind, known);
                return Err(invalid(format!("Line {line}, column {column}: {what}")));
            };
            if self.columns.iter().any(|(given, _)| given == name) {
                let detail =
                    format!("Line {line}, column {column}: {name} is there more than once.");
                return Err(invalid(detail));
            }
            self.columns.push(known.clone());
        }
        match self.key {
            Some(key) if self.columns.iter().all(|(name, _)| name != key) => {
                let detail = format!(
                    "The file has no column {key}, by which records are found; name another one with key, or \
                     create all records with mode=create."
                );
                Err(invalid(detail))
            }
            _ => Ok(()),
        }
    }

    /// The number of columns.
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// The name of a column.
    pub(super) fn name(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", |(name, _)| name)
    }

    /// What a record gives: an empty cell gives nothing.
    pub(super) fn members(&self, cells: &[&str]) -> Vec<LineMember> {
        let given = self.columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
        let members = given
            .filter_map(|((name, literal), cell)| Some((name.clone(), literal.read(cell).ok()?)));
        members.collect()
    }
}

impl Literal {
    fn read(self, cell: &str) -> Result<Box<RawValue>, serde_json::Error> {
        match (self, cell) {
            (_, UNSET) => RawValue::from_string("null".to_owned()),
            (_, cell) if is_escaped(cell) => serde_json::value::to_raw_value(&cell[1..]),
            (Literal::Json, cell) if serde_json::from_str::<&RawValue>(cell).is_ok() => {
                RawValue::from_string(cell.to_owned())
            }
            (Literal::Flag, cell)
                if ["true", "false"].iter().any(|word| cell.eq_ignore_ascii_case(word)) =>
            {
                RawValue::from_string(cell.to_ascii_lowercase())
            }
            // What is no value of its kind is a fault of the line, as in any body.
            (_, cell) => serde_json::value::to_raw_value(cell),
        }
    }
}

/// The name of a column: the primary key may be called `id`.
pub(super) fn canonical<'a>(name: &'a str, resource: &'static Resource) -> &'a str {
    if name == ID { resource.key } else { name }
}

/// The members of a line with the name of the primary key in the place of `id`.
pub(super) fn renamed(
    members: &[LineMember],
    resource: &'static Resource,
) -> Result<Vec<LineMember>, Fault> {
    let is_there = |wanted: &str| members.iter().any(|(name, _)| name == wanted);
    if resource.key != ID && is_there(ID) && is_there(resource.key) {
        let detail =
            format!("{ID} and {} are two names of one member, and both are there.", resource.key);
        return Err(Fault::new(FaultKind::InvalidTable, detail));
    }
    let renamed =
        |(name, literal): &LineMember| (canonical(name, resource).to_owned(), literal.clone());
    Ok(members.iter().map(renamed).collect())
}

/// The character between the cells of a file with this first line: the most frequent one, or else a comma.
pub(super) fn delimiter(first: &[u8]) -> u8 {
    let count = |byte: u8| first.iter().filter(|known| **known == byte).count();
    let mut best = b',';
    for other in *b";\t" {
        if count(other) > count(best) {
            best = other;
        }
    }
    best
}
