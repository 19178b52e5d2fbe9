//! Refunds: what of an order is given back, to the cent and never twice, what undoes it, and the token that may do
//! no more.

use example_host::{NewToken, NewUser};
use futures_util::future::join_all;
use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use crate::support::harness::{Answer, Ask, ROOT, Role, Shop};
use crate::support::ledger::decimal;
use crate::support::smtp::Sink;

/// A shop with an order of three lamps from the stock, and of five bulbs without tax.
struct Till {
    shop: Shop,
    order: i64,
    lamps: i64,
    bulbs: i64,
}

impl Till {
    async fn open() -> Till {
        Till::with(Shop::open().await).await
    }

    async fn with(shop: Shop) -> Till {
        let lamp = json!({"product_name": "Lamp", "sku": "L-1", "price": "2.80", "quantity": 10});
        let lamp = shop.create("/products", lamp).await;
        let items = json!([
            {"product_id": lamp, "orderitem_quantity": 3, "orderitem_tax": "1.60", "take_stock": 1},
            {"orderitem_sku": "B-1", "orderitem_quantity": 5, "orderitem_price": "2"},
        ]);
        let order = json!({
            "order_id": "A-7", "user_email": "ada@example.com", "items": items,
            "order_shipping": "4.10", "order_shipping_tax": "0.80",
        });
        let order = shop.create("/orders", order).await;
        let items = shop.get(&format!("/orders/{order}/items")).send().await.expect(200).ids();
        Till { shop, order, lamps: items[0], bulbs: items[1] }
    }

    fn path(&self) -> String {
        format!("/orders/{}/refunds", self.order)
    }

    async fn refund(&self, body: Value) -> Answer {
        self.shop.post(&self.path(), body).send().await
    }

    async fn reverse(&self, refund: i64, body: Value) -> Answer {
        self.shop.post(&format!("{}/{refund}/reverse", self.path()), body).send().await
    }

    /// A refund of one item.
    async fn give(&self, line: Value) -> Answer {
        self.giving(line).send().await
    }

    fn giving(&self, line: Value) -> Ask<'_> {
        self.shop.post(&self.path(), json!({"reason": "Returned", "items": [line]}))
    }

    async fn shown(&self) -> Value {
        let order = self.shop.get(&format!("/orders/{}", self.order)).send().await.expect(200);
        order.json()["data"].clone()
    }

    /// What is left: in all, of the shipping, and of both items.
    async fn left(&self) -> Value {
        let order = self.shown().await;
        let left = &order["meta"]["refundable"];
        let item = |key: i64| {
            let item = &left["items"][key.to_string()];
            json!([item["quantity"], item["amount"]])
        };
        json!([left["amount"], left["shipping"], item(self.lamps), item(self.bulbs)])
    }

    async fn stock(&self) -> Value {
        self.shop.get("/inventory/1").send().await.expect(200).attribute("quantity")
    }

    /// `check` finds nothing: orders, items, refunds and the ledger agree.
    async fn check(&self) {
        check(&self.shop).await;
    }
}

/// `check` finds nothing in this shop.
pub(super) async fn check(shop: &Shop) {
    let found = shop.site.command("check", &Map::new(), || ()).await.unwrap();
    assert_eq!(found.rows, Vec::<Map<String, Value>>::new());
}

