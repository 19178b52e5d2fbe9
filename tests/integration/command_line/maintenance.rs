//! `check` and `recount`: an operator finds differences between kept numbers and the records, and
//! repairs them while others write.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::join_all;
use plugin::model::kept::{self, Aggregate, ColumnType};
use plugin::model::value::{Kind, Value};
use plugin::sql::Statement;
use plugin::store::Store;
use serde_json::{Map, Value as Json, json};

use crate::support::databases::Engine;
use crate::support::harness::Answer;
use crate::support::process::{Finished, Place, Served};

/// The number of clients that write during the repair.
const WRITERS: i64 = 4;
/// How often each of them writes at least.
const TURNS: usize = 12;

fn plain(text: impl Into<String>) -> Statement {
    Statement { text: text.into(), binds: Vec::new() }
}

/// A line of `check`: table, key, column, the kept and the counted number.
type Line = (String, Json, String, i64, i64);

fn lines(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        let [table, key, column, kept, counted] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let key = serde_json::from_str(key).unwrap();
        let [kept, counted] = [kept, counted].map(|number: &str| number.parse().unwrap());
        (table.to_owned(), key, column.to_owned(), kept, counted)
    };
    text.lines().map(line).collect()
}

fn sorted(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_by_key(|line| format!("{line:?}"));
    lines
}

/// Makes a table wrong in three ways, with a wrong, a missing and a surplus row, and returns the
/// expected lines.
async fn spoil(store: &Store, kept: &Aggregate) -> Vec<Line> {
    let identity = store.dialect().kept.identity(kept);
    let kinds = kept.by.iter().map(|group| match group.room {
        ColumnType::Text(_) => Kind::WORD,
        ColumnType::Small | ColumnType::Whole => Kind::COUNT,
    });
    let numbers = identity.len() - kept.by.len() + kept.sums.len();
    let kinds: Vec<Kind> = kinds.chain(std::iter::repeat_n(Kind::COUNT, numbers)).collect();
    let sums: Vec<&str> = kept.sums.iter().map(|sum| sum.column).collect();
    let columns = identity.iter().chain(&sums).copied().collect::<Vec<_>>().join(", ");
    let mut reading = store.begin_read().await.unwrap();
    let question =
        format!("SELECT {columns} FROM {} ORDER BY {} LIMIT 2", kept.table, identity.join(", "));
    let rows: Vec<Vec<Value>> =
        reading.stream(plain(question), &kinds).unwrap().try_collect().await.unwrap();
    reading.commit().await.unwrap();

    let literal = |value: &Value| match value {
        Value::Int(number) => number.to_string(),
        text => format!("'{text}'"),
    };
    let json = |value: &Value| match value {
        Value::Int(number) => json!(number),
        text => json!(text.to_string()),
    };
    let line = |row: &[Value], sum: usize, now: i64, truth: i64| {
        let key: Map<String, Json> = identity
            .iter()
            .zip(row)
            .map(|(name, value)| ((*name).to_owned(), json(value)))
            .collect();
        (kept.table.to_owned(), Json::Object(key), sums[sum].to_owned(), now, truth)
    };
    let same = |row: &[Value]| {
        let same =
            identity.iter().zip(row).map(|(name, value)| format!("{name} = {}", literal(value)));
        same.collect::<Vec<_>>().join(" AND ")
    };
    let mut expected = Vec::new();
    let mut done = Vec::new();
    let [first, rest @ ..] = &rows[..] else { panic!("{} has no row", kept.table) };
    for (place, sum) in sums.iter().enumerate() {
        let (more, truth) = (place as i64 + 3, first[identity.len() + place].int(sum).unwrap());
        done.push(format!(
            "UPDATE {} SET {sum} = {sum} + {more} WHERE {}",
            kept.table,
            same(first)
        ));
        expected.push(line(first, place, truth + more, truth));
    }
    if let [second, ..] = rest {
        done.push(format!("DELETE FROM {} WHERE {}", kept.table, same(second)));
        for (place, sum) in sums.iter().enumerate() {
            let truth = second[identity.len() + place].int(sum).unwrap();
            expected.extend((truth != 0).then(|| line(second, place, 0, truth)));
        }
    }
    let mut surplus = first.clone();
    surplus[0] = match kept.by[0].room {
        ColumnType::Text(_) => Value::Text("zz \"ß\"".to_owned()),
        ColumnType::Small | ColumnType::Whole => Value::Int(31_999),
    };
    surplus.splice(identity.len().., sums.iter().map(|_| Value::Int(9)));
    let values = surplus.iter().map(literal).collect::<Vec<_>>().join(", ");
    done.push(format!("INSERT INTO {} ({columns}) VALUES ({values})", kept.table));
    expected.extend((0..sums.len()).map(|place| line(&surplus, place, 9, 0)));
    store.write(done.into_iter().map(plain)).await.unwrap();
    expected
}

