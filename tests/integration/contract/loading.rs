//! A library that cannot be loaded ends the program before it listens; one that misbehaves later
//! costs one request.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::databases::Engine;
use crate::support::harness::{Answer, fixture, library};
use crate::support::process::{Place, Served};
use crate::support::waiting::eventually;

const MISBEHAVES: &str = "/api/index.php/v1/misbehaves";

/// Passes a file that must be refused before any of its code runs, with and without serving it.
/// Returns the line with the reason.
async fn unloadable(plugin: &Path) -> String {
    let place = Place::with([plugin.to_owned()]);
    let line = place.refusal("serve --listen 127.0.0.1:0").await;
    assert_eq!(place.refusal("user list").await, line);
    assert!(line.starts_with(&plugin.display().to_string()), "{line}");
    assert!(
        place.database.is_untouched().await,
        "a library that cannot be loaded left something behind"
    );
    line
}

/// The same for a file with these bytes.
async fn unloadable_bytes(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("some.plugin");
    std::fs::write(&file, bytes).unwrap();
    unloadable(&file).await
}

#[tokio::test]
async fn a_file_that_is_no_library_is_refused() {
    for bytes in [b"#!/bin/sh\necho plugin\n".as_slice(), b"", b"\x7fELF", &[0; 4096]] {
        assert!(unloadable_bytes(bytes).await.contains("not a library"));
    }
}

#[tokio::test]
async fn a_truncated_library_is_refused_wherever_it_is_cut() {
    for whole in [library(), fixture("misbehaves")] {
        let whole = std::fs::read(whole).unwrap();
        for length in [100, 5000, whole.len() / 2, whole.len() - 100] {
            let line = unloadable_bytes(&whole[..length]).await;
            assert!(line.contains("truncated"), "{length} of {} bytes: {line}", whole.len());
        }
    }
}

/// Without the section headers at its end, only the extent of its segments shows that something is
/// missing: the system's loader would map pages beyond the end of the file, and crash.
#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
#[tokio::test]
async fn a_truncated_stripped_library_is_refused() {
    let mut whole = std::fs::read(fixture("misbehaves")).unwrap();
    let number = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
    let (segments, count) = (number(0x20), usize::from(whole[0x38]));
    let end = (0..count).map(|nth| segments + nth * 56).map(|at| number(at + 8) + number(at + 32));
    let end = end.max().unwrap();
    // The position, size and number of the section headers.
    whole[0x28..0x30].fill(0);
    whole[0x3a..0x40].fill(0);
    for length in [5000, end / 2, end - 1] {
        let line = unloadable_bytes(&whole[..length]).await;
        assert!(line.contains("a truncated library"), "{length} bytes: {line}");
    }
}

#[tokio::test]
async fn a_path_without_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(unloadable(&folder.path().join("missing.so")).await.contains("cannot be read"));
    assert!(unloadable(folder.path()).await.ends_with("not a file"));
}

#[tokio::test]
async fn a_library_that_is_no_plugin_is_refused() {
    assert!(unloadable(&fixture("not_a_plugin")).await.ends_with("a library, but not a plugin"));
}

#[tokio::test]
async fn a_plugin_of_another_contract_is_refused() {
    let line = unloadable(&fixture("other_contract")).await;
    let own = host_interface::CONTRACT_VERSION;
    let ends = format!("uses version 99.0.0 of the contract; this host uses {own}");
    assert!(line.ends_with(&ends), "{line}");
}

#[tokio::test]
async fn a_plugin_of_another_layout_is_refused() {
    let line = unloadable(&fixture("other_layout")).await;
    assert!(line.contains("its data has another layout in memory"), "{line}");
}

