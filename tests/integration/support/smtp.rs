//! A mail server for tests: it implements SMTP on a real socket, keeps every mail, and accepts,
//! refuses or hangs as a test requests.
//!
//! ```ignore
//! let sink = Sink::start().await;
//! let served = place.serve_with(&[("HOST_SMTP_URL", &sink.url())]).await;
//! // ... whatever sends two mails
//! let mails = sink.wait_for(2).await;
//! assert_eq!(mails[0].subject(), "Your order");
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mail_parser::MessageParser;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::support::waiting::patiently;

/// The reaction of the server to mails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// Accepts them.
    Accepting,
    /// Refuses each with this code, after the recipient.
    Refusing(u16),
    /// Sends nothing any more, at any stage.
    Hanging,
}

/// The server's use of TLS.
#[derive(Clone)]
pub enum Security {
    /// No TLS.
    None,
    /// From the start of a connection.
    Wrapped(TlsAcceptor),
    /// After `STARTTLS`.
    OnDemand(TlsAcceptor),
}

/// The server. It stops when it is dropped.
pub struct Sink {
    address: SocketAddr,
    shared: Arc<Shared>,
    running: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    security: Security,
    mood: watch::Sender<Mood>,
    mails: watch::Sender<Vec<Received>>,
    connections: AtomicUsize,
}

/// A mail as it came over the wire.
#[derive(Clone, Debug)]
pub struct Received {
    /// The sender in the envelope.
    pub from: String,
    /// The recipients in the envelope.
    pub to: Vec<String>,
    /// The client's credentials in the form of the protocol; empty without authentication.
    pub credentials: String,
    /// Whether it arrived over TLS.
    pub encrypted: bool,
    /// Headers and body.
    pub source: String,
}

impl Sink {
    /// A server that accepts every mail.
    pub async fn start() -> Sink {
        Sink::start_with(Security::None).await
    }

    /// The same with TLS.
    pub async fn start_with(security: Security) -> Sink {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            security,
            mood: watch::Sender::new(Mood::Accepting),
            mails: watch::Sender::new(Vec::new()),
            connections: AtomicUsize::new(0),
        });
        let running = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Sink { address, shared, running: Mutex::new(Some(running)) }
    }

    /// The address in the form of a host's setting.
    pub fn url(&self) -> String {
        match self.shared.security {
            Security::None => format!("smtp://{}", self.address),
            Security::Wrapped(_) => format!("smtps://{}", self.address),
            Security::OnDemand(_) => format!("smtp://{}?tls=required", self.address),
        }
    }

    /// The address with a user to authenticate as.
    pub fn url_for(&self, user: &str, password: &str) -> String {
        format!("smtp://{user}:{password}@{}", self.address)
    }

    /// Everything that has been received so far.
    pub fn mails(&self) -> Vec<Received> {
        self.shared.mails.borrow().clone()
    }

    /// Waits until at least this many mails have been received, and returns all.
    pub async fn wait_for(&self, count: usize) -> Vec<Received> {
        let mut mails = self.shared.mails.subscribe();
        let received = mails.wait_for(|mails| mails.len() >= count);
        patiently(&format!("{count} mails"), received).await.unwrap().clone()
    }

    /// Waits until there is a mail about each comment on an order, and checks that there is none
    /// about anything else. A mail may arrive twice, but with one id. A comment is the line of a mail
    /// that begins with `move `.
    pub async fn has_one_about_each(&self, comments: &BTreeSet<String>) {
        let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut count = comments.len();
        while seen.len() < comments.len() {
            let mails = self.wait_for(count).await;
            count = mails.len() + 1;
            for mail in mails {
                let text = mail.text();
                let comment = text.lines().find(|line| line.starts_with("move ")).unwrap();
                seen.entry(comment.to_owned()).or_default().insert(mail.header("Message-ID"));
            }
        }
        assert!(seen.values().all(|ids| ids.len() == 1), "a mail keeps its id");
        assert_eq!(seen.into_keys().collect::<BTreeSet<_>>(), *comments);
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Accepts mails again.
    pub fn accept(&self) {
        self.shared.mood.send_replace(Mood::Accepting);
    }

    /// Refuses each mail with this code: 4xx is temporary and 5xx permanent.
    pub fn refuse(&self, code: u16) {
        self.shared.mood.send_replace(Mood::Refusing(code));
    }

    /// Accepts connections and sends nothing on them, until it accepts mails again.
    pub fn hang(&self) {
        self.shared.mood.send_replace(Mood::Hanging);
    }

    /// Closes all connections and the port.
    pub async fn stop(&self) {
        if let Some(running) = self.running.lock().await.take() {
            running.abort();
            assert!(running.await.is_err_and(|end| end.is_cancelled()), "the sink has failed");
        }
    }

    /// Listens again at the same address.
    pub async fn restart(&self) {
        self.stop().await;
        let listener = TcpListener::bind(self.address).await.unwrap();
        let running = tokio::spawn(accept(listener, Arc::clone(&self.shared)));
        *self.running.lock().await = Some(running);
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if let Some(running) = self.running.get_mut().take() {
            running.abort();
        }
    }
}

