//! The bytes of a file: pages that are there, and holes that read as zeros.

use std::collections::BTreeMap;

use crate::{Error, Result};

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// A file's data. A file of 5 GiB with one byte at its end takes one page.
#[derive(Default)]
pub(super) struct Pages {
    pub(super) size: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
}

/// The part of one page that lies in a range: its number, and where the part begins and ends in it.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + length;
    let pages = if length == 0 { 0..0 } else { offset / PAGE..end.div_ceil(PAGE) };
    pages.map(move |page| {
        let start = page * PAGE;
        (page, (offset.max(start) - start) as usize, (end.min(start + PAGE) - start) as usize)
    })
}

impl Pages {
    pub(super) fn count(&self) -> u64 {
        self.pages.len() as u64
    }

    /// How many pages writing this range adds. The range must end below 2^64.
    pub(super) fn added_by(&self, offset: u64, length: u64) -> u64 {
        parts(offset, length).filter(|(page, ..)| !self.pages.contains_key(page)).count() as u64
    }

    pub(super) fn read(&self, offset: u64, length: usize, into: &mut Vec<u8>) -> usize {
        let length = (length as u64).min(self.size.saturating_sub(offset));
        if length == 0 {
            return 0;
        }
        for (page, from, to) in parts(offset, length) {
            match self.pages.get(&page) {
                Some(bytes) => into.extend_from_slice(&bytes[from..to]),
                None => into.resize(into.len() + to - from, 0),
            }
        }
        length as usize
    }

    pub(super) fn write(&mut self, offset: u64, mut data: &[u8]) {
        if data.is_empty() {
            return;
        }
        self.size = self.size.max(offset + data.len() as u64);
        for (page, from, to) in parts(offset, data.len() as u64) {
            let (now, rest) = data.split_at(to - from);
            let bytes = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE as usize]));
            bytes[from..to].copy_from_slice(now);
            data = rest;
        }
    }

    pub(super) fn truncate(&mut self, size: u64) {
        if size < self.size {
            self.zero(size, size.next_multiple_of(PAGE) - size);
            self.pages.split_off(&size.div_ceil(PAGE));
        }
        self.size = size;
    }

    /// Makes a range read as zeros, and drops the pages that lie wholly in it.
    pub(super) fn punch(&mut self, offset: u64, length: u64) {
        let end = offset.saturating_add(length).min(self.size);
        if end <= offset {
            return;
        }
        // A page cut by the end of the file has nothing behind it that could be lost.
        let end = if end == self.size { end.next_multiple_of(PAGE) } else { end };
        let inner = offset.div_ceil(PAGE)..end / PAGE;
        if inner.start > inner.end {
            return self.zero(offset, end - offset);
        }
        self.zero(offset, inner.start * PAGE - offset);
        self.zero(inner.end * PAGE, end - inner.end * PAGE);
        let gone: Vec<u64> = self.pages.range(inner).map(|(&page, _)| page).collect();
        for page in gone {
            self.pages.remove(&page);
        }
    }

    fn zero(&mut self, offset: u64, length: u64) {
        if length == 0 {
            return;
        }
        for (page, from, to) in parts(offset, length) {
            if let Some(bytes) = self.pages.get_mut(&page) {
                bytes[from..to].fill(0);
            }
        }
    }

    pub(super) fn seek(&self, offset: u64, data: bool) -> Result<Option<u64>> {
        if offset >= self.size {
            return Ok(None);
        }
        let first = offset / PAGE;
        let found = if data {
            self.pages.range(first..).next().map(|(&page, _)| page)
        } else {
            (first..).find(|page| !self.pages.contains_key(page))
        };
        let at = found.map(|page| offset.max(page * PAGE)).filter(|&at| at < self.size);
        Ok(at)
    }
}

/// Refuses ranges that end beyond the largest file.
pub(super) fn check_end(offset: u64, length: u64, largest: u64) -> Result<()> {
    match offset.checked_add(length) {
        Some(end) if end <= largest => Ok(()),
        _ => Err(Error::FileTooLarge),
    }
}
