//! The bytes of a file while they arrive: expanded if they are compressed, and counted. Knows nothing of what
//! they mean.

use std::io::Write;

use flate2::write::MultiGzDecoder;
use futures_util::StreamExt;
use host_interface::Body;

use crate::error::{Error, Fault, FaultKind};

/// How many compressed bytes are expanded at once: at worst, they become a thousand times as many.
const EXPANDED_AT_ONCE: usize = 1_024;

/// A file that arrives.
#[derive(Debug)]
pub(super) struct Source {
    /// What has arrived first, if all of it has.
    whole: Option<Vec<u8>>,
    /// The rest; `None` at its end.
    pieces: Option<Body>,
    decoder: Option<MultiGzDecoder<Vec<u8>>>,
    /// What has arrived and is not expanded yet.
    packed: Vec<u8>,
    expanded: usize,
    limit: usize,
}

impl Source {
    /// A file that is there, or arrives in pieces, and has at most so many bytes once it is expanded.
    pub(super) fn new(whole: Vec<u8>, pieces: Option<Body>, gzip: bool, limit: usize) -> Self {
        let decoder = gzip.then(|| MultiGzDecoder::new(Vec::new()));
        Self { whole: Some(whole), pieces, decoder, packed: Vec::new(), expanded: 0, limit }
    }

    /// The next bytes, which are never empty; `None` at the end.
    ///
    /// # Errors
    /// When the file breaks off, cannot be expanded, or is too large: sentences that begin in the middle, after the
    /// place in the file.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            let bytes = match self.unpack()? {
                Some(bytes) => bytes,
                None => match self.arrived().await? {
                    Some(bytes) if self.decoder.is_some() => {
                        self.packed = bytes;
                        continue;
                    }
                    Some(bytes) => bytes,
                    None => return self.end(),
                },
            };
            if let Some(bytes) = self.counted(bytes)? {
                return Ok(Some(bytes));
            }
        }
    }

    /// What has arrived as it was sent.
    async fn arrived(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if let Some(whole) = self.whole.take()
            && !whole.is_empty()
        {
            return Ok(Some(whole));
        }
        let Some(pieces) = &mut self.pieces else { return Ok(None) };
        let arrived = pieces.next().await.transpose();
        if !matches!(arrived, Ok(Some(_))) {
            self.pieces = None;
        }
        let chunk = arrived.map_err(|error| invalid(format!("the file broke off: {error}.")))?;
        Ok(chunk.map(|chunk| chunk.to_vec()))
    }

    /// Expands some of what has arrived; `None` if nothing is left.
    fn unpack(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some(decoder) = &mut self.decoder else { return Ok(None) };
        if self.packed.is_empty() {
            return Ok(None);
        }
        let some = self.packed.len().min(EXPANDED_AT_ONCE);
        decoder.write_all(&self.packed[..some]).map_err(|_| corrupt())?;
        self.packed.drain(..some);
        Ok(Some(std::mem::take(decoder.get_mut())))
    }

    /// What the end of a compressed file gives.
    fn end(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some(decoder) = self.decoder.take() else { return Ok(None) };
        let rest = decoder.finish().map_err(|_| corrupt())?;
        self.counted(rest)
    }

    /// Counts expanded bytes; `None` if there are none.
    fn counted(&mut self, bytes: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        self.expanded = self.expanded.saturating_add(bytes.len());
        if self.expanded > self.limit {
            let limit = self.limit;
            let detail = format!("the file has more than {limit} bytes once it is expanded.");
            return Err(Fault::new(FaultKind::BodyTooLarge, detail).into());
        }
        Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

fn corrupt() -> Error {
    invalid("the file is not valid gzip.")
}

/// The refusal of a file as a whole.
pub(super) fn invalid(detail: impl Into<String>) -> Error {
    Fault::new(FaultKind::InvalidTable, detail).into()
}
