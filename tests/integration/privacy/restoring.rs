//! The whole site with the store: the command erases everywhere, and a restored backup brings nobody back.

use serde_json::{Value, json};

use crate::support::databases::{Database, Engine};
use crate::support::ledger::Client;
use crate::support::process::Place;

const EMAIL: &str = "quinx@example.com";

#[tokio::test]
async fn a_person_is_erased_on_the_whole_site_and_not_brought_back_by_a_backup() {
    let (place, token) = Place::with_ann("Administrator").await;
    let served = place.serve().await;
    let client = Client::of(&served, &token);
    let order = json!({
        "user_email": EMAIL, "billing_last_name": "Quinx", "order_state_id": 8,
        "items": [{"orderitem_name": "Lamp", "orderitem_price": "5.00"}],
    });
    client.create("/orders", order).await;
    let address = json!({"first_name": "Q", "last_name": "Quinx", "email": EMAIL});
    client.create("/customers", address).await;
    let printed = place.run("backup backups").await;
    let backup = place.path(printed.trim());

    let body = json!({"email": EMAIL});
    let (_, copy) = client.ask("POST", "/privacy/export", Some(body.clone())).await.unwrap();
    let parts = &copy["data"]["attributes"]["parts"];
    assert_eq!(parts["webservices-shop"]["orders"][0]["billing_last_name"], "Quinx", "{copy}");
    let body = json!({"email": EMAIL, "reason": "asked by letter"});
    let (status, erased) = client.ask("POST", "/privacy/erase", Some(body)).await.unwrap();
    assert_eq!(status, 200, "{erased}");
    let parts = &erased["data"]["attributes"]["parts"];
    assert_eq!(parts["webservices-shop"]["counts"], json!({"addresses": 1, "orders": 1}));
    assert!(parts["host"].is_object(), "{erased}");
    served.stop().await;
    let trail = place.run("audit export").await;
    assert!(!trail.to_lowercase().contains("quinx"), "{trail}");
    assert!(place.run("audit verify").await.contains("verified"));

    let target = Database::new().await;
    let at_target = |words: &str| place.call(words).env("DATABASE_URL", target.url());
    if target.engine == Engine::Sqlite {
        for name in ["erased.ndjson", "secret.key"] {
            std::fs::copy(place.data(name), target.folder.path().join(name)).unwrap();
        }
    }
    at_target("restore").word(&backup).finish().await.succeeds();
    for kind in ["orders", "customers"] {
        let export = at_target(&format!("export {kind}")).finish().await.succeeds();
        assert!(!export.to_lowercase().contains("quinx"), "{export}");
    }
    let orders = at_target("export orders").finish().await.succeeds();
    let line = orders.lines().find(|line| line.contains("order_total")).unwrap();
    let order: Value = serde_json::from_str(line).unwrap();
    assert_eq!(order["order_total"], "5.00");
    assert_eq!(at_target("check").finish().await.succeeds(), "");
}

/// What an extension keeps of a user remains when the user is removed, and is found by the id.
#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_user_who_was_removed_before_the_erasure_is_not_brought_back_either() {
    let (place, _) = Place::with_ann("Administrator").await;
    place.run("user add rob --email rob@example.com --group Manager").await;
    let printed = place.run("backup backups").await;
    let backup = place.path(printed.trim());
    place.run("user remove rob").await;
    place.call("privacy erase --user 2 --reason asked").finish().await.succeeds();

    // A copy of the site keeps the list of erased persons; a backup of before the erasure is restored in its place.
    let copied = Database::new().await;
    let from = format!("sqlite://{}", place.data("host.db").display());
    let copy = place.call("copy --from").word(&from).word("--to").word(copied.url());
    copy.finish().await.succeeds();
    let target = Database::new().await;
    let list = "erased.ndjson";
    let [kept, needed] = [&copied, &target].map(|site| site.folder.path().join(list));
    assert_eq!(std::fs::read(&kept).unwrap(), std::fs::read(place.data(list)).unwrap());
    std::fs::copy(kept, needed).unwrap();
    let at_target = |words: &str| place.call(words).env("DATABASE_URL", target.url());
    at_target("restore").word(&backup).finish().await.succeeds();
    let users = at_target("user list").finish().await.succeeds();
    assert!(users.contains("ann@example.com") && !users.contains("rob"), "{users}");
    assert_eq!(at_target("check").finish().await.succeeds(), "");
}
