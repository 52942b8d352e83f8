//! What is on the disk of a file besides its data: attributes, and files of this and other servers. Saved before the file gets
//! another layout, it restores the former one byte for byte.

use std::hash::Hasher as _;
use std::sync::Arc;

use siphasher::sip128::{Hasher128 as _, SipHasher24};

use super::relayout::Layouts;
use super::sidecar::Beside;
use super::store::{find_or_make, names};
use super::{File, found};
use crate::backend::{Found, NewKind, Object, Stability, Wait, XattrMode};
use crate::mac::layout::{
    NETATALK2_FOLDER, NETATALK2_PARENT, SYNOLOGY_ATTRIBUTES, SYNOLOGY_FOLDER, SYNOLOGY_HEADER,
};
use crate::mac::netatalk_list;
use crate::{Access, Caller, Error, Kind, Result, SetAttributes, SetTime, Time};

/// Bytes that are saved of one file at most.
pub const MOST_SAVED: u64 = 256 << 20;

/// Names and values of attributes.
type Xattrs = Vec<(Vec<u8>, Vec<u8>)>;

/// What is on the disk of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Raw {
    /// Its attributes for users.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The files.
    pub files: Vec<RawFile>,
}

/// A file that says something of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFile {
    /// Where it is.
    pub place: RawPlace,
    /// Its name there.
    pub name: Vec<u8>,
    /// Its mode, owner and group.
    pub rights: (u32, u32, u32),
    /// When its bytes changed last: seconds and nanoseconds.
    pub modified: (i64, u32),
    /// Its length.
    pub len: u64,
    /// Its beginning; the rest does not change.
    pub bytes: Vec<u8>,
    /// Its attributes for users.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The folder of a file that says something of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawPlace {
    /// The folder of the file: its sidecar.
    Beside,
    /// `.AppleDouble`, beside a file and in a folder.
    Netatalk,
    /// `@eaDir` beside it.
    Synology,
    /// Its folder in Samba's depot.
    Depot,
    /// Its folder in the server's own store.
    Store,
}

const PLACES: [RawPlace; 5] =
    [RawPlace::Beside, RawPlace::Netatalk, RawPlace::Synology, RawPlace::Depot, RawPlace::Store];

impl RawPlace {
    /// A number for a journal.
    #[must_use]
    pub fn number(self) -> usize {
        PLACES.iter().position(|place| *place == self).unwrap_or_default()
    }

    /// The place of this number.
    #[must_use]
    pub fn of_number(number: usize) -> Option<Self> {
        PLACES.get(number).copied()
    }
}

impl Raw {
    /// A number for all of it.
    #[must_use]
    pub fn sum(&self) -> u128 {
        let mut hasher = SipHasher24::new();
        let mut add = |bytes: &[u8]| {
            hasher.write(&(bytes.len() as u64).to_le_bytes());
            hasher.write(bytes);
        };
        let mut xattrs = self.xattrs.clone();
        xattrs.sort();
        xattrs.iter().for_each(|(name, value)| [name, value].into_iter().for_each(|bytes| add(bytes)));
        for file in &self.files {
            add(&[file.place.number() as u8]);
            add(&file.name);
            add(&file.len.to_le_bytes());
            add(&file.bytes);
        }
        hasher.finish128().as_u128()
    }
}

