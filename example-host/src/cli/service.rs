//! The program as a service of systemd, or of another service manager with the same protocol: the
//! sockets that it passes, and the notices that it waits for. Knows nothing of the site.

use std::net;

use listenfd::ListenFd;
use tokio::net::TcpListener;

use super::terminal::Failure;

/// The sockets of the program. One that the service manager passes takes the place of an address:
/// the first that of the site, the second that of the metrics. Several processes may have the same
/// socket, so that a new version accepts connections before the old one stops.
pub(super) struct Sockets(ListenFd);

impl Sockets {
    /// Takes the sockets that were passed. It changes the environment, so it must be called while
    /// the process has a single thread.
    pub(super) fn passed() -> Self {
        Self(ListenFd::from_env())
    }

    /// The socket for the site.
    pub(super) async fn for_site(&mut self, listen: &str) -> Result<TcpListener, Failure> {
        match self.take(0)? {
            Some(passed) => Ok(passed),
            None => bind(listen, "HOST_LISTEN=127.0.0.1:8081").await,
        }
    }

    /// The socket for the metrics, if they are to be served.
    pub(super) async fn for_metrics(
        &mut self,
        listen: Option<&str>,
    ) -> Result<Option<TcpListener>, Failure> {
        match (self.take(1)?, listen) {
            (Some(passed), _) => Ok(Some(passed)),
            (None, Some(listen)) => Ok(Some(bind(listen, "HOST_METRICS=127.0.0.1:9091").await?)),
            (None, None) => Ok(None),
        }
    }

    fn take(&mut self, position: usize) -> Result<Option<TcpListener>, Failure> {
        let passed = self.0.take_tcp_listener(position).and_then(|passed| {
            let usable = |listener: net::TcpListener| {
                listener.set_nonblocking(true)?;
                TcpListener::from_std(listener)
            };
            passed.map(usable).transpose()
        });
        passed.map_err(|error| format!("a socket that was passed cannot be used: {error}").into())
    }
}

/// Notifies the service manager that the site is served.
pub(super) fn notify_ready() {
    #[cfg(unix)]
    notify(sd_notify::NotifyState::Ready);
}

/// Notifies the service manager that the program stops.
pub(super) fn notify_stopping() {
    #[cfg(unix)]
    notify(sd_notify::NotifyState::Stopping);
}

/// Does nothing if there is no service manager.
#[cfg(unix)]
fn notify(state: sd_notify::NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "the service manager could not be notified");
    }
}

/// `example` is a setting of another address.
async fn bind(listen: &str, example: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(listen).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            format!("{listen} is in use; choose another address, for example {example}").into()
        }
        std::io::ErrorKind::InvalidInput => format!(
            "cannot listen on {listen}: write an address with a port, for example {example}"
        )
        .into(),
        _ => format!("cannot listen on {listen}: {error}").into(),
    })
}
