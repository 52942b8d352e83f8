//! The time of a file's last change of attributes, where a client has set it. The host keeps that
//! time itself and cannot be told another one. So the time that the client set is remembered here.
//! It is shown as long as the host's own time stays as it was then: until the file changes again,
//! or the server ends.

use std::sync::atomic::{AtomicBool, Ordering};

use lock::Mutex;

use crate::ranks;
use crate::{Attributes, FileId, IdMap, Time};

/// The most files whose time is remembered. With more files, all of them are forgotten.
const MOST: usize = 16_384;

#[derive(Default)]
pub(crate) struct ChangeTimeTable {
    any: AtomicBool,
    /// The host's time, and the time that is shown as long as the host's time is this one.
    table: Mutex<IdMap<FileId, (Time, Time)>, ranks::ChangeTimes>,
}

impl ChangeTimeTable {
    /// The time when a file's attributes last changed, as clients see it. One atomic load as long
    /// as no client has set such a time.
    pub(crate) fn of(&self, attributes: &Attributes) -> Time {
        if !self.any.load(Ordering::Relaxed) {
            return attributes.changed;
        }
        match self.table.lock().get(&attributes.id) {
            Some((host, shown)) if *host == attributes.changed => *shown,
            _ => attributes.changed,
        }
    }

    /// Shows another time than the host's, until there is another change.
    pub(crate) fn show(&self, now: &Attributes, shown: Time) {
        let mut table = self.table.lock();
        if table.len() >= MOST {
            table.clear();
        }
        table.insert(now.id, (now.changed, shown));
        self.any.store(true, Ordering::Relaxed);
    }
}
