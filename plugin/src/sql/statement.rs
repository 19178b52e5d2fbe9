//! SQL text with the values bound in it, and how it is put together. Knows no resource.

use super::dialect::Dialect;
use crate::model::value::{Kind, Value};

/// SQL text with the values bound in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The text. A question mark stands for a value, and for nothing else.
    pub text: String,
    /// The values in the order of their placeholders.
    pub binds: Vec<Value>,
}

impl Statement {
    /// A statement that is always the same text, but for its values.
    pub fn fixed(text: &'static str, binds: Vec<Value>) -> Self {
        Self { text: text.to_owned(), binds }
    }
}

/// Rows on their way to a table.
#[derive(Debug)]
pub struct RowsOf {
    /// The table.
    pub table: &'static str,
    /// Which of its columns have values.
    pub columns: &'static [&'static str],
    /// Whether the first of these is the key, which is given here and not by the engine.
    pub keyed: bool,
    /// The values, row after row.
    pub values: Vec<Value>,
}

impl RowsOf {
    /// Adds a row.
    pub fn push<const WIDTH: usize>(&mut self, row: [Value; WIDTH]) {
        self.values.extend(row);
    }
}

/// A question whose answer is no page of a resource. It names its columns `c0`, `c1` and so on.
#[derive(Clone, Debug)]
pub struct Table {
    /// The text; in place of each `?` stand as many values as are to be bound there, and in place of
    /// `{high column}` and `{low column}` the [parts](Dialect::wide_sum) of the sum of a column.
    pub(super) text: &'static str,
    pub(super) binds: Vec<Vec<Value>>,
    /// What the columns hold.
    pub columns: &'static [Kind],
}

impl Table {
    /// A question with the values of each of its `?`, which are one or those of a list.
    pub fn new(text: &'static str, binds: Vec<Vec<Value>>, columns: &'static [Kind]) -> Self {
        Self { text, binds, columns }
    }
}

/// Text in the making, with the values bound so far.
pub(super) struct Builder<'a> {
    pub(super) dialect: &'a Dialect,
    pub(super) text: String,
    pub(super) binds: Vec<Value>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(dialect: &'a Dialect) -> Self {
        Self { dialect, text: String::with_capacity(512), binds: Vec::new() }
    }

    pub(super) fn finish(self) -> Statement {
        Statement { text: with_sums(self.text, self.dialect), binds: self.binds }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn bind(&mut self, value: Value) {
        self.binds.push(value);
        self.text.push('?');
    }

    /// Values with a comma between them, of which the last is repeated: lists of many lengths have few
    /// texts, and what is in a list twice is in it.
    pub(super) fn bind_list(&mut self, values: Vec<Value>) {
        let length = values.len().next_power_of_two();
        let last = values.last().cloned();
        let repeated = last.into_iter().cycle().take(length - values.len());
        self.list(values.into_iter().chain(repeated), |sql, value| sql.bind(value));
    }

    /// Text with the values of each of its `?`; where there are none, with null, which no value
    /// is equal to.
    pub(super) fn push_with_lists(&mut self, text: &str, binds: Vec<Vec<Value>>) {
        let mut binds = binds.into_iter();
        for (position, piece) in text.split('?').enumerate() {
            if position > 0 {
                let values = binds.next().filter(|values| !values.is_empty());
                let values = values.unwrap_or_else(|| vec![Value::Null]);
                self.bind_list(values);
            }
            self.push(piece);
        }
    }

    pub(super) fn list<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        mut each: impl FnMut(&mut Self, T),
    ) {
        for (position, item) in items.enumerate() {
            if position > 0 {
                self.push(", ");
            }
            each(self, item);
        }
    }
}

/// Text with sums as the engine makes them, in place of their names in braces.
fn with_sums(text: String, dialect: &Dialect) -> String {
    if !text.contains('{') {
        return text;
    }
    let mut pieces = text.split('{');
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (sum, rest) = piece.split_once('}').unwrap_or((piece, ""));
        let (name, column) = sum.split_once(' ').unwrap_or(("", sum));
        let [high, low] = (dialect.wide_sum)(column);
        whole.push_str(&match name {
            "high" => high,
            "low" => low,
            _ => (dialect.narrow_sum)(column),
        });
        whole.push_str(rest);
    }
    whole
}
