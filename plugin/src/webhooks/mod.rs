//! Webhooks: the feed of changes, delivered. The feed is the queue, a webhook has a place in it, and nothing is written
//! for an event that arrives.
//!
//! `sender` is the job that begins a `round` for each webhook that has something to send. A round takes what `reader`
//! finds after the place of its `endpoint`, makes a `message` of each `event`, has the host send it, and notes the
//! `outcome` in the `journal`. `attempts` has the rules: when an event is tried again, and how a webhook is; `condition` is how
//! they are now, and `trial` a test that somebody asks for. Knows
//! nothing of routes, and opens no connection to a receiver.

mod attempts;
mod condition;
mod endpoint;
mod event;
mod journal;
mod message;
mod outcome;
mod reader;
mod round;
mod sender;
mod trial;

pub(crate) use attempts::State;
pub(crate) use condition::{conditions, metrics};
pub(crate) use endpoint::{
    KIND, MOST, PAYLOAD, SCOPES, TYPES, URL, USER, begin, move_to, purpose, restart, rotate,
};
pub(crate) use event::EVENTS;
pub(crate) use journal::sweep;
pub(crate) use message::new_secret;
pub(crate) use outcome::ERRORS;
pub(crate) use sender::Sender;
pub(crate) use trial::Trial;
