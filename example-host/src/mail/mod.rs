//! The mails that extensions and the host send: their content, and their delivery to a mail server or into a
//! folder.

mod error;
mod folder;
mod mailer;
mod smtp;

pub(crate) use self::mailer::Mailer;
