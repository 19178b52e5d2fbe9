//! Finds what belongs to a person: orders with their parts, and the rows of other tables. Changes nothing.

use std::collections::{BTreeSet, HashSet};

use futures_util::TryStreamExt;
use host_interface::Person;

use super::map::{PLACES, Place, Whose};
use crate::error::{Error, Fault, FaultKind};
use crate::model::parameters::Parameters;
use crate::model::resource::Resource;
use crate::model::value::{Kind, Value, fold};
use crate::service::call::Shop;
use crate::service::once;
use crate::sql::{Key, privacy};
use crate::store::Transaction;

/// How many keys of a table are read again in a transaction that changes something: a row may be committed after one
/// with a greater key.
const READ_AGAIN: i64 = 10_000;

/// The columns in which addresses are looked up by their hashes.
const ADDRESSES: [(&str, &str); 3] = [
    ("shop_orders", "user_email_fold"),
    ("shop_addresses", "email_fold"),
    ("shop_vouchers", "email_to_fold"),
];

/// A person as the store knows them.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Their addresses, case-folded.
    emails: Vec<String>,
    /// The key of the user.
    pub(super) user: Option<i64>,
    /// What stands for their address where it is not kept.
    pub(super) hashes: Vec<String>,
}

/// The orders of a person.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// The keys of those that have data of the person.
    pub(super) keys: Vec<i64>,
    /// The keys of those of which only names and addresses were kept.
    pub(super) kept: Vec<i64>,
    /// The references of those that are not completed.
    pub(super) open: Vec<String>,
    /// The addresses by which other tables mention the person, case-folded.
    emails: HashSet<String>,
    /// The references of the orders.
    references: HashSet<String>,
}

