//! What an extension may have its host do beside sending: keeping secrets, adding to the audit trail, and deciding
//! what a token that is not there could do.

use std::path::Path;

use host_interface::{
    Caller, Delivery, Denial, Error, Host, HostHandle, LogRecord, Principal, TrailEntry,
};
use serde_json::{Value, json};

use crate::support::harness::{Answer, fixture};
use crate::support::process::{Place, Served};
use crate::support::visitor::Visitor;

const ROOT: &str = "/api/index.php/v1/outward";

const PASSWORD: &str = "correct horse battery";

const SECRET: &str = "whsec_bm90IGEgc2VjcmV0";

/// A host that offers nothing, and a user who may do everything there.
struct Bare;

impl Host for Bare {
    fn caller(&self, _user: i64) -> Option<Caller> {
        Some(Caller::new(Bare))
    }

    fn log(&self, _record: &LogRecord<'_>) {}
}

impl Principal for Bare {
    fn user(&self) -> i64 {
        1
    }

    fn may(&self, _action: &str, _asset: &str) -> Result<(), Denial> {
        Ok(())
    }
}

async fn ask(served: &Served, path: &str, body: &Value) -> Answer {
    Answer::to(served.bare("POST", &format!("{ROOT}/{path}")).body(body.to_string())).await
}

async fn seal(served: &Served, bound_to: &str) -> String {
    let sealed = ask(served, "seal", &json!({"bound_to": bound_to, "text": SECRET})).await;
    sealed.expect(200).json().as_str().unwrap().to_owned()
}

/// The secret in a text, or why it cannot be opened.
async fn unseal(served: &Served, bound_to: &str, text: &str) -> Result<String, String> {
    let answer = ask(served, "unseal", &json!({"bound_to": bound_to, "text": text})).await;
    let text = answer.json().as_str().unwrap().to_owned();
    if answer.status == 200 { Ok(text) } else { Err(text) }
}

/// The bytes of all files below a folder.
fn contents(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        all.extend(if path.is_dir() { contents(&path) } else { std::fs::read(&path).unwrap() });
    }
    all
}

#[tokio::test]
async fn a_sealed_secret_is_opened_by_every_host_of_the_site_and_for_its_purpose_only() {
    let place = Place::with([fixture("outward")]);
    let served = place.serve().await;
    assert!(!place.data("secret.key").exists(), "a site without secrets has no key");
    let sealed = seal(&served, "webhook 7").await;
    assert_eq!(unseal(&served, "webhook 7", &sealed).await.as_deref(), Ok(SECRET));
    let elsewhere = unseal(&served, "webhook 8", &sealed).await.unwrap_err();
    assert!(elsewhere.contains("for something else"), "{elsewhere}");
    let other = place.serve().await;
    assert_eq!(unseal(&other, "webhook 7", &sealed).await.as_deref(), Ok(SECRET));
    other.stop().await;
    served.stop().await;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let file = std::fs::metadata(place.data("secret.key")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }

    // A key in the environment takes the place of the file, whose secrets it cannot open.
    let key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    let served = place.serve_with(&[("HOST_SECRET_KEY", key), ("HOST_LOG", "debug")]).await;
    let refused = unseal(&served, "webhook 7", &sealed).await.unwrap_err();
    assert!(refused.contains("was encrypted with the key"), "{refused}");
    let sealed = seal(&served, "webhook 7").await;
    assert_eq!(unseal(&served, "webhook 7", &sealed).await.as_deref(), Ok(SECRET));
    let log = served.log.all().join("\n");
    assert!(!log.contains(SECRET) && !log.contains(key), "{log}");
    served.stop().await;

    let call =
        place.call("serve --listen 127.0.0.1:0").env("HOST_SECRET_KEY", "not-the-right-form");
    let message = call.finish().await.fails();
    assert!(message.starts_with("HOST_SECRET_KEY must be 32 random bytes"), "{message}");
    assert!(!message.contains("not-the-right-form"), "{message}");
}

