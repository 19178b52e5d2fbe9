//! What a plugin keeps about persons, and what becomes of it when one of them asks: a copy of everything, or its
//! removal. Knows neither where it is kept nor what a law demands.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The plugin's map of where it keeps data of persons, see [`Description::privacy`](crate::Description::privacy).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Privacy {
    /// The action that a user has to be permitted for seeing or removing a person's data.
    pub action: String,
    /// The asset of that action.
    pub asset: String,
    /// The places, in the order in which people are to read them.
    #[serde(default)]
    pub places: Vec<PersonalData>,
    /// The plugin's [command](crate::Command) that removes what is kept no longer. If it has a
    /// [`dry_run`](crate::Command::dry_run), a host may show what would be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<String>,
}

/// One place where a plugin keeps data of persons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PersonalData {
    /// The name, unique in the plugin, for example `orders.billing`.
    pub name: String,
    /// What is kept there, for people: `names and addresses`.
    pub what: String,
    /// What it is kept for.
    pub purpose: String,
    /// How long it is kept, and what becomes of it when the person is erased.
    pub kept: String,
}

/// A person, by what is known about them. At least one member is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Person {
    /// The e-mail address, as it was entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The key of the user of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<i64>,
    /// What [`HostHandle::email_hash`](crate::HostHandle::email_hash) makes of the address, for a person who was
    /// erased before: the address itself is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email_hash: Option<String>,
}

/// What is to be removed, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Erasure {
    /// Whose data.
    pub person: Person,
    /// Whether only to count, and to change nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The day, as `YYYY-MM-DD`, until which names and addresses stay in what is younger than that. The plugin
    /// removes them afterwards, of its own accord.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_until: Option<String>,
    /// Whether to remove also what is not completed, such as an order that was not shipped.
    #[serde(default)]
    pub force: bool,
    /// Why, for the audit trail. Contains no data of the person.
    pub reason: String,
    /// The user who asks for it, 0 for nobody.
    #[serde(default)]
    pub by: i64,
}

/// What an [`Erasure`] did in one place, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Erased {
    /// How many records were changed or removed, by place.
    #[serde(default)]
    pub counts: BTreeMap<String, u64>,
    /// How many records a second search found, by place: nothing, unless the erasure kept them until a day.
    #[serde(default)]
    pub remaining: BTreeMap<String, u64>,
    /// The records that are not completed, each as people know it. If there are any and the erasure was not
    /// forced, nothing was changed.
    #[serde(default)]
    pub open: Vec<String>,
}

/// What an [`Erasure`] did on a whole site, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErasedEverywhere {
    /// By extension; the host's own part has the name `host`.
    #[serde(default)]
    pub parts: BTreeMap<String, Erased>,
    /// The extensions that have no map of personal data, so that nothing is known about them.
    #[serde(default)]
    pub unknown: Vec<String>,
}

impl Privacy {
    /// A map that users with this permission may use.
    pub fn new(action: impl Into<String>, asset: impl Into<String>) -> Self {
        Self { action: action.into(), asset: asset.into(), places: Vec::new(), retention: None }
    }

    /// Names the command that removes what is kept no longer.
    pub fn retention(mut self, command: impl Into<String>) -> Self {
        self.retention = Some(command.into());
        self
    }

    /// Adds places.
    pub fn places(mut self, places: impl IntoIterator<Item = PersonalData>) -> Self {
        self.places.extend(places);
        self
    }
}

impl PersonalData {
    /// A place.
    pub fn new(
        name: impl Into<String>,
        what: impl Into<String>,
        purpose: impl Into<String>,
        kept: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), what: what.into(), purpose: purpose.into(), kept: kept.into() }
    }
}

impl Person {
    /// The person with this e-mail address.
    pub fn of_email(email: impl Into<String>) -> Self {
        Self { email: Some(email.into()), ..Self::default() }
    }

    /// The person with this key of a user.
    pub fn of_user(user: i64) -> Self {
        Self { user: Some(user), ..Self::default() }
    }

    /// The person whose address has this hash.
    pub fn of_email_hash(hash: impl Into<String>) -> Self {
        Self { email_hash: Some(hash.into()), ..Self::default() }
    }

    /// Adds the key of the user.
    pub fn user(mut self, user: i64) -> Self {
        self.user = Some(user);
        self
    }

    /// Whether nothing is known about them.
    pub fn is_unknown(&self) -> bool {
        self.email.is_none() && self.user.is_none() && self.email_hash.is_none()
    }
}

impl Erasure {
    /// The removal of everything about a person, unless something is not completed.
    pub fn new(person: Person, reason: impl Into<String>) -> Self {
        Self {
            person,
            dry_run: false,
            keep_until: None,
            force: false,
            reason: reason.into(),
            by: 0,
        }
    }

    /// Only counts.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Removes also what is not completed.
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }

    /// Keeps names and addresses of what is younger than this day until then.
    pub fn keep_until(mut self, day: impl Into<String>) -> Self {
        self.keep_until = Some(day.into());
        self
    }

    /// Names the user who asks for it.
    pub fn by(mut self, user: i64) -> Self {
        self.by = user;
        self
    }
}

impl Erased {
    /// Whether it was refused, because something is not completed.
    pub fn is_refused(&self, erasure: &Erasure) -> bool {
        !erasure.force && !self.open.is_empty()
    }
}

impl ErasedEverywhere {
    /// All records that are not completed.
    pub fn open(&self) -> impl Iterator<Item = &str> {
        self.parts.values().flat_map(|part| part.open.iter().map(String::as_str))
    }
}
