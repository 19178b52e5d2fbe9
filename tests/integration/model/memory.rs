//! The model: what is in the store, as a map of records. It is kept through the feed of changes, like the copy of any
//! client, and each answer of the store is compared with it.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use plugin::model::field::Field;
use plugin::model::relation::Relation;
use plugin::model::resource::{Resource, Unique};
use plugin::model::value::Kind;
use plugin::resources::REGISTRY;
use serde_json::{Map, Value, json};

use crate::support::mirror::{Mirror, Name};

/// The records of a store.
pub struct Records {
    pub mirror: Mirror,
    /// What bodies have set and no document shows.
    pub hidden: BTreeMap<Name, Map<String, Value>>,
    /// The records that the steps have made or changed.
    pub touched: BTreeSet<Name>,
}

impl Records {
    pub fn new(mirror: Mirror) -> Records {
        Records { mirror, hidden: BTreeMap::new(), touched: BTreeSet::new() }
    }

    /// The keys of all records of a type, in order.
    pub fn keys(&self, kind: &str) -> Vec<i64> {
        let records = self.mirror.records.range((kind.to_owned(), String::new())..);
        let of_kind = records.take_while(|((of, _), _)| of == kind);
        let mut keys: Vec<i64> = of_kind.map(|((_, id), _)| id.parse().unwrap()).collect();
        keys.sort_unstable();
        keys
    }

    /// The key of some record of a type, rather a new one than an old one.
    pub fn any(&self, kind: &str, rng: &mut Rng) -> Option<i64> {
        let keys = self.keys(kind);
        let newest = &keys[keys.len().saturating_sub(12)..];
        if rng.u8(..8) == 0 { rng.choice(&keys) } else { rng.choice(newest) }.copied()
    }

    pub fn get(&self, kind: &str, key: i64) -> Option<&Value> {
        self.mirror.records.get(&name(kind, key))
    }

    /// The value of a field of a record, shown or not.
    pub fn value(&self, kind: &str, key: i64, field: &str) -> Value {
        let Some(resource) = REGISTRY.find(kind) else { return Value::Null };
        if field == resource.key {
            return json!(key);
        }
        if let Some(known) = resource.fields().find(|known| known.name == field)
            && let Some(joined) = self.joined(resource, key, known)
        {
            return joined;
        }
        let Some(record) = self.get(kind, key) else { return Value::Null };
        if let Some(value) = record["attributes"].get(field) {
            return value.clone();
        }
        let hidden = self.hidden.get(&name(kind, key)).and_then(|hidden| hidden.get(field));
        hidden.cloned().or_else(|| related(resource, record, field)).unwrap_or(Value::Null)
    }

    /// The attributes of a record, with the present values of those that belong to another one.
    pub fn attributes(&self, resource: &'static Resource, key: i64) -> Map<String, Value> {
        let record = self.get(resource.kind, key);
        let own = record.and_then(|record| record["attributes"].as_object());
        let mut attributes = own.cloned().unwrap_or_default();
        for field in resource.list.iter().chain(resource.detail) {
            if let Some(value) = self.joined(resource, key, field) {
                attributes.insert(field.name.to_owned(), value);
            }
        }
        attributes
    }

    /// The value of a field that comes from another record.
    fn joined(&self, resource: &Resource, key: i64, field: &Field) -> Option<Value> {
        let (alias, column) = field.joined?;
        let join = resource.joins.iter().find(|join| join.alias == alias)?;
        let target = REGISTRY.iter().find(|target| target.table == join.table)?;
        let by = self.value(resource.kind, key, join.by);
        let joined = by.as_i64().filter(|key| self.get(target.kind, *key).is_some());
        Some(joined.map_or(json!(""), |key| self.value(target.kind, key, column)))
    }

    /// The records that a relation leads to.
    pub fn related(&self, relation: &Relation, kind: &str, key: i64) -> Vec<i64> {
        match relation {
            Relation::One(one) => {
                let related = self.value(kind, key, one.field.name).as_i64();
                related
                    .filter(|key| self.get(one.target.kind, *key).is_some())
                    .into_iter()
                    .collect()
            }
            Relation::Many(many) => {
                let target = many.target;
                let mut keys = self.keys(target.kind);
                keys.retain(|part| self.value(target.kind, *part, many.nested.by) == key);
                keys
            }
        }
    }

