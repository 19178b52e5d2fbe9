//! The warehouse: orders as it sees them, parcels that leave it, and the token that may do no more.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::harness::{Answer, Ask, ROOT, Setup, Shop};
use crate::support::smtp::Sink;

/// A shop with an order of two lines: three lamps and five bulbs, to be sent to Austria.
struct Warehouse {
    shop: Shop,
    order: i64,
    lamps: i64,
    bulbs: i64,
}

/// What an order for the warehouse says.
fn order(reference: &str) -> Value {
    json!({
        "order_id": reference, "user_email": "ada@example.com", "billing_first_name": "Ada",
        "billing_last_name": "Berg", "is_shippable": 1, "customer_note": "Please ring twice.",
        "created_on": "2026-02-03T10:00:00",
        "shipping_first_name": "Ida", "shipping_last_name": "Berg", "shipping_company": "Berg Ltd",
        "shipping_phone_1": "+43 1 1", "shipping_phone_2": "+43 1 2",
        "shipping_address_1": "Ring 1", "shipping_address_2": "Door 4", "shipping_city": "Wien",
        "shipping_zip": "1010", "shipping_country_id": 15, "shipping_tax_number": "ATU1",
        "ordershipping_name": "Parcel", "ordershipping_code": "parcel-at",
        "ordershipping_type": "shipping_parcel",
        "items": [
            {"orderitem_sku": "L-1", "orderitem_name": "Lamp", "orderitem_quantity": 3,
             "orderitem_price": "19.99", "orderitem_weight": "1.25",
             "orderitem_attributes": {"colour": "red"}},
            {"orderitem_sku": "B-1", "orderitem_name": "Bulb", "orderitem_quantity": 5,
             "orderitem_price": "2"},
        ],
    })
}

impl Warehouse {
    async fn open() -> Warehouse {
        Warehouse::with(Setup::default()).await
    }

    async fn with(setup: impl Into<Setup>) -> Warehouse {
        let shop = Shop::with(setup).await;
        let order = shop.create("/orders", order("A-7")).await;
        let items = shop.get(&format!("/orders/{order}/items")).send().await.expect(200).ids();
        Warehouse { shop, order, lamps: items[0], bulbs: items[1] }
    }

    async fn ship(&self, body: Value) -> Answer {
        self.shipping(body).send().await
    }

