//! The rows of a list as a file of CSV, for types that their extension does not export itself. The list is asked page by
//! page while the file is sent, so that memory has one page of it, however long the list is.

use std::io;

use axum::http::StatusCode;
use csv::{Terminator, WriterBuilder};
use serde_json::Value;

use crate::admin::openapi::plain;
use crate::admin::problem::{Problem, Trouble};
use crate::admin::visit::Visit;
use crate::base::text::harmless;

use super::asking::{self, Asked};
use super::listing::{self, Wanted, value};
use super::model::{Attribute, Kind, Query, Route, Shape};
use super::record::{Listed, Record};

/// The number of rows that are asked for at the same time, where the document names no maximum. A list that allows
/// fewer gives fewer, and the next page begins after these.
const AT_ONCE: u64 = 100;
/// The maximum number of rows that are asked for at the same time, whatever the document allows.
const MOST: u64 = 1000;

/// The column with the key of a record that has it beside its attributes.
const KEY: &str = "id";

/// Where a list is.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) extension: String,
    /// The type of the records, or of the record that they are below.
    pub(crate) kind: String,
    /// The key of that record, and the name of the list below it.
    pub(crate) below: Option<(String, String)>,
}

/// A list that a user may view.
pub(crate) struct Source<'c> {
    /// The type of its records.
    pub(crate) kind: &'c Kind,
    route: &'c Route,
    pub(crate) query: &'c Query,
}

/// The rows of a list, in progress.
pub(crate) struct Rows {
    visit: Visit,
    place: Place,
    /// What the next page is asked with; `None` at the end.
    next: Option<Vec<(String, String)>>,
    /// Whether the names of the columns have been returned.
    begun: bool,
    /// Whether the answers lead to each other.
    linked: bool,
    /// The key of the first record of the last page.
    first: Option<String>,
}

impl Place {
    /// The list, if the user may view it.
    pub(crate) fn source<'v>(&self, visit: &'v Visit) -> Result<Source<'v>, Problem> {
        let types = visit.types(&self.extension)?.ok_or(Problem::NotFound)?;
        let kind = types.kind(&self.kind).ok_or(Problem::NotFound)?;
        let source = match &self.below {
            // Its extension decides who may export what it exports itself, and in which form.
            None => {
                let list = kind.list.as_ref().filter(|_| !kind.exported);
                list.map(|route| Source { kind, route, query: &kind.query })
            }
            Some((_, name)) => {
                let of = kind.nested.iter().filter(|_| visit.may_show(kind));
                let of = of.filter(|nested| !nested.single).find(|nested| nested.name == *name);
                of.and_then(|nested| {
                    let kind = types.kind(&nested.kind)?;
                    Some(Source { kind, route: &nested.route, query: &nested.query })
                })
            }
        };
        source.filter(|source| visit.may_use(source.route)).ok_or(Problem::NotFound)
    }
}

impl Rows {
    /// The rows of a list with these filters and in this order.
    pub(crate) fn of(visit: &Visit, place: Place, state: &Asked) -> Result<Self, Problem> {
        let Source { kind, query, .. } = place.source(visit)?;
        // The page in the state is no part of what is asked.
        let is_page = |name: &str| query.is_place(name) || query.limit.as_deref() == Some(name);
        let state: Vec<_> = state.iter().filter(|(name, _)| !is_page(name)).cloned().collect();
        // A list need not have all attributes of its records unless it is asked for them.
        let attributes = kind.attributes.iter().map(|of| of.name.as_str()).collect();
        let rows = query.most_rows.unwrap_or(AT_ONCE).clamp(1, MOST).to_string();
        let fields = vec![(kind.name.as_str(), attributes)];
        let wanted = Wanted { rows: &rows, include: Vec::new(), fields };
        let next = Some(listing::asked(query, &state, wanted));
        let visit = visit.clone();
        Ok(Self { visit, place, next, begun: false, linked: false, first: None })
    }

    /// The next piece of the file; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        let Some(asked) = self.next.take() else { return Ok(None) };
        // Rights may have changed since the page before.
        let source = self.place.source(&self.visit)?;
        let id = self.place.below.as_ref().map(|(id, _)| id.as_str()).unwrap_or_default();
        let (listed, asked) = page(&self.visit, &source, id, asked).await?;
        let Source { kind, route, query } = source;
        let is_first = !std::mem::replace(&mut self.begun, true);
        let text = text(kind, &listed.records, is_first).map_err(|error| {
            tracing::error!(route = route.id, %error, "rows cannot be written");
            Problem::Failed
        })?;
        let first = listed.records.first().map(|record| record.id.clone());
        let following = if first.is_some() && first == self.first {
            Err("a page begins with the same record as the one before")
        } else {
            following(query, &asked, &listed, self.linked)
        };
        self.next = following.map_err(|error| {
            tracing::error!(route = route.id, error, "a list is not answered as a whole");
            Problem::Trouble(Trouble::Failing)
        })?;
        self.linked = listed.after.is_some();
        self.first = first;
        Ok(Some(text))
    }
}

