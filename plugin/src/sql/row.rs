//! Rows that are read by the names of their columns: one list gives the struct, the columns of the query and what
//! reads them, so that two columns of one kind cannot be exchanged. Independent of what a query is about.

use std::borrow::Cow;
use std::fmt::Write;
use std::marker::PhantomData;

use super::statement::Table;
use crate::error::Error;
use crate::model::value::{Cell, Kind, Value};

/// A row with a list of its columns, declared by `row!`.
pub trait Row: Sized {
    /// The columns as a query names them.
    const COLUMNS: &'static [&'static str];
    /// Their kinds.
    const KINDS: &'static [Kind];

    /// Reads a row.
    ///
    /// # Errors
    /// When a column has another kind of value.
    fn read(cells: &[Cell<'_>]) -> Result<Self, Error>;
}

/// What a column is read as.
pub trait Column: Sized {
    /// The kind of the column.
    const KIND: Kind;

    /// Reads a cell of the column with this name.
    ///
    /// # Errors
    /// When it has another kind of value.
    fn read(cell: &Cell<'_>, column: &str) -> Result<Self, Error>;
}

/// An amount in units of 10^-5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(pub i64);

/// A moment as the database writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written(pub String);

/// JSON as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(pub String);

/// A query for such rows.
#[derive(Debug)]
pub struct Rows<R> {
    /// The query as a table.
    pub table: Table,
    of: PhantomData<R>,
}

impl<R: Row> Rows<R> {
    /// A query for the columns of the row; `rest` begins with `FROM`, and has a list of values for each `?`.
    pub fn select(rest: &str, binds: Vec<Vec<Value>>) -> Self {
        let mut text = String::with_capacity(rest.len() + 32 * R::COLUMNS.len());
        for (position, column) in R::COLUMNS.iter().enumerate() {
            let begin = if position == 0 { "SELECT " } else { ", " };
            // Nothing fails while a string is written.
            let _ = write!(text, "{begin}{column} AS c{position}");
        }
        text.push(' ');
        text.push_str(rest);
        Self::written(text, binds)
    }

    /// A query that names these columns `c0`, `c1` and so on itself.
    pub fn written(text: impl Into<Cow<'static, str>>, binds: Vec<Vec<Value>>) -> Self {
        Self { table: Table::new(text, binds, R::KINDS), of: PhantomData }
    }
}

/// What is read as a column: the type, the kind of the column, and how a cell of it is read.
macro_rules! columns {
    ($($of:ty: $kind:expr, |$cell:ident, $column:ident| $read:expr;)*) => {
        $(impl Column for $of {
            const KIND: Kind = $kind;

            fn read($cell: &Cell<'_>, $column: &str) -> Result<Self, Error> {
                $read
            }
        })*
    };
}

columns! {
    i64: Kind::COUNT, |cell, column| cell.int(column);
    bool: Kind::Flag, |cell, column| Ok(cell.int(column)? != 0);
    String: Kind::WORD, |cell, column| cell.text(column).map(str::to_owned);
    Amount: Kind::MONEY, |cell, column| cell.int(column).map(Amount);
    Written: Kind::DateTime, |cell, column| String::read(cell, column).map(Written);
    Json: Kind::Json, |cell, column| String::read(cell, column).map(Json);
}

impl<C: Column> Column for Option<C> {
    const KIND: Kind = C::KIND;

    fn read(cell: &Cell<'_>, column: &str) -> Result<Self, Error> {
        match cell {
            Cell::Null => Ok(None),
            cell => C::read(cell, column).map(Some),
        }
    }
}

/// Declares a row: a field is read from the column of its name, unless it has an expression.
macro_rules! row {
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident {
            $($(#[$what:meta])* $of:vis $column:ident: $kind:ty $(= $expression:expr)?,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($(#[$what])* $of $column: $kind,)*
        }

        impl $crate::sql::row::Row for $name {
            const COLUMNS: &'static [&'static str] =
                &[$($crate::sql::row::row!(@ $column $($expression)?)),*];
            const KINDS: &'static [$crate::model::value::Kind] =
                &[$(<$kind as $crate::sql::row::Column>::KIND),*];

            fn read(cells: &[$crate::model::value::Cell<'_>]) -> Result<Self, $crate::error::Error> {
                let mut cells = cells.iter();
                Ok(Self {
                    $($column: <$kind as $crate::sql::row::Column>::read(
                        cells.next().unwrap_or(&$crate::model::value::Cell::Null),
                        stringify!($column),
                    )?,)*
                })
            }
        }
    };
    (@ $column:ident) => { stringify!($column) };
    (@ $column:ident $expression:expr) => { $expression };
}

pub(crate) use row;

row! {
    /// A key alone.
    pub struct Key {
        /// The key.
        pub key: i64,
    }
}
