//! The log: an id and a line for each request, and the address of the client.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::support::fixture::{BELIEVED, ECHO, HELD, PENDING, echo, request, serve};
use crate::support::harness::Answer;
use crate::support::process::Place;
use crate::support::waiting::eventually;

#[tokio::test]
async fn every_response_has_an_id_of_its_own() {
    let (_place, served, token) = serve(&[]).await;
    let mut seen = std::collections::HashSet::new();
    for path in [ECHO, ECHO, PENDING, "/health", "/", "/api/index.php/v1/nothing"] {
        // The handler that never answers is called without a token.
        let request =
            if path == PENDING { served.bare("GET", path) } else { served.get(path, &token) };
        let answer = Answer::to(request).await;
        assert!(seen.insert(answer.header("x-request-id").to_owned()), "{path}: each id is unique");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
    served.stop().await;
}

#[tokio::test]
async fn the_request_id_of_a_proxy_is_kept_if_it_is_safe_to_log() {
    let (_place, served, token) = serve(&[BELIEVED]).await;
    let ask = async |id: &str| {
        let answer = Answer::to(echo(&served, &token).header("x-request-id", id)).await.expect(200);
        let given = answer.header("x-request-id").to_owned();
        assert_eq!(answer.json()["id"], given, "the plugin gets the same id");
        given
    };
    let longest = "x".repeat(64);
    for id in ["a", "A-1_b.c", &longest] {
        assert_eq!(ask(id).await, id);
    }
    let too_long = "x".repeat(65);
    for id in ["", "a b", "a\"b", "a/b", "ä", "a\tb", &too_long] {
        let given = ask(id).await;
        assert_ne!(given, id);
        assert!(!given.is_empty());
    }
    served.stop().await;
}

#[tokio::test]
async fn clients_cannot_choose_the_id_of_their_requests() {
    let (_place, served, token) = serve(&[]).await;
    let mut given = std::collections::HashSet::new();
    for _ in 0..2 {
        let ask = echo(&served, &token).header("x-request-id", "chosen");
        let answer = Answer::to(ask).await.expect(200);
        let id = answer.header("x-request-id").to_owned();
        assert_eq!(answer.json()["id"], id, "the plugin gets the same id");
        let line = served.log.wait_for(&format!("request_id=\"{id}\"")).await;
        assert!(line.ends_with("client_request_id=\"chosen\""), "what it says is beside: {line}");
        assert!(given.insert(id), "each id is unique");
    }
    served.stop().await;
}

#[tokio::test]
async fn every_request_has_its_line_in_the_log() {
    let (_place, served, token) = serve(&[("HOST_LOG_FORMAT", "json"), BELIEVED]).await;
    let line = async |id: &str| {
        let quoted = format!("\"request_id\":\"{id}\"");
        let line = served.log.wait_for(&quoted).await;
        assert_eq!(line.matches(id).count(), 1, "once is enough: {line}");
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let request = served.ask("POST", &format!("{ECHO}?q=private"), &token).body("four");
    let answer = Answer::to(request.header("x-request-id", "posted")).await.expect(200);
    let posted = line("posted").await;
    for (member, value) in [
        ("target", json!("access")),
        ("level", json!("INFO")),
        ("method", json!("POST")),
        ("path", json!(ECHO)),
        ("route", json!("misbehaves.echo")),
        ("status", json!(200)),
        ("bytes", json!(answer.body.len())),
        ("user", json!(1)),
        ("client", json!("127.0.0.1")),
        ("span", json!({ "name": "request", "request_id": "posted" })),
    ] {
        assert_eq!(posted[member], value, "{member}: {posted}");
    }
    assert!(posted["duration_us"].is_u64(), "{posted}");
    assert!(posted["timestamp"].is_string(), "{posted}");

    Answer::to(served.bare("GET", "/nowhere").header("x-request-id", "lost")).await.expect(404);
    let lost = line("lost").await;
    assert_eq!(
        (&lost["status"], &lost["user"], &lost["route"]),
        (&json!(404), &json!(0), &json!(""))
    );

    let log = served.log.all().join("\n");
    assert!(
        !log.contains(&token) && !log.contains("private"),
        "more than anybody should read: {log}"
    );
    // Every line is JSON.
    for line in served.log.all() {
        serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    served.stop().await;
}

#[tokio::test]
async fn log_lines_about_a_request_have_its_id() {
    let (_place, served, token) = serve(&[BELIEVED]).await;
    let panic = served.get("/api/index.php/v1/misbehaves/panic", &token);
    Answer::to(panic.header("x-request-id", "quoted-1")).await.expect(500);
    let line = served.log.wait_for("the secret of the handler").await;
    assert!(line.contains("quoted-1"), "{line}");
    let line = served.log.wait_for("access").await;
    assert!(line.contains("{request_id=\"quoted-1\"}") && line.contains("status=500"), "{line}");
    served.stop().await;
}

#[tokio::test]
async fn a_client_that_disconnects_is_logged_and_forgotten() {
    let (_place, served, token) = serve(&[BELIEVED]).await;
    let mut leaving = served.connect().await;
    leaving.write_all(request(&token, HELD, "leaver").as_bytes()).await.unwrap();
    served.log.wait_for("held").await;
    drop(leaving);
    let line = served.log.wait_for("status=499").await;
    assert!(line.contains("request_id=\"leaver\""), "{line}");
    served.is_alive().await;
    served.stop().await;
}

#[tokio::test]
async fn the_log_names_the_client_behind_trusted_proxies() {
    for (proxies, expected) in [("", "127.0.0.1"), ("10.0.0.0/8, 127.0.0.1", "203.0.113.5")] {
        let (_place, served, token) = serve(&[("HOST_TRUSTED_PROXIES", proxies)]).await;
        // Addresses further to the left are claims of the client itself.
        let forwarded = echo(&served, &token).header("x-forwarded-for", "9.9.9.9, 203.0.113.5");
        Answer::to(forwarded).await.expect(200);
        let line = served.log.wait_for("access").await;
        assert!(line.ends_with(&format!("client={expected}")), "{line}");
        served.stop().await;
    }
}

#[tokio::test]
async fn the_filter_of_the_log_is_read_anew_from_its_file() {
    let place = Place::of_the_fixture();
    let file = place.path("log");
    std::fs::write(&file, "info,access=off\n").unwrap();
    let named = file.display().to_string();
    let served = place.serve_with(&[("HOST_LOG_FILTER_FILE", &named)]).await;
    let lines = async || {
        let ask = served.bare("GET", "/health");
        let id = Answer::to(ask).await.header("x-request-id").to_owned();
        served.is_alive().await;
        served.log.all().iter().filter(|line| line.contains(&id)).count()
    };
    let reload = async |text: &str, line: &str| {
        let before = served.log.all().len();
        match text {
            "" => std::fs::remove_file(&file).unwrap(),
            text => std::fs::write(&file, text).unwrap(),
        }
        served.signal("HUP").await;
        eventually(line, async || {
            served.log.all()[before..].iter().any(|found| found.contains(line)).then_some(())
        })
        .await;
    };
    assert_eq!(lines().await, 0);
    reload("info", "the filter of the log has been read").await;
    assert_eq!(lines().await, 1);
    reload("a=b=c", "the previous filter of the log stays in use").await;
    assert_eq!(lines().await, 1);
    reload("info,access=off", "the filter of the log has been read").await;
    assert_eq!(lines().await, 0);
    // Without the file, the filter is that of the environment.
    reload("", "the filter of the log has been read").await;
    assert_eq!(lines().await, 1);
    served.stop().await;
    std::fs::write(&file, "a=b=c").unwrap();
    let refused = place.call("user list").env("HOST_LOG_FILTER_FILE", &file).finish().await;
    let line = refused.fails();
    assert!(line.starts_with("HOST_LOG_FILTER_FILE ") && line.contains("not a valid filter"));
    let refused = place.call("user list").env("HOST_LOG", "verbose").finish().await;
    let line = refused.fails();
    assert!(line.starts_with("HOST_LOG is not a valid filter: verbose is no level"), "{line}");
}
