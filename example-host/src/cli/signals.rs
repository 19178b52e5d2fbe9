//! The signals that the program obeys: those that end it, and the one that makes it read files anew.

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Stop gracefully.
    Stop,
    /// Read the certificate and the filter of the log anew.
    Reload,
}

#[cfg(unix)]
pub(super) struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    /// What SIGHUP asks for: in a terminal it means that the terminal is gone.
    on_hang_up: Asked,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn new() -> std::io::Result<Self> {
        use std::io::IsTerminal;

        use tokio::signal::unix::{SignalKind, signal};
        let in_terminal = std::io::stderr().is_terminal();
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            hang_up: signal(SignalKind::hangup())?,
            on_hang_up: if in_terminal { Asked::Stop } else { Asked::Reload },
        })
    }

    pub(super) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Stop,
            _ = self.interrupt.recv() => Asked::Stop,
            _ = self.quit.recv() => Asked::Stop,
            _ = self.hang_up.recv() => self.on_hang_up,
        }
    }
}

#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) -> Asked {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Asked::Stop
    }
}

impl Signals {
    /// Waits for a signal to stop.
    pub(super) async fn stop(&mut self) {
        while self.next().await != Asked::Stop {}
    }
}
