//! Files and streams that go when the last of those who have them open has closed them.

use super::table::Entry;
use super::{OpenGuard, State, Stream};
use crate::{Error, FileId, Result};

/// What is done when a file or stream that is to go is used by nobody any more: its removal. Called without any lock.
pub type Last = Box<dyn FnOnce() -> Result<()> + Send>;

/// Something that is to go. The data fork stands for the whole file.
pub(super) struct Removal {
    stream: Stream,
    last: Last,
}

impl Entry {
    /// Whether the file or this stream of it is to go.
    pub(super) fn is_going(&self, stream: &Stream) -> bool {
        self.removals.iter().any(|going| going.stream == Stream::Data || going.stream == *stream)
    }

    /// What is to go and not used any more. The streams of a file that goes need no removal of their own.
    pub(super) fn take_unused(&mut self) -> Option<Last> {
        if self.opens.is_empty() {
            let mut all = std::mem::take(&mut self.removals);
            let whole = all.iter().position(|going| going.stream == Stream::Data);
            return (!all.is_empty()).then(|| all.swap_remove(whole.unwrap_or(0)).last);
        }
        let used = |stream: &Stream| *stream == Stream::Data || self.opens.has_stream(stream);
        let unused = self.removals.iter().position(|going| !used(&going.stream));
        unused.map(|at| self.removals.swap_remove(at).last)
    }
}

impl State {
    /// Whether this file, as a whole, is to go.
    pub fn is_going(&self, file: FileId) -> bool {
        self.table.look(file, |entry| entry.is_going(&Stream::Data)).unwrap_or(false)
    }
}

impl OpenGuard {
    /// From now on nobody opens this stream (of the data fork: any stream of the file) any more, and whoever is the
    /// last to close it calls `last`. Somebody's earlier word counts.
    pub fn remove_when_unused(&self, last: Last) {
        self.state.table.with(self.file, |entry| {
            let stream = self.stream();
            if entry.removals.iter().all(|going| going.stream != stream) {
                entry.removals.push(Removal { stream, last });
            }
        });
    }

    /// The stream stays, after all.
    pub fn stay(&self) {
        let stream = self.stream();
        let stay = |entry: &mut Entry| entry.removals.retain(|going| going.stream != stream);
        self.state.table.with_existing(self.file, stay);
    }

    /// Whether this stream, or the whole file, is to go.
    pub fn is_going(&self) -> bool {
        let stream = self.stream();
        self.state.table.look(self.file, |entry| entry.is_going(&stream)).unwrap_or(false)
    }

    /// Gives this named stream, with what is held on it, another name. `ShareConflict` while anybody else has it open,
    /// or has one of the new name open.
    pub fn move_stream(&self, to: &Stream) -> Result<()> {
        self.state.table.with(self.file, |entry| {
            let from = self.stream();
            if entry.opens.count_of(&from) > 1 || (from != *to && entry.opens.has_stream(to)) {
                return Err(Error::ShareConflict);
            }
            entry.opens.change(self.id, |open| open.stream = to.clone());
            let ranges = entry.ranges.iter_mut().map(|(stream, _)| stream);
            let queue = entry.queue.iter_mut().map(|queued| &mut queued.stream);
            let leases = entry.leases.iter_mut().map(|lease| &mut lease.stream);
            let removals = entry.removals.iter_mut().map(|going| &mut going.stream);
            let all = ranges.chain(queue).chain(leases).chain(removals);
            all.filter(|stream| **stream == from).for_each(|stream| *stream = to.clone());
            *self.stream.write() = to.clone();
            Ok(())
        })
    }
}
