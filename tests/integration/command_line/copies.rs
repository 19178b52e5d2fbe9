//! Moving a site to another database: afterwards everything is there, or nothing is served.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use host_interface::{Progress, ProgressHandle};
use plugin::bulk::copy::copy as copy_store;
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use plugin::store::Store;
use serde_json::json;

use crate::support::databases::{Database, Engine};
use crate::support::harness::{Answer, ROOT, fixture};
use crate::support::process::{Call, Place, Served};
use crate::support::smtp::Sink;
use crate::support::waiting::eventually;

const ECHO: &str = "/api/index.php/v1/misbehaves/echo/1/word";

/// The commands whose output describes a site.
const LISTS: [&str; 5] =
    ["user list", "group list", "permission list", "extension list", "config list"];

/// A command line for another database than that of the place.
fn about(place: &Place, url: &str, words: &str) -> Call {
    place.call(words).env("DATABASE_URL", url)
}

fn copy(place: &Place, from: &str, to: &str) -> Call {
    place.call("copy --from").word(from).word("--to").word(to)
}

/// Fills a site with some of everything; the last user is removed again.
async fn furnish(place: &Place, url: &str) -> String {
    let run = async |words: &str| about(place, url, words).finish().await.succeeds();
    run("group add Clerks --parent Manager").await;
    run("group add Juniors --parent Clerks").await;
    for (name, address) in [("ann", "ann"), ("bob", "bob"), ("Łucja", "lucja"), ("zed", "zed")] {
        let add = format!("user add {name} --email {address}@example.com");
        run(&format!("{add} --group Clerks --group Registered")).await;
    }
    run("user block bob").await;
    run("user remove zed").await;
    run("permission set Juniors fixture.look root deny").await;
    run("config set patience 9").await;
    run("extension disable token-auth").await;
    run("extension enable token-auth").await;
    run("token generate ann").await.trim().to_owned()
}

async fn moves(from: Engine, to: Engine) {
    let place = Place::of_the_fixture();
    let (source, target) = (Database::on(from).await, Database::on(to).await);
    let (from, to) = (source.url(), target.url());
    let token = furnish(&place, &from).await;
    let job = "INSERT INTO host_jobs (extension, name, ended) VALUES ('misbehaves', 'seldom', 9)";
    source.execute_at(&from, job).await;
    let copied = copy(&place, &from, &to).finish().await.succeeds();
    let lines: Vec<&str> = copied.lines().collect();
    assert!(lines[0].starts_with("3 users, 7 groups, 6 memberships, 2 assets, "), "{lines:?}");
    // The audit trail contains each command that filled the site, and the rule that the extension
    // suggests.
    assert!(lines[0].ends_with(", 14 changes"), "{lines:?}");
    assert_eq!(lines[1..], ["copied nothing"]);

    for list in LISTS {
        let there = about(&place, &to, list).finish().await.succeeds();
        assert_eq!(there, about(&place, &from, list).finish().await.succeeds(), "{list}");
    }
    let jobs = "SELECT name FROM host_jobs WHERE extension = 'misbehaves' AND ended = 9";
    assert_eq!(target.texts_at(&to, jobs).await, ["seldom"]);
    // The audit trail has the same hashes there, and is continued.
    let trail = about(&place, &from, "audit export").finish().await.succeeds();
    let there = about(&place, &to, "audit export").finish().await.succeeds();
    assert!(there.starts_with(&trail) && there.lines().count() == 15, "{there}");
    let served = about(&place, &to, "serve --listen 127.0.0.1:0").start().await;
    served.until(200, ECHO, &token).await;
    served.stop().await;
    // The id of the removed user is not reused, and new rows can be added.
    let add = "user add eve --email eve@example.com --group Juniors";
    assert_eq!(about(&place, &to, add).finish().await.succeeds(), "5\n");
    let add = "group add Seniors --parent Clerks";
    assert_eq!(about(&place, &to, add).finish().await.succeeds(), "8\n");
    let verified = about(&place, &to, "audit verify").finish().await.succeeds();
    assert!(verified.starts_with("17 entries verified"), "{verified}");
}

