//! The operations of a connection, which are the same for every engine, in terms of its [`Driver`].

use futures_util::future::BoxFuture;
use futures_util::stream::{StreamExt, TryStreamExt};
use sqlx::{Row, SqlStr};

use super::cells::{Cells, values};
use super::driver::{Driver, Stream, bound};
use super::failure::AboveLimit;
use super::lease::Lease;
use crate::error::Error;
use crate::model::question::Page;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::approach::{Approach, Keys, Next, Probe};
use crate::sql::{self, Statement, Table};

/// The future result of a database operation.
pub(super) type Answer<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// A connection in use.
pub(super) trait Session: Send {
    /// Notes whether a transaction is open.
    fn set_open(&mut self, open: bool);
    /// Repairs the database after a failure of its own.
    fn remedy(&self, error: &sqlx::Error) -> Option<&'static str>;

    /// Begins, commits or rolls back a transaction.
    fn delimit(&mut self, text: &'static str) -> Answer<'_, ()>;
    /// Ends a transaction that has only read.
    fn end_read(&mut self) -> Answer<'_, ()>;
    /// Runs statements without values.
    fn execute_batch(&mut self, text: SqlStr) -> Answer<'_, ()>;
    /// Makes the engine collect statistics about these tables, for its planner.
    fn analyze<'a>(&'a mut self, tables: &'a [&'a str]) -> Answer<'a, ()>;
    /// Runs a statement, and returns the key of the row inserted last; `None` if it returns none.
    fn insert(&mut self, statement: Statement) -> Answer<'_, Option<i64>>;
    /// Runs a statement, and returns the number of rows that it changed.
    fn change(&mut self, statement: Statement) -> Answer<'_, u64>;

    /// Reads a page and its total.
    fn page<'a>(&'a mut self, page: &'a Page) -> Answer<'a, Cells>;
    /// Reads a page and its total in this way.
    fn page_by<'a>(&'a mut self, page: &'a Page, approach: &'a Approach) -> Answer<'a, Cells>;
    /// Finds out how a page is best read.
    fn approach<'a>(&'a mut self, page: &'a Page) -> Answer<'a, Approach>;
    /// Reads a table; its total is 0.
    fn table(&mut self, table: Table) -> Answer<'_, Cells>;
    /// Reads one row of whole numbers.
    fn numbers(&mut self, statement: Statement) -> Answer<'_, Vec<i64>>;
    /// Reads a column of text.
    fn texts(&mut self, statement: Statement) -> Answer<'_, Vec<String>>;
    /// Reads rows of values of these kinds, one by one.
    fn stream<'a>(
        &'a mut self,
        statement: Statement,
        kinds: &'a [Kind],
    ) -> Result<Stream<'a, Error>, Error>;
}

impl<D: Driver> Session for Lease<D> {
    fn set_open(&mut self, open: bool) {
        self.set_open(open);
    }

    fn remedy(&self, error: &sqlx::Error) -> Option<&'static str> {
        D::remedy(error)
    }

    fn delimit(&mut self, text: &'static str) -> Answer<'_, ()> {
        Box::pin(self.ask(move |connection| D::delimit(connection, text)))
    }

    fn end_read(&mut self) -> Answer<'_, ()> {
        Box::pin(self.ask(D::end_read))
    }

    fn execute_batch(&mut self, text: SqlStr) -> Answer<'_, ()> {
        Box::pin(self.ask(move |connection| D::execute_batch(connection, text)))
    }

    fn analyze<'a>(&'a mut self, tables: &'a [&'a str]) -> Answer<'a, ()> {
        Box::pin(self.ask(|connection| D::analyze(connection, tables)))
    }

    fn insert(&mut self, statement: Statement) -> Answer<'_, Option<i64>> {
        Box::pin(self.ask(|connection| insert::<D>(connection, statement)))
    }

    fn change(&mut self, statement: Statement) -> Answer<'_, u64> {
        Box::pin(self.ask(|connection| change::<D>(connection, statement)))
    }

    fn page<'a>(&'a mut self, page: &'a Page) -> Answer<'a, Cells> {
        Box::pin(self.ask(|connection| self::page::<D>(connection, page)))
    }

    fn page_by<'a>(&'a mut self, page: &'a Page, approach: &'a Approach) -> Answer<'a, Cells> {
        Box::pin(self.ask(move |connection| self::page_by::<D>(connection, page, approach)))
    }

    fn approach<'a>(&'a mut self, page: &'a Page) -> Answer<'a, Approach> {
        Box::pin(self.ask(|connection| approach::<D>(connection, page)))
    }

    fn table(&mut self, table: Table) -> Answer<'_, Cells> {
        Box::pin(self.ask(|connection| self::table::<D>(connection, table)))
    }

    fn numbers(&mut self, statement: Statement) -> Answer<'_, Vec<i64>> {
        Box::pin(self.ask(|connection| numbers::<D>(connection, statement)))
    }

    fn texts(&mut self, statement: Statement) -> Answer<'_, Vec<String>> {
        Box::pin(self.ask(|connection| texts::<D>(connection, statement)))
    }

    fn stream<'a>(
        &'a mut self,
        statement: Statement,
        kinds: &'a [Kind],
    ) -> Result<Stream<'a, Error>, Error> {
        self.stream(|connection| stream::<D>(connection, statement, kinds))
    }
}

