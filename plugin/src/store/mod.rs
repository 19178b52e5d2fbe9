//! The store's database: pools, transactions, rows as cells, and what a failure of the database
//! means. Makes no SQL of its own beside the migrations. A file for each engine has what only its
//! driver knows.

/// What is the same on the engines that hand over rows, in the words of their drivers.
macro_rules! answers_in_rows {
    ($dialect:expr, $rows:path) => {
        async fn say(&mut self, words: &'static str) -> Result<(), sqlx::Error> {
            self.execute(words).await.map(drop)
        }

        async fn page(&mut self, page: &Page) -> Result<Cells, sqlx::Error> {
            let approach = super::approach(self, page, &$dialect).await?;
            if let Some(total) = approach.empty() {
                return Ok(Cells { total, rows: $rows(Vec::new(), Vec::new()) });
            }
            let asked = sql::page(page, &approach, &$dialect);
            let mut rows = query(asked)?.fetch_all(&mut *self).await?;
            // The limit may have been rounded up.
            rows.truncate(usize::try_from(page.limit).unwrap_or(usize::MAX));
            let total = match (rows.first(), approach.total) {
                (Some(row), _) => number(row, 0)?,
                (None, Some(total)) => total,
                (None, None) if page.offset == 0 => 0,
                (None, None) => {
                    let total = self.numbers(sql::total(page, &$dialect)).await?;
                    total.first().copied().unwrap_or_default()
                }
            };
            Ok(Cells { total, rows: $rows(rows, super::kinds(page)) })
        }

        async fn table(&mut self, table: Table) -> Result<Cells, sqlx::Error> {
            let kinds = table.columns.to_vec();
            let rows = query(sql::table(table, &$dialect))?.fetch_all(self).await?;
            Ok(Cells { total: 0, rows: $rows(rows, kinds) })
        }

        fn stream<'a>(
            &'a mut self,
            statement: Statement,
            kinds: &'a [Kind],
        ) -> Result<Stream<'a, sqlx::Error>, sqlx::Error> {
            let rows = query(statement)?.fetch(self);
            Ok(rows.map(|row| values(&row?, kinds, cell)).boxed())
        }

        async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, sqlx::Error> {
            let row = query(statement)?.fetch_optional(self).await?;
            let Some(row) = row else { return Ok(Vec::new()) };
            (0..row.len()).map(|column| number(&row, column)).collect()
        }

        async fn texts(&mut self, statement: Statement) -> Result<Vec<String>, sqlx::Error> {
            let rows = query(statement)?.fetch_all(self).await?;
            rows.iter().map(|row| row.try_get_unchecked::<String, _>(0)).collect()
        }

        async fn change(&mut self, statement: Statement) -> Result<u64, sqlx::Error> {
            Ok(query(statement)?.execute(self).await?.rows_affected())
        }
    };
}

/// How the cells of such rows are read, whose decimals are of the type of this name.
macro_rules! cells_of {
    ($row:ty, $decimal:literal) => {
        /// A cell of a page.
        pub(super) fn cell(row: &$row, column: usize, kind: Kind) -> Result<Cell<'_>, sqlx::Error> {
            let raw = row.try_get_raw(column)?;
            if raw.is_null() {
                return Ok(Cell::Null);
            }
            Ok(match kind {
                // A sum of whole numbers may be a decimal.
                Kind::Int { .. } if raw.type_info().name() == $decimal => {
                    Cell::Int(units(row.try_get(column)?, 0)?)
                }
                Kind::Int { .. } | Kind::Flag | Kind::Key(_) | Kind::User => {
                    Cell::Int(number(row, column)?)
                }
                Kind::Decimal { places, .. } => Cell::Int(units(row.try_get(column)?, places)?),
                Kind::DateTime => {
                    let moment = row.try_get::<PrimitiveDateTime, _>(column)?;
                    Cell::Text(crate::model::moment::render(moment).into())
                }
                _ => Cell::Text(row.try_get_unchecked::<&str, _>(column)?.into()),
            })
        }
    };
}

mod brake;
mod filling;
mod migrations;
mod mysql;
mod postgres;
mod ready;
mod sqlite;
mod upkeep;

