//! The journal of replaced bands: the way back for bundles on a file system without snapshots.
//!
//! ```text
//! no client writes ─► begin: lists are copied, the bands are named with their sizes and times ─► a point
//! a client changes a band for the first time since then ─► the band is copied, and on the disk ─► the change goes on
//! a client removes a band ─► the journal has it by a hard link, or as a copy
//! ```
//!
//! The bands of a point are those in its journal, then those in the journals after it, then those of the bundle. So a session
//! costs the space of the bands that it changes, and one more write of each. A power cut at any moment leaves a journal that is
//! right, as a copy is on the disk before its band changes. A copy that cannot be made does not stop the backup: the journal is
//! given up, and its points are gone.
//!
//! The hooks are in `changing/pipeline`, for all protocols. What local programs change is not in the journal. It is noticed by
//! the sizes and times when a point is verified.

mod point;
mod restoring;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lock::{Mutex, RwLock};

use crate::backend::copying::{copy_data, keep_times};
use crate::backend::{Found, NewKind, Node, Object, RenameMode, Stability};
use crate::caller::server;
use crate::mac::sparse_bundle::band_number;
use crate::ranks;
use crate::{Attributes, Error, FileId, Result, SetAttributes, Volume};

pub use self::point::JournalPoint;
pub(crate) use self::point::PointBands;

/// Bands of one journal that are copied at the same time.
const TURNS: u64 = 8;
/// A file of a journal that was given up.
const BROKEN: &[u8] = b"broken";
/// What a name ends with until the file is whole.
const UNFINISHED: &str = ".new";

/// The journals of the bundles in a volume.
#[derive(Clone, Copy)]
pub struct BackupJournals<'a> {
    volume: &'a Volume,
}

impl Volume {
    /// The journals of its bundles.
    pub fn backup_journals(&self) -> BackupJournals<'_> {
        BackupJournals { volume: self }
    }
}

/// The journals of all bundles of a server.
#[derive(Default)]
pub(crate) struct BandJournals {
    /// There is one. Most servers have none, and ask no more.
    is_used: AtomicBool,
    /// Changes since there are journals.
    changes: AtomicU64,
    known: RwLock<KnownBands, ranks::JournalledBands>,
}

#[derive(Default)]
struct KnownBands {
    /// The bands that are not in the newest journal of their bundle yet.
    bands: HashMap<FileId, KnownBand>,
    /// The folders of bands.
    folders: HashMap<FileId, Arc<OpenJournal>>,
}

#[derive(Clone)]
struct KnownBand {
    journal: Arc<OpenJournal>,
    number: u64,
}

/// The newest journal of a bundle, into which bands are copied.
struct OpenJournal {
    bundle: Vec<u8>,
    /// Its folder,
    folder: Node,
    /// and the folder in it that has the bands.
    kept: Node,
    /// Held while a band is copied, one for some of the bands.
    turns: [Mutex<(), ranks::KeepingBands>; TURNS as usize],
}

impl BandJournals {
    /// Whether a band has to be copied before it may change.
    #[inline]
    pub(crate) fn has(&self, file: FileId) -> bool {
        self.is_used.load(Ordering::Acquire) && self.known.read().bands.contains_key(&file)
    }

    /// Copies a band that is about to change. Blocks.
    #[inline]
    pub(crate) fn before_change(&self, node: &Node) {
        if self.is_used.load(Ordering::Acquire) {
            self.changes.fetch_add(1, Ordering::Relaxed);
            self.keep_all(node);
        }
    }

    fn keep_all(&self, node: &Node) {
        let file = node.id();
        // A new journal may have begun meanwhile.
        while let Some(KnownBand { journal, number }) = self.band(file) {
            let _turn = journal.turns[(number % TURNS) as usize].lock();
            let is_same = self.band(file).is_some_and(|now| Arc::ptr_eq(&now.journal, &journal));
            if !is_same {
                continue; // another request has copied it
            }
            match journal.copy(node, number) {
                Ok(()) => _ = self.known.write().bands.remove(&file),
                Err(error) => self.give_up(&journal, error),
            }
        }
    }

    /// Keeps a band whose name is about to go, by a link if the host can do that. Blocks.
    #[inline]
    pub(crate) fn before_entry(&self, folder: &Node, name: &[u8]) {
        if !self.is_used.load(Ordering::Acquire) {
            return;
        }
        let Some(journal) = self.known.read().folders.get(&folder.id()).cloned() else { return };
        let is_band = band_number(name).is_some();
        let Some(found) = folder.lookup(server(), name).ok().filter(|_| is_band) else { return };
        if !self.has(found.object.id()) {
            return;
        }
        // A client that has it open may still change it: it is copied then.
        match journal.kept.link(server(), &*found.object, name) {
            Ok(()) | Err(Error::Exists) => {}
            Err(_) => self.keep_all(&found.object),
        }
    }

