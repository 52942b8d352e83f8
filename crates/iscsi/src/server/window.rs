//! The order of a session's commands, RFC 7143 4.2.2.1.

use std::collections::BTreeMap;

use super::limits::QUEUE_DEPTH;

/// Which commands have come, and which may.
#[derive(Debug)]
pub(super) struct Window<T> {
    /// The next one that is waited for.
    expected: u32,
    /// Commands that are under way.
    under_way: u32,
    /// The last one that the initiator has been told it may send.
    last: u32,
    /// Those that have come before others that were sent before them, over other connections; nothing of those that were
    /// called off since.
    early: BTreeMap<u32, Option<T>>,
}

/// What becomes of a command that has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admitted<T> {
    /// It is next.
    Now(T),
    /// Others were sent before it.
    Later,
    /// It is out of the window or has come already: it is ignored.
    Ignored,
}

/// How far `b` is behind `a`, RFC 1982; less than 2^31 when it is not before it.
fn distance(a: u32, b: u32) -> u32 {
    b.wrapping_sub(a)
}

impl<T> Window<T> {
    /// From this number on.
    pub(super) fn new(expected: u32) -> Self {
        let last = expected.wrapping_add(QUEUE_DEPTH - 1);
        Self { expected, under_way: 0, last, early: BTreeMap::new() }
    }

    /// A numbered command has come.
    pub(super) fn admit(&mut self, number: u32, command: T) -> Admitted<T> {
        let room = distance(self.expected, self.last);
        if room >= 1 << 31 || distance(self.expected, number) > room {
            return Admitted::Ignored;
        }
        if number == self.expected {
            self.take();
            return Admitted::Now(command);
        }
        if self.early.contains_key(&number) {
            return Admitted::Ignored;
        }
        self.early.insert(number, Some(command));
        Admitted::Later
    }

    /// The command that is next and has come early, if it is there.
    pub(super) fn next(&mut self) -> Option<T> {
        loop {
            let command = self.early.remove(&self.expected)?;
            self.take();
            match command {
                Some(command) => return Some(command),
                None => self.over(),
            }
        }
    }

    fn take(&mut self) {
        self.expected = self.expected.wrapping_add(1);
        self.under_way += 1;
    }

    /// A numbered command is over.
    pub(super) fn over(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// ExpCmdSN and MaxCmdSN. What has been said once stays said: the window never closes behind a number.
    pub(super) fn numbers(&mut self) -> (u32, u32) {
        let free = QUEUE_DEPTH.saturating_sub(self.under_way);
        let last = self.expected.wrapping_add(free).wrapping_sub(1);
        let grown = distance(self.last, last);
        if grown < 1 << 31 {
            self.last = last;
        }
        (self.expected, self.last)
    }

    /// Those that have come early.
    pub(super) fn early(&self) -> impl Iterator<Item = &T> {
        self.early.values().flatten()
    }

    /// A command that has not come, and of which the initiator says that it will not come (RFC 7143 11.6.1), counts as done when
    /// its turn comes. False when it is not awaited.
    pub(super) fn pass(&mut self, number: u32) -> bool {
        let room = distance(self.expected, self.last);
        let awaited = room < 1 << 31 && distance(self.expected, number) <= room;
        awaited && !self.early.contains_key(&number) && self.early.insert(number, None).is_none()
    }

    /// Calls off those that wait and are meant: they count as done when their turn comes. Answers whether there were any.
    pub(super) fn call_off(&mut self, is_meant: impl Fn(&T) -> bool) -> bool {
        let meant = self.early.values_mut().filter(|command| command.as_ref().is_some_and(&is_meant));
        meant.map(|command| *command = None).count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_in_their_order() {
        let mut window = Window::new(u32::MAX);
        assert_eq!(window.admit(0, 'b'), Admitted::Later);
        assert_eq!(window.next(), None);
        assert_eq!(window.admit(u32::MAX, 'a'), Admitted::Now('a'));
        assert_eq!(window.next(), Some('b'));
        assert_eq!(window.next(), None);
        assert_eq!(window.numbers().0, 1);
    }

    #[test]
    fn a_command_that_was_called_off_before_its_turn_is_passed_over() {
        let mut window = Window::new(5);
        assert_eq!(window.admit(6, 'b'), Admitted::Later);
        assert_eq!(window.admit(7, 'c'), Admitted::Later);
        assert!(window.call_off(|command| *command == 'b') && !window.call_off(|command| *command == 'b'));
        assert_eq!(window.admit(5, 'a'), Admitted::Now('a'));
        assert_eq!(window.next(), Some('c'));
        assert_eq!(window.numbers().0, 8);
    }

    #[test]
    fn what_is_out_of_the_window_or_has_come_already_is_ignored() {
        let mut window = Window::new(10);
        assert_eq!(window.admit(9, 'x'), Admitted::Ignored);
        assert_eq!(window.admit(10 + QUEUE_DEPTH, 'x'), Admitted::Ignored);
        assert_eq!(window.admit(12, 'c'), Admitted::Later);
        assert_eq!(window.admit(12, 'c'), Admitted::Ignored);
        assert_eq!(window.admit(10, 'a'), Admitted::Now('a'));
        assert_eq!(window.admit(10, 'a'), Admitted::Ignored);
    }

    #[test]
    fn the_window_closes_while_commands_are_under_way_and_never_goes_back() {
        let mut window = Window::new(0);
        for number in 0..QUEUE_DEPTH {
            assert_eq!(window.admit(number, ()), Admitted::Now(()));
            assert_eq!(window.numbers(), (number + 1, QUEUE_DEPTH - 1));
        }
        assert_eq!(window.admit(QUEUE_DEPTH, ()), Admitted::Ignored);
        window.over();
        assert_eq!(window.numbers(), (QUEUE_DEPTH, QUEUE_DEPTH));
        assert_eq!(window.admit(QUEUE_DEPTH, ()), Admitted::Now(()));
    }
}
