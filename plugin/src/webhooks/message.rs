//! The message of an event: its bytes and its signature, as Standard Webhooks 1.0.0 defines them. Pure: knows neither
//! the database nor the receiver.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::Sha256;

use super::event::{Event, What};
use crate::error::Error;
use crate::model::moment;

/// How many bytes a record in a message has at most.
pub(super) const MOST_BYTES: usize = 64 * 1024;

/// How many random bytes a secret has.
const SECRET_BYTES: usize = 32;
const SECRET_PREFIX: &str = "whsec_";

/// A message that is not signed yet: it is the same at each attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) body: String,
}

/// What is known of a record when it is sent.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Its version; `None` if it does not exist any more.
    pub(super) version: Option<i64>,
    /// The path of the record, if it exists.
    pub(super) path: Option<String>,
    /// The resource object, if the webhook wants it.
    pub(super) record: Record,
}

/// The record itself in a message.
#[derive(Debug, Default)]
pub(super) enum Record {
    /// The webhook does not want it.
    #[default]
    Unwanted,
    /// The resource object.
    Whole(Box<RawValue>),
    /// It is larger than a message may be.
    TooLarge,
}

/// What a message is about, beside the event.
#[derive(Clone, Copy, Debug)]
pub(super) struct About<'a> {
    /// The key of the webhook.
    pub(super) webhook: i64,
    /// The cursor of the feed after the event.
    pub(super) cursor: &'a str,
    /// Where a copy of everything begins.
    pub(super) first: &'a str,
}

/// A new secret, from the operating system's generator.
///
/// # Errors
/// When the system provides no randomness.
pub(crate) fn new_secret() -> Result<String, Error> {
    let mut random = [0_u8; SECRET_BYTES];
    getrandom::fill(&mut random).map_err(host_interface::Error::failed)?;
    Ok(format!("{SECRET_PREFIX}{}", BASE64_STANDARD.encode(random)))
}

/// The id of a test, of which each has its own.
///
/// # Errors
/// When the system provides no randomness.
pub(super) fn test_id() -> Result<String, Error> {
    let chance = getrandom::u64().map_err(host_interface::Error::failed)?;
    Ok(format!("msg_test_{chance:016x}"))
}

impl Message {
    /// The message of an event.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub(super) fn of(
        event: &Event,
        id: String,
        content: &Content,
        timestamp: time::PrimitiveDateTime,
        about: About<'_>,
    ) -> Result<Self, Error> {
        let data = match event.what {
            What::Created | What::Updated | What::Deleted => Data::Change {
                kind: event.kind,
                id: event.record.to_string(),
                version: content.version,
                links: content.path.as_deref().map(|own| Links { own }),
                cursor: about.cursor,
                record: match &content.record {
                    Record::Whole(record) => Some(record),
                    Record::Unwanted | Record::TooLarge => None,
                },
                truncated: matches!(content.record, Record::TooLarge).then_some(true),
            },
            What::Resync => Data::Resync {
                webhook: about.webhook.to_string(),
                links: First { first: about.first },
            },
            What::Test => Data::Test { webhook: about.webhook.to_string() },
        };
        let kind = event.name();
        let body = Body { kind: &kind, timestamp: moment::render(timestamp), data };
        Ok(Self { id, body: serde_json::to_string(&body)? })
    }

    /// The value of the header `webhook-signature`: one for each secret.
    ///
    /// # Errors
    /// When a secret is not one that a store has made.
    pub(super) fn signature(&self, secrets: &[String], timestamp: i64) -> Result<String, Error> {
        let timestamp = timestamp.to_string();
        let each = secrets.iter().map(|secret| {
            let mut code = Hmac::<Sha256>::new_from_slice(&key(secret)?).map_err(|_| DAMAGED)?;
            for part in [&*self.id, ".", &*timestamp, ".", &*self.body] {
                code.update(part.as_bytes());
            }
            Ok(format!("v1,{}", BASE64_STANDARD.encode(code.finalize().into_bytes())))
        });
        Ok(each.collect::<Result<Vec<_>, Error>>()?.join(" "))
    }
}

/// The id of an event: equal at each attempt, and at each webhook. That of the demand to copy anew is not that of a
/// change at the same place, which the receiver may have had.
pub(super) fn id_of(event: &Event, feed: &str) -> String {
    match event.what {
        What::Resync => format!("msg_{feed}_{}_resync", event.seq),
        _ => format!("msg_{feed}_{}", event.seq),
    }
}

