//! The sessions of a mount. A session that was lost is opened again for the next operation, and files that were open on it are opened
//! by their names.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::tree::Tree;
use client::{Connector, Protocol, Reach, Result, Target};
use lock::Mutex;

use crate::ranks;

/// A session that did nothing for so long asks the server something: servers of AFP end sessions that are silent for two minutes.
const IDLE: Duration = Duration::from_secs(25);

/// One session, if it is open.
pub(crate) struct Slot {
    tree: Option<Box<dyn Tree>>,
    /// How many sessions this slot has had.
    generation: u64,
    used: Instant,
}

/// What an operation gets.
pub(crate) struct BorrowedTree<'a> {
    pub(crate) tree: &'a mut dyn Tree,
    /// Files of another generation are not open any more.
    pub(crate) generation: u64,
}

/// Some sessions with one server.
pub(crate) struct ServerSessions {
    connector: Connector,
    slots: Vec<Mutex<Slot, ranks::MountSession>>,
    turn: AtomicUsize,
}

impl std::fmt::Debug for ServerSessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

impl ServerSessions {
    /// Opens the first session; the others are opened when they are needed.
    pub(crate) fn connect(target: Target, reach: Reach, count: usize) -> Result<Self> {
        let connector = Connector::new(target, reach, count, 0);
        let first = connector.tree()?;
        let sessions = Self { connector, slots: Vec::new(), turn: AtomicUsize::new(0) };
        let slot = |tree| Mutex::new(Slot { tree, generation: 1, used: Instant::now() });
        let slots = std::iter::once(Some(first)).chain(std::iter::repeat_with(|| None)).take(count).map(slot);
        Ok(Self { slots: slots.collect(), ..sessions })
    }

    /// The protocol of all of them.
    pub(crate) fn protocol(&self) -> Protocol {
        self.connector.target().protocol
    }

    /// A session for a file that is opened now. Files are spread over all sessions.
    pub(crate) fn next(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed) % self.slots.len()
    }

    /// Does something that may be done twice: it is tried once more on a new session if the session is lost.
    pub(crate) fn repeat<T>(&self, act: impl FnMut(&mut dyn Tree) -> Result<T>) -> Result<T> {
        let mut act = act;
        self.any(2, |lent| act(lent.tree))
    }

    /// Does something that may not be done twice.
    pub(crate) fn once<T>(&self, act: impl FnOnce(&mut dyn Tree) -> Result<T>) -> Result<T> {
        let mut act = Some(act);
        self.any(1, |lent| match act.take() {
            Some(act) => act(lent.tree),
            None => Err(client::Error::Stopped),
        })
    }

    fn any<T>(&self, tries: usize, act: impl FnMut(BorrowedTree<'_>) -> Result<T>) -> Result<T> {
        for slot in &self.slots {
            if let Some(mut slot) = slot.try_lock().filter(|slot| slot.tree.is_some()) {
                return slot.run(&self.connector, tries, act);
            }
        }
        self.on(self.next(), tries, act)
    }

    /// The same on one session.
    pub(crate) fn on<T>(
        &self,
        slot: usize,
        tries: usize,
        act: impl FnMut(BorrowedTree<'_>) -> Result<T>,
    ) -> Result<T> {
        self.slots[slot].lock().run(&self.connector, tries, act)
    }

    /// Lets sessions that are idle be heard of. One that does not answer is opened again when it is needed.
    fn touch(&self) {
        for slot in &self.slots {
            let Some(mut slot) = slot.try_lock() else { continue };
            if slot.used.elapsed() >= IDLE
                && let Some(tree) = slot.tree.as_mut()
            {
                let is_lost = tree.space().is_err_and(|error| error.ends_session());
                slot.used = Instant::now();
                if is_lost {
                    slot.tree = None;
                }
            }
        }
    }
}

impl Slot {
    fn run<T>(
        &mut self,
        connector: &Connector,
        tries: usize,
        mut act: impl FnMut(BorrowedTree<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut left = tries.max(1);
        loop {
            left -= 1;
            if self.tree.is_none() {
                self.tree = Some(connector.tree()?);
                self.generation += 1;
            }
            let Some(tree) = self.tree.as_deref_mut() else { return Err(client::Error::Stopped) };
            self.used = Instant::now();
            match act(BorrowedTree { tree, generation: self.generation }) {
                Err(error) if error.ends_session() => {
                    tracing::warn!("the session with {} was lost: {error}", connector.target().host);
                    self.tree = None;
                    if left == 0 {
                        return Err(error);
                    }
                }
                done => return done,
            }
        }
    }
}

/// The thread that keeps idle sessions alive. It ends when this is dropped.
pub(crate) struct KeepAlive {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for KeepAlive {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic was reported already
        }
    }
}

/// Keeps idle sessions alive.
pub(crate) fn keep(sessions: &Arc<ServerSessions>) -> io::Result<KeepAlive> {
    let (end, ended) = channel();
    let sessions = sessions.clone();
    let thread = std::thread::Builder::new().name("keeper".into()).spawn(move || {
        while ended.recv_timeout(IDLE / 5) == Err(RecvTimeoutError::Timeout) {
            sessions.touch();
        }
    })?;
    Ok(KeepAlive { end: Some(end), thread: Some(thread) })
}
