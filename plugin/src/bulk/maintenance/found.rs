//! The differences that have been found, as operators read them.

use crate::model::value::Value;

/// How many differences are listed. A table without its triggers may have as many as there are records,
/// which are more than fit into memory, and more than anybody reads.
const LISTED: usize = 1_000;

/// A number that is stored beside the records and differs from what they give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The table that it is stored in.
    pub table: String,
    /// What identifies its row: the text of a JSON object of columns and values.
    pub key: String,
    /// The column.
    pub column: String,
    /// The number that is stored.
    pub stored: i64,
    /// The number that the records give.
    pub counted: i64,
}

/// Differences, of which only the first are in memory.
#[derive(Default)]
pub(super) struct Found {
    first: Vec<Difference>,
    /// How many there are.
    count: usize,
}

impl Found {
    pub(super) fn extend(&mut self, differences: impl IntoIterator<Item = Difference>) {
        for difference in differences {
            self.count += 1;
            if self.first.len() < LISTED {
                self.first.push(difference);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first ones, and if there are more, how many of how many these are.
    pub(super) fn listed(self) -> Vec<Difference> {
        let Self { mut first, count } = self;
        if count > first.len() {
            let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
            let [table, key, column] = ["...", "{}", "listed"].map(str::to_owned);
            let (stored, counted) = (number(first.len()), number(count));
            first.push(Difference { table, key, column, stored, counted });
        }
        first
    }
}

/// The values that identify a row, as a JSON object.
pub(super) fn identified<'a>(names: impl IntoIterator<Item = &'a str>, values: &[Value]) -> String {
    let members = names.into_iter().zip(values).map(|(name, value)| match value {
        Value::Int(number) => format!("\"{name}\":{number}"),
        text => format!("\"{name}\":{}", serde_json::Value::from(text.to_string())),
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}
