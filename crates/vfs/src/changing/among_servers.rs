//! Which states of files must be at this server while it changes a name, so that no other server changes the same name.
//!
//! A change of a file (its metadata, its streams) needs the state of the file. A name is changed in three cases:
//!
//! | the name | is changed by the server that has the state of |
//! |---|---|
//! | stands for a file: it is moved, replaced, removed | the file |
//! | stands for nothing: it gets a file | the folder |
//! | is that of a sidecar | the folder, and the file that the sidecar belongs to |
//!
//! So a move of a file and a change of its metadata exclude each other, as do two moves to one new name. What a name stands for
//! is looked up again when the states are here. Operations need these states anyway: for opens and leases of the file, and to
//! know whether the folder is being removed. So a change through one server costs no message more.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use crate::backend::Found;
use crate::backend::Node;
use crate::mac::layout::sidecar_owner;
use crate::state::{Pins, RECALL_DEADLINE};
use crate::{Beside, Caller, Error, FileId, Result, Site, Volume};

/// How often it is looked up what names stand for that other servers change meanwhile.
const MOST_LOOKS: usize = 8;
/// How long it takes until a state is asked for again that cannot come yet.
const ASK_AGAIN: Duration = Duration::from_millis(1);

impl Site {
    /// As `State::pin` in a task, which waits until the states are here. `LeaseRecall` if one does not come.
    pub(crate) async fn pin_once_here(&self, files: &[FileId]) -> Result<Pins> {
        let begun = Instant::now();
        loop {
            let file = match self.state.pin(files) {
                Err(Error::LeaseRecall(file)) => file,
                other => return other,
            };
            let left = RECALL_DEADLINE.saturating_sub(begun.elapsed());
            if timeout(left, self.state.may_be_pinned(file)).await.is_err() {
                return Err(Error::LeaseRecall(file));
            }
            if self.state.is_elsewhere(file) {
                sleep(ASK_AGAIN).await;
            }
        }
    }

    /// Keeps other servers from changing the streams of a file, once its state is here. Nothing changes in a snapshot.
    pub(crate) async fn pin_streams(&self, of: &Node) -> Result<Pins> {
        if of.is_read_only() { Ok(Pins::default()) } else { self.pin_once_here(&[of.id()]).await }
    }

    /// As [`Site::pin_once_here`], on a thread that may wait.
    pub(crate) fn pin_and_wait(&self, files: &[FileId]) -> Result<Pins> {
        let begun = Instant::now();
        loop {
            let file = match self.state.pin(files) {
                Err(Error::LeaseRecall(file)) if begun.elapsed() < RECALL_DEADLINE => file,
                other => return other,
            };
            block_on(self.state.may_be_pinned(file), RECALL_DEADLINE.saturating_sub(begun.elapsed()));
            if self.state.is_elsewhere(file) {
                thread::sleep(ASK_AGAIN);
            }
        }
    }
}

/// Keeps names of a volume from being changed by other servers.
pub(crate) struct NamePins<'a>(&'a Volume);

impl Volume {
    /// Keeps names from being changed by other servers.
    pub(crate) fn name_pins(&self) -> NamePins<'_> {
        NamePins(self)
    }
}

impl NamePins<'_> {
    /// `known` is what the names stood for a moment ago, unless one is that of a sidecar: for each name the file, or the folder if
    /// there was none. `LeaseRecall` if a state is elsewhere, or if a name stands for another file now: the operation looks it up
    /// again.
    pub(crate) fn pin(&self, names: &[(&Node, &[u8])], known: &[FileId]) -> Result<Pins> {
        let state = &self.0.site.state;
        if !state.is_joined() {
            return Ok(Pins::default());
        }
        if names.iter().any(|(_, name)| self.0.names().is_sidecar(name)) {
            return self.pin_found(names, |files| state.pin(files));
        }
        let pins = state.pin(known)?;
        if self.stand_for(names)? == known { Ok(pins) } else { Err(Error::LeaseRecall(known[0])) }
    }

    /// The same for one name, on a thread that may wait.
    pub(crate) fn pin_and_wait(&self, folder: &Node, name: &[u8]) -> Result<Pins> {
        if !self.0.site.state.is_joined() {
            return Ok(Pins::default());
        }
        self.pin_found(&[(folder, name)], |files| self.0.site.pin_and_wait(files))
    }

    /// Keeps other servers from giving files to a name that stands for nothing, which is not looked up.
    pub(crate) fn pin_new(&self, folder: &Node, name: &[u8]) -> Result<Pins> {
        match self.0.names().is_sidecar(name) {
            true => self.pin(&[(folder, name)], &[]),
            false => self.0.site.state.pin(&[folder.id()]),
        }
    }

    /// Fails if a file that was found at a place is not there any more, where that matters: other layouts have what
    /// describes a file beside it. The state of the file is here.
    pub(crate) fn is_still_at(&self, of: &Found, place: Option<Beside<'_>>) -> Result<()> {
        let looks_beside = self.0.streams.as_ref().is_some_and(|streams| streams.looks_for_other_files());
        let Some(place) = place.filter(|_| looks_beside && self.0.site.state.is_joined()) else {
            return Ok(());
        };
        match place.folder.entry_attributes(&Caller::root(), place.name) {
            Ok(found) if found.id == of.object.id() => Ok(()),
            Ok(_) | Err(Error::NotFound) => Err(Error::Stale),
            Err(other) => Err(other),
        }
    }

    fn pin_found(&self, names: &[(&Node, &[u8])], pin: impl Fn(&[FileId]) -> Result<Pins>) -> Result<Pins> {
        let mut files = self.stand_for(names)?;
        for _ in 0..MOST_LOOKS {
            let pins = pin(&files)?;
            let now = self.stand_for(names)?;
            if now == files {
                return Ok(pins);
            }
            files = now;
        }
        Err(Error::LeaseRecall(files[0]))
    }

    fn stand_for(&self, names: &[(&Node, &[u8])]) -> Result<Vec<FileId>> {
        let mut files = Vec::with_capacity(names.len());
        for (folder, name) in names {
            let owner = sidecar_owner(name).filter(|_| self.0.names().is_sidecar(name));
            files.extend(owner.map(|_| folder.id()));
            match folder.entry_attributes(&Caller::root(), owner.unwrap_or(name)) {
                Ok(found) => files.push(found.id),
                Err(Error::NotFound | Error::NameTooLong) => files.push(folder.id()),
                Err(other) => return Err(other),
            }
        }
        Ok(files)
    }
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits on this thread, for this long at most.
fn block_on(waiting: impl Future<Output = ()>, limit: Duration) {
    let (begun, waker) = (Instant::now(), Waker::from(Arc::new(Unpark(thread::current()))));
    let mut waiting = std::pin::pin!(waiting);
    let mut context = Context::from_waker(&waker);
    while waiting.as_mut().poll(&mut context) == Poll::Pending && begun.elapsed() < limit {
        thread::park_timeout(limit.saturating_sub(begun.elapsed()));
    }
}
