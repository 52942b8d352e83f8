//! The data that are written, and found again: eight bytes in each position depend on the position,
//! so that data from a wrong place are noticed. The data do not compress.

/// Bytes after which the pattern repeats.
pub(crate) const PERIOD: usize = 1 << 20;

/// Two periods, so that a range of one period may begin anywhere.
#[derive(Debug)]
pub(crate) struct BytePattern(Vec<u8>);

impl BytePattern {
    /// The pattern of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let words = (0..2 * PERIOD as u64 / 8).map(|at| word(seed, at % (PERIOD as u64 / 8)));
        Self(words.flat_map(u64::to_le_bytes).collect())
    }

    /// What belongs at an offset of a file. At most [`PERIOD`] bytes.
    pub(crate) fn at(&self, offset: u64, length: usize) -> &[u8] {
        let begin = (offset % PERIOD as u64) as usize;
        &self.0[begin..begin + length.min(PERIOD)]
    }

    /// Whether these first bytes of a read belong at its offset.
    pub(crate) fn fits(&self, offset: u64, head: &[u8]) -> bool {
        self.at(offset, head.len()) == head
    }
}

/// A finalizer of a well-mixing hash (SplitMix64).
fn word(seed: u64, at: u64) -> u64 {
    let mut z = seed.wrapping_add(at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A sequence of numbers that a seed determines.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    seed: u64,
    at: u64,
}

impl Random {
    /// The sequence of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, at: 0 }
    }

    /// A number below `limit`; 0 if that is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.at += 1;
        word(self.seed, self.at) % limit.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_from_another_place_are_noticed() {
        let pattern = BytePattern::new(7);
        assert!(pattern.fits(4096, pattern.at(4096 + PERIOD as u64, 8)));
        assert!(!pattern.fits(4096, pattern.at(8192, 8)));
        assert!(!pattern.fits(0, &[0; 8]));
        assert_eq!(pattern.at(PERIOD as u64 - 1, PERIOD).len(), PERIOD);
    }

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The reference implementation's first three numbers for the seed 1234567.
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([0, 1, 2].map(|at| word(1_234_567, at)), expected);
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| random.below(7) < 7));
        assert_eq!(random.below(0), 0);
    }
}
