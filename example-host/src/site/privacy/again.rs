//! Erasing persons again after databases were restored from an earlier time. Whoever is not there any more is left alone,
//! so that a repetition does nothing.

use std::collections::HashMap;

use host_interface::{Erasure, Person};
use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::identity::administrators::Force;
use crate::identity::persons::{self, Known};
use crate::site::Site;
use crate::site::erased::ErasedPerson;

use super::found::Found;

/// The reason in the audit trail.
const REASON: &str = "erased before, and restored from a backup";

impl Site {
    /// Erases all persons again who were erased before, and of whom there is something. Returns their number. The site
    /// may then have no administrator, because whoever took the place of one came after the backup.
    ///
    /// # Errors
    /// When the list of them cannot be read, or one of them could not be erased; it can be repeated.
    pub async fn erase_again(&self) -> Result<u64, Error> {
        let listed = self.erased().brought_back().await?;
        if listed.is_empty() {
            return Ok(0);
        }
        let users = Users::read(self).await?;
        let has_administrator = || self.state().snapshot().access.has_administrator();
        let had_administrator = has_administrator();
        let mut again = 0;
        for (erased_on, person) in &listed {
            let Some(found) = users.find(self, *erased_on, person)? else { continue };
            let mut erasure = Erasure::new(found.person.clone(), REASON).force();
            erasure.keep_until.clone_from(&person.keep_until);
            let counted = self.count(&found, &erasure, Force::Yes).await?;
            if counted.parts.values().any(|part| !part.counts.is_empty()) {
                self.remove(&found, &erasure, counted.unknown, Force::Yes).await?;
                again += 1;
            }
        }
        if had_administrator && !has_administrator() {
            tracing::warn!(
                "the site has no administrator any more, because the last one was erased again: add one with \
                 `user add NAME --email EMAIL --group GROUP --password-stdin`, in a group that has core.admin, such \
                 as Super Users"
            );
        }
        tracing::info!(
            erased_before = listed.len(),
            erased_again = again,
            "looked for persons who were erased before"
        );
        Ok(again)
    }
}

/// The users of the site, by their keys and by what stands for their addresses.
struct Users {
    by_key: HashMap<i64, (Known, String)>,
    by_hash: HashMap<String, i64>,
}

impl Users {
    async fn read(site: &Site) -> Result<Self, Error> {
        let (mut by_key, mut by_hash) = (HashMap::new(), HashMap::new());
        for user in persons::all(site.state().database()).await? {
            let hash = site.secrets().hash_of_address(&user.email)?;
            by_hash.insert(hash.clone(), user.id);
            by_key.insert(user.id, (user, hash));
        }
        Ok(Self { by_key, by_hash })
    }

    /// The person as they are found now, unless they have become a user anew since they were erased. A key that somebody
    /// else has meanwhile is of no use.
    fn find(
        &self,
        site: &Site,
        erased_on: PrimitiveDateTime,
        listed: &ErasedPerson,
    ) -> Result<Option<Found>, Error> {
        let known = |key: i64| self.by_key.get(&key);
        let same = listed.user.and_then(known);
        let same = same.filter(|(user, hash)| {
            // Who had been removed before the erasure is there again by the backup.
            let was_removed = listed.user_created_on.is_none() && user.created_on <= erased_on;
            was_removed || listed.is(user.id, user.created_on, hash)
        });
        let with_address = || known(*self.by_hash.get(listed.hash.as_ref()?)?);
        let user = same.or_else(with_address).map(|(user, _)| user);
        if user.is_some_and(|user| user.created_on > erased_on) {
            return Ok(None);
        }
        let mut person = Person::default();
        person.user = user.map(|user| user.id);
        if person.user.is_none() {
            // No user has the key, so that only records of extensions can be about it.
            person.user = listed.user.filter(|key| known(*key).is_none());
        }
        person.email = user.filter(|user| !user.is_erased()).map(|user| user.email.clone());
        person.email_hash.clone_from(&listed.hash);
        if person.is_unknown() {
            return Ok(None);
        }
        site.found(person, user.cloned()).map(Some)
    }
}
