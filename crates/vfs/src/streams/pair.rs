//! A file and its sidecar, moved and removed as one.
//!
//! The order in which a pair moves, so that a crash after any step is detected and repaired:
//!
//! ```text
//! claim    the sidecar names its file (OWNER), if it did not:
//!          from here on it is never shown with another file
//! mark     the file names the place of its sidecar (MOVING)
//! move     the file
//! follow   the sidecar
//! unmark   the file
//! ```
//!
//! A file whose mark is still there looks for its sidecar at the marked place, then in the store.
//! Removing starts with the file: a sidecar whose file is gone is never shown. It is removed when
//! its place is needed or scrubbed.

use std::collections::VecDeque;
use std::sync::Arc;

use super::books::remove_books;
use super::depot::InDepot;
use super::following::Going;
use super::sidecar::{self, Beside, Sidecar};
use super::{ABSORBED, File, MOVING, OWNER, Streams, found, store};
use crate::backend::{Finds, Found, Object, RenameMode, XattrMode};
use crate::mac::layout;
use crate::{Caller, Error, HostKey, Kind, Result};

/// How many moves of sidecars are remembered.
const REMEMBERED: usize = 256;

pub(crate) type Place = (HostKey, Vec<u8>);

/// Places that sidecars lately moved from and to.
#[derive(Default)]
pub(super) struct SidecarMoves(VecDeque<(Place, Place)>);

impl SidecarMoves {
    fn remember(&mut self, from: Place, to: Place) {
        self.0.retain(|(old, _)| *old != from && *old != to);
        self.0.truncate(REMEMBERED - 1);
        self.0.push_front((from, to));
    }

    pub(super) fn went_to(&self, from: &Place) -> Option<Place> {
        self.0.iter().find(|(old, _)| old == from).map(|(_, new)| new.clone())
    }
}

/// A folder, and a name in it.
type At<'a> = (&'a dyn Object, &'a [u8]);
/// A folder, and the name of a sidecar in it.
type SidecarPlace = (Arc<dyn Object>, Vec<u8>);

/// A file that has a sidecar.
struct Pair {
    object: Arc<dyn Object>,
    links: u32,
    sidecar: Sidecar,
}

/// Files and their sidecars, each moved and removed as one.
#[derive(Clone, Copy)]
pub struct SidecarPairs<'a> {
    pub(super) streams: &'a Streams,
}

