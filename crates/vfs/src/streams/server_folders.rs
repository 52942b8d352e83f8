//! Folders of other servers' own, looked for where files are: `.AppleDouble` and `@eaDir` in each folder, and Samba's `.streams` in
//! each folder that Samba may have shared, which is any above a file. What was found is remembered, so that a listing asks once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lock::Mutex;

use super::header::ServerFiles;
use super::{Streams, found};
use crate::backend::{Backend, Object};
use crate::mac::depot::DEPOT;
use crate::mac::layout::{NETATALK2_FOLDER, SYNOLOGY_FOLDER};
use crate::ranks;
use crate::{Caller, FileId, HostKey, IdMap, Kind, Result, Time};

/// How long the time of a folder's last change is not asked for again.
const FRESH: Duration = Duration::from_millis(50);
/// Folders that are remembered.
const REMEMBERED: usize = 4_096;
/// Depots of Samba that are used.
const MOST_DEPOTS: usize = 64;

/// What other servers have in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerFolders {
    /// `.AppleDouble` of Netatalk.
    pub netatalk: bool,
    /// `@eaDir` of DSM.
    pub synology: bool,
    /// `.streams` of Samba.
    pub depot: bool,
}

impl ServerFolders {
    /// Whether an entry of this name, if it is a folder, is one of these. Servers and tools use this alone.
    pub fn named(name: &[u8]) -> Self {
        Self { netatalk: name == NETATALK2_FOLDER, synology: name == SYNOLOGY_FOLDER, depot: name == DEPOT }
    }

    /// Looks into a folder.
    ///
    /// # Errors
    /// The host fails.
    pub fn of(folder: &dyn Object) -> Result<Self> {
        let mut all = Self::default();
        for name in [NETATALK2_FOLDER, SYNOLOGY_FOLDER, DEPOT] {
            if !folder.may_have(name) {
                continue;
            }
            let there = found(folder.lookup(&Caller::root(), name))?;
            if there.is_some_and(|there| there.attributes.kind == Kind::Folder) {
                all = all.and(Self::named(name));
            }
        }
        Ok(all)
    }

    /// Whether there is any.
    pub fn any(self) -> bool {
        self != Self::default()
    }

    fn and(self, other: Self) -> Self {
        Self {
            netatalk: self.netatalk || other.netatalk,
            synology: self.synology || other.synology,
            depot: self.depot || other.depot,
        }
    }
}

/// Folders that were looked at, and what was found in any.
#[derive(Default)]
pub(super) struct LookedAt {
    folders: IdMap<FileId, Look>,
    /// Folders with a depot, in the order in which they were found.
    depots: Vec<HostKey>,
}

struct Look {
    when: Instant,
    /// When the folder was last changed.
    changed: Time,
    there: ServerFolders,
}

/// What was found in any folder of a volume.
#[derive(Default)]
pub(super) struct AnyFolders {
    netatalk: AtomicBool,
    others: AtomicBool,
}

impl Streams {
    /// Takes over what another one has found in the same files.
    pub(super) fn knowing(self, other: &Self) -> Self {
        let there = ServerFolders {
            netatalk: other.others().may_have_headers(),
            synology: false,
            depot: other.others().looks_for_other_files(),
        };
        self.others().note(there);
        let depots = other.looked_at.lock().depots.clone();
        self.looked_at.lock().depots = depots;
        self
    }
}

/// What other servers have in the folders of a volume.
#[derive(Clone, Copy)]
pub(crate) struct OtherServers<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) looked_at: &'a Mutex<LookedAt, ranks::SeenSidecars>,
    pub(super) any: &'a AnyFolders,
}

