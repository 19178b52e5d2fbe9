//! The list of the records of a type: columns, filters and orders by the document, with the state in the address.

use askama::Template;
use axum::http::StatusCode;
use futures_util::future::join_all;
use host_interface::with_separators;

use super::at::At;
use super::file;
use super::grid::{self, Columns, Grid, Head};
use crate::admin::offers::EXPORTS;
use crate::admin::pages::export::TICKED;
use crate::admin::paths::href;
use crate::admin::problem::Problem;
use crate::admin::records::asking::{self, Asked};
use crate::admin::records::listing::{self, ROWS, Wanted, value, written};
use crate::admin::records::model::{Filter, Kind, Query, Shape};
use crate::admin::records::record::Listed;
use crate::admin::records::references::{self, Found, Named};
use crate::admin::records::showing::Names;
use crate::admin::tables::Format;
use crate::admin::view::{Field, Layout, Notice, View, YES_OR_NO, show};
use crate::admin::visit::Visit;

/// The page that downloads an export.
const FILE: &str = "/export/file";

#[derive(Template)]
#[template(path = "admin/records/list.html")]
struct ListPage<'a> {
    layout: Layout,
    kind: &'a Kind,
    /// The address without a state.
    list: String,
    create: Option<String>,
    search: Option<Field>,
    filters: Vec<Field>,
    /// What the form keeps of the state.
    hidden: Vec<(String, String)>,
    is_filtered: bool,
    grid: Grid,
    pages: Pages,
    exports: Exports,
}

/// The files that the list can be downloaded as.
#[derive(Default)]
struct Exports {
    /// The addresses of what is filtered, each with the name of the format.
    filtered: Vec<(String, &'static str)>,
    /// The form for what is ticked: its address, its hidden fields, and the formats by their values.
    address: String,
    hidden: Vec<(String, String)>,
    formats: Vec<(&'static str, &'static str)>,
}

/// Where in a list its rows are, and the pages beside them.
#[derive(Default)]
pub(super) struct Pages {
    /// Such as "1–25 of 1,234".
    pub(super) range: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let at = At::of(&visit)?;
    let kind = at.kind;
    let list = at.offered(kind.list.as_ref())?;
    let mut state = listing::state(kind, &kind.query, &visit.query);
    name_keys(&at, &mut state).await?;
    let columns = Columns::of(kind);
    let asked = listing::asked(&kind.query, &state, wanted(&at, &columns));
    let (answered, filters) =
        tokio::join!(asking::list(&visit, kind, list, "", &asked), filters(&at, &state));
    let (listed, refused) = match answered? {
        Ok(listed) => (listed, None),
        Err(refused) if refused.status.is_client_error() && is_about_the_query(refused.status) => {
            (Listed::default(), Some(refused.reasons))
        }
        Err(refused) => return Err(refused.into()),
    };
    let mut names = Names::default();
    names.add(&listed.included, |name| at.types.kind(name));
    let base = at.list();
    let create = kind.create.as_ref().filter(|create| at.visit.may_use(create));
    let exports = match refused {
        // What the API refuses for a page, it refuses for a file.
        Some(_) => Exports::default(),
        None => exports(&at, &state)?,
    };
    let searched = kind.query.search.as_deref();
    let view = show(&ListPage {
        layout: visit.layout(kind.title.clone()).with_notice(refused.as_deref().map(Notice::bad)),
        kind,
        create: create.map(|_| format!("{base}/new")),
        search: searched.map(|name| Field {
            kind: "search",
            ..Field::text(name.to_owned(), "Search").maybe_empty().value(of(&state, name))
        }),
        filters,
        hidden: kept(&kind.query, &state),
        is_filtered: state.iter().any(|(name, _)| is_filter(kind, name)),
        grid: Grid {
            caption: kind.title.clone(),
            ticked: kind.query.keys.clone().filter(|_| !exports.formats.is_empty()),
            heads: heads(&columns, &kind.query, &state, &base),
            rows: grid::rows(&at, &columns, &listed.records, &names),
        },
        pages: pages(&kind.query, &state, &listed, &base, &[]),
        exports,
        list: base,
    })?;
    Ok(match refused {
        Some(_) => view.of_status(StatusCode::UNPROCESSABLE_ENTITY),
        None => view,
    })
}

/// Whether a refusal is about what was asked, and not about who asks.
fn is_about_the_query(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)
}

