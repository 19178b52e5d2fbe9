//! A document, read to the types of its records. A type is what a list of the document has, or what a route with a
//! key answers; which routes belong to it follows from their paths and from the schemas of their answers. `x-` members
//! add what OpenAPI has no word for; each has a default. A document may be of any form: what cannot be read is left
//! out.

use std::collections::HashSet;

use host_interface::Method;
use serde_json::Value;

use crate::admin::openapi::{members, texts};
use crate::admin::tables::Tables;

use super::defaults::{columns, label, singular};
use super::model::{Action, Attribute, Kind, Nested, Relation, Route, Shape, Types};
use super::routes::{Found, ROUTES, Routes, below};
use super::schema::{bounded, in_words};

/// The maximum number of types of a document.
const KINDS: usize = 200;
/// The maximum number of actions of a type, and of lists below it.
const BELOW: usize = 50;
/// The maximum number of attributes that a document may name for a purpose.
const NAMED: usize = 20;

/// The types of records of an extension's document. `accept` is the media type of its answers.
pub(crate) fn read(extension: &str, accept: &str, document: &Value) -> Types {
    let routes = Routes::of(document, accept);
    let mut kinds = routes.kinds();
    let exported = routes.exported();
    for kind in &mut kinds {
        kind.exported = kind.list.as_ref().is_some_and(|list| exported.contains(&list.id));
    }
    let incomplete = routes.schemas.is_incomplete() || kinds.len() == KINDS;
    let groups = members(&document["x-groups"]).filter_map(Value::as_str);
    let groups = groups.take(NAMED).map(bounded).collect();
    Types { extension: extension.to_owned(), kinds, groups, incomplete }
}

/// A type, and where the document has it.
struct Source<'r, 'd> {
    name: String,
    list: Option<&'r Found<'d>>,
    /// The schema of a record.
    record: &'d Value,
}

/// A type, and the form of the path of its records.
struct Place {
    name: String,
    form: Option<String>,
}

impl Place {
    /// The end of the path of a route below a record.
    fn end_of<'r>(&self, route: &'r Found<'_>) -> Option<&'r str> {
        let end = route.form.strip_prefix(self.form.as_deref()?)?.strip_prefix('/')?;
        is_plain(&end.replace('/', "-")).then_some(end)
    }
}

impl<'d> Routes<'d> {
    fn kinds(&self) -> Vec<Kind> {
        let mut sources: Vec<Source<'_, 'd>> = Vec::new();
        for list in self.lists(0) {
            let Some((answer, kind)) = list.answer.zip(list.kind()) else { continue };
            let same = || self.lists(0).filter(|other| other.kind() == Some(kind));
            let has_records = |of: &&Found<'_>| self.at(&below(&of.form), Method::Get).is_some();
            let name = match same().find(has_records) {
                // A further list of records that have one.
                Some(main) if main.path != list.path => continue,
                None if same().nth(1).is_some() => list.path.trim_matches('/').replace('/', "-"),
                _ => kind.to_owned(),
            };
            sources.push(Source { name, list: Some(list), record: answer.record });
        }
        // Types that are only listed below others, or only shown.
        let others = self.all.iter().filter(|of| of.method == Method::Get && of.holes == 1);
        for other in others {
            let Some((answer, kind)) = other.answer.zip(other.kind()) else { continue };
            let is_record = answer.many || answer.kind.is_some();
            if is_record && sources.iter().all(|source| source.name != kind) {
                sources.push(Source { name: kind.to_owned(), list: None, record: answer.record });
            }
        }
        sources.retain(|source| is_plain(&source.name));
        sources.truncate(KINDS);
        let places: Vec<Place> = sources.iter().map(|source| self.place(source)).collect();
        let kinds = sources.iter().zip(&places);
        kinds.map(|(source, place)| self.kind(source, place, &places)).collect()
    }

