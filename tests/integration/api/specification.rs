//! The tables of the specification, compared with the answers of the store.

use serde_json::Value;

use crate::support::harness::Shop;
use crate::support::project::has_test;
use crate::support::tables::{ROWS, Row, fields, filters, is_crud, table};

#[track_caller]
fn attributes(record: &Value) -> Vec<&str> {
    record["attributes"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_records_have_exactly_the_fields_of_the_table_in_its_order() {
    let shop = Shop::filled().await;
    for row in fields() {
        let list = shop.get(&shop.list_of(row.kind)).send().await.expect(200).json();
        let first = &list["data"][0];
        assert_eq!(attributes(first), row.list, "{} in a list", row.kind);
        assert_eq!(first["type"], row.kind);
        assert_eq!(first["id"], first["attributes"][row.key].to_string(), "{}", row.kind);

        let path = format!("/{}/{}", row.kind, first["id"].as_str().unwrap());
        let record = shop.get(&path).send().await.expect(200).json();
        let all: Vec<&str> = row.list.iter().chain(&row.detail).copied().collect();
        assert_eq!(attributes(&record["data"]), all, "{} alone", row.kind);
        assert_eq!(record["data"]["id"], first["id"]);
    }
}

#[test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
fn the_table_and_the_plugin_have_the_same_resources() {
    let table: Vec<&str> = fields().iter().map(|row| row.kind).collect();
    for resource in plugin::resources::REGISTRY.iter() {
        // The members of the configuration depend on the site, reports are computed, and the
        // specification has neither ledgers nor the feed of changes nor exports nor what a warehouse needs nor refunds
        // nor webhooks nor what a person asks for.
        let others = [
            "changes",
            "config",
            "privacy",
            "exports",
            "importfaults",
            "imports",
            "orderfulfilments",
            "orderrefunds",
            "reports",
            "shipments",
            "stockmovements",
            "vouchermovements",
            "webhookdeliveries",
            "webhooks",
        ];
        let known = table.contains(&resource.kind) || others.contains(&resource.kind);
        assert!(known, "{} stands in the table", resource.kind);
    }
    assert_eq!(table.len() + 14, plugin::resources::REGISTRY.iter().count());
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn every_filter_of_the_table_is_accepted_and_no_other() {
    let shop = Shop::open().await;
    let filters = filters();
    let all: Vec<&str> = filters.values().flatten().copied().collect();
    for row in fields().into_iter().filter(|row| is_crud(row.kind)) {
        let known = &filters[row.kind];
        for name in all.iter().chain(&["unheard_of"]) {
            let value = if name.starts_with("date_") { "2026-01-31" } else { "1" };
            let path = format!("/{}?filter[{name}]={value}", row.kind);
            let answer = shop.get(&path).send().await;
            if known.contains(name) {
                answer.expect(200)
            } else {
                answer.expect(400)
            };
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_can_be_sorted_by_each_of_its_fields_in_both_directions() {
    let shop = Shop::filled().await;
    for row in fields() {
        let list = shop.list_of(row.kind);
        for name in &row.list {
            let path = format!("{list}?page[limit]=100&list[ordering]={name}");
            let ascending = shop.get(&path).send().await.expect(200);
            let path = format!("{path}&list[direction]=desc");
            let descending = shop.get(&path).send().await.expect(200);
            if ascending.total() <= 100 {
                let mut turned = descending.ids();
                turned.reverse();
                assert_eq!(ascending.ids(), turned, "{} by {name}", row.kind);
            }
        }
        for name in &row.detail {
            let path = format!("{list}?list[ordering]={name}");
            shop.get(&path).send().await.expect(400);
        }
    }
}

#[test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
fn every_row_of_the_tables_has_a_test_that_names_it() {
    let rows = table(ROWS, &["table", "row", "test"]);
    for row in &rows {
        let (module, test) = row[2].split_once("::").unwrap();
        assert!(has_test(module, test), "{} {}: {}", row[0], row[1], row[2]);
    }
    for Row { kind, .. } in fields() {
        assert!(rows.iter().any(|row| row[0] == "fields" && row[1] == kind), "{kind}");
    }
    for resource in plugin::resources::REGISTRY.iter().filter(|resource| resource.crud) {
        let path = format!("/{}", resource.kind);
        assert!(rows.iter().any(|row| row[0] == "CRUD" && row[1] == path), "{path}");
    }
}