    fn shipping(&self, body: Value) -> Ask<'_> {
        self.shop.post(&self.path("shipments"), body)
    }

    fn path(&self, below: &str) -> String {
        format!("/orders/{}/{below}", self.order)
    }

    async fn fulfilment(&self) -> Value {
        self.shop.get(&self.path("fulfilment")).send().await.expect(200).json()["data"].clone()
    }

    /// How much of each item has been shipped.
    async fn shipped(&self) -> Vec<Value> {
        let path = self.path("fulfilment?include=items");
        let json = self.shop.get(&path).send().await.expect(200).json();
        json["included"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["meta"]["shipped"].clone())
            .collect()
    }

    async fn open_orders(&self) -> Vec<i64> {
        self.shop.get("/fulfilments").send().await.expect(200).ids()
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_order_is_shown_without_prices_to_a_warehouse() {
    let house = Warehouse::open().await;
    house
        .ship(json!({"tracking_id": "P1", "items": [{"orderitem_id": house.lamps, "quantity": 1}]}))
        .await
        .expect(201);
    let path = house.path("fulfilment?include=items,shipments");
    let shown = house.shop.get(&path).send().await.expect(200);
    let mut json = shown.json();
    for moment in ["created_on", "modified_on"] {
        json["included"][2]["attributes"][moment] = json!("…");
    }
    json["included"][2]["attributes"]["created_by"] = json!("…");
    insta::assert_json_snapshot!("an_order_for_the_warehouse", json);
    // Each link leads somewhere.
    for link in ["/links/self", "/data/links/self", "/data/relationships/shipments/links/related"] {
        let path = json.pointer(link).unwrap().as_str().unwrap().strip_prefix(ROOT).unwrap();
        house.shop.get(path).send().await.expect(200);
    }
    // The order itself shows what it has always shown.
    let order = house.shop.get(&format!("/orders/{}", house.order)).send().await.expect(200);
    let order = order.json()["data"].clone();
    let names = order["attributes"].as_object().unwrap().keys();
    let beside: Vec<_> = names
        .filter(|name| name.starts_with("shipping_") || name.starts_with("ordershipping"))
        .collect();
    assert!(beside.is_empty(), "{beside:?}");
    assert_eq!(order["relationships"].as_object().unwrap().len(), 1, "{order}");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_an_order_goes_is_a_snapshot_that_is_checked_like_an_address() {
    let house = Warehouse::open().await;
    let shop = &house.shop;
    let order = format!("/orders/{}", house.order);
    let country =
        json!({"country_name": "Utopia", "country_isocode_2": "XX", "country_isocode_3": "XXX"});
    let country = shop.create("/countries", country).await;
    let zone = json!({"zone_name": "North", "zone_code": "N", "country_id": country});
    let zone = shop.create("/zones", zone).await;
    for (body, errors) in [
        (
            json!({"shipping_country_id": 99_999}),
            "422 missing_reference pointer /shipping_country_id",
        ),
        // Of another country.
        (json!({"shipping_zone_id": zone}), "422 missing_reference pointer /shipping_zone_id"),
        (json!({"shipping_zip": "x".repeat(256)}), "422 invalid_value pointer /shipping_zip"),
        (json!({"shipping_fax": ""}), "422 unknown_field pointer /shipping_fax"),
    ] {
        assert_eq!(shop.patch(&order, body).send().await.expect(422).errors(), [errors]);
    }
    let move_it = json!({"shipping_country_id": country, "shipping_zone_id": zone, "shipping_city": "Amaurot"});
    shop.patch(&order, move_it).send().await.expect(200);
    let names = async || {
        let shown = house.fulfilment().await;
        ["shipping_zone_name", "shipping_country_name", "shipping_city"]
            .map(|name| shown["attributes"][name].clone())
    };
    assert_eq!(names().await, ["North", "Utopia", "Amaurot"]);
    // Neither keeps its record from being deleted, and both names stay.
    shop.delete(&format!("/zones/{zone}")).send().await.expect(204);
    shop.delete(&format!("/countries/{country}")).send().await.expect(204);
    assert_eq!(names().await, ["North", "Utopia", "Amaurot"]);
    // What is sent back as it was read is no change, whatever has become of its records.
    let version = house.fulfilment().await["meta"]["version"].clone();
    let same = json!({"shipping_country_id": country, "shipping_zone_id": zone});
    shop.patch(&order, same).send().await.expect(200);
    assert_eq!(house.fulfilment().await["meta"]["version"], version);
    let nowhere = json!({"shipping_country_id": null, "shipping_zone_id": null});
    shop.patch(&order, nowhere).send().await.expect(200);
    assert_eq!(names().await, ["", "", "Amaurot"].map(Value::from));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pick_list_has_what_is_open_first_come_first() {
    let house = Warehouse::open().await;
    let shop = &house.shop;
    let mut others = Vec::new();
    for (reference, created_on) in [("B", "2026-02-05"), ("C", "2026-02-01"), ("D", "2026-02-04")] {
        let mut later = order(reference);
        later["created_on"] = json!(created_on);
        others.push(shop.create("/orders", later).await);
    }
    let [b, c, d] = others[..] else { unreachable!() };
    let mut letter = order("E");
    letter["is_shippable"] = json!(0);
    let letter = shop.create("/orders", letter).await;
    assert_eq!(house.open_orders().await, [c, house.order, d, b]);
    // One is cancelled, one is shipped in part and one altogether.
    shop.patch(&format!("/orders/{d}"), json!({"order_state_id": 6})).send().await.expect(200);
    shop.post(&format!("/orders/{c}/shipments"), json!({})).send().await.expect(201);
    house.ship(json!({"items": [{"orderitem_id": house.lamps, "quantity": 2}]})).await.expect(201);
    assert_eq!(house.open_orders().await, [house.order, b]);
    let list = async |query: &str| {
        shop.get(&format!("/fulfilments?{query}")).send().await.expect(200).ids()
    };
    assert_eq!(list("filter[state]=partial").await, [house.order]);
    assert_eq!(list("filter[state]=fulfilled").await, [c]);
    assert_eq!(list("filter[state]=unfulfilled").await, [d, b]);
    assert_eq!(list("filter[status]=7").await, [c]);
    assert_eq!(list("filter[status]=6&filter[state]=unfulfilled").await, [d]);
    assert_eq!(list("filter[date_from]=2026-02-04").await, [b]);
    assert_eq!(list("filter[date_to]=2026-02-04&filter[country]=15").await, [house.order]);
    assert_eq!(list("filter[country]=16").await, [0_i64; 0]);
    let page = shop.get("/fulfilments?page[limit]=1&page[offset]=1").send().await.expect(200);
    assert_eq!((page.ids(), page.total()), (vec![b], 2));
    let refused = shop.get("/fulfilments?filter[state]=lost").send().await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_filter parameter filter[state]"]);
    let refused = shop.get("/fulfilments?sort=-created_on").send().await.expect(400);
    assert_eq!(refused.errors(), ["400 unknown_parameter parameter sort"]);
    // Which statuses are closed is up to the site.
    shop.site.set_parameter("closed_statuses", &json!([5])).await.unwrap();
    assert_eq!(house.open_orders().await, [d]);
    let refused = shop.site.set_parameter("closed_statuses", &json!([99])).await;
    assert!(
        refused.is_err_and(|error| error.to_string().contains("no order status with the id 99"))
    );
    // An order that is not shippable can still be read.
    shop.get(&format!("/orders/{letter}/fulfilment")).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn no_more_is_shipped_than_is_open() {
    let house = Warehouse::open().await;
    let (lamps, bulbs) = (house.lamps, house.bulbs);
    let line = |item: i64, quantity: i64| json!({"orderitem_id": item, "quantity": quantity});
    for (body, status, errors) in [
        (json!({"items": [line(lamps, 4)]}), 422, "422 over_fulfilled pointer /items/0/quantity"),
        (
            json!({"items": [line(lamps, 1), line(99_999, 1)]}),
            422,
            "422 missing_reference pointer /items/1/orderitem_id",
        ),
        (
            json!({"items": [line(lamps, 1), line(lamps, 1)]}),
            422,
            "422 invalid_value pointer /items/1/orderitem_id",
        ),
        (json!({"items": [line(lamps, 0)]}), 422, "422 invalid_value pointer /items/0/quantity"),
        (
            json!({"items": [{"orderitem_id": lamps}]}),
            400,
            "400 missing_field pointer /items/0/quantity",
        ),
        (json!({"items": []}), 422, "422 invalid_value pointer /items"),
        (json!({"items": {}}), 422, "422 invalid_value pointer /items"),
        (
            json!({"tracking_url": "ftp://example.com/1"}),
            422,
            "422 invalid_value pointer /tracking_url",
        ),
        (
            json!({"tracking_url": "javascript:alert(1)"}),
            422,
            "422 invalid_value pointer /tracking_url",
        ),
        (
            json!({"tracking_url": "https://example.com/1 2"}),
            422,
            "422 invalid_value pointer /tracking_url",
        ),
        (json!({"order_state_id": 99}), 422, "422 missing_reference pointer /order_state_id"),
        (json!({"weight": 3}), 422, "422 unknown_field pointer /weight"),
    ] {
        let refused = house.ship(body.clone()).await.expect(status);
        assert_eq!(refused.errors(), [errors], "{body}");
    }
    assert_eq!(house.shipped().await, [0, 0]);
    let open = house.ship(json!({"items": [line(bulbs, 6)]})).await.expect(422);
    assert_eq!(open.json()["errors"][0]["meta"], json!({"open": 5}));
    let mixed = house.ship(json!({"items": [line(bulbs, 5), line(lamps, 3)]})).await.expect(201);
    assert_eq!(mixed.attribute("items"), json!([line(bulbs, 5), line(lamps, 3)]));
    assert_eq!(house.shipped().await, [3, 5]);
    let nothing = house.ship(json!({})).await.expect(422);
    assert_eq!(nothing.errors(), ["422 over_fulfilled pointer /items"]);
    let history = house.shop.get(&house.path("history")).send().await.expect(200);
    assert_eq!(history.column("order_state_id"), [5, 7]);
    house.shop.post("/orders/99999/shipments", json!({})).send().await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_deleted_shipment_opens_what_was_in_it() {
    let house = Warehouse::open().await;
    let shop = &house.shop;
    let first = json!({"items": [{"orderitem_id": house.lamps, "quantity": 1}]});
    let first = house.ship(first).await.expect(201);
    let state = async || {
        let shown = house.fulfilment().await;
        ["fulfilment_state", "order_state_id"].map(|name| shown["attributes"][name].clone())
    };
    assert_eq!(state().await, [json!("partial"), json!(5)]);
    let second = house.ship(json!({"comment": "The rest."})).await.expect(201);
    assert_eq!(state().await, [json!("fulfilled"), json!(7)]);
    assert!(house.open_orders().await.is_empty());
    // The status that the second one has set goes with the first one too: something is open again.
    shop.delete(&format!("/shipments/{}", first.id())).send().await.expect(204);
    assert_eq!(state().await, [json!("partial"), json!(5)]);
    assert_eq!(house.shipped().await, [2, 5]);
    assert_eq!(house.open_orders().await, [house.order]);
    shop.delete(&format!("/shipments/{}", second.id())).send().await.expect(204);
    assert_eq!(state().await, [json!("unfulfilled"), json!(5)]);
    assert_eq!(house.shipped().await, [0, 0]);
    shop.get(&format!("/shipments/{}", second.id())).send().await.expect(404);
    // A status that somebody has set since stays.
    let all = house.ship(json!({})).await.expect(201);
    shop.patch(&format!("/orders/{}", house.order), json!({"order_state_id": 8}))
        .send()
        .await
        .expect(200);
    shop.delete(&format!("/shipments/{}", all.id())).send().await.expect(204);
    assert_eq!(state().await, [json!("unfulfilled"), json!(8)]);
    let history = shop.get(&house.path("history?page[limit]=50")).send().await.expect(200);
    assert_eq!(history.column("order_state_id"), [5, 5, 7, 5, 7, 8]);
    // Shipments go with their order.
    let again = house.ship(json!({})).await.expect(201);
    shop.delete(&format!("/orders/{}", house.order)).send().await.expect(204);
    shop.get(&format!("/shipments/{}", again.id())).send().await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_deleted_shipment_leaves_the_status_that_another_one_has_set() {
    let house = Warehouse::open().await;
    let shop = &house.shop;
    let one = |item: i64| json!({"items": [{"orderitem_id": item, "quantity": 1}]});
    let mut first = one(house.lamps);
    first["order_state_id"] = json!(2);
    let first = house.ship(first).await.expect(201).id();
    let delete = async |key: i64| {
        shop.delete(&format!("/shipments/{key}")).send().await.expect(204);
        house.fulfilment().await["attributes"]["order_state_id"].clone()
    };
    let second = house.ship(one(house.lamps)).await.expect(201).id();
    assert_eq!(delete(second).await, 2);
    let history = shop.get(&house.path("history")).send().await.expect(200);
    assert_eq!(history.column("order_state_id"), [5, 2, 2]);
    // One that completes the order without a status of its own has not set that of the first one.
    let third = house.ship(one(house.bulbs)).await.expect(201).id();
    house.ship(json!({"order_state_id": 2})).await.expect(201);
    assert_eq!(delete(third).await, 2);
    // Its own status goes with it.
    assert_eq!(delete(first).await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shipment_is_corrected_and_counts_as_a_change_of_its_order() {
    let house = Warehouse::open().await;
    let shop = &house.shop;
    let made = house.ship(json!({"tracking_id": "P1", "carrier": "Post"})).await.expect(201);
    assert_eq!(made.header("location"), format!("{ROOT}/shipments/{}", made.id()));
    assert_eq!(made.json()["meta"]["order_version"], 2);
    assert!(made.attribute("created_by").as_i64().unwrap() > 0);
    let path = format!("/shipments/{}", made.id());
    let change =
        json!({"tracking_id": "P2", "tracking_url": "https://example.com/P2", "items": []});
    let changed = shop.patch(&path, change.clone()).send().await.expect(200);
    assert_eq!(changed.attribute("items").as_array().unwrap().len(), 2, "only new ones have items");
    let version = async || house.fulfilment().await["meta"]["version"].clone();
    assert_eq!(version().await, 3);
    shop.patch(&path, change).send().await.expect(200);
    assert_eq!(version().await, 3);
    let attributes = house.fulfilment().await["attributes"].clone();
    assert_eq!(attributes["ordershipping_tracking_id"], "P2");
    let stale = shop.patch(&path, json!({"carrier": "Bike"})).header("if-match", "\"1\"");
    stale.send().await.expect(412);
    let stale = shop.delete(&path).header("if-match", made.header("etag"));
    stale.send().await.expect(412);
    // A new shipment is a change of the order, whose version a client may expect.
    let stale = shop.post(&house.path("shipments"), json!({})).header("if-match", "\"1\"");
    stale.send().await.expect(412);
    let refused = shop.patch(&path, json!({"tracking_url": "x"})).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /tracking_url"]);
    let list = shop.get(&house.path("shipments")).send().await.expect(200);
    assert_eq!((list.ids(), list.column("carrier")), (vec![made.id()], vec![json!("Post")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_other_systems_set_a_status_and_a_number() {
    let house = Warehouse::open().await;
    let shop = &house.shop;
    let entry = json!({"status_id": 1, "comment": "Packed."});
    let entry = shop.post(&house.path("status"), entry).send().await.expect(201);
    assert_eq!(entry.json()["data"]["type"], "orderhistories");
    assert_eq!(
        (entry.attribute("order_state_id"), entry.attribute("comment")),
        (json!(1), json!("Packed."))
    );
    assert_eq!(entry.json()["meta"]["order_version"], 2);
    for (body, status, error) in [
        (json!({"status_id": 99}), 422, "422 missing_reference pointer /status_id"),
        (json!({}), 400, "400 missing_field pointer /status_id"),
        (json!({"status_id": 1, "notify": 2}), 422, "422 invalid_value pointer /notify"),
        (
            json!({"status_id": 1, "notify_customer": 1}),
            422,
            "422 unknown_field pointer /notify_customer",
        ),
    ] {
        let refused = shop.post(&house.path("status"), body).send().await.expect(status);
        assert_eq!(refused.errors(), [error]);
    }
    // Without a shipment there is one of everything, and the status stays.
    let first =
        shop.post(&house.path("tracking"), json!({"tracking_id": "P1"})).send().await.expect(201);
    assert_eq!(first.json()["data"]["type"], "shipments");
    assert_eq!(first.attribute("items").as_array().unwrap().len(), 2);
    let again =
        shop.post(&house.path("tracking"), json!({"tracking_id": "P2"})).send().await.expect(201);
    assert_eq!((again.id(), again.attribute("tracking_id")), (first.id(), json!("P2")));
    let attributes = house.fulfilment().await["attributes"].clone();
    assert_eq!(
        (&attributes["fulfilment_state"], &attributes["order_state_id"]),
        (&json!("fulfilled"), &json!(1))
    );
    assert_eq!(attributes["ordershipping_tracking_id"], "P2");
    let refused =
        shop.post(&house.path("tracking"), json!({"tracking_id": ""})).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /tracking_id"]);
    // An order without items has a shipment without any.
    let empty = json!({"user_email": "bob@example.com", "is_shippable": 1});
    let empty = shop.create("/orders", empty).await;
    let path = format!("/orders/{empty}/tracking");
    let sent = shop.post(&path, json!({"tracking_id": "P3"})).send().await.expect(201);
    assert_eq!(sent.attribute("items"), json!([]));
    let state = async || {
        let shown = shop.get(&format!("/orders/{empty}/fulfilment")).send().await.expect(200);
        shown.attribute("fulfilment_state")
    };
    assert_eq!(state().await, "fulfilled");
    let again = shop.post(&format!("/orders/{empty}/shipments"), json!({})).send().await;
    assert_eq!(again.expect(422).errors(), ["422 over_fulfilled pointer /items"]);
    shop.delete(&format!("/shipments/{}", sent.id())).send().await.expect(204);
    assert_eq!(state().await, "unfulfilled");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_32_parallel_shipments_of_the_last_two_pieces_one_passes() {
    let house = Warehouse::open().await;
    let bulbs = json!({"items": [{"orderitem_id": house.bulbs, "quantity": 3}]});
    house.ship(bulbs).await.expect(201);
    let attempts = (0..32).map(|number| {
        let items = json!([{"orderitem_id": house.bulbs, "quantity": 2}]);
        house.shipping(json!({"tracking_id": format!("P{number}"), "items": items})).in_turn()
    });
    let mut answers = join_all(attempts).await;
    answers.retain(|answer| answer.status != 201);
    assert_eq!(answers.len(), 31);
    for refused in answers {
        assert_eq!(refused.errors(), ["422 over_fulfilled pointer /items/0/quantity"]);
    }
    assert_eq!(house.shipped().await, [0, 5]);
    assert_eq!(house.shop.get(&house.path("shipments")).send().await.expect(200).total(), 2);
}

/// What a warehouse does in a day, with a token that may do nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_warehouse_works_for_a_day_with_a_token_for_it_alone() {
    let sink = Sink::start().await;
    let house = Warehouse::with(&sink).await;
    let shop = &house.shop;
    let token = shop.packer().await;
    // In the morning, one request has all that is to be packed, with its lines and addresses.
    let list =
        shop.get("/fulfilments?include=items,shipments").with(&token).send().await.expect(200);
    let json = list.json();
    let open = &json["data"][0];
    assert_eq!(open["attributes"]["shipping_address_1"], "Ring 1");
    assert_eq!(open["attributes"]["shipping_country_name"], "Austria");
    let lines = json["included"].as_array().unwrap();
    let packed: Vec<_> =
        lines.iter().map(|line| line["attributes"]["orderitem_quantity"].clone()).collect();
    assert_eq!(packed, [3, 5]);
    assert!(!list.body.windows(5).any(|window| window == b"price"), "a warehouse sees no prices");
    // Three parcels leave, and one more than there is does not.
    let parcel = |items: Value, more: Value| {
        let mut body = more;
        body["items"] = items;
        body
    };
    let line = |item: i64, quantity: i64| json!({"orderitem_id": item, "quantity": quantity});
    let shipments = house.path("shipments");
    let first = parcel(json!([line(house.lamps, 1)]), json!({"tracking_id": "P1"}));
    shop.post(&shipments, first).with(&token).send().await.expect(201);
    let second =
        parcel(json!([line(house.lamps, 2), line(house.bulbs, 1)]), json!({"tracking_id": "PX"}));
    let second = shop.post(&shipments, second).with(&token).send().await.expect(201);
    let wrong = parcel(json!([line(house.bulbs, 5)]), json!({"tracking_id": "P3"}));
    let refused = shop.post(&shipments, wrong).with(&token).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 over_fulfilled pointer /items/0/quantity"]);
    // A number was wrong.
    let path = format!("/shipments/{}", second.id());
    shop.patch(&path, json!({"tracking_id": "P2"})).with(&token).send().await.expect(200);
    // With the last one, the customer is told.
    let third = json!({
        "tracking_id": "P3", "carrier": "Post", "tracking_url": "https://example.com/follow?p=P3",
        "notify_customer": 1, "comment": "This is the last one.",
    });
    let third = shop.post(&shipments, third).with(&token).send().await.expect(201);
    assert_eq!(third.attribute("items"), json!([line(house.bulbs, 4)]));
    let mails = sink.wait_for(1).await;
    assert_eq!(mails[0].to, ["ada@example.com"]);
    assert_eq!(mails[0].subject(), "Online store: a parcel of your order A-7 is on its way");
    insta::assert_snapshot!(mails[0].text().replace("\r\n", "\n"), @"
    Hello Ada,

    a parcel of your order A-7 of 2026-02-03 is on its way.

    4 x Bulb

    This is the last one.

    Number: P3 (Post)

    Follow your parcel: https://example.com/follow?p=P3

    Online store
    ");
    let shown = shop.get(&house.path("fulfilment")).with(&token).send().await.expect(200);
    assert_eq!(shown.attribute("fulfilment_state"), "fulfilled");
    assert_eq!(shown.attribute("order_state_id"), 7);
    assert_eq!(shop.get("/fulfilments").with(&token).send().await.expect(200).total(), 0);
    let numbers = shop.get(&shipments).with(&token).send().await.expect(200).column("tracking_id");
    assert_eq!(numbers, ["P1", "P2", "P3"]);
    // Orders are shipped once, even if an answer is lost on its way.
    let later = shop.create("/orders", order("A-8")).await;
    let path = format!("/orders/{later}/shipments");
    let send = async || {
        let ask = shop.post(&path, json!({"tracking_id": "P4"})).with(&token);
        ask.header("idempotency-key", "scan-4711").send().await.expect(201)
    };
    let (once, twice) = (send().await, send().await);
    assert_eq!((once.id(), once.body), (twice.id(), twice.body.clone()));
    assert_eq!(twice.header("idempotent-replayed"), "true");
    // What has happened since is read from the feed, of the types of a warehouse alone.
    let feed = shop.get("/changes?page[size]=1000").with(&token).send().await.expect(200).json();
    let kinds: BTreeSet<&str> =
        feed["data"].as_array().unwrap().iter().filter_map(|one| one["type"].as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["orderfulfilments", "shipments"]));
    let named = shop.get("/changes?filter[types]=orders").with(&token).send().await;
    assert_eq!(named.errors(), ["403 insufficient_scope"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_year_of_demo_orders_has_addresses_and_parcels() {
    let shop = Shop::open().await;
    let options = [("products", 60), ("orders", 1_200)];
    let options = options.map(|(name, number)| (name.to_owned(), json!(number)));
    shop.site.command("demo", &options.into_iter().collect(), || ()).await.unwrap();
    let mut states = std::collections::BTreeMap::new();
    for state in ["unfulfilled", "partial", "fulfilled"] {
        let path =
            format!("/fulfilments?filter[state]={state}&page[limit]=100&include=items,shipments");
        let json = shop.get(&path).send().await.expect(200).json();
        let included = json["included"].as_array().unwrap();
        let mut sent = std::collections::BTreeMap::<String, i64>::new();
        for parcel in included.iter().filter(|one| one["type"] == "shipments") {
            for line in parcel["attributes"]["items"].as_array().unwrap() {
                let item = line["orderitem_id"].to_string();
                *sent.entry(item).or_default() += line["quantity"].as_i64().unwrap();
            }
        }
        for item in included.iter().filter(|one| one["type"] == "orderitems") {
            let shipped = sent.remove(item["id"].as_str().unwrap()).unwrap_or_default();
            assert_eq!(item["meta"]["shipped"], shipped, "{item}");
        }
        assert!(sent.is_empty(), "{sent:?}");
        for order in json["data"].as_array().unwrap() {
            assert_ne!(order["attributes"]["shipping_address_1"], "");
            assert_ne!(order["attributes"]["shipping_country_name"], "");
            let parcels = order["relationships"]["shipments"]["data"].as_array().unwrap().len();
            assert_eq!(parcels == 0, state == "unfulfilled", "{order}");
        }
        states.insert(state, json["meta"]["total"].as_i64().unwrap());
    }
    assert_eq!(states.values().sum::<i64>(), 1_200);
    assert!(states.values().all(|count| *count > 0), "{states:?}");
    assert!(shop.get("/fulfilments").send().await.expect(200).total() > 0);
}

/// Reports count orders by their status, which a shipment changes and its deletion gives back.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_shipped_order_is_counted_by_the_reports() {
    let house = Warehouse::open().await;
    let counted = async || {
        let path = "/reports/sales?filter[date_from]=2026-02-03&filter[date_to]=2026-02-03";
        let json = house.shop.get(path).send().await.expect(200).json();
        let totals = json["meta"]["totals"].as_array().unwrap().iter();
        totals.map(|of_currency| of_currency["orders"].as_i64().unwrap()).sum::<i64>()
    };
    assert_eq!(counted().await, 0, "a new order does not count");
    let some = json!({"items": [{"orderitem_id": house.lamps, "quantity": 1}]});
    house.ship(some).await.expect(201);
    assert_eq!(counted().await, 0);
    let rest = house.ship(json!({})).await.expect(201);
    assert_eq!(counted().await, 1);
    house.shop.delete(&format!("/shipments/{}", rest.id())).send().await.expect(204);
    assert_eq!(counted().await, 0);
}
