//! What the host keeps about a user as a person: where that is, looking them up, a copy, and the replacement of everything
//! that is theirs. The key of a user stays, because records of extensions name it. Knows neither mails nor extensions.

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

/// A place where the host keeps something of a user, for people, and the table that it is. An erasure counts and removes
/// what is in these places, so that none is erased without being named.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    /// What is kept there.
    pub(crate) what: &'static str,
    /// What it is kept for.
    pub(crate) purpose: &'static str,
    /// How long it is kept.
    pub(crate) kept: &'static str,
    /// `None` for the user's own row, which is replaced.
    rows: Option<Rows>,
}

/// The statements about the rows of a user in a table.
struct Rows {
    count: &'static str,
    removal: &'static str,
}

macro_rules! rows_of {
    ($table:literal) => {
        Some(Rows {
            count: concat!("SELECT count(*) FROM ", $table, " WHERE user_id = ?"),
            removal: concat!("DELETE FROM ", $table, " WHERE user_id = ?"),
        })
    };
}

/// All of them.
pub(crate) static PLACES: [Place; 7] = [
    Place {
        name: USERS,
        what: "names and the e-mail address",
        purpose: "access to the site, and who has done something",
        kept: "until the user is removed; an erased user is blocked, and is named by the key alone",
        rows: None,
    },
    Place {
        name: "groups",
        what: "the groups that a user is in",
        purpose: "what the user may do",
        kept: "until a user leaves a group; those of an erased user are removed",
        rows: rows_of!("host_user_groups"),
    },
    Place {
        name: "tokens",
        what: "names of API tokens, when each was used last, and from which address",
        purpose: "access to the API",
        kept: "until they are revoked; those of an erased user are removed",
        rows: rows_of!("host_api_tokens"),
    },
    Place {
        name: "sessions",
        what: "when a user signed in to the administration, and from which address",
        purpose: "access to the administration",
        kept: "until they end, at most 12 hours; those of an erased user are removed",
        rows: rows_of!("host_sessions"),
    },
    Place {
        name: "second_factor",
        what: "the encrypted key of the app that makes codes, and when it was set up",
        purpose: "access to the administration",
        kept: "until it is removed or replaced; that of an erased user is removed",
        rows: rows_of!("host_second_factors"),
    },
    Place {
        name: "recovery_codes",
        what: "hashes of the codes that take the place of a lost device",
        purpose: "access to the administration",
        kept: "until each is used, or all are replaced; those of an erased user are removed",
        rows: rows_of!("host_recovery_codes"),
    },
    Place {
        name: "links",
        what: "hashes of the links by which a user may choose a password, and when these end",
        purpose: "access of those who have forgotten a password, or were invited",
        kept: "until another link is made after their end, which is at most 7 days; those of an erased user are removed",
        rows: rows_of!("host_password_links"),
    },
];

/// The place of the users themselves.
const USERS: &str = "users";

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

/// What is kept of a user, by places, for a copy of their data. Tokens are read elsewhere; no secret is among it.
pub(crate) async fn export(
    database: &Database,
    user: &Known,
) -> Result<[(&'static str, Vec<Value>); 4], Error> {
    row! {
        struct Session {
            address: String,
            created_on: PrimitiveDateTime,
            used_on: PrimitiveDateTime,
        }
    }
    row! {
        struct Factor {
            created_on: PrimitiveDateTime,
            codes: i64 = "(SELECT count(*) FROM host_recovery_codes c WHERE c.user_id = f.user_id)",
        }
    }
    row! {
        struct Link {
            kind: String,
            ends_on: PrimitiveDateTime,
        }
    }
    let mut transaction = database.begin_read().await?;
    let statement = sql("SELECT g.title FROM host_user_groups m \
         JOIN host_groups g ON g.id = m.group_id WHERE m.user_id = ? ORDER BY g.id");
    let groups: Vec<(String,)> = transaction.fetch_all(statement.bind(user.id)).await?;
    let groups: Vec<String> = groups.into_iter().map(|(title,)| title).collect();
    let statement =
        select::<Session>("FROM host_sessions WHERE user_id = ? ORDER BY created_on, hash");
    let sessions: Vec<Session> = transaction.fetch_all(statement.bind(user.id)).await?;
    let statement = select::<Factor>("FROM host_second_factors f WHERE f.user_id = ?");
    let factors: Vec<Factor> = transaction.fetch_all(statement.bind(user.id)).await?;
    let statement =
        select::<Link>("FROM host_password_links WHERE user_id = ? ORDER BY ends_on, hash");
    let links: Vec<Link> = transaction.fetch_all(statement.bind(user.id)).await?;
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
    let session = |Session { address, created_on, used_on }| {
        json!({
            "address": address,
            "created_on": moment::show(created_on),
            "used_on": moment::show(used_on),
        })
    };
    let factor = |Factor { created_on, codes }| json!({ "created_on": moment::show(created_on), "recovery_codes": codes });
    let link = |Link { kind, ends_on }| json!({ "kind": kind, "ends_on": moment::show(ends_on) });
    Ok([
        (USERS, vec![user]),
        ("sessions", sessions.into_iter().map(session).collect()),
        ("second_factor", factors.into_iter().map(factor).collect()),
        ("links", links.into_iter().map(link).collect()),
    ])
}

/// Blocks a user within a transaction, replaces everything that names them, and removes the password and what is in all
/// other places. Returns how much of it there was.
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
    let block = sql("UPDATE host_users SET blocked = TRUE, password_hash = NULL WHERE id = ?");
    transaction.execute(block.bind(user.id)).await?;
    for Rows { removal, .. } in PLACES.iter().filter_map(|place| place.rows.as_ref()) {
        transaction.execute(sql(removal).bind(user.id)).await?;
    }
    Ok(found)
}

/// What there is of a user, by places.
pub(crate) async fn search(connection: &mut Connection, user: &Known) -> Result<Counts, Error> {
    let statement = select::<Known>("FROM host_users WHERE id = ? OR email_fold = ?");
    let users = statement.bind(user.id).bind(fold(&user.email));
    let users: Vec<Known> = connection.fetch_all(users).await?;
    let users = users.iter().filter(|found| !found.is_erased()).count() as u64;
    let mut counts = Counts::from([(USERS.to_owned(), users)]);
    for place in &PLACES {
        let Some(Rows { count, .. }) = &place.rows else { continue };
        let (count,): (i64,) = connection.fetch_one(sql(count).bind(user.id)).await?;
        counts.insert(place.name.to_owned(), count.unsigned_abs());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_erased_is_blocked_and_has_the_name_and_the_address_of_that() {
        let (username, email) = ("erased-7", "erased-7@erased.invalid");
        for (username, email, blocked, is_erased) in [
            (username, email, true, true),
            (username, email, false, false),
            (username, "ann@example.com", true, false),
            ("ann", email, true, false),
            ("erased-8", "erased-8@erased.invalid", true, false),
        ] {
            let known = Known {
                id: 7,
                username: username.to_owned(),
                name: String::new(),
                email: email.to_owned(),
                blocked,
                created_on: PrimitiveDateTime::MIN,
            };
            assert_eq!(known.is_erased(), is_erased, "{known:?}");
        }
    }
}
