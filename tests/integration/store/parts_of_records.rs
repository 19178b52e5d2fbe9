//! Files of records with their parts: orders with their items, exported as one stream and imported again.

use serde_json::{Value, json};

use super::imports::{counts, import};
use crate::support::harness::{NDJSON, Role, Shop};

const CSV: &str = "text/csv";

/// The text of an export.
async fn exported(shop: &Shop, path: &str, media_type: &str) -> String {
    let answer = shop.get(path).header("accept", media_type).send().await.expect(200);
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// The records in a text of lines, after the first one.
fn records(text: &str) -> Vec<Value> {
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_exported_with_their_items() {
    let shop = Shop::filled().await;
    let none = shop.create("/orders", json!({"user_email": "ada@example.com", "items": []})).await;
    for query in ["", "&sort=-order_total", "&filter[search]=a&columns=names"] {
        let alone = records(&exported(&shop, &format!("/exports/orders?{query}"), NDJSON).await);
        let path = format!("/exports/orders?parts=1{query}");
        let mut with_items = records(&exported(&shop, &path, NDJSON).await);
        assert!(with_items.len() > 1, "{query}");
        for order in &mut with_items {
            let items = order.as_object_mut().unwrap().remove("items").unwrap();
            let path = format!("/orders/{}/items?page[limit]=100", order["shop_order_id"]);
            let list = shop.get(&path).send().await.expect(200).json();
            let list = list["data"].as_array().unwrap();
            assert_eq!(items.as_array().unwrap().len(), list.len(), "{path}");
            for (item, shown) in items.as_array().unwrap().iter().zip(list) {
                for (name, value) in item.as_object().unwrap() {
                    if let Some(shown) = shown["attributes"].get(name) {
                        assert_eq!(shown, value, "{path} {name}");
                    }
                }
                assert!(
                    item.get("orderitem_finalprice").is_some() && item.get("product_id").is_some()
                );
            }
        }
        assert_eq!(with_items, alone, "the orders are the same in the same order: {query}");
    }
    let path = "/exports/orders?parts=1&fields[orders]=order_total";
    let mut some = records(&exported(&shop, path, NDJSON).await);
    let last = some.pop().unwrap();
    assert_eq!(last.as_object().unwrap().keys().collect::<Vec<_>>(), ["order_total", "items"]);
    let path = format!("/exports/orders?parts=1&filter[id]={none}");
    assert_eq!(records(&exported(&shop, &path, NDJSON).await)[0]["items"], json!([]));

    let table = exported(&shop, "/exports/orders?parts=1", CSV).await;
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let column = rows.headers().unwrap().iter().position(|name| name == "items").unwrap();
    for row in rows.records() {
        let items: Value = serde_json::from_str(&row.unwrap()[column]).unwrap();
        assert!(items.is_array());
    }

    let refused = shop.get("/exports/products?parts=1").send().await.expect(400);
    assert_eq!(refused.json()["errors"][0]["source"]["parameter"], "parts");
    shop.get("/exports/orders?parts=2").send().await.expect(400);
    shop.get("/exports/orders?parts=1").by(Role::Nobody).send().await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_with_items_is_imported_again_and_changes_nothing() {
    let shop = Shop::filled().await;
    for media_type in [NDJSON, CSV] {
        let file = exported(&shop, "/exports/orders?parts=1", media_type).await;
        let before = shop.get("/exports/orders").send().await.expect(200);
        let (lines, last) = import(&shop, "type=orders&key=id", media_type, &file).await;
        let [created, updated, unchanged, failed] = counts(&last);
        assert!(unchanged > 1 && created + updated + failed == 0, "{media_type} {lines:?}");
        let after = before.header("export-cursor");
        let feed = shop.get(&format!("/changes?page[after]={after}")).send().await.expect(200);
        assert_eq!(feed.json()["data"], json!([]));
    }
    // Items are not changed by a file: neither one of them, nor their number.
    let file = exported(&shop, "/exports/orders?parts=1", NDJSON).await;
    let order = records(&file).into_iter().find(|order| order["items"] != json!([])).unwrap();
    let mut another = order.clone();
    another["items"][0]["orderitem_quantity"] = json!(4_711);
    let mut fewer = order.clone();
    fewer["items"].as_array_mut().unwrap().pop();
    let mut noted = order.clone();
    noted["order_total"] = json!("1.00");
    let file = [another, fewer, noted].map(|line| format!("{line}\n")).concat();
    let (lines, last) = import(&shop, "type=orders&key=id", NDJSON, &file).await;
    assert_eq!(counts(&last), [0, 1, 0, 2], "{lines:?}");
    for line in &lines[..2] {
        assert_eq!(line["errors"][0]["source"]["pointer"], "/items", "{line}");
    }
    let items =
        shop.get(&format!("/orders/{}/items", order["shop_order_id"])).send().await.expect(200);
    assert_eq!(
        items.json()["data"].as_array().unwrap().len(),
        order["items"].as_array().unwrap().len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_move_to_another_store_with_their_items() {
    let (from, to) = (Shop::filled().await, Shop::open().await);
    let mut orders = records(&exported(&from, "/exports/orders?parts=1", NDJSON).await);
    // Users belong to the site.
    for order in &mut orders {
        order["user_id"] = json!(0);
    }
    let file: String = orders.iter().map(|order| format!("{order}\n")).collect();
    let (lines, last) = import(&to, "type=orders&mode=create", NDJSON, &file).await;
    assert_eq!(counts(&last), [i64::try_from(orders.len()).unwrap(), 0, 0, 0], "{lines:?}");
    let moved = records(&exported(&to, "/exports/orders?parts=1", NDJSON).await);
    let shown = |orders: &[Value]| -> Vec<Value> {
        let these = ["order_total", "user_email", "currency_code", "items"];
        orders.iter().map(|order| these.map(|name| order[name].clone()).into()).collect()
    };
    assert_eq!(shown(&moved), shown(&orders));
}

/// Variants are a type of their own in files, so a line about a product never has them.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn variants_are_not_repeated_by_a_line_about_a_product_that_exists() {
    let shop = Shop::stocked().await;
    for variants in [json!([]), json!([{"sku": "L-1-S", "options": {"Size": "S"}}])] {
        let line = json!({"sku": "L-1", "variants": variants});
        let (lines, last) = import(&shop, "type=products", NDJSON, &format!("{line}\n")).await;
        assert_eq!(counts(&last), [0, 0, 0, 1], "{lines:?}");
        let error = &lines[0]["errors"][0];
        assert_eq!(error["source"]["pointer"], "/variants");
        assert_eq!(error["detail"], "variants can be given only when the product is created.");
    }
}
