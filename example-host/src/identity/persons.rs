//! What the host keeps about a user as a person: looking them up, and the replacement of everything that is theirs. The
//! key of a user stays, because records of extensions name it. Knows neither mails nor extensions.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::moment;
use crate::base::text::fold;
use crate::database::{Connection, Database, row, select, sql};
use crate::identity::failures;
use crate::identity::users::{Fault, Profile};

/// The name of every user who was erased.
const ERASED: &str = "Erased user";

row! {
    /// A user, as far as a person is recognised by it.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Known {
        pub(crate) id: i64,
        pub(crate) username: String,
        pub(crate) name: String,
        pub(crate) email: String,
        pub(crate) blocked: bool,
        pub(crate) created_on: PrimitiveDateTime,
    }
}

/// The number of records in each place that has any.
pub(crate) type Counts = BTreeMap<String, u64>;

impl Known {
    /// Whether they were erased before.
    pub(crate) fn is_erased(&self) -> bool {
        let Profile { username, email, .. } = erased(self.id);
        self.blocked && self.username == username && self.email == email
    }
}

/// The user with this key.
pub(crate) async fn by_key(database: &Database, id: i64) -> Result<Option<Known>, Error> {
    let statement = select::<Known>("FROM host_users WHERE id = ?");
    database.fetch_optional(statement.bind(id)).await
}

/// The user with this e-mail address, however it is written.
pub(crate) async fn by_email(database: &Database, email: &str) -> Result<Option<Known>, Error> {
    let statement = select::<Known>("FROM host_users WHERE email_fold = ?");
    database.fetch_optional(statement.bind(fold(email.trim()))).await
}

/// The user with this name to sign in with.
pub(crate) async fn by_name(database: &Database, username: &str) -> Result<Option<Known>, Error> {
    let statement = select::<Known>("FROM host_users WHERE username_fold = ?");
    database.fetch_optional(statement.bind(fold(username.trim()))).await
}

/// All users.
pub(crate) async fn all(database: &Database) -> Result<Vec<Known>, Error> {
    database.fetch_all(select::<Known>("FROM host_users ORDER BY id")).await
}

/// A user and their sessions, for a copy of their data. Tokens are read elsewhere; no secret is among them.
pub(crate) async fn export(
    database: &Database,
    user: &Known,
) -> Result<(Value, Vec<Value>), Error> {
    row! {
        struct Kept {
            address: String,
            created_on: PrimitiveDateTime,
            used_on: PrimitiveDateTime,
        }
    }
    let mut transaction = database.begin_read().await?;
    let statement = sql("SELECT g.title FROM host_user_groups m \
         JOIN host_groups g ON g.id = m.group_id WHERE m.user_id = ? ORDER BY g.id");
    let groups: Vec<(String,)> = transaction.fetch_all(statement.bind(user.id)).await?;
    let groups: Vec<String> = groups.into_iter().map(|(title,)| title).collect();
    let statement =
        select::<Kept>("FROM host_sessions WHERE user_id = ? ORDER BY created_on, hash");
    let sessions: Vec<Kept> = transaction.fetch_all(statement.bind(user.id)).await?;
    transaction.commit().await?;
    let Known { id, username, name, email, blocked, created_on } = user;
    let user = json!({
        "id": id,
        "username": username,
        "name": name,
        "email": email,
        "blocked": blocked,
        "created_on": moment::show(*created_on),
        "groups": groups,
    });
    let session = |Kept { address, created_on, used_on }| {
        json!({
            "address": address,
            "created_on": moment::show(created_on),
            "used_on": moment::show(used_on),
        })
    };
    Ok((user, sessions.into_iter().map(session).collect()))
}

/// Blocks a user within a transaction, and replaces everything that names them. Tokens, sessions, the password and the
/// memberships of groups are removed. Returns how much of it there was.
pub(crate) async fn erase(transaction: &mut Connection, user: &Known) -> Result<Counts, Error> {
    let found = search(transaction, user).await?;
    if !user.is_erased() {
        let profile = erased(user.id);
        let taken = profile.taken(transaction, Some(user.id)).await?;
        if let Some(Fault::Username(why) | Fault::Name(why) | Fault::Email(why)) = taken.first() {
            return Err(Error::Invalid(format!("the user cannot be renamed: {why}")));
        }
        profile.update(transaction, user.id).await?;
        failures::forget_name(transaction, &fold(&user.username)).await?;
    }
    for statement in [
        sql("UPDATE host_users SET blocked = TRUE, password_hash = NULL WHERE id = ?"),
        sql("DELETE FROM host_api_tokens WHERE user_id = ?"),
        sql("DELETE FROM host_sessions WHERE user_id = ?"),
        sql("DELETE FROM host_user_groups WHERE user_id = ?"),
    ] {
        transaction.execute(statement.bind(user.id)).await?;
    }
    Ok(found)
}

/// What there is of a user, by places.
pub(crate) async fn search(connection: &mut Connection, user: &Known) -> Result<Counts, Error> {
    let statement = select::<Known>("FROM host_users WHERE id = ? OR email_fold = ?");
    let users = statement.bind(user.id).bind(fold(&user.email));
    let users: Vec<Known> = connection.fetch_all(users).await?;
    let users = users.iter().filter(|found| !found.is_erased()).count() as u64;
    let mut counts = Counts::from([("users".to_owned(), users)]);
    for (place, statement) in [
        ("tokens", sql("SELECT count(*) FROM host_api_tokens WHERE user_id = ?")),
        ("sessions", sql("SELECT count(*) FROM host_sessions WHERE user_id = ?")),
        ("groups", sql("SELECT count(*) FROM host_user_groups WHERE user_id = ?")),
    ] {
        let (count,): (i64,) = connection.fetch_one(statement.bind(user.id)).await?;
        counts.insert(place.to_owned(), count.unsigned_abs());
    }
    counts.retain(|_, count| *count > 0);
    Ok(counts)
}

/// What stands in place of a user who was erased. No mail reaches the address (RFC 2606).
fn erased(id: i64) -> Profile {
    Profile {
        username: format!("erased-{id}"),
        name: ERASED.to_owned(),
        email: format!("erased-{id}@erased.invalid"),
    }
}
