//! The key with which a site encrypts the secrets that it has to keep: its text and its bytes. Does not know where
//! it is kept.

use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// A key of 32 bytes. Its text is their base64.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

/// A text that is not a key. It is not shown, because it may be a misspelt one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 32 random bytes in base64, such as `openssl rand -base64 32` prints")]
pub struct SecretKeyError;

impl SecretKey {
    /// A new key.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn text(&self) -> String {
        BASE64_STANDARD.encode(self.0)
    }
}

impl FromStr for SecretKey {
    type Err = SecretKeyError;

    fn from_str(text: &str) -> Result<Self, SecretKeyError> {
        let bytes = BASE64_STANDARD.decode(text.trim()).map_err(|_| SecretKeyError)?;
        bytes.try_into().map(Self).map_err(|_| SecretKeyError)
    }
}

// The key must not reach a log through a debug format.
crate::base::opaque::opaque!(SecretKey);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_its_text_and_never_shown() {
        let key = SecretKey([7; 32]);
        let text = key.text();
        assert_eq!(text.parse(), Ok(key.clone()));
        assert_eq!(format!("{text}\n").parse(), Ok(key.clone()));
        assert_eq!(format!("{key:?}"), "SecretKey { .. }");
        for wrong in ["", "x", &text[1..], &hex::encode([7; 32]), &format!("{text}AAAA")] {
            assert_eq!(wrong.parse::<SecretKey>(), Err(SecretKeyError), "{wrong}");
        }
    }
}
