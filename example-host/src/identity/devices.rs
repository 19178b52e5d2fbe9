//! Devices on which users have signed in to the administration: browsers with a cookie that the site has
//! signed. On such a device failed sign-ins have a count of their own (`failures.rs`), so that nobody
//! keeps users out by guessing their names elsewhere. The cookie alone gives no access.
//!
//! It is bound to the user and to the password, so that it is worth nothing once the user is removed or
//! has another password. All hosts of a site have the same key, which is kept in the database.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use time::OffsetDateTime;
use tokio::sync::OnceCell;

use crate::base::error::Error;
use crate::base::secret::{self, SecretHash};
use crate::database::{Database, sql, transact};

/// For how long after a sign-in a device is known.
pub(crate) const KNOWN: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The key of a site: as long as a block of the hash, so that every key can be used.
type Key = [u8; 64];

/// Signs cookies and checks them.
#[derive(Default)]
pub(crate) struct Devices {
    /// The key, once there has been a cookie.
    key: OnceCell<Key>,
}

/// A device, as its cookie names it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Device {
    user: i64,
    /// Identifies the device.
    pub(crate) hash: SecretHash,
    /// A code of the password that the user had.
    password: String,
}

impl Devices {
    /// The value of a cookie for a new device of this user, who has a password with this hash.
    pub(crate) async fn sign(
        &self,
        database: &Database,
        user: i64,
        password_hash: &str,
    ) -> Result<String, Error> {
        let key = self.key(database).await?;
        sign(key, now(), user, password_hash)
    }

    /// The device that a cookie names; `None` if this site has not signed it, or too long ago.
    pub(crate) async fn read(
        &self,
        database: &Database,
        cookie: &str,
    ) -> Result<Option<Device>, Error> {
        Ok(read(self.key(database).await?, now(), cookie))
    }

    /// Whether this user, with a password that has this hash, has signed in on a device.
    pub(crate) async fn is_of(
        &self,
        database: &Database,
        device: &Device,
        user: i64,
        password_hash: &str,
    ) -> Result<bool, Error> {
        let key = self.key(database).await?;
        Ok(device.user == user && device.password == code_of_password(key, password_hash))
    }

    async fn key(&self, database: &Database) -> Result<&Key, Error> {
        self.key.get_or_try_init(|| stored_key(database)).await
    }
}

impl std::fmt::Debug for Devices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Devices").finish_non_exhaustive()
    }
}

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
/// device, the code of the password, and the signature of these.
fn sign(key: &Key, now: i64, user: i64, password_hash: &str) -> Result<String, Error> {
    let until = now + i64::try_from(KNOWN.as_secs()).unwrap_or(i64::MAX);
    let (id, password) = (secret::random_text()?, code_of_password(key, password_hash));
    let parts = format!("{user}.{until}.{id}.{password}");
    let signature = hex::encode(signed(key, &parts).finalize().into_bytes());
    Ok(format!("{parts}.{signature}"))
}

fn read(key: &Key, now: i64, cookie: &str) -> Option<Device> {
    let (parts, signature) = cookie.rsplit_once('.')?;
    signed(key, parts).verify_slice(&hex::decode(signature).ok()?).ok()?;
    let mut parts = parts.split('.');
    let (user, until) = (parts.next()?.parse().ok()?, parts.next()?.parse::<i64>().ok()?);
    let (id, password) = (parts.next()?, parts.next()?.to_owned());
    (now < until).then(|| Device { user, hash: secret::hash(id), password })
}

fn signed(key: &Key, parts: &str) -> Hmac<Sha256> {
    code(key, b"device ", parts)
}

/// A code that reveals nothing of the password's hash, and changes with it.
fn code_of_password(key: &Key, password_hash: &str) -> String {
    hex::encode(&code(key, b"password ", password_hash).finalize().into_bytes()[..16])
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
        sign(&KEY, NOW, 5, "the hash").unwrap_or_default()
    }

    #[test]
    fn a_cookie_names_its_device_for_ninety_days() {
        let (first, second) = (cookie(), cookie());
        let device = read(&KEY, NOW, &first);
        assert_eq!(device.as_ref().map(|device| device.user), Some(5));
        let password = code_of_password(&KEY, "the hash");
        assert!(device.as_ref().is_some_and(|device| device.password == password));
        assert_ne!(password, code_of_password(&KEY, "another hash"));
        assert_ne!(device, read(&KEY, NOW, &second), "each device has an id of its own");
        let end = NOW + 90 * 24 * 60 * 60;
        assert!(read(&KEY, end - 1, &first).is_some() && read(&KEY, end, &first).is_none());
    }

    #[test]
    fn nothing_in_a_cookie_can_be_changed() {
        let cookie = cookie();
        assert!(read(&[8; 64], NOW, &cookie).is_none(), "another site has another key");
        for index in 0..cookie.len() {
            let mut changed = cookie.clone().into_bytes();
            if let Some(byte) = changed.get_mut(index) {
                *byte = if *byte == b'1' { b'2' } else { b'1' };
            }
            let changed = String::from_utf8_lossy(&changed);
            assert!(read(&KEY, NOW, &changed).is_none(), "{changed}");
        }
        for wrong in ["", ".", "....", "5.1.x.y", &cookie[1..], &format!("{cookie}00")] {
            assert!(read(&KEY, NOW, wrong).is_none(), "{wrong:?}");
        }
    }
}
