//! What stands between a host and its database when a test breaks the line: lets everything
//! through, keeps everything back, or refuses.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How the line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// As if there were no proxy.
    Open,
    /// Connections are accepted, and nothing comes through.
    Stalled,
    /// Connections are broken off, and new ones at once.
    Cut,
}

/// A proxy in front of a server, as long as it is kept.
pub struct Proxy {
    pub address: SocketAddr,
    line: watch::Sender<Line>,
}

impl Proxy {
    /// A proxy in front of the server at this address.
    pub async fn to(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (line, seen) = watch::channel(Line::Open);
        tokio::spawn(async move {
            let mut closed = seen.clone();
            loop {
                let client = tokio::select! {
                    accepted = listener.accept() => accepted.unwrap().0,
                    // The test is over.
                    _ = closed.wait_for(|_| false) => return,
                };
                tokio::spawn(pass(client, server, seen.clone()));
            }
        });
        Proxy { address, line }
    }

    pub fn set(&self, line: Line) {
        self.line.send_replace(line);
    }
}

/// Carries one connection for as long as the line is not cut.
async fn pass(client: TcpStream, server: SocketAddr, mut line: watch::Receiver<Line>) {
    if *line.borrow_and_update() == Line::Cut {
        return;
    }
    let server = TcpStream::connect(server).await.unwrap();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = carry(from_client, to_server, line.clone()) => {}
        () = carry(from_server, to_client, line.clone()) => {}
        _ = line.wait_for(|line| *line == Line::Cut) => {}
    }
}

/// Carries one direction until one side has had enough.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut line: watch::Receiver<Line>) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes).await else { return };
        if line.wait_for(|line| *line != Line::Stalled).await.is_err() {
            return;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
