//! A record: its attributes in groups, and in tabs what belongs to it. Each tab is a page of its own, which asks only
//! for what it shows.

use askama::Template;
use askama::filters::HtmlSafe;
use host_interface::Subject;

use super::at::At;
use super::file;
use super::grid::{self, Cell, Columns, Grid, Head, Links};
use super::list::{self, Pages};
use crate::admin::pages::panels::{self, Drawn};
use crate::admin::paths::href;
use crate::admin::problem::{Problem, Trouble};
use crate::admin::records::model::{Attribute, Kind, Nested, Query, Shape};
use crate::admin::records::record::{self, Record};
use crate::admin::records::schema::in_words;
use crate::admin::records::showing::{self, Look, Names};
use crate::admin::records::{asking, listing};
use crate::admin::view::{Exactly, Layout, Tab, Tabs, View, show};
use crate::admin::visit::Visit;
use crate::watch::audit::{self, Entry, Filter};

/// The numbers of characters to which texts are cut, until the page is small enough.
const LENGTHS: [usize; 4] = [8_000, 1_500, 300, 60];
/// The maximum size of the texts of a page, as they are in HTML.
const TEXTS: usize = 26_000;
/// What an attribute takes in HTML beside its texts.
const AROUND: usize = 100;
/// The maximum number of rows of a part of a record.
const ROWS: usize = 100;
/// The number of entries of the audit trail.
const ENTRIES: usize = 5;

#[derive(Template)]
#[template(path = "admin/records/detail.html")]
struct DetailPage<'a> {
    layout: Layout,
    trail: Vec<(String, String)>,
    kind: &'a Kind,
    label: String,
    /// The pages that change it, each with its title.
    actions: Vec<(String, String)>,
    delete: Option<String>,
    tabs: Option<Tabs>,
    content: Content,
    /// The address in the API.
    address: String,
    version: String,
    /// The newest entries of the audit trail, and the address of the others.
    changes: Option<(Vec<Entry>, String)>,
}

/// What a tab shows.
enum Content {
    Sections(Vec<Section>),
    List { grid: Grid, pages: Pages, file: Option<String> },
    Panel(Box<Drawn>),
}

/// A title and a value, with what they mean.
type Fact = (String, Cell, String);

/// Attributes of the same kind.
#[derive(Template)]
#[template(path = "admin/records/section.html")]
struct Section {
    id: &'static str,
    title: &'static str,
    facts: Vec<Fact>,
    /// How many are left out, because the page would be too large.
    left_out: usize,
    /// Whether the values are long.
    long: bool,
}

impl HtmlSafe for Section {}

impl DetailPage<'_> {
    /// What an entry of the trail has done.
    fn done(entry: &Entry) -> &str {
        match entry.what.as_str() {
            "" => &entry.route,
            what => what,
        }
    }
}

/// What a tab is for.
enum Part<'k> {
    Overview,
    Nested(&'k Nested),
    Parts(&'k Attribute, &'k [Attribute]),
    Panel(String),
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let at = At::of(&visit)?;
    let kind = at.kind;
    let route = at.offered(kind.show.as_ref())?;
    let id = at.id()?;
    let relations = kind.relations.iter().filter(|of| of.names_one());
    let include = relations.filter(|relation| {
        let related = relation.kind.as_deref().and_then(|name| at.types.kind(name));
        related.is_some_and(|kind| at.visit.may_show(kind))
    });
    let include: Vec<&str> = include.map(|relation| relation.name.as_str()).collect();
    let parameter = kind.query.include.as_ref().filter(|_| !include.is_empty());
    let asked: Vec<_> =
        parameter.map(|name| (name.clone(), include.join(","))).into_iter().collect();
    let (record, answer) = asking::show(&visit, kind, &id, &asked).await?;
    let mut names = Names::default();
    names.add(&record::included(&answer), |name| at.types.kind(name));

    let tabs = tabs(&at);
    let wanted = visit.query.get("tab");
    let (_, _, part) = tabs.iter().find(|(name, ..)| name == wanted).ok_or(Problem::NotFound)?;
    let is_overview = matches!(part, Part::Overview);
    let content = match part {
        Part::Overview => Content::Sections(sections(&at, &record, &names)),
        Part::Nested(nested) => below(&at, nested, &id).await?,
        Part::Parts(attribute, members) => parts(&at, &record, attribute, members),
        Part::Panel(title) => panel(&at, title, &id).await?,
    };
    let label = showing::label(&record, kind);
    let own = at.page(&id);
    show(&DetailPage {
        layout: visit.layout(format!("{label} · {}", kind.title)),
        trail: at.trail(None),
        kind,
        label,
        actions: actions(&at, &own),
        delete: kind
            .delete
            .as_ref()
            .filter(|of| at.visit.may_use(of))
            .map(|_| format!("{own}/delete")),
        tabs: (tabs.len() > 1).then(|| Tabs {
            label: "About this record",
            tabs: tabs.iter().map(|(name, title, _)| tab(&own, name, title, wanted)).collect(),
        }),
        content,
        address: format!("{}{}", visit.origin, asking::address(route, &id, "")),
        version: record.version.clone(),
        changes: if is_overview { changes(&at, &id).await? } else { None },
    })
}

