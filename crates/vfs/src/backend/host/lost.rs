//! Finds a file by its key where the host does not let the server open handles (the server of an
//! ordinary user): by where it was last seen, else by searching the tree once for its inode number.
//! Nothing is written for this.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lock::Mutex;

use super::object::HostObject;
use super::{HostVolume, handle};
use crate::backend::{Found, ListEntry, Object};
use crate::ranks;
use crate::{Caller, Error, HostKey, Kind, Result};

/// Most files whose last place is remembered.
const TRACES: usize = 200_000;
/// Most entries that one search looks at.
const SEARCH_ENTRIES: usize = 2_000_000;
/// How long after a search the next may start.
const SEARCH_PAUSE: Duration = Duration::from_secs(10);

/// The folder and the name in it.
type Place = (HostKey, Box<[u8]>);

/// Where files were last seen.
#[derive(Default)]
pub(super) struct Traces {
    seen: Mutex<HashMap<HostKey, Place>, ranks::LostSeen>,
    /// By inode number, as of the last search. A client that comes back knows many files from before.
    found: Mutex<HashMap<u64, Place>, ranks::LostFound>,
    searched: Mutex<Option<Instant>, ranks::LostSearched>,
}

impl Traces {
    pub(super) fn note(&self, key: HostKey, folder: HostKey, name: &[u8]) {
        let mut seen = self.seen.lock();
        if seen.len() >= TRACES && !seen.contains_key(&key) {
            let drop_some: Vec<HostKey> = seen.keys().take(TRACES / 8).copied().collect();
            drop_some.iter().for_each(|key| drop(seen.remove(key)));
        }
        seen.insert(key, (folder, name.into()));
    }

    /// The place where a file was seen since the last search, else where the search found a file of
    /// its number.
    fn of(&self, key: &HostKey) -> Option<Place> {
        let seen = self.seen.lock().get(key).cloned();
        seen.or_else(|| self.found.lock().get(&handle::inode_of(key)?).cloned())
    }

    /// Forgets everything, as the tree is about to be searched.
    fn forget(&self) {
        self.seen.lock().clear();
        self.found.lock().clear();
    }

    fn note_found(&self, inode: u64, folder: HostKey, name: &[u8]) {
        let mut found = self.found.lock();
        if found.len() < TRACES {
            found.insert(inode, (folder, name.into()));
        }
    }
}

impl HostVolume {
    /// The file with this key, by its trace or by search.
    pub(super) fn find_lost(self: &Arc<Self>, key: &HostKey) -> Result<Found> {
        if let Some(found) = self.follow_trace(key, 0) {
            return Ok(found);
        }
        self.search(handle::inode_of(key).ok_or(Error::Stale)?);
        self.follow_trace(key, 0).ok_or(Error::Stale)
    }

    fn follow_trace(self: &Arc<Self>, key: &HostKey, depth: usize) -> Option<Found> {
        const DEEPEST: usize = 512;
        let root = self.top().ok()?;
        if root.object.key() == *key {
            return Some(root);
        }
        if depth > DEEPEST {
            return None;
        }
        if let Some(object) = self.objects.find(key) {
            let attributes = object.attributes().ok()?;
            return Some(Found { object, attributes });
        }
        let (folder, name) = self.traces.of(key)?;
        let folder = self.follow_trace(&folder, depth + 1)?;
        let found = folder.object.lookup(&Caller::root(), &name).ok()?;
        (found.object.key() == *key).then_some(found)
    }

    /// Walks the tree, breadth first, and notes where each file is. The one with this inode number is noted even when
    /// there are too many.
    fn search(self: &Arc<Self>, inode: u64) {
        let mut last = self.traces.searched.lock();
        if last.is_some_and(|at| at.elapsed() < SEARCH_PAUSE) {
            return;
        }
        self.traces.forget();
        tracing::info!(inode, "searching the share for a file that a client knows from before");
        let mut left = SEARCH_ENTRIES;
        let mut folders: VecDeque<Arc<dyn Object>> = VecDeque::new();
        folders.extend(self.top().ok().map(|found| found.object));
        while let Some(folder) = folders.pop_front() {
            let mut wanted: Vec<Box<[u8]>> = Vec::new();
            let mut sink = |entry: ListEntry<'_>| {
                left = left.saturating_sub(1);
                let inside = entry.kind == Some(Kind::Folder) && entry.name != b"." && entry.name != b"..";
                if inside || entry.id.inode == inode {
                    wanted.push(entry.name.into());
                } else {
                    self.traces.note_found(entry.id.inode, folder.key(), entry.name);
                }
                left > 0
            };
            let _ = folder.list(0, &mut sink); // a folder we may not read hides nothing we could serve
            for name in wanted {
                // Looking an entry up leaves its trace.
                if let Ok(found) = folder.lookup(&Caller::root(), &name)
                    && found.attributes.kind == Kind::Folder
                {
                    folders.push_back(found.object);
                }
            }
        }
        *last = Some(Instant::now());
    }

    pub(super) fn trace(&self, object: &HostObject, folder: &HostObject, name: &[u8]) {
        if handle::is_by_birth(&object.key()) {
            self.traces.note(object.key(), folder.key(), name);
        }
    }
}
