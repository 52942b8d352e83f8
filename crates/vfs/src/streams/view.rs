//! The sidecar as a file, for Macs whose protocol has no place for forks and attributes. They look
//! up `._name`, read and write it, and its contents are those of the model.

use std::sync::Arc;

use super::sidecar::{self, Beside, Sidecar};
use super::{File, OWNER, SIDECAR, Streams, elsewhere, found, store};
use crate::backend::{Found, Object, Stability, Wait, XattrMode};
use crate::mac::{FinderInfo, Metadata, attr, layout, sidecar as mac_sidecar};
use crate::{Access, Attributes, Caller, Error, HostKey, Kind, Result, Time};

/// A longer fork is not moved to make room for attributes before it.
const LARGEST_MOVED: u64 = 16 << 20;

/// A name and a value.
type Attribute = (Vec<u8>, Vec<u8>);
/// A folder, and a name in it.
type Place = (Arc<dyn Object>, Vec<u8>);

/// What a client that asks for `._name` gets.
pub enum SidecarView {
    /// A file like any other: the name is not that of a sidecar, or there is no file to which it
    /// could belong.
    Plain,
    /// The sidecar on the disk.
    OnDisk(Found),
    /// Nothing is on the disk, but the model has contents for it.
    Synthesized(SyntheticSidecar),
    /// Nothing.
    Absent,
}

/// A sidecar that is not on the disk.
pub struct SyntheticSidecar {
    /// The file it belongs to.
    pub owner: Arc<dyn Object>,
    /// All of it.
    pub bytes: Vec<u8>,
    /// Those of the owner, but for its kind, size, links and id.
    pub attributes: Attributes,
}

/// The file that a sidecar belongs to, and where it is.
pub struct SidecarOwner {
    /// The file.
    pub owner: Arc<dyn Object>,
    /// Its folder.
    pub folder: Arc<dyn Object>,
    /// Its stored name there.
    pub name: Vec<u8>,
}

/// Sidecars as files that clients look up, read and write.
#[derive(Clone, Copy)]
pub struct SidecarFiles<'a> {
    pub(super) streams: &'a Streams,
}

