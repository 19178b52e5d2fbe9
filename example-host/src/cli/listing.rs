//! Lists on standard output: tab-separated lines for people and shells, or JSON for programs. Both forms
//! are made from the same rows, so they cannot differ. The rows themselves are in `rows.rs`.

use clap::Args;
use serde_json::Value;

use super::terminal::{Failure, print};

/// The form in which a list is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Args)]
pub(super) struct Form {
    /// Print a JSON array of objects instead of tab-separated lines.
    #[arg(long)]
    json: bool,
}

/// How the lines of a list differ from its JSON.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    /// The columns whose values are written as JSON in both forms.
    pub(super) as_json: &'static [&'static str],
    /// What stands in a line for a column that is null in JSON; for others nothing.
    pub(super) without: &'static [(&'static str, &'static str)],
}

impl Lines {
    pub(super) const PLAIN: Self = Self { as_json: &[], without: &[] };
}

impl Form {
    /// Whether it is JSON.
    pub(super) fn is_json(self) -> bool {
        self.json
    }

    /// Prints the rows of a list, each as an object: its members are the columns, in their order, and their names
    /// are those of the JSON form.
    pub(super) fn print(
        self,
        rows: impl IntoIterator<Item = Value>,
        lines: Lines,
    ) -> Result<(), Failure> {
        let rows: Vec<Value> = rows.into_iter().collect();
        if self.json { print(array(&rows)) } else { print(rows.iter().map(|row| line(row, lines))) }
    }
}

/// An array with a line for each row, so that it can be read by people, too.
fn array(rows: &[Value]) -> Vec<String> {
    let Some((last, others)) = rows.split_last() else { return vec!["[]".to_owned()] };
    let others = others.iter().map(|row| format!("{row},"));
    let lines = others.chain([last.to_string()]);
    [String::from("[")].into_iter().chain(lines).chain([String::from("]")]).collect()
}

/// The cells of a row, separated by tabs.
fn line(row: &Value, lines: Lines) -> String {
    let members = row.as_object().into_iter().flatten();
    let cells = members.map(|(name, value)| {
        let without = lines.without.iter().find(|(column, _)| column == name);
        match (value, without) {
            (Value::Null, Some((_, text))) => (*text).to_owned(),
            _ if lines.as_json.contains(&name.as_str()) => value.to_string(),
            _ => cell(value),
        }
    });
    cells.collect::<Vec<_>>().join("\t")
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(members) => members.iter().map(cell).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_is_the_same_in_both_forms() {
        let row = json!({
            "id": 3, "name": "a", "above": null, "groups": ["b", "c"], "value": "d", "end": null,
        });
        let lines = Lines { as_json: &["value"], without: &[("end", "never")] };
        assert_eq!(line(&row, lines), "3\ta\t\tb, c\t\"d\"\tnever");
        for rows in [vec![], vec![row.clone()], vec![row.clone(), json!({}), row]] {
            let text = array(&rows).join("\n");
            assert_eq!(serde_json::from_str::<Vec<Value>>(&text).ok(), Some(rows), "{text}");
        }
    }
}
