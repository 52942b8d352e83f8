//! What was changed in the tree and is to be looked at: collected from the events of the volume by a thread of its own, so that no
//! event waits while a segment is written.

use std::collections::{HashMap, HashSet};

use lock::Mutex;
use vfs::FileId;
use vfs::events::{Change, ChangeKind, Event, Subscription};

use super::journal::Journal;
use crate::entry::FolderKey;
use crate::error::IndexFailure;
use crate::ranks;

/// Changes that wait; after more of them, everything is looked at again.
const MOST_PENDING: usize = 200_000;

/// The folders of a share that are known by the identities that events have, and the changes in them.
#[derive(Default)]
pub(super) struct ChangeList {
    folders: Mutex<HashMap<FileId, FolderKey>, ranks::IndexedFolders>,
    journal: Mutex<Option<Journal>, ranks::ChangeJournal>,
    pending: Mutex<Pending, ranks::PendingChanges>,
}

/// What waits.
#[derive(Default)]
pub(super) struct Pending {
    /// Entries that came, went or changed.
    pub(super) entries: HashSet<(FolderKey, Vec<u8>)>,
    /// Folders that went.
    pub(super) gone: Vec<FolderKey>,
    /// Changes were lost.
    pub(super) lost: bool,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.gone.is_empty() && !self.lost
    }

    fn add(&mut self, folder: FolderKey, name: Vec<u8>) -> bool {
        if self.entries.len() >= MOST_PENDING {
            self.entries = HashSet::new();
            self.lost = true;
        }
        !self.lost && self.entries.insert((folder, name))
    }
}

impl ChangeList {
    /// A folder has this identity now.
    pub(super) fn learn(&self, folder: FileId, key: &FolderKey) {
        self.folders.lock().insert(folder, key.clone());
    }

    /// Memory that it takes, about.
    pub(super) fn bytes(&self) -> u64 {
        const EACH: usize = size_of::<(FileId, FolderKey)>() + 48;
        (self.folders.lock().len() * EACH) as u64
    }

    pub(super) fn use_journal(&self, journal: Journal) {
        *self.journal.lock() = Some(journal);
    }

    pub(super) fn take(&self) -> Pending {
        std::mem::take(&mut *self.pending.lock())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.lock().is_empty()
    }

    /// Everything is looked at again.
    pub(super) fn lose(&self) {
        self.pending.lock().lost = true;
    }

    /// Entries to look at, as an event would say it.
    pub(super) fn add_entries(&self, entries: Vec<(FolderKey, Vec<u8>)>) {
        let mut pending = self.pending.lock();
        entries.into_iter().for_each(|(folder, name)| _ = pending.add(folder, name));
    }

    /// What was looked at is in segments: the journal has only what waits.
    pub(super) fn shorten_journal(&self) -> Result<(), IndexFailure> {
        let mut journal = self.journal.lock();
        let Some(journal) = journal.as_mut() else { return Ok(()) };
        journal.clear()?;
        let pending = self.pending.lock();
        journal.add(pending.entries.iter().map(|(folder, name)| (folder, &name[..])))
    }

    pub(super) fn has_long_journal(&self) -> bool {
        self.journal.lock().as_ref().is_some_and(Journal::is_long)
    }

    /// Waits for events, and adds what they say.
    pub(super) async fn hear(&self, events: &mut Subscription) {
        let mut added = Vec::new();
        let first = events.next().await;
        for event in std::iter::once(first).chain(events.take_all()) {
            match event {
                Event::Changed(seen) => self.add(&seen.change, &mut added),
                Event::Overflowed => self.lose(),
                Event::Going => {}
            }
        }
        let noted = self.journal.lock().as_mut().map(|journal| {
            journal.add(added.iter().map(|(folder, name): &(FolderKey, Vec<u8>)| (folder, &name[..])))
        });
        if let Some(Err(error)) = noted {
            tracing::debug!(%error, "a change is not in the journal of an index");
        }
    }

    /// A change in a folder that is not known is in none that is indexed, or in one that is listed later.
    fn add(&self, change: &Change, added: &mut Vec<(FolderKey, Vec<u8>)>) {
        let mut folders = self.folders.lock();
        let mut places = vec![(folders.get(&change.folder).cloned(), change.name.to_vec())];
        if let ChangeKind::Renamed { old_folder, old_name } = &change.what {
            places.push((folders.get(old_folder).cloned(), old_name.to_vec()));
        }
        let gone = change.file.filter(|_| change.what == ChangeKind::Removed);
        let gone = gone.and_then(|file| folders.remove(&file));
        drop(folders);
        let mut pending = self.pending.lock();
        pending.gone.extend(gone);
        for (folder, name) in places {
            if let Some(folder) = folder
                && pending.add(folder.clone(), name.clone())
            {
                added.push((folder, name));
            }
        }
    }
}
