//! Copying the rows of a table to the table of the same name in another database, whatever the engines.
//! The columns are those that both tables have, so that none is forgotten when one is added.

use host_interface::Progress;
use sqlx::{Column, ColumnIndex, Decode, FromRow, Row, Type};
use time::PrimitiveDateTime;

use crate::base::error::Error;

use super::connection::Connection;
use super::pools::Database;
use super::statement::{Engine, Kind, Statement, Value, sql};

/// How many rows are read at a time.
const PAGE: usize = 500;

/// A table that is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The columns of the primary key.
    pub(crate) key: &'static [&'static str],
    /// The column that refers to another row of the table, which may have a higher key.
    pub(crate) parent: Option<&'static str>,
    /// What its rows are called where they are counted, if they are.
    pub(crate) rows: Option<&'static str>,
}

impl Table {
    /// Copies all rows in the order of their keys.
    pub(crate) async fn copy(
        &self,
        from: &mut Connection,
        to: &mut Connection,
        progress: &impl Progress,
    ) -> Result<(), Error> {
        let all = Statement::built(format!("SELECT * FROM {}", self.name));
        let known = from.columns(all.clone()).await?;
        let mut columns = to.columns(all).await?;
        columns.retain(|(name, _)| known.iter().any(|(other, _)| other == name));
        let place = |wanted: &str| columns.iter().position(|(name, _)| name == wanted);
        let (keys, parent): (Vec<_>, _) =
            (self.key.iter().filter_map(|name| place(name)).collect(), self.parent.and_then(place));
        let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let (names, marks) = (names.join(", "), vec!["?"; columns.len()].join(", "));
        let insertion = format!("INSERT INTO {} ({names}) VALUES ({marks})", self.name);
        let total = self.count(from).await?.unsigned_abs();
        let (mut done, mut last, mut children) = (0, None, Vec::new());
        loop {
            let rows: Vec<Cells> = from.fetch_all(self.page(&names, last.as_deref())).await?;
            let Some(Cells(end)) = rows.last() else { break };
            last = Some(keys.iter().map(|key| end[*key].clone()).collect::<Vec<_>>());
            done += rows.len() as u64;
            for Cells(mut row) in rows {
                if let Some(parent) = parent {
                    let parent = std::mem::replace(&mut row[parent], Value::Int(None));
                    children.push((row[keys[0]].clone(), parent));
                }
                let mut insertion = Statement::built(insertion.clone());
                for (value, (_, kind)) in row.into_iter().zip(&columns) {
                    insertion = insertion.bind(value.typed(*kind)?);
                }
                to.execute(insertion).await?;
            }
            if let Some(rows) = self.rows {
                progress.report(rows, done, total);
            }
        }
        // All rows are there before any refers to another one.
        for (key, parent) in children {
            let text = format!(
                "UPDATE {} SET {} = ? WHERE {} = ?",
                self.name,
                self.parent.unwrap_or_default(),
                self.key[0]
            );
            to.execute(Statement::built(text).bind(parent).bind(key)).await?;
        }
        Ok(())
    }

    /// Removes all rows. Some engines do not allow a table that refers to itself to be emptied, so those
    /// references are removed before.
    pub(crate) async fn empty(&self, database: &mut Connection) -> Result<(), Error> {
        if let Some(parent) = self.parent {
            let text = format!("UPDATE {} SET {parent} = NULL", self.name);
            database.execute(Statement::built(text)).await?;
        }
        database.execute(Statement::built(format!("DELETE FROM {}", self.name))).await?;
        Ok(())
    }

    /// The number of rows.
    pub(crate) async fn count(&self, database: &mut Connection) -> Result<i64, Error> {
        let (count,) = database
            .fetch_one(Statement::built(format!("SELECT count(*) FROM {}", self.name)))
            .await?;
        Ok(count)
    }

