//! The entries of one user, for the user who asks for a copy. They are never changed, not even for a user who is erased:
//! a hash of each entry is in the chain, and the trail is bounded.

use serde_json::{Map, Value};

use crate::base::error::Error;
use crate::database::{Database, select};

use super::rows::{AT_ONCE, COLUMNS, Stored};

/// What a user has done, oldest first, with the names of the columns.
pub(crate) async fn of_user(
    database: &Database,
    user: i64,
) -> Result<Vec<Map<String, Value>>, Error> {
    let (mut entries, mut last) = (Vec::new(), 0);
    loop {
        let statement =
            select::<Stored>("FROM host_audit WHERE user_id = ? AND id > ? ORDER BY id LIMIT ?");
        let statement = statement.bind(user).bind(last).bind(AT_ONCE as i64);
        let found: Vec<Stored> = database.fetch_all(statement).await?;
        let is_end = found.len() < AT_ONCE;
        for stored in found {
            last = stored.id;
            entries.push(COLUMNS.into_iter().map(str::to_owned).zip(stored.values()).collect());
        }
        if is_end {
            return Ok(entries);
        }
    }
}