#[tokio::test]
async fn a_backup_with_the_key_restores_the_secrets_too() {
    let place = Place::with([fixture("outward")]);
    let served = place.serve().await;
    let sealed = seal(&served, "webhook 7").await;
    served.stop().await;
    let backup = place.call("backup backups --with-key").finish().await;
    let backup = place.path(backup.succeeds().trim());

    let new = Place::with([fixture("outward")]);
    new.call("restore").word(&backup).finish().await.succeeds();
    let served = new.serve().await;
    assert_eq!(unseal(&served, "webhook 7", &sealed).await.as_deref(), Ok(SECRET));
    served.stop().await;
}

#[tokio::test]
async fn neither_a_copy_nor_a_backup_has_the_key_unasked() {
    let place = Place::with([fixture("outward")]);
    let served = place.serve().await;
    let sealed = seal(&served, "webhook 7").await;
    served.stop().await;
    let key = std::fs::read(place.data("secret.key")).unwrap();
    let has_key = |folder: &Path| {
        contents(folder).windows(key.len() - 1).any(|part| part == &key[..key.len() - 1])
    };

    let backup = place.call("backup backups").finish().await;
    assert!(backup.err().contains("is not part of the backup"), "{}", backup.err());
    let backup = backup.succeeds();
    assert!(has_key(&place.path("data")) && !has_key(&place.path("backups")));

    let restored = format!("sqlite://{}", place.path("restored").join("host.db").display());
    let restore = || place.call("restore").word(backup.trim()).env("DATABASE_URL", &restored);
    let done = restore().finish().await;
    done.succeeds();
    assert!(done.err().contains("was not copied"), "{}", done.err());
    let call = place.call("serve --listen 127.0.0.1:0").env("DATABASE_URL", &restored);
    let served = call.start().await;
    let refused = unseal(&served, "webhook 7", &sealed).await.unwrap_err();
    assert!(refused.contains("secret.key is missing"), "{refused}");
    // Once the key is there, a host finds it.
    std::fs::copy(place.data("secret.key"), place.path("restored").join("secret.key")).unwrap();
    assert_eq!(unseal(&served, "webhook 7", &sealed).await.as_deref(), Ok(SECRET));
    served.stop().await;

    let from = format!("sqlite://{}", place.data("host.db").display());
    let to = format!("sqlite://{}", place.path("copied").join("host.db").display());
    let copied = place.call("copy --from").word(&from).word("--to").word(&to).finish().await;
    copied.succeeds();
    assert!(copied.err().contains("was not copied"), "{}", copied.err());
    assert!(!has_key(&place.path("copied")));
}

#[tokio::test]
async fn an_extension_adds_to_the_audit_trail_and_the_chain_holds() {
    let place = Place::with([fixture("outward")]);
    place.add_administrator("ann", PASSWORD).await;
    let served = place.serve().await;
    for entry in [
        json!({"action": "webhooks.disable", "kind": "webhooks", "id": "7",
            "details": "nothing but\nfailures <for> 5 days", "user": 1}),
        json!({"action": "webhooks.tidy"}),
        json!({"action": "webhooks.disable", "kind": "webhooks", "id": "8", "user": 99}),
    ] {
        ask(&served, "record", &entry).await.expect(200);
    }
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let html = ann.get("/audit?origin=extension").await.html;
    assert_eq!(html.matches("<tr><td data-label=\"When\">").count(), 3, "{html}");
    for text in [
        "extension outward",
        "<code>webhooks.disable</code>",
        "Nothing but failures &#60;for&#62; 5 days",
        "type=webhooks&amp;id=7",
        "<option value=\"extension\" selected>Extension</option>",
    ] {
        assert!(html.contains(text), "{text} in {html}");
    }
    let html = ann.get("/audit?origin=command-line").await.html;
    assert!(!html.contains("extension outward"));
    served.stop().await;

    let exported = place.run("audit export").await;
    let entries = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_extension: Vec<Value> = entries.filter(|entry| entry["origin"] == "extension").collect();
    let columns = ["user_id", "username", "means", "route", "record_type", "record_id", "chain"];
    let shown = of_extension.iter().map(|entry| columns.map(|column| entry[column].clone()));
    assert_eq!(
        json!(shown.collect::<Vec<_>>()),
        json!([
            [1, "ann", "extension outward", "webhooks.disable", "webhooks", "7", "other"],
            [0, "", "extension outward", "webhooks.tidy", "", "", "other"],
            [99, "", "extension outward", "webhooks.disable", "webhooks", "8", "other"],
        ])
    );
    place.run("audit verify").await;
}

