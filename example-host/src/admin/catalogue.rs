//! The routes of extensions, read from their OpenAPI documents for the pages. Everything in a
//! document is optional; a page omits the parts that a document omits.

use std::collections::HashSet;
use std::sync::Arc;

use host_interface::Method;
use once_cell::sync::OnceCell;
use serde_json::Value;

use crate::base::error::Error;
use crate::site::Site;

use super::openapi::{indented, members, method_of, name_of, plain, string, texts};
use super::permission::Permission;
use super::records::model::Types;
use super::records::reading;
use super::tables::Tables;
use super::view::Field;

/// The documents of a site, read on first use. They never change.
#[derive(Default)]
pub(crate) struct Catalogue(OnceCell<Vec<Document>>);

impl Catalogue {
    /// Begins to read the documents on a thread that may wait, so that the first page after a sign-in need not.
    pub(crate) fn prepare(self: &Arc<Self>, site: &Site) {
        if self.0.get().is_some() {
            return;
        }
        let (catalogue, site) = (Arc::clone(self), site.clone());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = catalogue.documents(&site) {
                tracing::error!(%error, "the documents of the extensions cannot be read");
            }
        });
    }

    /// The documents of the extensions that have one.
    pub(crate) fn documents(&self, site: &Site) -> Result<&[Document], Error> {
        let documents = self.0.get_or_try_init(|| {
            let texts = site.openapi_documents()?;
            let read = |(of, text): (&host_interface::Description, String)| {
                let document = Document::read(&of.name, &of.media_type, text);
                document.map_err(|error| Error::Description {
                    plugin: of.name.clone(),
                    reason: format!("its OpenAPI document is not valid JSON: {error}"),
                })
            };
            texts.into_iter().map(read).collect::<Result<Vec<Document>, Error>>()
        })?;
        Ok(documents)
    }
}

/// The document of one extension.
pub(crate) struct Document {
    pub(crate) extension: String,
    pub(crate) text: String,
    pub(crate) groups: Vec<Group>,
    /// The types of records that the routes have.
    pub(crate) records: Types,
}

/// The routes with the same tag.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) operations: Vec<Operation>,
}

/// A route in a document.
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: Method,
    /// The prefix of the path, after the host's name.
    pub(crate) root: String,
    /// The path below that, with its parameters in braces.
    pub(crate) path: String,
    pub(crate) summary: String,
    /// The required permission.
    pub(crate) permission: Option<Permission>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    /// The media type of the answers.
    pub(crate) media_type: String,
    pub(crate) answers: Vec<Answer>,
    /// The tables that it takes.
    pub(crate) imports: Option<Tables>,
    /// The tables that it gives.
    pub(crate) exports: Option<Tables>,
}

/// A parameter of a request.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) place: Place,
    description: String,
    schema: Value,
    example: String,
}

/// Where a request has a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
}

/// The body of a request.
pub(crate) struct Body {
    pub(crate) media_type: String,
    /// An example that can be sent.
    pub(crate) example: String,
    pub(crate) members: Vec<Member>,
}

/// A member of a body.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) takes: String,
    pub(crate) required: bool,
}

/// A possible answer of a route.
pub(crate) struct Answer {
    pub(crate) status: String,
    pub(crate) description: String,
    /// An example, only for success.
    pub(crate) example: Option<String>,
}

impl Answer {
    pub(crate) fn is_good(&self) -> bool {
        self.status.starts_with('2')
    }
}

impl Document {
    /// The route of this name.
    pub(crate) fn operation(&self, id: &str) -> Option<&Operation> {
        self.groups.iter().flat_map(|group| &group.operations).find(|operation| operation.id == id)
    }

    fn read(extension: &str, media_type: &str, text: String) -> Result<Self, serde_json::Error> {
        let document: Value = serde_json::from_str(&text)?;
        let title = string(&document["info"]["title"]);
        let mut groups: Vec<Group> = members(&document["tags"])
            .map(|tag| Group {
                name: string(&tag["name"]),
                title: tag["x-displayName"]
                    .as_str()
                    .map_or_else(|| string(&tag["name"]), Into::into),
                operations: Vec::new(),
            })
            .collect();
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                let Some(method) = method_of(method) else { continue };
                let tag = operation["tags"][0].as_str().unwrap_or(title.as_str());
                let operation = Operation::read(&document, method, path, operation, media_type);
                match groups.iter_mut().find(|group| group.name == tag) {
                    Some(group) => group.operations.push(operation),
                    None => groups.push(Group {
                        name: tag.to_owned(),
                        title: tag.to_owned(),
                        operations: vec![operation],
                    }),
                }
            }
        }
        groups.retain(|group| !group.operations.is_empty());
        let records = reading::read(extension, media_type, &document);
        Ok(Self { extension: extension.to_owned(), text, groups, records })
    }
}

