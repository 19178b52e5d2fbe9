//! A shop to try the services with: a catalogue, customers, and a year of orders up to today.
//!
//! Everything is made from a fixed seed and the number of the record, so that two shops that are
//! filled on one day are the same, and a run that was interrupted goes on where it stopped. Keys
//! are the numbers, from 1: the demonstration goes into an empty store or a demonstration.
//!
//! A small demonstration is written as clients would write it, a batch in one transaction. A large
//! one is filled in at once, see [`Store::begin_filling`]: there the rows are made on one thread while the
//! database is busy with those before on another.

mod catalogue;
mod make;
mod orders;
mod people;
mod setup;
mod world;

use std::ops::Range;
use std::sync::Arc;

use host_interface::{Parameter, ParameterKind, ProgressHandle};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use time::UtcDateTime;
use tokio::sync::mpsc::{self, Receiver};

use crate::error::Error;
use crate::sql::{RowsOf, Statement};
use crate::store::{self, Filling, Store};

use world::{Step, World};

/// How much there is to be.
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
    /// The size that these options choose.
    ///
    /// # Errors
    /// When they are not those that are [declared](options).
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

/// How many customers there are at least, and how many orders one has on average in a large shop.
const CUSTOMERS: u64 = 250;
const ORDERS_OF_ONE: u64 = 8;
/// How many records are written in one transaction.
const BATCH: u64 = 500;
/// How many batches wait for the database at most.
const WAITING: usize = 4;
/// How many records are filled in at once. Taking indexes away and building them again takes longer
/// than fewer do.
const LARGE: u64 = 20_000;

/// The kinds of records, those that others refer to first.
static STEPS: [&Step; 3] = [&catalogue::PRODUCTS, &people::CUSTOMERS, &orders::ORDERS];

/// Fills the store up to the size, and gives one line about what is in it. A store that is as large
/// already stays as it is.
///
/// # Errors
/// Those of the database, and a store that has records of its own. What was written before stays.
pub async fn fill(store: &Store, size: Size, progress: &ProgressHandle) -> Result<String, Error> {
    fill_from(store, size, LARGE, progress).await
}

/// The same where so many records are filled in at once, if that many are wanted.
///
/// # Errors
/// Those of the database, and a store that has records of its own. What was written before stays.
pub async fn fill_from(
    store: &Store,
    size: Size,
    large: u64,
    progress: &ProgressHandle,
) -> Result<String, Error> {
    let Size { products, orders } = size;
    let customers = CUSTOMERS.max(orders / ORDERS_OF_ONE);
    let setup = store::persist(|| setup::install(store)).await?;
    let today = UtcDateTime::now().date();
    let world = World { setup, products, customers, orders, today, bare: false };
    let filling = match is_large(store, &world, large).await? {
        true => store.begin_filling(filled()).await?,
        false => None,
    };
    match filling {
        Some(filling) => fill_at_once(filling, world, progress).await?,
        None => {
            for step in STEPS {
                run(step, store, &world, progress).await?;
            }
        }
    }
    Ok(format!("{products} products, {customers} customers, {orders} orders"))
}

/// The numbers of the next batch. Where a batch ends does not depend on where it begins, so that the
/// rows of one come in the same order after an interruption.
fn next_batch(done: u64, wanted: u64) -> Range<u64> {
    done..wanted.min((done / BATCH + 1) * BATCH)
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
    let done = Step::done(&counted)?;
    if done < wanted {
        for rows in step.rows(world, next_batch(done, wanted)) {
            setup::write(rows, &mut transaction).await?;
        }
        transaction.commit().await?;
    }
    Ok(done)
}

/// Whether so much is wanted, and so little is there, that it is better filled in at once. An index
/// is made anew of all records, also of those that are there.
async fn is_large(store: &Store, world: &World, large: u64) -> Result<bool, Error> {
    let mut transaction = store.begin_read().await?;
    let (mut there, mut missing) = (0, 0);
    for step in STEPS {
        let counted = transaction.numbers(Statement::fixed(step.count, Vec::new())).await?;
        let done = Step::done(&counted)?;
        there += done;
        missing += (step.wanted)(world).saturating_sub(done);
    }
    Ok(missing >= large && missing >= there / 8)
}

/// The tables that get rows.
fn filled() -> Vec<&'static str> {
    STEPS.iter().flat_map(|step| (step.tables)()).map(|rows| rows.table).collect()
}

/// Brings all kinds of records up to the numbers that are wanted.
async fn fill_at_once(
    mut filling: Filling,
    world: World,
    progress: &ProgressHandle,
) -> Result<(), Error> {
    let world = Arc::new(World { bare: true, ..world });
    for step in STEPS {
        let counted = filling.numbers(Statement::fixed(step.count, Vec::new())).await?;
        let (mut done, wanted) = (Step::done(&counted)?, (step.wanted)(&world));
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
    filling.finish(|done, total| progress.report("indexes and counts", done, total)).await
}

/// Makes the rows of a step on a thread of their own, a batch at a time, each with the number of
/// records up to its end. It is over when nobody waits for more.
fn batches(step: &'static Step, world: &Arc<World>, done: u64) -> Receiver<(u64, Vec<RowsOf>)> {
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
