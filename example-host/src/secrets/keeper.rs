//! Seals secrets with the key of the site and opens them again. The key is in the environment or in a file, which is
//! created when the first secret is sealed: a site without secrets has no key.

use std::path::{Path, PathBuf};

use once_cell::sync::OnceCell;

use crate::base::error::Error;
use crate::base::secret_key::SecretKey;

use super::addresses::Addresses;
use super::key_file;
use super::sealed::{Cipher, Unopened};

/// The maximum length of a secret in bytes.
const LONGEST: usize = 64 * 1024;

/// The secrets of a site.
pub(crate) struct Secrets {
    given: Option<SecretKey>,
    file: PathBuf,
    /// The key, once it was used. A file that is replaced counts from the next start on.
    in_use: OnceCell<InUse>,
}

/// The key, ready for what it is used for.
struct InUse {
    cipher: Cipher,
    addresses: Addresses,
}

impl InUse {
    fn new(key: &SecretKey) -> Self {
        Self { cipher: Cipher::new(key), addresses: Addresses::new(key) }
    }
}

/// Why a secret cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretsError {
    /// It is too long.
    #[error("a secret has at most {LONGEST} bytes")]
    TooLong,
    /// The key is not where it was.
    #[error("the key {} is missing, without which the secret cannot be opened", .0.display())]
    NoKey(PathBuf),
    /// There is another key.
    #[error("the secret was encrypted with the key {made}, and this host has the key {here}")]
    OtherKey { made: String, here: String },
    /// It was sealed for something else, or was changed.
    #[error("the secret was encrypted for something else, or was changed")]
    Damaged,
    /// The key cannot be used, or there are no random bytes.
    #[error(transparent)]
    Unusable(#[from] Error),
}

impl From<SecretsError> for Error {
    fn from(error: SecretsError) -> Self {
        match error {
            SecretsError::Unusable(error) => error,
            other => Self::Secret(other.to_string()),
        }
    }
}

impl SecretsError {
    /// Whether trying again is of no use.
    pub(crate) fn is_permanent(&self) -> bool {
        !matches!(self, Self::Unusable(_))
    }
}

impl Secrets {
    /// Secrets under this key, or else under that in this file.
    pub(crate) fn new(given: Option<SecretKey>, file: PathBuf) -> Self {
        Self { given, file, in_use: OnceCell::new() }
    }

    /// Encrypts a secret of an owner, which is an extension, or the empty text for the host itself. Only the same
    /// owner can open it, for the same purpose. The first use reads the key from its file.
    pub(crate) fn seal(
        &self,
        owner: &str,
        purpose: &str,
        secret: &str,
    ) -> Result<String, SecretsError> {
        if secret.len() > LONGEST {
            return Err(SecretsError::TooLong);
        }
        let sealed =
            self.in_use()?.cipher.seal(&bound(owner, purpose), secret).map_err(Error::from)?;
        sealed.ok_or(SecretsError::TooLong)
    }

    /// The secret in a text that [`Secrets::seal`] made. It creates no key.
    pub(crate) fn open(
        &self,
        owner: &str,
        purpose: &str,
        sealed: &str,
    ) -> Result<String, SecretsError> {
        let missing = || SecretsError::NoKey(self.file.clone());
        let cipher = &self.known()?.ok_or_else(missing)?.cipher;
        cipher.open(&bound(owner, purpose), sealed).map_err(|unopened| match unopened {
            Unopened::OtherKey(made) => {
                SecretsError::OtherKey { made, here: cipher.id().to_owned() }
            }
            Unopened::Damaged => SecretsError::Damaged,
        })
    }

    /// What stands for an e-mail address that is not kept. The same for addresses that differ only in case or in
    /// spaces around them. The first use reads the key from its file.
    pub(crate) fn hash_of_address(&self, address: &str) -> Result<String, Error> {
        Ok(self.in_use()?.addresses.hash(address))
    }

    /// The id of the key; `None` if there is no key yet.
    pub(crate) fn key_id(&self) -> Result<Option<&str>, Error> {
        Ok(self.known()?.map(|key| key.cipher.id()))
    }

