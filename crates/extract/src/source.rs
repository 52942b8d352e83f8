//! The bytes of a file, of which a reader asks for places.

use std::io::{Error, ErrorKind, Result};

/// The bytes of a file.
pub trait Source {
    /// How many there are.
    fn length(&self) -> u64;

    /// Fills the buffer from this place on, as far as there are bytes, and returns how many there were.
    ///
    /// # Errors
    /// The bytes cannot be had.
    fn read_at(&mut self, place: u64, buffer: &mut [u8]) -> Result<usize>;

    /// The bytes of a place; fewer at the end.
    ///
    /// # Errors
    /// The bytes cannot be had.
    fn bytes_at(&mut self, place: u64, count: usize) -> Result<Vec<u8>> {
        let left = self.length().saturating_sub(place);
        let count = count.min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut bytes = vec![0; count];
        let mut filled = 0;
        while filled < count {
            match self.read_at(place + filled as u64, &mut bytes[filled..])? {
                0 => break, // the file has become shorter
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// Exactly these bytes.
    ///
    /// # Errors
    /// The bytes cannot be had, or there are fewer.
    fn exact_at(&mut self, place: u64, count: usize) -> Result<Vec<u8>> {
        let bytes = self.bytes_at(place, count)?;
        if bytes.len() == count { Ok(bytes) } else { Err(Error::from(ErrorKind::UnexpectedEof)) }
    }
}

/// Bytes in memory.
impl Source for &[u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&mut self, place: u64, buffer: &mut [u8]) -> Result<usize> {
        let from = usize::try_from(place).ok().and_then(|place| self.get(place..)).unwrap_or_default();
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }
}