/// A page of the list, and what it was asked with: fewer rows, where so many are too large for one answer.
async fn page(
    visit: &Visit,
    Source { kind, route, query }: &Source<'_>,
    id: &str,
    mut asked: Vec<(String, String)>,
) -> Result<(Listed, Vec<(String, String)>), Problem> {
    loop {
        let refused = match asking::list(visit, kind, route, id, &asked).await? {
            Ok(listed) => return Ok((listed, asked)),
            Err(refused) => refused,
        };
        let limit = asked.iter_mut().find(|(name, _)| query.limit.as_deref() == Some(name));
        let fewer = limit.and_then(|(_, rows)| {
            let half = rows.parse::<u64>().ok()? / 2;
            // Without an offset the numbers of rows and of pages may depend on each other.
            let is_divisible = half > 0 && query.offset.is_some();
            is_divisible.then(|| *rows = half.to_string())
        });
        if refused.status != StatusCode::PAYLOAD_TOO_LARGE || fewer.is_none() {
            return Err(refused.into());
        }
    }
}

/// What the page after this one is asked with; `None` if this is the last. A file must not look whole that is not, so
/// an answer that contradicts itself is a fault.
fn following(
    query: &Query,
    asked: &Asked,
    listed: &Listed,
    linked: bool,
) -> Result<Option<Vec<(String, String)>>, &'static str> {
    if listed.records.len() < listed.answered {
        return Err("a record has no key");
    }
    let count = u64::try_from(listed.answered).unwrap_or_default();
    if let Some(link) = &listed.after {
        let next = followed(query, asked, link);
        return match count {
            0 => Err("a page without records leads to another one"),
            _ if next == asked => Err("a page leads to itself"),
            _ => Ok(Some(next)),
        };
    }
    if linked {
        return Ok(None);
    }
    let Some(offset) = &query.offset else {
        let is_whole = listed.total.is_none_or(|total| total <= count);
        return if is_whole { Ok(None) } else { Err("there is no way to further records") };
    };
    let skipped = value(asked, offset).and_then(|skipped| skipped.parse::<u64>().ok());
    let reached = skipped.unwrap_or_default().saturating_add(count);
    if count == 0 || listed.total.is_some_and(|total| total <= reached) {
        return Ok(None);
    }
    let others = asked.iter().filter(|(name, _)| name != offset).cloned();
    Ok(Some(others.chain([(offset.clone(), reached.to_string())]).collect()))
}

/// What the query of a link asks for, with what it leaves out of what was asked before, except for the place in the list.
fn followed(query: &Query, asked: &Asked, link: &str) -> Vec<(String, String)> {
    let of_link: Vec<(String, String)> =
        form_urlencoded::parse(link.as_bytes()).into_owned().collect();
    let is_left_out =
        |name: &str| !query.is_place(name) && of_link.iter().all(|(of, _)| of != name);
    let kept = asked.iter().filter(|(name, _)| is_left_out(name)).cloned();
    kept.chain(of_link.iter().cloned()).collect()
}

/// Records as lines of CSV, after one with the names of the columns.
fn text(kind: &Kind, records: &[Record], with_names: bool) -> Result<Vec<u8>, io::Error> {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let key = kind.key.is_none().then_some(KEY);
    if with_names {
        let names = kind.attributes.iter().map(|attribute| attribute.name.as_str());
        let names = key.into_iter().chain(names);
        writer.write_record(names.map(|name| harmless(name.to_owned())))?;
    }
    for record in records {
        let key = key.map(|_| harmless(record.id.clone()));
        let cells = kind.attributes.iter().map(|attribute| {
            let value = record.attributes.get(&attribute.name);
            value.map_or_else(String::new, |of| cell(attribute, of))
        });
        writer.write_record(key.into_iter().chain(cells))?;
    }
    writer.into_inner().map_err(|error| error.into_error())
}

