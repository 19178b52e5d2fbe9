//! Groups of users, a tree: what a group may, those below it may too. Knows nothing of rules.

use crate::database::{Connection, sql};
use crate::error::{Error, is_unique_violation};
use crate::site::Site;
use crate::state::change;
use crate::users::{fold, name_of};

/// A group as administrators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupEntry {
    /// The primary key.
    pub id: i64,
    /// What it is called, unique without regard to case.
    pub title: String,
    /// The title of the group above it; `None` for the topmost.
    pub parent: Option<String>,
}

impl Site {
    /// All groups, in the order they were made.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn groups(&self) -> Result<Vec<GroupEntry>, Error> {
        let statement = sql("SELECT g.id, g.title, p.title FROM host_groups g \
             LEFT JOIN host_groups p ON p.id = g.parent_id ORDER BY g.id");
        let rows: Vec<(i64, String, Option<String>)> =
            self.state().database().fetch_all(statement).await?;
        Ok(rows.into_iter().map(|(id, title, parent)| GroupEntry { id, title, parent }).collect())
    }

    /// Makes a group below another one and gives its key.
    ///
    /// # Errors
    /// When the title is taken, there is no such parent, or the database fails.
    pub async fn add_group(&self, title: &str, parent: &str) -> Result<i64, Error> {
        let title = name_of("the name of a group", title)?;
        change!(self.state(), |transaction| {
            let parent = find(transaction, parent).await?;
            let statement =
                sql("INSERT INTO host_groups (title, title_fold, parent_id) VALUES (?, ?, ?)");
            let added = transaction.insert(statement.bind(title).bind(fold(title)).bind(parent));
            match added.await {
                Err(error) if is_unique_violation(&error) => Err(Error::taken("group", title)),
                added => Ok(added?),
            }
        })
    }
}

/// The key of a group, by its title.
pub(crate) async fn find(connection: &mut Connection, title: &str) -> Result<i64, Error> {
    let statement = sql("SELECT id FROM host_groups WHERE title_fold = ?");
    let found = connection.fetch_optional(statement.bind(fold(title.trim()))).await?;
    found.map(|(id,)| id).ok_or_else(|| Error::not_found("group", title))
}