impl Operation {
    fn read(
        document: &Value,
        method: Method,
        path: &str,
        operation: &Value,
        media_type: &str,
    ) -> Self {
        let parameters = members(&operation["parameters"]).filter_map(|parameter| {
            let parameter = resolved(document, parameter);
            let name = string(&parameter["name"]);
            Some(Parameter {
                place: Place::of(&parameter["in"], &name)?,
                name,
                description: string(&parameter["description"]),
                schema: resolved(document, &parameter["schema"]).clone(),
                example: plain(&parameter["example"]),
            })
        });
        let answers = operation["responses"].as_object().into_iter().flatten();
        let answers = answers.map(|(status, answer)| {
            let answer = resolved(document, answer);
            let good = status.starts_with('2');
            Answer {
                status: status.clone(),
                description: string(&answer["description"]),
                example: content(document, answer).filter(|_| good).and_then(|(_, schema)| {
                    (!schema["example"].is_null()).then(|| indented(&schema["example"]))
                }),
            }
        });
        Self {
            id: name_of(operation, method, path),
            method,
            root: string(&document["servers"][0]["url"]),
            path: path.to_owned(),
            summary: string(&operation["summary"]),
            permission: Permission::read(&operation["x-permission"]),
            parameters: parameters.collect(),
            body: content(document, &operation["requestBody"])
                .map(|(media_type, schema)| Body::read(document, media_type, schema)),
            media_type: media_type.to_owned(),
            answers: answers.collect(),
            imports: Tables::read(&operation["x-import"]),
            exports: Tables::read(&operation["x-export"]),
        }
    }

    /// Whether a request changes nothing.
    pub(crate) fn only_reads(&self) -> bool {
        self.method == Method::Get
    }
}

impl Place {
    /// The place that a document names. Cookies belong to the browser, and these headers follow from
    /// other parts of a document, which the standard of such documents prescribes as well.
    fn of(place: &Value, name: &str) -> Option<Self> {
        let given = ["accept", "authorization", "content-type"];
        match place.as_str()? {
            "path" => Some(Self::Path),
            "query" => Some(Self::Query),
            "header" if !given.iter().any(|of| name.eq_ignore_ascii_case(of)) => Some(Self::Header),
            _ => None,
        }
    }
}

impl Parameter {
    /// The name in a form; the prefix keeps it apart from other fields.
    pub(crate) fn field_name(&self) -> String {
        let place = match self.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
        };
        format!("{place}-{}", self.name)
    }

    /// The initial value in a form; a parameter in the path must not be empty.
    pub(crate) fn value(&self) -> &str {
        if self.is_in_path() { &self.example } else { "" }
    }

    /// The form field.
    pub(crate) fn field(&self) -> Field {
        let (name, label) = (self.field_name(), self.name.clone());
        let schema = &self.schema;
        let limit = |name: &str| schema[name].as_i64().map(|limit| limit.to_string());
        let field = if let Some(words) = schema["enum"].as_array() {
            let any = match &schema["default"] {
                Value::Null => "Any".to_owned(),
                default => format!("{}, the default", plain(default)),
            };
            let any = (String::new(), any);
            let choice = |word: &Value| (plain(word), plain(word));
            let choices = std::iter::once(any).filter(|_| !self.is_in_path());
            Field::choice(name, label, choices.chain(words.iter().map(choice)))
        } else if types(schema).any(|of| of == "integer") {
            Field::number(name, label, limit("minimum"), limit("maximum"))
        } else if schema["format"] == "date" {
            Field::date(name, label)
        } else {
            Field::text(name, label)
        };
        let field = field.hint(self.description.clone());
        if self.is_in_path() { field } else { field.maybe_empty() }
    }

    fn is_in_path(&self) -> bool {
        self.place == Place::Path
    }
}

impl Body {
    fn read(document: &Value, media_type: &str, schema: &Value) -> Self {
        let required: Vec<&str> = members(&schema["required"]).filter_map(Value::as_str).collect();
        let known = schema["properties"].as_object().into_iter().flatten();
        // Clients may send back what only the server sets, and need not know about it.
        let known = known.filter(|(_, schema)| schema["readOnly"] != true);
        let known = known.map(|(name, schema)| Member {
            name: name.clone(),
            takes: takes(resolved(document, schema)),
            required: required.contains(&name.as_str()),
        });
        Self {
            media_type: media_type.to_owned(),
            example: indented(&schema["example"]),
            members: known.collect(),
        }
    }
}

/// The target of a reference, or the value itself if it is not a reference.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

/// The media type and the schema of a request or an answer that has one. Of several schemas it is the
/// first.
fn content<'a>(document: &'a Value, of: &'a Value) -> Option<(&'a str, &'a Value)> {
    let (media_type, content) = of["content"].as_object()?.iter().next()?;
    let schema = resolved(document, &content["schema"]);
    let schema = schema["anyOf"].get(0).map_or(schema, |first| resolved(document, first));
    Some((media_type, schema))
}

