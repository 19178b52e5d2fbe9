//! A webhook of a running host, as its owner sees it.

use plugin::sql::Statement;
use serde_json::{Value, json};

use crate::support::ledger::{Client, key};
use crate::support::process::Place;
use crate::support::waiting::eventually;

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
        let enabled = Some(json!({"enabled": 1}));
        client.expect(200, "PATCH", &self.path(""), enabled).await;
        eventually("an active webhook", async || {
            (self.attributes(client).await["state"] == "active").then_some(())
        })
        .await;
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
