//! A store whose job sends what webhooks get, with receivers in this process, and a clock that a test moves on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host_interface::{Event, Method};
use plugin::sql::Statement;
use serde_json::{Value, json};

use super::shelves::{document, text};
use crate::support::bare::Bare;
use crate::support::databases::Engine;
use crate::support::outside::{Message, Outside};
use crate::support::waiting::{eventually, patiently};

/// Where a receiver is.
pub const URL: &str = "https://erp.example.com/hooks";

/// A store whose job sends.
pub struct Sending {
    pub store: Bare,
    pub outside: Outside,
}

impl Sending {
    pub async fn open() -> Self {
        let outside = Outside::default();
        let store = Bare::of(Engine::of_this_run(), outside.handle()).await;
        Self { store, outside }
    }

    /// Adds a webhook, and returns its secret.
    pub async fn add(&self, body: Value) -> String {
        let made = self.write(Method::Post, "/webhooks", body).await;
        made["data"]["attributes"]["secret"].as_str().unwrap().to_owned()
    }

    pub async fn write(&self, method: Method, path: &str, body: Value) -> Value {
        let answer = self.store.ask(method, path, body.clone()).await;
        assert!(answer.status() < 300, "{method} {path} {body}: {}", text(&answer));
        if answer.body().is_empty() { Value::Null } else { document(&answer) }
    }

    pub async fn maker(&self, name: &str) -> Value {
        let body = json!({"manufacturer_name": name});
        self.write(Method::Post, "/manufacturers", body).await
    }

    /// Runs the job, and gives changes their places, while something is done.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let app = &self.store.app;
        app.event(&Event::switched(true));
        let is_done = AtomicBool::new(false);
        let work = async {
            let done = patiently("what is sent", work).await;
            is_done.store(true, Ordering::Relaxed);
            app.event(&Event::switched(false));
            done
        };
        // As a host does, it begins the job again when that has ended by itself.
        let jobs = async {
            while !is_done.load(Ordering::Relaxed) {
                app.job("send_webhooks").await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let places = async {
            loop {
                let answer = self.store.ask(Method::Get, "/changes?page[size]=1", json!(null));
                assert_eq!(answer.await.status(), 200);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            (done, ()) = async { tokio::join!(work, jobs) } => done,
            () = places => unreachable!("it has no end"),
        }
    }

    /// Waits for so many messages, and takes them.
    pub async fn messages(&self, count: usize) -> Vec<Message> {
        let arrived = async || (self.outside.count() >= count).then_some(());
        eventually("messages", arrived).await;
        self.outside.take()
    }

    pub async fn attributes(&self, id: i64) -> Value {
        let read = self.store.ask(Method::Get, &format!("/webhooks/{id}"), json!(null)).await;
        document(&read)["data"]["attributes"].clone()
    }

    /// Waits until an attribute of the first webhook has a value.
    pub async fn until(&self, name: &str, value: impl Into<Value>) -> Value {
        let value = value.into();
        let is_so = async || {
            let attributes = self.attributes(1).await;
            (attributes[name] == value).then_some(attributes)
        };
        eventually(name, is_so).await
    }

    pub async fn deliveries(&self, id: i64) -> Vec<Value> {
        let path = format!("/webhooks/{id}/deliveries?page[limit]=100");
        let read = document(&self.store.ask(Method::Get, &path, json!(null)).await);
        let all = read["data"].as_array().unwrap().iter();
        all.map(|of| of["attributes"].clone()).collect()
    }

    /// Lets time pass for the webhooks, in seconds.
    pub async fn pass(&self, seconds: i64) {
        for text in [
            format!("UPDATE shop_webhook_retries SET due_at = due_at - {seconds}"),
            format!(
                "UPDATE shop_webhook_places SET failing_since = failing_since - {seconds} \
                 WHERE failing_since > 0"
            ),
            format!(
                "UPDATE shop_webhook_places SET resume_at = resume_at - {seconds} \
                 WHERE resume_at > 0 AND resume_at < 9000000000"
            ),
        ] {
            self.store.run(text).await;
        }
    }

    /// The clock of the database, in seconds since 1970.
    pub async fn now(&self) -> i64 {
        let mut transaction = self.store.app.shop.store.begin_read().await.unwrap();
        transaction.seconds().await.unwrap()
    }

    pub async fn number(&self, text: &str) -> i64 {
        let mut transaction = self.store.app.shop.store.begin_read().await.unwrap();
        let statement = Statement { text: text.to_owned(), binds: Vec::new() };
        transaction.number(statement).await.unwrap()
    }
}

pub fn events(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::event).collect()
}
