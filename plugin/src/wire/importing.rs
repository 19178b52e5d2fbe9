//! The query and the headers of an import: the type, how its records are found, and the form of the file.
//! Independent of how the file is read.

use host_interface::{Request, fact};

use super::body::is_of_type;
use super::parameters::OwnParameters;
use super::table::Format;
use crate::error::{Error, Fault, FaultKind};
use crate::model::field::Field;
use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::model::value::{Kind, fold, short};

/// The parameter with the type.
pub const TYPE: &str = "type";
/// The parameter that decides what becomes of a record that exists, and of one that does not.
pub const MODE: &str = "mode";
/// The values of this parameter.
pub const MODES: [&str; 3] = ["upsert", "create", "update"];
/// The parameter with the field by which records are found.
pub const KEY: &str = "key";
/// The value of this parameter for the primary key.
pub const ID: &str = "id";
/// The parameter for an import that changes nothing.
pub const DRY_RUN: &str = "dry_run";
/// The parameter with the line from which on the file is imported.
pub const FROM_LINE: &str = "from_line";
/// The parameter that decides what follows a line that fails.
pub const ON_ERROR: &str = "on_error";
/// The values of this parameter.
pub const ON_ERRORS: [&str; 2] = ["continue", "stop"];
/// The parameter with the lines that the answer has.
pub const REPORT: &str = "report";
/// The values of this parameter.
pub const REPORTS: [&str; 2] = ["all", "faults"];

/// The parameter for a report that begins with how the file is understood.
pub const PREVIEW: &str = "preview";

/// The limit of a file, where the host names none.
const DEFAULT_LIMIT: usize = 1024 * 1024 * 1024;

/// What becomes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is changed if it exists, and otherwise created.
    Upsert,
    /// It is created.
    Create,
    /// It is changed.
    Update,
}

/// The field by which records are found.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// The primary key.
    Id,
    /// A unique text.
    Unique {
        /// The field.
        field: &'static Field,
        /// Whether case does not count.
        any_case: bool,
    },
}

/// What a client wants to import.
#[derive(Clone, Debug)]
pub struct Import {
    /// The resource.
    pub resource: &'static Resource,
    /// What becomes of its records.
    pub mode: Mode,
    /// How they are found.
    pub key: Key,
    /// Whether everything is undone.
    pub dry_run: bool,
    /// The line from which on the file is imported.
    pub from_line: u64,
    /// Whether the first line that fails is the last one.
    pub stops: bool,
    /// Whether the answer has only the lines that fail.
    pub only_faults: bool,
    /// Whether the answer begins with the columns and the first records.
    pub preview: bool,
    /// The form of the file.
    pub format: Format,
    /// Whether it is compressed.
    pub gzip: bool,
    /// How many bytes it may have once it is expanded.
    pub limit: usize,
}

impl Mode {
    /// The actions that it needs.
    pub fn actions(self) -> &'static [&'static str] {
        match self {
            Mode::Upsert => &["store.create", "store.edit"],
            Mode::Create => &["store.create"],
            Mode::Update => &["store.edit"],
        }
    }

    /// The name.
    pub fn name(self) -> &'static str {
        let [upsert, create, update] = MODES;
        match self {
            Mode::Upsert => upsert,
            Mode::Create => create,
            Mode::Update => update,
        }
    }
}

impl Key {
    /// The keys of a resource, of which the first is the default.
    pub fn all(resource: &'static Resource) -> Vec<Key> {
        let unique = resource.unique.iter().filter_map(|unique| {
            let [name] = unique.fields else { return None };
            let field = resource.field(name)?;
            let is_text = matches!(field.kind, Kind::Text { .. });
            is_text.then_some(Key::Unique { field, any_case: unique.any_case })
        });
        unique.chain([Key::Id]).collect()
    }

    /// The name of its column in files.
    pub fn name(&self, resource: &'static Resource) -> &'static str {
        match self {
            Key::Id => resource.key,
            Key::Unique { field, .. } => field.name,
        }
    }

    /// The name in the parameter.
    pub fn parameter(&self) -> &'static str {
        match self {
            Key::Id => ID,
            Key::Unique { field, .. } => field.name,
        }
    }

    /// A text in the form in which texts are compared.
    pub fn folded(&self, text: &str) -> String {
        match self {
            Key::Unique { any_case: true, .. } => fold(text),
            Key::Id | Key::Unique { .. } => text.to_owned(),
        }
    }
}

