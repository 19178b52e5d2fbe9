//! A client that keeps a copy of a store through the feed of changes, as its documentation describes:
//! it follows `links.next`, and needs to know nothing else.

use std::collections::{BTreeMap, BTreeSet};

use host_interface::Method;
use plugin::model::resource::Resource;
use plugin::resources::REGISTRY;
use serde_json::Value;

use crate::support::bare::Bare;
use crate::support::harness::ROOT;
use crate::support::ledger::Client;

/// The type and the id of a record.
pub type Name = (String, String);

/// A client that keeps a copy of the store, record by record.
#[derive(Debug, Default)]
pub struct Mirror {
    /// Where to go on.
    pub next: Option<String>,
    /// The records.
    pub records: BTreeMap<Name, Value>,
    /// How many records were on the pages so far, and how many of them were deleted ones.
    pub seen: usize,
    pub deleted: usize,
    /// The latest version of each record, also of those that are deleted.
    versions: BTreeMap<Name, i64>,
}

impl Mirror {
    /// A copy that begins with this path below the store's.
    pub fn from(path: &str) -> Mirror {
        Mirror { next: Some(path.to_owned()), ..Mirror::default() }
    }

    /// A copy of these types, in small pages.
    pub fn of(types: &str) -> Mirror {
        Mirror::from(&format!("/changes?page[size]=3&filter[types]={types}"))
    }

    /// A copy of all types, in pages of this size.
    pub fn of_all(size: usize) -> Mirror {
        Mirror::from(&format!("/changes?page[size]={size}"))
    }

    /// Takes over a page, and returns the types and ids of its records, those of the deleted ones after
    /// a minus. Fails the test if the page has a record twice, or one in an older version than before.
    pub fn take(&mut self, page: &Value) -> Vec<String> {
        let mut seen = Vec::new();
        let mut names = BTreeSet::new();
        for record in page["data"].as_array().unwrap() {
            let name = name_of(record);
            assert!(names.insert(name.clone()), "{name:?} is twice on a page");
            let deleted = record["meta"]["deleted"] == true;
            seen.push(format!("{}{}/{}", if deleted { "-" } else { "" }, name.0, name.1));
            self.seen += 1;
            if deleted {
                assert!(record.get("attributes").is_none(), "{record}");
                self.deleted += 1;
                self.records.remove(&name);
                continue;
            }
            let version = record["meta"]["version"].as_i64().unwrap();
            let before = self.versions.insert(name.clone(), version);
            assert!(before <= Some(version), "{name:?} was in version {before:?}: {record}");
            self.records.insert(name, record.clone());
        }
        self.next = Some(page["links"]["next"].as_str().unwrap().to_owned());
        seen
    }

    /// Reads pages of a store without a host until one is empty, and returns what was on them.
    pub async fn catch_up(&mut self, store: &Bare) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            let path = self.path();
            let answer = store.ask(Method::Get, &path, Value::Null).await;
            let text = String::from_utf8_lossy(answer.body());
            assert_eq!(answer.status(), 200, "{path}: {text}");
            let page = self.take(&serde_json::from_str(&text).unwrap());
            if page.is_empty() {
                return seen;
            }
            seen.extend(page);
        }
    }

    /// Reads the next page from a host, and returns how many records were on it; `None` if the host is
    /// gone, or cannot answer now.
    pub async fn read(&mut self, client: &Client) -> Option<usize> {
        let path = self.path();
        match client.ask("GET", &path, None).await {
            // A host that is killed can break off its answer, which is no document then.
            None | Some((503, _)) => None,
            Some((200, page)) => Some(self.take(&page).len()),
            Some((status, refusal)) => panic!("{path}: {status} {refusal}"),
        }
    }

    /// Reads pages from a host until one is empty.
    pub async fn read_all(&mut self, client: &Client) {
        while self.read(client).await.expect("the host answers") > 0 {}
    }

    /// The path of the next page below that of the store.
    pub fn path(&self) -> String {
        let next = self.next.as_deref().unwrap();
        next.trim_start_matches(ROOT).trim_start_matches("/v1/shop").to_owned()
    }

    /// Fails the test unless this copy equals another one, record by record, joined values aside.
    #[track_caller]
    pub fn equals(&self, other: &Mirror) {
        let names: BTreeSet<&Name> = self.records.keys().chain(other.records.keys()).collect();
        let differences = names.into_iter().filter_map(|name| {
            let [one, other] = [self, other].map(|copy| copy.records.get(name).map(own_values));
            let text = |of: Option<Value>| of.map_or("nothing".to_owned(), |of| of.to_string());
            (one != other).then(|| format!("{name:?}\n  is  {}\n  not {}", text(one), text(other)))
        });
        report(differences.collect());
    }

    /// Fails the test unless the lists of the API have the same records, with the same values, joined
    /// ones aside.
    pub async fn equals_lists(&self, client: &Client) {
        let mut differences = Vec::new();
        for resource in REGISTRY.followed().filter(|resource| resource.crud) {
            let Resource { kind, key, .. } = resource;
            let rows = client.all(&format!("/{kind}?list[ordering]={key}")).await;
            let listed: BTreeSet<Name> = rows.iter().map(name_of).collect();
            let copied = self.records.keys().filter(|(of, _)| of == kind).cloned().collect();
            differences.extend(listed.symmetric_difference(&copied).map(|name| {
                let here = if listed.contains(name) { "list" } else { "copy" };
                format!("{name:?} is only in the {here}")
            }));
            for row in &rows {
                let Some(record) = self.records.get(&name_of(row)) else { continue };
                let (row, record) = (own_values(row), own_values(record));
                let listed = row["attributes"].as_object().unwrap();
                let meta = row["meta"].as_object().unwrap();
                let same = meta.iter().all(|(name, value)| record["meta"][name] == *value)
                    && listed.iter().all(|(name, value)| record["attributes"][name] == *value);
                differences.extend((!same).then(|| format!("{record}\n  is listed as {row}")));
            }
        }
        report(differences);
    }
}

/// The type and the id of a resource object.
fn name_of(record: &Value) -> Name {
    let text = |name: &str| record[name].as_str().unwrap().to_owned();
    (text("type"), text("id"))
}

/// A record without the values that belong to another one.
fn own_values(record: &Value) -> Value {
    let mut own = record.clone();
    let resource = record["type"].as_str().and_then(|kind| REGISTRY.find(kind)).unwrap();
    let attributes = own["attributes"].as_object_mut().unwrap();
    for field in resource.fields().filter(|field| field.joined.is_some()) {
        attributes.remove(field.name);
    }
    own
}

#[track_caller]
fn report(differences: Vec<String>) {
    let count = differences.len();
    let first: Vec<String> = differences.into_iter().take(10).collect();
    assert!(count == 0, "{count} records differ, the first of them:\n{}", first.join("\n"));
}