use std::io::ErrorKind;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use rust_decimal::Decimal;
use sqlx::migrate::Migrator;
use sqlx::mysql::MySqlRow;
use sqlx::pool::PoolOptions;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection, Database, MySql, Postgres, Row, Sqlite};

use self::brake::Brake;
use self::ready::{Ready, Taken};
use self::upkeep::Upkeep;
use crate::error::{Error, Fault, FaultKind, chain};
use crate::model::question::Page;
use crate::model::record::Record;
use crate::model::resource::Resource;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::approach::{Approach, Keys, Next, Survey};
use crate::sql::dialect::{Dialect, MYSQL, POSTGRES, SQLITE};
use crate::sql::{self, Statement, Table};

pub use filling::Filling;

/// How long a request waits for a connection, and how long it is tried again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer of the database is waited for.
const ANSWER: Duration = Duration::from_secs(10);
/// The same for an answer that takes the longer the larger the store is.
const LONG_ANSWER: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a statement waits for a row that another transaction keeps.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How often a request is tried at most whose connection is lost.
const TRIES: u32 = 8;
/// How long is waited for a statement to notice that it is ended.
const ENDING: Duration = Duration::from_secs(2);
/// How many prepared statements a connection keeps.
const STATEMENTS: usize = 512;
/// A connection that nobody has used for as long is asked whether it is still there.
const IDLE: Duration = Duration::from_secs(1);

/// Asks what has to be known before a page is read.
async fn approach(
    session: &mut impl Session,
    page: &Page,
    dialect: &Dialect,
) -> Result<Approach, sqlx::Error> {
    let Some(mut survey) = Survey::of(page) else { return Ok(Approach::unasked(page)) };
    let mut approach = loop {
        let rows = session.stream(sql::survey(&survey, page, dialect), survey.kinds())?;
        let rows: Vec<Vec<Value>> = rows.try_collect().await?;
        match survey.answered(page, &rows) {
            Next::Read(approach) => break approach,
            Next::Ask(next) => survey = next,
        }
    };
    if approach.keys == Keys::Nothing && approach.total.is_none() {
        let total = session.numbers(sql::total(page, dialect)).await?;
        approach.total = total.first().copied();
    }
    Ok(approach)
}

/// The store's database.
#[derive(Clone, Debug)]
pub struct Store {
    pool: Pool,
    /// How long an answer is waited for.
    answer: Duration,
}

#[derive(Clone, Debug)]
enum Pool {
    Sqlite(sqlite::Pools),
    Postgres(Ready<Postgres>),
    MySql(Ready<MySql>),
}

/// How many connections a pool has.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Which pool.
    pub pool: &'static str,
    /// Those that are at work.
    pub busy: u32,
    /// Those that wait for work.
    pub idle: u32,
}

/// Rows as they come, so that a table of any length can be read.
type Stream<'a, E> = BoxStream<'a, Result<Vec<Value>, E>>;

/// What is asked of a connection, whatever its engine.
trait Session: Connection {
    /// Undoes whatever transaction is open.
    const ROLLBACK: &'static str = "ROLLBACK";

    /// A handle that ends a statement of this connection while another task waits for it.
    async fn brake(&mut self) -> Result<Brake, sqlx::Error> {
        Ok(Brake::default())
    }
    /// Ends the statement that the connection still runs. Returns whether the connection can be used
    /// again; otherwise it is closed.
    fn end(
        &mut self,
        _brake: &Brake,
        _pool: &sqlx::Pool<Self::Database>,
    ) -> impl Future<Output = bool> + Send {
        std::future::ready(false)
    }
    /// Whether closing the connection removes the cause of a failure.
    fn is_worn_out(_error: &sqlx::Error) -> bool {
        false
    }

    /// Has the engine look at what is in these tables, so that it plans for it.
    async fn learn(&mut self, tables: &[&str]) -> Result<(), sqlx::Error>;
    /// Runs a statement without values.
    fn say(&mut self, words: &'static str) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
    async fn page(&mut self, page: &Page) -> Result<Cells, sqlx::Error>;
    async fn table(&mut self, table: Table) -> Result<Cells, sqlx::Error>;
    /// Gives rows of values of these kinds.
    fn stream<'a>(
        &'a mut self,
        statement: Statement,
        kinds: &'a [Kind],
    ) -> Result<Stream<'a, sqlx::Error>, sqlx::Error>;
    async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, sqlx::Error>;
    async fn texts(&mut self, statement: Statement) -> Result<Vec<String>, sqlx::Error>;
    /// Gives the key of the row inserted last.
    async fn run(&mut self, statement: Statement) -> Result<i64, sqlx::Error>;
    /// Gives how many rows it changed.
    async fn change(&mut self, statement: Statement) -> Result<u64, sqlx::Error>;
}

