//! Sets of blocks: a bit for each, in pieces that exist only where there is something.

use std::collections::BTreeMap;

/// How many blocks a piece has.
const PIECE: u64 = 32_768;
const WORDS: usize = PIECE as usize / 64;

/// A set of blocks. It takes a bit for each block of a container near those that are in it.
pub(super) struct BlockSet {
    count: u64,
    pieces: BTreeMap<u64, Box<[u64; WORDS]>>,
}

impl BlockSet {
    /// For a container of `count` blocks; others are never in the set.
    pub(super) fn new(count: u64) -> Self {
        Self { count, pieces: BTreeMap::new() }
    }

    /// Adds blocks up to the first one that is in the set already, which is returned.
    pub(super) fn add(&mut self, first: u64, count: u64) -> Option<u64> {
        let end = first.saturating_add(count).min(self.count);
        let mut block = first;
        while block < end {
            let piece = self.pieces.entry(block / PIECE).or_insert_with(|| Box::new([0; WORDS]));
            let (word, mask, next) = span(block, end);
            let taken = piece[word] & mask;
            piece[word] |= mask;
            if taken != 0 {
                return Some(block / 64 * 64 + u64::from(taken.trailing_zeros()));
            }
            block = next;
        }
        None
    }

    pub(super) fn contains(&self, block: u64) -> bool {
        self.word(block / 64) >> (block % 64) & 1 == 1
    }

    /// The first of some blocks that is in the set.
    pub(super) fn first_in(&self, first: u64, count: u64) -> Option<u64> {
        self.find(first, count, |word| word)
    }

    /// The first of some blocks that is not in the set.
    pub(super) fn first_missing(&self, first: u64, count: u64) -> Option<u64> {
        self.find(first, count, |word| !word)
    }

    /// Blocks `number * 64` to `number * 64 + 63`, the first in the lowest bit.
    pub(super) fn word(&self, number: u64) -> u64 {
        let piece = self.pieces.get(&(number * 64 / PIECE));
        piece.map_or(0, |piece| piece[number as usize % WORDS])
    }

    fn find(&self, first: u64, count: u64, of: fn(u64) -> u64) -> Option<u64> {
        let end = first.saturating_add(count);
        let mut block = first;
        while block < end.min(self.count) {
            let (_, mask, next) = span(block, end);
            let found = of(self.word(block / 64)) & mask;
            if found != 0 {
                return Some(block / 64 * 64 + u64::from(found.trailing_zeros()));
            }
            block = next;
        }
        None
    }
}

/// The word of its piece that a block is in, the bits of that word up to `end`, and the block after them.
fn span(block: u64, end: u64) -> (usize, u64, u64) {
    let next = (block / 64 + 1) * 64;
    let mut mask = u64::MAX << (block % 64);
    if end < next {
        mask &= u64::MAX >> (next - end);
    }
    ((block / 64) as usize % WORDS, mask, next.min(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_is_added_twice_is_told() {
        let mut set = BlockSet::new(100_000);
        assert_eq!(set.add(60, 10), None);
        assert_eq!(set.add(32_760, 20), None);
        assert_eq!(set.add(50, 11), Some(60));
        assert_eq!(set.first_missing(50, 30), Some(70));
        assert_eq!(set.first_in(70, 40_000), Some(32_760));
        assert_eq!(set.first_missing(32_760, 20), None);
        assert!(set.contains(32_779) && !set.contains(32_780) && !set.contains(99_999_999));
    }
}
