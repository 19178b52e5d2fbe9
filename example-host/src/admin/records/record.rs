//! Records as the API answers them: documents of JSON:API, or plain objects where an extension answers these.

use serde_json::{Map, Value};

use crate::admin::openapi::{members, plain};

use super::model::{Kind, Relation};

/// The members in which a plain object has its list of records.
const LISTS: [&str; 5] = ["data", "items", "results", "records", "rows"];
/// The members with the number of all records of a list.
const TOTALS: [&str; 3] = ["total", "count", "total_count"];

/// A record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// The name of its type.
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) attributes: Map<String, Value>,
    /// The related records, by the name of the relationship.
    pub(crate) relations: Vec<(String, Vec<Identity>)>,
    /// What else is known of it.
    pub(crate) meta: Map<String, Value>,
    /// The version; empty if it has none.
    pub(crate) version: String,
}

/// The type and the key of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) kind: String,
    pub(crate) id: String,
}

/// A page of a list.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) records: Vec<Record>,
    /// The number of records in the answer, those included that cannot be read.
    pub(crate) answered: usize,
    /// Related records.
    pub(crate) included: Vec<Record>,
    /// The number of all records of the list, if the answer has it.
    pub(crate) total: Option<u64>,
    /// The queries of the pages beside it.
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl Listed {
    /// Reads an answer with records of a type.
    pub(crate) fn read(kind: &Kind, answer: &Value) -> Self {
        let named = LISTS.iter().find_map(|name| answer[name].as_array());
        let records = answer.as_array().or(named).map(Vec::as_slice).unwrap_or_default();
        let total = |of: &Value| TOTALS.iter().find_map(|name| of[name].as_u64());
        let beside = |way: &str| {
            let link = &answer["links"][way];
            let link = link.as_str().or(link["href"].as_str())?;
            Some(link.split_once('?')?.1.to_owned())
        };
        Self {
            records: records.iter().filter_map(|of| Record::read(kind, of)).collect(),
            answered: records.len(),
            included: included(answer),
            total: total(&answer["meta"]).or(total(answer)),
            before: beside("prev"),
            after: beside("next"),
        }
    }
}

/// The related records in an answer.
pub(crate) fn included(answer: &Value) -> Vec<Record> {
    members(&answer["included"]).filter_map(Record::of_document).collect()
}

impl Record {
    /// Reads a record of a type.
    pub(crate) fn read(kind: &Kind, record: &Value) -> Option<Self> {
        let Some(key) = &kind.key else { return Self::of_document(record) };
        let attributes = record.as_object()?.clone();
        let id = plain(attributes.get(key)?);
        (!id.is_empty()).then(|| Self {
            kind: kind.name.clone(),
            id,
            attributes,
            ..Self::default()
        })
    }

    /// Reads the record of an answer with one record.
    pub(crate) fn of_answer(kind: &Kind, answer: &Value) -> Option<Self> {
        Self::read(kind, if kind.key.is_some() { answer } else { &answer["data"] })
    }

    /// Reads a record of JSON:API.
    fn of_document(record: &Value) -> Option<Self> {
        let object = |member: &str| record[member].as_object().cloned().unwrap_or_default();
        let relations = record["relationships"].as_object().into_iter().flatten();
        let relations = relations.filter_map(|(name, related)| {
            let data = related.get("data")?;
            let one = std::iter::once(data).filter(|data| data.is_object());
            let all = one.chain(members(data)).filter_map(Identity::read);
            Some((name.clone(), all.collect()))
        });
        let Identity { kind, id } = Identity::read(record)?;
        let meta = object("meta");
        Some(Self {
            kind,
            id,
            attributes: object("attributes"),
            relations: relations.collect(),
            version: meta.get("version").map(plain).unwrap_or_default(),
            meta,
        })
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity { kind: self.kind.clone(), id: self.id.clone() }
    }

    /// The record that a relationship has, if that has one only.
    pub(crate) fn related(&self, relation: &str) -> Option<&Identity> {
        let (_, related) = self.relations.iter().find(|(name, _)| name == relation)?;
        related.first().filter(|_| related.len() == 1)
    }

