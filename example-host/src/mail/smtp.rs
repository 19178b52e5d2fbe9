//! Mails by SMTP: the address of a mail server, and conversations with it that never outlast their
//! time. What stands in a mail is no matter here.

use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lettre::address::Envelope;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::{ClientId, Extension};
use lettre::transport::smtp::{Error as SmtpError, SMTP_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT};
use percent_encoding::percent_decode_str;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Url;

use crate::base::error::Error;

use super::MailError;

/// How many mails are sent at the same time. Mail servers allow few connections of one client.
const CONNECTIONS: usize = 4;

/// The address of a mail server: `smtps://user:password@mail.example.com`.
///
/// | address | meaning | port |
/// |---|---|---|
/// | `smtps://…` | TLS from the start | 465 |
/// | `smtp://…?tls=required` | TLS by STARTTLS, or nothing | 587 |
/// | `smtp://…?tls=opportunistic` | TLS if the server offers it | 587 |
/// | `smtp://…` | in clear text, for a server on the same machine | 25 |
///
/// User, password and port may be left out. A path is the name that the server is greeted with.
#[derive(Clone, Debug)]
pub struct SmtpUrl {
    host: String,
    port: u16,
    security: Security,
    credentials: Option<Credentials>,
    greeting: ClientId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Security {
    None,
    Opportunistic,
    Required,
    Wrapped,
}

/// Why an address is none of a mail server. Never shows the address, which may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SmtpUrlError {
    /// Not even a URL.
    #[error("is no URL")]
    Url,
    /// Another protocol.
    #[error("begins with neither smtp:// nor smtps://")]
    Scheme,
    /// No server is named.
    #[error("names no host")]
    Host,
    /// An option that there is not: better refused than mails sent in clear text by mistake.
    #[error("has an option other than tls=required and tls=opportunistic for smtp://")]
    Option,
    /// Half of the credentials.
    #[error("has a user without a password, or a password without a user")]
    Credentials,
}

impl FromStr for SmtpUrl {
    type Err = SmtpUrlError;

    fn from_str(text: &str) -> Result<Self, SmtpUrlError> {
        let url = Url::parse(text).map_err(|_| SmtpUrlError::Url)?;
        let options: Vec<_> = url.query_pairs().collect();
        let options: Vec<_> = options.iter().map(|(name, value)| (&**name, &**value)).collect();
        let (security, port) = match (url.scheme(), options.as_slice()) {
            ("smtps", []) => (Security::Wrapped, SUBMISSIONS_PORT),
            ("smtp", [("tls", "required")]) => (Security::Required, SUBMISSION_PORT),
            ("smtp", [("tls", "opportunistic")]) => (Security::Opportunistic, SUBMISSION_PORT),
            ("smtp", []) => (Security::None, SMTP_PORT),
            ("smtp" | "smtps", _) => return Err(SmtpUrlError::Option),
            _ => return Err(SmtpUrlError::Scheme),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(SmtpUrlError::Host)?;
        let decoded = |text: &str| {
            let text = percent_decode_str(text).decode_utf8();
            text.map(|text| text.into_owned()).map_err(|_| SmtpUrlError::Credentials)
        };
        let credentials = match (url.username(), url.password()) {
            ("", None) => None,
            ("", Some(_)) | (_, None) => return Err(SmtpUrlError::Credentials),
            (user, Some(password)) => Some(Credentials::new(decoded(user)?, decoded(password)?)),
        };
        let greeting = match url.path().trim_matches('/') {
            "" => ClientId::default(),
            name => ClientId::Domain(name.to_owned()),
        };
        Ok(Self {
            // An IPv6 address has brackets in a URL alone.
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(port),
            security,
            credentials,
            greeting,
        })
    }
}

/// A mail server, and the connections to it that are of use for the next mail.
///
/// The connections are kept here and not in the library's own pool: its time limit ends with the
/// connecting, and a conversation that is given up would be taken up again in the middle, where
/// the answer to one mail is read as that to another.
pub(crate) struct Server {
    url: SmtpUrl,
    tls: Option<TlsParameters>,
    time: Duration,
    turns: Semaphore,
    idle: Mutex<Vec<AsyncSmtpConnection>>,
}

impl Server {
    pub(crate) fn new(url: SmtpUrl, time: Duration) -> Result<Self, Error> {
        let tls = match url.security {
            Security::None => None,
            _ => Some(TlsParameters::new(url.host.clone()).map_err(|error| {
                Error::Invalid(format!("TLS to the mail server is not possible: {error}"))
            })?),
        };
        let (turns, idle) = (Semaphore::new(CONNECTIONS), Mutex::default());
        Ok(Self { url, tls, time, turns, idle })
    }

