//! What a file's own attributes say: metadata, the place of its sidecar, its ACL, its locks.

use super::living::Living;
use super::{Flaw, Outcome, Scrub, Why};
use crate::acl::{STORED_ACL, StoredAcl};
use crate::backend::Node;
use crate::backend::{Glance, Object};
use crate::caller::server;
use crate::changing::inhibited::{has_note, inhibits, note};
use crate::mac::layout::sidecar_name;
use crate::mac::{FileBits, Problem};
use crate::names::long;
use crate::streams::{self, File, MOVING, pair, sidecar, store};
use crate::{Error, HostKey, Kind, Result};

/// Files that are looked at twice.
const MOST_AGAIN: usize = 10_000;

impl Scrub<'_> {
    /// Looks once more at files beside which the sidecars of others were.
    pub(super) fn look_again(&self) {
        for (folder, name, path) in self.again.take() {
            let looked = folder.lookup(server(), &name);
            self.checked(&path, looked.and_then(|found| self.mark(&folder, &name, &path, &*found.object)));
        }
        self.again.take();
    }

    /// Looks at the attributes of an entry.
    pub(super) fn attributes(&self, folder: &Node, name: &[u8], path: &[u8], glance: &Glance) -> Result<()> {
        if long::is_shortened(name) && !glance.xattrs.iter().any(|xattr| xattr == long::ATTRIBUTE) {
            self.leave(path, Flaw::LongName(long::Problem::NoWholeName), Why::Undecided);
        }
        if !streams::has_own(&glance.xattrs) {
            return Ok(());
        }
        let found = folder.lookup(server(), name)?;
        let (object, kind) = (&*found.object, found.attributes.kind);
        let names = streams::names(object)?;
        let (metadata, problems) = streams::load_from(&|name| object.xattr(name), &names)?;
        if let Some(problem) = problems.into_iter().find(is_damage) {
            self.settle(path, Flaw::Metadata(problem), || self.write_metadata(folder, name));
        }
        if inhibits(&metadata, kind) != FileBits::default() {
            self.locks(object)?;
        }
        let has = |xattr: &[u8]| names.iter().any(|name| name == xattr);
        if has(long::ATTRIBUTE) && (kind == Kind::Folder || found.attributes.links < 2) {
            self.long_name(folder, name, path, object)?;
        }
        if self.sidecars && kind == Kind::File && has(MOVING) {
            self.mark(folder, name, path, object)?;
        }
        if has(STORED_ACL) {
            self.volume.homes.learn(&object.key())?;
            let value = object.xattr(STORED_ACL)?;
            let applies = StoredAcl::would_apply(&value, &found.attributes);
            if (applies || value.len() < 16) && !self.volume.site.acls.has_sealed(&value) {
                self.leave(path, Flaw::AclUnsealed, Why::Undecided);
            }
        }
        Ok(())
    }

    /// Writes what could be read. Damaged values are kept by the model.
    fn write_metadata(&self, folder: &Node, name: &[u8]) -> Result<Outcome> {
        let _claimed = self.claim(folder, name)?;
        let object = folder.lookup(server(), name)?.object;
        let (metadata, _) = streams::load_alone(&*object)?;
        streams::store_alone(server(), &*object, &metadata)?;
        let is_damaged = streams::load_alone(&*object)?.1.iter().any(is_damage);
        if is_damaged { Err(Error::Invalid) } else { Ok(Outcome::Mended) }
    }

    /// The whole name of a file, by the name that is seen: a whole one is shortened on the host.
    fn long_name(&self, folder: &Node, name: &[u8], path: &[u8], object: &dyn Object) -> Result<()> {
        let value = object.xattr(long::ATTRIBUTE)?;
        let names = long::decode(&value);
        if names.as_ref().is_ok_and(|names| names.contains(&name)) {
            return Ok(());
        }
        let problem = match names {
            Ok(_) => long::Problem::Stale,
            Err(_) => long::Problem::Malformed,
        };
        self.settle(path, Flaw::LongName(problem), || {
            let _claimed = self.claim(folder, name)?;
            let object = folder.lookup(server(), name)?.object;
            object.remove_xattr(server(), long::ATTRIBUTE).map(|()| Outcome::Mended)
        });
        Ok(())
    }

    /// A share with locked files has a note of that.
    fn locks(&self, file: &dyn Object) -> Result<()> {
        if self.locks_noted.get() {
            return Ok(());
        }
        let homes = self.volume.backend.homes(&file.key())?;
        let above = self.volume.backend.above();
        let mut noted = false;
        for home in homes.iter().chain(&above) {
            // Folders above may not be readable: then they say nothing.
            noted |= has_note(&**home).unwrap_or(false);
        }
        self.locks_noted.set(true);
        if !noted {
            self.settle(b"", Flaw::LocksUnnoted, || {
                let root = self.volume.root()?.object;
                note(&*root)?;
                self.volume.site.inhibited.look(&*root).map(|()| Outcome::Mended)
            });
        }
        Ok(())
    }

    /// A mark names the place of the file's sidecar.
    fn mark(&self, folder: &Node, name: &[u8], path: &[u8], object: &dyn Object) -> Result<()> {
        let unmark = || {
            let _claimed = self.claim(folder, name)?;
            pair::unmark(&*folder.lookup(server(), name)?.object).map(|()| Outcome::Mended)
        };
        let marked = match object.xattr(MOVING) {
            Err(Error::NoSuchAttribute) => return Ok(()),
            other => pair::unpack(&other?),
        };
        let Some((place, sidecar)) = marked else {
            self.settle(path, Flaw::MarkStale, unmark);
            return Ok(());
        };
        let beside = sidecar_name(name);
        let key = object.key();
        match self.beside(folder, name, &key)? {
            Some(true) => return Ok(()),
            Some(false) => {
                // What is beside it is looked at by itself, and may need the mark.
                let mut again = self.again.borrow_mut();
                if again.len() < MOST_AGAIN {
                    again.push((folder.clone(), name.to_vec(), path.to_vec()));
                }
                return Ok(());
            }
            None => {}
        }
        let is_here = place == folder.key().local() && sidecar == beside;
        let left = match is_here {
            true => self.is_stored(&key)?,
            false => match self.is_left_at(&place.beside(&key), &sidecar, &key)? {
                None => return Ok(()),
                Some(left) => left || self.is_stored(&key)?,
            },
        };
        if left {
            self.settle(path, Flaw::SidecarBehind, || {
                let _claimed = self.claim(folder, name)?;
                let object = folder.lookup(server(), name)?.object;
                let mended =
                    self.streams.pairs().mend(&File { folder: &**folder, name, object: &*object })?;
                if mended { Ok(Outcome::Mended) } else { Err(Error::NotFound) }
            });
        } else if !is_here {
            self.settle(path, Flaw::MarkStale, unmark);
        }
        Ok(())
    }

    /// Whether the sidecar of a file is in a folder where the file was before. `None`: that is not wrong, because the file
    /// has that name, too, or it cannot be told.
    fn is_left_at(&self, folder: &HostKey, sidecar: &[u8], key: &HostKey) -> Result<Option<bool>> {
        let folder = match self.find(folder)? {
            Living::Alive(folder, _) if folder.attributes.kind == Kind::Folder => folder.object,
            Living::Unknown => return Ok(None),
            Living::Alive(..) | Living::Gone => return Ok(Some(false)),
        };
        let has_name =
            |name: &[u8]| folder.lookup(server(), name).is_ok_and(|file| file.object.key() == *key);
        match folder.lookup(server(), sidecar) {
            Ok(there)
                if sidecar::owner(&*there.object)?.is_some_and(|owner| owner.local() == key.local()) =>
            {
                let file = crate::mac::layout::sidecar_owner(sidecar);
                Ok(if file.is_some_and(has_name) { None } else { Some(true) })
            }
            Ok(_) | Err(Error::NotFound) => Ok(Some(false)),
            Err(other) => Err(other),
        }
    }

    /// Whether the sidecar of a file is in the store.
    fn is_stored(&self, key: &HostKey) -> Result<bool> {
        let Some(folder) = self.streams.own_store.folder(key)? else { return Ok(false) };
        match folder.lookup(server(), store::SIDECAR) {
            Ok(there) => {
                Ok(sidecar::owner(&*there.object)?.is_some_and(|owner| owner.local() == key.local()))
            }
            Err(Error::NotFound) => Ok(false),
            Err(other) => Err(other),
        }
    }
}

/// Whether a problem means that something may be lost. Others are peculiarities of the programs that wrote it.
pub(super) fn is_damage(problem: &Problem) -> bool {
    match problem {
        Problem::Unreadable(..)
        | Problem::MissingEntries { .. }
        | Problem::EntryPastEnd(_)
        | Problem::EntryInHeader(_)
        | Problem::EntriesOverlap(..) => true,
        Problem::EntryTwice(_)
        | Problem::EntryLength { .. }
        | Problem::TrailingBytes(_)
        | Problem::UnknownEntry(_)
        | Problem::Attribute(..) => false,
    }
}