    /// The key of the record of another type that it belongs to: that of a relationship, or of an attribute that
    /// refers to it.
    pub(crate) fn parent(&self, kind: &Kind, parent: &str) -> Option<String> {
        let mut related = self.relations.iter().flat_map(|(_, related)| related);
        if let Some(found) = related.find(|found| found.kind == parent) {
            return Some(found.id.clone());
        }
        let mut attributes = kind.attributes.iter();
        let refers = attributes.find(|of| of.reference.as_deref() == Some(parent))?;
        self.attributes.get(&refers.name).map(plain).filter(|id| !id.is_empty())
    }

    /// The attributes, and the keys of related records by the names of attributes that would have them.
    pub(crate) fn values(&self) -> Map<String, Value> {
        let mut values = self.attributes.clone();
        for (name, related) in &self.relations {
            if let [one] = related.as_slice() {
                values.entry(format!("{name}_id")).or_insert_with(|| one.id.as_str().into());
            }
        }
        values
    }
}

impl Identity {
    fn read(of: &Value) -> Option<Self> {
        let id = plain(&of["id"]);
        let kind = of["type"].as_str()?.to_owned();
        (!id.is_empty()).then_some(Self { kind, id })
    }
}

impl Relation {
    /// Whether a list can include the one record that it leads to.
    pub(crate) fn names_one(&self) -> bool {
        self.included && !self.many
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admin::records::reading::kind_of_list;

    #[test]
    fn documents_are_read_with_what_they_include() {
        let attributes = json!({"properties": {"name": {"type": "string"}, "writer_id": {"type": "integer", "x-reference": "writers"}}});
        let item = json!({"x-label": ["name", "of"], "properties": {"attributes": attributes}});
        let kind =
            kind_of_list(&[], json!({"properties": {"data": {"type": "array", "items": item}}}));
        let listed = Listed::read(
            &kind,
            &json!({
                "data": [
                    {"type": "things", "id": "7", "attributes": {"name": "Lamp", "writer_id": 4},
                     "relationships": {"owner": {"data": {"type": "people", "id": "2"}},
                                       "parts": {"data": [{"type": "parts", "id": "1"}, {"type": "parts", "id": "3"}]}},
                     "meta": {"version": 3}},
                    {"type": "things"}, 7,
                    {"type": "things", "id": "8", "attributes": {"name": " "}},
                ],
                "included": [{"type": "people", "id": "2", "attributes": {"name": "Ann"}}],
                "links": {"next": "/api/things?page=2", "prev": {"href": "/api/things?page=0"}},
                "meta": {"total": 40},
            }),
        );
        assert_eq!(
            (listed.total, listed.after.as_deref(), listed.before.as_deref()),
            (Some(40), Some("page=2"), Some("page=0"))
        );
        let lamp = &listed.records[0];
        assert_eq!(lamp.version, "3");
        assert_eq!(lamp.related("owner").map(|of| of.id.as_str()), Some("2"));
        assert_eq!(lamp.related("parts"), None);
        assert_eq!(lamp.parent(&kind, "people"), Some("2".to_owned()));
        assert_eq!(lamp.parent(&kind, "writers"), Some("4".to_owned()));
        let ann = Identity { kind: "people".to_owned(), id: "2".to_owned() };
        assert_eq!(listed.included[0].identity(), ann);
    }

    #[test]
    fn plain_objects_are_read_with_their_key() {
        let item = json!({"properties": {"id": {"type": "integer"}, "name": {"type": "string"}}});
        let kind = kind_of_list(&[], json!({"type": "array", "items": item}));
        let records = json!([{"id": 7, "name": "Lamp"}, {"name": "without a key"}, null]);
        for answer in [records.clone(), json!({"items": records, "total": 9})] {
            let listed = Listed::read(&kind, &answer);
            let found: Vec<_> =
                listed.records.iter().map(|of| (of.id.as_str(), &of.attributes["name"])).collect();
            assert_eq!(found, [("7", &json!("Lamp"))]);
        }
        for answer in [json!(null), json!({"data": {}}), json!("x"), json!([[]])] {
            assert!(Listed::read(&kind, &answer).records.is_empty(), "{answer}");
        }
    }
}
