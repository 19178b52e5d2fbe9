//! How webhooks are, for people and for the metrics of the host. Knows nothing of how either shows it.

use host_interface::Metric;

use super::endpoint::moment_at;
use super::sender::Sender;
use crate::changes::{moment_of, place_of};
use crate::error::Error;
use crate::model::moment;
use crate::sql::webhooks;
use crate::store::Store;

/// How a webhook is that is enabled, or was disabled by failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) id: i64,
    pub(crate) url: String,
    pub(crate) state: String,
    /// Since when it fails.
    pub(crate) failing_since: Option<time::PrimitiveDateTime>,
    /// Why it last failed.
    pub(crate) last_failure: String,
    /// How many changes it has yet to send, up to a limit.
    pub(crate) behind: i64,
    /// When the oldest of these and of the failed events was made.
    pub(crate) oldest: Option<time::PrimitiveDateTime>,
}

/// How all webhooks are that somebody has to look at, or that send.
pub(crate) async fn conditions(store: &Store) -> Result<Vec<Condition>, Error> {
    let rows = store.rows(webhooks::conditions()).await?;
    let conditions = rows.into_iter().map(|row| Condition {
        id: row.id,
        url: row.url,
        state: row.state,
        failing_since: (row.failing_since > 0).then(|| moment_at(row.failing_since)),
        last_failure: row.last_failure,
        behind: row.behind,
        oldest: [row.next, row.failed].into_iter().flatten().min().map(moment_of),
    });
    Ok(conditions.collect())
}

/// The metrics of webhooks.
pub(crate) async fn metrics(sender: &Sender, store: &Store) -> Result<Vec<Metric>, Error> {
    let events = "Attempts of webhooks on this host, by outcome; those given up have failed, too.";
    let mut events = Metric::counter("webhook_events", events);
    for (outcome, count) in sender.counts() {
        events = events.value_of([("outcome", outcome)], number(count));
    }
    let behind = "Changes that a webhook has yet to send; 10000 is as many or more.";
    let mut behind = Metric::gauge("webhook_behind", behind);
    let oldest = "The age of the oldest event that a webhook has yet to deliver.";
    let mut oldest = Metric::gauge("webhook_oldest_seconds", oldest);
    let now = place_of(moment::now());
    for condition in conditions(store).await? {
        let id = condition.id.to_string();
        let labels = [("webhook", &*id)];
        behind = behind.value_of(labels, number(condition.behind.unsigned_abs()));
        let age = condition.oldest.map_or(0, |made| now.saturating_sub(place_of(made)).max(0));
        oldest = oldest.value_of(labels, number(age.unsigned_abs() / 1_000_000));
    }
    Ok(vec![events, behind, oldest])
}

fn number(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}