const DAMAGED: Error = Error::Contract("the secret of a webhook is damaged");

/// The bytes of a secret.
fn key(secret: &str) -> Result<Vec<u8>, Error> {
    let encoded = secret.strip_prefix(SECRET_PREFIX).ok_or(DAMAGED)?;
    BASE64_STANDARD.decode(encoded).map_err(|_| DAMAGED)
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: String,
    data: Data<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Change {
        #[serde(rename = "type")]
        kind: &'a str,
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        links: Option<Links<'a>>,
        cursor: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        record: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        truncated: Option<bool>,
    },
    Resync {
        webhook: String,
        links: First<'a>,
    },
    Test {
        webhook: String,
    },
}

#[derive(Serialize)]
struct Links<'a> {
    #[serde(rename = "self")]
    own: &'a str,
}

#[derive(Serialize)]
struct First<'a> {
    first: &'a str,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FEED: &str = "0123456789abcdef";
    const ABOUT: About<'_> = About { webhook: 7, cursor: "Y3Vyc29y", first: "/shop/changes" };

    fn moment() -> time::PrimitiveDateTime {
        time::macros::datetime!(2026-01-31 12:00:00)
    }

    fn message(event: &Event, content: &Content) -> Result<Message, Error> {
        Message::of(event, id_of(event, FEED), content, moment(), ABOUT)
    }

    #[test]
    fn a_signature_is_the_one_of_the_standard() -> Result<(), Error> {
        // The example of the specification of Standard Webhooks.
        let message = Message {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(),
            body: r#"{"test": 2432232314}"#.to_owned(),
        };
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned();
        let signed = message.signature(std::slice::from_ref(&secret), 1_614_265_330)?;
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let two = message.signature(&[secret, new_secret()?], 1_614_265_330)?;
        assert!(two.starts_with(&format!("{signed} v1,")), "{two}");
        Ok(())
    }

    #[test]
    fn an_event_is_told_in_few_members() -> Result<(), Error> {
        let event = Event { kind: "orders", record: 12, seq: 77, what: What::Created, attempts: 0 };
        let content = Content {
            version: Some(3),
            path: Some("/shop/orders/12".to_owned()),
            record: Record::Unwanted,
        };
        let Message { id, body } = message(&event, &content)?;
        assert_eq!(id, "msg_0123456789abcdef_77");
        assert_eq!(
            body,
            r#"{"type":"orders.created","timestamp":"2026-01-31T12:00:00","data":{"type":"orders","id":"12","version":3,"links":{"self":"/shop/orders/12"},"cursor":"Y3Vyc29y"}}"#
        );
        let gone = Event { what: What::Deleted, ..event.clone() };
        assert_eq!(
            message(&gone, &Content::default())?.body,
            r#"{"type":"orders.deleted","timestamp":"2026-01-31T12:00:00","data":{"type":"orders","id":"12","cursor":"Y3Vyc29y"}}"#
        );
        let large = Content { record: Record::TooLarge, ..content };
        assert!(
            message(&event, &large)?.body.ends_with(r#""cursor":"Y3Vyc29y","truncated":true}}"#)
        );
        let again = message(&Event::resync(77), &Content::default())?;
        assert_eq!(again.id, "msg_0123456789abcdef_77_resync");
        assert_eq!(
            again.body,
            r#"{"type":"shop.resync","timestamp":"2026-01-31T12:00:00","data":{"webhook":"7","links":{"first":"/shop/changes"}}}"#
        );
        Ok(())
    }

    proptest! {
        #[test]
        fn a_signature_is_of_the_id_the_time_and_each_byte(
            id in "msg_[a-z0-9]{1,20}",
            body in "\\PC{0,200}",
            time in 0_i64..9_999_999_999,
        ) {
            let secret = [new_secret().unwrap_or_default()];
            let message = Message { id, body };
            let signed = |message: &Message, time| message.signature(&secret, time).ok();
            let first = signed(&message, time);
            prop_assert!(first.is_some());
            prop_assert_eq!(&first, &signed(&message, time));
            let other = Message { body: format!("{} ", message.body), ..message.clone() };
            prop_assert_ne!(&first, &signed(&other, time));
            prop_assert_ne!(&first, &signed(&message, time + 1));
        }
    }
}
