//! What the site keeps for a time only: nothing goes unless a parameter says so, and then what is old enough.

use std::sync::{Arc, Mutex};

use host_interface::{HostHandle, Method, TrailEntry};
use plugin::privacy::{Group, Retained, retain};
use serde_json::{Value, json};

use crate::support::bare::{Bare, Directory};
use crate::support::databases::Engine;

/// A store of a site that has set these parameters, with orders of six years ago and of today, closed and open, and
/// with customers. Returns also the entries of the trail.
async fn open(set: Value) -> (Bare, Arc<Mutex<Vec<TrailEntry>>>) {
    let host = Directory { set, ..Directory::default() };
    let trail = Arc::clone(&host.trail);
    let store = Bare::of(Engine::of_this_run(), HostHandle::new(host)).await;
    let post = async |path: &str, body: Value| {
        let answer = store.ask(Method::Post, path, body).await;
        assert_eq!(answer.status(), 201, "{}", String::from_utf8_lossy(answer.body()));
    };
    for (reference, email, status, year) in [
        ("closed-1", "ada@example.com", 8, 2019),
        ("closed-2", "Ada@example.com", 6, 2019),
        ("closed-3", "eve@example.com", 8, 2019),
        ("open-1", "ada@example.com", 1, 2019),
        ("new-1", "ada@example.com", 8, 2999),
    ] {
        let order = json!({
            "order_id": reference, "user_email": email, "order_state_id": status,
            "created_on": format!("{year}-02-03T04:05:06"), "billing_last_name": "Birch",
            "items": [{"orderitem_name": "Lamp", "orderitem_price": "5.00"}],
        });
        post("/orders", order).await;
    }
    for email in ["ada@example.com", "idle@example.com", "recent@example.com"] {
        let address = json!({"first_name": "A", "last_name": "B", "email": email});
        post("/customers", address).await;
    }
    // The feed has begun long ago, and only the last customer has changed since.
    assert_eq!(store.ask(Method::Get, "/changes", Value::Null).await.status(), 200);
    store.run("UPDATE shop_feed SET began = 1").await;
    store.run("UPDATE shop_changes SET seq = 2 WHERE kind = 'customers' AND record < 3").await;
    (store, trail)
}

async fn documents(store: &Bare, path: &str) -> Vec<Value> {
    let answer = store.ask(Method::Get, path, Value::Null).await;
    let document: Value = serde_json::from_slice(answer.body()).unwrap();
    document["data"].as_array().unwrap().clone()
}

/// What is removed, or would be, of the groups with anything.
async fn over(store: &Bare, dry_run: bool) -> Vec<(Group, u64)> {
    let retained = retain(&store.app.shop, dry_run).await.unwrap().into_iter();
    let over = retained.filter(|of| of.records > 0);
    over.map(|Retained { group, records, .. }| (group, records)).collect()
}

/// The references of the orders that still have a name.
async fn named(store: &Bare) -> Vec<String> {
    let mut named = Vec::new();
    for order in documents(store, "/orders?list[ordering]=shop_order_id&list[direction]=asc").await
    {
        if order["attributes"]["billing_last_name"] == "Birch" {
            named.push(order["attributes"]["order_id"].as_str().unwrap().to_owned());
        }
    }
    named.sort();
    named
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn nothing_goes_unless_the_site_says_so() {
    let (store, trail) = open(json!({})).await;
    assert_eq!(over(&store, true).await, []);
    assert_eq!(over(&store, false).await, []);
    assert_eq!(named(&store).await.len(), 5);
    assert!(trail.lock().unwrap().is_empty());
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn old_orders_lose_what_is_personal_by_group_of_statuses() {
    let (store, trail) = open(json!({"retention_closed_months": 60})).await;
    assert_eq!(over(&store, true).await, [(Group::Closed, 3)]);
    assert_eq!(named(&store).await.len(), 5, "counting changes nothing");
    assert!(trail.lock().unwrap().is_empty());
    assert_eq!(over(&store, false).await, [(Group::Closed, 3)]);
    assert_eq!(named(&store).await, ["new-1", "open-1"]);
    assert_eq!(over(&store, false).await, [], "once");

    // Two persons are still two customers.
    let path = "/reports/customers?filter[date_from]=2019-01-01&filter[date_to]=2019-12-31";
    let statuses = documents(&store, path).await;
    assert_eq!(statuses.len(), 3, "ada with the open order, and two that are erased: {statuses:?}");
    let done = "orders whose names were kept until a day: 0, closed orders: 3, other orders: 0, \
                customers without orders: 0";
    assert_eq!(noted(&trail), [format!("to be removed: {done}"), done.to_owned()]);
}

/// The details of the entries in the trail.
fn noted(trail: &Mutex<Vec<TrailEntry>>) -> Vec<String> {
    let trail = trail.lock().unwrap();
    assert!(trail.iter().all(|entry| entry.action == "privacy.retain"));
    trail.iter().map(|entry| entry.details.clone()).collect()
}

#[tokio::test]
async fn what_was_removed_before_a_failure_is_in_the_trail() {
    let months = json!({"retention_closed_months": 60, "retention_customers_months": 12});
    let (store, trail) = open(months).await;
    // The last group cannot be removed.
    let holds = "CREATE TABLE holds (address BIGINT NOT NULL, FOREIGN KEY (address) REFERENCES \
                 shop_addresses (shop_address_id))";
    store.run(holds).await;
    store.run("INSERT INTO holds SELECT shop_address_id FROM shop_addresses").await;
    retain(&store.app.shop, false).await.unwrap_err();
    assert_eq!(named(&store).await, ["new-1", "open-1"]);
    assert_eq!(documents(&store, "/customers").await.len(), 3);
    let counts = |customers: u64| {
        format!(
            "orders whose names were kept until a day: 0, closed orders: 3, other orders: 0, \
             customers without orders: {customers}"
        )
    };
    let failed = format!("{}; the rest could not be removed", counts(0));
    assert_eq!(noted(&trail), [format!("to be removed: {}", counts(1)), failed]);

    // A repetition removes the rest.
    store.run("DELETE FROM holds").await;
    assert_eq!(over(&store, false).await, [(Group::Customers, 1)]);
    assert_eq!(noted(&trail).len(), 4);
}

#[tokio::test]
async fn open_orders_have_a_time_of_their_own() {
    let (store, _) = open(json!({"retention_open_months": 60})).await;
    assert_eq!(over(&store, false).await, [(Group::Other, 1)]);
    assert_eq!(named(&store).await, ["closed-1", "closed-2", "closed-3", "new-1"]);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn customers_without_orders_go_when_nothing_has_changed_for_so_long() {
    let (store, _) = open(json!({"retention_customers_months": 12})).await;
    assert_eq!(over(&store, true).await, [(Group::Customers, 1)]);
    assert_eq!(over(&store, false).await, [(Group::Customers, 1)]);
    assert_eq!(over(&store, false).await, [], "once");
    let left = documents(&store, "/customers").await;
    let mut left: Vec<&str> =
        left.iter().filter_map(|one| one["attributes"]["email"].as_str()).collect();
    left.sort_unstable();
    assert_eq!(left, ["ada@example.com", "recent@example.com"]);
}
