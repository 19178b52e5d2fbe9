//! The lists that commands print: the same rows as tab-separated lines and as JSON.

use plugin::model::kept::{self, ColumnType};
use plugin::sql::Statement;
use serde_json::{Map, Value, json};

use crate::support::process::{Place, table};

/// Every list, with the names of its members.
const LISTS: [(&str, &[&str]); 8] = [
    ("user list", &["id", "name", "email", "groups", "state", "second_factor"]),
    ("token list ann", &["name", "state", "scopes", "expires_on", "used_on"]),
    ("group list", &["id", "title", "parent"]),
    ("permission list", &["group", "action", "asset", "setting"]),
    ("permission explain ann store.view com_shop", &["decision", "reason"]),
    ("extension list", &["name", "version", "state"]),
    ("config list", &["name", "value", "state", "description"]),
    ("check", &["table", "key", "column", "stored", "counted"]),
];

/// A value as it is in a cell.
fn cell(list: &str, name: &str, value: &Value) -> String {
    match value {
        value if (list, name) == ("config list", "value") => value.to_string(),
        Value::Null if name == "scopes" => "all".to_owned(),
        Value::Null if name.ends_with("_on") => "never".to_owned(),
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(members) => {
            let texts: Vec<&str> = members.iter().map(|member| member.as_str().unwrap()).collect();
            texts.join(", ")
        }
        other => other.to_string(),
    }
}

/// Adds a count that no record gives.
async fn spoil(place: &Place) {
    let store = place.store();
    let kept = kept::ALL.into_iter().find(|kept| {
        kept.by.iter().all(|group| !matches!(group.room, ColumnType::Text(_)))
            && kept.sums.len() == 1
    });
    let kept = kept.unwrap();
    let zeros = ", 0".repeat(store.dialect().kept.identity(kept).len() - 1);
    let text = format!("INSERT INTO {} VALUES (10001{zeros}, 9)", kept.table);
    store.write(vec![Statement { text, binds: Vec::new() }]).await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_has_the_same_rows_as_lines_and_as_json() {
    let place = Place::of_the_store();
    place.user("ann", "Manager").await;
    let add = "user add bob --email bob@example.com --group Registered --group";
    place.call(add).word("Super Users").finish().await.succeeds();
    place.run("user block bob --force").await;
    place.call("config set store_name").word("\"Lamps & more\"").finish().await.succeeds();
    spoil(&place).await;
    for (list, names) in LISTS {
        let text = place.call(list).finish().await;
        let json = place.call(&format!("{list} --json")).finish().await;
        // Only `check` fails, in both forms.
        for finished in [&text, &json] {
            finished.exits(i32::from(list == "check"));
        }
        let (text, json) = (text.out(), json.out());
        let rows: Vec<Map<String, Value>> = serde_json::from_str(&json).unwrap();
        let found = table(&text);
        assert!(!rows.is_empty() && rows.len() == found.len(), "{list}: {text}{json}");
        for (row, line) in rows.iter().zip(found) {
            assert_eq!(row.keys().collect::<Vec<_>>(), names, "{list}");
            let cells: Vec<String> =
                row.iter().map(|(name, value)| cell(list, name, value)).collect();
            assert_eq!(cells, line, "{list}");
        }
    }
    let users: Value = serde_json::from_str(&place.run("user list --json").await).unwrap();
    assert_eq!(users[1]["groups"], json!(["Registered", "Super Users"]));

    let checked = place.call("check --json").finish().await.out();
    assert_eq!(place.run("recount --json").await, checked);
    assert_eq!(place.run("check --json").await, "[]\n", "an empty list is one, too");
}
