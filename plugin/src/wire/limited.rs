//! Bytes that are written up to a limit.

use std::io::{self, Write};

/// Bytes up to a limit. Writing more of them fails.
#[derive(Debug)]
pub struct Limited {
    bytes: Vec<u8>,
    limit: usize,
}

impl Limited {
    /// An empty buffer with room for about so many bytes.
    pub fn new(limit: usize, expected: usize) -> Self {
        Self { bytes: Vec::with_capacity(expected.min(limit)), limit }
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Write for Limited {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.limit - self.bytes.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
