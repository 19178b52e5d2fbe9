//! The chain of the audit trail: what it reveals, what does not break it, and exports of the trail.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::process::{Call, MANUFACTURERS, Place, Served};
use crate::support::waiting::eventually;

/// A site with six lasting entries: one of the installation, and five of commands.
async fn site() -> Place {
    let place = Place::of_the_fixture();
    here(&place, "user add ann --email ann@example.com --group Manager").await;
    for name in ["Clerks", "Juniors", "Seniors", "Tills"] {
        here(&place, &format!("group add {name} --parent Manager")).await;
    }
    place
}

/// A site with three lasting entries, of the installation and of commands, and then six of changes through
/// the API.
async fn site_with_changes() -> Place {
    let place = Place::of_the_store();
    here(&place, "user add ann --email ann@example.com --group Manager").await;
    let token = here(&place, "token generate ann").await.trim().to_owned();
    let served = serve_here(&place, &[]).await;
    served.until(200, MANUFACTURERS, &token).await;
    for number in 0..6 {
        add(&served, &token, &format!("Birch {number}")).await;
    }
    served.stop().await;
    place
}

/// Adds a manufacturer through the API.
async fn add(served: &Served, token: &str, name: &str) {
    let body = json!({"manufacturer_name": name}).to_string();
    let request = served.ask("POST", MANUFACTURERS, token);
    let request = request.header("content-type", "application/json").body(body);
    assert_eq!(request.send().await.unwrap().status(), 201);
}

async fn here(place: &Place, words: &str) -> String {
    place.call(words).env("DATABASE_URL", place.database.url()).finish().await.succeeds()
}

async fn serve_here(place: &Place, environment: &[(&str, &str)]) -> Served {
    let call = place.call("serve --listen 127.0.0.1:0").env("DATABASE_URL", place.database.url());
    let set = |call: Call, (name, value): &(&str, &str)| call.env(name, value);
    environment.iter().fold(call, set).start().await
}

/// What `audit verify` complains about.
async fn fault(place: &Place) -> String {
    let call = place.call("audit verify").env("DATABASE_URL", place.database.url());
    let line = call.finish().await.fails();
    line.strip_prefix("the audit trail is broken: ").unwrap().to_owned()
}

/// The number of entries that `audit verify` finds in order.
async fn verified(place: &Place, url: &str) -> usize {
    let line = place.call("audit verify").env("DATABASE_URL", url).finish().await.succeeds();
    assert_eq!(line.lines().count(), 1);
    let (count, _) = line.split_once(" entries verified").unwrap();
    count.parse().unwrap()
}

#[tokio::test]
async fn every_later_change_of_lasting_entries_is_found() {
    let place = site().await;
    let line = here(&place, "audit verify").await;
    assert!(line.starts_with("6 entries verified, from 20"), "{line}");
    assert!(line.contains("; the last lasting entry is 6 with the hash "), "{line}");
    assert!(!line.contains("; the last other entry "), "{line}");
    finds_every_change(&place, "host_audit_lasting_chain", 0).await;
    finds_what_is_at_the_end(&place, 0, 8).await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "the test above sends the same to a server")]
async fn every_later_change_of_other_entries_is_found() {
    let place = site_with_changes().await;
    let line = here(&place, "audit verify").await;
    assert!(line.starts_with("9 entries verified, from 20"), "{line}");
    assert!(line.contains("; the last lasting entry is 3 with the hash "), "{line}");
    assert!(line.contains("; the last other entry is 9 with the hash "), "{line}");
    finds_every_change(&place, "host_audit_chain", 3).await;
    finds_what_is_at_the_end(&place, 3, 9).await;
}