#[tokio::test]
async fn a_plugin_that_fails_or_panics_before_it_serves_is_refused() {
    for (name, why) in [
        ("panics_in_create", "create failed: panicked: no plugin today nor tomorrow"),
        ("panics_in_describe", "describe failed: panicked: who am I and who are you"),
        ("panics_in_install", "install failed: panicked: no tables at all"),
        ("fails_in_install", "install failed: the disk is full of other things"),
    ] {
        let place = Place::with([fixture(name)]);
        let expected = format!("{}: {why}", fixture(name).display());
        for words in ["serve --listen 127.0.0.1:0", "", "user list"] {
            assert_eq!(place.refusal(words).await, expected);
        }
        // Nothing is created for a plugin before its description is known.
        assert_eq!(place.database.is_untouched().await, !name.ends_with("install"), "{name}");
    }
}

/// One library that cannot be served beside one that can, the reason, and the work that it stops.
#[tokio::test]
async fn a_library_that_cannot_be_served_leaves_the_others_in_service() {
    for (broken, why) in [
        (fixture("not_a_plugin"), "a library, but not a plugin"),
        (fixture("other_layout"), "its data has another layout in memory"),
        (fixture("panics_in_describe"), "describe failed: panicked: who am I and who are you"),
        (fixture("fails_in_install"), "install failed: the disk is full of other things"),
        (fixture("impossible_default"), "but its default is 0"),
        (fixture("misbehaves"), "misbehaves: is loaded twice"),
    ] {
        let place = Place::with([fixture("misbehaves"), broken.clone()]);
        let token = place.user("ann", "Manager").await;
        let served = place.serve().await;
        get(&served, &token, "echo/1/two").await.expect(200);
        served.stop().await;
        // What extensions keep is not worked on while one of them is missing.
        for words in ["check", "recount", "demo"] {
            let refused = place.call(words).finish().await;
            refused.exits(1);
            // The lines before it are those of the log.
            let errors = refused.err();
            let last = errors.lines().last().unwrap_or_default();
            assert!(last.contains(why), "{words}: {last}");
        }
    }
}

#[tokio::test]
async fn a_parameter_with_an_invalid_default_is_refused() {
    let place = Place::with([fixture("impossible_default")]);
    let why = "impossible-default: stars must be a whole number, from 1 to 5, but its default is 0";
    assert_eq!(place.refusal("user list").await, why);
    assert!(place.database.is_untouched().await);
}

/// The fixture, served, and the token of a manager.
async fn misbehaving() -> (Place, Served, String) {
    let place = Place::of_the_fixture();
    let token = place.user("ann", "Manager").await;
    let served = place.serve_with(&[("HOST_REQUEST_TIMEOUT", "1")]).await;
    (place, served, token)
}

/// Sends a request to a route of the fixture.
async fn get(served: &Served, token: &str, path: &str) -> Answer {
    Answer::to(served.get(&format!("{MISBEHAVES}/{path}"), token)).await
}

/// Fails the test unless an answer is a problem document of the host that names the request's id
/// and reveals nothing of the cause.
fn is_discreet(answer: &Answer, problem: &str) {
    assert_eq!(answer.errors(), [problem]);
    let detail = answer.json()["errors"][0]["detail"].to_string();
    assert!(detail.contains(answer.header("x-request-id")), "{detail}");
    let body = String::from_utf8_lossy(&answer.body);
    for internal in ["secret", "panic", "fixtures", ".rs", "misbehaves"] {
        assert!(!body.contains(internal), "shows {internal}: {body}");
    }
}

#[tokio::test]
async fn a_panic_is_a_500_for_that_request_alone() {
    let (_place, served, token) = misbehaving().await;
    for (path, secret) in
        [("panic", "the secret of the handler"), ("late-panic", "the secret of the future")]
    {
        for _ in 0..3 {
            is_discreet(&get(&served, &token, path).await.expect(500), "500 internal_error");
        }
        // The log contains the cause, for the operator.
        served.log.wait_for(secret).await;
    }
    get(&served, &token, "echo/1/after").await.expect(200);
    served.stop().await;
}

#[tokio::test]
async fn a_pending_handler_is_a_504_for_that_request_alone() {
    let (_place, served, token) = misbehaving().await;
    let (pending, meanwhile) = tokio::join!(get(&served, &token, "pending"), async {
        get(&served, &token, "echo/1/meanwhile").await
    });
    meanwhile.expect(200);
    is_discreet(&pending.expect(504), "504 timeout");
    get(&served, &token, "echo/1/after").await.expect(200);
    served.stop().await;
}

