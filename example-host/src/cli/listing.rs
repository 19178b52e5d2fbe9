//! Lists on standard output: tab-separated lines for people and shells, or JSON for programs. Both forms
//! are made from the same rows, so they cannot differ. The rows themselves are in `rows.rs`.

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::terminal::{Failure, print};

/// The form in which a list is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Args)]
pub(super) struct Form {
    /// Print a JSON array of objects instead of tab-separated lines.
    #[arg(long)]
    json: bool,
}

/// A row of a list. Its members are the columns, in their order; their names are those of the JSON form.
pub(super) trait Row: Serialize {
    /// The columns whose values are written as JSON in both forms.
    const AS_JSON: &'static [&'static str] = &[];
    /// What stands in a line for a column that is null in JSON; by default nothing.
    const WITHOUT: &'static [(&'static str, &'static str)] = &[];
}

impl Form {
    /// Whether it is JSON.
    pub(super) fn is_json(self) -> bool {
        self.json
    }

    /// Prints the rows of a list.
    pub(super) fn print<R: Row>(self, rows: impl IntoIterator<Item = R>) -> Result<(), Failure> {
        let rows: Result<Vec<Value>, _> = rows.into_iter().map(serde_json::to_value).collect();
        if self.json { print(array(&rows?)) } else { print(rows?.iter().map(line::<R>)) }
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
fn line<R: Row>(row: &Value) -> String {
    let members = row.as_object().into_iter().flatten();
    let cells = members.map(|(name, value)| {
        let without = R::WITHOUT.iter().find(|(column, _)| column == name);
        match (value, without) {
            (Value::Null, Some((_, text))) => (*text).to_owned(),
            _ if R::AS_JSON.contains(&name.as_str()) => value.to_string(),
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

    #[derive(Serialize)]
    struct Any;

    impl Row for Any {
        const AS_JSON: &'static [&'static str] = &["value"];
        const WITHOUT: &'static [(&'static str, &'static str)] = &[("end", "never")];
    }

    #[test]
    fn a_row_is_the_same_in_both_forms() {
        let row = json!({
            "id": 3, "name": "a", "above": null, "groups": ["b", "c"], "value": "d", "end": null,
        });
        assert_eq!(line::<Any>(&row), "3\ta\t\tb, c\t\"d\"\tnever");
        for rows in [vec![], vec![row.clone()], vec![row.clone(), json!({}), row]] {
            let text = array(&rows).join("\n");
            assert_eq!(serde_json::from_str::<Vec<Value>>(&text).ok(), Some(rows), "{text}");
        }
    }
}
