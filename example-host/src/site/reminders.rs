//! Mails to users whose tokens are about to end: a week before and a day before. Of all hosts of a site, the
//! one that notes a reminder in the database sends it.

use std::time::Duration;

use host_interface::Mail;
use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::text::{now, one_line, without_addresses};
use crate::database::{Database, row, select, sql, transact};
use crate::mail::Mailer;

/// How often tokens are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many days before its end the user of a token is reminded.
const BEFORE: [u32; 2] = [7, 1];

/// How many mails are sent at a time.
const AT_ONCE: i64 = 100;

row! {
    /// A token that is about to end.
    struct Ending {
        token: i64 = "t.id",
        name: String = "t.name",
        ends_on: PrimitiveDateTime = "t.expires_on",
        /// The days before the end of the reminder that was sent last; 0 for none.
        reminded: i64 = "t.reminded",
        username: String = "u.username",
        email: String = "u.email",
    }
}

/// Sends the reminders that are due from time to time, until the future is dropped.
pub(crate) async fn follow(database: &Database, mailer: &Mailer) {
    loop {
        if let Err(error) = send_due(database, mailer).await {
            tracing::warn!(%error, "users could not be reminded of tokens that are about to end");
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Sends the reminders that are due now.
async fn send_due(database: &Database, mailer: &Mailer) -> Result<(), Error> {
    let now = now();
    // The later reminder first: a token that ends tomorrow needs only that.
    for days in BEFORE.into_iter().rev() {
        for ending in due(database, now, days).await? {
            let (before, after) = (ending.reminded, i64::from(days));
            // Another host may have sent it meanwhile.
            if !note(database, ending.token, before, after).await? {
                continue;
            }
            if let Err(error) = mailer.send(&mail(&ending, days)).await {
                let error = without_addresses(&one_line(error));
                tracing::warn!(error, token = ending.token, "a reminder could not be sent yet");
                note(database, ending.token, after, before).await?;
            }
        }
    }
    Ok(())
}

/// The tokens that end in so many days or less and whose users have not been reminded of that.
async fn due(database: &Database, now: PrimitiveDateTime, days: u32) -> Result<Vec<Ending>, Error> {
    let statement = select::<Ending>(
        "FROM host_api_tokens t JOIN host_users u ON u.id = t.user_id \
         WHERE t.expires_on > ? AND t.expires_on <= ? AND NOT u.blocked \
         AND (t.reminded = 0 OR t.reminded > ?) ORDER BY t.expires_on, t.id LIMIT ?",
    );
    let statement = statement.bind(now).bind(now + DAY * days).bind(i64::from(days)).bind(AT_ONCE);
    database.fetch_all(statement).await
}

/// Notes which reminder was sent, unless another host has noted one since.
async fn note(database: &Database, token: i64, before: i64, after: i64) -> Result<bool, Error> {
    transact!(database, |transaction| {
        let statement =
            sql("UPDATE host_api_tokens SET reminded = ? WHERE id = ? AND reminded = ?");
        Ok(transaction.execute(statement.bind(after).bind(token).bind(before)).await? > 0)
    })
}

fn mail(ending: &Ending, days: u32) -> Mail {
    let Ending { token, name, ends_on, username, email, .. } = ending;
    let text = format!(
        "Hello {username},\n\nyour API token {name:?} stops working on {} at {:02}:{:02} UTC. Programs that \
         use it are refused from then on.\n\nAn administrator of the site can rotate the token: that gives it \
         a new secret and a new end, and the one before goes on working for up to three days.\n",
        ends_on.date(),
        ends_on.hour(),
        ends_on.minute(),
    );
    let moment = ends_on.assume_utc().unix_timestamp();
    let id = format!("token-{token}-{moment}-{days}");
    let subject = format!("Your API token {name:?} is about to end");
    Mail::new(id, email, subject, text).to_name(username)
}
