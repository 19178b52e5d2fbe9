//! Names of related records: a line may have `category.path` in place of `category_id`. The records of all lines of
//! a transaction are looked up at once.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::reader::Line;
use super::undone::Undone;
use crate::error::{Error, Fault, FaultKind};
use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::model::table::Naming;
use crate::model::value::fold;
use crate::sql::{self, Found};
use crate::store::Transaction;
use crate::wire::body::LineMember;

/// The records that names of lines may mean.
pub(super) struct Names(Vec<Looked>);

/// A line with keys in place of names.
pub(super) struct Resolved {
    pub(super) members: Vec<LineMember>,
    /// What is wrong with its names.
    pub(super) faults: Vec<Fault>,
    /// Whether it names a record of its own type that there is not, or not yet.
    pub(super) awaits_own: bool,
    /// Whether it names one that there is.
    pub(super) names_own: bool,
    /// Whether it names a record that the dry run has undone.
    pub(super) needs_undone: bool,
}

/// What a name means.
enum Named {
    Record(i64),
    /// There is no name.
    Nothing,
    /// A record that the dry run has undone.
    Undone,
}

/// The records that the names in one column may mean.
struct Looked {
    column: String,
    naming: Naming,
    /// Whether case does not count.
    any_case: bool,
    /// Whether the records are of the type that is imported.
    is_own: bool,
    /// By the name as it is compared: each record with its name as it is, and what it is within.
    found: HashMap<String, Vec<Found>>,
}

impl Names {
    /// Looks the names of these lines up.
    pub(super) async fn look_up(
        resource: &'static Resource,
        lines: &[Line],
        registry: Registry,
        transaction: &mut Transaction,
    ) -> Result<Self, Error> {
        let mut all = Vec::new();
        for naming in Naming::of(resource, registry) {
            let column = naming.name();
            let any_case = naming.one.target.is_folded(naming.by);
            let members = lines.iter().filter_map(|line| line.members.as_ref().ok()).flatten();
            let named = members.filter(|(name, _)| *name == column);
            let texts = named.filter_map(|(_, literal)| text_of(literal));
            let mut texts: Vec<String> = texts
                .flat_map(|text| [text.trim().to_owned(), text])
                // Nothing is called by a name with a NUL, which PostgreSQL refuses.
                .filter(|text| !text.trim().is_empty() && !text.contains('\0'))
                .map(|text| if any_case { fold(&text) } else { text })
                .collect();
            texts.sort_unstable();
            texts.dedup();
            let is_own = std::ptr::eq(naming.one.target, resource);
            let mut looked = Looked { column, naming, any_case, is_own, found: HashMap::new() };
            if !texts.is_empty() {
                looked.look_up(texts, transaction).await?;
            }
            all.push(looked);
        }
        // What is within another record needs that first.
        all.sort_by_key(|looked| looked.naming.one.field.within.is_some());
        Ok(Self(all))
    }

    /// The members of a line with keys in place of names, and what is wrong with the names.
    pub(super) fn resolve(&self, mut members: Vec<LineMember>, undone: &Undone) -> Resolved {
        let mut faults = Vec::new();
        let (mut awaits_own, mut names_own, mut needs_undone) = (false, false, false);
        for looked in &self.0 {
            let Some(position) = members.iter().position(|(name, _)| *name == looked.column) else {
                continue;
            };
            let (_, literal) = members.remove(position);
            let field = looked.naming.one.field.name;
            let mut refuse = |kind, detail: String| {
                faults.push(Fault::at_pointer(kind, format!("/{}", looked.column), detail));
            };
            if members.iter().any(|(name, _)| name == field) {
                let detail = format!("{} and {field} are both there.", looked.column);
                refuse(FaultKind::InvalidValue, detail);
                continue;
            }
            match looked.key(&literal, &members, undone) {
                Ok(Named::Undone) => needs_undone = true,
                Ok(named) => {
                    names_own |= looked.is_own && matches!(named, Named::Record(_));
                    let zero = looked.naming.one.field.zero_is_none;
                    let literal = match named {
                        Named::Record(key) => serde_json::value::to_raw_value(&key),
                        _ if zero => serde_json::value::to_raw_value(&0),
                        _ => serde_json::value::to_raw_value(&()),
                    };
                    members.extend(literal.ok().map(|literal| (field.to_owned(), literal)));
                }
                Err((kind, complaint)) => {
                    awaits_own |= kind == FaultKind::MissingReference && looked.is_own;
                    refuse(kind, complaint);
                }
            }
        }
        Resolved { members, faults, awaits_own, names_own, needs_undone }
    }
}

impl Looked {
    async fn look_up(
        &mut self,
        texts: Vec<String>,
        transaction: &mut Transaction,
    ) -> Result<(), Error> {
        let Naming { one, by } = self.naming;
        let within = one.field.within.map(|[_, theirs]| theirs);
        let wanted = sql::find_by(one.target, by, texts, within, transaction.dialect());
        for found in transaction.rows(wanted).await? {
            let compared = if self.any_case { fold(&found.text) } else { found.text.clone() };
            self.found.entry(compared).or_default().push(found);
        }
        Ok(())
    }

    /// The record with a name.
    fn key(
        &self,
        literal: &RawValue,
        members: &[LineMember],
        undone: &Undone,
    ) -> Result<Named, (FaultKind, String)> {
        let column = &self.column;
        if literal.get() == "null" {
            return Ok(Named::Nothing);
        }
        let Some(text) = text_of(literal) else {
            return Err((FaultKind::InvalidValue, format!("{column} must be a string.")));
        };
        if text.trim().is_empty() {
            return Ok(Named::Nothing);
        }
        let within = match self.naming.one.field.within {
            None => None,
            Some([own, _]) => {
                let given = members.iter().find(|(name, _)| name == own);
                let given = given
                    .and_then(|(_, literal)| literal.get().trim_matches('"').parse::<i64>().ok());
                let Some(within) = given else {
                    let detail = format!("{column} needs {own} on the same line.");
                    return Err((FaultKind::MissingField, detail));
                };
                Some(within)
            }
        };
        let compare = |text: &str| if self.any_case { fold(text) } else { text.to_owned() };
        // White space at the ends may belong to a name; if not, it is a slip.
        let is_called = |text: &str| {
            let compared = compare(text);
            self.found.contains_key(&compared) || self.is_own && undone.is_called(&compared)
        };
        let text = if is_called(&text) { &*text } else { text.trim() };
        let compared = compare(text);
        let found = self.found.get(&compared).map(Vec::as_slice).unwrap_or_default();
        let fits = |of: &&Found| within.is_none() || of.within == within;
        let fitting: Vec<_> = found.iter().filter(fits).collect();
        let exact: Vec<_> = fitting.iter().copied().filter(|of| of.text == text).collect();
        let singular = self.naming.one.target.singular;
        match (&fitting[..], &exact[..]) {
            ([only], _) | (_, [only]) => Ok(Named::Record(only.key)),
            ([], _) if self.is_own && undone.is_called(&compared) => Ok(Named::Undone),
            ([], _) => {
                let detail = format!("{column}: there is no {singular} {text:?}.");
                Err((FaultKind::MissingReference, detail))
            }
            (several, _) => {
                let detail = format!("{column}: {} records are called {text:?}.", several.len());
                Err((FaultKind::MissingReference, detail))
            }
        }
    }
}

/// The text of a literal that is a string.
pub(super) fn text_of(literal: &RawValue) -> Option<String> {
    serde_json::from_str(literal.get()).ok()
}
