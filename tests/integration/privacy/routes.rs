//! The routes: who may ask, what is refused, and what is answered.

use serde_json::json;

use crate::support::harness::{Role, Shop};

const EMAIL: &str = "ada@example.com";

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_copied_and_erased_over_http() {
    let shop = Shop::stocked().await;
    let order = json!({"user_email": EMAIL, "order_state_id": 8, "items": [{"product_id": 1}]});
    shop.create("/orders", order).await;
    let copy =
        shop.post("/privacy/export", json!({"email": EMAIL})).send().await.expect(200).json();
    let orders = &copy["data"]["attributes"]["parts"]["webservices-shop"]["orders"];
    assert_eq!(orders.as_array().unwrap().last().unwrap()["user_email"], EMAIL);

    let body = json!({"email": EMAIL, "reason": "asked by letter", "force": 1});
    let erased = shop.post("/privacy/erase", body).send().await.expect(200).json();
    let part = &erased["data"]["attributes"]["parts"]["webservices-shop"];
    assert!(part["counts"]["orders"].as_i64().unwrap() > 0, "{erased}");
    assert_eq!(part["remaining"], json!({}));
    let copy =
        shop.post("/privacy/export", json!({"email": EMAIL})).send().await.expect(200).json();
    assert_eq!(copy["data"]["attributes"]["parts"]["webservices-shop"], json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn open_orders_are_named_in_the_refusal() {
    let shop = Shop::stocked().await;
    let email = "grace@example.com";
    let order = json!({"user_email": email, "order_id": "G-1", "items": [{"product_id": 1}]});
    shop.create("/orders", order).await;
    let body = json!({"email": email, "reason": "asked by letter"});
    let refused = shop.post("/privacy/erase", body).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 refused"]);
    assert_eq!(refused.json()["errors"][0]["meta"]["open"], json!(["G-1"]));
    let dry = json!({"email": email, "reason": "asked by letter", "dry_run": 1, "force": 1});
    let dry = shop.post("/privacy/erase", dry).send().await.expect(200).json();
    assert_eq!(dry["data"]["attributes"]["dry_run"], 1);
    assert_eq!(shop.get("/orders?filter[search]=grace").send().await.expect(200).total(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_body_are_reported() {
    let shop = Shop::open().await;
    for (path, body, errors) in [
        ("/privacy/export", json!({}), "400 missing_field"),
        ("/privacy/erase", json!({"email": EMAIL}), "400 missing_field"),
        ("/privacy/erase", json!({"reason": "asked"}), "400 missing_field"),
        ("/privacy/export", json!({"email": "no address"}), "422 invalid_value pointer /email"),
        ("/privacy/export", json!({"user_id": "abc"}), "422 invalid_value pointer /user_id"),
        (
            "/privacy/erase",
            json!({"email": EMAIL, "reason": "asked", "keep_until": "2020-01-01"}),
            "422 refused",
        ),
    ] {
        let answer = shop.post(path, body.clone()).send().await;
        // No other fault hides the one that is meant.
        assert!(
            answer.errors().iter().all(|error| error.starts_with(errors)),
            "{path} {body}: {:?}",
            answer.errors()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_may_not_see_everything_about_a_person() {
    let shop = Shop::open().await;
    for path in ["/privacy/export", "/privacy/erase"] {
        let ask = shop.post(path, json!({"email": EMAIL, "reason": "asked"}));
        ask.by(Role::Manager).send().await.expect(403);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_that_is_sent_again_under_its_key_is_answered_as_before() {
    let shop = Shop::stocked().await;
    let body = json!({"email": EMAIL, "reason": "asked by letter", "force": 1});
    let send = async || {
        let ask = shop.post("/privacy/erase", body.clone());
        ask.header("idempotency-key", "erase-1").send().await.expect(200)
    };
    let first = send().await;
    let again = send().await;
    assert_eq!(again.body, first.body);
    assert_eq!(again.header("idempotent-replayed"), "true");
}