/// Asks a leased connection, for so long and no longer.
macro_rules! ask {
    ($lease:expr, $session:ident => $work:expr) => {{
        let lease = $lease;
        match lease.connection.as_mut() {
            Some(taken) => {
                let brake = &taken.brake;
                let $session = &mut *taken.connection;
                lease.asked = true;
                let answer = brake.answered(lease.answer, $work).await;
                lease.asked = answer.is_none();
                lease.sound &= matches!(answer, Some(Ok(_)));
                lease.worn_out |= matches!(&answer, Some(Err(error)) if is_worn_out($session, error));
                answer.unwrap_or_else(|| Err(sqlx::Error::Io(ErrorKind::TimedOut.into())))
            }
            None => Err(sqlx::Error::PoolClosed),
        }
    }};
}

fn is_worn_out<S: Session>(_: &S, error: &sqlx::Error) -> bool {
    S::is_worn_out(error)
}

/// Does the same on each engine, and says what a failure means.
macro_rules! on_engine {
    ($engine:expr, $session:ident => $work:expr) => {
        match $engine {
            Leased::Sqlite(lease) => ask!(lease, $session => $work).map_err(sqlite::classify),
            Leased::Postgres(lease) => ask!(lease, $session => $work).map_err(postgres::classify),
            Leased::MySql(lease) => ask!(lease, $session => $work).map_err(mysql::classify),
        }
    };
}

impl Store {
    /// The database at this address. Connects to nothing yet, but needs the context of a runtime.
    ///
    /// # Errors
    /// When the address is none of a database that the store knows.
    pub fn open(url: &str) -> Result<Self, Error> {
        Self::open_for(url, ANSWER)
    }

    /// The same, where an answer is waited for so long.
    ///
    /// # Errors
    /// When the address is none of a database that the store knows.
    pub fn open_for(url: &str, answer: Duration) -> Result<Self, Error> {
        let open = |url: &str| {
            Ok(match url.split_once(':').map_or("", |(scheme, _)| scheme) {
                "postgres" | "postgresql" => {
                    Pool::Postgres(Ready::new(postgres::connect(postgres::options(url)?, answer)))
                }
                "mysql" | "mariadb" => {
                    Pool::MySql(Ready::new(mysql::connect(mysql::options(url)?, answer)))
                }
                _ => Pool::Sqlite(sqlite::connect(&sqlite::options(url)?)),
            })
        };
        let pool = open(url).map_err(Error::Database)?;
        Ok(Self { pool, answer })
    }

    /// The same database by connections of its own, for work that takes as long as it takes and
    /// that no client waits for.
    pub fn patient(&self) -> Self {
        let pool = match &self.pool {
            Pool::Sqlite(pools) => {
                Pool::Sqlite(sqlite::connect(&pools.writer.pool().connect_options()))
            }
            Pool::Postgres(pool) => {
                let options = pool.pool().connect_options().as_ref().clone();
                Pool::Postgres(Ready::new(postgres::connect(options, LONG_ANSWER)))
            }
            Pool::MySql(pool) => {
                let options = pool.pool().connect_options().as_ref().clone();
                Pool::MySql(Ready::new(mysql::connect(options, LONG_ANSWER)))
            }
        };
        Self { pool, answer: LONG_ANSWER }
    }

