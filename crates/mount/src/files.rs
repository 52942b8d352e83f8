//! Files and folders that programs have open.

use std::collections::HashMap;
use std::sync::Arc;

use client::tree::Entry;
use client::{FileId, How};

/// The most files and folders that are open at the same time.
const MAX_OPEN: usize = 65_536;
/// The most bytes of forks that are kept in memory because the protocol cannot open them.
const MAX_BYTES: usize = 256 << 20;

/// An open file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFile {
    /// The kernel's number.
    pub(crate) node: u64,
    /// The session it is open on.
    pub(crate) slot: usize,
    /// The session's generation, and the file on that.
    pub(crate) open: (u64, FileId),
    /// For reading, or for writing as well.
    pub(crate) how: How,
}

/// What is open, by the handles that the kernel gets.
#[derive(Debug, Default)]
pub(crate) struct Files {
    files: HashMap<u64, OpenFile>,
    folders: HashMap<u64, Vec<Entry>>,
    /// Forks that are in memory as long as they are open.
    bytes: HashMap<u64, Arc<Vec<u8>>>,
    /// Files that were removed while they were open, by their hidden names: they go with their last handle.
    hidden: HashMap<u64, String>,
    next: u64,
}

impl Files {
    pub(crate) fn has_room(&self) -> bool {
        self.files.len() + self.folders.len() + self.bytes.len() < MAX_OPEN
    }

    pub(crate) fn put(&mut self, file: OpenFile) -> u64 {
        self.next += 1;
        self.files.insert(self.next, file);
        self.next
    }

    pub(crate) fn get(&self, handle: u64) -> Option<OpenFile> {
        self.files.get(&handle).copied()
    }

    /// The file was opened again.
    pub(crate) fn opened(&mut self, handle: u64, open: (u64, FileId)) {
        if let Some(file) = self.files.get_mut(&handle) {
            file.open = open;
        }
    }

    pub(crate) fn take(&mut self, handle: u64) {
        self.files.remove(&handle);
        self.bytes.remove(&handle);
    }

    /// A handle of a file that is open, for writing if there is one.
    pub(crate) fn handle_of(&self, node: u64) -> Option<u64> {
        let mut handles = self.files.iter().filter(|(_, file)| file.node == node);
        let first = handles.clone().next();
        handles.find(|(_, file)| file.how != How::Read).or(first).map(|(handle, _)| *handle)
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

    /// Keeps a fork as long as it is open. `None`: there is no room.
    pub(crate) fn put_bytes(&mut self, bytes: Vec<u8>) -> Option<u64> {
        let all: usize = self.bytes.values().map(|bytes| bytes.len()).sum();
        if all + bytes.len() > MAX_BYTES {
            return None;
        }
        self.next += 1;
        self.bytes.insert(self.next, Arc::new(bytes));
        Some(self.next)
    }

    pub(crate) fn bytes(&self, handle: u64) -> Option<Arc<Vec<u8>>> {
        self.bytes.get(&handle).cloned()
    }

    pub(crate) fn put_folder(&mut self, entries: Vec<Entry>) -> u64 {
        self.next += 1;
        self.folders.insert(self.next, entries);
        self.next
    }

    pub(crate) fn folder(&self, handle: u64, from: usize, most: usize) -> Option<Vec<Entry>> {
        let entries = self.folders.get(&handle)?;
        Some(entries.iter().skip(from).take(most).cloned().collect())
    }

    pub(crate) fn take_folder(&mut self, handle: u64) {
        self.folders.remove(&handle);
    }
}
