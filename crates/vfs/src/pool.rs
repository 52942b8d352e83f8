//! The threads that wait for disks. They are few, so each file has its turns on them: one whose disk does not answer
//! never takes them all.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::{Error, FileId, Result};

/// Most calls of one file that wait at a time.
const TURNS: usize = 32;
/// Files share turns with those whose number is the same modulo this.
const SHARDS: u64 = 64;

pub(crate) struct Pool {
    turns: Vec<Arc<Semaphore>>,
}

impl Default for Pool {
    fn default() -> Self {
        Self { turns: (0..SHARDS).map(|_| Arc::new(Semaphore::new(TURNS))).collect() }
    }
}

impl Pool {
    /// Runs a call that waits for this file's disk. Outside a runtime (tests) it runs here.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        file: FileId,
        call: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return call() };
        let turns = self.turns[(file.0 % SHARDS) as usize].clone();
        let turn = turns.acquire_owned().await.map_err(|_| Error::Io)?;
        let called = runtime.spawn_blocking(move || {
            let result = call();
            drop(turn); // here, so that a call whose client has gone still counts until it ends
            result
        });
        called.await.unwrap_or(Err(Error::Io))
    }
}
