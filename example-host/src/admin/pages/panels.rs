//! The panels that extensions contribute to the dashboard, each for users with its permission.

use std::time::Duration;

use host_interface::{ChartKind, Description, LoadedPlugin, Panel, PanelContent, Table};
use tokio::time::timeout;

use super::chart::{Chart, Shown};
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
    pub(crate) table: Option<Table>,
    /// A sentence, for example the reason why there is no content.
    pub(crate) note: String,
}

/// The panels of all extensions.
pub(crate) async fn drawn(visit: &Visit) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    for (extension, plugin) in visit.site.plugins() {
        for panel in &extension.panels {
            let content = match withheld(visit, extension, panel) {
                Some(why) => PanelContent::new().note(why),
                None => content(extension, plugin, panel).await,
            };
            let id = format!("{}-{}", extension.name, panel.name);
            drawn.push(draw(id, &panel.title, content));
        }
    }
    drawn
}

/// The reason why the user may not see a panel, if any.
fn withheld(visit: &Visit, extension: &Description, panel: &Panel) -> Option<String> {
    let snapshot = visit.site.state().snapshot();
    let Panel { action, asset, .. } = panel;
    if !snapshot.enabled(&extension.name) {
        return Some(format!("The extension {} is disabled.", extension.name));
    }
    if !snapshot.access.allows(visit.session.user, action, asset) {
        return Some(format!("You lack the permission {action} on {asset}."));
    }
    None
}

async fn content(extension: &Description, plugin: &LoadedPlugin, panel: &Panel) -> PanelContent {
    let failed = |error: &dyn std::fmt::Display| {
        let (extension, panel) = (&extension.name, &panel.name);
        tracing::error!(extension, panel, %error, "a panel could not be shown");
        PanelContent::new().note(format!("The extension {extension} cannot show this now."))
    };
    match timeout(PANEL_TIME, plugin.panel(&panel.name)).await {
        Ok(Ok(content)) => content,
        Ok(Err(error)) => failed(&error),
        Err(late) => failed(&late),
    }
}

fn draw(id: String, title: &str, content: PanelContent) -> Drawn {
    let PanelContent { charts, table, note, .. } = content;
    let charts = charts.into_iter().enumerate().map(|(nth, chart)| {
        let ends = [chart.points.first(), chart.points.last()];
        let ends = ends.map(|end| end.map_or_else(String::new, |point| point.label.clone()));
        let points = chart.points.into_iter().map(|point| Shown {
            label: point.text,
            amounts: vec![("usual", units(&point.value))],
        });
        let name = format!("{id}-{nth}");
        let drawn = Chart::new(name, chart.title, chart.description, ends, points.collect());
        let drawn = drawn.up_to(chart.highest);
        (chart.heading, if chart.kind == ChartKind::Line { drawn.with_line() } else { drawn })
    });
    let charts = charts.collect();
    Drawn { id, title: title.to_owned(), charts, table, note }
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
}
