//! Flushes all written data to the disk, and tells every initiator if that has failed.
//!
//! The host reports a failed write of a file once, to the first caller of a flush; later flushes
//! succeed. The lost data may be another initiator's, which must not be told that its data are on
//! the disk. So every initiator with a session gets the error at its own next flush.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use lock::Mutex;

use super::{CommandRefusal, InitiatorPort, LogicalUnit, Nexus, UnitSession};
use crate::ranks;

/// The flushes of one unit.
#[derive(Default)]
pub(super) struct Synchronizing {
    /// Held by the task that flushes. Requests up to this number are done.
    done: tokio::sync::Mutex<u64>,
    /// The number of the last request.
    asked: AtomicU64,
    /// A flush without a waiting caller is requested, and has not begun.
    later: AtomicBool,
    /// How many flushes have failed.
    failures: AtomicU64,
    /// The initiators that do not know of the failure yet.
    untold: Mutex<HashSet<InitiatorPort>, ranks::SyncFailures>,
    /// How many these are. It is mostly 0.
    untold_count: AtomicUsize,
}

impl LogicalUnit {
    /// Flushes all written data to the disk. Requests that come during a flush are served together
    /// by the next one.
    pub(crate) async fn sync(&self, nexus: &Nexus) -> Result<(), CommandRefusal> {
        let state = &self.synchronizing;
        let failures = state.failures.load(Ordering::Acquire);
        let number = state.asked.fetch_add(1, Ordering::AcqRel) + 1;
        let mut done = state.done.lock().await;
        if *done < number {
            let asked = state.asked.load(Ordering::Acquire);
            let result = self.open()?.sync_data().await.map_err(CommandRefusal::writing);
            *done = asked;
            if result.is_err() {
                state.failures.fetch_add(1, Ordering::AcqRel);
                let holders = self.holders.all();
                state.forget(&holders);
                state.remember(holders.iter().map(|holder| holder.initiator().clone()));
                state.tell(&nexus.initiator);
                return result;
            }
        }
        drop(done);
        let is_told = state.tell(&nexus.initiator);
        if is_told || state.failures.load(Ordering::Acquire) != failures {
            return Err(CommandRefusal::writing(vfs::Error::Io));
        }
        Ok(())
    }

    /// Requests a flush without waiting. If it fails, initiators get the error at their next flush.
    pub(super) fn sync_later(self: &Arc<Self>, nexus: &Arc<Nexus>) {
        if self.synchronizing.later.swap(true, Ordering::AcqRel) {
            return; // a requested flush has not begun
        }
        let (unit, nexus) = (self.clone(), nexus.clone());
        tokio::spawn(async move {
            unit.synchronizing.later.store(false, Ordering::Release);
            if unit.sync(&nexus).await.is_err() {
                unit.synchronizing.remember([nexus.initiator.clone()]);
            }
        });
    }
}

impl Synchronizing {
    fn remember(&self, initiators: impl IntoIterator<Item = InitiatorPort>) {
        let mut untold = self.untold.lock();
        untold.extend(initiators);
        self.untold_count.store(untold.len(), Ordering::Release);
    }

    /// Forgets initiators that have gone, so that the list does not grow.
    fn forget(&self, holders: &[Arc<dyn UnitSession>]) {
        let mut untold = self.untold.lock();
        untold.retain(|initiator| holders.iter().any(|holder| holder.initiator() == initiator));
        self.untold_count.store(untold.len(), Ordering::Release);
    }

    /// Whether this initiator has an unreported error, which then counts as reported.
    fn tell(&self, initiator: &InitiatorPort) -> bool {
        if self.untold_count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let mut untold = self.untold.lock();
        let was_untold = untold.remove(initiator);
        self.untold_count.store(untold.len(), Ordering::Release);
        was_untold
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Weak};

    use vfs::backend::faulty::{Call, Faulty};
    use vfs::backend::memory::Memory;

    use super::*;
    use crate::server::scsi::testing::Disk;
    use crate::server::scsi::{Ending, UnitOptions};
    use crate::wire::scsi::{Asc, Key, Sense};

    const SYNCHRONIZE: [u8; 10] = [0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    struct Session(InitiatorPort);

    impl UnitSession for Session {
        fn initiator(&self) -> &InitiatorPort {
            &self.0
        }

        fn port(&self) -> u16 {
            1
        }

        fn abort_tasks(&self, _: &LogicalUnit, _: Option<u32>) -> Ending {
            Box::pin(std::future::ready(()))
        }
    }

    async fn disk() -> (Arc<Faulty>, Disk) {
        let faulty = Arc::new(Faulty::new(Memory::ticking()));
        let disk = Disk::on(faulty.clone(), 8, UnitOptions { block_size: 512, read_only: false }).await;
        (faulty, disk)
    }

    fn lost() -> CommandRefusal {
        Sense::new(Key::MEDIUM_ERROR, Asc::WRITE_ERROR).into()
    }

    #[tokio::test]
    async fn a_failure_is_told_to_everybody_who_may_have_lost_something_once() {
        let (faulty, disk) = disk().await;
        let (ada, bob) = (disk.nexus("iqn.2026-11.test:ada"), disk.nexus("iqn.2026-11.test:bob"));
        let sessions = [&ada, &bob].map(|nexus| Arc::new(Session(nexus.initiator.clone())));
        for session in &sessions {
            let weak: Weak<Session> = Arc::downgrade(session);
            disk.unit.holders.arrive(weak);
        }
        faulty.plan().fail(1, Some(Call::Sync), vfs::Error::Io); // the host reports it once
        assert_eq!(disk.send(&ada, &SYNCHRONIZE, b"").await.unwrap_err(), lost());
        disk.send(&ada, &SYNCHRONIZE, b"").await.unwrap();
        let fua = [0x2a, 0x08, 0, 0, 0, 0, 0, 0, 1, 0];
        assert_eq!(disk.send(&bob, &fua, &[1; 512]).await.unwrap_err(), lost());
        disk.send(&bob, &fua, &[1; 512]).await.unwrap();
    }

    #[tokio::test]
    async fn the_result_of_an_immediate_flush_is_reported_by_the_next_command() {
        let (faulty, disk) = disk().await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        faulty.plan().fail(1, Some(Call::Sync), vfs::Error::Io);
        disk.send(&ada, &[0x35, 2, 0, 0, 0, 0, 0, 0, 0, 0], b"").await.unwrap();
        while faulty.plan().calls(Some(Call::Sync)) == 0 || disk.unit.synchronizing.done.try_lock().is_err() {
            tokio::task::yield_now().await;
        }
        assert_eq!(disk.send(&ada, &SYNCHRONIZE, b"").await.unwrap_err(), lost());
        disk.send(&ada, &SYNCHRONIZE, b"").await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn requests_during_a_flush_share_the_next_one() {
        let (faulty, disk) = disk().await;
        let disk = Arc::new(disk);
        let id = disk.unit.open().unwrap().node().id();
        faulty.plan().stall(id);
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let disk = disk.clone();
                tokio::spawn(async move {
                    disk.send(&disk.nexus("iqn.2026-11.test:ada"), &SYNCHRONIZE, b"").await.map(|_| ())
                })
            })
            .collect();
        while disk.unit.synchronizing.asked.load(Ordering::Acquire) < 8 || faulty.plan().waiting() == 0 {
            tokio::task::yield_now().await;
        }
        faulty.plan().release(id);
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!(faulty.plan().calls(Some(Call::Sync)), 2);
    }
}
