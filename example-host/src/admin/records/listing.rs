//! What a page asks of a list: the state that its address has, by the names of the API itself, and what the page
//! needs for its columns.

use std::collections::BTreeSet;

use crate::admin::form::Form;

use super::model::{Kind, Query};

/// The numbers of rows that a page may have; the first is the default.
pub(crate) const ROWS: [&str; 3] = ["25", "50", "100"];

/// What the address of a page has of the parameters of a list, without what is empty.
pub(crate) fn state(kind: &Kind, query: &Query, form: &Form) -> Vec<(String, String)> {
    let own = [&query.search, &query.exact, &query.keys, &query.sort, &query.offset];
    let is_own = |name: &str| own.into_iter().flatten().any(|of| of == name);
    let is_filter = |name: &str| kind.filters.iter().any(|filter| filter.name == name);
    // The pages of some orders have cursors.
    let is_page = |name: &str| name.starts_with("page[");
    let is_limit = |name: &str| query.limit.as_deref() == Some(name);
    let mut seen = BTreeSet::new();
    let kept = form.fields().filter(|(name, value)| {
        let is_known = is_own(name) || is_filter(name) || is_page(name);
        let is_kept = if is_limit(name) { ROWS.contains(value) } else { is_known };
        is_kept && !value.trim().is_empty() && seen.insert((*name).to_owned())
    });
    // The keys of records that were ticked come one by one.
    let whole = |name: &str, value: &str| {
        if query.keys.as_deref() == Some(name) {
            form.all(name).map(str::trim).collect::<Vec<_>>().join(",")
        } else {
            value.trim().to_owned()
        }
    };
    kept.map(|(name, value)| (name.to_owned(), whole(name, value))).collect()
}

/// What is asked: the state, with the number of rows, the related records that are named, and the attributes that are
/// shown.
pub(crate) fn asked(
    query: &Query,
    state: &[(String, String)],
    wanted: Wanted<'_>,
) -> Vec<(String, String)> {
    let mut asked = state.to_vec();
    if let Some(limit) = query.limit.as_ref().filter(|limit| value(state, limit).is_none()) {
        asked.push((limit.clone(), wanted.rows.to_owned()));
    }
    if let Some(include) = query.include.as_ref().filter(|_| !wanted.include.is_empty()) {
        asked.push((include.clone(), wanted.include.join(",")));
    }
    for (kind, attributes) in wanted.fields {
        let name = format!("fields[{kind}]");
        if query.fields.contains(&name) && !attributes.is_empty() {
            asked.push((name, attributes.join(",")));
        }
    }
    asked
}

/// What a page needs of a list.
#[derive(Default)]
pub(crate) struct Wanted<'a> {
    /// The number of rows, unless the state has one.
    pub(crate) rows: &'a str,
    /// The names of relationships.
    pub(crate) include: Vec<&'a str>,
    /// The attributes of each type.
    pub(crate) fields: Vec<(&'a str, Vec<&'a str>)>,
}

/// The value of a parameter.
pub(crate) fn value<'s>(state: &'s [(String, String)], name: &str) -> Option<&'s str> {
    state.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
}

/// The state without some parameters.
pub(crate) fn without(
    state: &[(String, String)],
    names: &[&Option<String>],
) -> Vec<(String, String)> {
    let is_left_out = |name: &str| {
        name.starts_with("page[after") || names.iter().any(|of| of.as_deref() == Some(name))
    };
    state.iter().filter(|(name, _)| !is_left_out(name)).cloned().collect()
}

/// An address with a query, unless that is empty.
pub(crate) fn with_query(address: String, state: &[(String, String)]) -> String {
    if state.is_empty() { address } else { format!("{address}?{}", written(state)) }
}

/// A query of an address.
pub(crate) fn written(state: &[(String, String)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(state).finish()
}