#[tokio::test]
async fn a_destructor_that_panics_ends_neither_the_process_nor_the_connection() {
    let (_place, served, token) = misbehaving().await;
    is_discreet(&get(&served, &token, "drop-panic").await.expect(504), "504 timeout");
    served.log.wait_for("the secret of the destructor").await;
    get(&served, &token, "echo/1/after").await.expect(200);
    served.stop().await;
}

#[tokio::test]
async fn an_invalid_response_header_is_dropped() {
    let (_place, served, token) = misbehaving().await;
    let answer = get(&served, &token, "illegal-header").await.expect(200);
    assert_eq!(answer.header("x-legal"), "kept");
    for dropped in ["x-illegal", "x-smuggled"] {
        assert!(!answer.headers.contains_key(dropped), "{dropped}");
    }
    // The server sets the length of the body.
    assert_eq!(answer.json(), json!({}));
    served.stop().await;
}

#[tokio::test]
async fn an_invalid_status_is_a_500() {
    let (_place, served, token) = misbehaving().await;
    is_discreet(&get(&served, &token, "illegal-status").await.expect(500), "500 internal_error");
    served.stop().await;
}

#[tokio::test]
async fn a_large_body_arrives_whole_in_either_direction() {
    let (_place, served, token) = misbehaving().await;
    let large = get(&served, &token, "large").await.expect(200).body;
    assert_eq!(large.len(), 1024 * 1024);
    assert!(large.iter().zip(0_u32..).all(|(byte, position)| u32::from(*byte) == position % 251));

    let sum: u64 = large.iter().map(|byte| u64::from(*byte)).sum();
    let sent = served.ask("POST", &format!("{MISBEHAVES}/echo/1/large"), &token).body(large);
    let echo = Answer::to(sent).await.expect(200).json();
    assert_eq!((&echo["body"], &echo["sum"]), (&json!(1024 * 1024), &json!(sum)));
    served.stop().await;
}

#[tokio::test]
async fn every_part_of_a_request_reaches_the_plugin() {
    let (_place, served, token) = misbehaving().await;
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        let path = "/api/index.php/v1/misbehaves/echo/007/a%20b";
        let request = served
            .ask(method, &format!("{path}?page[limit]=5&q=%C3%A4"), &token)
            .header("x-probe", "one")
            .header("X-Probe", "two")
            .body("four");
        let answer = Answer::to(request).await.expect(200);
        let echo = answer.json();
        assert_eq!(echo["method"], method);
        assert_eq!(echo["path"], path);
        assert_eq!(echo["params"], json!(["007", "a%20b"]));
        let query = echo["query"].as_str().unwrap();
        assert!(query.starts_with("page") && query.ends_with("&q=%C3%A4"), "{query}");
        assert_eq!(echo["probe"], json!(["one", "two"]));
        assert_eq!(echo["body"], 4);
        assert_eq!(echo["user"]["username"], "ann");
        assert_eq!(echo["user"]["email"], "ann@example.com");
        assert_eq!(echo["id"], answer.header("x-request-id"));
    }
    served.stop().await;
}

#[tokio::test]
async fn a_digits_parameter_matches_digits_only() {
    let (_place, served, token) = misbehaving().await;
    for path in ["echo/x/word", "echo/1x/word", "echo/-1/word", "echo//word", "echo/1", "echo/1/"] {
        assert_eq!(get(&served, &token, path).await.expect(404).errors(), ["404 not_found"]);
    }
    served.stop().await;
}

