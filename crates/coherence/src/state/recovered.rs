//! What a server does for states that are elsewhere: it hears of its clients' part of them, and
//! gives this part when the server that had the state is lost.

use std::collections::BTreeSet;

use super::carried::{Back, FileState, LocalRemainder};
use super::leases::Breaking;
use super::removals::{Last, Remove};
use super::{Caching, State, WaitId, waiters};
use formats::FileId;

impl State {
    /// What the server that has the state of a file says of a client of this server. Returns what is
    /// to be removed: run it without locks, and tell that server ([`State::removed`]).
    pub fn hear_back(&self, file: FileId, back: Back) -> Option<Last> {
        let mut gone = None;
        let joined = self.table.joined.as_ref()?;
        let last = {
            let mut asked = joined.asked.lock();
            let kept = asked.kept.get_mut(&file)?;
            let last = kept.hear(back, &mut gone);
            if kept.is_empty() {
                asked.kept.remove(&file);
            }
            last
        };
        if let Some(id) = gone {
            // The holder cannot be reached, and has nothing left to flush.
            self.table.when_here(file, move |_, entry| {
                entry.lease(id).map(|lease| lease.acknowledge(file, Caching::NONE));
                Vec::new()
            });
        }
        last
    }

    /// Another server has removed what it was told to remove.
    pub fn removed(&self, file: FileId, number: u64) {
        let Some(joined) = &self.table.joined else { return };
        let mut asked = joined.asked.lock();
        if self.table.has(file) {
            let _ = self.table.with(file, |entry| entry.removals.retain(|going| going.number != number));
        }
        asked.removing.remove(&file);
    }

    /// Waits until other servers have removed what they were told to remove of a file.
    pub async fn removed_elsewhere(&self, file: FileId) {
        let Some(joined) = &self.table.joined else { return };
        let done = {
            let mut asked = joined.asked.lock();
            let told = |entry: &super::table::Entry| {
                entry.removals.iter().any(|going| matches!(going.last, Remove::There { told: true, .. }))
            };
            if !self.table.has(file) || !self.table.with(file, |entry| told(entry)).unwrap_or(false) {
                return;
            }
            let (sender, done) = tokio::sync::oneshot::channel();
            asked.removing.entry(file).or_default().push(sender);
            done
        };
        let _closed = done.await;
    }

    /// The files whose state is elsewhere, with a part of clients of this server.
    pub fn kept_files(&self) -> Vec<FileId> {
        self.table.left()
    }

    /// The part that clients of this server have in the state of a file that is lost, without what is
    /// [inherited](State::inherited_part). Their operations that wait for leases are repeated.
    pub fn part(&self, file: FileId) -> FileState {
        let Some(joined) = &self.table.joined else { return FileState::default() };
        let mut asked = joined.asked.lock();
        let Some(kept) = asked.kept.get_mut(&file) else { return FileState::default() };
        kept.causers.clear();
        let state = self.table.carried(&kept.entry);
        asked.divide(file, state).0
    }

    /// A server is lost: what its clients had in states that are here ends. The states without anything of them are settled.
    pub fn forget(&self, lost: u16) {
        let table = &self.table;
        let mut settled = BTreeSet::new();
        let last = table.change_all(|file, entry| {
            table.count(entry, false);
            let held = entry.held();
            entry.forget_home(lost);
            if entry.held() == held {
                settled.insert(file);
            }
            table.count(entry, true);
            entry.serve_queue(&table.ledger);
            entry.take_unused(table, file)
        });
        if let Some(joined) = &table.joined {
            let mut asked = joined.asked.lock();
            asked.removing.clear();
            match &mut asked.settled {
                Some(before) => before.retain(|file| settled.contains(file)),
                none => *none = Some(settled),
            }
        }
        self.remove(last);
    }

    /// Whether clients of lost servers certainly had nothing of the file: its state was here when they were lost.
    pub fn is_settled(&self, file: FileId) -> bool {
        let Some(joined) = &self.table.joined else { return false };
        joined.asked.lock().settled.as_ref().is_some_and(|settled| settled.contains(&file))
    }

    /// Clients of lost servers may take back nothing any more: what was settled need not be known.
    pub fn forget_settled(&self) {
        if let Some(joined) = &self.table.joined {
            joined.asked.lock().settled = None;
        }
    }

    /// Gives up states with nothing in them, when more than `most` files have one here. Returns
    /// their files.
    pub fn give_up_unused(&self, most: usize) -> Vec<FileId> {
        let Some(joined) = &self.table.joined else { return Vec::new() };
        let unused = self.table.files_where(super::table::Entry::is_empty);
        let excess = self.table.len().saturating_sub(most);
        let _asked = joined.asked.lock();
        let take = |file: &FileId| self.table.take_empty(*file);
        unused.into_iter().take(excess).filter(take).collect()
    }
}

impl LocalRemainder {
    fn hear(&mut self, back: Back, gone: &mut Option<super::LeaseId>) -> Option<Last> {
        match back {
            Back::Notice(notice, last) => {
                let lease = self.entry.lease(notice.lease)?;
                let (to, id) = (notice.to, notice.lease);
                let needs_ack = notice.needs_ack;
                lease.breaking = needs_ack.then_some(Breaking { announced: to, last });
                if !needs_ack {
                    lease.held = to;
                }
                if !lease.notices.send(notice, last) && needs_ack {
                    *gone = Some(id);
                }
                None
            }
            Back::Granted(id) => {
                let waiters::QueuedLock { stream, wanted, granted, .. } = self.take(id)?;
                // The server that has the state has counted it. Here it is a copy.
                let plan = self.entry.ranges_mut(&stream).grant(&wanted);
                self.entry.ranges_mut(&stream).apply(plan);
                granted.send(id);
                None
            }
            Back::Cancelled(id) => {
                self.take(id);
                None
            }
            Back::Answered(number) => {
                self.causers.retain(|(own, _)| *own != number);
                None
            }
            Back::Remove(number) => {
                let at = self.entry.removals.iter().position(|going| going.number == number)?;
                match self.entry.removals.swap_remove(at).last {
                    Remove::Here(last) => Some(last),
                    Remove::There { .. } => None,
                }
            }
        }
    }

    fn take(&mut self, id: WaitId) -> Option<waiters::QueuedLock> {
        let at = self.entry.queue.iter().position(|queued| queued.id == id)?;
        Some(self.entry.queue.remove(at))
    }
}