/// Changes the six entries of a chain that follow the entry `before`, in every way.
async fn finds_every_change(place: &Place, chain: &'static str, before: i64) {
    let database = &place.database;
    let intact = usize::try_from(before).unwrap() + 6;
    let nth = |number: i64| before + number;
    let (second, third) = (nth(2), nth(3));

    let texts = ["username", "username_fold", "means", "origin", "method", "route", "what"];
    let texts = texts.into_iter().chain(["record_type", "record_id", "request_id"]);
    let longer = |column| {
        let back = format!("{column} = substr({column}, 1, length({column}) - 1)");
        ("host_audit", format!("{column} = concat({column}, 'x')"), back)
    };
    let other = [
        ("host_audit", "user_id = user_id + 1", "user_id = user_id - 1"),
        ("host_audit", "status = status + 1", "status = status - 1"),
        ("host_audit", "client_request_id = ''", "client_request_id = NULL"),
        (chain, "previous = previous - 1", "previous = previous + 1"),
    ];
    let other = other.map(|(table, change, back)| (table, change.to_owned(), back.to_owned()));
    for (table, change, back) in texts.map(longer).chain(other) {
        database.execute(&format!("UPDATE {table} SET {change} WHERE id = {third}")).await;
        let line = fault(place).await;
        // That an entry does not follow the one before it means that the latter does not belong there.
        let found = if table == "host_audit" { third } else { second };
        assert!(line.starts_with(&format!("entry {found} of 20")), "{change}: {line}");
        database.execute(&format!("UPDATE {table} SET {back} WHERE id = {third}")).await;
        assert_eq!(verified(place, &database.url()).await, intact, "{back}");
    }

    // Entries that were removed, with and without their hashes, in the middle and at both ends.
    for (id, of) in
        [(nth(1), "at the beginning"), (nth(4), "after that of "), (nth(6), "after that of ")]
    {
        for tables in [&["host_audit"][..], &["host_audit", chain]] {
            for table in tables {
                let hide = format!("CREATE TABLE hidden_{table} AS SELECT * FROM {table}");
                database.execute(&format!("{hide} WHERE id = {id}")).await;
                database.execute(&format!("DELETE FROM {table} WHERE id = {id}")).await;
            }
            let line = fault(place).await;
            assert!(line.starts_with(&format!("entry {id} is missing, {of}")), "{line}");
            for table in tables {
                let show = format!("INSERT INTO {table} SELECT * FROM hidden_{table}");
                database.execute(&show).await;
                database.execute(&format!("DROP TABLE hidden_{table}")).await;
            }
        }
    }

    // Entries that were inserted before all others, where no key is ever given.
    let columns = "done_on, user_id, username, username_fold, means, origin, method, route, what, \
         record_type, record_id, status, request_id";
    let of_second = format!("{columns} FROM host_audit WHERE id = {second}");
    for id in [0, -1, -5_000_000_000_i64] {
        let copy = format!("INSERT INTO host_audit (id, {columns}) SELECT -7, {of_second}");
        database.execute(&copy).await;
        // MariaDB takes 0 in an insertion to mean the next key.
        database.execute(&format!("UPDATE host_audit SET id = {id} WHERE id = -7")).await;
        let line = fault(place).await;
        assert!(line.starts_with(&format!("entry {id} of 20")), "{line}");
        assert!(line.ends_with("was inserted"), "{line}");
        database.execute(&format!("DELETE FROM host_audit WHERE id = {id}")).await;
        assert_eq!(verified(place, &database.url()).await, intact);
    }
}

/// Inserts an entry after the six that follow the entry `before`, and in the end removes all; `last` is then
/// the last of the chain that ends first.
async fn finds_what_is_at_the_end(place: &Place, before: i64, last: i64) {
    let database = &place.database;
    let nth = |number: i64| before + number;
    let columns = "done_on, user_id, username, username_fold, means, origin, method, route, what, \
         record_type, record_id, status, request_id";
    let copy = format!(
        "INSERT INTO host_audit ({columns}) SELECT {columns} FROM host_audit WHERE id = {}",
        nth(2)
    );
    database.execute(&copy).await;
    let line = fault(place).await;
    assert!(line.starts_with(&format!("entry {} of 20", nth(7))), "{line}");
    assert!(line.ends_with("was inserted"), "{line}");
    // The next entry is appended to its chain, and not to what was inserted.
    here(place, "user block ann").await;
    assert_eq!(fault(place).await, line);
    database.execute(&format!("DELETE FROM host_audit WHERE id = {}", nth(7))).await;
    let count = usize::try_from(nth(7)).unwrap();
    assert_eq!(verified(place, &database.url()).await, count);

    let moved = "UPDATE host_audit SET done_on = '2020-02-03 04:05:06' WHERE id";
    database.execute(&format!("{moved} = {}", nth(5))).await;
    let line = fault(place).await;
    assert_eq!(line, format!("entry {} of 2020-02-03T04:05:06Z was changed", nth(5)));

    // A trail without its newest entries, or without any.
    database.execute(&format!("DELETE FROM host_audit WHERE id > {}", nth(2))).await;
    let line = fault(place).await;
    assert!(line.starts_with(&format!("entry {} is missing, after that of 20", nth(3))), "{line}");
    for table in ["host_audit", "host_audit_chain", "host_audit_lasting_chain"] {
        database.execute(&format!("DELETE FROM {table}")).await;
    }
    assert_eq!(fault(place).await, format!("entry {last} is missing, at the beginning"));
}

