//! A statement with its values, written once for every engine. Differences in syntax are resolved
//! here when the statement is run.

use sqlx::pool::PoolConnection;
use sqlx::{Arguments, AssertSqlSafe, Column, Encode, SqlSafeStr, SqlStr, Type, TypeInfo};
use time::PrimitiveDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// The form of moments in texts.
const MOMENT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Flag,
    Text,
    Bytes,
    Moment,
}

impl Kind {
    /// By the type that an engine has for a column. SQLite has numbers for flags, and texts for moments. MySQL
    /// calls texts that are compared by their bytes binary, too.
    pub(super) fn of<C: Column>(column: &C) -> Self
    where
        String: Type<C::Database>,
    {
        let of = column.type_info();
        match of.name() {
            "BOOL" | "BOOLEAN" => Kind::Flag,
            "TIMESTAMP" | "DATETIME" => Kind::Moment,
            "BYTEA" | "BLOB" | "BINARY" | "VARBINARY" if !String::compatible(of) => Kind::Bytes,
            name if name.contains("INT") => Kind::Int,
            _ => Kind::Text,
        }
    }
}

/// The engine of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
    /// MySQL and MariaDB.
    MySql,
}

/// A statement with the values for its placeholders, each written as `?`.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    text: SqlStr,
    values: Vec<Value>,
}

/// A statement that has no values yet.
pub(crate) fn sql(text: &'static str) -> Statement {
    Statement { text: text.into_sql_str(), values: Vec::new() }
}

impl Statement {
    /// A statement with a text that was built from parts of this program, and without values.
    pub(super) fn built(text: String) -> Self {
        Self { text: AssertSqlSafe(text).into_sql_str(), values: Vec::new() }
    }

    /// Binds a value to the next placeholder.
    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// The text and the values in the form that an engine expects.
    pub(super) fn render(self, engine: Engine) -> (SqlStr, Vec<Value>) {
        match engine {
            Engine::MySql => (self.text, self.values),
            Engine::Sqlite => {
                (self.text, self.values.into_iter().map(Value::without_moment).collect())
            }
            Engine::Postgres if self.values.is_empty() => (self.text, self.values),
            Engine::Postgres => {
                let text = numbered(self.text.as_str());
                (AssertSqlSafe(text).into_sql_str(), self.values)
            }
        }
    }

    /// This `INSERT` with a clause that returns the key of the row.
    pub(super) fn returning_key(self) -> Self {
        let text = format!("{} RETURNING id", self.text.as_str());
        Self { values: self.values, ..Self::built(text) }
    }
}

/// Replaces the placeholders by those of PostgreSQL. No literal in a statement contains a question
/// mark.
fn numbered(text: &str) -> String {
    let mut parts = text.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.zip(1..).fold(first, |text, (part, number)| format!("{text}${number}{part}"))
}

/// A value of a statement or a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(Option<i64>),
    Flag(bool),
    Text(Option<String>),
    Bytes(Vec<u8>),
    /// UTC, to the second.
    Moment(Option<PrimitiveDateTime>),
}

impl Value {
    /// SQLite has no type for moments; they are stored as text that sorts in the same order.
    fn without_moment(self) -> Self {
        match self {
            // A moment always has the parts that the format names.
            Value::Moment(moment) => {
                Value::Text(moment.map(|moment| moment.format(MOMENT).unwrap_or_default()))
            }
            value => value,
        }
    }

    /// The value for a column of this kind, where SQLite has a number or a text.
    pub(super) fn typed(self, kind: Kind) -> Result<Self, sqlx::Error> {
        Ok(match (self, kind) {
            (Value::Int(Some(flag)), Kind::Flag) => Value::Flag(flag != 0),
            (Value::Text(text), Kind::Moment) => {
                let moment = text.map(|text| PrimitiveDateTime::parse(&text, MOMENT)).transpose();
                Value::Moment(moment.map_err(|error| sqlx::Error::Decode(error.into()))?)
            }
            (value, _) => value,
        })
    }
}

/// What can be bound to a placeholder.
macro_rules! values {
    ($($from:ty: |$value:ident| $made:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($value: $from) -> Self {
                $made
            }
        })*
    };
}

values! {
    i64: |number| Value::Int(Some(number));
    Option<i64>: |number| Value::Int(number);
    bool: |flag| Value::Flag(flag);
    &str: |text| Value::Text(Some(text.to_owned()));
    String: |text| Value::Text(Some(text));
    Option<String>: |text| Value::Text(text);
    &[u8]: |bytes| Value::Bytes(bytes.to_vec());
    PrimitiveDateTime: |moment| Value::Moment(Some(moment));
    Option<PrimitiveDateTime>: |moment| Value::Moment(moment);
}

/// The values as arguments for the engine of the connection.
pub(super) fn arguments<DB>(
    _of: &PoolConnection<DB>,
    values: Vec<Value>,
) -> Result<DB::Arguments, sqlx::Error>
where
    DB: sqlx::Database,
    for<'t> Option<i64>: Encode<'t, DB> + Type<DB>,
    for<'t> bool: Encode<'t, DB> + Type<DB>,
    for<'t> Option<String>: Encode<'t, DB> + Type<DB>,
    for<'t> Vec<u8>: Encode<'t, DB> + Type<DB>,
    for<'t> Option<PrimitiveDateTime>: Encode<'t, DB> + Type<DB>,
{
    let mut arguments = DB::Arguments::default();
    for value in values {
        match value {
            Value::Int(number) => arguments.add(number),
            Value::Flag(flag) => arguments.add(flag),
            Value::Text(text) => arguments.add(text),
            Value::Bytes(bytes) => arguments.add(bytes),
            Value::Moment(moment) => arguments.add(moment),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_for_postgres() {
        let statement = || sql("UPDATE t SET a = ? WHERE b = ?").bind("x").bind(2);
        let text = |engine| statement().render(engine).0.as_str().to_owned();
        assert_eq!(text(Engine::Postgres), "UPDATE t SET a = $1 WHERE b = $2");
        assert_eq!(text(Engine::Sqlite), "UPDATE t SET a = ? WHERE b = ?");
        assert_eq!(text(Engine::MySql), "UPDATE t SET a = ? WHERE b = ?");
    }

    #[test]
    fn a_moment_is_sortable_text_on_sqlite() {
        let moment = time::macros::datetime!(2026-02-03 04:05:06);
        let (_, values) = sql("SELECT ?").bind(moment).render(Engine::Sqlite);
        assert_eq!(values, [Value::Text(Some("2026-02-03T04:05:06".to_owned()))]);
    }
}
