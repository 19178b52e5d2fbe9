//! The routes of a document, with the records that they answer.

use host_interface::Method;
use serde_json::Value;

use crate::admin::openapi::{members, method_of, name_of};
use crate::admin::permission::Permission;

use super::model::Route;
use super::schema::{Schemas, bounded};

/// The maximum number of routes of a document that are read, and of parameters of a route.
pub(super) const ROUTES: usize = 2000;
/// The maximum number of types that are named as deleted with a record.
const CASCADE: usize = 20;

/// The routes of a document.
pub(super) struct Routes<'d> {
    pub(super) document: &'d Value,
    pub(super) schemas: Schemas<'d>,
    pub(super) all: Vec<Found<'d>>,
    accept: &'d str,
}

/// A route of the document.
pub(super) struct Found<'d> {
    pub(super) method: Method,
    pub(super) path: &'d str,
    /// The path with `{}` for each of its parameters.
    pub(super) form: String,
    /// The number of its parameters.
    pub(super) holes: usize,
    pub(super) operation: &'d Value,
    pub(super) answer: Option<Answer<'d>>,
}

/// Records that a route answers.
#[derive(Clone, Copy)]
pub(super) struct Answer<'d> {
    /// The schema of a record.
    pub(super) record: &'d Value,
    /// The name of the type of the record, if its schema has one.
    pub(super) kind: Option<&'d str>,
    pub(super) many: bool,
}

impl<'d> Found<'d> {
    pub(super) fn is_list(&self) -> bool {
        self.method == Method::Get && self.answer.is_some_and(|answer| answer.many)
    }

    pub(super) fn is_one(&self) -> bool {
        self.method == Method::Get && self.answer.is_some_and(|answer| !answer.many)
    }

    /// The name of the type of the records that it answers: that of their schema, or else the last word of the path.
    pub(super) fn kind(&self) -> Option<&'d str> {
        let is_word = |of: &&str| !of.is_empty() && !is_hole(of);
        let last_word = || self.path.split('/').rfind(is_word).unwrap_or_default();
        Some(self.answer?.kind.unwrap_or_else(last_word))
    }

    pub(super) fn tag(&self) -> Option<&'d str> {
        self.operation["tags"][0].as_str()
    }
}

impl<'d> Routes<'d> {
    /// Reads the routes; `accept` is the media type of the answers.
    pub(super) fn of(document: &'d Value, accept: &'d str) -> Self {
        let mut routes = Self { document, accept, schemas: Schemas::of(document), all: Vec::new() };
        routes.all = routes.read();
        routes
    }

