//! The sequence window of a connection, MS-SMB2 3.3.1.1, 3.3.5.2.3: which message ids its client may use, each once.

use std::collections::VecDeque;
use std::ops::Range;

/// The most credits a client has at a time.
pub(super) const MOST: u16 = 8192;

/// The ids from `low` on. The client may use `granted` of them, except those that `used` marks.
pub(super) struct CreditWindow {
    low: u64,
    granted: u64,
    used: VecDeque<bool>,
    /// The number of bits set in `used`.
    used_count: u64,
}

impl CreditWindow {
    /// A client begins with the id 0.
    pub(super) fn new() -> Self {
        Self { low: 0, granted: 1, used: VecDeque::new(), used_count: 0 }
    }

    /// Takes `count` ids from `first` on. False if the client may not use one of them: the
    /// connection must end.
    pub(super) fn take(&mut self, first: u64, count: u16) -> bool {
        let Some(Range { start: from, end: to }) = self.unused(first, count) else { return false };
        if self.used.len() < to {
            self.used.resize(to, false);
        }
        self.used.range_mut(from..to).for_each(|used| *used = true);
        self.used_count += (to - from) as u64;
        while self.used.front() == Some(&true) {
            self.used.pop_front();
            self.low += 1;
            self.granted -= 1;
            self.used_count -= 1;
        }
        true
    }

    /// Whether the client may use these ids now.
    pub(super) fn may_take(&self, first: u64, count: u16) -> bool {
        self.unused(first, count).is_some()
    }

    /// Where these ids are in `used`, if the client may use them.
    fn unused(&self, first: u64, count: u16) -> Option<Range<usize>> {
        let end = first.checked_add(count.max(1).into())?;
        if first < self.low || end > self.low + self.granted {
            return None;
        }
        let (from, to) = ((first - self.low) as usize, (end - self.low) as usize);
        let mut used = self.used.iter().take(to).skip(from);
        (!used.any(|used| *used)).then_some(from..to)
    }

    /// Gives the client more ids: as many as it asks for, at least one when it would have none, at most [`MOST`] in all.
    pub(super) fn grant(&mut self, asked: u16, charge: u16) -> u16 {
        let outstanding = self.granted - self.used_count; // ids that the client may still use
        let room = u64::from(MOST).saturating_sub(outstanding);
        // The cost of the request is given back, so that a client that asks for no credits keeps
        // those that it has.
        let wish = u64::from(asked.max(charge).max(1));
        let span = u64::from(MOST).saturating_mul(2).saturating_sub(self.granted);
        let grant = wish.min(room).min(span).max(u64::from(outstanding == 0));
        self.granted += grant;
        grant as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_used_once_and_only_if_granted() {
        let mut window = CreditWindow::new();
        assert!(!window.take(1, 1));
        assert!(window.take(0, 1));
        assert!(!window.take(0, 1));
        assert_eq!(window.grant(10, 1), 10);
        assert!(window.take(5, 4));
        assert!(!window.take(8, 1));
        assert!(!window.take(10, 2));
        assert!(window.take(1, 4));
        assert!(window.take(9, 2));
        assert!(!window.take(u64::MAX, 1));
    }

    #[test]
    fn a_client_is_never_left_without_and_never_gets_more_than_the_most() {
        let mut window = CreditWindow::new();
        assert!(window.take(0, 1));
        assert_eq!(window.grant(0, 1), 1);
        assert!(window.take(1, 1));
        assert_eq!(window.grant(u16::MAX, 1), MOST);
        assert_eq!(window.grant(100, 1), 0);
        assert!(window.take(2, 1));
        assert_eq!(window.grant(100, 1), 1);
    }

    #[test]
    fn ids_left_out_do_not_let_the_window_grow_without_end() {
        let mut window = CreditWindow::new();
        assert!(window.take(0, 1));
        window.grant(MOST, 1);
        // The id 1 is never used.
        for next in 2..5 * u64::from(MOST) {
            if !window.take(next, 1) {
                break;
            }
            window.grant(MOST, 1);
        }
        assert!(window.used.len() <= 2 * usize::from(MOST));
    }
}
