//! Builds the mails that extensions send, and delivers them to a mail server or into a folder.

use std::path::PathBuf;
use std::sync::Arc;

use host_interface::Mail;
use lettre::Address;
use lettre::message::header::{ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0};
use lettre::message::{Mailbox, Message};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::base::error::Error;
use crate::base::settings::MailSettings;
use crate::watch::metrics::Metrics;

use super::error::MailError;
use super::folder::Folder;
use super::smtp::Server;

/// How many mails of the host itself may wait to be sent.
const PLACES: usize = 100;

/// Sends the mails of a site. Clones share their state.
#[derive(Clone, Debug)]
pub(crate) struct Mailer {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    from: Mailbox,
    server: Option<Server>,
    /// Where mails are written without a server. With one, those from before are still there.
    folder: Folder,
    /// The address of the site in links.
    url: Option<String>,
    places: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

impl Mailer {
    /// A mailer for the server in the settings, or for this folder if none is set.
    pub(crate) fn new(
        settings: &MailSettings,
        folder: PathBuf,
        metrics: Arc<Metrics>,
    ) -> Result<Self, Error> {
        let server = settings.server.as_ref();
        let server = server.map(|url| Server::new(url.clone(), settings.timeout)).transpose()?;
        let folder = Folder::new(folder);
        let (from, url) = (settings.from.clone(), settings.site_url.clone());
        let places = Arc::new(Semaphore::new(PLACES));
        Ok(Self { inner: Arc::new(Inner { from, server, folder, url, places, metrics }) })
    }

    /// The folder in which mails are kept.
    pub(crate) fn folder(&self) -> &Folder {
        &self.inner.folder
    }

    /// The address of the site in links; `None` if mails with links cannot be sent, because nobody would get them,
    /// or because only the operator knows the address.
    pub(crate) fn site_url(&self) -> Option<&str> {
        self.inner.server.as_ref()?;
        self.inner.url.as_deref()
    }

    /// A place for a mail that is sent beside what causes it, if not too many wait.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.inner.places).try_acquire_owned().ok()
    }

    /// Sends a mail.
    pub(crate) async fn send(&self, mail: &Mail) -> Result<(), MailError> {
        let sent = self.try_to_send(mail).await;
        self.inner.metrics.mail(match &sent {
            Ok(()) => "sent",
            Err(error) if error.is_permanent() => "refused",
            Err(_) => "failed",
        });
        sent
    }

    async fn try_to_send(&self, mail: &Mail) -> Result<(), MailError> {
        let Inner { from, server, folder, .. } = &*self.inner;
        let message = message(mail, from.clone())?;
        match server {
            None => Ok(folder.write(&mail.id, message.formatted()).await?),
            Some(server) => server.send(message.envelope(), &message.formatted()).await,
        }
    }
}

/// Builds a mail. Values from an extension are checked or escaped, so that none can add headers.
fn message(mail: &Mail, from: Mailbox) -> Result<Message, MailError> {
    let impossible = |what, value: &str| MailError::Impossible { what, value: value.to_owned() };
    // The id becomes a header and the name of a file.
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if mail.id.is_empty() || mail.id.len() > 128 || !mail.id.bytes().all(safe) {
        return Err(impossible("id", &mail.id));
    }
    let to = mail.to.parse().ok().and_then(with_ascii_domain);
    let to = to.ok_or_else(|| impossible("address", &mail.to))?;
    let to_name = Some(one_line(&mail.to_name)).filter(|name| !name.is_empty());
    let id = format!("<{}@{}>", mail.id, from.email.domain());
    Message::builder()
        .from(from)
        .to(Mailbox::new(to_name, to))
        .subject(one_line(&mail.subject))
        .message_id(Some(id))
        .date_now()
        // Prevents automatic replies such as holiday notices (RFC 3834).
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ))
        .header(MIME_VERSION_1_0)
        .header(ContentType::TEXT_PLAIN)
        .body(mail.text.clone())
        .map_err(|error| impossible("content", &error.to_string()))
}

/// The text of an address as it is in mails: with its domain in ASCII form.
pub(crate) fn address_in_mails(address: &str) -> Option<String> {
    address.parse().ok().and_then(with_ascii_domain).map(|address: Address| address.to_string())
}

/// An address with its domain in ASCII form, which every server accepts.
fn with_ascii_domain(address: Address) -> Option<Address> {
    if address.domain().is_ascii() {
        return Some(address);
    }
    let domain = url::Host::parse(address.domain()).ok()?.to_string();
    Address::new(address.user(), domain).ok()
}

/// Text for a header: white space and control characters become single spaces.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
