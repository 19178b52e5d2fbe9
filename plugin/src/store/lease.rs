//! A connection that a request has borrowed, and that returns to its pool whatever happens to the
//! request. Independent of engines.

use std::io::ErrorKind;
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::driver::{Driver, Stream};
use super::pools::Access;
use super::ready::{PATIENCE, Ready, Taken};
use crate::error::Error;

/// The time limit of an answer of the database.
pub(super) const ANSWER: Duration = Duration::from_secs(10);

/// A connection that returns to its pool when it is dropped. A statement that it is still running
/// is ended, because its request is over; the connection is then closed, unless no answer can be
/// outstanding. An open transaction is rolled back.
pub(super) struct Lease<D: Driver> {
    taken: Option<Taken<D>>,
    ready: Ready<D>,
    /// The time limit of an answer.
    answer: Duration,
    access: Access,
    state: State,
}

/// The state of the connection.
struct State {
    /// Whether an answer is outstanding.
    pending: bool,
    /// Whether a transaction is open.
    open: bool,
    /// Whether every statement has been answered properly.
    healthy: bool,
    /// Whether the connection must be closed, which frees resources that the server lacks.
    must_close: bool,
}

impl<D: Driver> Lease<D> {
    /// Borrows a connection from a pool, with this time limit of answers.
    pub(super) async fn of(
        ready: &Ready<D>,
        access: Access,
        answer: Duration,
    ) -> Result<Self, sqlx::Error> {
        let mut taken = ready.acquire().await?;
        if taken.brake.is_none() {
            let brake = tokio::time::timeout(PATIENCE, D::brake(&mut taken.connection)).await;
            match brake.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
                Ok(brake) => taken.brake = Some(brake),
                Err(error) => {
                    taken.connection.close_on_drop();
                    return Err(error);
                }
            }
        }
        let state = State { pending: false, open: false, healthy: true, must_close: false };
        Ok(Self { taken: Some(taken), ready: ready.clone(), answer, access, state })
    }

    /// Notes whether a transaction is open.
    pub(super) fn set_open(&mut self, open: bool) {
        self.state.open = open;
    }

    /// Runs a piece of work on the connection, within the time limit.
    pub(super) async fn ask<'a, T, F>(
        &'a mut self,
        work: impl FnOnce(&'a mut D::Connection) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, sqlx::Error>>,
    {
        let Some(Taken { connection, brake, .. }) = &mut self.taken else {
            return Err(D::classify(sqlx::Error::PoolClosed));
        };
        let state = &mut self.state;
        state.pending = true;
        let work = work(connection);
        let answer = match brake {
            Some(brake) => brake.answered(self.answer, work).await,
            None => tokio::time::timeout(self.answer, work).await.ok(),
        };
        state.pending = answer.is_none();
        state.healthy &= matches!(answer, Some(Ok(_)));
        state.must_close |= matches!(&answer, Some(Err(error)) if D::must_close(error));
        let answer = answer.unwrap_or_else(|| Err(sqlx::Error::Io(ErrorKind::TimedOut.into())));
        answer.map_err(D::classify)
    }

    /// Streams rows. Until the stream ends, an answer is outstanding.
    pub(super) fn stream<'a>(
        &'a mut self,
        work: impl FnOnce(&'a mut D::Connection) -> Result<Stream<'a, sqlx::Error>, sqlx::Error>,
    ) -> Result<Stream<'a, Error>, Error> {
        let Some(taken) = &mut self.taken else {
            return Err(D::classify(sqlx::Error::PoolClosed));
        };
        let rows = work(&mut taken.connection).map_err(D::classify)?;
        let pending = &mut self.state.pending;
        *pending = true;
        let end = stream::poll_fn(move |_| {
            *pending = false;
            Poll::Ready(None)
        });
        Ok(rows.chain(end).map_err(D::classify).boxed())
    }
}

impl<D: Driver> Drop for Lease<D> {
    fn drop(&mut self) {
        let Some(mut taken) = self.taken.take() else { return };
        let State { pending, open, healthy, must_close } = self.state;
        match tokio::runtime::Handle::try_current() {
            _ if must_close => taken.connection.close_on_drop(),
            Ok(runtime) if open || pending => {
                let ready = self.ready.clone();
                let rollback = match self.access {
                    Access::Write => D::ROLLBACK,
                    Access::Read | Access::Snapshot => "ROLLBACK",
                };
                runtime.spawn(async move {
                    let options = ready.pool().connect_options();
                    let Taken { connection, brake, .. } = &mut taken;
                    let undone = async {
                        if pending {
                            let Some(brake) = brake else { return false };
                            if !D::end(connection, brake, &options).await {
                                return false;
                            }
                        }
                        !open || D::delimit(connection, rollback).await.is_ok()
                    };
                    let is_undone = tokio::time::timeout(ANSWER, undone).await.unwrap_or(false);
                    if !is_undone {
                        taken.connection.close_on_drop();
                    } else if healthy && !pending {
                        ready.give_back(taken);
                    }
                    // Otherwise the pool tests whether it is still open.
                });
            }
            _ if open || pending => taken.connection.close_on_drop(),
            // The pool tests whether it is still open.
            _ if !healthy => {}
            _ => self.ready.give_back(taken),
        }
    }
}
