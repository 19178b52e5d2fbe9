//! What a user may import and export: the routes of tables of enabled extensions, with the types that the user has
//! permissions for.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::base::error::Error;
use crate::identity::acl::{CORE_LOGIN_API, ROOT};
use crate::site::Site;

use super::catalogue::{Catalogue, Document, Operation, Parameter, Place};
use super::form::Form;
use super::paths::href;
use super::tables::{RecordType, Tables};
use super::visit::Visit;

/// A route of tables with the types that a user may use it for, of which there is one at least.
pub(crate) struct Offer<'a> {
    pub(crate) extension: &'a str,
    pub(crate) operation: &'a Operation,
    pub(crate) tables: &'a Tables,
    pub(crate) types: Vec<&'a RecordType>,
}

/// The tables that a route takes or gives.
pub(crate) type Declared = fn(&Operation) -> Option<&Tables>;
pub(crate) const IMPORTS: Declared = |operation| operation.imports.as_ref();
pub(crate) const EXPORTS: Declared = |operation| operation.exports.as_ref();

impl Visit {
    /// What the user may import or export.
    pub(crate) fn offers(&self, declared: Declared) -> Result<Vec<Offer<'_>>, Error> {
        Offer::all(&self.site, &self.catalogue, self.session.user, declared)
    }
}

impl<'a> Offer<'a> {
    /// What a user may import or export.
    pub(crate) fn all(
        site: &Site,
        catalogue: &'a Catalogue,
        user: i64,
        declared: Declared,
    ) -> Result<Vec<Self>, Error> {
        let snapshot = site.state().snapshot();
        if !snapshot.access.allows(user, CORE_LOGIN_API, ROOT) {
            return Ok(Vec::new());
        }
        let may = |of: &&RecordType| {
            of.permissions.iter().any(|needed| needed.granted(user, &snapshot).is_some())
        };
        let of_document = |document: &'a Document| {
            document.groups.iter().flat_map(|group| &group.operations).filter_map(|operation| {
                let tables = declared(operation)?;
                let types: Vec<&RecordType> = tables.types.iter().filter(may).collect();
                let extension = document.extension.as_str();
                (!types.is_empty()).then_some(Self { extension, operation, tables, types })
            })
        };
        let documents = catalogue.documents(site)?.iter();
        let enabled = documents.filter(|document| snapshot.enabled(&document.extension));
        Ok(enabled.flat_map(of_document).collect())
    }

    /// The offer of an extension; without its name, the first one.
    pub(crate) fn chosen<'o>(offers: &'o [Self], extension: &str) -> Option<&'o Self> {
        offers.iter().find(|offer| extension.is_empty() || offer.extension == extension)
    }

    /// The extensions of the other offers.
    pub(crate) fn others(&self, offers: &[Self]) -> Vec<&'a str> {
        let all = offers.iter().map(|offer| offer.extension);
        all.filter(|extension| *extension != self.extension).collect()
    }

    /// The type with this name, if it is offered.
    pub(crate) fn of_type(&self, name: &str) -> Option<&'a RecordType> {
        self.types.iter().copied().find(|of| of.name == name)
    }

    /// The types for a form.
    pub(crate) fn choices(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.types.iter().map(|of| (of.name.as_str(), of.title.as_str()))
    }

    /// The parameters that a form has given.
    pub(crate) fn given(&self, form: &Form) -> Vec<(String, String)> {
        let given = self.parameters().filter_map(|parameter| {
            let value = form.given(&parameter.field_name())?.trim().to_owned();
            Some((parameter.name.clone(), value))
        });
        given.collect()
    }

    /// The page that exports the records of a list, if they are offered.
    pub(crate) fn page_of_list(&self, document: &Document, list: &Operation) -> Option<String> {
        let is_here = self.extension == document.extension;
        let of = self.types.iter().find(|of| is_here && of.list == list.id)?;
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("extension", self.extension).append_pair("type", &of.name);
        Some(href(&format!("/export?{}", query.finish())))
    }

    /// The query of the file with the records of a list, if they are offered, and its filters apply.
    pub(crate) fn query_of_list(
        &self,
        extension: &str,
        list: &str,
    ) -> Option<Vec<(String, String)>> {
        let is_here = self.extension == extension && self.tables.filters;
        let of = self.types.iter().find(|of| is_here && of.list == list)?;
        let query = [("extension", self.extension), ("type", &of.name)];
        Some(query.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
    }

    /// The parameters that people choose, beside the type.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'a Parameter> {
        let Tables { parameter, dry_run, always, .. } = self.tables;
        let is_own = move |name: &str| {
            name == parameter || dry_run.iter().chain(always).any(|(own, _)| own == name)
        };
        self.operation
            .parameters
            .iter()
            .filter(move |of| of.place == Place::Query && !is_own(&of.name))
    }

    /// The address of an import of records of a type, with these parameters.
    pub(crate) fn import_address(
        &self,
        of: &RecordType,
        chosen: Vec<(String, String)>,
        dry_run: bool,
    ) -> String {
        let own = self.tables.dry_run.iter().filter(|_| dry_run).chain(&self.tables.always);
        self.address(of, chosen.into_iter().chain(own.cloned()))
    }

    /// The address of the route for records of a type, with these parameters.
    pub(crate) fn address(
        &self,
        of: &RecordType,
        query: impl IntoIterator<Item = (String, String)>,
    ) -> String {
        let Operation { root, path, .. } = self.operation;
        let in_path = format!("{{{}}}", self.tables.parameter);
        let named = (!path.contains(&in_path)).then(|| {
            let Tables { parameter, .. } = self.tables;
            (parameter.clone(), of.name.clone())
        });
        let mut text = form_urlencoded::Serializer::new(String::new());
        let query = text.extend_pairs(named.into_iter().chain(query)).finish();
        let name = utf8_percent_encode(&of.name, NON_ALPHANUMERIC).to_string();
        format!("{root}{}?{query}", path.replace(&in_path, &name))
    }
}
