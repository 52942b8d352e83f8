//! What a site remembers of files that are locked or read-only, and the note on a share that there are such files.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lock::Mutex;

use crate::backend::{Backend, FileKey, Found, Object, XattrMode};
use crate::caller::server;
use crate::mac::{DosAttributes, FileBits, Metadata};
use crate::ranks;
use crate::{Error, Kind, Result, Time};

/// On a share's folder: there may be such files.
const NOTE: &[u8] = b"user.fourfold.inhibits";
const SHARDS: usize = 16;
/// Files remembered, per shard.
pub(super) const REMEMBERED: usize = 1_024;

/// The bits of some files. Where other servers change them, too, as of the file's time of change.
type Shard = HashMap<FileKey, (FileBits, Option<Time>)>;

/// What the site knows of such files.
#[derive(Default)]
pub(crate) struct InhibitedFileCache {
    pub(super) any: AtomicBool,
    to_note: AtomicBool,
    known: [Mutex<Shard, ranks::InhibitedFiles>; SHARDS],
    /// Raised whenever something is forgotten, so that what was read before is not remembered after.
    pub(super) epoch: AtomicU64,
}

impl InhibitedFileCache {
    /// Takes in what is noted on the root of a share or mount.
    pub(crate) fn look(&self, home: &dyn Object) -> Result<()> {
        if has_note(home)? {
            self.any.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// From now on files are asked for their bits, whether a locked one was ever seen or not.
    pub(crate) fn expect(&self) {
        self.any.store(true, Ordering::Release);
    }

    /// A file has this metadata, or is about to get it.
    pub(crate) fn saw(&self, metadata: FileBits, dos: DosAttributes, kind: Kind) {
        if counting(metadata, dos, kind) != FileBits::default() && !self.any.swap(true, Ordering::AcqRel) {
            self.to_note.store(true, Ordering::Release);
        }
    }

    /// A file of a volume has this metadata, or is about to get it.
    pub(crate) fn learn(&self, backend: &dyn Backend, of: &Found, metadata: &Metadata) {
        self.saw(metadata.bits, metadata.dos, of.attributes.kind);
        self.note(backend);
    }

    /// Whether any file may be locked. `false` costs nothing and is certain.
    pub(crate) fn has_any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Notes on the volume that it has such files. If the volume cannot be written, the server has
    /// to see such a file again after its next start.
    fn note(&self, backend: &dyn Backend) {
        if !self.to_note.swap(false, Ordering::AcqRel) {
            return;
        }
        let noted = backend.root().and_then(|root| note(&*root.object));
        if let Err(error) = noted {
            tracing::debug!(%error, "not noted that the volume has locked files");
        }
    }

    /// Every few seconds: forgets what programs other than this server may have changed.
    pub(crate) fn tend(&self, backend: &dyn Backend) {
        self.note(backend);
        self.forget_all();
    }

    /// Forgets what may have changed.
    pub(crate) fn forget_all(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        if self.any.load(Ordering::Acquire) {
            self.known.iter().for_each(|shard| shard.lock().clear());
        }
    }

    pub(super) fn shard(&self, file: &FileKey) -> &Mutex<Shard, ranks::InhibitedFiles> {
        let bytes = file.1.as_bytes().iter();
        &self.known[bytes.fold(0_usize, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % SHARDS]
    }
}

/// Whether it is noted on a folder that there may be such files.
pub(crate) fn has_note(home: &dyn Object) -> Result<bool> {
    match home.xattr(NOTE) {
        Ok(_) => Ok(true),
        Err(Error::NoSuchAttribute | Error::NotSupported) => Ok(false),
        Err(other) => Err(other),
    }
}

/// Notes on a folder that there may be such files.
pub(crate) fn note(home: &dyn Object) -> Result<()> {
    home.set_xattr(server(), NOTE, b"1", XattrMode::Set)
}

/// The bits of a file's metadata that apply.
pub(crate) fn inhibits(metadata: &Metadata, kind: Kind) -> FileBits {
    counting(metadata.bits, metadata.dos, kind)
}

/// The contents of a folder are its entries, which may come and go. The read-only attribute of a
/// folder forbids nothing, as in Windows.
fn counting(bits: FileBits, dos: DosAttributes, kind: Kind) -> FileBits {
    let counting = bits & FileBits::LOCKED;
    if kind == Kind::Folder {
        return counting.difference(FileBits::WRITE_INHIBIT);
    }
    match dos.contains(DosAttributes::READONLY) && !counting.contains(FileBits::LOCKED) {
        true => counting | FileBits::WRITE_INHIBIT | FileBits::READ_ONLY,
        false => counting,
    }
}
