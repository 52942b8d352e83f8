//! The sums of what the files of a folder take, for quotas that the servers count together.
//!
//! Each server counts what its own clients change. It tells the others its *total*: all that its clients have changed since it
//! started, also downwards. A sum is the result of a count of all files, and what has changed since:
//!
//! ```text
//! sum = base + Σ (total of a server now − its total when the count began)
//! ```
//!
//! So a message that is told twice, or of which only the last one arrives, changes nothing. A server that leaves the view is
//! added to the base. In each new epoch all servers tell each other what they have; the highest version counts, and of the same
//! version that of the lowest number: so a server that joins gets the sum, and all have the same one.
//!
//! A state machine: it reads no clock, and sends nothing by itself.

use std::collections::BTreeMap;

use formats::FileId;

use crate::wire::sums::{Sum, SumsMessage};

/// The most folders with quotas that servers count together. Others are counted by each server for itself.
pub(crate) const MOST_FOLDERS: usize = 4096;

/// The sums of one server.
#[derive(Default)]
pub struct Sums {
    me: u16,
    /// The members, with this server.
    members: Vec<u16>,
    folders: BTreeMap<FileId, SummedFolder>,
}

/// What a server knows of one folder.
#[derive(Default)]
struct SummedFolder {
    base: i64,
    /// How often all files were counted.
    version: u64,
    /// Whose message the base is of.
    from: u16,
    is_exact: bool,
    /// The totals when the count began. A server that is not listed had none.
    starts: BTreeMap<u16, i64>,
    totals: BTreeMap<u16, i64>,
    /// The last total that was told to the others.
    told: i64,
    /// Whether this server counts for it.
    is_here: bool,
}

/// What a server is to use for a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elsewhere {
    /// The sum without the total of this server.
    pub bytes: i64,
    /// All files were counted, and no change was lost since.
    pub is_exact: bool,
    /// How often all files were counted.
    pub version: u64,
}

impl SummedFolder {
    fn of(&self, me: u16) -> Elsewhere {
        let start: i64 = self.starts.values().sum();
        let totals = self.totals.iter().filter(|(server, _)| **server != me);
        let bytes = self.base + totals.map(|(_, total)| *total).sum::<i64>() - start;
        Elsewhere { bytes, is_exact: self.is_exact, version: self.version }
    }

    /// Adds what servers have changed that are not members any more. `false`: one of them may have changed more.
    fn fold(&mut self, members: &[u16], ended: &[u16]) -> bool {
        let gone: Vec<u16> = self.totals.keys().chain(self.starts.keys()).copied().collect();
        let mut is_whole = true;
        for server in gone.into_iter().filter(|server| !members.contains(server)) {
            let (total, start) = (self.totals.remove(&server), self.starts.remove(&server));
            self.base += total.unwrap_or(0) - start.unwrap_or(0);
            is_whole &= ended.contains(&server);
        }
        is_whole
    }
}

impl Sums {
    /// Without folders and other servers.
    #[must_use]
    pub fn new(me: u16) -> Self {
        Self { me, members: vec![me], folders: BTreeMap::new() }
    }

    /// Whether this server counts all files when that is due: the one with the lowest number does.
    #[must_use]
    pub fn is_counter(&self) -> bool {
        self.members.iter().min() == Some(&self.me)
    }

    /// The other members.
    #[must_use]
    pub fn others(&self) -> Vec<u16> {
        self.members.iter().copied().filter(|server| *server != self.me).collect()
    }

    /// These folders have quotas here, each with its sum as far as this server knows it by itself. What is known of others
    /// stays: another server may use its new settings before this one does.
    pub fn keep(&mut self, folders: &[(FileId, i64)]) {
        for folder in self.folders.values_mut() {
            folder.is_here = false;
        }
        for (file, known) in folders.iter().take(MOST_FOLDERS) {
            let is_new = !self.folders.contains_key(file);
            let Some(folder) = self.folder(*file) else { return };
            if is_new {
                folder.base = *known;
            }
            folder.is_here = true;
        }
    }

    /// The total of this server, which a quota begins with that was away for a time.
    #[must_use]
    pub fn total(&self, file: FileId) -> i64 {
        let folder = self.folders.get(&file);
        folder.and_then(|folder| folder.totals.get(&self.me)).copied().unwrap_or(0)
    }