impl SidecarFiles<'_> {
    /// What a client that asks for this name gets. For a name that does not begin with `._` it is always `Plain`.
    pub fn view(&self, caller: &Caller, folder: &dyn Object, name: &[u8]) -> Result<SidecarView> {
        let Some(owner) = owner_name(name) else { return Ok(SidecarView::Plain) };
        let Some(there) = self.owner(caller, folder, owner)? else { return self.moved_view(folder, name) };
        let object = there.object.clone();
        let file = File { folder, name: owner, object: &*object };
        match self.streams.beside(&file)? {
            Beside::Own(sidecar) => return self.on_disk(&file, sidecar),
            Beside::Plain => return Ok(SidecarView::Plain),
            Beside::Foreign(_) | Beside::Nothing => {}
        }
        if let Some(sidecar) = self.streams.sidecar(&file)? {
            return self.on_disk(&file, sidecar);
        }
        self.streams.seen.lock().remember(file.key(), (folder.key(), owner.to_vec()));
        let bytes = self.synthesize(&file)?;
        Ok(synthesized(there, bytes))
    }

    /// The view of a client that found a composed sidecar earlier and comes back with nothing but
    /// the file it belongs to. It may be on the disk by now, wherever the file is.
    pub fn view_of(&self, owner: Found) -> Result<SidecarView> {
        if let Some(sidecar) = self.linked(&*owner.object)? {
            return Ok(SidecarView::OnDisk(sidecar));
        }
        if let Some((folder, name)) = self.seen_at(&*owner.object)? {
            return self.view(&Caller::root(), &*folder, &layout::sidecar_name(&name));
        }
        let metadata = self.streams.load_alone(&*owner.object)?.0;
        let bytes = composed(&metadata, &self.showable(&*owner.object)?, fork_attribute(&*owner.object)?);
        Ok(synthesized(owner, bytes))
    }

    /// The folder and name of a file whose sidecar a client looked for, if it is still there.
    fn seen_at(&self, owner: &dyn Object) -> Result<Option<Place>> {
        let Some((folder, name)) = self.streams.seen.lock().place(&owner.key()) else { return Ok(None) };
        let folder = match self.streams.backend.by_key(&folder) {
            Err(Error::Stale) => return Ok(None),
            other => other?.object,
        };
        let there = found(folder.lookup(&Caller::root(), &name))?;
        Ok(there.filter(|there| there.object.key() == owner.key()).map(|_| (folder, name)))
    }

    /// The file that this object, whose attributes have these names, names as the one it is the sidecar of.
    pub(crate) fn owner_among(&self, object: &dyn Object, names: &[Vec<u8>]) -> Result<Option<HostKey>> {
        if names.iter().any(|name| name == OWNER) { sidecar::owner(object) } else { Ok(None) }
    }

    /// The file that this object is the sidecar of, and where it is, as far as a client's look-up
    /// has shown that.
    pub fn sidecar_place(&self, object: &dyn Object) -> Result<Option<SidecarOwner>> {
        let Some(key) = sidecar::owner(object)? else { return Ok(None) };
        let owner = match self.streams.backend.by_key(&key) {
            Err(Error::Stale) => return Ok(None),
            other => other?.object,
        };
        Ok(self.seen_at(&*owner)?.map(|(folder, name)| SidecarOwner { owner, folder, name }))
    }

    /// The sidecar that a client's write put on the disk.
    fn linked(&self, owner: &dyn Object) -> Result<Option<Found>> {
        let Some(key) = found(owner.xattr(SIDECAR))?.and_then(|key| HostKey::new(&key)) else {
            return Ok(None);
        };
        let there = match self.streams.backend.by_key(&key.beside(&owner.key())) {
            Err(Error::Stale) => return Ok(None),
            other => other?,
        };
        let still = sidecar::owner(&*there.object)?.is_some_and(|key| key.local() == owner.key().local());
        Ok(Some(there).filter(|_| still))
    }

    /// As [`Self::materialize`], for a client that comes back with nothing but the file. `Stale`
    /// if the server does not know any more where the client found it: the client looks it up
    /// again.
    pub fn materialize_of(&self, caller: &Caller, owner: &dyn Object) -> Result<Found> {
        if let Some(there) = self.linked(owner)? {
            return Ok(there);
        }
        let (folder, name) = self.seen_at(owner)?.ok_or(Error::Stale)?;
        let sidecar = layout::sidecar_name(&name);
        self.materialize(caller, &*folder, &sidecar)?.ok_or(Error::Stale)
    }

    fn owner(&self, caller: &Caller, folder: &dyn Object, name: &[u8]) -> Result<Option<Found>> {
        let there = found(folder.lookup(caller, name))?;
        Ok(there.filter(|there| matches!(there.attributes.kind, Kind::File | Kind::Folder)))
    }

    /// A Mac that has renamed a file renames the sidecar next. If it does not find the sidecar, it
    /// takes the new one for stale and removes it. So the old name exists until there is a file of
    /// that name.
    fn moved_view(&self, folder: &dyn Object, name: &[u8]) -> Result<SidecarView> {
        let plain = found(folder.lookup(&Caller::root(), name))?.is_some();
        match self.moved_to(folder, name)? {
            Some(found) if !plain => Ok(SidecarView::OnDisk(found)),
            _ => Ok(SidecarView::Plain),
        }
    }

    /// The present place of the sidecar that lately was here.
    fn moved_to(&self, folder: &dyn Object, name: &[u8]) -> Result<Option<Found>> {
        let went_to = self.streams.moved.lock().went_to(&(folder.key(), name.to_vec()));
        let Some((key, new_name)) = went_to else { return Ok(None) };
        let Ok(new_folder) = self.streams.backend.by_key(&key) else { return Ok(None) };
        found(new_folder.object.lookup(&Caller::root(), &new_name))
    }

    /// Whether a client's rename of a sidecar has been done already, with its file.
    pub fn has_followed(&self, from: (&dyn Object, &[u8]), to: (&dyn Object, &[u8])) -> Result<bool> {
        let went_to = self.streams.moved.lock().went_to(&(from.0.key(), from.1.to_vec()));
        let there = found(from.0.lookup(&Caller::root(), from.1))?.is_some();
        Ok(!there && went_to.is_some_and(|place| place == (to.0.key(), to.1.to_vec())))
    }

    fn on_disk(&self, file: &File<'_>, sidecar: Sidecar) -> Result<SidecarView> {
        let object = sidecar.object.clone();
        if !sidecar.owned {
            self.streams.seen.lock().remember_owner(object.key(), file.key());
        }
        let object = match self.refresh(file, sidecar) {
            Ok(()) => object,
            Err(Error::ReadOnly | Error::NoSpace | Error::NoRoomForAttribute | Error::QuotaExceeded) => {
                object
            }
            Err(other) => return Err(other),
        };
        // It may be another file now.
        if let Beside::Own(sidecar) = self.streams.beside(file)? {
            return Ok(SidecarView::OnDisk(Found { object: sidecar.object, attributes: sidecar.attributes }));
        }
        let attributes = object.attributes()?;
        Ok(SidecarView::OnDisk(Found { object, attributes }))
    }

    /// Writes the model into a sidecar's head, if the model has changed since, or if another server
    /// wrote the sidecar. A head that a client is writing stays.
    fn refresh(&self, file: &File<'_>, sidecar: Sidecar) -> Result<()> {
        let Some(layout) = sidecar.layout() else { return Ok(()) };
        let described = self.described_at(file.object)?;
        let sidecar = match sidecar.absorbed()? {
            Some(absorbed) if absorbed.print != sidecar.fingerprint() => return Ok(()),
            // Its own date says nothing: a fork that a client of another protocol writes changes it, and not its head.
            Some(_) if self.streams.seen.lock().is_current(&file.key(), described) => return Ok(()),
            Some(_) => sidecar,
            None => {
                self.streams.absorb(file)?;
                sidecar.again()?
            }
        };
        let (metadata, _) = self.streams.load(file)?;
        let shown = self.shown_attributes(file, &sidecar)?;
        if !says(&sidecar, &shown)? {
            let shown: Vec<_> = shown.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            let (head, _) = metadata.to_sidecar(&shown, 0);
            match layout.len {
                0 => return sidecar.rewrite(&head),
                1..=LARGEST_MOVED => return self.streams.move_behind(file, head, true),
                _ => {} // only the Finder info has its place there
            }
        }
        super::metadata::write_finder_info(sidecar, &metadata)?;
        self.streams.seen.lock().remember_current(file.key(), described);
        Ok(())
    }

    /// The attributes that a sidecar should have: those of the model that fit, and those that only sidecars have.
    fn shown_attributes(&self, file: &File<'_>, sidecar: &Sidecar) -> Result<Vec<Attribute>> {
        let mut attributes = self.showable_with_foreign(file)?;
        for attr in sidecar.parsed().iter().flat_map(|head| &head.xattrs) {
            if layout::stored_xattr(attr.name).is_none() {
                attributes.push((attr.name.to_vec(), sidecar.value(attr)?));
            }
        }
        let all: Vec<_> = attributes.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let fitting = attr::writable(&all, mac_sidecar::MIN_LEN - FinderInfo::LEN, &mut Vec::new());
        Ok(fitting.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect())
    }

    /// A whole sidecar, with the fork if that is in an attribute; no bytes if it would have no
    /// contents.
    fn synthesize(&self, file: &File<'_>) -> Result<Vec<u8>> {
        let attributes = self.showable_with_foreign(file)?;
        let fork = self.fork_of_moderate_length(file)?;
        Ok(composed(&self.streams.load(file)?.0, &attributes, fork))
    }

    /// A fork that is in no sidecar, if it is no longer than what a composed one contains.
    fn fork_of_moderate_length(&self, file: &File<'_>) -> Result<Option<Vec<u8>>> {
        let Some(fork) = self.streams.fork(&Caller::root(), file)? else { return Ok(None) };
        let mut bytes = Vec::new();
        if fork.len() <= LARGEST_MOVED {
            fork.read_at(0, fork.len() as usize, &mut bytes, Wait::Allowed)?;
        }
        Ok(Some(bytes))
    }

    fn showable_with_foreign(&self, file: &File<'_>) -> Result<Vec<Attribute>> {
        let mut attributes = self.showable(file.object)?;
        for (name, value) in self.streams.server_files().streams(file)? {
            if attributes.iter().all(|(known, _)| *known != name) {
                attributes.push((name, value));
            }
        }
        Ok(attributes)
    }

    /// The sidecar as a file on the disk, for a client that is about to write it, or makes it.
    /// `None` if the name is not that of a sidecar: then it is a file like any other.
    pub fn materialize(&self, caller: &Caller, folder: &dyn Object, name: &[u8]) -> Result<Option<Found>> {
        let Some(owner) = owner_name(name) else { return Ok(None) };
        let Some(there) = self.owner(caller, folder, owner)? else { return Ok(None) };
        let file = File { folder, name: owner, object: &*there.object };
        if let Beside::Plain = self.streams.beside(&file)? {
            return Ok(None);
        }
        file.require(caller, Access::WRITE)?;
        self.streams.absorb(&file)?;
        let content = self.synthesize(&file)?;
        let sidecar = self.streams.sidecar_or_new(&file, &content)?;
        if sidecar.absorbed()?.is_none() {
            sidecar.note_absorbed()?;
        }
        if sidecar.layout().is_some_and(|layout| layout.len > 0) {
            self.drop_other_forks(&file, &sidecar)?;
        }
        let key = sidecar.object.key().local();
        file.object.set_xattr(&Caller::root(), SIDECAR, key.as_bytes(), XattrMode::Set)?;
        let attributes = sidecar.object.attributes()?;
        Ok(Some(Found { object: sidecar.object, attributes }))
    }

    /// After the fork has been written into the sidecar.
    fn drop_other_forks(&self, file: &File<'_>, sidecar: &Sidecar) -> Result<()> {
        let is_in_depot = self.streams.depots().fork(file.object)?.is_some();
        if !is_in_depot
            && fork_attribute(file.object)?.is_none()
            && self.streams.server_files().header_file(file)?.is_none()
        {
            return Ok(());
        }
        sidecar.object.sync(Stability::File)?; // the other goes next, and must not be all there was
        elsewhere::drop_attribute(file.object)?;
        self.streams.depots().drop_stream(file.object, layout::RESOURCE_STREAM)?;
        self.leave_header_file(file)
    }

    /// Takes the fork out of Netatalk's header file, which keeps the rest. Another server's is given up.
    fn leave_header_file(&self, file: &File<'_>) -> Result<()> {
        match self.streams.header_fork_if_any(file)? {
            Some(mut fork) => fork.truncate(0),
            None => self.streams.give_up_header_file(file),
        }
    }

    /// Removes what a client sees as the file `._name`: the fork, the Finder info, and the
    /// attributes shown in it. Other streams and the rest of the model stay. `false` if the name is
    /// not that of a sidecar.
    pub fn remove_view(&self, caller: &Caller, folder: &dyn Object, name: &[u8]) -> Result<bool> {
        let Some(owner) = owner_name(name) else { return Ok(false) };
        let Some(there) = self.owner(caller, folder, owner)? else { return Ok(false) };
        let file = File { folder, name: owner, object: &*there.object };
        if let Beside::Plain = self.streams.beside(&file)? {
            return Ok(false);
        }
        file.require(caller, Access::WRITE)?;
        self.streams.absorb(&file)?;
        let shown = self.shown(&file)?;
        let (mut metadata, _) = self.streams.load(&file)?;
        metadata.finder_info = FinderInfo::NONE;
        metadata.times.added = None;
        if self.streams.sidecar(&file)?.is_some() {
            folder.remove(&Caller::root(), name)?;
            super::pair::unmark(file.object)?;
        }
        elsewhere::drop_attribute(file.object)?;
        self.streams.depots().drop_stream(file.object, layout::RESOURCE_STREAM)?;
        self.streams.take_in_synology(&file)?;
        match self.streams.header_fork_if_any(&file)? {
            Some(mut fork) => {
                fork.truncate(0)?;
                self.streams.store(&Caller::root(), &file, &metadata)?;
            }
            None => {
                self.streams.server_files().drop_header_file(&file)?;
                self.streams.store_alone(&Caller::root(), file.object, &metadata)?;
            }
        }
        found(file.object.remove_xattr(&Caller::root(), SIDECAR))?;
        shown.iter().try_for_each(|name| self.streams.drop_stream(&file, name))?;
        Ok(true)
    }

    /// The attributes that the sidecar shows; `NotFound` if there is no visible sidecar.
    fn shown(&self, file: &File<'_>) -> Result<Vec<Vec<u8>>> {
        if let Some(sidecar) = self.streams.sidecar(file)? {
            let head = sidecar.parsed();
            return Ok(head.iter().flat_map(|head| &head.xattrs).map(|attr| attr.name.to_vec()).collect());
        }
        if self.synthesize(file)?.is_empty() {
            return Err(Error::NotFound);
        }
        Ok(self.showable_with_foreign(file)?.into_iter().map(|(name, _)| name).collect())
    }

    /// The streams that a sidecar can show, with their values: those that are attributes of the
    /// host, and those of the store as far as a sidecar has room for them.
    fn showable(&self, object: &dyn Object) -> Result<Vec<Attribute>> {
        let mut attributes = self.streams.attributes(object)?;
        let taken: usize = attributes.iter().map(|(_, value)| value.len()).sum();
        let mut room = attr::MAX_VALUES.saturating_sub(taken);
        let mut files: Vec<(Vec<u8>, u64, Arc<dyn Object>)> = Vec::new();
        if let Some(folder) = self.stored_if_any(object)? {
            for (name, there) in store::streams(&*folder)? {
                files.extend(store::find_stream(&*folder, &name)?.map(|stream| (name, there.size, stream)));
            }
        }
        let in_depot = self.streams.depots().streams(object)?.into_iter();
        files.extend(in_depot.map(|(name, there)| (name, there.attributes.size, there.object)));
        for (name, size, stream) in files {
            let known = attributes.iter().any(|(attribute, _)| *attribute == name);
            if known || size > room as u64 {
                continue;
            }
            let mut value = Vec::new();
            stream.prepare(&Caller::root(), &stream.attributes()?, Access::READ, true)?;
            stream.read_at(0, room, &mut value, Wait::Allowed)?;
            room -= value.len();
            attributes.push((name, value));
        }
        Ok(attributes)
    }

    /// The file's folder in the store; `None` if it certainly has nothing there.
    fn stored_if_any(&self, object: &dyn Object) -> Result<Option<Arc<dyn Object>>> {
        if self.streams.own_store.may_have(&object.key())? {
            self.streams.own_store.folder(&object.key())
        } else {
            Ok(None)
        }
    }

    /// When the file's attributes or its streams in the store changed last.
    fn described_at(&self, object: &dyn Object) -> Result<Time> {
        let mut last = object.attributes()?.changed;
        if let Some(folder) = self.stored_if_any(object)? {
            last = last.max(folder.attributes()?.changed);
            last = store::streams(&*folder)?.iter().fold(last, |last, (_, there)| last.max(there.changed));
        }
        let in_depot = self.streams.depots().streams(object)?;
        Ok(in_depot.iter().fold(last, |last, (_, there)| last.max(there.attributes.changed)))
    }

    /// Whether the sidecar of a file, as clients see it, has the fork in it.
    pub(super) fn shows_fork(&self, file: &File<'_>) -> Result<bool> {
        Ok(!matches!(self.streams.beside(file)?, Beside::Plain) && self.streams.fork_len(file)? > 0)
    }

    /// Whether an entry is left out of listings: it is the sidecar of a file beside it, or was the
    /// sidecar of another file. A file that is no sidecar but has such a name stays.
    pub fn hidden(&self, folder: &dyn Object, name: &[u8]) -> Result<bool> {
        let Some(owner) = owner_name(name) else { return Ok(false) };
        let Some(there) = self.owner(&Caller::root(), folder, owner)? else { return Ok(false) };
        let beside = self.streams.beside(&File { folder, name: owner, object: &*there.object })?;
        Ok(matches!(beside, Beside::Own(_) | Beside::Foreign(_)))
    }
}

