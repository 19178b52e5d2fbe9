//! A connection to one address that was checked, encrypted for one name, and the conversation on it. Resolves no
//! name, and follows no redirect.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime};

use axum::http::header::RETRY_AFTER;
use axum::http::{Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;

use super::retry_after;
use super::target::{Place, Target};
use super::undelivered::Undelivered;

/// How much of an answer is read, and dropped.
const READ: usize = 64 * 1024;

/// The maximum size of the headers of an answer.
const HEADERS: usize = 64 * 1024;

/// An open connection, which is closed when it is dropped.
pub(super) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// Moves the bytes, and ends with the connection.
    _driver: JoinSet<()>,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
}

/// Why a connection has brought no answer.
pub(super) enum Failed {
    /// Nothing was sent, so this request may be sent on another connection.
    Unsent(Box<Request<Full<Bytes>>>),
    /// The receiver may have got it.
    Broken(hyper::Error),
}

impl Connection {
    /// Connects to the first of these addresses that takes it. Each gets an equal part of the time.
    pub(super) async fn open(
        target: &Target,
        addresses: &[IpAddr],
        tls: Option<&TlsConnector>,
        within: Duration,
    ) -> Result<(SocketAddr, Self), Undelivered> {
        let each = within / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut failed = Undelivered::Timeout;
        for address in addresses {
            let address = SocketAddr::new(*address, target.port);
            match timeout(each, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok((address, Self::begin(target, stream, tls).await?)),
                Ok(Err(error)) => failed = Undelivered::Connection(error),
                Err(_) => failed = Undelivered::Timeout,
            }
        }
        Err(failed)
    }

    async fn begin(
        target: &Target,
        stream: TcpStream,
        tls: Option<&TlsConnector>,
    ) -> Result<Self, Undelivered> {
        // A request is one packet, which must not wait for another.
        stream.set_nodelay(true).map_err(Undelivered::Connection)?;
        let Some(tls) = tls else { return Self::speak(stream).await };
        let stream = tls.connect(name(target)?, stream).await.map_err(|error| {
            let is_tls = error.get_ref().is_some_and(|error| error.is::<rustls::Error>());
            if is_tls { Undelivered::Tls(error) } else { Undelivered::Connection(error) }
        })?;
        Self::speak(stream).await
    }

    async fn speak(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, Undelivered> {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEADERS);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // The request that it breaks fails with it.
            let _ = connection.await;
        });
        Ok(Self { sender, _driver: driver })
    }

    /// Whether the receiver has closed it.
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends a request, and returns the beginning of its answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failed> {
        if self.sender.ready().await.is_err() {
            return Err(Failed::Unsent(Box::new(request)));
        }
        self.sender.try_send_request(request).await.map_err(|mut error| {
            match error.take_message() {
                Some(request) => Failed::Unsent(Box::new(request)),
                None => Failed::Broken(error.into_error()),
            }
        })
    }
}

impl Answer {
    /// Reads an answer, and drops its content. Also returns whether the connection may be used again, which it may not
    /// if there is more to read. If the rest of an answer is missing, it is an answer all the same.
    pub(super) async fn read(response: Response<Incoming>) -> (Self, bool) {
        let header = response.headers().get(RETRY_AFTER);
        let retry_after = header.and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|value| retry_after::read(value, SystemTime::now()));
        let answer = Self { status: response.status().as_u16(), retry_after };
        let mut body = response.into_body();
        let mut read = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return (answer, false) };
            read += frame.data_ref().map_or(0, Bytes::len);
            if read > READ {
                return (answer, false);
            }
        }
        (answer, true)
    }
}

/// The name that the certificate has to be for.
fn name(target: &Target) -> Result<ServerName<'static>, Undelivered> {
    match &target.place {
        Place::Name(name) => ServerName::try_from(name.clone())
            .map_err(|error| Undelivered::Tls(io::Error::other(error))),
        Place::Address(address) => Ok(ServerName::IpAddress((*address).into())),
    }
}
