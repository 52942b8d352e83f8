//! What a home knows of its files: the server that has the state of each.

use std::collections::{BTreeMap, BTreeSet};

use formats::FileId;

/// The files of one home, in one epoch.
#[derive(Default)]
pub(super) struct Directory {
    owners: BTreeMap<FileId, u16>,
    /// The servers whose report has not come. Until it has, no question is answered.
    missing: BTreeSet<u16>,
    found: BTreeMap<FileId, FileReports>,
    /// The last message that a server has received from another one.
    received: BTreeMap<(u16, u16), u64>,
    /// Questions from before all reports have come.
    early: Vec<(u16, Early)>,
    turn: u64,
}

/// What a server wants before all reports have come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Early {
    Ask(FileId),
    Release(FileId),
}

/// What the reports say of one file.
#[derive(Default)]
struct FileReports {
    /// The latest turn, and the server that has the state by it.
    held: Option<(u64, u16)>,
    sent: Vec<StateTransfer>,
    /// The servers with a part of it.
    kept: Vec<u16>,
}

/// A state that was sent, and may not have come.
struct StateTransfer {
    turn: u64,
    number: u64,
    from: u16,
    to: u16,
}

/// What one server reports to a home: [`crate::wire::Message::Report`].
#[derive(Default)]
pub(super) struct HomeReport {
    pub(super) held: Vec<(FileId, u64)>,
    pub(super) sent: Vec<(FileId, u16, (u64, u64))>,
    pub(super) received: Vec<(u16, u64)>,
    pub(super) kept: Vec<FileId>,
}

impl FileReports {
    fn held(&mut self, turn: u64, server: u16) {
        self.held = self.held.max(Some((turn, server)));
    }
}

/// What a home answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HomeVerdict {
    /// No server has the state.
    Grant(u64),
    /// This server is to hand it over.
    Recall(u16, u64),
    /// Nothing is to be said, now or at all.
    Nothing,
}

/// A state that is lost, and the server that makes it anew out of the parts of these servers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Orphan {
    pub(super) file: FileId,
    pub(super) to: u16,
    pub(super) turn: u64,
    pub(super) parts: Vec<u16>,
}

impl Directory {
    /// An empty one, at the begin of an epoch with these servers.
    pub(super) fn new(epoch: u64, members: &[u16]) -> Self {
        // Turns of later epochs are later, and there are fewer than 2^32 in one.
        Self { missing: members.iter().copied().collect(), turn: epoch << 32, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.owners.len()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.missing.is_empty()
    }

    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// A server wants the state of a file.
    pub(super) fn ask(&mut self, from: u16, file: FileId) -> HomeVerdict {
        if !self.is_ready() {
            self.early.push((from, Early::Ask(file)));
            return HomeVerdict::Nothing;
        }
        match self.owners.insert(file, from) {
            None => HomeVerdict::Grant(self.next_turn()),
            Some(owner) if owner == from => HomeVerdict::Nothing, // the state is on its way to it
            Some(owner) => HomeVerdict::Recall(owner, self.next_turn()),
        }
    }

    /// A server gives up an empty state. Returns whether it had it: it does not if it was told to hand it over.
    /// `None`: that is known later.
    pub(super) fn release(&mut self, from: u16, file: FileId) -> Option<bool> {
        if !self.is_ready() {
            self.early.push((from, Early::Release(file)));
            return None;
        }
        let is_owner = self.owners.get(&file) == Some(&from);
        if is_owner {
            self.owners.remove(&file);
        }
        Some(is_owner)
    }

    /// A server reports what it has.
    pub(super) fn hear(&mut self, server: u16, report: HomeReport) {
        for (file, turn) in report.held {
            self.found.entry(file).or_default().held(turn, server);
        }
        for (file, to, (turn, number)) in report.sent {
            self.found.entry(file).or_default().sent.push(StateTransfer { turn, number, from: server, to });
        }
        for file in report.kept {
            self.found.entry(file).or_default().kept.push(server);
        }
        self.received.extend(report.received.into_iter().map(|(from, number)| ((server, from), number)));
    }

    /// The server that has the state of a file, or will have it.
    fn owner(&self, found: &FileReports) -> Option<u16> {
        let is_underway = |sent: &&StateTransfer| {
            // What has come is the receiver's to report: it may have handed the state on, to a server that is lost.
            self.received.get(&(sent.to, sent.from)).is_none_or(|received| *received < sent.number)
        };
        let sent = found.sent.iter().filter(is_underway).map(|sent| (sent.turn, sent.to));
        sent.chain(found.held).max().map(|(_, owner)| owner)
    }

    /// The report of a server is complete. When all are: the lost states, and the questions that have waited.
    pub(super) fn reported(&mut self, server: u16) -> (Vec<Orphan>, Vec<(u16, Early)>) {
        if !self.missing.remove(&server) || !self.is_ready() {
            return (Vec::new(), Vec::new());
        }
        let mut orphans = Vec::new();
        for (file, found) in std::mem::take(&mut self.found) {
            let owner = match (self.owner(&found), found.kept.iter().min()) {
                (Some(owner), _) => owner,
                (None, Some(to)) => {
                    let parts = found.kept.iter().copied().filter(|server| server != to).collect();
                    orphans.push(Orphan { file, to: *to, turn: self.next_turn(), parts });
                    *to
                }
                (None, None) => continue,
            };
            self.owners.insert(file, owner);
        }
        (orphans, std::mem::take(&mut self.early))
    }
}

/// The home of a file among these servers. If a server comes or goes, only the files of its own get another home.
pub(super) fn home_of(file: FileId, members: &[u16]) -> u16 {
    let weight = |server: u16| {
        let seed = file.inode ^ u64::from(file.device).rotate_left(32) ^ u64::from(server).rotate_left(48);
        mix(mix(seed).wrapping_add(u64::from(server)))
    };
    members.iter().copied().max_by_key(|server| (weight(*server), *server)).unwrap_or_default()
}

/// The finalizer of SplitMix64: every bit of the result depends on every bit of the value.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId::new(1, 2);

