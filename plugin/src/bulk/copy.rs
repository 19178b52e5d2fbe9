//! Copies the store to another database: which tables are copied and in which order, which tables
//! the triggers there derive again, and how both sides are compared at the end. Independent of the
//! engine: the types of columns are read from the databases themselves.
//!
//! The source is read row by row in one snapshot; the target is written in chunks, each in a
//! transaction of its own. So a store of any size is copied with the same memory. An interrupted
//! copy starts over, so no progress needs to be stored.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use futures_util::TryStreamExt;
use host_interface::ProgressHandle;

use crate::error::Error;
use crate::model::kept::{self, Aggregate, DAY_REVISIONS, RECOUNTS, SLOT, SLOTS};
use crate::model::registry::{Registry, Tabled};
use crate::model::value::{Kind, Value, decimal_text, money_text};
use crate::sql::{self, Rows, Statement, row};
use crate::store::{self, Store, Transaction};

/// How many rows are written in one transaction at most.
const CHUNK: usize = 1_000;
/// How many bytes of text are in memory at a time, plus one row. Servers refuse statements that are
/// much longer.
const CHUNK_TEXT: usize = 1 << 20;
/// How many rows one statement inserts. Statements of the same length are prepared once. A
/// statement that fits into a TLS record, 16 KiB, is much faster than a longer one: the driver does
/// not flush the rest, so the network holds it back until the first record has been acknowledged.
const AT_ONCE: usize = 20;
/// After how many rows progress is reported.
const REPORT_EVERY: u64 = 500;

/// Tables without a resource, which are copied after those with one.
const OTHERS: [Copied; 9] = [
    Copied::keyed("shop_mails", "shop_mail_id", "mails"),
    Copied::keyed("shop_keys", "shop_key_id", "idempotency keys"),
    Copied::new("shop_webhook_places", "webhook_id", "places of webhooks"),
    Copied::new("shop_webhook_retries", "webhook_id, kind, record", "failed events of webhooks"),
    Copied::new("shop_erasures", "order_key", "names kept until a day"),
    // A table of one row, whose key is always the same.
    Copied::new("shop_meta", "one", "record of the store itself"),
    Copied::new("shop_feed", "one", "feed of changes"),
    Copied::new("shop_changes", "kind, record", "places of changes"),
    // The copying of everything else has queued it as changes.
    Copied { without: Some("entry"), ..Copied::new(QUEUE, "entry", "queued changes") },
];

/// The orders of tables whose rows refer to others of the same table: a category may have been moved below
/// one with a greater key.
const ORDERS_OF_TREES: [(&str, &str); 1] = [("shop_categories", "level, id")];

/// The table of changes without places, which the triggers of the target fill.
const QUEUE: &str = "shop_change_queue";

/// Tables that differ between equal stores, and so are not compared: revisions, the slots of sums,
/// and the number of the latest recount.
const NOT_COMPARED: [&str; 3] = [DAY_REVISIONS.table, SLOTS, RECOUNTS];

/// Copies the store into another database, replacing any partial copy there, and returns a summary
/// line. Nothing else may write to either database meanwhile.
///
/// # Errors
/// When a table is neither copied nor derived, when the two sides differ at the end, or when a
/// database fails.
pub async fn copy(
    source: &Store,
    target: &Store,
    registry: Registry,
    progress: &ProgressHandle,
) -> Result<String, Error> {
    target.drop_tables().await?;
    target.migrate(registry).await?;
    let mut from = source.begin_read().await?;
    let mut to = target.begin_read().await?;
    let layout = Layout::of(registry, &catalogue(&mut from).await?, &catalogue(&mut to).await?)?;
    to.commit().await?;

    let mut total = 0;
    for (table, _) in &layout.copied {
        total += from.number(sql::count_rows(table.name)).await?.unsigned_abs();
    }
    // Each row is counted twice: it is copied and compared.
    let mut meter = Meter { progress, step: String::new(), done: 0, total: total * 2 };
    let mut last_keys = Vec::new();
    for (table, columns) in &layout.copied {
        meter.begin(format!("copying {}", table.what));
        fill(&mut from, target, table, columns, &mut meter).await?;
        last_keys.push(pass_over_keys(&mut from, target, table).await?);
    }

    let tables: Vec<&str> = layout.copied.iter().map(|(table, _)| table.name).collect();
    target.analyze(&tables).await?;
    compare_all(&mut from, target, &layout, &last_keys, &mut meter).await
}

