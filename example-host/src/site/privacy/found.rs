//! Who a person is on this site: the address and the user belong together, so that every part of the site is asked for
//! both.

use std::sync::Arc;

use host_interface::Person;

use crate::base::error::Error;
use crate::base::moment;
use crate::base::text::fold;
use crate::identity::persons::{self, Known};
use crate::mail::{IsTheirs, address_in_mails};
use crate::site::Site;
use crate::site::erased::ErasedPerson;
use crate::site::operations::persons::Whom;

/// A person, as the parts of the site are asked for one.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) person: Person,
    /// What the host itself needs.
    pub(super) whom: Whom,
    /// What the list of erased persons contains of them.
    pub(super) listed: ErasedPerson,
}

impl Site {
    /// The key of a user, by the name to sign in with, or else by the key itself.
    pub(crate) async fn key_of_user(&self, name_or_key: &str) -> Result<i64, Error> {
        let named = persons::by_name(self.state().database(), name_or_key).await?;
        let key = named.map(|user| user.id).or_else(|| name_or_key.trim().parse().ok());
        key.ok_or_else(|| Error::not_found("user", name_or_key))
    }

    /// Who is meant.
    ///
    /// # Errors
    /// When nobody is named, the address and the user do not belong together, or the database fails.
    pub(super) async fn find_person(&self, asked: &Person) -> Result<Found, Error> {
        let database = self.state().database();
        let email = asked.email.as_deref().map(str::trim).filter(|email| !email.is_empty());
        if asked.user.is_some_and(|user| user < 1) {
            return Err(Error::Invalid("there are no users with such a key".to_owned()));
        }
        let by_key = match asked.user {
            Some(user) => persons::by_key(database, user).await?,
            None => None,
        };
        let by_email = match (email, &asked.email_hash) {
            (Some(email), _) => persons::by_email(database, email).await?,
            (None, Some(hash)) if asked.user.is_none() => self.user_with(hash).await?,
            _ => None,
        };
        match (&by_key, &by_email) {
            (Some(one), Some(other)) if one.id != other.id => {
                return Err(Error::Invalid("the address is that of another user".to_owned()));
            }
            (Some(user), None) if email.is_some() && !user.is_erased() => {
                return Err(Error::Invalid(format!(
                    "user {} has another address; ask for one of them after the other",
                    user.id
                )));
            }
            (None, Some(_)) if asked.user.is_some() => {
                return Err(Error::Invalid("the address is that of another user".to_owned()));
            }
            _ => {}
        }
        let user = by_key.or(by_email);
        let own = user.as_ref().filter(|user| !user.is_erased()).map(|user| user.email.as_str());
        let email = email.or(own).map(str::to_owned);
        let mut hash = asked.email_hash.clone();
        if email.is_none() && hash.is_none() {
            hash = self.listed_hash(asked.user, user.as_ref()).await?;
        }
        let mut person = Person::default();
        person.user = user.as_ref().map(|user| user.id).or(asked.user);
        (person.email, person.email_hash) = (email, hash);
        if person.is_unknown() {
            let why = "a person is named by an e-mail address or by the key of a user";
            return Err(Error::Invalid(why.to_owned()));
        }
        self.found(person, user)
    }

    /// A person whose user is known, if there is one.
    pub(super) fn found(&self, person: Person, user: Option<Known>) -> Result<Found, Error> {
        let secrets = Arc::clone(self.secrets());
        let hash = match &person.email {
            Some(email) => Some(secrets.hash_of_address(email)?),
            None => person.email_hash.clone(),
        };
        let record = match (&hash, person.user) {
            (None, Some(user)) => ("user", user.to_string()),
            (hash, _) => ("person", hash.clone().unwrap_or_default()),
        };
        let listed = ErasedPerson {
            hash: hash.clone(),
            user: person.user,
            user_created_on: user.as_ref().map(|user| moment::show(user.created_on)),
            keep_until: None,
        };
        let known =
            person.email.iter().flat_map(|email| [Some(email.clone()), address_in_mails(email)]);
        let known: Vec<String> = known.flatten().map(|email| fold(email.trim())).collect();
        let is_theirs: IsTheirs = Arc::new(move |address| match &hash {
            _ if !known.is_empty() => known.contains(&fold(address)),
            Some(hash) => secrets.hash_of_address(address).is_ok_and(|of| of == *hash),
            None => false,
        });
        Ok(Found { person, whom: Whom { user, is_theirs, record }, listed })
    }

    /// The user whose address has this hash.
    async fn user_with(&self, hash: &str) -> Result<Option<Known>, Error> {
        for user in persons::all(self.state().database()).await? {
            if self.secrets().hash_of_address(&user.email)? == hash {
                return Ok(Some(user));
            }
        }
        Ok(None)
    }

    /// What stands for the address of a user who was erased before, or was removed.
    async fn listed_hash(
        &self,
        key: Option<i64>,
        user: Option<&Known>,
    ) -> Result<Option<String>, Error> {
        let created_on = user.map(|user| moment::show(user.created_on));
        let listed =
            self.erased().read().await?.into_iter().map(|(_, listed)| listed).rfind(|listed| {
                let is_same = created_on.is_none() || listed.user_created_on == created_on;
                listed.user.is_some() && listed.user == key && is_same
            });
        Ok(listed.and_then(|listed| listed.hash))
    }
}
