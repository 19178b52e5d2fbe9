//! The routes of the API from their documents, with a form to try each of them as the signed-in
//! user. Requests go to the real site and are answered like any other request.

use std::borrow::Cow;

use askama::Template;
use axum::body::Bytes;
use axum::http::{Request, Response, header};
use host_interface::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::admin::catalogue::{Body, Document, Group, Operation, Place};
use crate::admin::offers::EXPORTS;
use crate::admin::openapi::indented;
use crate::admin::problem::Problem;
use crate::admin::view::{Field, Layout, View, show};
use crate::admin::visit::{Outcome, Visit};

/// The maximum number of bytes of an answer that are shown.
const SHOWN: usize = 200_000;

/// The field that confirms a change.
const SURE: &str = "sure";

#[derive(Template)]
#[template(path = "admin/api.html")]
struct OperationsPage<'a> {
    layout: Layout,
    sections: Vec<Section<'a>>,
    /// The selected group; empty for all.
    wanted: &'a str,
}

/// The routes of one extension.
struct Section<'a> {
    document: &'a Document,
    enabled: bool,
    shown: Vec<&'a Group>,
}

#[derive(Template)]
#[template(path = "admin/operation.html")]
struct OperationPage<'a> {
    layout: Layout,
    extension: &'a str,
    enabled: bool,
    operation: &'a Operation,
    fields: Vec<Field>,
    body: Option<Field>,
    /// The action by which the user has the permission, or lacks it.
    asked: &'a str,
    /// Whether the user has the permission that the route requires.
    allowed: bool,
    username: &'a str,
    /// The error message of the form.
    fault: &'a str,
    tried: Option<Tried>,
    /// The page that exports all records of the list.
    export: Option<String>,
}

/// The result of trying a route.
struct Tried {
    status: u16,
    reason: &'static str,
    headers: Vec<(String, String)>,
    body: String,
    /// Whether the body is longer than the shown part.
    cut: bool,
    /// The id of the request in the log.
    id: String,
    /// A command that does the same.
    command: String,
}

impl Tried {
    fn is_good(&self) -> bool {
        self.status < 400
    }
}

/// A request to try.
struct Asked {
    /// The address with the query.
    address: String,
    /// The entered headers, by name.
    headers: Vec<(String, String)>,
    body: Option<String>,
}

pub(crate) async fn list(visit: Visit) -> Result<View, Problem> {
    let snapshot = visit.site.state().snapshot();
    let wanted = visit.query.get("group");
    let documents = visit.catalogue.documents(&visit.site)?;
    let is_wanted = |group: &&Group| wanted.is_empty() || group.name == wanted;
    let sections = documents.iter().map(|document| Section {
        document,
        enabled: snapshot.enabled(&document.extension),
        shown: document.groups.iter().filter(is_wanted).collect(),
    });
    let sections: Vec<Section<'_>> = sections.collect();
    if !wanted.is_empty() && sections.iter().all(|section| section.shown.is_empty()) {
        return Err(Problem::NotFound);
    }
    show(&OperationsPage { layout: visit.layout("API"), sections, wanted })
}

/// Downloads the document of the requested extension, or of the first one that has a document.
pub(crate) async fn download(visit: Visit) -> Result<View, Problem> {
    let mut documents = visit.catalogue.documents(&visit.site)?.iter();
    let document = match visit.query.given("extension") {
        Some(name) => documents.find(|document| document.extension == name),
        None => documents.next(),
    };
    let document = document.ok_or(Problem::NotFound)?;
    Ok(View::file("application/json", "openapi.json", document.text.clone()))
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let (document, operation) = asked_for(&visit)?;
    render(&visit, document, operation, "", None)
}

/// Whether the route may change what is kept about a person.
pub(crate) fn is_about_persons(visit: &Visit) -> bool {
    asked_for(visit).is_ok_and(|(_, operation)| {
        let permission = operation.permission.as_ref();
        !operation.only_reads()
            && permission.is_some_and(|needed| needed.is_about_persons(&visit.site))
    })
}

/// Sends the entered request as the signed-in user.
pub(crate) async fn ask(visit: Visit) -> Result<Outcome, Problem> {
    let (document, operation) = asked_for(&visit)?;
    if !operation.only_reads() && visit.form.get(SURE) != "yes" {
        let fault =
            "Nothing was sent. This changes the real site; confirm that you want to do this.";
        return Ok(Outcome::Again(render(&visit, document, operation, fault, None)?));
    }
    let asked = Asked::of(&visit, operation);
    let mut request = Request::builder()
        .method(operation.method.as_str())
        .uri(&asked.address)
        .header(header::ACCEPT, &operation.media_type);
    if let Some(body) = &operation.body {
        request = request.header(header::CONTENT_TYPE, &body.media_type);
    }
    for (name, value) in &asked.headers {
        request = request.header(name, value);
    }
    let request = request.body(asked.body.clone().unwrap_or_default().into());
    let request = request.map_err(|_| {
        Problem::Refused("the values entered do not form a valid address or header".to_owned())
    })?;
    let answer = visit.ask(request).await?;
    let tried = Tried::of(&visit, operation, &asked, answer);
    // A change is recorded by the API itself.
    Ok(Outcome::Answered(render(&visit, document, operation, "", Some(tried))?))
}

