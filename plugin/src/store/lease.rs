//! A connection that a request has borrowed, and that returns to its pool whatever happens to the
//! request. Independent of engines.

use std::io::ErrorKind;
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::driver::{Driver, Stream};
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
    state: State,
}

/// The state of the connection.
struct State {
    /// Whether an answer is outstanding.
    asked: bool,
    /// Whether a transaction is open.
    open: bool,
    /// Whether every statement has been answered properly.
    sound: bool,
    /// Whether the connection must be closed, which frees resources that the server lacks.
    worn_out: bool,
}

impl<D: Driver> Lease<D> {
    /// Borrows a connection from a pool, with this time limit of answers.
    pub(super) async fn of(ready: &Ready<D>, answer: Duration) -> Result<Self, sqlx::Error> {
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
        let state = State { asked: false, open: false, sound: true, worn_out: false };
        Ok(Self { taken: Some(taken), ready: ready.clone(), answer, state })
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
        state.asked = true;
        let work = work(connection);
        let answer = match brake {
            Some(brake) => brake.answered(self.answer, work).await,
            None => tokio::time::timeout(self.answer, work).await.ok(),
        };
        state.asked = answer.is_none();
        state.sound &= matches!(answer, Some(Ok(_)));
        state.worn_out |= matches!(&answer, Some(Err(error)) if D::is_worn_out(error));
        let answer = answer.unwrap_or_else(|| Err(sqlx::Error::Io(ErrorKind::TimedOut.into())));
        answer.map_err(D::classify)
    }

    /// Streams rows. Until the stream ends, an answer is outstanding.
    pub(super) fn stream<'a>(
        &'a mut self,
        work: impl FnOnce(&'a mut D::Connection) -> Stream<'a, sqlx::Error>,
    ) -> Result<Stream<'a, Error>, Error> {
        let Some(taken) = &mut self.taken else {
            return Err(D::classify(sqlx::Error::PoolClosed));
        };
        let rows = work(&mut taken.connection);
        let asked = &mut self.state.asked;
        *asked = true;
        let end = stream::poll_fn(move |_| {
            *asked = false;
            Poll::Ready(None)
        });
        Ok(rows.chain(end).map_err(D::classify).boxed())
    }
}

impl<D: Driver> Drop for Lease<D> {
    fn drop(&mut self) {
        let Some(mut taken) = self.taken.take() else { return };
        let State { asked, open, sound, worn_out } = self.state;
        match tokio::runtime::Handle::try_current() {
            _ if worn_out => taken.connection.close_on_drop(),
            Ok(runtime) if open || asked => {
                let options = self.ready.pool().connect_options();
                runtime.spawn(async move {
                    let Taken { connection, brake, .. } = &mut taken;
                    let undone = async {
                        if asked {
                            let Some(brake) = brake else { return false };
                            if !D::end(connection, brake, &options).await {
                                return false;
                            }
                        }
                        !open || D::execute_batch(connection, D::ROLLBACK).await.is_ok()
                    };
                    if !tokio::time::timeout(ANSWER, undone).await.unwrap_or(false) {
                        taken.connection.close_on_drop();
                    }
                });
            }
            _ if open || asked => taken.connection.close_on_drop(),
            // The pool tests whether it is still open.
            _ if !sound => {}
            _ => self.ready.give_back(taken),
        }
    }
}
