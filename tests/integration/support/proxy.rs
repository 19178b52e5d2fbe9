//! A proxy between a host and its database, for tests that break the connection: it forwards
//! everything, holds everything back, or refuses connections; or it breaks one connection at a
//! certain statement.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::support::databases::Engine;

/// The state of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Everything is forwarded.
    Open,
    /// Connections are accepted, and nothing is forwarded.
    Stalled,
    /// Connections are closed, and new ones refused.
    Cut,
}

/// The moment at which a connection is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Before the server gets a statement.
    OfStatement,
    /// After the server has executed it, and before the answer is forwarded.
    OfAnswer,
}

impl Loss {
    /// Words of the statement with which a store on this server commits.
    pub fn at_commit(engine: Engine) -> &'static [u8] {
        match engine {
            Engine::MariaDb => b"RELEASE SAVEPOINT begun; COMMIT",
            _ => b"COMMIT\0",
        }
    }
}

/// The parameter of an address that leaves the traffic unencrypted, so that a proxy can read it.
pub fn plain(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "sslmode=disable",
        _ => "ssl-mode=DISABLED",
    }
}

/// A trap for a connection: it is lost at a statement that contains these words, once.
type Trap = Arc<Mutex<Option<(Loss, &'static [u8])>>>;

/// A proxy in front of a server, until it is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    line: watch::Sender<Line>,
    trap: Trap,
}

impl Proxy {
    /// A proxy in front of the server at this address.
    pub async fn to(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (line, seen) = watch::channel(Line::Open);
        let trap = Trap::default();
        let set = Arc::clone(&trap);
        tokio::spawn(async move {
            let mut closed = seen.clone();
            loop {
                let client = tokio::select! {
                    accepted = listener.accept() => accepted.unwrap().0,
                    // The test is over.
                    _ = closed.wait_for(|_| false) => return,
                };
                tokio::spawn(pass(client, server, seen.clone(), Arc::clone(&set)));
            }
        });
        Proxy { address, line, trap }
    }

    /// Breaks the next connection with a statement that contains these words.
    pub fn lose(&self, loss: Loss, words: &'static [u8]) {
        *self.trap.lock().unwrap() = Some((loss, words));
    }

    /// Whether this has happened.
    pub fn has_lost(&self) -> bool {
        self.trap.lock().unwrap().is_none()
    }

    pub fn set(&self, line: Line) {
        self.line.send_replace(line);
    }
}

/// Forwards one connection until the line is cut.
async fn pass(client: TcpStream, server: SocketAddr, mut line: watch::Receiver<Line>, trap: Trap) {
    if *line.borrow_and_update() == Line::Cut {
        return;
    }
    let server = TcpStream::connect(server).await.unwrap();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // Whether the server's answers, and the connection, are lost from now on.
    let lost = AtomicBool::new(false);
    let sprung = |bytes: &[u8]| {
        let mut trap = trap.lock().unwrap();
        let words = |words: &[u8]| bytes.windows(words.len()).any(|part| part == words);
        let sprung = trap.take_if(|(_, at)| words(at)).map(|(loss, _)| loss);
        lost.store(sprung == Some(Loss::OfAnswer), Ordering::SeqCst);
        sprung != Some(Loss::OfStatement)
    };
    let goes_on = |_: &[u8]| !lost.load(Ordering::SeqCst);
    tokio::select! {
        () = carry(from_client, to_server, line.clone(), sprung) => {}
        () = carry(from_server, to_client, line.clone(), goes_on) => {}
        _ = line.wait_for(|line| *line == Line::Cut) => {}
    }
}

/// Forwards one direction until either side closes it, or the connection is lost.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut line: watch::Receiver<Line>,
    goes_on: impl Fn(&[u8]) -> bool,
) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes).await else { return };
        if line.wait_for(|line| *line != Line::Stalled).await.is_err() {
            return;
        }
        if !goes_on(&bytes[..count]) || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
