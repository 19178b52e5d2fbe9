//! Moving the store to another database: which tables are copied and in which order, which ones the
//! triggers there derive again, and how both sides are compared in the end. Knows no engine: what
//! the columns hold is read from the databases themselves.
//!
//! The source is read as it was at one moment and a row at a time; the target is written in chunks,
//! each of them a transaction. So a store of any size is copied in the same memory. A copy that was
//! cut off is not gone on with but begun again, which is why nothing needs to be remembered.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use futures_util::TryStreamExt;
use host_interface::ProgressHandle;

use crate::error::Error;
use crate::model::kept::{self, DAY_REVISIONS, Kept, RECOUNTS, SLOT, SLOTS};
use crate::model::value::{Kind, Value, decimal_text};
use crate::sql::{self, Statement, Table};
use crate::store::{self, Store, Transaction};

/// How many rows are written in one transaction at most.
const CHUNK: usize = 1_000;
/// How many bytes of text are in memory at a time, but for one row more. Servers refuse statements
/// that are much longer.
const CHUNK_TEXT: usize = 1 << 20;
/// How many rows are written by one statement. Statements of the same length are prepared once, and
/// one that fits into a record of TLS, 16 KiB, is much faster than a longer one: the driver leaves
/// the network to hold back what follows the first record until that is acknowledged.
const AT_ONCE: usize = 20;
/// After how many rows progress is reported.
const REPORT_EVERY: u64 = 500;

/// What is copied, so that a row comes after those it refers to.
const COPIED: [Copied; 20] = [
    Copied::new("shop_countries", "shop_country_id", "countries"),
    Copied::new("shop_zones", "shop_zone_id", "zones"),
    Copied::new("shop_currencies", "shop_currency_id", "currencies"),
    Copied::new("shop_orderstatuses", "shop_orderstatus_id", "order statuses"),
    Copied::new("shop_manufacturers", "shop_manufacturer_id", "manufacturers"),
    Copied::new("shop_coupons", "shop_coupon_id", "coupons"),
    Copied::new("shop_methods", "extension_id", "methods"),
    Copied::new("shop_taxprofiles", "shop_taxprofile_id", "tax profiles"),
    Copied::new("shop_taxrates", "shop_taxrate_id", "tax rates"),
    // A category may have been moved below one that is younger than itself.
    Copied { order: "level, id", ..Copied::new("shop_categories", "id", "categories") },
    Copied::new("shop_products", "shop_product_id", "products"),
    Copied::new("shop_variants", "shop_variant_id", "variants"),
    Copied::new("shop_addresses", "shop_address_id", "addresses"),
    Copied::new("shop_orders", "shop_order_id", "orders"),
    Copied::new("shop_orderitems", "shop_orderitem_id", "order items"),
    Copied::new("shop_orderhistories", "shop_orderhistory_id", "history entries"),
    Copied::new("shop_vouchers", "shop_voucher_id", "vouchers"),
    Copied::new("shop_voucher_ledger", "entry_id", "voucher entries"),
    Copied::new("shop_mails", "shop_mail_id", "mails"),
    // One row, whose key nobody gives.
    Copied { key: None, ..Copied::new("shop_meta", "one", "record of the store itself") },
];

/// What shows only whether something has changed, in which rows sums are kept, or which recount is the
/// latest: not compared.
const OF_ITS_OWN: [&str; 3] = [DAY_REVISIONS.table, SLOTS, RECOUNTS];

