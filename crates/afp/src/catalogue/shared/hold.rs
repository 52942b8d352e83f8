//! The byte range that a server has locked while it gives ids.

use std::sync::mpsc;
use std::time::Duration;

use tokio::time::timeout;
use vfs::index::IndexError;
use vfs::state::{
    ClientId, Flavour, Lock, LockKind, LockOutcome, LockOwner, LockRefusal, Range, State, Stream,
};
use vfs::{Error, FileId};

use super::{SharedIds, logs, shared};

/// How long a thread waits for the other servers: longer than until a lost one is taken over.
const LOCKED_WITHIN: Duration = Duration::from_secs(30);

/// The range is locked until this is dropped.
pub(super) struct RangeHold {
    state: State,
    file: FileId,
    client: ClientId,
}

impl Drop for RangeHold {
    fn drop(&mut self) {
        self.state.release_in(self.file, &[self.client]);
    }
}

impl SharedIds {
    /// Waits until this server may tell. `None`: no share may be changed, so no server tells.
    pub(super) fn hold(&self) -> Result<Option<RangeHold>, IndexError> {
        let main = self.work.lock().main().map(|place| place.volume.clone());
        let Some(volume) = main else { return Ok(None) };
        let (state, file) = (volume.state().clone(), logs::lock_file(&volume).map_err(shared)?);
        let held = RangeHold { state: state.clone(), file, client: self.client };
        let (answer, answered) = mpsc::channel();
        let owner = LockOwner::named(self.client, b"");
        let (kind, flavour) = (LockKind::Exclusive, Flavour::Advisory);
        let wanted = Lock { owner, range: Range::ALL, kind, flavour };
        self.runtime
            .spawn(async move { answer.send(timeout(LOCKED_WITHIN, locked(&state, file, wanted)).await) });
        match answered.recv() {
            Ok(Ok(Ok(()))) => Ok(Some(held)),
            Ok(Ok(Err(error))) => Err(shared(error)),
            Ok(Err(_)) => Err(shared("another server does not answer")),
            Err(_) => Err(shared("this server ends")),
        }
    }
}

/// Waits until the range is locked.
async fn locked(state: &State, file: FileId, wanted: Lock) -> vfs::Result<()> {
    loop {
        match state.wait_lock(file, &Stream::Data, wanted.clone()) {
            Ok(LockOutcome::Now) => return Ok(()),
            Ok(LockOutcome::Later(waiter)) => return waiter.await.map_err(|_| Error::Busy),
            Err(LockRefusal::Elsewhere(file)) => state.arrived(file).await,
            Err(other) => return Err(other.into()),
        }
    }
}
