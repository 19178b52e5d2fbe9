//! A host without a network, for tests of what a store sends to other sites: it remembers each message, and answers as
//! the test says. Its users are in the test, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use host_interface::{
    Caller, Delivered, Delivery, Denial, Error, Host, HostHandle, LogRecord, Mail, Principal,
    TrailEntry, User, UserQuery,
};
use serde_json::Value;
use sha2::Sha256;

use crate::support::permissive::PermissiveHost;

/// What is outside of a store: receivers, users, and the trail.
#[derive(Clone, Default)]
pub struct Outside(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    messages: Vec<Message>,
    answers: BTreeMap<String, Answer>,
    blocked: BTreeSet<i64>,
    /// Assets that no user may view.
    hidden: BTreeSet<String>,
    trail: Vec<TrailEntry>,
    woken: usize,
}

/// How a receiver answers.
#[derive(Clone, Debug)]
pub enum Answer {
    Status(u16),
    /// With the header `Retry-After`.
    Later(u16, Duration),
    Failure(&'static str),
    /// After this time.
    Slow(u16, Duration),
}

/// A message that a receiver got.
#[derive(Clone, Debug)]
pub struct Message {
    pub url: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Message {
    pub fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The type of the event, and the key of the record if it has one.
    pub fn event(&self) -> String {
        let json = self.json();
        let name = json["type"].as_str().unwrap();
        match json["data"]["id"].as_str() {
            Some(id) => format!("{name} {id}"),
            None => name.to_owned(),
        }
    }

    /// How many signatures it has that this secret has made.
    pub fn signatures_of(&self, secret: &str) -> usize {
        let header = |name: &str| Some(self.headers[name].as_str());
        signatures_of(secret, header, &self.body)
    }
}

/// How many of the signatures of a message with these headers a secret has made.
pub fn signatures_of<'h>(
    secret: &str,
    header: impl Fn(&str) -> Option<&'h str>,
    body: &str,
) -> usize {
    let [id, timestamp, signatures] =
        ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| header(name).unwrap());
    let key = BASE64_STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let signed = format!("{id}.{timestamp}.{body}");
    let is_of = |signature: &&str| {
        let signature = signature.strip_prefix("v1,").unwrap();
        let code = Hmac::<Sha256>::new_from_slice(&key).unwrap().chain_update(&signed);
        code.verify_slice(&BASE64_STANDARD.decode(signature).unwrap()).is_ok()
    };
    signatures.split(' ').filter(is_of).count()
}

impl Outside {
    pub fn handle(&self) -> HostHandle {
        HostHandle::new(Inside(self.clone()))
    }

    /// How the receiver at this address answers from now on; it accepts everything until then.
    pub fn answer(&self, url: &str, answer: Answer) {
        self.state().answers.insert(url.to_owned(), answer);
    }

    /// Takes the messages that have arrived.
    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut self.state().messages)
    }

    /// How many messages have arrived and were not taken.
    pub fn count(&self) -> usize {
        self.state().messages.len()
    }

    pub fn block(&self, user: i64, blocked: bool) {
        let blocks = &mut self.state().blocked;
        if blocked {
            blocks.insert(user)
        } else {
            blocks.remove(&user)
        };
    }

    pub fn hide(&self, asset: &str) {
        self.state().hidden.insert(asset.to_owned());
    }

    pub fn trail(&self) -> Vec<TrailEntry> {
        self.state().trail.clone()
    }

    pub fn woken(&self) -> usize {
        self.state().woken
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

struct Inside(Outside);

impl Host for Inside {
    fn caller(&self, user: i64) -> Option<Caller> {
        let blocked = self.0.state().blocked.contains(&user);
        (!blocked).then(|| Caller::new(Asking { user, outside: self.0.clone() }))
    }

    async fn find_user(self: Arc<Self>, query: UserQuery) -> Result<Option<User>, Error> {
        let UserQuery::Id(id) = query else { return Ok(None) };
        Ok(Some(User::new(id, "ada", "Ada", "ada@example.com")))
    }

    async fn send_mail(self: Arc<Self>, _mail: Mail) -> Result<(), Error> {
        Ok(())
    }

    fn may_deliver(&self, url: &str) -> Result<(), Error> {
        match url.strip_prefix("https://") {
            Some(rest) if !rest.starts_with("10.") => Ok(()),
            _ => Err(Error::Refused("url: this address is not allowed.".to_owned())),
        }
    }

    async fn deliver(self: Arc<Self>, delivery: Delivery) -> Result<Delivered, Error> {
        let Delivery { url, headers, body, .. } = delivery;
        let answer = self.0.state().answers.get(&url).cloned();
        let message = Message { url, headers: headers.into_iter().collect(), body };
        self.0.state().messages.push(message);
        let took = Duration::from_millis(3);
        Ok(match answer.unwrap_or(Answer::Status(204)) {
            Answer::Status(status) => Delivered::answered(status, took),
            Answer::Later(status, wish) => {
                Delivered::answered(status, took).retry_after(Some(wish))
            }
            Answer::Failure(error) => Delivered::failed(error, took),
            Answer::Slow(status, time) => {
                tokio::time::sleep(time).await;
                Delivered::answered(status, time)
            }
        })
    }

    fn seal(&self, bound_to: &str, secret: &str) -> Result<String, Error> {
        let turned: String = secret.chars().rev().collect();
        Ok(format!("{bound_to}|{turned}"))
    }

    fn unseal(&self, bound_to: &str, sealed: &str) -> Result<String, Error> {
        let rest = sealed.strip_prefix(bound_to).and_then(|rest| rest.strip_prefix('|'));
        let turned = rest.ok_or_else(|| Error::Refused("it is for something else".to_owned()))?;
        Ok(turned.chars().rev().collect())
    }

    async fn record(self: Arc<Self>, entry: TrailEntry) -> Result<(), Error> {
        self.0.state().trail.push(entry);
        Ok(())
    }

    fn missing_scope(
        &self,
        scopes: &str,
        action: &str,
        asset: &str,
    ) -> Result<Option<String>, Error> {
        let kind = asset.trim_start_matches("com_shop.");
        let scope = format!("{kind}:{}", action.trim_start_matches("store."));
        Ok((!scopes.split(' ').any(|known| known == scope)).then_some(scope))
    }

    fn wake(&self, _job: &str) -> Result<(), Error> {
        self.0.state().woken += 1;
        Ok(())
    }

    fn log(&self, record: &LogRecord<'_>) {
        PermissiveHost.log(record);
    }
}

/// A user who is not asking at the moment.
struct Asking {
    user: i64,
    outside: Outside,
}

impl Principal for Asking {
    fn user(&self) -> i64 {
        self.user
    }

    fn may(&self, _action: &str, asset: &str) -> Result<(), Denial> {
        if self.outside.state().hidden.contains(asset) { Err(Denial::Forbidden) } else { Ok(()) }
    }
}
