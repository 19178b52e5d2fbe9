//! Tables of records in the forms in which clients exchange them: lines of JSON (NDJSON), and CSV as RFC 4180
//! describes it. Independent of which records these are.

use csv::{Terminator, Writer, WriterBuilder};
use host_interface::Request;
use mediatype::{MediaType, MediaTypeList, ReadParams};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value as Json;

use super::literal;
use super::object::Attribute;
use crate::error::Error;
use crate::model::table::{Column, Parts};
use crate::model::value::{Cell, Kind, Value};

/// The media type of lines of JSON.
pub const NDJSON: &str = "application/x-ndjson";
/// The media type of CSV.
pub const CSV: &str = "text/csv";

/// The only member of the first line of an export.
pub const ABOUT: &str = "export";

/// What a cell of CSV has for a value that is unset. An empty one is not sent, and a text that looks so has another
/// backslash in front.
pub const UNSET: &str = "\\N";

/// What precedes a cell that a spreadsheet would compute, and the name of the first column of such a file.
pub const HARMLESS: char = '\'';

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON object on each line.
    Ndjson,
    /// Comma-separated values, after a line with the names of the columns.
    Csv,
}

/// The form of a table that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The format.
    pub format: Format,
    /// Whether cells of CSV that a spreadsheet would compute are made harmless.
    pub safe: bool,
}

impl Format {
    /// The format that a client prefers: of several with the same quality, the first. A host lets nobody pass who names
    /// none.
    pub fn accepted(request: &Request) -> Self {
        let known = ranges(request);
        let known = known.filter_map(|range| Some((Self::of(&range)?, quality(&range))));
        let best = known.reduce(|best, other| if other.1 > best.1 { other } else { best });
        best.map_or(Format::Ndjson, |(format, _)| format)
    }

    /// Whether a client accepts lines of JSON.
    pub fn accepts_lines(request: &Request) -> bool {
        ranges(request).any(|range| Self::of(&range) == Some(Format::Ndjson))
    }

    /// The format of a media type, whose names may be in any case.
    fn of(range: &MediaType<'_>) -> Option<Self> {
        if range.ty == "text" && range.subty == "csv" {
            Some(Format::Csv)
        } else if range.ty == "application" && range.subty == "x-ndjson" {
            Some(Format::Ndjson)
        } else {
            None
        }
    }

    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Ndjson => NDJSON,
            Format::Csv => "text/csv; charset=utf-8",
        }
    }

    /// The end of the names of such files.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Ndjson => "ndjson",
            Format::Csv => "csv",
        }
    }
}

/// A table that is being written.
#[derive(Debug)]
pub struct TableWriter {
    form: Form,
    names: Vec<String>,
    /// The kinds of the columns, and in CSV those of values that are unset.
    kinds: Vec<Kind>,
    unset: Vec<Kind>,
    written: Vec<u8>,
}

impl TableWriter {
    /// A table in this form, with these columns, and the parts of each record as the last one.
    pub fn new(form: Form, columns: &[Column], parts: Option<&Parts>) -> Self {
        let own = columns.iter().map(|column| (column.name().into_owned(), column.kind()));
        let parts = parts.map(|parts| (parts.children.name.to_owned(), Kind::Json));
        let (names, kinds): (_, Vec<Kind>) = own.chain(parts).unzip();
        // An empty cell is not sent back: the name of no record has to unset the key, as the key itself does.
        let mut unset = kinds.clone();
        for (unset, column) in unset.iter_mut().zip(columns) {
            if let Column::Named(_) = column {
                *unset = Kind::COUNT;
            }
        }
        Self { form, names, kinds, unset, written: Vec::new() }
    }

