//! What clients saw when they looked sidecars up.

use std::collections::HashMap;
use std::time::SystemTime;

use crate::{HostKey, Time};

/// How many files are remembered.
const REMEMBERED: usize = 16_384;

/// What clients saw when they looked sidecars up.
#[derive(Default)]
pub(super) struct SidecarViews {
    /// The places of files whose sidecar is composed: their folder, and their name in it.
    places: HashMap<HostKey, (HostKey, Vec<u8>)>,
    /// The files of sidecars on the disk that do not name their file: other servers have written these.
    owners: HashMap<HostKey, HostKey>,
    /// Files whose sidecar on the disk has the model in its head, as it was described at this time.
    current: HashMap<HostKey, Time>,
}

/// A file that was described more recently may be described again at the same time, by the host's clock.
const SETTLED: std::time::Duration = std::time::Duration::from_secs(1);

impl SidecarViews {
    pub(super) fn remember(&mut self, key: HostKey, place: (HostKey, Vec<u8>)) {
        if self.places.len() >= REMEMBERED {
            self.places.clear(); // clients look again
        }
        self.places.insert(key, place);
    }

    pub(super) fn place(&self, key: &HostKey) -> Option<(HostKey, Vec<u8>)> {
        self.places.get(key).cloned()
    }

    /// Remembers that a sidecar says what the model says.
    pub(super) fn remember_current(&mut self, key: HostKey, described: Time) {
        if Time::from(SystemTime::now()).since(described) < SETTLED {
            return;
        }
        if self.current.len() >= REMEMBERED {
            self.current.clear(); // they are compared again
        }
        self.current.insert(key, described);
    }

    pub(super) fn is_current(&self, key: &HostKey, described: Time) -> bool {
        self.current.get(key) == Some(&described)
    }

    pub(super) fn remember_owner(&mut self, sidecar: HostKey, owner: HostKey) {
        if self.owners.len() >= REMEMBERED {
            self.owners.clear();
        }
        self.owners.insert(sidecar, owner);
    }

    /// The file of a sidecar that does not name it.
    pub(super) fn owner(&self, sidecar: &HostKey) -> Option<HostKey> {
        self.owners.get(sidecar).copied()
    }
}
