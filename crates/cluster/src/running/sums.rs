//! Quotas that servers count together, as a task of a running server: what [`Sums`] wants is told, and what others have told is in
//! force here.

mod counting;

use std::collections::BTreeMap;
use std::sync::mpsc as blocking;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coherence::recount::Changes;
use formats::FileId;
use lock::Mutex;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::{Cluster, RunContext};
use crate::fence;
use crate::ranks;
use crate::sums::{Elsewhere, Sums};
use crate::wire::MAX_FILES;
use crate::wire::sums::{MAX_SUMS, SumsMessage};

/// How often servers tell each other what their clients have changed.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// How many messages of other servers may wait. Those beyond it are lost: totals are told again with the next change, and a
/// count without an answer has no result.
const MOST_HEARD: usize = 4096;
/// How long a connection may be away before a server uses only its part of what is left.
const CUT_AFTER: Duration = Duration::from_secs(1);

/// The quotas of this server that the servers of its cluster count together. Folders have their numbers on this host.
pub trait Counting: Send + Sync {
    /// The folders, each with the sum that was known without the cluster.
    fn folders(&self) -> Vec<(FileId, i64)>;
    /// Servers count a folder together from now on. This one begins with this total.
    fn share(&self, folder: FileId, total: i64);
    /// What clients of this server have changed. `None`: it has no quota any more.
    fn total(&self, folder: FileId) -> Option<i64>;
    /// What all others have changed, and what was counted. Returns whether something has changed here that could not be counted.
    fn set(&self, folder: FileId, elsewhere: Elsewhere) -> bool;
    /// This server may use one part in so many of what is left; `None`: all.
    fn divide(&self, folder: FileId, servers: Option<u64>);
    /// Notes what clients change from now on. Returns the total.
    fn follow(&self, folder: FileId) -> Option<i64>;
    /// What they have changed since this was called last.
    fn followed(&self, folder: FileId) -> Changes;
    /// Notes nothing more.
    fn unfollow(&self, folder: FileId);
}

/// A message of another server, in an epoch.
pub(super) struct ReceivedSums {
    pub(super) epoch: u64,
    pub(super) from: u16,
    pub(super) message: SumsMessage,
}

/// What threads and the task share.
pub(super) struct SharedSums {
    hear: mpsc::Sender<ReceivedSums>,
    heard: Mutex<Option<mpsc::Receiver<ReceivedSums>>, ranks::ClusterTrees>,
    counting: OnceLock<Arc<dyn Counting>>,
    state: Mutex<SumsState, ranks::ClusterSums>,
}

/// The sums, and the count that runs.
struct SumsState {
    sums: Sums,
    epoch: u64,
    /// The folders with quotas here, by their numbers in the cluster.
    here: BTreeMap<FileId, FileId>,
    /// The servers that have told all before they leave.
    ended: Vec<u16>,
    /// Where answers go to the count with this number, which this server makes.
    count: Option<(u64, blocking::Sender<(u16, SumsMessage)>)>,
    counts: u64,
    /// The folders that this server follows.
    following: Vec<FileId>,
    /// Since when not all members are connected.
    cut: Option<Duration>,
}

impl SharedSums {
    pub(super) fn new(me: u16) -> Self {
        let (hear, heard) = mpsc::channel(MOST_HEARD);
        let state = SumsState {
            sums: Sums::new(me),
            epoch: 0,
            here: BTreeMap::new(),
            ended: Vec::new(),
            count: None,
            counts: 0,
            following: Vec::new(),
            cut: None,
        };
        let heard = Mutex::new(Some(heard));
        Self { hear, heard, counting: OnceLock::new(), state: Mutex::new(state) }
    }

    /// Another server has told something.
    pub(super) fn hear(&self, heard: ReceivedSums) {
        if self.hear.try_send(heard).is_err() {
            tracing::debug!("what another server has told of the sums of quotas is lost");
        }
    }
}

impl Cluster {
    /// The servers count these quotas together from now on.
    pub fn count_quotas(&self, counting: Arc<dyn Counting>) {
        let Some(heard) = self.shared.sums.heard.lock().take() else { return };
        let _ = self.shared.sums.counting.set(counting.clone());
        self.shared.runtime.spawn(self.shared.clone().follow_sums(counting, heard));
    }

