//! SQL that finds, replaces and removes what the store has of a person. Which columns these are follows from the
//! marks of fields. Independent of what belongs to whom.

use time::PrimitiveDateTime;

use super::dialect::Dialect;
use super::row::{Key, Rows, row};
use super::statement::{Builder, Statement};
use super::write::{columns_of, delete_keys};
use crate::model::field::{Access, Field};
use crate::model::kept::{ADDRESS_SEARCH, ORDER_SEARCH};
use crate::model::resource::Resource;
use crate::model::value::Value;

/// How many rows of a table one statement changes.
pub const AT_ONCE: usize = 500;

row! {
    /// An order of a person.
    pub struct OrderOf {
        /// Its key.
        pub key: i64 = "shop_order_id",
        /// Its reference.
        pub reference: String = "order_id",
        /// Its address, case-folded.
        pub email: String = "user_email_fold",
        /// Its status.
        pub status: i64 = "order_state_id",
        /// How far it has been shipped.
        pub state: String = "fulfilment_state",
    }
}

/// The orders of a person by their addresses, case-folded, and by the key of the user.
pub fn orders_of(emails: &[String], user: Option<i64>) -> Rows<OrderOf> {
    const FIND: &str = "FROM shop_orders WHERE user_email_fold IN (?) UNION SELECT shop_order_id, order_id, \
        user_email_fold, order_state_id, fulfilment_state FROM shop_orders WHERE user_id IN (?)";
    Rows::select(FIND, vec![texts(emails), numbers(user)])
}

/// The orders of a person whose names and addresses an erasure has kept until a day.
pub fn kept_orders_of(emails: &[String], user: Option<i64>) -> Rows<Key> {
    const FIND: &str = "SELECT order_key AS c0 FROM shop_erasures WHERE email_hash IN (?) \
        UNION SELECT order_key FROM shop_erasures WHERE user_id IN (?)";
    Rows::written(FIND, vec![texts(emails), numbers(user)])
}

/// The keys of a table's rows with one of these texts in a case-folded column, or with this number in another.
pub fn rows_of(
    resource: &Resource,
    email: &str,
    user: Option<&str>,
    emails: &[String],
    of: Option<i64>,
) -> Rows<Key> {
    let Resource { table, key, .. } = resource;
    let by_email = format!("SELECT {key} AS c0 FROM {table} WHERE {email} IN (?)");
    let (text, binds) = match user {
        Some(user) => (
            format!("{by_email} UNION SELECT {key} FROM {table} WHERE {user} IN (?)"),
            vec![texts(emails), numbers(of)],
        ),
        None => (by_email, vec![texts(emails)]),
    };
    Rows::written(text, binds)
}

/// The keys of the rows that belong to these records, by the column that refers to them.
pub fn parts_of(part: &Resource, by: &str, keys: &[i64]) -> Rows<Key> {
    let Resource { table, key, .. } = part;
    let text = format!("SELECT {key} AS c0 FROM {table} WHERE {by} IN (?)");
    Rows::written(text, vec![keys.iter().copied().map(Value::Int).collect()])
}

/// All addresses of a column, case-folded, each once.
pub fn all_emails(table: &str, column: &str) -> Statement {
    Statement::from(format!("SELECT DISTINCT {column} AS c0 FROM {table} WHERE {column} <> ''"))
}

/// The columns of rows whose texts have to be read to know whom they are about, from a key on.
pub fn contents(resource: &Resource, columns: &[&str], from: i64) -> Statement {
    let Resource { table, key, .. } = resource;
    let columns: String = columns.iter().map(|column| format!(", {column}")).collect();
    let text = format!("SELECT {key}{columns} FROM {table} WHERE {key} > ? ORDER BY {key}");
    Statement { text, binds: vec![Value::Int(from)] }
}

