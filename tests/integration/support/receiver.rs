//! A receiver of requests: a test decides what each request gets. It counts connections and keeps the requests, which
//! it reads itself, so that every byte of an answer is the test's own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// What a request gets.
#[derive(Clone, Debug)]
pub enum Reply {
    /// These bytes.
    Bytes(String),
    /// The same after a while.
    Late(Duration, String),
    /// Nothing, for ever.
    Silence,
    /// These bytes, and then one more every tenth of a second, for ever.
    Drip(String),
    /// The end of the connection.
    Reset,
}

impl Reply {
    /// An answer with this status and these headers, without content.
    pub fn status(status: u16, headers: &str) -> Reply {
        Reply::Bytes(format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n{headers}\r\n"))
    }
}

/// A request as it was received.
#[derive(Clone, Debug)]
pub struct Received {
    pub head: String,
    pub body: String,
}

impl Received {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let begin = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(begin.as_str()))
    }

    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }
}

/// The receiver. It stops when it is dropped.
pub struct Receiver {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    received: Arc<watch::Sender<Vec<Received>>>,
    _accepting: JoinSet<()>,
}

impl Receiver {
    /// A receiver at a free port of this address, behind TLS if it gets an acceptor.
    pub async fn start(
        address: &str,
        tls: Option<TlsAcceptor>,
        reply: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> Receiver {
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let received = Arc::new(watch::Sender::new(Vec::new()));
        let conversation = Arc::new(Conversation { received: Arc::clone(&received), reply });
        let counted = Arc::clone(&connections);
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut talking = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let (tls, conversation) = (tls.clone(), Arc::clone(&conversation));
                talking.spawn(async move { conversation.begin(stream, tls).await });
            }
        });
        Receiver { address, connections, received, _accepting: accepting }
    }

    /// How many connections there have been.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.borrow().clone()
    }
}

struct Conversation<F> {
    received: Arc<watch::Sender<Vec<Received>>>,
    reply: F,
}

impl<F: Fn(&Received) -> Reply> Conversation<F> {
    async fn begin(&self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        let Some(tls) = tls else { return self.talk(stream).await };
        // A client that does not trust the certificate ends the connection.
        if let Ok(stream) = tls.accept(stream).await {
            self.talk(stream).await;
        }
    }

    async fn talk(&self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let mut stream = BufReader::new(stream);
        while let Some(received) = read(&mut stream).await {
            let reply = (self.reply)(&received);
            self.received.send_modify(|all| all.push(received));
            // A client may have closed the connection, which ends it here, too.
            let sent = match reply {
                Reply::Bytes(bytes) => write(&mut stream, &bytes).await,
                Reply::Late(time, bytes) => {
                    tokio::time::sleep(time).await;
                    write(&mut stream, &bytes).await
                }
                Reply::Silence => std::future::pending().await,
                Reply::Drip(bytes) => drip(&mut stream, &bytes).await,
                Reply::Reset => return,
            };
            if sent.is_err() {
                return;
            }
        }
    }
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &str) -> std::io::Result<()> {
    stream.write_all(bytes.as_bytes()).await?;
    stream.flush().await
}

/// Writes these bytes, and then one more again and again, until that fails.
async fn drip(stream: &mut (impl AsyncWrite + Unpin), bytes: &str) -> std::io::Result<()> {
    write(stream, bytes).await?;
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        write(stream, "x").await?;
    }
}

/// The next request of a connection; `None` at its end.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Received> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let mut received = Received { head: String::from_utf8(head).unwrap(), body: String::new() };
    let length = received.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    received.body = String::from_utf8(body).unwrap();
    Some(received)
}