    fn band(&self, file: FileId) -> Option<KnownBand> {
        self.known.read().bands.get(&file).cloned()
    }

    /// The journal misses something from now on, so its points and those before are gone.
    fn give_up(&self, journal: &Arc<OpenJournal>, error: Error) {
        tracing::warn!(
            bundle = %String::from_utf8_lossy(&journal.bundle),
            %error,
            "the journal of a backup is given up, and its restore points are gone"
        );
        // On a full disk the mark may be missing. Then the times of the bands tell that the points are not whole.
        let _ = journal.folder.remove(server(), point::MANIFEST);
        if let Err(error) = journal.folder.create(server(), BROKEN, NewKind::File, 0o600) {
            tracing::debug!(%error, "the journal is not marked");
        }
        self.close(journal);
    }

    fn close(&self, journal: &Arc<OpenJournal>) {
        let mut known = self.known.write();
        known.bands.retain(|_, band| !Arc::ptr_eq(&band.journal, journal));
        known.folders.retain(|_, open| !Arc::ptr_eq(open, journal));
    }

    /// The bands of a bundle go into this journal from now on.
    fn open(&self, journal: &Arc<OpenJournal>, folder: FileId, bands: impl Iterator<Item = (FileId, u64)>) {
        self.forget(folder);
        let mut known = self.known.write();
        let known_band = |number| KnownBand { journal: journal.clone(), number };
        known.bands.extend(bands.map(|(file, number)| (file, known_band(number))));
        known.folders.insert(folder, journal.clone());
        self.is_used.store(true, Ordering::Release);
    }

    /// The bundle with this folder of bands has no journal any more.
    fn forget(&self, folder: FileId) {
        let there = self.known.read().folders.get(&folder).cloned();
        there.iter().for_each(|journal| self.close(journal));
    }

    fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}

impl OpenJournal {
    fn new(bundle: &[u8], folder: Node, kept: Node) -> Arc<Self> {
        Arc::new(Self { bundle: bundle.to_vec(), folder, kept, turns: Default::default() })
    }

    /// The band as it is now, on the disk when this returns.
    fn copy(&self, node: &Node, number: u64) -> Result<()> {
        let (name, unfinished) = (format!("{number:x}"), format!("{number:x}{UNFINISHED}"));
        // Another thread has copied it before the server went on with this journal. A link is no copy.
        if self.kept.lookup(server(), name.as_bytes()).is_ok_and(|kept| kept.object.id() != node.id()) {
            return Ok(());
        }
        let from = Found { attributes: node.attributes()?, object: node.clone() };
        copy_into(&self.kept, unfinished.as_bytes(), &from, &mut |_| {})?;
        self.kept.rename(
            server(),
            unfinished.as_bytes(),
            &*self.kept,
            name.as_bytes(),
            RenameMode::Replace,
        )?;
        self.kept.sync(Stability::File)
    }
}

/// A copy of a file by a name that nothing else has, with its owner, mode and times, on the disk. A client that moves a file of another
/// person into its bundle must not get a copy of its own.
fn copy_into(folder: &Node, name: &[u8], from: &Found, bytes: &mut dyn FnMut(u64)) -> Result<Found> {
    match folder.remove(server(), name) {
        Ok(()) | Err(Error::NotFound) => {} // a crash has left it
        Err(error) => return Err(error),
    }
    let to = folder.create(server(), name, NewKind::File, from.attributes.mode & 0o777)?;
    let copied = copy_data(from, &to, bytes)
        .and_then(|()| keep_access(from, &*to.object))
        .and_then(|()| keep_times(from, &*to.object))
        .and_then(|()| to.object.sync(Stability::File));
    match copied {
        Ok(()) => Ok(to),
        Err(error) => {
            let _ = folder.remove(server(), name); // the first error counts
            Err(error)
        }
    }
}

/// Gives a file the owner and the mode of another one. A server without root has all files as its own.
fn keep_access(source: &Found, target: &dyn Object) -> Result<()> {
    let Attributes { uid, gid, mode, .. } = source.attributes;
    let ids = SetAttributes { uid: Some(uid), gid: Some(gid), ..SetAttributes::default() };
    match target.set_attributes(server(), &ids) {
        Ok(()) | Err(Error::NotPermitted | Error::AccessDenied) => {}
        Err(error) => return Err(error),
    }
    target.set_attributes(server(), &SetAttributes { mode: Some(mode), ..SetAttributes::default() })
}
