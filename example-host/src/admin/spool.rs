//! Bytes that are kept for a while: the beginning in memory, and more than that in a temporary file without a name,
//! which disappears with the program.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures_util::{Stream, stream};
use tempfile::SpooledTempFile;

use crate::base::lock::lock;

/// How much is kept in memory.
const IN_MEMORY: usize = 64 * 1024;
/// The size of a piece that is read.
const PIECE: usize = 64 * 1024;

/// Bytes that are kept. They are written to and read from the cache of the system, which does not take long.
#[derive(Debug)]
pub(crate) struct Spool {
    file: Mutex<SpooledTempFile>,
    size: AtomicU64,
}

impl Spool {
    pub(crate) fn new() -> Self {
        Self { file: Mutex::new(SpooledTempFile::new(IN_MEMORY)), size: AtomicU64::new(0) }
    }

    /// Adds bytes at the end.
    pub(crate) fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.file();
        file.seek(SeekFrom::End(0))?;
        file.write_all(bytes)?;
        self.size.fetch_add(bytes.len().try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
        Ok(())
    }

    /// The number of bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    /// At most a piece of it, from a position on; it is empty at the end.
    pub(crate) fn piece(&self, at: u64) -> io::Result<Vec<u8>> {
        let mut piece = vec![0; PIECE];
        let mut file = self.file();
        file.seek(SeekFrom::Start(at))?;
        let read = file.read(&mut piece)?;
        drop(file);
        piece.truncate(read);
        Ok(piece)
    }

    /// All of it in pieces. `taken` counts the bytes that were asked for.
    pub(crate) fn pieces(
        self: &Arc<Self>,
        taken: Arc<AtomicU64>,
    ) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        stream::try_unfold((Arc::clone(self), taken, 0), async |(spool, taken, at)| {
            let piece = spool.piece(at)?;
            if piece.is_empty() {
                return Ok(None);
            }
            let at = at + u64::try_from(piece.len()).unwrap_or(u64::MAX);
            taken.store(at, Ordering::Relaxed);
            Ok(Some((Bytes::from(piece), (spool, taken, at))))
        })
    }

    fn file(&self) -> MutexGuard<'_, SpooledTempFile> {
        lock(&self.file)
    }
}
