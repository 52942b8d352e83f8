//! A write whose beginning is written while the rest is still arriving.
//!
//! ```text
//! begin_early ─► EarlyWrite ─► write_early, each time that more has arrived ─► write_rest: the rest, and the result
//!                                   │ others hold something now                     ▲
//!                                   └───────────────────────────────────────────────┘
//! ```
//!
//! For others the write is one: what they hold is asked about all of its range each time, subscribers are told once, and it
//! counts once. If a client has got a range meanwhile, no further piece is written, and all of the write is judged and made
//! again when it is complete. If the rest never comes, the beginning stays written.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::notices::Notices;
use crate::backend::{Found, Node, Stability};
use crate::{Actor, Attributes, Error, FileId, Result, Volume};

/// Pieces end where pages of the file do.
const PAGE: u64 = 4096;

/// A write of which a part is written before the rest has arrived.
pub struct EarlyWrite {
    volume: Arc<Volume>,
    node: Node,
    actor: Actor,
    offset: u64,
    length: u64,
    /// What the file was like before.
    before: Option<Attributes>,
    /// How much of it is written.
    written: u64,
    /// [`crate::state::State::granted_ranges`] before others were asked.
    granted_ranges: u64,
    /// Why a piece could not be written.
    failed: Option<Error>,
    /// Where the file is, if somebody listens.
    place: Option<(Node, Arc<[u8]>)>,
    /// The rest is written, too.
    is_over: AtomicBool,
}

impl EarlyWrite {
    /// Of a write that its actor may make as far as is known. `None`: it is to be made when all of its data are there, because
    /// it may be refused, or wait.
    pub(crate) fn begin(
        volume: &Arc<Volume>,
        actor: &Actor,
        node: &Node,
        (offset, length): (u64, u64),
    ) -> Option<Self> {
        let state = &volume.site.state;
        let granted_ranges = state.granted_ranges();
        // In a cluster, the state could go to another server between two pieces.
        if node.is_remote() || state.is_joined() {
            return None;
        }
        offset.checked_add(length)?;
        node.has_room_for(offset, length).ok()?;
        Some(Self {
            volume: volume.clone(),
            node: node.clone(),
            actor: actor.clone(),
            offset,
            length,
            before: None,
            written: 0,
            granted_ranges,
            failed: None,
            place: None,
            is_over: AtomicBool::new(false),
        })
    }

    /// The same, which also keeps the attributes from before.
    pub(crate) fn of_found(mut self, found: &Found) -> Self {
        self.before = Some(found.attributes);
        self
    }

    /// The range of all of it.
    pub(crate) fn range(&self) -> (u64, u64) {
        (self.offset, self.length)
    }

    /// Whether no client has got a range since it began.
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.volume.site.state.granted_ranges() == self.granted_ranges
    }

    /// Where the next piece goes, and its bytes: what has `arrived` and is not written yet, in whole pages of the file.
    pub(crate) fn piece<'d>(&self, arrived: &'d [u8]) -> (u64, &'d [u8]) {
        let at = self.offset + self.written;
        let arrived = arrived.get(self.written as usize..).unwrap_or_default();
        let left = self.length - self.written;
        if arrived.len() as u64 >= left {
            return (at, &arrived[..left as usize]);
        }
        let end = (at + arrived.len() as u64) / PAGE * PAGE;
        (at, &arrived[..end.saturating_sub(at) as usize])
    }

    /// Writes a piece. `end` ends its operation, and gives where the file is, if somebody listens. False: it has failed.
    pub(crate) fn write(
        &mut self,
        (at, piece): (u64, &[u8]),
        end: impl FnOnce(Result<()>) -> Option<(Node, Arc<[u8]>)>,
    ) -> bool {
        let written = self.node.write_at(&self.actor.caller, at, piece, Stability::Unstable);
        self.place = end(written).or_else(|| self.place.take());
        match written {
            Ok(()) => self.written += piece.len() as u64,
            Err(error) => self.failed = Some(error),
        }
        written.is_ok()
    }

    /// Whether it is the beginning of this write.
    pub(crate) fn is_of(&self, file: FileId, offset: u64, length: usize) -> bool {
        (self.node.id(), self.offset, self.length) == (file, offset, length as u64)
    }

    /// Why a piece could not be written.
    pub(crate) fn result(&self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    /// What is left to be written of all its data, and where. All of it, if others have got ranges meanwhile.
    pub(crate) fn rest(&self, data: Bytes) -> (u64, Bytes) {
        match self.is_undisturbed() {
            true => (self.offset + self.written, data.slice(self.written as usize..)),
            false => (self.offset, data),
        }
    }

    /// What the file was like before its first piece was written.
    pub(crate) fn before(&self) -> Option<Attributes> {
        self.before.filter(|_| self.written > 0)
    }

    /// All of it is written, counted, and told to others.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for EarlyWrite {
    fn drop(&mut self) {
        if self.written == 0 || *self.is_over.get_mut() {
            return;
        }
        self.volume.site.traffic.written(self.written as usize);
        if let Some((folder, name)) = self.place.take() {
            Notices::of(&self.volume, &self.actor).written((&folder, name), &self.node);
        }
    }
}

/// The result of a future that does not wait. One that does is called off.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ready) => Some(ready),
        Poll::Pending => None,
    }
}