fn tab(own: &str, name: &str, title: &str, wanted: &str) -> Tab {
    let href = match name {
        "" => own.to_owned(),
        name => format!("{own}?tab={name}"),
    };
    Tab { title: title.to_owned().into(), href, current: name == wanted }
}

/// The tabs that the user may open: their names in addresses, their titles, and what they are for.
fn tabs<'v>(at: &At<'v>) -> Vec<(String, String, Part<'v>)> {
    let kind = at.kind;
    let overview = (String::new(), "Overview".to_owned(), Part::Overview);
    let parts = kind.attributes.iter().filter_map(|attribute| match &attribute.shape {
        Shape::Parts(members) => {
            let name = format!("part-{}", kind.attributes.iter().position(|of| of == attribute)?);
            Some((name, attribute.title.clone(), Part::Parts(attribute, members)))
        }
        _ => None,
    });
    let nested = kind
        .nested
        .iter()
        .filter(|nested| at.visit.may_use(&nested.route))
        .map(|nested| (nested.name.clone(), nested.title.clone(), Part::Nested(nested)));
    let panels = panels::details(at.visit).into_iter().enumerate();
    let panels = panels.filter(|(_, panel)| panel.is_about_records(&kind.name));
    let panels = panels.map(|(nth, panel)| {
        let title = panel.title().to_owned();
        (format!("panel-{nth}"), title.clone(), Part::Panel(title))
    });
    let mut tabs: Vec<(String, String, Part<'v>)> =
        std::iter::once(overview).chain(nested).chain(parts).collect();
    // A panel that shows the same as a list below the record has its title.
    for panel in panels {
        if tabs.iter().all(|(_, title, _)| *title != panel.1) {
            tabs.push(panel);
        }
    }
    tabs
}

/// The pages that change the record, as far as the user may.
fn actions(at: &At<'_>, own: &str) -> Vec<(String, String)> {
    let edit = at.kind.update.as_ref().filter(|update| at.visit.may_use(update));
    let edit = edit.map(|_| (format!("{own}/edit"), "Edit".to_owned()));
    let actions = at.kind.actions.iter().filter(|action| at.visit.may_use(&action.route));
    let actions = actions.map(|of| (format!("{own}/do/{}", of.name), of.title.clone()));
    edit.into_iter().chain(actions).collect()
}

/// The attributes in groups by what they are.
fn sections(at: &At<'_>, record: &Record, names: &Names) -> Vec<Section> {
    let mut found = Vec::new();
    for longest in LENGTHS {
        found = sections_of(at, record, names, longest);
        if found.iter().flat_map(|section| &section.facts).map(size).sum::<usize>() <= TEXTS {
            return found;
        }
    }
    // There are too many attributes, or their meanings are too long.
    let mut left = TEXTS;
    for section in &mut found {
        let all = section.facts.len();
        section.facts.retain_mut(|fact| {
            fact.2.clear();
            let rest = left.checked_sub(size(fact));
            left = rest.unwrap_or_default();
            rest.is_some()
        });
        section.left_out = all - section.facts.len();
    }
    found
}

/// What a fact takes in HTML.
fn size((title, cell, meaning): &Fact) -> usize {
    let texts = [title, &cell.shown.text, &cell.shown.exact, meaning];
    AROUND + texts.into_iter().map(|text| grid::escaped(text)).sum::<usize>()
}

fn sections_of(at: &At<'_>, record: &Record, names: &Names, longest: usize) -> Vec<Section> {
    let links = Links::of(at);
    let mut sections = [
        ("details", "Details", false),
        ("numbers", "Numbers", false),
        ("related", "Related records", false),
        ("times", "Times", false),
        ("texts", "Texts", true),
    ]
    .map(|(id, title, long)| Section { id, title, facts: Vec::new(), left_out: 0, long });
    for attribute in &at.kind.attributes {
        let shown = showing::of_record(record, attribute, names, longest);
        let nth = match attribute.shape {
            Shape::Parts(_) => continue,
            _ if attribute.reference.is_some() => 2,
            Shape::Whole | Shape::Decimal => 1,
            Shape::Date | Shape::Moment => 3,
            Shape::LongText => 4,
            Shape::Object(_) | Shape::Raw if shown.look == Look::Data => 4,
            _ => 0,
        };
        let fact = (attribute.title.clone(), links.cell(shown), attribute.description.clone());
        if let Some(section) = sections.get_mut(nth) {
            section.facts.push(fact);
        }
    }
    // Relationships that no attribute has.
    let references: Vec<&str> =
        at.kind.attributes.iter().filter_map(|of| of.reference.as_deref()).collect();
    for relation in &at.kind.relations {
        let Some(related) = record.related(&relation.name) else { continue };
        if references.contains(&related.kind.as_str()) || relation.many {
            continue;
        }
        let cell = links.cell(showing::related(related, names, longest));
        let title = in_words(&relation.name, false);
        sections[2].facts.push((title, cell, String::new()));
    }
    // What is known of a record beside its attributes.
    for (name, value) in record.meta.iter().filter(|(name, _)| *name != "version") {
        let shown = showing::plain(value, longest);
        let title = in_words(name, false);
        let nth = if shown.look == Look::Data { 4 } else { 1 };
        sections[nth].facts.push((title, Cell { shown, href: None }, String::new()));
    }
    sections.into_iter().filter(|section| !section.facts.is_empty()).collect()
}

/// The records below the record.
async fn below(at: &At<'_>, nested: &Nested, id: &str) -> Result<Content, Problem> {
    let kind = at.types.kind(&nested.kind).ok_or(Problem::NotFound)?;
    let inner = At { visit: at.visit, types: at.types, kind };
    if nested.single {
        let answer = asking::get(at.visit, &nested.route, id, &[]).await??;
        let record = Record::of_answer(kind, &answer);
        let record = record.ok_or(Problem::Trouble(Trouble::Failing))?;
        let names = Names::default();
        return Ok(Content::Sections(sections(&inner, &record, &names)));
    }
    let columns = Columns::of(kind);
    let state = listing::state(kind, &nested.query, &at.visit.query);
    let asked = listing::asked(&nested.query, &state, list::wanted(&inner, &columns));
    let listed = asking::list(at.visit, kind, &nested.route, id, &asked).await??;
    let mut names = Names::default();
    names.add(&listed.included, |name| at.types.kind(name));
    let own = at.page(id);
    let tab = [("tab".to_owned(), nested.name.clone())];
    let heads = list::heads(&columns, &nested.query, &[&tab[..], &state].concat(), &own);
    let Query { offset, limit, .. } = &nested.query;
    let whole = listing::without(&state, &[offset, limit]);
    Ok(Content::List {
        file: Some(file::of_part(at, id, &nested.name, &whole)),
        grid: Grid {
            caption: nested.title.clone(),
            ticked: None,
            heads,
            rows: grid::rows(&inner, &columns, &listed.records, &names),
        },
        pages: list::pages(&nested.query, &state, &listed, &own, &tab),
    })
}

/// The objects in an attribute, as a table.
fn parts(at: &At<'_>, record: &Record, attribute: &Attribute, members: &[Attribute]) -> Content {
    let links = Links::of(at);
    let names = Names::default();
    let all = record.attributes.get(&attribute.name).and_then(|value| value.as_array());
    let rows = all.into_iter().flatten().take(ROWS).enumerate().map(|(nth, part)| {
        let cells = members.iter().map(|member| {
            links.cell(showing::shown(member, &part[member.name.as_str()], &names, 120))
        });
        let label = (nth + 1).to_string();
        grid::Row { id: label.clone(), label, href: None, picture: None, cells: cells.collect() }
    });
    let head = |title: &str, is_number| Head {
        title: title.to_owned(),
        is_number,
        sorted: None,
        order: "",
    };
    let heads = members.iter().map(|member| {
        let is_number = matches!(member.shape, Shape::Whole | Shape::Decimal);
        head(&member.title, is_number && member.reference.is_none())
    });
    let heads = std::iter::once(head("Row", false)).chain(heads).collect();
    let caption = attribute.title.clone();
    let grid = Grid { caption, ticked: None, heads, rows: rows.collect() };
    Content::List { grid, pages: Pages::default(), file: None }
}

/// A panel of an extension about the record.
async fn panel(at: &At<'_>, title: &str, id: &str) -> Result<Content, Problem> {
    let details = panels::details(at.visit).into_iter();
    let chosen = details.filter(|of| of.is_about_records(&at.kind.name) && of.title() == title);
    let subject = Subject::Record { kind: at.kind.name.clone(), id: id.to_owned() };
    let mut drawn = panels::about(at.visit, &subject, chosen.take(1).collect()).await;
    drawn.pop().map(|drawn| Content::Panel(Box::new(drawn))).ok_or(Problem::NotFound)
}

/// The newest entries of the audit trail about the record, for those who may read it.
async fn changes(at: &At<'_>, id: &str) -> Result<Option<(Vec<Entry>, String)>, Problem> {
    if !at.visit.is_admin() {
        return Ok(None);
    }
    let record = audit::Record { kind: at.kind.name.clone(), id: id.to_owned() };
    let filter = Filter { record, ..Filter::default() };
    let listed = audit::list(at.visit.site.state().database(), &filter).await?;
    let query = [("type".to_owned(), at.kind.name.clone()), ("id".to_owned(), id.to_owned())];
    let address = href(&format!("/audit?{}", listing::written(&query)));
    Ok(Some((listed.entries.into_iter().take(ENTRIES).collect(), address)))
}
