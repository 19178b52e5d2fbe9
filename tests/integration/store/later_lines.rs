//! Lines of an import that depend on what earlier lines of the same file have changed: each is written as a request of
//! its own would be, after those for the lines before it.

use example_host::Force;
use serde_json::{Value, json};

use super::categories::branch;
use super::imports::{counts, import};
use crate::support::harness::{NDJSON, Shop};
use crate::support::visitor::id;

/// Imports records, and returns the result of each line and the first error of one that has failed.
async fn results(shop: &Shop, query: &str, records: &[Value]) -> Vec<String> {
    let file: String = records.iter().map(|record| format!("{record}\n")).collect();
    let (lines, _) = import(shop, query, NDJSON, &file).await;
    let shown = lines.iter().map(|line| match line["errors"][0]["detail"].as_str() {
        Some(detail) => detail.to_owned(),
        None => line["result"].as_str().unwrap().to_owned(),
    });
    shown.collect()
}

async fn path(shop: &Shop, category: i64) -> Value {
    shop.get(&format!("/categories/{category}")).send().await.expect(200).attribute("path")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_category_is_where_earlier_lines_have_moved_it() {
    let shop = Shop::open().await;
    let made = branch(&shop, &["a", "b", "c"]).await;
    let [a, b, c] = made[..] else { panic!("{made:?}") };
    let x = shop.create("/categories", json!({"title": "x"})).await;

    // The branch has moved when the second line would make a circle of it.
    let lines = [json!({"id": a, "parent_id": x}), json!({"id": b, "parent_id": c})];
    let seen = results(&shop, "type=categories&key=id&mode=update", &lines).await;
    assert_eq!(seen, ["updated", "A category cannot be its own descendant."]);
    assert_eq!(path(&shop, c).await, "x/a/b/c");

    let lines = [json!({"id": a, "parent_id": 0}), json!({"id": b, "alias": "bb"})];
    let seen = results(&shop, "type=categories&key=id&mode=update", &lines).await;
    assert_eq!(seen, ["updated", "updated"]);
    assert_eq!(path(&shop, b).await, "a/bb");
    assert_eq!(path(&shop, c).await, "a/bb/c");

    // A path is that of the moment, too.
    let below = |path: &str| json!({"id": x, "parent.path": path});
    let lines = [json!({"id": a, "alias": "new"}), below("a/bb"), below("new/bb")];
    let seen = results(&shop, "type=categories&key=id&mode=update", &lines).await;
    assert_eq!(seen, ["updated", r#"parent.path: there is no category "a/bb"."#, "updated"]);
    assert_eq!(path(&shop, x).await, "new/bb/x");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_line_that_makes_a_variant_the_default_holds() {
    let shop = Shop::open().await;
    let product = json!({
        "product_name": "Shirt",
        "variants": [
            {"sku": "M", "options": {"Size": "M"}, "isdefault_variant": 1},
            {"sku": "L", "options": {"Size": "L"}},
        ],
    });
    let product = shop.create("/products", product).await;
    let line = |sku: &str, is_default: i64| json!({"sku": sku, "isdefault_variant": is_default});
    let default = async || {
        let variants = shop.get(&format!("/products/{product}/variants")).send().await.expect(200);
        let all = variants.column("sku").into_iter().zip(variants.column("isdefault_variant"));
        all.filter(|(_, is_default)| *is_default == 1).map(|(sku, _)| sku).collect::<Vec<_>>()
    };
    let query = "type=variants&key=sku&mode=update";
    assert_eq!(results(&shop, query, &[line("L", 1), line("M", 1)]).await, ["updated", "updated"]);
    assert_eq!(default().await, ["M"]);
    assert_eq!(
        results(&shop, query, &[line("L", 1), line("M", 0)]).await,
        ["updated", "unchanged"]
    );
    assert_eq!(default().await, ["L"]);

    // One that a line has made is the default until another line takes it.
    let new = json!({
        "product_id": product, "options": {"Size": "S"}, "sku": "S", "isdefault_variant": 1,
    });
    let seen = results(&shop, "type=variants&key=sku", &[new, line("L", 1)]).await;
    assert_eq!(seen, ["created", "updated"]);
    assert_eq!(default().await, ["L"]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_record_keeps_a_user_whom_the_host_has_removed_since() {
    let shop = Shop::open().await;
    let user = id(&shop.site, "registered").await;
    let order = json!({"user_email": "bob@example.com", "user_id": user});
    let path = format!("/orders/{}", shop.create("/orders", order).await);
    let before = shop.get(&path).send().await.expect(200).json();
    shop.site.remove_user("registered", Force::No).await.unwrap();

    let same = json!({"user_id": user});
    let again = shop.patch(&path, same.clone()).send().await.expect(200).json();
    assert_eq!(again["data"]["meta"]["version"], before["data"]["meta"]["version"]);
    let note = json!({"user_id": user, "customer_note": "Gift"});
    shop.patch(&path, note).send().await.expect(200);
    let export = shop.get("/exports/orders").header("accept", NDJSON).send().await.expect(200);
    let file = String::from_utf8(export.body).unwrap();
    let (lines, last) = import(&shop, "type=orders&key=id", NDJSON, &file).await;
    assert_eq!(counts(&last), [0, 0, 1, 0], "{lines:?}");

    // Nothing else gets a user that there is not.
    let other = shop.create("/orders", json!({"user_email": "ada@example.com"})).await;
    let refused = shop.patch(&format!("/orders/{other}"), same).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 missing_reference pointer /user_id"]);
    let line = json!({"shop_order_id": other, "user_id": user});
    let seen = results(&shop, "type=orders&key=id", &[line]).await;
    assert_eq!(seen, [format!("user_id: there is no user with the id {user}.")]);
}
