//! Groups: adding, changing and removing them.

use crate::base::error::Error;
use crate::identity::acl::CORE_ADMIN;
use crate::identity::administrators::Force;
use crate::identity::groups;
use crate::site::Site;
use crate::site::state::change;

use super::author::{Author, Recorded};
use super::operation::Operation;

pub(crate) static ADD: Operation = Operation::new("add a group", CORE_ADMIN)
    .page("administration.groups.new")
    .command("group add");
pub(crate) static CHANGE: Operation =
    Operation::new("change a group", CORE_ADMIN).page("administration.groups.edit");
pub(crate) static REMOVE: Operation = Operation::new("delete a group", CORE_ADMIN)
    .takes_access()
    .page("administration.groups.delete");

/// Adds a group below the one with this title, and returns its key.
pub(crate) async fn add(site: &Site, title: &str, parent: &str) -> Result<(i64, Recorded), Error> {
    change!(site.state(), |transaction| {
        let author = Author::of(site, &ADD, Force::No, transaction).await?;
        let parent = groups::find(transaction, parent).await?;
        let id = groups::insert(transaction, title, parent).await?;
        Ok((id, author.record(transaction, ("group", id), "").await?))
    })
}

/// Replaces the title of a group, and whether it requires a second factor.
pub(crate) async fn change(
    site: &Site,
    id: i64,
    title: &str,
    second_factor: bool,
) -> Result<Recorded, Error> {
    let details = if second_factor { "requires a second factor" } else { "" };
    change!(site.state(), |transaction| {
        let author = Author::of(site, &CHANGE, Force::No, transaction).await?;
        groups::rename(transaction, id, title).await?;
        groups::require_second_factor(transaction, id, second_factor).await?;
        author.record(transaction, ("group", id), details).await
    })
}

/// Removes a group with its rules.
pub(crate) async fn remove(site: &Site, id: i64) -> Result<Recorded, Error> {
    change!(site.state(), |transaction| {
        let author = Author::of(site, &REMOVE, Force::No, transaction).await?;
        groups::remove(transaction, id).await?;
        author.record(transaction, ("group", id), "").await
    })
}