/// Compares two stores, such as a copy and its source. Nothing else may write to either database
/// meanwhile.
///
/// # Errors
/// When they differ, or when a database fails.
pub async fn compare(here: &Store, there: &Store, registry: Registry) -> Result<(), Error> {
    let (mut from, mut to) = (here.begin_read().await?, there.begin_read().await?);
    let layout = Layout::of(registry, &catalogue(&mut from).await?, &catalogue(&mut to).await?)?;
    to.commit().await?;
    let mut last_keys = Vec::new();
    for (table, _) in &layout.copied {
        last_keys.push(last_key(&mut from, table).await?);
    }
    let progress = ProgressHandle::new(());
    let mut meter = Meter { progress: &progress, step: String::new(), done: 0, total: 0 };
    compare_all(&mut from, there, &layout, &last_keys, &mut meter).await.map(drop)
}

/// What triggers keep, table by table: each sum once, without sums of 0.
///
/// # Errors
/// When a derived table is absent, or the database fails.
pub async fn kept(store: &Store) -> Result<Vec<(&'static str, Vec<Vec<Value>>)>, Error> {
    let mut of = store.begin_read().await?;
    let catalogue = catalogue(&mut of).await?;
    let mut kept = Vec::new();
    for (table, columns) in derived(&catalogue, &catalogue)? {
        let sums = of.stream(groups(table, &columns), &columns.kinds)?.try_collect().await?;
        kept.push((table.table, sums));
    }
    Ok(kept)
}

/// The tables to copy, in an order in which each row comes after the rows that it refers to.
fn copied(registry: Registry) -> Vec<Copied> {
    let tables = registry.tables().into_iter().map(|Tabled { table, key, what }| {
        let order = ORDERS_OF_TREES.iter().find(|(tree, _)| *tree == table);
        Copied { order: order.map_or(key, |(_, order)| order), ..Copied::keyed(table, key, what) }
    });
    tables.chain(OTHERS).collect()
}

/// A table to copy.
#[derive(Clone, Copy)]
struct Copied {
    name: &'static str,
    /// The column of generated keys.
    key: Option<&'static str>,
    /// The order in which its rows are copied.
    order: &'static str,
    /// A column that is neither copied nor compared.
    without: Option<&'static str>,
    /// The name of its rows in messages.
    what: &'static str,
}

impl Copied {
    /// A table whose keys are not generated.
    const fn new(name: &'static str, order: &'static str, what: &'static str) -> Self {
        Self { name, key: None, order, without: None, what }
    }

    const fn keyed(name: &'static str, key: &'static str, what: &'static str) -> Self {
        Self { key: Some(key), ..Self::new(name, key, what) }
    }
}

/// Columns that exist on both sides.
#[derive(Default)]
struct Columns {
    names: Vec<String>,
    kinds: Vec<Kind>,
}

impl Columns {
    fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }
}

/// The tables of the store, each with its columns and their types in one database.
type Catalogue = BTreeMap<String, Vec<(String, Kind)>>;

async fn catalogue(of: &mut Transaction) -> Result<Catalogue, Error> {
    row! {
        struct Column {
            table: String,
            column: String,
            form: String,
            places: i64,
        }
    }
    let columns = Rows::<Column>::written(of.dialect().columns, Vec::new());
    let mut catalogue = Catalogue::new();
    for Column { table, column, form, places } in of.rows(columns).await? {
        let kind = kind_of(&form, places).ok_or_else(|| {
            Error::Copy(format!("{table}.{column} has a type that cannot be copied: {form}"))
        })?;
        catalogue.entry(table).or_default().push((column, kind));
    }
    Ok(catalogue)
}

