//! The connections to one database: those that read and, where the engine has one writer at a time,
//! the one that writes. Knows no engine.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use sqlx::Database;

use super::ready::Ready;

/// How many connections a pool has.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Which pool.
    pub pool: &'static str,
    /// Those in use.
    pub busy: u32,
    /// Those not in use.
    pub idle: u32,
}

/// What a connection is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// The connections to a database.
#[derive(Debug)]
pub(super) struct Pools<DB: Database> {
    /// Those that read; they also write where there is no writer.
    readers: Ready<DB>,
    writer: Option<Writer<DB>>,
}

#[derive(Debug)]
struct Writer<DB: Database> {
    /// One connection, so that the process's writers queue here, in order, and never meet in the
    /// database.
    ready: Ready<DB>,
    upkeep: Arc<dyn Upkeep>,
}

/// What writes leave to do, which is done beside them.
pub(super) trait Upkeep: Debug + Send + Sync {
    /// Something was committed.
    fn committed(self: Arc<Self>);
    /// Closes its connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}

impl<DB: Database> Pools<DB> {
    /// The connections to a server, all of which read and write.
    pub(super) fn of_server(ready: Ready<DB>) -> Self {
        Self { readers: ready, writer: None }
    }

    /// The connections to a database that has one writer.
    pub(super) fn with_writer(
        readers: Ready<DB>,
        writer: Ready<DB>,
        upkeep: Arc<dyn Upkeep>,
    ) -> Self {
        Self { readers, writer: Some(Writer { ready: writer, upkeep }) }
    }

    /// The connections for this purpose.
    pub(super) fn of(&self, access: Access) -> &Ready<DB> {
        match (access, &self.writer) {
            (Access::Write, Some(writer)) => &writer.ready,
            _ => &self.readers,
        }
    }

    /// Something was committed.
    pub(super) fn committed(&self) {
        if let Some(writer) = &self.writer {
            Arc::clone(&writer.upkeep).committed();
        }
    }

    /// How many there are.
    pub(super) fn usage(&self) -> Vec<Usage> {
        let of = |pool, ready: &Ready<DB>| {
            let (busy, idle) = ready.usage();
            Usage { pool, busy, idle }
        };
        match &self.writer {
            Some(writer) => vec![of("readers", &self.readers), of("writer", &writer.ready)],
            None => vec![of("server", &self.readers)],
        }
    }

    /// Closes all of them.
    pub(super) async fn close(&self) {
        if let Some(writer) = &self.writer {
            writer.upkeep.close().await;
        }
        self.readers.close().await;
        if let Some(writer) = &self.writer {
            writer.ready.close().await;
        }
    }
}
