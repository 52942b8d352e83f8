//! A range of other bytes: a partition of a disk, a volume in its wrapper, the data of an image.

use std::sync::Arc;

use crate::{Error, ReadAt, Result};

/// Bytes of a source from `start` on.
#[derive(Clone)]
pub struct Part {
    source: Arc<dyn ReadAt>,
    start: u64,
    length: u64,
}

impl Part {
    /// `length` bytes from `start`. A range that exceeds the source reads as damaged where it does.
    pub fn new(source: Arc<dyn ReadAt>, start: u64, length: u64) -> Self {
        Self { source, start, length }
    }

    /// Where it begins in its source.
    pub fn start(&self) -> u64 {
        self.start
    }
}

impl ReadAt for Part {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range("partition", self.length, offset, buffer.len())?;
        let start = self.start.checked_add(offset);
        let start = start.ok_or_else(|| Error::damaged("partition", self.start, "ends beyond every disk"))?;
        self.source.read_at(start, buffer)
    }
}

impl ReadAt for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range("source", self.len() as u64, offset, buffer.len())?;
        let start = offset as usize; // not more than the length, which is a usize
        buffer.copy_from_slice(&self[start..start + buffer.len()]);
        Ok(())
    }
}

/// Fails if `count` bytes from `offset` are more than the `length` bytes that `structure` has.
pub(crate) fn check_range(structure: &str, length: u64, offset: u64, count: usize) -> Result<()> {
    match offset.checked_add(count as u64) {
        Some(end) if end <= length => Ok(()),
        _ => Err(Error::damaged(
            structure,
            offset,
            format!("{count} bytes are wanted where it has {length} bytes in all"),
        )),
    }
}

/// `count` bytes from `offset`, which the caller has bounded.
pub(crate) fn read_vec(source: &dyn ReadAt, offset: u64, count: usize) -> Result<Vec<u8>> {
    check_range("source", source.length(), offset, count)?;
    let mut bytes = vec![0; count];
    source.read_at(offset, &mut bytes)?;
    Ok(bytes)
}
