//! Counting all files of a folder while clients change them.
//!
//! The result is what the files took at the start, to which the changes since then are added. A file that is visited counts
//! with what it took before its first change. At the end, changed files that were not visited are added: they were removed,
//! or moved past the visitor. A folder that is moved is visited once more. Which files were visited is a set of bits by
//! inode number, so that 10,000,000 files take some megabytes.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use super::{Changes, Quota, RecountResult};
use crate::FileId;

/// Changed files of one recount. With more of them the result is not exact, and the next recount follows.
const MOST_CHANGED: usize = 1 << 20;
/// Groups of 4096 inode numbers: 512 bytes each.
const MOST_GROUPS: usize = 1 << 18;
/// Moves of folders during one recount.
const MOST_MOVED: usize = 1024;

/// A folder to visit once more.
pub(crate) type MovedFolder = OwnedFd;

#[derive(Debug, Default)]
pub(super) struct Recount {
    /// What clients of this server had changed at the start.
    own: i64,
    /// What was used at the start, as it was known, without that.
    elsewhere: i64,
    /// The sum of the visited files.
    sum: u64,
    /// What changed files counted with before their first change.
    changed: HashMap<u64, u64>,
    visited: HashMap<u64, Box<[u64; 64]>>,
    /// Files that were found, and what they counted with then, until it is known what other servers have changed.
    found: Vec<(u64, u64)>,
    moved: Vec<MovedFolder>,
    moves: usize,
    /// A limit was reached.
    is_spoiled: bool,
}

impl Recount {
    fn count(&mut self, inode: u64, charged: u64) {
        if self.first_visit(inode) {
            self.sum += self.changed.get(&inode).copied().unwrap_or(charged);
        }
    }

    /// Files have changed here or at another server: they count with what they did before.
    pub(super) fn note(&mut self, inode: u64, before: u64) {
        self.is_spoiled |= self.changed.len() >= MOST_CHANGED;
        if !self.is_spoiled {
            self.changed.entry(inode).or_insert(before);
        }
    }

    /// How many files wait for what other servers have changed.
    pub(super) fn waiting(&self) -> usize {
        self.found.len()
    }

    /// Other servers have changed these files since the start, and no others before the last file was found.
    pub(super) fn settle(&mut self, changes: &Changes) {
        self.is_spoiled |= !changes.is_whole;
        changes.files.iter().for_each(|(inode, before)| self.note(*inode, *before));
        for (inode, charged) in std::mem::take(&mut self.found) {
            self.count(inode, charged);
        }
    }

    /// What has changed since this was called last.
    pub(super) fn take_changed(&mut self) -> Changes {
        let files = std::mem::take(&mut self.changed).into_iter().collect();
        Changes { files, is_whole: !std::mem::take(&mut self.is_spoiled) }
    }

    /// Whether it was not visited before.
    fn first_visit(&mut self, inode: u64) -> bool {
        if self.visited.len() >= MOST_GROUPS && !self.visited.contains_key(&(inode >> 12)) {
            self.is_spoiled = true;
            return true;
        }
        let group = self.visited.entry(inode >> 12).or_insert_with(|| Box::new([0; 64]));
        let (word, bit) = ((inode >> 6 & 63) as usize, 1 << (inode & 63));
        let is_first = group[word] & bit == 0;
        group[word] |= bit;
        is_first
    }
}

impl Quota {
    /// Starts to follow changes for a recount.
    pub(crate) fn begin_recount(&self) {
        let mut recount = self.recount.lock();
        self.recounting.store(true, Ordering::SeqCst);
        let (own, elsewhere) = (self.own.load(Ordering::SeqCst), self.elsewhere.load(Ordering::SeqCst));
        *recount = Some(Recount { own, elsewhere, ..Recount::default() });
    }

    /// A file was found that counts with `charged` now.
    pub(crate) fn visit(&self, file: FileId, charged: u64) {
        if let Some(recount) = &mut *self.recount.lock() {
            if self.is_shared() {
                recount.found.push((file.inode, charged));
            } else {
                recount.count(file.inode, charged);
            }
        }
    }

    /// A folder that was moved since the start.
    pub(crate) fn next_moved(&self) -> Option<MovedFolder> {
        self.recount.lock().as_mut()?.moved.pop()
    }

    /// Ends the recount.
    pub(crate) fn finish_recount(&self) -> RecountResult {
        let Some(mut recount) = self.recount.lock().take() else { return RecountResult::default() };
        self.recounting.store(false, Ordering::SeqCst);
        let changed = std::mem::take(&mut recount.changed);
        for (inode, before) in changed {
            if recount.first_visit(inode) {
                recount.sum += before;
            }
        }
        if !self.is_shared() {
            // What was used at the start, with what this server has changed before, becomes what was found.
            let sum = i64::try_from(recount.sum).unwrap_or(i64::MAX);
            self.elsewhere.fetch_add(sum.saturating_sub(recount.elsewhere + recount.own), Ordering::SeqCst);
            self.exact.store(!recount.is_spoiled, Ordering::SeqCst);
        }
        RecountResult { bytes: recount.sum, own: recount.own, is_exact: !recount.is_spoiled }
    }

    /// Ends a recount that failed.
    pub(crate) fn give_up_recount(&self) {
        *self.recount.lock() = None;
        self.recounting.store(false, Ordering::SeqCst);
    }

    pub(super) fn touch(&self, file: FileId, before: u64) {
        if !self.recounting.load(Ordering::SeqCst) {
            return;
        }
        if let Some(recount) = &mut *self.recount.lock() {
            recount.note(file.inode, before);
        }
    }

    pub(super) fn spoil(&self) {
        self.exact.store(false, Ordering::SeqCst);
        if let Some(recount) = &mut *self.recount.lock() {
            recount.is_spoiled = true;
        }
    }

    pub(super) fn moved(&self, make: impl Fn() -> Option<MovedFolder>) {
        if !self.recounting.load(Ordering::SeqCst) {
            return;
        }
        if let Some(recount) = &mut *self.recount.lock() {
            recount.moves += 1;
            match make().filter(|_| recount.moves <= MOST_MOVED) {
                Some(folder) => recount.moved.push(folder),
                None => recount.is_spoiled = true,
            }
        }
    }
}
