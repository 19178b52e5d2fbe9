//! The removal of what the site keeps about a person. Doing it again completes what was interrupted, because the host's
//! own part comes last: until then the address and the user are found together.

use std::collections::BTreeMap;

use host_interface::{Erased, ErasedEverywhere, Erasure};
use time::Date;
use time::macros::format_description;

use crate::base::error::Error;
use crate::base::text::{fold, one_line};
use crate::database::transact;
use crate::identity::administrators::Force;
use crate::identity::persons::Known;
use crate::site::Site;
use crate::site::operations::Recorded;
use crate::site::operations::persons as operations;

use super::copies::failed;
use super::found::Found;
use super::places::HOST;

/// The maximum length of a reason in characters.
const LONGEST_REASON: usize = 500;

/// What came of an erasure.
pub(crate) struct Done {
    pub(crate) everywhere: ErasedEverywhere,
    /// Absent if nothing was changed: after a dry run, or because something is not completed.
    pub(crate) recorded: Option<Recorded>,
}

impl Site {
    /// Removes what the site keeps about a person: what the extensions keep first, then the host's own part. If anything
    /// anywhere is not completed and the erasure is not forced, nothing is changed.
    ///
    /// # Errors
    /// When nobody is named, the reason or the day is not acceptable, it is the last administrator, or an extension or
    /// the database fails. What has been erased until then stays so, and it can be repeated.
    pub async fn erase_person(&self, erasure: &Erasure) -> Result<ErasedEverywhere, Error> {
        self.erase(erasure).await.map(|done| done.everywhere)
    }

    /// Erases a person, and returns the proof that it was recorded.
    pub(crate) async fn erase(&self, erasure: &Erasure) -> Result<Done, Error> {
        let found = self.find_person(&erasure.person).await?;
        let erasure = self.checked(&found, erasure)?;
        // Whoever refuses does so before anything is changed.
        let counted = self.count(&found, &erasure, Force::No).await?;
        if erasure.dry_run || !erasure.force && counted.open().next().is_some() {
            return Ok(Done { everywhere: counted, recorded: None });
        }
        let mut listed = found.listed.clone();
        listed.keep_until.clone_from(&erasure.keep_until);
        self.erased().add(listed).await?;
        self.remove(&found, &erasure, counted.unknown, Force::No).await
    }

    /// Erases a person who is in the list of erased persons; the last administrator only if that is forced.
    pub(super) async fn remove(
        &self,
        found: &Found,
        erasure: &Erasure,
        unknown: Vec<String>,
        force: Force,
    ) -> Result<Done, Error> {
        let (kind, id) = &found.whom.record;
        transact!(self.state().database(), |transaction| {
            let what = format!("begin to erase a person: {}", erasure.reason);
            self.record(transaction, kind, id, &what).await
        })?;
        let mut parts = BTreeMap::new();
        for (of, _, plugin) in self.mapped() {
            let erased = plugin.erase_person(erasure).await;
            let erased = erased.map_err(|source| failed(&of.name, "erase_person", source))?;
            if erased.is_refused(erasure) {
                // It was not so a moment ago.
                return Err(Error::Invalid(format!(
                    "{} is not completed yet; what came before it is erased, and a repetition does the \
                     rest",
                    erased.open.join(", ")
                )));
            }
            parts.insert(of.name.clone(), erased);
        }
        let (folder, reason) = (self.mailer().folder(), &erasure.reason);
        let own = operations::erase(self, folder, &found.whom, (reason, force), &parts).await;
        let (own, recorded) = own?;
        parts.insert(HOST.to_owned(), own);
        Ok(Done { everywhere: everywhere(parts, unknown), recorded: Some(recorded) })
    }

    /// What an erasure would do.
    pub(super) async fn count(
        &self,
        found: &Found,
        erasure: &Erasure,
        force: Force,
    ) -> Result<ErasedEverywhere, Error> {
        let dry_run = erasure.clone().dry_run();
        let mut parts = BTreeMap::new();
        for (of, _, plugin) in self.mapped() {
            let counted = plugin.erase_person(&dry_run).await;
            let counted = counted.map_err(|source| failed(&of.name, "erase_person", source))?;
            parts.insert(of.name.clone(), counted);
        }
        let own = operations::count(self, self.mailer().folder(), &found.whom, force).await?;
        parts.insert(HOST.to_owned(), own);
        Ok(everywhere(parts, self.unmapped().await?))
    }

    /// The erasure as it is passed to all parts.
    fn checked(&self, found: &Found, erasure: &Erasure) -> Result<Erasure, Error> {
        let mut erasure = erasure.clone();
        erasure.person = found.person.clone();
        erasure.reason = one_line(&erasure.reason);
        if let Some(actor) = self.actor() {
            erasure.by = actor.user();
        }
        let invalid = |why: &str| Err(Error::Invalid(why.to_owned()));
        if !erasure.dry_run && erasure.reason.is_empty() {
            return invalid("an erasure needs a reason, for the audit trail");
        }
        if erasure.reason.chars().count() > LONGEST_REASON {
            return Err(Error::Invalid(format!(
                "a reason has at most {LONGEST_REASON} characters"
            )));
        }
        if names(&erasure.reason, found) {
            return invalid(
                "the reason stays in the audit trail, so it must not contain a name or an address of the \
                 person",
            );
        }
        let day = format_description!("[year]-[month]-[day]");
        if erasure.keep_until.as_ref().is_some_and(|text| Date::parse(text, day).is_err()) {
            return invalid(
                "the day until which names and addresses are kept must be like 2027-01-31",
            );
        }
        Ok(erasure)
    }
}

fn everywhere(mut parts: BTreeMap<String, Erased>, unknown: Vec<String>) -> ErasedEverywhere {
    for part in parts.values_mut() {
        part.counts.retain(|_, count| *count > 0);
        part.remaining.retain(|_, count| *count > 0);
    }
    let mut everywhere = ErasedEverywhere::default();
    (everywhere.parts, everywhere.unknown) = (parts, unknown);
    everywhere
}

/// Whether a reason names the person whom it is about.
fn names(reason: &str, found: &Found) -> bool {
    let reason = words(reason);
    let of_user = |user: &Known| [user.username.clone(), user.name.clone(), user.email.clone()];
    let user = found.whom.user.iter().filter(|user| !user.is_erased());
    let names = user.flat_map(of_user).chain(found.person.email.clone());
    names.map(|name| words(&name)).any(|name| name.len() > 1 && reason.contains(&name))
}

/// The folded words of a text, with a space on each side.
fn words(text: &str) -> String {
    let text = fold(text);
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(" ".to_owned(), |text, word| text + word + " ")
}
