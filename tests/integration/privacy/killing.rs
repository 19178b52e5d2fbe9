//! A host that is killed while it erases a person: the erasure is whole, or has not begun.

use std::time::Duration;

use serde_json::json;

use crate::support::kills::{kill, kills, randomness};
use crate::support::ledger::Client;
use crate::support::process::Place;

/// How often the host is killed.
const KILLS: usize = 6;
/// How many orders each person has.
const ORDERS: usize = 20;

fn email(person: usize) -> String {
    format!("person{person}@example.com")
}

/// What the store has of a person: orders that are found by the address or the name, and addresses.
async fn found(client: &Client, person: usize) -> [usize; 3] {
    let mut found = [0; 3];
    let name = format!("Surname{person}x");
    for (place, path) in [
        format!("/orders?filter[search]=person{person}@example.com"),
        format!("/orders?filter[search]={name}"),
        format!("/customers?filter[search]={name}"),
    ]
    .iter()
    .enumerate()
    {
        found[place] = client.all(path).await.len();
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_that_is_killed_is_whole_or_not_begun() {
    let kills = kills(KILLS);
    let (place, token) = Place::with_ann("Administrator").await;
    let mut rng = randomness();
    let mut served = place.serve().await;
    let client = Client::of(&served, &token);
    for person in 0..kills {
        let (email, name) = (email(person), format!("Surname{person}x"));
        let address = json!({"first_name": "A", "last_name": name, "email": email});
        client.create("/customers", address).await;
        for _ in 0..ORDERS {
            let order = json!({
                "user_email": email, "billing_last_name": name, "order_state_id": 8,
                "items": [{"orderitem_name": "Lamp", "orderitem_price": "5.00"}],
            });
            client.create("/orders", order).await;
        }
    }

    let (mut whole, mut unbegun) = (0, 0);
    for person in 0..kills {
        let client = Client::of(&served, &token);
        let body = json!({"email": email(person), "reason": "asked by letter"});
        let erasing = tokio::spawn({
            let client = client.clone();
            async move { client.ask("POST", "/privacy/erase", Some(body)).await }
        });
        tokio::time::sleep(Duration::from_millis(rng.u64(0..120))).await;
        kill([served]).await;
        let answer = erasing.await.unwrap();
        served = place.serve().await;
        match found(&Client::of(&served, &token), person).await {
            [0, 0, 0] => whole += 1,
            [ORDERS, ORDERS, 1] => {
                assert!(answer.is_none(), "an answered erasure has happened: {answer:?}");
                unbegun += 1;
            }
            part => panic!("half of person {person} is left: {part:?}"),
        }
    }
    println!("{whole} were whole, and {unbegun} had not begun");

    // What had not begun is done by asking again.
    let client = Client::of(&served, &token);
    for person in 0..kills {
        let body = json!({"email": email(person), "reason": "asked again"});
        let (status, answer) = client.ask("POST", "/privacy/erase", Some(body)).await.unwrap();
        assert_eq!(status, 200, "{answer}");
        assert_eq!(found(&client, person).await, [0, 0, 0]);
    }
    assert_eq!(client.all("/orders").await.len(), kills * ORDERS);
    served.stop().await;
    place.run("check").await;
}
