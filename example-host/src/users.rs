//! Users: names, addresses, passwords, membership, and who is blocked. Refuses to know what a user
//! may do (`acl.rs`) and how a request proves who sends it (`tokens.rs`).

use std::collections::HashSet;

use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use time::PrimitiveDateTime;
use unicase::UniCase;

use crate::database::{Connection, sql};
use crate::error::{Error, is_unique_violation};
use crate::groups;
use crate::site::Site;
use crate::state::change;

/// What a new user is made from.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// The name to sign in with, unique without regard to case.
    pub username: String,
    /// The e-mail address, unique without regard to case.
    pub email: String,
    /// The titles of the groups to join, one at least.
    pub groups: Vec<String>,
    /// Without one the user cannot sign in to the pages, but may have a token.
    pub password: Option<String>,
}

/// A user as administrators see one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserEntry {
    /// The primary key.
    pub id: i64,
    /// The name to sign in with.
    pub username: String,
    /// The e-mail address.
    pub email: String,
    /// The titles of the user's groups.
    pub groups: Vec<String>,
    /// Whether every token and password is refused.
    pub blocked: bool,
}

impl Site {
    /// Makes a user and gives its key.
    ///
    /// # Errors
    /// When a name is taken or not acceptable, there is no such group, or the database fails.
    pub async fn add_user(&self, new: NewUser) -> Result<i64, Error> {
        let prepared = Prepared::from(new).await?;
        change!(self.state(), |transaction| prepared.insert(transaction).await)
    }

    /// All users, in the order they were made.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn users(&self) -> Result<Vec<UserEntry>, Error> {
        let mut transaction = self.state().database().begin_read().await?;
        let rows: Vec<(i64, String, String, bool)> = transaction
            .fetch_all(sql("SELECT id, username, email, blocked FROM host_users ORDER BY id"))
            .await?;
        let members: Vec<(i64, String)> = transaction
            .fetch_all(sql("SELECT m.user_id, g.title FROM host_user_groups m \
                 JOIN host_groups g ON g.id = m.group_id ORDER BY m.user_id, g.id"))
            .await?;
        transaction.commit().await?;
        let mut members = members.into_iter().peekable();
        let users = rows.into_iter().map(|(id, username, email, blocked)| {
            let mut groups = Vec::new();
            while let Some((_, title)) = members.next_if(|(user, _)| *user <= id) {
                groups.push(title);
            }
            UserEntry { id, username, email, groups, blocked }
        });
        Ok(users.collect())
    }

    /// One user, by the name to sign in with.
    ///
    /// # Errors
    /// When there is none of that name, or the database fails.
    pub async fn user(&self, username: &str) -> Result<UserEntry, Error> {
        let mut transaction = self.state().database().begin_read().await?;
        let id = find(&mut transaction, username).await?;
        let statement = sql("SELECT username, email, blocked FROM host_users WHERE id = ?");
        let (username, email, blocked) = transaction.fetch_one(statement.bind(id)).await?;
        let statement = sql("SELECT g.title FROM host_user_groups m \
             JOIN host_groups g ON g.id = m.group_id WHERE m.user_id = ? ORDER BY g.id");
        let groups: Vec<(String,)> = transaction.fetch_all(statement.bind(id)).await?;
        transaction.commit().await?;
        let groups = groups.into_iter().map(|(title,)| title).collect();
        Ok(UserEntry { id, username, email, groups, blocked })
    }

    /// Blocks a user, or lifts that: a token of the user stops at once, and works again.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn set_blocked(&self, username: &str, blocked: bool) -> Result<(), Error> {
        change!(self.state(), |transaction| {
            let id = find(transaction, username).await?;
            let statement = sql("UPDATE host_users SET blocked = ? WHERE id = ?");
            transaction.execute(statement.bind(blocked).bind(id)).await?;
            Ok(())
        })
    }

    /// Sets a user's password.
    ///
    /// # Errors
    /// When there is no such user, the password is empty, or the database fails.
    pub async fn set_password(&self, username: &str, password: String) -> Result<(), Error> {
        let hash = hash_password(password).await?;
        change!(self.state(), |transaction| {
            let id = find(transaction, username).await?;
            let statement = sql("UPDATE host_users SET password_hash = ? WHERE id = ?");
            transaction.execute(statement.bind(hash.as_str()).bind(id)).await?;
            Ok(())
        })
    }

    /// Removes a user with its token. What extensions keep about the user stays.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn remove_user(&self, username: &str) -> Result<(), Error> {
        change!(self.state(), |transaction| {
            let id = find(transaction, username).await?;
            let statement = sql("DELETE FROM host_users WHERE id = ?");
            transaction.execute(statement.bind(id)).await?;
            Ok(())
        })
    }
}

