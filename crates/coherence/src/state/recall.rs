//! Recalls: which leases an operation ends, and the future in which it waits for their holders.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

use std::time::Duration;

use tokio::sync::oneshot;

use super::leases::{Caching, LeaseEntry, LeaseId, Style};
use super::opens::Concern;
use super::table::Entry;
use super::{OpenGuard, OpenRequest, Party, State, Stream};
use crate::noted::{self, Spent};
use formats::{Error, FileId, Result};

/// How often an operation is tried. Other clients may have got leases again after each try.
pub const MOST_TRIES: usize = 8;
/// The same where the state of the file can be at other servers: it may leave again before each try.
const MOST_TRIES_JOINED: usize = 512;

/// How long the holder of a lease may take to give it back before the server takes it.
pub const RECALL_DEADLINE: Duration = Duration::from_secs(35);

static ANSWERED: AtomicU64 = AtomicU64::new(0);
static REVOKED: AtomicU64 = AtomicU64::new(0);

/// The recalls of leases that have ended since the process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecallCounts {
    /// All holders have answered.
    pub answered: u64,
    /// The lease was taken from a holder that did not answer in time.
    pub revoked: u64,
}

/// How many recalls of leases have ended.
#[must_use]
pub fn recall_counts() -> RecallCounts {
    RecallCounts { answered: ANSWERED.load(Ordering::Relaxed), revoked: REVOKED.load(Ordering::Relaxed) }
}

/// An operation on a file that another client may have in a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// It is opened, not for writing.
    OpenRead,
    /// It is opened for writing.
    OpenWrite,
    /// It is opened to see or change permissions.
    OpenRights,
    /// It is opened to be emptied.
    Overwrite,
    /// An open failed, perhaps only because a cached handle is in its way.
    ShareConflict,
    /// It is read without an open.
    Read,
    /// Its data are written.
    Write,
    /// It is cut, grown, or emptied when opened.
    Truncate,
    /// A range is locked.
    Lock,
    /// Attributes other than the size are set, or it gets another name.
    Attributes,
    /// It is moved to another name.
    Rename,
    /// It loses a name: removed, or another file takes its place.
    Remove,
    /// An entry of this folder comes, goes or changes.
    Entry,
}

impl Cause {
    /// What others lose by it, of a lease that goes bit by bit. Cached writes end if another client
    /// reads. Cached data end if another client writes or locks. Cached handles end if an open file
    /// is in the way.
    fn takes(self) -> Caching {
        match self {
            Self::OpenRead | Self::OpenWrite | Self::Read => Caching::WRITE,
            Self::ShareConflict => Caching::HANDLE,
            // As if it were opened for that first, as some clients do.
            Self::Rename | Self::Remove => Caching::HANDLE.union(Caching::WRITE),
            Self::Write | Self::Truncate | Self::Overwrite | Self::Lock => {
                Caching::READ.union(Caching::WRITE)
            }
            Self::Attributes | Self::OpenRights => Caching::NONE,
            Self::Entry => Caching::READ,
        }
    }

    /// The same for a lease that goes in steps.
    fn takes_steps(self) -> Caching {
        if self == Self::OpenRights { Caching::WRITE } else { self.takes() }
    }

    /// What it collides with in a lease that is given back as a whole. Such a lease promises that
    /// no other client has the file open for writing, and that its attributes and names stay.
    fn takes_whole(self) -> Caching {
        match self {
            Self::OpenRead | Self::OpenRights | Self::Read => Caching::WRITE,
            Self::ShareConflict => Caching::HANDLE,
            Self::OpenWrite | Self::Overwrite | Self::Write | Self::Truncate | Self::Lock => Caching::ALL,
            Self::Attributes | Self::Rename | Self::Remove | Self::Entry => Caching::ALL,
        }
    }

    /// The part of `gone` that must end before the operation. An operation that empties a file does
    /// not wait for holders that have nothing to write back: they are told, and what they keep open
    /// stays.
    fn waits_for(self, gone: Caching) -> Caching {
        if self == Self::Overwrite { gone.intersection(Caching::WRITE) } else { gone }
    }

    /// Names and attributes belong to the file, whichever stream is cached.
    fn concerns_all_streams(self) -> bool {
        matches!(self, Self::Rename | Self::Remove | Self::Attributes)
    }
}

impl State {
    /// Starts what must come before `cause`: tells every other party what it may no longer cache.
    /// `None` if there is no need to wait. For a file with nothing held this is known at once.
    ///
    /// Call it before the change, wait, and make the change. Then call it again before the reply,
    /// without waiting: a lease granted in between ends, too, and no client sees old data after the
    /// reply to the change.
    #[inline]
    pub fn break_for(&self, file: FileId, stream: &Stream, cause: Cause, by: Party) -> Option<Recall> {
        if self.quiet(file) {
            return None;
        }
        match self.table.with_existing(file, |entry| entry.break_for(file, stream, cause, by)) {
            Ok(holders) => {
                let holders = holders.filter(|holders| !holders.is_empty())?;
                Some(Recall { state: self.clone(), file, holders, then: None })
            }
            Err(_) => Some(Recall { then: Some((stream.clone(), cause, by)), ..self.arrival(file) }),
        }
    }

