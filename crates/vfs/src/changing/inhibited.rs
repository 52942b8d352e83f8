//! Operations on a file that a client has forbidden: write it, move it, remove it. The bits are
//! part of the metadata of the file ([`FileBits::LOCKED`]; Windows' read-only is the first of
//! them). They bind all clients, over every protocol.
//!
//! A site that has never had such a file checks no file: one atomic load. The first time such a
//! file is made or seen, this is noted on the share's folder. From then on the server checks each
//! file when it is to be changed, and again after [`Volume::tend`]. An open file is not checked
//! again, as this was decided when it was opened. Where other servers change the folder, too, each
//! file is checked each time; what is shown of it is asked again when its time of change is another.

mod cache;

use std::sync::atomic::Ordering;

use self::cache::REMEMBERED;
pub(crate) use self::cache::{InhibitedFileCache, has_note, inhibits, note};
use crate::backend::Node;
use crate::backend::{Found, RenameMode, file_key};
use crate::mac::layout::sidecar_owner;
use crate::mac::{FileBits, Metadata};
use crate::{Actor, Caller, Error, Kind, Result, Time, Volume, streams};

impl Volume {
    /// Whether a file is locked or read-only by its metadata, whatever its mode says: to a client
    /// without such attributes it is immutable.
    pub fn is_locked(&self, of: &Node) -> Result<bool> {
        Ok(of.kind() == Kind::File && self.inhibits(of)?.contains(FileBits::WRITE_INHIBIT))
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
    pub(crate) fn bits_as_of(&self, of: &Node, changed: Option<Time>) -> Result<FileBits> {
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
        let owner = match streams.sidecar_files().owner_among(&**of, &names)? {
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
        if let Some(streams) = self.0.streams.as_ref().filter(|streams| streams.others().may_have_headers()) {
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