/// The bytes of a sidecar; none if it would have no contents.
fn composed(metadata: &Metadata, attributes: &[Attribute], fork: Option<Vec<u8>>) -> Vec<u8> {
    let fork = fork.unwrap_or_default();
    if metadata.finder_info_with_date().is_none() && attributes.is_empty() && fork.is_empty() {
        return Vec::new();
    }
    let attributes: Vec<_> = attributes.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let head = metadata.to_sidecar(&attributes, fork.len() as u64).0;
    [head, fork].concat()
}

fn synthesized(owner: Found, bytes: Vec<u8>) -> SidecarView {
    if bytes.is_empty() {
        return SidecarView::Absent;
    }
    let attributes = seeming(&owner.attributes, bytes.len() as u64);
    SidecarView::Synthesized(SyntheticSidecar { owner: owner.object, bytes, attributes })
}

/// A resource fork that another server left in an attribute.
fn fork_attribute(object: &dyn Object) -> Result<Option<Vec<u8>>> {
    let names = super::metadata::names(object)?;
    Ok(elsewhere::attribute(object, &names)?.map(|there| there.fork))
}

/// Whether a sidecar contains exactly these attributes.
fn says(sidecar: &Sidecar, shown: &[Attribute]) -> Result<bool> {
    let Some(head) = sidecar.parsed() else { return Ok(false) };
    for attr in &head.xattrs {
        let value = sidecar.value(attr)?;
        if !shown.iter().any(|(name, shown)| name == attr.name && *shown == value) {
            return Ok(false);
        }
    }
    Ok(head.xattrs.len() == shown.len())
}

/// The file whose sidecar would have this name. A sidecar has no sidecar itself.
fn owner_name(name: &[u8]) -> Option<&[u8]> {
    layout::sidecar_owner(name).filter(|owner| !layout::is_sidecar_name(owner))
}

/// The attributes that a sidecar shows.
fn seeming(owner: &Attributes, size: u64) -> Attributes {
    Attributes {
        id: owner.id.with_inode(owner.id.inode ^ 1 << 62),
        kind: Kind::File,
        mode: owner.mode & 0o666,
        links: 1,
        size,
        allocated: size.next_multiple_of(512),
        ..*owner
    }
}