/// Reads one row of whole numbers; `None` if there is no row.
pub(super) async fn numbers<D: Driver>(
    connection: &mut D::Connection,
    statement: Statement,
) -> Result<Vec<i64>, sqlx::Error> {
    let row = D::fetch_optional(connection, bound::<D>(statement)?).await?;
    let Some(row) = row else { return Ok(Vec::new()) };
    (0..row.len()).map(|column| D::number(&row, column)).collect()
}

async fn insert<D: Driver>(
    connection: &mut D::Connection,
    statement: Statement,
) -> Result<Option<i64>, sqlx::Error> {
    let query = bound::<D>(statement)?;
    if D::DIALECT.returns_keys {
        // An insertion that returns its key is a query with one row; other statements have no row.
        let row = D::fetch_optional(connection, query).await?;
        return row.map(|row| D::number(&row, 0)).transpose();
    }
    D::inserted(&D::execute(connection, query).await?)
}

async fn change<D: Driver>(
    connection: &mut D::Connection,
    statement: Statement,
) -> Result<u64, sqlx::Error> {
    Ok(D::affected(&D::execute(connection, bound::<D>(statement)?).await?))
}

async fn texts<D: Driver>(
    connection: &mut D::Connection,
    statement: Statement,
) -> Result<Vec<String>, sqlx::Error> {
    let rows = D::fetch_all(connection, bound::<D>(statement)?).await?;
    rows.iter().map(|row| text::<D>(row, 0)).collect()
}

async fn table<D: Driver>(
    connection: &mut D::Connection,
    table: Table,
) -> Result<Cells, sqlx::Error> {
    if D::DIALECT.embedded {
        let read = json::<D>(connection, sql::table_as_json(table, D::DIALECT)).await?;
        return read.ok_or(sqlx::Error::RowNotFound);
    }
    let kinds = table.columns.to_vec();
    let rows = D::fetch_all(connection, bound::<D>(sql::table(table, D::DIALECT))?).await?;
    Ok(Cells::fetched::<D>(0, rows, kinds, 0))
}

fn stream<'a, D: Driver>(
    connection: &'a mut D::Connection,
    statement: Statement,
    kinds: &'a [Kind],
) -> Result<Stream<'a, sqlx::Error>, sqlx::Error> {
    let rows = D::fetch(connection, bound::<D>(statement)?);
    Ok(rows.map(|row| values::<D>(&row?, kinds)).boxed())
}

async fn page<D: Driver>(
    connection: &mut D::Connection,
    page: &Page,
) -> Result<Cells, sqlx::Error> {
    let approach = approach::<D>(connection, page).await?;
    page_by::<D>(connection, page, &approach).await
}

