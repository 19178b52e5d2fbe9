//! Bodies that are produced while they are sent, so that only a few pieces are in memory. Independent of what is in
//! them.

use std::future::Future;

use futures_util::stream::{self, StreamExt};
use host_interface::Body;
use tokio::sync::mpsc::{Sender, channel};

use crate::error::Error;

/// The size of a piece, in bytes.
pub const PIECE: usize = 64 * 1024;
/// How many pieces may be ready before the client has taken them.
const AHEAD: usize = 2;

/// Where the pieces of a body go.
#[derive(Clone, Debug)]
pub struct Pieces(Sender<Result<Vec<u8>, host_interface::Error>>);

impl Pieces {
    /// Sends a piece as soon as there is room for it. Returns whether the client is still there.
    pub async fn send(&self, piece: Vec<u8>) -> bool {
        self.0.send(Ok(piece)).await.is_ok()
    }
}

/// A body of the pieces that some work sends. If the work fails or panics, the client sees that the body broke off.
pub fn produced<F>(
    work: impl FnOnce(Pieces) -> F,
    failed: impl FnOnce(&Error) + Send + 'static,
) -> Body
where
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let (pieces, mut taken) = channel(AHEAD);
    let work = tokio::spawn(work(Pieces(pieces.clone())));
    tokio::spawn(async move {
        let fault = match work.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => {
                failed(&error);
                host_interface::Error::failed(error)
            }
            Err(panic) => host_interface::Error::failed(panic),
        };
        drop(pieces.send(Err(fault)).await);
    });
    Body::new(stream::poll_fn(move |context| taken.poll_recv(context)))
}

/// A body of some bodies, one after the other.
pub fn joined<const N: usize>(bodies: [Body; N]) -> Body {
    Body::new(stream::iter(bodies).flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_ends_without_an_error_only_if_its_work_did() {
        for fails in [false, true] {
            let body = produced(
                move |pieces| async move {
                    pieces.send(b"one".to_vec()).await;
                    assert!(!fails, "a fault of the work");
                    Ok(())
                },
                |_| {},
            );
            let pieces: Vec<_> = body.map(|piece| piece.is_ok()).collect().await;
            assert_eq!(pieces.last(), Some(&!fails));
        }
    }
}
