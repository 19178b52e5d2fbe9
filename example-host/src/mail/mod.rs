//! Mails that extensions ask for: what stands in one, and the two ways in which it is delivered, to a
//! mail server or into a folder. Knows nothing of why a mail is sent.

mod error;
mod folder;
mod mailer;
mod smtp;

pub(crate) use self::mailer::Mailer;
