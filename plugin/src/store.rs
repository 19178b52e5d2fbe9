//! The store's database: pools, transactions, rows as cells, and what a failure of the database
//! means. Makes no SQL of its own beside the migrations.

use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Visitor};
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteRow, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, Row, Sqlite};

use crate::dialect::{Dialect, SQLITE};
use crate::error::Error;
use crate::plan::Page;
use crate::resource::Resource;
use crate::sql::{self, Statement};
use crate::value::{Cell, Value};

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// How long a request waits for a connection, and a writer for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// The store's database.
#[derive(Clone, Debug)]
pub struct Store {
    readers: SqlitePool,
    /// One connection, so that the process's writers queue here, in order, and never meet in the
    /// file.
    writer: SqlitePool,
}

impl Store {
    /// The database at this address. Connects to nothing yet, but needs the context of a runtime.
    ///
    /// # Errors
    /// When the address is none of a database that the store knows.
    pub fn open(url: &str) -> Result<Self, Error> {
        let options = SqliteConnectOptions::from_str(url).map_err(Error::Database)?;
        let options = options
            .journal_mode(SqliteJournalMode::Wal)
            .foreign_keys(true)
            .busy_timeout(PATIENCE)
            .statement_cache_capacity(512)
            .disable_statement_logging();
        let pool = || {
            // A file does not go away: asking it before each use would only cost time.
            SqlitePoolOptions::new().acquire_timeout(PATIENCE).test_before_acquire(false)
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let readers = u32::try_from(cores.saturating_mul(2).clamp(4, 16)).unwrap_or(4);
        Ok(Self {
            readers: pool()
                .max_connections(readers)
                .connect_lazy_with(options.clone().read_only(true)),
            writer: pool().max_connections(1).connect_lazy_with(
                options.create_if_missing(true).synchronous(SqliteSynchronous::Full),
            ),
        })
    }

    /// How the engine speaks.
    pub fn dialect(&self) -> &'static Dialect {
        &SQLITE
    }

    /// Creates the tables, or brings them up to date.
    ///
    /// # Errors
    /// When a migration fails, or the tables are of a newer version than this program.
    pub async fn migrate(&self) -> Result<(), Error> {
        self.create_private().map_err(|error| Error::Unavailable(sqlx::Error::Io(error)))?;
        Ok(MIGRATIONS.run(&self.writer).await?)
    }

    /// Creates the file where it is missing, for nobody else to read: it holds names and addresses.
    /// What the engine puts beside it gets the same permissions.
    fn create_private(&self) -> std::io::Result<()> {
        let mut options = std::fs::File::options();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(self.writer.connect_options().get_filename()).map(drop)
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> Result<(), Error> {
        self.readers.execute("SELECT 1").await.map(|_| ()).map_err(classify)
    }

    /// Reads a page and its total.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn page(&self, page: &Page) -> Result<Cells, Error> {
        let statement = sql::page_as_json(page, self.dialect());
        query(statement).fetch_one(&self.readers).await.map_err(classify).and_then(cells)
    }

    /// Begins a transaction that writes. It is rolled back unless it is committed.
    ///
    /// # Errors
    /// When the writer's turn does not come in time.
    pub async fn begin(&self) -> Result<Transaction, Error> {
        let begun = self.writer.begin_with(self.dialect().begin_write).await.map_err(classify)?;
        Ok(Transaction { inner: begun, dialect: self.dialect() })
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// A transaction that writes.
pub struct Transaction {
    inner: sqlx::Transaction<'static, Sqlite>,
    dialect: &'static Dialect,
}

impl Transaction {
    /// How the engine speaks.
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// Reads a page as this transaction sees it.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn page(&mut self, page: &Page) -> Result<Cells, Error> {
        let statement = sql::page_as_json(page, self.dialect);
        query(statement).fetch_one(&mut *self.inner).await.map_err(classify).and_then(cells)
    }

    /// Reads one row of whole numbers; none where there is no row.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, Error> {
        let row = query(statement).fetch_optional(&mut *self.inner).await.map_err(classify)?;
        let Some(row) = row else { return Ok(Vec::new()) };
        let numbers = (0..row.len()).map(|column| row.try_get::<i64, _>(column));
        numbers.collect::<Result<_, _>>().map_err(classify)
    }