    /// How the engine speaks.
    pub fn dialect(&self) -> &'static Dialect {
        match &self.pool {
            Pool::Sqlite(_) => &SQLITE,
            Pool::Postgres(_) => &POSTGRES,
            Pool::MySql(_) => &MYSQL,
        }
    }

    /// Creates the tables, or brings them up to date. Of several programs that do so at once, one
    /// does and the others wait for it.
    ///
    /// # Errors
    /// When a migration fails, the tables are of a newer version than this program, or the file of
    /// the database cannot be written.
    pub async fn migrate(&self) -> Result<(), Error> {
        let migrated = match &self.pool {
            Pool::Sqlite(pools) => {
                sqlite::create_private(pools)?;
                sqlite::migrate(pools).await
            }
            Pool::Postgres(pool) => postgres::migrate(pool.pool()).await,
            Pool::MySql(pool) => mysql::migrate(pool.pool()).await,
        };
        migrated.map_err(Error::of_migration)
    }

    /// Counts anew what triggers keep. Nobody may write meanwhile.
    ///
    /// # Errors
    /// Those of the database; then everything stays as it was.
    pub async fn recount(&self) -> Result<(), Error> {
        let mut transaction = self.begin().await?;
        for piece in self.recounts() {
            on_engine!(&mut transaction.lease, session => session.say(piece))?;
        }
        transaction.commit().await
    }

    fn recounts(&self) -> impl Iterator<Item = &'static str> + use<> {
        statements(match &self.pool {
            Pool::Sqlite(_) => sqlite::RECOUNT,
            Pool::Postgres(_) => postgres::RECOUNT,
            Pool::MySql(_) => mysql::RECOUNT,
        })
    }

    /// Has the engine look at what is in these tables, so that it plans for it.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn learn(&self, tables: &[&str]) -> Result<(), Error> {
        on_engine!(&mut self.lease(Access::Write).await?, session => session.learn(tables))
    }

    /// Takes away all tables of the store with what is in them, so that they can be created anew,
    /// whatever state an interruption has left them in. To be done before anything else with a
    /// store: a connection to a file would go on with the one that is gone.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn drop_tables(&self) -> Result<(), Error> {
        match &self.pool {
            Pool::Sqlite(pools) => sqlite::drop_tables(pools),
            Pool::Postgres(pool) => {
                postgres::drop_tables(pool.pool()).await.map_err(postgres::classify)
            }
            Pool::MySql(pool) => mysql::drop_tables(pool.pool()).await.map_err(mysql::classify),
        }
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> Result<(), Error> {
        on_engine!(&mut self.lease(Access::Read).await?, session => session.say("SELECT 1"))
    }

    /// Reads a page and its total.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn page(&self, page: &Page) -> Result<Cells, Error> {
        if Survey::of(page).is_none() {
            return on_engine!(&mut self.lease(Access::Read).await?, session => session.page(page));
        }
        // What is asked before must be true of what is read then.
        let mut transaction = self.begin_read().await?;
        let cells = transaction.page(page).await?;
        transaction.commit().await?;
        Ok(cells)
    }

    /// Reads a table that is no page of a resource; its total is 0.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn table(&self, table: Table) -> Result<Cells, Error> {
        on_engine!(&mut self.lease(Access::Read).await?, session => session.table(table))
    }

    /// Runs a statement that is a transaction of its own, as some must be.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn execute(&self, statement: Statement) -> Result<(), Error> {
        let mut lease = self.lease(Access::Write).await?;
        on_engine!(&mut lease, session => session.run(statement)).map(drop)
    }

    /// Runs statements in one transaction.
    ///
    /// # Errors
    /// Those of the database; then nothing is written.
    pub async fn write(
        &self,
        statements: impl IntoIterator<Item = Statement>,
    ) -> Result<(), Error> {
        let mut transaction = self.begin().await?;
        for statement in statements {
            transaction.execute(statement).await?;
        }
        transaction.commit().await
    }

    /// Begins a transaction that writes. It is rolled back unless it is committed.
    ///
    /// # Errors
    /// When the writer's turn does not come in time.
    pub async fn begin(&self) -> Result<Transaction, Error> {
        self.begin_with(Access::Write, self.dialect().begin_write).await
    }

    /// Begins a transaction that reads everything as it was at one moment, and cannot write.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn begin_read(&self) -> Result<Transaction, Error> {
        self.begin_with(Access::Read, self.dialect().begin_read).await
    }

    async fn begin_with(&self, access: Access, begin: &'static str) -> Result<Transaction, Error> {
        let mut lease = self.lease(access).await?;
        // It may be open although beginning it has failed.
        lease.opened(true);
        on_engine!(&mut lease, session => session.say(begin))?;
        let upkeep = match (&self.pool, access) {
            (Pool::Sqlite(pools), Access::Write) => Some(Arc::clone(&pools.upkeep)),
            _ => None,
        };
        Ok(Transaction { lease, dialect: self.dialect(), upkeep })
    }

    /// How many connections each pool has.
    pub fn usage(&self) -> Vec<Usage> {
        fn of<DB: Database>(pool: &'static str, of: &Ready<DB>) -> Usage {
            let (busy, idle) = of.usage();
            Usage { pool, busy, idle }
        }
        match &self.pool {
            Pool::Sqlite(pools) => {
                vec![of("readers", &pools.readers), of("writer", &pools.writer)]
            }
            Pool::Postgres(pool) => vec![of("server", pool)],
            Pool::MySql(pool) => vec![of("server", pool)],
        }
    }

    /// Closes all connections.
    pub async fn close(&self) {
        match &self.pool {
            Pool::Sqlite(pools) => {
                pools.upkeep.close().await;
                pools.readers.close().await;
                pools.writer.close().await;
            }
            Pool::Postgres(pool) => pool.close().await,
            Pool::MySql(pool) => pool.close().await,
        }
    }

    async fn lease(&self, access: Access) -> Result<Leased, Error> {
        let answer = self.answer;
        match &self.pool {
            Pool::Sqlite(pools) => {
                let pool = match access {
                    Access::Read => &pools.readers,
                    Access::Write => &pools.writer,
                };
                Lease::of(pool, answer).await.map(Leased::Sqlite).map_err(sqlite::classify)
            }
            Pool::Postgres(pool) => {
                Lease::of(pool, answer).await.map(Leased::Postgres).map_err(postgres::classify)
            }
            Pool::MySql(pool) => {
                Lease::of(pool, answer).await.map(Leased::MySql).map_err(mysql::classify)
            }
        }
    }
}