async fn page_by<D: Driver>(
    connection: &mut D::Connection,
    page: &Page,
    approach: &Approach,
) -> Result<Cells, sqlx::Error> {
    if D::DIALECT.embedded {
        return match approach.empty() {
            Some(total) => Ok(Cells::json(total, "[]".to_owned())),
            None => {
                let read = json::<D>(connection, sql::page_as_json(page, approach, D::DIALECT));
                read.await?.ok_or_else(|| above_limit(page))
            }
        };
    }
    if let Some(total) = approach.empty() {
        return Ok(Cells::fetched::<D>(total, Vec::new(), Vec::new(), 0));
    }
    let asked = bound::<D>(sql::page(page, approach, D::DIALECT))?;
    let most = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let (mut rows, mut bytes) = (Vec::new(), 0);
    if page.measured().next().is_none() {
        rows = D::fetch_all(connection, asked).await?;
    } else {
        let mut fetched = D::fetch(connection, asked);
        while let Some(row) = fetched.try_next().await? {
            if rows.len() < most {
                bytes += length::<D>(&row, page)?;
                rows.push(row);
            }
            if bytes > page.most_bytes {
                return Err(above_limit(page));
            }
        }
    }
    // The limit may have been rounded up.
    rows.truncate(most);
    let total = match (rows.first(), approach.total) {
        (Some(row), _) => D::number(row, 0)?,
        (None, Some(total)) => total,
        (None, None) if page.is_first() => 0,
        (None, None) => total::<D>(connection, page).await?,
    };
    let key = Kind::Key(page.resource.kind);
    let version = page.resource.versioned.then_some(Kind::COUNT);
    let fields = page.columns().map(|field| field.kind);
    let kinds = std::iter::once(key).chain(fields).chain(version).collect();
    Ok(Cells::fetched::<D>(total, rows, kinds, bytes))
}

/// The number of bytes of the long texts of a row, which a total precedes.
fn length<D: Driver>(row: &D::Row, page: &Page) -> Result<usize, sqlx::Error> {
    let mut bytes = 0;
    for (cell, field) in page.measured() {
        if let Cell::Text(text) = D::cell(row, cell + 1, field.kind)? {
            bytes += text.len();
        }
    }
    Ok(bytes)
}

fn above_limit(page: &Page) -> sqlx::Error {
    sqlx::Error::Decode(AboveLimit(page.most_bytes).into())
}

/// Reads one row with a total and a JSON array of arrays of cells; `None` if the array is NULL.
async fn json<D: Driver>(
    connection: &mut D::Connection,
    statement: Statement,
) -> Result<Option<Cells>, sqlx::Error> {
    let row = D::fetch_optional(connection, bound::<D>(statement)?).await?;
    let row = row.ok_or(sqlx::Error::RowNotFound)?;
    let total = D::number(&row, 0)?;
    match D::cell(&row, 1, Kind::WORD)? {
        Cell::Null => Ok(None),
        Cell::Text(text) => Ok(Some(Cells::json(total, text.into_owned()))),
        Cell::Int(_) => Err(sqlx::Error::Decode("a page is not a text".into())),
    }
}

/// Runs the probes that must precede the reading of a page.
async fn approach<D: Driver>(
    connection: &mut D::Connection,
    page: &Page,
) -> Result<Approach, sqlx::Error> {
    let Some(mut probe) = Probe::of(page) else { return Ok(Approach::unasked(page)) };
    let mut approach = loop {
        let asked = sql::probe(&probe, page, D::DIALECT);
        let rows: Vec<Vec<Value>> =
            stream::<D>(connection, asked, probe.kinds())?.try_collect().await?;
        let next = probe.answered(page, &rows);
        match next.map_err(|error| sqlx::Error::Decode(error.into()))? {
            Next::Read(approach) => break approach,
            Next::Ask(next) => probe = next,
        }
    };
    if approach.keys == Keys::Empty && approach.total.is_none() {
        approach.total = Some(total::<D>(connection, page).await?);
    }
    Ok(approach)
}

async fn total<D: Driver>(connection: &mut D::Connection, page: &Page) -> Result<i64, sqlx::Error> {
    let total = numbers::<D>(connection, sql::total(page, D::DIALECT)).await?;
    total.first().copied().ok_or(sqlx::Error::RowNotFound)
}

pub(super) fn text<D: Driver>(row: &D::Row, column: usize) -> Result<String, sqlx::Error> {
    match D::cell(row, column, Kind::WORD)? {
        Cell::Text(text) => Ok(text.into_owned()),
        _ => Err(sqlx::Error::Decode("a text is not one".into())),
    }
}
