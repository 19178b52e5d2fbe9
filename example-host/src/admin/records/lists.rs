//! What a list takes: a search, filters, orders and pages.

use std::collections::HashSet;

use serde_json::Value;

use super::model::{Filter, Query};
use super::routes::{Found, ROUTES, Routes};
use super::schema::{bounded, in_words};

/// The maximum number of filters of a list.
const FILTERS: usize = 50;

impl<'d> Routes<'d> {
    pub(super) fn query(&self, list: &Found<'d>) -> Query {
        let parameters = self.parameters(list, "query");
        let first = |names: &[&str]| {
            let of = names.iter().find(|name| parameters.iter().any(|(known, _)| known == *name));
            of.map(|name| (*name).to_owned())
        };
        let fields =
            parameters.iter().map(|(name, _)| *name).filter(|of| of.starts_with("fields["));
        let marked = |mark: &str| {
            let of = parameters.iter().find(|(_, parameter)| parameter[mark] == true);
            of.map(|(name, _)| (*name).to_owned())
        };
        let limit = first(&["page[limit]", "limit"]);
        let declared = parameters.iter().find(|(name, _)| limit.as_deref() == Some(*name));
        let most_rows = declared
            .and_then(|(_, limit)| self.schemas.resolved(&limit["schema"])["maximum"].as_u64());
        Query {
            exact: marked("x-exact"),
            keys: marked("x-keys"),
            search: first(&["filter[search]", "search", "q"]),
            sort: first(&["sort"]),
            offset: first(&["page[offset]", "offset"]),
            limit,
            most_rows,
            include: first(&["include"]),
            fields: fields.take(FILTERS).map(str::to_owned).collect(),
        }
    }

    pub(super) fn filters(&self, list: &Found<'d>) -> Vec<Filter> {
        const OTHERS: [&str; 8] =
            ["sort", "order", "include", "fields", "offset", "limit", "page", "cursor"];
        let own = self.query(list);
        let is_filter = |name: &str| {
            if name.contains('[') { name.starts_with("filter[") } else { !OTHERS.contains(&name) }
        };
        let is_own =
            |name: &str| [&own.search, &own.keys].into_iter().flatten().any(|of| of == name);
        let found = self.parameters(list, "query").into_iter();
        let found = found.filter(|(name, _)| is_filter(name) && !is_own(name));
        let read = found.map(|(name, parameter)| {
            let schema = self.schemas.resolved(&parameter["schema"]);
            let reference = parameter["x-reference"].as_str().or(schema["x-reference"].as_str());
            let words = name.trim_start_matches("filter[").trim_end_matches(']');
            Filter {
                name: name.to_owned(),
                title: in_words(words, reference.is_some()),
                shape: self.schemas.shape(schema, &parameter["example"]),
                reference: reference.map(bounded),
            }
        });
        read.take(FILTERS).collect()
    }

    pub(super) fn sorts(&self, list: &Found<'d>) -> Vec<String> {
        let mut parameters = self.parameters(list, "query").into_iter();
        let sort = parameters.find(|(name, _)| *name == "sort");
        let schema = sort.map(|(_, sort)| self.schemas.resolved(&sort["schema"]));
        let words = schema.and_then(|schema| schema["enum"].as_array()).into_iter().flatten();
        let words: Vec<&str> = words.filter_map(Value::as_str).take(ROUTES).collect();
        let descending: HashSet<&str> =
            words.iter().filter_map(|word| word.strip_prefix('-')).collect();
        words.iter().filter(|word| descending.contains(*word)).map(|word| bounded(word)).collect()
    }
}
