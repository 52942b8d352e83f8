//! Files and streams that are removed when their last open is closed.

use super::carried::Back;
use super::table::{Entry, Table};
use super::{Link, OpenGuard, Party, State, Stream};
use formats::{Error, FileId, Result};

/// Removes a file or stream that is to be removed, when no open uses it any more. Called without
/// any lock.
pub type Last = Box<dyn FnOnce() -> Result<()> + Send>;

/// Something that is to be removed. The data fork stands for a name of the file, and for the whole
/// file if that is its last name.
pub(super) struct RemovalTarget {
    pub(super) stream: Stream,
    /// The name that is removed; `None` for a stream, and if it is not known.
    pub(super) link: Option<Link>,
    /// Its number, which begins with the server that removes it.
    pub(super) number: u64,
    pub(super) last: Remove,
}

/// What removes it.
pub(super) enum Remove {
    /// This server.
    Here(Last),
    /// Another server. Until it says that it has done so, the file cannot be opened.
    There { home: u16, told: bool },
}

impl RemovalTarget {
    /// Whether this prevents opening a stream by a name.
    fn concerns(&self, stream: &Stream, link: Option<Link>) -> bool {
        match self.stream {
            Stream::Data => self.link.is_none() || link.is_none() || self.link == link,
            _ => self.stream == *stream,
        }
    }
}

impl Entry {
    /// Whether this name of the file, or this stream of it, is to be removed.
    pub(super) fn is_going(&self, stream: &Stream, link: Option<Link>) -> bool {
        self.removals.iter().any(|going| going.concerns(stream, link))
    }

    /// Whether the file is being removed, or another party has it open so that it can remove it.
    pub(super) fn may_be_removed(&self, stream: &Stream, by_others_than: Party) -> bool {
        self.is_going(stream, None) || self.opens.lets_remove(by_others_than)
    }

    /// What is to be removed and is not used any more: streams first, since they are found by a
    /// name.
    pub(super) fn take_unused(&mut self, table: &Table, file: FileId) -> Vec<Last> {
        let opens = &self.opens;
        let unused = |going: &mut RemovalTarget| match going.stream {
            Stream::Data => !opens.has_link(going.link),
            _ => !opens.has_stream(&going.stream),
        };
        let mut unused: Vec<RemovalTarget> = self.removals.extract_if(.., unused).collect();
        unused.sort_by_key(|going| going.stream == Stream::Data);
        let last = unused.into_iter().filter_map(|going| match going.last {
            Remove::Here(last) => Some(last),
            Remove::There { home, told } => {
                if let (false, Some(coordinator)) = (told, table.coordinator()) {
                    coordinator.back(home, file, Back::Remove(going.number));
                }
                self.removals.push(RemovalTarget { last: Remove::There { home, told: true }, ..going });
                None
            }
        });
        last.collect()
    }
}

impl State {
    /// Whether a name of this file is to be removed. A folder has one name, so this means the
    /// folder.
    pub fn is_going(&self, file: FileId) -> Result<bool> {
        Ok(self.table.look(file, |entry| entry.is_going(&Stream::Data, None))?.unwrap_or(false))
    }
}

impl OpenGuard {
    /// From now on this stream (of the data fork: any stream, by the name by which the file is open
    /// here) cannot be opened any more, and the last close of it calls `last`. A second call
    /// changes nothing. In MS-FSA, too, this state belongs to a link of the file: other names of
    /// the file stay open, and can be opened.
    pub fn remove_when_unused(&self, last: Last) {
        self.change_removals(|table, entry, stream, link| {
            if entry.removals.iter().all(|going| (&going.stream, going.link) != (&stream, link)) {
                let (number, last) = (table.number(), Remove::Here(last));
                entry.removals.push(RemovalTarget { stream, link, number, last });
            }
        });
    }

    /// The stream is not removed after all.
    pub fn stay(&self) {
        self.change_removals(|_, entry, stream, link| {
            entry.removals.retain(|going| (&going.stream, going.link) != (&stream, link));
        });
    }

    /// Whether this stream, or the name by which the file is open here, is to be removed. If
    /// another server has the state of the file, what it says comes later: no.
    pub fn is_going(&self) -> bool {
        let is_going = |entry: &Entry| entry.is_going(&self.stream(), self.link);
        self.state.table.look(self.file, is_going).ok().flatten().unwrap_or(false)
    }

    /// Changes the removals of the stream and name that a removal through this open removes.
    fn change_removals(
        &self,
        change: impl FnOnce(&Table, &mut Entry, Stream, Option<Link>) + Send + 'static,
    ) {
        let stream = self.stream();
        let link = self.link.filter(|_| stream == Stream::Data);
        self.state.table.when_here(self.file, move |table, entry| {
            change(table, entry, stream, link);
            Vec::new()
        });
    }

    /// Gives this named stream, with what is held on it, another name. `ShareConflict` if it has
    /// another open, or if a stream of the new name is open.
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
        })?
    }
}
