//! Groups: the tree, and adding, renaming and deleting a group. Their permissions are on another
//! page.

use std::collections::HashMap;

use askama::Template;
use host_interface::with_separators;

use crate::base::error::Error;
use crate::database::sql;
use crate::identity::groups::{self, GroupEntry, as_tree};
use crate::site::operations::groups as operations;

use crate::admin::form;
use crate::admin::problem::Problem;
use crate::admin::view::{Field, Layout, View, show};
use crate::admin::visit::{Outcome, Visit};

/// The field that requires a second factor.
const SECOND_FACTOR: &str = "second-factor";
/// The field with what shows whether somebody has changed the group.
const SEEN: &str = "seen";

#[derive(Template)]
#[template(path = "admin/groups.html")]
struct GroupsPage {
    layout: Layout,
    groups: Vec<Line>,
    may_change: bool,
}

struct Line {
    group: GroupEntry,
    depth: usize,
    members: i64,
}

#[derive(Template)]
#[template(path = "admin/group.html")]
struct GroupPage {
    layout: Layout,
    /// The group; `None` for a new one.
    group: Option<GroupEntry>,
    title: Field,
    parents: Vec<(GroupEntry, usize)>,
    /// The title of the parent group.
    parent: String,
    /// What shows whether somebody has changed the group since the form was opened.
    seen: String,
}

#[derive(Template)]
#[template(path = "admin/group_delete.html")]
struct ConfirmPage {
    layout: Layout,
    group: GroupEntry,
}

pub(crate) async fn list(visit: Visit) -> Result<View, Problem> {
    let statement = sql("SELECT group_id, count(*) FROM host_user_groups GROUP BY group_id");
    let members: Vec<(i64, i64)> = visit.site.state().database().fetch_all(statement).await?;
    let members: HashMap<i64, i64> = members.into_iter().collect();
    let line = |(group, depth): (GroupEntry, usize)| {
        let members = members.get(&group.id).copied().unwrap_or_default();
        Line { group, depth, members }
    };
    show(&GroupsPage {
        layout: visit.layout("Groups"),
        groups: as_tree(visit.site.groups().await?).into_iter().map(line).collect(),
        may_change: visit.is_admin(),
    })
}

pub(crate) async fn blank(visit: Visit) -> Result<View, Problem> {
    let parent = visit.query.given("parent").unwrap_or("Public").to_owned();
    render(&visit, None, "", &parent, None).await
}

pub(crate) async fn add(visit: Visit) -> Result<Outcome, Problem> {
    let title = match groups::title_of(visit.form.get("title")) {
        Ok(title) => title,
        Err(error) => return again(&visit, None, &error.to_string()).await,
    };
    match operations::add(&visit.site, title, visit.form.get("parent")).await {
        Ok((_, recorded)) => {
            Ok(Outcome::done(recorded, "/groups", format!("Group {title} was added.")))
        }
        Err(taken @ Error::Taken { .. }) => again(&visit, None, &taken.to_string()).await,
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let group = find(&visit).await?;
    let title = group.title.clone();
    render(&visit, Some(group), &title, "", None).await
}

pub(crate) async fn save(visit: Visit) -> Result<Outcome, Problem> {
    let group = find(&visit).await?;
    if visit.form.given(SEEN).is_some_and(|seen| seen != fingerprint(&group)) {
        let why = "somebody has changed this group in the meantime; if you save now, your values replace theirs";
        return again(&visit, Some(group), why).await;
    }
    let title = match groups::title_of(visit.form.get("title")) {
        Ok(title) => title,
        Err(error) => return again(&visit, Some(group), &error.to_string()).await,
    };
    let second_factor = visit.form.given(SECOND_FACTOR).is_some();
    match operations::change(&visit.site, group.id, title, second_factor).await {
        Ok(recorded) => Ok(Outcome::done(recorded, "/groups", format!("Group {title} was saved."))),
        Err(taken @ Error::Taken { .. }) => again(&visit, Some(group), &taken.to_string()).await,
        Err(error) => Err(error.into()),
    }
}

/// Asks for confirmation before a group is deleted.
pub(crate) async fn confirm(visit: Visit) -> Result<View, Problem> {
    let group = find(&visit).await?;
    show(&ConfirmPage { layout: visit.layout(format!("Delete {}?", group.title)), group })
}

pub(crate) async fn delete(visit: Visit) -> Result<Outcome, Problem> {
    let group = find(&visit).await?;
    let recorded = operations::remove(&visit.site, group.id).await?;
    Ok(Outcome::done(recorded, "/groups", format!("Group {} was deleted.", group.title)))
}

/// A hash that shows whether what the form has of a group has changed.
fn fingerprint(group: &GroupEntry) -> String {
    form::fingerprint([group.title.clone(), group.second_factor.to_string()])
}

async fn find(visit: &Visit) -> Result<GroupEntry, Problem> {
    let id = visit.id()?;
    let found = visit.site.groups().await?.into_iter().find(|group| group.id == id);
    found.ok_or(Problem::NotFound)
}

async fn again(visit: &Visit, group: Option<GroupEntry>, fault: &str) -> Result<Outcome, Problem> {
    let (title, parent) = (visit.form.get("title"), visit.form.get("parent"));
    Ok(Outcome::Again(render(visit, group, title, parent, Some(fault)).await?))
}

async fn render(
    visit: &Visit,
    group: Option<GroupEntry>,
    title: &str,
    parent: &str,
    fault: Option<&str>,
) -> Result<View, Problem> {
    let heading = group.as_ref().map_or_else(|| "New group".to_owned(), |of| of.title.clone());
    show(&GroupPage {
        layout: visit
            .layout(heading)
            .warning_if(fault.is_some(), "The group was not saved. See below."),
        seen: group.as_ref().map(fingerprint).unwrap_or_default(),
        group,
        title: Field::text("title", "Title").value(title).fault(fault),
        parents: as_tree(visit.site.groups().await?),
        parent: parent.to_owned(),
    })
}
