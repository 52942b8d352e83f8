//! The descriptors of files' data. Those of files that are only read belong to all files together: at their limit the one that
//! was used least recently is closed, and opened again for the next read.
//!
//! ```text
//! opened to be read ─► used ◄──────────┐
//!      the limit is reached │          │ read
//!                           └► closed ─┘
//! ```
//!
//! The file itself stays open by the descriptor that names it. So it is the same file afterwards, also when it has lost its
//! name or another file has it. The server opens it again as itself: what clients may do was decided when they opened it, and
//! a later change of its mode takes nothing from them. Descriptors that write stay: one has unwritten data, and reports a
//! failure of writing them. So do those in use, and those with a lease of the host.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use lock::{Mutex, MutexGuard};

use crate::ranks;

/// However small the cache of open files is.
const FEWEST: usize = 64;
/// Those for reading have at least one part in this many of the limit, however many files are written.
const LEAST_PART: usize = 4;
/// How many are looked at for each file that is opened beyond the limit.
const MOST_LOOKED_AT: usize = 256;

/// The descriptors for data of all files of the host.
#[derive(Debug)]
pub(super) struct DataDescriptors {
    most: AtomicUsize,
    reading: Arc<AtomicUsize>,
    writing: Arc<AtomicUsize>,
    /// Those that can be closed, the next to be looked at first.
    ring: Mutex<VecDeque<Weak<FileData>>, ranks::HostFileData>,
}

/// The descriptors of the data of one file.
#[derive(Default)]
pub(super) struct FileData {
    opened: Mutex<OpenDescriptors, ranks::HostFile>,
    /// Since it was looked at last.
    is_used: AtomicBool,
}

/// Those that are open now.
#[derive(Default)]
pub(super) struct OpenDescriptors {
    /// Reads, or lists a folder.
    pub(super) read: Option<Descriptor>,
    /// Writes (and reads).
    pub(super) write: Option<Descriptor>,
    /// It was open to be read, and is to be opened again for that.
    is_given_up: bool,
}

/// An open descriptor, counted if it is one of those that the limit is for.
pub(super) struct Descriptor {
    fd: Arc<OwnedFd>,
    _counted: Option<DescriptorCount>,
}

struct DescriptorCount(Arc<AtomicUsize>);

impl Drop for DescriptorCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl DataDescriptors {
    pub(super) fn new(most: usize) -> Self {
        let (reading, writing, ring) = (Arc::default(), Arc::default(), Mutex::default());
        Self { most: most.max(FEWEST).into(), reading, writing, ring }
    }

    pub(super) fn limit_to(&self, most: usize) {
        self.most.store(most.max(FEWEST), Ordering::Relaxed);
    }

    /// How many files are open only to be read.
    pub(super) fn reading(&self) -> usize {
        self.reading.load(Ordering::Relaxed)
    }

    /// The most of these, now.
    fn room(&self) -> usize {
        let most = self.most.load(Ordering::Relaxed);
        most.saturating_sub(self.writing.load(Ordering::Relaxed)).max(most / LEAST_PART)
    }

    /// Before one more is opened to be read: closes those that were not used lately. No lock of a file may be held.
    pub(super) fn make_room(&self) {
        if self.reading() < self.room() {
            return;
        }
        let (mut closed, mut looked_at) = (Vec::new(), Vec::new());
        let mut ring = self.ring.lock();
        for _ in 0..ring.len().min(MOST_LOOKED_AT) {
            if self.reading().saturating_sub(closed.len()) < self.room() {
                break;
            }
            let Some(next) = ring.pop_front() else { break };
            let Some(data) = next.upgrade() else { continue };
            if data.stays(&mut closed) {
                ring.push_back(next);
            }
            looked_at.push(data);
        }
        drop(ring);
        drop((closed, looked_at)); // closes descriptors outside the lock
    }

    /// Notes a descriptor that can be closed when others need it.
    pub(super) fn lend(&self, data: &Arc<FileData>) {
        let mut ring = self.ring.lock();
        if ring.len() > 2 * self.reading() + FEWEST {
            ring.retain(|known| known.strong_count() > 0);
        }
        ring.push_back(Arc::downgrade(data));
    }

    /// A descriptor that reads.
    pub(super) fn reads(&self, fd: Arc<OwnedFd>) -> Descriptor {
        Descriptor::counted(fd, &self.reading)
    }

    /// A descriptor that writes.
    pub(super) fn writes(&self, fd: Arc<OwnedFd>) -> Descriptor {
        Descriptor::counted(fd, &self.writing)
    }
}

impl Descriptor {
    /// One that the limit is not for.
    pub(super) fn uncounted(fd: Arc<OwnedFd>) -> Self {
        Self { fd, _counted: None }
    }

    fn counted(fd: Arc<OwnedFd>, all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self { fd, _counted: Some(DescriptorCount(all.clone())) }
    }

    pub(super) fn fd(&self) -> &Arc<OwnedFd> {
        &self.fd
    }
}

impl OpenDescriptors {
    /// The descriptor that reads the data, and whether it can write, too.
    pub(super) fn any(&self) -> Option<(&Arc<OwnedFd>, bool)> {
        let write = self.write.as_ref().map(|write| (&write.fd, true));
        write.or(self.read.as_ref().map(|read| (&read.fd, false)))
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// The only descriptor from now on.
    pub(super) fn become_only(&mut self, descriptor: Descriptor, can_write: bool) {
        *self = match can_write {
            true => Self { write: Some(descriptor), ..Self::default() },
            false => Self { read: Some(descriptor), ..Self::default() },
        };
    }
}

impl FileData {
    pub(super) fn lock(&self) -> MutexGuard<'_, OpenDescriptors, ranks::HostFile> {
        self.opened.lock()
    }

    /// The descriptors, unless another thread uses them just now.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, OpenDescriptors, ranks::HostFile>> {
        self.opened.try_lock()
    }

    pub(super) fn note_use(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }

    /// Moves the descriptor to `closed` if it only reads, was not used since the last look, and nobody else has it. Answers
    /// whether there is one that stays.
    fn stays(&self, closed: &mut Vec<Descriptor>) -> bool {
        let Some(mut opened) = self.opened.try_lock() else { return true };
        let Some(read) = &opened.read else { return false };
        if self.is_used.swap(false, Ordering::Relaxed) || Arc::strong_count(&read.fd) > 1 {
            return true;
        }
        opened.is_given_up = true;
        closed.extend(opened.read.take());
        false
    }
}
