//! The names of a kept folder by their folded form. Each event brings them up to date.
//!
//! A folder can have millions of names, so a name costs its bytes and some 20 more: names are
//! stored one after the other in one buffer, and the table has their positions. Names are found by
//! their form with both case and normal form folded. Among those, the folding of the request
//! decides. So one table serves protocols with different foldings.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::names::{FoldedKey, Folding, folds_alike};

/// A stored name.
pub(crate) type Name = Box<[u8]>;

/// Bytes in front of each name in the buffer: its length.
const LENGTH: usize = 2;
/// A buffer with fewer bytes of removed names is not worth compacting.
const WORTH_COMPACTING: usize = 64 * 1024;

/// All names of a folder.
#[derive(Default)]
pub(super) struct Names {
    hasher: RandomState,
    rows: HashTable<Row>,
    /// Names with their lengths in front. Those of removed names stay until the buffer is compacted.
    text: Vec<u8>,
    /// Bytes of removed names in `text`.
    removed: usize,
}

/// One name.
#[derive(Clone, Copy)]
struct Row {
    /// Hash of its folded key. The name itself tells names of one hash apart.
    hash: u32,
    /// Position in `text`.
    at: u32,
}

impl Names {
    /// The names of a listing.
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Name>) -> Self {
        let mut names = Self::default();
        all.for_each(|name| names.add(name));
        names
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How much memory they take.
    pub(super) fn bytes(&self) -> usize {
        self.text.capacity() + self.rows.allocation_size()
    }

    /// Adds a name that came. One that is there already stays as it is, and so does everything when the names have 4 GiB.
    pub(super) fn add(&mut self, name: &[u8]) {
        let (Ok(length), Ok(at)) = (u16::try_from(name.len()), u32::try_from(self.text.len())) else {
            return;
        };
        let hash = self.hash(name);
        let text = &self.text;
        if self.rows.find(spread(hash), |row| row.hash == hash && row.name(text) == name).is_some() {
            return;
        }
        self.rows.insert_unique(spread(hash), Row { hash, at }, |row| spread(row.hash));
        self.text.extend_from_slice(&length.to_ne_bytes());
        self.text.extend_from_slice(name);
    }

    /// Removes a name that went, if it was there.
    pub(super) fn remove(&mut self, name: &[u8]) {
        let hash = self.hash(name);
        let text = &self.text;
        let is_it = |row: &Row| row.hash == hash && row.name(text) == name;
        if let Ok(row) = self.rows.find_entry(spread(hash), is_it) {
            row.remove();
            self.removed += LENGTH + name.len();
            if self.removed > WORTH_COMPACTING.max(self.text.len() / 2) {
                self.compact();
            }
        }
    }

    /// Names that are the same as this one for `folding`, in the order of their bytes.
    pub(super) fn like(&self, name: &[u8], folding: Folding) -> Vec<Name> {
        let hash = self.hash(name);
        let same_hash = self.rows.iter_hash(spread(hash)).filter(|row| row.hash == hash);
        let candidates = same_hash.map(|row| row.name(&self.text));
        let mut alike: Vec<Name> =
            candidates.filter(|known| folds_alike(known, name, folding)).map(Name::from).collect();
        alike.sort();
        alike
    }

    /// Copies the names that are left to a new buffer.
    fn compact(&mut self) {
        let mut text = Vec::with_capacity(self.text.len() - self.removed);
        for row in self.rows.iter_mut() {
            let at = text.len() as u32; // no longer than the old one, which fits
            let name = row.name(&self.text);
            text.extend_from_slice(&(name.len() as u16).to_ne_bytes());
            text.extend_from_slice(name);
            row.at = at;
        }
        (self.text, self.removed) = (text, 0);
    }

    fn hash(&self, name: &[u8]) -> u32 {
        self.hasher.hash_one(FoldedKey::new(name, Folding::default()).as_bytes()) as u32
    }
}

impl Row {
    fn name(self, text: &[u8]) -> &[u8] {
        let (length, name) = text[self.at as usize..].split_at(LENGTH);
        &name[..usize::from(u16::from_ne_bytes([length[0], length[1]]))]
    }
}

/// The table takes its group from the low bits of a hash and its tags from the high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash) | u64::from(hash) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT_CASE: Folding = Folding { case_sensitive: true, normalisation_sensitive: false };

    fn like(names: &Names, name: &str, folding: Folding) -> Vec<String> {
        let names = names.like(name.as_bytes(), folding);
        names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    fn names(all: &[&str]) -> Names {
        let all: Vec<Name> = all.iter().map(|name| name.as_bytes().into()).collect();
        Names::of(all.iter())
    }

    #[test]
    fn names_that_fold_alike_are_all_found_until_they_go() {
        let any = Folding::default();
        let mut names = names(&["b", "B", "ä", "c"]);
        assert_eq!(like(&names, "b", any), ["B", "b"]);
        assert_eq!(like(&names, "A\u{308}", any), ["ä"]);
        names.add(b"b");
        names.remove(b"b");
        assert_eq!(like(&names, "b", any), ["B"]);
        names.remove(b"b");
        names.remove(b"B");
        assert!(like(&names, "b", any).is_empty());
        names.add(b"b");
        assert_eq!(like(&names, "B", any), ["b"]);
        ["b", "B", "ä", "c"].iter().for_each(|name| names.remove(name.as_bytes()));
        assert_eq!(names.len(), 0);
    }

    #[test]
    fn the_folding_of_the_question_decides() {
        let names = names(&["File", "file", "a\u{308}", "Ä"]);
        assert_eq!(like(&names, "FILE", Folding::default()), ["File", "file"]);
        assert_eq!(like(&names, "file", EXACT_CASE), ["file"]);
        assert_eq!(like(&names, "ä", EXACT_CASE), ["a\u{308}"]);
        assert_eq!(like(&names, "ä", Folding::default()), ["a\u{308}", "Ä"]);
    }

    #[test]
    fn names_take_little_more_than_their_bytes_whatever_comes_and_goes() {
        let name = |at: usize| format!("entry-{at:014}").into_bytes();
        let mut names = Names::default();
        (0..100_000).for_each(|at| names.add(&name(at)));
        assert!(names.bytes() < 100_000 * (20 + 44), "{} bytes", names.bytes());
        (0..90_000).for_each(|at| names.remove(&name(at)));
        (100_000..190_000).for_each(|at| names.add(&name(at)));
        assert!(names.bytes() < 100_000 * (20 + 76), "{} bytes", names.bytes());
        assert_eq!(names.len(), 100_000);
        assert_eq!(names.like(b"ENTRY-00000000095000", Folding::default()), [name(95_000).into()]);
        assert!(names.like(&name(89_999), Folding::default()).is_empty());
    }
}
