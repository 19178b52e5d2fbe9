//! Records as a table: in lists, below a record, and as what a search has found. Texts are cut as far as a page needs
//! it to stay small.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::admin::records::asking::segment;
use crate::admin::records::model::{Attribute, Kind, Shape};
use crate::admin::records::record::{Identity, Record};
use crate::admin::records::showing::{self, Look, Names, Shown};

use super::at::At;

/// The maximum size of the texts of a table, as they are in HTML.
const TEXTS: usize = 22_000;
/// The maximum number of rows with pictures.
const PICTURES: usize = 50;
/// The numbers of characters to which texts are cut, until they fit.
const LENGTHS: [usize; 5] = [120, 60, 30, 15, 6];

/// A table of records.
#[derive(Template)]
#[template(path = "admin/records/grid.html")]
pub(super) struct Grid {
    pub(super) caption: String,
    /// The name of the fields that tick a record, if records can be ticked.
    pub(super) ticked: Option<String>,
    pub(super) heads: Vec<Head>,
    pub(super) rows: Vec<Row>,
}

/// The head of a column.
pub(super) struct Head {
    pub(super) title: String,
    pub(super) is_number: bool,
    /// The address of the list in the order of this column.
    pub(super) sorted: Option<String>,
    /// The value of `aria-sort`; empty if the list is in another order.
    pub(super) order: &'static str,
}

/// A record.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) label: String,
    /// The address of its page.
    pub(super) href: Option<String>,
    pub(super) picture: Option<Shown>,
    pub(super) cells: Vec<Cell>,
}

/// A value, and the address of the page of the record that it names.
#[derive(Template)]
#[template(path = "admin/records/value.html")]
pub(super) struct Cell {
    pub(super) shown: Shown,
    pub(super) href: Option<String>,
}

impl Grid {
    fn has_pictures(&self) -> bool {
        self.rows.iter().any(|row| row.picture.is_some())
    }

    /// The values of a row beside its name, each with the head of its column.
    fn cells<'g>(&'g self, row: &'g Row) -> impl Iterator<Item = (&'g Head, &'g Cell)> {
        self.heads.iter().skip(1).zip(&row.cells)
    }
}

impl HtmlSafe for Grid {}
impl HtmlSafe for Cell {}

/// The columns of a table: the attributes beside the name of a record, and its picture.
pub(super) struct Columns<'k> {
    pub(super) kind: &'k Kind,
    pub(super) picture: Option<&'k Attribute>,
    pub(super) others: Vec<&'k Attribute>,
}

impl<'k> Columns<'k> {
    pub(super) fn of(kind: &'k Kind) -> Self {
        let all = || kind.columns.iter().filter_map(|name| kind.attribute(name));
        let is_picture = |of: &&Attribute| of.shape == Shape::Picture;
        let is_label = |of: &&Attribute| kind.label.contains(&of.name);
        let others = all().filter(|of| !is_picture(of) && !is_label(of)).collect();
        Self { kind, picture: all().find(is_picture), others }
    }

    /// The names of all attributes that are needed.
    pub(super) fn names(&self) -> Vec<&'k str> {
        let others = self.others.iter().chain(&self.picture).map(|of| of.name.as_str());
        let label = self.kind.label.iter().map(String::as_str);
        label.chain(others).collect()
    }

    /// The head of the column with the names of records.
    pub(super) fn first(&self) -> String {
        let named = self.kind.label.first().and_then(|name| self.kind.attribute(name));
        match (self.kind.label.as_slice(), named) {
            ([_], Some(attribute)) => attribute.title.clone(),
            _ => "Name".to_owned(),
        }
    }
}

/// The rows of a table.
pub(super) fn rows(
    at: &At<'_>,
    columns: &Columns<'_>,
    records: &[Record],
    names: &Names,
) -> Vec<Row> {
    let links = Links { pictures: records.len() <= PICTURES, ..Links::of(at) };
    let row = |record: &Record, longest| {
        let shown = |of: &Attribute| showing::of_record(record, of, names, longest);
        let cells = columns.others.iter().map(|of| links.cell(shown(of)));
        let picture = columns.picture.filter(|_| links.pictures).map(shown);
        Row {
            id: record.id.clone(),
            label: showing::label(record, columns.kind).chars().take(longest).collect(),
            href: links.page(&record.identity()),
            picture: picture.filter(|of| of.look == Look::Picture),
            cells: cells.collect(),
        }
    };
    let mut rows = Vec::new();
    for longest in LENGTHS {
        rows = records.iter().map(|record| row(record, longest)).collect();
        if rows.iter().map(Row::size).sum::<usize>() <= TEXTS {
            break;
        }
    }
    rows
}

impl Row {
    /// The size of its texts in HTML.
    fn size(&self) -> usize {
        let cells =
            self.cells.iter().map(|cell| escaped(&cell.shown.text) + escaped(&cell.shown.exact));
        let picture = self.picture.as_ref().map_or(0, |of| escaped(&of.text));
        cells.sum::<usize>() + picture + escaped(&self.label)
    }
}

/// The size of a text in HTML, at most.
pub(super) fn escaped(text: &str) -> usize {
    text.bytes().map(|of| if matches!(of, b'<' | b'>' | b'&' | b'"' | b'\'') { 5 } else { 1 }).sum()
}

/// The pages of records that the user may read. Their addresses are relative to the page, because a table has many.
pub(super) struct Links<'a> {
    /// What leads from the page to the pages of the extension.
    up: &'static str,
    kinds: Vec<&'a str>,
    /// Whether a table has pictures.
    pictures: bool,
}

impl<'a> Links<'a> {
    pub(super) fn of(at: &At<'a>) -> Self {
        let shown = at.types.kinds.iter().filter(|kind| at.visit.may_show(kind));
        let up = if at.visit.params.len() > 2 { "../" } else { "" };
        Self { up, pictures: true, kinds: shown.map(|kind| kind.name.as_str()).collect() }
    }

    pub(super) fn page(&self, record: &Identity) -> Option<String> {
        let is_shown = self.kinds.contains(&record.kind.as_str());
        is_shown.then(|| {
            let id = segment(&record.id);
            format!("{}{}/{id}", self.up, record.kind)
        })
    }

    pub(super) fn cell(&self, shown: Shown) -> Cell {
        let href = shown.names.as_ref().and_then(|record| self.page(record));
        Cell { shown, href }
    }
}