/// Copies the store into another database, in place of whatever is left of a store there, and gives
/// a line about what was copied. Nobody may write to either meanwhile.
///
/// # Errors
/// When a table is neither copied nor derived, when both sides differ in the end, or when a
/// database fails.
pub async fn copy(
    source: &Store,
    target: &Store,
    progress: &ProgressHandle,
) -> Result<String, Error> {
    target.drop_tables().await?;
    target.migrate().await?;
    let mut from = source.begin_read().await?;
    let mut to = target.begin_read().await?;
    let layout = Layout::of(&catalogue(&mut from).await?, &catalogue(&mut to).await?)?;
    to.commit().await?;

    let mut total = 0;
    for (table, _) in &layout.copied {
        total += number(&mut from, sql::count_rows(table.name)).await?.unsigned_abs();
    }
    // Each row is copied once and compared once.
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

/// Compares two stores, as a copy is with what it was made from. Nobody may write to either meanwhile.
///
/// # Errors
/// When they differ, or a database fails.
pub async fn compare(here: &Store, there: &Store) -> Result<(), Error> {
    let (mut from, mut to) = (here.begin_read().await?, there.begin_read().await?);
    let layout = Layout::of(&catalogue(&mut from).await?, &catalogue(&mut to).await?)?;
    to.commit().await?;
    let mut last_keys = Vec::new();
    for (table, _) in &layout.copied {
        last_keys.push(last_key(&mut from, table).await?);
    }
    let progress = ProgressHandle::new(());
    let mut meter = Meter { progress: &progress, step: String::new(), done: 0, total: 0 };
    compare_all(&mut from, there, &layout, &last_keys, &mut meter).await.map(drop)
}

/// What triggers keep, table by table: each sum once, and none that is 0.
///
/// # Errors
/// When there is a table that is neither copied nor derived, or the database fails.
pub async fn kept(store: &Store) -> Result<Vec<(&'static str, Vec<Vec<Value>>)>, Error> {
    let mut of = store.begin_read().await?;
    let catalogue = catalogue(&mut of).await?;
    let mut kept = Vec::new();
    for (table, columns) in Layout::of(&catalogue, &catalogue)?.derived {
        let sums = of.stream(groups(table, &columns), &columns.kinds)?.try_collect().await?;
        kept.push((table.table, sums));
    }
    Ok(kept)
}

/// A table that is copied.
struct Copied {
    name: &'static str,
    /// The column of the keys, which the engine gives.
    key: Option<&'static str>,
    /// In which order its rows are copied.
    order: &'static str,
    /// What its rows are to people.
    what: &'static str,
}

impl Copied {
    const fn new(name: &'static str, key: &'static str, what: &'static str) -> Self {
        Self { name, key: Some(key), order: key, what }
    }
}

/// Columns that both sides have.
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
    const COLUMNS: &[Kind] = &[Kind::WORD, Kind::WORD, Kind::WORD, Kind::COUNT];
    let cells = of.table(Table::new(of.dialect().columns, Vec::new(), COLUMNS)).await?;
    let mut catalogue = Catalogue::new();
    for row in cells.rows()? {
        if let [table, column, form, places] = &row[..] {
            let (table, column, form) = (table.text(), column.text(), form.text());
            let kind = kind_of(form, places.int()).ok_or_else(|| {
                Error::Copy(format!("{table}.{column} has a type that cannot be copied: {form}"))
            })?;
            catalogue.entry(table.to_owned()).or_default().push((column.to_owned(), kind));
        }
    }
    Ok(catalogue)
}

/// What a column of this type holds, as far as the type shows.
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

/// What two databases know together: one may keep as a plain number or text what the other has a
/// type for.
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
    /// What triggers keep: compared, and not copied. The triggers are at work while the target is written,
    /// although they take two fifths of the time of a product, because two stores that have come to the
    /// same sums in different ways are the same. Engines differ in how many rows a sum is spread over, and
    /// one of 0 may be left out.
    derived: Vec<(&'static Kept, Columns)>,
}

