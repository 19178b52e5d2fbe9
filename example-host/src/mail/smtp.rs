//! Delivery of mails by SMTP, with a time limit.

use std::sync::Mutex;
use std::time::Duration;

use lettre::address::Envelope;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::DEFAULT_MECHANISMS;
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::Extension;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::base::error::Error;
use crate::base::lock::lock;
use crate::base::smtp_url::{Security, SmtpUrl};

use super::error::MailError;

/// How many mails are sent at the same time. Mail servers allow a client only a few connections.
const CONNECTIONS: usize = 4;

/// A mail server with its idle connections.
///
/// The library's own pool is not used: its time limit covers only connecting, and it would reuse a
/// connection whose conversation was cancelled, where the answer to one mail is taken for that to
/// the next.
pub(crate) struct Server {
    url: SmtpUrl,
    tls: Option<TlsParameters>,
    timeout: Duration,
    slots: Semaphore,
    idle: Mutex<Vec<AsyncSmtpConnection>>,
}

impl Server {
    pub(crate) fn new(url: SmtpUrl, timeout: Duration) -> Result<Self, Error> {
        let tls = match url.security {
            Security::None => None,
            _ => Some(TlsParameters::new(url.host.clone()).map_err(|error| {
                Error::Invalid(format!("TLS to the mail server is not possible: {error}"))
            })?),
        };
        let (slots, idle) = (Semaphore::new(CONNECTIONS), Mutex::default());
        Ok(Self { url, tls, timeout, slots, idle })
    }

    /// Sends a mail within the time limit, which includes the wait for a free slot.
    pub(crate) async fn send(&self, envelope: &Envelope, text: &[u8]) -> Result<(), MailError> {
        // Cancelling a conversation drops its connection, which closes it.
        let sent = timeout(self.timeout, self.converse(envelope, text)).await;
        sent.unwrap_or(Err(MailError::TooSlow(self.timeout)))
    }

    async fn converse(&self, envelope: &Envelope, text: &[u8]) -> Result<(), MailError> {
        // The semaphore is never closed; if it were, there would be no limit.
        let _slot = self.slots.acquire().await;
        let mut connection = self.connection().await.map_err(MailError::Unavailable)?;
        let ascii = envelope.to().iter().all(|to| to.user().is_ascii() && to.domain().is_ascii());
        let takes_more = connection.server_info().supports_feature(Extension::SmtpUtfEight);
        let sent = if ascii || takes_more {
            connection.send(envelope, text).await.map(drop).map_err(refusal)
        } else {
            Err(MailError::NotAscii)
        };
        if !connection.has_broken() {
            lock(&self.idle).push(connection);
        }
        sent
    }

    /// An idle connection that still works, or a new one.
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
        lock(&self.idle).pop()
    }
}

/// Whether an error while sending is final for this mail.
fn refusal(error: SmtpError) -> MailError {
    // Missing or wrong credentials fail for every mail until the site's settings are corrected.
    let sign_in = matches!(error.status().map(u16::from), Some(530 | 534 | 535 | 538));
    if error.is_permanent() && !sign_in {
        MailError::Refused(error)
    } else {
        MailError::Unavailable(error)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("url", &self.url).finish_non_exhaustive()
    }
}
