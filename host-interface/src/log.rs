//! Lines for the host's log. Where they are written, and how, is up to the host.

/// The severity of a log line; smaller is more severe. Exhaustive on purpose: there will be no other,
/// so each side can translate it to the levels of its own logger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

impl Level {
    /// The level as it crosses.
    pub(crate) fn number(self) -> u8 {
        match self {
            Level::Error => 0,
            Level::Warn => 1,
            Level::Info => 2,
            Level::Debug => 3,
            Level::Trace => 4,
        }
    }

    /// The level that crossed. Whatever is beyond the known levels is less severe than them.
    pub(crate) fn from_number(number: u8) -> Self {
        match number {
            0 => Level::Error,
            1 => Level::Warn,
            2 => Level::Info,
            3 => Level::Debug,
            _ => Level::Trace,
        }
    }
}

/// A line for the host's log.
#[derive(Clone, Copy, Debug)]
pub struct LogRecord<'a> {
    level: Level,
    target: &'a str,
    message: &'a str,
    fields: &'a str,
}

impl<'a> LogRecord<'a> {
    /// A line from the module `target`. `fields` is the text of a JSON object, or empty.
    pub fn new(level: Level, target: &'a str, message: &'a str, fields: &'a str) -> Self {
        Self { level, target, message, fields }
    }

    /// The severity.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The module that it comes from.
    pub fn target(&self) -> &'a str {
        self.target
    }

    /// The text.
    pub fn message(&self) -> &'a str {
        self.message
    }

    /// Structured fields as the text of a JSON object; empty if there are none.
    pub fn fields(&self) -> &'a str {
        self.fields
    }
}
