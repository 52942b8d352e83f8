//! Operations on a file that a client has forbidden: write it, move it, remove it. The bits are
//! part of the metadata of the file ([`FileBits::LOCKED`]; Windows' read-only is the first of
//! them). They bind all clients, over every protocol.
//!
//! A site that has never had such a file checks no file: one atomic load. The first time such a
//! file is made or seen, this is noted on the share's folder. From then on the server checks each
//! file when it is to be changed, and again after [`Volume::tend`]. An open file is not checked
//! again, as this was decided when it was opened. Where other servers change the folder, too, each
//! file is checked each time; what is shown of it is asked again when its time of change is another.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lock::Mutex;

use crate::backend::Node;
use crate::backend::{Backend, FileKey, Found, Object, RenameMode, XattrMode, file_key};
use crate::caller::server;
use crate::described::by_mode::WRITE_BITS;
use crate::mac::layout::sidecar_owner;
use crate::mac::{DosAttributes, FileBits, Metadata};
use crate::ranks;
use crate::{Actor, Attributes, Caller, Error, Kind, Result, Time, Volume, streams};

/// On a share's folder: there may be such files.
const NOTE: &[u8] = b"user.fourfold.inhibits";
const SHARDS: usize = 16;
/// Files remembered, per shard.
const REMEMBERED: usize = 1_024;

/// The bits of some files. Where other servers change them, too, as of the file's time of change.
type Shard = HashMap<FileKey, (FileBits, Option<Time>)>;

/// What the site knows of such files.
#[derive(Default)]
pub(crate) struct InhibitedFileCache {
    any: AtomicBool,
    to_note: AtomicBool,
    known: [Mutex<Shard, ranks::InhibitedFiles>; SHARDS],
    /// Raised whenever something is forgotten, so that what was read before is not remembered after.
    epoch: AtomicU64,
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

    fn shard(&self, file: &FileKey) -> &Mutex<Shard, ranks::InhibitedFiles> {
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

impl Volume {
    /// Whether a file is locked or read-only by its metadata, whatever its mode says: to a client
    /// without such attributes it is immutable.
    pub fn is_locked(&self, of: &Node) -> Result<bool> {
        Ok(of.kind() == Kind::File && self.inhibits(of)?.contains(FileBits::WRITE_INHIBIT))
    }

    /// The mode that is shown to clients that know modes only: a locked file has no right to write. `now` are fresh attributes
    /// of the file.
    pub fn mode_with_locks(&self, of: &Node, now: &Attributes) -> u32 {
        let is_locked = of.kind() == Kind::File
            && self
                .inhibitions()
                .bits_as_of(of, Some(now.changed))
                .is_ok_and(|bits| bits.contains(FileBits::WRITE_INHIBIT));
        // A file that cannot be read is no reason to show no attributes.
        if is_locked { now.mode & !WRITE_BITS } else { now.mode }
    }

    /// The operations that are forbidden on a file or folder: the bits of [`FileBits::LOCKED`] and
    /// [`FileBits::READ_ONLY`] that apply.
    pub fn inhibits(&self, of: &Node) -> Result<FileBits> {
        self.inhibitions().bits_as_of(of, None)
    }

    /// What the metadata of files forbid.
    pub(crate) fn inhibitions(&self) -> Inhibitions<'_> {
        Inhibitions(self)
    }
}

/// The operations on the files of a volume that their metadata forbid.
pub(crate) struct Inhibitions<'a>(&'a Volume);