/// What a connection is wanted for.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
}

/// A connection of one of the pools.
enum Leased {
    Sqlite(Lease<Sqlite>),
    Postgres(Lease<Postgres>),
    MySql(Lease<MySql>),
}

impl Leased {
    /// Says whether a transaction is open.
    fn opened(&mut self, open: bool) {
        match self {
            Leased::Sqlite(lease) => lease.open = open,
            Leased::Postgres(lease) => lease.open = open,
            Leased::MySql(lease) => lease.open = open,
        }
    }
}

/// A connection on its way back to its pool. A statement that it still runs is ended, because its
/// request is over; the connection is closed then, unless it certainly owes no answer. A transaction
/// that is left open is undone.
struct Lease<DB: Database<Connection: Session>> {
    connection: Option<Taken<DB>>,
    ready: Ready<DB>,
    asked: bool,
    open: bool,
    /// Whether everything that was asked has been answered as it should be.
    sound: bool,
    /// Whether it is to be closed, which frees what the server is short of.
    worn_out: bool,
    /// How long an answer is waited for.
    answer: Duration,
}

impl<DB: Database<Connection: Session>> Lease<DB> {
    async fn of(ready: &Ready<DB>, answer: Duration) -> Result<Self, sqlx::Error> {
        let (connection, ready) = (Some(ready.acquire().await?), ready.clone());
        let (asked, open, sound, worn_out) = (false, false, true, false);
        Ok(Self { connection, ready, asked, open, sound, worn_out, answer })
    }

    /// Gives rows as they come. As long as they do, the connection owes an answer.
    fn stream<'a>(
        &'a mut self,
        statement: Statement,
        kinds: &'a [Kind],
    ) -> Result<Stream<'a, sqlx::Error>, sqlx::Error> {
        let taken = self.connection.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        let connection = &mut *taken.connection;
        let asked = &mut self.asked;
        let rows = connection.stream(statement, kinds)?;
        *asked = true;
        let end = stream::poll_fn(move |_| {
            *asked = false;
            Poll::Ready(None)
        });
        Ok(rows.chain(end).boxed())
    }
}

