//! Exports of the audit trail, oldest first: all columns of each entry, its hash and its chain, as lines of
//! JSON or as CSV. They are made a page at a time, so that their memory does not depend on their length.

use csv::{Terminator, WriterBuilder};
use serde_json::{Map, Value};

use crate::base::error::Error;
use crate::base::text::harmless;
use crate::database::Database;

use super::list::{Cursor, Filter, lines};
use super::rows::{AT_ONCE, COLUMNS, Place, Stored};

/// The names of what follows the columns of an entry.
const OF_LINK: [&str; 2] = ["hash", "chain"];

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// An object of JSON on each line.
    Ndjson,
    /// A line of names, and then the entries, as of RFC 4180. A text that a spreadsheet would take
    /// for a formula has an apostrophe before it, because clients choose names and ids.
    Csv,
}

/// An export in progress.
#[derive(Debug)]
pub(crate) struct Export {
    database: Database,
    format: Format,
    wanted: Filter,
    /// Whether anything has been returned.
    begun: bool,
    finished: bool,
}

impl Export {
    /// An export of the entries that match a filter; its cursor is ignored.
    pub(crate) fn new(database: &Database, format: Format, mut wanted: Filter) -> Self {
        let at = time::macros::datetime!(1970-01-01 00:00:00);
        wanted.from = Cursor::Before(Place { at, id: 0 });
        Self { database: database.clone(), format, wanted, begun: false, finished: false }
    }

    /// The next piece of the text; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.finished {
            return Ok(None);
        }
        let lines = lines(&self.database, &self.wanted, AT_ONCE as i64).await?;
        self.finished = lines.len() < AT_ONCE;
        if let Some(last) = lines.last() {
            self.wanted.from = Cursor::Before(last.place());
        }
        let is_first = !std::mem::replace(&mut self.begun, true);
        let text = match self.format {
            Format::Ndjson => as_json(&lines),
            Format::Csv => as_csv(&lines, is_first),
        };
        text.map(Some)
            .map_err(|error| Error::Invalid(format!("an entry cannot be written: {error}")))
    }
}

fn as_json(lines: &[Stored]) -> Result<Vec<u8>, std::io::Error> {
    let mut text = Vec::new();
    for line in lines {
        let mut object: Map<String, Value> =
            COLUMNS.into_iter().map(str::to_owned).zip(line.values()).collect();
        for (name, text) in OF_LINK.into_iter().zip(link(line)) {
            object.insert(name.to_owned(), text.into());
        }
        serde_json::to_writer(&mut text, &object)?;
        text.push(b'\n');
    }
    Ok(text)
}

fn as_csv(lines: &[Stored], with_names: bool) -> Result<Vec<u8>, std::io::Error> {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    if with_names {
        writer.write_record(COLUMNS.into_iter().chain(OF_LINK))?;
    }
    for line in lines {
        let texts = line.texts().into_iter().chain(link(line));
        writer.write_record(texts.map(|text| harmless(text.unwrap_or_default())))?;
    }
    writer.into_inner().map_err(|error| error.into_error())
}

/// The values of [`OF_LINK`]; none for an entry from before there was a chain.
fn link(line: &Stored) -> [Option<String>; 2] {
    let link = line.link().map(|(chain, hash)| [hex::encode(hash), chain.name().to_owned()]);
    link.map_or([None, None], |texts| texts.map(Some))
}