/// The kind of a column of this type, as far as the type determines it.
fn kind_of(form: &str, places: i64) -> Option<Kind> {
    Some(match form {
        "INTEGER" | "smallint" | "integer" | "int" | "bigint" => Kind::COUNT,
        "TEXT" | "text" | "character varying" | "varchar" | "mediumtext" => Kind::WORD,
        "numeric" | "decimal" => {
            let places = u8::try_from(places).ok()?;
            Kind::Decimal { places, shown: 0, min: i64::MIN, max: i64::MAX }
        }
        "timestamp without time zone" | "datetime" => Kind::DateTime,
        "json" => Kind::Json,
        _ => return None,
    })
}

/// The kind that both databases can represent: one may store as a plain number or text what the
/// other has a type for.
fn of_both(here: Kind, there: Kind) -> Option<Kind> {
    match (here, there) {
        (here, there) if here == there => Some(here),
        (Kind::COUNT, known @ Kind::Decimal { .. })
        | (known @ Kind::Decimal { .. }, Kind::COUNT)
        | (Kind::WORD, known @ (Kind::DateTime | Kind::Json))
        | (known @ (Kind::DateTime | Kind::Json), Kind::WORD) => Some(known),
        _ => None,
    }
}

/// All tables of the store with the columns that are copied or compared.
struct Layout {
    copied: Vec<(Copied, Columns)>,
    /// The tables that triggers keep, which are compared and not copied. The triggers are active
    /// while the target is written, although they take two fifths of the time of a product: two
    /// stores whose sums agree after different histories are then known to be equal. Engines differ
    /// in how many rows a sum is spread over, and a sum of 0 may be missing.
    derived: Vec<(&'static Aggregate, Columns)>,
}

impl Layout {
    /// Every table of either database must be handled explicitly.
    fn of(registry: Registry, here: &Catalogue, there: &Catalogue) -> Result<Self, Error> {
        let copied = copied(registry);
        let known = |table: &str| {
            copied.iter().any(|copied| copied.name == table)
                || kept::ALL.iter().any(|derived| derived.table == table)
                || NOT_COMPARED.contains(&table)
        };
        if let Some(table) = here.keys().chain(there.keys()).find(|table| !known(table)) {
            return Err(Error::Copy(format!("{table} is neither copied nor derived")));
        }
        let derived = derived(here, there)?;
        let copied = copied.into_iter().map(|table| {
            let columns = |of: &Catalogue| {
                let mut columns = of.get(table.name).cloned().unwrap_or_default();
                columns.retain(|(name, _)| Some(&**name) != table.without);
                columns
            };
            let columns = common(table.name, columns(here), &columns(there))?;
            Ok((table, columns))
        });
        Ok(Self { copied: copied.collect::<Result<_, Error>>()?, derived })
    }
}

/// The tables that triggers keep, with their columns.
fn derived(
    here: &Catalogue,
    there: &Catalogue,
) -> Result<Vec<(&'static Aggregate, Columns)>, Error> {
    let derived = kept::ALL.into_iter().map(|table| {
        let columns = |catalogue: &Catalogue| {
            let mut columns = catalogue.get(table.table).cloned().unwrap_or_default();
            columns.retain(|(name, _)| name != SLOT);
            // The grouping columns come first, followed by a sum.
            columns.sort_by_key(|(name, _)| {
                let by = table.by.iter().position(|group| group.column == name);
                by.unwrap_or(table.by.len())
            });
            columns
        };
        let columns = common(table.table, columns(here), &columns(there))?;
        Ok((table, columns))
    });
    derived.collect()
}

/// The columns of a table, in the order of the first side.
fn common(
    table: &str,
    here: Vec<(String, Kind)>,
    there: &[(String, Kind)],
) -> Result<Columns, Error> {
    let mut columns = Columns::default();
    for (name, kind) in here {
        let other = there.iter().find(|(other, _)| *other == name);
        let kind = other.and_then(|(_, other)| of_both(kind, *other));
        columns.kinds.extend(kind);
        columns.names.push(name);
    }
    if !there.is_empty() && [columns.names.len(), columns.kinds.len()] == [there.len(); 2] {
        Ok(columns)
    } else {
        Err(Error::Copy(format!("{table} has other columns in the new database")))
    }
}

/// Copies the rows of a table.
async fn fill(
    from: &mut Transaction,
    target: &Store,
    table: &Copied,
    columns: &Columns,
    meter: &mut Meter<'_>,
) -> Result<(), Error> {
    // Migrations and triggers have already inserted rows that the source has too, under other keys.
    store::retry(|| target.write([sql::delete_rows(table.name)])).await?;
    let names = columns.names();
    let mut rows = from.stream(sql::all_rows(table.name, &names, table.order), &columns.kinds)?;
    let (mut chunk, mut text) = (Vec::with_capacity(CHUNK), 0);
    loop {
        let row = rows.try_next().await?;
        let is_last = row.is_none();
        if let Some(row) = row {
            text += row.iter().map(Value::text_len).sum::<usize>();
            chunk.push(row);
        }
        if is_last || chunk.len() == CHUNK || text >= CHUNK_TEXT {
            store::retry(|| {
                let parts = chunk.chunks(AT_ONCE);
                let dialect = target.dialect();
                let insert = |rows: &[Vec<Value>]| {
                    sql::insert_at_once(table.name, &names, rows.concat(), dialect)
                };
                // What triggers queue here was a change in the source, and is none in the copy.
                let unqueue = (table.name != QUEUE).then(|| sql::delete_rows(QUEUE));
                target.write(parts.map(insert).chain(unqueue).collect::<Vec<_>>())
            })
            .await?;
            meter.add(chunk.len() as u64);
            chunk.clear();
            text = 0;
        }
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Advances the key generator of the new table beyond all keys that the old table has ever
/// generated, including those of deleted records, and returns the last of them.
async fn pass_over_keys(
    from: &mut Transaction,
    target: &Store,
    table: &Copied,
) -> Result<i64, Error> {
    let Some(key) = table.key else { return Ok(0) };
    let last = last_key(from, table).await?;
    // A table that has never generated a key needs no adjustment.
    if last > 0 {
        let dialect = target.dialect();
        for statement in sql::give_keys_above(table.name, key, last, dialect) {
            target.execute(statement).await?;
        }
    }
    Ok(last)
}

/// The last key that a table generated; 0 where keys are not generated.
async fn last_key(of: &mut Transaction, table: &Copied) -> Result<i64, Error> {
    match table.key {
        Some(key) => of.number(sql::last_key(table.name, key, of.dialect())).await,
        None => Ok(0),
    }
}

/// A summary of rows for comparison.
struct Tally {
    rows: u64,
    /// The sum of each numeric column, decimals in units.
    sums: Vec<i128>,
    /// A digest of all values of all rows, in order.
    digest: u64,
}

impl Tally {
    async fn of(
        side: &mut Transaction,
        statement: Statement,
        kinds: &[Kind],
        mut each: impl FnMut(),
    ) -> Result<Self, Error> {
        let mut rows = side.stream(statement, kinds)?;
        let mut digest = DefaultHasher::new();
        let mut tally = Self { rows: 0, sums: vec![0; kinds.len()], digest: 0 };
        while let Some(row) = rows.try_next().await? {
            row.hash(&mut digest);
            for (sum, value) in tally.sums.iter_mut().zip(&row) {
                // What is no number is compared by the digest alone.
                if let Value::Int(number) | Value::Decimal { units: number, .. } = value {
                    *sum += i128::from(*number);
                }
            }
            tally.rows += 1;
            each();
        }
        tally.digest = digest.finish();
        Ok(tally)
    }

    /// Describes how the other side differs.
    fn difference(&self, there: &Tally, table: &str, columns: &Columns) -> Option<String> {
        if self.rows != there.rows {
            let (here, there) = (self.rows, there.rows);
            return Some(format!("{table} has {there} rows in the copy instead of {here}"));
        }
        let columns = columns.names.iter().zip(&columns.kinds);
        let mut sums = self.sums.iter().zip(&there.sums).zip(columns);
        if let Some(((here, there), (column, kind))) = sums.find(|((here, there), _)| here != there)
        {
            let places = if let Kind::Decimal { places, .. } = kind { *places } else { 0 };
            let [here, there] = [here, there].map(|sum| decimal_text(*sum, places, 0));
            return Some(format!(
                "the sum of {column} in {table} is {there} in the copy instead of {here}"
            ));
        }
        (self.digest != there.digest).then(|| {
            format!("{table} has the same counts and sums in the copy but different values")
        })
    }
}

/// Reads everything from both sides, and returns a summary line.
async fn compare_all(
    from: &mut Transaction,
    target: &Store,
    layout: &Layout,
    last_keys: &[i64],
    meter: &mut Meter<'_>,
) -> Result<String, Error> {
    let mut to = target.begin_read().await?;
    let mut parts = Vec::new();
    for ((table, columns), last_key) in layout.copied.iter().zip(last_keys) {
        meter.begin(format!("comparing {}", table.what));
        let rows = sql::all_rows(table.name, &columns.names(), table.order);
        let rows =
            compare_tables(from, &mut to, table.name, columns, rows, || meter.add(1)).await?;
        compare_keys(*last_key, &mut to, table).await?;
        if table.key.is_some() {
            parts.push(format!("{rows} {}", table.what));
        }
    }
    meter.begin("comparing sums".to_owned());
    for (table, columns) in &layout.derived {
        let groups = groups(table, columns);
        compare_tables(from, &mut to, table.table, columns, groups, || ()).await?;
    }
    let copied = parts.join(", ");
    Ok(match order_totals(&mut to).await? {
        totals if totals.is_empty() => copied,
        totals => format!("{copied}; orders of {}", totals.join(", ")),
    })
}

/// Reads the sums of a table that triggers keep.
fn groups(table: &Aggregate, columns: &Columns) -> Statement {
    let names = columns.names();
    let (by, sums) = names.split_at(table.by.len().min(names.len()));
    sql::all_groups(table.table, by, sums)
}

/// Reads the same rows from both sides, and returns their number.
async fn compare_tables(
    from: &mut Transaction,
    to: &mut Transaction,
    table: &str,
    columns: &Columns,
    statement: Statement,
    each: impl FnMut(),
) -> Result<u64, Error> {
    let (here, there) = tokio::try_join!(
        Tally::of(from, statement.clone(), &columns.kinds, each),
        Tally::of(to, statement, &columns.kinds, || ()),
    )?;
    match here.difference(&there, table, columns) {
        Some(difference) => Err(Error::Copy(difference)),
        None => Ok(here.rows),
    }
}

/// A key that was generated once must never be generated again.
async fn compare_keys(here: i64, to: &mut Transaction, table: &Copied) -> Result<(), Error> {
    let there = last_key(to, table).await?;
    if here == there {
        Ok(())
    } else {
        Err(Error::Copy(format!(
            "the last key of {} is {there} in the copy instead of {here}",
            table.name
        )))
    }
}

/// The totals of all orders in each currency. A sum of sums may exceed the integers of a database.
async fn order_totals(of: &mut Transaction) -> Result<Vec<String>, Error> {
    const KINDS: &[Kind] = &[Kind::WORD, Kind::MONEY];
    let orders = sql::all_rows("shop_orders", &["currency_code", "order_total"], "shop_order_id");
    let mut orders = of.stream(orders, KINDS)?;
    let mut totals: BTreeMap<String, i128> = BTreeMap::new();
    while let Some(order) = orders.try_next().await? {
        let [currency, total] = &order[..] else {
            return Err(Error::Contract("an order has other columns"));
        };
        let currency = currency.text("currency_code")?.to_owned();
        *totals.entry(currency).or_default() += i128::from(total.int("order_total")?);
    }
    let totals = totals.into_iter();
    let totals = totals.map(|(currency, total)| format!("{} {currency}", money_text(total)));
    Ok(totals.collect())
}

/// Progress over the whole copy.
struct Meter<'a> {
    progress: &'a ProgressHandle,
    step: String,
    done: u64,
    total: u64,
}

impl Meter<'_> {
    fn begin(&mut self, step: String) {
        self.step = step;
        self.report();
    }

    fn add(&mut self, rows: u64) {
        let before = self.done / REPORT_EVERY;
        self.done += rows;
        if self.done / REPORT_EVERY > before {
            self.report();
        }
    }

    fn report(&self) {
        self.progress.report(&self.step, self.done, self.total);
    }
}