impl<DB: Database<Connection: Session>> Drop for Lease<DB> {
    fn drop(&mut self) {
        let Some(mut taken) = self.connection.take() else { return };
        match tokio::runtime::Handle::try_current() {
            _ if self.worn_out => taken.connection.close_on_drop(),
            Ok(runtime) if self.open || self.asked => {
                let (asked, open, ready) = (self.asked, self.open, self.ready.clone());
                runtime.spawn(async move {
                    let session = &mut *taken.connection;
                    let undone = async {
                        if asked && !session.end(&taken.brake, ready.pool()).await {
                            return false;
                        }
                        !open || session.say(<DB::Connection as Session>::ROLLBACK).await.is_ok()
                    };
                    if !tokio::time::timeout(ANSWER, undone).await.unwrap_or(false) {
                        taken.connection.close_on_drop();
                    }
                });
            }
            _ if self.open || self.asked => taken.connection.close_on_drop(),
            // The pool finds out whether it is still there.
            _ if !self.sound => {}
            _ => self.ready.give_back(taken),
        }
    }
}

/// A transaction.
pub struct Transaction {
    lease: Leased,
    dialect: &'static Dialect,
    /// Who is told when something was written, where something is left to do then.
    upkeep: Option<Arc<Upkeep>>,
}

impl Transaction {
    /// How the engine speaks.
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// Keeps a record as it is until the transaction ends: others that want to change it, or to
    /// refer to it, wait. What is read afterwards is what will be there at the end.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn lock(&mut self, resource: &Resource, key: i64) -> Result<(), Error> {
        self.keep(sql::lock(resource, key, self.dialect)).await
    }

    /// Keeps others that do the same waiting until the transaction ends.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn lock_store(&mut self) -> Result<(), Error> {
        self.keep(sql::lock_store(self.dialect)).await
    }

    async fn keep(&mut self, lock: Option<Statement>) -> Result<(), Error> {
        match lock {
            Some(statement) => self.numbers(statement).await.map(drop),
            None => Ok(()),
        }
    }

    /// Reads a page as this transaction sees it.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn page(&mut self, page: &Page) -> Result<Cells, Error> {
        let done = on_engine!(&mut self.lease, session => session.page(page));
        self.understood(done).await
    }

    /// How a page would be found.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn approach(&mut self, page: &Page) -> Result<Approach, Error> {
        on_engine!(&mut self.lease, session => approach(session, page, self.dialect))
    }

    /// Reads a table that is no page of a resource; its total is 0.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn table(&mut self, table: Table) -> Result<Cells, Error> {
        on_engine!(&mut self.lease, session => session.table(table))
    }

    /// Reads rows of values of these kinds, as many as there are: they are taken from the database
    /// as they are asked for.
    ///
    /// # Errors
    /// Those of the database, at once or in place of a row.
    pub fn stream<'a>(
        &'a mut self,
        statement: Statement,
        kinds: &'a [Kind],
    ) -> Result<Stream<'a, Error>, Error> {
        let (rows, classify): (_, fn(sqlx::Error) -> Error) = match &mut self.lease {
            Leased::Sqlite(lease) => (lease.stream(statement, kinds), sqlite::classify),
            Leased::Postgres(lease) => (lease.stream(statement, kinds), postgres::classify),
            Leased::MySql(lease) => (lease.stream(statement, kinds), mysql::classify),
        };
        Ok(rows.map_err(classify)?.map_err(classify).boxed())
    }

    /// Reads one row of whole numbers; none where there is no row. A decimal is counted in units
    /// of its last place.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, Error> {
        let done = on_engine!(&mut self.lease, session => session.numbers(statement));
        self.understood(done).await
    }

    /// Reads a column of text.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn texts(&mut self, statement: Statement) -> Result<Vec<String>, Error> {
        let done = on_engine!(&mut self.lease, session => session.texts(statement));
        self.understood(done).await
    }

    /// Writes, and gives the key of the row inserted last.
    ///
    /// # Errors
    /// Those of the database; a violated constraint is [`Error::Constraint`].
    pub async fn execute(&mut self, statement: Statement) -> Result<i64, Error> {
        let done = on_engine!(&mut self.lease, session => session.run(statement));
        self.understood(done).await
    }

    /// Writes, and gives how many rows that changed.
    ///
    /// # Errors
    /// Those of the database; a violated constraint is [`Error::Constraint`].
    pub async fn change(&mut self, statement: Statement) -> Result<u64, Error> {
        let done = on_engine!(&mut self.lease, session => session.change(statement));
        self.understood(done).await
    }

    /// Makes sure, at its end, that this was one transaction. Without that, what it read may be no
    /// reason to refuse anything.
    ///
    /// # Errors
    /// When it was undone half-way, so that it has to be done again.
    pub async fn stands(&mut self) -> Result<(), Error> {
        match self.dialect.stands {
            Some(words) => on_engine!(&mut self.lease, session => session.say(words)),
            None => Ok(()),
        }
    }

    /// Makes everything written last.
    ///
    /// # Errors
    /// When it could not be; then nothing is. Where the connection was lost meanwhile, nobody can
    /// tell, and it must not be tried again.
    pub async fn commit(mut self) -> Result<(), Error> {
        match on_engine!(&mut self.lease, session => session.say(self.dialect.commit)) {
            Ok(()) => {
                self.lease.opened(false);
                if let Some(upkeep) = &self.upkeep {
                    upkeep.written();
                }
                Ok(())
            }
            Err(Error::Lost(cause)) => Err(Error::Unavailable(cause)),
            Err(error) => Err(error),
        }
    }

    /// What a failure means that makes no sense by itself.
    async fn understood<T>(&mut self, done: Result<T, Error>) -> Result<T, Error> {
        match done {
            Err(Error::Database(error) | Error::Unavailable(error))
                if self.dialect.stands.is_some() && mysql::is_half_read(&error) =>
            {
                tracing::warn!(%error, "the database cannot read its triggers; reloading them");
                let told = on_engine!(&mut self.lease, session => session.say(mysql::READ_ANEW));
                if let Err(error) = told {
                    tracing::warn!(causes = chain(&error), "the triggers could not be reloaded");
                }
                Err(Error::Conflict(error))
            }
            Err(Error::Database(error)) => Err(match self.stands().await {
                Ok(()) => Error::Database(error),
                Err(_) => Error::Conflict(error),
            }),
            done => done,
        }
    }
}

