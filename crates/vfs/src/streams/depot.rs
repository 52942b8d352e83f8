//! Samba's depot (`streams_depot`): streams, Finder info and forks of files are files in `.streams`, and are used where they
//! are.
//!
//! The depot belongs to the users that Samba served, so its entries are not believed as those of the server's own store are:
//! a file that others may not read could have been moved there.

use std::sync::Arc;

use super::places::Home;
use super::server_folders::OtherServers;
use super::sidecar::{Sidecar, dress};
use super::store::{find_or_make, names};
use super::{File, found};
use crate::backend::{Backend, Found, NewKind, Object, RenameMode, Stability, Wait, XattrMode};
use crate::mac::depot::{self, DEPOT, MARKED, MARKER};
use crate::mac::info_stream;
use crate::mac::layout::{INFO_STREAM, RESOURCE_STREAM, may_be_stream};
use crate::names::Map;
use crate::{Access, Attributes, Caller, Error, Kind, Result, SetAttributes};

/// The mode of Samba's folders.
const FOLDER_MODE: u32 = 0o755;
/// Names that are tried for a folder of a file that is gone.
const MOST_LOST: u32 = 10_000;

/// A file with Finder info, and its bytes.
pub(super) type Info = (Arc<dyn Object>, Vec<u8>);

/// The folder of a file in the depot.
pub(super) struct InDepot {
    /// The folder that it is in, and its name there.
    above: Arc<dyn Object>,
    name: Vec<u8>,
    folder: Arc<dyn Object>,
}

/// Samba's depots in the folders of a volume.
#[derive(Clone, Copy)]
pub(super) struct Depots<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) others: OtherServers<'a>,
}