impl Received {
    /// The value of a header, unfolded; fails the test unless there is exactly one.
    #[track_caller]
    pub fn header(&self, name: &str) -> String {
        let (headers, _) = self.source.split_once("\r\n\r\n").unwrap();
        let unfolded = headers.replace("\r\n ", " ").replace("\r\n\t", " ");
        let mut values = unfolded.split("\r\n").filter_map(|line| {
            let (header, value) = line.split_once(':')?;
            header.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        });
        let value = values.next().unwrap_or_else(|| panic!("no {name}: {}", self.source));
        assert_eq!(values.next(), None, "more than one {name}: {}", self.source);
        value
    }

    /// The names of all headers, in lower case.
    pub fn header_names(&self) -> Vec<String> {
        let (headers, _) = self.source.split_once("\r\n\r\n").unwrap();
        let lines = headers.split("\r\n").filter(|line| !line.starts_with([' ', '\t']));
        lines.map(|line| line.split(':').next().unwrap().to_lowercase()).collect()
    }

    /// The decoded subject.
    pub fn subject(&self) -> String {
        self.parsed(|mail| mail.subject().unwrap().to_owned())
    }

    /// The decoded name beside the recipient's address; empty if there is none.
    pub fn to_name(&self) -> String {
        self.parsed(|mail| {
            let to = mail.to().and_then(|to| to.first()).unwrap();
            to.name().unwrap_or_default().to_owned()
        })
    }

    /// The decoded body, with lines that end with `\n`. Trailing empty lines are removed.
    pub fn text(&self) -> String {
        self.parsed(|mail| {
            let text = mail.body_text(0).unwrap().replace("\r\n", "\n");
            text.trim_end_matches('\n').to_owned()
        })
    }

    fn parsed<T>(&self, read: impl FnOnce(&mail_parser::Message<'_>) -> T) -> T {
        read(&MessageParser::default().parse(self.source.as_bytes()).unwrap())
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, which closes the connections.
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // A client that disconnects early is not an error of the sink.
            let _ = talk(stream, shared).await;
        });
    }
}

/// One connection, from the greeting or the TLS handshake to its end.
async fn talk(stream: TcpStream, shared: Arc<Shared>) -> std::io::Result<()> {
    if let Security::Wrapped(acceptor) = shared.security.clone() {
        let mut session = Session::new(acceptor.accept(stream).await?, shared, true);
        session.answer("220 sink.example ESMTP").await?;
        return session.serve().await.map(drop);
    }
    let mut session = Session::new(stream, shared, false);
    session.answer("220 sink.example ESMTP").await?;
    match (session.serve().await?, session.shared.security.clone()) {
        (End::Tls, Security::OnDemand(acceptor)) => {
            let stream = acceptor.accept(session.stream.into_inner()).await?;
            Session::new(stream, session.shared, true).serve().await.map(drop)
        }
        _ => Ok(()),
    }
}

