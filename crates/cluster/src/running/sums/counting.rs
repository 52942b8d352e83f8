//! A count of all files of a folder, which one server makes while the others follow.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use coherence::recount::{Changes, Others, RecountResult};
use formats::{Error, FileId};

use super::super::{Cluster, RunContext};
use crate::node::Node;
use crate::wire::sums::SumsMessage;

/// How long another server may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// The most files of all answers to one question. With more of them the result is not exact.
const MOST_CHANGED: usize = 1 << 20;

/// The other servers, while this one counts.
struct CountingPeers<'a> {
    shared: &'a Arc<RunContext>,
    folder: FileId,
    count: u64,
    others: Vec<u16>,
    answers: Receiver<(u16, SumsMessage)>,
}

impl Cluster {
    /// Counts all files of a folder, as `count` does, while clients of all servers change them. Its result is the sum at all
    /// servers then. Waits for the other servers.
    ///
    /// # Errors
    /// Those of `count`; or another server does not answer, or one has come or gone meanwhile.
    pub fn count_files(
        &self,
        folder: FileId,
        count: impl FnOnce(&mut dyn Others) -> formats::Result<RecountResult>,
    ) -> formats::Result<RecountResult> {
        let shared = &self.shared;
        let counting = shared.sums.counting.get().ok_or(Error::Busy)?;
        let file = shared.port.trees.out(folder).ok_or(Error::Busy)?;
        let (answer, answers) = channel();
        let (number, epoch, others) = {
            let mut state = shared.sums.state.lock();
            if state.count.is_some() || !state.following.is_empty() || !state.here.contains_key(&file) {
                return Err(Error::Busy);
            }
            state.counts += 1;
            let number = u64::from(shared.me) << 32 | state.counts;
            state.count = Some((number, answer));
            (number, state.epoch, state.sums.others())
        };
        let mut asked = CountingPeers { shared, folder: file, count: number, others, answers };
        let done = asked.follow().and_then(|starts| Ok((starts, count(&mut asked)?)));
        shared.tell_sums(&SumsMessage::Finish(file));
        let mut state = shared.sums.state.lock();
        state.count = None;
        let (mut starts, counted) = done?;
        if state.epoch != epoch {
            return Err(Error::Busy); // servers have come or gone
        }
        starts.push((shared.me, counted.own));
        let told = state.sums.counted(file, counted.bytes, counted.is_exact, &starts);
        drop(state);
        told.iter().for_each(|message| shared.tell_sums(message));
        shared.apply_sums(&**counting);
        Ok(counted)
    }
}

impl CountingPeers<'_> {
    /// Has the others follow. Returns their totals.
    fn follow(&self) -> formats::Result<Vec<(u16, i64)>> {
        let mut totals = Vec::new();
        self.ask(SumsMessage::Follow(self.folder, self.count), |from, message| match message {
            SumsMessage::Following(_, _, total) => {
                totals.push((from, total));
                true
            }
            _ => false,
        })?;
        Ok(totals)
    }

    /// Asks all, and waits for the last answer of each, of which `is_last` says whether it is that.
    fn ask(
        &self,
        question: SumsMessage,
        mut is_last: impl FnMut(u16, SumsMessage) -> bool,
    ) -> formats::Result<()> {
        let mut awaited: BTreeSet<u16> = self.others.iter().copied().collect();
        self.others.iter().for_each(|to| self.shared.tell_sums_to(*to, question.clone()));
        let until = Instant::now() + ANSWER_WITHIN;
        while !awaited.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let (from, message) = self.answers.recv_timeout(left).map_err(|_| Error::Busy)?;
            if awaited.contains(&from) && is_last(from, message) {
                awaited.remove(&from);
            }
        }
        Ok(())
    }
}

impl Others for CountingPeers<'_> {
    fn changed(&mut self) -> formats::Result<Changes> {
        let mut all = Changes { files: Vec::new(), is_whole: true };
        self.ask(SumsMessage::Ask(self.folder, self.count), |_, message| match message {
            SumsMessage::Changed { files, more, is_whole, .. } => {
                all.is_whole &= is_whole && all.files.len() < MOST_CHANGED;
                if all.is_whole {
                    all.files.extend(files);
                }
                !more
            }
            _ => false,
        })?;
        Ok(all)
    }
}

impl RunContext {
    pub(super) fn tell_sums_to(self: &Arc<Self>, to: u16, message: SumsMessage) {
        self.with(|node: &mut Node| node.tell_sums(to, message));
    }
}