    /// Waiting for the state of a file that another server has.
    fn arrival(&self, file: FileId) -> Recall {
        let holders = vec![Holder { lease: None, goes_whole: false, answer: self.table.come(file) }];
        Recall { state: self.clone(), file, holders, then: None }
    }

    /// The holders of leases that go as a whole (delegations) have at least this long to give them back, if it is longer than
    /// what others have. A holder that cannot be called may learn of a recall only when it next reports to its server.
    pub fn give_delegations(&self, time: Duration) {
        self.table.delegations_ms.fetch_max(time.as_millis() as u64, Ordering::AcqRel);
    }

    /// The longest time that a recall takes.
    pub fn longest_recall(&self) -> Duration {
        RECALL_DEADLINE.max(Duration::from_millis(self.table.delegations_ms.load(Ordering::Acquire)))
    }

    /// How often an operation that meets leases is tried.
    pub fn most_tries(&self) -> usize {
        if self.is_joined() { MOST_TRIES_JOINED } else { MOST_TRIES }
    }

    /// [`State::open`] with the breaks that belong to it: recalls cached handles that are in the
    /// way, and makes others write back cached writes. It succeeds once all have answered.
    /// `deadline` makes a new timer for each wait, of the time that the holders have.
    pub async fn open_and_recall<T: Future<Output = ()>>(
        &self,
        file: FileId,
        stream: Stream,
        request: OpenRequest,
        deadline: impl Fn(Duration) -> T,
    ) -> Result<OpenGuard> {
        let request = self.linked(request);
        let mut opener = None;
        let most = self.most_tries();
        for tried in 0..most {
            let attempt = || self.try_open(file, &stream, request, tried > 0);
            match self.with_way(file, request.party.client, attempt)? {
                Ok(open) => return Ok(open),
                Err(recall) => {
                    opener.get_or_insert_with(|| Opener::new(self, file));
                    let deadline = deadline(recall.time());
                    if recall.within(deadline).await == RecallOutcome::Revoked && self.is_coming(file) {
                        return Err(Error::LeaseRecall(file));
                    }
                }
            }
        }
        Err(Error::ShareConflict)
    }

    /// Opens, unless the cache of another client is in the way: then it is recalled. If any lease
    /// is being returned, for any operation, an open waits for that, too. The first try of an open
    /// that recalls everything itself does not wait.
    fn try_open(
        &self,
        file: FileId,
        stream: &Stream,
        request: OpenRequest,
        again: bool,
    ) -> Result<std::result::Result<OpenGuard, Recall>> {
        let attempt = |entry: &mut Entry| {
            let verdict = entry.verdict(stream, &request);
            let cause = match verdict {
                Ok(()) => request.cause(),
                Err(Error::ShareConflict) => Some(Cause::ShareConflict),
                Err(_) => None,
            };
            let broken = cause.map(|cause| entry.break_for(file, stream, cause, request.party));
            let mut holders = broken.unwrap_or_default();
            if verdict.is_ok() && request.concern == Concern::Data && (again || !request.empties) {
                holders.extend(entry.unsettled(stream, request.party));
            }
            match holders.is_empty() {
                false => Ok(Err(holders)),
                true => verdict.and_then(|()| entry.add_open(&self.table, stream, &request)).map(Ok),
            }
        };
        let Ok(opened) = self.table.with(file, attempt) else { return Ok(Err(self.arrival(file))) };
        Ok(match opened? {
            Ok(id) => Ok(self.guard(file, stream.clone(), id, &request)),
            Err(holders) => Err(Recall { state: self.clone(), file, holders, then: None }),
        })
    }
}

impl Entry {
    fn break_for(&mut self, file: FileId, stream: &Stream, cause: Cause, by: Party) -> Vec<Holder> {
        let concerned = |lease: &&mut LeaseEntry| {
            lease.minds(by) && (cause.concerns_all_streams() || lease.stream == *stream)
        };
        let broken = self.leases.iter_mut().filter(concerned).filter_map(|lease| {
            let gone = match lease.style {
                Style::Bits => cause.takes(),
                Style::Steps => cause.takes_steps(),
                Style::Told if cause == Cause::Entry => Caching::NONE,
                Style::Whole | Style::Told => cause.takes_whole(),
            };
            let waits_for = if lease.style.goes_whole() { gone } else { cause.waits_for(gone) };
            let answer = lease.break_for(file, gone, waits_for)?;
            Some(Holder { lease: Some(lease.id), goes_whole: lease.style.goes_whole(), answer })
        });
        broken.collect()
    }
}

