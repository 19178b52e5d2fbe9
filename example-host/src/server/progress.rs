//! A stream with a timeout for writing. Without it a peer that never reads its answer would occupy
//! its connection and its buffer for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// How many bytes a peer has to read within the time limit, so that reading a byte now and then is
/// not enough. Even a slow modem transfers this much in ten seconds.
const MIN_BYTES: usize = 16 * 1024;

/// How much Linux keeps beyond what it has sent; it takes more when it has half of that left. It would keep some megabytes
/// otherwise, and take more once it has sent a third of them: a peer that reads 200 KB a second seemed not to read for
/// ten seconds.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 2 * MIN_BYTES as u32;

/// A stream that fails if the peer does not read.
#[derive(Debug)]
pub(crate) struct Progress<S> {
    stream: S,
    time: Duration,
    /// The timer; it runs while a write is pending.
    waiting: Option<Pin<Box<Sleep>>>,
    /// The number of bytes written since the timer started.
    written: usize,
}

impl Progress<TcpStream> {
    /// A connection with this time limit.
    pub(crate) fn of(time: Duration, stream: TcpStream) -> Self {
        #[cfg(target_os = "linux")]
        if let Err(error) = socket2::SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT) {
            tracing::debug!(%error, "TCP_NOTSENT_LOWAT could not be set for a connection");
        }
        Self::within(time, stream)
    }
}

impl<S> Progress<S> {
    /// A stream with this time limit.
    fn within(time: Duration, stream: S) -> Self {
        Self { stream, time, waiting: None, written: 0 }
    }

    /// Passes the outcome of a write on, and fails if it is pending for too long.
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
            if std::mem::take(&mut self.written) < MIN_BYTES {
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
            // The peer has read everything.
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
    fn a_peer_that_does_not_read_times_out() -> io::Result<()> {
        runtime()?.block_on(async {
            let (_peer, stream) = duplex(1024);
            let mut stream = Progress::within(TIME, stream);
            let written = stream.write_all(&[0; 4096]).await;
            assert_eq!(written.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
            Ok(())
        })
    }

    #[test]
    fn a_peer_that_reads_a_byte_now_and_then_times_out() -> io::Result<()> {
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
    fn a_peer_that_reads_slowly_does_not_time_out() -> io::Result<()> {
        runtime()?.block_on(async {
            let (mut peer, stream) = duplex(MIN_BYTES);
            let mut stream = Progress::within(Duration::from_millis(500), stream);
            let reading = tokio::spawn(async move {
                let mut whole = vec![0; 6 * MIN_BYTES];
                for part in whole.chunks_mut(2 * MIN_BYTES) {
                    tokio::time::sleep(Duration::from_millis(250)).await;
                    if peer.read_exact(part).await.is_err() {
                        return false;
                    }
                }
                true
            });
            stream.write_all(&[0; 6 * MIN_BYTES]).await?;
            stream.flush().await?;
            assert!(reading.await.is_ok_and(|whole| whole));
            Ok(())
        })
    }
}
