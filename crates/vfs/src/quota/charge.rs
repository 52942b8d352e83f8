//! What each file that is in use counts with.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use lock::Mutex;

use super::{BLOCK, Meter};
use crate::ranks;
use crate::{FileId, IdMap, Result};

const SHARDS: usize = 16;

type Shard = Mutex<IdMap<FileId, Weak<Charge>>, ranks::FileCharges>;

/// The files that were changed and are in use, of all folders of a server.
#[derive(Debug, Default)]
pub struct Charges {
    shards: [Shard; SHARDS],
}

impl Charges {
    fn shard(&self, file: FileId) -> &Shard {
        &self.shards[file.inode as usize % SHARDS]
    }

    pub(super) fn of(self: &Arc<Self>, file: FileId) -> Arc<Charge> {
        let mut shard = self.shard(file).lock();
        if let Some(known) = shard.get(&file).and_then(Weak::upgrade) {
            return known;
        }
        let charges = Arc::downgrade(self);
        let (dense_to, has_moved) = (AtomicU64::new(0), AtomicBool::new(false));
        let new = Arc::new(Charge { file, charges, dense_to, has_moved, state: Mutex::default() });
        shard.insert(file, Arc::downgrade(&new));
        new
    }
}

/// What the host says of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Footprint {
    pub(crate) size: u64,
    /// Its space on the disk.
    pub(crate) bytes: u64,
    pub(crate) links: u32,
}

impl Footprint {
    /// What the file counts with.
    pub(crate) fn charged(self) -> u64 {
        if self.links == 0 { 0 } else { self.bytes.min(self.size.next_multiple_of(BLOCK)) }
    }

    /// No write inside the file makes it take more space.
    fn is_dense(self) -> bool {
        self.links > 0 && self.bytes >= self.size.next_multiple_of(BLOCK)
    }
}

/// What one file counts with.
#[derive(Debug)]
pub(crate) struct Charge {
    file: FileId,
    charges: Weak<Charges>,
    /// A write that ends here or before takes no space. 0 while the file may be cut.
    dense_to: AtomicU64,
    /// Whether it was moved to another meter since it is in use.
    has_moved: AtomicBool,
    state: Mutex<ChargeState, ranks::FileCharge>,
}

#[derive(Debug, Default)]
struct ChargeState {
    /// `None` until the host was asked.
    charged: Option<u64>,
    /// Changes being made that may take data away.
    cuts: u32,
    /// Changes being made, of a file that other servers may change, too.
    changes: u32,
    /// The meter of its place and the file system of that, if it was moved.
    place: Option<(u32, Arc<Meter>)>,
}

impl Charge {
    /// Whether a write to the bytes before `end` takes no space. The question has to be asked again after the write: the
    /// file may have been cut meanwhile.
    #[inline]
    pub(crate) fn is_dense_to(&self, end: u64) -> bool {
        end <= self.dense_to.load(Ordering::SeqCst)
    }

    pub(super) fn file(&self) -> FileId {
        self.file
    }

    /// The file was moved to another meter, which is on this file system.
    pub(super) fn move_to(&self, place: (u32, Arc<Meter>)) {
        self.state.lock().place = Some(place);
        self.has_moved.store(true, Ordering::Release);
    }

    /// The meter that counts it, if it was moved since it is in use.
    pub(crate) fn moved_to(&self) -> Option<(u32, Arc<Meter>)> {
        self.has_moved.load(Ordering::Acquire).then(|| self.state.lock().place.clone()).flatten()
    }

    /// What the file counts with now.
    pub(crate) fn now(&self, ask: impl FnOnce() -> Result<Footprint>) -> Result<u64> {
        let state = self.state.lock();
        state.charged.map_or_else(|| ask().map(Footprint::charged), Ok)
    }

    /// Before a change, which may take data away if it `cuts`. `settle` follows.
    pub(crate) fn begin(
        &self,
        meter: &Meter,
        cuts: bool,
        ask: impl FnOnce() -> Result<Footprint>,
    ) -> Result<()> {
        let mut state = self.state.lock();
        let is_shared = meter.is_shared();
        let charged = match state.charged {
            // Another server may have changed it since.
            Some(charged) if !is_shared || state.changes > 0 => charged,
            _ => {
                let found = ask()?;
                self.remember(&mut state, found, is_shared);
                found.charged()
            }
        };
        state.changes += u32::from(is_shared);
        meter.touch(self.file, charged);
        if cuts {
            state.cuts += 1;
            self.dense_to.store(0, Ordering::SeqCst);
        }
        Ok(())
    }

    /// After a change, also one that failed. If the host does not say what the file takes now, the next change finds out.
    pub(crate) fn settle(&self, meter: &Meter, cuts: bool, ask: impl FnOnce() -> Result<Footprint>) {
        let mut state = self.state.lock();
        state.cuts -= u32::from(cuts && state.cuts > 0);
        state.changes = state.changes.saturating_sub(1);
        let Ok(found) = ask() else {
            self.dense_to.store(0, Ordering::SeqCst);
            return;
        };
        let before = state.charged.unwrap_or(found.charged());
        meter.touch(self.file, before);
        let difference = found.charged().cast_signed() - before.cast_signed();
        if difference != 0 {
            meter.add(difference);
        }
        self.remember(&mut state, found, meter.is_shared());
    }

    fn remember(&self, state: &mut ChargeState, found: Footprint, is_shared: bool) {
        state.charged = Some(found.charged());
        let dense = if state.cuts == 0 && found.is_dense() && !is_shared { found.size } else { 0 };
        self.dense_to.store(dense, Ordering::SeqCst);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let Some(charges) = self.charges.upgrade() else { return };
        let mut shard = charges.shard(self.file).lock();
        // Another one of the same file may have been made meanwhile.
        if shard.get(&self.file).is_some_and(|known| known.strong_count() == 0) {
            shard.remove(&self.file);
        }
    }
}
