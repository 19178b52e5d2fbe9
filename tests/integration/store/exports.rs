//! Exports: all records of a type as one stream of one moment, in the order and with the fields that the client
//! names, and what a client does with it afterwards.

use std::time::Duration;

use futures_util::StreamExt;
use host_interface::Method;
use plugin::model::resource::Resource;
use plugin::resources::REGISTRY;
use serde_json::{Map, Value, json};

use crate::support::bare::Bare;
use crate::support::harness::{Answer, Role, Shop};
use crate::support::mirror::Mirror;

/// Asks for an export as CSV, and reads it.
async fn csv(shop: &Shop, path: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let answer = shop.get(path).header("accept", "text/csv").send().await.expect(200);
    assert_eq!(answer.header("content-type"), "text/csv; charset=utf-8");
    let attachment = answer.header("content-disposition");
    assert!(attachment.starts_with("attachment; filename=\"") && attachment.ends_with(".csv\""));
    assert!(!answer.header("export-cursor").is_empty());
    let mut reader = csv::Reader::from_reader(&answer.body[..]);
    let cells = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let head = cells(reader.headers().unwrap());
    let rows = reader.records().map(|record| cells(&record.unwrap()));
    (head, rows.collect())
}

/// The records of an export as lines of JSON, after its first line.
async fn records(shop: &Shop, path: &str) -> Vec<Value> {
    let answer = shop.get(path).send().await.expect(200);
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    let mut lines = answer.lines();
    assert_eq!(lines[0]["export"]["cursor"], answer.header("export-cursor"));
    lines.remove(0);
    lines
}

/// The types that can be exported.
fn exported() -> impl Iterator<Item = &'static Resource> {
    REGISTRY.iter().filter(|resource| resource.lists_changes())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_has_every_record_with_the_attributes_of_its_document() {
    let shop = Shop::filled().await;
    shop.create("/coupons", json!({"coupon_name": "x", "coupon_code": "x", "value": "5"})).await;
    let mut types = 0;
    for resource in exported() {
        let kind = resource.kind;
        let all = records(&shop, &format!("/exports/{kind}")).await;
        let total = shop.get(&format!("/{kind}?page[limit]=1")).send().await.expect(200).total();
        assert_eq!(all.len(), usize::try_from(total).unwrap(), "{kind}");
        let keys = all.iter().map(|record| record[resource.key].as_i64().unwrap());
        let keys: Vec<i64> = keys.collect();
        let ordered = resource.order.field.is_some() || keys.is_sorted();
        assert!(ordered, "{kind} is in the order of its list");
        let Some(last) = all.last() else { continue };
        let one = shop.get(&format!("/{kind}/{}", last[resource.key])).send().await.expect(200);
        for (name, value) in one.json()["data"]["attributes"].as_object().unwrap() {
            assert_eq!(&last[name], value, "{kind} {name}");
        }
        // What a body may give beside the attributes is there, too.
        assert!(kind != "products" || last.get("category_id").is_some(), "{last}");
        let (head, rows) = csv(&shop, &format!("/exports/{kind}")).await;
        assert_eq!(rows.len(), all.len(), "{kind}");
        for (row, record) in rows.iter().zip(&all) {
            for (name, cell) in head.iter().zip(row) {
                assert_eq!(*cell, as_cell(&record[name]), "{kind} {name}");
            }
        }
        types += 1;
    }
    assert!(types > 15, "{types}");
}