/// Writes of all kinds, including those that affect the wrong rows, until it is stopped.
async fn write(host: &Served, token: &str, number: i64, stop: &AtomicBool) {
    let ask = async |method: &str, path: String, body: Json| {
        let path = format!("/api/index.php/v1/shop{path}");
        let answer = Answer::to(host.ask(method, &path, token).json(&body)).await;
        assert!(answer.status < 300, "{method} {path}: {}", String::from_utf8_lossy(&answer.body));
        match answer.status {
            204 => 0,
            _ => answer.json()["data"]["id"].as_str().unwrap().parse::<i64>().unwrap(),
        }
    };
    let mut turn = 0;
    while turn < TURNS || !stop.load(Ordering::Relaxed) {
        turn += 1;
        let status = 1 + (number + turn as i64) % 8;
        let quantity = turn as i64 % 7;
        let product = json!({"product_name": "x", "quantity": quantity, "price": "19.99"});
        let product = ask("POST", "/products".to_owned(), product).await;
        let order = json!({
            "user_email": "a@b.example", "order_state_id": status, "order_shipping": "4.90",
            "items": [{"orderitem_name": "x", "orderitem_sku": "s", "orderitem_price": "1.10"}],
        });
        let order = ask("POST", "/orders".to_owned(), order).await;
        let person = json!({"first_name": "a", "last_name": "b", "email": "a@b.example"});
        let person = ask("POST", "/customers".to_owned(), person).await;
        let change = json!({"price": turn, "enabled": turn % 2, "product_type": "variable"});
        ask("PATCH", format!("/products/{product}"), change).await;
        let change = json!({"order_state_id": 1 + status % 8});
        ask("PATCH", format!("/orders/{order}"), change).await;
        if turn % 2 == 0 {
            ask("DELETE", format!("/products/{product}"), json!({})).await;
            ask("DELETE", format!("/orders/{order}"), json!({})).await;
            ask("DELETE", format!("/customers/{person}"), json!({})).await;
        }
    }
}

async fn spoil_all(store: &Store) -> Vec<Line> {
    let mut expected = Vec::new();
    for kept in kept::ALL {
        expected.extend(spoil(store, kept).await);
    }
    expected
}

#[tokio::test(flavor = "multi_thread")]
async fn differences_are_found_and_repaired_while_others_write() {
    let place = Place::of_the_store();
    place.run("demo --products 300 --orders 400").await;
    let token = place.user("root", "Super Users").await;
    let host = place.serve().await;
    assert_eq!(place.run("check").await, "", "a correct store has no differences");

    let store = place.store();
    let expected = spoil_all(&store).await;
    let expected = sorted(expected);
    let checked = place.call("check").finish().await;
    checked.exits(1);
    assert_eq!(sorted(lines(&checked.out())), expected);
    let advice = "the stored numbers above do not match the records";
    assert!(checked.err().contains(advice), "{}", checked.err());
    let again = place.call("check").finish().await;
    assert_eq!(again.out(), checked.out(), "checking repairs nothing");

    let stop = AtomicBool::new(false);
    let mended = async {
        // Some writes have been done, and others are in progress.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mended = place.run("recount").await;
        stop.store(true, Ordering::Relaxed);
        mended
    };
    let writers = (0..WRITERS).map(|number| write(&host, &token, number, &stop));
    let (mended, _) = tokio::join!(mended, join_all(writers));
    assert!(lines(&mended).len() >= expected.len(), "{mended}");
    assert_eq!(place.run("check").await, "", "everything is correct");
    assert_eq!(place.run("recount").await, "", "nothing remains to repair");

    let entries = "SELECT what FROM host_audit WHERE route = 'recount' ORDER BY id";
    let entries = place.database.texts_at(&place.site_url(), entries).await;
    assert_eq!(entries.len(), 2, "{entries:?}");
    store.close().await;
    host.stop().await;
}

