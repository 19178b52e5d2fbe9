//! A request as it is sent: what an extension asks for, checked, and with the headers of the host. Opens no
//! connection.

use std::time::Duration;

use axum::http::header::{CONTENT_LENGTH, HOST, HeaderName, HeaderValue, USER_AGENT};
use axum::http::{HeaderMap, Method, Request};
use bytes::Bytes;
use host_interface::Delivery;
use http_body_util::Full;

use super::target::{Target, TargetError};

/// The maximum size of a body in bytes.
const BODY: usize = 1024 * 1024;

/// The maximum number of headers, and of the bytes in them.
const HEADERS: usize = 64;
const HEADER_BYTES: usize = 16 * 1024;

/// The longest time that may be allowed for everything.
const LONGEST: Duration = Duration::from_secs(60);

/// The headers that are about the connection, which belongs to the host.
const OWN: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What the host sends where the extension names itself no agent.
const AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));

/// A request with its receiver and its limits.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) target: Target,
    pub(super) request: Request<Full<Bytes>>,
    /// The time for resolution, connection and encryption together.
    pub(super) connect: Duration,
    /// The time for everything.
    pub(super) total: Duration,
}

/// Why a request can never be sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum MessageError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("The header {0:?} is not allowed.")]
    Header(String),
    #[error(
        "The request has more than {HEADERS} headers, or more than {HEADER_BYTES} bytes in them."
    )]
    Headers,
    #[error("The body is longer than {BODY} bytes.")]
    Body,
    #[error("The address cannot be sent.")]
    Path,
}

impl Message {
    pub(super) fn read(delivery: Delivery) -> Result<Self, MessageError> {
        let target = Target::read(&delivery.url)?;
        if delivery.body.len() > BODY {
            return Err(MessageError::Body);
        }
        let length = |(name, value): &(String, String)| name.len() + value.len();
        let bytes: usize = delivery.headers.iter().map(length).sum();
        if delivery.headers.len() > HEADERS || bytes > HEADER_BYTES {
            return Err(MessageError::Headers);
        }
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let mut named = HeaderMap::new();
        for (name, value) in delivery.headers {
            let header = name.parse::<HeaderName>().ok().zip(value.parse::<HeaderValue>().ok());
            let Some((header, value)) = header.filter(|(name, _)| !OWN.contains(&name.as_str()))
            else {
                return Err(MessageError::Header(name));
            };
            named.append(header, value);
        }
        // What the extension names replaces what the host would send.
        headers.extend(named);
        let authority = target.authority.parse().map_err(|_| MessageError::Path)?;
        headers.insert(HOST, authority);
        headers.insert(CONTENT_LENGTH, HeaderValue::from(delivery.body.len()));
        let uri = target.path.parse().map_err(|_| MessageError::Path)?;
        let mut request = Request::new(Full::from(delivery.body));
        (*request.method_mut(), *request.uri_mut()) = (Method::POST, uri);
        *request.headers_mut() = headers;
        let total = Duration::from_millis(delivery.total_ms).min(LONGEST);
        let connect = Duration::from_millis(delivery.connect_ms).min(total);
        Ok(Self { target, request, connect, total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(delivery: Delivery) -> Result<Message, String> {
        Message::read(delivery).map_err(|error| error.to_string())
    }

    #[test]
    fn a_request_has_the_headers_of_the_extension_and_those_of_the_host() -> Result<(), String> {
        let delivery = Delivery::new("https://example.com:8443/hook?a=b", "ä")
            .header("webhook-id", "msg_1")
            .header("x-twice", "1")
            .header("x-twice", "2");
        let message = read(delivery.clone())?;
        assert_eq!(message.request.uri(), "/hook?a=b");
        let headers = message.request.headers();
        let all = |name: &str| -> Vec<_> { headers.get_all(name).iter().collect() };
        assert_eq!(all("host"), ["example.com:8443"]);
        assert_eq!(all("content-length"), ["2"]);
        assert_eq!(all("user-agent"), [AGENT]);
        assert_eq!(all("webhook-id"), ["msg_1"]);
        assert_eq!(all("x-twice"), ["1", "2"]);
        let named = read(delivery.header("user-agent", "shop"))?;
        let agents: Vec<_> = named.request.headers().get_all("user-agent").iter().collect();
        assert_eq!(agents, ["shop"]);
        let long = Duration::from_secs(1000);
        let limited = read(Delivery::new("https://example.com", "").within(long, long))?;
        assert_eq!((limited.connect, limited.total), (LONGEST, LONGEST));
        Ok(())
    }

    #[test]
    fn what_would_change_the_conversation_is_refused() {
        let delivery = || Delivery::new("https://example.com", "");
        for (name, value) in [
            ("host", "other.example"),
            ("Content-Length", "5"),
            ("transfer-encoding", "chunked"),
            ("connection", "upgrade"),
            ("x-a", "1\r\nx-b: 2"),
            ("x-a", "1\n"),
            ("x a", "1"),
            ("x-a\r\n", "1"),
            ("", "1"),
        ] {
            assert!(read(delivery().header(name, value)).is_err(), "{name:?}: {value:?}");
        }
        let many = (0..=HEADERS).fold(delivery(), |all, nth| all.header(format!("x-{nth}"), ""));
        assert!(read(many).is_err());
        assert!(read(delivery().header("x-long", "x".repeat(HEADER_BYTES))).is_err());
        let body = "x".repeat(BODY);
        assert!(read(Delivery::new("https://example.com", body.clone())).is_ok());
        assert!(read(Delivery::new("https://example.com", body + "x")).is_err());
    }
}
