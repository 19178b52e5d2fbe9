//! A file as records: lines of JSON, or records of CSV, each with its place in the file. What is wrong with one
//! record is a fault of that one. Knows nothing of the store.

use csv_core::ReadRecordResult;
use sha2::{Digest, Sha256};
use tokio::task::yield_now;

use super::header::{Header, delimiter};
use super::source::{Source, invalid};
use crate::error::{Error, Fault, FaultKind};
use crate::wire::body::{self, LineMember};
use crate::wire::importing::Import;
use crate::wire::table::{ABOUT, Format};

/// The greatest length of a record in bytes.
const MAX_LINE: usize = 1024 * 1024;
/// The greatest number of cells of a record.
const MAX_CELLS: usize = 1_000;
/// What a file of UTF-8 may begin with.
const BOM: &[u8] = b"\xef\xbb\xbf";
/// What a compressed spreadsheet begins with.
const ZIP: &[u8] = b"PK\x03\x04";

/// A record of a file.
#[derive(Debug)]
pub(super) struct Line {
    /// The line of the file on which it begins.
    pub(super) number: u64,
    /// The line on which it ends.
    pub(super) last: u64,
    /// The bytes of the file up to its end.
    pub(super) digest: Sha256,
    /// Its members, or what is wrong with it.
    pub(super) members: Result<Vec<LineMember>, Fault>,
    /// About how many bytes it takes.
    pub(super) size: usize,
}

/// A file that is read record by record.
pub(super) struct Reader {
    source: Source,
    /// What has arrived.
    bytes: Vec<u8>,
    /// How much of it has been read.
    at: usize,
    /// Whether everything has arrived.
    ended: bool,
    /// How many lines have been read to their ends.
    lines: u64,
    /// Whether the latest of these ends is a carriage return, so that a line feed belongs to it.
    ends_with_return: bool,
    digest: Sha256,
    /// Whether a record has been read.
    has_begun: bool,
    /// The form of the file: lines of JSON without it.
    table: Option<Table>,
}

/// A file of CSV.
struct Table {
    header: Header,
    core: csv_core::Reader,
    /// The text of a record, and the ends of its cells.
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// A record of CSV as it was read.
struct Raw {
    number: u64,
    last: u64,
    cells: usize,
    length: usize,
    /// Why its cells are not to be read.
    complaint: Option<String>,
}

impl Reader {
    /// Reads the beginning of a file: of CSV, the names of the columns.
    ///
    /// # Errors
    /// When it is no file of its form, or has columns that are unknown, repeated or missing.
    pub(super) async fn begin(
        source: Source,
        import: &Import,
        header: Header,
    ) -> Result<Self, Error> {
        let (bytes, digest) = (Vec::new(), Sha256::new());
        let mut reader = Self {
            source,
            bytes,
            at: 0,
            ended: false,
            lines: 0,
            ends_with_return: false,
            digest,
            has_begun: false,
            table: None,
        };
        while reader.bytes.len() < ZIP.len() && reader.fill().await? {}
        if reader.bytes.is_empty() {
            return Err(invalid("The file is empty."));
        }
        if reader.bytes.starts_with(ZIP) {
            let detail = "This is a zip file, as spreadsheets are; save the sheet as CSV in UTF-8.";
            return Err(invalid(detail));
        }
        if reader.bytes.starts_with(BOM) {
            reader.consume(BOM.len());
        }
        match import.format {
            Format::Ndjson => reader.check_object().await?,
            Format::Csv => reader.read_header(header).await?,
        }
        Ok(reader)
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// When the rest of the file cannot be read.
    pub(super) async fn next(&mut self) -> Result<Option<Line>, Error> {
        match self.table {
            Some(_) => self.next_of_csv().await,
            None => self.next_of_json().await,
        }
    }

    /// The names of the columns; none in a file of lines of JSON, where each line has its own.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.table.iter().flat_map(|table| table.header.names())
    }

    /// Refuses a file of another form that is called lines of JSON.
    async fn check_object(&mut self) -> Result<(), Error> {
        loop {
            let rest = &self.bytes[self.at..];
            let is_long = rest.len() > MAX_LINE;
            match rest.iter().copied().find(|byte| !byte.is_ascii_whitespace()) {
                Some(b'{') => return Ok(()),
                Some(_) => {
                    let detail = "The first line is not a JSON object. Is the file CSV? Its format has to be named.";
                    return Err(invalid(detail));
                }
                None => {}
            }
            if is_long || !self.fill().await? {
                return Err(invalid("The file has no records."));
            }
        }
    }

