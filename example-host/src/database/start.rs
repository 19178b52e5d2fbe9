//! The start of a site: only one process at a time migrates and installs, even if several hosts
//! start together.

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
use super::statement::sql;
use crate::base::database_url::DatabaseUrl;

/// How often a waiting start tries to get the lock.
const POLL_EVERY: Duration = Duration::from_millis(100);

/// How often a running start checks that it still holds the lock.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The lock of a start. Other starts on the same database wait until it is released, or until its
/// connection or process has ended.
pub(crate) struct Start(Lock);

/// A locked file, or a session with a lock of the server. The lock that the migrator takes is not
/// enough: it covers only the migrations of one library, and MariaDB takes its timeout to mean that
/// it should not wait. On a cluster a lock covers only one node, so there is also a lease.
enum Lock {
    File(File),
    Postgres(Box<PgConnection>),
    MySql(Box<MySqlConnection>, Option<Lease>),
}

impl Database {
    /// Waits for the lock, and migrates the host's tables.
    pub(crate) async fn start(&self, url: &DatabaseUrl) -> Result<Start, Error> {
        let mut start = Start(match self {
            Self::Sqlite { .. } => Lock::File(lock_file(url.beside("host.lock")).await?),
            Self::Postgres(pool) => {
                let options = Arc::clone(&pool.connect_options());
                let mut session = in_time(options.connect()).await??;
                // Suppresses the notices about tables that already exist.
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
        let mut logged = false;
        while !start.try_lock().await? {
            if !logged {
                tracing::info!(
                    "another process is installing or migrating this site; waiting for it"
                );
                logged = true;
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
        let migrated = start.migrate(self).await;
        if let Err(error) = migrated {
            start.end().await;
            if self.is_unreleased().await {
                return Err(Error::UnreleasedDatabase(url.to_string()));
            }
            return Err(match error {
                MigrateError::VersionMissing(version) => {
                    Error::NewerDatabase { url: url.to_string(), version }
                }
                error => Error::Migrate(error),
            });
        }
        Ok(start)
    }

    /// Whether the tables were created by a program from before the first release, whose first migration was
    /// another one.
    async fn is_unreleased(&self) -> bool {
        let others = sql(match self {
            Self::Sqlite { .. } => {
                "SELECT count(*) FROM _sqlx_migrations WHERE version = 1 AND description <> 'base'"
            }
            Self::Postgres(_) | Self::MySql(_) => {
                "SELECT count(*) FROM host_migrations WHERE version = 1 AND description <> 'base'"
            }
        });
        // A database that does not answer has another fault, which is reported.
        self.fetch_one(others).await.is_ok_and(|(others,): (i64,)| others > 0)
    }
}

impl Start {
    /// Runs the work of the start. It is cancelled as soon as the lock is lost, because another
    /// start may have begun and the two must not run at the same time.
    pub(crate) async fn run<T>(
        &mut self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut work = pin!(work);
        loop {
            match timeout(CHECK_EVERY, work.as_mut()).await {
                Ok(done) => return done,
                Err(_) if self.holds_lock().await => {}
                Err(_) => return Err(Error::LockLost),
            }
        }
    }

    /// Whether this start still holds the lock. A server releases it when the session ends.
    async fn holds_lock(&mut self) -> bool {
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
                    // The last migration was interrupted: this engine cannot roll one back. The
                    // files are written so that they can run again.
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
            // Only SQLite uses a locked file.
            (Lock::File(_), _) => Ok(()),
        }
    }

    /// Tries to get the lock.
    async fn try_lock(&mut self) -> Result<bool, Error> {
        let locked: Option<bool> = match &mut self.0 {
            // The file was locked when it was opened.
            Lock::File(_) => Some(true),
            Lock::Postgres(session) => {
                // An arbitrary number; the lock belongs to the database.
                let lock = sqlx::query_scalar("SELECT pg_try_advisory_lock(7310868735974043764)");
                in_time(lock.fetch_one(&mut **session)).await??
            }
            Lock::MySql(session, lease) => {
                // Locks belong to the server, so the name of this one contains the database.
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

    /// Releases the lock.
    pub(crate) async fn end(self) {
        // The lock is released explicitly, because a server may release it only some time after the
        // session is closed.
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
                    lease.release(&mut session).await;
                }
                match session.execute("DO RELEASE_ALL_LOCKS()").await {
                    Ok(_) => session.close().await,
                    Err(error) => Err(error),
                }
            }
        };
        if let Err(error) = closed {
            // The server notices this later and releases the lock.
            tracing::debug!(%error, "the session of this start was not closed properly");
        }
    }
}

/// Migrations that are recorded in a table of their own, apart from those of the extensions in the
/// same database.
fn in_own_table(files: migrations::Files) -> Migrator {
    let mut migrator = migrations::migrator(files);
    migrator.dangerous_set_table_name("host_migrations");
    migrator
}

/// Waits for the lock of a file; it is released when the file is dropped.
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
