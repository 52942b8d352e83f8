//! Files and folders that are guarded against local processes, for all hosts of this process.
//!
//! A file is guarded by a lease of the host (fcntl(2), F_SETLEASE) on the descriptor that serves its data. The kernel
//! lets a conflicting open(2) or truncate(2) wait, tells the one thread of the guards by a signal, and lets it go on
//! when the lease is given up, at the latest after /proc/sys/fs/lease-break-time. Such a lease says nothing about names:
//! renames and removals are told by fanotify(7) afterwards, with the process that made them, so that the server's own
//! are left out.
//!
//! ```text
//! guard ─► Table: FileId ─► lease on a descriptor ─(signal)─► thread ─► HearsLocal::opening ─► finish: given up
//!                        └► events of its names ───(event)──► thread ─► HearsLocal::changed
//! ```
//!
//! The kernel counts descriptors, not processes. So a lease against readers is possible only while the file has one
//! descriptor, and a lease against writers only while none of its descriptors can write. The server opens a file's data
//! in one place, [`HostObject::open_for`](super::object::HostObject), which asks for [`way`]: a lease that collides
//! with the open is given up before and taken on the new descriptor afterwards. An open by another part of the
//! process, which does not ask, waits like that of another process. The thread takes no lock that an opener may hold.

mod calls;
mod thread;

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use lock::Mutex;
use rustix::io::Errno;

use self::calls::{Kind, Subject};
use super::object::HostObject;
use crate::backend::{Against, Ends, HearsLocal, Hold, LocalChange, Object};
use crate::ranks;
use crate::{Access, Error, FileId, Kind as FileKind, Result};

static GUARDS: OnceLock<Option<Arc<Guards>>> = OnceLock::new();
/// How many files are guarded. If it is zero, an open asks nothing.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// All guards of this process.
struct Guards {
    table: Mutex<GuardTable, ranks::HostGuards>,
    /// The number of the thread, to which the kernel sends its signals.
    thread: i32,
    /// The group for events about names, where the host gives one.
    names: Option<OwnedFd>,
    /// Wakes the thread.
    wake: OwnedFd,
}

#[derive(Default)]
struct GuardTable {
    files: HashMap<FileId, Guard>,
    /// The files by the descriptors that have leases.
    leased: HashMap<RawFd, FileId>,
    /// The files by what events call them.
    subjects: HashMap<Subject, FileId>,
    /// Files whose names are not heard of yet.
    unheard: Vec<FileId>,
    /// What the thread is to tell.
    untold: Vec<(FileId, LocalChange)>,
}

struct Guard {
    holds: usize,
    hears: Arc<dyn HearsLocal>,
    /// Names the file.
    at: Arc<OwnedFd>,
    lease: Option<KernelLease>,
    heard_as: Option<Subject>,
    events: u64,
}

struct KernelLease {
    fd: Arc<OwnedFd>,
    /// Whether the descriptor can write. Then only the lease against everyone is possible.
    can_write: bool,
    against: Against,
    /// How many local opens wait.
    breaks: usize,
    /// Whether one of them ends all caching.
    ends_all: bool,
}

impl KernelLease {
    fn kind(&self) -> Kind {
        kind(self.against, self.can_write)
    }
}

fn kind(against: Against, can_write: bool) -> Kind {
    if against == Against::Everyone || can_write { Kind::Write } else { Kind::Read }
}

fn guards() -> Result<Arc<Guards>> {
    GUARDS.get_or_init(thread::start).clone().ok_or(Error::NotSupported)
}

impl HostObject {
    /// See [`Object::guard`](crate::backend::Object::guard).
    pub(super) fn guard_data(
        &self,
        against: Against,
        at_once: bool,
        hears: &Arc<dyn HearsLocal>,
    ) -> Result<Hold> {
        if self.kind() != FileKind::File {
            return Err(Error::NotSupported);
        }
        let guards = guards()?;
        self.open_for(Access::READ)?;
        let opened = self.data.lock();
        let (fd, can_write) = opened.any().ok_or(Error::NotSupported)?;
        let fd = fd.clone();
        let mut table = guards.table.lock();
        let file = self.id();
        let lease = KernelLease { fd, can_write, against, breaks: 0, ends_all: false };
        let take = |lease: &KernelLease| self.take_lease(&guards, lease);
        match table.files.get_mut(&file) {
            Some(guard) => {
                let renewed = guard.renew(lease, &take)?;
                guard.holds += 1;
                table.leased.extend(renewed.map(|fd| (fd, file)));
            }
            None => {
                take(&lease)?;
                table.leased.insert(lease.fd.as_raw_fd(), file);
                let guard = Guard::new(self.fd.clone(), hears, Some(lease), calls::OF_FILE);
                table.add(&guards, file, guard);
            }
        }
        if at_once {
            table.hear(&guards, file); // otherwise the host tells nothing, as the log says
        }
        Ok(Hold::new(GuardUse { guards: guards.clone(), file }))
    }