    /// Writes what precedes the records: a line about the table in NDJSON, the names of the columns in CSV.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&mut self, about: &impl Serialize) -> Result<(), Error> {
        match self.form.format {
            Format::Ndjson => self.line(about),
            Format::Csv => {
                let first = self.names.first().map(String::as_str).unwrap_or_default();
                let first =
                    if self.form.safe { format!("{HARMLESS}{first}") } else { first.into() };
                let others = self.names.iter().skip(1).map(String::as_str);
                let cells: Vec<&str> = std::iter::once(first.as_str()).chain(others).collect();
                record(&mut self.written, &cells)
            }
        }
    }

    /// Writes a record, with a value for each column.
    ///
    /// # Errors
    /// When a value cannot be written as its column's kind.
    pub fn row(&mut self, values: &[Value]) -> Result<(), Error> {
        match self.form.format {
            Format::Ndjson => {
                let row = Row { names: &self.names, kinds: &self.kinds, values };
                serde_json::to_writer(&mut self.written, &row)?;
                self.written.push(b'\n');
                Ok(())
            }
            Format::Csv => {
                let kinds = self.kinds.iter().zip(&self.unset).zip(values);
                let cells = kinds.map(|((kind, unset), value)| {
                    let kind = if matches!(value, Value::Null) { unset } else { kind };
                    self.cell(*kind, value)
                });
                let cells = cells.collect::<Result<Vec<String>, Error>>()?;
                record(&mut self.written, &cells)
            }
        }
    }

    /// How many bytes have been written and not been taken.
    pub fn size(&self) -> usize {
        self.written.len()
    }

    /// Takes what has been written.
    pub fn take(&mut self) -> Vec<u8> {
        let size = self.written.capacity();
        std::mem::replace(&mut self.written, Vec::with_capacity(size))
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(&mut self.written, value)?;
        self.written.push(b'\n');
        Ok(())
    }

    /// A cell of CSV.
    fn cell(&self, kind: Kind, value: &Value) -> Result<String, Error> {
        let text = match (kind, value) {
            (Kind::Text { .. } | Kind::Code { .. } | Kind::Email, Value::Null) => String::new(),
            (_, Value::Null) => return Ok(UNSET.to_owned()),
            (Kind::Json | Kind::Ids | Kind::Words(_), Value::Text(text) | Value::Json(text)) => {
                text.clone()
            }
            _ => match literal::write(kind, &Cell::of(value), serde_json::value::Serializer)? {
                Json::String(text) => text,
                other => other.to_string(),
            },
        };
        if is_escaped(&text) {
            return Ok(format!("\\{text}"));
        }
        let computed = |text: &str| text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let is_text = matches!(kind, Kind::Text { .. } | Kind::Code { .. } | Kind::Email);
        if self.form.safe && is_text && computed(&text) {
            return Ok(format!("{HARMLESS}{text}"));
        }
        Ok(text)
    }
}

/// Whether a text is, but for backslashes in front, what stands for no value.
pub fn is_escaped(cell: &str) -> bool {
    cell.strip_prefix('\\').is_some_and(|rest| rest.trim_start_matches('\\') == "N")
}

/// The media ranges that a client accepts: a quality of 0 refuses one.
fn ranges(request: &Request) -> impl Iterator<Item = MediaType<'_>> {
    let sent = (0..).map_while(|nth| request.header_at("accept", nth));
    let texts = sent.filter_map(|value| std::str::from_utf8(value).ok());
    let ranges = texts.flat_map(|text| MediaTypeList::new(text).flatten());
    ranges.filter(|range| quality(range) > 0.0)
}

/// How much a client likes a media type, from 0 to 1.
fn quality(range: &MediaType<'_>) -> f32 {
    let sent = range.params().find(|(name, _)| *name == "q");
    sent.map_or(1.0, |(_, value)| value.as_str().parse().unwrap_or(1.0))
}

/// Writes a record of CSV.
fn record<T: AsRef<[u8]>>(to: &mut Vec<u8>, cells: &[T]) -> Result<(), Error> {
    let mut writer: Writer<&mut Vec<u8>> =
        WriterBuilder::new().terminator(Terminator::CRLF).from_writer(to);
    writer.write_record(cells).map_err(host_interface::Error::failed)?;
    writer.flush().map_err(host_interface::Error::failed)?;
    Ok(())
}

/// Writes the parts of records.
#[derive(Debug)]
pub struct PartsWriter<'p> {
    names: Vec<&'p str>,
    kinds: Vec<Kind>,
}

impl<'p> PartsWriter<'p> {
    /// A writer of these parts.
    pub fn new(parts: &'p Parts) -> Self {
        let (names, kinds) = parts.fields.iter().map(|field| (field.name, field.kind)).unzip();
        Self { names, kinds }
    }

    /// The parts of a record, each with a value for each of its fields, as a list of objects.
    ///
    /// # Errors
    /// When a value cannot be written as its field's kind.
    pub fn write<'v>(&self, parts: impl Iterator<Item = &'v [Value]>) -> Result<Value, Error> {
        let rows = parts.map(|values| Row { names: &self.names, kinds: &self.kinds, values });
        let mut written = Vec::new();
        serde_json::Serializer::new(&mut written).collect_seq(rows)?;
        Ok(Value::Json(String::from_utf8(written).map_err(host_interface::Error::failed)?))
    }
}

/// A record as a JSON object.
struct Row<'a, N> {
    names: &'a [N],
    kinds: &'a [Kind],
    values: &'a [Value],
}

impl<N: AsRef<str>> Serialize for Row<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.names.len()))?;
        for ((name, kind), value) in self.names.iter().zip(self.kinds).zip(self.values) {
            map.serialize_entry(name.as_ref(), &Attribute { kind: *kind, cell: &Cell::of(value) })?;
        }
        map.end()
    }
}
