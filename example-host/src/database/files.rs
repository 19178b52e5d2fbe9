//! Copying the files of a SQLite site while it is in use, all of them as they were at one moment. The process
//! that does this must have loaded no library, because two copies of SQLite in one process must never open
//! the same file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection as _, Executor, SqliteConnection};

use crate::base::error::Error;
use crate::base::private;

use super::connection::TIMEOUT;

/// How often a copy is asked whether it has begun.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// Copies the host's file and those of its extensions, each to a new file.
///
/// The host's file is locked for writers until it is copied and the copies of the others have begun. Each of
/// these is as its file was at its beginning, when the host's file was as it is in the copy.
pub(crate) async fn copy_files(
    host: (&Path, &Path),
    others: Vec<(PathBuf, PathBuf)>,
) -> Result<(), Error> {
    let mut lock = connect(host.0).await?;
    lock.execute("BEGIN IMMEDIATE").await?;
    let mut copies = Vec::new();
    for (from, to) in others {
        private::create_new(&to).map_err(|error| Error::file(&to, error))?;
        let copied = to.clone();
        copies.push((to, tokio::spawn(async move { copy(&from, &copied).await })));
    }
    for (to, copy) in &copies {
        // Something is written only after the copy has begun to read.
        while !copy.is_finished() && std::fs::metadata(to).is_ok_and(|file| file.len() == 0) {
            tokio::time::sleep(POLL_EVERY).await;
        }
    }
    private::create_new(host.1).map_err(|error| Error::file(host.1, error))?;
    copy(host.0, host.1).await?;
    lock.execute("ROLLBACK").await?;
    lock.close().await?;
    for (to, copy) in copies {
        copy.await.map_err(|error| Error::file(to, std::io::Error::other(error)))??;
    }
    Ok(())
}

/// Fails unless the file of a database that nothing has open can be read in full.
pub(crate) async fn check(file: &Path) -> Result<(), Error> {
    let damaged = |why: &dyn std::fmt::Display| {
        Error::Invalid(format!("{} is damaged; use another backup: {why}", file.display()))
    };
    let options = SqliteConnectOptions::new().filename(file).immutable(true).read_only(true);
    let check = async {
        let mut connection = options.disable_statement_logging().connect().await?;
        let check = sqlx::query_scalar("PRAGMA integrity_check(1)");
        let found: String = check.fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok::<_, sqlx::Error>(found)
    };
    match check.await {
        Ok(found) if found == "ok" => Ok(()),
        Ok(found) => Err(damaged(&found.lines().next().unwrap_or_default())),
        Err(error) => Err(damaged(&error)),
    }
}

async fn connect(file: &Path) -> Result<SqliteConnection, Error> {
    let options = SqliteConnectOptions::new().filename(file).busy_timeout(TIMEOUT);
    Ok(options.disable_statement_logging().connect().await?)
}

/// Copies a file to an empty one, without the space that is not in use.
async fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let name = to.to_str().ok_or_else(|| {
        Error::Invalid(format!("{} is no text, which SQLite needs", to.display()))
    })?;
    let mut connection = connect(from).await?;
    sqlx::query("VACUUM INTO ?").bind(name).execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
}
