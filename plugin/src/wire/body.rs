//! Bodies: the headers that describe one, and its members with their literal texts. A draft
//! interprets these for a resource.

use std::borrow::Cow;
use std::fmt;

use host_interface::Request;
use mediatype::MediaType;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Error, Fault, FaultKind};
use crate::model::resource::Resource;
use crate::model::value::short;

/// The fields that a body contains, with their literal texts.
pub struct Body<'a> {
    /// The names and literals in the order of the body.
    pub members: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// The JSON pointer of the object with the fields: the body itself or its attributes.
    pub at: Cow<'static, str>,
    /// The relationships of a JSON:API document, by their names.
    pub relationships: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// Faults in a JSON:API document outside of its attributes.
    pub faults: Vec<Fault>,
}

impl<'a> Body<'a> {
    /// Reads the body of a request that writes `resource`, with the id from the path if it has one.
    ///
    /// # Errors
    /// When a header declares anything but plain JSON, or when the body is not a JSON object with
    /// unique member names.
    pub fn read(request: &'a Request, resource: &Resource, id: Option<i64>) -> Result<Self, Error> {
        check_headers(request)?;
        let members = object(request.body(), "")?;
        // An object with a member `data` is a JSON:API document, whatever other members it has.
        let data = members.iter().find(|(name, _)| name == "data").map(|(_, literal)| *literal);
        let Some(document) = data else {
            return Ok(Body::of(members, "".into()));
        };
        Body::from_document(document, resource, id)
    }

    /// The fields of a line of a file.
    pub fn of_line(members: &'a [LineMember]) -> Self {
        let members = members.iter().map(|(name, literal)| (Cow::Borrowed(&**name), &**literal));
        Body::of(members.collect(), "".into())
    }

    /// A body that is not a JSON:API document.
    fn of(members: Vec<(Cow<'a, str>, &'a RawValue)>, at: Cow<'static, str>) -> Self {
        Body { members, at, relationships: Vec::new(), faults: Vec::new() }
    }

    /// Whether the body has a member of this name.
    pub fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(member, _)| member == name)
    }

    /// Whether the body has a relationship of this name.
    pub fn relates(&self, name: &str) -> bool {
        self.relationships.iter().any(|(relationship, _)| relationship == name)
    }

    /// Reads an object within a body, at this JSON pointer.
    ///
    /// # Errors
    /// When it is not a JSON object with unique member names.
    pub fn within(literal: &'a RawValue, at: String) -> Result<Self, Fault> {
        let members = object(literal.get().as_bytes(), &at)?;
        Ok(Body::of(members, at.into()))
    }

    fn from_document(
        data: &'a RawValue,
        resource: &Resource,
        id: Option<i64>,
    ) -> Result<Self, Error> {
        let data = object(data.get().as_bytes(), "/data")?;
        let mut body = Body::of(Vec::new(), "/data/attributes".into());
        let refusal = |name: &str, detail| {
            Fault::at_pointer(FaultKind::InvalidValue, format!("/data/{name}"), detail)
        };
        for (name, literal) in data {
            match name.as_ref() {
                "attributes" => {
                    body.members = object(literal.get().as_bytes(), "/data/attributes")?
                }
                "relationships" => {
                    body.relationships = object(literal.get().as_bytes(), "/data/relationships")?
                }
                "type" if !is_text(literal, resource.kind) => {
                    let detail = format!("type must be {:?}.", resource.kind);
                    body.faults.push(refusal("type", detail));
                }
                "id" if !id.is_some_and(|id| is_text(literal, &id.to_string())) => {
                    let detail = match id {
                        Some(id) => format!("id must be \"{id}\"."),
                        None => "id must not be given: the store assigns it.".to_owned(),
                    };
                    body.faults.push(refusal("id", detail));
                }
                // Clients may send back links and meta that they have read.
                _ => {}
            }
        }
        Ok(body)
    }
}

/// A member of a line of a file: its name, and its literal text.
pub type LineMember = (String, Box<RawValue>);

/// Reads a line of a file that is an object of fields.
///
/// # Errors
/// A sentence about the line, which completes one that begins with its number.
pub fn line(text: &str) -> Result<Vec<LineMember>, String> {
    let members: Members<'_> =
        serde_json::from_str(text).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => {
                let complaint = complaint(&error.to_string());
                complaint.trim_start_matches("The body").trim_end_matches('.').trim().to_owned()
            }
            _ => format!("is not valid JSON at column {}", error.column()),
        })?;
    let owned =
        |(name, literal): (Cow<'_, str>, &RawValue)| (name.into_owned(), literal.to_owned());
    Ok(members.0.into_iter().map(owned).collect())
}

/// The record that a relationship identifies.
#[derive(Debug)]
pub struct Identifier<'a> {
    /// Its kind.
    pub kind: Cow<'a, str>,
    /// The literal of its id, which must be a string.
    pub id: &'a RawValue,
}

