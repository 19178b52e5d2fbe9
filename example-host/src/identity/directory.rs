//! The list of users with search and pages, and the details of one user. Reads only; changes are in
//! `users.rs`.

use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::text::fold;
use crate::database::{Database, row, select, sql};

/// The number of users on a page.
const PAGE: usize = 20;

/// The selection of users to list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Text to find in user name, name or e-mail, ignoring case; empty for all users.
    pub(crate) search: String,
    /// Only blocked users, or only active ones.
    pub(crate) blocked: Option<bool>,
    /// Only users in the group with this key.
    pub(crate) group: Option<i64>,
    /// Where the page begins or ends.
    pub(crate) from: Cursor,
}

/// A position in the list, given by the user next to it: with an index, every page takes the same
/// time to find, however many users there are.
#[derive(Clone, Debug, Default)]
pub(crate) enum Cursor {
    /// The beginning.
    #[default]
    Start,
    /// After the user with this folded name.
    After(String),
    /// Before the user with this folded name.
    Before(String),
}

/// A page of the list.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) users: Vec<UserLine>,
    /// The folded name that the previous page ends before, if there is a previous page.
    pub(crate) before: Option<String>,
    /// The folded name that the next page begins after, if there is a next page.
    pub(crate) after: Option<String>,
}

row! {
    /// A user in the list.
    #[derive(Clone, Debug)]
    pub(crate) struct UserLine {
        pub(crate) id: i64 = "u.id",
        pub(crate) username: String = "u.username",
        fold: String = "u.username_fold",
        pub(crate) name: String = "u.name",
        pub(crate) email: String = "u.email",
        pub(crate) blocked: bool = "u.blocked",
        pub(crate) has_token: bool = "EXISTS (SELECT 1 FROM host_api_tokens t WHERE t.user_id = u.id)",
        pub(crate) has_second_factor: bool = "EXISTS (SELECT 1 FROM host_second_factors f WHERE f.user_id = u.id)",
    } and {
        pub(crate) groups: Vec<String>,
    }
}

row! {
    /// The details of a user.
    #[derive(Clone, Debug)]
    pub(crate) struct UserDetails {
        pub(crate) username: String,
        pub(crate) name: String,
        pub(crate) email: String,
        pub(crate) blocked: bool,
        pub(crate) has_password: bool = "password_hash IS NOT NULL",
        pub(crate) second_factor: bool = "f.user_id IS NOT NULL",
        pub(crate) created_on: PrimitiveDateTime = "u.created_on",
    } and {
        pub(crate) id: i64,
        pub(crate) groups: Vec<i64>,
    }
}

/// One page of the list.
pub(crate) async fn list(database: &Database, wanted: &Filter) -> Result<Listed, Error> {
    let (mut users, more) = lines(database, wanted).await?;
    let first = users.first().map(|user| user.fold.clone());
    let last = users.last().map(|user| user.fold.clone());
    // A page that was reached from one side has another page on that side.
    let (before, after) = match wanted.from {
        Cursor::Start => (None, last.filter(|_| more)),
        Cursor::After(_) => (first, last.filter(|_| more)),
        Cursor::Before(_) => (first.filter(|_| more), last),
    };
    put_groups(database, &mut users).await?;
    Ok(Listed { users, before, after })
}

/// The user with this key.
pub(crate) async fn user(database: &Database, id: i64) -> Result<UserDetails, Error> {
    let mut transaction = database.begin_read().await?;
    let statement = select::<UserDetails>(
        "FROM host_users u LEFT JOIN host_second_factors f ON f.user_id = u.id WHERE u.id = ?",
    );
    let row: Option<UserDetails> = transaction.fetch_optional(statement.bind(id)).await?;
    let Some(found) = row else { return Err(Error::not_found("user", &id.to_string())) };
    let groups = crate::identity::users::groups_of(&mut transaction, id).await?;
    transaction.commit().await?;
    Ok(UserDetails { id, groups, ..found })
}

/// The number of users, counted up to a bound.
pub(crate) async fn count(database: &Database, bound: i64) -> Result<i64, Error> {
    let statement = sql("SELECT count(*) FROM (SELECT id FROM host_users LIMIT ?) AS some_users");
    let (count,): (i64,) = database.fetch_one(statement.bind(bound)).await?;
    Ok(count)
}

