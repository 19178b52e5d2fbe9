//! Where a site keeps what it keeps, and how much room that takes: what the database says of itself,
//! and the files that it consists of. Asked at most every few seconds, because a server has to look
//! at every table for it.
//!
//! Sizes are written here in a few lines: crates for them print a fixed number of decimals, and a
//! page reads better with three digits.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::database_url::DatabaseUrl;
use crate::base::error::Error;
use crate::database::{Database, Engine, sql};

/// How long an answer is good enough.
const KNOWN_FOR: Duration = Duration::from_secs(10);

/// What SQLite puts beside a file while it is open.
const BESIDE: [&str; 2] = ["", "-wal"];

/// The engine, and what it keeps.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) engine: &'static str,
    pub(crate) version: String,
    /// What there is, and how many bytes it takes.
    pub(crate) parts: Vec<(String, u64)>,
}

/// The storage of a site.
#[derive(Debug)]
pub(crate) struct Storage {
    /// The files of the host and of each extension; none where all is on a server.
    files: Vec<(String, PathBuf)>,
    known: Mutex<Option<(Instant, Stored)>>,
}

impl Storage {
    /// The storage at this address. Each extension is given by its name and that of its file.
    pub(crate) fn new<'a>(
        url: &DatabaseUrl,
        extensions: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let files = url.path().map(|host| {
            let of_extension = |(name, stem): (&str, &str)| {
                (name.to_owned(), host.with_file_name(format!("{stem}.db")))
            };
            let host = ("the host's tables".to_owned(), host.to_owned());
            std::iter::once(host).chain(extensions.map(of_extension)).collect()
        });
        Self { files: files.unwrap_or_default(), known: Mutex::default() }
    }

    /// What is kept, as it was a few seconds ago at most.
    pub(crate) async fn stored(&self, database: &Database) -> Result<Stored, Error> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, stored)) = known.filter(|(asked, _)| asked.elapsed() < KNOWN_FOR) {
            return Ok(stored);
        }
        let stored = self.ask(database).await?;
        let known = Some((Instant::now(), stored.clone()));
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(stored)
    }

    async fn ask(&self, database: &Database) -> Result<Stored, Error> {
        let statement = match database.engine() {
            Engine::Sqlite => "SELECT sqlite_version(), 0",
            Engine::Postgres => {
                "SELECT current_setting('server_version'), pg_database_size(current_database())"
            }
            Engine::MySql => {
                "SELECT version(), CAST(coalesce(sum(data_length + index_length), 0) AS SIGNED) \
                 FROM information_schema.tables WHERE table_schema = DATABASE()"
            }
        };
        let (version, bytes): (String, i64) = database.fetch_one(sql(statement)).await?;
        let engine = match database.engine() {
            Engine::Sqlite => "SQLite",
            Engine::Postgres => "PostgreSQL",
            Engine::MySql if version.contains("MariaDB") => "MariaDB",
            Engine::MySql => "MySQL",
        };
        let parts = match database.engine() {
            Engine::Sqlite => {
                self.files.iter().map(|(name, path)| (name.clone(), size(path))).collect()
            }
            // Host and extensions share it.
            Engine::Postgres | Engine::MySql => {
                vec![("all tables".to_owned(), bytes.unsigned_abs())]
            }
        };
        Ok(Stored { engine, version, parts })
    }
}

/// How many bytes a database file takes with what lies beside it. One that is not there takes none.
fn size(path: &Path) -> u64 {
    let length = |end| {
        let mut path = path.as_os_str().to_owned();
        path.push(end);
        std::fs::metadata(path).map_or(0, |file| file.len())
    };
    BESIDE.into_iter().map(length).sum()
}

/// A number of bytes for people: three digits, more or less.
pub(crate) fn in_words(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((unit, name)) = units.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} bytes");
    };
    match bytes / unit {
        whole @ 0..100 => format!("{whole}.{} {name}", bytes % unit * 10 / unit),
        whole => format!("{whole} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_units_that_fit() {
        let told = [0, 1023, 1024, 1536, 200 << 10, (1 << 20) - 1, 5 << 30].map(in_words);
        let expected =
            ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 KiB", "200 KiB", "1023 KiB", "5.0 GiB"];
        assert_eq!(told, expected);
    }
}