    /// The route with a path of this form.
    pub(super) fn at(&self, form: &str, method: Method) -> Option<&Found<'d>> {
        self.all.iter().find(|route| route.method == method && route.form == form)
    }

    pub(super) fn route(&self, of: &Found<'d>) -> Route {
        let Found { method, operation, .. } = *of;
        let body = self.content(self.schemas.resolved(&operation["requestBody"]));
        let header = |name: &str| {
            let mut names = self.parameters(of, "header").into_iter().map(|(name, _)| name);
            names.any(|of| of.eq_ignore_ascii_case(name))
        };
        let cascade = members(&operation["x-cascade"]);
        let mut permissions = Permission::read_all(&operation["x-permissions"]);
        permissions.extend(Permission::read(&operation["x-permission"]));
        Route {
            id: name_of(operation, method, of.path),
            method,
            path: format!("{}{}", self.root(), keyed(of.path)),
            permissions,
            summary: operation["summary"].as_str().map(bounded).unwrap_or_default(),
            media_type: body.map(|(media_type, _)| media_type.clone()).unwrap_or_default(),
            body: body.map(|(_, schema)| self.schemas.attributes(schema)),
            accept: self.accept.to_owned(),
            takes_key: header("idempotency-key"),
            takes_version: header("if-match"),
            cascade: cascade.filter_map(Value::as_str).take(CASCADE).map(bounded).collect(),
        }
    }

    /// The names and the declarations of the parameters in this place.
    pub(super) fn parameters(&self, of: &Found<'d>, place: &str) -> Vec<(&'d str, &'d Value)> {
        let shared = self.document["paths"].get(of.path).map(|path| &path["parameters"]);
        let own = Some(&of.operation["parameters"]);
        let all = [own, shared].into_iter().flatten().filter_map(Value::as_array).flatten();
        let all = all.map(|parameter| self.schemas.resolved(parameter));
        let all = all.filter(|parameter| parameter["in"] == place);
        all.filter_map(|parameter| Some((parameter["name"].as_str()?, parameter)))
            .take(ROUTES)
            .collect()
    }

    fn read(&self) -> Vec<Found<'d>> {
        let paths = self.document["paths"].as_object().into_iter().flatten();
        let all = paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods
                .filter_map(move |(method, operation)| Some((method_of(method)?, path, operation)))
        });
        let read = all.take(ROUTES).map(|(method, path, operation)| {
            let words = path.split('/');
            let form = words.clone().map(|word| if is_hole(word) { "{}" } else { word });
            Found {
                method,
                path,
                form: form.collect::<Vec<_>>().join("/"),
                holes: words.filter(|word| is_hole(word)).count(),
                operation,
                answer: self.answer(path, operation),
            }
        });
        read.collect()
    }

    /// The records of the answer in JSON.
    fn answer(&self, path: &str, operation: &'d Value) -> Option<Answer<'d>> {
        let answers = operation["responses"].as_object()?;
        let (_, answer) = answers.iter().find(|(status, _)| status.starts_with('2'))?;
        let (_, schema) = self.content(self.schemas.resolved(answer))?;
        if schema["type"] == "array" {
            return self.records(&schema["items"], true);
        }
        if let Some(data) = self.schemas.property(schema, "data") {
            return if data["type"] == "array" {
                self.records(&data["items"], true)
            } else {
                self.records(data, false)
            };
        }
        // Another object has a list of records, unless it is a record itself.
        let properties = self.schemas.properties(schema).into_iter();
        let lists = properties
            .filter_map(|(_, of)| self.records(&self.schemas.resolved(of)["items"], true));
        let lists: Vec<Answer<'_>> = lists.take(2).collect();
        match (path.rsplit('/').next().is_some_and(is_hole), lists.as_slice()) {
            (false, [only]) => Some(*only),
            _ => self.records(schema, false),
        }
    }

    fn records(&self, schema: &'d Value, many: bool) -> Option<Answer<'d>> {
        let record = self.schemas.resolved(schema);
        // Records of several types have no attributes in common.
        let mut of_several = ["anyOf", "oneOf"].iter().filter_map(|of| record[of].as_array());
        if of_several.any(|of| of.len() > 1) {
            return None;
        }
        let of = self.schemas.property(record, "type");
        let kind = of.and_then(|of| of["const"].as_str().or_else(|| only(&of["enum"])));
        self.schemas.has_properties(record).then_some(Answer { record, kind, many })
    }

    /// The media type and the schema of a body in JSON.
    fn content(&self, of: &'d Value) -> Option<(&'d String, &'d Value)> {
        let is_json = |name: &str| name.ends_with("/json") || name.ends_with("+json");
        let mut contents = of["content"].as_object()?.iter();
        let (media_type, content) = contents.find(|(name, _)| is_json(name))?;
        let schema = self.schemas.resolved(&content["schema"]);
        // Of several forms of a body it is the first.
        let first = schema["anyOf"].get(0).or_else(|| schema["oneOf"].get(0));
        Some((media_type, first.map_or(schema, |first| self.schemas.resolved(first))))
    }

    /// The path of the server, because requests stay in the process.
    fn root(&self) -> String {
        let url = self.document["servers"][0]["url"].as_str().unwrap_or_default();
        let path = match url.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
            None => url,
        };
        path.trim_end_matches('/').to_owned()
    }
}

fn only(words: &Value) -> Option<&str> {
    let words = words.as_array().filter(|words| words.len() == 1)?;
    words.first()?.as_str()
}

/// The form of the path of a record in a list.
pub(super) fn below(form: &str) -> String {
    format!("{form}/{{}}")
}

fn is_hole(word: &str) -> bool {
    word.starts_with('{') && word.ends_with('}')
}

/// A path whose last parameter is the key of the record, and the one before it that of the record above.
fn keyed(path: &str) -> String {
    let mut left = path.split('/').filter(|word| is_hole(word)).count();
    let words = path.split('/').map(|word| {
        if !is_hole(word) {
            return word;
        }
        left -= 1;
        if left == 0 { "{id}" } else { "{parent}" }
    });
    words.collect::<Vec<_>>().join("/")
}