/// Does a piece of work with transactions of its own, and does it again while others are in its
/// way, or a few times when its connection is lost before it has committed anything.
///
/// # Errors
/// Those of the work, and what was in its way at last.
pub async fn persist<T, F>(mut work: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let begun = Instant::now();
    for tries in 1.. {
        let error = match work().await {
            Err(error) if error.may_pass() && begun.elapsed() < PATIENCE => error,
            done => return done,
        };
        // Others get done sooner or later, however many there are. A server may not come back.
        if tries >= TRIES && !matches!(error, Error::Conflict(_)) {
            return Err(error);
        }
        let pause = Duration::from_millis(fastrand::u64(1..=5 << tries.min(TRIES)));
        tracing::debug!(tries, ?pause, "retrying: {error}");
        tokio::time::sleep(pause).await;
    }
    Err(Error::Contract("tries have an end"))
}

/// A page of records, or a table, as the engine handed it over.
#[derive(Debug)]
pub struct Cells {
    total: i64,
    rows: Rows,
}

#[derive(Debug)]
enum Rows {
    /// A JSON array of arrays of cells.
    Json(String),
    /// Rows with what their last columns hold.
    Postgres(Vec<PgRow>, Vec<Kind>),
    MySql(Vec<MySqlRow>, Vec<Kind>),
}

impl Cells {
    /// How many records satisfy the conditions, on this page or another.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// The records, each as its key and the cells of its fields; or the rows of the table.
    ///
    /// # Errors
    /// When the page is not of the form that was asked for, or a sum is beyond what is counted.
    pub fn rows(&self) -> Result<Vec<Vec<Cell<'_>>>, Error> {
        match &self.rows {
            Rows::Json(text) => Ok(serde_json::from_str(text)?),
            Rows::Postgres(rows, kinds) => decoded(rows, kinds, postgres::cell),
            Rows::MySql(rows, kinds) => decoded(rows, kinds, mysql::cell),
        }
    }
}

impl Cells {
    /// The records of a page that was read with all fields.
    ///
    /// # Errors
    /// When the page is not of the form that was asked for.
    pub fn records(&self, resource: &'static Resource) -> Result<Vec<Record>, Error> {
        Ok(self.rows()?.iter().map(|row| Record::of_row(resource, row)).collect())
    }
}