/// A command that sends a request with a token.
pub(crate) fn command(
    method: Method,
    address: &str,
    token: &str,
    media_type: &str,
    headers: &[(String, String)],
    body: Option<(&str, &str)>,
) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let mut words = vec![Cow::Borrowed("curl")];
    if method != Method::Get {
        words.push(format!("-X {method}").into());
    }
    words.push(format!("-H {}", quoted(&format!("Authorization: Bearer {token}"))).into());
    if !media_type.is_empty() {
        words.push(format!("-H {}", quoted(&format!("Accept: {media_type}"))).into());
    }
    for (name, value) in headers {
        words.push(format!("-H {}", quoted(&format!("{name}: {value}"))).into());
    }
    if let Some((media_type, text)) = body {
        words.push(format!("-H {}", quoted(&format!("Content-Type: {media_type}"))).into());
        words.push(format!("-d {}", quoted(text)).into());
    }
    words.push(quoted(address).into());
    words.join(" ")
}

impl Asked {
    fn of(visit: &Visit, operation: &Operation) -> Self {
        let mut path = operation.path.clone();
        let mut query = form_urlencoded::Serializer::new(String::new());
        let mut headers = Vec::new();
        for parameter in &operation.parameters {
            let value = visit.form.get(&parameter.field_name()).trim();
            match parameter.place {
                Place::Path => {
                    let value = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
                    path = path.replace(&format!("{{{}}}", parameter.name), &value);
                }
                _ if value.is_empty() => {}
                Place::Query => {
                    query.append_pair(&parameter.name, value);
                }
                Place::Header => headers.push((parameter.name.clone(), value.to_owned())),
            }
        }
        let (root, query) = (&operation.root, query.finish());
        let address = match query.as_str() {
            "" => format!("{root}{path}"),
            query => format!("{root}{path}?{query}"),
        };
        let body = operation.body.as_ref().map(|_| visit.form.get("body").to_owned());
        Self { address, headers, body }
    }
}

impl Tried {
    fn of(visit: &Visit, operation: &Operation, asked: &Asked, answer: Response<Bytes>) -> Self {
        let headers = answer.headers().iter().map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let text = match serde_json::from_slice::<Value>(answer.body()) {
            Ok(value) => indented(&value),
            Err(_) => String::from_utf8_lossy(answer.body()).into_owned(),
        };
        let body = text.get(..text.floor_char_boundary(SHOWN)).unwrap_or(&text).to_owned();
        let sent = operation.body.as_ref().zip(asked.body.as_deref());
        let sent = sent.map(|(Body { media_type, .. }, text)| (media_type.as_str(), text));
        let address = format!("{}{}", visit.origin, asked.address);
        Self {
            status: answer.status().as_u16(),
            reason: answer.status().canonical_reason().unwrap_or_default(),
            headers: headers.collect(),
            cut: body.len() < text.len(),
            body,
            id: visit.id.clone(),
            command: command(
                operation.method,
                &address,
                "TOKEN",
                &operation.media_type,
                &asked.headers,
                sent,
            ),
        }
    }
}

/// The route of the page.
fn asked_for(visit: &Visit) -> Result<(&Document, &Operation), Problem> {
    let [extension, id] = visit.params.as_slice() else { return Err(Problem::NotFound) };
    let mut documents = visit.catalogue.documents(&visit.site)?.iter();
    let document = documents.find(|document| document.extension == *extension);
    let found = document.and_then(|document| Some((document, document.operation(id)?)));
    found.ok_or(Problem::NotFound)
}

fn render(
    visit: &Visit,
    document: &Document,
    operation: &Operation,
    fault: &str,
    tried: Option<Tried>,
) -> Result<View, Problem> {
    // A form that was sent keeps its values; a new form has examples as its values.
    let sent = !fault.is_empty() || tried.is_some();
    let fields = operation.parameters.iter().map(|parameter| {
        if sent {
            parameter.field().value(visit.form.get(&parameter.field_name()))
        } else {
            parameter.field().value(parameter.value())
        }
    });
    let body = operation.body.as_ref().map(|body| {
        let value = if sent { visit.form.get("body") } else { body.example.as_str() };
        Field::area("body", "Body").hint(format!("As {}.", body.media_type)).value(value)
    });
    let snapshot = visit.site.state().snapshot();
    let permission = operation.permission.as_ref();
    let by = permission.and_then(|needed| needed.granted(visit.session.user, &snapshot));
    // A refusal is explained by the first, which would be enough.
    let asked = by.or_else(|| permission.and_then(|needed| needed.actions.first()));
    let offers = visit.offers(EXPORTS)?;
    let export = offers.iter().find_map(|offer| offer.page_of_list(document, operation));
    show(&OperationPage {
        layout: visit
            .layout(operation.summary.clone())
            .warning_if(!fault.is_empty(), "Nothing was sent. See below."),
        extension: &document.extension,
        enabled: snapshot.enabled(&document.extension),
        operation,
        fields: fields.collect(),
        body,
        allowed: permission.is_none() || by.is_some(),
        asked: asked.map_or("", String::as_str),
        username: &visit.session.username,
        fault,
        tried,
        export,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_quoted_for_a_shell() {
        let address = "http://shop.example/things?page%5Blimit%5D=1";
        assert_eq!(
            command(Method::Get, address, "TOKEN", "", &[], None),
            format!("curl -H 'Authorization: Bearer TOKEN' '{address}'")
        );
        let body = Some(("application/json", "{\"name\": \"it's\"}"));
        let headers = [("If-Match".to_owned(), "\"it's\"".to_owned())];
        let address = "http://shop.example/things";
        assert_eq!(
            command(Method::Post, address, "TOKEN", "text/plain", &headers, body),
            "curl -X POST -H 'Authorization: Bearer TOKEN' -H 'Accept: text/plain' \
             -H 'If-Match: \"it'\\''s\"' -H 'Content-Type: application/json' -d '{\"name\": \"it'\\''s\"}' \
             'http://shop.example/things'"
        );
    }
}
