//! The statuses of an order: its transitions, the entry of each, and the mail to the customer.

use plugin::model::parameters::Parameters;
use plugin::service::notification::Notice;
use serde_json::{Value, json};

use crate::support::harness::{Answer, ROOT, Shop, statuses};
use crate::support::process::Place;
use crate::support::smtp::Sink;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_core_order_status_can_be_neither_disabled_nor_deleted() {
    let shop = Shop::open().await;
    let names = shop.get("/orderstatuses").send().await.expect(200).column("orderstatus_name");
    assert_eq!(
        names,
        ["Confirmed", "Processed", "Failed", "Pending", "New", "Cancelled", "Shipped", "Delivered"]
    );
    let refused = shop.patch("/orderstatuses/1", json!({"enabled": 0})).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /enabled"]);
    shop.delete("/orderstatuses/1").send().await.expect(422);
    shop.patch("/orderstatuses/1", json!({"orderstatus_name": "Paid"})).send().await.expect(200);
    let own = json!({"orderstatus_name": "Packed", "orderstatus_core": 1});
    let own = shop.post("/orderstatuses", own).send().await.expect(201);
    assert_eq!(own.attribute("orderstatus_core"), 0);
    let path = format!("/orderstatuses/{}", own.id());
    shop.patch(&path, json!({"enabled": 0})).send().await.expect(200);
    shop.delete(&path).send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn every_status_change_of_an_order_leaves_an_entry() {
    let shop = Shop::stocked().await;
    let entry = json!({"order_state_id": "7", "notify_customer": true, "comment": "On its way."});
    let added = shop.post("/orders/1/history", entry).send().await.expect(201);
    assert_eq!(
        added.header("location"),
        format!("{}/orders/1/history", crate::support::harness::ROOT)
    );
    assert_eq!(added.attribute("notify_customer"), 1);
    assert!(added.attribute("created_by").as_i64().unwrap() > 0);
    assert_eq!(added.json()["data"]["relationships"]["order"]["data"]["id"], "1");
    let state = async || {
        let order = shop.get("/orders/1").send().await.expect(200);
        order.attribute("orderstatus_name")
    };
    assert_eq!(state().await, "Shipped");
    // Adding the same status again is a note in the history; a PATCH with it changes nothing.
    shop.post("/orders/1/history", json!({"order_state_id": 7})).send().await.expect(201);
    shop.patch("/orders/1", json!({"order_state_id": 7})).send().await.expect(200);
    shop.patch("/orders/1", json!({"order_state_id": 8})).send().await.expect(200);
    assert_eq!(state().await, "Delivered");
    let history = shop.get("/orders/1/history").send().await.expect(200);
    assert_eq!(history.column("order_state_id"), [5, 7, 7, 8]);

    shop.post("/orders/999/history", json!({})).send().await.expect(404);
    shop.request("POST", "/orders/999/history").text("{").send().await.expect(400);
    let missing = shop.post("/orders/1/history", json!({"comment": 1})).send().await.expect(400);
    assert_eq!(
        missing.errors(),
        ["422 invalid_value pointer /comment", "400 missing_field pointer /order_state_id"]
    );
    let own = shop.create("/orderstatuses", json!({"orderstatus_name": "Old", "enabled": 0})).await;
    let disabled = json!({"order_state_id": own});
    shop.post("/orders/1/history", disabled.clone()).send().await.expect(422);
    shop.patch("/orders/1", disabled).send().await.expect(422);
    let history = shop.get("/orders/1/history").send().await.expect(200);
    assert_eq!(history.total(), 4);

    // A note can be added to an order whatever the state of its status.
    shop.patch(&format!("/orderstatuses/{own}"), json!({"enabled": 1})).send().await.expect(200);
    shop.post("/orders/1/history", json!({"order_state_id": own})).send().await.expect(201);
    shop.patch(&format!("/orderstatuses/{own}"), json!({"enabled": 0})).send().await.expect(200);
    let note = json!({"order_state_id": own, "comment": "Still waiting."});
    let note = shop.post("/orders/1/history", note).send().await.expect(201);
    assert_eq!(note.attribute("order_state_id"), own);
    assert_eq!(state().await, "Old");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_status_changes_are_serialised() {
    let shop = Shop::stocked().await;
    let moves = (0..24_i64).map(|number| {
        shop.post("/orders/1/history", json!({"order_state_id": 1 + number % 8})).in_turn()
    });
    assert_eq!(statuses(moves).await, [(201, 24)]);
    let history = shop.get("/orders/1/history?page[limit]=100").send().await.expect(200);
    assert_eq!(history.total(), 25);
    let last = history.column("order_state_id").pop().unwrap();
    let order = shop.get("/orders/1").send().await.expect(200);
    assert_eq!(order.attribute("order_state_id"), last);
}

/// The mail reaches the customer through a mail server that is down at first.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_customer_gets_a_mail_about_a_new_status_from_the_templates_of_the_site() {
    let sink = Sink::start().await;
    let shop = Shop::with(&sink).await;
    let order = json!({
        "user_email": "ada@example.com", "billing_first_name": "Ada", "billing_last_name": "Berg",
        "order_id": "A-7", "order_total": "1234.5", "created_on": "2026-02-03",
    });
    let order = shop.create("/orders", order).await;
    let history = format!("/orders/{order}/history");
    let entry = |state: i64, notify: i64, comment: &str| json!({"order_state_id": state, "notify_customer": notify, "comment": comment});
    shop.post(&history, entry(7, 0, "not told")).send().await.expect(201);
    shop.post(&history, entry(99, 1, "refused")).send().await.expect(422);
    sink.stop().await;
    shop.post(&history, entry(7, 1, "Parcel 1 of 2.")).send().await.expect(201);
    sink.restart().await;
    let mails = sink.wait_for(1).await;
    assert_eq!(mails[0].to, ["ada@example.com"]);
    assert_eq!(mails[0].to_name(), "Ada Berg");
    assert_eq!(mails[0].subject(), "Online store: your order A-7 is Shipped");
    insta::assert_snapshot!(mails[0].text().replace("\r\n", "\n"), @"
    Hello Ada,

    the status of your order A-7 of 2026-02-03 is now: Shipped.

    Parcel 1 of 2.

    Total: 1234.50 EUR

    Online store
    ");

    for (name, value) in [
        ("store_name", "Lampenladen Jürgensen"),
        ("order_mail_subject", "{{ store_name }}:\n {{ status|upper }}"),
        (
            "order_mail_text",
            "{% if comment %}{{ comment }}{% else %}-{% endif %} {{ last_name }}\n",
        ),
    ] {
        shop.site.set_parameter(name, &json!(value)).await.unwrap();
    }
    shop.post(&history, entry(8, 1, "")).send().await.expect(201);
    let mails = sink.wait_for(2).await;
    assert_eq!(mails[1].subject(), "Lampenladen Jürgensen: DELIVERED");
    assert_eq!(mails[1].text().trim_end(), "- Berg");
}

/// A template that is refused when it is set may have been set before there was a limit.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_template_cannot_make_a_long_text_of_a_short_one() {
    let sink = Sink::start().await;
    let shop = Shop::with(&sink).await;
    for refused in [
        "{{ '%0200000000d' | format(1) }}",
        "{{ 'x' * 100000000 }}",
        "{% set a = comment ~ comment %}{{ a }}",
        "{{ comment | indent(100000000) }}",
        "{% for a in range(100000) %}{{ comment }}{% endfor %}",
    ] {
        let set = shop.site.set_parameter("order_mail_text", &json!(refused)).await;
        assert!(set.is_err(), "{refused}");
        // One that was set before there were such limits gives the default text.
        let parameters = json!({"order_mail_text": refused}).to_string();
        let made = Notice { comment: "short".to_owned(), ..Notice::default() };
        let made = made.into_mail(&Parameters::read(&parameters).unwrap()).unwrap();
        assert_eq!(made.failure, None, "{refused}");
        let text = &made.mail.text;
        assert!(text.contains("short") && text.len() < 1_000, "{refused}: {text}");
    }
    // With a short comment, this one is short.
    let long = "{{ comment }}".repeat(100);
    shop.site.set_parameter("order_mail_text", &json!(long)).await.unwrap();
    let order = shop.create("/orders", json!({"user_email": "ada@example.com"})).await;
    let entry = json!({"order_state_id": 7, "notify_customer": 1, "comment": "x".repeat(60_000)});
    let history = format!("/orders/{order}/history");
    shop.post(&history, entry).send().await.expect(201);
    // The entry is written, and its mail has failed; the next one is sent.
    assert_eq!(shop.get(&history).send().await.expect(200).total(), 2);
    let entry = json!({"order_state_id": 8, "notify_customer": 1, "comment": "short"});
    shop.post(&history, entry).send().await.expect(201);
    let mails = sink.wait_for(1).await;
    assert!(mails[0].text().starts_with("shortshort"), "{}", mails[0].text());
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_permanently_refused_mail_is_given_up_and_delays_no_other() {
    let sink = Sink::start().await;
    let (place, token) = Place::with_ann("Manager").await;
    let served = place.serve_with(&[("HOST_SMTP_URL", &sink.url())]).await;
    let ask = async |path: &str, body: Value| {
        let request = served.ask("POST", &format!("{ROOT}{path}"), &token);
        let request = request.header("content-type", "application/json").body(body.to_string());
        Answer::to(request).await.expect(201);
    };
    ask("/orders", json!({"user_email": "ada@example.com"})).await;
    let entry =
        |comment: &str| json!({"order_state_id": 7, "notify_customer": 1, "comment": comment});
    sink.refuse(550);
    ask("/orders/1/history", entry("refused")).await;
    served.log.wait_for("a mail is given up").await;
    sink.refuse(450);
    ask("/orders/1/history", entry("delayed")).await;
    served.log.wait_for("a mail is postponed").await;
    sink.accept();
    ask("/orders/1/history", entry("prompt")).await;
    let mut told: Vec<String> = sink.wait_for(2).await.iter().map(|mail| mail.text()).collect();
    told.sort();
    assert!(told[0].contains("delayed") && told[1].contains("prompt"), "{told:?}");
    served.stop().await;
    assert_eq!(sink.mails().len(), 2);
}