/// A value as a cell. An amount below zero stays a number; any other text that a spreadsheet would compute is made
/// harmless.
fn cell(attribute: &Attribute, value: &Value) -> String {
    let Value::String(text) = value else { return plain(value) };
    let is_number = matches!(attribute.shape, Shape::Decimal | Shape::Whole)
        && serde_json::from_str::<serde_json::Number>(text).is_ok();
    if is_number { text.clone() } else { harmless(text.clone()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admin::records::reading::kind_of_list;

    const PARAMETERS: [&str; 3] = ["q", "offset", "limit"];

    fn things() -> Kind {
        let attributes = json!({"properties": {
            "name": {"type": "string"},
            "=price": {"type": "string", "pattern": r"^-?[0-9]+\.[0-9]{2}$"},
            "more": {"type": "object"},
            "count": {"type": "integer"},
        }});
        let item = json!({"properties": {"attributes": attributes}});
        kind_of_list(&PARAMETERS, json!({"properties": {"data": {"type": "array", "items": item}}}))
    }

    fn pairs(query: &str) -> Vec<(String, String)> {
        form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }

    #[test]
    fn a_row_has_the_key_and_the_attributes_in_the_order_of_the_document() {
        let kind = things();
        let answer = json!({"data": [
            {"type": "things", "id": "7", "attributes": {
                "count": -1, "name": "a \"b\",\n", "=price": "-1.50", "other": 1,
                "more": {"b": [1], "a": "=1"},
            }},
            {"type": "things", "id": "-8", "attributes": {"name": "-1.50", "=price": "-1+1", "more": null}},
        ]});
        let text = text(&kind, &Listed::read(&kind, &answer).records, true).unwrap_or_default();
        let expected = [
            "id,name,'=price,more,count",
            "7,\"a \"\"b\"\",\n\",-1.50,\"{\"\"b\"\":[1],\"\"a\"\":\"\"=1\"\"}\",-1",
            "'-8,'-1.50,'-1+1,,",
            "",
        ];
        assert_eq!(String::from_utf8(text), Ok(expected.join("\r\n")));
    }

    #[test]
    fn a_plain_object_has_its_key_among_its_attributes() {
        let item = json!({"properties": {"name": {"type": "string"}, "id": {"type": "integer"}}});
        let kind = kind_of_list(&PARAMETERS, json!({"type": "array", "items": item}));
        let listed = Listed::read(&kind, &json!([{"id": 7, "name": "Lamp"}]));
        let text = text(&kind, &listed.records, true).unwrap_or_default();
        assert_eq!(String::from_utf8(text).as_deref(), Ok("name,id\r\nLamp,7\r\n"));
    }

    #[test]
    fn pages_follow_links_or_else_offsets_and_no_file_looks_whole_that_is_not() {
        let kind = things();
        let one = json!({"type": "things", "id": "7"});
        let next = |asked: &str, answer: Value, linked: bool| {
            let listed = Listed::read(&kind, &answer);
            following(&kind.query, &pairs(asked), &listed, linked)
        };
        let link = |to: &str, data: &Value| json!({"data": data, "links": {"next": to}});
        let some = json!([one]);
        for (asked, answer, linked, expected) in [
            ("q=a&limit=5", link("/things?cursor=x", &some), false, Some("q=a&limit=5&cursor=x")),
            ("q=a&offset=5", link("/x?offset=9&q=a", &some), true, Some("offset=9&q=a")),
            ("q=a", json!({"data": some, "meta": {"total": 7}}), true, None),
            ("q=a", json!({"data": some, "meta": {"total": 7}}), false, Some("q=a&offset=1")),
            ("offset=6&q=a", json!({"data": some, "meta": {"total": 7}}), false, None),
            ("offset=6&q=a", some.clone(), false, Some("q=a&offset=7")),
            ("offset=7&q=a", json!([]), false, None),
        ] {
            assert_eq!(next(asked, answer, linked), Ok(expected.map(pairs)), "{asked}");
        }
        assert!(next("offset=5", link("/things?offset=5", &some), true).is_err());
        assert!(next("offset=5", link("/things?offset=6", &json!([])), true).is_err());
        assert!(next("", json!({"data": [one, {"type": "things"}]}), false).is_err());

        let mut without = things();
        without.query.offset = None;
        let listed = Listed::read(&without, &json!({"data": some, "total": 7}));
        assert!(following(&without.query, &[], &listed, false).is_err());
        let listed = Listed::read(&without, &some);
        assert_eq!(following(&without.query, &[], &listed, false), Ok(None));
    }
}
