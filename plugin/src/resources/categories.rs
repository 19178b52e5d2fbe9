//! Categories: a tree. A category's path is the aliases from the top, so a new alias or another
//! parent changes the paths of the whole branch, in the same transaction.

use crate::error::Error;
use crate::model::question::{Draft, Record};
use crate::model::resource::{Complaint, Resource, int, key, text, unique};
use crate::model::value::Value;
use crate::sql::{self, Statement};
use crate::store::Transaction;

pub(super) const CATEGORIES: Resource = Resource {
    kind: "categories",
    singular: "category",
    table: "shop_categories",
    key: "id",
    list: &[
        text("title", 255).required(),
        text("alias", 255).derived(),
        int("published").between(-2, 2).default(1),
        key("parent_id", "categories").or_zero(),
        int("level").read_only().derived(),
    ],
    detail: &[
        text("description", 65_535),
        text("path", usize::MAX).read_only().derived(),
        text("language", 7).default_text("*"),
    ],
    unique: &[unique(&["alias", "parent_id"])],
    alone: true,
    derive: Some(|draft, before, scene| Box::pin(place(draft, before, scene.transaction))),
    spread: Some(|before, after, scene| Box::pin(move_branch(before, after, scene.transaction))),
    check: can_be_published,
    ..Resource::CRUD
};

/// What stands for a title of which no alias can be made.
const NAMELESS: &str = "category";

fn can_be_published(category: &Record) -> Vec<Complaint> {
    match category.value("published").int() {
        -1 => vec![("published", "published must be one of -2, 0, 1, 2.".to_owned())],
        _ => Vec::new(),
    }
}

/// Works out alias, level and path.
async fn place(
    draft: &mut Draft,
    before: Option<&Record>,
    transaction: &mut Transaction,
) -> Result<(), Error> {
    let now = |name: &str| match (draft.given(name), before) {
        (Some(value), _) => value.clone(),
        (None, Some(before)) => before.value(name).clone(),
        (None, None) => Value::Null,
    };
    let (title, alias, parent) = (now("title"), now("alias"), now("parent_id").int());
    let key = before.map_or(0, Record::key);
    if alias.text().contains('/') {
        draft.refuse("alias", "alias must not contain a slash.");
        return Ok(());
    }
    let (level, above) = match parent {
        0 => (0, String::new()),
        _ => {
            let statement = Statement::fixed(
                "SELECT path FROM shop_categories WHERE id = ?",
                vec![Value::Int(parent)],
            );
            match transaction.texts(statement).await?.pop() {
                Some(path) => (i64::try_from(path.split('/').count()).unwrap_or(0), path),
                // That there is no such parent is found with the other references.
                None => return Ok(()),
            }
        }
    };
    if let Some(before) = before {
        let own = before.value("path").text();
        let below = above.strip_prefix(own).is_some_and(|rest| rest.starts_with('/'));
        if parent != 0 && (parent == key || below) {
            draft.refuse("parent_id", "A category cannot be its own descendant.");
            return Ok(());
        }
    }
    let alias = match alias.text() {
        "" => free_alias(title.text(), parent, key, transaction).await?,
        given => given.to_owned(),
    };
    let path = if above.is_empty() { alias.clone() } else { format!("{above}/{alias}") };
    let worked_out = [
        ("alias", Value::Text(alias)),
        ("level", Value::Int(level + 1)),
        ("path", Value::Text(path)),
    ];
    // A body may ask for an alias to be made that turns out to be the one that stands.
    let changed = worked_out.into_iter().filter(|(name, value)| now(name) != *value);
    for (name, value) in changed.collect::<Vec<_>>() {
        draft.set(name, value);
    }
    Ok(())
}

/// The alias of a title, numbered where a sibling has it.
async fn free_alias(
    title: &str,
    parent: i64,
    key: i64,
    transaction: &mut Transaction,
) -> Result<String, Error> {
    let mut plain = slug::slugify(title);
    // Room for a number within the 255 characters of the field.
    plain.truncate(240);
    if plain.is_empty() {
        plain.push_str(NAMELESS);
    }
    let statement = Statement::fixed(
        "SELECT alias FROM shop_categories WHERE parent_id = ? AND id <> ?",
        vec![Value::Int(parent), Value::Int(key)],
    );
    let taken: std::collections::HashSet<String> =
        transaction.texts(statement).await?.into_iter().collect();
    let numbered = (2_u64..).map(|number| format!("{plain}-{number}"));
    let mut candidates = std::iter::once(plain.clone()).chain(numbered);
    Ok(candidates.find(|alias| !taken.contains(alias)).unwrap_or(plain))
}

/// Brings the paths and levels of everything below a category into line with its own.
async fn move_branch(
    before: &Record,
    after: &Record,
    transaction: &mut Transaction,
) -> Result<(), Error> {
    let (old, new) = (before.value("path").text(), after.value("path").text());
    if old == new {
        return Ok(());
    }
    let deeper = after.value("level").int() - before.value("level").int();
    let statement = sql::move_branch(old, new, deeper, transaction.dialect());
    transaction.execute(statement).await.map(|_| ())
}