impl Entry {
    /// The holders whose leases are being returned bit by bit.
    fn unsettled(&mut self, stream: &Stream, by: Party) -> Vec<Holder> {
        let others = self.leases.iter_mut().filter(|lease| lease.party != by && lease.stream == *stream);
        let settled = |lease: &mut LeaseEntry| {
            Some(Holder { lease: Some(lease.id), goes_whole: false, answer: lease.settled()? })
        };
        others.filter(|lease| lease.style == Style::Bits).filter_map(settled).collect()
    }
}

/// A client that is going to open a file. Until then no client gets a new lease to cache writes.
struct Opener {
    state: State,
    file: FileId,
}

impl State {
    fn change_openers(&self, file: FileId, change: impl FnOnce(&mut usize) + Send + 'static) {
        self.table.when_here(file, |_, entry| {
            change(&mut entry.openers);
            Vec::new()
        });
    }
}

impl Opener {
    fn new(state: &State, file: FileId) -> Self {
        state.change_openers(file, |openers| *openers += 1);
        Self { state: state.clone(), file }
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        self.state.change_openers(self.file, |openers| *openers -= 1);
    }
}

/// A holder whose answer is awaited.
struct Holder {
    /// Its lease; `None` for another server that has the state of the file.
    lease: Option<LeaseId>,
    /// Its lease is a delegation.
    goes_whole: bool,
    /// Closed once the holder has answered, or is gone.
    answer: oneshot::Receiver<Infallible>,
}

/// How a recall ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecallOutcome {
    /// Every holder has answered.
    Answered,
    /// The time was over: the leases of holders that did not answer are revoked.
    Revoked,
}

/// Leases that are being returned. Dropping it does not stop them. But then no operation waits for
/// them, and a lease without an answer is not revoked. So a protocol that tells its client to try
/// again still awaits [`Recall::within`], in a task of its own.
pub struct Recall {
    state: State,
    file: FileId,
    holders: Vec<Holder>,
    /// What is recalled once the state of the file has come.
    then: Option<(Stream, Cause, Party)>,
}

impl Recall {
    /// How long the holders have: longer if one of them has a delegation, or may have one in a state that is still to come.
    pub fn time(&self) -> Duration {
        let may_be_delegation = self.then.is_some() || self.holders.iter().any(|holder| holder.goes_whole);
        if may_be_delegation { self.state.longest_recall() } else { RECALL_DEADLINE }
    }

    /// How many holders have not answered yet.
    pub fn waiting(&mut self) -> usize {
        self.holders
            .retain_mut(|holder| holder.answer.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        self.holders.len()
    }

    /// Waits until every holder has answered. May be dropped and asked again.
    pub async fn answered(&mut self) {
        while let Some(holder) = self.holders.last_mut() {
            let _closed = (&mut holder.answer).await;
            self.holders.pop();
        }
    }

    /// Waits for the answers until the deadline, and revokes what is missing then.
    pub async fn within(mut self, deadline: impl Future<Output = ()>) -> RecallOutcome {
        let begun = noted::clock();
        let mut deadline = pin!(deadline);
        let settled = loop {
            tokio::select! {
                biased;
                () = self.answered() => match self.once_come() {
                    Some(next) => self = next,
                    None => break RecallOutcome::Answered,
                },
                () = deadline.as_mut() => break self.revoke(),
            }
        };
        noted::spent(Spent::Leases, begun);
        let count = if settled == RecallOutcome::Answered { &ANSWERED } else { &REVOKED };
        count.fetch_add(1, Ordering::Relaxed);
        settled
    }

    /// What is left to wait for when the state of the file has come.
    fn once_come(&mut self) -> Option<Self> {
        let (stream, cause, by) = self.then.take()?;
        self.state.break_for(self.file, &stream, cause, by)
    }

    /// Takes the leases of holders that have not answered.
    pub fn revoke(mut self) -> RecallOutcome {
        let (state, file) = (self.state.clone(), self.file);
        match state.table.with_existing(file, |entry| self.revoke_late(entry)) {
            Ok(late) => {
                return if late.unwrap_or(0) > 0 { RecallOutcome::Revoked } else { RecallOutcome::Answered };
            }
            Err(_) if self.holders.iter().all(|late| late.lease.is_none()) => {}
            Err(_) => {
                state.table.when_here(file, move |_, entry| {
                    self.revoke_late(entry);
                    Vec::new()
                });
            }
        }
        RecallOutcome::Revoked
    }

    /// Answers come under the same lock: no holder loses what it has just answered for.
    fn revoke_late(&mut self, entry: &mut Entry) -> usize {
        let (late, file) = (self.waiting(), self.file);
        let unanswered =
            |lease: &&mut LeaseEntry| self.holders.iter().any(|late| late.lease == Some(lease.id));
        entry.leases.iter_mut().filter(unanswered).for_each(|lease| lease.revoke(file));
        late
    }
}
