//! The jobs of extensions in the database. A host that runs a job holds it for a short time, which it
//! extends while the job runs, so that no two hosts of a site run it at the same time. Every moment
//! is by the clock of the database, because those of the hosts may differ.

use std::time::Duration;

use host_interface::Job;

use crate::base::error::Error;
use crate::base::text::millis;
use crate::database::{Connection, Database, row, select, sql, transact};

/// For how long a host holds a job that it does not extend: after this time another one may run it.
pub(crate) const HELD: Duration = Duration::from_secs(15);

/// What identifies a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobKey {
    pub(crate) extension: String,
    pub(crate) name: String,
}

/// How long it takes until each job of the site is due, unless it runs.
pub(crate) async fn waiting(
    database: &Database,
    every: impl Fn(&JobKey) -> Option<Duration>,
) -> Result<Vec<(JobKey, Duration)>, Error> {
    let mut transaction = database.begin_read().await?;
    let now = transaction.now().await?;
    row! {
        struct Known {
            extension: String,
            name: String,
            held_until: i64,
            ended: i64,
            woken: bool,
        }
    }
    let rows = transaction.fetch_all(select::<Known>("FROM host_jobs")).await?;
    transaction.commit().await?;
    let waiting = |Known { extension, name, held_until, ended, woken }| {
        let key = JobKey { extension, name };
        let next = if woken { 0 } else { ended.saturating_add(millis(every(&key)?)) };
        let wait = u64::try_from(next.saturating_sub(now)).unwrap_or(0);
        (held_until <= now).then_some((key, Duration::from_millis(wait)))
    };
    Ok(rows.into_iter().filter_map(waiting).collect())
}

/// Makes the jobs of a copied site run when they would have run on the first one. A run that was interrupted
/// is due at once, and if the clock of the new database is behind, no interval becomes longer.
pub(crate) async fn wake_interrupted(copy: &mut Connection) -> Result<(), Error> {
    let now = copy.now().await?;
    let statement = sql("UPDATE host_jobs SET woken = TRUE WHERE holder <> ''");
    copy.execute(statement).await?;
    let statement = sql("UPDATE host_jobs SET holder = '', held_until = 0, \
         ended = CASE WHEN ended > ? THEN ? ELSE ended END");
    copy.execute(statement.bind(now).bind(now)).await?;
    Ok(())
}

/// Adds those jobs of an extension that the site does not have.
pub(crate) async fn register(
    transaction: &mut Connection,
    extension: &str,
    jobs: &[Job],
) -> Result<(), Error> {
    let statement = sql("SELECT name FROM host_jobs WHERE extension = ?").bind(extension);
    let known: Vec<(String,)> = transaction.fetch_all(statement).await?;
    for job in jobs {
        if !known.iter().any(|(name,)| *name == job.name) {
            let statement = sql("INSERT INTO host_jobs (extension, name) VALUES (?, ?)");
            transaction.execute(statement.bind(extension).bind(job.name.as_str())).await?;
        }
    }
    Ok(())
}

/// Begins a run, if the job is due and no other host runs it.
pub(crate) async fn take(
    database: &Database,
    key: &JobKey,
    every: Duration,
    holder: &str,
) -> Result<bool, Error> {
    transact!(database, |transaction| {
        let now = transaction.now().await?;
        let statement = sql("UPDATE host_jobs SET holder = ?, held_until = ?, woken = FALSE \
             WHERE extension = ? AND name = ? AND held_until <= ? AND (woken OR ended <= ?)");
        let statement = statement.bind(holder).bind(now + millis(HELD));
        let statement = statement.bind(key.extension.as_str()).bind(key.name.as_str());
        let statement = statement.bind(now).bind(now.saturating_sub(millis(every)));
        Ok(transaction.execute(statement).await? == 1)
    })
}

/// Holds a job for longer; `false` if this host does not hold it any more.
pub(crate) async fn extend(database: &Database, key: &JobKey, holder: &str) -> Result<bool, Error> {
    transact!(database, |transaction| {
        let until = transaction.now().await? + millis(HELD);
        let statement = sql("UPDATE host_jobs SET held_until = ? \
             WHERE extension = ? AND name = ? AND holder = ?");
        let statement = statement.bind(until).bind(key.extension.as_str());
        let statement = statement.bind(key.name.as_str()).bind(holder);
        Ok(transaction.execute(statement).await? == 1)
    })
}

/// Ends a run, from which on the interval counts.
pub(crate) async fn end(database: &Database, key: &JobKey, holder: &str) -> Result<(), Error> {
    transact!(database, |transaction| {
        let now = transaction.now().await?;
        let statement = sql("UPDATE host_jobs SET holder = '', held_until = 0, ended = ? \
             WHERE extension = ? AND name = ? AND holder = ?");
        let statement = statement.bind(now).bind(key.extension.as_str());
        let statement = statement.bind(key.name.as_str()).bind(holder);
        transaction.execute(statement).await?;
        Ok(())
    })
}

/// Gives a run up, so that the job is due at once.
pub(crate) async fn give_up(database: &Database, key: &JobKey, holder: &str) -> Result<(), Error> {
    transact!(database, |transaction| {
        let statement = sql("UPDATE host_jobs SET holder = '', held_until = 0, woken = TRUE \
             WHERE extension = ? AND name = ? AND holder = ?");
        let statement = statement.bind(key.extension.as_str()).bind(key.name.as_str());
        transaction.execute(statement.bind(holder)).await?;
        Ok(())
    })
}

/// Makes a job due at once, or as soon as its current run has ended.
pub(crate) async fn wake(database: &Database, key: &JobKey) -> Result<(), Error> {
    transact!(database, |transaction| {
        let statement = sql("UPDATE host_jobs SET woken = TRUE WHERE extension = ? AND name = ?");
        let statement = statement.bind(key.extension.as_str()).bind(key.name.as_str());
        transaction.execute(statement).await?;
        Ok(())
    })
}
