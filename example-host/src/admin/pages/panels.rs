//! The panels that extensions contribute to pages, each for users with its permission: those of the
//! dashboard, and those about one request or record. All are asked for and drawn in the same way.

use std::time::Duration;

use futures_util::future::join_all;
use host_interface::{
    ChartKind, Description, DetailPanel, Error, LoadedPlugin, Panel, PanelContent, RecordLink,
    Subject, Table,
};
use tokio::time::timeout;

use super::chart::{Chart, Shown};
use crate::admin::paths::href;
use crate::admin::records::asking;
use crate::admin::visit::Visit;

/// The time limit for a panel, so that an extension that hangs does not delay the whole page.
const PANEL_TIME: Duration = Duration::from_secs(10);

/// A rendered panel.
pub(crate) struct Drawn {
    /// Its unique id on the page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// The charts, each with its heading.
    pub(crate) charts: Vec<(String, Chart)>,
    pub(crate) table: Option<Rows>,
    /// A sentence, for example the reason why there is no content.
    pub(crate) note: String,
}

/// A table with the alignment of its columns.
pub(crate) struct Rows {
    /// The heading of each column, and whether it has numbers only.
    pub(crate) columns: Vec<(String, bool)>,
    /// The rows, each with the address of what it is about.
    pub(crate) rows: Vec<(Option<String>, Vec<String>)>,
}

/// A panel about a request or a record, as an extension has declared it.
#[derive(Clone, Copy)]
pub(crate) struct Detail<'a> {
    extension: &'a Description,
    plugin: &'a LoadedPlugin,
    panel: &'a DetailPanel,
}

/// What a panel of either kind declares.
struct Declared<'a> {
    extension: &'a str,
    name: &'a str,
    title: &'a str,
    action: &'a str,
    asset: &'a str,
}

/// The panels of the dashboard, of all extensions.
pub(crate) async fn of_dashboard(visit: &Visit) -> Vec<Drawn> {
    let panels = visit.site.plugins().flat_map(|(extension, plugin)| {
        extension.panels.iter().map(move |panel| {
            let Panel { name, title, action, asset, .. } = panel;
            let declared = Declared { extension: &extension.name, name, title, action, asset };
            drawn(visit, declared, plugin.panel(name))
        })
    });
    // At the same time, so that those that hang delay the page once.
    join_all(panels).await
}

/// The panels that all extensions declare about requests and records.
pub(crate) fn details(visit: &Visit) -> Vec<Detail<'_>> {
    let all = visit.site.plugins().flat_map(|(extension, plugin)| {
        extension.detail_panels.iter().map(move |panel| Detail { extension, plugin, panel })
    });
    all.collect()
}

/// Draws these panels about a request or a record.
pub(crate) async fn about(visit: &Visit, subject: &Subject, panels: Vec<Detail<'_>>) -> Vec<Drawn> {
    let panels = panels.into_iter().map(|Detail { extension, plugin, panel }| {
        let DetailPanel { name, title, action, asset, .. } = panel;
        let declared = Declared { extension: &extension.name, name, title, action, asset };
        drawn(visit, declared, plugin.detail_panel(name, subject))
    });
    join_all(panels).await
}

impl<'a> Detail<'a> {
    pub(crate) fn title(&self) -> &'a str {
        &self.panel.title
    }

    /// Whether it is about some requests.
    pub(crate) fn is_about_requests(&self) -> bool {
        self.panel.all_routes || !self.panel.routes.is_empty()
    }

    /// Whether it is about the requests to the route of this name.
    pub(crate) fn is_about_requests_to(&self, route: &str) -> bool {
        let is_own = || self.extension.routes.iter().any(|own| own.name == route);
        self.panel.routes.iter().any(|name| name == route) || self.panel.all_routes && is_own()
    }

    /// Whether it is about the records of this kind.
    pub(crate) fn is_about_records(&self, kind: &str) -> bool {
        self.panel.records.iter().any(|of| of == kind)
    }
}