    /// Where the key is kept; `None` if it was given.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.given.is_none().then_some(&self.file)
    }

    /// Writes the key, if there is one, to a new file.
    pub(crate) fn write_key(&self, path: &Path) -> Result<(), Error> {
        let Some(key) = self.key()? else { return Ok(()) };
        key_file::create(path, &key).map_err(|error| Error::file(path, error))
    }

    /// Makes the key in a file, if there is one, that of the site, unless the site has its own.
    pub(crate) fn take_key(&self, path: &Path) -> Result<(), Error> {
        if self.known()?.is_some() {
            return Ok(());
        }
        let Some(key) = key_file::read(path)? else { return Ok(()) };
        key_file::create(&self.file, &key).map_err(|error| Error::file(&self.file, error))
    }

    /// The key, which is created if there is none.
    fn in_use(&self) -> Result<&InUse, Error> {
        self.in_use.get_or_try_init(|| match &self.given {
            Some(key) => Ok(InUse::new(key)),
            None => key_file::read_or_create(&self.file).map(|key| InUse::new(&key)),
        })
    }

    fn known(&self) -> Result<Option<&InUse>, Error> {
        if let Some(key) = self.in_use.get() {
            return Ok(Some(key));
        }
        Ok(self.key()?.map(|key| self.in_use.get_or_init(|| InUse::new(&key))))
    }

    fn key(&self) -> Result<Option<SecretKey>, Error> {
        match &self.given {
            Some(key) => Ok(Some(key.clone())),
            None => key_file::read(&self.file),
        }
    }
}

/// What a secret is bound to. No name of an extension contains the character between the two.
fn bound(owner: &str, purpose: &str) -> Vec<u8> {
    [owner, purpose].join("\0").into_bytes()
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("file", &self.file).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

    #[test]
    fn a_secret_belongs_to_its_owner_and_its_purpose() -> Result<(), SecretsError> {
        let secrets = Secrets::new(KEY.parse().ok(), PathBuf::from("/nowhere/secret.key"));
        assert!(secrets.file().is_none());
        let sealed = secrets.seal("shop", "webhook 7", "s3cret")?;
        assert!(!sealed.contains("s3cret"));
        assert_eq!(secrets.open("shop", "webhook 7", &sealed)?, "s3cret");
        for (owner, purpose) in [("shop", "webhook 8"), ("till", "webhook 7"), ("", "webhook 7")] {
            let opened = secrets.open(owner, purpose, &sealed);
            assert!(matches!(opened, Err(SecretsError::Damaged)), "{owner} {purpose}");
        }
        let long = secrets.seal("shop", "webhook 7", &"x".repeat(LONGEST + 1));
        assert!(matches!(long, Err(SecretsError::TooLong)));
        Ok(())
    }

    #[test]
    fn the_first_secret_creates_the_key_and_later_hosts_use_it() -> Result<(), SecretsError> {
        let folder = tempfile::tempdir().map_err(|error| Error::file("", error))?;
        let path = folder.path().join("secret.key");
        let secrets = || Secrets::new(None, path.clone());
        let one = secrets();
        assert_eq!(one.key_id()?, None);
        assert!(matches!(one.open("shop", "a", "1.00000000.AAAA"), Err(SecretsError::NoKey(_))));
        assert!(!path.exists(), "opening creates no key");
        let sealed = one.seal("shop", "a", "s3cret")?;
        let another = secrets();
        assert_eq!(another.open("shop", "a", &sealed)?, "s3cret");
        assert_eq!(another.key_id()?, one.key_id()?);

        let other = Secrets::new(KEY.parse().ok(), path.clone());
        let refused = other.open("shop", "a", &sealed);
        let refused = refused.err().map(|error| (error.is_permanent(), error.to_string()));
        let expected = format!(
            "the secret was encrypted with the key {}, and this host has the key {}",
            one.key_id()?.unwrap_or_default(),
            other.key_id()?.unwrap_or_default()
        );
        assert_eq!(refused, Some((true, expected)));
        Ok(())
    }
}
