//! Imports that were interrupted, repeated, or asked about later: what was committed is known, and nothing is done
//! twice.

use example_host::{Force, Setting};
use futures_util::stream;
use host_interface::{Body, Error, HostHandle};
use plugin::model::moment;
use plugin::sql::Statement;
use serde_json::json;
use sha2::Digest;
use tokio::sync::mpsc::{Sender, channel};

use super::imports::{counts, import, number, report};
use crate::support::bare::{Bare, Directory, FileHeaders};
use crate::support::databases::Engine;
use crate::support::harness::{NDJSON, Role, Shop};
use crate::support::waiting::eventually;

const CSV: &str = "text/csv";

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_was_interrupted_goes_on_with_the_same_file_only() {
    let shop = Shop::open().await;
    let mut file = "coupon_code,coupon_name,value\r\n".to_owned();
    for number in 0..50 {
        let value = if number == 30 { "much" } else { "5" };
        file += &format!("C{number},\"Coupon\r\n{number}\",{value}\r\n");
    }
    let (lines, last) = import(&shop, "type=coupons&on_error=stop", CSV, &file).await;
    assert_eq!((counts(&last), lines.len()), ([30, 0, 0, 1], 31));
    assert_eq!(last["errors"][0]["code"], "refused");
    let committed = number(&last["summary"], "committed_lines");
    assert_eq!(committed, 1 + 2 * 30);
    let record = shop.get("/imports/1").send().await.expect(200);
    assert_eq!(record.attribute("state"), "interrupted");
    assert_eq!(record.attribute("committed_lines"), committed);

    let fixed = file.replace(",much", ",6");
    let from = format!("type=coupons&from_line={}", committed + 1);
    let go_on = async |query: &str, of: &str, file: &str| {
        let ask = shop.request("POST", &format!("/imports?{query}")).file(CSV, file);
        ask.header("import-of", of).send().await
    };
    let changed = fixed.replace("Coupon\r\n7", "Coupon\r\n8");
    let refused = go_on(&from, "1", &changed).await.expect(409);
    assert_eq!(refused.errors(), ["409 file_changed header Import-Of"]);
    let wrong = go_on("type=coupons&from_line=3", "1", &fixed).await.expect(409);
    assert_eq!(wrong.errors(), ["409 file_changed header Import-Of"]);
    // Such a file is not to be sent again, as what was refused by a conflict is.
    assert!(!wrong.headers.contains_key("retry-after"));
    assert_eq!(
        go_on(&from, "77", &fixed).await.errors(),
        ["404 record_not_found header Import-Of"]
    );
    assert_eq!(go_on(&from, "x", &fixed).await.errors(), ["400 invalid_header header Import-Of"]);
    let (lines, last) = report(&go_on(&from, "1", &fixed).await.expect(200));
    assert_eq!(counts(&last), [20, 0, 0, 0]);
    assert_eq!(number(&lines[0], "line"), committed + 1);
    assert_eq!(shop.get("/coupons?page[limit]=1").send().await.expect(200).total(), 50);
    // Whoever only knows the line may go on from there, too.
    let (_, last) = import(&shop, &format!("{from}&dry_run=1"), CSV, &fixed).await;
    assert_eq!(counts(&last), [0, 0, 20, 0]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_import_with_a_key_is_told_again_and_not_done_again() {
    let shop = Shop::open().await;
    let file = "manufacturer_name\nBirch\nOak\n";
    let query = "/imports?type=manufacturers&mode=create";
    let keyed = async |query: &str, file: &str| {
        let ask = shop.request("POST", query).file(CSV, file);
        ask.header("idempotency-key", "night-1").send().await
    };
    let first = keyed(query, file).await.expect(200);
    let (_, last) = report(&first);
    assert_eq!(counts(&last), [2, 0, 0, 0]);
    let again = keyed(query, file).await.expect(200);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(counts(&report(&again).1), [2, 0, 0, 0]);
    assert_eq!(shop.get("/manufacturers").send().await.expect(200).total(), 2);
    for (query, file) in [
        (query, "manufacturer_name\nBirch\nElm\n"),
        (query, "manufacturer_name\nBirch\nOak\nElm\n"),
        (query, "manufacturer_name\nBirch\n"),
        ("/imports?type=taxprofiles&mode=create", "taxprofile_name\nBirch\nOak\n"),
    ] {
        let answer = keyed(query, file).await.expect(422);
        assert_eq!(
            answer.errors(),
            ["422 idempotency_key_reused header Idempotency-Key"],
            "{file}"
        );
    }
    assert_eq!(shop.get("/manufacturers").send().await.expect(200).total(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_recorded_with_its_faults_for_those_who_may_view_the_type() {
    let shop = Shop::open().await;
    let file = "country_isocode_2,country_isocode_3,country_name\nXA,XAA,Here\nXB,x,There\n";
    let ask = shop.request("POST", "/imports?type=countries").file(CSV, file);
    let document = ask.header("accept", "application/vnd.api+json").send().await.expect(200);
    let record = document.json();
    assert_eq!(record["links"]["faults"], "/api/index.php/v1/shop/imports/1/faults");
    let attributes = &record["data"]["attributes"];
    for (name, value) in [
        ("record_type", json!("countries")),
        ("mode", json!("upsert")),
        ("key_field", json!("country_isocode_2")),
        ("state", json!("done")),
        ("lines_read", json!(2)),
        ("created", json!(1)),
        ("failed", json!(1)),
        ("committed_lines", json!(3)),
    ] {
        assert_eq!(attributes[name], value, "{name}");
    }
    assert_eq!(attributes["sha256"], hex::encode(sha2::Sha256::digest(file)));
    let faults = shop.get("/imports/1/faults").send().await.expect(200);
    assert_eq!(faults.column("line"), [json!(3)]);
    assert_eq!(faults.column("record_key"), [json!("XB")]);
    assert_eq!(faults.column("errors")[0][0]["source"]["pointer"], "/country_isocode_3");
    import(&shop, "type=zones&mode=create", NDJSON, "{\"zone_name\": 5}\n").await;
    let listed = shop.get("/imports").send().await.expect(200);
    assert_eq!(listed.column("record_type"), [json!("zones"), json!("countries")]);
    let deny = Setting::Deny;
    for asset in ["com_shop.countries", "com_shop.config"] {
        shop.site.set_rule("Manager", "store.view", asset, deny, Force::No).await.unwrap();
    }
    let listed = shop.get("/imports").by(Role::Manager).send().await.expect(200);
    assert_eq!(listed.column("record_type"), [json!("zones")]);
    shop.get("/imports/1").by(Role::Manager).send().await.expect(404);
    let none = shop.get("/imports/1/faults").by(Role::Manager).send().await.expect(200);
    assert_eq!(none.total(), 0);
    shop.get("/imports").by(Role::Registered).send().await.expect(403);
    // What the mode needs is needed, and nothing else.
    shop.site.set_rule("Manager", "store.edit", "com_shop.zones", deny, Force::No).await.unwrap();
    let by = async |query: &str| {
        let ask = shop.request("POST", &format!("/imports?{query}")).file(NDJSON, "{}\n");
        ask.by(Role::Manager).send().await.status
    };
    assert_eq!(by("type=zones").await, 403);
    assert_eq!(by("type=zones&mode=update").await, 403);
    assert_eq!(by("type=zones&mode=create").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_at_which_an_import_has_stopped_counts_once() {
    let shop = Shop::open().await;
    let send = async |file: &str| {
        let ask = shop.request("POST", "/imports?type=coupons&on_error=stop").file(CSV, file);
        report(&ask.header("idempotency-key", "night-2").send().await.expect(200)).1
    };
    let file = "coupon_code,coupon_name,value\nA,A,5\nB,B,much\nC,C,7\n";
    assert_eq!(counts(&send(file).await), [1, 0, 0, 1]);
    assert_eq!(counts(&send(file).await), [1, 0, 0, 1]);
    assert_eq!(shop.get("/imports/1/faults").send().await.expect(200).total(), 1);
    assert_eq!(counts(&send(&file.replace("much", "6")).await), [3, 0, 0, 0]);
    assert_eq!(shop.get("/imports/1/faults").send().await.expect(200).total(), 0);
    assert_eq!(shop.get("/imports").send().await.expect(200).total(), 1);
}

/// An import that goes on with another one and fails at once has come as far as that one.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_import_that_goes_on_with_another_and_writes_nothing_can_be_gone_on_with() {
    let shop = Shop::open().await;
    let query = "type=manufacturers&mode=create&on_error=stop";
    let file = "{\"manufacturer_name\": \"Birch\"}\n{\"manufacturer_name\": \"Oak\"}\n\
        {\"manufacturer_name\": 5}\n{\"manufacturer_name\": \"Elm\"}\n";
    let (_, last) = import(&shop, query, NDJSON, file).await;
    assert_eq!(counts(&last), [2, 0, 0, 1]);
    let go_on = async |from: i64, of: &str, file: &str| {
        let ask = shop.request("POST", &format!("/imports?{query}&from_line={from}"));
        ask.file(NDJSON, file).header("import-of", of).send().await
    };
    let (_, last) = report(&go_on(3, "1", file).await.expect(200));
    assert_eq!((counts(&last), number(&last["summary"], "committed_lines")), ([0, 0, 0, 1], 2));
    let record = async |id: i64| shop.get(&format!("/imports/{id}")).send().await.expect(200);
    let [earlier, later] = [record(1).await, record(2).await];
    for name in ["committed_lines", "sha256"] {
        assert_eq!(later.attribute(name), earlier.attribute(name), "{name}");
    }

    let fixed = file.replace("5}", "\"Yew\"}");
    let again = go_on(1, "2", &fixed).await.expect(409);
    assert_eq!(again.errors(), ["409 file_changed header Import-Of"]);
    let (_, last) = report(&go_on(3, "2", &fixed).await.expect(200));
    assert_eq!(counts(&last), [2, 0, 0, 0]);
    let made = shop.get("/manufacturers?sort=manufacturer_name").send().await.expect(200);
    assert_eq!(made.column("manufacturer_name"), ["Birch", "Elm", "Oak", "Yew"]);
}

/// An import of which half has come, and of which nothing has been heard for long: its program may only have slept.
struct Silent {
    store: Bare,
    /// Where the rest of the file comes from.
    pieces: Sender<Result<Vec<u8>, Error>>,
    report: Body,
}

impl Silent {
    async fn import() -> Silent {
        let store = Bare::of(Engine::of_this_run(), HostHandle::new(Directory::default())).await;
        let (pieces, mut taken) = channel(1);
        let file = Body::new(stream::poll_fn(move |context| taken.poll_recv(context)));
        pieces.send(Ok(b"manufacturer_name\nBirch\nOak\n".to_vec())).await.unwrap();
        let report = store.import(CREATE, FileHeaders(None), file).await;
        let silent = Silent { store, pieces, report };
        silent.until("committed_lines = 3").await;
        let long_ago = match Engine::of_this_run() {
            Engine::Sqlite => "2026-01-01T00:00:00",
            Engine::Postgres | Engine::MariaDb => "2026-01-01 00:00:00",
        };
        silent.store.run(format!("UPDATE shop_imports SET seen_on = '{long_ago}'")).await;
        silent.store.app.job("sweep_imports").await.unwrap();
        silent.until("state = 'interrupted' AND ended_on IS NOT NULL").await;
        silent
    }

    /// Waits until something is true of the import.
    async fn until(&self, what: &str) {
        let is_so = async || {
            let of = format!("shop_imports WHERE shop_import_id = 1 AND {what}");
            (self.count(&of).await == 1).then_some(())
        };
        eventually(what, is_so).await;
    }

    async fn count(&self, of: &str) -> i64 {
        let mut reading = self.store.app.shop.store.begin_read().await.unwrap();
        let text = format!("SELECT count(*) FROM {of}");
        reading.number(Statement { text, binds: Vec::new() }).await.unwrap()
    }

    async fn send(&self, piece: &str) {
        self.pieces.send(Ok(piece.as_bytes().to_vec())).await.unwrap();
    }
}

const CREATE: &str = "type=manufacturers&mode=create";

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_wakes_up_after_another_has_gone_on_with_it_writes_nothing() {
    let silent = Silent::import().await;
    let file = Body::whole("manufacturer_name\nBirch\nOak\nElm\nYew\n");
    let headers = FileHeaders(Some(("import-of", "1".to_owned())));
    let report = silent.store.import(&format!("{CREATE}&from_line=4"), headers, file).await;
    let report = report.text().await.unwrap();
    assert!(report.contains("\"created\":2"), "{report}");
    silent.send("Elm\nYew\n").await;
    let Silent { store, pieces, report } = silent;
    drop(pieces);
    let report = report.text().await.unwrap();
    assert!(report.contains("Another request has taken this import over."), "{report}");
    let mut reading = store.app.shop.store.begin_read().await.unwrap();
    let text = "SELECT count(*) FROM shop_manufacturers";
    assert_eq!(reading.number(Statement::fixed(text, Vec::new())).await.unwrap(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_wakes_up_and_is_alone_is_running_again() {
    let silent = Silent::import().await;
    silent.send("Elm\n").await;
    silent.until("committed_lines = 4").await;
    silent.until("state = 'running' AND ended_on IS NULL AND reason = ''").await;
    let Silent { store: _store, pieces, report } = silent;
    drop(pieces);
    let report = report.text().await.unwrap();
    assert!(report.contains("\"created\":3"), "{report}");
}

/// A program that was ended cannot note it, so it is noted when nothing has been heard for some minutes.
#[tokio::test(flavor = "multi_thread")]
async fn silent_imports_are_interrupted_and_old_ones_forgotten() {
    let store = Bare::of(Engine::of_this_run(), HostHandle::new(Directory::default())).await;
    let now = moment::render(moment::now());
    for (state, created, seen) in [
        ("running", &*now, "2026-01-01 00:00:00"),
        ("running", &*now, &*now),
        ("done", "2026-01-01 00:00:00", "2026-01-01 00:00:00"),
    ] {
        let [created, seen] = [created, seen].map(|moment| match Engine::of_this_run() {
            Engine::Sqlite => moment.replace(' ', "T"),
            Engine::Postgres | Engine::MariaDb => moment.replace('T', " "),
        });
        let insert = "INSERT INTO shop_imports (record_type, mode, key_field, state, created_on, seen_on) \
            VALUES ('zones', 'create', 'id', ";
        store.run(format!("{insert}'{state}', '{created}', '{seen}')")).await;
    }
    store.app.job("sweep_imports").await.unwrap();
    let mut reading = store.app.shop.store.begin_read().await.unwrap();
    let mut number = async |of: &str| {
        let text = format!("SELECT count(*) FROM shop_imports WHERE {of}");
        reading.number(Statement { text, binds: Vec::new() }).await.unwrap()
    };
    assert_eq!(number("1 = 1").await, 2);
    assert_eq!(number("shop_import_id = 1 AND state = 'interrupted' AND reason <> ''").await, 1);
    assert_eq!(number("shop_import_id = 2 AND state = 'running'").await, 1);
    reading.commit().await.unwrap();
}
