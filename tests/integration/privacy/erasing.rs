//! What an erasure leaves: nothing of the person, and everything that sums are made of.

use std::process::Command;

use host_interface::{Erased, Erasure, Method, Person};
use plugin::bulk::maintenance;
use plugin::privacy;
use serde_json::{Value, json};

use super::marked::{EMAIL, MARK, Marked, USER, answer};
use crate::support::databases::Engine;
use crate::support::mirror::Mirror;
use crate::support::waiting::eventually;

fn erasure() -> Erasure {
    Erasure::new(Person::of_email(EMAIL).user(USER), "asked by letter")
}

impl Marked {
    async fn erase(&self, erasure: &Erasure) -> Erased {
        privacy::erase(&self.store.app.shop, erasure).await.unwrap()
    }

    async fn check(&self) {
        let progress = host_interface::ProgressHandle::new(());
        let found = maintenance::check(&self.store.app.shop.store, &progress).await.unwrap();
        assert_eq!(found, [], "what is kept beside records is right");
    }

    /// Everything that a server writes out of the database, in lower case.
    fn dump(&self) -> String {
        let address = url::Url::parse(&self.store.database.url()).unwrap();
        let mut command = match self.store.database.engine {
            Engine::MariaDb => {
                let mut command = Command::new("mariadb-dump");
                command.arg("--host").arg(address.host_str().unwrap());
                command.arg("--port").arg(address.port().unwrap_or(3306).to_string());
                command.arg("--user").arg(address.username());
                command.env("MYSQL_PWD", address.password().unwrap_or_default());
                command.arg(address.path().trim_start_matches('/'));
                command
            }
            _ => {
                let mut command = Command::new("pg_dump");
                command.arg(format!("--dbname={address}"));
                command
            }
        };
        let dumped = command.output().unwrap();
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        String::from_utf8_lossy(&dumped.stdout).to_lowercase()
    }

    /// The figures of all reports, without the names and addresses of customers.
    async fn figures(&self) -> Vec<Value> {
        let mut figures = Vec::new();
        for report in ["sales", "products", "customers", "inventory"] {
            let path = format!("/reports/{report}");
            let mut document = self.ask(Method::Get, &path, Value::Null).await;
            for row in document["data"].as_array_mut().unwrap() {
                row.as_object_mut().unwrap().remove("id");
                for name in ["user_id", "email", "name"] {
                    row["attributes"].as_object_mut().unwrap().remove(name);
                }
            }
            figures.push(document);
        }
        figures
    }
}

#[tokio::test]
async fn a_copy_has_every_text_of_the_person_and_none_of_another() {
    let marked = Marked::open().await;
    marked.is_complete().await;
    let person = Person::of_email(" marker-EMAIL@person.example ").user(USER);
    let copy = privacy::export(&marked.store.app.shop, &person).await.unwrap();
    let copy = copy.text().await.unwrap();
    let places: serde_json::Map<String, Value> = serde_json::from_str(&copy).unwrap();
    let names: Vec<&str> = places.keys().map(String::as_str).collect();
    let all: Vec<&str> = privacy::PLACES.iter().map(privacy::Place::name).collect();
    assert_eq!(names, all, "each place has something");
    let lower = copy.to_lowercase();
    for place in privacy::PLACES {
        let resource = place.resource(plugin::resources::REGISTRY).unwrap();
        let records = &places[place.name()];
        for field in resource.fields().filter(|field| field.personal.is_some()) {
            assert!(records[0].get(field.name).is_some(), "{} lacks {}", place.name(), field.name);
        }
    }
    for mark in
        ["orderitem-attributes", "tracking-url", "refund-comment", "tax-number", "kept-answer"]
    {
        assert!(lower.contains(&format!("{MARK}{mark}")), "{mark} is missing");
    }
    assert!(!lower.contains("other"), "nothing of another person");
}