    fn folder(&mut self, file: FileId) -> Option<&mut SummedFolder> {
        let (me, is_full) = (self.me, self.folders.len() >= 2 * MOST_FOLDERS);
        if is_full && !self.folders.contains_key(&file) {
            return None;
        }
        Some(self.folders.entry(file).or_insert_with(|| SummedFolder { from: me, ..SummedFolder::default() }))
    }

    /// The servers are these from now on. `ended`: those that have told all before they left. Returns what every other member
    /// is to be told.
    pub fn adopt(&mut self, members: Vec<u16>, ended: &[u16]) -> SumsMessage {
        self.members = members;
        for folder in self.folders.values_mut() {
            folder.is_exact &= folder.fold(&self.members, ended);
            folder.from = self.me;
        }
        self.all()
    }

    /// All that this server knows.
    fn all(&self) -> SumsMessage {
        let sum = |(file, folder): (&FileId, &SummedFolder)| Sum {
            folder: *file,
            version: folder.version,
            base: folder.base,
            is_exact: folder.is_exact,
            starts: folder.starts.iter().map(|(server, start)| (*server, *start)).collect(),
            total: folder.totals.get(&self.me).copied().unwrap_or(0),
        };
        SumsMessage::Sums(self.folders.iter().map(sum).collect())
    }

    /// The totals of this server. Returns what the others are to be told, if something has changed.
    pub fn change(&mut self, totals: &[(FileId, i64)]) -> Option<SumsMessage> {
        let mut changed = Vec::new();
        for (file, total) in totals {
            let me = self.me;
            let Some(folder) = self.folders.get_mut(file) else { continue };
            folder.totals.insert(me, *total);
            if std::mem::replace(&mut folder.told, *total) != *total {
                changed.push((*file, *total));
            }
        }
        (!changed.is_empty()).then_some(SumsMessage::Totals(changed))
    }

    /// Another member has told its totals.
    pub fn totals(&mut self, from: u16, totals: &[(FileId, i64)]) {
        if !self.members.contains(&from) {
            return; // what it has changed was added when it left
        }
        for (file, total) in totals {
            self.folder(*file).into_iter().for_each(|folder| _ = folder.totals.insert(from, *total));
        }
    }

    /// Another member has told what it knows.
    pub fn sums(&mut self, from: u16, sums: &[Sum]) {
        if !self.members.contains(&from) {
            return;
        }
        let members = self.members.clone();
        for sum in sums {
            let Some(folder) = self.folder(sum.folder) else { return };
            folder.totals.insert(from, sum.total);
            let (newer, same) = (sum.version > folder.version, sum.version == folder.version);
            if newer || (same && from < folder.from) {
                folder.version = sum.version;
                folder.base = sum.base;
                folder.from = from;
                folder.is_exact = sum.is_exact;
                folder.starts = sum.starts.iter().copied().collect();
                // A start of a server that has left since is a part of the base of the next epoch.
                folder.starts.retain(|server, _| members.contains(server));
            }
        }
    }

    /// All files were counted: this is what they took when the totals were `starts`. Returns what the others are to be told.
    pub fn counted(
        &mut self,
        file: FileId,
        bytes: u64,
        is_exact: bool,
        starts: &[(u16, i64)],
    ) -> Option<SumsMessage> {
        let me = self.me;
        let folder = self.folders.get_mut(&file)?;
        folder.version += 1;
        folder.base = i64::try_from(bytes).unwrap_or(i64::MAX);
        (folder.from, folder.is_exact) = (me, is_exact);
        folder.starts = starts.iter().copied().collect();
        let all = self.all();
        let SumsMessage::Sums(mut sums) = all else { return None };
        sums.retain(|sum| sum.folder == file);
        Some(SumsMessage::Sums(sums))
    }

    /// Something was changed that no server could count: all files are counted again.
    pub fn spoil(&mut self, file: FileId) {
        self.folders.get_mut(&file).into_iter().for_each(|folder| folder.is_exact = false);
    }

    /// What this server is to use for the folders with quotas here.
    #[must_use]
    pub fn elsewhere(&self) -> Vec<(FileId, Elsewhere)> {
        let here = self.folders.iter().filter(|(_, folder)| folder.is_here);
        here.map(|(file, folder)| (*file, folder.of(self.me))).collect()
    }
}

#[cfg(test)]
mod tests;
