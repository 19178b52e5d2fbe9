//! What is kept for a time only: orders lose what is personal, and addresses of customers without orders go, after as
//! many months as the site has set, or on the day that an erasure has named. Each step is a short transaction.

use std::collections::BTreeMap;

use host_interface::TrailEntry;
use time::{Date, Month, PrimitiveDateTime};

use super::erasing::Erasing;
use super::find::keys;
use crate::error::Error;
use crate::model::moment;
use crate::model::parameters::Parameters;
use crate::service::call::Shop;
use crate::sql::privacy::{self, Old};
use crate::store;

/// A group of records that the site keeps for a time only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Orders with closed statuses lose what is personal.
    Closed,
    /// Orders with other statuses, too.
    Other,
    /// Addresses of customers without orders are removed.
    Customers,
    /// Orders lose names and addresses that an erasure has kept until a day.
    Due,
}

/// What became of a group, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retained {
    /// The group.
    pub group: Group,
    /// After how many months; 0 is never, and `None` as each erasure has said.
    pub months: Option<i64>,
    /// The number of its records whose time is over.
    pub records: u64,
}

/// Removes what the site keeps no longer; or counts it, and changes nothing. If there is anything, the audit trail has an
/// entry before it is removed, and another one of what was removed, also if that failed half-way.
pub async fn retain(shop: &Shop, dry_run: bool) -> Result<Vec<Retained>, Error> {
    let parameters = shop.parameters.current()?;
    let (mut groups, mut retained) = (Vec::new(), Vec::new());
    // What was promised for a day comes before what the site wishes.
    for group in [Group::Due, Group::Closed, Group::Other, Group::Customers] {
        let over = group.over(&parameters, shop).await?;
        let records = match &over {
            Some(over) => over.count(shop).await?,
            None => 0,
        };
        retained.push(Retained { group, months: group.months(&parameters), records });
        groups.push(over);
    }
    if dry_run || retained.iter().all(|of| of.records == 0) {
        return Ok(retained);
    }
    note("to be removed: ", &retained, "", shop).await?;
    for of in &mut retained {
        of.records = 0;
    }
    let removed = async {
        for (over, of) in groups.iter().zip(&mut retained) {
            if let Some(over) = over {
                over.remove(&mut of.records, shop).await?;
            }
        }
        Ok(())
    };
    let removed: Result<(), Error> = removed.await;
    shop.feed.written();
    let end = if removed.is_err() { "; the rest could not be removed" } else { "" };
    let noted = note("", &retained, end, shop).await;
    removed.and(noted).map(|()| retained)
}

/// Adds an entry with these numbers to the audit trail.
async fn note(before: &str, retained: &[Retained], after: &str, shop: &Shop) -> Result<(), Error> {
    let counts = retained.iter().map(|of| format!("{}: {}", of.group.title(), of.records));
    let details = format!("{before}{}{after}", counts.collect::<Vec<_>>().join(", "));
    let entry = TrailEntry::new("privacy.retain", "orders", "").details(details);
    match shop.host.record(&entry).await {
        // A host without a trail.
        Err(host_interface::Error::Unsupported(_)) => Ok(()),
        done => Ok(done?),
    }
}

impl Group {
    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Group::Closed => "closed orders",
            Group::Other => "other orders",
            Group::Customers => "customers without orders",
            Group::Due => "orders whose names were kept until a day",
        }
    }

    fn months(self, parameters: &Parameters) -> Option<i64> {
        match self {
            Group::Closed => Some(parameters.retention_closed_months),
            Group::Other => Some(parameters.retention_open_months),
            Group::Customers => Some(parameters.retention_customers_months),
            Group::Due => None,
        }
    }

    /// Those of its records whose time is over; `None` if the site keeps all of them.
    async fn over(self, parameters: &Parameters, shop: &Shop) -> Result<Option<Over>, Error> {
        let now = moment::now();
        let Some(months) = self.months(parameters) else {
            return Ok(Some(Over::Due(now.date().to_string())));
        };
        let Some(before) = months_ago(months, now) else { return Ok(None) };
        if self == Group::Customers {
            return unused_since(before, shop).await;
        }
        let statuses = parameters.closed_statuses.clone();
        Ok(Some(Over::Orders(Old { statuses, has_one: self == Group::Closed, before })))
    }
}

/// Records whose time is over.
enum Over {
    Orders(Old),
    /// Addresses that have not changed since this place in the feed.
    Customers(i64),
    /// What was kept until this day or before.
    Due(String),
}

/// The addresses of customers without orders that have not changed since a moment; `None` if nothing is that old.
async fn unused_since(before: PrimitiveDateTime, shop: &Shop) -> Result<Option<Over>, Error> {
    shop.feed.catch_up().await?;
    let mut reading = shop.store.begin_read().await?;
    let began = reading.number(privacy::feed_began()).await?;
    reading.end().await;
    let place = before.assume_utc().unix_timestamp().saturating_mul(1_000_000);
    Ok((began < place).then_some(Over::Customers(place)))
}

impl Over {
    async fn count(&self, shop: &Shop) -> Result<u64, Error> {
        let count = match self {
            Over::Orders(old) => privacy::count_old_orders(old),
            Over::Customers(since) => privacy::count_unused_addresses(*since),
            Over::Due(today) => privacy::count_due(today),
        };
        let counted = shop.store.rows(count).await?;
        Ok(counted.first().map_or(0, |row| row.count).unsigned_abs())
    }

    /// Removes what is personal in them, and adds up how many are done.
    async fn remove(&self, done: &mut u64, shop: &Shop) -> Result<(), Error> {
        let mut from = 0;
        loop {
            let persons = self.some(from, shop).await?;
            let Some(last) = persons.iter().flatten().max() else { return Ok(()) };
            from = *last;
            store::retry(|| async {
                let mut erasing = Erasing::begin(shop).await?;
                erasing.forget_texts(persons.iter().map(Vec::len).sum()).await?;
                for keys in &persons {
                    match self {
                        // Those of one person get one address of nobody.
                        Over::Orders(_) => erasing.orders(keys).await?,
                        Over::Customers(_) => drop(erasing.addresses(keys).await?),
                        Over::Due(_) => drop(erasing.strip(keys).await?),
                    }
                }
                erasing.commit().await
            })
            .await?;
            *done += persons.iter().map(|keys| keys.len() as u64).sum::<u64>();
        }
    }

    /// The keys of some after a key, by persons where these matter.
    async fn some(&self, from: i64, shop: &Shop) -> Result<Vec<Vec<i64>>, Error> {
        let rows = match self {
            Over::Orders(old) => {
                let mut persons: BTreeMap<(i64, String), Vec<i64>> = BTreeMap::new();
                for order in shop.store.rows(privacy::old_orders(old, from)).await? {
                    // A user is one person, whatever the addresses of the orders.
                    let email = if order.user > 0 { String::new() } else { order.email };
                    persons.entry((order.user, email)).or_default().push(order.key);
                }
                return Ok(persons.into_values().collect());
            }
            Over::Customers(since) => privacy::unused_addresses(*since, from),
            Over::Due(today) => privacy::due(today, from),
        };
        Ok(vec![keys(shop.store.rows(rows).await?)])
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