#[tokio::test]
async fn a_public_route_answers_anyone_and_knows_the_user_of_a_token() {
    let (_place, served, token) = misbehaving().await;
    let path = format!("{MISBEHAVES}/public");
    let anonymous = served.bare("GET", &path).header("accept", crate::support::harness::MEDIA_TYPE);
    assert_eq!(Answer::to(anonymous).await.expect(200).json()["user"], Value::Null);
    let known = get(&served, &token, "public").await.expect(200).json();
    assert_eq!(known["user"]["username"], "ann");
    // Wrong credentials are refused.
    let wrong = get(&served, "wrong", "public").await.expect(401);
    assert_eq!(wrong.errors(), ["401 unauthorised header Authorization"]);
    served.stop().await;
}

#[tokio::test]
async fn a_plugin_can_ask_its_host() {
    let (place, served, token) = misbehaving().await;
    let answer = get(&served, &token, "host").await.expect(200).json();
    let ann = answer["by_id"].clone();
    assert_eq!(ann["username"], "ann");
    assert_eq!(answer["by_name"], ann, "names are compared without regard to case");
    assert_eq!(answer["by_email"], ann, "addresses are compared without regard to case");
    assert_eq!(answer["nobody"], Value::Null);
    assert_eq!(answer["may_look"], true, "the rule that the plugin suggests");
    assert_eq!(answer["may_touch"], false);
    assert_eq!(answer["same_by_key"], true, "a caller who is not asking");
    assert_eq!(answer["stranger"], false);
    let parameters = json!({
        "greeting": "hello", "patience": 3, "mood": "calm", "ratio": "1.0", "days": [6, 7], "loud": 0,
    });
    assert_eq!(answer["parameters"], parameters);
    assert_eq!(answer["logs"], true);

    // Changes by the site take effect there without a restart.
    place.run("config set patience 5").await;
    place.run("permission set Manager fixture.look com_fixture deny").await;
    let changed = eventually("the plugin sees it", async || {
        let now = get(&served, &token, "host").await.json();
        (now["parameters"]["patience"] == 5 && now["may_look"] == false).then_some(now)
    });
    assert_ne!(changed.await["revision"], answer["revision"]);
    served.stop().await;
}

#[tokio::test]
async fn parameters_of_the_same_name_belong_to_their_extensions() {
    let place = Place::with([fixture("misbehaves"), fixture("neighbour")]);
    let token = place.user("ann", "Manager").await;
    let list = place.run("config list").await;
    let names: Vec<&str> = list.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names[0], "misbehaves/greeting");
    assert_eq!(names.last(), Some(&"neighbour/greeting"));
    assert!(names.contains(&"patience"), "what only one has is called as it was: {list}");
    for command in ["config get greeting", "config set greeting null"] {
        let line = place.refusal(command).await;
        let says = "name it misbehaves/greeting or neighbour/greeting";
        assert!(line.contains("several extensions") && line.contains(says), "{line}");
    }
    let set = place.call("config set neighbour/greeting").word("\"hi\"").finish().await;
    set.succeeds();
    for (name, value) in [
        ("misbehaves/greeting", "\"hello\"\n"),
        ("neighbour/greeting", "\"hi\"\n"),
        ("patience", "3\n"),
        ("misbehaves/patience", "3\n"),
    ] {
        assert_eq!(place.run(&format!("config get {name}")).await, value, "{name}");
    }
    assert!(place.refusal("config get neighbour/patience").await.contains("no parameter"));

    let served = place.serve().await;
    let neighbour = served.get("/api/index.php/v1/neighbour/greeting", &token);
    assert_eq!(Answer::to(neighbour).await.expect(200).json(), json!({"greeting": "hi"}));
    let other = get(&served, &token, "host").await.expect(200).json();
    assert_eq!(other["parameters"]["greeting"], "hello");
    served.stop().await;
}

