//! Temporary: reading of records, until the branch `records` has it.

use axum::body::Body;
use axum::http::{Request, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::admin::problem::Problem;
use crate::admin::visit::Visit;

use super::model::{Kind, Route, Types};

pub(crate) struct Record {
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) attributes: Map<String, Value>,
    pub(crate) relations: Map<String, Value>,
    pub(crate) version: String,
}

impl Record {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let version = &value["meta"]["version"];
        Some(Self {
            kind: value["type"].as_str()?.to_owned(),
            id: value["id"].as_str()?.to_owned(),
            attributes: value["attributes"].as_object().cloned().unwrap_or_default(),
            relations: value["relationships"].as_object().cloned().unwrap_or_default(),
            version: if version.is_null() { String::new() } else { version.to_string() },
        })
    }

    /// The attributes, and the keys of related records by the names of attributes that would have them.
    pub(crate) fn values(&self) -> Map<String, Value> {
        let mut values = self.attributes.clone();
        for (name, relation) in &self.relations {
            if let Some(id) = relation["data"]["id"].as_str() {
                values.entry(format!("{name}_id")).or_insert_with(|| id.into());
            }
        }
        values
    }

    pub(crate) fn label(&self, kind: &Kind) -> String {
        let found = kind.label.iter().filter_map(|name| self.attributes.get(name)?.as_str());
        found.filter(|text| !text.is_empty()).map(str::to_owned).next().unwrap_or_else(|| self.id.clone())
    }
}

pub(crate) fn address(route: &Route, id: &str, parent: &str) -> String {
    let encoded = |key: &str| utf8_percent_encode(key, NON_ALPHANUMERIC).to_string();
    route.path.replace("{id}", &encoded(id)).replace("{parent}", &encoded(parent))
}

/// Whether the user has the permission of a route.
pub(crate) fn may(visit: &Visit, route: &Route) -> bool {
    let snapshot = visit.site.state().snapshot();
    let granted = |needed: &crate::admin::permission::Permission| {
        needed.granted(visit.session.user, &snapshot).is_some()
    };
    route.permission.as_ref().is_none_or(granted)
}

pub(crate) async fn show(visit: &Visit, route: &Route, id: &str) -> Result<Record, Problem> {
    let value = get(visit, route, &address(route, id, "")).await?.ok_or(Problem::NotFound)?;
    Record::read(&value["data"]).ok_or(Problem::NotFound)
}

/// The records of a list, and whether these are all; `None` if the API refuses it.
pub(crate) async fn list(
    visit: &Visit,
    route: &Route,
    id: &str,
    query: &[(String, String)],
) -> Result<Option<(Vec<Record>, bool)>, Problem> {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    let Some(value) = get(visit, route, &format!("{}?{query}", address(route, id, ""))).await? else {
        return Ok(None);
    };
    let all = value["data"].as_array().into_iter().flatten().filter_map(Record::read);
    let all: Vec<Record> = all.collect();
    let total = value["meta"]["total"].as_u64();
    let complete = total.is_none_or(|total| total == u64::try_from(all.len()).unwrap_or_default());
    Ok(Some((all, complete)))
}

async fn get(visit: &Visit, route: &Route, address: &str) -> Result<Option<Value>, Problem> {
    let request = Request::builder().uri(address).header(header::ACCEPT, &route.accept);
    let request = request.body(Body::empty()).map_err(|_| Problem::NotFound)?;
    let answer = visit.ask(request).await?;
    match answer.status().as_u16() {
        200 => Ok(serde_json::from_slice(answer.body()).ok()),
        500.. => Err(Problem::Unavailable),
        _ => Ok(None),
    }
}

/// The types of an extension, if it is enabled.
pub(crate) fn types<'v>(visit: &'v Visit, extension: &str) -> Result<Option<&'v Types>, Problem> {
    let mut documents = visit.catalogue.documents(&visit.site)?.iter();
    let document = documents.find(|document| document.extension == extension);
    let is_enabled = visit.site.state().snapshot().enabled(extension);
    Ok(document.filter(|_| is_enabled).map(|document| &document.records))
}
