//! A set of bits of a fixed size, and the runs in it.

use crate::{Error, Result};

/// The most bits of a set: 32 MiB.
pub(super) const MAX_BITS: u64 = 1 << 28;

/// Bits, all clear at first.
pub(super) struct BitSet(Vec<u8>);

impl BitSet {
    /// A set of so many bits.
    ///
    /// # Errors
    ///
    /// [`Error::NotSupported`] for more than [`MAX_BITS`].
    pub(super) fn new(bits: u64) -> Result<Self> {
        if bits > MAX_BITS {
            return Err(Error::NotSupported(format!("checking a structure of {bits} parts")));
        }
        Ok(Self(vec![0; bits.div_ceil(8) as usize]))
    }

    /// Sets a bit; returns whether it was set. A bit outside of the set is ignored.
    pub(super) fn set(&mut self, bit: u64) -> bool {
        let Some(byte) = self.0.get_mut((bit / 8) as usize) else { return false };
        let mask = 0x80 >> (bit % 8);
        let was_set = *byte & mask != 0;
        *byte |= mask;
        was_set
    }

    /// Sets bits; returns how many were set already.
    pub(super) fn set_range(&mut self, first: u64, count: u64) -> u64 {
        let (mut at, end, mut were_set) = (first, first + count, 0);
        while at < end {
            if at.is_multiple_of(8) && end - at >= 8 {
                let Some(byte) = self.0.get_mut((at / 8) as usize) else { break };
                were_set += u64::from(byte.count_ones());
                *byte = 0xFF;
                at += 8;
            } else {
                were_set += u64::from(self.set(at));
                at += 1;
            }
        }
        were_set
    }

    pub(super) fn get(&self, bit: u64) -> bool {
        self.0.get((bit / 8) as usize).is_some_and(|byte| byte & (0x80 >> (bit % 8)) != 0)
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }

    /// The bytes, in which the first bit is the highest one: the order of HFS+.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Runs of bits of one kind, which are added in their order.
#[derive(Default)]
pub(super) struct Runs {
    pub(super) list: Vec<(u64, u64)>,
    /// How many runs were left out.
    pub(super) more: u64,
}

impl Runs {
    /// The most runs that are kept.
    const MOST: usize = 256;

    pub(super) fn add(&mut self, bit: u64) {
        if let Some((first, count)) = self.list.last_mut()
            && *first + *count == bit
        {
            *count += 1;
        } else if self.list.len() < Self::MOST {
            self.list.push((bit, 1));
        } else {
            self.more += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_set_once() {
        let mut bits = BitSet::new(100).unwrap();
        assert_eq!(bits.set_range(3, 30), 0);
        assert_eq!(bits.set_range(30, 10), 3);
        assert_eq!(bits.count(), 37);
        assert!(bits.get(3) && bits.get(39) && !bits.get(2) && !bits.get(40));
        assert_eq!(bits.bytes()[0], 0b0001_1111);
    }

    #[test]
    fn neighbours_are_one_run() {
        let mut runs = Runs::default();
        [1, 2, 3, 7].into_iter().for_each(|bit| runs.add(bit));
        assert_eq!(runs.list, [(1, 3), (7, 1)]);
    }
}
