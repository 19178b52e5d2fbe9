//! Lines for the host's log. Where they are written, and how, is the host's.

use abi_stable::StableAbi;
use abi_stable::std_types::RStr;

/// How much a log line matters; smaller is graver.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, StableAbi)]
pub enum Level {
    /// Something failed that must not.
    Error,
    /// Something that an operator should look at.
    Warn,
    /// What a running system says of itself.
    Info,
    /// For whoever looks for a fault.
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

    /// How much it matters.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The module that says it.
    pub fn target(&self) -> &'a str {
        self.target.as_str()
    }

    /// What it says.
    pub fn message(&self) -> &'a str {
        self.message.as_str()
    }

    /// Structured fields as the text of a JSON object; empty where there are none.
    pub fn fields(&self) -> &'a str {
        self.fields.as_str()
    }
}
