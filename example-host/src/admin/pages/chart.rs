//! Charts that are drawn here, so that a page needs no script for them: bars for as many moments as
//! there are, each with its number at hand as a tooltip. What is in a chart stands in words and in a
//! table beside it, which is the page's. Knows nothing of what is counted.

use askama::Template;
use askama::filters::HtmlSafe;

/// How high and wide a chart is in units of its own; a page stretches it to its place.
const HEIGHT: u64 = 100;
const STEP: usize = 10;

/// Bars beside each other, from the oldest to the newest.
#[derive(Clone, Debug, Template)]
#[template(path = "admin/chart.html")]
pub(crate) struct Chart {
    /// What tells the chart on its page.
    name: String,
    title: String,
    /// What is to be seen, for whoever does not see it.
    description: String,
    /// What the highest bar is.
    most: String,
    /// What stands below the first bar and the last one.
    ends: [String; 2],
    bars: Vec<Bar>,
    /// The points of the line that is drawn in place of the bars, if any.
    line: String,
}

/// A bar, of one piece or of several on top of each other.
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

/// What a bar shows: amounts from the bottom to the top, each of a kind that the stylesheet knows.
pub(crate) struct Shown {
    pub(crate) label: String,
    pub(crate) amounts: Vec<(&'static str, u128)>,
}

impl Chart {
    pub(crate) fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        description: impl Into<String>,
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
            most: String::new(),
            ends,
            bars: shown.into_iter().enumerate().map(bar).collect(),
            line: String::new(),
        }
    }

    /// The same with the value of its highest bar.
    pub(crate) fn up_to(self, most: impl Into<String>) -> Self {
        Self { most: most.into(), ..self }
    }

    /// The same as a line through the tops of the bars.
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

/// A chart is written by a template of its own, which escapes what is in it.
impl HtmlSafe for Chart {}

/// The pieces of a bar, from the bottom to the top. What is there at all is to be seen.
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
    fn the_highest_bar_is_as_high_as_the_chart_and_nothing_is_too_small_to_see() {
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
        let chart = Chart::new("name", "title", "description", ends, shown.into()).with_line();
        let html = chart.render().unwrap_or_default();
        assert!(html.contains("<polyline class=\"line\" points=\"5,100 15,50 25,0\"/>"), "{html}");
        assert!(html.contains("<title>10 things</title>") && !html.contains("usual"), "{html}");
    }
}