    /// See [`Object::guard_entries`](crate::backend::Object::guard_entries).
    pub(super) fn guard_folder(&self, hears: &Arc<dyn HearsLocal>) -> Result<Hold> {
        if self.kind() != FileKind::Folder {
            return Err(Error::NotSupported);
        }
        self.shared.act_as_ourselves()?;
        let (guards, file) = (guards()?, self.id());
        let mut table = guards.table.lock();
        if let Some(guard) = table.files.get_mut(&file) {
            guard.holds += 1;
        } else {
            let guard = Guard::new(self.fd.clone(), hears, None, calls::OF_ENTRIES);
            table.add(&guards, file, guard);
            if !table.hear(&guards, file) {
                table.remove(&guards, file);
                return Err(Error::NotSupported);
            }
        }
        Ok(Hold::new(GuardUse { guards: guards.clone(), file }))
    }

    fn take_lease(&self, guards: &Guards, lease: &KernelLease) -> Result<()> {
        let take = || calls::take_lease(lease.fd.as_fd(), lease.kind(), guards.thread);
        let taken = match take() {
            // The user of this thread does not own the file.
            Err(Errno::ACCESS) => {
                self.shared.act_as_ourselves()?;
                take()
            }
            other => other,
        };
        taken.map_err(|error| match error {
            Errno::AGAIN | Errno::BUSY => Error::WouldBlock,
            other => {
                warn_once(self.fd.as_fd(), other);
                Error::NotSupported
            }
        })
    }
}

/// Says once why local processes do not wait.
fn warn_once(file: BorrowedFd<'_>, error: Errno) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        let path = rustix::fs::readlink(super::handle::as_path(file), Vec::new()).unwrap_or_default();
        tracing::warn!(
            path = %path.to_string_lossy(),
            %error,
            "the file system has no leases for this server: local-recall has no effect on it, and local programs may \
             read and change files that SMB clients have in their caches"
        );
    }
}

impl Guard {
    fn new(at: Arc<OwnedFd>, hears: &Arc<dyn HearsLocal>, lease: Option<KernelLease>, events: u64) -> Self {
        Self { holds: 1, hears: hears.clone(), at, lease, heard_as: None, events }
    }

    /// Makes sure that the lease is at least `wanted`. Returns the descriptor that has it if there was none.
    fn renew(
        &mut self,
        wanted: KernelLease,
        take: &dyn Fn(&KernelLease) -> Result<()>,
    ) -> Result<Option<RawFd>> {
        let new = wanted.fd.as_raw_fd();
        match &mut self.lease {
            Some(lease) if lease.breaks > 0 => Err(Error::WouldBlock),
            Some(lease) if lease.kind() == Kind::Write || lease.kind() == wanted.kind() => {
                if wanted.against == Against::Everyone && !Arc::ptr_eq(&lease.fd, &wanted.fd) {
                    return Err(Error::WouldBlock); // two descriptors
                }
                lease.against = lease.against.max(wanted.against);
                Ok(None)
            }
            // The kernel changes a lease on the same descriptor in place.
            Some(lease) if Arc::ptr_eq(&lease.fd, &wanted.fd) => {
                take(&wanted)?;
                lease.against = wanted.against;
                Ok(None)
            }
            Some(_) => Err(Error::WouldBlock),
            None => {
                take(&wanted)?;
                self.lease = Some(wanted);
                Ok(Some(new))
            }
        }
    }
}

impl GuardTable {
    fn add(&mut self, guards: &Guards, file: FileId, guard: Guard) {
        let is_file = guard.lease.is_some();
        self.files.insert(file, guard);
        COUNT.store(self.files.len(), Ordering::Release);
        if is_file && guards.names.is_some() {
            self.unheard.push(file);
            if self.unheard.len() == 1 {
                guards.wake();
            }
        }
    }

