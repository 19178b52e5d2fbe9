//! The quantities of some products, locked until the transaction ends. Adjustments change them one after
//! the other, each must be possible, and all of them are written together. Independent of where the
//! adjustments come from.

use std::collections::HashMap;

use super::record::INVENTORY;
use crate::error::Error;
use crate::model::field::modified_on;
use crate::model::record::Record;
use crate::model::value::Value;
use crate::resources::products::{QUANTITY, SKU};
use crate::resources::stockmovements::{self, Movement};
use crate::service::write::Write;
use crate::sql;

/// The greatest quantity.
const MOST: i64 = i32::MAX as i64;

/// The stock of some products.
pub(crate) struct Stock {
    records: HashMap<i64, Record>,
    /// The quantities after the adjustments so far.
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
    /// Why it changes.
    pub(crate) reason: &'a str,
    /// What the change belongs to, such as an order; empty for nothing.
    pub(crate) reference: &'a str,
}

/// Why an adjustment is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The product has no stock record.
    NoStock,
    /// The quantity is this one, not the expected one.
    Changed(i64),
    /// The quantity is only this one.
    Insufficient(i64),
    /// The quantity would be too large.
    TooLarge,
}

impl Stock {
    /// Locks the stock of the products with these keys and reads it.
    pub(crate) async fn lock(mut keys: Vec<i64>, write: &mut Write<'_>) -> Result<Self, Error> {
        keys.sort_unstable();
        keys.dedup();
        if !keys.is_empty() {
            write.transaction.lock_all(&INVENTORY, &keys).await?;
        }
        let records = write.records(&INVENTORY, keys).await?;
        Ok(Self { records, quantities: HashMap::new(), movements: Vec::new() })
    }

    /// The stock of one product, which is locked.
    pub(super) fn of(record: Record) -> Self {
        let records = HashMap::from([(record.key(), record)]);
        Self { records, quantities: HashMap::new(), movements: Vec::new() }
    }

    /// Makes an adjustment, unless it is impossible.
    ///
    /// # Errors
    /// When a stock record has no quantity.
    pub(crate) fn apply(
        &mut self,
        adjustment: Adjustment<'_>,
    ) -> Result<Result<(), Refusal>, Error> {
        let Some(record) = self.records.get(&adjustment.product) else {
            return Ok(Err(Refusal::NoStock));
        };
        let before = match self.quantities.get(&adjustment.product) {
            Some(quantity) => *quantity,
            None => record.need(&QUANTITY)?,
        };
        if adjustment.expected.is_some_and(|expected| expected != before) {
            return Ok(Err(Refusal::Changed(before)));
        }
        let after = match before + adjustment.delta {
            ..0 => return Ok(Err(Refusal::Insufficient(before))),
            after if after > MOST => return Ok(Err(Refusal::TooLarge)),
            after => after,
        };
        self.quantities.insert(adjustment.product, after);
        self.movements.push(Movement {
            product: adjustment.product,
            sku: record.need(&SKU)?.to_owned(),
            before,
            after,
            reason: adjustment.reason.to_owned(),
            reference: adjustment.reference.to_owned(),
        });
        Ok(Ok(()))
    }

    /// Writes the quantities that have changed, and all adjustments to the ledger.
    pub(crate) async fn write(self, write: &mut Write<'_>) -> Result<(), Error> {
        stockmovements::record(self.movements, write).await?;
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
        let dialect = write.transaction.dialect();
        for update in sql::update_each(&INVENTORY, &QUANTITY, &changed, same, dialect) {
            write.transaction.execute(update).await?;
        }
        Ok(())
    }
}