#[tokio::test]
async fn a_mail_is_written_once_however_often_a_plugin_asks() {
    let (place, served, token) = misbehaving().await;
    let mail = json!({
        "id": "order-7-paid",
        "to": "bob@example.com",
        "to_name": "Bob Example",
        "subject": "Thank you",
        "text": "Your order\nhas been paid.\n",
    });
    let send = async |mail: &Value| {
        let path = format!("{MISBEHAVES}/mail");
        Answer::to(served.ask("POST", &path, &token).body(mail.to_string())).await
    };
    send(&mail).await.expect(204);
    send(&mail).await.expect(204);
    let written: Vec<_> = std::fs::read_dir(place.path("data/mail")).unwrap().collect();
    assert_eq!(written.len(), 1);
    let text = std::fs::read_to_string(place.path("data/mail/order-7-paid.eml")).unwrap();
    for line in ["Subject: Thank you", "Bob Example", "bob@example.com", "has been paid."] {
        assert!(text.contains(line), "{line}: {text}");
    }

    // An id that looks like a path, or values that would add headers, are refused.
    for (member, value) in [("id", "../order"), ("to", "nobody"), ("id", "")] {
        let mut wrong = mail.clone();
        wrong["id"] = "another".into();
        wrong[member] = value.into();
        let answer = send(&wrong).await.expect(200).json();
        assert!(answer["refused"].is_string(), "{member} {value:?}: {answer}");
    }
    let mut split = mail.clone();
    split["id"] = "split".into();
    split["subject"] = "Thank you\r\nBcc: all@example.com".into();
    send(&split).await;
    let split = std::fs::read_to_string(place.path("data/mail/split.eml")).unwrap_or_default();
    assert!(!split.lines().any(|line| line.starts_with("Bcc:")), "{split}");
    served.stop().await;
}

#[tokio::test]
async fn an_extension_can_authenticate_users_beside_the_hosts_tokens() {
    let place = Place::with([fixture("misbehaves"), fixture("authenticates")]);
    let token = place.user("ann", "Manager").await;
    place.user("bob", "Registered").await;
    let served = place.serve().await;
    let ask = async |authorization: &str| {
        let request = served.bare("GET", &format!("{MISBEHAVES}/echo/1/who"));
        let request = request.header("accept", crate::support::harness::MEDIA_TYPE);
        Answer::to(request.header("authorization", authorization)).await
    };
    for authorization in ["ApiKey user-1", "apikey user-1", &format!("Bearer {token}")] {
        assert_eq!(ask(authorization).await.expect(200).json()["user"]["username"], "ann");
    }
    for authorization in
        ["ApiKey wrong", "ApiKey user-99", "ApiKey user-", "Basic user-1", "Bearer user-1"]
    {
        let answer = ask(authorization).await.expect(401);
        assert_eq!(answer.errors(), ["401 unauthorised header Authorization"]);
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    // A failing extension authenticates nobody, and keeps working.
    assert_eq!(ask("ApiKey panic").await.expect(503).errors(), ["503 unavailable"]);
    ask("ApiKey user-2").await.expect(200);

    // The extension authenticates the user; the host decides about access.
    place.run("user block bob").await;
    eventually("bob is blocked", async || (ask("ApiKey user-2").await.status == 401).then_some(()))
        .await;
    place.run("extension disable authenticates").await;
    eventually("the extension is disabled", async || {
        (ask("ApiKey user-1").await.status == 401).then_some(())
    })
    .await;
    ask(&format!("Bearer {token}")).await.expect(200);
    served.stop().await;
}

#[tokio::test]
async fn two_plugins_are_served_by_one_host() {
    let place = Place::with([library(), fixture("misbehaves")]);
    let token = place.user("ann", "Manager").await;
    let served = place.serve().await;
    let store = "/api/index.php/v1/shop/manufacturers";
    Answer::to(served.get(store, &token)).await.expect(200);
    get(&served, &token, "echo/1/two").await.expect(200);
    // Each has a database of its own, and neither affects the other's.
    assert!(place.database.engine != Engine::Sqlite || place.path("data/shop.db").exists());
    get(&served, &token, "panic").await.expect(500);
    Answer::to(served.get(store, &token)).await.expect(200);
    let parameters = place.run("config list").await;
    assert!(parameters.contains("default_currency\t") && parameters.contains("patience\t3"));

    place.run("extension disable misbehaves").await;
    served.until(404, &format!("{MISBEHAVES}/echo/1/two"), &token).await;
    Answer::to(served.get(store, &token)).await.expect(200);
    served.stop().await;
}