impl OtherServers<'_> {
    /// What other servers have in a folder: as of its last change, or of a moment ago.
    pub(super) fn in_folder(&self, folder: &dyn Object) -> Result<ServerFolders> {
        let id = folder.id();
        let known = self.looked_at.lock().folders.get(&id).map(|look| (look.when, look.changed, look.there));
        if let Some((when, _, there)) = known
            && when.elapsed() < FRESH
        {
            return Ok(there);
        }
        let (when, changed) = (Instant::now(), folder.attributes()?.changed);
        let there = match known {
            Some((_, before, there)) if before == changed => there,
            _ => ServerFolders::of(folder)?,
        };
        if there.any() {
            self.note(there);
        }
        let mut looked_at = self.looked_at.lock();
        if there.depot && looked_at.depots.len() < MOST_DEPOTS && !looked_at.depots.contains(&folder.key()) {
            looked_at.depots.push(folder.key());
        }
        if looked_at.folders.len() >= REMEMBERED {
            looked_at.folders.clear();
        }
        looked_at.folders.insert(id, Look { when, changed, there });
        drop(looked_at);
        if known.is_none() {
            self.look_above(folder)?;
        }
        Ok(there)
    }

    /// Looks at the folders above one that is seen for the first time: a depot of Samba may be there.
    fn look_above(&self, folder: &dyn Object) -> Result<()> {
        if folder.key() == self.backend.root()?.object.key() {
            return Ok(());
        }
        match folder.parent() {
            Ok(above) if above.object.key() != folder.key() => self.in_folder(&*above.object).map(drop),
            _ => Ok(()), // it is gone
        }
    }

    /// A folder was made for another server's files.
    pub(super) fn note_folder(&self, folder: &dyn Object, name: &[u8]) {
        self.note(ServerFolders::named(name));
        self.looked_at.lock().folders.remove(&folder.id());
    }

    fn note(&self, there: ServerFolders) {
        self.any.netatalk.fetch_or(there.netatalk, Ordering::Relaxed);
        self.any.others.fetch_or(there.any(), Ordering::Relaxed);
    }

    /// The folders that have a depot of Samba.
    pub(super) fn with_depots(&self) -> Vec<HostKey> {
        if self.looks_for_other_files() { self.looked_at.lock().depots.clone() } else { Vec::new() }
    }

    /// Whether Netatalk has files of its own in any folder that was seen.
    pub(crate) fn may_have_headers(&self) -> bool {
        self.any.netatalk.load(Ordering::Relaxed)
    }

    /// Whether something of any file may be in files of other servers.
    pub(crate) fn looks_for_other_files(&self) -> bool {
        self.any.others.load(Ordering::Relaxed)
    }

    /// Whether something of a file or folder in this folder may be in files of other servers.
    pub(crate) fn may_be_elsewhere(&self, folder: &dyn Object, kind: Kind) -> bool {
        // Netatalk's files of a folder are in it; and the file may have something in the depot of any folder above.
        let there = self.in_folder(folder);
        there.is_ok_and(|there| there.any())
            || kind == Kind::Folder && self.looks_for_other_files()
            || !self.with_depots().is_empty()
    }

    /// Whether other servers may keep something of files in files beside them, in this folder.
    pub(super) fn looks_beside(&self, folder: &dyn Object) -> Result<bool> {
        let there = self.in_folder(folder)?;
        Ok(there.netatalk || there.synology)
    }
}

impl ServerFiles<'_> {
    /// Whether a folder, or the nearest above it that Netatalk has files in, has Netatalk's layout.
    pub(super) fn is_below_netatalks(&self, folder: &dyn Object) -> Result<bool> {
        if !self.others.may_have_headers() {
            return Ok(false);
        }
        if self.is_netatalks(folder)? {
            return Ok(true);
        }
        let root = self.backend.root()?.object.key();
        let (mut key, mut above) = (folder.key(), folder.parent());
        while key != root
            && let Ok(at) = above
            && at.object.key() != key
        {
            if self.is_netatalks(&*at.object)? {
                return Ok(true);
            }
            (key, above) = (at.object.key(), at.object.parent());
        }
        Ok(false)
    }
}
