//! Demo data: a catalogue, customers, and a year of orders up to today.
//!
//! Everything is generated from a fixed seed and the number of the record. So two stores that are
//! filled on the same day are equal, and an interrupted run continues where it stopped. Keys equal
//! these numbers, from 1, so demo data can be added only to an empty store or to a store with demo
//! data.
//!
//! A small demo store is written as clients would write it, a batch in one transaction. A large one
//! is bulk-loaded, see [`Store::begin_filling`]: one thread generates rows while the database
//! writes the previous ones on another.

mod catalogue;
mod make;
mod orders;
mod people;
mod refunds;
mod setup;
mod world;

use std::ops::Range;
use std::sync::Arc;

use host_interface::{Parameter, ParameterKind, ProgressHandle};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use time::UtcDateTime;
use tokio::sync::mpsc::{self, Receiver};

use crate::bulk::rows::write;
use crate::error::Error;
use crate::sql::dialect::Dialect;
use crate::sql::{RowsOf, Statement};
use crate::store::{self, Filling, Store};

use world::{DemoStep, World};

/// The size of a demo store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Size {
    /// How many products.
    pub products: u64,
    /// How many orders.
    pub orders: u64,
}

impl Default for Size {
    fn default() -> Self {
        Self { products: 300, orders: 1_200 }
    }
}

impl Size {
    /// The size that these options select.
    ///
    /// # Errors
    /// When the options are not those that are [declared](options).
    pub fn of(options: Map<String, Json>) -> Result<Self, Error> {
        Ok(serde_json::from_value(Json::Object(options))?)
    }
}

/// The options to declare to the host.
pub fn options() -> [Parameter; 2] {
    let Size { products, orders } = Size::default();
    let number = |name, default, description| {
        Parameter::new(name, ParameterKind::Integer, default, description).at_least(0)
    };
    [
        number("products", products, "How many products."),
        number("orders", orders, "How many orders."),
    ]
}

/// The minimum number of customers, and the average number of orders per customer in a large store.
const CUSTOMERS: u64 = 250;
const ORDERS_OF_ONE: u64 = 8;
/// How many records are written in one transaction.
const BATCH: u64 = 500;
/// How many batches are queued for the database at most.
const WAITING: usize = 4;
/// The number of records from which they are bulk-loaded. For fewer records, removing and
/// rebuilding the indexes takes longer than writing the records.
const LARGE: u64 = 20_000;

/// The kinds of records; those that others refer to come first.
static STEPS: [&DemoStep; 3] = [&catalogue::PRODUCTS, &people::CUSTOMERS, &orders::ORDERS];

/// Fills the store up to the size, and returns a summary line. A store that already is as large
/// does not change.
///
/// # Errors
/// Database errors, or a store that has records of its own. Everything written before remains.
pub async fn fill(store: &Store, size: Size, progress: &ProgressHandle) -> Result<String, Error> {
    fill_from(store, size, LARGE, progress).await
}

/// Like [`fill`], with another number of records from which they are bulk-loaded.
///
/// # Errors
/// Database errors, or a store that has records of its own. Everything written before remains.
pub async fn fill_from(
    store: &Store,
    size: Size,
    large: u64,
    progress: &ProgressHandle,
) -> Result<String, Error> {
    let Size { products, orders } = size;
    let customers = CUSTOMERS.max(orders / ORDERS_OF_ONE);
    let setup = store::retry(|| setup::install(store)).await?;
    let today = UtcDateTime::now().date();
    let world = World { setup, products, customers, orders, today, bare: false };
    let filling = if is_large(store, &world, large).await? {
        store.begin_filling(filled()).await?
    } else {
        None
    };
    match filling {
        Some(filling) => fill_at_once(filling, world, store.dialect(), progress).await?,
        None => {
            for step in STEPS {
                run(step, store, &world, progress).await?;
            }
        }
    }
    Ok(format!("{products} products, {customers} customers, {orders} orders"))
}

/// The numbers of the next batch. Batches end at fixed numbers wherever they begin, so the rows of
/// a batch come in the same order after an interruption.
fn next_batch(done: u64, wanted: u64) -> Range<u64> {
    done..wanted.min((done / BATCH + 1) * BATCH)
}