/// Gives fields of the rows with these keys in a column other values, where one of the fields has another one, and
/// counts the change in their versions.
pub fn replace(
    resource: &Resource,
    by: &str,
    keys: &[i64],
    values: &[(&Field, Value)],
    dialect: &Dialect,
) -> Statement {
    let now = Value::now();
    let touched = resource.fields().filter(|field| field.access == Access::Touched);
    let all = values.iter().map(|(field, value)| (*field, value));
    let all = all.chain(touched.map(|field| (field, &now)));
    let mut sql = Builder::new(dialect);
    sql.push("UPDATE ").push(resource.table).push(" SET ");
    if resource.versioned {
        sql.push("version = version + 1, ");
    }
    sql.list(columns_of(resource, all), |sql, (name, value)| {
        sql.push(&name).push(" = ").bind(value)
    });
    sql.push(" WHERE ").among(by, keys).push(" AND ").differs(values).finish()
}

/// Removes the rows with these keys.
pub fn remove(resource: &Resource, keys: &[i64], dialect: &Dialect) -> Statement {
    delete_keys(resource.table, resource.key, keys, dialect)
}

/// Notes that these orders keep their names and addresses until a day, and who they belong to.
pub fn keep_until(
    keys: &[i64],
    day: &str,
    email_hash: &str,
    user: Option<i64>,
    dialect: &Dialect,
) -> [Statement; 2] {
    let mut sql = Builder::new(dialect);
    sql.push(
        "INSERT INTO shop_erasures (order_key, due_on, email_hash, user_id) SELECT shop_order_id, ",
    );
    for value in [Value::Text(day.to_owned()), Value::Text(email_hash.to_owned())] {
        sql.bind(value).push(", ");
    }
    sql.bind(Value::Int(user.unwrap_or_default()));
    sql.push(" FROM shop_orders WHERE ").among("shop_order_id", keys);
    [forget(keys, dialect), sql.finish()]
}

/// Removes the notes of these orders.
pub fn forget(keys: &[i64], dialect: &Dialect) -> Statement {
    delete_keys("shop_erasures", "order_key", keys, dialect)
}

const DUE: &str = "FROM shop_erasures WHERE due_on <= ?";

/// Some of the orders that have kept their names and addresses until today or before, from a key on.
pub fn due(today: &str, from: i64) -> Rows<Key> {
    let text = format!("SELECT order_key AS c0 {DUE} AND order_key > ? ORDER BY order_key LIMIT ?");
    let binds = [Value::Text(today.to_owned()), Value::Int(from), Value::Int(MOST)];
    Rows::written(text, binds.map(|value| vec![value]).to_vec())
}

/// How many there are.
pub fn count_due(today: &str) -> Rows<Count> {
    Rows::select(DUE, vec![vec![Value::Text(today.to_owned())]])
}

row! {
    /// An order that is old enough to lose what is personal.
    pub struct OldOrder {
        /// Its key.
        pub key: i64 = "shop_order_id",
        /// Its user, 0 for a guest.
        pub user: i64 = "user_id",
        /// Its address, case-folded.
        pub email: String = "user_email_fold",
    }
}

/// Which orders are old: those with one of these statuses, or with another one, that were made before a moment.
#[derive(Clone, Debug)]
pub struct Old {
    /// The statuses.
    pub statuses: Vec<i64>,
    /// Whether the orders have one of them.
    pub has_one: bool,
    /// The moment.
    pub before: PrimitiveDateTime,
}

/// Some of the old orders that still have what is personal, from a key on.
pub fn old_orders(old: &Old, from: i64) -> Rows<OldOrder> {
    let (rest, mut binds) = old.selected();
    let text = format!("{rest} AND shop_order_id > ? ORDER BY shop_order_id LIMIT ?");
    binds.extend([vec![Value::Int(from)], vec![Value::Int(MOST)]]);
    Rows::select(&text, binds)
}

/// How many old orders still have what is personal.
pub fn count_old_orders(old: &Old) -> Rows<Count> {
    let (rest, binds) = old.selected();
    Rows::select(&rest, binds)
}

row! {
    /// A number of rows.
    pub struct Count {
        /// The number.
        pub count: i64 = "count(*)",
    }
}

