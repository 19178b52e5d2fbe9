//! Generated files for the reader: none of them causes a panic, how a file arrives changes nothing, and what another
//! program has written as CSV or JSON is what is read. `PROPTEST_CASES=1000000` tries more.

use std::io::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use csv::{QuoteStyle, Terminator, WriterBuilder};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use host_interface::Body;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value as Json};

use super::header::Header;
use super::reader::{Line, Reader};
use super::source::Source;
use crate::error::Error;
use crate::model::field::{flag, json, text};
use crate::model::registry::Registry;
use crate::model::resource::{Order, Permissions, Resource};
use crate::wire::importing::{Import, Key, Mode};
use crate::wire::table::{Format, UNSET};

static THINGS: Resource = Resource {
    kind: "things",
    singular: "thing",
    table: "things",
    key: "thing_id",
    detail: &[text("name", 100), text("note", 100), flag("enabled"), json("data")],
    order: Order { field: None, descending: false },
    versioned: false,
    folds: false,
    permissions: Permissions::None,
    ..Resource::CRUD
};

static ALL: &[&Resource] = &[&THINGS];

/// The columns of the files of CSV.
const NAMES: [&str; 2] = ["name", "note"];

/// What is read of a file: for each record its first and last line, and its members unless it is refused.
type Seen = Vec<(u64, u64, Option<Vec<(String, String)>>)>;

/// Reads a file that arrives in these pieces; an error is what was wrong with it as a whole.
fn read(pieces: Vec<Vec<u8>>, format: Format, gzip: bool) -> Result<Seen, String> {
    read_in_turns(pieces, format, gzip).0
}

/// The same, and how often others had a turn meanwhile.
fn read_in_turns(
    pieces: Vec<Vec<u8>>,
    format: Format,
    gzip: bool,
) -> (Result<Seen, String>, usize) {
    let import = Import {
        resource: &THINGS,
        mode: Mode::Create,
        key: Key::Id,
        dry_run: false,
        from_line: 1,
        stops: false,
        only_faults: false,
        preview: false,
        format,
        gzip,
        limit: 1_000_000,
    };
    let registry = Registry(ALL);
    let pieces = pieces.into_iter().map(Ok::<_, host_interface::Error>);
    let body = Body::new(stream::iter(pieces));
    let source = Source::new(Vec::new(), Some(body), gzip, import.limit);
    let reading = async {
        let header = Header::of(&import, registry);
        let mut reader = Reader::begin(source, &import, header).await?;
        let mut seen = Vec::new();
        while let Some(line) = reader.next().await? {
            seen.push(known(&line));
        }
        Ok::<_, Error>(seen)
    };
    let mut reading = pin!(reading);
    let turn = Arc::new(Turn::default());
    let waker = Waker::from(Arc::clone(&turn));
    let mut turns = 0;
    loop {
        match reading.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(seen) => return (seen.map_err(|error| error.to_string()), turns),
            Poll::Pending if turn.0.swap(false, Ordering::Relaxed) => turns += 1,
            Poll::Pending => return (Err("a file that is there is waited for".to_owned()), turns),
        }
    }
}

/// Whether reading goes on as soon as others have had a turn.
#[derive(Default)]
struct Turn(AtomicBool);

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn known(line: &Line) -> (u64, u64, Option<Vec<(String, String)>>) {
    let members = line.members.as_ref().ok();
    let text = |members: &Vec<(String, Box<serde_json::value::RawValue>)>| {
        members.iter().map(|(name, value)| (name.clone(), value.get().to_owned())).collect()
    };
    (line.number, line.last, members.map(text))
}

/// A file in pieces that end at these places.
fn pieces(file: &[u8], ends: &[Index]) -> Vec<Vec<u8>> {
    let mut ends: Vec<usize> = ends.iter().map(|end| end.index(file.len() + 1)).collect();
    ends.sort_unstable();
    ends.push(file.len());
    let mut begin = 0;
    let pieces = ends.into_iter().map(|end| file[std::mem::replace(&mut begin, end)..end].to_vec());
    pieces.filter(|piece| !piece.is_empty()).collect()
}

fn packed(file: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(file)?;
    packed.finish()
}

