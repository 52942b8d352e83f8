//! `._name`: whose it is, and whether it can be read.

use super::attributes::is_damage;
use super::living::Living;
use super::{Flaw, Outcome, Scrub, Why, lost};
use crate::backend::Node;
use crate::backend::{Found, NewKind, Object, RenameMode, XattrMode};
use crate::caller::server;
use crate::mac::layout::{is_sidecar_name, sidecar_name, sidecar_owner};
use crate::streams::stores::Stores;
use crate::streams::{File, MOVING, OWNER, SIDECAR, find_or_make, pair, sidecar, store};
use crate::{Caller, Error, HostKey, Kind, Result};

/// What an entry `._name` is.
enum SidecarKind {
    /// Of the file beside it.
    Beside(Found),
    /// It names no file, and there is none beside it.
    Nobody,
    /// It names another file than the one beside it, which may be missing.
    Other(HostKey, Option<Found>),
}

impl Scrub<'_> {
    /// Looks at an entry, if it may be a sidecar.
    pub(super) fn sidecar(&self, folder: &Node, name: &[u8], path: &[u8]) -> Result<()> {
        if !self.sidecars || !is_sidecar_name(name) {
            return Ok(());
        }
        let there = folder.lookup(server(), name)?;
        match self.whose(folder, name, &there)? {
            Some(SidecarKind::Beside(file)) => self.content(folder, name, path, there, &file),
            Some(SidecarKind::Nobody) => self.alone(folder, name, path, there),
            Some(SidecarKind::Other(owner, file)) => {
                self.foreign(folder, name, path, (&there, &owner, file.as_ref()))
            }
            None => Ok(()),
        }
    }

    /// `None`: it is the sidecar of nothing that has one.
    fn whose(&self, folder: &Node, name: &[u8], there: &Found) -> Result<Option<SidecarKind>> {
        let Some(of) = sidecar_owner(name) else { return Ok(None) };
        let claimed = sidecar::owner(&*there.object)?;
        // Also by its name in another normal form.
        let file = match self.volume.lookup(&Caller::root(), folder, of) {
            Err(Error::NotFound | Error::NameTooLong | Error::AccessDenied) => None,
            other => Some(other?),
        };
        let file = file.filter(|file| matches!(file.attributes.kind, Kind::File | Kind::Folder));
        Ok(Some(match (claimed, file) {
            (None, Some(file)) => SidecarKind::Beside(file),
            (Some(owner), Some(file)) if owner.local() == file.object.key().local() => {
                SidecarKind::Beside(file)
            }
            (Some(owner), file) => SidecarKind::Other(owner, file),
            (None, None) => SidecarKind::Nobody,
        }))
    }

    /// The sidecar of the file beside it.
    fn content(&self, folder: &Node, name: &[u8], path: &[u8], there: Found, file: &Found) -> Result<()> {
        let is_owned = sidecar::owner(&*there.object)?.is_some();
        let read = sidecar::read(there, is_owned)?;
        let Some(head) = read.parsed() else {
            let is_empty = read.attributes.size == 0;
            if is_owned && !is_empty {
                self.settle(path, Flaw::SidecarUnreadable, || {
                    let _claimed = self.claim(folder, name)?;
                    let kept = self.keep(&**folder, name, path)?;
                    pair::unmark(&*file.object).map(|()| kept)
                });
            } else if !is_empty {
                self.leave(path, Flaw::SidecarTaken, Why::Undecided);
            }
            return Ok(());
        };
        if let Some(problem) = head.problems.into_iter().find(is_damage) {
            self.settle(path, Flaw::SidecarDamaged(problem), || {
                self.write_anew(folder, name, path, file.attributes.kind)
            });
        }
        Ok(())
    }

    /// Writes a sidecar with what could be read of the damaged one, which stays among what is lost.
    fn write_anew(&self, folder: &Node, name: &[u8], path: &[u8], kind: Kind) -> Result<Outcome> {
        let Some(of) = sidecar_owner(name) else { return Err(Error::Invalid) };
        let _claimed = self.claim(folder, name)?;
        let found = folder.lookup(server(), of)?;
        if found.attributes.kind != kind {
            return Err(Error::Stale);
        }
        let damaged = folder.lookup(server(), name)?;
        let kept = lost::keep_link(self.volume.backend.as_ref(), &*damaged.object, path)?;
        let file = File { folder: &**folder, name: of, object: &*found.object };
        self.streams.move_fork(&file)?;
        let anew = folder.lookup(server(), name)?;
        let anew = sidecar::read(anew, true)?;
        match anew.parsed() {
            Some(head) if !head.problems.iter().any(is_damage) => Ok(kept),
            _ => Err(Error::Invalid),
        }
    }

    /// A sidecar that names no file, without a file. An archive or a copy may be about to make it.
    fn alone(&self, folder: &Node, name: &[u8], path: &[u8], there: Found) -> Result<()> {
        let settled = self.is_settled(&there.attributes);
        if sidecar::read(there, false)?.parsed().is_none() {
            return Ok(()); // a file with such a name
        }
        if !settled {
            self.leave(path, Flaw::SidecarAlone, Why::Recent);
            return Ok(());
        }
        self.settle(path, Flaw::SidecarAlone, || {
            let _claimed = self.claim(folder, name)?;
            let there = folder.lookup(server(), name)?;
            match self.whose(folder, name, &there)? {
                Some(SidecarKind::Nobody) => self.keep(&**folder, name, path),
                _ => Ok(Outcome::Left(Why::Recent)),
            }
        });
        Ok(())
    }

    /// A sidecar that names another file as its own.
    fn foreign(
        &self,
        folder: &Node,
        name: &[u8],
        path: &[u8],
        (there, owner, file): (&Found, &HostKey, Option<&Found>),
    ) -> Result<()> {
        let lose = |scrub: &Self| {
            let _claimed = scrub.claim(folder, name)?;
            let there = folder.lookup(server(), name)?;
            match scrub.whose(folder, name, &there)? {
                Some(SidecarKind::Other(now, _)) if now == *owner => scrub.keep(&**folder, name, path),
                _ => Ok(Outcome::Left(Why::Recent)),
            }
        };
        match self.find(owner)? {
            Living::Unknown => self.leave(path, Flaw::SidecarOfGone, Why::Unknown),
            Living::Alive(alive, _) if self.is_copy(folder, name, there, (file, &alive))? => {
                self.settle(path, Flaw::SidecarOfCopy, || self.adopt(folder, name, owner));
            }
            Living::Alive(alive, _) if !self.may_belong(there, &alive) => {
                self.settle(path, Flaw::SidecarForged, || lose(self));
            }
            Living::Alive(alive, at) => self.settle(path, Flaw::SidecarAway, || {
                let _claimed = self.claim(folder, name)?;
                if sidecar::owner(&*folder.lookup(server(), name)?.object)? != Some(*owner) {
                    return Ok(Outcome::Left(Why::Recent));
                }
                self.send((&**folder, name, path), &alive, at.as_deref())
            }),
            Living::Gone => match file {
                Some(file) if self.was_copied(there, name, file)? => {
                    self.settle(path, Flaw::SidecarOfCopy, || self.adopt(folder, name, owner));
                }
                _ => self.settle(path, Flaw::SidecarOfGone, || lose(self)),
            },
        }
        Ok(())
    }

    /// Whether the server can have made this for the file: users may write attributes of their own files.
    fn may_belong(&self, sidecar: &Found, file: &Found) -> bool {
        let (by, of) = (sidecar.attributes.uid, file.attributes.uid);
        by == of || by == 0 || by == self.volume.backend.own_user()
    }

    /// Moves a sidecar to its file, which is in another place.
    pub(super) fn send(
        &self,
        (folder, name, path): (&dyn Object, &[u8], &[u8]),
        alive: &Found,
        at: Option<&[Vec<u8>]>,
    ) -> Result<Outcome> {
        let object = &*alive.object;
        let place = self.at(alive, at)?;
        let stored = self.streams.own_store.make_folder(&object.key())?;
        let beside = match &place {
            Some((to, of)) => self.beside(to, of, &object.key())?,
            None => None,
        };
        if beside == Some(true) || stored.lookup(server(), store::SIDECAR).is_ok() {
            return self.keep(folder, name, path);
        }
        if object.xattr(MOVING).is_err() {
            pair::mark(object, folder, name)?;
        }
        folder.rename(server(), name, &*stored, store::SIDECAR, RenameMode::Keep)?;
        // Otherwise its file finds it, when a client asks for the fork.
        if let Some((to, of)) = place {
            self.streams.pairs().mend(&File { folder: &*to, name: &of, object })?;
        }
        Ok(Outcome::Mended)
    }

    /// Whether what is at the place of a file's sidecar is the file's; `None` if nothing is there.
    pub(super) fn beside(&self, folder: &Node, name: &[u8], key: &HostKey) -> Result<Option<bool>> {
        let sidecar = sidecar_name(name);
        if !folder.may_have(&sidecar) {
            return Ok(None);
        }
        match folder.lookup(server(), &sidecar) {
            Ok(there) => {
                let owner = sidecar::owner(&*there.object)?;
                Ok(Some(owner.is_none_or(|owner| owner.local() == key.local())))
            }
            Err(Error::NotFound | Error::NameTooLong) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The folder and the name of a file whose path is known.
    pub(super) fn at(&self, file: &Found, path: Option<&[Vec<u8>]>) -> Result<Option<(Node, Vec<u8>)>> {
        let Some((last, above)) = path.and_then(<[_]>::split_last) else { return Ok(None) };
        let names: Vec<&[u8]> = above.iter().map(|name| &name[..]).collect();
        let root = self.volume.root()?.object;
        let folder = match &names[..] {
            [] => Ok(root),
            names => root.lookup_path(server(), names).map(|folder| folder.object),
        };
        let Ok(folder) = folder else { return Ok(None) };
        let is_there =
            folder.lookup(server(), last).is_ok_and(|there| there.object.key() == file.object.key());
        Ok(is_there.then(|| (folder, last.clone())))
    }

    /// Whether the tree was copied with its attributes, and the original is there: the file names a sidecar of this name in
    /// another folder, and the owner has its own sidecar.
    fn is_copy(
        &self,
        folder: &Node,
        name: &[u8],
        there: &Found,
        (file, owner): (Option<&Found>, &Found),
    ) -> Result<bool> {
        let mark = |of: &Found| -> Result<Option<pair::Place>> {
            match of.object.xattr(MOVING) {
                Err(Error::NoSuchAttribute) => Ok(None),
                other => Ok(pair::unpack(&other?)),
            }
        };
        let Some(file) = file.filter(|file| self.may_belong(there, file)) else { return Ok(false) };
        let is_marked = |(place, marked): &pair::Place| marked == name && *place != folder.key().local();
        if !mark(file)?.is_some_and(|mark| is_marked(&mark)) {
            return Ok(false);
        }
        let Some((place, own)) = mark(owner)? else { return Ok(false) };
        let Living::Alive(place, _) = self.find(&place.beside(&owner.object.key()))? else {
            return Ok(false);
        };
        let Ok(own) = place.object.lookup(server(), &own) else { return Ok(false) };
        let is_own =
            sidecar::owner(&*own.object)?.is_some_and(|key| key.local() == owner.object.key().local());
        Ok(is_own && own.object.id() != there.object.id())
    }

    /// Whether the tree was copied with its attributes: the file names a sidecar of this name, in a folder that is gone.
    fn was_copied(&self, sidecar: &Found, name: &[u8], file: &Found) -> Result<bool> {
        let mark = match file.object.xattr(MOVING) {
            Err(Error::NoSuchAttribute) => return Ok(false),
            other => pair::unpack(&other?),
        };
        let Some((folder, marked)) = mark.filter(|(_, marked)| marked == name) else { return Ok(false) };
        debug_assert_eq!(marked, name);
        let is_gone = matches!(self.find(&folder.beside(&file.object.key()))?, Living::Gone);
        Ok(is_gone && self.may_belong(sidecar, file))
    }

    /// Gives a sidecar, and what the store has by the same key, to the file beside it.
    fn adopt(&self, folder: &Node, name: &[u8], owner: &HostKey) -> Result<Outcome> {
        let Some(of) = sidecar_owner(name) else { return Err(Error::Invalid) };
        let _claimed = self.claim(folder, name)?;
        let (there, file) = (folder.lookup(server(), name)?, folder.lookup(server(), of)?);
        let is_copy = match self.find(owner)? {
            Living::Alive(alive, _) => self.is_copy(folder, name, &there, (Some(&file), &alive))?,
            _ => self.was_copied(&there, name, &file)?,
        };
        if sidecar::owner(&*there.object)? != Some(*owner) || !is_copy {
            return Ok(Outcome::Left(Why::Recent));
        }
        let (key, sidecar) = (file.object.key().local(), there.object.key().local());
        if let Some(home) = self.volume.homes.of(&file.object.key())?.first()
            && home.lookup(server(), store::STORE).is_ok()
        {
            let store = find_or_make(&**home, store::STORE, NewKind::Folder, 0o700)?.object;
            let (was, now) = (store::folder_name(owner), store::folder_name(&key));
            match store.rename(server(), &was, &*store, &now, RenameMode::Keep) {
                Ok(()) => self.streams.own_store.note_change(),
                Err(Error::NotFound | Error::Exists) => {}
                Err(other) => return Err(other),
            }
        }
        if file.object.xattr(SIDECAR).is_ok() {
            file.object.set_xattr(server(), SIDECAR, sidecar.as_bytes(), XattrMode::Set)?;
        }
        there.object.set_xattr(server(), OWNER, key.as_bytes(), XattrMode::Set)?;
        pair::mark_again(&*file.object, (&**folder, of))?;
        Ok(Outcome::Mended)
    }
}
