//! The entries of one user, for the user who asks for a copy. They are never changed, not even for a user who is erased:
//! a hash of each entry is in the chain, and the trail is bounded.

use serde_json::{Map, Value};

use crate::base::error::Error;
use crate::database::{Database, select};

use super::rows::{AT_ONCE, COLUMNS, Found, Line};

/// What a user has done, oldest first, with the names of the columns.
pub(crate) async fn of_user(
    database: &Database,
    user: i64,
) -> Result<Vec<Map<String, Value>>, Error> {
    let (mut entries, mut last) = (Vec::new(), 0);
    loop {
        let statement =
            select::<Found>("FROM host_audit WHERE user_id = ? AND id > ? ORDER BY id LIMIT ?");
        let statement = statement.bind(user).bind(last).bind(AT_ONCE as i64);
        let found: Vec<Found> = database.fetch_all(statement).await?;
        let is_end = found.len() < AT_ONCE;
        for Line { place, stored, .. } in found.into_iter().map(Line::from) {
            last = place.id;
            let values = stored.values(last);
            entries.push(COLUMNS.into_iter().map(str::to_owned).zip(values).collect());
        }
        if is_end {
            return Ok(entries);
        }
    }
}
