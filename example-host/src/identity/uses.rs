//! The last use of tokens. A request only records it in memory, and a background task writes it to the
//! database; if the host is killed, the uses of the last few seconds are lost.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::lock::lock;
use crate::base::text::now;
use crate::database::{Database, sql, transact};

/// How often the uses of tokens are written to the database.
const WRITE_EVERY: Duration = Duration::from_secs(5);

/// The minimum time between two such writes for one token: its readers want to know the day.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// The last use of each token, by its key.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// The uses to write.
    noted: Mutex<HashMap<i64, Use>>,
    /// When those were that were written within the last minute.
    written: tokio::sync::Mutex<HashMap<i64, PrimitiveDateTime>>,
}

#[derive(Clone, Copy, Debug)]
struct Use {
    at: PrimitiveDateTime,
    /// The address of the client, where it is known.
    from: Option<IpAddr>,
}

impl Uses {
    /// Records the use of a token.
    pub(crate) fn note(&self, token: i64, from: Option<IpAddr>) {
        let used = Use { at: now(), from };
        lock(&self.noted).insert(token, used);
    }

    /// Writes the recorded uses periodically, until the future is dropped.
    pub(crate) async fn follow(&self, database: &Database) {
        loop {
            tokio::time::sleep(WRITE_EVERY).await;
            self.write(database).await;
        }
    }

    /// Writes the recorded uses.
    pub(crate) async fn write(&self, database: &Database) {
        let mut written = self.written.lock().await;
        let now = now();
        written.retain(|_, at| now - *at < NOTED_EVERY);
        let mut due: Vec<(i64, Use)> =
            lock(&self.noted).drain().filter(|(token, _)| !written.contains_key(token)).collect();
        // All hosts lock the rows in the same order, which rules out deadlocks.
        due.sort_unstable_by_key(|(token, _)| *token);
        match write(database, &due).await {
            Ok(()) => written.extend(due.into_iter().map(|(token, used)| (token, used.at))),
            // The date of the last use is then merely too early.
            Err(error) => tracing::debug!(%error, "the last use of tokens could not be recorded"),
        }
    }
}

async fn write(database: &Database, due: &[(i64, Use)]) -> Result<(), Error> {
    if due.is_empty() {
        return Ok(());
    }
    transact!(database, |transaction| {
        for (token, Use { at, from }) in due {
            let removal = sql("DELETE FROM host_api_token_uses WHERE token_id = ?");
            transaction.execute(removal.bind(*token)).await?;
            // A token that was revoked meanwhile matches no row.
            let statement = sql("INSERT INTO host_api_token_uses (token_id, used_on, address) \
                 SELECT id, ?, ? FROM host_api_tokens WHERE id = ?");
            let from = from.map(|address| address.to_string());
            transaction.execute(statement.bind(*at).bind(from).bind(*token)).await?;
        }
        Ok(())
    })
}