/// How a session ends.
enum End {
    Gone,
    /// The client wants to continue with TLS.
    Tls,
}

/// The dialogue on one connection.
struct Session<S> {
    stream: BufStream<S>,
    shared: Arc<Shared>,
    encrypted: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<S> {
    fn new(stream: S, shared: Arc<Shared>, encrypted: bool) -> Self {
        Session { stream: BufStream::new(stream), shared, encrypted }
    }

    async fn serve(&mut self) -> std::io::Result<End> {
        let (mut from, mut to, mut credentials) = (String::new(), Vec::new(), String::new());
        let offers_tls = !self.encrypted && matches!(self.shared.security, Security::OnDemand(_));
        while let Some(line) = self.line().await? {
            let line = line.trim_end().to_owned();
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            let answer = match verb.to_uppercase().as_str() {
                "EHLO" => {
                    let tls = if offers_tls { "250-STARTTLS\r\n" } else { "" };
                    format!("250-sink.example\r\n250-8BITMIME\r\n{tls}250 AUTH PLAIN")
                }
                "STARTTLS" if offers_tls => {
                    self.answer("220 go on").await?;
                    return Ok(End::Tls);
                }
                "AUTH" => {
                    credentials = rest.strip_prefix("PLAIN ").unwrap().to_owned();
                    "235 welcome".to_owned()
                }
                "MAIL" => {
                    (from, to) = (address(rest), Vec::new());
                    "250 go on".to_owned()
                }
                "RCPT" => match *self.shared.mood.borrow() {
                    Mood::Refusing(code) => format!("{code} not this one"),
                    Mood::Accepting | Mood::Hanging => {
                        to.push(address(rest));
                        "250 go on".to_owned()
                    }
                },
                "DATA" => {
                    self.answer("354 go on").await?;
                    let Some(source) = self.message().await? else { break };
                    let (from, to) = (std::mem::take(&mut from), std::mem::take(&mut to));
                    let (credentials, encrypted) = (credentials.clone(), self.encrypted);
                    let mail = Received { from, to, credentials, encrypted, source };
                    self.awake().await;
                    self.shared.mails.send_modify(|mails| mails.push(mail));
                    "250 received".to_owned()
                }
                "NOOP" | "RSET" => "250 done".to_owned(),
                "QUIT" => {
                    self.answer("221 good-bye").await?;
                    break;
                }
                _ => "502 no such command".to_owned(),
            };
            self.answer(&answer).await?;
        }
        Ok(End::Gone)
    }

    /// Waits until the server no longer hangs.
    async fn awake(&self) {
        let mut mood = self.shared.mood.subscribe();
        // The sender lives as long as the sink.
        let _ = mood.wait_for(|mood| *mood != Mood::Hanging).await;
    }

    async fn answer(&mut self, line: &str) -> std::io::Result<()> {
        self.awake().await;
        self.stream.write_all(line.as_bytes()).await?;
        self.stream.write_all(b"\r\n").await?;
        self.stream.flush().await
    }

    /// The next line with its end; `None` if the client has disconnected.
    async fn line(&mut self) -> std::io::Result<Option<String>> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).await?;
        Ok((read > 0).then_some(line))
    }

    /// A message up to the dot that ends it; `None` if the client disconnects before.
    async fn message(&mut self) -> std::io::Result<Option<String>> {
        let mut message = String::new();
        while let Some(line) = self.line().await? {
            assert!(line.ends_with("\r\n"), "a bare line feed: {line:?}");
            match line.strip_prefix('.') {
                Some("\r\n") => return Ok(Some(message)),
                Some(rest) => message.push_str(rest),
                None => message.push_str(&line),
            }
        }
        Ok(None)
    }
}

/// The address in `FROM:<ann@example.com>`.
fn address(argument: &str) -> String {
    let (_, rest) = argument.split_once('<').unwrap();
    rest.split_once('>').unwrap().0.to_owned()
}