/// The types that can be imported: those that clients create, and variants.
pub fn importable(registry: Registry) -> impl Iterator<Item = &'static Resource> {
    let is_listed = |of: &Resource| of.crud || (of.editable && of.listed_at == Some(of.kind));
    let is_type = move |of: &&Resource| of.followed && is_listed(of) && !of.table.is_empty();
    registry.iter().filter(move |resource| is_type(resource))
}

/// Reads what decides about permissions: the type and the mode.
///
/// # Errors
/// When one of them is missing or unknown.
pub fn subject(query: &str, registry: Registry) -> Result<(&'static Resource, Mode), Error> {
    let mut own = OwnParameters::read(query, [TYPE, MODE], Vec::new());
    let wanted = own.text(TYPE).unwrap_or_default();
    let resource = importable(registry).find(|resource| resource.kind == wanted);
    if resource.is_none() {
        let kinds: Vec<&str> = importable(registry).map(|resource| resource.kind).collect();
        own.refuse(TYPE, format!("{TYPE} must be one of {}.", kinds.join(", ")));
    }
    let mode = own.word(MODE, &MODES);
    let all = [Mode::Upsert, Mode::Create, Mode::Update];
    let mode = all.into_iter().find(|known| known.name() == mode).unwrap_or(Mode::Upsert);
    match resource {
        Some(resource) if own.faults.is_empty() => Ok((resource, mode)),
        _ => Err(own.faults.into()),
    }
}

impl Import {
    /// Reads a request for an import of this resource.
    ///
    /// # Errors
    /// All faults of the query and the headers.
    pub fn read(
        request: &Request,
        (resource, mode): (&'static Resource, Mode),
    ) -> Result<Self, Error> {
        let names = [KEY, DRY_RUN, FROM_LINE, ON_ERROR, REPORT, PREVIEW];
        let mut own = OwnParameters::read(request.query(), names, Vec::new());
        let (dry_run, preview) = (own.switch(DRY_RUN), own.switch(PREVIEW));
        let keys = Key::all(resource);
        let wanted = own.text(KEY).unwrap_or_else(|| keys.first().map_or(ID, Key::parameter));
        let key = keys.iter().find(|key| {
            key.parameter() == wanted || (matches!(key, Key::Id) && wanted == resource.key)
        });
        let key = key.copied().unwrap_or_else(|| {
            let known: Vec<&str> = keys.iter().map(Key::parameter).collect();
            own.refuse(KEY, format!("{KEY} must be one of {}.", known.join(", ")));
            Key::Id
        });
        let from = own.text(FROM_LINE).map(|text| text.parse().ok().filter(|line| *line > 0));
        let from_line = from.unwrap_or(Some(1)).unwrap_or_else(|| {
            own.refuse(FROM_LINE, format!("{FROM_LINE} must be a whole number, 1 or greater."));
            1
        });
        let stops = own.word(ON_ERROR, &ON_ERRORS) == ON_ERRORS[1];
        let only_faults = own.word(REPORT, &REPORTS) == REPORTS[1];
        let mut faults = own.faults;
        let format = [("application", "x-ndjson", Format::Ndjson), ("text", "csv", Format::Csv)]
            .into_iter()
            .find(|(main, sub, _)| is_of_type(request, main, sub));
        let format = format.map(|(.., format)| format).unwrap_or_else(|| {
            let detail =
                "Send the file with exactly one header Content-Type: application/x-ndjson or text/csv, with no \
                other parameter than charset=utf-8.";
            faults.push(Fault::at_header(FaultKind::InvalidHeader, "Content-Type", detail));
            Format::Ndjson
        });
        let gzip = gzip(request).unwrap_or_else(|fault| {
            faults.push(fault);
            false
        });
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let limit = request.fact(fact::BODY_LIMIT).and_then(|text| text.parse().ok());
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        Ok(Self {
            resource,
            mode,
            key,
            dry_run,
            from_line,
            stops,
            only_faults,
            preview,
            format,
            gzip,
            limit,
        })
    }
}

/// Whether the body is compressed.
fn gzip(request: &Request) -> Result<bool, Fault> {
    let Some(sent) = request.header("content-encoding") else { return Ok(false) };
    let only = request.header_at("content-encoding", 1).is_none();
    match std::str::from_utf8(sent).unwrap_or_default().trim() {
        "" if only => Ok(false),
        coding if only && coding.eq_ignore_ascii_case("identity") => Ok(false),
        coding if only && coding.eq_ignore_ascii_case("gzip") => Ok(true),
        other => {
            let detail =
                format!("The file may be compressed by gzip, and not by {:?}.", short(other));
            Err(Fault::at_header(FaultKind::UnsupportedEncoding, "Content-Encoding", detail))
        }
    }
}
