//! The quantities of some products, locked until the transaction ends: steps change them one after
//! the other, each must be possible, and all of them are written together. Independent of where the
//! steps come from.

use std::collections::HashMap;

use super::record::INVENTORY;
use crate::error::Error;
use crate::model::field::modified_on;
use crate::model::record::Record;
use crate::model::value::Value;
use crate::resources::products::{QUANTITY, SKU};
use crate::resources::stockmovements::{self, Movement};
use crate::service::crud;
use crate::service::hooks::Scene;
use crate::sql;
use crate::store::Transaction;

/// The greatest quantity.
const MOST: i64 = i32::MAX as i64;

/// The stock of some products.
pub(crate) struct Stock {
    records: HashMap<i64, Record>,
    /// The quantities that the steps so far have changed.
    quantities: HashMap<i64, i64>,
    movements: Vec<Movement>,
}

/// A change of the quantity of one product.
#[derive(Clone, Copy)]
pub(crate) struct Adjustment<'a> {
    /// The key of the product.
    pub(crate) product: i64,
    /// What is added to the quantity.
    pub(crate) delta: i64,
    /// The quantity before, if the client expects a certain one.
    pub(crate) expected: Option<i64>,
    /// Why.
    pub(crate) reason: &'a str,
    /// What the change belongs to.
    pub(crate) reference: &'a str,
}

/// Why a step is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The product has no stock record.
    NoStock,
    /// There is this quantity, and not the expected one.
    Changed(i64),
    /// There is only this quantity.
    Insufficient(i64),
    /// The quantity would be too large.
    TooLarge,
}

impl Stock {
    /// Locks the stock of the products with these keys and reads it.
    ///
    /// # Errors
    /// Database errors.
    pub(crate) async fn lock(
        mut keys: Vec<i64>,
        transaction: &mut Transaction,
    ) -> Result<Self, Error> {
        keys.sort_unstable();
        keys.dedup();
        if !keys.is_empty() {
            transaction.lock_all(&INVENTORY, &keys).await?;
        }
        let records = crud::records(transaction, &INVENTORY, keys).await?;
        Ok(Self { records, quantities: HashMap::new(), movements: Vec::new() })
    }

    /// The stock of one product, which is locked.
    pub(super) fn of(record: Record) -> Self {
        let records = HashMap::from([(record.key(), record)]);
        Self { records, quantities: HashMap::new(), movements: Vec::new() }
    }

    /// Takes a step, unless it is impossible.
    ///
    /// # Errors
    /// When a stock record has no quantity.
    pub(crate) fn apply(&mut self, step: Adjustment<'_>) -> Result<Result<(), Refusal>, Error> {
        let Some(record) = self.records.get(&step.product) else {
            return Ok(Err(Refusal::NoStock));
        };
        let before = match self.quantities.get(&step.product) {
            Some(quantity) => *quantity,
            None => record.need(&QUANTITY)?,
        };
        if step.expected.is_some_and(|expected| expected != before) {
            return Ok(Err(Refusal::Changed(before)));
        }
        let after = match before + step.delta {
            ..0 => return Ok(Err(Refusal::Insufficient(before))),
            after if after > MOST => return Ok(Err(Refusal::TooLarge)),
            after => after,
        };
        self.quantities.insert(step.product, after);
        self.movements.push(Movement {
            product: step.product,
            sku: record.need(&SKU)?.to_owned(),
            before,
            after,
            reason: step.reason.to_owned(),
            reference: step.reference.to_owned(),
        });
        Ok(Ok(()))
    }

    /// Writes the quantities that have changed, and all steps to the ledger.
    ///
    /// # Errors
    /// Database errors.
    pub(crate) async fn write(self, scene: &mut Scene<'_>) -> Result<(), Error> {
        stockmovements::record(self.movements, scene).await?;
        let mut changed = Vec::new();
        for (key, quantity) in self.quantities {
            let record = self.records.get(&key);
            if record.map(|record| record.need(&QUANTITY)).transpose()? != Some(quantity) {
                changed.push((key, Value::Int(quantity)));
            }
        }
        changed.sort_unstable_by_key(|(key, _)| *key);
        let (touched, now) = (modified_on(), Value::now());
        let same = std::iter::once((&touched, &now));
        let dialect = scene.transaction.dialect();
        for update in sql::update_each(&INVENTORY, &QUANTITY, &changed, same, dialect) {
            scene.transaction.execute(update).await?;
        }
        Ok(())
    }
}
