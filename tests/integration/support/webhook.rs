//! A webhook of a running host, as its owner sees it.

use plugin::model::moment;
use plugin::sql::Statement;
use serde_json::{Value, json};

use crate::support::ledger::{Client, key};
use crate::support::process::Place;
use crate::support::waiting::eventually;

/// Receivers are on this machine, and hosts may send to them.
pub const HERE: (&str, &str) = ("HOST_DELIVER_TO", "127.0.0.0/8,::1");

/// A webhook.
pub struct Webhook {
    pub id: i64,
    pub secret: String,
}

impl Webhook {
    /// Creates one that is disabled, so that its receiver can learn the secret before the first message.
    pub async fn create(client: &Client, url: &str, mut body: Value) -> Webhook {
        (body["url"], body["enabled"]) = (json!(url), json!(0));
        let made = client.expect(201, "POST", "/webhooks", Some(body)).await;
        let secret = made["data"]["attributes"]["secret"].as_str().unwrap().to_owned();
        Webhook { id: key(&made), secret }
    }

    /// Enables it, and waits until its receiver has accepted the test.
    pub async fn enable(&self, client: &Client) {
        self.switch(true, client).await;
        eventually("an active webhook", async || {
            (self.attributes(client).await["state"] == "active").then_some(())
        })
        .await;
    }

    /// Enables or disables it.
    pub async fn switch(&self, enabled: bool, client: &Client) {
        let body = Some(json!({"enabled": u8::from(enabled)}));
        client.expect(200, "PATCH", &self.path(""), body).await;
    }

    /// Gets another secret for it, and returns the one before.
    pub async fn rotate(&mut self, client: &Client) -> String {
        let rotated = client.expect(200, "POST", &self.path("/rotate"), Some(json!({}))).await;
        let secret = rotated["data"]["attributes"]["secret"].as_str().unwrap().to_owned();
        std::mem::replace(&mut self.secret, secret)
    }

    pub async fn attributes(&self, client: &Client) -> Value {
        let read = client.expect(200, "GET", &self.path(""), None).await;
        read["data"]["attributes"].clone()
    }

    /// Its latest attempts, the newest first.
    pub async fn deliveries(&self, client: &Client) -> Vec<Value> {
        let path = self.path("/deliveries?page[limit]=100");
        let read = client.expect(200, "GET", &path, None).await;
        let all = read["data"].as_array().unwrap().iter();
        all.map(|attempt| attempt["attributes"].clone()).collect()
    }

    fn path(&self, below: &str) -> String {
        format!("/webhooks/{}{below}", self.id)
    }
}

/// A moment of an attempt, in seconds since 1970.
pub fn seconds(attempt: &Value, name: &str) -> i64 {
    let moment = attempt[name].as_str().and_then(moment::parse);
    moment.unwrap_or_else(|| panic!("{name} of {attempt}")).assume_utc().unix_timestamp()
}

/// Makes everything that has failed due again.
pub async fn hasten(place: &Place) {
    let store = place.store();
    for text in [
        "UPDATE shop_webhook_retries SET due_at = 1",
        "UPDATE shop_webhook_places SET resume_at = 1 WHERE state = 'failing'",
    ] {
        let statement = Statement { text: text.to_owned(), binds: Vec::new() };
        store.execute(statement).await.unwrap();
    }
    store.close().await;
}