async fn number(store: &Store, query: String) -> i64 {
    let mut reading = store.begin_read().await.unwrap();
    let number = reading.number(plain(query)).await.unwrap();
    reading.commit().await.unwrap();
    number
}

async fn texts(store: &Store, query: &str) -> Vec<String> {
    let mut reading = store.begin_read().await.unwrap();
    let texts = reading.texts(plain(query)).await.unwrap();
    reading.commit().await.unwrap();
    texts
}

/// Makes what items count as shipped wrong: one that can be corrected, and one of which shipments contain more
/// than was ordered.
async fn spoil_shipped(store: &Store) -> [Line; 2] {
    let mut lines = Vec::new();
    for (item, change) in
        [("min", "shipped = shipped - 1"), ("max", "shipped = 0, orderitem_quantity = 1")]
    {
        let item =
            format!("SELECT {item}(shop_orderitem_id) FROM shop_orderitems WHERE shipped > 1");
        let item = number(store, item).await;
        let of = |column: &str| {
            format!("SELECT {column} FROM shop_orderitems WHERE shop_orderitem_id = {item}")
        };
        let order = number(store, of("order_key")).await;
        let counted = number(store, of("shipped")).await;
        let change =
            format!("UPDATE shop_orderitems SET {change} WHERE shop_orderitem_id = {item}");
        let state = format!(
            "UPDATE shop_orders SET fulfilment_state = 'unfulfilled' WHERE shop_order_id = {order}"
        );
        store.write([change, state].map(plain)).await.unwrap();
        let stored = number(store, of("shipped")).await;
        let key = json!({"order_key": order, "shop_orderitem_id": item});
        lines.push(("shop_orderitems".to_owned(), key, "shipped".to_owned(), stored, counted));
    }
    lines.try_into().unwrap()
}

/// Takes the lines of an order from which it shows what can be refunded. Returns that this is found, and that those of
/// another order do not have the quantity of its item.
async fn spoil_lines(store: &Store, other: &Json) -> [Line; 2] {
    let order = 3;
    let change = "UPDATE shop_orders SET refundable_lines = '[]' WHERE shop_order_id = ";
    store.write([plain(format!("{change}{order}"))]).await.unwrap();
    [&json!(order), other].map(|order| {
        let key = json!({"shop_order_id": order});
        ("shop_orders".to_owned(), key, "refundable_lines".to_owned(), 0, 1)
    })
}

/// Changes a quantity without an entry in the ledger, and adds an entry that does not begin where the one
/// before it has ended.
async fn spoil_ledger(store: &Store) -> Vec<Line> {
    let quantity = async |product: i64| {
        let query = format!("SELECT quantity FROM shop_products WHERE shop_product_id = {product}");
        number(store, query).await
    };
    let [first, second] = [quantity(1).await, quantity(2).await];
    let entry = format!(
        "INSERT INTO shop_inventory_ledger (product_id, sku, quantity_delta, quantity_before, \
         quantity_after, reason, created_on) VALUES (2, '', 1, {}, {}, 'x', '2026-01-01T00:00:00')",
        second + 5,
        second + 6
    );
    let change = "UPDATE shop_products SET quantity = quantity + 3 WHERE shop_product_id = 1";
    store.write([plain(change), plain(entry)]).await.unwrap();
    let last = number(store, "SELECT max(entry_id) FROM shop_inventory_ledger".to_owned()).await;
    let of_product = |product: i64, stored, counted| {
        let key = json!({"shop_product_id": product});
        ("shop_products".to_owned(), key, "quantity".to_owned(), stored, counted)
    };
    let key = json!({"entry_id": last});
    let gap =
        ("shop_inventory_ledger".to_owned(), key, "quantity_before".to_owned(), second + 5, second);
    vec![of_product(1, first + 3, first), of_product(2, second, second + 1), gap]
}