#[tokio::test]
async fn nothing_of_an_erased_person_remains_anywhere() {
    let marked = Marked::open().await;
    let mut mirror = Mirror::of_all(100);
    mirror.catch_up(&marked.store).await;
    let figures = marked.figures().await;
    marked.check().await;

    let erased = marked.erase(&erasure()).await;
    assert_eq!(erased.remaining, std::collections::BTreeMap::new());
    assert_eq!(erased.open, [""; 0]);
    for place in privacy::PLACES {
        assert!(erased.counts.contains_key(place.name()), "{} in {erased:?}", place.name());
    }
    assert_eq!(marked.marks(MARK).await, [""; 0]);
    assert!(!marked.marks("other-").await.is_empty());

    // Sums, and the answers that are made of them, are as before.
    marked.check().await;
    assert_eq!(marked.figures().await, figures);

    // Whoever follows the feed has nothing of the person, either.
    let changed = mirror.catch_up(&marked.store).await;
    assert!(changed.contains(&"orders/1".to_owned()), "{changed:?}");
    let copy = format!("{:?}", mirror.records).to_lowercase();
    assert!(!copy.contains(MARK), "{copy}");
    let whole = "/orders/1?include=items,history,refunds,shipments";
    for path in ["/orders", whole, "/customers", "/vouchers", "/imports/1/faults"] {
        let document = marked.ask(Method::Get, path, Value::Null).await;
        assert!(!document.to_string().to_lowercase().contains(MARK), "{path}: {document}");
    }
    for search in ["marker", "marker-email", "person.example"] {
        let path = format!("/orders?filter[search]={search}");
        let found = marked.ask(Method::Get, &path, Value::Null).await;
        assert_eq!(found["data"], json!([]), "{search}");
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn what_the_law_asks_for_stays() {
    let marked = Marked::open().await;
    let before = marked.ask(Method::Get, "/orders/1", Value::Null).await;
    marked.erase(&erasure()).await;
    let after = marked.ask(Method::Get, "/orders/1", Value::Null).await;
    let (before, after) = (&before["data"]["attributes"], &after["data"]["attributes"]);
    for kept in [
        "order_id",
        "created_on",
        "order_total",
        "order_subtotal",
        "order_tax",
        "order_refund",
        "currency_code",
        "invoice_number",
        "invoice_prefix",
        "order_state_id",
        "orderpayment_type",
    ] {
        assert_eq!(after[kept], before[kept], "{kept}");
    }
    assert_eq!(after["user_id"], json!(0));
    let email = after["user_email"].as_str().unwrap();
    assert!(email.starts_with("erased-") && email.ends_with("@erased.invalid"), "{email}");
    let items = marked.ask(Method::Get, "/orders/1/items", Value::Null).await;
    assert_eq!(items["data"][0]["attributes"]["orderitem_quantity"], json!(2));
    let voucher = marked.ask(Method::Get, "/vouchers/1/ledger", Value::Null).await;
    assert_eq!(voucher["data"][0]["attributes"]["amount"], json!("-2.00"));
    assert_eq!(voucher["data"][0]["attributes"]["reason"], json!("erased"));
}

/// A reference may be the id of anything else.
#[tokio::test]
async fn stored_answers_about_others_stay_whatever_the_references_of_orders_are() {
    let marked = Marked::open().await;
    let order = json!({"user_email": EMAIL, "order_id": "2", "order_state_id": 8,
        "items": [{"product_id": 1}]});
    marked.ask(Method::Post, "/orders", order).await;
    marked.erase(&erasure()).await;
    let kept = "SELECT count(*) FROM shop_keys WHERE idempotency_key = 'other'";
    assert_eq!(marked.number(kept).await, 1);
    assert_eq!(marked.number("SELECT count(*) FROM shop_keys").await, 1);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_erasure_can_be_repeated_and_changes_nothing_more() {
    let marked = Marked::open().await;
    marked.erase(&erasure()).await;
    let version = marked.number("SELECT version FROM shop_orders WHERE shop_order_id = 1").await;
    let again = marked.erase(&erasure()).await;
    assert_eq!((again.counts.len(), again.remaining.len()), (0, 0), "{again:?}");
    let now = marked.number("SELECT version FROM shop_orders WHERE shop_order_id = 1").await;
    assert_eq!(now, version);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_dry_run_counts_what_the_erasure_changes_and_changes_nothing() {
    let marked = Marked::open().await;
    let marks = marked.marks(MARK).await;
    let dry = marked.erase(&erasure().dry_run()).await;
    assert_eq!(marked.marks(MARK).await, marks);
    let erased = marked.erase(&erasure()).await;
    assert_eq!(dry.counts, erased.counts);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_person_is_found_by_the_hash_of_the_address_alone() {
    let marked = Marked::open().await;
    let hash = marked.store.app.shop.host.email_hash(EMAIL).unwrap();
    let erasure = Erasure::new(Person::of_email_hash(hash), "restored");
    let erased = marked.erase(&erasure).await;
    assert_eq!(erased.counts.get("orders"), Some(&1));
    assert_eq!(marked.marks(MARK).await, [""; 0]);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn open_orders_are_named_and_kept_unless_the_erasure_is_forced() {
    let marked = Marked::open().await;
    let open = json!({"user_email": EMAIL, "order_id": "OPEN-1", "items": [{"product_id": 1}]});
    marked.ask(Method::Post, "/orders", open).await;
    let marks = marked.marks(MARK).await;
    let refused = marked.erase(&erasure()).await;
    assert_eq!(refused.open, ["OPEN-1"]);
    assert!(refused.is_refused(&erasure()));
    assert_eq!(marked.marks(MARK).await, marks);
    // A status with which nothing is on the pick list completes it.
    marked.erase(&erasure().force()).await;
    assert_eq!(marked.marks(MARK).await, [""; 0]);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn another_person_is_left_as_they_were() {
    let marked = Marked::open().await;
    let read = async || {
        let mut all = Vec::new();
        for path in
            ["/orders/2", "/orders/2/items", "/orders/2/history", "/customers", "/vouchers/2"]
        {
            all.push(answer(&marked.store, Method::Get, path, Value::Null).await.1);
        }
        all
    };
    let mut before = read().await;
    marked.erase(&erasure()).await;
    let mut after = read().await;
    // The list of customers has lost the person.
    let customers = |all: &mut Vec<Value>| all.remove(3)["data"].as_array().unwrap().len();
    assert_eq!(customers(&mut before), customers(&mut after) + 1);
    assert_eq!(after, before);
}

/// On this engine, what was deleted stays in the file until it is vacuumed, and in an index of texts until it is
/// merged, unless an erasure takes care of it.
#[cfg_attr(not(engine = "sqlite"), ignore = "it reads the file of the database")]
#[tokio::test]
async fn the_file_has_nothing_of_an_erased_person_after_vacuum() {
    let marked = Marked::open().await;
    assert_eq!(marked.store.database.engine, Engine::Sqlite);
    assert!(parts_in_indexes(&marked).await.iter().all(|count| *count > 0));
    marked.erase(&erasure()).await;
    is_gone_from_the_file(&marked).await;
}

/// An index of texts forgets a few orders one by one, and is written anew instead if they are a large part of all.
#[cfg_attr(not(engine = "sqlite"), ignore = "it reads the file of the database")]
#[tokio::test]
async fn the_file_has_nothing_of_an_erased_person_with_many_orders_either() {
    let marked = Marked::open().await;
    for _ in 0..500 {
        let order = json!({"user_email": EMAIL, "order_state_id": 8,
            "billing_last_name": "marker", "items": [{"product_id": 1}]});
        marked.ask(Method::Post, "/orders", order).await;
    }
    let parts = "SELECT count(DISTINCT segid) FROM shop_orders_search_idx";
    assert!(marked.number(parts).await > 1);
    let erased = marked.erase(&erasure()).await;
    assert_eq!(erased.counts.get("orders"), Some(&501));
    assert_eq!(marked.number(parts).await, 1, "it is written anew");
    is_gone_from_the_file(&marked).await;
    marked.check().await;
    let search = "/orders?filter[search]=other-billing-last-name";
    let found = marked.ask(Method::Get, search, Value::Null).await;
    assert_eq!(found["data"].as_array().map(Vec::len), Some(1), "those of others are found");
}

async fn is_gone_from_the_file(marked: &Marked) {
    marked.store.run("VACUUM").await;
    let files = || {
        let all = std::fs::read_dir(marked.store.database.folder.path()).unwrap();
        all.map(|file| file.unwrap().path())
    };
    // Nothing is left of the log as soon as nobody reads from it any more.
    eventually("an empty log", async || {
        marked.store.run("PRAGMA wal_checkpoint(TRUNCATE)").await;
        let mut logs = files().filter(|file| file.to_string_lossy().ends_with("-wal"));
        logs.all(|log| log.metadata().unwrap().len() == 0).then_some(())
    })
    .await;
    let mut read = 0;
    for file in files() {
        let bytes = std::fs::read(file).unwrap().to_ascii_lowercase();
        read += bytes.len();
        for text in ["marker", "person.example"] {
            assert!(!bytes.windows(text.len()).any(|found| found == text.as_bytes()), "{text}");
        }
    }
    assert!(read > 0);
    assert_eq!(parts_in_indexes(marked).await, [0, 0], "orders, addresses");
}

/// How many parts of texts of the person the indexes of orders and of addresses have, each of three characters. Those
/// of orders have an "o", which the random number of an order never has.
async fn parts_in_indexes(marked: &Marked) -> [i64; 2] {
    let count = async |table: &str, parts: &str| {
        let terms = format!("SELECT count(*) FROM {table}_terms WHERE term IN ({parts})");
        marked.number(&terms).await
    };
    [
        count("shop_orders_search", "'rso', 'son'").await,
        count("shop_addresses_search", "'mar', 'ark', 'rke'").await,
    ]
}

/// Backups of a server are made of dumps.
#[cfg_attr(engine = "sqlite", ignore = "the file is what the database keeps")]
#[tokio::test]
async fn a_dump_of_the_database_has_nothing_of_an_erased_person() {
    let marked = Marked::open().await;
    let before = marked.dump();
    assert!(before.contains("marker-billing-last-name"), "a dump has the texts of orders");
    marked.erase(&erasure()).await;
    let after = marked.dump();
    for text in ["marker", "person.example"] {
        let line = after.lines().find(|line| line.contains(text));
        assert_eq!(line, None, "{text}");
    }
    assert!(after.contains("other-billing-last-name"), "a dump has the texts of others");
}
