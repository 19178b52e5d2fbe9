//! Questions to lists, with random filters, orders, pages, included records and fields, and their answers as the
//! documentation describes them, evaluated in memory.

use std::collections::BTreeSet;

use fastrand::Rng;
use plugin::model::field::Field;
use plugin::model::relation::Relation;
use plugin::model::resource::{Filter, Nested, Resource, Test};
use plugin::resources::REGISTRY;
use serde_json::{Value, json};

use super::memory::{Records, fold, name};
use super::samples::{self, word};
use crate::support::mirror::Name;

/// A question to a list.
pub struct Query {
    pub resource: &'static Resource,
    /// The path with its query.
    pub path: String,
    below: Option<(&'static Nested, i64)>,
    filters: Vec<(Filter, String)>,
    /// The field to sort by, and whether the greatest value comes first.
    order: (Option<&'static str>, bool),
    limit: usize,
    offset: usize,
    include: Vec<Vec<Relation>>,
    /// The attributes to show, if the question selects some.
    fields: Option<Vec<&'static str>>,
}

impl Query {
    /// A question to some list of records that has an order to choose.
    pub fn random(records: &Records, rng: &mut Rng) -> Option<Query> {
        let lists =
            REGISTRY.iter().filter(|resource| !resource.lists_all() && resource.is_followed());
        let mut lists: Vec<(&'static Resource, Option<&'static Nested>)> = lists
            .flat_map(|resource| {
                let whole = resource.crud || resource.listed_at == Some(resource.kind);
                let nested = resource.nested.iter().map(move |nested| (resource, Some(nested)));
                whole.then_some((resource, None)).into_iter().chain(nested)
            })
            .collect();
        rng.shuffle(&mut lists);
        let (resource, nested) = lists.pop()?;
        let below = match nested {
            Some(nested) => {
                let parent = match nested.parent {
                    "customers" => Some(rng.i64(0..6)),
                    kind => records.any(kind, rng),
                };
                Some((nested, parent.unwrap_or(samples::MISSING)))
            }
            None => None,
        };
        let mut filters = Vec::new();
        for filter in resource.filters {
            let offered = nested.is_none_or(|nested| nested.filters.contains(&filter.name));
            if offered && rng.u8(..3) == 0 {
                filters.push((*filter, sought(filter, resource, records, rng)));
            }
        }
        let mut order = (resource.order.field, resource.order.descending);
        let mut parameters = Vec::new();
        if rng.u8(..3) > 0 {
            let sortable: Vec<&str> =
                resource.list.iter().map(|field| field.name).chain([resource.key]).collect();
            order = (rng.choice(sortable).filter(|field| *field != resource.key), rng.bool());
            let field = order.0.unwrap_or(resource.key);
            parameters.push(format!("sort={}{field}", if order.1 { "-" } else { "" }));
        }
        let (mut limit, mut offset) = (20, 0);
        if rng.bool() {
            limit = rng.usize(1..=100);
            parameters.push(format!("page[limit]={limit}"));
        }
        if rng.u8(..3) == 0 {
            offset = rng.usize(..30);
            parameters.push(format!("page[offset]={offset}"));
        }
        let relations: Vec<Relation> = Relation::of(resource, REGISTRY).collect();
        let mut include = Vec::new();
        if rng.u8(..3) == 0
            && let Some(first) = rng.choice(&relations)
        {
            let further: Vec<Relation> = Relation::of(first.target(), REGISTRY).collect();
            let second = if rng.bool() { rng.choice(&further) } else { None };
            let path: Vec<Relation> = std::iter::once(*first).chain(second.copied()).collect();
            let names: Vec<&str> = path.iter().map(Relation::name).collect();
            parameters.push(format!("include={}", names.join(".")));
            include.push(path);
        }
        let mut fields = None;
        if rng.u8(..4) == 0 {
            let mut all: Vec<&str> =
                resource.list.iter().chain(resource.detail).map(|field| field.name).collect();
            rng.shuffle(&mut all);
            all.truncate(rng.usize(1..4));
            parameters.push(format!("fields[{}]={}", resource.kind, all.join(",")));
            fields = Some(all);
        }
        for (filter, text) in &filters {
            let text: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
            parameters.push(format!("filter[{}]={text}", filter.name));
        }
        let path = match below {
            Some((nested, parent)) => format!("/{}/{parent}/{}", nested.parent, nested.segment),
            None => format!("/{}", resource.kind),
        };
        let path = format!("{path}?{}", parameters.join("&"));
        Some(Query { resource, path, below, filters, order, limit, offset, include, fields })
    }

    /// What the list has to answer: its data, `meta.total`, and the records beside it.
    pub fn answer(&self, records: &Records) -> (Vec<Value>, usize, BTreeSet<Name>) {
        let mut keys = records.keys(self.resource.kind);
        keys.retain(|key| self.holds(*key, records));
        let rank = |key: i64| match self.order.0 {
            Some(field) => {
                Rank::of(self.resource, field, records.value(self.resource.kind, key, field))
            }
            None => Rank::Nothing,
        };
        keys.sort_by_cached_key(|key| (rank(*key), *key));
        if self.order.1 {
            keys.reverse();
        }
        let total = keys.len();
        let page: Vec<i64> = keys.into_iter().skip(self.offset).take(self.limit).collect();
        let own: BTreeSet<Name> = page.iter().map(|key| name(self.resource.kind, *key)).collect();
        let mut included = BTreeSet::new();
        for path in &self.include {
            let mut from: Vec<(&str, i64)> =
                page.iter().map(|key| (self.resource.kind, *key)).collect();
            for relation in path {
                let to = from.iter().flat_map(|(kind, key)| {
                    let related = records.related(relation, kind, *key).into_iter();
                    related.map(|key| (relation.target().kind, key))
                });
                from = to.collect();
                included.extend(from.iter().map(|(kind, key)| name(kind, *key)));
            }
        }
        let included = included.difference(&own).cloned().collect();
        let data = page.into_iter().map(|key| self.shown(key, records)).collect();
        (data, total, included)
    }

    /// A record as this list shows it: its id, its attributes and its version.
    fn shown(&self, key: i64, records: &Records) -> Value {
        let mut attributes = records.attributes(self.resource, key);
        let resource = self.resource;
        attributes.retain(|name, _| match &self.fields {
            Some(fields) => fields.contains(&name.as_str()),
            None => name == resource.key || resource.list.iter().any(|field| field.name == name),
        });
        let version =
            records.get(resource.kind, key).map(|record| record["meta"]["version"].clone());
        json!({"id": key.to_string(), "attributes": attributes, "version": version})
    }

    fn holds(&self, key: i64, records: &Records) -> bool {
        let value = |field: &str| records.value(self.resource.kind, key, field);
        if let Some((nested, parent)) = self.below
            && value(nested.by) != parent
        {
            return false;
        }
        let replaced = |filter: &Filter| {
            let mut others = self.filters.iter().filter(|(_, text)| !text.trim().is_empty());
            others.any(|(other, _)| other.replaces == Some(filter.name))
        };
        self.filters.iter().all(|(filter, text)| {
            let text = text.trim();
            // One that is empty counts as not sent.
            text.is_empty() || replaced(filter) || self.passes(key, filter, text, records)
        })
    }

    fn passes(&self, key: i64, filter: &Filter, text: &str, records: &Records) -> bool {
        let kind = self.resource.kind;
        let value = |field: &str| records.value(kind, key, field);
        let day = |field: &str| plain(&value(field)).chars().take(10).collect::<String>();
        match filter.test {
            Test::Contains(fields) => fields.iter().any(|field| {
                let whole = match *field {
                    // The search finds the whole name of a person.
                    "billing_name" => {
                        format!(
                            "{} {}",
                            plain(&value("billing_first_name")),
                            plain(&value("billing_last_name"))
                        )
                    }
                    field => plain(&value(field)),
                };
                fold(&whole).contains(&fold(text))
            }),
            Test::Equals(field) => plain(&value(field)) == text,
            Test::From(field) => *day(field) >= *text,
            Test::To(field) => *day(field) <= *text,
            Test::OfPart(part) => {
                let mut variants = records.keys("variants").into_iter();
                variants.any(|variant| {
                    let of = |field: &str| records.value("variants", variant, field);
                    of(part.by) == key && fold(plain(&of(part.field)).trim()) == fold(text)
                })
            }
        }
    }
}

/// What a list is sorted by: nothing before all else, text by its case-folded form.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Nothing,
    Number(rust_decimal::Decimal),
    Text(String),
}

impl Rank {
    fn of(resource: &Resource, field: &str, value: Value) -> Rank {
        let field = resource.list.iter().find(|known| known.name == field).unwrap();
        match value {
            Value::Null => Rank::Nothing,
            Value::Number(number) => Rank::Number(number.to_string().parse().unwrap()),
            Value::String(text) if is_decimal(field) => Rank::Number(text.parse().unwrap()),
            Value::String(text) if field.kind.is_folded() => Rank::Text(fold(&text)),
            other => Rank::Text(plain(&other)),
        }
    }
}

/// A text to filter by: rather one that finds something.
fn sought(
    filter: &Filter,
    resource: &'static Resource,
    records: &Records,
    rng: &mut Rng,
) -> String {
    let (kind, field) = match filter.test {
        Test::Contains(fields) => (resource.kind, rng.choice(fields).copied().unwrap_or_default()),
        Test::Equals(field) | Test::From(field) | Test::To(field) => (resource.kind, field),
        Test::OfPart(part) => ("variants", part.field),
    };
    let known = records.any(kind, rng).map(|key| plain(&records.value(kind, key, field)));
    match filter.test {
        Test::Contains(_) => {
            let whole: Vec<char> =
                known.filter(|_| rng.u8(..4) > 0).unwrap_or_else(|| word(rng)).chars().collect();
            let from = rng.usize(..=whole.len());
            let part: String = whole[from..].iter().take(rng.usize(1..8)).collect();
            if rng.bool() { part } else { part.to_uppercase() }
        }
        // A range must not end before it begins.
        Test::From(_) => format!("2025-{:02}-{:02}", rng.u8(1..=6), rng.u8(1..=28)),
        Test::To(_) => format!("2025-{:02}-{:02}", rng.u8(7..=12), rng.u8(1..=28)),
        Test::OfPart(_) => known.unwrap_or_default().to_uppercase(),
        Test::Equals(_) => known.unwrap_or_default(),
    }
}

fn is_decimal(field: &Field) -> bool {
    matches!(field.kind, plugin::model::value::Kind::Decimal { .. })
}

/// A value as a text: nothing for null.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
