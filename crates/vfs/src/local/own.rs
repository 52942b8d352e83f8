//! Changes made by this server, which the host reports like those of other programs.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use lock::Mutex;

use super::{HeardEntry, Locals};
use crate::FileId;
use crate::backend::Heard;
use crate::events::Name;
use crate::ranks;

/// The most changes whose echo is awaited. With one more, the oldest is forgotten, and published
/// twice.
const MAX_OWN: usize = 1_024;

/// The kind of echo that a change has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EchoKind {
    /// One creation.
    Created,
    /// One removal.
    Removed,
    /// One move from here.
    MovedFrom,
    /// One move to here.
    MovedTo,
    /// Any number of changes to its attributes.
    Attributes,
    /// Any number of changes to its data.
    Data,
    /// Any number of anything: the file that goes along with another one.
    Anything,
}

/// The changes in flight, and those whose echo may still be in the host's queue.
///
/// A change is announced before it is made, as its event may arrive before the call returns. The
/// host queues the event before that. So a thread that empties the queue after the change was
/// finished has its echo. If it had none, there will be none.
#[derive(Default)]
pub(super) struct OwnChanges {
    hasher: RandomState,
    changes: Mutex<Changes, ranks::OwnChanges>,
}

#[derive(Default)]
struct Changes {
    next: u64,
    /// In the order of the tickets.
    ring: VecDeque<ExpectedEcho>,
    /// Where the last echo was found. The next one is often just behind it.
    last: usize,
}

struct ExpectedEcho {
    ticket: u64,
    folder: FileId,
    name: Name,
    /// The hash of `folder` and `name`. Other changes are told apart by it, without a look at their names: all changes of a busy
    /// folder are searched for each event that is no echo.
    hash: u64,
    what: EchoKind,
    finished: bool,
    /// The entries that were taken for its echo.
    taken: Vec<HeardEntry>,
}

impl ExpectedEcho {
    fn is_echoed_by(&self, entry: &HeardEntry, hash: u64) -> bool {
        if self.hash != hash {
            return false;
        }
        let right = match self.what {
            EchoKind::Created => entry.what == Heard::Created,
            EchoKind::Removed => entry.what == Heard::Removed,
            EchoKind::MovedFrom => matches!(entry.what, Heard::MovedFrom(_)),
            EchoKind::MovedTo => matches!(entry.what, Heard::MovedTo(_)),
            EchoKind::Attributes if entry.what != Heard::Attributes => return false,
            EchoKind::Data if entry.what != Heard::Data => return false,
            EchoKind::Attributes | EchoKind::Data | EchoKind::Anything => {
                return (self.folder, &self.name) == (entry.folder, &entry.name);
            }
        };
        right && self.taken.is_empty() && (self.folder, &self.name) == (entry.folder, &entry.name)
    }
}

impl OwnChanges {
    pub(super) fn announce<'p>(&self, places: impl Iterator<Item = &'p (FileId, &'p [u8], EchoKind)>) -> u64 {
        let expected = places.map(|&(folder, name, what)| {
            let (hash, name) = (self.hash_of(folder, name), Name::from(name));
            ExpectedEcho { ticket: 0, folder, name, hash, what, finished: false, taken: Vec::new() }
        });
        let expected: Vec<ExpectedEcho> = expected.collect(); // before the lock
        let mut changes = self.changes.lock();
        changes.next += 1;
        let ticket = changes.next;
        for expected in expected {
            if changes.ring.len() >= MAX_OWN {
                changes.ring.pop_front();
                changes.last = changes.last.saturating_sub(1);
            }
            changes.ring.push_back(ExpectedEcho { ticket, ..expected });
        }
        ticket
    }

    fn hash_of(&self, folder: FileId, name: &[u8]) -> u64 {
        self.hasher.hash_one((folder, name))
    }

    /// Returns the entry unless it is an echo.
    pub(super) fn take_echo(&self, entry: HeardEntry) -> Option<HeardEntry> {
        let hash = self.hash_of(entry.folder, &entry.name);
        let mut changes = self.changes.lock();
        let Changes { ring, last, .. } = &mut *changes;
        let from = (*last).min(ring.len());
        let is_echo = |at: &usize| ring[*at].is_echoed_by(&entry, hash);
        let Some(at) = (from..ring.len()).chain(0..from).find(is_echo) else { return Some(entry) };
        *last = at;
        let expected = &mut ring[at];
        if !matches!(expected.what, EchoKind::Attributes | EchoKind::Data | EchoKind::Anything) {
            expected.taken.push(entry);
        }
        None
    }

    /// The changes that were finished before now, in order.
    pub(super) fn finished(&self) -> Vec<u64> {
        let changes = self.changes.lock();
        changes.ring.iter().filter(|expected| expected.finished).map(|expected| expected.ticket).collect()
    }

