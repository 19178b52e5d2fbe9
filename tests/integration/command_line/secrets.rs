//! Secret parameters: set from standard input and in the administration, and shown by nothing.

use serde_json::json;

use crate::support::databases::Database;
use crate::support::harness::{Answer, MEDIA_TYPE, fixture};
use crate::support::process::{Place, Served, table};
use crate::support::visitor::{PASSWORD, Visitor, field};
use crate::support::waiting::eventually;

const KEPT: &str = "/api/index.php/v1/keeper/kept";

const PAGE: &str = "/extensions/keeper/parameters";

/// Everything that the audit trail keeps as text.
const TRAIL: &str = "SELECT concat(username, ' ', means, ' ', method, ' ', route, ' ', what, ' ', \
     record_type, ' ', record_id, ' ', request_id) FROM host_audit";

fn place() -> Place {
    Place::with([fixture("keeps_a_secret")])
}

/// Waits until the extension has this secret.
async fn has(served: &Served, secret: Option<&str>) {
    let backwards = secret.map(|secret| secret.chars().rev().collect::<String>());
    let expected = json!({ "yek_ipa": backwards });
    eventually("the extension has the secret", async || {
        let answer =
            Answer::to(served.bare("GET", KEPT).header("accept", MEDIA_TYPE)).await.expect(200);
        (answer.json() == expected).then_some(())
    })
    .await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_secret_is_read_from_standard_input_and_never_printed() {
    let place = place();
    let line = |state: &'static str| ["api_key", "null", state, "The key of the warehouse."];
    assert_eq!(table(&place.run("config list").await)[0], line("default"));
    let set = async |words: &str, input: &str| {
        let finished = place.call(words).input(input).finish().await;
        for secret in ["key-9f3c", "s3cret", "lost-77"] {
            assert!(!finished.out().contains(secret), "{}", finished.out());
            assert!(!finished.err().contains(secret), "{}", finished.err());
        }
        finished
    };
    assert_eq!(set("config set api_key -", "key-9f3c\n").await.succeeds(), "");
    assert_eq!(table(&place.run("config list").await)[0], line("set"));
    assert_eq!(place.run("config get api_key").await, "null\n");

    for (words, input, says) in [
        // An argument could be read by every user of the machine.
        (
            "config set api_key s3cret",
            "",
            "api_key is a secret, and every user of the machine can read arguments; give - and \
             enter the value",
        ),
        ("config set api_key -", "", "api_key must be a non-empty secret text of at most 40"),
        ("config set api_key -", &"s3cret".repeat(7), "api_key must be a non-empty secret text"),
        // The extension's own message would contain it.
        (
            "config set api_key -",
            "s3cret\"s\n",
            "api_key was refused: the reason is not shown, because it contains the secret",
        ),
        (
            "config set api_key -",
            "lost-77\n",
            "keeper: check failed: the reason is not shown, because it contains the secret",
        ),
    ] {
        let line = set(words, input).await.fails();
        assert!(line.starts_with(says), "{line}");
    }
    assert_eq!(table(&place.run("config list").await)[0], line("set"));
    assert_eq!(place.run("config set api_key null").await, "");
    assert_eq!(table(&place.run("config list").await)[0], line("default"));

    // Every other parameter can be read in the same way, as JSON.
    assert_eq!(place.call("config set pause -").input(" 7 \n8\n").finish().await.succeeds(), "");
    assert_eq!(place.run("config get pause").await, "7\n");
    let line = place.call("config set pause -").input("soon\n").finish().await.fails();
    assert!(line.starts_with("\"soon\" is not valid JSON"), "{line}");
    let line = place.call("config set nothing -").finish().await.fails();
    assert_eq!(line, "there is no parameter called \"nothing\"");
}

#[tokio::test]
async fn a_secret_reaches_its_extension_and_no_page_log_or_audit_trail() {
    let place = place();
    place.add_administrator("ann", PASSWORD).await;
    let served = place.serve_with(&[("HOST_LOG", "trace")]).await;
    has(&served, None).await;
    place.call("config set api_key -").input("key-of-the-command\n").finish().await.succeeds();
    has(&served, Some("key-of-the-command")).await;

    let mut pages = Vec::new();
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let mut send = async |api_key: &str, pause: &str, unset: &[(&str, &str)]| {
        let html = ann.get(PAGE).await.html;
        let seen = field(&html, "seen").unwrap().to_owned();
        let mut fields = vec![("seen", &*seen), ("value-api_key", api_key), ("value-pause", pause)];
        fields.extend_from_slice(unset);
        let answered = ann.post(PAGE, &fields).await;
        let after = ann.get(PAGE).await.html;
        pages.extend([html, answered.html.clone(), after.clone()]);
        (answered.status, answered.html, after)
    };
    // An empty field keeps the secret, and the others are saved.
    let (status, _, after) = send("", "8", &[]).await;
    assert!(status == 303 && after.contains("Pause was changed"), "{after}");
    assert!(after.contains("It is set and never shown; leave the field empty"), "{after}");
    has(&served, Some("key-of-the-command")).await;
    let (status, _, after) = send("key-of-the-form", "8", &[]).await;
    assert!(status == 303 && after.contains("Api key was changed"), "{after}");
    has(&served, Some("key-of-the-form")).await;

    // What was refused is not in the form that is shown again, nor in the reason.
    let (status, refused, _) = send("stolen-from-the-form", "8", &[]).await;
    assert!(status == 422 && refused.contains("The reason is not shown"), "{refused}");
    let (status, refused, _) = send("key-beside-a-mistake", "soon", &[]).await;
    assert!(status == 422 && refused.contains("Enter it again"), "{refused}");
    let (status, failed, _) = send("lost-from-the-form", "8", &[]).await;
    assert!(status == 500, "{failed}");
    has(&served, Some("key-of-the-form")).await;
    let (status, _, after) = send("", "8", &[("unset", "api_key")]).await;
    assert!(status == 303 && after.contains("Not set."), "{after}");
    has(&served, None).await;

    served.log.wait_for("check failed").await;
    let log = served.log.all();
    assert!(log.iter().any(|line| line.contains("DEBUG")), "much is logged");
    let trail = place.database.texts_at(&place.site_url(), TRAIL).await;
    assert!(trail.iter().any(|entry| entry.contains("change parameters")), "{trail:?}");
    for (place, lines) in [("log", &log), ("trail", &trail), ("pages", &pages)] {
        for secret in ["of-the-command", "of-the-form", "from-the-form", "beside-a-mistake"] {
            let found = lines.iter().find(|line| line.contains(secret));
            assert!(found.is_none(), "{secret} is in the {place}: {found:?}");
        }
    }
    served.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_secret_moves_with_its_site() {
    let place = place();
    place.call("config set api_key -").input("key-9f3c\n").finish().await.succeeds();
    let target = Database::new().await;
    let (from, to) = (place.site_url(), target.url());
    let copied = place.call("copy --from").word(&from).word("--to").word(&to).finish().await;
    assert!(!copied.succeeds().contains("9f3c"));
    let served = place.call("serve --listen 127.0.0.1:0").env("DATABASE_URL", &to).start().await;
    has(&served, Some("key-9f3c")).await;
    served.stop().await;
}
