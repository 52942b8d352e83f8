//! The thread of the guards: it takes the kernel's signals and events, and tells of them.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use lock::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};

use super::calls::{self, Kind, LeaseEvent};
use super::{GuardTable, Guards};
use crate::FileId;
use crate::backend::{Ends, HearsLocal, LocalChange, LocalOpen};

/// How long a file is guarded before its names are heard of. Most files are closed before, and cost no calls for this.
const HEARD_AFTER: Duration = Duration::from_millis(50);
/// How long a local open waits at most if the host does not say (fs/locks.c).
const LEASE_BREAK_TIME: Duration = Duration::from_secs(45);
/// Most buffers of events that are taken at one time.
const MOST_BUFFERS: usize = 64;

/// Starts the thread. `None`: the host gives no descriptor for its signals, or no thread.
pub(super) fn start() -> Option<Arc<Guards>> {
    let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
    let names = calls::name_events();
    if names.is_none() {
        tracing::warn!(
            "the host tells nothing about renames and removals by local programs: SMB clients keep files open that were \
             removed, and old listings, until they look again. Linux 5.13 or later does so, in containers if their seccomp \
             profile allows fanotify_init"
        );
    }
    let (sender, started) = mpsc::channel::<Option<Arc<Guards>>>();
    let run = move || {
        let Ok((signals, thread)) = calls::signals() else { return };
        let guards = Arc::new(Guards { table: Mutex::new(GuardTable::default()), thread, names, wake });
        if sender.send(Some(guards.clone())).is_ok() {
            Thread { guards, signals, hear_at: None }.run();
        }
    };
    std::thread::Builder::new().name("local-opens".into()).spawn(run).ok()?;
    started.recv().ok().flatten()
}

struct Thread {
    guards: Arc<Guards>,
    signals: OwnedFd,
    /// When the names of files that are guarded now are heard of.
    hear_at: Option<Instant>,
}

/// A notice about a file, and its receiver.
type GuardNotice = (FileId, LocalChange, Arc<dyn HearsLocal>);

impl Thread {
    fn run(&mut self) {
        loop {
            self.wait();
            while let Some(fd) = calls::next_signal(&self.signals) {
                match fd {
                    Some(fd) => self.broken(fd),
                    None => self.all_leases().into_iter().for_each(|fd| self.broken(fd)),
                }
            }
            let mut told = self.take_events();
            if self.hear_at.is_some_and(|at| at <= Instant::now()) {
                self.hear_at = None;
                self.hear_names(&mut told);
            }
            for (file, change, hears) in told {
                hears.changed(file, change);
            }
        }
    }

    /// Waits for something to do. While files wait for being heard of, further ones do not wake it.
    fn wait(&mut self) {
        let left = self.hear_at.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut queues =
            vec![PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&self.guards.wake, PollFlags::IN)];
        queues.extend(self.guards.names.iter().map(|group| PollFd::new(group, PollFlags::IN)));
        if rustix::event::poll(&mut queues, timeout.as_ref()).is_err() {
            return; // by a signal: it is in the queue
        }
        if !queues[1].revents().is_empty() {
            let _ = rustix::io::read(&self.guards.wake, &mut [0_u8; 8]); // cannot block: it is readable
            let unheard = !self.guards.table.lock().unheard.is_empty();
            if unheard && self.hear_at.is_none() {
                self.hear_at = Some(Instant::now() + HEARD_AFTER);
            }
        }
    }

    /// The kernel has a local open wait for the lease on this descriptor.
    fn broken(&self, fd: RawFd) {
        let mut table = self.guards.table.lock();
        let Some(&file) = table.leased.get(&fd) else { return };
        let Some(guard) = table.files.get_mut(&file) else { return };
        let Some(lease) = guard.lease.as_mut() else { return };
        let left = calls::lease(std::os::fd::AsFd::as_fd(&*lease.fd));
        if left == lease.kind() {
            return; // of a lease that this descriptor had before
        }
        // A descriptor that can write cannot keep a lease beside a reader.
        let ends = if left == Kind::Read && !lease.can_write { Ends::Writes } else { Ends::All };
        lease.breaks += 1;
        lease.ends_all |= ends == Ends::All;
        let (hears, lease, guards) = (guard.hears.clone(), lease.fd.clone(), self.guards.clone());
        drop(table);
        hears.opening(LocalOpen::new(file, ends, lease_break_time(), move || guards.finish(file, &lease)));
    }

    fn all_leases(&self) -> Vec<RawFd> {
        let table = self.guards.table.lock();
        let leases = table.files.values().filter_map(|guard| guard.lease.as_ref());
        leases.filter(|lease| lease.breaks == 0).map(|lease| lease.fd.as_raw_fd()).collect()
    }

    fn take_events(&self) -> Vec<GuardNotice> {
        let mut events = Vec::new();
        if let Some(group) = &self.guards.names {
            let mut sink = |event| events.push(event);
            (0..MOST_BUFFERS).take_while(|_| calls::take_events(group, &mut sink)).for_each(drop);
        }
        let mut table = self.guards.table.lock();
        let mut changes = std::mem::take(&mut table.untold);
        for event in events {
            match event {
                LeaseEvent::By { subject, of_attributes } => {
                    let file = table.subjects.get(&subject);
                    changes.extend(file.map(|&file| (file, table.change_of(file, of_attributes))));
                }
                LeaseEvent::Lost => {
                    changes.extend(table.subjects.values().map(|&file| (file, table.change_of(file, true))))
                }
            }
        }
        changes.dedup();
        let told = |(file, change)| Some((file, change, table.files.get(&file)?.hears.clone()));
        changes.into_iter().filter_map(told).collect()
    }

    /// Begins to hear of names of the files that are still guarded. What happened to them until now was not heard.
    fn hear_names(&self, told: &mut Vec<GuardNotice>) {
        let waiting = std::mem::take(&mut self.guards.table.lock().unheard);
        for file in waiting {
            let mut table = self.guards.table.lock();
            if table.hear(&self.guards, file)
                && let Some(guard) = table.files.get(&file)
            {
                told.push((file, LocalChange::Names, guard.hears.clone()));
            }
        }
    }
}

impl GuardTable {
    fn change_of(&self, file: FileId, of_attributes: bool) -> LocalChange {
        let is_folder = self.files.get(&file).is_some_and(|guard| guard.events == calls::OF_ENTRIES);
        match (is_folder, of_attributes) {
            (true, _) => LocalChange::Entry,
            (false, true) => LocalChange::Attributes,
            (false, false) => LocalChange::Names,
        }
    }
}

/// How long the kernel lets an open wait.
fn lease_break_time() -> Duration {
    let text = std::fs::read_to_string("/proc/sys/fs/lease-break-time").unwrap_or_default();
    text.trim().parse().map_or(LEASE_BREAK_TIME, Duration::from_secs)
}