    /// Reads a column of text.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn texts(&mut self, statement: Statement) -> Result<Vec<String>, Error> {
        let rows = query(statement).fetch_all(&mut *self.inner).await.map_err(classify)?;
        let texts = rows.iter().map(|row| row.try_get::<String, _>(0));
        texts.collect::<Result<_, _>>().map_err(classify)
    }

    /// Writes, and gives the key of the row inserted last.
    ///
    /// # Errors
    /// Those of the database; a violated constraint is [`Error::Constraint`].
    pub async fn execute(&mut self, statement: Statement) -> Result<i64, Error> {
        let done = query(statement).execute(&mut *self.inner).await.map_err(classify)?;
        Ok(done.last_insert_rowid())
    }

    /// Makes everything written last.
    ///
    /// # Errors
    /// When it could not be; then nothing is.
    pub async fn commit(self) -> Result<(), Error> {
        self.inner.commit().await.map_err(classify)
    }
}

/// A page of records as the engine handed it over.
#[derive(Debug)]
pub struct Cells {
    total: i64,
    rows: String,
}

impl Cells {
    /// How many records satisfy the conditions, on this page or another.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// The records, each as its key and the cells of its fields.
    ///
    /// # Errors
    /// When the page is not of the form that was asked for.
    pub fn rows(&self) -> Result<Vec<Vec<Cell<'_>>>, Error> {
        Ok(serde_json::from_str(&self.rows)?)
    }
}

/// What a constraint that the database upheld was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Values that another row has; the columns, where the engine names them.
    Unique(Vec<String>),
    /// A row that is referred to, or refers to nothing.
    Reference,
    /// A rule about the row itself.
    Check,
}

impl Constraint {
    /// The first of the resource's unique groups that the columns belong to.
    pub fn unique_of(&self, resource: &Resource) -> Option<&'static crate::resource::Unique> {
        let Constraint::Unique(columns) = self else { return None };
        let is_column = |name: &str| {
            columns.iter().any(|column| column == name || *column == sql::folded(name))
        };
        resource.unique.iter().find(|unique| unique.fields.iter().all(|name| is_column(name)))
    }
}

fn query(statement: Statement) -> sqlx::query::Query<'static, Sqlite, SqliteArguments> {
    // The text was made by `sql`, which binds whatever a client sent.
    let query = sqlx::query(AssertSqlSafe(statement.text));
    statement.binds.into_iter().fold(query, |query, value| match value {
        Value::Null => query.bind(None::<i64>),
        Value::Int(number) => query.bind(number),
        Value::Text(text) => query.bind(text),
    })
}

fn cells(row: SqliteRow) -> Result<Cells, Error> {
    let total = row.try_get(0).map_err(classify)?;
    let rows = row.try_get(1).map_err(classify)?;
    Ok(Cells { total, rows })
}

/// What a failure of the database means to a request.
fn classify(error: sqlx::Error) -> Error {
    let sqlx::Error::Database(database) = &error else {
        return match error {
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => {
                Error::Unavailable(error)
            }
            _ => Error::Database(error),
        };
    };
    if database.is_unique_violation() {
        // "UNIQUE constraint failed: table.column, table.column"
        let named = database.message().split_once(": ").map_or("", |(_, columns)| columns);
        let columns = named.split(", ").filter_map(|column| column.split_once('.'));
        let columns = columns.map(|(_, column)| column.to_owned()).collect();
        return Error::Constraint(Constraint::Unique(columns), error);
    }
    // Triggers stand in for some foreign keys, and say what those would.
    let by_trigger = database.code().is_some_and(|code| code == "1811")
        && database.message() == "FOREIGN KEY constraint failed";
    if database.is_foreign_key_violation() || by_trigger {
        return Error::Constraint(Constraint::Reference, error);
    }
    if database.is_check_violation() {
        return Error::Constraint(Constraint::Check, error);
    }
    // The primary result code is in the low byte: busy, locked, read-only, input or output,
    // full, cannot open.
    let code = database.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or_default();
    match code & 0xff {
        5 | 6 | 8 | 10 | 13 | 14 => Error::Unavailable(error),
        _ => Error::Database(error),
    }
}

impl<'de> Deserialize<'de> for Cell<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Raw;

        impl<'de> Visitor<'de> for Raw {
            type Value = Cell<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a whole number, text or null")
            }

            fn visit_unit<E>(self) -> Result<Cell<'de>, E> {
                Ok(Cell::Null)
            }

            fn visit_i64<E>(self, number: i64) -> Result<Cell<'de>, E> {
                Ok(Cell::Int(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Cell<'de>, E> {
                i64::try_from(number).map(Cell::Int).map_err(E::custom)
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(text.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(text.to_owned().into()))
            }
        }

        deserializer.deserialize_any(Raw)
    }
}