impl Depots<'_> {
    /// The depot's folder for a file, if there is one and the file is the one that it was made for.
    pub(super) fn place(&self, object: &dyn Object) -> Result<Option<InDepot>> {
        if !matches!(object.kind(), Kind::File | Kind::Folder) {
            return Ok(None);
        }
        for shared in self.others.with_depots() {
            let Some(shared) = found(self.backend.by_key(&shared).or(Err(Error::NotFound)))? else {
                continue;
            };
            if let Some(there) = in_depot_of(&*shared.object, object)? {
                return Ok(Some(there));
            }
        }
        Ok(None)
    }

    /// The folder with the depot in which Samba would put streams of a file: the nearest above it, if that is known.
    fn for_new(&self, object: &dyn Object) -> Result<Arc<dyn Object>> {
        let depots = self.others.with_depots();
        let first = depots.first().ok_or(Error::NotFound)?;
        let root = self.backend.root()?.object;
        if depots.len() > 1
            && let Some(path) = self.backend.path_hint(object)
        {
            for length in (0..path.len()).rev() {
                let path: Vec<&[u8]> = path[..length].iter().map(Vec::as_slice).collect();
                let at = if path.is_empty() { Some(root.clone()) } else { folder_at(&*root, &path)? };
                if let Some(at) = at.filter(|at| depots.contains(&at.key())) {
                    return Ok(at);
                }
            }
        }
        Ok(self.backend.by_key(first)?.object)
    }

    /// The same, without the folder above it.
    pub(super) fn folder(&self, object: &dyn Object) -> Result<Option<Arc<dyn Object>>> {
        Ok(self.place(object)?.map(|there| there.folder))
    }

    /// The named streams of a file in the depot.
    pub(super) fn streams(&self, object: &dyn Object) -> Result<Vec<(Vec<u8>, Found)>> {
        let Some(folder) = self.folder(object)? else { return Ok(Vec::new()) };
        let (of, mut streams) = (object.attributes()?, Vec::<(Vec<u8>, Found)>::new());
        for file in names(&*folder)? {
            let Some(name) = depot::stream_of(&file).map(|name| Map::Sfm.decode(name).into_owned()) else {
                continue;
            };
            if may_be_stream(&name)
                && streams.iter().all(|(known, _)| *known != name)
                && let Some(there) = believed(&*folder, &file, &of)?
            {
                streams.push((name, there));
            }
        }
        Ok(streams)
    }

    /// The file of one stream in the depot, with its name there.
    fn file_of(&self, object: &dyn Object, stream: &[u8]) -> Result<Option<(InDepot, Vec<u8>, Found)>> {
        let Some(there) = self.place(object)? else { return Ok(None) };
        let of = object.attributes()?;
        for name in [stream, &*Map::Sfm.encode(stream)] {
            let Some(file) = depot::file_of(name) else { continue };
            if let Some(stream) = believed(&*there.folder, &file, &of)? {
                return Ok(Some((there, file, stream)));
            }
        }
        Ok(None)
    }

    /// The place of a stream, if it is in the depot.
    pub(super) fn home(&self, object: &dyn Object, stream: &[u8]) -> Result<Option<Home>> {
        Ok(self.file_of(object, stream)?.map(|(_, _, there)| Home::Depot(there.object)))
    }

    /// Makes a stream in the depot; `None` if a file cannot have its name.
    pub(super) fn new_stream(&self, object: &dyn Object, stream: &[u8]) -> Result<Option<Arc<dyn Object>>> {
        let Some(file) = depot::file_of(&Map::Sfm.encode(stream)) else { return Ok(None) };
        let folder = self.make_folder(object)?;
        let made = find_or_make(&*folder, &file, NewKind::File, 0o600)?;
        if !is_file(&made.attributes) {
            return Ok(None);
        }
        dress(&*made.object, object)?;
        Ok(Some(made.object))
    }

    pub(super) fn make_folder(&self, object: &dyn Object) -> Result<Arc<dyn Object>> {
        if let Some(folder) = self.folder(object)? {
            return Ok(folder);
        }
        let depot = self.for_new(object)?.lookup(&Caller::root(), DEPOT)?;
        let (id, like) = (object.id(), object.attributes()?);
        let [first, second, name] = depot::place(id.device, id.inode);
        let first = made(&depot, &first, &depot.attributes)?;
        let second = made(&first, &second, &depot.attributes)?;
        if found(second.object.lookup(&Caller::root(), &name))?.is_some() {
            lose(&*second.object, &name, &*depot.object)?; // of a file that is gone
        }
        let folder = made(&second, &name, &like)?;
        object.set_xattr(&Caller::root(), MARKER, MARKED, XattrMode::Set)?;
        Ok(folder.object)
    }

    /// Removes a stream from the depot.
    pub(super) fn drop_stream(&self, object: &dyn Object, stream: &[u8]) -> Result<()> {
        match self.file_of(object, stream)? {
            Some((there, file, _)) => found(there.folder.remove(&Caller::root(), &file)).map(drop),
            None => Ok(()),
        }
    }

    /// Gives a stream in the depot another name.
    pub(super) fn rename_stream(&self, object: &dyn Object, from: &[u8], to: &[u8]) -> Result<()> {
        let (there, file, _) = self.file_of(object, from)?.ok_or(Error::NoSuchAttribute)?;
        let to = depot::file_of(&Map::Sfm.encode(to)).ok_or(Error::InvalidName)?;
        there.folder.rename(&Caller::root(), &file, &*there.folder, &to, RenameMode::Replace)
    }

    /// The stream with Finder info in the depot, and its bytes.
    pub(super) fn info(&self, object: &dyn Object) -> Result<Option<Info>> {
        let Some((_, _, there)) = self.file_of(object, INFO_STREAM)? else { return Ok(None) };
        let mut bytes = Vec::new();
        there.object.prepare(&Caller::root(), &there.attributes, Access::READ, true)?;
        there.object.read_at(0, info_stream::LEN, &mut bytes, Wait::Allowed)?;
        Ok(Some((there.object, bytes)))
    }

    /// The resource fork in the depot.
    pub(super) fn fork(&self, object: &dyn Object) -> Result<Option<Sidecar>> {
        let there = self.file_of(object, RESOURCE_STREAM)?;
        Ok(there.map(|(_, _, there)| Sidecar::of_depot(there)))
    }

    /// The same, made if Samba would put it there: it does so with the Finder info.
    pub(super) fn fork_or_new(&self, file: &File<'_>) -> Result<Option<Sidecar>> {
        if let Some(fork) = self.fork(file.object)? {
            return Ok(Some(fork));
        }
        if self.file_of(file.object, INFO_STREAM)?.is_none() {
            return Ok(None);
        }
        let Some(object) = self.new_stream(file.object, RESOURCE_STREAM)? else { return Ok(None) };
        let attributes = object.attributes()?;
        Ok(Some(Sidecar::of_depot(Found { object, attributes })))
    }

    /// The folder of a file that is about to lose its last name.
    pub(super) fn going(&self, folder: &dyn Object, name: &[u8]) -> Result<Option<InDepot>> {
        if self.others.with_depots().is_empty() {
            return Ok(None);
        }
        match found(folder.lookup(&Caller::root(), name))? {
            Some(file) if file.attributes.kind == Kind::Folder || file.attributes.links < 2 => {
                self.place(&*file.object)
            }
            _ => Ok(None),
        }
    }
}

