//! Mails that extensions ask for, written to a folder as one `.eml` file each, for a mail server
//! to pick up. Knows nothing of why a mail is sent.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use host_interface::Mail;
use lettre::message::header::ContentType;
use lettre::message::{Mailbox, Message};

use crate::error::Error;

/// The folder that mails are written to.
#[derive(Clone, Debug)]
pub(crate) struct MailFolder {
    path: PathBuf,
}

impl MailFolder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Writes a mail, unless one of its id has been written before. Blocks on the disk.
    pub(crate) fn write(&self, mail: &Mail) -> Result<(), Error> {
        // The id becomes the name of a file, so nothing else may be in it.
        let safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if mail.id.is_empty() || mail.id.len() > 128 || !mail.id.bytes().all(safe) {
            return Err(Error::Mail(format!("{:?} is no id of a mail", mail.id)));
        }
        let path = self.path.join(format!("{}.eml", mail.id));
        if path.exists() {
            return Ok(());
        }
        let text = message(mail)?.formatted();
        std::fs::create_dir_all(&self.path).map_err(|error| Error::file(&self.path, error))?;
        // Whoever collects mails must never see half of one.
        let unfinished =
            self.path.join(format!(".{}.{}.part", mail.id, crate::tokens::random_text()?));
        let written = std::fs::File::create(&unfinished)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| std::fs::rename(&unfinished, &path));
        written.map_err(|error| {
            if let Err(error) = std::fs::remove_file(&unfinished)
                && error.kind() != ErrorKind::NotFound
            {
                tracing::warn!(path = %unfinished.display(), %error, "an unfinished mail stays");
            }
            Error::file(path, error)
        })
    }
}

fn message(mail: &Mail) -> Result<Message, Error> {
    let fail = |error: &dyn std::fmt::Display| Error::Mail(error.to_string());
    let from = "no-reply@localhost".parse().map_err(|error| fail(&error))?;
    let to = mail.to.parse().map_err(|error| fail(&error))?;
    let to_name = Some(mail.to_name.clone()).filter(|name| !name.is_empty());
    Message::builder()
        .from(Mailbox::new(None, from))
        .to(Mailbox::new(to_name, to))
        .subject(mail.subject.clone())
        .message_id(Some(format!("<{}@localhost>", mail.id)))
        .header(ContentType::TEXT_PLAIN)
        .body(mail.text.clone())
        .map_err(|error| fail(&error))
}
