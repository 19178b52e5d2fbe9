//! Links: a record of a list, and each part of a record, is read alone at its own address.

use serde_json::json;

use crate::support::harness::{ROOT, Shop};
use crate::support::tables::fields;

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
