//! Secrets that the host generates, and the hashes that it stores of them. What a secret gives
//! access to is not decided here.
//!
//! A secret is 32 random bytes and not a UUID, which has fewer than 16.

use sha2::{Digest, Sha256};

/// The stored hash of a secret.
pub(crate) type SecretHash = [u8; 32];

/// 32 random bytes as text.
pub(crate) fn random_text() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(hex::encode(bytes))
}

/// The hash that is stored of a secret. A secret has the full strength of 32 random bytes, so a
/// fast hash is enough.
pub(crate) fn hash(secret: &str) -> SecretHash {
    Sha256::digest(secret.as_bytes()).into()
}

/// The beginning of a hash. It identifies a secret and gives no access.
pub(crate) fn fingerprint(hash: &[u8]) -> String {
    hex::encode(hash.get(..4).unwrap_or(hash))
}
