//! Charts as SVG, drawn by the server so that a page needs no script for them. Each bar has a
//! tooltip. A page also shows the content of its charts as text and in a table.

use askama::Template;
use askama::filters::HtmlSafe;

/// The height of a chart and the width of a bar, in units of the SVG, which a page scales.
const HEIGHT: u64 = 100;
const STEP: usize = 10;

/// A chart with bars from the oldest to the newest.
#[derive(Clone, Debug, Template)]
#[template(path = "admin/chart.html")]
pub(crate) struct Chart {
    /// The id of the chart on its page.
    name: String,
    title: String,
    /// The content as text, for assistive technology.
    description: String,
    /// The value of the highest bar, as people write it.
    most: String,
    /// The labels below the first and the last bar.
    ends: [String; 2],
    bars: Vec<Bar>,
    /// The points of the line; empty for a chart of bars.
    line: String,
}

/// A bar of one or more stacked pieces.
#[derive(Clone, Debug)]
struct Bar {
    label: String,
    pieces: Vec<Piece>,
    x: usize,
}

#[derive(Clone, Debug)]
struct Piece {
    kind: &'static str,
    y: u64,
    height: u64,
}

/// The data of a bar: amounts from bottom to top, each with a class of the stylesheet.
pub(crate) struct Shown {
    pub(crate) label: String,
    pub(crate) amounts: Vec<(&'static str, u128)>,
}

impl Chart {
    pub(crate) fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        description: impl Into<String>,
        most: impl Into<String>,
        ends: [String; 2],
        shown: Vec<Shown>,
    ) -> Self {
        let total = |shown: &Shown| shown.amounts.iter().map(|(_, amount)| amount).sum();
        let highest: u128 = shown.iter().map(total).max().unwrap_or_default();
        let bar = |(place, shown): (usize, Shown)| Bar {
            pieces: pieces(&shown.amounts, highest),
            label: shown.label,
            x: place * STEP,
        };
        Self {
            name: name.into(),
            title: title.into(),
            description: description.into(),
            most: most.into(),
            ends,
            bars: shown.into_iter().enumerate().map(bar).collect(),
            line: String::new(),
        }
    }

    /// Draws a line through the tops of the bars in their place.
    pub(crate) fn with_line(mut self) -> Self {
        let top = |bar: &Bar| bar.pieces.last().map_or(HEIGHT, |piece| piece.y);
        let point = |bar: &Bar| format!("{},{}", bar.x + STEP / 2, top(bar));
        self.line = self.bars.iter().map(point).collect::<Vec<String>>().join(" ");
        for bar in &mut self.bars {
            bar.pieces.clear();
        }
        self
    }

    fn width(&self) -> usize {
        self.bars.len() * STEP
    }
}

/// A chart is rendered by its own template, which escapes the values.
impl HtmlSafe for Chart {}

/// The pieces of a bar, from bottom to top. Even the smallest amount gets a visible height.
fn pieces(amounts: &[(&'static str, u128)], highest: u128) -> Vec<Piece> {
    let mut y = HEIGHT;
    let mut pieces = Vec::new();
    for (kind, amount) in amounts.iter().filter(|(_, amount)| *amount > 0) {
        let height = amount.saturating_mul(u128::from(HEIGHT)) / highest.max(1);
        let height = u64::try_from(height).unwrap_or(HEIGHT).clamp(2, y.max(2));
        y = y.saturating_sub(height);
        pieces.push(Piece { kind, y, height });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bar_fills_the_chart_and_small_amounts_are_visible() {
        let heights = |amounts: &[(&'static str, u128)]| -> Vec<(u64, u64)> {
            pieces(amounts, 1000).iter().map(|piece| (piece.y, piece.height)).collect()
        };
        assert_eq!(heights(&[("good", 1000)]), [(0, 100)]);
        assert_eq!(heights(&[("good", 500), ("bad", 500)]), [(50, 50), (0, 50)]);
        assert_eq!(heights(&[("good", 1)]), [(98, 2)]);
        assert_eq!(heights(&[("good", 0)]), []);
        assert_eq!(pieces(&[], 0).len(), 0);
    }

    #[test]
    fn a_line_runs_through_the_tops_of_the_bars() {
        let shown = [0, 5, 10].map(|amount| Shown {
            label: format!("{amount} things"),
            amounts: vec![("usual", amount)],
        });
        let ends = ["first".to_owned(), "last".to_owned()];
        let chart = Chart::new("name", "title", "description", "", ends, shown.into()).with_line();
        let html = chart.render().unwrap_or_default();
        assert!(html.contains("<polyline class=\"line\" points=\"5,100 15,50 25,0\"/>"), "{html}");
        assert!(html.contains("<title>10 things</title>") && !html.contains("usual"), "{html}");
    }
}