/// Makes the sums over the variants of two products wrong, and the range of prices of two, and changes the quantity of
/// a variant of another one without an entry in the ledger. Returns the lines that can be corrected, and the others.
async fn spoil_variants(store: &Store) -> (Vec<Line>, Vec<Line>) {
    let quantity = async |product: i64| {
        let query = format!("SELECT quantity FROM shop_products WHERE shop_product_id = {product}");
        number(store, query).await
    };
    let sum = quantity(7).await;
    let of_third = "FROM shop_variants WHERE product_id = 27 AND is_master = 0";
    let variant = number(store, format!("SELECT min(shop_variant_id) {of_third}")).await;
    let held = format!("SELECT quantity {of_third} AND shop_variant_id = {variant}");
    let held = number(store, held).await;
    let price = async |product: i64| {
        let price = (store.dialect().kept.units)("price");
        let query = format!("SELECT {price} FROM shop_products WHERE shop_product_id = {product}");
        number(store, query).await
    };
    let [least, greatest] = [price(37).await, price(47).await];
    let changes = [
        "UPDATE shop_products SET quantity = quantity + 3 WHERE shop_product_id = 7".to_owned(),
        "UPDATE shop_products SET variant_count = 4 WHERE shop_product_id = 17".to_owned(),
        "UPDATE shop_products SET price_from = NULL WHERE shop_product_id = 37".to_owned(),
        "UPDATE shop_products SET price_to = price_to + price_to WHERE shop_product_id = 47"
            .to_owned(),
        format!(
            "UPDATE shop_variants SET quantity = quantity + 2 WHERE shop_variant_id = {variant}"
        ),
    ];
    store.write(changes.map(plain)).await.unwrap();
    let of_product = |product: i64, column: &str, stored, counted| {
        let key = json!({"shop_product_id": product});
        ("shop_products".to_owned(), key, column.to_owned(), stored, counted)
    };
    let key = json!({"shop_variant_id": variant});
    let of_variant = ("shop_variants".to_owned(), key, "quantity".to_owned(), held + 2, held);
    let repairable = vec![
        of_product(7, "quantity", sum + 3, sum),
        of_product(17, "variant_count", 4, 6),
        of_product(37, "price_from", -1, least),
        of_product(47, "price_to", 2 * greatest, greatest),
    ];
    (repairable, vec![of_variant])
}