fn types(schema: &Value) -> impl Iterator<Item = &str> {
    texts(&schema["type"])
}

/// What a member means, as far as the document has it, and a short description of its values.
fn takes(schema: &Value) -> String {
    let form = match (schema["enum"].as_array(), schema["anyOf"].as_array()) {
        (Some(words), _) => words.iter().map(plain).collect::<Vec<_>>().join(", "),
        (None, Some(forms)) => {
            let mut kinds: Vec<&str> = forms.iter().flat_map(types).collect();
            let mut seen = HashSet::new();
            kinds.retain(|kind| seen.insert(*kind));
            kinds.join(" or ")
        }
        (None, None) => types(schema).collect::<Vec<_>>().join(" or "),
    };
    let form = match schema["maxLength"].as_u64() {
        Some(length) => format!("{form}, up to {length} characters"),
        None => form,
    };
    match schema["description"].as_str() {
        Some(meaning) if !form.is_empty() => format!("{meaning} ({form})"),
        Some(meaning) => meaning.to_owned(),
        None => form,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(document: &Value) -> Option<Document> {
        Document::read("things", "application/json", document.to_string()).ok()
    }

    #[test]
    fn routes_are_read_with_their_parameters_bodies_and_answers() {
        let document = read(&json!({
            "info": {"title": "Things"},
            "servers": [{"url": "/api"}],
            "tags": [{"name": "unused"}, {"name": "things", "x-displayName": "All things"}],
            "paths": {"/things/{id}": {
                "parameters": [],
                "patch": {
                    "operationId": "things.update",
                    "summary": "Change one thing",
                    "tags": ["things"],
                    "x-permission": {"action": "edit", "asset": "things"},
                    "parameters": [
                        {"$ref": "#/components/parameters/id"},
                        {"name": "If-Match", "in": "header", "example": "\"1\""},
                        {"name": "strict", "in": "query"},
                        {"name": "content-type", "in": "header"},
                        {"name": "session", "in": "cookie"},
                    ],
                    "requestBody": {"content": {"application/json": {"schema": {
                        "required": ["name"],
                        "properties": {
                            "name": {"type": ["string", "null"], "maxLength": 9},
                            "count": {
                                "anyOf": [{"type": "integer"}, {"type": "string"}],
                                "description": "How many.",
                            },
                            "id": {"readOnly": true},
                        },
                        "example": {"name": "x"},
                    }}}},
                    "responses": {"204": {"description": "Done"}},
                },
            }},
            "components": {"parameters": {"id": {
                "name": "id", "in": "path", "schema": {"type": "integer"}, "example": 1,
            }}},
        }));
        let groups = document.as_ref().map(|of| of.groups.as_slice()).unwrap_or_default();
        let titles: Vec<&str> = groups.iter().map(|group| group.title.as_str()).collect();
        assert_eq!(titles, ["All things"], "groups without routes are omitted");

        let operation = document.as_ref().and_then(|of| of.operation("things.update"));
        let found = operation.map(|of| (of.root.as_str(), of.path.as_str(), of.only_reads()));
        assert_eq!(found, Some(("/api", "/things/{id}", false)));
        let parameters = operation.map(|of| of.parameters.as_slice()).unwrap_or_default();
        let entered = parameters.iter().map(|of| (of.field_name(), of.value()));
        let entered: Vec<(String, &str)> = entered.collect();
        assert_eq!(
            entered,
            [("path-id", "1"), ("header-If-Match", ""), ("query-strict", "")]
                .map(|(name, value)| (name.to_owned(), value))
        );
        let body = operation.and_then(|of| of.body.as_ref());
        assert_eq!(body.map(|of| of.example.as_str()), Some("{\n  \"name\": \"x\"\n}"));
        let members = body.map(|of| of.members.as_slice()).unwrap_or_default();
        let takes: Vec<_> = members.iter().map(|of| (of.takes.as_str(), of.required)).collect();
        let expected = [
            ("string or null, up to 9 characters", true),
            ("How many. (integer or string)", false),
        ];
        assert_eq!(takes, expected);
        let answers = operation.map(|of| of.answers.as_slice()).unwrap_or_default();
        assert!(answers.len() == 1 && answers.iter().all(Answer::is_good));
    }

    #[test]
    fn a_minimal_document_is_read() {
        let document = read(&json!({"paths": {"/a": {"get": {}, "trace": {}}}}));
        let operation = document.as_ref().and_then(|of| of.operation("GET.a"));
        assert!(operation.is_some_and(Operation::only_reads));
        for nothing in [json!({}), json!([])] {
            assert!(read(&nothing).is_some_and(|of| of.groups.is_empty()), "{nothing}");
        }
    }
}
