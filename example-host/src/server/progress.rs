//! A stream whose other end has to read. A peer that asks and never takes the answer would keep its
//! place, and what is written for it, for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// How many bytes a peer has to take in the time that it has, so that it does not read one now and
/// then. The slowest modem takes as many in ten seconds.
const LEAST: usize = 16 * 1024;

/// A stream that fails when the other end does not read.
#[derive(Debug)]
pub(crate) struct Progress<S> {
    stream: S,
    time: Duration,
    /// Runs while something is written that the other end does not take.
    waiting: Option<Pin<Box<Sleep>>>,
    /// How much was written since.
    written: usize,
}

impl<S> Progress<S> {
    /// The other end of the stream has so much time.
    pub(crate) fn within(time: Duration, stream: S) -> Self {
        Self { stream, time, waiting: None, written: 0 }
    }

    /// Passes on what became of a write, and sees to it that one which has to wait does not wait for
    /// ever.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            return outcome;
        }
        let waiting = self.waiting.get_or_insert_with(|| {
            self.written = 0;
            Box::pin(sleep(self.time))
        });
        loop {
            ready!(waiting.as_mut().poll(context));
            if std::mem::take(&mut self.written) < LEAST {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            waiting.as_mut().reset(Instant::now() + self.time);
        }
    }

    fn count(&mut self, outcome: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(written)) = outcome {
            self.written = self.written.saturating_add(*written);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Progress<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Progress<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count(&outcome);
        self.watch(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.count(&outcome);
        self.watch(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        if outcome.is_ready() {
            // Nothing is left that the other end has not taken.
            self.waiting = None;
        }
        self.watch(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, outcome)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const TIME: Duration = Duration::from_millis(50);

    fn runtime() -> io::Result<tokio::runtime::Runtime> {
        tokio::runtime::Builder::new_current_thread().enable_all().build()
    }

    #[test]
    fn a_peer_that_does_not_read_is_not_waited_for() -> io::Result<()> {
        runtime()?.block_on(async {
            let (_peer, stream) = duplex(1024);
            let mut stream = Progress::within(TIME, stream);
            let written = stream.write_all(&[0; 4096]).await;
            assert_eq!(written.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
            Ok(())
        })
    }

    #[test]
    fn a_peer_that_reads_a_byte_now_and_then_is_not_waited_for() -> io::Result<()> {
        runtime()?.block_on(async {
            let (mut peer, stream) = duplex(1024);
            let mut stream = Progress::within(TIME, stream);
            let reading = tokio::spawn(async move {
                loop {
                    tokio::time::sleep(TIME / 5).await;
                    if peer.read_u8().await.is_err() {
                        return;
                    }
                }
            });
            let written = stream.write_all(&[0; 4096]).await;
            assert_eq!(written.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
            reading.abort();
            Ok(())
        })
    }

    #[test]
    fn a_peer_that_reads_has_as_much_time_as_it_needs() -> io::Result<()> {
        runtime()?.block_on(async {
            let (mut peer, stream) = duplex(LEAST);
            let mut stream = Progress::within(Duration::from_millis(500), stream);
            let reading = tokio::spawn(async move {
                let mut whole = vec![0; 6 * LEAST];
                for part in whole.chunks_mut(2 * LEAST) {
                    tokio::time::sleep(Duration::from_millis(250)).await;
                    if peer.read_exact(part).await.is_err() {
                        return false;
                    }
                }
                true
            });
            stream.write_all(&[0; 6 * LEAST]).await?;
            stream.flush().await?;
            assert!(reading.await.is_ok_and(|whole| whole));
            Ok(())
        })
    }
}
