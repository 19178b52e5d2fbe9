//! The derived objects of a database: tables, triggers and functions that follow from the descriptions
//! of resources and of kept numbers, and a few that are written by hand in `plugin/schema`. Here are
//! their texts, and the statements of the note that a database keeps of those it has. Independent of
//! when they are made; see `store::reconciliation`.

use sha2::{Digest, Sha256};

use super::dialect::Dialect;
use super::feed::followed;
use super::kept;
use super::statement::Statement;
use crate::model::registry::Registry;
use crate::model::value::Value;

/// The number of the derived objects. A release that changes any of them has a greater number than the
/// release before, so that an older program does not put its own objects back.
pub const NUMBER: i64 = 2;

/// What the note has instead of a digest once a program has begun to change objects.
pub const UNFINISHED: &str = "unfinished";
/// What the note has instead of a digest once an object was missing: nothing that follows from records can be
/// relied on then.
pub const DAMAGED: &str = "damaged";

/// An object that follows from descriptions.
#[derive(Debug)]
pub struct Object {
    /// Its kind and name, as [`Dialect::objects`] reads them.
    pub name: String,
    /// The table that a trigger belongs to.
    pub on: Option<String>,
    /// The statements that create it, or replace one of this name.
    pub create: Vec<String>,
    /// The statement that removes it.
    pub remove: String,
    /// The statements that fill a new table from the records, while others write.
    pub fill: Vec<String>,
}

/// All objects, in the order in which they are created.
pub fn objects(registry: Registry, dialect: &Dialect) -> Vec<Object> {
    let fills = kept::fills(dialect.kept);
    let followed = followed(registry);
    let texts = by_hand(dialect.by_hand)
        .chain((dialect.kept.indexes)())
        .chain(kept::tables(dialect.kept))
        .chain((dialect.kept.triggers)())
        .chain(followed.iter().flat_map(dialect.feed_triggers));
    let object = |text: String| {
        let mut object = Object::of(text, dialect);
        let table = object.name.strip_prefix("table ");
        let fill = fills.iter().find(|fill| Some(fill.table) == table);
        object.fill = fill.map(|fill| fill.statements.clone()).unwrap_or_default();
        object
    };
    texts.map(object).collect()
}

/// A digest of these objects.
pub fn digest_of(objects: &[Object]) -> String {
    let sum = objects.iter().fold(Sha256::new(), |sum, object| {
        sum.chain_update(&object.name).chain_update(object.digest())
    });
    hex::encode(sum.finalize())
}

impl Object {
    /// A digest of its text, and of what fills it.
    pub fn digest(&self) -> String {
        let texts = self.create.iter().chain(&self.fill);
        let sum = texts.fold(Sha256::new(), |sum, text| sum.chain_update(text).chain_update(";"));
        hex::encode(sum.finalize())
    }

    /// The object that a statement creates.
    fn of(text: String, dialect: &Dialect) -> Self {
        let mut words = text.split_whitespace().filter(|word| *word != "VIRTUAL").skip(1);
        let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let on = words.skip_while(|word| *word != "ON").nth(1);
        let on = on.filter(|_| kind == "TRIGGER").map(str::to_owned);
        let remove = match &on {
            Some(table) if dialect.triggers_belong_to_tables => {
                format!("DROP TRIGGER IF EXISTS {name} ON {table}")
            }
            _ if kind == "FUNCTION" => format!("DROP FUNCTION IF EXISTS {name} CASCADE"),
            _ => format!("DROP {kind} IF EXISTS {name}"),
        };
        let name = format!("{} {}", kind.to_lowercase(), name.trim_end_matches("()"));
        let create = if dialect.replaced_in_place.contains(&kind) {
            vec![text.replacen("CREATE", "CREATE OR REPLACE", 1)]
        } else {
            vec![remove.clone(), text]
        };
        Self { name, on, create, remove, fill: Vec::new() }
    }
}

/// Reads the number that a database has noted.
pub fn noted_number() -> Statement {
    Statement::fixed("SELECT derived_number FROM shop_meta", Vec::new())
}

/// Reads the digest that it has noted.
pub fn noted_digest() -> Statement {
    Statement::fixed("SELECT derived_digest FROM shop_meta", Vec::new())
}

/// Reads the objects that it has noted: name, digest, and the statement that removes the object.
pub fn noted_objects() -> Statement {
    Statement::fixed("SELECT name, digest, remove FROM shop_derived", Vec::new())
}

/// Notes the number of this program, and a digest.
pub fn note(digest: &str) -> Statement {
    Statement::fixed(
        "UPDATE shop_meta SET derived_number = ?, derived_digest = ?",
        vec![Value::Int(NUMBER), Value::Text(digest.to_owned())],
    )
}

/// Notes an object.
pub fn note_object(object: &Object) -> [Statement; 2] {
    let Object { name, remove, .. } = object;
    let values = vec![name.clone(), object.digest(), remove.clone()];
    let insert = "INSERT INTO shop_derived (name, digest, remove) VALUES (?, ?, ?)";
    let insert = Statement::fixed(insert, values.into_iter().map(Value::Text).collect());
    [forget_object(name), insert]
}

/// Removes the note of an object.
pub fn forget_object(name: &str) -> Statement {
    let values = vec![Value::Text(name.to_owned())];
    Statement::fixed("DELETE FROM shop_derived WHERE name = ?", values)
}

/// The statements of a file, without its comments. Each begins with a line of its own.
fn by_hand(file: &str) -> impl Iterator<Item = String> {
    let lines = file.lines().filter(|line| !line.starts_with("--"));
    let text = lines.fold(String::new(), |text, line| text + "\n" + line);
    let end = |statement: &str| statement.trim_end().trim_end_matches(';').to_owned();
    let statements = text.split("\nCREATE ").skip(1).map(|rest| format!("CREATE {}", end(rest)));
    statements.collect::<Vec<_>>().into_iter()
}
