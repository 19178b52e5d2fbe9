//! What came of an attempt, and of the events of a round. Plain data.

use std::time::Duration;

use host_interface::{Delivered, undelivered};

use super::attempts::next_attempt;
use super::endpoint::moment_at;
use super::event::Event;
use crate::model::value::Value;

/// The classes of failures that a host knows, and that of an answer which is no success.
pub(crate) const ERRORS: &[&str] = &[
    undelivered::DNS,
    undelivered::ADDRESS,
    undelivered::CONNECT,
    undelivered::TLS,
    undelivered::TIMEOUT,
    STATUS,
];
const STATUS: &str = "status";

/// The status of a receiver that wants nothing more.
const GONE: i64 = 410;

/// An attempt to send a message.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// Which one it is of its event, beginning with 1.
    pub(super) attempt: i64,
    /// When it began and ended, in seconds since 1970.
    pub(super) begun: i64,
    pub(super) ended: i64,
    pub(super) status: Option<i64>,
    /// The class of the failure; `None` if it is a success.
    pub(super) error: Option<&'static str>,
    pub(super) duration_ms: i64,
    /// When the event is due again; `None` if it is not.
    pub(super) due: Option<i64>,
}

/// What becomes of an event in a round.
#[derive(Debug)]
pub(super) enum Fate {
    /// It was sent, with this result.
    Sent(Attempt),
    /// Its webhook may not see it any more, or the receiver has it.
    Done,
    /// It was not sent.
    Left,
}

/// How many events became what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) delivered: u64,
    pub(super) failed: u64,
    pub(super) given_up: u64,
}

impl Attempt {
    /// What came of an attempt that began and ended at these moments.
    pub(super) fn of(delivered: &Delivered, attempt: i64, begun: i64, ended: i64) -> Self {
        let accepted = delivered.is_accepted();
        let wish = delivered.retry_after_ms.map(Duration::from_millis);
        let chance = fastrand::i64(0..1_000);
        let due = (!accepted).then(|| next_attempt(attempt, ended, wish, chance)).flatten();
        Self {
            attempt,
            begun,
            ended,
            status: delivered.status.map(i64::from),
            error: (!accepted).then(|| class_of(delivered)),
            duration_ms: i64::try_from(delivered.duration_ms).unwrap_or(i64::MAX),
            due,
        }
    }

    /// Whether the receiver wants nothing more.
    pub(super) fn is_gone(&self) -> bool {
        self.status == Some(GONE)
    }

    /// Whether the receiver has accepted the message.
    pub(super) fn is_accepted(&self) -> bool {
        self.error.is_none()
    }

    /// Why it has failed, in plain words.
    pub(super) fn why(&self) -> String {
        match (self.error, self.status) {
            (_, Some(status)) => format!("The receiver answered with the status {status}."),
            (Some(undelivered::DNS), _) => "The name of the receiver is not known.".to_owned(),
            (Some(undelivered::ADDRESS), _) => {
                "The address of the receiver is not allowed.".to_owned()
            }
            (Some(undelivered::TLS), _) => {
                "There was no encrypted connection to the receiver: its certificate is not \
                trusted or not for this name, or it does not speak TLS."
                    .to_owned()
            }
            (Some(undelivered::TIMEOUT), _) => "The receiver did not answer in time.".to_owned(),
            _ => {
                "There was no connection to the receiver, or it ended without an answer.".to_owned()
            }
        }
    }

    /// The row of a test, which is not tried again.
    pub(super) fn row_of_test(&self, webhook: i64) -> [Value; 10] {
        self.row(webhook, &Event::test(), None)
    }

    /// The row of the attempt, after which the event is tried again at this moment.
    pub(super) fn row(&self, webhook: i64, event: &Event, next: Option<i64>) -> [Value; 10] {
        let (kind, record) = match event.about() {
            Some((kind, record)) => (kind, Value::Int(record)),
            None => ("", Value::Null),
        };
        let number = |of: Option<i64>| of.map_or(Value::Null, Value::Int);
        let text = |text: &str| Value::Text(text.to_owned());
        [
            Value::Int(webhook),
            Value::Text(event.name()),
            text(kind),
            record,
            Value::Int(self.attempt),
            number(self.status),
            Value::Int(self.duration_ms),
            self.error.map_or(Value::Null, text),
            Value::Moment(moment_at(self.begun)),
            next.map_or(Value::Null, |at| Value::Moment(moment_at(at))),
        ]
    }
}

/// The class of a failure, as the field of an attempt has it.
fn class_of(delivered: &Delivered) -> &'static str {
    let Some(error) = delivered.error.as_deref() else { return STATUS };
    let known = ERRORS.iter().copied().find(|known| *known == error);
    // Later hosts may know more of them.
    known.unwrap_or(undelivered::CONNECT)
}