/// A new user whose values are known to be acceptable and whose password has been hashed, which
/// takes too long to do while the database is locked.
pub(crate) struct Prepared {
    username: String,
    email: String,
    groups: Vec<String>,
    password_hash: Option<String>,
}

impl Prepared {
    pub(crate) async fn from(new: NewUser) -> Result<Self, Error> {
        let username = name_of("the name of a user", &new.username)?.to_owned();
        let email = new.email.trim().to_owned();
        if email.len() > 254 || email.parse::<lettre::Address>().is_err() {
            return Err(Error::Invalid(format!("{email:?} is no e-mail address")));
        }
        if new.groups.is_empty() {
            return Err(Error::Invalid("a user belongs to one group at least".to_owned()));
        }
        let password_hash = match new.password {
            Some(password) => Some(hash_password(password).await?),
            None => None,
        };
        Ok(Self { username, email, groups: new.groups, password_hash })
    }

    pub(crate) async fn insert(&self, transaction: &mut Connection) -> Result<i64, Error> {
        for (kind, text, value) in [
            ("user called", "SELECT id FROM host_users WHERE username_fold = ?", &self.username),
            ("user with the e-mail", "SELECT id FROM host_users WHERE email_fold = ?", &self.email),
        ] {
            let found: Option<(i64,)> =
                transaction.fetch_optional(sql(text).bind(fold(value))).await?;
            if found.is_some() {
                return Err(Error::taken(kind, value));
            }
        }
        let statement = sql("INSERT INTO host_users \
             (username, username_fold, name, email, email_fold, password_hash, created_on) \
             VALUES (?, ?, ?, ?, ?, ?, ?)");
        let statement = statement
            .bind(self.username.as_str())
            .bind(fold(&self.username))
            .bind(self.username.as_str())
            .bind(self.email.as_str())
            .bind(fold(&self.email))
            .bind(self.password_hash.clone())
            .bind(now());
        let id = match transaction.insert(statement).await {
            Err(error) if is_unique_violation(&error) => {
                return Err(Error::taken("user called", &self.username));
            }
            added => added?,
        };
        let mut joined = HashSet::new();
        for title in &self.groups {
            let group = groups::find(transaction, title).await?;
            if joined.insert(group) {
                let statement =
                    sql("INSERT INTO host_user_groups (user_id, group_id) VALUES (?, ?)");
                transaction.execute(statement.bind(id).bind(group)).await?;
            }
        }
        Ok(id)
    }
}

/// The key of a user, by the name to sign in with.
pub(crate) async fn find(connection: &mut Connection, username: &str) -> Result<i64, Error> {
    let statement = sql("SELECT id FROM host_users WHERE username_fold = ?");
    let found = connection.fetch_optional(statement.bind(fold(username.trim()))).await?;
    found.map(|(id,)| id).ok_or_else(|| Error::not_found("user", username))
}

/// Text as it is compared without regard to case.
pub(crate) fn fold(text: &str) -> String {
    UniCase::new(text).to_folded_case()
}

/// A name that fits into a tab-separated line, trimmed.
pub(crate) fn name_of<'a>(what: &str, name: &'a str) -> Result<&'a str, Error> {
    let name = name.trim();
    let acceptable = (1..=150).contains(&name.chars().count());
    if !acceptable || name.chars().any(char::is_control) {
        return Err(Error::Invalid(format!(
            "{what} is 1 to 150 characters without control characters, not {name:?}"
        )));
    }
    Ok(name)
}

/// The time as the tables keep it: UTC, to the second.
pub(crate) fn now() -> PrimitiveDateTime {
    let now = time::OffsetDateTime::now_utc();
    PrimitiveDateTime::new(now.date(), now.time()).truncate_to_second()
}

/// Argon2id with its recommended parameters, on a thread that may be kept busy.
async fn hash_password(password: String) -> Result<String, Error> {
    if password.is_empty() {
        return Err(Error::Invalid("the password is empty".to_owned()));
    }
    let hashing = tokio::task::spawn_blocking(move || {
        Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string())
    });
    match hashing.await {
        Ok(Ok(hash)) => Ok(hash),
        Ok(Err(error)) => Err(Error::Password(error.to_string())),
        Err(error) => Err(Error::Password(error.to_string())),
    }
}
