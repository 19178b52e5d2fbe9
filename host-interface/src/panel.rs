//! Panels that a plugin contributes to the administration, on its first page or where it shows one request
//! or record: charts and tables, as data. How and where they are drawn is the host's.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A panel that a plugin declares. The host shows it to users who have the permission, and asks
/// [`Plugin::panel`](crate::Plugin::panel) for its content each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Panel {
    /// The name, unique in the plugin: lower-case letters, digits and underscores.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// The [action](crate::Action) that a user needs to see it.
    pub action: String,
    /// The [asset](crate::Asset) that the action is needed on.
    pub asset: String,
}

impl Panel {
    /// A panel for users who may do `action` to `asset`.
    pub fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        action: impl Into<String>,
        asset: impl Into<String>,
    ) -> Self {
        let (name, title) = (name.into(), title.into());
        Self { name, title, action: action.into(), asset: asset.into() }
    }
}

/// A panel about one request or one record, for example what the request has moved. The host shows it where
/// users look at that request or record, such as in an audit trail, to those who have the permission, and
/// asks [`Plugin::detail_panel`](crate::Plugin::detail_panel) for its content each time. A host of an older
/// version shows nothing.
///
/// ```
/// use host_interface::DetailPanel;
///
/// let panel = DetailPanel::new("movements", "Stock movements", "look", "com_stock")
///     .about_requests_to(["stock.adjust"])
///     .about_records(["products"]);
/// assert_eq!(panel.routes, ["stock.adjust"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DetailPanel {
    /// The name, unique among the detail panels of the plugin: lower-case letters, digits and underscores.
    pub name: String,
    /// Its heading. It is also the text of links to it.
    pub title: String,
    /// The [action](crate::Action) that a user needs to see it.
    pub action: String,
    /// The [asset](crate::Asset) that the action is needed on.
    pub asset: String,
    /// The [names](crate::Route::name) of the routes whose requests it is about.
    #[serde(default)]
    pub routes: Vec<String>,
    /// Whether it is about the requests to all routes of the plugin.
    #[serde(default)]
    pub all_routes: bool,
    /// The kinds of records that it is about. The kind of a record is the segment before its id in the paths
    /// of its routes: `products` in `v1/products/{id:digits}`.
    #[serde(default)]
    pub records: Vec<String>,
}

impl DetailPanel {
    /// A panel for users who may do `action` to `asset`. It is about nothing yet.
    pub fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        action: impl Into<String>,
        asset: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            action: action.into(),
            asset: asset.into(),
            routes: Vec::new(),
            all_routes: false,
            records: Vec::new(),
        }
    }

    /// Makes it about the requests to these routes, by their names.
    pub fn about_requests_to<N: Into<String>>(
        mut self,
        routes: impl IntoIterator<Item = N>,
    ) -> Self {
        self.routes.extend(routes.into_iter().map(Into::into));
        self
    }

    /// Makes it about the requests to all routes of the plugin.
    pub fn about_all_requests(mut self) -> Self {
        self.all_routes = true;
        self
    }

    /// Makes it about the records of these kinds.
    pub fn about_records<K: Into<String>>(mut self, kinds: impl IntoIterator<Item = K>) -> Self {
        self.records.extend(kinds.into_iter().map(Into::into));
        self
    }
}

/// What the content of a [`DetailPanel`] is to be about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// The request with this [id](crate::Request::id). It may be long ago, and may have changed nothing.
    Request(String),
    /// A record, which may have been deleted, or never have existed.
    Record {
        /// Its kind, one of [`DetailPanel::records`].
        kind: String,
        /// Its id as it stands in paths. A user may have entered it, so it can be any text.
        id: String,
    },
}

/// What a [`Panel`] or a [`DetailPanel`] shows, from top to bottom.
///
/// ```
/// use host_interface::{Chart, PanelContent, Table};
///
/// let chart = Chart::bars("Visits", "Visits by day", "9 visits on 2 days.")
///     .point("3 May", "3 May: 4 visits", "4")
///     .point("4 May", "4 May: 5 visits", "5")
///     .highest("5 visits");
/// let table = Table::new(["Page", "Visits"]).row(["Home", "7"]).row(["Imprint", "2"]);
/// let content = PanelContent::new().chart(chart).table(table);
/// assert_eq!(content.charts[0].points.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PanelContent {
    /// Charts, beside each other if there is room. A host leaves out one of a kind that it does not
    /// know.
    #[serde(deserialize_with = "known_charts")]
    pub charts: Vec<Chart>,
    /// A table.
    pub table: Option<Table>,
    /// A sentence, for example why there is nothing else; may be empty.
    pub note: String,
}

impl PanelContent {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a chart.
    pub fn chart(mut self, chart: Chart) -> Self {
        self.charts.push(chart);
        self
    }

    /// Sets the table.
    pub fn table(mut self, table: Table) -> Self {
        self.table = Some(table);
        self
    }

