//! How far orders have been shipped.

use crate::model::field::{Handle, choice};
use crate::model::value::Value;

/// How far an order has been shipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has no shipment, and something is open, or it has no items either.
    Unfulfilled,
    /// It has one, and something is open.
    Partial,
    /// Nothing is open, because it was shipped or given back.
    Fulfilled,
}

impl State {
    const WORDS: [&'static str; 3] = ["unfulfilled", "partial", "fulfilled"];

    pub(super) fn into_value(self) -> Value {
        let word = match self {
            State::Unfulfilled => Self::WORDS[0],
            State::Partial => Self::WORDS[1],
            State::Fulfilled => Self::WORDS[2],
        };
        Value::Text(word.to_owned())
    }
}

pub(super) const STATE: Handle<String> =
    choice("fulfilment_state", &State::WORDS).read_only().words();
