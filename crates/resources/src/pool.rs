//! The threads that wait for disks. They are few, so each file has a limited number of turns on
//! them: a file whose disk does not answer never takes all threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use coherence::noted::{self, Spent};
use formats::{Error, FileId, Result};

/// Most calls of one file that wait at a time.
const TURNS: usize = 32;
/// Files share turns with those whose number is the same modulo this.
const SHARDS: u64 = 64;

static WAITING: AtomicUsize = AtomicUsize::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

/// The calls of all volumes that threads wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskCalls {
    /// Calls that a thread waits for now.
    pub waiting: usize,
    /// Calls that have ended since the process began.
    pub ended: u64,
}

/// How many calls wait for disks on threads of their own. No call for a while, although some wait: a disk is stuck, or
/// the threads wait for each other.
pub fn disk_calls() -> DiskCalls {
    DiskCalls { waiting: WAITING.load(Ordering::Relaxed), ended: ENDED.load(Ordering::Relaxed) }
}

/// A call that a thread waits for, until it is dropped, even by a panic.
struct Waiting;

impl Waiting {
    fn begin() -> Self {
        WAITING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::Relaxed);
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The turns of all files on the threads that wait for disks.
pub struct Pool {
    turns: Vec<Arc<Semaphore>>,
}

impl Default for Pool {
    fn default() -> Self {
        Self { turns: (0..SHARDS).map(|_| Arc::new(Semaphore::new(TURNS))).collect() }
    }
}

impl Pool {
    /// Runs a call that waits for this file's disk. Outside a runtime (tests) it runs here.
    ///
    /// # Errors
    /// Those of the call; `Io` if it ended without a result.
    pub async fn run<T: Send + 'static>(
        &self,
        file: FileId,
        call: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return call() };
        let turns = self.turns[(file.inode % SHARDS) as usize].clone();
        let asked = noted::clock();
        let turn = turns.acquire_owned().await.map_err(|_| Error::Io)?;
        noted::spent(Spent::Permits, asked);
        let operation = tracing::Span::current(); // the log lines of the call belong to it
        let (notes, queued) = (noted::current(), noted::clock());
        let called = runtime.spawn_blocking(move || {
            let waiting = Waiting::begin();
            let result = noted::during(notes.as_ref(), || {
                noted::spent(Spent::Queue, queued);
                let begun = noted::clock();
                let result = operation.in_scope(call);
                noted::spent(Spent::Disk, begun);
                result
            });
            drop(waiting);
            drop(turn); // here, so that a call whose client has gone still counts until it ends
            result
        });
        called.await.unwrap_or_else(|error| {
            tracing::error!(%error, ?file, "a call that waited for a disk ended without a result");
            Err(Error::Io)
        })
    }
}

impl Pool {
    /// Starts a call that waits for this file's disk, and that no client waits for. If too many calls wait for the file, it is
    /// left out. Outside a runtime (tests) it runs here.
    pub fn start(&self, file: FileId, call: impl FnOnce() + Send + 'static) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return call() };
        let turns = self.turns[(file.inode % SHARDS) as usize].clone();
        let Ok(turn) = turns.try_acquire_owned() else { return };
        runtime.spawn_blocking(move || {
            let waiting = Waiting::begin();
            call();
            drop(waiting);
            drop(turn);
        });
    }
}

#[cfg(test)]
mod tests {
    use tracing::{Instrument, Span, info_span};

    use super::*;

    #[tokio::test]
    async fn a_call_belongs_to_the_span_of_its_operation() {
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
        let span = info_span!("operation");
        let (id, file) = (span.id(), FileId { device: 1, inode: 2 });
        let there = Pool::default().run(file, || Ok(Span::current().id())).instrument(span).await;
        assert!(id.is_some() && there.unwrap() == id);
    }
}