    /// Sets the sentence.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

/// A chart of one series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Chart {
    /// How it is drawn.
    pub kind: ChartKind,
    /// A heading of a few words, which distinguishes it from the chart beside it.
    pub heading: String,
    /// What is drawn, in full, for readers who do not see the page.
    pub title: String,
    /// What it shows, in a sentence, for the same readers.
    pub description: String,
    /// The greatest value as people write it; may be empty.
    #[serde(default)]
    pub highest: String,
    /// The values from left to right.
    pub points: Vec<Point>,
}

/// How a [`Chart`] is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChartKind {
    /// A bar for each point.
    Bars,
    /// A line through all points.
    Line,
}

/// One value of a [`Chart`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Point {
    /// Its place on the axis, for example `4 May`.
    pub label: String,
    /// The text for this point alone, for example `4 May: 5 visits`.
    pub text: String,
    /// The value, an exact decimal. A value below zero is drawn as zero.
    pub value: String,
}

impl Chart {
    /// A chart of bars.
    pub fn bars(
        heading: impl Into<String>,
        title: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self::new(ChartKind::Bars, heading.into(), title.into(), description.into())
    }

    /// A chart of a line.
    pub fn line(
        heading: impl Into<String>,
        title: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self::new(ChartKind::Line, heading.into(), title.into(), description.into())
    }

    /// Adds a point at the right.
    pub fn point(
        mut self,
        label: impl Into<String>,
        text: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        self.points.push(Point { label: label.into(), text: text.into(), value: value.into() });
        self
    }

    /// Sets how the greatest value is written.
    pub fn highest(mut self, highest: impl Into<String>) -> Self {
        self.highest = highest.into();
        self
    }

    fn new(kind: ChartKind, heading: String, title: String, description: String) -> Self {
        Self { kind, heading, title, description, highest: String::new(), points: Vec::new() }
    }
}

/// A table. The first cell of each row is the heading of the row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Table {
    /// The headings of the columns.
    pub columns: Vec<String>,
    /// The rows, a cell for each column.
    pub rows: Vec<Vec<String>>,
    /// The records that rows are about, by the position of the row. A host that shows records links to them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<usize, RecordLink>,
}

/// Records of the plugin: one, or those of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordLink {
    /// The type, as the plugin's OpenAPI document names it.
    pub kind: String,
    /// The key of the only record; `None` is a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The query of the list, with filters as its route has them; empty for all records.
    #[serde(default)]
    pub query: String,
}

impl RecordLink {
    /// The record with this key.
    pub fn one(kind: impl Into<String>, id: impl ToString) -> Self {
        Self { kind: kind.into(), id: Some(id.to_string()), query: String::new() }
    }

    /// The records of a list.
    pub fn list(kind: impl Into<String>, query: impl Into<String>) -> Self {
        Self { kind: kind.into(), id: None, query: query.into() }
    }
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { columns, rows: Vec::new(), about: BTreeMap::new() }
    }

    /// Adds a row at the bottom.
    pub fn row(mut self, cells: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a row at the bottom that is about these records.
    pub fn row_about(
        mut self,
        records: RecordLink,
        cells: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.about.insert(self.rows.len(), records);
        self.row(cells)
    }
}

/// A decimal with a comma between thousands, as people write it in panels and on pages. Any other text stays
/// as it is.
///
/// ```
/// use host_interface::with_separators;
///
/// assert_eq!(with_separators(1_234_567), "1,234,567");
/// assert_eq!(with_separators("-1234.5000"), "-1,234.5000");
/// assert_eq!(with_separators("4 May"), "4 May");
/// ```
pub fn with_separators(number: impl ToString) -> String {
    let number = number.to_string();
    let unsigned = number.trim_start_matches(['-', '+']);
    let whole = unsigned.split('.').next().unwrap_or(unsigned);
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return number;
    }
    let (sign, fraction) = (&number[..number.len() - unsigned.len()], &unsigned[whole.len()..]);
    let mut written = String::from(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written + fraction
}

fn known_charts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Chart>, D::Error> {
    let charts = Vec::<Value>::deserialize(deserializer)?;
    Ok(charts.into_iter().filter_map(|chart| serde_json::from_value(chart).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_of_a_later_version_is_left_out() -> Result<(), serde_json::Error> {
        let chart = |kind| {
            format!(
                r#"{{"kind": "{kind}", "heading": "", "title": "", "description": "", "points": []}}"#
            )
        };
        let text = format!(r#"{{"charts": [{}, {}]}}"#, chart("pie"), chart("line"));
        let content: PanelContent = serde_json::from_str(&text)?;
        let kinds: Vec<ChartKind> = content.charts.iter().map(|chart| chart.kind).collect();
        assert_eq!(kinds, [ChartKind::Line]);
        Ok(())
    }
}
