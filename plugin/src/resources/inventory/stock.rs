//! The quantities of some products, locked until the transaction ends. Adjustments change them one after
//! the other, each must be possible, and all of them are written together. A product with further variants
//! has its stock in these. Independent of where the adjustments come from.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{INVENTORY, MANAGE_STOCK, MASTER_WITH_RULES};
use crate::error::{Error, FaultKind};
use crate::model::field::{Field, modified_on};
use crate::model::record::Record;
use crate::model::value::Value;
use crate::resources::products::{
    self, ALLOW_BACKORDER, IS_MASTER, MAX_SALE, MIN_SALE, OWNER, QUANTITY, RESTRICTED, SKU,
    VARIANT_COUNT, VARIANT_QUANTITY, VARIANTS,
};
use crate::resources::stockmovements::{self, Movement};
use crate::service::write::Write;
use crate::sql;
use crate::wire::draft::Draft;

/// The greatest quantity.
const MOST: i64 = i32::MAX as i64;
/// One piece in the units of decimals.
const PIECE: i64 = 100_000;

/// The stock of some products and variants.
pub(crate) struct Stock {
    products: BTreeMap<i64, Record>,
    variants: BTreeMap<i64, Record>,
    /// The quantities after the adjustments so far.
    quantities: BTreeMap<Holder, i64>,
    movements: Vec<Movement>,
}

/// Whose stock is meant: that of a product, or of one of its variants if that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whose {
    /// The key of the product.
    pub(crate) product: i64,
    /// The key of the variant.
    pub(crate) variant: Option<i64>,
}

/// What has a stock, by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Product(i64),
    Variant(i64),
}

/// A change of a quantity.
#[derive(Clone, Copy)]
pub(crate) struct Adjustment<'a> {
    /// Whose quantity.
    pub(crate) whose: Whose,
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
    /// The product has variants, and none is named.
    VariantRequired,
    /// The product has no such variant.
    NoVariant(i64),
    /// The quantity is this one, not the expected one.
    Changed(i64),
    /// The quantity is only this one.
    Insufficient(i64),
    /// The quantity would be too large.
    TooLarge,
}

/// What an order may take of a stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sale {
    /// Nothing, because the stock is not counted.
    Uncounted,
    /// This many pieces. The rest is ordered although it is not in stock, and a mail mentions it if the flag
    /// is set.
    Taken { pieces: i64, missing: i64, in_mail: bool },
    /// None, because an order has at least so many, in units.
    TooFew(i64),
    /// None, because an order has at most so many, in units.
    TooMany(i64),
}

impl Stock {
    /// Locks the stock of these and reads it.
    pub(crate) async fn lock(whose: &[Whose], write: &mut Write<'_>) -> Result<Self, Error> {
        let products: BTreeSet<i64> = whose.iter().map(|whose| whose.product).collect();
        let products: Vec<i64> = products.into_iter().collect();
        if !products.is_empty() {
            write.transaction.lock_all(&INVENTORY, &products).await?;
        }
        let products = write.records(&INVENTORY, products).await?.into_iter().collect();
        Self::of(products, whose, write).await
    }

    /// The stock of a product that is locked, or of one of its variants.
    pub(super) async fn of_one(
        record: Record,
        variant: Option<i64>,
        write: &mut Write<'_>,
    ) -> Result<Self, Error> {
        let whose = Whose { product: record.key(), variant };
        Self::of(BTreeMap::from([(record.key(), record)]), &[whose], write).await
    }

    async fn of(
        products: BTreeMap<i64, Record>,
        whose: &[Whose],
        write: &mut Write<'_>,
    ) -> Result<Self, Error> {
        let mut keys: Vec<i64> = whose.iter().filter_map(|whose| whose.variant).collect();
        for product in products.values() {
            keys.extend(product.get(&MASTER_WITH_RULES)?);
        }
        let variants = write.records(&VARIANTS, keys).await?.into_iter().collect();
        let (quantities, movements) = (BTreeMap::new(), Vec::new());
        Ok(Self { products, variants, quantities, movements })
    }