    /// Whether a record, or a new one, with the values that are given would name one that does not exist after a write, or one that lacks what
    /// both must have in common, such as a zone of another country.
    pub fn dangles(
        &self,
        resource: &'static Resource,
        key: Option<i64>,
        given: impl Fn(&str) -> Option<Value>,
    ) -> bool {
        let of = |field: &str| match (given(field), key) {
            (Some(given), _) => given,
            (None, Some(key)) => self.value(resource.kind, key, field),
            (None, None) => Value::Null,
        };
        resource.fields().filter(|field| field.joined.is_none()).any(|field| {
            let (Kind::Key(kind), Some(named)) = (field.kind, of(field.name).as_i64()) else {
                return false;
            };
            let own = field.within.map(|[own, _]| own);
            // What a snapshot names may be gone.
            if field.snapshot && given(field.name).or(own.and_then(&given)).is_none() {
                return false;
            }
            let exists = self.get(kind, named).is_some();
            let agrees =
                field.within.is_none_or(|[own, theirs]| of(own) == self.value(kind, named, theirs));
            !(named == 0 && field.zero_is_none || exists && agrees)
        })
    }

    /// Whether a record that keeps another one from being deleted refers to it.
    pub fn is_referred_to(&self, kind: &str, key: i64) -> bool {
        let mut referring = REGISTRY.iter().filter(|resource| resource.is_followed());
        referring.any(|resource| {
            let mut fields = resource.fields().filter(|field| {
                !field.owned
                    && !field.snapshot
                    && field.joined.is_none()
                    && field.computed.is_none()
            });
            fields.any(|field| {
                let value = match field.kind {
                    Kind::Key(target) if target == kind => json!(key),
                    Kind::Code { of, field, .. } if of == kind => self.value(kind, key, field),
                    _ => return false,
                };
                let keys = self.keys(resource.kind).into_iter();
                keys.into_iter().any(|of| self.value(resource.kind, of, field.name) == value)
            })
        })
    }

    /// Whether a record with these values would have what must be unique in common with another one.
    pub fn is_duplicate(
        &self,
        resource: &'static Resource,
        key: Option<i64>,
        of: &Map<String, Value>,
    ) -> bool {
        resource.unique.iter().any(|unique| {
            let wanted = tuple(unique, |field| of.get(field).cloned().unwrap_or(Value::Null));
            if unique.unless_empty && wanted.iter().all(|value| *value == json!("")) {
                return false;
            }
            if unique.among.is_some() {
                let mut variants = self.keys("variants").into_iter();
                return variants.any(|variant| {
                    let value = |field: &str| self.value("variants", variant, field);
                    let own = value("is_master") == 1 && value("product_id").as_i64() == key;
                    !own && tuple(unique, value) == wanted
                });
            }
            self.keys(resource.kind).into_iter().any(|known| {
                let value = |field: &str| self.value(resource.kind, known, field);
                Some(known) != key && tuple(unique, value) == wanted
            })
        })
    }
}

/// The name of a record.
pub fn name(kind: &str, key: i64) -> Name {
    (kind.to_owned(), key.to_string())
}

/// Text as it is compared: without regard to case, for the words of these tests.
pub fn fold(text: &str) -> String {
    text.to_lowercase().replace('ß', "ss")
}

fn tuple(unique: &Unique, value: impl Fn(&str) -> Value) -> Vec<Value> {
    let values = unique.fields.iter().map(|field| value(field));
    values
        .map(|value| match value.as_str() {
            Some(text) if unique.any_case => json!(fold(text.trim())),
            Some(text) => json!(text.trim()),
            None => value,
        })
        .collect()
}

/// The key that a relationship of a record shows.
fn related(resource: &Resource, record: &Value, field: &str) -> Option<Value> {
    let field = resource.fields().find(|known| known.name == field)?;
    let relationship = field.relationship()?;
    let id = record["relationships"][relationship.name]["data"]["id"].as_str()?;
    id.parse::<i64>().ok().map(Value::from)
}