impl Inhibitions<'_> {
    /// The bits that apply to a file. Where other servers change them, too, they are asked for, unless they are known of the
    /// file as it was changed last at this time.
    fn bits_as_of(&self, of: &Node, changed: Option<Time>) -> Result<FileBits> {
        if !matches!(of.kind(), Kind::File | Kind::Folder) {
            return Ok(FileBits::default());
        }
        self.0.homes.learn(&of.key())?;
        if !self.0.site.inhibited.any.load(Ordering::Acquire) {
            return Ok(FileBits::default());
        }
        let as_of = if self.0.options.shared { changed } else { None };
        let may_be_known = as_of.is_some() || !self.0.options.shared;
        let key = file_key(&**of);
        if may_be_known
            && let Some((bits, known_as_of)) = self.0.site.inhibited.shard(&key).lock().get(&key)
            && *known_as_of == as_of
        {
            return Ok(*bits);
        }
        let epoch = self.0.site.inhibited.epoch.load(Ordering::Acquire);
        let (bits, is_own) = self.ask(of)?;
        if !may_be_known || (as_of.is_some() && !is_own) {
            return Ok(bits);
        }
        let mut shard = self.0.site.inhibited.shard(&key).lock();
        if shard.len() >= REMEMBERED {
            shard.clear();
        }
        if self.0.site.inhibited.epoch.load(Ordering::Acquire) == epoch {
            shard.insert(key, (bits, as_of));
        }
        Ok(bits)
    }

    /// The bits, and whether all that says so is in the file's own attributes. What describes a file to Macs, `._name`, changes
    /// with the file's contents. A file without attributes costs one call.
    fn ask(&self, of: &Node) -> Result<(FileBits, bool)> {
        let names = streams::names(&**of)?;
        let (described, is_own) = self.described_by_all(of, &names)?;
        let own = inhibits(&described, of.kind());
        let Some(streams) = self.0.streams.as_ref().filter(|_| of.kind() == Kind::File) else {
            return Ok((own, is_own));
        };
        let owner = match streams.owner_among(&**of, &names)? {
            Some(key) => self.0.backend.by_key(&key),
            None => return Ok((own, is_own)),
        };
        match owner {
            Ok(owner) => {
                let described = streams::load_alone(&*owner.object)?.0;
                let mut inhibits = own;
                inhibits.set(FileBits::WRITE_INHIBIT, described.is_readonly());
                Ok((inhibits, false))
            }
            Err(Error::Stale) => Ok((own, false)),
            Err(other) => Err(other),
        }
    }

    /// The metadata of a file as far as they say what is forbidden: those in its attributes, which have these names, and in
    /// Netatalk's header file if it is known where the file is. And whether only the attributes were read.
    fn described_by_all(&self, of: &Node, names: &[Vec<u8>]) -> Result<(Metadata, bool)> {
        if let Some(streams) = self.0.streams.as_ref().filter(|streams| streams.may_have_headers()) {
            let found = Found { object: of.clone(), attributes: of.attributes()? };
            if let Some((folder, name)) = self.0.place_search().hint(&found) {
                let file = streams::File { folder: &*folder.object, name: &name, object: &**of };
                return Ok((streams.load_among(&file, names, streams.may_have_sidecar(&file))?.0, false));
            }
            return Ok((streams::load_from(&|name| of.xattr(name), names)?.0, false));
        }
        Ok((streams::load_from(&|name| of.xattr(name), names)?.0, true))
    }

    /// Fails where an entry of a folder may not be removed.
    pub(crate) fn may_take_away(&self, actor: &Actor, folder: &Found, name: &[u8]) -> Result<()> {
        self.entry_may_despite(folder, name, FileBits::DELETE_INHIBIT | read_only_for(actor))
    }

    /// Fails if an entry may not be moved, or if the entry at its target may not make way for it.
    pub(crate) fn may_move_away(
        &self,
        from: (&Found, &[u8]),
        to: (&Found, &[u8]),
        mode: RenameMode,
        actor: &Actor,
    ) -> Result<()> {
        let bits = FileBits::RENAME_INHIBIT | read_only_for(actor);
        self.entry_may_despite(from.0, from.1, bits)?;
        match mode {
            RenameMode::Exchange => self.entry_may_despite(to.0, to.1, bits),
            _ => self.may_take_away(actor, to.0, to.1),
        }
    }

    /// Fails if one of these bits forbids the operation.
    pub(crate) fn may_despite(&self, of: &Node, bits: FileBits) -> Result<()> {
        if self.bits_as_of(of, None)?.0 & bits.0 != 0 { Err(Error::Locked) } else { Ok(()) }
    }

    /// Fails if the data of a file may not be written. For a client that has the file open this was decided when it was
    /// opened: what it has written since then must not be lost.
    pub(crate) fn may_write_despite(&self, actor: &Actor, of: &Node) -> Result<()> {
        if actor.open.is_some() { Ok(()) } else { self.may_despite(of, FileBits::WRITE_INHIBIT) }
    }

    /// Fails if one of these bits of an entry of a folder forbids the operation.
    fn entry_may_despite(&self, folder: &Found, name: &[u8], bits: FileBits) -> Result<()> {
        self.0.homes.learn(&folder.object.key())?;
        if !self.0.site.inhibited.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let (name, bits) = match sidecar_owner(name) {
            Some(owner) if self.0.streams.is_some() => (owner, FileBits::WRITE_INHIBIT),
            _ => (name, bits),
        };
        match folder.object.lookup(&Caller::root(), name) {
            Ok(found) => self.may_despite(&found.object, bits),
            Err(Error::NotFound | Error::NameTooLong) => Ok(()),
            Err(other) => Err(other),
        }
    }
}

/// What Windows' read-only attribute forbids besides writing. Only SMB removes and moves files through
/// an open. It allows moving, and its clients may remove the file in spite of the attribute.
fn read_only_for(actor: &Actor) -> FileBits {
    if actor.open.is_some() { FileBits::default() } else { FileBits::READ_ONLY }
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
