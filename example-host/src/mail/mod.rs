//! The mails that extensions and the host send: their content, and their delivery to a mail server or into a
//! folder.

mod error;
mod folder;
mod kept;
mod mailer;
mod smtp;

pub(crate) use self::folder::{Folder, IsTheirs};
pub(crate) use self::mailer::{Mailer, address_in_mails};
