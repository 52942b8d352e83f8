//! A range of bytes, and a lock on one.

use std::fmt;
use std::sync::Arc;

use super::{ClientId, OpenId};

/// Bytes of a stream. The last offset, 2^64-1, means "to the end, wherever that will be". A range
/// of no bytes ([`Range::empty`]) is a point between two bytes: only mandatory locks can have such
/// a range.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Range {
    start: u64,
    /// `start` when there is no byte.
    last: u64,
    is_empty: bool,
}

impl Range {
    /// Every byte.
    pub const ALL: Self = Self { start: 0, last: u64::MAX, is_empty: false };

    /// `length` bytes from `start`; `None` when that is no byte, or passes the last offset.
    pub fn new(start: u64, length: u64) -> Option<Self> {
        let last = start.checked_add(length.checked_sub(1)?)?;
        Some(Self { start, last, is_empty: false })
    }

    /// From `start` to the end of the file, however long it grows.
    pub fn to_end(start: u64) -> Self {
        Self { start, last: u64::MAX, is_empty: false }
    }

    /// From the first to the last byte, both included; `None` when they are out of order.
    pub fn between(start: u64, last: u64) -> Option<Self> {
        (start <= last).then_some(Self { start, last, is_empty: false })
    }

    /// No byte, before the one at `start`.
    pub fn empty(start: u64) -> Self {
        Self { start, last: start, is_empty: true }
    }

    /// Whether there is no byte in it.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The first byte.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The last byte.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// How many bytes, or `None` when it goes to the end.
    pub fn length(&self) -> Option<u64> {
        if self.is_empty {
            return Some(0);
        }
        (self.last != u64::MAX).then(|| self.last - self.start + 1)
    }

    /// Whether a byte is in both, or one is a point within the other: with bytes of it before and behind the point.
    /// Two points never overlap.
    pub fn overlaps(&self, other: &Self) -> bool {
        let within = |point: &Self, bytes: &Self| bytes.start < point.start && point.start <= bytes.last;
        match (self.is_empty, other.is_empty) {
            (false, false) => self.start <= other.last && other.start <= self.last,
            (true, false) => within(self, other),
            (false, true) => within(other, self),
            (true, true) => false,
        }
    }

    /// Whether the two overlap or lie side by side, and so can be one.
    pub(super) fn joins(&self, other: &Self) -> bool {
        self.start <= other.last.saturating_add(1) && other.start <= self.last.saturating_add(1)
    }

    /// The range that covers both.
    pub(super) fn hull(&self, other: &Self) -> Self {
        Self { start: self.start.min(other.start), last: self.last.max(other.last), is_empty: false }
    }

    /// The parts of this range before `hole` and after it.
    pub(super) fn without(&self, hole: &Self) -> [Option<Self>; 2] {
        let before =
            hole.start.checked_sub(1).and_then(|last| Self::between(self.start, last.min(self.last)));
        let after =
            hole.last.checked_add(1).and_then(|start| Self::between(start.max(self.start), self.last));
        [before, after]
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length() {
            Some(0) => write!(f, "{}..{}", self.start, self.start),
            Some(_) => write!(f, "{}..={}", self.start, self.last),
            None => write!(f, "{}..", self.start),
        }
    }
}

/// Whether others may hold the same bytes, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// Others may share them.
    Shared,
    /// No other owner may hold them.
    Exclusive,
}

/// How a lock binds clients that did not ask for one, and how it combines with its owner's other
/// locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// It binds reads and writes of all others. Each lock stands for itself: an exclusive one may
    /// not overlap another of the same owner, shared ones stack, and an unlock must name exactly
    /// the range that was locked.
    Mandatory,
    /// It binds other locks only. The owner's newest request for each byte counts, as with POSIX
    /// `fcntl`: locks merge, split, and change their kind in place. Any range may be unlocked.
    Advisory,
}

/// The owner of a lock. Two locks belong together if all three are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LockOwner {
    /// The client.
    pub client: ClientId,
    /// The open that it ends with, if there is one.
    pub open: Option<OpenId>,
    /// The client's own name for the owner.
    pub opaque: Arc<[u8]>,
}

impl LockOwner {
    /// The owner of all locks of one open.
    pub fn open(client: ClientId, open: OpenId) -> Self {
        Self { client, open: Some(open), opaque: Arc::new([]) }
    }

    /// An owner that the client names, and that does not end with an open.
    pub fn named(client: ClientId, opaque: &[u8]) -> Self {
        Self { client, open: None, opaque: opaque.into() }
    }
}

/// A lock on a range: asked for, or held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// Its owner.
    pub owner: LockOwner,
    /// Its bytes.
    pub range: Range,
    /// Shared or exclusive.
    pub kind: LockKind,
    /// Mandatory or advisory.
    pub flavour: Flavour,
}

impl Lock {
    /// Whether the two have the same owner and follow the same rules.
    pub(super) fn same_owner(&self, other: &Self) -> bool {
        self.flavour == other.flavour && self.owner == other.owner
    }

    /// Whether `self`, held, keeps `wanted` from being granted.
    pub(super) fn blocks(&self, wanted: &Self) -> bool {
        let exclusive = |lock: &Self| lock.kind == LockKind::Exclusive;
        if !self.range.overlaps(&wanted.range) {
            return false;
        }
        match (self.same_owner(wanted), self.flavour) {
            (true, Flavour::Advisory) => false,
            // A shared lock may stack on the owner's exclusive one, never the other way round.
            (true, Flavour::Mandatory) => exclusive(wanted),
            (false, _) => exclusive(self) || exclusive(wanted),
        }
    }
}