/// Adds records of one kind up to the requested number, a batch at a time.
async fn run(
    step: &DemoStep,
    store: &Store,
    world: &World,
    progress: &ProgressHandle,
) -> Result<(), Error> {
    let wanted = (step.wanted)(world);
    loop {
        let done = store::retry(|| batch(step, store, world)).await?;
        progress.report(step.name, done.min(wanted), wanted);
        if done >= wanted {
            return store::retry(|| complete(step, store)).await;
        }
    }
}

/// Adds what the rows of a step lack, also where an earlier run ended before it did.
async fn complete(step: &DemoStep, store: &Store) -> Result<(), Error> {
    let Some(last) = (step.last)(store.dialect()) else { return Ok(()) };
    let mut transaction = store.begin().await?;
    transaction.lock_store().await?;
    transaction.execute(Statement::fixed(last, Vec::new())).await?;
    transaction.commit().await
}

/// Writes the next batch, if one is needed, and returns the number of records before it.
async fn batch(step: &DemoStep, store: &Store, world: &World) -> Result<u64, Error> {
    let wanted = (step.wanted)(world);
    let mut transaction = store.begin().await?;
    transaction.lock_store().await?;
    let counted = transaction.numbers(Statement::fixed(step.count, Vec::new())).await?;
    let done = DemoStep::done(&counted)?;
    if done < wanted {
        for rows in step.rows(world, next_batch(done, wanted)) {
            write(rows, &mut transaction).await?;
        }
        transaction.commit().await?;
    }
    Ok(done)
}

/// Whether bulk-loading pays: much is requested and little exists. An index is rebuilt from all
/// records, including the existing ones.
async fn is_large(store: &Store, world: &World, large: u64) -> Result<bool, Error> {
    let mut transaction = store.begin_read().await?;
    let (mut there, mut missing) = (0, 0);
    for step in STEPS {
        let counted = transaction.numbers(Statement::fixed(step.count, Vec::new())).await?;
        let done = DemoStep::done(&counted)?;
        there += done;
        missing += (step.wanted)(world).saturating_sub(done);
    }
    Ok(missing >= large && missing >= there / 8)
}

/// The tables that receive rows.
fn filled() -> Vec<&'static str> {
    STEPS.iter().flat_map(|step| (step.tables)()).map(|rows| rows.table).collect()
}

/// Adds records of all kinds up to the requested numbers.
async fn fill_at_once(
    mut filling: Filling,
    world: World,
    dialect: &Dialect,
    progress: &ProgressHandle,
) -> Result<(), Error> {
    let world = Arc::new(World { bare: true, ..world });
    for step in STEPS {
        let counted = filling.numbers(Statement::fixed(step.count, Vec::new())).await?;
        let (mut done, wanted) = (DemoStep::done(&counted)?, (step.wanted)(&world));
        progress.report(step.name, done.min(wanted), wanted);
        let mut batches = batches(step, &world, done);
        while let Some((end, batch)) = batches.recv().await {
            filling.insert(batch).await?;
            done = end;
            progress.report(step.name, done, wanted);
        }
        if done < wanted {
            return Err(Error::Contract("adding demo data failed"));
        }
    }
    let last = STEPS.iter().filter_map(|step| (step.last)(dialect)).map(str::to_owned).collect();
    filling.finish(last, |done, total| progress.report("indexes and counts", done, total)).await
}

/// Generates the rows of a step on a separate thread, a batch at a time, each with the number of
/// records up to its end. Ends early when the receiver is dropped.
fn batches(step: &'static DemoStep, world: &Arc<World>, done: u64) -> Receiver<(u64, Vec<RowsOf>)> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let world = Arc::clone(world);
    tokio::task::spawn_blocking(move || {
        let (mut done, wanted) = (done, (step.wanted)(&world));
        while done < wanted {
            let numbers = next_batch(done, wanted);
            done = numbers.end;
            if sender.blocking_send((done, step.rows(&world, numbers))).is_err() {
                return;
            }
        }
    });
    receiver
}