    /// Sends a mail within the time that there is, the wait for its turn included.
    pub(crate) async fn send(&self, envelope: &Envelope, text: &[u8]) -> Result<(), MailError> {
        // Dropping a conversation closes its connection.
        let sent = timeout(self.time, self.converse(envelope, text)).await;
        sent.unwrap_or(Err(MailError::TooSlow(self.time)))
    }

    async fn converse(&self, envelope: &Envelope, text: &[u8]) -> Result<(), MailError> {
        // Nobody closes the semaphore; if somebody did, there would merely be no limit.
        let _turn = self.turns.acquire().await;
        let mut connection = self.connection().await.map_err(MailError::Unavailable)?;
        let ascii = envelope.to().iter().all(|to| to.user().is_ascii() && to.domain().is_ascii());
        let takes_more = connection.server_info().supports_feature(Extension::SmtpUtfEight);
        let sent = match ascii || takes_more {
            true => connection.send(envelope, text).await.map(drop).map_err(refusal),
            false => Err(MailError::NotAscii),
        };
        if !connection.has_broken() {
            self.idle().push(connection);
        }
        sent
    }

    /// A connection on which the server waits for a mail.
    async fn connection(&self) -> Result<AsyncSmtpConnection, SmtpError> {
        while let Some(mut kept) = self.kept() {
            if kept.test_connected().await {
                return Ok(kept);
            }
        }
        let SmtpUrl { host, port, security, credentials, greeting } = &self.url;
        let wrapped = self.tls.clone().filter(|_| *security == Security::Wrapped);
        let address = (host.as_str(), *port);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(address, None, greeting, wrapped, None).await?;
        let upgrades = match security {
            Security::None | Security::Wrapped => false,
            Security::Opportunistic => connection.can_starttls(),
            Security::Required => true,
        };
        if upgrades && let Some(tls) = &self.tls {
            connection.starttls(tls.clone(), greeting).await?;
        }
        if let Some(credentials) = credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }

    fn kept(&self) -> Option<AsyncSmtpConnection> {
        self.idle().pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<AsyncSmtpConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an error in the middle of a mail means for this mail.
fn refusal(error: SmtpError) -> MailError {
    // Who has to sign in first is told so of each mail; that is for the site to put right.
    let sign_in = matches!(error.status().map(u16::from), Some(530 | 534 | 535 | 538));
    match error.is_permanent() && !sign_in {
        true => MailError::Refused(error),
        false => MailError::Unavailable(error),
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_how_the_server_is_reached() {
        for (text, expected) in [
            ("smtp://localhost", ("localhost", 25, Security::None)),
            ("smtp://[::1]:2525", ("::1", 2525, Security::None)),
            ("smtp://mail.example.com?tls=required", ("mail.example.com", 587, Security::Required)),
            ("smtp://a.example?tls=opportunistic", ("a.example", 587, Security::Opportunistic)),
            ("smtps://mail.example.com/shop.example", ("mail.example.com", 465, Security::Wrapped)),
        ] {
            let url: Result<SmtpUrl, _> = text.parse();
            let read = url.as_ref().map(|url| (url.host.as_str(), url.port, url.security));
            assert_eq!(read, Ok(expected).as_ref().copied(), "{text}");
        }
    }

    #[test]
    fn an_address_that_is_none_says_why_and_shows_no_password() {
        for (text, expected) in [
            ("", SmtpUrlError::Url),
            ("mail.example.com", SmtpUrlError::Url),
            ("mail.example.com:25", SmtpUrlError::Scheme),
            ("https://ann:s3cret@mail.example.com", SmtpUrlError::Scheme),
            ("smtp:///name", SmtpUrlError::Host),
            ("smtp://ann:s3cret@mail.example.com?tsl=required", SmtpUrlError::Option),
            ("smtp://ann:s3cret@mail.example.com?tls=yes", SmtpUrlError::Option),
            ("smtps://mail.example.com?tls=opportunistic", SmtpUrlError::Option),
            ("smtp://s3cret@mail.example.com", SmtpUrlError::Credentials),
        ] {
            let refused = text.parse::<SmtpUrl>().err();
            assert_eq!(refused, Some(expected), "{text}");
        }
        let url: Result<SmtpUrl, _> = "smtp://ann:s3cret@mail.example.com".parse();
        assert!(url.is_ok() && !format!("{url:?}").contains("s3cret"), "{url:?}");
    }
}
