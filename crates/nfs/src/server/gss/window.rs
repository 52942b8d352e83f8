//! The window of sequence numbers by which a replayed call is recognised, RFC 2203 5.3.3.1.

/// The width of the window, in sequence numbers. Linux sends as many calls at once as it has slots, over several connections.
pub(super) const WIDTH: u32 = 1024;
const WORDS: usize = WIDTH as usize / 64;

/// The sequence numbers of a context that were used, RFC 2203 5.3.3.1: those below the window are taken as used.
#[derive(Default)]
pub(super) struct SequenceWindow {
    /// One above the highest number so far.
    end: u32,
    /// One bit for each number of the window, at its remainder.
    used: [u64; WORDS],
}

impl SequenceWindow {
    /// Notes a number below 2^31. Whether it is used for the first time.
    pub(super) fn take(&mut self, number: u32) -> bool {
        if number >= self.end {
            for passed in self.end.max((number + 1).saturating_sub(WIDTH))..number {
                self.set(passed, false);
            }
            self.end = number + 1;
        } else if self.end - number > WIDTH || self.is_set(number) {
            return false;
        }
        self.set(number, true);
        true
    }

    fn is_set(&self, number: u32) -> bool {
        let at = (number % WIDTH) as usize;
        self.used[at / 64] >> (at % 64) & 1 == 1
    }

    fn set(&mut self, number: u32, is_used: bool) {
        let at = (number % WIDTH) as usize;
        let bit = 1 << (at % 64);
        match is_used {
            true => self.used[at / 64] |= bit,
            false => self.used[at / 64] &= !bit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_counts_once_in_any_order_and_old_ones_never() {
        let mut window = SequenceWindow::default();
        assert!([5, 1, 0, 3].map(|number| window.take(number)).iter().all(|first| *first));
        assert!([5, 1, 0, 3].map(|number| window.take(number)).iter().all(|first| !first));
        assert!(window.take(WIDTH + 3) && window.take(4)); // 4 is the lowest of the window
        assert!(!window.take(3) && !window.take(2));
        assert!(window.take(0x7fff_ffff) && !window.take(0x7fff_ffff) && !window.take(WIDTH));
        assert!(window.take(0x7fff_fffe) && window.take(0x7fff_ffff - WIDTH + 1));
        assert!(!window.take(0x7fff_ffff - WIDTH));
    }

    #[test]
    fn numbers_behave_as_a_set_of_all_numbers_would() {
        let (mut window, mut seen, mut highest, mut number) =
            (SequenceWindow::default(), Vec::new(), 0_u32, 1_u32);
        for step in 0..20_000_u32 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let next = (step / 2 + number % 1500).saturating_sub(700);
            let is_new = !seen.contains(&next) && (next >= highest || highest - next < WIDTH);
            assert_eq!(window.take(next), is_new, "{next} after {highest}");
            if is_new {
                seen.push(next);
                highest = highest.max(next);
                seen.retain(|number| number + 4 * WIDTH > highest);
            }
        }
    }
}
