//! The tree of categories: aliases, levels, paths, and moves.

use serde_json::{Value, json};

use crate::support::harness::Shop;

/// Categories below each other, the first of them at the top.
pub(super) async fn branch(shop: &Shop, titles: &[&str]) -> Vec<i64> {
    let mut made = vec![];
    for title in titles {
        let parent_id = made.last().copied().unwrap_or(0);
        made.push(
            shop.create("/categories", json!({"title": title, "parent_id": parent_id})).await,
        );
    }
    made
}

#[tokio::test(flavor = "multi_thread")]
async fn a_category_has_a_unique_alias_a_level_and_a_path() {
    let shop = Shop::open().await;
    let make = async |body: Value| shop.post("/categories", body).send().await.expect(201);
    let lamps = make(json!({"title": "Große Lampen!"})).await;
    assert_eq!(lamps.attribute("alias"), "grosse-lampen");
    assert_eq!(
        (lamps.attribute("level"), lamps.attribute("path")),
        (json!(1), json!("grosse-lampen"))
    );
    assert_eq!(make(json!({"title": "Große Lampen"})).await.attribute("alias"), "grosse-lampen-2");
    assert_eq!(make(json!({"title": "grosse lampen"})).await.attribute("alias"), "grosse-lampen-3");
    assert_eq!(make(json!({"title": "!?"})).await.attribute("alias"), "category");

    let taken = json!({"title": "x", "alias": "grosse-lampen"});
    let refused = shop.post("/categories", taken).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /alias"]);
    // An alias is unique only among siblings.
    let below = make(json!({"title": "x", "alias": "grosse-lampen", "parent_id": 1})).await;
    assert_eq!(below.attribute("path"), "grosse-lampen/grosse-lampen");
    assert_eq!(below.attribute("level"), 2);
    assert_eq!(below.json()["data"]["relationships"]["parent"]["data"]["id"], "1");

    // A new title does not change the alias.
    let renamed = shop.patch("/categories/1", json!({"title": "Lights"})).send().await.expect(200);
    assert_eq!(renamed.attribute("alias"), "grosse-lampen");
    for wrong in [json!({"alias": "a/b"}), json!({"published": -1}), json!({"parent_id": 99})] {
        shop.patch("/categories/1", wrong).send().await.expect(422);
    }
}

/// Found by requests generated from the OpenAPI document: the generated alias equalled the present
/// one, so nothing seemed to change, and the empty one was written.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_empty_alias_is_made_from_the_title_even_if_the_category_has_it_already() {
    let shop = Shop::open().await;
    shop.create("/categories", json!({"title": "Lamps"})).await;
    for alias in ["", "lights", "", ""] {
        let changed = shop.patch("/categories/1", json!({"alias": alias})).send().await.expect(200);
        let expected = if alias.is_empty() { "lamps" } else { alias };
        assert_eq!(changed.attribute("alias"), expected);
        assert_eq!(changed.attribute("path"), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_a_category_moves_its_branch_and_a_cycle_is_refused() {
    let shop = Shop::open().await;
    assert_eq!(branch(&shop, &["a", "b", "c", "d"]).await, [1, 2, 3, 4]);
    let other = shop.create("/categories", json!({"title": "other"})).await;
    // Its path begins like that of `b`, and so do the paths of its descendants.
    let sibling = shop.create("/categories", json!({"title": "b-2", "parent_id": 1})).await;
    let below = shop.create("/categories", json!({"title": "e", "parent_id": sibling})).await;
    let place = async |id: i64| {
        let read = shop.get(&format!("/categories/{id}")).send().await.expect(200);
        (read.attribute("level").as_i64().unwrap(), read.attribute("path"))
    };
    assert_eq!(place(4).await, (4, json!("a/b/c/d")));
    for parent in [2, 3, 4] {
        let refused = shop.patch("/categories/2", json!({"parent_id": parent})).send().await;
        assert_eq!(refused.expect(422).errors(), ["422 invalid_value pointer /parent_id"]);
    }
    let to_other = json!({"parent_id": other, "alias": "bb"});
    shop.patch("/categories/2", to_other).send().await.expect(200);
    assert_eq!(place(2).await, (2, json!("other/bb")));
    assert_eq!(place(4).await, (4, json!("other/bb/c/d")));
    assert_eq!(place(sibling).await, (2, json!("a/b-2")));
    assert_eq!(place(below).await, (3, json!("a/b-2/e")));
    shop.patch("/categories/3", json!({"parent_id": 0})).send().await.expect(200);
    assert_eq!(place(4).await, (2, json!("c/d")));
    assert_eq!(place(1).await, (1, json!("a")));

    let refused = shop.delete("/categories/3").send().await.expect(422);
    assert_eq!(refused.errors(), ["422 referenced"]);
    shop.delete("/categories/4").send().await.expect(204);
    shop.delete("/categories/3").send().await.expect(204);
}