/// What the columns of a type need of a list.
pub(super) fn wanted<'k>(at: &At<'k>, columns: &Columns<'k>) -> Wanted<'k> {
    let references = || columns.others.iter().filter_map(|of| of.reference.as_deref());
    let is_named = |name: &str| {
        references().any(|of| of == name)
            && at.types.kind(name).is_some_and(|of| at.visit.may_show(of))
    };
    let relations = columns.kind.relations.iter().filter(|of| of.names_one());
    let named: Vec<(&str, &str)> = relations
        .filter_map(|of| Some((of.name.as_str(), of.kind.as_deref()?)))
        .filter(|(_, kind)| is_named(kind))
        .collect();
    let mut own = columns.names();
    own.extend(named.iter().map(|(name, _)| *name));
    let others =
        named.iter().filter(|(_, kind)| *kind != columns.kind.name).filter_map(|(_, name)| {
            let kind = at.types.kind(name)?;
            Some((kind.name.as_str(), kind.label.iter().map(String::as_str).collect()))
        });
    if named.iter().any(|(_, kind)| *kind == columns.kind.name) {
        own.extend(columns.kind.label.iter().map(String::as_str));
    }
    let fields = std::iter::once((columns.kind.name.as_str(), own)).chain(others).collect();
    Wanted { rows: ROWS[0], include: named.iter().map(|(name, _)| *name).collect(), fields }
}

fn of<'s>(state: &'s Asked, name: &str) -> &'s str {
    value(state, name).unwrap_or_default()
}

fn is_filter(kind: &Kind, name: &str) -> bool {
    kind.query.search.as_deref() == Some(name) || kind.filters.iter().any(|of| of.name == name)
}

/// The parts of the state that the form for the filters does not enter.
fn kept(query: &Query, state: &Asked) -> Vec<(String, String)> {
    let is_kept =
        |name: &str| [&query.sort, &query.limit].into_iter().flatten().any(|of| of == name);
    state.iter().filter(|(name, _)| is_kept(name)).cloned().collect()
}

/// The heads of the columns, by which the list can be sorted both ways.
pub(super) fn heads(columns: &Columns<'_>, query: &Query, state: &Asked, base: &str) -> Vec<Head> {
    let kind = columns.kind;
    let sort = query.sort.as_deref();
    let current = sort.map(|sort| of(state, sort)).unwrap_or_default();
    let head = |title: String, name: &str, is_number: bool| {
        let is_sortable = kind.sorts.iter().any(|of| of == name);
        let order = match (current == name, current.strip_prefix('-') == Some(name)) {
            (true, _) => "ascending",
            (_, true) => "descending",
            _ => "",
        };
        let sorted = sort.filter(|_| is_sortable).map(|sort| {
            let mut state = listing::without(state, &[&query.sort, &query.offset]);
            let next = if order == "ascending" { format!("-{name}") } else { name.to_owned() };
            state.push((sort.to_owned(), next));
            format!("{base}?{}", written(&state))
        });
        Head { title, is_number, sorted, order }
    };
    let first = match kind.label.as_slice() {
        [only, ..] => head(columns.first(), only, false),
        [] => head("Record".to_owned(), "", false),
    };
    let others = columns.others.iter().map(|of| {
        let is_number = of.reference.is_none() && matches!(of.shape, Shape::Whole | Shape::Decimal);
        head(of.title.clone(), &of.name, is_number)
    });
    std::iter::once(first).chain(others).collect()
}

/// The pages beside a page of a list; `beside` is what their addresses have beside the state.
pub(super) fn pages(
    query: &Query,
    state: &Asked,
    listed: &Listed,
    base: &str,
    beside: &Asked,
) -> Pages {
    let skipped = query.offset.as_deref().and_then(|name| value(state, name));
    let skipped: u64 = skipped.and_then(|of| of.parse().ok()).unwrap_or_default();
    let count = u64::try_from(listed.records.len()).unwrap_or_default();
    let range = match (count, listed.total) {
        (0, _) => String::new(),
        (_, Some(total)) if skipped + count <= total => format!(
            "{}–{} of {}",
            with_separators(skipped + 1),
            with_separators(skipped + count),
            with_separators(total)
        ),
        (_, total) => {
            format!("{} on this page", with_separators(count))
                + &total.map_or_else(String::new, |of| format!(", {} in all", with_separators(of)))
        }
    };
    // The links of the answer have what the page has asked for beside the state.
    let address = |link: &Option<String>| {
        let pairs = form_urlencoded::parse(link.as_deref()?.as_bytes()).into_owned();
        let pairs = pairs.filter(|(name, _)| query.is_place(name));
        let others = state.iter().filter(|(name, _)| !query.is_place(name));
        let pairs: Vec<_> = beside.iter().chain(others).cloned().chain(pairs).collect();
        Some(format!("{base}?{}", written(&pairs)))
    };
    Pages { range, before: address(&listed.before), after: address(&listed.after) }
}

