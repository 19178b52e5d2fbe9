//! The search over all types that the user may list. It leads to the record that has exactly what was searched for, if
//! there is one only.

use std::time::Duration;

use askama::Template;
use futures_util::future::join_all;
use tokio::time::timeout;

use super::at;
use crate::admin::catalogue::Catalogue;
use crate::admin::openapi::plain;
use crate::admin::problem::Problem;
use crate::admin::records::listing::{self, Wanted};
use crate::admin::records::model::{Kind, Types};
use crate::admin::records::record::Record;
use crate::admin::records::showing::{self, Look, Names};
use crate::admin::records::{asking, navigation, visible};
use crate::admin::view::{Layout, View, show};
use crate::admin::visit::Visit;
use crate::site::Site;

/// The time for each type. All types are searched at the same time.
const TIME: Duration = Duration::from_secs(2);
/// The number of records of a type.
const SHOWN: usize = 10;
/// The maximum number of characters of a text.
const LONGEST: usize = 100;

#[derive(Template)]
#[template(path = "admin/records/search.html")]
struct SearchPage {
    layout: Layout,
    sought: String,
    found: Vec<Hits>,
    /// The titles of the types that were not searched to the end.
    late: Vec<String>,
}

/// What was found of a type.
struct Hits {
    id: String,
    title: String,
    /// The address of the list with all of them, if there are more.
    all: Option<String>,
    records: Vec<Hit>,
}

/// A record that was found.
struct Hit {
    label: String,
    href: String,
    /// Its other columns.
    about: String,
}

/// What a type has of what was searched for.
struct Searched<'c> {
    types: &'c Types,
    kind: &'c Kind,
    records: Vec<Record>,
    /// Records that this text identifies.
    identified: Vec<String>,
    /// Records that have exactly this text.
    exact: Vec<String>,
    has_more: bool,
}

/// Whether there is anything that a user may search for.
pub(crate) fn is_offered(site: &Site, catalogue: &Catalogue, user: i64) -> bool {
    navigation::is_searched(&visible::all(site, catalogue, user).unwrap_or_default())
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let sought: String = visit.query.get("q").trim().chars().take(200).collect();
    let found = visible::all(&visit.site, &visit.catalogue, visit.session.user)?;
    let kinds = found.iter().flat_map(|of| of.kinds.iter().map(move |kind| (of.types, *kind)));
    let kinds = kinds.filter(|(_, kind)| {
        let is_searched = kind.query.search.is_some() || kind.query.exact.is_some();
        is_searched && visit.may_show(kind) && !sought.is_empty()
    });
    let kinds: Vec<_> = kinds.collect();
    let searches =
        kinds.iter().map(|(types, kind)| timeout(TIME, search(&visit, types, kind, &sought)));
    let mut results = Vec::new();
    let mut late = Vec::new();
    for (answered, (_, kind)) in join_all(searches).await.into_iter().zip(&kinds) {
        match answered {
            Ok(Ok(Some(searched))) => results.push(searched),
            // Nothing, or a failure, which the log has.
            Ok(Ok(None) | Err(_)) | Err(_) => late.push(kind.title.clone()),
        }
    }
    if let Some(only) = only(&results) {
        return Ok(View::elsewhere(only));
    }
    results.retain(|searched| !searched.records.is_empty());
    show(&SearchPage {
        layout: visit.layout("Search"),
        found: results.iter().enumerate().map(|(nth, of)| hits(nth, of, &sought)).collect(),
        sought,
        late,
    })
}

/// Searches a type by its search, and by the text that identifies a record; `None` if it refuses.
async fn search<'c>(
    visit: &Visit,
    types: &'c Types,
    kind: &'c Kind,
    sought: &str,
) -> Result<Option<Searched<'c>>, Problem> {
    let Some(list) = &kind.list else { return Ok(None) };
    let rows = SHOWN.to_string();
    let ask = async |parameter: &Option<String>| {
        let Some(parameter) = parameter else { return Ok(None) };
        let state = [(parameter.clone(), sought.to_owned())];
        let wanted = Wanted { rows: &rows, ..Wanted::default() };
        let asked = listing::asked(&kind.query, &state, wanted);
        asking::list(visit, kind, list, "", &asked).await.map(Result::ok)
    };
    let (identified, found) = tokio::join!(ask(&kind.query.exact), ask(&kind.query.search));
    let (identified, found) = (identified?, found?);
    if identified.is_none() && found.is_none() {
        return Ok(None);
    }
    let identified = identified.map(|listed| listed.records).unwrap_or_default();
    let keys: Vec<String> = identified.iter().map(|record| record.id.clone()).collect();
    let has_more = found.as_ref().is_some_and(|found| {
        let total = found.total.and_then(|total| usize::try_from(total).ok());
        found.after.is_some() || total.is_some_and(|total| total > SHOWN)
    });
    let mut records = identified;
    for record in found.map(|found| found.records).unwrap_or_default() {
        if records.iter().all(|known| known.id != record.id) {
            records.push(record);
        }
    }
    records.truncate(SHOWN);
    let exact = records.iter().filter(|record| is_exactly(record, kind, sought));
    let exact = exact.map(|record| record.id.clone()).collect();
    Ok(Some(Searched { types, kind, records, identified: keys, exact, has_more }))
}

/// Whether a record has this name, or a text in a column that is this.
fn is_exactly(record: &Record, kind: &Kind, sought: &str) -> bool {
    let sought = sought.to_lowercase();
    let columns = kind.columns.iter().chain(&kind.label);
    let mut texts = columns.filter_map(|name| record.attributes.get(name)).map(plain);
    showing::label(record, kind).to_lowercase() == sought
        || texts.any(|of| of.to_lowercase() == sought)
}

/// The page of the only record that is identified by what was searched for, or else of the only one that has exactly
/// this text.
fn only(results: &[Searched<'_>]) -> Option<String> {
    let one = |keys: for<'r> fn(&'r Searched<'_>) -> &'r [String]| {
        let mut found = results.iter().flat_map(|of| keys(of).iter().map(move |id| (of, id)));
        match (found.next(), found.next()) {
            (Some((of, id)), None) => Some(at::page(&of.types.extension, &of.kind.name, id)),
            _ => None,
        }
    };
    one(|of| &of.identified).or_else(|| one(|of| &of.exact))
}

fn hits(nth: usize, of: &Searched<'_>, sought: &str) -> Hits {
    let Searched { types, kind, records, has_more, .. } = of;
    let search = kind.query.search.as_ref().filter(|_| *has_more);
    let all = search.map(|name| {
        let query = listing::written(&[(name.clone(), sought.to_owned())]);
        format!("{}?{query}", at::list(&types.extension, &kind.name))
    });
    let records = records.iter().map(|record| {
        let others = kind.columns.iter().filter(|name| !kind.label.contains(name));
        let others = others.filter_map(|name| {
            let attribute = kind.attribute(name).filter(|of| of.reference.is_none())?;
            let value = record.attributes.get(name)?;
            let shown = showing::shown(attribute, value, &Names::default(), LONGEST);
            let is_text = matches!(shown.look, Look::Text | Look::Number | Look::Time);
            (is_text && !shown.is_empty()).then_some(shown.text)
        });
        Hit {
            label: showing::label(record, kind).chars().take(LONGEST).collect(),
            href: at::page(&types.extension, &kind.name, &record.id),
            about: others.take(4).collect::<Vec<_>>().join(" · "),
        }
    });
    Hits { id: format!("found-{nth}"), title: kind.title.clone(), all, records: records.collect() }
}