#[tokio::test]
async fn a_site_moves_from_a_file_completely() {
    moves(Engine::Sqlite, Engine::of_this_run()).await;
}

#[tokio::test]
async fn a_site_moves_to_a_file_completely() {
    moves(Engine::of_this_run(), Engine::Sqlite).await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_site_moves_within_an_engine_completely() {
    moves(Engine::of_this_run(), Engine::of_this_run()).await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_unfinished_copy_is_not_served_and_starts_over() {
    let place = Place::of_the_fixture();
    let (source, target) = (Database::on(Engine::Sqlite).await, Database::new().await);
    let (from, to) = (source.url(), target.url());
    furnish(&place, &from).await;
    let stuck = source.folder.path().join("stuck");
    std::fs::write(&stuck, "").unwrap();
    let line = copy(&place, &from, &to).finish().await.fails();
    assert_eq!(line, "misbehaves: copy failed: cannot copy");
    for words in ["serve --listen 127.0.0.1:0", "user list"] {
        let line = about(&place, &to, words).finish().await.fails();
        assert!(line.contains("unfinished copy of a site"), "{line}");
    }
    // An incomplete site cannot be copied either.
    let third = Database::on(Engine::Sqlite).await;
    let line = copy(&place, &to, &third.url()).finish().await.fails();
    assert!(line.contains("unfinished"), "{line}");

    std::fs::remove_file(&stuck).unwrap();
    about(&place, &from, "user remove bob").finish().await.succeeds();
    copy(&place, &from, &to).finish().await.succeeds();
    let users = about(&place, &to, "user list").finish().await.succeeds();
    assert_eq!(users, about(&place, &from, "user list").finish().await.succeeds());
    assert_eq!(users.lines().count(), 2);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_extension_that_keeps_nothing_need_not_copy_anything() {
    let place = Place::with([fixture("misbehaves"), fixture("greeter")]);
    let (source, target) = (Database::new().await, Database::new().await);
    let (from, to) = (source.url(), target.url());
    about(&place, &from, "user list").finish().await.succeeds();
    let copied = copy(&place, &from, &to).finish().await.succeeds();
    assert_eq!(copied.lines().skip(1).collect::<Vec<_>>(), ["copied nothing"]);
}

/// The guestbook of the documents has a table, and no code to copy it.
#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_extension_that_keeps_a_file_and_copies_nothing_does_not_lose_it() {
    let place = Place::with([fixture("guestbook")]);
    let (source, target) = (Database::on(Engine::Sqlite).await, Database::new().await);
    let (from, to) = (source.url(), target.url());
    about(&place, &from, "user list").finish().await.succeeds();
    let line = copy(&place, &from, &to).finish().await.fails();
    let file = source.folder.path().join("guestbook.db");
    assert_eq!(line, format!("guestbook keeps tables in {}, but cannot copy them", file.display()));
    let line = about(&place, &to, "user list").finish().await.fails();
    assert!(line.contains("unfinished copy of a site"), "{line}");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_refused_copy_is_explained_in_one_line_and_changes_nothing() {
    let place = Place::of_the_fixture();
    let (source, target) = (Database::new().await, Database::on(Engine::Sqlite).await);
    let (from, to) = (source.url(), target.url());
    let missing = Database::on(Engine::Sqlite).await;
    let line = copy(&place, &missing.url(), &to).finish().await.fails();
    assert!(line.contains("No such file"), "{line}");
    assert!(missing.is_untouched().await);
    furnish(&place, &from).await;
    let line = copy(&place, &from, &from).finish().await.fails();
    assert!(line.contains("cannot be copied to itself"), "{line}");

    about(&place, &to, "user add eve --email eve@example.com --group Manager").finish().await;
    let line = copy(&place, &from, &to).finish().await.fails();
    assert!(line.contains("already contains a site"), "{line}");
    assert!(!line.contains("://root:"), "{line}");
    let users = about(&place, &to, "user list").finish().await.succeeds();
    assert_eq!(users.lines().count(), 1, "{users}");

    // The copy would lack an extension that is not loaded.
    let other = Place::with([fixture("authenticates")]);
    let line = copy(&other, &from, &missing.url()).finish().await.fails();
    assert!(line.contains("extension misbehaves, which is not loaded"), "{line}");
    assert!(missing.is_untouched().await);
}

#[tokio::test]
#[cfg_attr(engine = "sqlite", ignore = "a file without a site is not a database")]
async fn a_database_without_a_site_is_neither_copied_nor_changed() {
    let place = Place::of_the_fixture();
    let target = Database::on(Engine::Sqlite).await;
    let line = copy(&place, &place.database.url(), &target.url()).finish().await.fails();
    assert!(line.contains("contains no site"), "{line}");
    assert!(place.database.is_untouched().await && target.is_untouched().await);
}

/// An address without a mail server.
const NOWHERE: &str = "smtp://127.0.0.1:1";

async fn serve(place: &Place, url: &str, mails_to: &str) -> Served {
    let call = about(place, url, "serve --listen 127.0.0.1:0");
    call.env("HOST_SMTP_URL", mails_to).start().await
}

/// Sends this text as the body, and returns the answer if it is a success.
async fn send(served: &Served, token: &str, method: &str, path: &str, body: &str) -> Answer {
    let request = served.ask(method, &format!("{ROOT}{path}"), token);
    let request = request.header("content-type", "application/json").body(body.to_owned());
    let answer = Answer::to(request).await;
    let text = String::from_utf8_lossy(&answer.body);
    assert!((200..300).contains(&answer.status), "{method} {path} {body}: {text}");
    answer
}

/// Records of many kinds with values that are easily lost in a copy. `N` is replaced so that unique
/// values differ between calls.
const AWKWARD: [(&str, &str); 16] = [
    (
        "/manufacturers",
        r#"{"manufacturer_name": "Weiß \\ \"Söhne\" 'x'; -- %_ 🦀 ",
            "manufacturer_desc": "one\ntwo\t\r\n\\n \u0007 日本語 e\u0301 \u00e9"}"#,
    ),
    ("/categories", r#"{"title": "Łąka ?", "alias": "a-N"}"#),
    ("/categories", r#"{"title": "\\\\ ", "alias": "b-N", "description": "?"}"#),
    ("/taxprofiles", r#"{"taxprofile_name": " 🦀 "}"#),
    ("/taxrates", r#"{"taxrate_name": "0", "tax_percent": "99.999", "geozone_id": null}"#),
    (
        "/paymentmethods",
        r#"{"name": "pay", "element": "pay_N",
            "params": {"z" : 1.50, "a": [1e3, -0.0, null, true, {"": "\u00e9\\\"🦀"}], "": ""}}"#,
    ),
    ("/shippingmethods", r#"{"name": "send", "element": "send_N", "params": {}}"#),
    (
        "/products",
        r#"{"product_name": "dearest", "sku": "ŞKİ-N", "price": "999999999999.99999",
            "sale_price": null, "quantity": 2147483647, "vendor_id": null}"#,
    ),
    ("/products", r#"{"product_name": "?", "price": 0.00001, "sale_price": "0", "vendor_id": 7}"#),
    ("/products", r#"{"product_name": "in no stock", "enabled": 0, "visibility": 0}"#),
    (
        "/coupons",
        r#"{"coupon_name": "c", "coupon_code": "ẞ-N", "value": "12.5",
            "value_type": "percentage_cart", "valid_from": "2024-02-29T23:59:59",
            "products": [3, 1, 2], "max_value": "0"}"#,
    ),
    ("/vouchers", r#"{"voucher_value": "50.00001", "email_to": "ADA@example.com"}"#),
    (
        "/orders",
        r#"{"user_email": "Ada.Ö@example.com", "billing_first_name": "Ada \\",
            "currency_code": "JPY", "currency_value": "163.07123456",
            "customer_note": "'; drop table shop_orders; -- 🦀\n", "created_on": "2024-02-29T00:00:00",
            "items": [{"product_id": 1, "orderitem_quantity": 3, "orderitem_tax": "0.01",
                       "orderitem_attributes": {"size":  "XL", "b": 1.0}},
                      {"orderitem_name": "no product", "orderitem_price": "5"}]}"#,
    ),
    ("/orders", r#"{"user_email": "ada@example.com", "order_subtotal": "999999999999.99999"}"#),
    ("/orders", r#"{"user_email": "ada@example.com"}"#),
    ("/customers", r#"{"first_name": "A", "last_name": "b", "email": "a@b.example"}"#),
];

/// Creates these records and returns the key of each.
async fn make_awkward(served: &Served, token: &str, time: &str) -> Vec<i64> {
    let mut keys = Vec::new();
    for (path, body) in AWKWARD {
        let made = send(served, token, "POST", path, &body.replace('N', time)).await;
        keys.push(made.id());
    }
    keys
}

/// A demo store with such records, of which the newest have been removed. Returns a token and the
/// keys that were generated last.
async fn stock(place: &Place, url: &str) -> (String, Vec<i64>) {
    let run = async |words: &str| about(place, url, words).finish().await.succeeds();
    run("demo --products 40 --orders 30").await;
    run("user add ann --email ann@example.com --group Administrator").await;
    let token = run("token generate ann").await.trim().to_owned();
    let served = serve(place, url, NOWHERE).await;
    let first = make_awkward(&served, &token, "1").await;
    let below = |parent: i64| json!({"parent_id": parent}).to_string();
    let path = format!("/categories/{}", first[1]);
    send(&served, &token, "PATCH", &path, &below(first[2])).await;
    let amounts = r#"{"min_sale_qty": "0.00001", "max_sale_qty": null, "notify_qty": 0}"#;
    send(&served, &token, "PATCH", &format!("/inventory/{}", first[7]), amounts).await;
    send(&served, &token, "DELETE", &format!("/inventory/{}", first[9]), "").await;
    let debit = r#"{"adjustment_type": "debit", "amount": "0.00001", "reason": "🦀", "note": ""}"#;
    send(&served, &token, "POST", &format!("/vouchers/{}/adjust", first[11]), debit).await;
    let moved = r#"{"order_state_id": 7, "comment": "\\ ?"}"#;
    send(&served, &token, "POST", &format!("/orders/{}/history", first[12]), moved).await;

    let last = make_awkward(&served, &token, "2").await;
    for ((path, _), key) in AWKWARD.iter().zip(&last) {
        send(&served, &token, "DELETE", &format!("{path}/{key}"), "").await;
    }
    served.stop().await;
    (token, last)
}

/// The answers of a site about everything in its store.
async fn documents(place: &Place, url: &str, token: &str) -> BTreeMap<String, String> {
    let served = serve(place, url, NOWHERE).await;
    let mut documents = BTreeMap::new();
    let mut get = async |path: String| {
        let answer = send(&served, token, "GET", &path, "").await;
        documents.insert(path, String::from_utf8(answer.body.clone()).unwrap());
        answer
    };
    let year = "filter[date_from]=2024-01-01&filter[date_to]=2026-12-31";
    for path in [
        "/config".to_owned(),
        "/vouchers/mine".to_owned(),
        "/reports/inventory".to_owned(),
        format!("/reports/sales?filter[period]=month&page[limit]=100&{year}"),
        format!("/reports/products?{year}"),
        format!("/reports/customers?{year}"),
        "/orders?filter[status]=5&filter[date_from]=2024-02-29&filter[date_to]=2024-02-29".into(),
        "/products?filter[enabled]=1&filter[visibility]=1&list[ordering]=price".to_owned(),
        "/products?filter[search]=%C5%9Fki".to_owned(),
        "/categories?list[ordering]=title&list[direction]=desc".to_owned(),
    ] {
        get(path).await;
    }
    for resource in plugin::resources::REGISTRY.iter().filter(|resource| resource.crud) {
        let kind = resource.kind;
        let mut all: Vec<i64> = Vec::new();
        loop {
            let page = get(format!("/{kind}?page[limit]=100&page[offset]={}", all.len())).await;
            all.extend(page.ids());
            if all.len() as i64 == page.total() {
                break;
            }
        }
        // Thousands of zones are alike, and their list has been compared.
        let step = all.len().div_ceil(100).max(1);
        for key in all.into_iter().rev().step_by(step) {
            get(format!("/{kind}/{key}")).await;
            let nested = plugin::resources::REGISTRY.iter().flat_map(|resource| resource.nested);
            for nested in nested.filter(|nested| nested.parent == kind) {
                get(format!("/{kind}/{key}/{}", nested.segment)).await;
            }
        }
    }
    served.stop().await;
    documents
}

/// The engines between which a store is copied: that of this run, and that of the previous one.
fn route() -> &'static [Engine] {
    match Engine::of_this_run() {
        Engine::Sqlite => &[Engine::Sqlite, Engine::Sqlite],
        Engine::Postgres => &[Engine::Sqlite, Engine::Postgres, Engine::Sqlite],
        Engine::MariaDb => {
            &[Engine::Sqlite, Engine::Postgres, Engine::MariaDb, Engine::Postgres, Engine::Sqlite]
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_copied_between_engines_gives_the_same_answers() {
    let place = Place::of_the_store();
    let mut source = Database::on(route()[0]).await;
    let (token, last) = stock(&place, &source.url()).await;
    let there = documents(&place, &source.url(), &token).await;
    assert!(there.len() > 500, "{} documents", there.len());
    let mut told = None;
    for engine in &route()[1..] {
        let target = Database::on(*engine).await;
        let line = copy(&place, &source.url(), &target.url()).finish().await.succeeds();
        let line = line.lines().nth(1).unwrap().to_owned();
        assert!(line.contains(", 5046 zones, "), "{line}");
        assert!(line.contains(", 33 orders, "), "{line}");
        assert!(line.contains("; orders of "), "{line}");
        assert_eq!(told.get_or_insert(line.clone()), &line, "to {engine:?}");
        let here = documents(&place, &target.url(), &token).await;
        for ((path, here), (other, there)) in here.iter().zip(&there) {
            assert_eq!((path, here), (other, there), "to {engine:?}");
        }
        assert_eq!(here.len(), there.len());
        source = target;
    }

    let served = serve(&place, &source.url(), NOWHERE).await;
    let new = make_awkward(&served, &token, "3").await;
    for ((new, last), (path, _)) in new.iter().zip(&last).zip(AWKWARD) {
        assert!(new > last, "{path}: {new} was given before");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_killed_half_way_is_not_served_and_can_be_repeated() {
    let place = Place::of_the_store();
    let (source, target) = (Database::on(Engine::Sqlite).await, Database::new().await);
    let (from, to) = (source.url(), target.url());
    let (token, _) = stock(&place, &from).await;
    let mut copying = copy(&place, &from, &to).spawn();
    eventually("rows are copied", async || has_rows_of_the_store(&target).await.then_some(()))
        .await;
    copying.kill().await.unwrap();
    assert_eq!(copying.wait().await.unwrap().code(), None, "the copy was killed");
    // A server may take a moment to see that a client is gone, and until then it seems to work on.
    if target.engine != Engine::Sqlite {
        eventually("the connections of the copy are closed", async || {
            (target.others().await == 0).then_some(())
        })
        .await;
    }
    let line = about(&place, &to, "serve --listen 127.0.0.1:0").finish().await.fails();
    assert!(line.contains("unfinished copy of a site"), "{line}");

    copy(&place, &from, &to).finish().await.succeeds();
    let there = documents(&place, &from, &token).await;
    assert!(documents(&place, &to, &token).await == there, "a document differs");
}

/// Whether a copy has begun to write rows. A file is not opened until other processes may read it.
async fn has_rows_of_the_store(database: &Database) -> bool {
    let log = database.folder.path().join("shop.db-wal");
    if database.engine == Engine::Sqlite && !log.exists() {
        return false;
    }
    let store = database.store();
    let asked = Statement::fixed("SELECT count(*) FROM shop_zones", Vec::new());
    let zones = match store.begin_read().await {
        Ok(mut reading) => reading.numbers(asked).await,
        Err(fault) => Err(fault),
    };
    store.close().await;
    zones.is_ok_and(|zones| zones[0] > 0)
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_second_site_that_would_share_a_store_file_is_refused() {
    let place = Place::of_the_store();
    let source = Database::on(Engine::Sqlite).await;
    let from = source.url();
    let run = async |words: &str| about(&place, &from, words).finish().await.succeeds();
    run("user add ann --email ann@example.com --group Manager").await;
    let token = run("token generate ann").await.trim().to_owned();
    let sibling = from.replace("host.db", "sibling.db");
    for _ in 0..2 {
        let line = copy(&place, &from, &sibling).finish().await.fails();
        assert!(line.contains("shop.db exists and may belong to another site"), "{line}");
    }
    let served = serve(&place, &from, NOWHERE).await;
    assert_eq!(send(&served, &token, "GET", "/countries", "").await.total(), 249);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_pending_mail_and_a_key_move_and_a_mail_is_sent_once_from_the_new_database() {
    let sink = Sink::start().await;
    let place = Place::of_the_store();
    let (source, target) = (Database::new().await, Database::on(Engine::Sqlite).await);
    let (from, to) = (source.url(), target.url());
    let run = async |words: &str| about(&place, &from, words).finish().await.succeeds();
    run("user add ann --email ann@example.com --group Administrator").await;
    let token = run("token generate ann").await.trim().to_owned();
    let served = serve(&place, &from, NOWHERE).await;
    let order = r#"{"user_email": "ada@example.com", "billing_first_name": "Łucja 🦀"}"#;
    send(&served, &token, "POST", "/orders", order).await;
    let entry = r#"{"order_state_id": 7, "notify_customer": 1, "comment": "On \\its way."}"#;
    let under_a_key = async |served: &Served| {
        let ask = served.ask("POST", &format!("{ROOT}/orders/1/history"), &token);
        let ask = ask.header("idempotency-key", "k").header("content-type", "application/json");
        Answer::to(ask.body(entry)).await.expect(201)
    };
    let made = under_a_key(&served).await;
    served.stop().await;

    let call = copy(&place, &from, &to).env("HOST_SMTP_URL", sink.url());
    let line = call.finish().await.succeeds();
    assert!(line.contains(", 1 mails, 1 idempotency keys; "), "{line}");
    assert_eq!(sink.connections(), 0, "nothing is sent by a copy");
    let served = serve(&place, &to, &sink.url()).await;
    let mails = sink.wait_for(1).await;
    assert!(mails[0].text().contains("On \\its way."), "{}", mails[0].source);
    assert!(mails[0].to_name().starts_with("Łucja 🦀"), "{}", mails[0].source);
    let again = under_a_key(&served).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!((again.header("etag"), &again.body), (made.header("etag"), &made.body));
    served.stop().await;
    assert_eq!(sink.mails().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_store_in_use_is_consistent() {
    let place = Place::of_the_store();
    let (source, target) = (Database::new().await, Database::on(Engine::Sqlite).await);
    let (from, to) = (source.url(), target.url());
    let (token, _) = stock(&place, &from).await;
    let served = serve(&place, &from, NOWHERE).await;
    let order = r#"{"user_email": "ada@example.com", "items": [{"product_id": 1}]}"#;
    let copied = std::pin::pin!(copy(&place, &from, &to).finish());
    let mut made = 0;
    let writing = async {
        loop {
            send(&served, &token, "POST", "/orders", order).await;
            made += 1;
        }
    };
    let line = tokio::select! {
        copied = copied => copied.succeeds(),
        () = writing => unreachable!("writing never ends"),
    };
    assert!(made > 0);
    served.stop().await;
    // The copy contains consistent data up to some moment: the command itself has compared all of
    // it.
    assert!(line.contains("; orders of "), "{line}");
}

/// The store without a host, on a database that the library never opens.
async fn store_of(database: &Database) -> Store {
    let store = Store::open(&database.url()).unwrap();
    store.migrate(REGISTRY).await.unwrap();
    plugin::bulk::reference::install(&store).await.unwrap();
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_is_reported_with_its_table_and_both_numbers() {
    let (here, there) = (Database::new().await, Database::on(Engine::Sqlite).await);
    let source = store_of(&here).await;
    let size = plugin::bulk::demo::Size { products: 10, orders: 5 };
    let silent = ProgressHandle::new(());
    plugin::bulk::demo::fill(&source, size, &silent).await.unwrap();
    let copied = async || {
        let target = Store::open(&there.url()).unwrap();
        let copied = copy_store(&source, &target, REGISTRY, &silent).await;
        target.close().await;
        copied
    };
    copied().await.unwrap();
    // The tables of kept numbers are compared in a fixed order, and these cases are in the reverse
    // order.
    for (spoil, said) in [
        ("DELETE FROM shop_address_counts", "shop_address_counts has "),
        (
            "UPDATE shop_sales_by_day SET shipping_0 = shipping_0 + 1",
            "the sum of shipping_0 in shop_sales_by_day is ",
        ),
        (
            "UPDATE shop_order_counts_by_day SET day = '1999-12-31' WHERE day = \
             (SELECT d FROM (SELECT max(day) AS d FROM shop_order_counts_by_day) AS newest)",
            "shop_order_counts_by_day has the same counts and sums in the copy but different values",
        ),
        (
            "UPDATE shop_product_counts_by_category SET n = 2 * n",
            "the sum of n in shop_product_counts_by_category is 10 in the copy instead of 20",
        ),
        ("CREATE TABLE shop_news (news INTEGER)", "shop_news is neither copied nor derived"),
    ] {
        source.execute(Statement::fixed(spoil, Vec::new())).await.unwrap();
        let error = copied().await.unwrap_err().to_string();
        assert!(error.starts_with(said), "{spoil}: {error}");
    }
    source.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_progress_of_a_copy_never_goes_back() {
    struct Bar(Arc<Mutex<Vec<(String, u64, u64)>>>);
    impl Progress for Bar {
        fn report(&self, step: &str, done: u64, total: u64) {
            self.0.lock().unwrap().push((step.to_owned(), done, total));
        }
    }
    let (here, there) = (Database::new().await, Database::on(Engine::Sqlite).await);
    let (source, target) = (store_of(&here).await, Store::open(&there.url()).unwrap());
    let told = Arc::new(Mutex::new(Vec::new()));
    copy_store(&source, &target, REGISTRY, &ProgressHandle::new(Bar(Arc::clone(&told))))
        .await
        .unwrap();
    let told = std::mem::take(&mut *told.lock().unwrap());
    let total = told[0].2;
    assert!(told.iter().all(|(_, done, of)| done <= of && *of == total), "{told:?}");
    assert!(told.is_sorted_by_key(|(_, done, _)| done), "{told:?}");
    assert_eq!((told[0].1, told.last().unwrap().1), (0, total));
    assert!(told.iter().filter(|(step, ..)| step == "copying zones").count() > 3, "{told:?}");
    source.close().await;
    target.close().await;
}
