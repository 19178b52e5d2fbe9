//! Secrets that the host makes, and what it keeps of them: a hash, of which the beginning may be shown.
//! Knows nothing of what a secret opens.
//!
//! A secret is 32 random bytes and not a UUID, which has half of them.

use sha2::{Digest, Sha256};

/// What is kept of a secret.
pub(crate) type SecretHash = [u8; 32];

/// 32 random bytes as text.
pub(crate) fn random_text() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(hex::encode(bytes))
}

/// What is kept of a secret: it has the full strength of 32 random bytes, so a fast hash is enough.
pub(crate) fn hash(secret: &str) -> SecretHash {
    Sha256::digest(secret.as_bytes()).into()
}

/// The beginning of a hash, which distinguishes one secret from another and is of no use to anybody.
pub(crate) fn fingerprint(hash: &[u8]) -> String {
    hex::encode(hash.get(..4).unwrap_or(hash))
}