    async fn read_header(&mut self, header: Header) -> Result<(), Error> {
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        self.pass_blank_lines().await?;
        loop {
            let rest = &self.bytes[self.at..];
            if rest.iter().any(is_end) || rest.len() > MAX_LINE || !self.fill().await? {
                break;
            }
        }
        let line = self.lines + 1;
        let first = self.bytes[self.at..].split(is_end).next().unwrap_or_default();
        if first.len() > MAX_LINE {
            return Err(invalid(format!(
                "Line {line}: the header is longer than {MAX_LINE} bytes."
            )));
        }
        let core = csv_core::ReaderBuilder::new().delimiter(delimiter(first)).build();
        let (text, ends) = (vec![0; 4_096], vec![0; 64]);
        self.table = Some(Table { header, core, text, ends });
        let Some(raw) = self.record().await? else {
            return Err(invalid("The file has no header."));
        };
        if raw.complaint.is_some() {
            let detail = "the header is too long, or a quote is not closed.";
            return Err(invalid(format!("Line {line}: {detail}")));
        }
        let Some(table) = &mut self.table else { return Ok(()) };
        let unreadable = |_| invalid(format!("Line {line}: the header is not UTF-8."));
        let names = table.cells(&raw).map_err(unreadable)?;
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        table.header.read(line, names)?;
        Ok(())
    }

    async fn next_of_csv(&mut self) -> Result<Option<Line>, Error> {
        let Some(mut raw) = self.record().await? else { return Ok(None) };
        let Some(table) = &self.table else { return Ok(None) };
        let (number, width) = (raw.number, table.header.width());
        let members = match raw.complaint.take() {
            Some(complaint) => Err(complaint),
            None if raw.cells != width => {
                Err(format!("Line {number} has {} cells, and the header has {width}.", raw.cells))
            }
            None => match table.cells(&raw) {
                Ok(cells) => Ok(table.header.members(&cells)),
                Err(column) => {
                    let name = table.header.name(column);
                    Err(format!("Line {number}: the column {name} is not UTF-8."))
                }
            },
        };
        let members = members.map_err(|detail| Fault::new(FaultKind::InvalidTable, detail));
        Ok(Some(self.line((number, raw.last), members, raw.length)))
    }

    async fn next_of_json(&mut self) -> Result<Option<Line>, Error> {
        let mut is_too_long = false;
        let mut looked = 0;
        loop {
            let rest = &self.bytes[self.at..];
            let end = rest[looked..].iter().position(|byte| *byte == b'\n');
            let end = end.map(|end| looked + end);
            if end.is_none() && !self.ended {
                looked = rest.len();
                if looked > MAX_LINE {
                    is_too_long = true;
                    self.consume(looked);
                    looked = 0;
                }
                self.fill().await?;
                continue;
            }
            let (length, with_end) = end.map_or((rest.len(), rest.len()), |end| (end, end + 1));
            let text = rest[..length].to_vec();
            if with_end == 0 && !is_too_long {
                return Ok(None);
            }
            let number = self.lines + 1;
            self.consume(with_end);
            if is_too_long || length > MAX_LINE {
                let detail = format!("Line {number} is longer than {MAX_LINE} bytes.");
                let fault = Fault::new(FaultKind::InvalidTable, detail);
                return Ok(Some(self.line((number, number), Err(fault), 0)));
            }
            looked = 0;
            if text.trim_ascii().is_empty() {
                continue;
            }
            let members = read_json(&text, number);
            let is_first = !std::mem::replace(&mut self.has_begun, true);
            if is_first && members.as_ref().is_ok_and(|members| is_about(members)) {
                continue;
            }
            return Ok(Some(self.line((number, number), members, length)));
        }
    }

    fn line(
        &self,
        (number, last): (u64, u64),
        members: Result<Vec<LineMember>, Fault>,
        size: usize,
    ) -> Line {
        Line { number, last, digest: self.digest.clone(), members, size }
    }

    /// Passes over what is left of the end of the record before, and over empty lines; `false` at the end of the file.
    async fn pass_blank_lines(&mut self) -> Result<bool, Error> {
        loop {
            let rest = &self.bytes[self.at..];
            let blank = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let is_all = blank == rest.len();
            self.consume(blank);
            if !is_all {
                return Ok(true);
            }
            if !self.fill().await? {
                return Ok(false);
            }
        }
    }

