//! The order of a session's commands, RFC 7143 4.2.2.1.

use std::collections::BTreeMap;

use super::limits::QUEUE_DEPTH;

/// The window of command numbers: the commands that have arrived, and those that may arrive.
#[derive(Debug)]
pub(super) struct CommandWindow<T> {
    /// The next expected number.
    expected: u32,
    /// Numbered commands in flight.
    under_way: u32,
    /// The highest MaxCmdSN that the initiator was told.
    last: u32,
    /// Commands that arrived early over another connection, before commands that were sent before
    /// them; `None` for those that were aborted since.
    early: BTreeMap<u32, Option<T>>,
}

/// The result for an arriving command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CommandAdmission {
    /// Its turn has come.
    Now,
    /// Earlier commands have not arrived.
    Later,
    /// It is out of the window or has arrived before: it is ignored.
    Ignored,
}

/// The distance from `a` to `b`, RFC 1982; less than 2^31 if `b` is not before `a`.
fn distance(a: u32, b: u32) -> u32 {
    b.wrapping_sub(a)
}

impl<T> CommandWindow<T> {
    /// A window that begins with this number.
    pub(super) fn new(expected: u32) -> Self {
        let last = expected.wrapping_add(QUEUE_DEPTH - 1);
        Self { expected, under_way: 0, last, early: BTreeMap::new() }
    }

    /// Takes a numbered command. One that is early is kept as `command` makes it.
    pub(super) fn admit(&mut self, number: u32, command: impl FnOnce() -> T) -> CommandAdmission {
        let room = distance(self.expected, self.last);
        if room >= 1 << 31 || distance(self.expected, number) > room {
            return CommandAdmission::Ignored;
        }
        if number == self.expected {
            self.take();
            return CommandAdmission::Now;
        }
        if self.early.contains_key(&number) {
            return CommandAdmission::Ignored;
        }
        self.early.insert(number, Some(command()));
        CommandAdmission::Later
    }

    /// The next command, if it has arrived early.
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

    /// A numbered command has ended.
    pub(super) fn over(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// ExpCmdSN and MaxCmdSN. MaxCmdSN never decreases.
    pub(super) fn numbers(&mut self) -> (u32, u32) {
        let free = QUEUE_DEPTH.saturating_sub(self.under_way);
        let last = self.expected.wrapping_add(free).wrapping_sub(1);
        let grown = distance(self.last, last);
        if grown < 1 << 31 {
            self.last = last;
        }
        (self.expected, self.last)
    }

    /// The early commands.
    pub(super) fn early(&self) -> impl Iterator<Item = &T> {
        self.early.values().flatten()
    }

    /// A command that has not arrived and, as the initiator says, will not arrive (RFC 7143
    /// 11.6.1). It counts as done when its turn comes. False if the command is not awaited.
    pub(super) fn pass(&mut self, number: u32) -> bool {
        let room = distance(self.expected, self.last);
        let awaited = room < 1 << 31 && distance(self.expected, number) <= room;
        awaited && !self.early.contains_key(&number) && self.early.insert(number, None).is_none()
    }

    /// Aborts the selected early commands: they count as done when their turn comes. Answers
    /// whether there were any.
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
        let mut window = CommandWindow::new(u32::MAX);
        assert_eq!(window.admit(0, || 'b'), CommandAdmission::Later);
        assert_eq!(window.next(), None);
        assert_eq!(window.admit(u32::MAX, || 'a'), CommandAdmission::Now);
        assert_eq!(window.next(), Some('b'));
        assert_eq!(window.next(), None);
        assert_eq!(window.numbers().0, 1);
    }

    #[test]
    fn a_command_that_was_called_off_before_its_turn_is_passed_over() {
        let mut window = CommandWindow::new(5);
        assert_eq!(window.admit(6, || 'b'), CommandAdmission::Later);
        assert_eq!(window.admit(7, || 'c'), CommandAdmission::Later);
        assert!(window.call_off(|command| *command == 'b') && !window.call_off(|command| *command == 'b'));
        assert_eq!(window.admit(5, || 'a'), CommandAdmission::Now);
        assert_eq!(window.next(), Some('c'));
        assert_eq!(window.numbers().0, 8);
    }

    #[test]
    fn what_is_out_of_the_window_or_has_come_already_is_ignored() {
        let mut window = CommandWindow::new(10);
        assert_eq!(window.admit(9, || 'x'), CommandAdmission::Ignored);
        assert_eq!(window.admit(10 + QUEUE_DEPTH, || 'x'), CommandAdmission::Ignored);
        assert_eq!(window.admit(12, || 'c'), CommandAdmission::Later);
        assert_eq!(window.admit(12, || 'c'), CommandAdmission::Ignored);
        assert_eq!(window.admit(10, || 'a'), CommandAdmission::Now);
        assert_eq!(window.admit(10, || 'a'), CommandAdmission::Ignored);
    }

    #[test]
    fn the_window_closes_while_commands_are_under_way_and_never_goes_back() {
        let mut window = CommandWindow::new(0);
        for number in 0..QUEUE_DEPTH {
            assert_eq!(window.admit(number, || ()), CommandAdmission::Now);
            assert_eq!(window.numbers(), (number + 1, QUEUE_DEPTH - 1));
        }
        assert_eq!(window.admit(QUEUE_DEPTH, || ()), CommandAdmission::Ignored);
        window.over();
        assert_eq!(window.numbers(), (QUEUE_DEPTH, QUEUE_DEPTH));
        assert_eq!(window.admit(QUEUE_DEPTH, || ()), CommandAdmission::Now);
    }
}
