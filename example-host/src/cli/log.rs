//! The log of the program: which lines are written, and how. The filter can be changed while the program
//! runs.

use std::io::ErrorKind;
use std::path::PathBuf;

use tracing_subscriber::Registry;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;

use crate::base::settings::{LogFormat, Settings};

use super::terminal::Failure;

/// The filter of a running log.
#[derive(Clone)]
pub(super) struct Log {
    filter: Handle<Targets, Registry>,
    source: Source,
}

/// Where the filter comes from.
#[derive(Clone)]
struct Source {
    /// The file, if one is set.
    file: Option<PathBuf>,
    /// The filter without it.
    otherwise: String,
}

impl Log {
    /// Begins to write the log.
    pub(super) fn start(settings: &Settings) -> Result<Self, Failure> {
        let source =
            Source { file: settings.log_filter_file.clone(), otherwise: settings.log.clone() };
        let (layer, filter) = reload::Layer::new(source.read()?);
        let registry = tracing_subscriber::registry().with(layer);
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        match settings.log_format {
            LogFormat::Text => registry.with(lines).try_init()?,
            LogFormat::Json => {
                registry.with(lines.json().flatten_event(true).with_span_list(false)).try_init()?;
            }
        }
        Ok(Self { filter, source })
    }

    /// Reads the filter anew. One that is not valid leaves the log as it is.
    pub(super) fn reload(&self) {
        if self.source.file.is_none() {
            return;
        }
        let read = self.source.read();
        match read.and_then(|filter| Ok(self.filter.reload(filter)?)) {
            Ok(()) => tracing::info!("the filter of the log has been read"),
            Err(error) => tracing::error!(%error, "the previous filter of the log stays in use"),
        }
    }
}

impl Source {
    /// The filter in the file. Without a file, and with an empty one, it is that of the environment.
    fn read(&self) -> Result<Targets, Failure> {
        let Some(path) = &self.file else { return filter("HOST_LOG", &self.otherwise) };
        let named = format!("HOST_LOG_FILTER_FILE {}", path.display());
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| format!("{named} cannot be read: {error}"))?,
        };
        match text.trim() {
            "" => filter("HOST_LOG", &self.otherwise),
            text => filter(&named, text),
        }
    }
}

fn filter(named: &str, text: &str) -> Result<Targets, Failure> {
    // A single word would be taken for a part of the program, and nothing else would be logged.
    let is_one_word = text.chars().all(char::is_alphanumeric);
    if is_one_word && text.parse::<LevelFilter>().is_err() {
        let levels = "off, error, warn, info, debug or trace";
        return Err(
            format!("{named} is not a valid filter: {text} is no level; use {levels}").into()
        );
    }
    Ok(text.parse().map_err(|error| format!("{named} is not a valid filter: {error}"))?)
}
