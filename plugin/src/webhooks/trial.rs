//! A test of a webhook that somebody asks for: what is sent, and what it means for the webhook. Knows nothing of the
//! request that asks.

use std::sync::Arc;

use super::attempts::State;
use super::endpoint::Endpoint;
use super::journal;
use super::outcome::Attempt;
use super::round::{self, Now};
use crate::error::Error;
use crate::model::value::Value;
use crate::service::call::Shop;
use crate::store::Transaction;

/// A test that was sent.
#[derive(Debug)]
pub(crate) struct Trial {
    id: i64,
    attempt: Attempt,
}

impl Trial {
    /// Sends a test of the webhook with this key, or returns why it cannot be sent.
    pub(crate) async fn send(
        id: i64,
        mut transaction: Transaction,
        shop: &Arc<Shop>,
    ) -> Result<Result<Self, &'static str>, Error> {
        let now = Now::of(transaction.seconds().await?);
        let endpoint = Endpoint::find(id, &mut transaction).await?;
        // Nothing was written, and nobody waits for the receiver.
        transaction.end().await;
        let Some(endpoint) = endpoint else { return Ok(Err("The webhook was removed.")) };
        let attempt = round::test(&endpoint, shop, now).await?;
        Ok(attempt.map(|attempt| Self { id, attempt }))
    }

    /// Notes what it means for the webhook: one that is enabled is active after a success.
    pub(crate) async fn note(&self, transaction: &mut Transaction) -> Result<(), Error> {
        let Some(endpoint) = Endpoint::find(self.id, transaction).await? else { return Ok(()) };
        let mut health = endpoint.health;
        if self.attempt.is_accepted() && health.state != State::Disabled {
            health.succeed();
        }
        journal::write_test(&endpoint, health, &self.attempt, transaction).await.map(drop)
    }

    /// The values of the attempt, in the order of its columns.
    pub(crate) fn row(&self) -> [Value; 10] {
        self.attempt.row_of_test(self.id)
    }
}
