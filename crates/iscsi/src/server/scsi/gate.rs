//! The gate of a unit's writes: many plain writes at a time, or one read-and-write step that is
//! alone.
//!
//! Plain writes come by the hundred thousand; exclusive steps are rare. So a writer only counts
//! itself, which takes some nanoseconds. While a step is exclusive or waits for it, writers queue
//! at a fair lock.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Notify, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The unit of the upper half of the state, which counts exclusive steps and those that wait.
const ONE_ALONE: u64 = 1 << 32;

/// The gate of one unit.
#[derive(Default)]
pub(super) struct UnitGate {
    /// The lower half counts writers that did not queue; the upper half counts exclusive steps and
    /// those that wait.
    state: AtomicU64,
    queue: RwLock<()>,
    /// Signalled by the last of those writers when an exclusive step waits.
    left: Notify,
}

impl UnitGate {
    /// Enters for a write, which may run at the same time as others.
    pub(super) async fn shared(&self) -> WritePermit<'_> {
        let counted = WriterCount(self);
        if self.state.fetch_add(1, Ordering::AcqRel) < ONE_ALONE {
            return WritePermit::Counted(counted);
        }
        drop(counted);
        WritePermit::Queued(self.queue.read().await)
    }

    /// Waits until there is no other writer, and keeps writers out.
    pub(super) async fn alone(&self) -> ExclusivePermit<'_> {
        self.state.fetch_add(ONE_ALONE, Ordering::AcqRel);
        let wish = ExclusiveWait(self);
        let queued = self.queue.write().await;
        while !self.state.load(Ordering::Acquire).is_multiple_of(ONE_ALONE) {
            self.left.notified().await; // an earlier signal is kept
        }
        ExclusivePermit { _queued: queued, _wish: wish }
    }
}

/// The permit of a writer.
pub(super) enum WritePermit<'a> {
    /// The writer did not queue.
    Counted(#[allow(dead_code, reason = "held")] WriterCount<'a>),
    /// The writer queued.
    Queued(#[allow(dead_code, reason = "held")] RwLockReadGuard<'a, ()>),
}

/// Counts a writer in the lower half.
pub(super) struct WriterCount<'a>(&'a UnitGate);

impl Drop for WriterCount<'_> {
    fn drop(&mut self) {
        let before = self.0.state.fetch_sub(1, Ordering::AcqRel);
        if before >= ONE_ALONE && before % ONE_ALONE == 1 {
            self.0.left.notify_one();
        }
    }
}

/// The permit of an exclusive step.
pub(super) struct ExclusivePermit<'a> {
    _queued: RwLockWriteGuard<'a, ()>,
    _wish: ExclusiveWait<'a>,
}

/// Counts an exclusive step, from its wait on, in the upper half.
struct ExclusiveWait<'a>(&'a UnitGate);

impl Drop for ExclusiveWait<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_sub(ONE_ALONE, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn writers_are_there_at_once_and_one_alone_waits_for_all_of_them() {
        let gate = UnitGate::default();
        let (first, second) = (gate.shared().await, gate.shared().await);
        let soon = Duration::from_secs(1);
        assert!(tokio::time::timeout(soon, gate.alone()).await.is_err()); // gives up
        let third = gate.shared().await;
        assert!(matches!(third, WritePermit::Counted(_)));
        let (alone, ()) = tokio::join!(gate.alone(), async {
            tokio::time::sleep(soon).await;
            drop((first, second, third));
        });
        assert!(tokio::time::timeout(soon, gate.shared()).await.is_err());
        drop(alone);
        assert!(matches!(gate.shared().await, WritePermit::Counted(_)));
        assert_eq!(gate.state.load(Ordering::Acquire), 0);
    }

    /// An exclusive step meets no other writer.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn an_exclusive_command_keeps_other_writes_waiting() {
        let (gate, writing) = (Arc::new(UnitGate::default()), Arc::new(AtomicU64::new(0)));
        let tasks = (0..8).map(|task| {
            let (gate, writing) = (gate.clone(), writing.clone());
            tokio::spawn(async move {
                for _ in 0..2000 {
                    if task < 2 {
                        let _alone = gate.alone().await;
                        assert_eq!(writing.load(Ordering::Acquire), 0);
                    } else {
                        let _shared = gate.shared().await;
                        writing.fetch_add(1, Ordering::AcqRel);
                        tokio::task::yield_now().await;
                        writing.fetch_sub(1, Ordering::AcqRel);
                    }
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(gate.state.load(Ordering::Acquire), 0);
    }
}