    /// Whether this server counts all files when that is due.
    #[must_use]
    pub fn is_counter(&self) -> bool {
        self.shared.sums.state.lock().sums.is_counter()
    }

    /// Tells the others that this server changes nothing any more.
    pub(super) fn end_sums(&self) {
        let shared = &self.shared;
        let Some(counting) = shared.sums.counting.get() else { return };
        let here = shared.sums.state.lock().here.clone();
        let totals = here.iter().filter_map(|(file, local)| Some((*file, counting.total(*local)?)));
        let totals: Vec<_> = totals.collect();
        for part in totals.chunks(MAX_FILES) {
            shared.tell_sums(&SumsMessage::Totals(part.to_vec()));
        }
        shared.tell_sums(&SumsMessage::Ended);
    }
}

impl RunContext {
    async fn follow_sums(
        self: Arc<Self>,
        counting: Arc<dyn Counting>,
        mut heard: mpsc::Receiver<ReceivedSums>,
    ) {
        let mut members = self.members.subscribe();
        let mut every = interval(TELL_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = every.tick() => {
                    self.adopt_sums(&*counting);
                    self.tell_changes(&*counting);
                }
                Some(heard) = heard.recv() => {
                    // It is of an epoch that the node is in.
                    while members.borrow_and_update().epoch < heard.epoch {
                        if members.changed().await.is_err() {
                            return;
                        }
                    }
                    self.adopt_sums(&*counting);
                    self.heard_sums(&*counting, heard);
                }
                changed = members.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.adopt_sums(&*counting);
                }
            }
        }
    }

    /// Takes part in the present epoch.
    fn adopt_sums(self: &Arc<Self>, counting: &dyn Counting) {
        let now = self.members.borrow().clone();
        let mut state = self.sums.state.lock();
        if now.epoch <= state.epoch {
            return;
        }
        state.epoch = now.epoch;
        let ended = std::mem::take(&mut state.ended);
        let all = state.sums.adopt(now.view().members, &ended);
        let following = std::mem::take(&mut state.following);
        drop(state);
        // A count that another server makes has no result in another epoch.
        following.into_iter().for_each(|folder| counting.unfollow(folder));
        self.tell_sums(&all);
    }

    /// Tells the others what has changed here, and puts in force what has changed there.
    fn tell_changes(self: &Arc<Self>, counting: &dyn Counting) {
        if self.sums.state.lock().epoch == 0 {
            return; // it is not a member yet
        }
        let folders = counting.folders();
        let out = |(local, known): &(FileId, i64)| Some((self.port.trees.out(*local)?, *local, *known));
        let folders: Vec<_> = folders.iter().filter_map(out).collect();
        let mut state = self.sums.state.lock();
        let here: BTreeMap<FileId, FileId> = folders.iter().map(|(file, local, _)| (*file, *local)).collect();
        if state.here != here {
            let known: Vec<_> = folders.iter().map(|(file, _, known)| (*file, *known)).collect();
            let new = here.iter().filter(|(file, local)| state.here.get(*file) != Some(*local));
            let new: Vec<_> = new.map(|(file, local)| (*local, state.sums.total(*file))).collect();
            state.sums.keep(&known);
            state.here = here;
            drop(state);
            new.into_iter().for_each(|(local, total)| counting.share(local, total));
            state = self.sums.state.lock();
        }
        let here = state.here.clone();
        drop(state);
        let total = |(file, local): (&FileId, &FileId)| Some((*file, counting.total(*local)?));
        let totals: Vec<_> = here.iter().filter_map(total).collect();
        let changed = self.sums.state.lock().sums.change(&totals);
        changed.iter().for_each(|message| self.tell_sums(message));
        self.apply_sums(counting);
        self.divide(counting, &here);
    }

    /// Puts in force what has changed at others.
    fn apply_sums(self: &Arc<Self>, counting: &dyn Counting) {
        let state = self.sums.state.lock();
        let elsewhere = state.sums.elsewhere();
        let local = |(file, now): (FileId, Elsewhere)| Some((file, *state.here.get(&file)?, now));
        let all: Vec<_> = elsewhere.into_iter().filter_map(local).collect();
        drop(state);
        for (file, local, now) in all {
            if counting.set(local, now) {
                self.sums.state.lock().sums.spoil(file);
                self.tell_sums(&SumsMessage::Spoiled(file));
            }
        }
    }

    /// While another member cannot be told, this server uses only its part of what is left.
    fn divide(&self, counting: &dyn Counting, here: &BTreeMap<FileId, FileId>) {
        let connected: Vec<u16> = self.ways.lock().keys().copied().collect();
        let mut state = self.sums.state.lock();
        let others = state.sums.others();
        let is_cut = others.iter().any(|server| !connected.contains(server));
        let since = is_cut.then(|| state.cut.unwrap_or_else(fence::now));
        state.cut = since;
        drop(state);
        let servers = since.filter(|since| fence::now().saturating_sub(*since) >= CUT_AFTER);
        let servers = servers.map(|_| others.len() as u64 + 1);
        here.values().for_each(|local| counting.divide(*local, servers));
    }

    fn heard_sums(
        self: &Arc<Self>,
        counting: &dyn Counting,
        ReceivedSums { epoch, from, message }: ReceivedSums,
    ) {
        let mut state = self.sums.state.lock();
        if epoch != state.epoch {
            return; // all was told again in the present one
        }
        let local = |state: &SumsState, file: FileId| state.here.get(&file).copied();
        match message {
            SumsMessage::Totals(totals) => state.sums.totals(from, &totals),
            SumsMessage::Ended => return state.ended.push(from),
            SumsMessage::Sums(sums) => state.sums.sums(from, &sums),
            SumsMessage::Spoiled(file) => state.sums.spoil(file),
            SumsMessage::Follow(file, count) => {
                if state.count.is_some() {
                    return; // this server counts itself, and the other one has no answer
                }
                let local = local(&state, file);
                state.following.retain(|other| Some(*other) != local);
                state.following.extend(local);
                drop(state);
                let total = local.and_then(|local| counting.follow(local)).unwrap_or(0);
                return self.tell_sums_to(from, SumsMessage::Following(file, count, total));
            }
            SumsMessage::Ask(file, count) => {
                let local = local(&state, file);
                drop(state);
                let none = || Changes { files: Vec::new(), is_whole: true };
                let changes = local.map_or_else(none, |local| counting.followed(local));
                return self.answer_changes(from, (file, count), &changes);
            }
            SumsMessage::Finish(file) => {
                let local = local(&state, file);
                state.following.retain(|other| Some(*other) != local);
                drop(state);
                return local.into_iter().for_each(|local| counting.unfollow(local));
            }
            SumsMessage::Following(_, count, _) | SumsMessage::Changed { count, .. } => {
                if let Some((_, answers)) = state.count.as_ref().filter(|(number, _)| *number == count) {
                    let _ = answers.send((from, message)); // the count was given up
                }
                return;
            }
        }
        drop(state);
        self.apply_sums(counting);
    }

    fn answer_changes(self: &Arc<Self>, to: u16, (folder, count): (FileId, u64), changes: &Changes) {
        let mut parts = changes.files.chunks(MAX_FILES).peekable();
        loop {
            let files = parts.next().unwrap_or_default().to_vec();
            let (more, is_whole) = (parts.peek().is_some(), changes.is_whole);
            self.tell_sums_to(to, SumsMessage::Changed { folder, count, files, more, is_whole });
            if !more {
                return;
            }
        }
    }

    /// Tells all other members.
    fn tell_sums(self: &Arc<Self>, message: &SumsMessage) {
        let others = self.sums.state.lock().sums.others();
        let parts: Vec<SumsMessage> = match message {
            SumsMessage::Sums(sums) => {
                sums.chunks(MAX_SUMS).map(|part| SumsMessage::Sums(part.to_vec())).collect()
            }
            SumsMessage::Totals(totals) => {
                totals.chunks(MAX_FILES).map(|part| SumsMessage::Totals(part.to_vec())).collect()
            }
            other => vec![other.clone()],
        };
        for to in others {
            parts.iter().for_each(|part| self.tell_sums_to(to, part.clone()));
        }
    }
}