impl Layout {
    /// Nothing that is in either database is left out without a word.
    fn of(here: &Catalogue, there: &Catalogue) -> Result<Self, Error> {
        let known = |table: &str| {
            COPIED.iter().any(|copied| copied.name == table)
                || kept::ALL.iter().any(|derived| derived.table == table)
                || OF_ITS_OWN.contains(&table)
        };
        if let Some(table) = here.keys().chain(there.keys()).find(|table| !known(table)) {
            return Err(Error::Copy(format!("{table} is neither copied nor derived")));
        }
        let columns_of = |table: &str, by: Option<&[&str]>| {
            let columns = |catalogue: &Catalogue| {
                let mut columns = catalogue.get(table).cloned().unwrap_or_default();
                if let Some(by) = by {
                    columns.retain(|(name, _)| name != SLOT);
                    // The first are those that rows are alike in; a sum follows them.
                    columns.sort_by_key(|(name, _)| {
                        by.iter().position(|by| by == name).unwrap_or(by.len())
                    });
                }
                columns
            };
            common(table, columns(here), &columns(there))
        };
        let copied = COPIED.into_iter().map(|table| {
            let columns = columns_of(table.name, None)?;
            Ok((table, columns))
        });
        let derived = kept::ALL.into_iter().map(|table| {
            let by: Vec<&str> = table.by.iter().map(|group| group.column).collect();
            let columns = columns_of(table.table, Some(&by))?;
            Ok((table, columns))
        });
        Ok(Self {
            copied: copied.collect::<Result<_, Error>>()?,
            derived: derived.collect::<Result<_, Error>>()?,
        })
    }
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
    match !there.is_empty() && [columns.names.len(), columns.kinds.len()] == [there.len(); 2] {
        true => Ok(columns),
        false => Err(Error::Copy(format!("{table} has other columns in the new database"))),
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
    // Migrations and triggers have put rows there that the source has too, with keys of its own.
    store::persist(|| target.write([sql::delete_rows(table.name)])).await?;
    let names = columns.names();
    let mut rows = from.stream(sql::all_rows(table.name, &names, table.order), &columns.kinds)?;
    let (mut chunk, mut text) = (Vec::with_capacity(CHUNK), 0);
    loop {
        let row = rows.try_next().await?;
        let is_last = row.is_none();
        if let Some(row) = row {
            text += row.iter().map(|value| value.text().len()).sum::<usize>();
            chunk.push(row);
        }
        if is_last || chunk.len() == CHUNK || text >= CHUNK_TEXT {
            store::persist(|| {
                let parts = chunk.chunks(AT_ONCE);
                let dialect = target.dialect();
                let insert = |rows: &[Vec<Value>]| {
                    sql::insert_at_once(table.name, &names, rows.concat(), dialect)
                };
                target.write(parts.map(insert).collect::<Vec<_>>())
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

/// Makes the new table pass over the keys that the old one has ever given, also where their records
/// have gone, and gives the last of them.
async fn pass_over_keys(
    from: &mut Transaction,
    target: &Store,
    table: &Copied,
) -> Result<i64, Error> {
    let Some(key) = table.key else { return Ok(0) };
    let last = last_key(from, table).await?;
    // A table that never gave a key has none to pass over.
    if last > 0 {
        let dialect = target.dialect();
        for statement in sql::give_keys_above(table.name, key, last, dialect) {
            target.execute(statement).await?;
        }
    }
    Ok(last)
}

/// The key that a table gave last; 0 where nobody gives any.
async fn last_key(of: &mut Transaction, table: &Copied) -> Result<i64, Error> {
    match table.key {
        Some(key) => number(of, sql::last_key(table.name, key, of.dialect())).await,
        None => Ok(0),
    }
}

/// What rows come to.
struct Tally {
    rows: u64,
    /// The sum of each column that holds numbers, of decimals in units.
    sums: Vec<i128>,
    /// A digest of all values of all rows, in their order.
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
                *sum += i128::from(value.int());
            }
            tally.rows += 1;
            each();
        }
        tally.digest = digest.finish();
        Ok(tally)
    }

    /// What the same of the other side has otherwise.
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

/// Reads everything from both sides, and gives a line about what it is.
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
fn groups(table: &Kept, columns: &Columns) -> Statement {
    let names = columns.names();
    let (by, sums) = names.split_at(table.by.len().min(names.len()));
    sql::all_groups(table.table, by, sums)
}

/// Reads the same from both sides, and gives how many rows it is.
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

/// A key that was given once must not be given again.
async fn compare_keys(here: i64, to: &mut Transaction, table: &Copied) -> Result<(), Error> {
    let there = last_key(to, table).await?;
    match here == there {
        true => Ok(()),
        false => Err(Error::Copy(format!(
            "the last key of {} is {there} in the copy instead of {here}",
            table.name
        ))),
    }
}

/// What all orders come to, in each currency. A sum of sums may be more than a database counts.
async fn order_totals(of: &mut Transaction) -> Result<Vec<String>, Error> {
    const KINDS: &[Kind] = &[Kind::WORD, Kind::MONEY];
    let orders = sql::all_rows("shop_orders", &["currency_code", "order_total"], "shop_order_id");
    let mut orders = of.stream(orders, KINDS)?;
    let mut totals: BTreeMap<String, i128> = BTreeMap::new();
    while let Some(order) = orders.try_next().await? {
        if let [currency, total] = &order[..] {
            *totals.entry(currency.text().to_owned()).or_default() += i128::from(total.int());
        }
    }
    let totals = totals.into_iter();
    let totals =
        totals.map(|(currency, total)| format!("{} {currency}", decimal_text(total, 5, 2)));
    Ok(totals.collect())
}

/// One number.
async fn number(of: &mut Transaction, statement: Statement) -> Result<i64, Error> {
    Ok(of.numbers(statement).await?.first().copied().unwrap_or_default())
}

/// How far the whole work has come.
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
