//! LOCK requests that the client repeats, MS-SMB2 3.3.1.10 (LockSequenceArray) and 3.3.5.14.

use lock::Mutex;

use crate::ranks;

/// How many sequences an open has. They are numbered from 1 on.
pub(in crate::server) const COUNT: usize = 64;
/// Not a sequence number: those have four bits.
const NONE: u8 = 0xFF;

/// The number of the last request that was executed, for each sequence of an open.
#[derive(Default)]
pub(in crate::server) struct LockSequences(Mutex<Option<Box<[u8; COUNT]>>, ranks::SmbLockSequences>);

impl LockSequences {
    /// Whether this request has been executed. If so, it is only answered. If not, its sequence has
    /// no number until the request has been executed.
    pub(super) fn is_replay(&self, (index, number): (u32, u8)) -> bool {
        let Some(at) = place(index) else { return false };
        match &mut *self.0.lock() {
            Some(numbers) if numbers[at] == number => true,
            Some(numbers) => {
                numbers[at] = NONE;
                false
            }
            None => false,
        }
    }

    /// The number of the last request of each sequence, for another server.
    pub(in crate::server) fn all(&self) -> Option<Box<[u8; COUNT]>> {
        self.0.lock().clone()
    }

    /// The same, from a lost server.
    pub(in crate::server) fn restore(&self, numbers: Option<Box<[u8; COUNT]>>) {
        *self.0.lock() = numbers;
    }

    /// Records that this request has been executed.
    pub(super) fn answered(&self, (index, number): (u32, u8)) {
        let Some(at) = place(index) else { return };
        self.0.lock().get_or_insert_with(|| Box::new([NONE; COUNT]))[at] = number;
    }
}

fn place(index: u32) -> Option<usize> {
    (index as usize).checked_sub(1).filter(|at| *at < COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_executed_once() {
        let sequences = LockSequences::default();
        assert!(!sequences.is_replay((1, 5)));
        sequences.answered((1, 5));
        assert!(sequences.is_replay((1, 5)));
        assert!(!sequences.is_replay((2, 5)));
        assert!(!sequences.is_replay((1, 6)), "another request of the sequence");
        assert!(!sequences.is_replay((1, 5)), "the request before made this number void");
    }

    #[test]
    fn there_are_sequences_1_to_64() {
        let sequences = LockSequences::default();
        for index in [0, 1, 64, 65, u32::MAX] {
            sequences.answered((index, 1));
        }
        let remembered = [0, 1, 64, 65, u32::MAX].map(|index| sequences.is_replay((index, 1)));
        assert_eq!(remembered, [false, true, true, false, false]);
    }
}