/// Makes the indexes of texts wrong, where they are tables: with a part that no text has, and one that is
/// missing.
async fn spoil_indexes(store: &Store, engine: Engine) -> Vec<Line> {
    let line = |table: &str, key: Json, column: &str, stored, counted| {
        (table.to_owned(), key, column.to_owned(), stored, counted)
    };
    match engine {
        Engine::Sqlite => {
            const TRIGRAMS: &str = "SELECT sum(max(length({}) - 2, 0)) FROM ";
            let trigrams =
                async |text: &str, of: &str| number(store, TRIGRAMS.replace("{}", text) + of).await;
            let index = "shop_products_search";
            let names = trigrams("product_name_fold", "shop_products").await;
            let mut lines: Vec<Line> = [0, 1]
                .map(|at| json!({"record": 99_999, "text": "product_name_fold", "place": at}))
                .map(|key| line(index, key, "trigram", 1, 0))
                .to_vec();
            let key = json!({"text": "product_name_fold"});
            lines.push(line(index, key, "trigrams", names + 2, names));
            let columns = ["order_id_fold", "billing_name", "user_email_fold"];
            for text in columns {
                let all = trigrams(text, "shop_orders").await;
                let missing = trigrams(text, "shop_orders WHERE shop_order_id = 1").await;
                let key = json!({"text": text});
                lines.push(line("shop_orders_search", key, "trigrams", all - missing, all));
            }
            let columns = columns.join(", ");
            let remove = format!(
                "INSERT INTO shop_orders_search (shop_orders_search, rowid, {columns}) \
                 SELECT 'delete', shop_order_id, {columns} FROM shop_orders WHERE shop_order_id = 1"
            );
            let add = format!(
                "INSERT INTO {index} (rowid, product_name_fold, sku_fold) VALUES (99999, 'zzzz', '')"
            );
            store.write([add, remove].map(plain)).await.unwrap();
            lines
        }
        // It maintains its indexes itself.
        Engine::Postgres => Vec::new(),
        Engine::MariaDb => {
            let [names, skus] = ["shop_product_name_pieces", "shop_product_sku_pieces"];
            let piece = async |table: &str, record: i64, place: i64| {
                let of = format!("FROM {table} WHERE record = {record} AND place = {place}");
                texts(store, &format!("SELECT piece {of}")).await.remove(0)
            };
            let (name, sku) = (piece(names, 1, 4).await, piece(skus, 2, 4).await);
            let changes = [
                format!("DELETE FROM {names} WHERE record = 1 AND place = 4"),
                format!("INSERT INTO {names} VALUES ('zzz', 1, 4, ''), ('zzz', 99999, 1, '')"),
                format!("UPDATE {skus} SET ahead = 'zz' WHERE record = 2 AND place = 4"),
            ];
            store.write(changes.map(plain)).await.unwrap();
            let key = |piece: &str, record: i64, place: i64| json!({"piece": piece, "record": record, "place": place});
            vec![
                line(names, key(&name, 1, 4), "piece", 0, 1),
                line(names, key("zzz", 1, 4), "piece", 1, 0),
                line(names, key("zzz", 99_999, 1), "piece", 1, 0),
                line(skus, key(&sku, 2, 4), "piece", 1, 0),
                line(skus, key(&sku, 2, 4), "piece", 0, 1),
            ]
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_twice_is_compared_and_repaired_where_one_follows_from_the_other() {
    let place = Place::of_the_store();
    place.run("demo --products 60 --orders 120").await;
    let store = place.store();
    const STATES: &str = "SELECT fulfilment_state FROM shop_orders ORDER BY shop_order_id";
    let states = texts(&store, STATES).await;

    let [repairable, other] = spoil_shipped(&store).await;
    let of_lines = spoil_lines(&store, &other.1["order_key"]).await;
    let (of_variants, others) = spoil_variants(&store).await;
    let others: Vec<Line> =
        spoil_ledger(&store).await.into_iter().chain([other]).chain(others).collect();
    let mut expected = spoil_indexes(&store, place.database.engine).await;
    expected.extend(others.iter().cloned().chain([repairable]).chain(of_variants).chain(of_lines));
    let checked = place.call("check").finish().await;
    checked.exits(1);
    assert_eq!(sorted(lines(&checked.out())), sorted(expected.clone()));

    let repaired = place.call("recount").finish().await;
    repaired.exits(1);
    assert_eq!(sorted(lines(&repaired.out())), sorted(expected));
    let message = repaired.err();
    for (table, key, column, stored, counted) in &others {
        let line = format!("{table} {key} {column} {stored} {counted}");
        assert!(message.contains(&line), "{message}");
    }
    let checked = place.call("check").finish().await;
    assert_eq!(sorted(lines(&checked.out())), sorted(others));
    // Of one order, shipments contain more than was ordered, so what is shipped of it stays as it is.
    let repaired = texts(&store, STATES).await;
    let differ = states.iter().zip(&repaired).filter(|(before, now)| before != now).count();
    assert!(differ <= 1, "{states:?} {repaired:?}");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_refunds_add_up_to_is_compared_and_repaired() {
    let place = Place::of_the_store();
    place.run("demo --products 60 --orders 200").await;
    let store = place.store();
    let units = store.dialect().kept.units;
    let line = |table: &str, key: Json, column: &str, stored: i64, counted: i64| {
        (table.to_owned(), key, column.to_owned(), stored, counted)
    };

    // An item of which everything was given back.
    let item = "SELECT min(shop_orderitem_id) FROM shop_orderitems WHERE refunded_amount > 0";
    let item = number(&store, item.to_owned()).await;
    let of_item = async |column: &str| {
        let of = format!("FROM shop_orderitems WHERE shop_orderitem_id = {item}");
        number(&store, format!("SELECT {column} {of}")).await
    };
    let order = of_item("order_key").await;
    let key = json!({"order_key": order, "shop_orderitem_id": item});
    let mut expected =
        vec![line("shop_orders", json!({"shop_order_id": order}), "refundable_lines", 0, 1)];
    let pieces = of_item("refunded_quantity").await;
    expected.push(line("shop_orderitems", key.clone(), "refunded_quantity", 0, pieces));
    for column in ["refunded_amount", "refunded_tax", "refunded_share"] {
        let counted = of_item(&units(column)).await;
        expected.push(line("shop_orderitems", key.clone(), column, 0, counted));
    }
    // Another order than that of the item.
    let other = "SELECT max(shop_order_id) FROM shop_orders WHERE refunded > 0";
    let other = number(&store, other.to_owned()).await;
    let of_other = |column: &str| {
        format!("SELECT {} FROM shop_orders WHERE shop_order_id = {other}", units(column))
    };
    let (refunded, key) =
        (number(&store, of_other("refunded")).await, json!({"shop_order_id": other}));
    expected.extend([
        line("shop_orders", key.clone(), "refunded", refunded + 100_000, refunded),
        line("shop_orders", key.clone(), "refunded_shipping", 200_000, 0),
        line("shop_orders", key.clone(), "refunded_shipping_tax", 300_000, 0),
    ]);
    let less = number(&store, of_other("order_refund")).await - 100_000;
    // It has less than its refunds have, whether they are added up correctly or not.
    let lost = |counted| line("shop_orders", key.clone(), "order_refund", less, counted);
    let changes = [
        format!(
            "UPDATE shop_orderitems SET refunded_quantity = 0, refunded_amount = 0, \
             refunded_tax = 0, refunded_share = 0 WHERE shop_orderitem_id = {item}"
        ),
        format!(
            "UPDATE shop_orders SET refunded = refunded + {one}, refunded_shipping = {one} + {one}, \
             refunded_shipping_tax = {one} + {one} + {one}, order_refund = order_refund - {one} \
             WHERE shop_order_id = {other}",
            one = if place.database.engine == Engine::Sqlite { "100000" } else { "1" }
        ),
    ];
    let version = format!("SELECT version FROM shop_orders WHERE shop_order_id = {order}");
    let before = number(&store, version.clone()).await;
    store.write(changes.map(plain)).await.unwrap();

    let checked = place.call("check").finish().await;
    checked.exits(1);
    let found = expected.iter().cloned().chain([lost(refunded + 100_000)]).collect();
    assert_eq!(sorted(lines(&checked.out())), sorted(found));
    place.call("recount").finish().await.exits(1);
    let checked = place.call("check").finish().await;
    assert_eq!(lines(&checked.out()), [lost(refunded)]);
    assert!(number(&store, version).await > before, "its clients see the change");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_thousand_differences_are_listed_and_all_are_repaired() {
    let place = Place::of_the_store();
    place.run("demo --products 10 --orders 10").await;
    let store = place.store();
    let kept = kept::ALL.into_iter().find(|kept| {
        kept.by.iter().all(|group| !matches!(group.room, ColumnType::Text(_)))
            && kept.sums.len() == 1
    });
    let kept = kept.unwrap();
    let zeros = ", 0".repeat(store.dialect().kept.identity(kept).len() - 1);
    let surplus = (10_001..11_101)
        .map(|of| plain(format!("INSERT INTO {} VALUES ({of}{zeros}, 9)", kept.table)));
    store.write(surplus.collect::<Vec<_>>()).await.unwrap();

    let checked = place.call("check").finish().await;
    checked.exits(1);
    let listed = lines(&checked.out());
    assert_eq!(listed.len(), 1_001);
    assert!(listed[..1_000].iter().all(|line| (line.3, line.4) == (9, 0)));
    let of_all = ("...".to_owned(), json!({}), "listed".to_owned(), 1_000, 1_100);
    assert_eq!(listed[1_000], of_all);
    assert_eq!(place.run("recount").await, checked.out());
    assert_eq!(place.run("check").await, "");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_concurrent_recounts_repair_nothing_twice() {
    let place = Place::of_the_store();
    place.run("demo --products 100 --orders 200").await;
    let store = place.store();
    for _ in 0..3 {
        spoil_all(&store).await;
        let recounts = [(), ()].map(|()| place.call("recount").finish());
        let ended = join_all(recounts).await;
        let is_stopped = |ended: &&Finished| ended.err().contains("another recount has begun");
        let (stopped, done): (Vec<_>, Vec<_>) = ended.iter().partition(is_stopped);
        assert!(!done.is_empty(), "the later run continues");
        for ended in done {
            ended.exits(0);
        }
        for ended in stopped {
            ended.exits(1);
        }
        assert_eq!(place.run("check").await, "");
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restored_backup_the_feed_of_changes_is_another() {
    let place = Place::of_the_store();
    place.run("user list").await;
    let store = place.store();
    let feed = "SELECT feed FROM shop_feed WHERE one = 1";
    let name = async || {
        let mut reading = store.begin_read().await.unwrap();
        let asked = Statement { text: feed.to_owned(), binds: Vec::new() };
        let names = reading.texts(asked).await.unwrap();
        reading.commit().await.unwrap();
        names
    };
    let before = name().await;
    assert_eq!(before.len(), 1);
    assert_eq!(place.run("restored").await, "");
    assert_ne!(name().await, before);
    store.close().await;
}