#[tokio::test]
async fn the_scopes_of_a_token_limit_what_an_extension_does_for_its_user_later() {
    let place = Place::with([fixture("outward")]);
    let plain = place.user("ann", "Super Users").await;
    place.user("bob", "Registered").await;
    let scoped = place.run("token create ann --name till --scope things:view").await;
    let served = place.serve().await;
    let scopes = async |token: &str| {
        let asked = served.bare("GET", &format!("{ROOT}/scopes")).bearer_auth(token);
        Answer::to(asked).await.expect(200).json()
    };
    assert_eq!(scopes(&plain).await, Value::Null);
    let kept = scopes(scoped.trim()).await;
    assert_eq!(kept, json!("outward/things:view"));

    let within = async |user: i64, scopes: &Value, action: &str, asset: &str| {
        let asked = json!({"user": user, "scopes": scopes, "action": action, "asset": asset});
        ask(&served, "within", &asked).await.expect(200).json()
    };
    let things = "com_outward.things";
    assert_eq!(within(1, &kept, "outward.view", things).await, Value::Null);
    let lacks = json!({"lacks": "things:edit"});
    assert_eq!(within(1, &kept, "outward.edit", things).await, lacks);
    assert_eq!(within(1, &json!("*:view"), "outward.view", things).await, Value::Null);
    assert_eq!(within(1, &json!(""), "outward.view", things).await["lacks"], "things:view");
    // What no scope covers is not allowed by any.
    assert_eq!(within(1, &kept, "core.admin", "root").await, json!("forbidden"));
    // Scopes never allow more than the user may do.
    assert_eq!(within(2, &kept, "outward.view", things).await, json!("forbidden"));
    assert_eq!(within(99, &kept, "outward.view", things).await, json!("nobody"));
    place.run("user block bob").await;
    crate::support::waiting::eventually("bob is blocked", async || {
        (within(2, &kept, "outward.view", things).await == json!("nobody")).then_some(())
    })
    .await;

    let offers = Answer::to(served.bare("GET", &format!("{ROOT}/offers"))).await.json();
    for capability in ["deliver", "secrets", "trail"] {
        assert!(offers.as_array().unwrap().contains(&json!(capability)), "{offers}");
    }
    served.stop().await;
}

#[tokio::test]
async fn a_host_that_offers_none_of_it_says_so_and_grants_nothing_within_scopes() {
    let host = HostHandle::new(Bare);
    let delivery = Delivery::new("https://www.example.com/", "");
    let entry = TrailEntry::new("outward.try", "", "");
    let unsupported = [
        host.deliver(&delivery).await.map(drop),
        host.may_deliver(&delivery.url),
        host.seal("webhook 7", SECRET).map(drop),
        host.unseal("webhook 7", SECRET).map(drop),
        host.record(&entry).await,
    ];
    for (call, answer) in unsupported.into_iter().enumerate() {
        assert!(matches!(&answer, Err(Error::Unsupported(_))), "call {call}: {answer:?}");
        assert!(!format!("{answer:?}").contains(SECRET));
    }
    let may = |caller: Option<Caller>| caller.unwrap().may("outward.view", "root");
    assert!(may(host.caller(1)).is_ok());
    assert!(matches!(may(host.caller_within(1, "*:view")), Err(Denial::Forbidden)));
}
