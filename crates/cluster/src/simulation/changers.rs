//! Changes that need the states of several files at one server: no other server makes one of the same file meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use coherence::state::Pins;
use formats::FileId;

use super::clients::FILES;
use super::{Random, SimulatedServer};

/// What changes are being made, and how many were.
#[derive(Debug, Default)]
pub(super) struct ChangesInProgress {
    /// The changers that change a file.
    by: BTreeMap<FileId, Vec<(usize, usize)>>,
    pub(super) made: usize,
}

enum ChangerAction {
    Nothing,
    /// The states of these files are to be here.
    Asking(Vec<FileId>),
    Changing(#[allow(dead_code, reason = "dropped in the end")] Pins, Duration),
}

/// An operation after the other of one server.
pub(super) struct Changer {
    at: usize,
    server: usize,
    doing: ChangerAction,
    is_stopping: bool,
    is_gone: bool,
}

impl Changer {
    pub(super) fn new(at: usize, servers: usize) -> Self {
        Self { at, server: at % servers, doing: ChangerAction::Nothing, is_stopping: false, is_gone: false }
    }

    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
    }

    pub(super) fn is_done(&self, servers: &[SimulatedServer]) -> bool {
        servers[self.server].is_dead || self.is_gone || matches!(self.doing, ChangerAction::Nothing)
    }

    pub(super) fn step(
        &mut self,
        now: Duration,
        servers: &[SimulatedServer],
        changes: &mut ChangesInProgress,
        random: &mut Random,
    ) {
        let server = &servers[self.server];
        // What a server does that may not answer any more is lost with it.
        if !self.is_gone && (server.is_dead || now >= server.fence) && server.fence != Duration::ZERO {
            self.is_gone = true;
            changes.end(self.at);
        }
        if self.is_gone || !server.may_answer(now) {
            return;
        }
        self.doing = match std::mem::replace(&mut self.doing, ChangerAction::Nothing) {
            ChangerAction::Nothing if self.is_stopping || random.below(15) > 0 => ChangerAction::Nothing,
            ChangerAction::Nothing => {
                let count = 1 + random.below(3);
                ChangerAction::Asking((0..count).map(|_| FileId::new(0, 1 + random.below(FILES))).collect())
            }
            ChangerAction::Asking(files) => match server.state.pin(&files) {
                Ok(pins) => {
                    changes.begin((self.at, self.server), files);
                    ChangerAction::Changing(pins, now + Duration::from_millis(random.below(30)))
                }
                Err(_) => ChangerAction::Asking(files),
            },
            ChangerAction::Changing(pins, until) if now < until => ChangerAction::Changing(pins, until),
            ChangerAction::Changing(..) => {
                changes.end(self.at);
                ChangerAction::Nothing
            }
        };
    }
}

impl ChangesInProgress {
    fn begin(&mut self, changer: (usize, usize), files: Vec<FileId>) {
        self.made += 1;
        for file in files {
            let by = self.by.entry(file).or_default();
            let others = by.iter().any(|(_, server)| *server != changer.1);
            assert!(!others, "two servers change {file:?}: {by:?} and {changer:?}");
            by.push(changer);
        }
    }

    fn end(&mut self, changer: usize) {
        self.by.values_mut().for_each(|by| by.retain(|(at, _)| *at != changer));
    }
}
