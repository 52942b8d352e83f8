//! Files and folders that programs have open.

use std::collections::{HashMap, HashSet};

use client::tree::TreeEntry;
use client::{OpenFileId, OpenIntent};

/// The most files and folders that are open at the same time.
const MAX_OPEN: usize = 65_536;
/// The most bytes of forks that are in memory because the protocol cannot open them.
const MAX_BYTES: usize = 256 << 20;

/// An open file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenHandle {
    /// The kernel's number.
    pub(crate) node: u64,
    /// The session it is open on.
    pub(crate) slot: usize,
    /// The session's generation, and the file on that.
    pub(crate) open: (u64, OpenFileId),
    /// For reading, or for writing as well.
    pub(crate) how: OpenIntent,
}

/// The most removed forks that are noted.
const MAX_REMOVED: usize = 65_536;
/// No file's number: that of the fork that handles of missing forks are of.
pub(crate) const NO_FORK: u64 = 0;

/// A resource fork that is in memory as long as it is open: the protocol writes it as a whole.
#[derive(Debug, Default)]
struct LoadedFork {
    bytes: Vec<u8>,
    /// The server does not have these bytes yet.
    is_changed: bool,
    handles: usize,
}

/// What is open, by the handles that the kernel gets.
#[derive(Debug, Default)]
pub(crate) struct Files {
    files: HashMap<u64, OpenHandle>,
    folders: HashMap<u64, Vec<TreeEntry>>,
    /// By the kernel's number: all handles of a fork see the same bytes.
    forks: HashMap<u64, LoadedFork>,
    /// The kernel's numbers of forks, by handle.
    fork_handles: HashMap<u64, u64>,
    /// Paths of forks that were removed here. Servers do not tell these from empty ones.
    removed_forks: HashSet<String>,
    /// Files that were removed while they were open, by their hidden names: they go with their last handle.
    hidden: HashMap<u64, String>,
    next: u64,
}

impl Files {
    pub(crate) fn has_room(&self) -> bool {
        self.files.len() + self.folders.len() + self.fork_handles.len() < MAX_OPEN
    }

    pub(crate) fn put(&mut self, file: OpenHandle) -> u64 {
        self.next += 1;
        self.files.insert(self.next, file);
        self.next
    }

    pub(crate) fn get(&self, handle: u64) -> Option<OpenHandle> {
        self.files.get(&handle).copied()
    }

    /// The file was opened again.
    pub(crate) fn opened(&mut self, handle: u64, open: (u64, OpenFileId)) {
        if let Some(file) = self.files.get_mut(&handle) {
            file.open = open;
        }
    }

    pub(crate) fn take(&mut self, handle: u64) {
        self.files.remove(&handle);
        let Some(node) = self.fork_handles.remove(&handle) else { return };
        if let Some(fork) = self.forks.get_mut(&node) {
            fork.handles -= 1;
            if fork.handles == 0 {
                self.forks.remove(&node);
            }
        }
    }

    /// A handle of a file that is open, for writing if there is one.
    pub(crate) fn handle_of(&self, node: u64) -> Option<u64> {
        let mut handles = self.files.iter().filter(|(_, file)| file.node == node);
        let first = handles.clone().next();
        handles.find(|(_, file)| file.how != OpenIntent::Read).or(first).map(|(handle, _)| *handle)
    }

    /// Notes that an open file has only its hidden name. `false`: it is not open any more.
    pub(crate) fn hide(&mut self, node: u64, name: &str) -> bool {
        let is_open = self.handle_of(node).is_some();
        if is_open {
            self.hidden.insert(node, name.to_owned());
        }
        is_open
    }

    /// The hidden name of a file that is not open any more.
    pub(crate) fn unhide(&mut self, node: u64) -> Option<String> {
        if self.handle_of(node).is_some() { None } else { self.hidden.remove(&node) }
    }

    /// One more handle of a fork in memory. `None`: it is not in memory.
    pub(crate) fn open_fork(&mut self, node: u64) -> Option<u64> {
        if self.forks.contains_key(&node) { self.put_fork(node, Vec::new()) } else { None }
    }

    /// A handle of a fork. `loaded` counts if the fork is not in memory yet. `None`: there is no room.
    pub(crate) fn put_fork(&mut self, node: u64, loaded: Vec<u8>) -> Option<u64> {
        if !self.forks.contains_key(&node) && loaded.len() > self.room() {
            return None;
        }
        let fork = self.forks.entry(node).or_insert(LoadedFork { bytes: loaded, ..LoadedFork::default() });
        fork.handles += 1;
        self.next += 1;
        self.fork_handles.insert(self.next, node);
        Some(self.next)
    }

    /// Notes that a fork was removed, so that programs which remove a file and make it anew can do so.
    pub(crate) fn note_removed(&mut self, path: &str) {
        if self.removed_forks.len() >= MAX_REMOVED {
            self.removed_forks.clear();
        }
        self.removed_forks.insert(path.to_owned());
    }