    /// Makes the copy of a table that gives its keys itself give only keys that no row of the first one
    /// has ever had. Some engines end a transaction with it.
    pub(crate) async fn keep_keys(
        &self,
        from: &mut Connection,
        to: &Database,
    ) -> Result<(), Error> {
        let highest = self.highest_key(from).await?;
        if highest == 0 {
            return Ok(());
        }
        let name = self.name;
        match to.engine() {
            Engine::Postgres => {
                let text = format!("SELECT setval('{name}_id_seq', ?, TRUE)");
                to.execute(Statement::built(text).bind(highest)).await
            }
            Engine::MySql => {
                let text = format!("ALTER TABLE {name} AUTO_INCREMENT = {}", highest + 1);
                to.execute(Statement::built(text)).await
            }
            Engine::Sqlite => {
                let known = sql("DELETE FROM sqlite_sequence WHERE name = ?");
                to.execute(known.bind(name)).await?;
                let new = sql("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)");
                to.execute(new.bind(name).bind(highest)).await
            }
        }
    }

    /// The highest key that was ever given to a row.
    async fn highest_key(&self, from: &mut Connection) -> Result<i64, Error> {
        let name = self.name;
        let statement = match from.engine() {
            Engine::Sqlite => format!("SELECT seq FROM sqlite_sequence WHERE name = '{name}'"),
            Engine::Postgres => format!("SELECT last_value FROM {name}_id_seq WHERE is_called"),
            Engine::MySql => format!(
                "SELECT CAST(AUTO_INCREMENT AS SIGNED) - 1 FROM information_schema.tables \
                 WHERE table_schema = DATABASE() AND table_name = '{name}' AND AUTO_INCREMENT IS NOT NULL"
            ),
        };
        let highest: Option<(i64,)> = from.fetch_optional(Statement::built(statement)).await?;
        Ok(highest.map_or(0, |(highest,)| highest))
    }

    /// Reads the rows after this key, as many as are read at a time.
    fn page(&self, names: &str, after: Option<&[Value]>) -> Statement {
        let mut text = format!("SELECT {names} FROM {}", self.name);
        let mut values = Vec::new();
        if let Some(after) = after {
            let later = (0..self.key.len()).map(|at| {
                values.extend_from_slice(&after[..=at]);
                let equal: String =
                    self.key[..at].iter().map(|key| format!("{key} = ? AND ")).collect();
                format!("{equal}{} > ?", self.key[at])
            });
            let later = later.collect::<Vec<_>>().join(" OR ");
            // The first condition alone leads an engine to the place in the index.
            text.push_str(&format!(" WHERE {} >= ? AND ({later})", self.key[0]));
            values.insert(0, after[0].clone());
        }
        text.push_str(&format!(" ORDER BY {} LIMIT {PAGE}", self.key.join(", ")));
        values.into_iter().fold(Statement::built(text), Statement::bind)
    }
}

/// The values of a row, each as its engine has it.
struct Cells(Vec<Value>);

impl<'r, R: Row> FromRow<'r, R> for Cells
where
    usize: ColumnIndex<R>,
    Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
    bool: Decode<'r, R::Database> + Type<R::Database>,
    Option<String>: Decode<'r, R::Database> + Type<R::Database>,
    String: Type<R::Database>,
    Vec<u8>: Decode<'r, R::Database> + Type<R::Database>,
    Option<PrimitiveDateTime>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        let value = |column: &<R::Database as sqlx::Database>::Column| {
            let at = column.ordinal();
            Ok(match Kind::of(column) {
                Kind::Int => Value::Int(row.try_get(at)?),
                Kind::Flag => Value::Flag(row.try_get(at)?),
                Kind::Text => Value::Text(row.try_get(at)?),
                Kind::Bytes => Value::Bytes(row.try_get(at)?),
                Kind::Moment => Value::Moment(row.try_get(at)?),
            })
        };
        row.columns().iter().map(value).collect::<Result<_, _>>().map(Self)
    }
}