#[tokio::test]
async fn hosts_that_write_at_once_append_to_one_chain_which_is_verified_meanwhile() {
    let (place, token) = Place::with_ann("Manager").await;
    let (left, right) = tokio::join!(place.serve(), place.serve());
    for host in [&left, &right] {
        host.until(200, MANUFACTURERS, &token).await;
    }
    let write = async |host: &Served, name: &str| {
        for number in 0..260 {
            let body = json!({"manufacturer_name": format!("{name} {number}")}).to_string();
            let request = host.ask("POST", MANUFACTURERS, &token);
            let request = request.header("content-type", "application/json").body(body);
            assert_eq!(request.send().await.unwrap().status(), 201);
        }
    };
    let command = async |name: &str| {
        for number in 0..5 {
            place.run(&format!("group add {name}{number} --parent Manager")).await;
        }
    };
    let watch = async || {
        for _ in 0..5 {
            verified(&place, &place.site_url()).await;
        }
    };
    tokio::join!(
        write(&left, "left"),
        write(&right, "right"),
        command("Clerks"),
        command("Tills"),
        watch()
    );
    left.stop().await;
    right.stop().await;
    // The installation, the user and the token before these; more than are read at a time.
    let count = 3 + 2 * 260 + 2 * 5;
    assert_eq!(verified(&place, &place.site_url()).await, count);
    assert_eq!(objects(&place.run("audit export").await).len(), count);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_bounded_trail_stays_verifiable() {
    let (place, token) = Place::with_ann("Manager").await;
    let served = place.serve_with(&[("HOST_AUDIT_ENTRIES", "4")]).await;
    served.until(200, MANUFACTURERS, &token).await;
    for number in 0..6 {
        add(&served, &token, &format!("Birch {number}")).await;
        eventually("the entry is written", async || {
            let line = place.run("audit verify").await;
            line.contains(&format!("; the last other entry is {} ", 4 + number)).then_some(())
        })
        .await;
    }
    served.stop().await;
    // The installation, the user and the token are kept as long as it takes.
    assert_eq!(verified(&place, &place.site_url()).await, 3 + 4);
}

#[tokio::test]
async fn entries_about_rights_outlast_any_number_of_others() {
    let place = Place::of_the_store();
    here(&place, "user add ann --email ann@example.com --group Manager").await;
    let token = here(&place, "token generate ann").await.trim().to_owned();
    for words in [
        "group add Clerks --parent Manager",
        "permission set Clerks store.edit com_shop allow",
        "config set low_stock_threshold 3",
        "extension disable token-auth",
        "extension enable token-auth",
        "user block ann",
        "user unblock ann",
    ] {
        here(&place, words).await;
    }
    let export = async || objects(&here(&place, "audit export").await);
    let granted = export().await;
    assert_eq!(granted.len(), 10);
    assert!(granted.iter().all(|entry| entry["chain"] == "lasting"));

    let bounds = [("HOST_AUDIT_ENTRIES", "3"), ("HOST_AUDIT_DAYS", "30")];
    let served = serve_here(&place, &bounds).await;
    served.until(200, MANUFACTURERS, &token).await;
    for number in 0..40 {
        add(&served, &token, &format!("Birch {number}")).await;
        if number % 10 == 5 {
            // Entries of both kinds take turns in the trail.
            here(&place, &format!("group add Till{number} --parent Clerks")).await;
        }
    }
    served.stop().await;
    let kept = export().await;
    assert_eq!(kept[..10], granted);
    let count = |chain: &str| kept.iter().filter(|entry| entry["chain"] == chain).count();
    assert_eq!(count("lasting"), 14);
    // Those of both kinds have their keys from one sequence, by which the others are counted.
    assert!((1..=3).contains(&count("other")), "{}", count("other"));
    assert_eq!(verified(&place, &place.database.url()).await, kept.len());

    // After their days, the oldest ones go.
    let aged = "UPDATE host_audit SET done_on = '2020-02-03 04:05:06' WHERE id <= 8";
    place.database.execute(aged).await;
    let served = serve_here(&place, &bounds).await;
    served.until(200, MANUFACTURERS, &token).await;
    add(&served, &token, "Larch").await;
    served.stop().await;
    let lasting = export().await;
    let lasting: Vec<&Value> = lasting.iter().filter(|entry| entry["chain"] == "lasting").collect();
    assert_eq!(lasting.len(), 6);
    assert_eq!(lasting[0]["id"], 9);
    assert!(verified(&place, &place.database.url()).await >= 6);
    here(&place, "user block ann").await;
    assert!(verified(&place, &place.database.url()).await >= 7);
}

/// The lines of an export as JSON.
fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn an_export_has_all_columns_and_hashes_that_others_can_compute() {
    let place = site().await;
    let text = here(&place, "audit export").await;
    let entries = objects(&text);
    assert_eq!(entries.len(), 6);
    let names: Vec<&String> = entries[0].as_object().unwrap().keys().collect();
    let mut before = [0; 32].to_vec();
    for entry in &entries {
        let mut hash = Sha256::new();
        hash.update(&before);
        let columns = entry.as_object().unwrap().iter();
        for (_, value) in columns.filter(|(name, _)| *name != "hash" && *name != "chain") {
            let text = match value {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                number => Some(number.to_string()),
            };
            let length = text.as_ref().map_or(u64::MAX, |text| text.len() as u64);
            hash.update(length.to_be_bytes());
            hash.update(text.unwrap_or_default());
        }
        before = hash.finalize().to_vec();
        let hash: String = before.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(entry["hash"], hash.as_str(), "{entry}");
    }
    let last = entries[5]["hash"].as_str().unwrap();
    assert!(here(&place, "audit verify").await.trim().ends_with(last));

    let csv = here(&place, "audit export --format csv").await;
    let lines: Vec<&str> = csv.strip_suffix("\r\n").unwrap().split("\r\n").collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0].split(',').collect::<Vec<_>>(), names);
    // The rule that the extension suggests, in which there is a comma, is in quotes.
    assert!(lines.iter().skip(1).all(|line| line.ends_with(",lasting")));
    assert!(csv.contains(",group add,add a group,group,6,"), "{csv}");
    place.database.execute("UPDATE host_audit SET username = '=1+1, \"x\"' WHERE id = 2").await;
    let csv = here(&place, "audit export --format csv").await;
    assert!(csv.contains(",\"'=1+1, \"\"x\"\"\","), "{csv}");

    for (words, count) in [
        ("--since 2020-01-01T00:00:00", 6),
        ("--until 2020-01-01T00:00:00Z", 0),
        ("--since 9000-01-01T00:00:00+01:00 --until 9001-01-01T00:00:00Z", 0),
        ("--since 2020-01-01T00:00:00Z --until 9001-01-01T00:00:00Z --format ndjson", 6),
    ] {
        let text = here(&place, &format!("audit export {words}")).await;
        assert_eq!(objects(&text).len(), count, "{words}");
    }
    for words in ["--since yesterday", "--until 2020-01-32", "--format xml"] {
        place.call(&format!("audit export {words}")).finish().await.exits(2);
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "the other engines add tables only")]
async fn entries_from_before_there_was_a_chain_stay() {
    let place = site().await;
    for statement in [
        "DELETE FROM host_audit_lasting_chain",
        "UPDATE host_audit_lasting_head SET last_id = 0, last_hash = zeroblob(32)",
        "UPDATE host_audit_head SET last_id = 6, anchor_id = 6, unchained_id = 6",
    ] {
        place.database.execute(statement).await;
    }
    here(&place, "user block ann").await;
    let line = here(&place, "audit verify").await;
    assert!(line.starts_with("1 entries verified, from "), "{line}");
    assert!(line.contains("; 6 earlier ones are from before there was a chain; "), "{line}");
    let entries = objects(&here(&place, "audit export").await);
    assert_eq!(entries.iter().filter(|entry| entry["hash"].is_null()).count(), 6);
    assert_eq!(entries.len(), 7);
}