/// The tables of a page and what follows: the condition to look up first, if any, the comparison and the sort
/// direction.
macro_rules! page {
    ($first:literal, $beyond:literal, $order:literal) => {
        concat!(
            "FROM host_users u WHERE ",
            $first,
            " u.username_fold ",
            $beyond,
            " ? AND u.search_fold LIKE ? ESCAPE '!' AND (? OR u.blocked = ?) \
             AND (? = 0 OR EXISTS (SELECT 1 FROM host_user_groups m \
             WHERE m.user_id = u.id AND m.group_id = ?)) ORDER BY u.username_fold ",
            $order,
            " LIMIT ?"
        )
    };
}

/// The users of a page without their groups, and whether there are more users in that direction.
async fn lines(database: &Database, wanted: &Filter) -> Result<(Vec<UserLine>, bool), Error> {
    // Forwards and backwards.
    const ALL: [&str; 2] = [page!("", ">", "ASC"), page!("", "<", "DESC")];
    const OF_STATE: [&str; 2] =
        [page!("u.blocked = ? AND", ">", "ASC"), page!("u.blocked = ? AND", "<", "DESC")];
    const OF_SMALL_GROUP: [&str; 2] = [
        page!("u.id IN (SELECT user_id FROM host_user_groups WHERE group_id = ?) AND", ">", "ASC"),
        page!("u.id IN (SELECT user_id FROM host_user_groups WHERE group_id = ?) AND", "<", "DESC"),
    ];
    let (direction, beside) = match &wanted.from {
        Cursor::Start => (0, ""),
        Cursor::After(name) => (0, name.as_str()),
        Cursor::Before(name) => (1, name.as_str()),
    };
    let small = match wanted.group {
        Some(group) => is_small(database, group).await?,
        None => false,
    };
    let statement = match (wanted.group, wanted.blocked) {
        (Some(group), _) if small => select::<UserLine>(OF_SMALL_GROUP[direction]).bind(group),
        (_, Some(blocked)) => select::<UserLine>(OF_STATE[direction]).bind(blocked),
        _ => select::<UserLine>(ALL[direction]),
    };
    // No group has the key 0.
    let group = wanted.group.unwrap_or_default();
    let statement = statement.bind(beside).bind(anywhere(&wanted.search));
    let statement = statement
        .bind(wanted.blocked.is_none())
        .bind(wanted.blocked.unwrap_or_default())
        .bind(group)
        .bind(group)
        .bind(PAGE as i64 + 1);
    let mut users: Vec<UserLine> = database.fetch_all(statement).await?;
    let more = users.len() > PAGE;
    users.truncate(PAGE);
    if matches!(wanted.from, Cursor::Before(_)) {
        users.reverse();
    }
    Ok((users, more))
}

/// Whether a group is small. The members of a small group are read and sorted; for a larger group
/// it is faster to go through the users in order until the page is full.
async fn is_small(database: &Database, group: i64) -> Result<bool, Error> {
    const FEW: i64 = 1000;
    let statement = sql("SELECT count(*) FROM \
         (SELECT user_id FROM host_user_groups WHERE group_id = ? LIMIT ?) AS some_members");
    let (count,): (i64,) = database.fetch_one(statement.bind(group).bind(FEW)).await?;
    Ok(count < FEW)
}

/// Gives each user of a page the titles of its groups.
async fn put_groups(database: &Database, users: &mut [UserLine]) -> Result<(), Error> {
    // One placeholder for each user of a full page; unused ones get the key 0, which no user has.
    let statement = sql("SELECT m.user_id, g.title FROM host_user_groups m \
         JOIN host_groups g ON g.id = m.group_id WHERE m.user_id IN \
         (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ORDER BY m.user_id, g.id");
    let keys = users.iter().map(|user| user.id).chain(std::iter::repeat(0)).take(PAGE);
    let statement = keys.fold(statement, |statement, id| statement.bind(id));
    let members: Vec<(i64, String)> = database.fetch_all(statement).await?;
    for (id, title) in members {
        if let Some(user) = users.iter_mut().find(|user| user.id == id) {
            user.groups.push(title);
        }
    }
    Ok(())
}

/// A `LIKE` pattern for text at any position. Special characters are escaped.
fn anywhere(search: &str) -> String {
    let mut pattern = String::from("%");
    for character in fold(search.trim()).chars() {
        if matches!(character, '!' | '%' | '_') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_of_a_search_are_escaped() {
        assert_eq!(anywhere(" Ann_1% "), "%ann!_1!%%");
        assert_eq!(anywhere("a!b"), "%a!!b%");
        assert_eq!(anywhere(""), "%%");
    }
}
