//! Pages and links: every record occurs exactly once, and every link works.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};

use crate::support::harness::{ROOT, Shop};

/// Collects the addresses in all members `links`.
fn links(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            let own = members.get("links").and_then(Value::as_object).into_iter().flatten();
            found.extend(own.map(|(_, link)| link.as_str().unwrap().to_owned()));
            members.values().for_each(|member| links(member, found));
        }
        Value::Array(members) => members.iter().for_each(|member| links(member, found)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_link_and_location_can_be_read() {
    let shop = Shop::stocked().await;
    shop.fail_to_import().await;
    shop.add_webhook().await;
    let mut found = BTreeSet::new();
    let new = json!({"user_email": "ada@example.com", "items": [{"product_id": 1}]});
    let (status, note) =
        (json!({"order_state_id": 1}), json!({"order_state_id": 1, "comment": "x"}));
    let credit = json!({"adjustment_type": "credit", "amount": 1, "reason": "x"});
    let zone = json!({"zone_name": "x", "zone_code": "X", "country_id": 1});
    for (path, body) in [
        ("/orders", new),
        ("/orders/1/history", status),
        ("/orders/01/history?utm=1", note),
        ("/vouchers/1/adjust", credit),
        ("/orders/1/status", json!({"status_id": 1})),
        ("/orders/2/shipments", json!({"tracking_id": "P1"})),
        ("/orders/2/tracking", json!({"tracking_id": "P2"})),
        ("/orders/2/refunds", json!({"reason": "x", "amount": "1"})),
        ("/zones", zone),
    ] {
        let answer = shop.post(path, body).send().await;
        assert!(answer.status < 300, "{path}");
        links(&answer.json(), &mut found);
        found.extend(answer.headers.get("location").map(|at| at.to_str().unwrap().to_owned()));
    }
    for route in plugin::app::describe().routes {
        // A stream of records has no links.
        if route.method.to_string() == "GET" && route.media_types.is_empty() {
            let path = route.pattern.strip_prefix("v1/shop").unwrap();
            // Payment methods share their ids with shipping methods, which come first.
            let id = if path.starts_with("/paymentmethods") { "2" } else { "1" };
            found.insert(format!("{ROOT}{}", path.replace("{id:digits}", id)));
        }
    }
    let mut open: VecDeque<String> = found.iter().cloned().collect();
    // Countries have too many zones to read all of them.
    while let Some(link) = open.pop_front().filter(|_| found.len() < 2_000) {
        let answer = shop.get(link.strip_prefix(ROOT).unwrap()).send().await.expect(200);
        let mut more = BTreeSet::new();
        links(&answer.json(), &mut more);
        open.extend(more.into_iter().filter(|link| found.insert(link.clone())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_last_page_has_no_next_link() {
    let shop = Shop::open().await;
    for number in 1..=6 {
        let name = format!("Birch {number}");
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
        let order = json!({"user_email": "ada@example.com", "user_id": 0});
        shop.create("/orders", order).await;
        let email = "administrator@example.com";
        shop.create("/vouchers", json!({"voucher_value": 1, "email_to": email})).await;
    }
    for list in ["/manufacturers", "/customers/0/orders", "/vouchers/mine"] {
        for (offset, limit, next) in [(4, 2, None), (0, 6, None), (3, 3, None), (3, 2, Some(5))] {
            let path = format!("{list}?page[offset]={offset}&page[limit]={limit}");
            let page = shop.get(&path).send().await.expect(200).json();
            assert_eq!(page["data"].as_array().unwrap().len(), limit);
            let expected = next.map(|offset: usize| {
                json!(format!("{ROOT}{list}?page%5Boffset%5D={offset}&page%5Blimit%5D={limit}"))
            });
            assert_eq!(page["links"].get("next"), expected.as_ref(), "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn pages_link_to_each_other_and_give_the_total() {
    let shop = Shop::open().await;
    for number in 1..=7 {
        let body = json!({"manufacturer_name": format!("Birch {number}"), "enabled": number % 2});
        shop.create("/manufacturers", body).await;
    }
    let at = "/api/index.php/v1/shop/manufacturers";
    let page = shop.get("/manufacturers?page[offset]=2&page[limit]=2").send().await.expect(200);
    let link = |offset: i64| format!("{at}?page%5Boffset%5D={offset}&page%5Blimit%5D=2");
    assert_eq!(
        page.json()["links"],
        json!({
            "self": link(2), "first": link(0), "prev": link(0), "next": link(4), "last": link(6),
        })
    );
    assert_eq!(page.json()["meta"], json!({"total-pages": 4, "total": 7}));
    let first = shop.get("/manufacturers?page[limit]=2").send().await.expect(200);
    assert_eq!(first.json()["links"].get("prev"), None);

    let past = shop.get("/manufacturers?page[offset]=99&page[limit]=2").send().await.expect(200);
    assert_eq!(past.json()["data"], json!([]));
    assert_eq!(past.json()["links"]["prev"], link(6));
    assert_eq!(past.json()["links"].get("next"), None);
    let far = "/manufacturers?page[offset]=99999999999999999999&page[limit]=99999999999999999999";
    assert_eq!(shop.get(far).send().await.expect(200).json()["data"], json!([]));

    let none = shop.get("/manufacturers?filter[search]=zzz").send().await.expect(200).json();
    assert_eq!(none["links"], json!({"self": format!("{at}?filter%5Bsearch%5D=zzz")}));
    assert_eq!(none["meta"], json!({"total-pages": 0, "total": 0}));

    let all = shop.get("/manufacturers").send().await.expect(200).json();
    assert_eq!(all["links"]["self"], at);
    assert_eq!(all["meta"], json!({"total-pages": 1, "total": 7}));
}

#[tokio::test(flavor = "multi_thread")]
async fn following_next_links_visits_every_record_once() {
    let shop = Shop::open().await;
    let mut path =
        "/zones?page[limit]=100&list[ordering]=enabled&list[direction]=desc&filter[search]=A"
            .to_owned();
    let mut met = Vec::new();
    let mut pages = 0;
    let total = loop {
        let answer = shop.get(&path).send().await.expect(200);
        met.extend(answer.ids());
        pages += 1;
        let json = answer.json();
        match json["links"]["next"].as_str() {
            Some(next) => {
                path = next.strip_prefix(crate::support::harness::ROOT).unwrap().to_owned()
            }
            None => {
                assert_eq!(json["meta"]["total-pages"], pages);
                break answer.total();
            }
        }
    };
    assert_eq!(met.len(), usize::try_from(total).unwrap());
    // All have the same value in the ordering column: the key breaks the tie the same way.
    assert!(met.windows(2).all(|pair| pair[0] > pair[1]));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_default_page_has_20_records_and_the_largest_100() {
    let shop = Shop::open().await;
    assert_eq!(shop.get("/zones").send().await.expect(200).ids().len(), 20);
    assert_eq!(shop.get("/zones?page[limit]=100").send().await.expect(200).ids().len(), 100);
    let more = shop.get("/zones?page[limit]=5000").send().await.expect(200);
    assert_eq!(more.ids().len(), 100);
    let total = more.total();
    assert_eq!(more.json()["meta"]["total-pages"], Value::from((total + 99) / 100));
}
