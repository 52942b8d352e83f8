//! A logical unit: a file of a share as a disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use vfs::backend::Stability;
use vfs::{Open, Payload};

use super::modes::Modes;
use super::reservations::Reservations;
use super::{Attentions, Holders, Refusal};
use crate::wire::scsi::{Asc, Sense};

/// Who a logical unit is. It stays the same for as long as its blocks are the same disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// NAA identifier of the locally assigned kind (SPC-4 7.8.6.6.5): the first four bits are 3.
    pub naa: u64,
    /// What people see: "studio/video".
    pub name: String,
}

/// Where what must outlast the server is kept.
pub trait Keeper: Send + Sync {
    /// What was kept last of the unit with this NAA identifier. An error says that it is there and cannot be had.
    fn load(&self, naa: u64) -> io::Result<Option<Vec<u8>>>;
    /// Keeps this instead, and answers once it is on the disk.
    fn keep(&self, naa: u64, bytes: &[u8]) -> io::Result<()>;
}

/// What the settings say of a logical unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitOptions {
    /// Bytes of a block: 512 or 4096.
    pub block_size: u32,
    /// Nobody may write.
    pub read_only: bool,
}

/// One disk.
pub struct LogicalUnit {
    pub(crate) identity: Identity,
    pub(crate) options: UnitOptions,
    /// Its bytes.
    pub(crate) open: Open,
    /// Its size, in blocks.
    blocks: AtomicU64,
    pub(crate) attentions: Attentions,
    pub(crate) holders: Holders,
    /// Ordered commands wait for those before them, and those after them wait for them.
    pub(crate) order: Arc<tokio::sync::RwLock<()>>,
    pub(crate) reservations: Reservations,
    pub(crate) modes: Modes,
    pub(crate) keeper: Arc<dyn Keeper>,
}

impl LogicalUnit {
    /// A disk of an open file that has this many bytes. What does not fill a block is not seen.
    pub fn new(
        identity: Identity,
        options: UnitOptions,
        open: Open,
        size: u64,
        keeper: Arc<dyn Keeper>,
    ) -> Arc<Self> {
        let blocks = AtomicU64::new(size / u64::from(options.block_size));
        let (attentions, reservations, modes) =
            (Attentions::default(), Reservations::default(), Modes::default());
        let (holders, order) = (Holders::default(), Arc::default());
        Arc::new(Self {
            identity,
            options,
            open,
            blocks,
            attentions,
            holders,
            order,
            reservations,
            modes,
            keeper,
        })
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// How many blocks it has.
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Acquire)
    }

    /// It has so many bytes from now on, and whoever has a session is told (SBC-3 4.10). What is behind the end was cut off
    /// already, or the file was made longer.
    pub fn set_size(&self, size: u64) {
        let blocks = size / u64::from(self.block_size());
        if self.blocks.swap(blocks, Ordering::AcqRel) != blocks {
            self.tell_all(Asc::CAPACITY_CHANGED);
        }
    }

    /// What INQUIRY says of it is not what it was.
    pub fn is_described_otherwise(&self) {
        self.tell_all(Asc::INQUIRY_DATA_CHANGED);
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u32 {
        self.options.block_size
    }

    /// Where `count` blocks from `lba` on lie, as offset and length in bytes; LBA OUT OF RANGE where there are none.
    pub(crate) fn range(&self, lba: u64, count: u64) -> Result<(u64, u64), Refusal> {
        let blocks = self.blocks();
        let fits = lba.checked_add(count).is_some_and(|end| end <= blocks) && (count > 0 || lba <= blocks);
        if !fits {
            return Err(Sense::illegal(Asc::LBA_OUT_OF_RANGE).about(lba.max(blocks)).into());
        }
        let size = u64::from(self.block_size());
        Ok((lba * size, count * size))
    }

    /// Bytes of it.
    pub(crate) async fn read(&self, offset: u64, length: usize) -> Result<Payload, Refusal> {
        Ok(self.open.read_at(offset, length).await?.payload)
    }

    /// Writes bytes, which need not be on the disk yet.
    pub(crate) async fn write(&self, offset: u64, data: Bytes) -> Result<(), Refusal> {
        Ok(self.open.write_at(offset, data, Stability::Unstable).await?)
    }

    /// Puts everything written on the disk.
    pub(crate) async fn sync(&self) -> Result<(), Refusal> {
        Ok(self.open.sync().await?)
    }
}