    pub(super) fn forget(&self, finished: &[u64]) {
        if !finished.is_empty() {
            let is_over = |expected: &ExpectedEcho| finished.binary_search(&expected.ticket).is_ok();
            let mut changes = self.changes.lock();
            changes.last = 0;
            changes.ring.retain(|expected| !is_over(expected));
        }
    }

    fn end(&self, ticket: u64, made: bool) -> Vec<HeardEntry> {
        let ring = &mut self.changes.lock().ring;
        let mut not_ours = Vec::new();
        // It is one of the last ones.
        let at = ring.iter().rposition(|expected| expected.ticket < ticket).map_or(0, |before| before + 1);
        let here = ring.iter().skip(at).take_while(|expected| expected.ticket == ticket).count();
        if made {
            ring.range_mut(at..at + here).for_each(|expected| expected.finished = true);
        } else {
            ring.drain(at..at + here).for_each(|mut expected| not_ours.append(&mut expected.taken));
        }
        not_ours
    }
}

/// A change by this server, announced to all volumes that watch its folders. If it is dropped
/// without [`Own::made`], it has failed: the entries that were taken for its echo were changes by
/// another program.
#[derive(Default)]
pub(crate) struct Own {
    announced: Vec<(Arc<Locals>, u64)>,
    made: bool,
}

impl Own {
    /// Announces the change to one more volume.
    pub(super) fn announce(&mut self, locals: &Arc<Locals>, places: &[(FileId, &[u8], EchoKind)]) {
        if !locals.any() {
            return;
        }
        let tree = locals.tree.lock();
        let echoes = |(folder, _, what): &&(FileId, &[u8], EchoKind)| match what {
            EchoKind::Data => tree.hears_writes(*folder),
            _ => tree.has(*folder),
        };
        let watched = || places.iter().filter(echoes);
        if watched().next().is_some() {
            self.announced.push((locals.clone(), locals.own.announce(watched())));
        }
    }

    /// Whether no echo of the change is to be expected.
    pub(crate) fn is_silent(&self) -> bool {
        self.announced.is_empty()
    }

    /// The change is made.
    pub(crate) fn made(mut self) {
        self.made = true;
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for (locals, ticket) in self.announced.drain(..) {
            locals.push(locals.own.end(ticket, self.made));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: FileId = FileId::new(0, 1);

    fn created(name: &str) -> HeardEntry {
        let name = name.as_bytes().into();
        HeardEntry { folder: FOLDER, name, what: Heard::Created, of_folder: false }
    }

    fn announce(locals: &Arc<Locals>, name: &str) -> Own {
        let ticket = locals.own.announce([(FOLDER, name.as_bytes(), EchoKind::Created)].iter());
        Own { announced: vec![(locals.clone(), ticket)], made: false }
    }

    fn is_echo(locals: &Locals, name: &str) -> bool {
        locals.own.take_echo(created(name)).is_none()
    }

    #[test]
    fn a_change_has_one_echo_while_it_is_made_or_just_after() {
        let locals = Arc::new(Locals::default());
        let own = announce(&locals, "a");
        assert!(!is_echo(&locals, "b") && is_echo(&locals, "a") && !is_echo(&locals, "a"));
        own.made();
        announce(&locals, "late").made();
        let finished = locals.own.finished();
        assert!(is_echo(&locals, "late"));
        locals.own.forget(&finished);
        assert!(!is_echo(&locals, "late"));
    }

    #[test]
    fn a_change_under_way_outlives_a_hearing() {
        let locals = Arc::new(Locals::default());
        let own = announce(&locals, "a");
        locals.own.forget(&locals.own.finished());
        assert!(is_echo(&locals, "a"));
        own.made();
    }

    #[test]
    fn what_looked_like_the_echo_of_a_change_that_failed_is_told() {
        let locals = Arc::new(Locals::default());
        let own = announce(&locals, "a");
        assert!(is_echo(&locals, "a"));
        drop(own);
        let told: Vec<Name> = locals.heard.lock().entries.iter().map(|entry| entry.name.clone()).collect();
        assert_eq!(told, [Name::from(b"a".as_slice())]);
        assert!(!is_echo(&locals, "a"));
    }

    #[test]
    fn of_too_many_changes_the_oldest_are_forgotten() {
        let locals = Arc::new(Locals::default());
        let names: Vec<String> = (0..=MAX_OWN).map(|number| format!("{number}")).collect();
        names.iter().for_each(|name| announce(&locals, name).made());
        assert!(
            !is_echo(&locals, &names[0]) && is_echo(&locals, &names[1]) && is_echo(&locals, &names[MAX_OWN])
        );
    }
}
