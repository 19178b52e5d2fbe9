//! Rows that are read by the names of their columns: one list gives the struct, the columns of the `SELECT`
//! and the reader, so that two columns of one type cannot be exchanged.

use sqlx::FromRow;
use sqlx::mysql::MySqlRow;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

use super::statement::Statement;

/// What a row can be read into, on every engine.
pub(crate) trait Record:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, MySqlRow>
{
}

impl<T> Record for T where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, MySqlRow>
{
}

/// A row as an engine has sent it.
pub(super) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
    MySql(MySqlRow),
}

impl Row {
    pub(super) fn read<T: Record>(&self) -> Result<T, sqlx::Error> {
        match self {
            Self::Sqlite(row) => T::from_row(row),
            Self::Postgres(row) => T::from_row(row),
            Self::MySql(row) => T::from_row(row),
        }
    }
}

impl From<SqliteRow> for Row {
    fn from(row: SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

impl From<PgRow> for Row {
    fn from(row: PgRow) -> Self {
        Self::Postgres(row)
    }
}

impl From<MySqlRow> for Row {
    fn from(row: MySqlRow) -> Self {
        Self::MySql(row)
    }
}

/// A row with a list of its columns, declared by [`row!`].
pub(crate) trait Columns {
    /// The columns as a `SELECT` names them.
    const COLUMNS: &'static [&'static str];
}

/// Selects the columns of a row; `rest` begins with `FROM`.
pub(crate) fn select<T: Columns>(rest: &str) -> Statement {
    Statement::built(format!("SELECT {} {rest}", T::COLUMNS.join(", ")))
}

/// Declares a row: a field is read from the column of its name, unless it has an expression. The names in the
/// result end with an underscore, because that of a field may be a word of SQL, such as `group`. What follows `and` is
/// no column: it is empty until it is set.
macro_rules! row {
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident {
            $($(#[$what:meta])* $of:vis $column:ident: $kind:ty $(= $expression:literal)?,)*
        }
        $(and {
            $($(#[$which:meta])* $by:vis $field:ident: $value:ty,)*
        })?
    ) => {
        $(#[$about])*
        $vis struct $name {
            $($(#[$what])* $of $column: $kind,)*
            $($($(#[$which])* $by $field: $value,)*)?
        }

        impl $crate::database::row::Columns for $name {
            const COLUMNS: &'static [&'static str] =
                &[$(concat!($crate::database::row::row!(@ $column $($expression)?), " AS ", stringify!($column), "_")),*];
        }

        impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for $name
        where
            &'static str: sqlx::ColumnIndex<R>,
            $($kind: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,)*
        {
            fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
                Ok(Self {
                    $($column: row.try_get(concat!(stringify!($column), "_"))?,)*
                    $($($field: Default::default(),)*)?
                })
            }
        }
    };
    (@ $column:ident) => { stringify!($column) };
    (@ $column:ident $expression:literal) => { $expression };
}

pub(crate) use row;
