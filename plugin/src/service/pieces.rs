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

/// A body of the pieces that some work sends. If the work fails, the client sees that the body broke off.
pub fn produced<F>(
    work: impl FnOnce(Pieces) -> F,
    failed: impl FnOnce(&Error) + Send + 'static,
) -> Body
where
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let (pieces, mut taken) = channel(AHEAD);
    let work = work(Pieces(pieces.clone()));
    tokio::spawn(async move {
        if let Err(error) = work.await {
            failed(&error);
            drop(pieces.send(Err(host_interface::Error::failed(error))).await);
        }
    });
    Body::new(stream::poll_fn(move |context| taken.poll_recv(context)))
}

/// A body of some bodies, one after the other.
pub fn joined<const N: usize>(bodies: [Body; N]) -> Body {
    Body::new(stream::iter(bodies).flatten())
}