impl InDepot {
    /// Removes it. Whatever cannot be removed belongs to no file.
    pub(super) fn forget(self) -> Result<()> {
        let root = Caller::root();
        for name in names(&*self.folder)? {
            found(self.folder.remove(&root, &name))?;
        }
        found(self.above.remove_folder(&root, &self.name)).map(drop)
    }
}

/// The folder of a file in the depot of this folder.
fn in_depot_of(shared: &dyn Object, object: &dyn Object) -> Result<Option<InDepot>> {
    let id = object.id();
    let [first, second, name] = depot::place(id.device, id.inode);
    let Some(above) = folder_at(shared, &[DEPOT, &first, &second])? else { return Ok(None) };
    let Some(there) = found(above.lookup(&Caller::root(), &name))? else { return Ok(None) };
    let is_its_own = there.attributes.kind == Kind::Folder && is_made_for(object, there.attributes.created)?;
    Ok(is_its_own.then_some(InDepot { above, name, folder: there.object }))
}

/// The folder at the end of these names.
fn folder_at(from: &dyn Object, path: &[&[u8]]) -> Result<Option<Arc<dyn Object>>> {
    match from.lookup_path(&Caller::root(), path) {
        Ok(there) => Ok((there.attributes.kind == Kind::Folder).then_some(there.object)),
        Err(Error::IsLink | Error::NotFolder) => Ok(None),
        other => Ok(found(other)?.map(|there| there.object)),
    }
}

/// Samba marks a file for which it makes a folder, unless it is told not to. A file that is older than the folder is no other
/// file with the same inode either.
fn is_made_for(object: &dyn Object, made: Option<crate::Time>) -> Result<bool> {
    if found(object.xattr(MARKER))?.is_some_and(|mark| mark.starts_with(MARKED)) {
        return Ok(true);
    }
    let born = object.attributes()?.created;
    Ok(born.zip(made).is_some_and(|(born, made)| born <= made))
}

/// A file with one name. A file with more names may be somebody else's.
fn is_file(attributes: &Attributes) -> bool {
    attributes.kind == Kind::File && attributes.links == 1
}

/// The file of a stream, if all who may read the file that it belongs to may read it, too: otherwise a user could have moved
/// somebody else's file there to read it as a stream of his own.
fn believed(folder: &dyn Object, file: &[u8], of: &Attributes) -> Result<Option<Found>> {
    let Some(there) = found(folder.lookup(&Caller::root(), file))? else { return Ok(None) };
    let Attributes { mode, uid, gid, .. } = there.attributes;
    let others = mode & 0o004 != 0;
    let group = others || gid == of.gid && mode & 0o040 != 0;
    let owner = group || uid == of.uid && mode & 0o400 != 0;
    let is_open = (of.mode & 0o004 == 0 || others) && (of.mode & 0o040 == 0 || group) && owner;
    Ok(Some(there).filter(|there| is_file(&there.attributes) && is_open))
}

/// A folder in another one, made with this owner if it is missing.
fn made(above: &Found, name: &[u8], like: &Attributes) -> Result<Found> {
    if let Some(there) = found(above.object.lookup(&Caller::root(), name))? {
        return if there.attributes.kind == Kind::Folder { Ok(there) } else { Err(Error::NotPermitted) };
    }
    let made = above.object.create(&Caller::root(), name, NewKind::Folder, FOLDER_MODE)?;
    let ids = SetAttributes { uid: Some(like.uid), gid: Some(like.gid), ..SetAttributes::default() };
    match made.object.set_attributes(&Caller::root(), &ids) {
        Ok(()) | Err(Error::NotPermitted) => Ok(made),
        Err(other) => Err(other),
    }
}

/// Moves the folder of a file that is gone out of the way, as Samba does.
fn lose(folder: &dyn Object, name: &[u8], depot: &dyn Object) -> Result<()> {
    for number in 1..MOST_LOST {
        let lost = format!("lost-{number}").into_bytes();
        match folder.rename(&Caller::root(), name, depot, &lost, RenameMode::Keep) {
            Err(Error::Exists | Error::NotEmpty) => {}
            other => return other,
        }
    }
    Err(Error::TooMany)
}

/// Replaces the bytes of a file in the depot.
pub(super) fn rewrite(object: &dyn Object, value: &[u8]) -> Result<()> {
    let root = Caller::root();
    object.prepare(&root, &object.attributes()?, Access::WRITE, true)?;
    object.set_attributes(&root, &SetAttributes { size: Some(value.len() as u64), ..Default::default() })?;
    if value.is_empty() { Ok(()) } else { object.write_at(&root, 0, value, Stability::Unstable) }
}