/// Reads a relationship to one record or to none. An error completes a sentence that begins with
/// the relationship's name.
///
/// # Errors
/// When it does not have that form.
pub fn linkage(literal: &RawValue) -> Result<Option<Identifier<'_>>, &'static str> {
    const NO_OBJECT: &str = "must be an object with the member data";
    const NO_IDENTIFIER: &str =
        "must have as its data either null or an object with the strings type and id";
    let members = serde_json::from_str::<Members<'_>>(literal.get()).map_err(|_| NO_OBJECT)?.0;
    let data = members.iter().find(|(name, _)| name == "data").ok_or(NO_OBJECT)?.1;
    if data.get() == "null" {
        return Ok(None);
    }
    let members = serde_json::from_str::<Members<'_>>(data.get()).map_err(|_| NO_IDENTIFIER)?.0;
    let member = |wanted| members.iter().find(|(name, _)| name == wanted).ok_or(NO_IDENTIFIER);
    let Name(kind) = serde_json::from_str(member("type")?.1.get()).map_err(|_| NO_IDENTIFIER)?;
    let id = member("id")?.1;
    if id.get().starts_with('"') { Ok(Some(Identifier { kind, id })) } else { Err(NO_IDENTIFIER) }
}

/// Checks the headers that describe a body.
fn check_headers(request: &Request) -> Result<(), Error> {
    let mut faults = Vec::new();
    if !is_of_type(request, "application", "json") {
        let detail = "Send the body with exactly one header Content-Type: application/json.";
        faults.push(Fault::at_header(FaultKind::InvalidHeader, "Content-Type", detail));
    }
    let encodings = (0..).map_while(|nth| request.header_at("content-encoding", nth));
    let plain = |encoding: &[u8]| {
        let encoding = encoding.trim_ascii();
        encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity")
    };
    if !encodings.flat_map(|sent| sent.split(|byte| *byte == b',')).all(plain) {
        let detail = "Send the body without a Content-Encoding.";
        faults.push(Fault::at_header(FaultKind::UnsupportedEncoding, "Content-Encoding", detail));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
}

/// Whether the one content type of a request is this one, in UTF-8.
pub(super) fn is_of_type(request: &Request, main: &str, sub: &str) -> bool {
    if request.header_at("content-type", 1).is_some() {
        return false;
    }
    let sent = request.header("content-type").and_then(|value| std::str::from_utf8(value).ok());
    sent.and_then(|text| MediaType::parse(text).ok()).is_some_and(|media| {
        let same = media.ty.as_str().eq_ignore_ascii_case(main)
            && media.subty.as_str().eq_ignore_ascii_case(sub)
            && media.suffix.is_none();
        same && media.params.iter().all(|(name, value)| {
            name.as_str().eq_ignore_ascii_case("charset")
                && value.unquoted_str().eq_ignore_ascii_case("utf-8")
        })
    })
}

fn is_text(literal: &RawValue, expected: &str) -> bool {
    serde_json::from_str::<Cow<'_, str>>(literal.get()).is_ok_and(|text| text == expected)
}

/// Reads a JSON object with unique member names; `at` is its JSON pointer.
fn object<'a>(text: &'a [u8], at: &str) -> Result<Vec<(Cow<'a, str>, &'a RawValue)>, Fault> {
    let members: Members<'_> = serde_json::from_slice(text).map_err(|error| {
        let detail = match error.classify() {
            serde_json::error::Category::Data => complaint(&error.to_string()),
            _ if text.is_empty() => "The body is empty; it must be a JSON object.".to_owned(),
            _ => {
                let (line, column) = (error.line(), error.column());
                format!("The body is not valid JSON at line {line}, column {column}.")
            }
        };
        Fault::at_pointer(FaultKind::MalformedBody, at.to_owned(), detail)
    })?;
    Ok(members.0)
}

/// The message about well-formed JSON: one of those below, or the general one.
fn complaint(message: &str) -> String {
    match message.rsplit_once(" at line ") {
        Some((sentence, _)) if sentence.starts_with("The body") => sentence.to_owned(),
        _ => "The body must be a JSON object.".to_owned(),
    }
}

/// No resource has nearly as many fields, and each unknown name costs a search for the nearest
/// field.
const MAX_MEMBERS: usize = 1_000;

struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    if members.iter().any(|(known, _)| *known == name) {
                        let name = short(&name);
                        return Err(serde::de::Error::custom(format_args!(
                            "The body contains the member {name:?} more than once."
                        )));
                    }
                    if members.len() == MAX_MEMBERS {
                        return Err(serde::de::Error::custom(format_args!(
                            "The body has more than {MAX_MEMBERS} members."
                        )));
                    }
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// A member's name, borrowed from the body if it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
