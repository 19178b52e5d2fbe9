//! What is kept for a time only: orders lose what is personal, and addresses of customers without orders go, after as
//! many months as the site has set. Each step is a short transaction.

use std::collections::BTreeMap;

use host_interface::TrailEntry;
use time::{Date, Month, PrimitiveDateTime};

use super::erase::{erase_due, record};
use super::erasing::Erasing;
use super::find::{UNKNOWN, keys};
use super::map::PLACES;
use crate::error::Error;
use crate::model::moment;
use crate::model::parameters::Parameters;
use crate::service::call::Shop;
use crate::sql::privacy::{self, Old};
use crate::store;

/// What was removed, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Orders with closed statuses.
    pub closed: u64,
    /// Orders with other statuses.
    pub open: u64,
    /// Addresses of customers without orders.
    pub customers: u64,
    /// Orders whose names were kept until a day.
    pub due: u64,
}

/// Removes what the site keeps no longer, with an entry in the audit trail if there was anything.
pub async fn retain(shop: &Shop) -> Result<Retained, Error> {
    let parameters = shop.parameters.current()?;
    let due = erase_due(shop).await?;
    let mut retained = Retained { due, ..Retained::default() };
    let [closed, open] = groups(&parameters);
    if let Some(old) = closed {
        retained.closed = orders(&old, shop).await?;
    }
    if let Some(old) = open {
        retained.open = orders(&old, shop).await?;
    }
    if let Some(since) = unused_since(&parameters, shop).await? {
        retained.customers = customers(since, shop).await?;
    }
    let Retained { closed, open, customers, .. } = retained;
    if closed + open + customers > 0 {
        shop.feed.written();
        let details = format!(
            "the retention has ended of {closed} closed and {open} other orders, and of {customers} customers"
        );
        record(shop, TrailEntry::new("privacy.retain", "orders", "").details(details)).await?;
    }
    Ok(retained)
}

/// Counts what [`retain`] would remove, apart from what was kept until a day.
pub async fn count_retained(shop: &Shop) -> Result<Retained, Error> {
    let parameters = shop.parameters.current()?;
    let count = async |rows| {
        let counted = shop.store.rows(rows).await?;
        let counted = counted.first().map_or(0, |row: &privacy::Count| row.count);
        Ok::<_, Error>(counted.unsigned_abs())
    };
    let mut retained = Retained::default();
    let [closed, open] = groups(&parameters);
    if let Some(old) = closed {
        retained.closed = count(privacy::count_old_orders(&old)).await?;
    }
    if let Some(old) = open {
        retained.open = count(privacy::count_old_orders(&old)).await?;
    }
    if let Some(since) = unused_since(&parameters, shop).await? {
        retained.customers = count(privacy::count_unused_addresses(since)).await?;
    }
    Ok(retained)
}

/// The old orders of both groups of statuses, of those that the site gives a time.
fn groups(parameters: &Parameters) -> [Option<Old>; 2] {
    let old = |months: i64, has_one| {
        let before = months_ago(months, moment::now())?;
        Some(Old { statuses: parameters.closed_statuses.clone(), has_one, before })
    };
    [old(parameters.retention_closed_months, true), old(parameters.retention_open_months, false)]
}

/// The place in the feed since which an address must not have changed; `None` if nothing is that old.
async fn unused_since(parameters: &Parameters, shop: &Shop) -> Result<Option<i64>, Error> {
    let Some(before) = months_ago(parameters.retention_customers_months, moment::now()) else {
        return Ok(None);
    };
    shop.feed.catch_up().await?;
    let mut reading = shop.store.begin_read().await?;
    let began = reading.number(privacy::feed_began()).await?;
    reading.end();
    let place = before.assume_utc().unix_timestamp().saturating_mul(1_000_000);
    Ok((began < place).then_some(place))
}

/// Removes what is personal from old orders, those of a person with one address of nobody.
async fn orders(old: &Old, shop: &Shop) -> Result<u64, Error> {
    let (mut count, mut from) = (0, 0);
    loop {
        let found = shop.store.rows(privacy::old_orders(old, from)).await?;
        let Some(last) = found.last() else { return Ok(count) };
        from = last.key;
        count += found.len() as u64;
        let mut persons: BTreeMap<(i64, &str), Vec<i64>> = BTreeMap::new();
        for order in &found {
            // A user is one person, whatever the addresses of the orders.
            let email = if order.user > 0 { "" } else { &*order.email };
            persons.entry((order.user, email)).or_default().push(order.key);
        }
        store::retry(|| async {
            let mut erasing = Erasing::begin(shop).await?;
            erasing.forget_at_once().await?;
            for keys in persons.values() {
                erasing.orders(keys).await?;
            }
            erasing.commit().await
        })
        .await?;
    }
}

async fn customers(since: i64, shop: &Shop) -> Result<u64, Error> {
    let place = PLACES.iter().find(|place| place.name() == "addresses").ok_or(UNKNOWN)?;
    let resource = place.resource(shop.registry).ok_or(UNKNOWN)?;
    let mut count = 0;
    loop {
        let found = keys(shop.store.rows(privacy::unused_addresses(since)).await?);
        if found.is_empty() {
            return Ok(count);
        }
        count += found.len() as u64;
        store::retry(|| async {
            let mut erasing = Erasing::begin(shop).await?;
            erasing.forget_at_once().await?;
            erasing.remove(resource, &found).await?;
            erasing.commit().await
        })
        .await?;
    }
}

/// The moment so many months before another one; `None` for 0 months.
fn months_ago(months: i64, now: PrimitiveDateTime) -> Option<PrimitiveDateTime> {
    let months = i32::try_from(months).ok().filter(|months| *months > 0)?;
    let date = now.date();
    let all = date.year() * 12 + i32::from(u8::from(date.month())) - 1 - months;
    let month = u8::try_from(all.rem_euclid(12) + 1).ok()?;
    let month = Month::try_from(month).ok()?;
    let year = all.div_euclid(12);
    // A day that the month does not have is its last one.
    let day = date.day().min(month.length(year));
    let date = Date::from_calendar_date(year, month, day).ok()?;
    Some(PrimitiveDateTime::new(date, now.time()))
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn months_end_with_their_last_day() {
        let ago = |months| months_ago(months, datetime!(2026-03-31 10:00));
        assert_eq!(ago(0), None);
        assert_eq!(ago(1), Some(datetime!(2026-02-28 10:00)));
        assert_eq!(ago(3), Some(datetime!(2025-12-31 10:00)));
        assert_eq!(ago(25), Some(datetime!(2024-02-29 10:00)));
    }
}