/// The fields for the filters. A record that a filter names is chosen where there are few.
async fn filters(at: &At<'_>, state: &Asked) -> Vec<Field> {
    let fields = at.kind.filters.iter().map(async |filter| {
        let kind = filter.reference.as_deref().and_then(|name| at.types.kind(name));
        let choices = match kind {
            Some(kind) => references::all(at.visit, kind).await,
            None => None,
        };
        field(filter, choices, of(state, &filter.name))
    });
    join_all(fields).await
}

fn field(filter: &Filter, choices: Option<Named>, value: &str) -> Field {
    let Filter { name, title, shape, reference, .. } = filter;
    let choice = |words: Named| {
        let any = (String::new(), "Any".to_owned());
        let has = value.is_empty() || words.iter().any(|(word, _)| word == value);
        let unknown = (!has).then(|| (value.to_owned(), value.to_owned()));
        let all = std::iter::once(any).chain(words).chain(unknown);
        Field::choice(name.clone(), title.clone(), all)
    };
    let same = |word: &String| (word.clone(), word.clone());
    let field = match (choices, shape) {
        (Some(choices), _) => choice(choices),
        (None, Shape::Choice(words)) => choice(words.iter().map(same).collect()),
        (None, Shape::Flag) => {
            choice(YES_OR_NO.map(|(of, title)| (of.to_owned(), title.to_owned())).into())
        }
        (None, Shape::Date) => Field::date(name.clone(), title.clone()),
        (None, Shape::Moment) => {
            Field::date(name.clone(), title.clone()).hint("This day or later.")
        }
        (None, _) if reference.is_some() => {
            Field::text(name.clone(), title.clone()).hint("A name or a key.")
        }
        (None, _) => Field::text(name.clone(), title.clone()),
    };
    field.maybe_empty().value(value)
}

/// Replaces names in filters by the keys of the records with these names, if there is one of each.
async fn name_keys(at: &At<'_>, state: &mut [(String, String)]) -> Result<(), Problem> {
    for filter in at.kind.filters.iter().filter(|filter| filter.shape == Shape::Whole) {
        let kind = filter.reference.as_deref().and_then(|name| at.types.kind(name));
        let entered = state.iter_mut().find(|(name, _)| *name == filter.name);
        let (Some(kind), Some((_, text))) = (kind, entered) else { continue };
        if !references::is_name(text) {
            continue;
        }
        if let Some(Found::One(key)) = references::find(at.visit, kind, text).await? {
            *text = key;
        }
    }
    Ok(())
}

/// The downloads of what is filtered, in its order, and of what is ticked. What the extension does not export is
/// filtered only.
fn exports(at: &At<'_>, state: &Asked) -> Result<Exports, Problem> {
    let Query { offset, limit, sort, .. } = &at.kind.query;
    let state = listing::without(state, &[offset, limit]);
    if !at.kind.exported {
        let filtered = vec![(file::of_list(at, &state), Format::CSV.short)];
        return Ok(Exports { filtered, ..Exports::default() });
    }
    let offers = at.visit.offers(EXPORTS)?;
    let Some(list) = &at.kind.list else { return Ok(Exports::default()) };
    let found = offers.iter().find_map(|offer| offer.query_of_list(&at.types.extension, &list.id));
    let Some(query) = found else { return Ok(Exports::default()) };
    let address = |format: Format| {
        let format = [("format".to_owned(), format.name.to_owned())];
        href(&format!("{FILE}?{}", written(&[&query[..], &format, &state].concat())))
    };
    let order = state.iter().filter(|(name, _)| sort.as_deref() == Some(name)).cloned();
    let ticked = [(TICKED.to_owned(), "1".to_owned())];
    Ok(Exports {
        filtered: Format::ALL.map(|format| (address(format), format.short)).to_vec(),
        address: href(FILE),
        formats: Format::ALL.map(|format| (format.name, format.short)).to_vec(),
        hidden: query.iter().cloned().chain(ticked).chain(order).collect(),
    })
}
