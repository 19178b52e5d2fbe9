//! Removes what the store has of a person. Orders and vouchers stay without what is personal in them, because sums,
//! reports and invoices are made of them; addresses, mails and stored answers go.
//!
//! An erasure is one transaction, so a kill leaves it whole or not begun. Each record that changes gets another version
//! and stands in the feed of changes, so that programs with a copy learn of it.

use std::collections::BTreeMap;

use host_interface::{Erased, Erasure};

use super::erasing::{Erasing, nobody};
use super::find::{self, Contents, Known, Orders, UNKNOWN, mentioned};
use super::map::{Fate, PLACES, Place, Whose, replacements};
use crate::error::{Error, Fault, FaultKind};
use crate::model::field::Field;
use crate::model::moment;
use crate::model::parameters::Parameters;
use crate::model::personal::Personal;
use crate::model::resource::Resource;
use crate::model::value::Value;
use crate::service::call::Shop;
use crate::sql::privacy;
use crate::store;

/// Erases a person, or counts what that would change.
///
/// # Errors
/// A fault for an erasure that cannot be done as asked; otherwise nothing has changed, and it can be repeated.
pub async fn erase(shop: &Shop, erasure: &Erasure) -> Result<Erased, Error> {
    let keep_until = erasure.keep_until.as_deref().map(day_of).transpose()?;
    let known = Known::of(&erasure.person, shop).await?;
    let parameters = shop.parameters.current()?;
    let nobody = nobody()?;
    // What takes long is read before others have to wait.
    let mut reading = shop.patient().begin_read().await?;
    let orders = known.orders(&parameters, &mut reading).await?;
    let (contents, seen) = known.contents(&orders, &[], shop, &mut reading).await?;
    reading.end().await;
    let keep_until = keep_until.as_deref();
    let run = Run { shop, erasure, keep_until, known, parameters: &parameters, nobody };
    let (mut erased, has_changed) = store::retry(|| run.once(&contents, &seen)).await?;
    if has_changed {
        shop.feed.written();
        erased.remaining = run.search().await?;
    }
    Ok(erased)
}

/// An erasure under way.
struct Run<'a> {
    shop: &'a Shop,
    erasure: &'a Erasure,
    keep_until: Option<&'a str>,
    known: Known,
    parameters: &'a Parameters,
    /// The address that the person's orders get.
    nobody: String,
}

impl Run<'_> {
    /// Erases in one transaction. Returns what changed, and whether it was committed.
    async fn once(&self, contents: &Contents, seen: &[i64]) -> Result<(Erased, bool), Error> {
        let mut erasing = Erasing::begin(self.shop).await?;
        let orders = self.known.orders(self.parameters, &mut erasing.transaction).await?;
        let mut erased = Erased::default();
        erased.open.clone_from(&orders.open);
        let is_undone = self.erasure.dry_run || erased.is_refused(self.erasure);
        if !is_undone {
            erasing.forget_texts(orders.keys.len() + orders.kept.len()).await?;
        }
        let newer = self.known.contents(&orders, seen, self.shop, &mut erasing.transaction).await?;
        let mut vouchers = Vec::new();
        for place in PLACES {
            let resource = place.resource(self.shop.registry).ok_or(UNKNOWN)?;
            let values = || replacements(resource, &self.nobody, |_| true);
            let changed = match place.whose {
                Whose::Order(by) if by == resource.key => {
                    self.erase_orders(resource, &orders, &mut erasing).await?
                }
                Whose::Order(by) => erasing.replace(resource, by, &orders.keys, &values()).await?,
                Whose::Own(email, user) => {
                    let transaction = &mut erasing.transaction;
                    let rows = self.known.rows(resource, email, user, transaction).await?;
                    if resource.kind == "vouchers" {
                        vouchers.clone_from(&rows);
                    }
                    change(place, resource, &rows, &values(), &mut erasing).await?
                }
                Whose::Voucher(by) => erasing.replace(resource, by, &vouchers, &values()).await?,
                Whose::Contents(_) => {
                    let found = contents.iter().chain(&newer.0);
                    let mut rows: Vec<i64> = mentioned(found, place).collect();
                    rows.sort_unstable();
                    rows.dedup();
                    change(place, resource, &rows, &values(), &mut erasing).await?
                }
            };
            if changed > 0 {
                erased.counts.insert(place.name().to_owned(), changed);
            }
        }
        if is_undone {
            // What was counted is no answer if the transaction was rolled back half-way.
            erasing.transaction.ensure_open().await?;
            return Ok((erased, false));
        }
        erasing.commit().await?;
        Ok((erased, true))
    }

    /// Replaces what is personal in orders. Names and addresses stay if they are kept until a day.
    async fn erase_orders(
        &self,
        resource: &'static Resource,
        orders: &Orders,
        erasing: &mut Erasing<'_>,
    ) -> Result<u64, Error> {
        let goes = |kind: Personal| self.keep_until.is_none() || !kind.is_of_invoices();
        let values = replacements(resource, &self.nobody, goes);
        let Some(day) = self.keep_until else {
            let changed = erasing.replace(resource, resource.key, &orders.keys, &values).await?;
            return Ok(changed + erasing.strip(&orders.kept).await?);
        };
        let hash = self.known.hashes.first().map_or("", String::as_str);
        let (dialect, user) = (erasing.transaction.dialect(), self.known.user);
        for keys in orders.keys.chunks(privacy::AT_ONCE).chain(orders.kept.chunks(privacy::AT_ONCE))
        {
            for statement in privacy::keep_until(keys, day, hash, user, dialect) {
                erasing.transaction.execute(statement).await?;
            }
        }
        erasing.replace(resource, resource.key, &orders.keys, &values).await
    }

    /// Searches again for what has data of the person.
    async fn search(&self) -> Result<BTreeMap<String, u64>, Error> {
        let mut remaining = BTreeMap::new();
        let mut reading = self.shop.patient().begin_read().await?;
        let orders = self.known.orders(self.parameters, &mut reading).await?;
        let (contents, _) = self.known.contents(&orders, &[], self.shop, &mut reading).await?;
        let mut vouchers = Vec::new();
        for place in PLACES {
            let own =
                find::own_keys(place, &self.known, &orders, &vouchers, self.shop, &mut reading);
            let own = own.await?;
            let count = own.len() + mentioned(&contents, place).count();
            if count > 0 {
                remaining.insert(place.name().to_owned(), count as u64);
            }
            if place.name() == "vouchers" {
                vouchers = own;
            }
        }
        reading.end().await;
        Ok(remaining)
    }
}

/// Removes rows, or gives their personal fields these values, as becomes of the place.
async fn change(
    place: &Place,
    resource: &'static Resource,
    keys: &[i64],
    values: &[(&Field, Value)],
    erasing: &mut Erasing<'_>,
) -> Result<u64, Error> {
    match place.fate {
        Fate::Removed => erasing.remove(resource, keys).await,
        Fate::Replaced => erasing.replace(resource, resource.key, keys, values).await,
    }
}

/// The day until which something is kept, which has to come.
fn day_of(text: &str) -> Result<String, Error> {
    let refuse = |detail: &str| Err(Fault::new(FaultKind::Refused, detail).into());
    match moment::day(text) {
        None => refuse("keep_until must be a day, YYYY-MM-DD."),
        Some(day) if day <= moment::now().date() => {
            refuse("keep_until must be a day in the future.")
        }
        Some(day) => Ok(day.to_string()),
    }
}
