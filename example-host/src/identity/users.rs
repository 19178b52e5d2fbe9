//! Users: names, addresses, groups, and whether they are blocked. Permissions are in `acl.rs`,
//! passwords in `passwords.rs`, and the authentication of requests in `tokens.rs` and
//! `sessions.rs`.

use std::collections::HashSet;

use crate::base::error::{Error, is_unique_violation};
use crate::base::text::{fold, now};
use crate::database::{Connection, Database, Statement, row, select, sql};
use crate::identity::names::name_of;
use crate::identity::password_links;
use crate::identity::passwords;
use crate::identity::second_factor;
use crate::identity::sessions;

/// The values for a new user.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// The name to sign in with, unique without regard to case.
    pub username: String,
    /// The e-mail address, unique without regard to case.
    pub email: String,
    /// The titles of the groups to join, at least one.
    pub groups: Vec<String>,
    /// The password. A user without a password cannot sign in to the administration, but can have a
    /// token.
    pub password: Option<String>,
}

row! {
    /// A user in the list that administrators see.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct UserEntry {
        /// The primary key.
        pub id: i64,
        /// The name to sign in with.
        pub username: String,
        /// The e-mail address.
        pub email: String,
        /// Whether the user is blocked, so that token and password are refused.
        pub blocked: bool,
        /// Whether the user has a second factor.
        pub second_factor: bool = "f.user_id IS NOT NULL",
    } and {
        /// The titles of the user's groups.
        pub groups: Vec<String>,
    }
}

/// All users, in the order of their creation.
pub(crate) async fn all(database: &Database) -> Result<Vec<UserEntry>, Error> {
    let mut transaction = database.begin_read().await?;
    let listed = select::<UserEntry>(
        "FROM host_users LEFT JOIN host_second_factors f ON f.user_id = id ORDER BY id",
    );
    let mut users: Vec<UserEntry> = transaction.fetch_all(listed).await?;
    let members: Vec<(i64, String)> = transaction
        .fetch_all(sql("SELECT m.user_id, g.title FROM host_user_groups m \
             JOIN host_groups g ON g.id = m.group_id ORDER BY m.user_id, g.id"))
        .await?;
    transaction.commit().await?;
    let mut members = members.into_iter().peekable();
    for user in &mut users {
        while let Some((_, title)) = members.next_if(|(of, _)| *of <= user.id) {
            user.groups.push(title);
        }
    }
    Ok(users)
}

/// One user, by the name to sign in with.
pub(crate) async fn by_name(database: &Database, username: &str) -> Result<UserEntry, Error> {
    let mut transaction = database.begin_read().await?;
    let id = find(&mut transaction, username).await?;
    let statement = sql("SELECT username, email, blocked FROM host_users WHERE id = ?");
    let (username, email, blocked) = transaction.fetch_one(statement.bind(id)).await?;
    let second_factor = second_factor::find(&mut transaction, id).await?.is_some();
    let statement = sql("SELECT g.title FROM host_user_groups m \
         JOIN host_groups g ON g.id = m.group_id WHERE m.user_id = ? ORDER BY g.id");
    let groups: Vec<(String,)> = transaction.fetch_all(statement.bind(id)).await?;
    transaction.commit().await?;
    let groups = groups.into_iter().map(|(title,)| title).collect();
    Ok(UserEntry { id, username, email, groups, blocked, second_factor })
}

/// Blocks or unblocks a user, within a transaction.
pub(crate) async fn block(
    transaction: &mut Connection,
    id: i64,
    blocked: bool,
) -> Result<(), Error> {
    let statement = sql("UPDATE host_users SET blocked = ? WHERE id = ?");
    transaction.execute(statement.bind(blocked).bind(id)).await?;
    password_links::end_of(transaction, id).await?;
    // After unblocking, the token works again, but the user has to sign in again.
    sessions::end_all(transaction, id).await
}

