//! A shop to try the services with: a catalogue, customers, and a year of orders up to today.
//!
//! Everything is made from a fixed seed and the number of the record, so that two shops that are
//! filled on one day are the same, and a run that was interrupted goes on where it stopped. Keys
//! are the numbers, from 1: the demonstration goes into an empty store or a demonstration.

mod catalogue;
mod orders;
mod people;
mod setup;

use fastrand::Rng;
use host_interface::{DemoSize, ProgressHandle};
use time::{Date, UtcDateTime};

use crate::error::{Error, Fault, FaultKind};
use crate::sql::{self, Statement};
use crate::store::{self, Store, Transaction};
use crate::value::{Value, fold};

use setup::Setup;

/// How many products there are where nothing is said.
const PRODUCTS: u64 = 300;
/// How many orders there are where nothing is said.
const ORDERS: u64 = 1_200;
/// How many customers there are at least, and how many orders one has on average in a large shop.
const CUSTOMERS: u64 = 250;
const ORDERS_OF_ONE: u64 = 8;
/// How many records are written in one transaction.
const BATCH: u64 = 500;

/// Fills the store up to the size, and says in one line what is in it. A store that is as large
/// already stays as it is.
///
/// # Errors
/// Those of the database, and a store that has records of its own. What was written before stays.
pub async fn fill(
    store: &Store,
    size: DemoSize,
    progress: &ProgressHandle,
) -> Result<String, Error> {
    let products = size.products.unwrap_or(PRODUCTS);
    let orders = size.orders.unwrap_or(ORDERS);
    let customers = CUSTOMERS.max(orders / ORDERS_OF_ONE);
    let setup = store::persist(|| setup::install(store)).await?;
    let world = World { setup, products, customers, orders, today: UtcDateTime::now().date() };
    for step in [&catalogue::PRODUCTS, &people::CUSTOMERS, &orders::ORDERS] {
        run(step, store, &world, progress).await?;
    }
    Ok(format!("{products} products, {customers} customers, {orders} orders"))
}

/// What the records of a step are made from.
struct World {
    setup: Setup,
    products: u64,
    customers: u64,
    orders: u64,
    today: Date,
}

/// One kind of record with what belongs to it.
struct Step {
    name: &'static str,
    /// Gives how many records there are and the greatest key.
    count: &'static str,
    wanted: fn(&World) -> u64,
    /// Adds the rows of the record with this number, from 0.
    make: fn(&World, u64, &mut [Rows]),
    /// The tables and columns that the rows go to, parents first.
    tables: fn() -> Vec<Rows>,
}

/// Rows on their way to a table.
struct Rows {
    table: &'static str,
    columns: &'static [&'static str],
    rows: Vec<Vec<Value>>,
}

impl Rows {
    fn new(table: &'static str, columns: &'static [&'static str]) -> Self {
        Self { table, columns, rows: Vec::new() }
    }

    fn push(&mut self, row: Vec<Value>) {
        self.rows.push(row);
    }

    async fn write(self, transaction: &mut Transaction) -> Result<(), Error> {
        let dialect = transaction.dialect();
        for statement in sql::insert_rows(self.table, self.columns, &self.rows, dialect) {
            transaction.execute(statement).await?;
        }
        Ok(())
    }
}

/// Brings one kind of record up to the number that is wanted, a batch at a time.
async fn run(
    step: &Step,
    store: &Store,
    world: &World,
    progress: &ProgressHandle,
) -> Result<(), Error> {
    let wanted = (step.wanted)(world);
    loop {
        let done = store::persist(|| batch(step, store, world)).await?;
        progress.report(step.name, done.min(wanted), wanted);
        if done >= wanted {
            return Ok(());
        }
    }
}

/// Writes the next batch, if any is wanted, and gives how many records there were before.
async fn batch(step: &Step, store: &Store, world: &World) -> Result<u64, Error> {
    let wanted = (step.wanted)(world);
    let mut transaction = store.begin().await?;
    transaction.lock_store().await?;
    let counted = transaction.numbers(Statement::fixed(step.count, Vec::new())).await?;
    let [done, greatest] = counted[..] else {
        return Err(Error::Contract("a count is two numbers"));
    };
    if done != greatest {
        return Err(not_empty());
    }
    let done = done.unsigned_abs();
    if done < wanted {
        let mut tables = (step.tables)();
        for number in done..wanted.min(done + BATCH) {
            (step.make)(world, number, &mut tables);
        }
        for rows in tables {
            rows.write(&mut transaction).await?;
        }
        transaction.commit().await?;
    }
    Ok(done)
}

fn not_empty() -> Error {
    let detail = "The store has records of its own; demonstration data goes into an empty one.";
    Fault::new(FaultKind::Refused, detail).into()
}

/// The source of chance for one record: the same for the same record, on every machine.
fn chance(kind: u64, number: u64) -> Rng {
    const SEED: u64 = 0x05ee_d0f5_a1e5;
    Rng::with_seed(SEED ^ (kind << 56) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())]
}

fn key(number: u64) -> Value {
    Value::Int(i64::try_from(number + 1).unwrap_or(i64::MAX))
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

fn folded(text: &str) -> Value {
    Value::Text(fold(text))
}

fn flag(set: bool) -> Value {
    Value::Int(i64::from(set))
}

/// Euros and cents in units of 10^-5.
fn cents(cents: i64) -> i64 {
    cents * 1_000
}

fn moment(text: impl Into<String>) -> Value {
    Value::Moment(text.into())
}

/// A moment some days before today.
fn days_ago(world: &World, days: u64, rng: &mut Rng) -> String {
    let days = time::Duration::days(i64::try_from(days).unwrap_or(0));
    let date = world.today.checked_sub(days).unwrap_or(world.today);
    let (hour, minute, second) = (rng.u8(6..23), rng.u8(..60), rng.u8(..60));
    format!("{date}T{hour:02}:{minute:02}:{second:02}")
}