/// Rows that were found by their contents, for each of the places with such.
pub(super) type Contents = Vec<(&'static Place, Vec<i64>)>;

impl Known {
    /// Looks up what is known of a person.
    ///
    /// # Errors
    /// When nothing is known, or the host cannot compute hashes.
    pub(super) async fn of(person: &Person, shop: &Shop) -> Result<Self, Error> {
        let email = person.email.as_deref().map(str::trim).filter(|email| !email.is_empty());
        let user = person.user.filter(|user| *user > 0);
        let mut known = Known { user, ..Known::default() };
        if let Some(email) = email {
            known.emails.push(fold(email));
            match shop.host.email_hash(email) {
                Ok(hash) => known.hashes.push(hash),
                // What is kept until a day is then found by the key of the user only.
                Err(host_interface::Error::Unsupported(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(hash) = &person.email_hash {
            known.emails.extend(emails_of(hash, shop).await?);
            known.hashes.push(hash.clone());
        }
        if known.emails.is_empty() && known.hashes.is_empty() && user.is_none() {
            let detail = "Give an e-mail address or the id of a user.";
            return Err(Fault::new(FaultKind::Refused, detail).into());
        }
        Ok(known)
    }

    /// Their orders.
    pub(super) async fn orders(
        &self,
        parameters: &Parameters,
        transaction: &mut Transaction,
    ) -> Result<Orders, Error> {
        let mut orders = Orders::default();
        orders.emails.extend(self.emails.iter().cloned());
        for order in transaction.rows(privacy::orders_of(&self.emails, self.user)).await? {
            let closed = parameters.closed_statuses.contains(&order.status)
                || order.status == parameters.shipped_status
                || order.state == "fulfilled";
            if !closed {
                orders.open.push(order.reference.clone());
            }
            orders.keys.push(order.key);
            orders.references.insert(order.reference);
            orders.emails.insert(order.email);
        }
        orders.kept =
            keys(transaction.rows(privacy::kept_orders_of(&self.hashes, self.user)).await?);
        orders.keys.sort_unstable();
        orders.kept.sort_unstable();
        orders.open.sort_unstable();
        Ok(orders)
    }

    /// Their rows of a place that is about a person by itself.
    pub(super) async fn rows(
        &self,
        resource: &Resource,
        email: &str,
        user: Option<&str>,
        transaction: &mut Transaction,
    ) -> Result<Vec<i64>, Error> {
        let rows = privacy::rows_of(resource, email, user, &self.emails, self.user);
        Ok(keys(transaction.rows(rows).await?))
    }

    /// The rows of all places that are about a person by their contents. Rows below those keys have been read before.
    pub(super) async fn contents(
        &self,
        orders: &Orders,
        seen: &[i64],
        shop: &Shop,
        transaction: &mut Transaction,
    ) -> Result<(Contents, Vec<i64>), Error> {
        let (mut found, mut last) = (Contents::new(), Vec::new());
        let places = PLACES.iter().filter_map(|place| match place.whose {
            Whose::Contents(columns) => Some((place, columns)),
            _ => None,
        });
        for (position, (place, columns)) in places.enumerate() {
            let resource = place.resource(shop.registry).ok_or(UNKNOWN)?;
            let from = seen.get(position).map_or(0, |seen| seen.saturating_sub(READ_AGAIN));
            let kinds: Vec<Kind> = std::iter::once(Kind::COUNT)
                .chain(columns.iter().map(|column| match *column {
                    USER => Kind::COUNT,
                    "errors" => Kind::Json,
                    _ => Kind::WORD,
                }))
                .collect();
            let mut keys = Vec::new();
            let mut greatest = from;
            let statement = privacy::contents(resource, columns, from);
            let mut rows = transaction.stream(statement, &kinds)?;
            while let Some(row) = rows.try_next().await? {
                let key = row.first().map_or(Ok(0), |key| key.int(resource.key))?;
                greatest = greatest.max(key);
                if self.is_mentioned(columns, &row[1..], orders)? {
                    keys.push(key);
                }
            }
            drop(rows);
            found.push((place, keys));
            last.push(greatest);
        }
        Ok((found, last))
    }

    fn is_mentioned(
        &self,
        columns: &[&str],
        row: &[Value],
        orders: &Orders,
    ) -> Result<bool, Error> {
        for (column, value) in columns.iter().zip(row) {
            let mentioned = match value {
                Value::Int(user) => *column == USER && self.user == Some(*user),
                // What was replaced has no text to look at.
                value if value.is_empty() => false,
                value => orders.is_in(value.text(column)?)?,
            };
            if mentioned {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Orders {
    /// Whether a stored text mentions the person: as a whole, or in JSON by an address or by the reference of an order,
    /// which only a member of that name has, because any number may be a reference.
    fn is_in(&self, text: &str) -> Result<bool, Error> {
        if self.references.contains(text) || self.emails.contains(&fold(text)) {
            return Ok(true);
        }
        // A text that is no JSON may be a compressed one.
        let json = match text.as_bytes().first() {
            Some(b'{' | b'[') => text.as_bytes().to_vec(),
            Some(b'/') | None => return Ok(false),
            _ => once::body_of(text.to_owned()).unwrap_or_default(),
        };
        let document: serde_json::Value = serde_json::from_slice(&json).unwrap_or_default();
        Ok(self.is_in_json("", &document))
    }

    fn is_in_json(&self, name: &str, value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::String(text) => {
                (name == REFERENCE && self.references.contains(text)) || self.is_in_words(text)
            }
            serde_json::Value::Array(all) => all.iter().any(|value| self.is_in_json(name, value)),
            serde_json::Value::Object(members) => {
                members.iter().any(|(name, value)| self.is_in_json(name, value))
            }
            _ => false,
        }
    }

    /// Whether a sentence has one of the addresses.
    fn is_in_words(&self, text: &str) -> bool {
        let ends = ['"', ' ', ',', ';', ':', '<', '>', '(', ')'];
        let words = text.split(ends).map(|word| word.trim_end_matches('.'));
        words.filter(|word| word.contains('@')).any(|word| self.emails.contains(&fold(word)))
    }
}

/// The member of documents with the reference of an order.
const REFERENCE: &str = "order_id";

/// How many records of a place the person has, besides those that are found by contents.
pub(super) async fn own_keys(
    place: &Place,
    known: &Known,
    orders: &Orders,
    vouchers: &[i64],
    shop: &Shop,
    transaction: &mut Transaction,
) -> Result<Vec<i64>, Error> {
    let resource = place.resource(shop.registry).ok_or(UNKNOWN)?;
    let (by, owners) = match place.whose {
        Whose::Order(by) if by == resource.key => {
            return Ok([&orders.keys[..], &orders.kept].concat());
        }
        Whose::Order(by) => (by, &orders.keys[..]),
        Whose::Voucher(by) => (by, vouchers),
        Whose::Own(email, user) => return known.rows(resource, email, user, transaction).await,
        Whose::Contents(_) => return Ok(Vec::new()),
    };
    let mut found = Vec::new();
    for owners in owners.chunks(privacy::AT_ONCE) {
        found.extend(keys(transaction.rows(privacy::parts_of(resource, by, owners)).await?));
    }
    found.sort_unstable();
    Ok(found)
}

/// The column with the key of a user, among those that are read for their contents.
const USER: &str = "user_id";

pub(super) const UNKNOWN: Error = Error::Contract("a place of personal data has no descriptor");

pub(super) fn keys(rows: Vec<Key>) -> Vec<i64> {
    rows.into_iter().map(|row| row.key).collect()
}

/// The rows of a place among those that were found by their contents.
pub(super) fn mentioned<'c>(
    contents: impl IntoIterator<Item = &'c (&'static Place, Vec<i64>)>,
    place: &Place,
) -> impl Iterator<Item = i64> {
    let of_place = contents.into_iter().filter(move |(of, _)| std::ptr::eq(*of, place));
    of_place.flat_map(|(_, rows)| rows.iter().copied())
}

/// The addresses, case-folded, that have this hash. Each address of the store is tried, because a hash leads to none.
async fn emails_of(hash: &str, shop: &Shop) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    let mut reading = shop.patient().begin_read().await?;
    for (table, column) in ADDRESSES {
        let mut rows = reading.stream(privacy::all_emails(table, column), &[Kind::WORD])?;
        while let Some(row) = rows.try_next().await? {
            let email = row.first().map_or(Ok(""), |email| email.text(column))?;
            if shop.host.email_hash(email)? == hash {
                found.insert(email.to_owned());
            }
        }
    }
    reading.end().await;
    Ok(found)
}