impl SidecarPairs<'_> {
    /// Moves a file with its sidecar and everything else that is its own. Without sidecars this is one look-up for each
    /// of the two names (`Keep`: for the first), and the move.
    pub fn rename(
        &self,
        caller: &Caller,
        from: (&dyn Object, &[u8]),
        to: (&dyn Object, &[u8]),
        mode: RenameMode,
    ) -> Result<()> {
        let source = self.take_over_at(from, to.1)?;
        let target = if mode == RenameMode::Keep { None } else { self.take_over_at(to, from.1)? };
        let target = target.filter(|target| !source.as_ref().is_some_and(|source| source.is_of_same(target)));
        let replaced = match mode {
            RenameMode::Replace => self.streams.depots().going(to.0, to.1)?,
            _ => None,
        };
        self.rename_with_books(caller, (from, source), (to, target), mode)?;
        // The file has moved, as requested. What is left in the depot belongs to no file.
        let _ = replaced.map_or(Ok(()), InDepot::forget);
        Ok(())
    }

    /// The same with Netatalk's files of them.
    fn rename_with_books(
        &self,
        caller: &Caller,
        (from, source): (At<'_>, Option<Going>),
        (to, target): (At<'_>, Option<Going>),
        mode: RenameMode,
    ) -> Result<()> {
        let prepare = |going: &Going, at: At<'_>| {
            let file = File { folder: at.0, name: at.1, object: going.object() };
            self.streams.with_room(&file, || going.prepare(at.0))
        };
        let ready = source.as_ref().map_or(Ok(()), |source| prepare(source, from));
        let ready = ready.and_then(|()| match (&target, mode) {
            (Some(target), RenameMode::Exchange) => prepare(target, to),
            (Some(target), _) => target.claim(),
            (None, _) => Ok(()),
        });
        if let Err(error) = ready.and_then(|()| self.rename_pairs(caller, from, to, mode)) {
            [&source, &target].into_iter().flatten().for_each(|going| _ = going.settle());
            return Err(error);
        }
        // The file has moved, as requested. What cannot follow now is found by its mark.
        self.streams.server_files().follow_with_books((from, source), (to, target), mode).or(Ok(()))
    }

    fn rename_pairs(
        &self,
        caller: &Caller,
        from: (&dyn Object, &[u8]),
        to: (&dyn Object, &[u8]),
        mode: RenameMode,
    ) -> Result<()> {
        let source = self.pair(caller, from)?;
        let target = if mode == RenameMode::Keep { None } else { self.pair(caller, to)? };
        let same = matches!((&source, &target), (Some(a), Some(b)) if a.object.key() == b.object.key());
        if same || (source.is_none() && target.is_none()) {
            return from.0.rename(caller, from.1, to.0, to.1, mode);
        }
        let marked = self.prepare(from, source.as_ref()).and_then(|()| match mode {
            RenameMode::Exchange => self.prepare(to, target.as_ref()),
            _ => target.as_ref().map_or(Ok(()), claim),
        });
        if let Err(error) = marked.and_then(|()| from.0.rename(caller, from.1, to.0, to.1, mode)) {
            let pairs =
                [(&source, from), (&target, to)].map(|(pair, at)| pair.as_ref().map(|pair| (pair, at)));
            pairs.into_iter().flatten().for_each(|(pair, at)| _ = mark_again(&*pair.object, at));
            return Err(error);
        }
        // The file has moved, as requested. A sidecar that cannot follow now is found by its mark.
        let followed = match mode {
            RenameMode::Exchange => self.swap(from, source, to, target),
            _ => self.follow(from, source, to, target),
        };
        followed.or(Ok(()))
    }

    /// Netatalk's files of a file there, which is about to get another name or to lose this one. Of a file with several names, or
    /// if they would be too long beside the new name, their contents move to where this server keeps them, and so do
    /// those of DSM's: they do not name their file, so no content may be left beside a name that another file gets.
    fn take_over_at(&self, (folder, name): At<'_>, new: &[u8]) -> Result<Option<Going>> {
        if !self.streams.others().looks_beside(folder)? {
            return Ok(None);
        }
        let Some(there) = found(folder.lookup(&Caller::root(), name))? else { return Ok(None) };
        let file = File { folder, name, object: &*there.object };
        let may_have_names = there.attributes.kind == Kind::File && there.attributes.links > 1;
        match self.streams.server_files().going((folder, name))? {
            Some(going) if may_have_names || going.are_too_long(new) => {
                self.streams.take_over(&file)?;
                Ok(None)
            }
            // A file that both have files of keeps Netatalk's.
            Some(going) if going.is_netatalks() && self.streams.server_files().has_synologys(&file)? => {
                self.streams.take_in_synology(&file)?;
                if let Some(books) = self.streams.server_files().synology(&file)? {
                    found(books.folder.remove(&Caller::root(), &books.header()))?;
                }
                Ok(Some(going))
            }
            going => Ok(going),
        }
    }

    /// The file there and its sidecar, if it has one. One call if there is nothing beside it. The
    /// call runs as the caller, which is about to change the folder: so the host need not switch
    /// identities. A caller that may not look there cannot change the folder either.
    fn pair(&self, caller: &Caller, (folder, name): (&dyn Object, &[u8])) -> Result<Option<Pair>> {
        let beside = match folder.lookup(caller, &layout::sidecar_name(name)) {
            Err(Error::AccessDenied) => None,
            other => found(other)?,
        };
        if beside.is_none() {
            return Ok(None);
        }
        let root = Caller::root();
        let Some(file) = found(folder.lookup(&root, name))? else { return Ok(None) };
        let beside = self.streams.beside(&File { folder, name, object: &*file.object })?;
        Ok(match beside {
            Beside::Own(sidecar) => {
                Some(Pair { object: file.object, links: links(&file.attributes), sidecar })
            }
            _ => None,
        })
    }

    fn prepare(&self, (folder, name): (&dyn Object, &[u8]), pair: Option<&Pair>) -> Result<()> {
        let Some(pair) = pair else { return Ok(()) };
        claim(pair)?;
        let file = File { folder, name, object: &*pair.object };
        self.streams.with_room(&file, || mark(&*pair.object, folder, &layout::sidecar_name(name)))
    }

    fn follow(
        &self,
        from: (&dyn Object, &[u8]),
        source: Option<Pair>,
        to: (&dyn Object, &[u8]),
        target: Option<Pair>,
    ) -> Result<()> {
        if let Some(target) = target {
            self.leave(to.0, to.1, &target)?;
        }
        let Some(source) = source else { return Ok(()) };
        self.bring((from.0, &layout::sidecar_name(from.1)), to, &*source.object)?;
        mark_again(&*source.object, to)
    }

    /// Removes the sidecar of a file that has lost its name here.
    fn leave(&self, folder: &dyn Object, name: &[u8], pair: &Pair) -> Result<()> {
        let sidecar = layout::sidecar_name(name);
        if pair.links > 1 {
            return self.streams.displace(folder, &sidecar, &pair.object.key()); // it has other names
        }
        folder.remove(&Caller::root(), &sidecar)
    }

    /// Moves a sidecar to its file.
    fn bring(&self, from: (&dyn Object, &[u8]), to: (&dyn Object, &[u8]), object: &dyn Object) -> Result<()> {
        let file = File { folder: to.0, name: to.1, object };
        let name = file.sidecar_name();
        match self.streams.beside(&file)? {
            Beside::Plain => return Err(Error::Exists),
            Beside::Foreign(owner) => self.streams.displace(to.0, &name, &owner)?,
            Beside::Nothing | Beside::Own(_) => {}
        }
        from.0.rename(&Caller::root(), from.1, to.0, &name, RenameMode::Replace)?;
        if from.1 != store::SIDECAR {
            let (from, to) = ((from.0.key(), from.1.to_vec()), (to.0.key(), name));
            self.streams.moved.lock().remember(from, to);
        }
        Ok(())
    }

    fn swap(
        &self,
        from: (&dyn Object, &[u8]),
        source: Option<Pair>,
        to: (&dyn Object, &[u8]),
        target: Option<Pair>,
    ) -> Result<()> {
        let names = (layout::sidecar_name(from.1), layout::sidecar_name(to.1));
        match (source, target) {
            (Some(source), Some(target)) => {
                from.0.rename(&Caller::root(), &names.0, to.0, &names.1, RenameMode::Exchange)?;
                mark_again(&*source.object, to)?;
                mark_again(&*target.object, from)
            }
            (Some(source), None) => {
                self.bring((from.0, &names.0), to, &*source.object)?;
                mark_again(&*source.object, to)
            }
            (None, Some(target)) => {
                self.bring((to.0, &names.1), from, &*target.object)?;
                mark_again(&*target.object, from)
            }
            (None, None) => Ok(()),
        }
    }

    /// Removes a file (not a folder) with everything that is its own. Without a sidecar this is one look-up more than
    /// the removal, and a few where the volume has a store. `going`: what the caller has found there, if it has looked.
    pub fn remove(
        &self,
        caller: &Caller,
        folder: &dyn Object,
        name: &[u8],
        going: Option<&Found>,
    ) -> Result<()> {
        let going = going.map(|going| &*going.object);
        self.remove_by(caller, folder, name, || folder.remove_found(caller, name, going))
    }

    fn remove_by(
        &self,
        caller: &Caller,
        folder: &dyn Object,
        name: &[u8],
        remove: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let books = self.take_over_at((folder, name), name)?;
        let pair = self.pair(caller, (folder, name))?;
        let last = self.last_name(folder, name)?;
        let in_depot = self.streams.depots().going(folder, name)?;
        if let Some(pair) = &pair {
            claim(pair)?;
        }
        if let Some(books) = &books {
            books.claim()?;
        }
        if let Err(error) = remove() {
            let _ = books.map_or(Ok(()), |books| books.settle());
            return Err(error);
        }
        // The name is removed, as requested. A left-over sidecar is never shown, and is scrubbed
        // later.
        let _ = pair.map_or(Ok(()), |pair| self.leave(folder, name, &pair));
        let _ = last.map_or(Ok(()), |key| self.streams.own_store.forget(&key));
        let _ = in_depot.map_or(Ok(()), InDepot::forget);
        let _ = books.map_or(Ok(()), |books| books.remove());
        Ok(())
    }

    /// The key of a file that is about to lose its last name, if it may have something in the
    /// store.
    fn last_name(&self, folder: &dyn Object, name: &[u8]) -> Result<Option<HostKey>> {
        if !self.streams.own_store.exists(&folder.key())? {
            return Ok(None);
        }
        let file = found(folder.lookup(&Caller::root(), name))?;
        Ok(file.filter(|file| links(&file.attributes) < 2).map(|file| file.object.key()))
    }

    /// Removes an empty folder with everything that is its own. A folder with only left-over
    /// sidecars counts as empty.
    pub fn remove_folder(&self, caller: &Caller, folder: &dyn Object, name: &[u8]) -> Result<()> {
        self.remove_by(caller, folder, name, || match folder.remove_folder(caller, name) {
            Err(Error::NotEmpty) => {
                let going = folder.lookup(caller, name)?.object;
                self.scrub(&*going)?;
                remove_books(caller, &*going)?;
                folder.remove_folder(caller, name)
            }
            other => other,
        })
    }

    /// Moves the sidecar of a moved file to its file, if a crash or a program on the host left it
    /// behind. Returns whether it did.
    pub fn mend(&self, file: &File<'_>) -> Result<bool> {
        let Some(marked) = found(file.object.xattr(MOVING))? else { return Ok(false) };
        let key = file.key();
        let here = (file.folder.key(), file.sidecar_name());
        let mut is_here = false;
        let (places, is_sure) = self.left_at(&marked, &key)?;
        for (folder, name) in places {
            if (folder.key(), &name) == (here.0, &here.1) {
                is_here = true;
                continue; // looked at already
            }
            let there = found(folder.lookup(&Caller::root(), &name))?;
            let Some(there) = there.filter(|there| there.attributes.kind == Kind::File) else { continue };
            if sidecar::owner(&*there.object)?.is_some_and(|owner| owner.local() == key.local()) {
                self.bring((&*folder, &name), (file.folder, file.name), file.object)?;
                mark_again(file.object, (file.folder, file.name))?;
                return Ok(true);
            }
        }
        if is_sure && !is_here {
            unmark(file.object)?;
        }
        Ok(false)
    }

    /// Moves a sidecar that names no owner, as other servers make it, to the file that a program on the host has moved from there.
    pub(crate) fn bring_unowned(&self, from: (&dyn Object, &[u8]), file: &File<'_>) -> Result<()> {
        let (root, name) = (Caller::root(), layout::sidecar_name(from.1));
        if found(from.0.lookup(&root, from.1))?.is_some() {
            return Ok(()); // it may be that file's
        }
        self.streams.server_files().bring_books_unowned(from, file)?;
        let Some(there) = found(from.0.lookup(&root, &name))? else { return Ok(()) };
        if there.attributes.kind != Kind::File || sidecar::owner(&*there.object)?.is_some() {
            return Ok(());
        }
        let is_sidecar = sidecar::read(there, false)?.parsed().is_some();
        if is_sidecar && matches!(self.streams.beside(file)?, Beside::Nothing) {
            self.bring((from.0, &name), (file.folder, file.name), file.object)?;
        }
        Ok(())
    }

    /// Where a marked file's sidecar may be, and whether these are all such places: a folder that the host does not find
    /// may be there.
    fn left_at(&self, marked: &[u8], key: &HostKey) -> Result<(Vec<SidecarPlace>, bool)> {
        let (mut places, mut is_sure) = (Vec::new(), true);
        if let Some((folder, name)) = unpack(marked) {
            let folder = folder.beside(key);
            match self.streams.backend.by_key(&folder) {
                Ok(folder) => places.push((folder.object, name)),
                Err(Error::Stale) => is_sure = self.streams.backend.finds(&folder) == Finds::Always,
                Err(other) => return Err(other),
            }
        }
        if let Some(folder) = self.streams.own_store.folder(key)? {
            places.push((folder, store::SIDECAR.to_vec()));
        }
        Ok((places, is_sure))
    }

    /// Moves sidecars in a folder to their files, if these are in the same folder or marked, and
    /// removes those of files that are gone. Returns how many it moved or removed.
    pub fn scrub(&self, folder: &dyn Object) -> Result<usize> {
        let root = Caller::root();
        let names = store::names(folder)?;
        let mut put_right = 0;
        for name in names.iter().filter(|name| layout::is_sidecar_name(name)) {
            let Some(there) = found(folder.lookup(&root, name))? else { continue };
            if there.attributes.kind != Kind::File {
                continue;
            }
            let Some(owner) = sidecar::owner(&*there.object)? else { continue };
            let file = layout::sidecar_owner(name).map(|name| folder.lookup(&root, name));
            if matches!(file, Some(Ok(file)) if file.object.key().local() == owner.local()) {
                continue;
            }
            self.streams.displace(folder, name, &owner)?;
            self.bring_to_name(folder, &names, &owner)?;
            put_right += 1;
        }
        Ok(put_right)
    }

    fn bring_to_name(&self, folder: &dyn Object, names: &[Vec<u8>], key: &HostKey) -> Result<()> {
        let Ok(alive) = self.streams.backend.by_key(key) else { return Ok(()) };
        for name in names {
            let entry = found(folder.lookup(&Caller::root(), name))?;
            if entry.is_some_and(|entry| entry.object.key() == *key) {
                return self.mend(&File { folder, name, object: &*alive.object }).map(drop);
            }
        }
        Ok(())
    }

    /// After a client itself put a file at `._name`, by renaming or linking it there: it is the
    /// sidecar of `name` now, and its contents apply.
    pub fn placed(&self, folder: &dyn Object, sidecar_name: &[u8]) -> Result<()> {
        let root = Caller::root();
        let Some(name) = layout::sidecar_owner(sidecar_name) else { return Ok(()) };
        let Some(there) = found(folder.lookup(&root, sidecar_name))? else { return Ok(()) };
        for bookkeeping in [OWNER, ABSORBED] {
            found(there.object.remove_xattr(&root, bookkeeping))?;
        }
        let Some(file) = found(folder.lookup(&root, name))? else { return Ok(()) };
        let file = File { folder, name, object: &*file.object };
        if let Beside::Own(mut sidecar) = self.streams.beside(&file)? {
            there.object.set_xattr(&root, ABSORBED, &[0; 8], XattrMode::Set)?;
            sidecar.claim(&file.key())?;
            self.streams.absorb(&file)?;
        }
        Ok(())
    }
}

