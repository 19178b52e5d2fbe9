//! Versions of records: which writes change which of them and are reported as changes of which, and
//! concurrent changes of one record.

use std::collections::{BTreeMap, BTreeSet};

use host_interface::{HostHandle, Method};
use plugin::model::field::{Access, Field};
use plugin::model::value::{Form, Kind};
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use plugin::wire::object::record_path;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::shelves::{document, text};
use crate::support::bare::{Bare, Directory};
use crate::support::databases::Engine;
use crate::support::harness::{Answer, ROOT, Shop};
use crate::support::ledger::Client;
use crate::support::mirror::Mirror;
use crate::support::process::{Place, stop};
use crate::support::project::sources;

/// The records to change, and others that they refer to.
const RECORDS: [(&str, &str); 22] = [
    ("manufacturers", r#"{"manufacturer_name": "Birch"}"#),
    ("manufacturers", r#"{"manufacturer_name": "Oak"}"#),
    ("categories", r#"{"title": "Lamps"}"#),
    ("categories", r#"{"title": "Desk lamps", "parent_id": 1}"#),
    ("categories", r#"{"title": "Small desk lamps", "parent_id": 2}"#),
    ("categories", r#"{"title": "Tables"}"#),
    ("taxprofiles", r#"{"taxprofile_name": "Standard"}"#),
    ("taxprofiles", r#"{"taxprofile_name": "Reduced"}"#),
    ("taxrates", r#"{"taxrate_name": "VAT", "tax_percent": "19"}"#),
    ("shippingmethods", r#"{"name": "Parcel", "element": "parcel"}"#),
    ("paymentmethods", r#"{"name": "Invoice", "element": "invoice"}"#),
    ("products", r#"{"product_name": "Lamp", "sku": "L-1", "price": "10", "quantity": 5}"#),
    ("products", r#"{"product_name": "Bulb", "sku": "B-1", "price": "2"}"#),
    ("coupons", r#"{"coupon_name": "Spring", "coupon_code": "SPRING", "value": "5"}"#),
    ("vouchers", r#"{"voucher_value": "50"}"#),
    ("orders", r#"{"user_email": "ada@example.com", "items": [{"product_id": 1}]}"#),
    ("orders", r#"{"user_email": "bob@example.com", "order_id": "R-2"}"#),
    (
        "customers",
        r#"{"first_name": "Ada", "last_name": "Berg", "email": "ada@example.com", "country_id": 6}"#,
    ),
    ("orderstatuses", r#"{"orderstatus_name": "Packed"}"#),
    ("currencies", r#"{"currency_title": "Shells", "currency_code": "XXA"}"#),
    (
        "countries",
        r#"{"country_name": "Utopia", "country_isocode_2": "XX", "country_isocode_3": "XXA"}"#,
    ),
    ("zones", r#"{"zone_name": "North", "zone_code": "N", "country_id": 6}"#),
];

/// A write of a record that changes the versions of other rows.
struct Raise {
    /// The kind of the record that is written, or the name of its view.
    of: &'static str,
    /// The fields of which at least one must change; empty for a record that is only ever created.
    fields: &'static [&'static str],
    /// The table with the other rows.
    table: &'static str,
    rows: Rows,
}

/// The rows that a write affects beside its own.
enum Rows {
    /// The one with the same key here: the whole of the written part, the product that it is taken from, or the
    /// item that it contains.
    Same,
    /// The master variant of the product.
    Master,
    /// All below the category.
    Branch,
}

/// A version is 1 when its record is created, and one more after each transaction that changes what the
/// record itself or its parts show. Values that are joined from another record belong to that record. These are
/// all changes of versions by writes of other records.
const RAISES: [Raise; 13] = [
    raise_of("categories", &["alias", "parent_id"], "shop_categories", Rows::Branch),
    raise_of("shipments", &[], "shop_orderitems", Rows::Same),
    raise_of("orderhistories", &[], "shop_orders", Rows::Same),
    raise_of("orderrefunds", &[], "shop_orderitems", Rows::Same),
    raise_of("orderrefunds", &[], "shop_orders", Rows::Same),
    raise_of("shipments", &[], "shop_orders", Rows::Same),
    raise_of("shipments", &["tracking_id", "carrier", "tracking_url"], "shop_orders", Rows::Same),
    raise_of("inventory.adjustment", &[], "shop_products", Rows::Same),
    raise_of("inventory.step", &[], "shop_products", Rows::Same),
    raise_of("orderitems", &["take_stock"], "shop_products", Rows::Same),
    raise_of("products", &["sku", "price", "upc"], "shop_variants", Rows::Master),
    raise_of("inventory", &["sku", "manage_stock"], "shop_variants", Rows::Master),
    raise_of("vouchers.adjustment", &[], "shop_vouchers", Rows::Same),
];

const fn raise_of(
    of: &'static str,
    fields: &'static [&'static str],
    table: &'static str,
    rows: Rows,
) -> Raise {
    Raise { of, fields, table, rows }
}

/// The tables with a version of each row, with their keys and the kinds of the records that show the rows.
fn versioned() -> BTreeMap<&'static str, (&'static str, Vec<&'static str>)> {
    let mut tables = BTreeMap::new();
    for of in REGISTRY.iter().filter(|of| of.versioned && !of.table.is_empty()) {
        let (_, kinds) = tables.entry(of.table).or_insert((of.key, Vec::new()));
        kinds.push(of.kind);
    }
    tables
}

/// A store with these records, and the versions of its rows.
struct Versions {
    store: Bare,
    /// The key of the first record of each kind in [`RECORDS`]; of categories that of the second,
    /// which has one above and one below it.
    keys: BTreeMap<&'static str, i64>,
    /// A client of the feed of changes.
    mirror: Mirror,
}

impl Versions {
    async fn open() -> Versions {
        let store = Bare::of(Engine::of_this_run(), HostHandle::new(Directory::default())).await;
        let mirror = Mirror::of("");
        let mut versions = Versions { store, keys: BTreeMap::new(), mirror };
        for (kind, body) in RECORDS {
            let body = serde_json::from_str(body).unwrap();
            let made = versions.write(Method::Post, &format!("/{kind}"), body).await;
            let key = made["data"]["id"].as_str().unwrap().parse().unwrap();
            versions.keys.entry(kind).or_insert(key);
        }
        versions.keys.insert("categories", 2);
        versions.keys.insert("inventory", versions.keys["products"]);
        assert_eq!(versions.now().await, BTreeMap::new(), "each new record has the version 1");
        versions.mirror.catch_up(&versions.store).await;
        versions
    }

    /// Checks that the feed reports the records that show these rows, and no others, since it was
    /// read last.
    async fn assert_reported(&mut self, rows: &[String], of: &str) {
        let mut expected = BTreeSet::new();
        for row in rows {
            let (table, key) = row.split_once(' ').unwrap();
            for kind in &versioned()[table].1 {
                // A method is of one of two kinds, and a product may have no stock record.
                let resource = REGISTRY.find(kind).unwrap();
                let path = record_path(resource, key.parse().unwrap(), "");
                let shown = self.store.ask(Method::Get, &path, json!(null)).await.status() == 200;
                expected.extend(shown.then(|| format!("{kind}/{key}")));
            }
        }
        let mut reported = self.mirror.catch_up(&self.store).await;
        // Records that the write has created are changes of their own.
        reported.retain(|record| {
            let (kind, id) = record.split_once('/').unwrap();
            let record = self.mirror.records.get(&(kind.to_owned(), id.to_owned()));
            record.is_none_or(|record| record["meta"]["version"] != 1)
        });
        assert_eq!(reported.iter().cloned().collect::<BTreeSet<_>>(), expected, "{of}");
        assert_eq!(reported.len(), expected.len(), "{of}: each is reported once");
    }

    /// Sends a write that must succeed, and returns its document.
    async fn write(&self, method: Method, path: &str, body: Value) -> Value {
        let answer = self.store.ask(method, path, body.clone()).await;
        assert!(answer.status() < 300, "{method} {path} {body}: {}", text(&answer));
        if answer.body().is_empty() { Value::Null } else { document(&answer) }
    }

    async fn read(&self, path: &str) -> Value {
        document(&self.store.ask(Method::Get, path, json!(null)).await)
    }

    /// The rows with a version other than 1, by table and key.
    async fn now(&self) -> BTreeMap<String, i64> {
        let tables = versioned().into_iter().map(|(table, (key, _))| {
            format!("SELECT '{table} ' || {key} || ' ' || version FROM {table} WHERE version <> 1")
        });
        let text = tables.collect::<Vec<_>>().join(" UNION ALL ");
        let mut transaction = self.store.app.shop.store.begin_read().await.unwrap();
        let rows = transaction.texts(Statement { text, binds: Vec::new() }).await.unwrap();
        transaction.commit().await.unwrap();
        let row = |row: String| {
            let (row, version) = row.rsplit_once(' ').unwrap();
            (row.to_owned(), version.parse().unwrap())
        };
        rows.into_iter().map(row).collect()
    }

    /// The rows that a write of this kind changes beside its own, as the table states it.
    async fn raised(&self, of: &str, field: Option<&str>, key: i64) -> Vec<String> {
        let mut rows = Vec::new();
        for raise in RAISES.iter().filter(|raise| raise.of == of) {
            let has_effect = match (raise.fields, field) {
                ([], field) => field.is_none(),
                (names, field) => field.is_some_and(|name| names.contains(&name)),
            };
            let key = match raise.rows {
                Rows::Same => key,
                Rows::Master => {
                    let variants = self.read(&format!("/products/{key}/variants")).await;
                    variants["data"][0]["id"].as_str().unwrap().parse().unwrap()
                }
                Rows::Branch => key + 1,
            };
            rows.extend(has_effect.then(|| format!("{} {key}", raise.table)));
        }
        rows
    }
}

/// Adds one to the versions of these rows.
fn raise(versions: &mut BTreeMap<String, i64>, rows: impl IntoIterator<Item = String>) {
    for row in rows {
        *versions.entry(row).or_insert(1) += 1;
    }
}

/// Two values of a field.
fn values(field: &Field) -> [Value; 2] {
    let words = |one: &str, other: &str, max: usize| {
        [one, other].map(|word| json!(word.chars().take(max).collect::<String>()))
    };
    match field.kind {
        Kind::Int { max, .. } => [json!(max.min(3)), json!(max.min(3) - 1)],
        Kind::Flag => [json!(0), json!(1)],
        Kind::Decimal { .. } => [json!("61.5"), json!("62.5")],
        Kind::Text { max, form: Form::Capitals } => ["Q", "Y"].map(|one| json!(one.repeat(max))),
        Kind::Text { max, .. } => words("other", "again", max),
        // The first is the default of a hidden field.
        Kind::Choice(words) => [json!(words[1]), json!(words[0])],
        Kind::DateTime if field.name == "valid_from" => [json!("2001-01-01"), json!("2001-01-02")],
        Kind::DateTime => [json!("2031-01-01"), json!("2031-01-02")],
        Kind::Ids => [json!([1]), json!([2])],
        Kind::Words([first, second, ..]) => [json!([first]), json!([second])],
        Kind::Words(_) => [json!(["zones"]), json!([])],
        Kind::Json | Kind::JsonList(_) | Kind::JsonObject(_) | Kind::JsonByKey(_) => {
            [json!({"a": 1}), json!({"a": 2})]
        }
        Kind::Key("categories") => [json!(4), json!(1)],
        Kind::Key("countries") => [json!(7), json!(8)],
        Kind::Key(_) => [json!(1), json!(2)],
        Kind::Code { of: "orders", .. } => [json!("R-2"), json!("")],
        Kind::Code { .. } => [json!("USD"), json!("EUR")],
        Kind::User => [json!(7), json!(8)],
        Kind::Email => [json!("eve@example.com"), json!("fay@example.com")],
    }
}

/// Statements that `sql::update` generates do, so this is about those with a text of their own.
#[test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
fn every_text_that_changes_a_table_with_versions_counts_the_change() {
    let (mut found, tables) = (0, versioned());
    for (path, text) in sources("plugin/src") {
        for (table, rest) in text.split("UPDATE ").skip(1).filter_map(|text| text.split_once(' ')) {
            if tables.contains_key(table) {
                let set = rest.split_once("SET ").map_or("", |(_, set)| set);
                let counted = [", ", " WHERE "].iter().any(|next| {
                    set.strip_prefix("version = version + 1")
                        .is_some_and(|set| set.starts_with(next))
                });
                let lock = rest.starts_with("SET version = version WHERE ");
                // The order is new, or an entry of its history follows, which counts its version.
                let completed = rest.starts_with("SET refundable_lines = {lines} WHERE ");
                assert!(counted || lock || completed, "{}", path.display());
                found += 1;
            }
        }
    }
    assert!(found > 0);
}

/// Writes every field of every resource that can be written, and checks which versions change.
#[tokio::test(flavor = "multi_thread")]
async fn every_write_changes_exactly_the_versions_that_the_table_states() {
    let mut store = Versions::open().await;
    let mut expected = BTreeMap::new();
    let mut written = 0;
    for resource in REGISTRY.followed().filter(|resource| resource.crud) {
        let (kind, key) = (resource.kind, store.keys[resource.kind]);
        let path = format!("/{kind}/{key}");
        let own = format!("{} {key}", resource.table);
        for field in resource.fields().filter(|field| field.access == Access::Open) {
            let before = store.read(&path).await;
            let of_field = &before["data"]["attributes"][field.name];
            let [one, other] = values(field);
            let value = if *of_field == one { other } else { one };
            let mut change = json!({field.name: value});
            if field.name == "zone_id" {
                // The zone that was created last belongs to the customer's country.
                change = json!({"zone_id": store.keys["zones"]});
            } else if (kind, field.name) == ("customers", "country_id") {
                change = json!({"country_id": value, "zone_id": null});
            } else if field.name == "shipping_zone_id" {
                let zone = store.keys["zones"];
                change = json!({"shipping_zone_id": zone, "shipping_country_id": 6});
            } else if field.name == "shipping_country_id" {
                change = json!({"shipping_country_id": value, "shipping_zone_id": null});
            }
            let after = store.write(Method::Patch, &path, change.clone()).await;
            let mut rows = vec![own.clone()];
            rows.extend(store.raised(kind, Some(field.name), key).await);
            raise(&mut expected, rows.iter().cloned());
            assert_eq!(store.now().await, expected, "{kind} {change}");
            store.assert_reported(&rows, &format!("{kind} {change}")).await;
            assert_eq!(after["data"]["meta"]["version"], expected[&own], "{kind} {change}");
            assert_eq!(after, store.read(&path).await);

            // The same once more changes nothing, nor does sending back all that was read.
            let all = after["data"]["attributes"].clone();
            for same in [change, all, json!({})] {
                assert_eq!(store.write(Method::Patch, &path, same).await, after, "{kind}");
            }
            assert_eq!(store.now().await, expected, "{kind} {}", field.name);
            store.assert_reported(&[], kind).await;
            written += 1;
        }
    }
    assert!(written > 100, "{written}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_and_stock_records_change_the_version_of_what_they_belong_to() {
    let mut store = Versions::open().await;
    let mut expected = BTreeMap::new();
    for _ in 0..2 {
        let entry = json!({"order_state_id": 7});
        let entry = store.write(Method::Post, "/orders/1/history", entry).await;
        let rows = store.raised("orderhistories", None, 1).await;
        raise(&mut expected, rows.clone());
        assert_eq!(store.now().await, expected);
        store.assert_reported(&rows, "history").await;
        assert_eq!(entry["data"]["meta"]["version"], 1);
        assert_eq!(entry["meta"]["order_version"], expected["shop_orders 1"]);
        let adjustment = json!({"adjustment_type": "debit", "amount": "1", "reason": "used"});
        let voucher = store.write(Method::Post, "/vouchers/1/adjust", adjustment).await;
        let rows = store.raised("vouchers.adjustment", None, 1).await;
        raise(&mut expected, rows.clone());
        assert_eq!(store.now().await, expected);
        store.assert_reported(&rows, "adjustment of a voucher").await;
        assert_eq!(voucher["data"]["meta"]["version"], expected["shop_vouchers 1"]);
        // Steps of one request are one change of each product, and only where a quantity differs.
        let sale = json!({"quantity_delta": -1, "reason": "Sold"});
        store.write(Method::Post, "/inventory/1/adjust", sale).await;
        let rows = store.raised("inventory.adjustment", None, 1).await;
        raise(&mut expected, rows.clone());
        store.assert_reported(&rows, "adjustment of stock").await;
        let step = |sku: &str, delta: i64| json!({"sku": sku, "quantity_delta": delta, "reason": "Counted"});
        let steps = [step("L-1", 1), step("B-1", 1), step("L-1", 1), step("B-1", -1)];
        let sku = store.read("/products/1").await["data"]["attributes"]["sku"].clone();
        let steps = steps.map(|mut step| {
            if step["sku"] == "L-1" {
                step["sku"] = sku.clone();
            }
            step
        });
        store.write(Method::Post, "/inventory/adjust", json!({"adjustments": steps})).await;
        let rows = store.raised("inventory.step", None, 1).await;
        raise(&mut expected, rows.clone());
        assert_eq!(store.now().await, expected);
        store.assert_reported(&rows, "steps").await;
        // An order that takes its items changes the stock that they come from.
        let line = json!({"product_id": 1, "take_stock": 1});
        let order = json!({"user_email": "eve@example.com", "items": [line]});
        store.write(Method::Post, "/orders", order).await;
        let rows = store.raised("orderitems", Some("take_stock"), 1).await;
        raise(&mut expected, rows.clone());
        assert_eq!(store.now().await, expected);
        store.assert_reported(&rows, "an order that takes its items").await;
        // Both are one change of the product, and of its master variant.
        let record = json!({"shop_product_id": 1, "quantity": 3, "sku": "L-9"});
        for (method, path, body) in
            [(Method::Delete, "/inventory/1", json!(null)), (Method::Post, "/inventory", record)]
        {
            store.write(method, path, body).await;
            let mut rows = vec!["shop_products 1".to_owned()];
            rows.extend(store.raised("inventory", Some("manage_stock"), 1).await);
            raise(&mut expected, rows.clone());
            assert_eq!(store.now().await, expected, "{method} {path}");
            let gone = store.mirror.records.remove(&("inventory".to_owned(), "1".to_owned()));
            assert!(gone.is_some() == (method == Method::Delete));
            if method == Method::Post {
                store.assert_reported(&rows, "a new stock record").await;
            } else {
                let reported = store.mirror.catch_up(&store.store).await;
                assert!(reported.contains(&"-inventory/1".to_owned()), "{reported:?}");
            }
        }
    }
    // A parcel is a change of what it contains and of its order.
    let parcel = store.write(Method::Post, "/orders/1/shipments", json!({})).await;
    let rows = store.raised("shipments", None, 1).await;
    raise(&mut expected, rows.clone());
    assert_eq!(store.now().await, expected);
    store.assert_reported(&rows, "a shipment").await;
    assert_eq!(parcel["meta"]["order_version"], expected["shop_orders 1"]);
    let number = json!({"tracking_id": "P2"});
    store.write(Method::Patch, "/shipments/1", number.clone()).await;
    let mut rows = vec!["shop_shipments 1".to_owned()];
    rows.extend(store.raised("shipments", Some("tracking_id"), 1).await);
    raise(&mut expected, rows.clone());
    for _ in 0..2 {
        assert_eq!(store.now().await, expected);
        store.assert_reported(&rows, "a corrected shipment").await;
        // The same once more changes nothing.
        store.write(Method::Patch, "/shipments/1", number.clone()).await;
        store.write(Method::Post, "/orders/1/tracking", number.clone()).await;
        rows.clear();
    }
    store.write(Method::Delete, "/shipments/1", json!(null)).await;
    expected.remove("shop_shipments 1");
    raise(&mut expected, store.raised("shipments", None, 1).await);
    assert_eq!(store.now().await, expected);
    let reported = store.mirror.catch_up(&store.store).await;
    for record in ["-shipments/1", "orders/1", "orderfulfilments/1", "orderitems/1"] {
        assert!(reported.contains(&record.to_owned()), "{record}: {reported:?}");
    }
    // A refund is a change of what it gives back and of its order, and what undoes it is one of the refund too.
    let one = json!({"reason": "Returned", "items": [{"orderitem_id": 1, "quantity": 1}]});
    let made = store.write(Method::Post, "/orders/1/refunds", one).await;
    let rows = store.raised("orderrefunds", None, 1).await;
    raise(&mut expected, rows.clone());
    assert_eq!(store.now().await, expected);
    store.assert_reported(&rows, "a refund").await;
    assert_eq!(made["meta"]["order_version"], expected["shop_orders 1"]);
    store.write(Method::Post, "/orders/1/refunds/1/reverse", json!({"reason": "Wrong"})).await;
    let mut rows = vec!["shop_orderrefunds 1".to_owned()];
    rows.extend(store.raised("orderrefunds", None, 1).await);
    raise(&mut expected, rows.clone());
    assert_eq!(store.now().await, expected);
    store.assert_reported(&rows, "a reversal").await;
    // Deleting a part of something else, or a whole with its parts, changes no other record.
    let versions = store.now().await;
    for path in ["/orders/2", "/products/2", "/categories/3"] {
        store.write(Method::Delete, path, json!(null)).await;
        assert_eq!(store.now().await, versions, "{path}");
        let reported = store.mirror.catch_up(&store.store).await;
        assert!(reported.contains(&path.replacen('/', "-", 1)), "{reported:?}");
        assert!(reported.iter().all(|of| of.starts_with('-')), "{reported:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn values_joined_from_another_record_change_only_the_digest() {
    let shop = Shop::stocked().await;
    for (path, other, change) in [
        ("/customers/1", "/countries/1", json!({"country_name": "Elsewhere"})),
        ("/customers/1", "/zones/1", json!({"zone_name": "Somewhere"})),
        ("/orders/1", "/orderstatuses/5", json!({"orderstatus_name": "Fresh"})),
    ] {
        let before = shop.get(path).send().await.expect(200);
        shop.patch(other, change).send().await.expect(200);
        let after = shop.get(path).send().await.expect(200);
        assert_ne!(after.body, before.body);
        assert_ne!(after.header("etag"), before.header("etag"));
        let known = before.header("etag");
        assert!(known.starts_with("\"1-") && after.header("etag").starts_with("\"1-"), "{known}");
        // It is no reason to refuse a change.
        let change = shop.patch(path, json!({})).header("if-match", known);
        change.send().await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_100_parallel_changes_with_the_same_tag_succeeds() {
    let (place, token) = Place::with_ann("Administrator").await;
    let hosts = place.serve_twice_with(&[]).await;
    let product = json!({"product_name": "Lamp", "quantity": 5});
    let key = Client::of(&hosts[0], &token).create("/products", product).await;
    let order = json!({"user_email": "ada@example.com"});
    let order = Client::of(&hosts[0], &token).create("/orders", order).await;
    let history = format!("/orders/{order}/history");
    for (method, path, record, field) in [
        ("PATCH", format!("/products/{key}"), format!("/products/{key}"), "quantity"),
        ("PATCH", format!("/inventory/{key}"), format!("/products/{key}"), "quantity"),
        ("POST", history, format!("/orders/{order}"), "order_state_id"),
    ] {
        let read = hosts[0].get(&format!("{ROOT}{record}"), &token).send().await.unwrap();
        let tag = read.headers()["etag"].clone();
        let read: Value = read.json().await.unwrap();
        let version = read["data"]["meta"]["version"].as_i64().unwrap();
        let mut tasks = JoinSet::new();
        for number in 0..100_i64 {
            let host = &hosts[usize::try_from(number).unwrap() % hosts.len()];
            // Each sends another value, or one of the statuses.
            let value = if method == "POST" { 1 + number % 4 } else { 100 * version + number };
            let ask = host.ask(method, &format!("{ROOT}{path}"), &token);
            let ask = ask.header("if-match", tag.clone()).json(&json!({field: value}));
            tasks.spawn(async move { (Answer::in_turn(ask).await.status, value) });
        }
        let answers = tasks.join_all().await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(to, _)| *to < 300);
        assert_eq!(won.len(), 1, "{method} {path}: {won:?}");
        assert!(lost.iter().all(|(status, _)| *status == 412), "{method} {path}: {lost:?}");
        let client = Client::of(hosts.last().unwrap(), &token);
        let read = client.expect(200, "GET", &record, None).await;
        assert_eq!(read["data"]["attributes"][field], won[0].1);
        assert_eq!(read["data"]["meta"]["version"], version + 1);
    }
    stop(hosts).await;
}
