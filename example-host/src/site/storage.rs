//! The storage of a site: the engine with its version, and the size of its files or tables. The
//! result is cached for some seconds, because a server reads the size of every table for it.
//!
//! Sizes are formatted here: crates for this print a fixed number of decimals, and three digits are
//! easier to read.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::base::database_url::DatabaseUrl;
use crate::base::error::Error;
use crate::base::lock::lock;
use crate::database::{Database, Engine, sql};

/// How long a result is cached.
const KNOWN_FOR: Duration = Duration::from_secs(10);

/// The suffixes of the files of a SQLite database.
const BESIDE: [&str; 2] = ["", "-wal"];

/// The engine, and the sizes of its parts.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) engine: &'static str,
    pub(crate) version: String,
    /// The name and the size in bytes of each part.
    pub(crate) parts: Vec<(String, u64)>,
}

/// The storage of a site.
#[derive(Debug)]
pub(crate) struct Storage {
    /// The files of the host and of each extension; empty if the tables are on a server.
    files: Vec<(String, PathBuf)>,
    /// Whether all extensions share the host's database, if it is on a server.
    shared: bool,
    known: Mutex<Option<(Instant, Stored)>>,
}

impl Storage {
    /// The storage at this address. Each extension is given by its name and that of its file.
    pub(crate) fn new<'a>(
        url: &DatabaseUrl,
        extensions: impl Iterator<Item = (&'a str, &'a str)>,
        shared: bool,
    ) -> Self {
        let files = url.path().map(|host| {
            let of_extension = |(name, stem): (&str, &str)| {
                (name.to_owned(), host.with_file_name(format!("{stem}.db")))
            };
            let host = ("the host's tables".to_owned(), host.to_owned());
            std::iter::once(host).chain(extensions.map(of_extension)).collect()
        });
        Self { files: files.unwrap_or_default(), shared, known: Mutex::default() }
    }

    /// The sizes, at most some seconds old.
    pub(crate) async fn stored(&self, database: &Database) -> Result<Stored, Error> {
        let known = lock(&self.known).clone();
        if let Some((_, stored)) = known.filter(|(asked, _)| asked.elapsed() < KNOWN_FOR) {
            return Ok(stored);
        }
        let stored = self.ask(database).await?;
        *lock(&self.known) = Some((Instant::now(), stored.clone()));
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
            // The other databases are not measured: an extension alone has the address of its own.
            Engine::Postgres | Engine::MySql => {
                let what = if self.shared { "all tables" } else { "the host's database" };
                vec![(what.to_owned(), bytes.unsigned_abs())]
            }
        };
        Ok(Stored { engine, version, parts })
    }
}

/// The size of a database with its write-ahead log; 0 if it does not exist.
fn size(path: &Path) -> u64 {
    let length = |end| {
        let mut path = path.as_os_str().to_owned();
        path.push(end);
        std::fs::metadata(path).map_or(0, |file| file.len())
    };
    BESIDE.into_iter().map(length).sum()
}

/// A size in a suitable unit, with about three digits.
pub(crate) fn format_size(bytes: u64) -> String {
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
    fn sizes_are_formatted_in_a_suitable_unit() {
        let sizes = [0, 1023, 1024, 1536, 200 << 10, (1 << 20) - 1, 5 << 30].map(format_size);
        let expected =
            ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 KiB", "200 KiB", "1023 KiB", "5.0 GiB"];
        assert_eq!(sizes, expected);
    }
}
