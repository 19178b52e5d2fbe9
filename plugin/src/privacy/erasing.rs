//! A transaction that removes what is personal, and what it does to the rows of a table. Independent of why.

use super::find::UNKNOWN;
use super::map::{PLACES, Whose, replacements};
use crate::error::Error;
use crate::model::field::Field;
use crate::model::personal::Personal;
use crate::model::resource::Resource;
use crate::model::value::Value;
use crate::service::call::Shop;
use crate::sql::privacy::{self, NOBODY};
use crate::store::Transaction;

/// From how many orders on it is worth counting all of them.
const MANY: usize = 500;
/// How many orders an index of texts is written anew with, in the time in which it forgets one at once.
const WRITTEN_FOR_ONE: u64 = 100;

/// A transaction that removes what is personal. Nothing changes unless it is committed.
pub(super) struct Erasing<'a> {
    shop: &'a Shop,
    pub(super) transaction: Transaction,
    /// The indexes of texts that remove at once what is deleted from them.
    forgetting: Vec<&'static str>,
    /// The index of texts that is written anew at the end.
    outdated: Option<&'static str>,
}

impl<'a> Erasing<'a> {
    pub(super) async fn begin(shop: &'a Shop) -> Result<Self, Error> {
        Ok(Self {
            shop,
            transaction: shop.store.begin().await?,
            forgetting: Vec::new(),
            outdated: None,
        })
    }

    pub(super) async fn commit(mut self) -> Result<(), Error> {
        if let Some(index) = self.outdated {
            self.transaction.execute(privacy::write_anew(index)).await?;
        }
        for index in std::mem::take(&mut self.forgetting) {
            self.transaction.execute(privacy::forget_at_once(index, false)).await?;
        }
        self.transaction.commit().await
    }

    /// Has indexes of texts contain nothing at the end of what is deleted from them, where they would keep it for a
    /// while. Nothing needs that if it is not committed. An index can forget each order at once, or be written anew:
    /// what takes less time depends on how many of all orders these are.
    pub(super) async fn forget_texts(&mut self, orders: usize) -> Result<(), Error> {
        let Some([of_orders, of_addresses]) = privacy::keeping_indexes(self.transaction.dialect())
        else {
            return Ok(());
        };
        self.forgetting.push(of_addresses);
        if orders >= MANY && self.count_orders().await? <= orders as u64 * WRITTEN_FOR_ONE {
            self.outdated = Some(of_orders);
        } else {
            self.forgetting.push(of_orders);
        }
        for index in &self.forgetting {
            self.transaction.execute(privacy::forget_at_once(index, true)).await?;
        }
        Ok(())
    }

    async fn count_orders(&mut self) -> Result<u64, Error> {
        let counted = self.transaction.rows(privacy::count_orders()).await?;
        Ok(counted.first().map_or(0, |row| row.count).unsigned_abs())
    }

    /// Gives the rows with these keys in a column these values. Returns how many had others.
    pub(super) async fn replace(
        &mut self,
        resource: &Resource,
        by: &str,
        keys: &[i64],
        values: &[(&Field, Value)],
    ) -> Result<u64, Error> {
        let mut changed = 0;
        for keys in keys.chunks(privacy::AT_ONCE) {
            let replace = privacy::replace(resource, by, keys, values, self.transaction.dialect());
            changed += self.transaction.change(replace).await?;
        }
        Ok(changed)
    }

    /// Removes the rows with these keys.
    pub(super) async fn remove(&mut self, resource: &Resource, keys: &[i64]) -> Result<u64, Error> {
        let mut removed = 0;
        for keys in keys.chunks(privacy::AT_ONCE) {
            let remove = privacy::remove(resource, keys, self.transaction.dialect());
            removed += self.transaction.change(remove).await?;
        }
        Ok(removed)
    }

    /// Removes these addresses of customers.
    pub(super) async fn addresses(&mut self, keys: &[i64]) -> Result<u64, Error> {
        let place = PLACES.iter().find(|place| place.name() == "addresses").ok_or(UNKNOWN)?;
        let resource = place.resource(self.shop.registry).ok_or(UNKNOWN)?;
        self.remove(resource, keys).await
    }

    /// Removes what is personal from these orders of one person, and from all of their parts.
    pub(super) async fn orders(&mut self, keys: &[i64]) -> Result<(), Error> {
        let nobody = nobody()?;
        for place in PLACES {
            let Whose::Order(by) = place.whose else { continue };
            let resource = place.resource(self.shop.registry).ok_or(UNKNOWN)?;
            let values = replacements(resource, &nobody, |_| true);
            self.replace(resource, by, keys, &values).await?;
        }
        Ok(())
    }

    /// Removes names and addresses that these orders have kept.
    pub(super) async fn strip(&mut self, keys: &[i64]) -> Result<u64, Error> {
        let orders = PLACES.first().and_then(|place| place.resource(self.shop.registry));
        let orders = orders.ok_or(UNKNOWN)?;
        // No address of mails is among these fields.
        let values = replacements(orders, "", Personal::is_of_invoices);
        let changed = self.replace(orders, orders.key, keys, &values).await?;
        for keys in keys.chunks(privacy::AT_ONCE) {
            let forget = privacy::forget(keys, self.transaction.dialect());
            self.transaction.execute(forget).await?;
        }
        Ok(changed)
    }
}

/// An address that is nobody's, and that no one else has got, so that reports still count one customer.
pub(super) fn nobody() -> Result<String, Error> {
    let chance = getrandom::u64().map_err(host_interface::Error::failed)?;
    Ok(format!("erased-{chance:016x}{NOBODY}"))
}
