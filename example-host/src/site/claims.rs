//! The databases of their own that extensions are copied to. An extension empties the database that it is
//! copied to, so one that contains tables is refused, unless an interrupted copy has left them: the host
//! marks it with a table of its own for as long as the copy takes.

use crate::base::database_url::DatabaseUrl;
use crate::base::error::Error;
use crate::database::{Database, Engine, dump, sql};

/// The table that marks a database.
const MARK: &str = "host_copying";

/// Marks databases that are empty, or were marked before.
pub(super) async fn claim(databases: &[&DatabaseUrl]) -> Result<(), Error> {
    for url in databases {
        let database = Database::open(url)?;
        let claimed = mark(&database, url).await;
        database.close().await;
        claimed?;
    }
    Ok(())
}

/// Removes the marks.
pub(super) async fn release(databases: &[&DatabaseUrl]) -> Result<(), Error> {
    for url in databases {
        let database = Database::open(url)?;
        let released = database.execute(sql("DROP TABLE IF EXISTS host_copying")).await;
        database.close().await;
        released?;
    }
    Ok(())
}

async fn mark(database: &Database, url: &DatabaseUrl) -> Result<(), Error> {
    if database.engine() == Engine::Sqlite {
        return Ok(());
    }
    let tables = dump::tables(database).await?;
    if tables.iter().any(|name| name == MARK) {
        return Ok(());
    }
    // The tables of the host may be in the same place.
    let tables: Vec<_> = tables.iter().filter(|name| !name.starts_with("host_")).collect();
    if !tables.is_empty() {
        return Err(Error::Invalid(format!("{url} contains tables; copy to an empty database")));
    }
    database.execute(sql("CREATE TABLE host_copying (one INTEGER NOT NULL)")).await
}