    /// The lists with so many parameters in their paths.
    fn lists(&self, holes: usize) -> impl Iterator<Item = &Found<'d>> {
        self.all.iter().filter(move |route| route.is_list() && route.holes == holes)
    }

    /// Where the records of a type are.
    fn place(&self, source: &Source<'_, 'd>) -> Place {
        let in_list = source.list.map(|list| below(&list.form));
        let shown = in_list.clone().filter(|form| self.at(form, Method::Get).is_some());
        let elsewhere = || {
            let mut shown = self.all.iter().filter(|of| of.is_one() && of.holes == 1);
            let is_own = |of: &&Found<'_>| {
                of.answer.and_then(|answer| answer.kind) == Some(source.name.as_str())
            };
            Some(shown.find(is_own)?.form.clone())
        };
        Place { name: source.name.clone(), form: shown.or_else(elsewhere).or(in_list) }
    }

    fn kind(&self, source: &Source<'_, 'd>, place: &Place, places: &[Place]) -> Kind {
        let Source { name, list, record } = source;
        let at = |form: &str, method| self.at(form, method).map(|found| self.route(found));
        let of_record = |method| at(place.form.as_deref()?, method);
        let shown = place.form.as_deref().and_then(|form| self.at(form, Method::Get));
        let takes_object = |route: &Route| route.body.is_some();
        let (key, attributes) = self.attributes(record, shown);
        let tag = list.or(shown).and_then(Found::tag);
        let title = self.title(source);
        let create = list.and_then(|list| at(&list.form, Method::Post)).filter(takes_object);
        let update = of_record(Method::Patch).or_else(|| of_record(Method::Put));
        let update = update.filter(takes_object);
        let text = |member: &str| record[member].as_str().filter(|text| !text.is_empty());
        Kind {
            name: name.clone(),
            singular: text("x-singular").map_or_else(|| singular(&title), bounded),
            title,
            group: text("x-group").map(bounded),
            label: named(&record["x-label"], &attributes).unwrap_or_else(|| label(&attributes)),
            columns: named(&record["x-columns"], &attributes)
                .unwrap_or_else(|| columns(&attributes)),
            key,
            list: list.map(|list| self.route(list)),
            show: shown.filter(|shown| shown.is_one()).map(|shown| self.route(shown)),
            create: create.map(|route| completed(route, &attributes)),
            update: update.map(|route| completed(route, &attributes)),
            delete: of_record(Method::Delete),
            actions: self.actions(place, places, tag),
            nested: self.nested(place, places),
            relations: self.relations(record, list.or(shown)),
            filters: list.map(|list| self.filters(list)).unwrap_or_default(),
            sorts: list.map(|list| self.sorts(list)).unwrap_or_default(),
            query: list.or(shown).map(|read| self.query(read)).unwrap_or_default(),
            exported: false,
            attributes,
        }
    }

    /// The attributes of a record. A record that is not of JSON:API has its key among them.
    fn attributes(
        &self,
        record: &'d Value,
        shown: Option<&Found<'d>>,
    ) -> (Option<String>, Vec<Attribute>) {
        let schemas = &self.schemas;
        let own = schemas.property(record, "attributes").filter(|of| schemas.has_properties(of));
        if let Some(own) = own {
            return (None, schemas.attributes(own));
        }
        let attributes = schemas.attributes(record);
        let hole = shown.and_then(|shown| shown.path.rsplit('/').next());
        let hole = hole.map(|hole| hole.trim_matches(['{', '}']));
        let has = |name: &&str| attributes.iter().any(|of| of.name == *name);
        let key = [Some("id"), hole].into_iter().flatten().find(has);
        let key = key.or_else(|| attributes.first().map(|first| first.name.as_str()));
        (key.map(str::to_owned), attributes)
    }

    /// What several records are called. Types that share a tag are distinguished by what their routes do.
    fn title(&self, source: &Source<'_, 'd>) -> String {
        let tag = members(&self.document["tags"]).find(|tag| tag["name"] == source.name.as_str());
        let tag = tag.and_then(|tag| tag["x-displayName"].as_str());
        let shares = source.list.filter(|list| list.tag().is_some_and(|tag| tag != source.name));
        let summary = shares.and_then(|list| list.operation["summary"].as_str());
        let found = source.record["x-title"].as_str().or(tag).or(summary);
        found.map_or_else(|| in_words(&source.name, false), bounded)
    }

    /// The lists below a record, and the single records there.
    fn nested(&self, place: &Place, places: &[Place]) -> Vec<Nested> {
        let gets = self.all.iter().filter(|route| route.method == Method::Get);
        let found = gets.filter_map(|route| {
            let end = place.end_of(route)?;
            let kind = places.iter().find(|of| route.kind() == Some(&of.name))?;
            Some(Nested {
                kind: kind.name.clone(),
                name: end.replace('/', "-"),
                title: in_words(last(end), false),
                single: !route.is_list(),
                query: self.query(route),
                route: self.route(route),
            })
        });
        found.take(BELOW).collect()
    }

    /// The other requests that can be sent for a record: those below its own path, and those below its path in a
    /// list of another record.
    fn actions(&self, place: &Place, places: &[Place], tag: Option<&str>) -> Vec<Action> {
        let posts = || self.all.iter().filter(|route| route.method == Method::Post);
        let own = posts().filter_map(|route| Some((route, place.end_of(route)?, None)));
        // A record whose path is below that of another, whose key it has.
        let above = place.form.as_deref().and_then(|form| form.rsplit_once('/'));
        let above = above.map(|(form, _)| form).filter(|form| form.ends_with("{}"));
        let above = above.map(|form| Place { name: String::new(), form: Some(form.to_owned()) });
        let is_own = |route: &&Found<'_>| tag == Some(&place.name) && route.tag() == tag;
        let beside = posts().filter(is_own);
        let beside = beside.filter_map(|route| Some((route, above.as_ref()?.end_of(route)?, None)));
        let lists = self.lists(1).filter(|list| list.kind() == Some(&place.name));
        let within = lists.filter_map(|list| {
            let parent = places.iter().find(|of| of.end_of(list).is_some())?;
            let here = Place { name: parent.name.clone(), form: Some(below(&list.form)) };
            let found = posts()
                .filter_map(|route| Some((route, here.end_of(route)?, Some(here.name.clone()))));
            Some(found.collect::<Vec<_>>())
        });
        let all = own.chain(beside).chain(within.flatten());
        let read = all.map(|(found, end, parent)| {
            let route = self.route(found);
            // What adds to a list has the path of the list.
            let adds = self.at(&found.form, Method::Get).is_some_and(Found::is_list);
            let title = if adds && !route.summary.is_empty() {
                route.summary.clone()
            } else {
                in_words(last(end), false)
            };
            Action { name: end.replace('/', "-"), title, route, parent }
        });
        read.take(BELOW).collect()
    }

    fn relations(&self, record: &'d Value, read: Option<&Found<'d>>) -> Vec<Relation> {
        let schemas = &self.schemas;
        let parameters = read.map(|route| self.parameters(route, "query"));
        let mut parameters = parameters.into_iter().flatten();
        let include = parameters.find(|(name, _)| *name == "include");
        let include = include.map(|(_, include)| schemas.resolved(&include["schema"]));
        let words = include.and_then(|schema| {
            schema["items"]["enum"].as_array().or_else(|| schema["enum"].as_array())
        });
        let relations = schemas.property(record, "relationships");
        let relations = relations.map(|of| schemas.properties(of)).unwrap_or_default();
        let read = relations.into_iter().map(|(name, declared)| {
            let data = schemas.property(declared, "data");
            Relation {
                name: name.clone(),
                kind: declared["x-reference"].as_str().map(bounded),
                many: data.is_some_and(|data| data["type"] == "array"),
                included: words.is_some_and(|words| words.iter().any(|word| *word == **name)),
            }
        });
        read.take(BELOW).collect()
    }

    /// The names of the lists whose records are exported.
    fn exported(&self) -> HashSet<String> {
        let all = self.all.iter();
        let declared = all.filter_map(|route| Tables::read(&route.operation["x-export"]));
        declared.flat_map(|tables| tables.types).map(|of| of.list).take(ROUTES).collect()
    }
}