/// Bytes of which many mean something in a file.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let parts: [&[u8]; 22] = [
        b"name,note\n",
        b"name;note\r\n",
        b"\xef\xbb\xbf",
        b"\"",
        b"\"\"",
        b",",
        b";",
        b"\t",
        b"\r",
        b"\n",
        b"\r\n",
        b"\\N",
        b"{",
        b"}",
        b"{\"name\":",
        b"\"a\"}",
        b"PK\x03\x04",
        b"\0",
        b"\xff",
        b"x",
        b"' ",
        b"\x1f\x8b",
    ];
    vec(select(parts.to_vec()), 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn how_a_file_arrives_changes_nothing(
        file in bytes(),
        ends in vec(any::<Index>(), 0..6),
        format in select(vec![Format::Csv, Format::Ndjson]),
    ) {
        let whole = read(pieces(&file, &[]), format, false);
        prop_assert_eq!(&read(pieces(&file, &ends), format, false), &whole);
        if let Ok(packed) = packed(&file) {
            prop_assert_eq!(&read(pieces(&packed, &ends), format, true), &whole);
        }
        for pair in whole.unwrap_or_default().windows(2) {
            prop_assert!(pair[0].1 >= pair[0].0 && pair[1].0 > pair[0].0, "{:?}", pair);
        }
    }

    #[test]
    fn bytes_that_are_called_compressed_are_refused_or_expanded(
        file in vec(any::<u8>(), 0..200),
        at in any::<Index>(),
        byte in any::<u8>(),
    ) {
        let _ = read(pieces(&file, &[]), Format::Ndjson, true);
        if let Ok(mut packed) = packed(&file) {
            let at = at.index(packed.len());
            packed[at] = byte;
            let _ = read(pieces(&packed, &[]), Format::Ndjson, true);
        }
    }

    #[test]
    fn what_is_written_as_csv_is_read(
        rows in vec(["[^\0]{0,8}", "[a-c\"\r\n,;\t ]{0,8}"], 1..8),
        ends in vec(any::<Index>(), 0..4),
        quotes in select(vec![QuoteStyle::Necessary, QuoteStyle::Always]),
        lines in select(vec![Terminator::CRLF, Terminator::Any(b'\n')]),
        delimiter in select(vec![b',', b';', b'\t']),
    ) {
        let mut writer = WriterBuilder::new()
            .quote_style(quotes).terminator(lines).delimiter(delimiter).from_writer(Vec::new());
        writer.write_record(NAMES).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for row in &rows {
            writer.write_record(row).map_err(|error| TestCaseError::fail(error.to_string()))?;
        }
        let file = writer.into_inner().map_err(|error| TestCaseError::fail(error.to_string()))?;
        let seen = read(pieces(&file, &ends), Format::Csv, false).map_err(TestCaseError::fail)?;
        let expected: Vec<Vec<(String, String)>> = rows
            .iter()
            .map(|row| {
                let given = NAMES.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
                given
                    .map(|(name, cell)| {
                        let cell = if cell == UNSET { Json::Null } else { cell.as_str().into() };
                        ((*name).to_owned(), cell.to_string())
                    })
                    .collect()
            })
            .collect();
        let members: Vec<_> = seen.into_iter().filter_map(|(.., members)| members).collect();
        prop_assert_eq!(members, expected);
    }

    #[test]
    fn what_is_written_as_json_is_read(
        rows in vec(proptest::collection::btree_map("[a-z]{1,4}", ".{0,8}", 1..4), 1..8),
        ends in vec(any::<Index>(), 0..4),
        end in select(vec!["\n", "\r\n", "\n\n"]),
    ) {
        let objects = rows.iter().map(|row| {
            row.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect::<Map<_, _>>()
        });
        let objects: Vec<String> = objects.map(|object| Json::Object(object).to_string()).collect();
        let file = objects.join(end);
        let seen =
            read(pieces(file.as_bytes(), &ends), Format::Ndjson, false).map_err(TestCaseError::fail)?;
        // A first line with nothing but `export` is about the export itself.
        let about = rows[0].len() == 1 && rows[0].contains_key("export");
        prop_assert_eq!(seen.len(), rows.len() - usize::from(about));
        for ((_, _, members), row) in seen.iter().zip(rows.iter().skip(usize::from(about))) {
            let Some(members) = members else {
                return Err(TestCaseError::fail("a line is refused"));
            };
            for ((name, value), (expected, text)) in members.iter().zip(row) {
                prop_assert_eq!(name, expected);
                let value = serde_json::from_str::<String>(value).ok();
                prop_assert_eq!(value.as_ref(), Some(text));
            }
        }
    }
}

#[test]
fn others_have_a_turn_after_each_piece_of_a_line_without_an_end() {
    for (format, beginning) in [(Format::Csv, "name\n"), (Format::Ndjson, "{\"name\": \"")] {
        let mut pieces = vec![beginning.as_bytes().to_vec()];
        pieces.extend(std::iter::repeat_n(vec![b'x'; 1_000], 900));
        let (_, turns) = read_in_turns(pieces, format, false);
        assert!(turns >= 900, "{turns} turns");
    }
}
