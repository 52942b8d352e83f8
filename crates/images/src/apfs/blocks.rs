//! The blocks of a container, and the objects in them.

use std::sync::Arc;

use wire::Reader;

use super::object::{Header, is_intact};
use crate::{Error, ReadAt, Result};

/// The source of a container, by blocks.
pub(super) struct Blocks {
    source: Arc<dyn ReadAt>,
    /// Bytes of a block: a power of two, 4,096 to 65,536.
    pub(super) size: usize,
    /// How many blocks the container has, as far as its source has them.
    pub(super) count: u64,
}

/// An object as read: its checksum is right.
pub(super) struct Object {
    pub(super) header: Header,
    pub(super) bytes: Vec<u8>,
    /// The block that it begins in.
    pub(super) block: u64,
}

pub(super) fn damaged(structure: impl Into<String>, place: u64, problem: impl Into<String>) -> Error {
    Error::Damaged { structure: structure.into(), place, problem: problem.into() }
}

impl Blocks {
    pub(super) fn new(source: Arc<dyn ReadAt>, size: usize, count: u64) -> Self {
        Self { source, size, count }
    }

    /// How many bytes the source has.
    pub(super) fn length(&self) -> u64 {
        self.source.length()
    }

    /// Where a block is, in bytes.
    pub(super) fn place(&self, block: u64) -> u64 {
        block.saturating_mul(self.size as u64)
    }

    /// Reads `count` blocks.
    pub(super) fn read(&self, block: u64, count: usize, structure: &str) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.size.saturating_mul(count)];
        self.fill(block, 0, &mut bytes, structure)?;
        Ok(bytes)
    }

    /// Fills `buffer` from byte `offset` after the beginning of a block.
    pub(super) fn fill(&self, block: u64, offset: u64, buffer: &mut [u8], structure: &str) -> Result<()> {
        let from = self.place(block).checked_add(offset);
        let end = from.and_then(|from| from.checked_add(buffer.len() as u64));
        match (from, end) {
            (Some(from), Some(end)) if end <= self.place(self.count) && end <= self.source.length() => {
                self.source.read_at(from, buffer)
            }
            _ => Err(damaged(structure, self.place(block), "it would be behind the end of the container")),
        }
    }

    /// Reads an object of `count` blocks and verifies its checksum.
    pub(super) fn object(&self, block: u64, count: usize, structure: &str) -> Result<Object> {
        let bytes = self.read(block, count, structure)?;
        self.verified(bytes, block, structure)
    }

    /// An object from its bytes, if their checksum is right.
    pub(super) fn verified(&self, bytes: Vec<u8>, block: u64, structure: &str) -> Result<Object> {
        if !is_intact(&bytes) {
            return Err(damaged(structure, self.place(block), "its checksum is wrong"));
        }
        let header = Header::decode(&mut Reader::new(&bytes));
        let header = header.map_err(|malformed| damaged(structure, self.place(block), malformed.0))?;
        Ok(Object { header, bytes, block })
    }

    /// Reads a physical object of one block: its id is its block.
    pub(super) fn physical(&self, block: u64, kind: u32, structure: &str) -> Result<Object> {
        let object = self.object(block, 1, structure)?;
        if object.header.object_type() != kind {
            return Err(damaged(structure, self.place(block), "another object is in its place"));
        }
        if object.header.oid != block {
            return Err(damaged(structure, self.place(block), "its object id is not its block"));
        }
        Ok(object)
    }
}
