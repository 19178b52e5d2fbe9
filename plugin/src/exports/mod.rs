//! Exports: all records of a type as one stream, from one snapshot and at constant memory. Knows nothing of
//! routes, and of who may read what.

use futures_util::StreamExt;
use host_interface::Response;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, TryAcquireError};

use crate::changes::Snapshot;
use crate::error::{Error, chain};
use crate::model::moment;
use crate::model::question::Page;
use crate::model::table::{Column, Parts};
use crate::model::value::{Kind, Value};
use crate::service::call::Call;
use crate::service::pieces::{PIECE, Pieces, produced};
use crate::sql;
use crate::store::Transaction;
use crate::wire::exporting::Export;
use crate::wire::table::{ABOUT, PartsWriter, TableWriter};

/// Answers with all records that an export asks for. What follows the answer's head is read while it is sent.
pub(crate) async fn export(call: &Call<'_>, asked: Export) -> Result<Response, Error> {
    let shop = call.shop;
    // Each export keeps a connection for as long as its client takes.
    let place = shop.exports.clone().try_acquire_owned();
    let place = place.map_err(|_: TryAcquireError| Error::Crowded)?;
    shop.feed.catch_up().await?;
    let mut transaction = shop.patient().begin_read().await?;
    let kind = asked.resource.kind;
    let snapshot = Snapshot::of(kind, &mut transaction).await?;
    let page = asked.page(asked.modified_since.and_then(|since| snapshot.changed_since(since)));
    let (as_of, cursor) = (moment::render(snapshot.as_of()), snapshot.cursor.text());
    let mut table = TableWriter::new(asked.form, &asked.columns, asked.parts.as_ref());
    table.begin(&json!({ABOUT: {"type": kind, "cursor": cursor, "as_of": as_of}}))?;
    let format = asked.form.format;
    let name = format!("{kind}-{}.{}", &as_of[..as_of.len().min(10)], format.extension());
    let Export { columns, parts, .. } = asked;
    let read = |pieces| {
        let reading = Reading { transaction, page, columns, parts, table, pieces, _place: place };
        reading.run()
    };
    let id = call.request.id().to_owned();
    let failed = move |error: &Error| {
        tracing::error!(request_id = id, causes = chain(error), "an export failed");
    };
    Ok(Response::new(200)
        .with_header("content-type", format.media_type())
        .with_header("content-disposition", format!("attachment; filename=\"{name}\""))
        .with_header("cache-control", "private, no-store")
        .with_header("export-cursor", cursor)
        .with_stream(produced(read, failed)))
}

/// The reading of an export.
struct Reading {
    transaction: Transaction,
    page: Page,
    columns: Vec<Column>,
    parts: Option<Parts>,
    table: TableWriter,
    pieces: Pieces,
    _place: OwnedSemaphorePermit,
}

impl Reading {
    /// Reads all records, until the client has them or has left.
    async fn run(mut self) -> Result<(), Error> {
        let (columns, parts) = (&self.columns, self.parts.as_ref());
        let own = columns.iter().map(Column::kind);
        let kinds: Vec<Kind> = own.chain(parts.into_iter().flat_map(Parts::kinds)).collect();
        let statement = sql::export(&self.page, columns, parts, self.transaction.dialect());
        let mut rows = self.transaction.stream(statement, &kinds)?;
        let mut grouped = parts.map(|parts| Grouped::of(columns.len(), parts));
        while let Some(row) = rows.next().await {
            let complete = match &mut grouped {
                Some(grouped) => grouped.add(row?)?,
                None => Some(row?),
            };
            if let Some(record) = complete {
                self.table.row(&record)?;
            }
            if self.table.size() >= PIECE && !self.pieces.send(self.table.take()).await {
                return Ok(());
            }
        }
        drop(rows);
        if let Some(last) = grouped.as_mut().map(Grouped::complete).transpose()?.flatten() {
            self.table.row(&last)?;
        }
        self.transaction.end().await;
        self.pieces.send(self.table.take()).await;
        Ok(())
    }
}

/// The rows of one record after the other, each with another part of it.
struct Grouped<'p> {
    /// The number of the record's own columns.
    width: usize,
    writer: PartsWriter<'p>,
    /// The key of the record and its own values, until its last row was read.
    record: Option<(i64, Vec<Value>)>,
    parts: Vec<(i64, Vec<Value>)>,
}

impl<'p> Grouped<'p> {
    fn of(width: usize, parts: &'p Parts) -> Self {
        Self { width, writer: PartsWriter::new(parts), record: None, parts: Vec::new() }
    }

    /// Adds a row. Returns the record before, if it is complete.
    fn add(&mut self, mut row: Vec<Value>) -> Result<Option<Vec<Value>>, Error> {
        let mut rest = row.split_off(self.width.min(row.len())).into_iter();
        let record = rest.next().unwrap_or(Value::Null).int("key")?;
        let is_another = self.record.as_ref().is_none_or(|(known, _)| *known != record);
        let complete = if is_another { self.complete()? } else { None };
        if is_another {
            self.record = Some((record, row));
        }
        // A record without parts has none in its only row.
        if let Some(Value::Int(part)) = rest.next() {
            self.parts.push((part, rest.collect()));
        }
        Ok(complete)
    }

    /// The record that was read, with its parts in the order of their keys as the last value.
    fn complete(&mut self) -> Result<Option<Vec<Value>>, Error> {
        let Some((_, mut record)) = self.record.take() else { return Ok(None) };
        let mut parts = std::mem::take(&mut self.parts);
        parts.sort_unstable_by_key(|(key, _)| *key);
        record.push(self.writer.write(parts.iter().map(|(_, values)| values.as_slice()))?);
        Ok(Some(record))
    }
}
