//! The order in which a loop runs its tasks: short ones first, then connections that stream, in rounds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Streams have at least this time of a round, so that the loop does not look for events after each turn.
const STREAMS: Duration = Duration::from_micros(200);

/// Tasks of connections with reserved streams that run between two tasks of others.
const FIRST_IN_A_ROW: u32 = 16;

/// When the turn of a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskClass {
    /// Its connection reads a reserved stream, within the speed that is reserved.
    First,
    /// Its connection moves short messages.
    Short,
    /// Its connection moves long messages.
    Long,
}

/// The tasks that wait for the thread of a loop. Those of connections that stream wait apart, so that a short request
/// does not wait for the long replies to all others.
pub(super) struct Queue<T> {
    first: VecDeque<T>,
    short: VecDeque<T>,
    streams: VecDeque<T>,
}

/// What a round may still run before the loop looks for events again.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Tasks of reserved streams that have run since one of others.
    in_a_row: u32,
    /// Short tasks.
    short: usize,
    /// When the short tasks began, if a stream waits for them.
    began: Option<Instant>,
    /// Until when tasks of streams may begin.
    until: Option<Instant>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { first: VecDeque::new(), short: VecDeque::new(), streams: VecDeque::new() }
    }
}

impl<T> Queue<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty() && self.short.is_empty() && self.streams.is_empty()
    }

    pub(super) fn push(&mut self, task: T, class: TaskClass) {
        match class {
            TaskClass::First => self.first.push_back(task),
            TaskClass::Short => self.short.push_back(task),
            TaskClass::Long => self.streams.push_back(task),
        }
    }

    /// Begins a round: the short tasks that wait now, then those of streams for as long as the short ones took. Reserved streams
    /// go before each of them.
    pub(super) fn round(&self) -> Round {
        Round { short: self.short.len(), ..Round::default() }
    }

    /// The next task of the round.
    pub(super) fn next(&mut self, round: &mut Round, now: impl Fn() -> Instant) -> Option<T> {
        if !self.first.is_empty() && round.in_a_row < FIRST_IN_A_ROW {
            round.in_a_row += 1;
            return self.first.pop_front();
        }
        round.in_a_row = 0;
        if round.short > 0 {
            round.short -= 1;
            if !self.streams.is_empty() {
                round.began.get_or_insert_with(&now);
            }
            return self.short.pop_front();
        }
        if self.streams.is_empty() {
            return None;
        }
        let now = now();
        let until = *round.until.get_or_insert_with(|| {
            let short = round.began.map_or(Duration::ZERO, |began| now - began);
            now + short.max(STREAMS)
        });
        (now < until).then(|| self.streams.pop_front()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn class(task: &str) -> TaskClass {
        match task.split(' ').next() {
            Some("reserved") => TaskClass::First,
            Some("stream") => TaskClass::Long,
            _ => TaskClass::Short,
        }
    }

    /// Runs a round in which each task takes 1 ms and is woken again at once, and returns the tasks in their order.
    fn round(queue: &mut Queue<&'static str>, now: &Cell<Instant>) -> Vec<&'static str> {
        let mut round = queue.round();
        let mut ran = Vec::new();
        while let Some(task) = queue.next(&mut round, || now.get()) {
            now.set(now.get() + MS);
            queue.push(task, class(task));
            ran.push(task);
        }
        ran
    }

    fn queue(tasks: &[&'static str]) -> Queue<&'static str> {
        let mut queue = Queue::default();
        tasks.iter().for_each(|task| queue.push(*task, class(task)));
        queue
    }

    #[test]
    fn a_short_task_waits_for_one_turn_of_a_stream_at_most() {
        let now = Cell::new(Instant::now());
        let mut queue = queue(&["stream 1", "stream 2", "stream 3"]);
        assert_eq!(round(&mut queue, &now), ["stream 1"]);
        queue.push("short", TaskClass::Short);
        assert_eq!(round(&mut queue, &now), ["short", "stream 2"]);
        assert_eq!(round(&mut queue, &now), ["short", "stream 3"]);
    }

    #[test]
    fn streams_have_as_much_time_as_all_short_tasks_together() {
        let now = Cell::new(Instant::now());
        let mut queue = queue(&["a", "stream 1", "b", "stream 2", "c"]);
        assert_eq!(round(&mut queue, &now), ["a", "b", "c", "stream 1", "stream 2", "stream 1"]);
        assert_eq!(round(&mut queue, &now), ["a", "b", "c", "stream 2", "stream 1", "stream 2"]);
    }

    #[test]
    fn a_short_task_that_is_always_woken_runs_once_in_a_round() {
        let now = Cell::new(Instant::now());
        let mut queue = queue(&["a", "b"]);
        assert_eq!(round(&mut queue, &now), ["a", "b"]);
        assert!(!queue.is_empty());
    }

    #[test]
    fn a_reserved_stream_waits_for_one_task_of_others_at_most() {
        let (mut queue, now) = (queue(&["a", "b", "stream 1", "stream 2"]), Instant::now());
        let mut round = queue.round();
        let mut ran = Vec::new();
        while let Some(task) = queue.next(&mut round, || now) {
            ran.push(task);
            if !task.starts_with("reserved") && ran.len() < 8 {
                queue.push("reserved", TaskClass::First);
            }
        }
        assert_eq!(ran, ["a", "reserved", "b", "reserved", "stream 1", "reserved", "stream 2", "reserved"]);
    }

    #[test]
    fn reserved_streams_that_are_always_woken_leave_others_a_part() {
        let now = Instant::now();
        let mut queue = queue(&["reserved", "a", "b"]);
        let (mut round, mut ran) = (queue.round(), Vec::new());
        while let Some(task) = queue.next(&mut round, || now) {
            queue.push(task, class(task));
            ran.push(task);
        }
        let others: Vec<usize> = (0..ran.len()).filter(|at| ran[*at] != "reserved").collect();
        assert_eq!(others, [16, 33], "one in seventeen");
    }
}
