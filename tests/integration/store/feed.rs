//! The feed of changes: every change once, in order, deletions included.

use std::collections::BTreeSet;
use std::time::Duration;

use example_host::{Force, Setting};
use host_interface::{HostHandle, Method};
use plugin::model::value::Value as Cell;
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use serde_json::{Value, json};
use time::UtcDateTime;
use time::macros::format_description;

use super::shelves::{document, text};
use crate::support::bare::{Bare, Directory};
use crate::support::databases::Engine;
use crate::support::harness::{ROOT, Role, Shop};
use crate::support::mirror::Mirror;

/// The path below that of the store.
fn below(path: &str) -> String {
    path.trim_start_matches("/v1/shop").to_owned()
}

async fn open() -> Bare {
    Bare::of(Engine::of_this_run(), HostHandle::new(Directory::default())).await
}

async fn write(store: &Bare, method: Method, path: &str, body: Value) -> Value {
    let answer = store.ask(method, path, body.clone()).await;
    assert!(answer.status() < 300, "{method} {path} {body}: {}", text(&answer));
    if answer.body().is_empty() { Value::Null } else { document(&answer) }
}

#[tokio::test]
async fn the_first_copy_has_all_records_and_then_each_change_once() {
    let store = open().await;
    for name in ["Birch", "Oak", "Pine", "Elm"] {
        write(&store, Method::Post, "/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let lamp = json!({"product_name": "Lamp", "sku": "L-1", "price": "10", "quantity": 5});
    write(&store, Method::Post, "/products", lamp).await;
    let mut mirror = Mirror::of("manufacturers,products,inventory,variants");
    let first = mirror.catch_up(&store).await;
    assert_eq!(
        first,
        [
            "inventory/1",
            "manufacturers/1",
            "manufacturers/2",
            "manufacturers/3",
            "manufacturers/4",
            "products/1",
            "variants/1"
        ]
    );
    assert_eq!(mirror.catch_up(&store).await, [""; 0], "nothing has changed");

    // Several changes of a record are one, at the place of the last.
    write(&store, Method::Patch, "/manufacturers/2", json!({"ordering": 7})).await;
    write(&store, Method::Patch, "/manufacturers/3", json!({"ordering": 8})).await;
    write(&store, Method::Delete, "/manufacturers/1", Value::Null).await;
    write(&store, Method::Patch, "/manufacturers/2", json!({"ordering": 9})).await;
    let second = mirror.catch_up(&store).await;
    assert_eq!(second, ["manufacturers/3", "-manufacturers/1", "manufacturers/2"]);
    // A change of the price is one of the master variant too.
    write(&store, Method::Patch, "/products/1", json!({"price": "12"})).await;
    let mut third = mirror.catch_up(&store).await;
    third.sort_unstable();
    assert_eq!(third, ["inventory/1", "products/1", "variants/1"]);
    // What changes no value is no change.
    write(&store, Method::Patch, "/products/1", json!({"price": "12.00"})).await;
    assert_eq!(mirror.catch_up(&store).await, [""; 0]);
    // The stock record is removed, and the product remains.
    write(&store, Method::Delete, "/inventory/1", Value::Null).await;
    let mut fourth = mirror.catch_up(&store).await;
    fourth.sort_unstable();
    assert_eq!(fourth, ["-inventory/1", "products/1", "variants/1"]);
    write(&store, Method::Post, "/inventory", json!({"shop_product_id": 1, "quantity": 2})).await;
    let mut fifth = mirror.catch_up(&store).await;
    fifth.sort_unstable();
    assert_eq!(fifth, ["inventory/1", "products/1", "variants/1"]);
    // One that was there between two deletions, when a client may have copied it, is deleted again.
    write(&store, Method::Delete, "/inventory/1", Value::Null).await;
    mirror.catch_up(&store).await;
    write(&store, Method::Post, "/inventory", json!({"shop_product_id": 1, "quantity": 2})).await;
    write(&store, Method::Delete, "/inventory/1", Value::Null).await;
    assert!(mirror.catch_up(&store).await.contains(&"-inventory/1".to_owned()));
    write(&store, Method::Post, "/inventory", json!({"shop_product_id": 1, "quantity": 2})).await;
    mirror.catch_up(&store).await;
    // With a product, its parts are removed.
    write(&store, Method::Delete, "/products/1", Value::Null).await;
    let mut last = mirror.catch_up(&store).await;
    last.sort_unstable();
    assert_eq!(last, ["-inventory/1", "-products/1", "-variants/1"]);
    assert_eq!(mirror.records.len(), 3);
    for ((kind, id), record) in &mirror.records {
        let answer = store.ask(Method::Get, &format!("/{kind}/{id}"), Value::Null).await;
        assert_eq!(document(&answer)["data"], *record);
    }
    store.app.shop.store.close().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_feed_of_all_types_has_the_parts_of_orders() {
    let store = open().await;
    let mut mirror = Mirror::of_all(1_000);
    mirror.catch_up(&store).await;
    let kinds: Vec<&str> = REGISTRY.followed().map(|resource| resource.kind).collect();
    assert_eq!(kinds.len(), 23, "{kinds:?}");
    let lamp = json!({"product_name": "Lamp", "sku": "L-1", "price": "10", "quantity": 5});
    write(&store, Method::Post, "/products", lamp).await;
    let order = json!({"user_email": "ada@example.com", "items": [
        {"product_id": 1}, {"product_id": 1, "orderitem_quantity": 2, "take_stock": 1},
    ]});
    write(&store, Method::Post, "/orders", order).await;
    let mut made = mirror.catch_up(&store).await;
    made.sort_unstable();
    assert_eq!(
        made,
        [
            "inventory/1",
            "orderfulfilments/1",
            "orderhistories/1",
            "orderitems/1",
            "orderitems/2",
            "orders/1",
            "products/1",
            "variants/1"
        ]
    );
    let some = json!({"items": [{"orderitem_id": 2, "quantity": 1}]});
    write(&store, Method::Post, "/orders/1/shipments", some).await;
    let mut sent = mirror.catch_up(&store).await;
    sent.sort_unstable();
    assert_eq!(
        sent,
        ["orderfulfilments/1", "orderhistories/2", "orderitems/2", "orders/1", "shipments/1"]
    );
    let some = json!({"reason": "Returned", "items": [{"orderitem_id": 2, "quantity": 1}]});
    write(&store, Method::Post, "/orders/1/refunds", some).await;
    let mut given = mirror.catch_up(&store).await;
    given.sort_unstable();
    assert_eq!(
        given,
        ["orderfulfilments/1", "orderhistories/3", "orderitems/2", "orderrefunds/1", "orders/1"]
    );
    write(&store, Method::Delete, "/orders/1", Value::Null).await;
    let mut gone = mirror.catch_up(&store).await;
    gone.sort_unstable();
    assert_eq!(
        gone,
        [
            "-orderfulfilments/1",
            "-orderhistories/1",
            "-orderhistories/2",
            "-orderhistories/3",
            "-orderitems/1",
            "-orderitems/2",
            "-orderrefunds/1",
            "-orders/1",
            "-shipments/1"
        ]
    );
    store.app.shop.store.close().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_cursor_is_refused_where_it_cannot_be_continued() {
    let store = open().await;
    let ask = async |path: &str| {
        let answer = store.ask(Method::Get, path, Value::Null).await;
        (answer.status(), document(&answer))
    };
    let (_, first) = ask("/changes?filter[types]=zones,countries").await;
    let next = below(first["links"]["next"].as_str().unwrap());
    assert_eq!(ask(&next).await.0, 200);
    let cursor = next.rsplit_once('=').unwrap().1;

    // One that no store has made, or that was cut off.
    for other in ["", "x", "%C3%A4", &cursor[..cursor.len() - 2], &format!("{cursor}A")] {
        let (status, refusal) = ask(&format!("/changes?page[after]={other}")).await;
        assert_eq!(status, 400, "{other}");
        assert_eq!(refusal["errors"][0]["source"]["parameter"], "page[after]");
    }
    // One of other types.
    for types in ["zones", "zones,orders"] {
        let path = format!("/changes?filter[types]={types}&page[after]={cursor}");
        assert_eq!(ask(&path).await.0, 400, "{types}");
    }
    // The types may be named in any order, or not again.
    for types in
        ["", "filter[types]=countries,zones&", "filter[types]=zones&filter[types]=countries&"]
    {
        assert_eq!(ask(&format!("/changes?{types}page[after]={cursor}")).await.0, 200, "{types}");
    }
    for (query, status) in [
        ("filter[types]=lamps", 422),
        ("filter[types]=config", 422),
        ("filter[kinds]=zones", 400),
        ("page[size]=0", 400),
        ("page[offset]=1", 400),
        ("sort=id", 400),
        ("include=zone", 400),
        ("fields[zones]=zone_name", 400),
    ] {
        assert_eq!(ask(&format!("/changes?{query}")).await.0, status, "{query}");
    }

    // Another feed has begun, for example because a backup was restored.
    store.app.shop.store.renew_feed().await.unwrap();
    let (status, refusal) = ask(&next).await;
    assert_eq!((status, &refusal["errors"][0]["code"]), (410, &json!("cursor_expired")));
    let first = below(refusal["links"]["first"].as_str().unwrap());
    assert_eq!(first, "/changes?filter%5Btypes%5D=countries%2Czones");
    assert_eq!(ask(&first).await.0, 200);
    store.app.shop.store.close().await;
}

#[tokio::test]
#[cfg_attr(engine = "sqlite", ignore = "it has one writer at a time")]
async fn an_open_transaction_keeps_back_its_own_changes_and_no_others() {
    let store = open().await;
    let mut mirror = Mirror::of("manufacturers");
    let make = |name: &str| {
        Statement::fixed(
            "INSERT INTO shop_manufacturers \
             (manufacturer_name, manufacturer_name_fold, manufacturer_desc) VALUES (?, ?, '')",
            vec![Cell::Text(name.to_owned()); 2],
        )
    };
    let mut earlier = store.app.shop.store.begin().await.unwrap();
    earlier.execute(make("Birch")).await.unwrap();
    write(&store, Method::Post, "/manufacturers", json!({"manufacturer_name": "Oak"})).await;
    let mut later = store.app.shop.store.begin().await.unwrap();
    later.execute(make("Pine")).await.unwrap();
    assert_eq!(mirror.catch_up(&store).await, ["manufacturers/2"]);
    later.commit().await.unwrap();
    assert_eq!(mirror.catch_up(&store).await, ["manufacturers/3"]);
    write(&store, Method::Delete, "/manufacturers/2", Value::Null).await;
    assert_eq!(mirror.catch_up(&store).await, ["-manufacturers/2"]);
    earlier.commit().await.unwrap();
    assert_eq!(mirror.catch_up(&store).await, ["manufacturers/1"]);
    store.app.shop.store.close().await;
}

/// Cursors are part of what a later version has to understand, like the tables.
#[tokio::test]
async fn a_cursor_of_version_1_is_understood() {
    const FOLLOWS: &str =
        "MDAwMDAwMDAwMDAwMDBhYSBuYW1lZCBjb3VudHJpZXMsem9uZXMgMTc5NTQxODEyNjAwNTQ5OCAu";
    const COPIES: &str = "MDAwMDAwMDAwMDAwMDBhYSBuYW1lZCBjb3VudHJpZXMsem9uZXMgY291bnRyaWVzIDI0OSAxNzk1NDE4MTI2MDA1NDk4IC4";
    let store = open().await;
    store
        .run(
            "UPDATE shop_feed SET feed = '00000000000000aa', seq = 1795418126005498, \
             began = 1795418125000000, floor = 1795418126005498",
        )
        .await;
    let ask = async |cursor: &str| {
        let path = format!("/changes?page[size]=2&page[after]={cursor}");
        let answer = store.ask(Method::Get, &path, Value::Null).await;
        assert_eq!(answer.status(), 200, "{}", text(&answer));
        document(&answer)
    };
    assert_eq!(kinds(&ask(COPIES).await), BTreeSet::from(["zones".to_owned()]));
    assert!(kinds(&ask(FOLLOWS).await).iter().all(|kind| kind == "countries" || kind == "zones"));
    store.app.shop.store.close().await;
}

/// Changes get their places when they are read, which is a write. The disk of a file is filled in `hosts::faults`.
#[tokio::test]
#[cfg_attr(engine = "sqlite", ignore = "its disk is filled by a limit of the process")]
async fn changes_are_readable_while_a_server_has_a_full_disk() {
    let store = open().await;
    let name = |name: &str| json!({"manufacturer_name": name});
    write(&store, Method::Post, "/manufacturers", name("Birch")).await;
    let mut mirror = Mirror::of("manufacturers");
    mirror.catch_up(&store).await;
    let recent = "/manufacturers?filter[modified_since]=2020-01-01";
    let as_of = async || {
        let list = write(&store, Method::Get, recent, Value::Null).await;
        list["meta"]["as_of"].as_str().unwrap().to_owned()
    };
    let shown = as_of().await;
    write(&store, Method::Post, "/manufacturers", name("Oak")).await;
    let full = match store.database.engine {
        Engine::MariaDb => "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114",
        _ => "RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'",
    };
    for (trigger, table) in [("no_place", "shop_changes"), ("no_room", "shop_manufacturers")] {
        store.trigger(trigger, "BEFORE INSERT", table, "1 = 1", full).await;
    }
    let refused = store.ask(Method::Post, "/manufacturers", name("Elm")).await;
    assert_eq!(refused.status(), 503);
    assert_eq!(mirror.catch_up(&store).await, [""; 0], "what has no place is not shown yet");
    assert_eq!(as_of().await, shown);
    for (trigger, table) in [("no_place", "shop_changes"), ("no_room", "shop_manufacturers")] {
        store.drop_trigger(trigger, table).await;
    }
    assert_eq!(mirror.catch_up(&store).await, ["manufacturers/2"]);
    store.app.shop.store.close().await;
}

/// Moves everything in the feed back in time.
async fn age(store: &Bare, days: i64) {
    let micros = days * 24 * 60 * 60 * 1_000_000;
    store.run(format!("UPDATE shop_changes SET seq = seq - {micros}")).await;
    store
        .run(format!(
            "UPDATE shop_feed SET began = began - {micros}, seq = seq - {micros}, \
             floor = floor - {micros}, swept = swept - {micros}"
        ))
        .await;
}

#[tokio::test]
async fn old_deletions_are_forgotten_and_cursors_before_them_refused() {
    let store = open().await;
    for number in 0..3 {
        let name = format!("m{number}");
        write(&store, Method::Post, "/manufacturers", json!({"manufacturer_name": name})).await;
    }
    write(&store, Method::Delete, "/manufacturers/1", Value::Null).await;
    write(&store, Method::Delete, "/manufacturers/2", Value::Null).await;
    Mirror::of("manufacturers").catch_up(&store).await;
    age(&store, 91).await;
    let mut recent = Mirror::of("manufacturers");
    assert_eq!(recent.catch_up(&store).await, ["manufacturers/3"]);
    write(&store, Method::Delete, "/manufacturers/3", Value::Null).await;
    Mirror::of("manufacturers").catch_up(&store).await;

    store.app.job("sweep_changes").await.unwrap();
    let deletions = "SELECT count(*) FROM shop_changes WHERE deleted = 1";
    let deletions = Statement { text: deletions.to_owned(), binds: Vec::new() };
    let mut reading = store.app.shop.store.begin_read().await.unwrap();
    assert_eq!(reading.number(deletions).await.unwrap(), 1, "only the last is of today");
    reading.commit().await.unwrap();
    // A client that has seen the old ones goes on.
    let before = recent.next.clone().unwrap();
    assert_eq!(recent.catch_up(&store).await, ["-manufacturers/3"]);

    // If that one is forgotten, too, the client would miss it.
    store.run("UPDATE shop_feed SET floor = seq").await;
    let answer = store.ask(Method::Get, &below(&before), Value::Null).await;
    assert_eq!(answer.status(), 410, "{}", text(&answer));
    store.app.shop.store.close().await;
}

#[tokio::test]
async fn a_list_shows_what_has_changed_since_a_moment() {
    let store = open().await;
    for name in ["Birch", "Oak", "Pine"] {
        write(&store, Method::Post, "/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let list = async |query: &str| {
        let answer = store.ask(Method::Get, &format!("/manufacturers?{query}"), Value::Null).await;
        assert_eq!(answer.status(), 200, "{query}: {}", text(&answer));
        let page = document(&answer);
        let ids = page["data"].as_array().unwrap().iter();
        let ids = ids.map(|of| of["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ");
        (ids, page["meta"].clone())
    };
    let (all, meta) = list("filter[modified_since]=2020-01-01").await;
    assert_eq!(all, "1 2 3");
    assert_eq!(meta["total"], 3);
    // The three were made yesterday.
    age(&store, 1).await;
    write(&store, Method::Patch, "/manufacturers/3", json!({"ordering": 4})).await;
    write(&store, Method::Patch, "/manufacturers/1", json!({"ordering": 5})).await;
    assert!(meta["as_of"].is_string());
    let hour_ago = UtcDateTime::now() - time::Duration::HOUR;
    let since = hour_ago.format(format_description!("[year]-[month]-[day]T[hour]:[minute]:00"));
    let since = format!("filter[modified_since]={}", since.unwrap());
    let (changed, meta) = list(&since).await;
    assert_eq!(changed, "3 1", "in the order of the changes");
    assert_eq!(meta["total"], 2);
    // What is sent next time brings nothing that was not changed at that moment or later.
    let next = format!("filter[modified_since]={}", meta["as_of"].as_str().unwrap());
    assert!(["3 1", "1", ""].contains(&&*list(&next).await.0));
    write(&store, Method::Delete, "/manufacturers/2", Value::Null).await;
    assert_eq!(list(&since).await.0, "3 1", "a deleted record is in no list");
    assert_eq!(
        list(&format!("{since}&list[ordering]=ordering&list[direction]=desc")).await.0,
        "1 3"
    );
    assert_eq!(list(&format!("{since}&sort=manufacturer_name")).await.0, "1 3");
    assert_eq!(list(&format!("{since}&filter[search]=pin")).await.0, "3");
    let (all, meta) = list("page[limit]=1").await;
    assert_eq!((&*all, meta.get("as_of")), ("1", None));
    let other = store.ask(Method::Get, "/manufacturers?filter[modified_since]=today", Value::Null);
    assert_eq!(other.await.status(), 422);

    // Every list of records has it, with each of its orders.
    for resource in REGISTRY.followed().filter(|resource| resource.crud) {
        for order in [String::new(), format!("&sort=-{}", resource.list[0].name)] {
            let path = format!("/{}?{since}{order}", resource.kind);
            let answer = store.ask(Method::Get, &path, Value::Null).await;
            assert_eq!(answer.status(), 200, "{path}: {}", text(&answer));
            assert!(document(&answer)["meta"]["as_of"].is_string());
        }
    }
    store.app.shop.store.close().await;
}

/// The types in an answer.
fn kinds(page: &Value) -> BTreeSet<String> {
    let records = page["data"].as_array().unwrap().iter();
    records.map(|record| record["type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_shows_each_user_the_types_that_they_may_view() {
    let shop = Shop::filled().await;
    let rule = async |kind: &str, setting| {
        let asset = format!("com_shop.{kind}");
        shop.site.set_rule("Manager", "store.view", &asset, setting, Force::No).await.unwrap();
    };
    let ask = async |path: &str| shop.get(path).by(Role::Manager).send().await;
    let all = ask("/changes?page[size]=1000").await.expect(200).json();
    let mut seen = kinds(&all);
    let mut next = all["links"]["next"].as_str().unwrap().to_owned();
    while seen.len() < 22 {
        let page = ask(next.trim_start_matches(ROOT)).await.expect(200).json();
        assert!(!page["data"].as_array().unwrap().is_empty(), "{seen:?}");
        seen.extend(kinds(&page));
        next = page["links"]["next"].as_str().unwrap().to_owned();
    }
    let next = next.trim_start_matches(ROOT);

    // Types that a user may no longer view are left out, and refused where they are named.
    rule("zones", Setting::Deny).await;
    let narrowed = ask(next).await.expect(200).json();
    let narrowed = narrowed["links"]["next"].as_str().unwrap().trim_start_matches(ROOT).to_owned();
    let first = ask("/changes?page[size]=1000&filter[types]=countries").await.expect(200).json();
    assert_eq!(kinds(&first), BTreeSet::from(["countries".to_owned()]));
    let named = ask("/changes?filter[types]=countries,zones").await.expect(403);
    assert!(named.json()["errors"][0]["detail"].as_str().unwrap().contains("com_shop.zones"));
    // A missing permission precedes a fault of the query.
    ask("/changes?filter[types]=zones&page[size]=x").await.expect(403);
    // The items of orders are governed by their own asset.
    rule("orderitems", Setting::Deny).await;
    ask("/changes?filter[types]=orders").await.expect(200);
    ask("/changes?filter[types]=orderitems").await.expect(403);

    // A user who may view more than before lacks its records so far.
    rule("zones", Setting::Inherit).await;
    let widened = ask(&narrowed).await.expect(410);
    assert_eq!(widened.json()["links"]["first"], format!("{ROOT}/changes?page%5Bsize%5D=1000"));
    for resource in REGISTRY.followed() {
        rule(resource.asset(), Setting::Deny).await;
    }
    ask("/changes").await.expect(403);
    shop.get("/changes").by(Role::SuperUser).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_waits_for_a_change_of_its_types() {
    let shop = Shop::stocked().await;
    let ask = |path: &str| shop.get(path.trim_start_matches(ROOT));
    let mut next = format!("{ROOT}/changes?filter[types]=manufacturers,orders&page[size]=1000");
    loop {
        // There is something to answer, so nothing is waited for.
        let page = ask(&next).header("prefer", "wait=60").send().await.expect(200).json();
        if page["data"].as_array().unwrap().is_empty() {
            break;
        }
        next = page["links"]["next"].as_str().unwrap().to_owned();
        if ask(&next).send().await.expect(200).json()["data"] == json!([]) {
            break;
        }
    }
    let waiting = ask(&next).header("prefer", "wait=60").send();
    let changing = async {
        // A change of another type, and one that is refused, wake nobody.
        shop.patch("/products/1", json!({"price": "3.33"})).send().await.expect(200);
        shop.patch("/manufacturers/1", json!({"ordering": "x"})).send().await.expect(422);
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        shop.patch("/manufacturers/1", json!({"ordering": 77})).send().await.expect(200);
    };
    let (answer, ()) = tokio::join!(waiting, changing);
    let answer = answer.expect(200);
    assert_eq!(answer.header("preference-applied"), "wait=60");
    let page = answer.json();
    assert_eq!(page["data"][0]["attributes"]["ordering"], 77);
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
    // Without a change, the answer comes at the end of the time, empty and with a place to go on.
    let next = page["links"]["next"].as_str().unwrap();
    let answer = ask(next).header("prefer", "wait=1").send().await.expect(200).json();
    assert_eq!(answer["data"], json!([]));
    assert!(answer["links"]["next"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_wait_token_and_permission_are_checked_again() {
    let shop = Shop::stocked().await;
    for (loses, status) in [("permission", 403), ("token", 401)] {
        let types = if loses == "permission" { "coupons,zones" } else { "zones" };
        let mut next = format!("/changes?filter[types]={types}&page[size]=1000");
        loop {
            let page = shop.get(&next).by(Role::Manager).send().await.expect(200).json();
            let link = page["links"]["next"].as_str().unwrap();
            next = link.trim_start_matches(ROOT).to_owned();
            if page["data"] == json!([]) {
                break;
            }
        }
        let waiting = shop.get(&next).by(Role::Manager).header("prefer", "wait=60").send();
        let losing = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            if loses == "permission" {
                let (asset, deny) = ("com_shop.coupons", Setting::Deny);
                shop.site.set_rule("Manager", "store.view", asset, deny, Force::No).await.unwrap();
            } else {
                shop.site.revoke_token("manager", "default").await.unwrap();
            }
            let change = json!({"zone_name": format!("After the {loses}")});
            shop.patch("/zones/1", change).send().await.expect(200);
        };
        let (answer, ()) = tokio::join!(waiting, losing);
        answer.expect(status);
    }
}

#[cfg_attr(engine = "sqlite", ignore = "this engine has one writer, which waits for nobody else")]
#[tokio::test(flavor = "multi_thread")]
async fn neither_a_writer_nor_a_reader_without_news_waits_for_the_lock_of_the_feed() {
    let store = open().await;
    let oak = json!({"manufacturer_name": "Oak"});
    write(&store, Method::Post, "/manufacturers", oak).await;
    let mut mirror = Mirror::of("manufacturers");
    mirror.catch_up(&store).await;
    // Somebody gives changes their places, or forgets old ones, and takes long.
    let mut placing = store.app.shop.store.begin().await.unwrap();
    placing.lock_feed().await.unwrap();
    assert_eq!(mirror.catch_up(&store).await, [""; 0], "an empty queue takes no lock");
    write(&store, Method::Patch, "/manufacturers/1", json!({"ordering": 7})).await;
    let path = below(mirror.next.as_ref().unwrap());
    let reading = store.ask(Method::Get, &path, Value::Null);
    let mut reading = std::pin::pin!(reading);
    let early = tokio::time::timeout(Duration::from_millis(300), reading.as_mut()).await;
    assert!(early.is_err(), "what is queued has no place yet");
    placing.commit().await.unwrap();
    assert_eq!(mirror.take(&document(&reading.await)), ["manufacturers/1"]);
    store.app.shop.store.close().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn operators_see_how_far_behind_the_feed_is() {
    let store = open().await;
    let seen = async || {
        let panel = store.app.panel("feed").await.unwrap();
        let shown = panel.table.unwrap().rows[0].clone();
        let metrics = store.app.shop.metrics().await.unwrap();
        let metric = metrics.iter().find(|metric| metric.name == "changes_queued").unwrap();
        assert!(metrics.iter().any(|metric| metric.name == "changes_behind_seconds"));
        (shown, metric.samples[0].value)
    };
    Mirror::of("manufacturers").catch_up(&store).await;
    let row =
        |count: &str| vec!["Changes that are not yet in the feed".to_owned(), count.to_owned()];
    assert_eq!(seen().await, (row("0"), 0.0));
    for name in ["Oak", "Elm"] {
        write(&store, Method::Post, "/manufacturers", json!({"manufacturer_name": name})).await;
    }
    assert_eq!(seen().await, (row("2"), 2.0));
    Mirror::of("manufacturers").catch_up(&store).await;
    assert_eq!(seen().await, (row("0"), 0.0));
    store.app.shop.store.close().await;
}