/// Sets the password hash of a user, within a transaction.
pub(crate) async fn set_password_hash(
    transaction: &mut Connection,
    id: i64,
    hash: &str,
) -> Result<(), Error> {
    let statement = sql("UPDATE host_users SET password_hash = ? WHERE id = ?");
    transaction.execute(statement.bind(hash).bind(id)).await?;
    // Whoever has a link from before must not replace the new one.
    password_links::end_of(transaction, id).await?;
    sessions::end_all(transaction, id).await
}

/// Removes a user within a transaction.
pub(crate) async fn remove(transaction: &mut Connection, id: i64) -> Result<(), Error> {
    transaction.execute(sql("DELETE FROM host_users WHERE id = ?").bind(id)).await?;
    Ok(())
}

/// The editable values of a user, checked.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) username: String,
    pub(crate) name: String,
    pub(crate) email: String,
}

/// A value of a user that is not acceptable, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Username(String),
    Name(String),
    Email(String),
}

impl Profile {
    /// The profile with these values, or all faults of them.
    pub(crate) fn new(username: &str, name: &str, email: &str) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let username = name_of("the name of a user", username);
        let name = name_of("a name", name);
        let email = address_of(email);
        match (username, name, email) {
            (Ok(username), Ok(name), Ok(email)) => {
                Ok(Self { username: username.to_owned(), name: name.to_owned(), email })
            }
            (username, name, email) => {
                faults.extend(username.err().map(|error| Fault::Username(error.to_string())));
                faults.extend(name.err().map(|error| Fault::Name(error.to_string())));
                faults.extend(email.err().map(|error| Fault::Email(error.to_string())));
                Err(faults)
            }
        }
    }

    /// The values that another user already has; `id` is the user with this profile, if it exists
    /// yet.
    pub(crate) async fn taken(
        &self,
        transaction: &mut Connection,
        id: Option<i64>,
    ) -> Result<Vec<Fault>, Error> {
        const BY_NAME: &str = "SELECT id FROM host_users WHERE username_fold = ? AND id <> ?";
        const BY_EMAIL: &str = "SELECT id FROM host_users WHERE email_fold = ? AND id <> ?";
        // No user has the key 0.
        let id = id.unwrap_or_default();
        let mut faults = Vec::new();
        for (text, value, fault) in [
            (BY_NAME, &self.username, Fault::Username as fn(String) -> Fault),
            (BY_EMAIL, &self.email, Fault::Email),
        ] {
            let statement = sql(text).bind(fold(value)).bind(id);
            let found: Option<(i64,)> = transaction.fetch_optional(statement).await?;
            if found.is_some() {
                faults.push(fault(format!("another user already has {value:?}")));
            }
        }
        Ok(faults)
    }

    /// Whether a user with this profile has another address than before.
    pub(crate) async fn moves(&self, transaction: &mut Connection, id: i64) -> Result<bool, Error> {
        let statement = sql("SELECT email_fold FROM host_users WHERE id = ?");
        let before: Option<(String,)> = transaction.fetch_optional(statement.bind(id)).await?;
        Ok(before.is_some_and(|(before,)| before != fold(&self.email)))
    }

    /// Adds a user with this profile, without groups.
    pub(crate) async fn insert(
        &self,
        transaction: &mut Connection,
        password_hash: Option<&str>,
    ) -> Result<i64, Error> {
        let password_hash = password_hash.map(str::to_owned);
        let statement = self.bound(
            "INSERT INTO host_users (username, username_fold, name, email, email_fold, search_fold, \
             password_hash, created_on) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        );
        match transaction.insert(statement.bind(password_hash).bind(now())).await {
            Err(error) if is_unique_violation(&error) => {
                Err(Error::taken("user called", &self.username))
            }
            added => Ok(added?),
        }
    }

    /// Replaces the profile of a user.
    pub(crate) async fn update(&self, transaction: &mut Connection, id: i64) -> Result<(), Error> {
        let statement = self.bound(
            "UPDATE host_users SET username = ?, username_fold = ?, name = ?, email = ?, \
             email_fold = ?, search_fold = ? WHERE id = ?",
        );
        transaction.execute(statement.bind(id)).await?;
        Ok(())
    }

    /// A statement that begins with the columns of a profile, in this order.
    fn bound(&self, text: &'static str) -> Statement {
        sql(text)
            .bind(self.username.as_str())
            .bind(fold(&self.username))
            .bind(self.name.as_str())
            .bind(self.email.as_str())
            .bind(fold(&self.email))
            .bind(self.searched())
    }

    /// The text that a search for users looks in.
    fn searched(&self) -> String {
        let name = if self.name == self.username { "" } else { &self.name };
        let words = [self.username.as_str(), name, self.email.as_str()];
        let words: Vec<String> =
            words.iter().filter(|word| !word.is_empty()).map(|word| fold(word)).collect();
        words.join(" ")
    }
}