/// The cells of rows, before which there may be a total.
fn decoded<'a, R: Row>(
    rows: &'a [R],
    kinds: &[Kind],
    cell: impl Fn(&'a R, usize, Kind) -> Result<Cell<'a>, sqlx::Error>,
) -> Result<Vec<Vec<Cell<'a>>>, Error> {
    let cells = |row: &'a R| {
        let columns = row.len().saturating_sub(kinds.len())..;
        kinds.iter().zip(columns).map(|(kind, column)| cell(row, column, *kind)).collect()
    };
    rows.iter().map(cells).collect::<Result<_, _>>().map_err(without_code)
}

/// The values of a row, each of its kind.
fn values<R: Row>(
    row: &R,
    kinds: &[Kind],
    cell: impl Fn(&R, usize, Kind) -> Result<Cell<'_>, sqlx::Error>,
) -> Result<Vec<Value>, sqlx::Error> {
    let columns = kinds.iter().enumerate();
    columns.map(|(column, kind)| Ok(kind.typed(cell(row, column, *kind)?.to_value()))).collect()
}

/// The text was made by `sql`, which binds whatever a client sent, or is always the same.
fn sql_text(text: String) -> AssertSqlSafe<String> {
    AssertSqlSafe(text)
}

/// How many connections there are at most: enough to keep the processors busy while the database
/// is.
fn connections() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores.saturating_mul(2).clamp(4, 16)).unwrap_or(4)
}

/// A pool of connections to a server: as many as are of use, waited for so long and no longer. A
/// connection that was just used is taken to be there still; one that was not is asked.
fn bounded<DB: Database>(pool: PoolOptions<DB>) -> PoolOptions<DB> {
    pool.max_connections(connections() * 2)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .before_acquire(|connection, used| {
            Box::pin(async move {
                Ok(used.idle_for < IDLE || Connection::ping(connection).await.is_ok())
            })
        })
}

/// The statements of a text in which no semicolon stands for anything but the end of one.
fn statements(text: &'static str) -> impl Iterator<Item = &'static str> + Clone {
    text.split_terminator(';').map(str::trim).filter(|statement| !statement.is_empty())
}

/// The host keeps the versions of its tables beside those of the store.
fn in_own_table(mut migrator: Migrator) -> Migrator {
    migrator.dangerous_set_table_name("shop_migrations");
    migrator
}

/// The columns of a unique index, which is named after its table and them: `table__column__column`.
fn columns_of_index(name: &str) -> Vec<String> {
    name.split("__").skip(1).map(str::to_owned).collect()
}

/// What a failure means that no server has given a code.
fn without_code(error: sqlx::Error) -> Error {
    match error {
        // A conversation that breaks off may leave words that make no sense.
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => Error::Lost(error),
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Tls(_) => {
            Error::Unavailable(error)
        }
        sqlx::Error::ColumnDecode { source: cause, .. } | sqlx::Error::Decode(cause)
            if cause.is::<TooLarge>() =>
        {
            too_large()
        }
        _ => Error::Database(error),
    }
}

/// The kinds of a page's cells, that of the key first.
fn kinds(page: &Page) -> Vec<Kind> {
    let key = Kind::Key(page.resource.kind);
    std::iter::once(key).chain(page.columns().map(|field| field.kind)).collect()
}

/// A sum is beyond what is counted.
#[derive(Debug, thiserror::Error)]
#[error("more units than can be counted")]
struct TooLarge;

/// What a sum that is beyond what is counted means to a request.
pub fn too_large() -> Error {
    Fault::new(FaultKind::Refused, "A sum is too large to be represented exactly.").into()
}

/// What it means to a request that its turn has not come in time.
pub fn busy() -> Error {
    Error::Unavailable(sqlx::Error::PoolTimedOut)
}

/// A decimal as a count of units of its last place.
fn count(decimal: Decimal) -> Result<i64, sqlx::Error> {
    i64::try_from(decimal.mantissa()).map_err(|_| sqlx::Error::Decode(TooLarge.into()))
}

/// A decimal as a count of units of `10^-places`.
fn units(mut decimal: Decimal, places: u8) -> Result<i64, sqlx::Error> {
    decimal.rescale(places.into());
    match decimal.scale() == u32::from(places) {
        true => count(decimal),
        // There are more digits than even an exact decimal has.
        false => Err(sqlx::Error::Decode(TooLarge.into())),
    }
}