    /// Makes an adjustment, unless it is impossible.
    ///
    /// # Errors
    /// When a stock record has no quantity.
    pub(crate) fn apply(
        &mut self,
        adjustment: Adjustment<'_>,
    ) -> Result<Result<(), Refusal>, Error> {
        let Whose { product, .. } = adjustment.whose;
        let (holder, record) = match self.holder(adjustment.whose)? {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let sku = record.need(&SKU)?.to_owned();
        let before = self.quantity(holder)?;
        if adjustment.expected.is_some_and(|expected| expected != before) {
            return Ok(Err(Refusal::Changed(before)));
        }
        let after = before + adjustment.delta;
        if after < 0 {
            return Ok(Err(Refusal::Insufficient(before)));
        }
        // The quantity of a product is the sum of its variants.
        let sum = self.quantity(Holder::Product(product))? + adjustment.delta;
        if sum > MOST {
            return Ok(Err(Refusal::TooLarge));
        }
        self.quantities.insert(Holder::Product(product), sum);
        self.quantities.insert(holder, after);
        let variant = match holder {
            Holder::Product(_) => None,
            Holder::Variant(key) => Some(key),
        };
        self.movements.push(Movement {
            product,
            variant,
            sku,
            before,
            after,
            reason: adjustment.reason.to_owned(),
            reference: adjustment.reference.to_owned(),
        });
        Ok(Ok(()))
    }

    /// What an order of this many pieces may take, by the rules of the variant that has the stock.
    ///
    /// # Errors
    /// When a record lacks a field.
    pub(crate) fn sale(&self, whose: Whose, wanted: i64) -> Result<Result<Sale, Refusal>, Error> {
        let (holder, record) = match self.holder(whose)? {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let rules = match holder {
            Holder::Variant(_) => Some(record),
            Holder::Product(_) => match record.get(&MASTER_WITH_RULES)? {
                Some(key) => self.variants.get(&key),
                None => None,
            },
        };
        if let Some(rules) = rules
            && rules.need(&RESTRICTED)?
        {
            let units = wanted.saturating_mul(PIECE);
            if let Some(least) = rules.get(&MIN_SALE)?.filter(|least| units < least.0) {
                return Ok(Ok(Sale::TooFew(least.0)));
            }
            if let Some(most) = rules.get(&MAX_SALE)?.filter(|most| units > most.0) {
                return Ok(Ok(Sale::TooMany(most.0)));
            }
        }
        if !record.need(&MANAGE_STOCK)? {
            return Ok(Ok(Sale::Uncounted));
        }
        let backorder = rules.map_or(Ok(0), |rules| rules.need(&ALLOW_BACKORDER))?;
        let there = self.quantity(holder)?;
        let pieces = if backorder > 0 { wanted.min(there) } else { wanted };
        let sale = Sale::Taken { pieces, missing: wanted - pieces, in_mail: backorder > 1 };
        Ok(Ok(sale))
    }

    /// Whether the stock is counted. Where there is none, an adjustment says why.
    ///
    /// # Errors
    /// When a record lacks the field.
    pub(crate) fn is_counted(&self, whose: Whose) -> Result<bool, Error> {
        match self.holder(whose)? {
            Ok((_, record)) => record.need(&MANAGE_STOCK),
            Err(_) => Ok(true),
        }
    }

    /// Writes the quantities that have changed, and all adjustments to the ledger.
    pub(crate) async fn write(self, write: &mut Write<'_>) -> Result<(), Error> {
        let (mut products, mut variants) = (Vec::new(), Vec::new());
        let mut owners = BTreeSet::new();
        for (holder, quantity) in &self.quantities {
            if self.read(*holder)? == *quantity {
                continue;
            }
            match holder {
                Holder::Variant(key) => {
                    variants.push((*key, [Value::Int(*quantity)]));
                    let owner = self.variants.get(key).map(|of| of.need(&OWNER)).transpose()?;
                    owners.extend(owner);
                }
                // The database adds up a sum.
                Holder::Product(key) if self.has_variants(*key)? => {}
                Holder::Product(key) => products.push((*key, [Value::Int(*quantity)])),
            }
        }
        let owners: Vec<i64> = owners.into_iter().collect();
        stockmovements::record(self.movements, write).await?;
        let (touched, now) = (modified_on(), Value::now());
        let same: [(&Field, &Value); 1] = [(&touched, &now)];
        let dialect = write.transaction.dialect();
        let none = std::iter::empty();
        let mut updates =
            sql::update_each(&VARIANTS, [&VARIANT_QUANTITY], &variants, none, dialect);
        updates.extend(sql::update_each(
            &INVENTORY,
            [&QUANTITY],
            &products,
            same.into_iter(),
            dialect,
        ));
        updates.extend(sql::touch_all(&INVENTORY, &owners, same.into_iter(), dialect));
        for update in updates {
            write.transaction.execute(update).await?;
        }
        Ok(())
    }

    /// What has the stock, and its record.
    fn holder(&self, whose: Whose) -> Result<Result<(Holder, &Record), Refusal>, Error> {
        let Some(product) = self.products.get(&whose.product) else {
            return Ok(Err(Refusal::NoStock));
        };
        let Some(key) = whose.variant else {
            return Ok(if self.has_variants(whose.product)? {
                Err(Refusal::VariantRequired)
            } else {
                Ok((Holder::Product(whose.product), product))
            });
        };
        match self.variants.get(&key) {
            Some(variant) if variant.need(&OWNER)? != whose.product => {
                Ok(Err(Refusal::NoVariant(key)))
            }
            Some(variant) if variant.need(&IS_MASTER)? => {
                self.holder(Whose { variant: None, ..whose })
            }
            Some(variant) => Ok(Ok((Holder::Variant(key), variant))),
            None => Ok(Err(Refusal::NoVariant(key))),
        }
    }

    fn has_variants(&self, product: i64) -> Result<bool, Error> {
        let product = self.products.get(&product);
        Ok(product.map_or(Ok(0), |product| product.need(&VARIANT_COUNT))? > 0)
    }

    /// The quantity after the adjustments so far.
    fn quantity(&self, holder: Holder) -> Result<i64, Error> {
        self.quantities.get(&holder).map_or_else(|| self.read(holder), |quantity| Ok(*quantity))
    }

    /// The quantity before them.
    fn read(&self, holder: Holder) -> Result<i64, Error> {
        let quantity = match holder {
            Holder::Product(key) => self.products.get(&key).map(|of| of.get(&QUANTITY)),
            Holder::Variant(key) => self.variants.get(&key).map(|of| of.get(&VARIANT_QUANTITY)),
        };
        Ok(quantity.transpose()?.flatten().unwrap_or_default())
    }
}

/// Adds the fault that a product has several variants and none is named, with their keys.
pub(crate) async fn refuse_unnamed(
    draft: &mut Draft,
    at: &Field,
    product: i64,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let variants = products::of_product(product, write).await?;
    let keys: Vec<i64> = variants.iter().map(Record::key).collect();
    let detail = format!("Product {product} has variants, and none of them is named.");
    draft.fault_with(FaultKind::VariantRequired, at.name, detail, ("variants", keys));
    Ok(())
}
