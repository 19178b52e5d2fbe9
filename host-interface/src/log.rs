//! Lines for the host's log. Where they are written, and how, is the host's.

use abi_stable::StableAbi;
use abi_stable::std_types::RStr;

/// The severity of a log line; smaller is more severe.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, StableAbi)]
pub enum Level {
    /// An internal error.
    Error,
    /// Something that an operator should look at.
    Warn,
    /// Normal operation.
    Info,
    /// For finding faults.
    Debug,
    /// Everything.
    Trace,
}

/// A line for the host's log.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct LogRecord<'a> {
    level: Level,
    target: RStr<'a>,
    message: RStr<'a>,
    fields: RStr<'a>,
}

impl<'a> LogRecord<'a> {
    /// A line from the module `target`. `fields` is the text of a JSON object, or empty.
    pub fn new(level: Level, target: &'a str, message: &'a str, fields: &'a str) -> Self {
        Self {
            level,
            target: RStr::from_str(target),
            message: RStr::from_str(message),
            fields: RStr::from_str(fields),
        }
    }

    /// The severity.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The module that it comes from.
    pub fn target(&self) -> &'a str {
        self.target.as_str()
    }

    /// The text.
    pub fn message(&self) -> &'a str {
        self.message.as_str()
    }

    /// Structured fields as the text of a JSON object; empty where there are none.
    pub fn fields(&self) -> &'a str {
        self.fields.as_str()
    }
}
