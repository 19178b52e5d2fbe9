//! Exports: all records of a type as one stream, from one snapshot and at constant memory. Knows nothing of
//! routes, and of who may read what.

use futures_util::{StreamExt, stream};
use host_interface::{Body, Response};
use serde_json::json;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, TryAcquireError};

use crate::changes::Snapshot;
use crate::error::{Error, chain};
use crate::model::moment;
use crate::model::question::Page;
use crate::model::table::Column;
use crate::model::value::Kind;
use crate::service::call::Call;
use crate::sql;
use crate::store::Transaction;
use crate::wire::exporting::Export;
use crate::wire::table::{ABOUT, TableWriter};

/// The size of a piece of the stream, in bytes.
const PIECE: usize = 64 * 1024;
/// How many pieces may be ready before the client has taken them.
const AHEAD: usize = 2;

/// Answers with all records that an export asks for. What follows the answer's head is read while it is sent.
pub(crate) async fn export(call: &Call<'_>, asked: Export) -> Result<Response, Error> {
    let shop = call.shop;
    // Each export keeps a connection for as long as its client takes.
    let place = shop.exports.clone().try_acquire_owned();
    let place = place.map_err(|_: TryAcquireError| Error::Crowded)?;
    shop.feed.catch_up().await?;
    let mut transaction = shop.store.begin_read().await?;
    let kind = asked.resource.kind;
    let snapshot = Snapshot::of(kind, &mut transaction).await?;
    let page = asked.page(asked.modified_since.and_then(|since| snapshot.changed_since(since)));
    let (as_of, cursor) = (moment::render(snapshot.as_of()), snapshot.cursor.text());
    let mut table = TableWriter::new(asked.form, asked.columns.clone());
    table.begin(&json!({ABOUT: {"type": kind, "cursor": cursor, "as_of": as_of}}))?;
    let format = asked.form.format;
    let name = format!("{kind}-{}.{}", &as_of[..as_of.len().min(10)], format.extension());
    let (pieces, mut taken) = channel(AHEAD);
    let reading =
        Reading { transaction, page, columns: asked.columns, table, pieces, _place: place };
    let id = call.request.id().to_owned();
    tokio::spawn(async move {
        let pieces = reading.pieces.clone();
        if let Err(error) = reading.run().await {
            tracing::error!(request_id = id, causes = chain(&error), "an export failed");
            // The client sees that the answer broke off.
            drop(pieces.send(Err(host_interface::Error::failed(error))).await);
        }
    });
    let body = stream::poll_fn(move |context| taken.poll_recv(context)).boxed();
    Ok(Response::new(200)
        .with_header("content-type", format.media_type())
        .with_header("content-disposition", format!("attachment; filename=\"{name}\""))
        .with_header("cache-control", "private, no-store")
        .with_header("export-cursor", cursor)
        .with_stream(Body::new(body)))
}

/// The reading of an export.
struct Reading {
    transaction: Transaction,
    page: Page,
    columns: Vec<Column>,
    table: TableWriter,
    pieces: Sender<Result<Vec<u8>, host_interface::Error>>,
    _place: OwnedSemaphorePermit,
}

impl Reading {
    /// Reads all records, until the client has them or has left.
    async fn run(mut self) -> Result<(), Error> {
        let kinds: Vec<Kind> = self.columns.iter().map(Column::kind).collect();
        let statement = sql::export(&self.page, &self.columns, self.transaction.dialect());
        let mut rows = self.transaction.stream(statement, &kinds)?;
        while let Some(row) = rows.next().await {
            self.table.row(&row?)?;
            if self.table.size() >= PIECE && self.pieces.send(Ok(self.table.take())).await.is_err()
            {
                return Ok(());
            }
        }
        drop(rows);
        self.transaction.end();
        drop(self.pieces.send(Ok(self.table.take())).await);
        Ok(())
    }
}
