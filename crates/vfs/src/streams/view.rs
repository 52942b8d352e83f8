//! The sidecar as a file, for Macs whose protocol has no place for forks and attributes: they look up `._name`, read and
//! write it, and find there what the model says.

use std::sync::Arc;

use super::sidecar::{Beside, Sidecar};
use super::{File, Streams, found};
use crate::backend::{Found, Object};
use crate::mac::{FinderInfo, layout};
use crate::{Access, Attributes, Caller, Error, FileId, Kind, Result};

/// What a client that asks for `._name` gets.
pub enum View {
    /// A file like any other: the name is no sidecar's, or there is no file that it could be of.
    Plain,
    /// The sidecar on the disk.
    OnDisk(Found),
    /// Nothing is on the disk, but the model has something to say.
    Synthesized(Synthesized),
    /// Nothing.
    Absent,
}

/// A sidecar that is not on the disk.
pub struct Synthesized {
    /// The file it belongs to.
    pub owner: Arc<dyn Object>,
    /// All of it.
    pub bytes: Vec<u8>,
    /// Those of the owner, but for its kind, size, links and id.
    pub attributes: Attributes,
}

impl Streams {
    /// What a client that asks for this name gets. For a name that does not begin with `._` it is always `Plain`.
    pub fn view(&self, caller: &Caller, folder: &dyn Object, name: &[u8]) -> Result<View> {
        let Some(owner) = owner_name(name) else { return Ok(View::Plain) };
        let Some(there) = self.owner(caller, folder, owner)? else { return self.moved_view(folder, name) };
        let file = File { folder, name: owner, object: &*there.object };
        match self.beside(&file)? {
            Beside::Own(sidecar) => return self.on_disk(&file, sidecar),
            Beside::Plain => return Ok(View::Plain),
            Beside::Foreign(_) | Beside::Nothing => {}
        }
        if let Some(sidecar) = self.sidecar(&file)? {
            return self.on_disk(&file, sidecar);
        }
        let bytes = self.synthesize(&file)?;
        if bytes.is_empty() {
            return Ok(View::Absent);
        }
        let attributes = seeming(&there.attributes, bytes.len() as u64);
        Ok(View::Synthesized(Synthesized { owner: there.object, bytes, attributes }))
    }

    fn owner(&self, caller: &Caller, folder: &dyn Object, name: &[u8]) -> Result<Option<Found>> {
        let there = found(folder.lookup(caller, name))?;
        Ok(there.filter(|there| matches!(there.attributes.kind, Kind::File | Kind::Folder)))
    }

    /// A Mac that has renamed a file renames the sidecar next, and one that does not find it takes the new one for stale
    /// and removes it. So the old name answers until there is a file of that name.
    fn moved_view(&self, folder: &dyn Object, name: &[u8]) -> Result<View> {
        let plain = found(folder.lookup(&Caller::root(), name))?.is_some();
        match self.moved_to(folder, name)? {
            Some(found) if !plain => Ok(View::OnDisk(found)),
            _ => Ok(View::Plain),
        }
    }

    /// Where the sidecar went that lately was here.
    fn moved_to(&self, folder: &dyn Object, name: &[u8]) -> Result<Option<Found>> {
        let went_to = self.moved.lock().went_to(&(folder.key(), name.to_vec()));
        let Some((key, new_name)) = went_to else { return Ok(None) };
        let Ok(new_folder) = self.backend.by_key(&key) else { return Ok(None) };
        found(new_folder.object.lookup(&Caller::root(), &new_name))
    }

    /// Whether a client's rename of a sidecar has been done already, with its file.
    pub fn has_followed(&self, from: (&dyn Object, &[u8]), to: (&dyn Object, &[u8])) -> Result<bool> {
        let went_to = self.moved.lock().went_to(&(from.0.key(), from.1.to_vec()));
        let there = found(from.0.lookup(&Caller::root(), from.1))?.is_some();
        Ok(!there && went_to.is_some_and(|place| place == (to.0.key(), to.1.to_vec())))
    }

    fn on_disk(&self, file: &File<'_>, sidecar: Sidecar) -> Result<View> {
        // Others' sidecars often have no Finder info, when the model has.
        let stale = sidecar.absorbed()?.is_none() && sidecar.parsed().is_some();
        let object = sidecar.object.clone();
        if stale {
            let (metadata, _) = self.load(file)?;
            match super::metadata::write_finder_info(sidecar, &metadata) {
                Ok(()) | Err(Error::ReadOnly | Error::NoSpace) => {}
                Err(other) => return Err(other),
            }
        }
        let attributes = object.attributes()?;
        Ok(View::OnDisk(Found { object, attributes }))
    }

