//! The form of an encrypted secret: the version of the form, the id of the key, and in base64 the nonce and the
//! encrypted bytes. It can be opened only for the purpose that it was made for. Reads no file.

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};

use crate::base::secret::fingerprint;
use crate::base::secret_key::SecretKey;

/// What the text begins with.
const FORM: &str = "1";

/// The nonce is random: it is long enough that no two are alike.
const NONCE: usize = size_of::<XNonce>();

/// A key in use.
pub(super) struct Cipher {
    cipher: XChaCha20Poly1305,
    id: String,
}

/// Why a text cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unopened {
    /// It was made with the key of this id.
    OtherKey(String),
    /// It was made for another purpose, was changed, or is not such a text.
    Damaged,
}

impl Cipher {
    pub(super) fn new(key: &SecretKey) -> Self {
        let cipher = XChaCha20Poly1305::new(key.bytes().into());
        Self { cipher, id: id(key) }
    }

    /// The id of the key, which reveals nothing of it.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Encrypts a secret; `None` if it is too long for the cipher.
    pub(super) fn seal(
        &self,
        purpose: &[u8],
        secret: &str,
    ) -> Result<Option<String>, getrandom::Error> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce)?;
        let payload = Payload { msg: secret.as_bytes(), aad: purpose };
        let Ok(encrypted) = self.cipher.encrypt(&XNonce::from(nonce), payload) else {
            return Ok(None);
        };
        let bytes = BASE64_STANDARD_NO_PAD.encode([nonce.as_slice(), &encrypted].concat());
        Ok(Some(format!("{FORM}.{}.{bytes}", self.id)))
    }

    pub(super) fn open(&self, purpose: &[u8], text: &str) -> Result<String, Unopened> {
        let mut parts = text.split('.');
        let (form, id, bytes) = (parts.next(), parts.next(), parts.next());
        let (Some(FORM), Some(id), Some(bytes), None) = (form, id, bytes, parts.next()) else {
            return Err(Unopened::Damaged);
        };
        if id != self.id {
            return Err(Unopened::OtherKey(id.chars().take(self.id.len()).collect()));
        }
        let bytes = BASE64_STANDARD_NO_PAD.decode(bytes).map_err(|_| Unopened::Damaged)?;
        let (nonce, encrypted) = bytes.split_first_chunk::<NONCE>().ok_or(Unopened::Damaged)?;
        let payload = Payload { msg: encrypted, aad: purpose };
        let opened = self.cipher.decrypt(&XNonce::from(*nonce), payload);
        let opened = opened.map_err(|_| Unopened::Damaged)?;
        String::from_utf8(opened).map_err(|_| Unopened::Damaged)
    }
}

fn id(key: &SecretKey) -> String {
    let hash = Sha256::new().chain_update("id of a secret key").chain_update(key.bytes());
    fingerprint(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cipher(text: &str) -> Option<Cipher> {
        text.parse().ok().map(|key| Cipher::new(&key))
    }

    fn two() -> Option<(Cipher, Cipher)> {
        let one = cipher("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=")?;
        Some((one, cipher("AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=")?))
    }

    fn sealed(cipher: &Cipher, purpose: &[u8], secret: &str) -> String {
        cipher.seal(purpose, secret).ok().flatten().unwrap_or_default()
    }

    #[test]
    fn a_secret_is_opened_with_the_same_key_for_the_same_purpose_only() {
        let Some((one, other)) = two() else { unreachable!("both are keys") };
        for secret in ["", "whsec_x", &"ä".repeat(10_000)] {
            let text = sealed(&one, b"webhook 7", secret);
            assert_ne!(text, sealed(&one, b"webhook 7", secret), "each has a nonce of its own");
            assert_eq!(one.open(b"webhook 7", &text).as_deref(), Ok(secret));
            assert_eq!(one.open(b"webhook 8", &text), Err(Unopened::Damaged));
            let wrong_key = Err(Unopened::OtherKey(one.id().to_owned()));
            assert_eq!(other.open(b"webhook 7", &text), wrong_key);
        }
    }

    #[test]
    fn a_text_that_was_changed_is_refused() {
        let Some((one, _)) = two() else { unreachable!("both are keys") };
        let text = sealed(&one, b"purpose", "secret");
        for index in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            if let Some(byte) = changed.get_mut(index) {
                *byte = if *byte == b'A' { b'B' } else { b'A' };
            }
            let changed = String::from_utf8_lossy(&changed);
            assert!(one.open(b"purpose", &changed).is_err(), "{changed}");
        }
        let id = one.id();
        for wrong in ["", ".", "..", "1..", &format!("1.{id}."), &format!("1.{id}.AAAA")] {
            assert!(one.open(b"purpose", wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(one.open(b"purpose", &format!("{text}.")), Err(Unopened::Damaged));
    }
}
