//! The arrival of a file's data, piece by piece.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lock::Mutex;

use super::mark::Mark;
use super::{ArrivalState, keep_date};
use crate::backend::{Object, Stability};
use crate::caller::server;
use crate::ranks;
use crate::{Access, Result};

/// Bytes that arrive together.
const PIECE: u64 = 1 << 20;
/// Runs of zeros of this length are not written: they stay holes.
const HOLE: usize = 64 << 10;
/// How often the disk is told how much of a large file is here, in bytes.
const NOTE_EVERY: u64 = 64 << 20;

/// A file that is arriving.
pub(super) struct Fetch {
    /// Cleared when all is here, or not needed any more.
    is_under_way: AtomicBool,
    state: Mutex<ArrivingState, ranks::Arriving>,
}

struct ArrivingState {
    mark: Mark,
    length: u64,
    /// The pieces that are here, a bit for each.
    pieces: Vec<u64>,
    missing: u64,
    /// Bytes that have arrived since the mark on the disk was written.
    unnoted: u64,
}

impl ArrivingState {
    fn has(&self, piece: u64) -> bool {
        let word = self.pieces.get((piece / 64) as usize).copied().unwrap_or(u64::MAX);
        word & 1 << (piece % 64) != 0
    }

    fn take(&mut self, piece: u64) {
        if !self.has(piece) {
            self.pieces[(piece / 64) as usize] |= 1 << (piece % 64);
            self.missing -= 1;
        }
    }

    /// Whole pieces at the beginning of the file, in bytes.
    fn without_gap(&self) -> u64 {
        let first = (0..self.length.div_ceil(PIECE)).find(|piece| !self.has(*piece));
        first.map_or(self.length, |piece| piece * PIECE)
    }
}

impl Fetch {
    /// A file of this length, of which the mark says what is here.
    pub(super) fn new(mark: Mark, length: u64) -> Self {
        let count = length.div_ceil(PIECE);
        let mut state = ArrivingState {
            pieces: vec![0; count.div_ceil(64) as usize],
            missing: count,
            unnoted: 0,
            mark,
            length,
        };
        for piece in 0..(state.mark.here / PIECE).min(count) {
            state.take(piece);
        }
        Self { is_under_way: AtomicBool::new(true), state: Mutex::new(state) }
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way.load(Ordering::Acquire)
    }

    /// Makes sure that a range is here.
    pub(super) fn range(
        &self,
        shared: &ArrivalState,
        object: &dyn Object,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let mut piece = offset / PIECE;
        loop {
            let mut state = self.state.lock();
            let end = offset.saturating_add(length).min(state.length);
            if !self.is_under_way() || piece * PIECE >= end {
                return Ok(());
            }
            if !state.has(piece) {
                bring(shared, object, &mut state, piece)?;
                self.settle(shared, object, &mut state)?;
            }
            piece += 1;
        }
    }

    /// Makes sure that the whole file is here. Others may read it meanwhile. `stop` ends it early.
    pub(super) fn whole(
        &self,
        shared: &ArrivalState,
        object: &dyn Object,
        stop: &dyn Fn() -> bool,
    ) -> Result<()> {
        let count = self.state.lock().length.div_ceil(PIECE);
        for piece in 0..count {
            if stop() {
                return Ok(());
            }
            self.range(shared, object, piece * PIECE, 1)?;
        }
        self.settle(shared, object, &mut self.state.lock())
    }

    /// Makes a change after which the data of the other server do not count.
    pub(super) fn instead<T>(
        &self,
        shared: &ArrivalState,
        object: &dyn Object,
        change: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let _state = self.state.lock();
        let done = change()?;
        if self.is_under_way() {
            shared.remove_mark(object)?;
            self.is_under_way.store(false, Ordering::Release);
        }
        Ok(done)
    }

    /// Makes a change that must not come between the arrival of data and the date that is restored after it.
    pub(super) fn between<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        let _state = self.state.lock();
        change()
    }

    /// Removes the mark when all is here and on the disk.
    fn settle(&self, shared: &ArrivalState, object: &dyn Object, state: &mut ArrivingState) -> Result<()> {
        if !self.is_under_way() {
            return Ok(());
        }
        if state.missing == 0 {
            object.sync(Stability::Data)?;
            shared.remove_mark(object)?;
            self.is_under_way.store(false, Ordering::Release);
            shared.files.fetch_add(1, Ordering::Relaxed);
        } else if state.unnoted >= NOTE_EVERY {
            object.sync(Stability::Data)?;
            state.mark.here = state.without_gap();
            shared.write_mark(object, &state.mark)?;
            state.unnoted = 0;
        }
        Ok(())
    }
}

/// Fetches a piece. The date of the file stays.
fn bring(shared: &ArrivalState, object: &dyn Object, state: &mut ArrivingState, piece: u64) -> Result<()> {
    let before = object.attributes()?;
    // Another request may come with another object of the file.
    object.prepare(server(), &before, Access::WRITE, true)?;
    let offset = piece * PIECE;
    let wanted = PIECE.min(state.length - offset);
    let mut got = 0;
    while got < wanted {
        let left = (wanted - got) as usize;
        let data = shared.heard(shared.source.read(&state.mark.path, offset + got, left))?;
        if data.is_empty() {
            tracing::warn!(path = state.mark.path, "the file has become shorter on the old server");
            break;
        }
        let data = &data[..data.len().min(left)];
        for (number, run) in data.chunks(HOLE).enumerate() {
            if run.iter().any(|byte| *byte != 0) {
                let at = offset + got + (number * HOLE) as u64;
                object.write_at(server(), at, run, Stability::Unstable)?;
            }
        }
        got += data.len() as u64;
    }
    keep_date(object, before.modified)?;
    state.take(piece);
    state.unnoted += got;
    shared.bytes.fetch_add(got, Ordering::Relaxed);
    Ok(())
}

/// The state of a file's arrival as an object finds it: it is looked for once, as files never leave again.
pub(super) type FetchCell = std::sync::OnceLock<Option<Arc<Fetch>>>;