/// A panel with its content, which is asked for only if the user may see it.
async fn drawn(
    visit: &Visit,
    panel: Declared<'_>,
    content: impl Future<Output = Result<PanelContent, Error>>,
) -> Drawn {
    let content = match withheld(visit, &panel) {
        Some(why) => PanelContent::new().note(why),
        None => shown(&panel, content).await,
    };
    let id = format!("{}-{}", panel.extension, panel.name);
    let PanelContent { charts, table, note, .. } = content;
    let charts = charts.into_iter().enumerate().map(|(nth, chart)| {
        let ends = [chart.points.first(), chart.points.last()];
        let ends = ends.map(|end| end.map_or_else(String::new, |point| point.label.clone()));
        let points = chart.points.into_iter().map(|point| Shown {
            label: point.text,
            amounts: vec![("usual", units(&point.value))],
        });
        let name = format!("{id}-{nth}");
        let (most, points) = (chart.highest, points.collect());
        let drawn = Chart::new(name, chart.title, chart.description, most, ends, points);
        (chart.heading, if chart.kind == ChartKind::Line { drawn.with_line() } else { drawn })
    });
    let charts = charts.collect();
    let address = |records: &RecordLink| address(visit, panel.extension, records);
    let table = table.map(|table| aligned(table, address));
    Drawn { id, title: panel.title.to_owned(), charts, table, note }
}

/// The reason why the user may not see a panel, if any.
fn withheld(visit: &Visit, panel: &Declared<'_>) -> Option<String> {
    let snapshot = visit.site.state().snapshot();
    let Declared { extension, action, asset, .. } = panel;
    if !snapshot.enabled(extension) {
        return Some(format!("The extension {extension} is disabled."));
    }
    if !snapshot.access.allows(visit.session.user, action, asset) {
        return Some(format!("You lack the permission {action} on {asset}."));
    }
    None
}

/// The content, or a sentence in its place if there is none in time.
async fn shown(
    panel: &Declared<'_>,
    content: impl Future<Output = Result<PanelContent, Error>>,
) -> PanelContent {
    let failed = |error: &dyn std::fmt::Display| {
        let Declared { extension, name, .. } = panel;
        tracing::error!(extension, panel = name, %error, "a panel could not be shown");
        PanelContent::new().note(format!("The extension {extension} cannot show this now."))
    };
    match timeout(PANEL_TIME, content).await {
        Ok(Ok(content)) => content,
        Ok(Err(error)) => failed(&error),
        Err(late) => failed(&late),
    }
}

/// A table whose columns of numbers are known, because they are aligned at their ends.
fn aligned(table: Table, address: impl Fn(&RecordLink) -> Option<String>) -> Rows {
    let Table { columns, rows, about, .. } = table;
    let has_numbers =
        |nth: usize| rows.iter().filter_map(|row| row.get(nth)).all(|cell| is_number(cell));
    let columns = columns.into_iter().enumerate();
    let columns = columns.map(|(nth, heading)| (heading, has_numbers(nth))).collect();
    let rows = rows.into_iter().enumerate();
    let rows = rows.map(|(nth, cells)| (about.get(&nth).and_then(&address), cells)).collect();
    Rows { columns, rows }
}

/// The address of the page about these records, if the user may see it.
fn address(visit: &Visit, extension: &str, records: &RecordLink) -> Option<String> {
    let types = visit.types(extension).ok()??;
    let kind = types.kind(&records.kind)?;
    let route = if records.id.is_some() { kind.show.as_ref() } else { kind.list.as_ref() };
    route.filter(|route| visit.may_use(route))?;
    let list = href(&format!("/records/{extension}/{}", kind.name));
    Some(match &records.id {
        Some(id) => format!("{list}/{}", asking::segment(id)),
        None if records.query.is_empty() => list,
        None => format!("{list}?{}", records.query),
    })
}

/// Whether a cell is a decimal, with or without separators, or empty.
fn is_number(cell: &str) -> bool {
    let digits = cell.strip_prefix(['-', '+']).unwrap_or(cell);
    digits.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte))
}

/// A decimal as a whole number of its smallest unit, so that decimals can be compared. Negative
/// values become 0.
fn units(value: &str) -> u128 {
    const PLACES: usize = 5;
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    format!("{whole}{fraction:0<PLACES$.PLACES$}").parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_exactly() {
        assert_eq!(units("20.00"), 2_000_000);
        assert_eq!(units("0.12345"), 12_345);
        assert_eq!(units("0.123456"), 12_345);
        assert_eq!(units("7"), 700_000);
        assert_eq!(units("-3.00"), 0);
    }

    #[test]
    fn a_column_has_numbers_if_each_of_its_cells_is_one_or_empty() {
        let table = Table::new(["Day", "Sold", "Of", "Why"])
            .row(["3 May", "-7", "1,001.50", ""])
            .row(["4 May", "+12", "", "rain"]);
        let numbers = aligned(table, |_| None).columns.into_iter().map(|(_, numbers)| numbers);
        assert_eq!(numbers.collect::<Vec<_>>(), [false, true, true, false]);
    }
}