/// A value as a cell of CSV.
fn as_cell(value: &Value) -> String {
    match value {
        Value::Null => "\\N".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(keys) if keys.iter().all(Value::is_i64) => {
            keys.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_order_filter_and_selection_of_a_list_is_one_of_its_export() {
    let shop = Shop::filled().await;
    for resource in exported() {
        let kind = resource.kind;
        for field in resource.list {
            let listed = format!("list[ordering]={}&list[direction]=desc", field.name);
            let page = format!("/{kind}?{listed}&page[limit]=100");
            let ids = shop.get(&page).send().await.expect(200).ids();
            let all = records(&shop, &format!("/exports/{kind}?{listed}")).await;
            let keys = all.iter().map(|record| record[resource.key].as_i64().unwrap());
            assert_eq!(keys.take(100).collect::<Vec<_>>(), ids, "{kind} by {}", field.name);
        }
    }
    let found = records(
        &shop,
        "/exports/zones?filter[search]=z&sort=-zone_code&fields[zones]=zone_code,country",
    );
    let found = found.await;
    let listed = shop.get("/zones?filter[search]=z&sort=-zone_code&page[limit]=100").send().await;
    let listed = listed.expect(200);
    assert_eq!(found.len(), usize::try_from(listed.total()).unwrap());
    for (found, code) in found.iter().zip(listed.column("zone_code")) {
        assert_eq!(found["zone_code"], code);
        let names: Vec<&String> = found.as_object().unwrap().keys().collect();
        assert_eq!(names, ["zone_code", "country_id"]);
    }
    let (head, _) = csv(&shop, "/exports/zones?fields[zones]=zone_code,shop_zone_id").await;
    assert_eq!(head, ["shop_zone_id", "zone_code"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn related_records_have_names_in_place_of_their_keys() {
    let shop = Shop::stocked().await;
    let found = records(&shop, "/exports/products?columns=names").await;
    assert_eq!(found[0]["category.path"], "lamps/desk-lamps");
    assert_eq!(found[0]["manufacturer.manufacturer_name"], "Birch");
    assert_eq!(found[0]["taxprofile.taxprofile_name"], "Standard");
    assert_eq!(found[1]["category.path"], "");
    assert!(found[0].get("category_id").is_none() && found[0].get("manufacturer_id").is_none());
    let found = records(&shop, "/exports/categories?columns=names&fields[categories]=parent").await;
    assert_eq!(found, [json!({"parent.path": ""}), json!({"parent.path": "lamps"})]);
    // The name of no record unsets the key when it is sent back, which an empty cell of CSV does not.
    let (_, rows) = csv(&shop, "/exports/categories?columns=names&fields[categories]=parent").await;
    assert_eq!(rows, [["\\N"], ["lamps"]]);
    let found = records(&shop, "/exports/customers?columns=names").await;
    let place = [&found[0]["country.country_isocode_2"], &found[0]["zone.zone_code"]];
    let country = shop.get("/countries/1").send().await.attribute("country_isocode_2");
    let zone = shop.get("/zones/1").send().await.attribute("zone_code");
    assert_eq!(place, [&country, &zone]);
    let found = records(&shop, "/exports/variants?columns=names").await;
    assert_eq!(found[0]["product.sku"], "L-1");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_spreadsheet_computes_nothing_of_a_safe_export() {
    let shop = Shop::open().await;
    for name in ["=1+1", "+1", "-1", "@a", "plain", "it's, \"quoted\"\nand broken"] {
        shop.create("/manufacturers", json!({"manufacturer_name": name, "ordering": -7})).await;
    }
    let (head, rows) = csv(&shop, "/exports/manufacturers?safe=1").await;
    assert_eq!(head[0], "'shop_manufacturer_id");
    let names: Vec<&str> = rows.iter().map(|row| &*row[1]).collect();
    let safe = ["'=1+1", "'+1", "'-1", "'@a", "plain", "it's, \"quoted\"\nand broken"];
    assert_eq!(names, safe);
    assert!(rows.iter().all(|row| row[3] == "-7"), "a number is not computed: {rows:?}");
    let (head, rows) = csv(&shop, "/exports/manufacturers").await;
    assert_eq!((&*head[0], &*rows[0][1]), ("shop_manufacturer_id", "=1+1"));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_export_is_refused_like_its_list_and_has_no_pages() {
    let shop = Shop::open().await;
    let by = async |role, path: &str| shop.get(path).by(role).send().await;
    assert_eq!(by(Role::Registered, "/exports/zones").await.errors(), ["403 forbidden"]);
    assert_eq!(by(Role::Manager, "/exports/nothing").await.errors(), ["404 record_not_found"]);
    // Parts have no list of all.
    assert_eq!(by(Role::Manager, "/exports/orderitems").await.errors(), ["404 record_not_found"]);
    for (query, error) in [
        ("page[limit]=5", "400 unknown_parameter parameter page"),
        ("include=country", "400 unknown_parameter parameter include"),
        ("safe=yes", "400 invalid_parameter parameter safe"),
        ("safe=1&safe=1", "400 repeated_parameter parameter safe"),
        ("fields[zones]=", "400 invalid_parameter parameter fields[zones]"),
        ("columns=all", "400 invalid_parameter parameter columns"),
        ("sort=nothing", "400 invalid_parameter parameter sort"),
        ("filter[nothing]=1", "400 unknown_parameter parameter filter[nothing]"),
    ] {
        let answer = by(Role::Manager, &format!("/exports/zones?{query}")).await;
        assert_eq!(answer.errors(), [error]);
    }
    let page = "application/vnd.api+json";
    let refused = shop.get("/exports/zones").header("accept", page).send().await;
    assert_eq!(refused.errors(), ["406 not_acceptable header Accept"]);
    for (accept, media_type) in [
        ("text/csv;q=0, application/x-ndjson", "application/x-ndjson"),
        ("application/x-ndjson, text/csv", "application/x-ndjson"),
        ("text/csv, application/x-ndjson", "text/csv; charset=utf-8"),
        ("text/csv;q=0.5, application/x-ndjson;q=0.50", "text/csv; charset=utf-8"),
        ("text/csv;q=0.5, application/x-ndjson", "application/x-ndjson"),
        ("TEXT/CSV", "text/csv; charset=utf-8"),
    ] {
        let both = shop.get("/exports/zones").header("accept", accept).send().await.expect(200);
        assert_eq!(both.header("content-type"), media_type, "{accept}");
    }
}

/// An export and what has changed since are a copy of the store, whatever is written meanwhile.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_feed_continues_where_an_export_ends() {
    let shop = Shop::filled().await;
    let answer = shop.get("/exports/products").send().await.expect(200);
    let mut copy = keyed(&answer);
    shop.patch("/products/3", json!({"product_name": "Renamed"})).send().await.expect(200);
    shop.create("/products", json!({"product_name": "New", "sku": "NEW"})).await;
    let gone = shop.create("/products", json!({"product_name": "Gone", "sku": "GONE"})).await;
    shop.delete(&format!("/products/{gone}")).send().await.expect(204);
    let after = answer.header("export-cursor");
    let mut mirror = Mirror::from(&format!("/changes?page[after]={after}&filter[types]=products"));
    let page = shop.get(mirror.next.as_deref().unwrap()).send().await.expect(200).json();
    let changed = mirror.take(&page);
    assert_eq!(changed.len(), 3, "{changed:?}");
    for record in page["data"].as_array().unwrap() {
        let key = record["id"].as_str().unwrap().to_owned();
        if record["meta"]["deleted"] == true {
            copy.remove(&key);
            continue;
        }
        let known = copy.entry(key).or_insert_with(|| json!({}));
        for (name, value) in record["attributes"].as_object().unwrap() {
            known[name] = value.clone();
        }
    }
    let now = keyed(&shop.get("/exports/products").send().await.expect(200));
    assert_eq!(copy.keys().collect::<Vec<_>>(), now.keys().collect::<Vec<_>>());
    for (key, record) in &now {
        for (name, value) in
            record.as_object().unwrap().iter().filter(|(name, _)| *name != "category_id")
        {
            assert_eq!(&copy[key][name], value, "{key} {name}");
        }
    }
    let since = records(&shop, "/exports/products?filter[modified_since]=2020-01-01").await;
    assert_eq!(since.len(), now.len(), "the feed began later");
}

/// The records of an export by their keys, in the order of these.
fn keyed(answer: &Answer) -> std::collections::BTreeMap<String, Value> {
    let lines = answer.lines().into_iter().skip(1);
    lines.map(|record| (record["shop_product_id"].to_string(), record)).collect()
}

/// What is committed while the client reads is not in the export, however large this is.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_of_one_moment_however_long_it_takes() {
    const RECORDS: usize = 400;
    let shop = Shop::open().await;
    let text = "x".repeat(60_000);
    for number in 0..RECORDS {
        let body = json!({"manufacturer_name": format!("{number}"), "manufacturer_desc": text});
        shop.create("/manufacturers", body).await;
    }
    let url = shop.url("/api/index.php/v1/shop/exports/manufacturers");
    let client = reqwest::Client::new().get(url).bearer_auth(shop.token(Role::Manager));
    let mut answer = client.header("accept", "application/x-ndjson").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut body = answer.chunk().await.unwrap().unwrap().to_vec();
    let path = format!("/manufacturers/{RECORDS}");
    shop.patch(&path, json!({"manufacturer_name": "later"})).send().await.expect(200);
    shop.create("/manufacturers", json!({"manufacturer_name": "later"})).await;
    while let Some(chunk) = answer.chunk().await.unwrap() {
        body.extend_from_slice(&chunk);
    }
    let lines = std::str::from_utf8(&body).unwrap().lines().skip(1);
    let lines: Vec<Map<String, Value>> =
        lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), RECORDS);
    assert!(lines.iter().all(|line| line["manufacturer_name"] != "later"));
}

/// One statement of an export lasts for as long as its client reads. On a server, those of other requests are ended.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_may_be_read_for_longer_than_a_statement_may_take() {
    // More than the buffers of a connection take.
    const RECORDS: usize = 600;
    let store = Bare::hasty(Duration::from_secs(1)).await;
    let text = "x".repeat(60_000);
    for number in 0..RECORDS {
        let body = json!({"manufacturer_name": format!("{number}"), "manufacturer_desc": text});
        assert_eq!(store.ask(Method::Post, "/manufacturers", body).await.status(), 201);
    }
    let mut body = store.export("manufacturers").await;
    let mut read = Vec::new();
    for nth in 0.. {
        let Some(piece) = body.next().await else { break };
        read.extend_from_slice(&piece.unwrap());
        if nth < 30 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    let lines = std::str::from_utf8(&read).unwrap().lines();
    assert_eq!(lines.skip(1).count(), RECORDS);
    store.app.shop.close().await;
}

/// Each export keeps a connection, so that not all connections are for exports, and a client that leaves
/// frees its own.
#[tokio::test(flavor = "multi_thread")]
async fn exports_leave_connections_to_others() {
    let shop = Shop::open().await;
    let text = "x".repeat(60_000);
    for number in 0..300 {
        let body = json!({"manufacturer_name": format!("{number}"), "manufacturer_desc": text});
        shop.create("/manufacturers", body).await;
    }
    let url = shop.url("/api/index.php/v1/shop/exports/manufacturers");
    let client = reqwest::Client::new();
    let begin = async || {
        let ask = client.get(&url).bearer_auth(shop.token(Role::Manager));
        ask.header("accept", "application/x-ndjson").send().await.unwrap()
    };
    let mut open = Vec::new();
    let refused = loop {
        let answer = begin().await;
        match answer.status().as_u16() {
            200 => open.push(answer),
            status => break status,
        }
    };
    assert_eq!((refused, open.len()), (503, 3));
    shop.get("/manufacturers?page[limit]=1").send().await.expect(200);
    open.clear();
    let waited = async {
        while begin().await.status() != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), waited).await.unwrap();
}
