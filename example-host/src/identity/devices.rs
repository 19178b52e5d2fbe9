//! The cookies that a site signs for the browsers of users:
//!
//! - A device on which a user has signed in is known: failed sign-ins have a count of their own there
//!   (`failures.rs`), so that nobody keeps users out by guessing their names elsewhere. Wrong codes have one only where
//!   a code was shown: whoever knows a password can have any number of known devices.
//! - After the right password, the code of a second factor is asked for on a page of its own.
//! - A browser may be trusted, so that it is not asked for a code for a while.
//!
//! None of them gives access without the password, or after it. Each is bound to the user and to the password, so that
//! it is worth nothing once the user is removed or has another password. All hosts of a site have the same key,
//! which is kept in the database.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use time::OffsetDateTime;
use tokio::sync::OnceCell;

use crate::base::error::Error;
use crate::base::secret::{self, SecretHash};
use crate::database::{Database, sql, transact};

/// The key of a site: as long as a block of the hash, so that every key can be used.
type Key = [u8; 64];

/// What a cookie is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    /// What the signature begins with.
    signed: &'static [u8],
    /// What the code of that begins with to which it is bound.
    bound: &'static [u8],
    /// How long it is good for.
    pub(crate) lifetime: Duration,
}

/// A device is known.
pub(crate) const KNOWN: Purpose = Purpose {
    signed: b"device ",
    bound: b"password ",
    lifetime: Duration::from_secs(90 * 24 * 60 * 60),
};

/// The password was right, and a code is asked for.
pub(crate) const HALF_SIGNED_IN: Purpose = Purpose {
    signed: b"half signed in ",
    bound: b"half signed in with ",
    lifetime: Duration::from_secs(10 * 60),
};

/// A browser is trusted.
pub(crate) const TRUSTED: Purpose = Purpose {
    signed: b"trusted ",
    bound: b"trusted with ",
    lifetime: Duration::from_secs(30 * 24 * 60 * 60),
};

/// Signs cookies and checks them.
#[derive(Default)]
pub(crate) struct Devices {
    /// The key, once there has been a cookie.
    key: OnceCell<Key>,
}

/// A device, as its cookie names it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) user: i64,
    /// Identifies the device.
    pub(crate) hash: SecretHash,
    /// A code of each text that it is bound to, such as the password that the user had.
    bound: Vec<String>,
}

impl Devices {
    /// The value of a cookie for a new device of this user, bound to texts such as the hash of the password.
    pub(crate) async fn sign(
        &self,
        database: &Database,
        purpose: &Purpose,
        user: i64,
        bound: &[&str],
    ) -> Result<String, Error> {
        let key = self.key(database).await?;
        sign(key, purpose, now(), user, bound)
    }

    /// The device that a cookie names; `None` if this site has not signed it for this, or too long ago.
    pub(crate) async fn read(
        &self,
        database: &Database,
        purpose: &Purpose,
        cookie: &str,
    ) -> Result<Option<Device>, Error> {
        Ok(read(self.key(database).await?, purpose, now(), cookie))
    }

    /// Whether a cookie was signed for this user and bound to this text.
    pub(crate) async fn is_of(
        &self,
        database: &Database,
        purpose: &Purpose,
        device: &Device,
        (user, bound): (i64, &str),
    ) -> Result<bool, Error> {
        let key = self.key(database).await?;
        Ok(device.user == user && device.bound.contains(&code_of_bound(key, purpose, bound)))
    }

    async fn key(&self, database: &Database) -> Result<&Key, Error> {
        self.key.get_or_try_init(|| stored_key(database)).await
    }
}

crate::base::opaque::opaque!(Devices);

/// The key in the database. The first host that needs it creates it.
async fn stored_key(database: &Database) -> Result<Key, Error> {
    let stored = transact!(database, |transaction| {
        let statement = sql("SELECT device_key FROM host_state WHERE id = 1");
        let (stored,): (Option<Vec<u8>>,) = transaction.fetch_one(statement).await?;
        if let Some(stored) = stored {
            return Ok(stored);
        }
        let mut key = [0; size_of::<Key>()];
        getrandom::fill(&mut key)?;
        let statement = sql("UPDATE host_state SET device_key = ? WHERE id = 1");
        transaction.execute(statement.bind(key.as_slice())).await?;
        Ok(key.to_vec())
    });
    stored?.try_into().map_err(|_| Error::Invalid("the key of devices is damaged".to_owned()))
}