    /// Whether an empty fork is one that was removed.
    pub(crate) fn is_removed(&self, path: &str) -> bool {
        self.removed_forks.contains(path)
    }

    /// Notes that a fork was made.
    pub(crate) fn note_made(&mut self, path: &str) {
        self.removed_forks.remove(path);
    }

    /// Bytes of forks that may come into memory.
    fn room(&self) -> usize {
        let all: usize = self.forks.values().map(|fork| fork.bytes.len()).sum();
        MAX_BYTES.saturating_sub(all)
    }

    /// The kernel's number of the fork in memory that a handle is of.
    pub(crate) fn fork_of(&self, handle: u64) -> Option<u64> {
        self.fork_handles.get(&handle).copied()
    }

    /// The bytes of a fork in memory.
    pub(crate) fn fork(&self, node: u64) -> Option<&[u8]> {
        self.forks.get(&node).map(|fork| &fork.bytes[..])
    }

    /// Writes to a fork in memory. `false`: there is no room.
    pub(crate) fn write_fork(&mut self, node: u64, offset: u64, data: &[u8]) -> bool {
        let end = usize::try_from(offset).ok().and_then(|from| from.checked_add(data.len()));
        let Some(end) = end.filter(|end| self.has_room_for(node, *end)) else { return false };
        let Some(fork) = self.forks.get_mut(&node) else { return false };
        if fork.bytes.len() < end {
            fork.bytes.resize(end, 0);
        }
        fork.bytes[end - data.len()..end].copy_from_slice(data);
        fork.is_changed = true;
        true
    }

    /// Cuts a fork in memory off, or lengthens it with zeros. `false`: there is no room.
    pub(crate) fn cut_fork(&mut self, node: u64, length: u64) -> bool {
        let length = usize::try_from(length).ok().filter(|length| self.has_room_for(node, *length));
        let (Some(length), Some(fork)) = (length, self.forks.get_mut(&node)) else { return false };
        fork.is_changed |= fork.bytes.len() != length;
        fork.bytes.resize(length, 0);
        true
    }

    fn has_room_for(&self, node: u64, length: usize) -> bool {
        length.saturating_sub(self.fork(node).map_or(0, <[u8]>::len)) <= self.room()
    }

    /// The bytes of a fork that the server does not have yet. It has them then, unless [`Self::not_saved`] says otherwise.
    pub(crate) fn save_fork(&mut self, node: u64) -> Option<Vec<u8>> {
        let fork = self.forks.get_mut(&node).filter(|fork| fork.is_changed)?;
        fork.is_changed = false;
        Some(fork.bytes.clone())
    }

    pub(crate) fn not_saved(&mut self, node: u64) {
        if let Some(fork) = self.forks.get_mut(&node) {
            fork.is_changed = true;
        }
    }

    pub(crate) fn put_folder(&mut self, entries: Vec<TreeEntry>) -> u64 {
        self.next += 1;
        self.folders.insert(self.next, entries);
        self.next
    }

    pub(crate) fn folder(&self, handle: u64, from: usize, most: usize) -> Option<Vec<TreeEntry>> {
        let entries = self.folders.get(&handle)?;
        Some(entries.iter().skip(from).take(most).cloned().collect())
    }

    pub(crate) fn take_folder(&mut self, handle: u64) {
        self.folders.remove(&handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_handles_of_a_fork_see_the_same_bytes() {
        let mut files = Files::default();
        let one = files.put_fork(7, b"abc".to_vec()).unwrap();
        let other = files.put_fork(7, b"what another thread has read".to_vec()).unwrap();
        assert_eq!(
            (files.fork_of(one), files.fork_of(other), files.fork(7)),
            (Some(7), Some(7), Some(&b"abc"[..]))
        );
        assert_eq!(files.save_fork(7), None, "nothing was changed");
        assert!(files.write_fork(7, 5, b"f"));
        assert_eq!(files.save_fork(7).as_deref(), Some(&b"abc\0\0f"[..]));
        assert_eq!(files.save_fork(7), None, "the server has it");
        files.not_saved(7);
        assert!(files.cut_fork(7, 2) && files.save_fork(7).is_some());
        files.take(one);
        assert_eq!(files.fork(7), Some(&b"ab"[..]));
        files.take(other);
        assert_eq!(files.fork(7), None);
    }

    #[test]
    fn forks_in_memory_have_a_limit_together() {
        let mut files = Files::default();
        files.put_fork(1, vec![0; 100]).unwrap();
        files.put_fork(2, vec![0; 100]).unwrap();
        let most = MAX_BYTES as u64;
        assert!(
            !files.cut_fork(1, most)
                && !files.write_fork(1, most, b"x")
                && !files.write_fork(1, u64::MAX, b"x")
        );
        assert_eq!(files.fork(1).map(<[u8]>::len), Some(100));
    }
}