    /// Begins the events about a file. Answers whether they are heard.
    fn hear(&mut self, guards: &Guards, file: FileId) -> bool {
        let (Some(group), Some(guard)) = (&guards.names, self.files.get_mut(&file)) else { return false };
        if guard.heard_as.is_some() {
            return true;
        }
        let Some(subject) = calls::subject(guard.at.as_fd()) else { return false };
        if calls::mark(group, guard.at.as_fd(), guard.events, true).is_err() {
            return false;
        }
        guard.heard_as = Some(subject);
        self.subjects.insert(subject, file);
        true
    }

    fn remove(&mut self, guards: &Guards, file: FileId) -> Option<Guard> {
        let guard = self.files.remove(&file)?;
        COUNT.store(self.files.len(), Ordering::Release);
        if let Some(lease) = &guard.lease {
            self.leased.remove(&lease.fd.as_raw_fd());
            let _ = calls::set_lease(lease.fd.as_fd(), Kind::None); // the kernel has taken it already
        }
        if let (Some(subject), Some(group)) = (&guard.heard_as, &guards.names) {
            self.subjects.remove(subject);
            let _ = calls::mark(group, guard.at.as_fd(), guard.events, false); // the file is gone
        }
        Some(guard)
    }
}

impl Guards {
    fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes()); // full: it is awake
    }

    /// A local open goes on.
    fn finish(&self, file: FileId, lease: &Arc<OwnedFd>) {
        let mut table = self.table.lock();
        let Some(guard) = table.files.get_mut(&file) else { return };
        let Some(leased) = guard.lease.as_mut().filter(|leased| Arc::ptr_eq(&leased.fd, lease)) else {
            return;
        };
        leased.breaks = leased.breaks.saturating_sub(1);
        if leased.breaks > 0 {
            return;
        }
        if !leased.ends_all && calls::set_lease(leased.fd.as_fd(), Kind::Read).is_ok() {
            leased.against = Against::Writers;
            return;
        }
        let (fd, lost) = (leased.fd.as_raw_fd(), !leased.ends_all);
        let _ = calls::set_lease(leased.fd.as_fd(), Kind::None); // the kernel has taken it already
        guard.lease = None;
        table.leased.remove(&fd);
        if lost {
            table.untold.push((file, LocalChange::Unguarded(Ends::All)));
            self.wake();
        }
    }
}

/// One use of a guard.
struct GuardUse {
    guards: Arc<Guards>,
    file: FileId,
}

impl Drop for GuardUse {
    fn drop(&mut self) {
        let mut table = self.guards.table.lock();
        let Some(guard) = table.files.get_mut(&self.file) else { return };
        guard.holds -= 1;
        let removed = if guard.holds == 0 { table.remove(&self.guards, self.file) } else { None };
        drop(table);
        drop(removed); // closes descriptors outside the lock
    }
}

/// The way for an open of a file's data by this server, which is free of the server's own lease until it is [`end`](Way::end)ed.
pub(super) struct Way {
    guards: Arc<Guards>,
    file: FileId,
    against: Against,
}

/// Makes way for an open. `None` if no lease is in its way.
pub(super) fn way(file: FileId, writes: bool) -> Option<Way> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return None;
    }
    let guards = guards().ok()?;
    let mut table = guards.table.lock();
    let guard = table.files.get_mut(&file)?;
    let lease = guard.lease.take_if(|lease| writes || lease.kind() == Kind::Write)?;
    let _ = calls::set_lease(lease.fd.as_fd(), Kind::None); // the kernel has taken it already
    table.leased.remove(&lease.fd.as_raw_fd());
    drop(table);
    Some(Way { guards, file, against: lease.against })
}

impl Way {
    /// The file was opened, or not. Takes the lease again, on the descriptor that it has now, as far as that is possible.
    pub(super) fn end(self, object: &HostObject, now: Option<(&Arc<OwnedFd>, bool)>) {
        let mut table = self.guards.table.lock();
        let Some(guard) = table.files.get_mut(&self.file) else { return };
        let mut ends = None;
        for (against, ends_now) in [(self.against, None), (Against::Writers, Some(Ends::Writes))] {
            let Some((fd, can_write)) = now else { break };
            let lease = KernelLease { fd: fd.clone(), can_write, against, breaks: 0, ends_all: false };
            let take = |lease: &KernelLease| object.take_lease(&self.guards, lease);
            if let Ok(renewed) = guard.renew(lease, &take) {
                table.leased.extend(renewed.map(|fd| (fd, self.file)));
                ends = Some(ends_now);
                break;
            }
        }
        if let Some(ends) = ends.unwrap_or(Some(Ends::All)) {
            table.untold.push((self.file, LocalChange::Unguarded(ends)));
            self.guards.wake();
        }
    }
}