impl Layouts<'_> {
    /// What is on the disk of a file. With `keeps_fork`, a sidecar's fork will not change: only what is before it is read.
    /// `FileTooLarge` if it is more than is saved.
    pub(crate) fn raw(&self, file: &File<'_>, keeps_fork: bool) -> Result<Raw> {
        let mut raw = Raw { xattrs: xattrs(file.object)?, files: Vec::new() };
        let mut room = MOST_SAVED;
        let mut add = |place, name: &[u8], there: Found, most: u64| -> Result<()> {
            let file = RawFile::read(place, name, &there, most)?;
            room = room.checked_sub(file.bytes.len() as u64).ok_or(Error::FileTooLarge)?;
            raw.files.push(file);
            Ok(())
        };
        if let Beside::Own(sidecar) = self.streams.beside(file)? {
            let start = sidecar.layout().map(|layout| layout.start).filter(|_| keeps_fork);
            let found = Found { object: sidecar.object, attributes: sidecar.attributes };
            add(RawPlace::Beside, &file.sidecar_name(), found, start.unwrap_or(u64::MAX))?;
        }
        for place in [RawPlace::Netatalk, RawPlace::Synology, RawPlace::Depot, RawPlace::Store] {
            let Some(folder) = self.raw_folder(file, place, false)? else { continue };
            for name in self.raw_names(file, place, &*folder)? {
                let there = found(folder.lookup(&Caller::root(), &name))?;
                if let Some(there) = there.filter(|there| there.attributes.kind == Kind::File) {
                    add(place, &name, there, u64::MAX)?;
                }
            }
        }
        Ok(raw)
    }

    /// The names in such a folder that say something of a file.
    fn raw_names(&self, file: &File<'_>, place: RawPlace, folder: &dyn Object) -> Result<Vec<Vec<u8>>> {
        Ok(match place {
            RawPlace::Beside => vec![file.sidecar_name()],
            RawPlace::Synology => {
                [SYNOLOGY_HEADER, SYNOLOGY_ATTRIBUTES].map(|end| [file.name, end].concat()).to_vec()
            }
            RawPlace::Netatalk => {
                let header = if file.object.kind() == Kind::Folder { NETATALK2_PARENT } else { file.name };
                let list = [header, netatalk_list::SUFFIX].concat();
                let mut of_file = vec![header.to_vec(), list.clone()];
                for listed in self
                    .streams
                    .server_files()
                    .netatalk_list(file)?
                    .into_iter()
                    .flat_map(|(_, _, listed)| listed)
                {
                    of_file.extend(netatalk_list::value_files(&list, &listed.name));
                }
                of_file
            }
            RawPlace::Depot | RawPlace::Store => names(folder)?,
        })
    }

    /// Such a folder; made if that is wanted.
    fn raw_folder(&self, file: &File<'_>, place: RawPlace, make: bool) -> Result<Option<Arc<dyn Object>>> {
        let root = Caller::root();
        let in_folder = |folder: &dyn Object, name: &[u8]| -> Result<Option<Arc<dyn Object>>> {
            let there = match make {
                true => Some(find_or_make(folder, name, NewKind::Folder, 0o755)?),
                false => found(folder.lookup(&root, name))?,
            };
            Ok(there.filter(|there| there.attributes.kind == Kind::Folder).map(|there| there.object))
        };
        match place {
            RawPlace::Netatalk if file.object.kind() == Kind::Folder => {
                in_folder(file.object, NETATALK2_FOLDER)
            }
            RawPlace::Netatalk => in_folder(file.folder, NETATALK2_FOLDER),
            RawPlace::Synology => in_folder(file.folder, SYNOLOGY_FOLDER),
            RawPlace::Depot if make => self.streams.depots().make_folder(file.object).map(Some),
            RawPlace::Depot => self.streams.depots().folder(file.object),
            RawPlace::Store if make => self.streams.own_store.make_folder(&file.key()).map(Some),
            RawPlace::Store => self.streams.own_store.folder(&file.key()),
            RawPlace::Beside => Ok(None),
        }
    }

    /// Makes what is on the disk of a file what it was.
    pub(crate) fn restore(&self, file: &File<'_>, to: &Raw) -> Result<()> {
        let root = Caller::root();
        let now = self.raw(file, true)?;
        let is_kept =
            |file: &RawFile| to.files.iter().any(|kept| (kept.place, &kept.name) == (file.place, &file.name));
        for gone in now.files.iter().filter(|file| !is_kept(file)) {
            match self.raw_folder(file, gone.place, false)? {
                Some(folder) => found(folder.remove(&root, &gone.name))?,
                None => found(file.folder.remove(&root, &gone.name))?,
            };
        }
        for kept in &to.files {
            match self.raw_folder(file, kept.place, true)? {
                Some(folder) => kept.write(&*folder)?,
                None => kept.write(file.folder)?,
            }
        }
        self.streams.own_store.note_change();
        restore_xattrs(file.object, &to.xattrs)
    }
}

impl RawFile {
    fn read(place: RawPlace, name: &[u8], there: &Found, most: u64) -> Result<Self> {
        let attributes = &there.attributes;
        let len = attributes.size.min(most);
        if len > MOST_SAVED {
            return Err(Error::FileTooLarge);
        }
        let mut bytes = Vec::new();
        if len > 0 {
            there.object.prepare(&Caller::root(), attributes, Access::READ, true)?;
            there.object.read_at(0, len as usize, &mut bytes, Wait::Allowed)?;
        }
        Ok(Self {
            place,
            name: name.to_vec(),
            rights: (attributes.mode, attributes.uid, attributes.gid),
            modified: (attributes.modified.secs, attributes.modified.nanos),
            len: attributes.size,
            bytes,
            xattrs: xattrs(&*there.object)?,
        })
    }

    fn write(&self, folder: &dyn Object) -> Result<()> {
        let root = Caller::root();
        let there = find_or_make(folder, &self.name, NewKind::File, 0o600)?;
        if there.attributes.kind != Kind::File {
            return Err(Error::NotPermitted);
        }
        let object = &*there.object;
        object.prepare(&root, &there.attributes, Access::WRITE, true)?;
        if self.bytes.len() as u64 == self.len {
            object
                .set_attributes(&root, &SetAttributes { size: Some(self.len), ..SetAttributes::default() })?;
        }
        if !self.bytes.is_empty() {
            object.write_at(&root, 0, &self.bytes, Stability::Unstable)?;
        }
        restore_xattrs(object, &self.xattrs)?;
        let (mode, uid, gid) = self.rights;
        let ids = SetAttributes { uid: Some(uid), gid: Some(gid), ..SetAttributes::default() };
        match object.set_attributes(&root, &ids) {
            Ok(()) | Err(Error::NotPermitted) => {}
            Err(other) => return Err(other),
        }
        let modified = SetTime::To(Time { secs: self.modified.0, nanos: self.modified.1 });
        let rest = SetAttributes { mode: Some(mode & 0o7777), modified, ..SetAttributes::default() };
        object.sync(Stability::File)?; // bytes that are still to be written would change the time
        object.set_attributes(&root, &rest)
    }
}

/// The attributes that users may set.
fn xattrs(object: &dyn Object) -> Result<Xattrs> {
    let mut xattrs = Vec::new();
    for name in found(object.list_xattrs())?.unwrap_or_default() {
        if name.starts_with(b"user.")
            && let Some(value) = found(object.xattr(&name))?
        {
            xattrs.push((name, value));
        }
    }
    Ok(xattrs)
}

fn restore_xattrs(object: &dyn Object, to: &Xattrs) -> Result<()> {
    let (root, now) = (Caller::root(), xattrs(object)?);
    // What goes makes room for what comes.
    for (name, _) in now.iter().filter(|(name, _)| to.iter().all(|(kept, _)| kept != name)) {
        found(object.remove_xattr(&root, name))?;
    }
    for xattr in to.iter().filter(|xattr| !now.contains(xattr)) {
        object.set_xattr(&root, &xattr.0, &xattr.1, XattrMode::Set)?;
    }
    Ok(())
}