/// Names of a file; a folder has one.
fn links(attributes: &crate::Attributes) -> u32 {
    if attributes.kind == Kind::Folder { 1 } else { attributes.links }
}

fn claim(pair: &Pair) -> Result<()> {
    if pair.sidecar.owned {
        return Ok(());
    }
    let key = pair.object.key().local();
    pair.sidecar.object.set_xattr(&Caller::root(), OWNER, key.as_bytes(), XattrMode::Set)
}

/// Notes on a file where its sidecar is.
pub(crate) fn mark(object: &dyn Object, folder: &dyn Object, sidecar_name: &[u8]) -> Result<()> {
    let key = folder.key().local();
    let mut place = vec![key.as_bytes().len() as u8];
    place.extend_from_slice(key.as_bytes());
    place.extend_from_slice(sidecar_name);
    object.set_xattr(&Caller::root(), MOVING, &place, XattrMode::Set)
}

/// The folder and the name in a mark; `None` if it is no mark.
pub(crate) fn unpack(mark: &[u8]) -> Option<Place> {
    let (&length, rest) = mark.split_first()?;
    let (key, name) = rest.split_at_checked(usize::from(length))?;
    let name = name.to_vec();
    (layout::is_sidecar_name(&name) && !name.contains(&b'/')).then_some((HostKey::new(key)?, name))
}

/// Notes where a file's sidecar is now, so that it is found if a program on the host moves the file.
/// If the host has no room for that, such a move is not noticed.
pub(crate) fn mark_again(object: &dyn Object, at: (&dyn Object, &[u8])) -> Result<()> {
    match mark(object, at.0, &layout::sidecar_name(at.1)) {
        Err(error) if error.is_no_place_for_attribute() => unmark(object),
        other => other,
    }
}

pub(crate) fn unmark(object: &dyn Object) -> Result<()> {
    found(object.remove_xattr(&Caller::root(), MOVING)).map(drop)
}
