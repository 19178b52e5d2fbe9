//! The type and the record in the address of a page, as far as the user may view them.

use percent_encoding::percent_decode_str;

use crate::admin::paths::href;
use crate::admin::problem::Problem;
use crate::admin::records::model::{Kind, Route, Types};
use crate::admin::records::record::Record;
use crate::admin::records::{asking, showing};
use crate::admin::visit::Visit;

/// The type in the address of a page.
pub(super) struct At<'v> {
    pub(super) visit: &'v Visit,
    pub(super) types: &'v Types,
    pub(super) kind: &'v Kind,
}

impl<'v> At<'v> {
    /// The type, if the user may view its records.
    pub(super) fn of(visit: &'v Visit) -> Result<Self, Problem> {
        let [extension, name, ..] = visit.params.as_slice() else { return Err(Problem::NotFound) };
        let types = visit.types(extension)?.ok_or(Problem::NotFound)?;
        let kind = types.kind(name).ok_or(Problem::NotFound)?;
        let viewed = kind.list.as_ref().or(kind.show.as_ref());
        if viewed.is_some_and(|route| visit.may_use(route)) {
            Ok(Self { visit, types, kind })
        } else {
            Err(Problem::NotFound)
        }
    }

    /// A route, if there is one that the user may use.
    pub(super) fn offered<'r>(&self, route: Option<&'r Route>) -> Result<&'r Route, Problem> {
        route.filter(|route| self.visit.may_use(route)).ok_or(Problem::NotFound)
    }

    /// The key in the address.
    pub(super) fn id(&self) -> Result<String, Problem> {
        let id = self.visit.params.get(2).ok_or(Problem::NotFound)?;
        let id = percent_decode_str(id).decode_utf8().map_err(|_| Problem::NotFound)?;
        Ok(id.into_owned())
    }

    /// The record in the address.
    pub(super) async fn record(&self) -> Result<Record, Problem> {
        Ok(asking::show(self.visit, self.kind, &self.id()?, &[]).await?.0)
    }

    /// The address of the list.
    pub(super) fn list(&self) -> String {
        list(&self.types.extension, &self.kind.name)
    }

    /// The address of the page of a record.
    pub(super) fn page(&self, id: &str) -> String {
        page(&self.types.extension, &self.kind.name, id)
    }

    /// What leads to a page about a record.
    pub(super) fn trail(&self, record: Option<&Record>) -> Vec<(String, String)> {
        let list = (self.list(), self.kind.title.clone());
        let record =
            record.map(|record| (self.page(&record.id), showing::label(record, self.kind)));
        [list].into_iter().chain(record).collect()
    }
}

/// The address of a list.
pub(super) fn list(extension: &str, kind: &str) -> String {
    href(&format!("/records/{extension}/{kind}"))
}

/// The address of the page of a record.
pub(super) fn page(extension: &str, kind: &str, id: &str) -> String {
    format!("{}/{}", list(extension, kind), asking::segment(id))
}
