//! Counting all files of a folder while clients change them.
//!
//! The result is what the files took at the start, to which the changes since then are added. A file that is visited counts
//! with what it took before its first change. At the end, changed files that were not visited are added: they were removed,
//! or moved past the visitor. A folder that is moved is visited once more. Which files were visited is a set of bits by
//! inode number, so that 10,000,000 files take some megabytes.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use super::Quota;
use crate::FileId;

/// Changed files of one recount. With more of them the result is not exact, and the next recount follows.
const MOST_CHANGED: usize = 1 << 20;
/// Groups of 4096 inode numbers: 512 bytes each.
const MOST_GROUPS: usize = 1 << 18;
/// Moves of folders during one recount.
const MOST_MOVED: usize = 1024;

/// A folder to visit once more.
pub(crate) type Moved = OwnedFd;

#[derive(Debug, Default)]
pub(super) struct Recount {
    /// The used bytes at the start, as they were known.
    base: i64,
    /// The sum of the visited files.
    sum: u64,
    /// What changed files counted with before their first change.
    changed: HashMap<u64, u64>,
    visited: HashMap<u64, Box<[u64; 64]>>,
    moved: Vec<Moved>,
    moves: usize,
    /// A limit was reached.
    is_spoiled: bool,
}

impl Recount {
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
        *recount = Some(Recount { base: self.used.load(Ordering::SeqCst), ..Recount::default() });
    }

    /// A file was found that counts with `charged` now.
    pub(crate) fn visit(&self, file: FileId, charged: u64) {
        if let Some(recount) = &mut *self.recount.lock()
            && recount.first_visit(file.inode)
        {
            recount.sum += recount.changed.get(&file.inode).copied().unwrap_or(charged);
        }
    }

    /// A folder that was moved since the start.
    pub(crate) fn next_moved(&self) -> Option<Moved> {
        self.recount.lock().as_mut()?.moved.pop()
    }

    /// Ends the recount. Whether the result is exact.
    pub(crate) fn finish_recount(&self) -> bool {
        let Some(mut recount) = self.recount.lock().take() else { return false };
        self.recounting.store(false, Ordering::SeqCst);
        let changed = std::mem::take(&mut recount.changed);
        for (inode, before) in changed {
            if recount.first_visit(inode) {
                recount.sum += before;
            }
        }
        let sum = i64::try_from(recount.sum).unwrap_or(i64::MAX);
        self.used.fetch_add(sum.saturating_sub(recount.base), Ordering::SeqCst);
        self.exact.store(!recount.is_spoiled, Ordering::SeqCst);
        !recount.is_spoiled
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
            recount.is_spoiled |= recount.changed.len() >= MOST_CHANGED;
            if !recount.is_spoiled {
                recount.changed.entry(file.inode).or_insert(before);
            }
        }
    }

    pub(super) fn spoil(&self) {
        self.exact.store(false, Ordering::SeqCst);
        if let Some(recount) = &mut *self.recount.lock() {
            recount.is_spoiled = true;
        }
    }

    pub(super) fn moved(&self, make: impl Fn() -> Option<Moved>) {
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
