//! Files whose maker says their mode afterwards: an exclusive create of NFS has no room for it, RFC 1813 3.3.8 and RFC 7530 16.16.
//! What a share makes of the modes of new files counts for that mode, too.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lock::Mutex;

use super::share_rules::ModeRule;
use crate::backend::{Found, NewKind};
use crate::{FileId, Kind, SetAttributes, Volume, ranks};

/// Files that are remembered; of more the oldest is forgotten.
const MOST: usize = 1_024;
/// A client says the mode at once. After this time it is another change.
const LIMIT: Duration = Duration::from_secs(60);

/// The files of a volume that wait for their mode.
#[derive(Default)]
pub(crate) struct AwaitedModes {
    /// Whether there are any: a change of attributes costs one atomic load.
    any: AtomicBool,
    files: Mutex<VecDeque<(FileId, Instant)>, ranks::AwaitedModes>,
}

impl AwaitedModes {
    fn add(&self, file: FileId, now: Instant) {
        let mut files = self.files.lock();
        files.retain(|(other, _)| *other != file);
        if files.len() == MOST {
            files.pop_front();
        }
        files.push_back((file, now));
        self.any.store(true, Ordering::Release);
    }

    /// Whether the file waits for its mode. It waits no more.
    fn take(&self, file: FileId, now: Instant) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let mut files = self.files.lock();
        files.retain(|(_, since)| now.saturating_duration_since(*since) < LIMIT);
        let before = files.len();
        files.retain(|(other, _)| *other != file);
        self.any.store(!files.is_empty(), Ordering::Release);
        files.len() < before
    }
}

impl Volume {
    /// The client that has just made a file says its mode next, by a change of its attributes.
    pub fn await_mode(&self, of: &Found) {
        if self.options.rules.of(NewKind::File).is_some_and(|rule| rule != ModeRule::default()) {
            self.awaited_modes.add(of.object.id(), Instant::now());
        }
    }

    /// A change of attributes with the mode that the rules of the share make of that of a new file, if it is one.
    pub(crate) fn as_of_new(&self, of: &Found, changes: &SetAttributes) -> SetAttributes {
        let is_of_new = |of: &Found| {
            of.attributes.kind == Kind::File && self.awaited_modes.take(of.object.id(), Instant::now())
        };
        let mode = match changes.mode {
            Some(mode) if is_of_new(of) => {
                self.options.rules.of(NewKind::File).map(|rule| rule.apply(mode)).or(changes.mode)
            }
            other => other,
        };
        SetAttributes { mode, ..*changes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(inode: u64) -> FileId {
        FileId::new(0, inode)
    }

    #[test]
    fn a_file_waits_for_one_mode_and_not_for_ever() {
        let (modes, now) = (AwaitedModes::default(), Instant::now());
        assert!(!modes.take(file(1), now));
        modes.add(file(1), now);
        modes.add(file(2), now);
        assert!(modes.take(file(1), now) && !modes.take(file(1), now));
        assert!(!modes.take(file(2), now + LIMIT));
    }

    #[test]
    fn of_many_files_the_oldest_is_forgotten() {
        let (modes, now) = (AwaitedModes::default(), Instant::now());
        (0..=MOST as u64).for_each(|inode| modes.add(file(inode), now));
        assert!(!modes.take(file(0), now) && modes.take(file(1), now) && modes.take(file(MOST as u64), now));
    }
}