    /// A whole sidecar without a fork; no bytes when there is nothing to say.
    fn synthesize(&self, file: &File<'_>) -> Result<Vec<u8>> {
        let (metadata, _) = self.load(file)?;
        let attributes = self.attributes(file)?;
        if metadata.finder_info_with_date().is_none() && attributes.is_empty() {
            return Ok(Vec::new());
        }
        let attributes: Vec<_> = attributes.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        Ok(metadata.to_sidecar(&attributes, 0).0)
    }

    /// The sidecar as a file on the disk, for a client that is about to write it, or makes it. `None` when the name is
    /// no sidecar's: then it is a file like any other.
    pub fn materialize(&self, caller: &Caller, folder: &dyn Object, name: &[u8]) -> Result<Option<Found>> {
        let Some(owner) = owner_name(name) else { return Ok(None) };
        let Some(there) = self.owner(caller, folder, owner)? else { return Ok(None) };
        let file = File { folder, name: owner, object: &*there.object };
        if let Beside::Plain = self.beside(&file)? {
            return Ok(None);
        }
        file.require(caller, Access::WRITE)?;
        self.absorb(&file)?;
        let content = self.synthesize(&file)?;
        let sidecar = self.sidecar_or_new(&file, &content)?;
        let attributes = sidecar.object.attributes()?;
        Ok(Some(Found { object: sidecar.object, attributes }))
    }

    /// Removes what a client sees as the file `._name`: the fork, the Finder info, and the attributes shown in it; other
    /// streams and the rest of the model stay. False when the name is no sidecar's.
    pub fn remove_view(&self, caller: &Caller, folder: &dyn Object, name: &[u8]) -> Result<bool> {
        let Some(owner) = owner_name(name) else { return Ok(false) };
        let Some(there) = self.owner(caller, folder, owner)? else { return Ok(false) };
        let file = File { folder, name: owner, object: &*there.object };
        if let Beside::Plain = self.beside(&file)? {
            return Ok(false);
        }
        file.require(caller, Access::WRITE)?;
        self.absorb(&file)?;
        let shown = self.shown(&file)?;
        let (mut metadata, _) = self.load(&file)?;
        metadata.finder_info = FinderInfo::NONE;
        metadata.times.added = None;
        if self.sidecar(&file)?.is_some() {
            folder.remove(&Caller::root(), name)?;
        }
        self.store_alone(&Caller::root(), file.object, &metadata)?;
        shown.iter().try_for_each(|name| self.drop_stream(&file, name))?;
        Ok(true)
    }

    /// The attributes that the sidecar shows; `NotFound` when there is no sidecar to see.
    fn shown(&self, file: &File<'_>) -> Result<Vec<Vec<u8>>> {
        if let Some(sidecar) = self.sidecar(file)? {
            let head = sidecar.parsed();
            return Ok(head.iter().flat_map(|head| &head.xattrs).map(|attr| attr.name.to_vec()).collect());
        }
        if self.synthesize(file)?.is_empty() {
            return Err(Error::NotFound);
        }
        Ok(self.attributes(file)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Whether an entry is left out of listings: it is the sidecar of a file beside it, or was another's. A file that
    /// merely has such a name stays.
    pub fn hidden(&self, folder: &dyn Object, name: &[u8]) -> Result<bool> {
        let Some(owner) = owner_name(name) else { return Ok(false) };
        let Some(there) = self.owner(&Caller::root(), folder, owner)? else { return Ok(false) };
        let beside = self.beside(&File { folder, name: owner, object: &*there.object })?;
        Ok(matches!(beside, Beside::Own(_) | Beside::Foreign(_)))
    }
}

/// The file whose sidecar a name would be. A sidecar has none of its own.
fn owner_name(name: &[u8]) -> Option<&[u8]> {
    layout::sidecar_owner(name).filter(|owner| !layout::is_sidecar_name(owner))
}

/// The attributes a sidecar seems to have.
fn seeming(owner: &Attributes, size: u64) -> Attributes {
    Attributes {
        id: FileId(owner.id.0 ^ 1 << 62),
        kind: Kind::File,
        mode: owner.mode & 0o666,
        links: 1,
        size,
        allocated: size.next_multiple_of(512),
        ..*owner
    }
}
