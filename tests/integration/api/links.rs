//! Links: what a document calls its own address, and that of related records, can be read there.

use serde_json::{Value, json};

use crate::support::harness::{ROOT, Shop};
use crate::support::tables::fields;

/// The paths in the `links` of this value and of everything in it.
fn links<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), member) {
                    ("links", Value::Object(links)) => {
                        found.extend(links.values().filter_map(Value::as_str));
                    }
                    _ => links(member, found),
                }
            }
        }
        Value::Array(members) => members.iter().for_each(|member| links(member, found)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_record_of_a_list_is_read_alone_at_its_own_link() {
    let shop = Shop::filled().await;
    for row in fields() {
        let list = shop.get(&shop.list_of(row.kind)).send().await.expect(200).json();
        let first = &list["data"][0];
        let own = first["links"]["self"].as_str().unwrap();
        assert_eq!(own, format!("{ROOT}/{}/{}", row.kind, first["id"].as_str().unwrap()));
        let alone = shop.get(own.strip_prefix(ROOT).unwrap()).send().await.expect(200).json();
        assert_eq!(alone["links"]["self"], own);
        assert_eq!(alone["data"]["links"]["self"], own);
        assert_eq!((&alone["data"]["type"], &alone["data"]["id"]), (&first["type"], &first["id"]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_link_of_a_document_can_be_read() {
    let shop = Shop::filled().await;
    let mut paths: Vec<String> = fields().iter().map(|row| shop.list_of(row.kind)).collect();
    paths.extend(fields().iter().map(|row| format!("/{}/1", row.kind)));
    let mut documents = Vec::new();
    for path in &paths {
        // The first payment method has another id than 1.
        if path != "/paymentmethods/1" {
            documents.push(shop.get(path).send().await.expect(200).json());
        }
    }
    let entry = json!({"order_state_id": 1});
    documents.push(shop.post("/orders/1/history", entry).send().await.expect(201).json());
    let mut found = Vec::new();
    documents.iter().for_each(|document| links(document, &mut found));
    found.sort_unstable();
    found.dedup();
    assert!(found.len() > 100, "{}", found.len());
    for link in found {
        shop.get(link.strip_prefix(ROOT).unwrap()).send().await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_record_are_read_alone_and_written_only_with_it() {
    let shop = Shop::filled().await;
    for kind in ["addresses", "orderhistories", "orderitems"] {
        let path = format!("/{kind}/1");
        assert_eq!(shop.get(&path).send().await.expect(200).id(), 1);
        for method in ["PATCH", "DELETE"] {
            let refused = shop.request(method, &path).text("{}").send().await.expect(405);
            assert_eq!(refused.header("allow"), "GET, HEAD");
        }
        shop.post(&format!("/{kind}"), json!({})).send().await.expect(404);
        shop.get(&format!("/{kind}/999999999")).send().await.expect(404);
        shop.get(&format!("{path}?page[limit]=1")).send().await.expect(400);
    }
}
