//! The connections to one database: those that read and, on an engine with one writer at a time,
//! the one that writes. Independent of engines.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use sqlx::Database;

use super::ready::Ready;

/// The number of connections of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The name of the pool.
    pub pool: &'static str,
    /// Those in use.
    pub busy: u32,
    /// Those not in use.
    pub idle: u32,
}

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads with single statements.
    Read,
    /// Reads with several statements on one snapshot.
    Snapshot,
    /// Writes.
    Write,
}

/// The connections to a database.
#[derive(Debug)]
pub(super) struct Pools<DB: Database> {
    /// Those that read; they also write if there is no separate writer.
    readers: Ready<DB>,
    /// Those on which a snapshot begins with its first statement, on an engine that has such.
    snapshots: Option<Ready<DB>>,
    writer: Option<Writer<DB>>,
}

#[derive(Debug)]
struct Writer<DB: Database> {
    /// A single connection, so that the process's writers queue here, in order, and never compete
    /// in the database.
    ready: Ready<DB>,
    upkeep: Arc<dyn Upkeep>,
}

/// Work that writes leave behind, which is done in the background.
pub(super) trait Upkeep: Debug + Send + Sync {
    /// Called after a commit.
    fn committed(self: Arc<Self>);
    /// Closes its connections.
    fn close(&self) -> BoxFuture<'_, ()>;
}

impl<DB: Database> Pools<DB> {
    /// The connections to a server, all of which read and write.
    pub(super) fn of_server(ready: Ready<DB>) -> Self {
        Self { readers: ready, snapshots: None, writer: None }
    }

    /// Adds connections that only transactions which read a snapshot use.
    pub(super) fn with_snapshots(self, snapshots: Ready<DB>) -> Self {
        Self { snapshots: Some(snapshots), ..self }
    }

    /// The connections to a database that has one writer.
    pub(super) fn with_writer(
        readers: Ready<DB>,
        writer: Ready<DB>,
        upkeep: Arc<dyn Upkeep>,
    ) -> Self {
        Self { readers, snapshots: None, writer: Some(Writer { ready: writer, upkeep }) }
    }

    /// The connections for this purpose.
    pub(super) fn of(&self, access: Access) -> &Ready<DB> {
        match (access, &self.writer, &self.snapshots) {
            (Access::Write, Some(writer), _) => &writer.ready,
            (Access::Snapshot, _, Some(snapshots)) => snapshots,
            _ => &self.readers,
        }
    }

    /// Called after a commit.
    pub(super) fn committed(&self) {
        if let Some(writer) = &self.writer {
            Arc::clone(&writer.upkeep).committed();
        }
    }

    /// The number of connections.
    pub(super) fn usage(&self) -> Vec<Usage> {
        let of = |pool, ready: &Ready<DB>| {
            let (busy, idle) = ready.usage();
            Usage { pool, busy, idle }
        };
        let mut usage = match &self.writer {
            Some(writer) => vec![of("readers", &self.readers), of("writer", &writer.ready)],
            None => vec![of("server", &self.readers)],
        };
        usage.extend(self.snapshots.as_ref().map(|snapshots| of("snapshots", snapshots)));
        usage
    }

    /// Closes all of them.
    pub(super) async fn close(&self) {
        if let Some(writer) = &self.writer {
            writer.upkeep.close().await;
        }
        self.readers.close().await;
        if let Some(snapshots) = &self.snapshots {
            snapshots.close().await;
        }
        if let Some(writer) = &self.writer {
            writer.ready.close().await;
        }
    }
}