/// Puts a user into these groups and no others.
pub(crate) async fn join(
    transaction: &mut Connection,
    id: i64,
    groups: &[i64],
) -> Result<(), Error> {
    let leave = sql("DELETE FROM host_user_groups WHERE user_id = ?");
    transaction.execute(leave.bind(id)).await?;
    let mut joined = HashSet::new();
    for group in groups.iter().filter(|group| joined.insert(**group)) {
        let statement = sql("INSERT INTO host_user_groups (user_id, group_id) VALUES (?, ?)");
        transaction.execute(statement.bind(id).bind(*group)).await?;
    }
    Ok(())
}

/// The keys of the groups that a user is in.
pub(crate) async fn groups_of(connection: &mut Connection, id: i64) -> Result<Vec<i64>, Error> {
    let statement =
        sql("SELECT group_id FROM host_user_groups WHERE user_id = ? ORDER BY group_id");
    let groups: Vec<(i64,)> = connection.fetch_all(statement.bind(id)).await?;
    Ok(groups.into_iter().map(|(group,)| group).collect())
}

/// A new user with checked values and a hashed password. Hashing takes too long to do while the
/// database is locked.
pub(crate) struct Prepared {
    pub(crate) profile: Profile,
    pub(crate) groups: Vec<String>,
    pub(crate) password_hash: Option<String>,
}

impl Prepared {
    pub(crate) async fn new(new: NewUser) -> Result<Self, Error> {
        let username = name_of("the name of a user", &new.username)?.to_owned();
        let email = address_of(&new.email)?;
        if new.groups.is_empty() {
            return Err(Error::Invalid("a user needs at least one group".to_owned()));
        }
        let password_hash = match new.password {
            Some(password) => Some(passwords::hash(password).await?),
            None => None,
        };
        let profile = Profile { name: username.clone(), username, email };
        Ok(Self { profile, groups: new.groups, password_hash })
    }

    /// The error that another user already has one of the values.
    pub(crate) fn taken(&self, faults: &[Fault]) -> Error {
        match faults.first() {
            Some(Fault::Email(_)) => Error::taken("user with the e-mail", &self.profile.email),
            _ => Error::taken("user called", &self.profile.username),
        }
    }
}

/// The key of a user, by the name to sign in with.
pub(crate) async fn find(connection: &mut Connection, username: &str) -> Result<i64, Error> {
    let statement = sql("SELECT id FROM host_users WHERE username_fold = ?");
    let found = connection.fetch_optional(statement.bind(fold(username.trim()))).await?;
    found.map(|(id,)| id).ok_or_else(|| Error::not_found("user", username))
}

/// An e-mail address, trimmed.
fn address_of(email: &str) -> Result<String, Error> {
    let email = email.trim();
    if email.len() > 254 || email.parse::<lettre::Address>().is_err() {
        return Err(Error::Invalid(format!("{email:?} is not an e-mail address")));
    }
    Ok(email.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_as_long_as_mail_servers_accept_it() {
        let address = |first: usize| {
            let labels = ["x".repeat(first), "y".repeat(62), "z".repeat(63)];
            format!("{}@{}", "a".repeat(64), labels.join("."))
        };
        assert_eq!(address(62).len(), 254);
        assert!(address_of(&format!(" {} ", address(62))).is_ok());
        assert!(address_of(&address(63)).is_err());
        assert!(address_of("ann").is_err());
    }
}
