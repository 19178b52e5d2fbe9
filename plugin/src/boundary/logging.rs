//! Forwards the log events of this library to the host. The dispatcher of `tracing` is global to
//! each library, so the host's own dispatcher never receives events from here.

use std::fmt::{Debug, Write};

use host_interface::{HostHandle, Level, LogRecord};
use once_cell::sync::OnceCell;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

/// Sends every event of this library to the host from now on. A library that is created for a
/// second host keeps logging to the first.
pub fn forward_to(host: &HostHandle) {
    static INSTALLED: OnceCell<()> = OnceCell::new();
    INSTALLED.get_or_init(|| {
        // Fails where a subscriber is already set: the library is then linked into a program that
        // has its own.
        drop(tracing::subscriber::set_global_default(Forward { host: host.clone() }));
    });
}

struct Forward {
    host: HostHandle,
}

impl Subscriber for Forward {
    /// Asked once for each callsite, so that a disabled one costs only a comparison.
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && self.host.log_enabled(level(metadata), metadata.target())
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let text = if fields.others.is_empty() {
            String::new()
        } else {
            Value::Object(fields.others).to_string()
        };
        let metadata = event.metadata();
        let record = LogRecord::new(level(metadata), metadata.target(), &fields.message, &text);
        self.host.log(&record);
    }

    // The request's id travels as a field; spans are not used.
    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

fn level(metadata: &Metadata<'_>) -> Level {
    match *metadata.level() {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::INFO => Level::Info,
        tracing::Level::DEBUG => Level::Debug,
        tracing::Level::TRACE => Level::Trace,
    }
}

/// The message and the other fields of an event.
#[derive(Default)]
struct Fields {
    message: String,
    others: Map<String, Value>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.others.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            let _ = write!(self.message, "{value:?}");
        } else {
            self.put(field, format!("{value:?}"));
        }
    }
}