/// The parts of a cookie are the key of the user, the end in seconds since 1970, the random id of the
/// device, the codes of what it is bound to, and the signature of these.
fn sign(
    key: &Key,
    purpose: &Purpose,
    now: i64,
    user: i64,
    bound: &[&str],
) -> Result<String, Error> {
    let until = now + i64::try_from(purpose.lifetime.as_secs()).unwrap_or(i64::MAX);
    let bound: Vec<_> = bound.iter().map(|bound| code_of_bound(key, purpose, bound)).collect();
    let parts = format!("{user}.{until}.{}.{}", secret::random_text()?, bound.join("."));
    let signature = hex::encode(code(key, purpose.signed, &parts).finalize().into_bytes());
    Ok(format!("{parts}.{signature}"))
}

fn read(key: &Key, purpose: &Purpose, now: i64, cookie: &str) -> Option<Device> {
    let (parts, signature) = cookie.rsplit_once('.')?;
    let signature = hex::decode(signature).ok()?;
    code(key, purpose.signed, parts).verify_slice(&signature).ok()?;
    let mut parts = parts.split('.');
    let (user, until) = (parts.next()?.parse().ok()?, parts.next()?.parse::<i64>().ok()?);
    let (id, bound) = (parts.next()?, parts.map(str::to_owned).collect());
    (now < until).then(|| Device { user, hash: secret::hash(id), bound })
}

/// A code that reveals nothing of the text, such as the password's hash, and changes with it.
fn code_of_bound(key: &Key, purpose: &Purpose, bound: &str) -> String {
    hex::encode(&code(key, purpose.bound, bound).finalize().into_bytes()[..16])
}

fn code(key: &Key, purpose: &[u8], text: &str) -> Hmac<Sha256> {
    Hmac::new(key.into()).chain_update(purpose).chain_update(text)
}

fn now() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = [7; 64];
    const NOW: i64 = 1_000_000;

    fn cookie() -> String {
        sign(&KEY, &KNOWN, NOW, 5, &["the hash", "a code"]).unwrap_or_default()
    }

    #[test]
    fn a_cookie_names_its_device_for_ninety_days() {
        let (first, second) = (cookie(), cookie());
        let device = read(&KEY, &KNOWN, NOW, &first);
        assert_eq!(device.as_ref().map(|device| device.user), Some(5));
        let codes = ["the hash", "a code"].map(|text| code_of_bound(&KEY, &KNOWN, text));
        assert_eq!(device.as_ref().map(|device| &device.bound[..]), Some(&codes[..]));
        assert!(!codes.contains(&code_of_bound(&KEY, &KNOWN, "another hash")));
        assert_ne!(device, read(&KEY, &KNOWN, NOW, &second), "each device has an id of its own");
        let end = NOW + 90 * 24 * 60 * 60;
        assert!(
            read(&KEY, &KNOWN, end - 1, &first).is_some()
                && read(&KEY, &KNOWN, end, &first).is_none()
        );
    }

    #[test]
    fn a_cookie_is_worth_nothing_for_another_purpose() {
        let all = [KNOWN, HALF_SIGNED_IN, TRUSTED];
        for signed in &all {
            let cookie = sign(&KEY, signed, NOW, 5, &["the hash"]).unwrap_or_default();
            for asked in &all {
                assert_eq!(read(&KEY, asked, NOW, &cookie).is_some(), asked == signed);
            }
        }
    }

    #[test]
    fn nothing_in_a_cookie_can_be_changed() {
        let cookie = cookie();
        assert!(read(&[8; 64], &KNOWN, NOW, &cookie).is_none(), "another site has another key");
        for index in 0..cookie.len() {
            let mut changed = cookie.clone().into_bytes();
            if let Some(byte) = changed.get_mut(index) {
                *byte = if *byte == b'1' { b'2' } else { b'1' };
            }
            let changed = String::from_utf8_lossy(&changed);
            assert!(read(&KEY, &KNOWN, NOW, &changed).is_none(), "{changed}");
        }
        for wrong in ["", ".", "....", "5.1.x.y", &cookie[1..], &format!("{cookie}00")] {
            assert!(read(&KEY, &KNOWN, NOW, wrong).is_none(), "{wrong:?}");
        }
    }
}