    /// Reads a record of CSV; `None` at the end.
    async fn record(&mut self) -> Result<Option<Raw>, Error> {
        if !self.pass_blank_lines().await? {
            return Ok(None);
        }
        // The library passes over a byte order mark before the header if it sees the whole of it, and takes nothing
        // behind it for the end of the file.
        let is_header = self.table.as_ref().is_some_and(|table| table.header.width() == 0);
        while is_header && self.bytes.len() - self.at <= BOM.len() && self.fill().await? {}
        let number = self.lines + 1;
        let (mut quotes, mut length, mut cells) = (0, 0, 0);
        let (mut is_too_long, mut has_too_many_cells) = (false, false);
        let mut ends_with_line = false;
        loop {
            if self.at == self.bytes.len() && !self.ended {
                self.fill().await?;
            }
            let Some(table) = &mut self.table else { return Ok(None) };
            let (result, read, written, ended) = table.core.read_record(
                &self.bytes[self.at..],
                &mut table.text[length..],
                &mut table.ends[cells..],
            );
            let consumed = &self.bytes[self.at..self.at + read];
            quotes += consumed.iter().filter(|byte| **byte == b'"').count();
            if let Some(last) = consumed.last() {
                ends_with_line = matches!(last, b'\r' | b'\n');
            }
            length += written;
            cells += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if table.text.len() < MAX_LINE => {
                    table.text.resize((2 * table.text.len()).min(MAX_LINE), 0);
                }
                ReadRecordResult::OutputEndsFull if table.ends.len() < MAX_CELLS => {
                    table.ends.resize((2 * table.ends.len()).min(MAX_CELLS), 0);
                }
                // The rest of the record is read and dropped.
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    is_too_long |= result == ReadRecordResult::OutputFull;
                    has_too_many_cells |= result == ReadRecordResult::OutputEndsFull;
                    (length, cells) = (0, 0);
                }
                ReadRecordResult::Record | ReadRecordResult::End => {}
            }
            self.consume(read);
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
                _ => {}
            }
        }
        self.finish_line().await?;
        let last = if ends_with_line { self.lines } else { self.lines + 1 };
        let complaint = if is_too_long {
            Some(format!("Line {number}: the record is longer than {MAX_LINE} bytes."))
        } else if has_too_many_cells {
            Some(format!("Line {number} has more than {MAX_CELLS} cells."))
        } else if quotes % 2 == 1 {
            Some(format!("Line {number}: a quote is not closed, or not doubled."))
        } else {
            None
        };
        Ok(Some(Raw { number, last, cells, length, complaint }))
    }

    /// Reads the line feed after a carriage return, so that the digest of a record is that of whole lines.
    async fn finish_line(&mut self) -> Result<(), Error> {
        if self.ends_with_return && self.at == self.bytes.len() {
            self.fill().await?;
        }
        if self.ends_with_return && self.bytes.get(self.at) == Some(&b'\n') {
            self.consume(1);
        }
        Ok(())
    }

    /// Notes that so many bytes have been read.
    fn consume(&mut self, count: usize) {
        let read = &self.bytes[self.at..self.at + count];
        self.digest.update(read);
        let number_of = |byte: u8| read.iter().filter(|known| **known == byte).count();
        let mut lines = number_of(b'\n');
        // A record of CSV may end with a carriage return alone, and most end with one before the line feed.
        if self.table.is_some() {
            let is_rest = self.ends_with_return && read.first() == Some(&b'\n');
            let returns = number_of(b'\r');
            if returns > 0 {
                lines += returns - read.windows(2).filter(|pair| *pair == b"\r\n").count();
            }
            lines -= usize::from(is_rest);
            self.ends_with_return =
                read.last().map_or(self.ends_with_return, |last| *last == b'\r');
        }
        self.lines += u64::try_from(lines).unwrap_or(u64::MAX);
        self.at += count;
    }

    /// Waits for more, and returns whether there is.
    async fn fill(&mut self) -> Result<bool, Error> {
        if self.ended {
            return Ok(false);
        }
        self.bytes.drain(..self.at);
        self.at = 0;
        // What is there is never waited for, and that may be all of a line without an end, or all that an earlier import
        // has read. The thread that reads it may be the one that wakes all others of the store.
        yield_now().await;
        let arrived = self.source.next().await;
        match arrived.map_err(|error| error.in_line(self.lines + 1))? {
            Some(bytes) => self.bytes.extend_from_slice(&bytes),
            None => self.ended = true,
        }
        Ok(!self.ended)
    }
}

impl Table {
    /// The cells of the latest record.
    ///
    /// # Errors
    /// The position of a cell that is not UTF-8.
    fn cells(&self, raw: &Raw) -> Result<Vec<&str>, usize> {
        let mut begin = 0;
        let cells = self.ends[..raw.cells].iter().enumerate().map(|(column, end)| {
            let cell = self.text.get(begin..*end).unwrap_or_default();
            begin = *end;
            std::str::from_utf8(cell).map_err(|_| column)
        });
        cells.collect()
    }
}

/// Whether a line is the first one of an export, about the export itself.
fn is_about(members: &[LineMember]) -> bool {
    matches!(members, [(name, _)] if name == ABOUT)
}

/// Reads a line of JSON.
fn read_json(line: &[u8], number: u64) -> Result<Vec<LineMember>, Fault> {
    let read = match std::str::from_utf8(line) {
        Ok(text) => body::line(text),
        Err(error) => Err(format!("is not UTF-8 at byte {}", error.valid_up_to() + 1)),
    };
    read.map_err(|complaint| {
        Fault::new(FaultKind::InvalidTable, format!("Line {number} {complaint}."))
    })
}