/// An order without what every write changes.
pub(super) fn lasting(mut order: Value) -> Value {
    order["meta"]["version"].take();
    order["attributes"]["modified_on"].take();
    order
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parts_of_an_order_are_given_back_to_the_cent() {
    let till = Till::open().await;
    let (shop, lamps, bulbs) = (&till.shop, till.lamps, till.bulbs);
    assert_eq!(till.left().await, json!(["24.90", "4.90", [3, "10.00"], [5, "10.00"]]));
    let body = json!({
        "reason": "Damaged in transit", "reference": "CN-1", "transaction_id": "R-1",
        "comment": "With our apologies.", "order_state_id": 3, "shipping_amount": "2.45",
        "items": [{"orderitem_id": lamps, "quantity": 1}, {"orderitem_id": bulbs, "amount": "3.50"}],
    });
    let made = till.refund(body).await.expect(201);
    assert_eq!(made.header("location"), format!("{ROOT}/orderrefunds/{}", made.id()));
    let mut document = made.json();
    for name in ["created_on", "created_by"] {
        document["data"]["attributes"][name] = json!("…");
    }
    insta::assert_json_snapshot!("a_refund_of_three_parts", document);
    assert_eq!(till.left().await, json!(["15.62", "2.45", [2, "6.67"], [5, "6.50"]]));
    let order = till.shown().await;
    assert_eq!(order["attributes"]["order_refund"], "9.28");
    assert_eq!(order["attributes"]["order_state_id"], 3);
    assert_eq!(order["meta"]["version"], 2);
    assert_eq!(order["meta"].get("unattributed_refund"), None);
    let history = shop.get(&format!("/orders/{}/history", till.order)).send().await.expect(200);
    assert_eq!(history.column("comment"), ["", "With our apologies."]);
    // The other lamps, one after the other, and the tax in them.
    for [amount, tax] in [["3.34", "0.54"], ["3.33", "0.53"]] {
        let one = till.give(json!({"orderitem_id": lamps, "quantity": 1})).await.expect(201);
        assert_eq!([one.attribute("amount"), one.attribute("tax_amount")], [amount, tax]);
    }
    // The bulbs for less than is left of them, the shipping, and what is tied to nothing.
    let few = json!({"orderitem_id": bulbs, "quantity": 5, "amount": "6.00"});
    till.give(few).await.expect(201);
    assert_eq!(till.left().await, json!(["2.95", "2.45", [0, "0.00"], [0, "0.50"]]));
    let rest = json!({"reason": "Goodwill", "shipping_amount": "2.45", "amount": "0.50"});
    let rest = till.refund(rest).await.expect(201);
    assert_eq!([rest.attribute("amount"), rest.attribute("tax_amount")], ["2.95", "0.40"]);
    assert_eq!(till.shown().await["attributes"]["order_refund"], "24.90");
    let refused = till.refund(json!({"reason": "More", "amount": "0.01"})).await.expect(422);
    assert_eq!(refused.errors(), ["422 over_refunded pointer /amount"]);
    assert_eq!(refused.json()["errors"][0]["meta"]["left"], json!({"amount": "0.00"}));
    till.check().await;

    // Each is read by itself, below its order, and beside it.
    let alone = shop.get(&format!("/orderrefunds/{}", made.id())).send().await.expect(200);
    assert_eq!(alone.json()["data"], made.json()["data"]);
    let list = shop.get(&till.path()).send().await.expect(200);
    assert_eq!(list.column("amount"), ["9.28", "3.34", "3.33", "6.00", "2.95"]);
    let path = format!("/orders/{}?include=refunds&fields[orderrefunds]=reason", till.order);
    let beside = shop.get(&path).send().await.expect(200).json();
    assert_eq!(beside["included"].as_array().unwrap().len(), 5);
    assert_eq!(beside["included"][4]["attributes"], json!({"reason": "Goodwill"}));
    assert_eq!(beside["data"]["relationships"]["refunds"]["data"][0]["type"], "orderrefunds");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn each_fault_of_a_refund_is_named_and_nothing_changes() {
    let till = Till::open().await;
    let shop = &till.shop;
    let (lamps, bulbs) = (till.lamps, till.bulbs);
    let other = json!({
        "user_email": "bob@example.com",
        "items": [{"orderitem_sku": "X", "orderitem_price": "1"}],
    });
    let other = shop.create("/orders", other).await;
    let of_another = shop.get(&format!("/orders/{other}/items")).send().await.expect(200).ids()[0];
    // Of this much, two lamps cost more than is left of their line.
    till.give(json!({"orderitem_id": lamps, "amount": "5.00"})).await.expect(201);
    let before = till.shown().await;
    let line = |line: Value| json!({"reason": "R", "items": [line]});
    let left = |quantity: i64, amount: &str| json!({"quantity": quantity, "amount": amount});
    for (body, status, error, meta) in [
        (json!({"reason": "R"}), 400, "400 missing_field pointer /items", json!(null)),
        (json!({"reason": "R", "items": []}), 400, "400 missing_field pointer /items", json!(null)),
        (json!({"amount": "1"}), 400, "400 missing_field pointer /reason", json!(null)),
        (
            json!({"reason": " ", "amount": "1"}),
            422,
            "422 invalid_value pointer /reason",
            json!(null),
        ),
        (
            json!({"reason": "R", "amount": "0"}),
            422,
            "422 invalid_value pointer /amount",
            json!(null),
        ),
        (
            json!({"reason": "R", "shipping_amount": "-1"}),
            422,
            "422 invalid_value pointer /shipping_amount",
            json!(null),
        ),
        (
            json!({"reason": "R", "amount": "1.001"}),
            422,
            "422 invalid_value pointer /amount",
            json!(null),
        ),
        (
            line(json!({"orderitem_id": lamps, "amount": "0.005"})),
            422,
            "422 invalid_value pointer /items/0/amount",
            json!(null),
        ),
        (
            json!({"reason": "R", "shipping_amount": "4.91"}),
            422,
            "422 over_refunded pointer /shipping_amount",
            json!({"amount": "4.90"}),
        ),
        (
            line(json!({"orderitem_id": bulbs, "quantity": 0})),
            422,
            "422 invalid_value pointer /items/0/quantity",
            json!(null),
        ),
        (
            line(json!({"orderitem_id": bulbs, "quantity": 6})),
            422,
            "422 over_refunded pointer /items/0/quantity",
            left(5, "10.00"),
        ),
        (
            line(json!({"orderitem_id": bulbs, "amount": "10.01"})),
            422,
            "422 over_refunded pointer /items/0/amount",
            left(5, "10.00"),
        ),
        (
            line(json!({"orderitem_id": lamps, "quantity": 2})),
            422,
            "422 over_refunded pointer /items/0/quantity",
            left(3, "5.00"),
        ),
        (
            line(json!({"orderitem_id": bulbs})),
            400,
            "400 missing_field pointer /items/0/quantity",
            json!(null),
        ),
        (
            line(json!({"orderitem_id": of_another, "quantity": 1})),
            422,
            "422 missing_reference pointer /items/0/orderitem_id",
            json!(null),
        ),
        (
            json!({"reason": "R", "items": [
                {"orderitem_id": bulbs, "quantity": 1}, {"orderitem_id": bulbs, "quantity": 1},
            ]}),
            422,
            "422 invalid_value pointer /items/1/orderitem_id",
            json!(null),
        ),
        (
            line(json!({"orderitem_id": lamps, "amount": "1", "restock": 1})),
            422,
            "422 invalid_value pointer /items/0/restock",
            json!(null),
        ),
        (
            line(json!({"orderitem_id": bulbs, "quantity": 1, "restock": 1})),
            422,
            "422 invalid_value pointer /items/0/restock",
            json!(null),
        ),
        (
            json!({"reason": "R", "amount": "1", "order_state_id": 99}),
            422,
            "422 missing_reference pointer /order_state_id",
            json!(null),
        ),
        (
            json!({"reason": "R", "amount": "1", "reverses": 1, "refunded": 1}),
            422,
            "422 unknown_field pointer /reverses",
            json!(null),
        ),
    ] {
        let refused = till.refund(body.clone()).await.expect(status);
        assert_eq!(refused.errors()[0], error, "{body}");
        assert_eq!(refused.json()["errors"][0]["meta"]["left"], meta, "{body}");
        assert_eq!(till.shown().await, before, "{body}");
    }
    // An order without items has none to give back, and no more than its total.
    let empty =
        json!({"user_email": "bob@example.com", "order_total": "5", "currency_code": "JPY"});
    let empty = shop.create("/orders", empty).await;
    let path = format!("/orders/{empty}/refunds");
    let item = line(json!({"orderitem_id": bulbs, "quantity": 1}));
    let refused = shop.post(&path, item).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 missing_reference pointer /items/0/orderitem_id"]);
    let refused = shop.post(&path, json!({"reason": "R", "amount": "6"})).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 over_refunded pointer /amount"]);
    // Yen have no decimals.
    let broken = shop.post(&path, json!({"reason": "R", "amount": "4.5"})).send().await.expect(422);
    assert_eq!(broken.errors(), ["422 invalid_value pointer /amount"]);
    shop.post(&path, json!({"reason": "R", "amount": "5"})).send().await.expect(201);
    shop.post("/orders/999/refunds", json!({"reason": "R", "amount": "1"}))
        .send()
        .await
        .expect(404);
    // All together are at most the total of the order, whatever is left of each.
    let half = json!({"order_total": "10"});
    shop.patch(&format!("/orders/{}", till.order), half).send().await.expect(200);
    let both = json!({"reason": "R", "items": [
        {"orderitem_id": lamps, "amount": "3"}, {"orderitem_id": bulbs, "amount": "3"},
    ]});
    let refused = till.refund(both).await.expect(422);
    assert_eq!(refused.errors(), ["422 over_refunded pointer /items/1/amount"]);
    assert_eq!(refused.json()["errors"][0]["meta"]["left"], left(5, "2.00"));
    // A version that is not the order's any more.
    let stale = shop.post(&till.path(), json!({"reason": "R", "amount": "1"}));
    stale.header("if-match", "\"1\"").send().await.expect(412);
    till.check().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn what_comes_back_is_in_stock_again_and_what_is_undone_is_not() {
    let till = Till::open().await;
    let shop = &till.shop;
    assert_eq!(till.stock().await, 7);
    let (before, list) = (till.shown().await, "/reports/sales?filter[date_from]=2026-01-01");
    let list = format!("{list}&filter[date_to]={}", time::UtcDateTime::now().date());
    let report = async || {
        let mut all = Vec::new();
        for name in ["products", "customers"] {
            let path = list.replace("sales", name);
            all.push(shop.get(&path).send().await.expect(200).json());
        }
        all.push(shop.get(&list).send().await.expect(200).json());
        all
    };
    let reported = report().await;
    let two = json!({"orderitem_id": till.lamps, "quantity": 2, "restock": 1});
    let body = json!({"reason": "Returned", "items": [two], "shipping_amount": "1", "amount": "2"});
    let made = till.refund(body).await.expect(201);
    assert_eq!(till.stock().await, 9);
    let ledger = shop.get("/inventory/1/ledger").send().await.expect(200);
    assert_eq!(ledger.column("reason")[0], "refund");
    assert_eq!(ledger.column("reference")[0], "A-7");
    assert_eq!(ledger.column("quantity_delta")[0], 2);
    assert_ne!(report().await, reported);
    till.check().await;
    // The lamps are sold meanwhile.
    let sale = |quantity: i64| {
        let line = json!({"product_id": 1, "orderitem_quantity": quantity, "take_stock": 1});
        json!({"user_email": "bob@example.com", "items": [line]})
    };
    let sold = shop.create("/orders", sale(8)).await;
    let wrong = json!({"reason": "Wrong order"});
    let refused = till.reverse(made.id(), wrong.clone()).await.expect(422);
    assert_eq!(refused.errors(), ["422 insufficient_stock pointer /restock"]);
    assert_eq!(refused.json()["errors"][0]["meta"]["quantity"], 1);
    let refused = till.reverse(made.id(), json!({"restock": 0})).await.expect(400);
    assert_eq!(refused.errors(), ["400 missing_field pointer /reason"]);
    shop.delete(&format!("/orders/{sold}")).send().await.expect(204);
    let delta = json!({"quantity_delta": 8, "reason": "Counted"});
    shop.post("/inventory/1/adjust", delta).send().await.expect(200);
    let undone = till.reverse(made.id(), wrong.clone()).await.expect(201);
    assert_eq!(till.stock().await, 7);
    assert_eq!(undone.attribute("amount"), "-9.67");
    assert_eq!(undone.attribute("tax_amount"), "-1.23");
    assert_eq!(undone.attribute("shipping_amount"), "-1.00");
    assert_eq!(undone.attribute("reverses"), made.id());
    let items = json!([{
        "orderitem_id": till.lamps, "quantity": -2, "amount": "-6.67", "tax_amount": "-1.07",
        "restock": 1,
    }]);
    assert_eq!(undone.attribute("items"), items);
    assert_eq!(undone.json()["meta"], json!({"order_version": 3}));
    let first = shop.get(&format!("/orderrefunds/{}", made.id())).send().await.expect(200);
    assert_eq!(first.attribute("reversed"), 1);
    assert_eq!(lasting(till.shown().await), lasting(before.clone()));
    assert_eq!(report().await, reported, "every figure is what it was");
    let history = shop.get(&format!("/orders/{}/history", till.order)).send().await.expect(200);
    assert_eq!(history.column("comment"), ["", "", "Wrong order"]);
    till.check().await;
    // Neither can be undone again, and nobody else's can.
    for refund in [made.id(), undone.id()] {
        let refused = till.reverse(refund, wrong.clone()).await.expect(422);
        assert_eq!(refused.errors(), ["422 already_reversed"]);
    }
    till.reverse(999, wrong.clone()).await.expect(404);
    let other = shop.create("/orders", json!({"user_email": "bob@example.com"})).await;
    let foreign = format!("/orders/{other}/refunds/{}/reverse", made.id());
    shop.post(&foreign, wrong.clone()).send().await.expect(404);
    // What is gone cannot be taken, unless only the money is undone.
    let one = json!({"orderitem_id": till.lamps, "quantity": 1, "restock": 1});
    let one = till.give(one).await.expect(201);
    assert_eq!(till.stock().await, 8);
    shop.delete("/products/1").send().await.expect(204);
    let refused = till.reverse(one.id(), wrong.clone()).await.expect(422);
    assert_eq!(refused.errors(), ["422 missing_reference pointer /restock"]);
    let gone = till.give(json!({"orderitem_id": till.lamps, "quantity": 1, "restock": 1})).await;
    assert_eq!(gone.expect(422).errors(), ["422 missing_reference pointer /items/0/restock"]);
    let money = json!({"reason": "Wrong order", "restock": 0});
    let money = till.reverse(one.id(), money).await.expect(201);
    assert_eq!(money.attribute("items")[0]["restock"], 0);
    assert_eq!(lasting(till.shown().await), lasting(before));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variant_that_is_gone_takes_nothing_back() {
    let shop = Shop::open().await;
    let variants = json!([
        {"options": {"Size": "M"}, "quantity": 4, "price": "10"},
        {"options": {"Size": "L"}, "quantity": 4, "price": "10"},
    ]);
    let shirt = json!({"product_name": "Shirt", "variants": variants});
    let shirt = shop.create("/products", shirt).await;
    let list = shop.get(&format!("/products/{shirt}/variants")).send().await.expect(200).ids();
    let lines = [list[1], list[2]]
        .map(|key| json!({"variant_id": key, "orderitem_quantity": 2, "take_stock": 1}));
    let order = json!({"user_email": "ada@example.com", "items": lines});
    let order = shop.create("/orders", order).await;
    let items = shop.get(&format!("/orders/{order}/items")).send().await.expect(200).ids();
    let path = format!("/orders/{order}/refunds");
    let line = |item: i64| json!({"orderitem_id": item, "quantity": 1, "restock": 1});
    let both = json!({"reason": "Returned", "items": [line(items[0]), line(items[1])]});
    shop.post(&path, both.clone()).send().await.expect(201);
    let held = async |key: i64| {
        let variant = shop.get(&format!("/variants/{key}")).send().await.expect(200);
        variant.attribute("quantity")
    };
    assert_eq!([held(list[1]).await, held(list[2]).await], [3, 3]);
    check(&shop).await;
    shop.delete(&format!("/variants/{}", list[2])).send().await.expect(204);
    let refused = shop.post(&path, both).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 missing_reference pointer /items/1/restock"]);
    assert_eq!(held(list[1]).await, 3);
    check(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn what_was_set_by_hand_is_shown_beside_the_refunds() {
    let till = Till::open().await;
    let order = format!("/orders/{}", till.order);
    let set =
        async |refund: &str| till.shop.patch(&order, json!({"order_refund": refund})).send().await;
    set("5.00").await.expect(200);
    assert_eq!(till.shown().await["meta"]["unattributed_refund"], "5.00");
    assert_eq!(till.left().await[0], "19.90");
    let made = till.give(json!({"orderitem_id": till.bulbs, "quantity": 2})).await.expect(201);
    let shown = till.shown().await;
    assert_eq!(shown["attributes"]["order_refund"], "9.00");
    assert_eq!(shown["meta"]["unattributed_refund"], "5.00");
    assert_eq!(set("3.99").await.expect(422).errors(), ["422 invalid_value pointer /order_refund"]);
    set("4.00").await.expect(200);
    assert_eq!(till.shown().await["meta"].get("unattributed_refund"), None);
    set("24.90").await.expect(200);
    let refused = till.give(json!({"orderitem_id": till.bulbs, "quantity": 1})).await.expect(422);
    assert_eq!(refused.errors(), ["422 over_refunded pointer /items/0/quantity"]);
    till.reverse(made.id(), json!({"reason": "Wrong"})).await.expect(201);
    assert_eq!(till.shown().await["meta"]["unattributed_refund"], "20.90");
    set("0").await.expect(200);
    till.check().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_site_may_require_a_key_of_each_refund() {
    let till = Till::open().await;
    till.shop.site.set_parameter("require_refund_key", &json!(1)).await.unwrap();
    let body = json!({"reason": "Returned", "amount": "1"});
    let refused = till.refund(body.clone()).await.expect(400);
    assert_eq!(refused.errors(), ["400 idempotency_key_required header Idempotency-Key"]);
    let send = async || {
        till.shop.post(&till.path(), body.clone()).header("idempotency-key", "K-1").send().await
    };
    let (made, again) = (send().await.expect(201), send().await.expect(201));
    assert_eq!(made.json(), again.json());
    assert_eq!(again.header("idempotent-replayed"), "true");
    let refused = till.reverse(made.id(), json!({"reason": "Wrong"})).await.expect(400);
    assert_eq!(refused.errors(), ["400 idempotency_key_required header Idempotency-Key"]);
    assert_eq!(till.shop.get(&till.path()).send().await.expect(200).total(), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_token_for_refunds_alone_can_do_nothing_else() {
    let till = Till::open().await;
    let shop = &till.shop;
    let user = NewUser {
        email: "till@example.com".to_owned(),
        username: "till".to_owned(),
        groups: vec!["Administrator".to_owned()],
        password: None,
    };
    shop.site.add_user(user).await.unwrap();
    let scopes = Some(vec!["orders:refund".to_owned()]);
    let new = NewToken { name: "till".to_owned(), scopes, ..NewToken::default() };
    let token = shop.site.create_token("till", &new).await.unwrap();
    let body = json!({"reason": "Returned", "amount": "1"});
    let made = shop.post(&till.path(), body.clone()).with(&token).send().await.expect(201);
    let reverse = format!("{}/{}/reverse", till.path(), made.id());
    let why = json!({"reason": "Wrong"});
    shop.post(&reverse, why.clone()).with(&token).send().await.expect(201);
    for path in [till.path(), format!("/orderrefunds/{}", made.id()), "/orders".to_owned()] {
        let refused = shop.get(&path).with(&token).send().await.expect(403);
        assert_eq!(refused.errors(), ["403 insufficient_scope"], "{path}");
    }
    let order = format!("/orders/{}", till.order);
    let change = json!({"order_refund": "2"});
    shop.patch(&order, change.clone()).with(&token).send().await.expect(403);
    // Who edits orders does not give money back.
    let refused = shop.post(&till.path(), body).by(Role::Manager).send().await.expect(403);
    assert_eq!(refused.errors(), ["403 forbidden"]);
    shop.post(&reverse, why).by(Role::Manager).send().await.expect(403);
    shop.get(&till.path()).by(Role::Manager).send().await.expect(200);
    shop.patch(&order, change).by(Role::Manager).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_parallel_refunds_as_many_pass_as_there_are_pieces() {
    let till = Till::open().await;
    let piece = json!({"orderitem_id": till.lamps, "quantity": 1});
    let answers = join_all((0..64).map(|_| till.giving(piece.clone()).in_turn())).await;
    let (given, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 201);
    let given: Vec<_> = given.iter().map(|made| decimal(&made.attribute("amount"))).collect();
    assert_eq!((given.len(), given.iter().sum::<Decimal>()), (3, Decimal::from(10)));
    for refused in refused {
        assert_eq!(refused.errors(), ["422 over_refunded pointer /items/0/quantity"]);
        let left = json!({"quantity": 0, "amount": "0.00"});
        assert_eq!(refused.json()["errors"][0]["meta"]["left"], left);
    }
    assert_eq!(till.shown().await["attributes"]["order_refund"], "10.00");
    assert_eq!(till.shop.get(&till.path()).send().await.expect(200).total(), 3);
    till.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_count_a_refund_on_the_day_of_its_order_and_on_its_own() {
    let shop = Shop::open().await;
    let order = json!({
        "user_email": "ada@example.com", "created_on": "2026-02-03T10:00:00", "order_state_id": 1,
        "items": [{"orderitem_sku": "L-1", "orderitem_quantity": 4, "orderitem_price": "5"}],
    });
    let order = shop.create("/orders", order).await;
    let item = shop.get(&format!("/orders/{order}/items")).send().await.expect(200).ids()[0];
    let path = format!("/orders/{order}/refunds");
    let two = json!({"reason": "R", "items": [{"orderitem_id": item, "quantity": 2}]});
    let made = shop.post(&path, two).send().await.expect(201);
    let today = time::UtcDateTime::now().date();
    let report = async |name: &str, from: &str, to: &str| {
        let path = format!("/reports/{name}?filter[date_from]={from}&filter[date_to]={to}");
        shop.get(&path).send().await.expect(200).json()
    };
    let (then, now) = ("2026-02-03", today.to_string());
    let of_day = report("sales", then, then).await;
    assert_eq!(of_day["data"][0]["attributes"]["refunds"], "10.00");
    let names = ["refunds", "net_sales", "refunds_made", "refunds_count"];
    let totals = |report: &Value| names.map(|name| report["meta"]["totals"][0][name].clone());
    assert_eq!(totals(&of_day), [json!("10.00"), json!("10.00"), json!("0.00"), json!(0)]);
    let own_day = report("sales", &now, &now).await;
    assert_eq!(totals(&own_day), [json!("0.00"), json!("0.00"), json!("10.00"), json!(1)]);
    let products = report("products", then, then).await;
    let row = &products["data"][0]["attributes"];
    assert_eq!([&row["refunded_quantity"], &row["refunded_amount"]], [&json!(2), &json!("10.00")]);
    assert_eq!(products["meta"]["totals"][0]["refunded_amount"], "10.00");
    // A status that reports do not count, and what was undone.
    shop.patch(&format!("/orders/{order}"), json!({"order_state_id": 3})).send().await.expect(200);
    assert_eq!(totals(&report("sales", &now, &now).await)[2], "10.00");
    let reverse = format!("{path}/{}/reverse", made.id());
    shop.post(&reverse, json!({"reason": "Wrong"})).send().await.expect(201);
    let undone = totals(&report("sales", &now, &now).await);
    assert_eq!(undone, [json!("0.00"), json!("0.00"), json!("0.00"), json!(0)]);
    // They go with their order.
    let one = json!({"reason": "R", "items": [{"orderitem_id": item, "quantity": 1}]});
    let one = shop.post(&path, one).send().await.expect(201);
    check(&shop).await;
    shop.delete(&format!("/orders/{order}")).send().await.expect(204);
    shop.get(&format!("/orderrefunds/{}", one.id())).send().await.expect(404);
    let gone = totals(&report("sales", &now, &now).await);
    assert_eq!(gone, [json!("0.00"), json!("0.00"), json!("0.00"), json!(0)]);
    check(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_customer_gets_a_mail_about_a_refund_if_asked_for() {
    let sink = Sink::start().await;
    let till = Till::with(Shop::with(&sink).await).await;
    let body = |notify: u8, comment: &str| json!({"reason": "R", "amount": "1", "notify_customer": notify, "comment": comment});
    till.refund(body(0, "Nobody reads this.")).await.expect(201);
    till.refund(body(1, "move 1 EUR back")).await.expect(201);
    sink.has_one_about_each(&["move 1 EUR back".to_owned()].into()).await;
}
