//! The memory of all answers under way together: those that are being read and written, and those that
//! are being sent. Independent of what they contain.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use host_interface::Chunk;

use crate::error::Error;

/// The limit of an answer, where the host names none.
pub const DEFAULT_LIMIT: usize = 8 * 1024 * 1024;

/// How many times the limit of one answer all of them may take together.
const TOGETHER: usize = 16;

/// Answers up to this size are not counted: the number of connections limits what they take.
const SMALL: usize = 64 * 1024;

/// How many bytes an answer takes for each byte that was read for it: as the database returned it, as
/// cells, and in the document.
const COPIES: usize = 3;

/// What the answers under way take.
#[derive(Clone, Debug, Default)]
pub struct Answers(Arc<AtomicUsize>);

/// What one answer takes, until this is dropped.
#[derive(Debug)]
pub struct Share {
    of: Answers,
    bytes: usize,
    /// The limit of one answer.
    limit: usize,
}

impl Answers {
    /// An answer of which nothing has been read yet.
    pub fn begin(&self, limit: usize) -> Share {
        Share { of: self.clone(), bytes: 0, limit }
    }

    /// A body that is ready, which counts until it is sent.
    ///
    /// # Errors
    /// When the answers under way would take too much.
    pub fn send(&self, body: Vec<u8>, limit: usize) -> Result<Chunk, Error> {
        if body.len() <= SMALL {
            return Ok(body.into());
        }
        let mut share = self.begin(limit);
        share.add(body.len())?;
        Ok(Chunk::from_owner(Sent { body, _share: share }))
    }
}

impl Share {
    /// Counts bytes that were read from the database.
    ///
    /// # Errors
    /// When the answers under way would take too much.
    pub fn read(&mut self, bytes: usize) -> Result<(), Error> {
        if bytes <= SMALL {
            return Ok(());
        }
        self.add(bytes.saturating_mul(COPIES))
    }

    fn add(&mut self, bytes: usize) -> Result<(), Error> {
        let most = self.limit.saturating_mul(TOGETHER);
        let added = self.of.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            // An answer that is larger than all may be together is made while there is no other.
            let is_alone = taken == self.bytes;
            taken.checked_add(bytes).filter(|taken| is_alone || *taken <= most)
        });
        added.map_err(|_| Error::Crowded)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.of.0.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// A body that is being sent, with its share.
struct Sent {
    body: Vec<u8>,
    _share: Share,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_together_take_sixteen_times_the_limit_of_one() -> Result<(), Error> {
        let (answers, limit) = (Answers::default(), 100 * 1024);
        let sent = |bytes| answers.send(vec![0; bytes], limit);
        let first = (0..16).map(|_| sent(limit)).collect::<Result<Vec<_>, Error>>()?;
        assert!(matches!(sent(SMALL + 1), Err(Error::Crowded)));
        assert!(sent(SMALL).is_ok(), "a small one is not counted");
        drop(first);
        let other = sent(limit)?;
        let mut reading = answers.begin(limit);
        for _ in 0..5 {
            reading.read(limit)?;
        }
        assert!(matches!(reading.read(limit), Err(Error::Crowded)));
        drop(other);
        reading.read(limit)?;
        assert!(matches!(sent(limit), Err(Error::Crowded)), "one is alone, and others wait for it");
        drop(reading);
        drop(sent(20 * limit)?);
        assert_eq!(answers.0.load(Ordering::Relaxed), 0);
        Ok(())
    }
}
