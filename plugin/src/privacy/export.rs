//! A copy of everything that the store has of a person: a JSON object with a member for each place that has
//! something. Rows become text as they are read.

use futures_util::TryStreamExt;
use host_interface::Person;

use super::find::{self, Known, UNKNOWN, mentioned};
use super::map::{PLACES, Place};
use crate::error::Error;
use crate::model::field::Field;
use crate::model::question::{Condition, Page};
use crate::model::resource::Resource;
use crate::model::table::Column;
use crate::model::value::{Cell, Kind, Value};
use crate::service::call::Shop;
use crate::service::once::{self, KEYS};
use crate::sql::{self, privacy};
use crate::store::Transaction;
use crate::wire::document::attributes;

/// Copies what the store has of a person.
///
/// # Errors
/// A fault if nothing is known of the person; those of the database.
pub async fn export(shop: &Shop, person: &Person) -> Result<String, Error> {
    let known = Known::of(person, shop).await?;
    let parameters = shop.parameters.current()?;
    let mut reading = shop.store.begin_read().await?;
    let orders = known.orders(&parameters, &mut reading).await?;
    let (contents, _) = known.contents(&orders, &[], shop, &mut reading).await?;
    let mut text = "{".to_owned();
    let mut vouchers = Vec::new();
    for place in PLACES {
        let mut keys: Vec<i64> = mentioned(&contents, place).collect();
        let own = find::own_keys(place, &known, &orders, &vouchers, shop, &mut reading).await?;
        keys.extend(&own);
        write(place, &keys, shop, &mut reading, &mut text).await?;
        if place.name() == "vouchers" {
            vouchers = own;
        }
    }
    reading.end();
    text.push('}');
    Ok(text)
}

/// Writes the records of a place, if there are any.
async fn write(
    place: &Place,
    keys: &[i64],
    shop: &Shop,
    reading: &mut Transaction,
    text: &mut String,
) -> Result<(), Error> {
    if keys.is_empty() {
        return Ok(());
    }
    let resource = place.resource(shop.registry).ok_or(UNKNOWN)?;
    let fields = fields(resource);
    let columns: Vec<Column> = std::iter::once(Column::Key(resource))
        .chain(fields.iter().skip(1).filter_map(|field| column(resource, field)))
        .collect();
    let kinds: Vec<Kind> = columns.iter().map(Column::kind).collect();
    if text.len() > 1 {
        text.push(',');
    }
    text.push_str(&format!("\"{}\":[", place.name()));
    let mut is_first = true;
    for keys in keys.chunks(privacy::AT_ONCE) {
        let page = Page::of_the(resource, Condition::Keys(keys.to_vec()));
        let statement = sql::export(&page, &columns, None, reading.dialect());
        let mut rows = reading.stream(statement, &kinds)?;
        while let Some(row) = rows.try_next().await? {
            if !is_first {
                text.push(',');
            }
            is_first = false;
            text.push_str(&record(resource, &fields, &row)?);
        }
    }
    text.push(']');
    Ok(())
}

/// A record as the text of a JSON object.
fn record(resource: &Resource, fields: &[Field], row: &[Value]) -> Result<String, Error> {
    let cells: Vec<Cell<'_>> = row.iter().map(Cell::of).collect();
    let mut record = attributes(fields, &cells)?;
    if resource.table == KEYS.table
        && let Some(serde_json::Value::String(stored)) = record.get("body")
    {
        let body = once::body_of(stored.clone())?;
        record.insert("body".to_owned(), String::from_utf8_lossy(&body).into());
    }
    Ok(serde_json::to_string(&record)?)
}

/// The key, and the fields that a table has of its own or from a join. What only the store sets and nobody sees is
/// left out, unless it is personal.
fn fields(resource: &'static Resource) -> Vec<Field> {
    let own = resource.fields().filter(|field| {
        field.computed.is_none() && (field.personal.is_some() || !resource.is_internal(field.name))
    });
    std::iter::once(Field::of_kind(resource.key, Kind::COUNT)).chain(own.copied()).collect()
}

fn column(resource: &'static Resource, of: &Field) -> Option<Column> {
    resource.fields().find(|field| field.name == of.name).map(Column::Own)
}