impl Old {
    fn selected(&self) -> (String, Vec<Vec<Value>>) {
        let not = if self.has_one { "" } else { "NOT " };
        let text = format!(
            "FROM shop_orders WHERE created_on < ? AND order_state_id {not}IN (?) \
             AND user_email_fold NOT LIKE ?"
        );
        // A list without members would be null, which no status is in, and none is not in.
        let statuses = self.statuses.iter().copied().chain([0]).map(Value::Int).collect();
        let nobody = Value::Text(format!("%{NOBODY}"));
        (text, vec![vec![Value::Moment(self.before)], statuses, vec![nobody]])
    }
}

/// The domain of the addresses of nobody. It is reserved, so that no mail can be sent there.
pub const NOBODY: &str = "@erased.invalid";

const UNUSED: &str = "FROM shop_addresses a LEFT JOIN shop_changes c ON c.kind = 'customers' \
    AND c.record = a.shop_address_id WHERE coalesce(c.seq, 0) < ? \
    AND NOT EXISTS (SELECT 1 FROM shop_orders o WHERE o.user_email_fold = a.email_fold) \
    AND NOT EXISTS (SELECT 1 FROM shop_orders o WHERE a.user_id > 0 AND o.user_id = a.user_id)";

/// Some of the addresses of customers without orders that have not changed since a place in the feed, from a key on.
pub fn unused_addresses(since: i64, from: i64) -> Rows<Key> {
    let text = format!(
        "SELECT a.shop_address_id AS c0 {UNUSED} AND a.shop_address_id > ? \
         ORDER BY a.shop_address_id LIMIT ?"
    );
    Rows::written(text, [since, from, MOST].map(|number| vec![Value::Int(number)]).to_vec())
}

/// How many there are.
pub fn count_unused_addresses(since: i64) -> Rows<Count> {
    Rows::select(UNUSED, vec![vec![Value::Int(since)]])
}

/// The place at which the feed of changes began: nothing is known of what changed before.
pub fn feed_began() -> Statement {
    Statement::fixed("SELECT began FROM shop_feed", Vec::new())
}

/// How many rows one step is about, for which other writers wait.
const MOST: i64 = 200;

/// The indexes of the texts of orders and of addresses, on an engine where such an index keeps for a while what is
/// deleted from it.
pub fn keeping_indexes(dialect: &Dialect) -> Option<[&'static str; 2]> {
    dialect.keeps_deleted_texts.then_some([ORDER_SEARCH, ADDRESS_SEARCH])
}

/// Makes an index of texts remove at once what is deleted from it, or leave that to later merges again.
pub fn forget_at_once(index: &str, at_once: bool) -> Statement {
    let text = format!("INSERT INTO {index} ({index}, rank) VALUES ('secure-delete', ?)");
    Statement { text, binds: vec![Value::Int(at_once.into())] }
}

/// Writes an index of texts anew, without what was deleted from it.
pub fn write_anew(index: &str) -> Statement {
    Statement::from(format!("INSERT INTO {index} ({index}) VALUES ('optimize')"))
}

/// The number of orders.
pub fn count_orders() -> Rows<Count> {
    Rows::select("FROM shop_orders", Vec::new())
}

impl Builder<'_> {
    /// One of these fields has another value.
    fn differs(&mut self, values: &[(&Field, Value)]) -> &mut Self {
        self.any_of(values, |sql, (field, value)| {
            if field.kind.is_json() {
                // The type of JSON of some engines cannot be compared.
                sql.push("concat(").push(field.name).push(", '') <> ");
                sql.bind(Value::Text(value.to_string()))
            } else {
                sql.push(field.name).push(" <> ").bind(value.clone())
            }
        })
    }
}

/// Texts to be found; of none, one that no column of addresses has, because an engine with types has no null of text.
fn texts(texts: &[String]) -> Vec<Value> {
    match texts {
        [] => vec![Value::Text(" ".to_owned())],
        texts => texts.iter().cloned().map(Value::Text).collect(),
    }
}

/// The key of a user to be found; of none, one that no user has.
fn numbers(number: Option<i64>) -> Vec<Value> {
    vec![Value::Int(number.unwrap_or(-1))]
}
