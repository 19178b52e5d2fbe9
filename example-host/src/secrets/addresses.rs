//! What stands for e-mail addresses that are not kept: a hash under the key of the site, so that nobody without the key
//! finds an address by trying. Does not know what addresses look like.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::base::secret_key::SecretKey;
use crate::base::text::fold;

/// What the key of the hash is derived for: the host itself, for this purpose.
const PURPOSE: &[u8] = b"\0hash of an e-mail address";

/// Hashes addresses. The key is prepared once, so that a hash takes less than a microsecond.
pub(super) struct Addresses(Hmac<Sha256>);

impl Addresses {
    pub(super) fn new(key: &SecretKey) -> Self {
        let keyed = |key: &[u8; 32]| {
            // A block of the hash is longer than the key, so that every key can be used as it is.
            let mut block = [0; 64];
            block[..key.len()].copy_from_slice(key);
            Hmac::<Sha256>::new(&block.into())
        };
        let derived = keyed(key.bytes()).chain_update(PURPOSE).finalize().into_bytes();
        Self(keyed(&derived.into()))
    }

    /// The hash of an address, in hexadecimal.
    pub(super) fn hash(&self, address: &str) -> String {
        let hash = self.0.clone().chain_update(fold(address.trim())).finalize();
        hex::encode(hash.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(key: &str, address: &str) -> Option<String> {
        key.parse().ok().map(|key| Addresses::new(&key).hash(address))
    }

    #[test]
    fn an_address_has_one_hash_for_each_key_however_it_is_written() {
        let (one, other) = (
            "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
            "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",
        );
        let expected = hash(one, "ann@example.com");
        assert_eq!(expected.as_ref().map(String::len), Some(64));
        for same in [" Ann@Example.com\n", "ANN@EXAMPLE.COM"] {
            assert_eq!(hash(one, same), expected);
        }
        assert_ne!(hash(one, "ann@example.org"), expected);
        assert_ne!(hash(other, "ann@example.com"), expected);
    }
}
