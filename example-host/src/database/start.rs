//! What happens before a site is open: one start at a time brings the tables up to date, however
//! many hosts start together.

use std::fs::File;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{ConnectOptions, Connection as _, Executor, MySqlConnection, PgConnection};
use tokio::time::timeout;

use crate::base::error::Error;
use crate::base::private;

use super::connection::in_time;
use super::lease::Lease;
use super::migrations;
use super::pools::Database;
use crate::base::database_url::DatabaseUrl;

/// How often a start that waits for another one looks whether it is done.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often a start that is at it looks whether it still has the turn.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The turn of a start. Whoever else starts on the same database waits until it is over, or its
/// connection or process has ended.
pub(crate) struct Start(Lock);

/// What holds the turn: a locked file, or a session with the lock of a server. The lock that the
/// migrations take by themselves does not do: it holds for one library alone, and MariaDB
/// understands its timeout as not to wait. On a cluster the lock of a server is that of one node,
/// so there is a lease beside it.
enum Lock {
    File(File),
    Postgres(Box<PgConnection>),
    MySql(Box<MySqlConnection>, Option<Lease>),
}

impl Database {
    /// Waits for the turn of this start, and brings the host's tables up to date.
    pub(crate) async fn start(&self, url: &DatabaseUrl) -> Result<Start, Error> {
        let mut start = Start(match self {
            Self::Sqlite { .. } => Lock::File(lock_file(url.beside("host.lock")).await?),
            Self::Postgres(pool) => {
                let options = Arc::clone(&pool.connect_options());
                let mut session = in_time(options.connect()).await??;
                // A table that exists already is no news.
                in_time(session.execute("SET client_min_messages = warning")).await??;
                Lock::Postgres(Box::new(session))
            }
            Self::MySql(pool) => {
                let options = Arc::clone(&pool.connect_options());
                let mut session = in_time(options.connect()).await??;
                let lease = Lease::of_a_cluster(&mut session, pool).await?;
                Lock::MySql(Box::new(session), lease)
            }
        });
        let mut told = false;
        while !start.try_lock().await? {
            if !told {
                tracing::info!(
                    "another process is installing or migrating this site; waiting for it"
                );
                told = true;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let migrated = start.migrate(self).await;
        if let Err(error) = migrated {
            start.end().await;
            return Err(match error {
                MigrateError::VersionMissing(version) => {
                    Error::NewerDatabase { url: url.to_string(), version }
                }
                error => Error::Migrate(error),
            });
        }
        Ok(start)
    }
}

impl Start {
    /// Does what this turn is for. As soon as the turn is lost, that is given up: another start may
    /// have begun, and two at it would be worse than none.
    pub(crate) async fn keep<T>(
        &mut self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut work = pin!(work);
        loop {
            match timeout(CHECK_EVERY, work.as_mut()).await {
                Ok(done) => return done,
                Err(_) if self.is_kept().await => {}
                Err(_) => return Err(Error::TurnLost),
            }
        }
    }

    /// Whether the turn is still this start's. A server gives a lock away with its session.
    async fn is_kept(&mut self) -> bool {
        match &mut self.0 {
            Lock::File(_) => true,
            Lock::Postgres(session) => {
                matches!(in_time(session.execute("SELECT 1")).await, Ok(Ok(_)))
            }
            Lock::MySql(session, lease) => {
                !lease.as_ref().is_some_and(Lease::is_lost)
                    && matches!(in_time(session.execute("DO 0")).await, Ok(Ok(_)))
            }
        }
    }

    async fn migrate(&mut self, database: &Database) -> Result<(), MigrateError> {
        match (&mut self.0, database) {
            (Lock::Postgres(session), _) => {
                in_own_table(migrations::POSTGRES).run(&mut **session).await
            }
            (Lock::MySql(session, _), _) => {
                let migrations = in_own_table(migrations::MYSQL);
                match migrations.run(&mut **session).await {
                    // Cut off half-way, as this engine can be. They are written to be run again.
                    Err(MigrateError::Dirty(_)) => {
                        session.execute("DELETE FROM host_migrations WHERE NOT success").await?;
                        migrations.run(&mut **session).await
                    }
                    done => done,
                }
            }
            (Lock::File(_), Database::Sqlite { writer, .. }) => {
                migrations::migrator(migrations::SQLITE).run(writer).await
            }
            // A file is locked for SQLite alone.
            (Lock::File(_), _) => Ok(()),
        }
    }

    /// Whether it is this start's turn now.
    async fn try_lock(&mut self) -> Result<bool, Error> {
        let locked: Option<bool> = match &mut self.0 {
            // Locked when it was opened.
            Lock::File(_) => Some(true),
            Lock::Postgres(session) => {
                // A number that this program chose; the lock is the database's.
                let lock = sqlx::query_scalar("SELECT pg_try_advisory_lock(7310868735974043764)");
                in_time(lock.fetch_one(&mut **session)).await??
            }
            Lock::MySql(session, lease) => {
                // Locks are the server's, so the database gives this one its name.
                let lock = sqlx::query_scalar(
                    "SELECT GET_LOCK(CONCAT('host_start.', MD5(DATABASE())), 0) = 1",
                );
                let locked = in_time(lock.fetch_one(&mut **session)).await??;
                match lease {
                    Some(lease) if locked == Some(true) => Some(lease.try_take(session).await?),
                    _ => locked,
                }
            }
        };
        Ok(locked.unwrap_or(false))
    }

    /// Ends the turn.
    pub(crate) async fn end(self) {
        // A server gives a lock back some time after its session has been closed, and the next
        // start would find it taken by nobody.
        let closed = match self.0 {
            Lock::File(file) => {
                drop(file);
                Ok(())
            }
            Lock::Postgres(mut session) => {
                match session.execute("SELECT pg_advisory_unlock_all()").await {
                    Ok(_) => session.close().await,
                    Err(error) => Err(error),
                }
            }
            Lock::MySql(mut session, lease) => {
                if let Some(lease) = lease {
                    lease.give_back(&mut session).await;
                }
                match session.execute("DO RELEASE_ALL_LOCKS()").await {
                    Ok(_) => session.close().await,
                    Err(error) => Err(error),
                }
            }
        };
        if let Err(error) = closed {
            // The server notices by itself, and gives the turn to the next.
            tracing::debug!(%error, "the session of this start was not closed properly");
        }
    }
}

/// Migrations whose table can be told from those of the extensions in the same database.
fn in_own_table(files: migrations::Files) -> Migrator {
    let mut migrator = migrations::migrator(files);
    migrator.dangerous_set_table_name("host_migrations");
    migrator
}

/// Waits for the lock of a file, which is given back when the file is dropped.
async fn lock_file(path: PathBuf) -> Result<File, Error> {
    let fail = {
        let path = path.clone();
        move |source| Error::File { path, source }
    };
    let locking = tokio::task::spawn_blocking(move || {
        let file = private::open_lock(&path)?;
        file.lock()?;
        Ok(file)
    });
    locking.await.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(fail)
}
