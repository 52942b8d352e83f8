//! A logical unit: a file of a share as a disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use vfs::Open;

use super::copies::Copies;
use super::gate::UnitGate;
use super::modes::Modes;
use super::reservations::Reservations;
use super::synchronizing::Synchronizing;
use super::{Attentions, Holders};
use crate::wire::scsi::Asc;

/// The identity of a logical unit. It stays the same for as long as its blocks are the same disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// NAA identifier of the locally assigned kind (SPC-4 7.8.6.6.5): the first four bits are 3.
    pub naa: u64,
    /// The displayed name: "studio/video".
    pub name: String,
}

impl Identity {
    /// Its serial number: the identifier in hexadecimal.
    pub(crate) fn serial(&self) -> String {
        format!("{:016x}", self.naa)
    }
}

/// The store for state that survives a restart.
pub trait UnitStateStore: Send + Sync {
    /// The last stored state of the unit with this NAA identifier. An error means that it exists
    /// and cannot be read.
    fn load(&self, naa: u64) -> io::Result<Option<Vec<u8>>>;
    /// Replaces the stored state, and returns once it is on the disk.
    fn keep(&self, naa: u64, bytes: &[u8]) -> io::Result<()>;
}

/// The settings of a logical unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitOptions {
    /// Bytes of a block: 512 or 4096.
    pub block_size: u32,
    /// All writes are refused.
    pub read_only: bool,
}

/// One disk.
pub struct LogicalUnit {
    pub(crate) identity: Identity,
    pub(crate) options: UnitOptions,
    /// Its bytes. `None`: another server of the cluster serves them.
    open: Option<Open>,
    /// Several servers have the unit, one after the other.
    pub(crate) is_shared: bool,
    /// Held shared by writers, and exclusively by steps that read and then write.
    pub(super) gate: UnitGate,
    pub(super) synchronizing: Synchronizing,
    /// A PRE-FETCH runs whose initiator does not wait.
    pub(super) fetching: AtomicBool,
    /// Its size, in blocks.
    blocks: AtomicU64,
    pub(crate) attentions: Attentions,
    pub(crate) holders: Holders,
    pub(crate) reservations: Reservations,
    pub(crate) copies: Copies,
    pub(crate) modes: Modes,
    pub(crate) keeper: Arc<dyn UnitStateStore>,
}

impl LogicalUnit {
    /// A disk of an open file with this many bytes. A rest that does not fill a block is invisible.
    pub fn new(
        identity: Identity,
        options: UnitOptions,
        open: Open,
        size: u64,
        keeper: Arc<dyn UnitStateStore>,
    ) -> Arc<Self> {
        Self::made(identity, options, (Some(open), false), size, keeper)
    }

    /// The same, for a disk that several servers have, one after the other. Written data are on the
    /// disk when a command ends, and reservations are always stored, so that the next server has
    /// both. `None`: another server has it now, and this one shows it in the standby state.
    pub fn shared(
        identity: Identity,
        options: UnitOptions,
        open: Option<Open>,
        size: u64,
        keeper: Arc<dyn UnitStateStore>,
    ) -> Arc<Self> {
        Self::made(identity, options, (open, true), size, keeper)
    }

    fn made(
        identity: Identity,
        options: UnitOptions,
        (open, is_shared): (Option<Open>, bool),
        size: u64,
        keeper: Arc<dyn UnitStateStore>,
    ) -> Arc<Self> {
        let blocks = AtomicU64::new(size / u64::from(options.block_size));
        let reservations = match open {
            Some(_) => Reservations::load(&identity, &*keeper),
            None => Reservations::default(), // they bind at the server that has the disk
        };
        let (attentions, modes) = (Attentions::default(), Modes::new(is_shared));
        let (gate, holders) = (UnitGate::default(), Holders::default());
        Arc::new(Self {
            identity,
            options,
            open,
            is_shared,
            gate,
            synchronizing: Synchronizing::default(),
            fetching: AtomicBool::new(false),
            blocks,
            attentions,
            holders,
            reservations,
            copies: Copies::default(),
            modes,
            keeper,
        })
    }

    /// Its identity.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Its open file. A unit in the standby state has none: `NotFound`, which no command that was
    /// checked before sees.
    pub(crate) fn open(&self) -> vfs::Result<&Open> {
        self.open.as_ref().ok_or(vfs::Error::NotFound)
    }

    /// Another unit of the same file follows, which may write to it.
    ///
    /// # Errors
    /// Those of the state of open files.
    pub fn stop_denying(&self) -> vfs::Result<()> {
        let Some(open) = &self.open else { return Ok(()) };
        let (access, _) = open.guard().modes();
        open.guard().change(access, vfs::state::Modes::NONE)
    }

    /// Whether another server of the cluster serves its blocks.
    pub fn is_standby(&self) -> bool {
        self.open.is_none()
    }

    /// How many blocks it has.
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Acquire)
    }

    /// Sets the size in bytes. Initiators with a session are told (SBC-3 4.10). The caller has
    /// truncated the file already, or has made it longer.
    pub fn set_size(&self, size: u64) {
        let blocks = size / u64::from(self.block_size());
        if self.blocks.swap(blocks, Ordering::AcqRel) != blocks {
            self.tell_all(Asc::CAPACITY_CHANGED);
        }
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.blocks() * u64::from(self.block_size())
    }

    /// Changes the length of its file, and tells all initiators with a session. The end of a
    /// shortened file is lost.
    pub async fn resize(&self, size: u64) -> vfs::Result<()> {
        let (before, open) = (self.size(), self.open()?);
        if size < before {
            self.set_size(size); // so that no write reaches the end that is removed
        }
        let alone = self.gate.alone().await; // no write in progress is beyond the new end
        let resized = open.resize(size).await;
        drop(alone);
        resized.inspect_err(|_| self.set_size(before))?;
        open.sync().await?;
        self.set_size(size);
        Ok(())
    }

    /// Bytes of a block.
    pub fn block_size(&self) -> u32 {
        self.options.block_size
    }
}
