//! The tables of records that a route takes or gives, as an OpenAPI document declares them with `x-import` and
//! `x-export`. What a table has is the business of its extension.

use serde_json::Value;

use super::openapi::string;
use super::permission::Permission;

/// A form in which tables are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Its name in addresses, and the ending of its files.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Its name on a button.
    pub(crate) short: &'static str,
    pub(crate) media_type: &'static str,
}

/// What a document declares about a route of tables.
pub(crate) struct Tables {
    /// The parameter with the type of the records, in the path or in the query.
    pub(crate) parameter: String,
    pub(crate) types: Vec<RecordType>,
    /// Whether the route takes the filters and the order of the list of the type.
    pub(crate) filters: bool,
    /// The query of an import that changes nothing.
    pub(crate) dry_run: Vec<(String, String)>,
    /// The query of every import.
    pub(crate) always: Vec<(String, String)>,
}

/// A type of records.
pub(crate) struct RecordType {
    pub(crate) name: String,
    pub(crate) title: String,
    /// Any one of them lets a user begin.
    pub(crate) permissions: Vec<Permission>,
    /// The route of the list of these records, by its name.
    pub(crate) list: String,
}

impl Format {
    pub(crate) const CSV: Self = Self {
        name: "csv",
        title: "CSV, for spreadsheets and most programs",
        short: "CSV",
        media_type: "text/csv",
    };
    pub(crate) const NDJSON: Self = Self {
        name: "ndjson",
        title: "NDJSON, a JSON object on each line",
        short: "NDJSON",
        media_type: "application/x-ndjson",
    };
    pub(crate) const ALL: [Self; 2] = [Self::CSV, Self::NDJSON];

    /// The format with this name, or else CSV.
    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|format| format.name == name).unwrap_or(Self::CSV)
    }
}

impl Tables {
    /// Reads what a document declares.
    pub(crate) fn read(declared: &Value) -> Option<Self> {
        let types = declared["types"].as_array()?.iter().map(|of| RecordType {
            name: string(&of["name"]),
            title: of["title"].as_str().map_or_else(|| string(&of["name"]), Into::into),
            permissions: Permission::read_all(&of["permissions"]),
            list: string(&of["list"]),
        });
        let query = |name: &str| {
            let text = declared[name].as_str().unwrap_or_default();
            form_urlencoded::parse(text.as_bytes()).into_owned().collect()
        };
        Some(Self {
            parameter: string(&declared["type"]),
            types: types.collect(),
            filters: declared["filters"] == true,
            dry_run: query("dry_run"),
            always: query("always"),
        })
    }
}
