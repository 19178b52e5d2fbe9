//! Categories form a tree. A category's path consists of the aliases from the root, so a new alias
//! or another parent changes the paths of the whole branch, in the same transaction.

use crate::error::Error;
use crate::model::field::{Complaint, Handle, int, key, text};
use crate::model::presentation::{Group, Presentation};
use crate::model::record::Record;
use crate::model::resource::{Resource, unique};
use crate::model::value::Value;
use crate::service::hooks::Service;
use crate::service::write::Write;
use crate::sql::{self, Statement};
use crate::wire::draft::Draft;

pub(crate) static CATEGORIES: Resource = Resource {
    kind: "categories",
    singular: "category",
    table: "shop_categories",
    impersonal: Some("what a store sells"),
    key: "id",
    named_by: Some(PATH.field.name),
    list: &[TITLE.field, ALIAS.field, PUBLISHED.field, PARENT.field, LEVEL.field],
    detail: &[text("description", 65_535), PATH.field, text("language", 7).default_text("*")],
    unique: &[unique(&["alias", "parent_id"])],
    serialised: true,
    shown: Presentation {
        group: Some(Group::Catalogue),
        label: &["title"],
        columns: &["title", "parent_id", "published"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service {
    derive: Some(|draft, before, write| Box::pin(place(draft, before, write))),
    before_update: Some(|before, after, write| Box::pin(move_branch(before, after, write))),
    spreads: |written, before| Ok(before.is_some() && written.get(&PATH)?.is_some()),
    check: can_be_published,
    ..Service::of(&CATEGORIES)
};

const TITLE: Handle<String> = text("title", 255).required().words();
const ALIAS: Handle<String> = text("alias", 255).derived().words();
const PUBLISHED: Handle<i64> = int("published").between(-2, 2).default(1).number();
const PARENT: Handle<i64> = key("parent_id", "categories").or_zero().number();
const LEVEL: Handle<i64> = int("level").read_only().derived().number();
const PATH: Handle<String> = text("path", usize::MAX).read_only().derived().words();

/// The alias of a title that contains no usable characters.
const NAMELESS: &str = "category";

fn can_be_published(category: &Record) -> Result<Vec<Complaint>, Error> {
    Ok(match category.get(&PUBLISHED)? {
        Some(-1) => vec![(PUBLISHED.name, "published must be one of -2, 0, 1, 2.".to_owned())],
        _ => Vec::new(),
    })
}

/// Derives alias, level and path.
async fn place(
    draft: &mut Draft,
    before: Option<&Record>,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    // A new category with faults may lack any of them.
    let was = before.cloned().unwrap_or_else(|| draft.as_record());
    let now = draft.applied_to(&was);
    let title = now.get(&TITLE)?.unwrap_or_default();
    let alias = now.get(&ALIAS)?.unwrap_or_default();
    let parent = now.get(&PARENT)?.unwrap_or_default();
    let key = before.map_or(0, Record::key);
    if alias.contains('/') {
        draft.refuse(&ALIAS, "alias must not contain a slash.");
        return Ok(());
    }
    let (level, above) = match parent {
        0 => (0, String::new()),
        _ => {
            let statement = Statement::fixed(
                "SELECT path FROM shop_categories WHERE id = ?",
                vec![Value::Int(parent)],
            );
            match write.transaction.texts(statement).await?.pop() {
                Some(path) => (i64::try_from(path.split('/').count()).unwrap_or(0), path),
                // The check of references reports a missing parent.
                None => return Ok(()),
            }
        }
    };
    if let Some(before) = before {
        let own = before.need(&PATH)?;
        let below = above.strip_prefix(own).is_some_and(|rest| rest.starts_with('/'));
        if parent != 0 && (parent == key || below) {
            draft.refuse(&PARENT, "A category cannot be its own descendant.");
            return Ok(());
        }
    }
    let alias = match alias {
        "" => free_alias(title, parent, key, write).await?,
        given => given.to_owned(),
    };
    let path = if above.is_empty() { alias.clone() } else { format!("{above}/{alias}") };
    // The requested alias may turn out to equal the present one.
    if now.get(&ALIAS)? != Some(&*alias) {
        draft.set(&ALIAS, alias)?;
    }
    if now.get(&LEVEL)? != Some(level + 1) {
        draft.set(&LEVEL, level + 1)?;
    }
    if now.get(&PATH)? != Some(&*path) {
        draft.set(&PATH, path)?;
    }
    Ok(())
}

/// The alias of a title, numbered if a sibling has it already.
async fn free_alias(
    title: &str,
    parent: i64,
    key: i64,
    write: &mut Write<'_>,
) -> Result<String, Error> {
    let mut plain = slug::slugify(title);
    // Leaves room for a number within the 255 characters of the field.
    plain.truncate(240);
    if plain.is_empty() {
        plain.push_str(NAMELESS);
    }
    let statement = Statement::fixed(
        "SELECT alias FROM shop_categories WHERE parent_id = ? AND id <> ?",
        vec![Value::Int(parent), Value::Int(key)],
    );
    let taken: std::collections::HashSet<String> =
        write.transaction.texts(statement).await?.into_iter().collect();
    let numbered = (2_u64..).map(|number| format!("{plain}-{number}"));
    let mut candidates = std::iter::once(plain.clone()).chain(numbered);
    Ok(candidates.find(|alias| !taken.contains(alias)).unwrap_or(plain))
}

/// Updates the paths and levels of all descendants of a category.
async fn move_branch(before: &Record, after: &Record, write: &mut Write<'_>) -> Result<(), Error> {
    let (old, new) = (before.need(&PATH)?, after.need(&PATH)?);
    if old == new {
        return Ok(());
    }
    let deeper = after.need(&LEVEL)? - before.need(&LEVEL)?;
    let statement = sql::move_branch(old, new, deeper, write.transaction.dialect());
    write.transaction.execute(statement).await
}