    #[test]
    fn the_latest_turn_decides_between_reports() {
        let mut directory = Directory::new(2, &[1, 2, 3]);
        directory.hear(1, HomeReport { held: vec![(FILE, 5)], ..HomeReport::default() });
        directory.hear(2, HomeReport { held: vec![(FILE, 7)], kept: vec![FILE], ..HomeReport::default() });
        directory.hear(3, HomeReport { held: vec![(FILE, 6)], ..HomeReport::default() });
        assert_eq!(directory.ask(3, FILE), HomeVerdict::Nothing);
        assert_eq!(directory.reported(1), (vec![], vec![]));
        assert_eq!(directory.reported(2), (vec![], vec![]));
        assert_eq!(directory.reported(3), (vec![], vec![(3, Early::Ask(FILE))]));
        assert_eq!(directory.ask(3, FILE), HomeVerdict::Recall(2, (2 << 32) + 1));
    }

    #[test]
    fn a_state_without_an_owner_is_made_of_the_parts() {
        let mut directory = Directory::new(1, &[1, 2, 3]);
        for server in [3, 1] {
            directory.hear(server, HomeReport { kept: vec![FILE], ..HomeReport::default() });
        }
        directory.reported(1);
        directory.reported(2);
        let (orphans, _) = directory.reported(3);
        assert_eq!(orphans, [Orphan { file: FILE, to: 1, turn: (1 << 32) + 1, parts: vec![3] }]);
        assert_eq!(directory.ask(2, FILE), HomeVerdict::Recall(1, (1 << 32) + 2));
    }

    #[test]
    fn a_state_under_way_is_its_receivers_until_that_has_received_it() {
        for (received, owner) in [(8, 2), (9, 3)] {
            let mut directory = Directory::new(1, &[1, 2, 3]);
            directory.hear(1, HomeReport { sent: vec![(FILE, 2, (5, 9))], ..HomeReport::default() });
            directory.hear(2, HomeReport { received: vec![(1, received)], ..HomeReport::default() });
            directory.hear(3, HomeReport { kept: vec![FILE], ..HomeReport::default() });
            [1, 2].into_iter().for_each(|server| _ = directory.reported(server));
            // If it has been received and is not there, it went on to a server that is lost.
            assert_eq!(directory.reported(3).0.len(), usize::from(owner == 3));
            assert_eq!(directory.ask(1, FILE), HomeVerdict::Recall(owner, directory.turn));
        }
    }

    #[test]
    fn homes_are_spread_and_stay() {
        let files: Vec<FileId> = (0..3_000).map(|inode| FileId::new(1, inode)).collect();
        let count = |members: &[u16], of: u16| files.iter().filter(|f| home_of(**f, members) == of).count();
        for server in [1, 2, 3] {
            assert!((800..1_200).contains(&count(&[1, 2, 3], server)), "{}", count(&[1, 2, 3], server));
        }
        let stays = |file: &&FileId| home_of(**file, &[1, 2, 3]) != 3;
        assert!(files.iter().filter(stays).all(|f| home_of(*f, &[1, 2, 3]) == home_of(*f, &[1, 2])));
    }
}
