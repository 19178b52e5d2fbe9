//! Vouchers: codes, values, adjustments of the balance, and the view of their recipients.

use example_host::NewUser;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::support::harness::{Answer, ROOT, Shop, statuses};
use crate::support::process::{Place, stop};

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_has_a_unique_code_and_follows_its_rules() {
    let shop = Shop::stocked().await;
    let made = shop.get("/vouchers/1").send().await.expect(200);
    let code = made.attribute("voucher_code");
    assert_eq!(code.as_str().unwrap().len(), 19, "{code}");
    assert_eq!(made.attribute("voucher_type"), "giftcard");
    let lower = code.as_str().unwrap().to_lowercase();
    let twin = json!({"voucher_value": 1, "voucher_code": lower});
    let refused = shop.post("/vouchers", twin).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /voucher_code"]);
    for (wrong, error) in [
        (json!({"voucher_code": "a\tb"}), "422 invalid_value pointer /voucher_code"),
        (json!({"voucher_code": ""}), "422 invalid_value pointer /voucher_code"),
        (json!({"email_to": "nobody"}), "422 invalid_value pointer /email_to"),
        (json!({"order_id": "nothing"}), "422 missing_reference pointer /order_id"),
        (json!({"voucher_value": -1}), "422 invalid_value pointer /voucher_value"),
        (
            json!({"valid_from": "2026-02-01", "valid_to": "2026-01-01"}),
            "422 invalid_value pointer /valid_to",
        ),
    ] {
        let answer = shop.patch("/vouchers/1", wrong.clone()).send().await.expect(422);
        assert_eq!(answer.errors(), [error], "{wrong}");
    }
    let reference = shop.get("/orders/1").send().await.expect(200).attribute("order_id");
    let named = json!({"order_id": reference, "email_to": "", "voucher_code": "Für Ada 1"});
    shop.patch("/vouchers/1", named).send().await.expect(200);
    let kept = shop.delete("/orders/1").send().await.expect(422);
    assert_eq!(kept.errors(), ["422 referenced"]);
    shop.delete("/vouchers/1").send().await.expect(204);
    shop.delete("/orders/1").send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_value_of_a_voucher_cannot_drop_below_the_amount_spent() {
    let shop = Shop::filled().await;
    // Every other voucher of the demo data has been used for a quarter of its value.
    let voucher = shop.get("/vouchers/3").send().await.expect(200);
    assert_eq!(voucher.attribute("voucher_value"), "75.00");
    let less = json!({"voucher_value": "18.74999"});
    let refused = shop.patch("/vouchers/3", less).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /voucher_value"]);
    shop.patch("/vouchers/3", json!({"voucher_value": "18.75"})).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_balance_of_a_voucher_never_exceeds_the_largest_amount() {
    let shop = Shop::stocked().await;
    let adjust = |kind: &str, amount: &str| {
        let body = json!({"adjustment_type": kind, "amount": amount, "reason": "Test"});
        shop.post("/vouchers/1/adjust", body).send()
    };
    let value = |value: &str| shop.patch("/vouchers/1", json!({"voucher_value": value})).send();
    adjust("credit", "1000").await.expect(200);
    let refused = value("999999999000").await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /voucher_value"]);
    value("999999998999.99999").await.expect(200);
    let refused = adjust("credit", "0.00001").await.expect(422);
    assert_eq!(refused.errors(), ["422 refused pointer /amount"]);
    // A debit makes room again.
    adjust("debit", "0.00001").await.expect(200);
    value("999999999000").await.expect(200);

    // The ledger is added up, however many entries it has.
    for _ in 0..100 {
        adjust("debit", "999999999999.99").await.expect(200);
        adjust("credit", "999999999999.99").await.expect(200);
    }

    // Concurrent changes and adjustments are serialised.
    value("999999998000").await.expect(200);
    let writes = (0..24).map(|number| {
        let credit = json!({"adjustment_type": "credit", "amount": "600", "reason": "Test"});
        match number % 2 {
            0 => shop.post("/vouchers/1/adjust", credit).in_turn(),
            _ => shop.patch("/vouchers/1", json!({"voucher_value": "999999998600"})).in_turn(),
        }
    });
    let seen = statuses(writes).await;
    assert!(matches!(seen[..], [(200, _), (422, _)]), "{seen:?}");
    let debit = adjust("debit", "0.00001").await.expect(200);
    let left: Decimal = debit.attribute("remaining_balance").as_str().unwrap().parse().unwrap();
    assert!(left < Decimal::from(1_000_000_000_000_i64), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn adjustments_change_the_balance_of_a_voucher_and_never_below_zero() {
    let shop = Shop::stocked().await;
    let adjust = async |kind: &str, amount: Value| {
        let body = json!({"adjustment_type": kind, "amount": amount, "reason": "Test"});
        shop.post("/vouchers/1/adjust", body).send().await
    };
    let spent = adjust("debit", json!("12.34567")).await.expect(200);
    assert_eq!(spent.attribute("remaining_balance"), "37.65433");
    assert_eq!(spent.attribute("voucher_value"), "50.00", "the value does not change");
    assert_eq!(spent.attribute("subject"), "");
    assert_eq!(spent.json()["data"]["type"], "vouchers");
    let credit = adjust("credit", json!(10)).await.expect(200);
    assert_eq!(credit.attribute("remaining_balance"), "47.65433");
    let corrected = adjust("correction", json!("-7.65433")).await.expect(200);
    assert_eq!(corrected.attribute("remaining_balance"), "40.00");
    for (kind, amount, error) in [
        ("debit", json!("40.00001"), "422 refused pointer /amount"),
        ("correction", json!(-41), "422 refused pointer /amount"),
        ("debit", json!(0), "422 invalid_value pointer /amount"),
        ("credit", json!("-1"), "422 invalid_value pointer /amount"),
        ("debit", json!("-1"), "422 invalid_value pointer /amount"),
        ("gift", json!(1), "422 invalid_value pointer /adjustment_type"),
        ("credit", json!("999999999999"), "422 refused pointer /amount"),
    ] {
        let answer = adjust(kind, amount.clone()).await.expect(422);
        assert_eq!(answer.errors(), [error], "{kind} {amount}");
    }
    let empty = shop.post("/vouchers/1/adjust", json!({"amount": "x"})).send().await.expect(400);
    assert_eq!(
        empty.errors(),
        [
            "422 invalid_value pointer /amount",
            "400 missing_field pointer /adjustment_type",
            "400 missing_field pointer /reason",
        ]
    );
    shop.post("/vouchers/999/adjust", json!({})).send().await.expect(404);
    let all = adjust("debit", json!(40)).await.expect(200);
    assert_eq!(all.attribute("remaining_balance"), "0.00");
    // The value cannot fall below the amount spent.
    shop.patch("/vouchers/1", json!({"voucher_value": "49.99"})).send().await.expect(422);
    shop.delete("/vouchers/1").send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_99_of_150_parallel_debits_of_1_01_from_100_succeed() {
    let shop = Shop::stocked().await;
    let voucher = shop.create("/vouchers", json!({"voucher_value": "100.00"})).await;
    let path = format!("/vouchers/{voucher}/adjust");
    let debit = json!({"adjustment_type": "debit", "amount": "1.01", "reason": "Test"});
    let debits = (0..150).map(|_| shop.post(&path, debit.clone()).in_turn());
    assert_eq!(statuses(debits).await, [(200, 99), (422, 51)]);
    let last = json!({"adjustment_type": "debit", "amount": "0.01", "reason": "The rest"});
    let last = shop.post(&path, last).send().await.expect(200);
    assert_eq!(last.attribute("remaining_balance"), "0.00");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_is_not_overspent_through_two_hosts_on_one_database() {
    let (place, token) = Place::with_ann("Manager").await;
    let hosts = [place.serve().await, place.serve().await];
    let ask = |host: usize, path: &str, body: Value| {
        let request = hosts[host].ask("POST", &format!("{ROOT}{path}"), &token);
        request.header("content-type", "application/json").body(body.to_string())
    };
    let voucher = json!({"voucher_value": "100.00", "email_to": "ann@example.com"});
    let voucher = Answer::to(ask(0, "/vouchers", voucher)).await.expect(201).id();
    let debits = (0..150).map(|number| {
        let body = json!({"adjustment_type": "debit", "amount": "1.01", "reason": "Test"});
        Answer::in_turn(ask(number % 2, &format!("/vouchers/{voucher}/adjust"), body))
    });
    assert_eq!(statuses(debits).await, [(200, 99), (422, 51)]);
    for host in &hosts {
        let mine = Answer::to(host.get(&format!("{ROOT}/vouchers/mine"), &token)).await.expect(200);
        assert_eq!(mine.column("remaining_balance"), ["0.01"]);
    }
    stop(hosts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn own_vouchers_are_shown_with_masked_codes_balances_and_states() {
    let shop = Shop::open().await;
    for (code, extra) in [
        ("ABCDEFGH", json!({})),
        ("1234", json!({"enabled": 0})),
        ("Żółć-code", json!({"valid_from": "2999-01-01"})),
        ("EXPIRED1", json!({"valid_to": "2001-01-01"})),
        ("EMPTY-01", json!({"voucher_value": 0})),
        ("SOMEBODY", json!({"email_to": "else@example.com"})),
        ("NOBODYS1", json!({"email_to": ""})),
    ] {
        let mut body = json!({
            "voucher_code": code, "voucher_value": 5, "email_to": "Registered@EXAMPLE.com",
        });
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        shop.create("/vouchers", body).await;
    }
    let debit = json!({"adjustment_type": "debit", "amount": "1.5", "reason": "Test"});
    shop.post("/vouchers/1/adjust", debit).send().await.expect(200);
    let registered = crate::support::harness::Role::Registered;
    let mine = shop.get("/vouchers/mine").by(registered).send().await.expect(200);
    assert_eq!(mine.ids(), [1, 2, 3, 4, 5]);
    assert_eq!(mine.total(), 5);
    assert_eq!(
        mine.column("masked_code"),
        ["****EFGH", "****", "*****code", "****RED1", "****Y-01"]
    );
    assert_eq!(mine.column("remaining_balance"), ["3.50", "5.00", "5.00", "5.00", "0.00"]);
    assert_eq!(
        mine.column("status"),
        ["active", "disabled", "not_yet_valid", "expired", "depleted"]
    );
    let first = &mine.json()["data"][0];
    assert_eq!(first["type"], "vouchers");
    let names: Vec<&String> = first["attributes"].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "masked_code",
            "voucher_type",
            "voucher_value",
            "remaining_balance",
            "valid_from",
            "valid_to",
            "status",
        ]
    );
    let sorted = "/vouchers/mine?list[ordering]=remaining_balance&page[limit]=1";
    assert_eq!(shop.get(sorted).by(registered).send().await.expect(200).ids(), [5]);
    assert_eq!(shop.get("/vouchers/mine").send().await.expect(200).total(), 0);
    shop.get("/vouchers/mine?filter[enabled]=1").send().await.expect(400);
    // Sorting by code would reveal what the masks cover.
    for column in ["masked_code", "voucher_code"] {
        let sorted = format!("/vouchers/mine?list[ordering]={column}");
        let refused = shop.get(&sorted).by(registered).send().await.expect(400);
        assert_eq!(refused.errors(), ["400 invalid_parameter parameter list[ordering]"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn own_vouchers_are_found_by_email_address_in_any_case() {
    let shop = Shop::open().await;
    let ada = NewUser {
        username: "ada".to_owned(),
        email: "Ada@Example.com".to_owned(),
        groups: vec!["Registered".to_owned()],
        password: None,
    };
    shop.site.add_user(ada).await.unwrap();
    let token = format!("Bearer {}", shop.site.generate_token("ada").await.unwrap());
    for address in ["Ada@Example.com", "ada@example.com", "ADA@EXAMPLE.COM", "bob@example.com"] {
        shop.create("/vouchers", json!({"voucher_value": 5, "email_to": address})).await;
    }
    let mine = shop.get("/vouchers/mine").header("authorization", &token);
    assert_eq!(mine.send().await.expect(200).ids(), [1, 2, 3]);
}
