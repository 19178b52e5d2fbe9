//! Secrets that a site has to use and so cannot keep as hashes: they are encrypted before they are stored. Does not
//! know what they are, nor where they are stored.

mod addresses;
mod keeper;
mod key_file;
mod sealed;

pub(crate) use self::keeper::{Secrets, SecretsError};
