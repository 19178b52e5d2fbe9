//! A copy of everything that the store has of a person: a JSON object with a member for each place that has
//! something. It is written while it is sent, from one snapshot, so that the rows of a person with many orders are
//! never in memory together.

use std::sync::Arc;

use futures_util::TryStreamExt;
use host_interface::{Body, Person};
use tokio::sync::{AcquireError, OwnedSemaphorePermit};

use super::find::{self, Contents, Known, Orders, UNKNOWN, mentioned};
use super::map::{PLACES, Place};
use crate::error::{Error, chain};
use crate::model::field::Field;
use crate::model::parameters::Parameters;
use crate::model::question::{Condition, Page};
use crate::model::resource::Resource;
use crate::model::table::Column;
use crate::model::value::{Cell, Kind, Value};
use crate::service::call::Shop;
use crate::service::once::{self, KEYS};
use crate::service::pieces::{PIECE, Pieces, produced};
use crate::sql::{self, privacy};
use crate::store::Transaction;
use crate::wire::document;

/// Copies what the store has of a person. Whose records these are is known when it returns; they are read afterwards.
///
/// # Errors
/// A fault if nothing is known of the person; those of the database.
pub async fn export(shop: &Arc<Shop>, person: &Person) -> Result<Body, Error> {
    // Like an export, a copy keeps a connection for as long as its reader takes.
    let place = Arc::clone(&shop.exports).acquire_owned().await;
    let place = place.map_err(|_: AcquireError| Error::Crowded)?;
    let known = Known::of(person, shop).await?;
    let parameters: Arc<Parameters> = shop.parameters.current()?;
    let mut reading = shop.patient().begin_read().await?;
    let orders = known.orders(&parameters, &mut reading).await?;
    let (contents, _) = known.contents(&orders, &[], shop, &mut reading).await?;
    let shop = Arc::clone(shop);
    let copy = |pieces| {
        let copy = PersonCopy {
            shop,
            known,
            orders,
            contents,
            reading,
            text: Vec::new(),
            pieces,
            _place: place,
        };
        copy.run()
    };
    let failed = |error: &Error| {
        tracing::error!(causes = chain(error), "a copy of a person's data failed");
    };
    Ok(produced(copy, failed))
}

/// A copy that is being written.
struct PersonCopy {
    shop: Arc<Shop>,
    known: Known,
    orders: Orders,
    contents: Contents,
    reading: Transaction,
    /// What was written, and is not sent yet.
    text: Vec<u8>,
    pieces: Pieces,
    _place: OwnedSemaphorePermit,
}

impl PersonCopy {
    /// Writes all places, until the client has them or has left.
    async fn run(mut self) -> Result<(), Error> {
        self.text.push(b'{');
        let (mut vouchers, mut is_first) = (Vec::new(), true);
        for place in PLACES {
            let Self { shop, known, orders, reading, .. } = &mut self;
            let own = find::own_keys(place, known, orders, &vouchers, shop, reading).await?;
            let mut keys: Vec<i64> = mentioned(&self.contents, place).collect();
            keys.extend(&own);
            if place.name() == "vouchers" {
                vouchers = own;
            }
            if keys.is_empty() {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                self.text.push(b',');
            }
            if !self.write(place, &keys).await? {
                return Ok(());
            }
        }
        self.reading.end().await;
        self.text.push(b'}');
        self.pieces.send(self.text).await;
        Ok(())
    }

    /// Writes the records of a place. Returns whether the client is still there.
    async fn write(&mut self, place: &Place, keys: &[i64]) -> Result<bool, Error> {
        let resource = place.resource(self.shop.registry).ok_or(UNKNOWN)?;
        let key = Field::of_kind(resource.key, Kind::COUNT);
        let fields: Vec<Field> = std::iter::once(key).chain(copied(resource).copied()).collect();
        let columns: Vec<Column> = std::iter::once(Column::Key(resource))
            .chain(copied(resource).map(Column::Own))
            .collect();
        let kinds: Vec<Kind> = columns.iter().map(Column::kind).collect();
        let body =
            fields.iter().position(|field| resource.table == KEYS.table && field.name == "body");
        self.text.extend_from_slice(format!("\"{}\":[", place.name()).as_bytes());
        let mut is_first = true;
        for keys in keys.chunks(privacy::AT_ONCE) {
            let page = Page::of_all(resource, Condition::among(resource.key, keys));
            let statement = sql::export(&page, &columns, None, self.reading.dialect());
            let mut rows = self.reading.stream(statement, &kinds)?;
            while let Some(mut row) = rows.try_next().await? {
                if !std::mem::take(&mut is_first) {
                    self.text.push(b',');
                }
                if let Some(stored) = body.and_then(|body| row.get_mut(body)) {
                    expand(stored)?;
                }
                let cells: Vec<Cell<'_>> = row.iter().map(Cell::of).collect();
                document::append(&fields, &cells, &mut self.text)?;
                if self.text.len() >= PIECE
                    && !self.pieces.send(std::mem::take(&mut self.text)).await
                {
                    return Ok(false);
                }
            }
        }
        self.text.push(b']');
        Ok(true)
    }
}

/// A kept answer as it was sent, in place of its stored form.
fn expand(stored: &mut Value) -> Result<(), Error> {
    if let Value::Text(text) = stored {
        let body = once::body_of(std::mem::take(text))?;
        *text = String::from_utf8_lossy(&body).into_owned();
    }
    Ok(())
}

/// The fields that a table has of its own or from a join. What only the store sets and nobody sees is left out,
/// unless it is personal.
fn copied(resource: &'static Resource) -> impl Iterator<Item = &'static Field> {
    resource.fields().filter(move |field| {
        field.computed.is_none() && (field.personal.is_some() || !resource.is_internal(field.name))
    })
}
