//! The tree of groups. A group inherits the permissions of the group above it.

use crate::base::error::{Error, is_unique_violation};
use crate::base::text::fold;
use crate::database::{Connection, Database, row, select, sql};
use crate::identity::names::name_of;

row! {
    /// A group as administrators see it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct GroupEntry {
        /// The primary key.
        pub id: i64 = "g.id",
        /// Its title, unique without regard to case.
        pub title: String = "g.title",
        /// The title of the group above it; `None` for the topmost.
        pub parent: Option<String> = "p.title",
        /// Whether its users, and those of the groups below it, need a second factor.
        pub second_factor: bool = "f.group_id IS NOT NULL",
    }
}

/// All groups, in the order of their creation.
pub(crate) async fn all(database: &Database) -> Result<Vec<GroupEntry>, Error> {
    let statement = select::<GroupEntry>(
        "FROM host_groups g LEFT JOIN host_groups p ON p.id = g.parent_id \
         LEFT JOIN host_second_factor_groups f ON f.group_id = g.id ORDER BY g.id",
    );
    database.fetch_all(statement).await
}

/// The trimmed title, if it is acceptable for a group.
pub(crate) fn title_of(title: &str) -> Result<&str, Error> {
    name_of("the name of a group", title)
}

/// Creates a group below another one, within a transaction.
pub(crate) async fn insert(
    transaction: &mut Connection,
    title: &str,
    parent: i64,
) -> Result<i64, Error> {
    let statement = sql("INSERT INTO host_groups (title, title_fold, parent_id) VALUES (?, ?, ?)");
    let added = transaction.insert(statement.bind(title).bind(fold(title)).bind(parent));
    match added.await {
        Err(error) if is_unique_violation(&error) => Err(Error::taken("group", title)),
        added => Ok(added?),
    }
}

/// Renames a group within a transaction.
pub(crate) async fn rename(
    transaction: &mut Connection,
    id: i64,
    title: &str,
) -> Result<(), Error> {
    let statement = sql("UPDATE host_groups SET title = ?, title_fold = ? WHERE id = ?");
    let renamed = transaction.execute(statement.bind(title).bind(fold(title)).bind(id));
    match renamed.await {
        Err(error) if is_unique_violation(&error) => Err(Error::taken("group", title)),
        renamed => Ok(renamed.map(drop)?),
    }
}

/// Whether the users of a group, and of those below it, need a second factor from now on.
pub(crate) async fn require_second_factor(
    transaction: &mut Connection,
    id: i64,
    required: bool,
) -> Result<(), Error> {
    let removal = sql("DELETE FROM host_second_factor_groups WHERE group_id = ?");
    transaction.execute(removal.bind(id)).await?;
    if required {
        let insertion = sql("INSERT INTO host_second_factor_groups (group_id) VALUES (?)");
        transaction.execute(insertion.bind(id)).await?;
    }
    Ok(())
}

/// Removes a group with its rules, within a transaction. A group with users or with groups below it
/// is refused.
pub(crate) async fn remove(transaction: &mut Connection, id: i64) -> Result<(), Error> {
    let members = sql("SELECT user_id FROM host_user_groups WHERE group_id = ? LIMIT 1");
    let member: Option<(i64,)> = transaction.fetch_optional(members.bind(id)).await?;
    if member.is_some() {
        return Err(Error::Invalid("a group with users in it cannot be deleted".to_owned()));
    }
    let children = sql("SELECT id FROM host_groups WHERE parent_id = ? LIMIT 1");
    let child: Option<(i64,)> = transaction.fetch_optional(children.bind(id)).await?;
    if child.is_some() {
        return Err(Error::Invalid("a group with groups below it cannot be deleted".to_owned()));
    }
    transaction.execute(sql("DELETE FROM host_rules WHERE group_id = ?").bind(id)).await?;
    transaction.execute(sql("DELETE FROM host_groups WHERE id = ?").bind(id)).await?;
    Ok(())
}

/// The key of a group, by its title.
pub(crate) async fn find(connection: &mut Connection, title: &str) -> Result<i64, Error> {
    let statement = sql("SELECT id FROM host_groups WHERE title_fold = ?");
    let found = connection.fetch_optional(statement.bind(fold(title.trim()))).await?;
    found.map(|(id,)| id).ok_or_else(|| Error::not_found("group", title))
}

/// The groups in the order of the tree, each with its depth.
pub(crate) fn as_tree(groups: Vec<GroupEntry>) -> Vec<(GroupEntry, usize)> {
    let mut ordered: Vec<(GroupEntry, usize)> = Vec::with_capacity(groups.len());
    for group in groups {
        // A group is never older than its parent, so the parent is already in the list. The group
        // is placed after the descendants of its parent that are in the list.
        let above =
            ordered.iter().position(|(other, _)| Some(&other.title) == group.parent.as_ref());
        let (place, depth) = match above {
            None => (ordered.len(), 0),
            Some(above) => {
                let depth = ordered.get(above).map_or(0, |(_, depth)| depth + 1);
                let below = ordered.iter().skip(above + 1).take_while(|(_, other)| *other >= depth);
                (above + 1 + below.count(), depth)
            }
        };
        ordered.insert(place, (group, depth));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_listed_below_their_parent() {
        let groups = [
            (1, "Public", None),
            (2, "Registered", Some("Public")),
            (3, "Manager", Some("Public")),
            (4, "Administrator", Some("Manager")),
            (5, "Super Users", Some("Public")),
            (6, "Shops", Some("Manager")),
        ];
        let entry = |(id, title, parent): (i64, &str, Option<&str>)| GroupEntry {
            id,
            title: title.to_owned(),
            parent: parent.map(str::to_owned),
            second_factor: false,
        };
        let tree = as_tree(groups.map(entry).into());
        let tree: Vec<(i64, usize)> =
            tree.iter().map(|(group, depth)| (group.id, *depth)).collect();
        assert_eq!(tree, [(1, 0), (2, 1), (3, 1), (4, 2), (6, 2), (5, 1)]);
    }
}
