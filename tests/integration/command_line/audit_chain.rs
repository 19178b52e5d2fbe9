//! The chain of the audit trail: what it reveals, what does not break it, and exports of the trail.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::process::{MANUFACTURERS, Place, Served};
use crate::support::waiting::eventually;

/// A site with six entries: one of the installation, and five of commands.
async fn site() -> Place {
    let place = Place::of_the_fixture();
    here(&place, "user add ann --email ann@example.com --group Manager").await;
    for name in ["Clerks", "Juniors", "Seniors", "Tills"] {
        here(&place, &format!("group add {name} --parent Manager")).await;
    }
    place
}

async fn here(place: &Place, words: &str) -> String {
    place.call(words).env("DATABASE_URL", place.database.url()).finish().await.succeeds()
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
async fn every_later_change_of_the_trail_is_found() {
    let place = site().await;
    let line = here(&place, "audit verify").await;
    assert!(line.starts_with("6 entries verified, from 20"), "{line}");
    assert!(line.contains("; the last is 6 with the hash "), "{line}");

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
        ("host_audit_chain", "previous = 1", "previous = 2"),
    ];
    let other = other.map(|(table, change, back)| (table, change.to_owned(), back.to_owned()));
    for (table, change, back) in texts.map(longer).chain(other) {
        place.database.execute(&format!("UPDATE {table} SET {change} WHERE id = 3")).await;
        let line = fault(&place).await;
        match table {
            "host_audit" => assert!(line.starts_with("entry 3 of 20"), "{change}: {line}"),
            // That entry 3 does not follow entry 2 means that the latter does not belong there.
            _ => assert!(line.starts_with("entry 2 of 20"), "{change}: {line}"),
        }
        place.database.execute(&format!("UPDATE {table} SET {back} WHERE id = 3")).await;
        assert_eq!(verified(&place, &place.database.url()).await, 6, "{back}");
    }

    // Entries that were removed, with and without their hashes, in the middle and at both ends.
    for (id, of) in [(1, "at the beginning"), (4, "after that of "), (6, "after that of ")] {
        for tables in [&["host_audit"][..], &["host_audit", "host_audit_chain"]] {
            for table in tables {
                let hide = format!("UPDATE {table} SET id = id - 1000 WHERE id = {id}");
                place.database.execute(&hide).await;
            }
            let line = fault(&place).await;
            assert!(line.starts_with(&format!("entry {id} is missing, {of}")), "{line}");
            for table in tables {
                let show = format!("UPDATE {table} SET id = id + 1000 WHERE id = {}", id - 1000);
                place.database.execute(&show).await;
            }
        }
    }
    let copy = "INSERT INTO host_audit (done_on, user_id, username, username_fold, means, origin, \
         method, route, what, record_type, record_id, status, request_id) SELECT done_on, user_id, \
         username, username_fold, means, origin, method, route, what, record_type, record_id, \
         status, request_id FROM host_audit WHERE id = 2";
    place.database.execute(copy).await;
    let line = fault(&place).await;
    assert!(line.starts_with("entry 7 of 20") && line.ends_with("was inserted"), "{line}");
    // The next entry is appended to the chain, and not to what was inserted.
    here(&place, "user block ann").await;
    assert_eq!(fault(&place).await, line);
    place.database.execute("DELETE FROM host_audit WHERE id = 7").await;
    assert_eq!(verified(&place, &place.database.url()).await, 7);

    place
        .database
        .execute("UPDATE host_audit SET done_on = '2020-02-03 04:05:06' WHERE id = 5")
        .await;
    let line = fault(&place).await;
    assert_eq!(line, "entry 5 of 2020-02-03T04:05:06Z was changed");

    // A trail without its newest entries, or without any.
    place.database.execute("DELETE FROM host_audit WHERE id > 2").await;
    let line = fault(&place).await;
    assert!(line.starts_with("entry 3 is missing, after that of 20"), "{line}");
    place.database.execute("DELETE FROM host_audit").await;
    place.database.execute("DELETE FROM host_audit_chain").await;
    assert_eq!(fault(&place).await, "entry 8 is missing, at the beginning");
}

#[tokio::test]
async fn hosts_that_write_at_once_append_to_one_chain_which_is_verified_meanwhile() {
    let place = Place::of_the_store();
    let token = place.user("ann", "Manager").await;
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
async fn a_bounded_trail_stays_verifiable() {
    let place = Place::of_the_store();
    let token = place.user("ann", "Manager").await;
    let served = place.serve_with(&[("HOST_AUDIT_ENTRIES", "4")]).await;
    served.until(200, MANUFACTURERS, &token).await;
    for number in 0..6 {
        let body = json!({"manufacturer_name": format!("Birch {number}")}).to_string();
        let request = served.ask("POST", MANUFACTURERS, &token);
        let request = request.header("content-type", "application/json").body(body);
        assert_eq!(request.send().await.unwrap().status(), 201);
        eventually("the entry is written", async || {
            let line = place.run("audit verify").await;
            line.contains(&format!("; the last is {} ", 4 + number)).then_some(())
        })
        .await;
    }
    served.stop().await;
    assert_eq!(verified(&place, &place.site_url()).await, 4);
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
        for (_, value) in entry.as_object().unwrap().iter().filter(|(name, _)| *name != "hash") {
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
    assert!(lines.iter().skip(1).all(|line| line.ends_with(|last: char| last.is_ascii_hexdigit())));
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
        "DELETE FROM host_audit_chain",
        "UPDATE host_audit_head SET last_hash = zeroblob(32), anchor_id = 6, unchained_id = 6",
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