/// A route whose body takes attributes of the record: what its own schema leaves open is as in the record.
fn completed(mut route: Route, attributes: &[Attribute]) -> Route {
    for member in route.body.iter_mut().flatten() {
        let Some(known) = attributes.iter().find(|of| of.name == member.name) else { continue };
        if matches!(member.shape, Shape::Text | Shape::Raw) {
            member.shape = known.shape.clone();
        }
        if member.reference.is_none() {
            member.reference.clone_from(&known.reference);
            member.title.clone_from(&known.title);
        }
    }
    route
}

/// The last segment of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a name can be a part of an address.
fn is_plain(name: &str) -> bool {
    let allowed = |of: u8| of.is_ascii_alphanumeric() || matches!(of, b'_' | b'-' | b'.');
    (1..=64).contains(&name.len()) && name.bytes().all(allowed) && !name.starts_with('.')
}

/// The attributes that a member names: one, or an array of them.
fn named(member: &Value, attributes: &[Attribute]) -> Option<Vec<String>> {
    let known = texts(member).filter(|name| attributes.iter().any(|of| of.name == *name));
    let known: Vec<String> = known.take(NAMED).map(str::to_owned).collect();
    (!known.is_empty()).then_some(known)
}

/// The type of a list with these parameters, whose answer has this schema.
#[cfg(test)]
pub(super) fn kind_of_list(parameters: &[&str], answer: Value) -> Kind {
    use serde_json::json;
    let parameters = parameters.iter().map(|name| json!({"name": name, "in": "query"}));
    let schema = json!({"content": {"application/json": {"schema": answer}}});
    let list = json!({"parameters": parameters.collect::<Value>(), "responses": {"200": schema}});
    read("x", "", &json!({"paths": {"/things": {"get": list}}})).kinds.remove(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answers(schema: Value) -> Value {
        json!({"responses": {"200": {"content": {"application/json": {"schema": schema}}}}})
    }

    fn with(mut operation: Value, members: Value) -> Value {
        for (name, value) in members.as_object().into_iter().flatten() {
            operation[name] = value.clone();
        }
        operation
    }

    fn takes(schema: Value) -> Value {
        json!({"requestBody": {"content": {"application/json": {"schema": schema}}}})
    }

    /// A library: books with chapters, which have their own list only below a book.
    fn library() -> Value {
        let book = json!({
            "type": "object",
            "x-label": "title",
            "x-columns": ["title", "price", "nothing"],
            "x-group": "Shelves",
            "properties": {
                "type": {"const": "books"},
                "id": {"type": "string"},
                "attributes": {"$ref": "#/components/schemas/fields"},
                "relationships": {"properties": {
                    "writer": {"$ref": "#/components/schemas/one", "x-reference": "writers"},
                    "chapters": {"properties": {"data": {"type": "array"}}},
                }},
            },
        });
        let chapter = json!({"properties": {
            "type": {"enum": ["chapters"]},
            "attributes": {"properties": {"heading": {"type": "string"}}},
        }});
        let list =
            |of: &Value| answers(json!({"properties": {"data": {"type": "array", "items": of}}}));
        let one = |of: &Value| answers(json!({"properties": {"data": of}}));
        json!({
            "servers": [{"url": "https://library.example/api/"}],
            "tags": [{"name": "books", "x-displayName": "All books"}],
            "paths": {
                "/books": {
                    "get": with(list(&book), json!({
                        "operationId": "books.list",
                        "tags": ["books"],
                        "x-permission": {"action": "view", "asset": "books"},
                        "parameters": [
                            {"$ref": "#/components/parameters/include"},
                            {"name": "filter[search]", "in": "query"},
                            {"name": "filter[writer]", "in": "query", "x-reference": "writers",
                             "schema": {"type": "integer"}},
                            {"name": "page[limit]", "in": "query"},
                            {"name": "sort", "in": "query",
                             "schema": {"enum": ["title", "-title", "shelf", "-price"]}},
                        ],
                    })),
                    "post": takes(json!({"required": ["title"], "properties": {
                        "title": {"type": "string"}, "pages": {"type": "array", "items": {
                            "properties": {"number": {"type": "integer"}},
                        }},
                    }})),
                },
                "/books/{key}": {
                    "get": one(&book),
                    "delete": {"x-cascade": ["chapters"], "parameters": [
                        {"name": "If-Match", "in": "header"},
                        {"name": "Idempotency-Key", "in": "header"},
                    ]},
                },
                "/books/{key}/chapters": {"get": list(&chapter)},
                "/books/{key}/lend": {"post": takes(json!({"properties": {}}))},
                "/books/{key}/chapters/{chapter}/read": {"post": {"summary": "Read it"}},
                "/books/mine": {"get": list(&book)},
                "/export": {"get": {"x-export": {"types": [{"list": "books.list"}]}}},
            },
            "components": {
                "schemas": {
                    "fields": {"properties": {
                        "title": {"type": "string", "maxLength": 80},
                        "writer_id": {"type": ["integer", "null"], "x-reference": "writers"},
                        "price": {"type": "string", "format": "decimal"},
                    }},
                    "one": {"properties": {"data": {"type": "object"}}},
                },
                "parameters": {"include": {
                    "name": "include", "in": "query", "schema": {"items": {"enum": ["writer"]}},
                }},
            },
        })
    }

    #[test]
    fn types_are_read_with_their_routes_and_attributes() {
        let types = read("library", "application/json", &library());
        let names: Vec<_> = types.kinds.iter().map(|kind| kind.name.as_str()).collect();
        assert_eq!(names, ["books", "chapters"]);
        let Some(books) = types.kind("books") else { return };
        assert_eq!((books.title.as_str(), books.singular.as_str()), ("All books", "all book"));
        assert_eq!(books.group.as_deref(), Some("Shelves"));
        assert_eq!(
            (&books.label[..], &books.columns[..]),
            (&["title".to_owned()][..], &["title".to_owned(), "price".to_owned()][..])
        );
        assert!(books.exported && books.update.is_none());
        let list = books.list.as_ref();
        assert_eq!(list.map(|list| list.path.as_str()), Some("/api/books"));
        assert!(list.is_some_and(|list| list.permissions.len() == 1));
        assert_eq!(books.show.as_ref().map(|show| show.path.as_str()), Some("/api/books/{id}"));
        assert_eq!(books.sorts, ["title"], "only by what can be sorted both ways");
        assert_eq!(books.query.search.as_deref(), Some("filter[search]"));
        let filters: Vec<_> =
            books.filters.iter().map(|of| (of.title.as_str(), of.reference.as_deref())).collect();
        assert_eq!(filters, [("Writer", Some("writers"))]);
        let shapes: Vec<_> =
            books.attributes.iter().map(|of| (of.title.as_str(), &of.shape)).collect();
        assert_eq!(
            shapes,
            [("Title", &Shape::Text), ("Writer", &Shape::Whole), ("Price", &Shape::Decimal)]
        );
        let relations: Vec<_> = books
            .relations
            .iter()
            .map(|of| (of.name.as_str(), of.kind.as_deref(), of.many, of.included))
            .collect();
        assert_eq!(
            relations,
            [("writer", Some("writers"), false, true), ("chapters", None, true, false)]
        );

        let body =
            books.create.as_ref().and_then(|create| create.body.as_deref()).unwrap_or_default();
        assert!(body.iter().any(|of| of.name == "title" && of.required));
        assert!(body.iter().any(|of| matches!(&of.shape, Shape::Parts(parts) if parts.len() == 1)));
        let delete = books.delete.as_ref();
        assert!(
            delete.is_some_and(|of| of.takes_key && of.takes_version && of.cascade == ["chapters"])
        );
        let nested: Vec<_> = books
            .nested
            .iter()
            .map(|of| (of.kind.as_str(), of.route.path.as_str(), of.single))
            .collect();
        assert_eq!(nested, [("chapters", "/api/books/{id}/chapters", false)]);
        assert_eq!(books.actions.iter().map(|of| of.name.as_str()).collect::<Vec<_>>(), ["lend"]);
        let chapters = types.kind("chapters").map(|of| of.actions.as_slice()).unwrap_or_default();
        let chapters: Vec<_> =
            chapters.iter().map(|of| (of.route.path.as_str(), of.parent.as_deref())).collect();
        assert_eq!(chapters, [("/api/books/{parent}/chapters/{id}/read", Some("books"))]);
    }

    #[test]
    fn records_that_are_plain_objects_are_read_by_their_paths() {
        let item = json!({"properties": {"name": {"type": "string"}, "slug": {"type": "string"}}});
        for list in [
            json!({"type": "array", "items": item}),
            json!({"properties": {"total": {}, "results": {"type": "array", "items": item}}}),
        ] {
            let types = read(
                "x",
                "application/json",
                &json!({"paths": {
                    "/v1/things": {"get": answers(list)},
                    "/v1/things/{slug}": {"get": answers(item.clone()), "put": takes(item.clone())},
                    "/v1/state": {"get": answers(item.clone())},
                }}),
            );
            let kinds: Vec<_> =
                types.kinds.iter().map(|of| (of.title.as_str(), of.key.as_deref())).collect();
            assert_eq!(kinds, [("Things", Some("slug"))]);
            assert!(types.kinds.iter().all(|of| of.update.is_some() && of.label == ["name"]));
        }
    }

    #[test]
    fn documents_of_any_form_are_read() {
        for document in [
            json!(null),
            json!([]),
            json!({"paths": 1, "tags": {"a": 1}, "servers": "x"}),
            json!({"paths": {"/a": 1, "/b": {"get": 2, "post": []}, "": {"get": {}}}}),
            json!({"paths": {"/a": {"get": answers(json!({"$ref": "#"}))}}}),
            json!({"paths": {"/a": {"get": answers(json!({"$ref": "#/nowhere"}))}}}),
            json!({"paths": {"/a/{x}/{y}/{z}": {"get": answers(json!({"type": "array"}))}}}),
        ] {
            assert!(read("x", "", &document).kinds.is_empty(), "{document}");
        }
    }

    #[test]
    fn what_is_read_of_a_document_is_bounded() {
        let member =
            |nth: usize| (format!("<b>{nth}</b>"), json!({"$ref": "#/components/schemas/thing"}));
        let mut properties: serde_json::Map<String, Value> = (0..700).map(member).collect();
        let words: Vec<String> = (0..10_000).map(|nth| nth.to_string()).collect();
        properties.insert("choice".to_owned(), json!({"type": "string", "enum": words}));
        let thing = json!({
            "description": "x".repeat(100_000),
            "anyOf": [{"$ref": "#/components/schemas/thing"}],
            "allOf": [{"$ref": "#/components/schemas/thing"}],
            "x-label": ["<i>"], "x-columns": 7, "x-unknown": {},
            "properties": properties,
        });
        let list =
            answers(json!({"type": "array", "items": {"$ref": "#/components/schemas/thing"}}));
        let paths = (0..300).map(|nth| (format!("/things{nth}"), json!({"get": list})));
        let paths: serde_json::Map<String, Value> =
            paths.chain([("/<b>".to_owned(), json!({"get": list}))]).collect();
        let types = read(
            "x",
            "",
            &json!({
                "paths": paths,
                "components": {"schemas": {"thing": thing, "loop": {"$ref": "#/components/schemas/loop"}}},
            }),
        );
        assert!(types.incomplete);
        assert!(types.kinds.len() <= KINDS && types.kinds.iter().all(|of| is_plain(&of.name)));
        fn size(attributes: &[Attribute]) -> usize {
            let of = |attribute: &Attribute| {
                let below = match &attribute.shape {
                    Shape::Parts(parts) | Shape::Object(parts) => size(parts),
                    _ => 0,
                };
                size_of::<Attribute>() + attribute.description.len() + below
            };
            attributes.iter().map(of).sum()
        }
        let all: usize = types.kinds.iter().map(|kind| size(&kind.attributes)).sum();
        assert!((1..4 << 20).contains(&all), "{all} bytes");
    }
}
