//! A copy of a person with many orders: it is sent piece by piece, and is of one moment all the same.

use std::time::Duration;

use futures_util::StreamExt;
use host_interface::{Error, Method, Person};
use plugin::privacy;
use serde_json::{Value, json};

use crate::support::bare::Bare;

const EMAIL: &str = "ada@example.com";
const ORDERS: usize = 40;
/// The length of the note in each order. All of them are many pieces.
const NOTE: usize = 20_000;
/// A piece is sent as soon as it has 64 KiB, so that it exceeds that by one record at most.
const LARGEST: usize = 64 * 1024 + NOTE + 10_000;

async fn store() -> Bare {
    let store = Bare::open().await;
    for _ in 0..ORDERS {
        let order = json!({
            "user_email": EMAIL, "order_state_id": 8, "customer_note": "x".repeat(NOTE),
            "items": [{"orderitem_name": "Lamp", "orderitem_price": "5.00"}],
        });
        assert_eq!(store.ask(Method::Post, "/orders", order).await.status(), 201);
    }
    store
}

#[tokio::test]
async fn a_copy_comes_in_pieces_and_is_of_one_moment() {
    let store = store().await;
    let mut body = privacy::export(&store.app.shop, &Person::of_email(EMAIL)).await.unwrap();
    let first = body.next().await.unwrap().unwrap();
    let (mut copy, mut pieces) = (first.to_vec(), 1);
    // Nobody waits for whoever reads the copy, and the copy does not have what is written meanwhile.
    let last = format!("/orders/{ORDERS}");
    let change = json!({"customer_note": "changed"});
    assert_eq!(store.ask(Method::Patch, &last, change).await.status(), 200);
    while let Some(piece) = body.next().await {
        let piece = piece.unwrap();
        assert!(piece.len() <= LARGEST, "{}", piece.len());
        copy.extend_from_slice(&piece);
        pieces += 1;
    }
    assert!(pieces >= ORDERS * NOTE / LARGEST, "{pieces}");
    let copy: Value = serde_json::from_slice(&copy).unwrap();
    let orders = copy["orders"].as_array().unwrap();
    assert_eq!(orders.len(), ORDERS);
    assert!(orders.iter().all(|order| order["customer_note"].as_str().unwrap().len() == NOTE));
}

/// One statement of a copy lasts for as long as it is read. On a server, those of other requests are ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_may_be_read_for_longer_than_a_statement_may_take() {
    // One statement reads all of them, which are more than the buffers of a connection take.
    const MANY: usize = 500;
    let store = Bare::hasty(Duration::from_secs(1)).await;
    for _ in 0..MANY {
        let order = json!({"user_email": EMAIL, "customer_note": "x".repeat(3 * NOTE)});
        assert_eq!(store.ask(Method::Post, "/orders", order).await.status(), 201);
    }
    let mut body = privacy::export(&store.app.shop, &Person::of_email(EMAIL)).await.unwrap();
    let mut copy = body.next().await.unwrap().unwrap().to_vec();
    tokio::time::sleep(Duration::from_secs(3)).await;
    while let Some(piece) = body.next().await {
        copy.extend_from_slice(&piece.unwrap());
    }
    let copy: Value = serde_json::from_slice(&copy).unwrap();
    assert_eq!(copy["orders"].as_array().unwrap().len(), MANY);
    store.app.shop.close().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_copy_that_is_not_read_to_its_end_gives_its_place_back() {
    let store = store().await;
    // More than may be under way at a time.
    for _ in 0..5 {
        let mut body = privacy::export(&store.app.shop, &Person::of_email(EMAIL)).await.unwrap();
        body.next().await.unwrap().unwrap();
    }
    let copy = privacy::export(&store.app.shop, &Person::of_email(EMAIL)).await.unwrap();
    let copy: Result<String, Error> = copy.text().await;
    assert!(copy.unwrap().ends_with('}'));
}
