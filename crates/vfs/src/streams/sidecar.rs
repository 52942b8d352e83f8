//! The sidecar `._name` on the disk: the file it belongs to, the layout of its contents, how it is
//! made and removed.

use std::hash::Hasher;
use std::sync::Arc;

use siphasher::sip::SipHasher24;

use super::pair::{mark_again, unpack};
use super::{ABSORBED, File, MOVING, OWNER, Streams, found, store};
use crate::acl::posix;
use crate::acl::stored::{self, StoredAcl};
use crate::backend::{Backend, Finds, Found, NewKind, Object, RenameMode, Stability, Wait, XattrMode};
use crate::mac::apple_double::{AppleDouble, ByteOrder, ENTRY_LEN, EntryId, HEAD_LIMIT, HEADER_LEN};
use crate::mac::attr::{Attr, MAX_VALUES};
use crate::mac::sidecar::{self, SidecarHead};
use crate::{Access, Attributes, Caller, Error, HostKey, Kind, Result, SetAttributes, SetTime};

/// What is at the place of a file's sidecar.
pub(super) enum Beside {
    Nothing,
    /// The file's sidecar.
    Own(Sidecar),
    /// The sidecar of another file, which may be gone.
    Foreign(HostKey),
    /// A file that is no sidecar but has such a name.
    Plain,
}

/// What the model knows of a sidecar's head.
pub(super) struct HeadRecord {
    /// The fingerprint of the head.
    pub(super) print: u64,
    /// That of the Finder info in it, with [`INFO_PRINT`] before it; earlier versions wrote none.
    info: Option<Vec<u8>>,
    /// The attributes in it.
    pub(super) names: Vec<Vec<u8>>,
}

/// Marks the fingerprint of the Finder info among the names of attributes in [`ABSORBED`]. No
/// attribute of a client has such a name.
const INFO_PRINT: &[u8] = b"com.apple.FinderInfo=";

/// A file's sidecar, as it was when looked at.
pub(crate) struct Sidecar {
    pub(super) object: Arc<dyn Object>,
    pub(crate) attributes: Attributes,
    /// Whether it names the file that it belongs to. Those that Netatalk, Samba and macOS write do
    /// not.
    pub(super) owned: bool,
    /// Its beginning.
    pub(super) head: Vec<u8>,
}

/// The positions of the parts of a sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Of the resource fork.
    pub(super) start: u64,
    /// Of the resource fork.
    pub(super) len: u64,
    /// The position of the fork's length in the table; `None` if the fork cannot change where it
    /// is.
    pub(super) len_at: Option<u64>,
    /// The position of the 32 bytes of Finder info, if there are any.
    pub(super) finder_info_at: Option<u64>,
}

impl Sidecar {
    /// A file of Samba's depot that is nothing but a fork.
    pub(super) fn of_depot(there: Found) -> Self {
        Self { object: there.object, attributes: there.attributes, owned: false, head: Vec::new() }
    }

    /// What its beginning says; `None` if it is not AppleDouble.
    pub(crate) fn parsed(&self) -> Option<SidecarHead<'_>> {
        sidecar::parse(&self.head, self.attributes.size).ok()
    }

    /// `None` for a sidecar that has no header yet.
    pub(super) fn layout(&self) -> Option<Layout> {
        let (total, parsed) = (self.attributes.size, self.parsed()?);
        let table = AppleDouble::parse(&self.head, total).ok()?;
        let row = table.entry(EntryId::RESOURCE_FORK);
        let last = table.entries.iter().all(|entry| row.is_some_and(|row| entry.offset <= row.offset));
        let (start, mut end) = (parsed.resource_range.start, parsed.resource_range.end);
        let unsayable = row.is_some_and(|row| row.length == u32::MAX);
        if last && unsayable {
            end = total;
        }
        let rows = self.head[HEADER_LEN..].chunks_exact(ENTRY_LEN).take(table.entries.len());
        let number = rows.map(|row| &row[..4]).position(|id| id == EntryId::RESOURCE_FORK.0.to_be_bytes());
        let fixed = !last || table.order == ByteOrder::Little;
        let len_at = number.filter(|_| !fixed).map(|number| (HEADER_LEN + ENTRY_LEN * number + 8) as u64);
        let info = table.entry(EntryId::FINDER_INFO).filter(|info| info.length >= 32);
        Some(Layout {
            start,
            len: end.saturating_sub(start),
            len_at,
            finder_info_at: info.map(|info| u64::from(info.offset)).filter(|at| at + 32 <= total),
        })
    }

    /// A number for the head, whatever the fork behind it. Zero when there is no head.
    pub(super) fn fingerprint(&self) -> u64 {
        let Some(layout) = self.layout() else { return 0 };
        let start = (layout.start as usize).min(self.head.len());
        let mut head = self.head[..start].to_vec();
        if let Some(len) = layout.len_at.and_then(|at| head.get_mut(at as usize..at as usize + 4)) {
            len.fill(0);
        }
        let mut hasher = SipHasher24::new();
        hasher.write(&head);
        hasher.finish()
    }

    /// The note of when the head was last absorbed.
    pub(super) fn absorbed(&self) -> Result<Option<HeadRecord>> {
        let Some(noted) = found(self.object.xattr(ABSORBED))? else { return Ok(None) };
        let Some((print, names)) = noted.split_first_chunk() else { return Ok(None) };
        let names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        let (infos, names): (Vec<&[u8]>, Vec<&[u8]>) = names.partition(|name| name.starts_with(INFO_PRINT));
        let info = infos.first().map(|info| info.to_vec());
        let names = names.into_iter().map(<[u8]>::to_vec).collect();
        Ok(Some(HeadRecord { print: u64::from_be_bytes(*print), info, names }))
    }

    /// What [`HeadRecord::info`] is for the Finder info that is in the head now.
    fn info_print(&self) -> Vec<u8> {
        let mut hasher = SipHasher24::new();
        hasher.write(self.parsed().map(|head| head.finder_info).unwrap_or_default().as_bytes());
        [INFO_PRINT, format!("{:016x}", hasher.finish()).as_bytes()].concat()
    }

    /// Whether a client has written the Finder info in the head since it was absorbed. Another
    /// server that writes the fork leaves it, but may write the rest of the head in its own way.
    pub(super) fn has_new_info(&self, absorbed: &HeadRecord) -> bool {
        absorbed.info.as_ref().is_none_or(|info| *info != self.info_print())
    }

    /// Notes that the model knows this head.
    pub(super) fn note_absorbed(&self) -> Result<()> {
        let (mut value, info) = (self.fingerprint().to_be_bytes().to_vec(), self.info_print());
        let mut names: Vec<&[u8]> = vec![&info];
        names.extend(self.parsed().iter().flat_map(|head| &head.xattrs).map(|attr| attr.name));
        value.extend_from_slice(&names.join(&0));
        let limit = value.len().min(3000); // names that do not fit are never taken for removed
        self.object.set_xattr(&Caller::root(), ABSORBED, &value[..limit], XattrMode::Set)
    }

    pub(super) fn claim(&mut self, owner: &HostKey) -> Result<()> {
        if !self.owned {
            self.object.set_xattr(&Caller::root(), OWNER, owner.local().as_bytes(), XattrMode::Set)?;
            self.owned = true;
        }
        Ok(())
    }

    /// The value of an attribute in it.
    pub(super) fn value(&self, attr: &Attr<'_>) -> Result<Vec<u8>> {
        if let Some(value) = attr.value {
            return Ok(value.to_vec());
        }
        let mut value = Vec::new();
        self.open_for(Access::READ)?;
        self.object.read_at(u64::from(attr.offset), attr.length as usize, &mut value, Wait::Allowed)?;
        Ok(value)
    }

    /// Reads the first `length` bytes.
    fn read_head(&mut self, length: u64) -> Result<()> {
        let known = self.head.len();
        let rest = (length as usize).saturating_sub(known);
        self.object.read_at(known as u64, rest, &mut self.head, Wait::Allowed).map(drop)
    }

    pub(super) fn open_for(&self, want: Access) -> Result<()> {
        self.object.prepare(&Caller::root(), &self.attributes, want, true)
    }

    /// Replaces everything by a head that the model knows. A crash in between loses nothing,
    /// because it is all in the model.
    pub(super) fn rewrite(self, head: &[u8]) -> Result<()> {
        self.write(0, head)?;
        let size = SetAttributes { size: Some(head.len() as u64), ..SetAttributes::default() };
        self.object.set_attributes(&Caller::root(), &size)?;
        self.again()?.note_absorbed()
    }

    pub(super) fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.open_for(Access::WRITE)?;
        self.object.write_at(&Caller::root(), offset, data, Stability::Unstable)
    }
}

impl Streams {
    /// What is at the place of a file's sidecar. One call when there is nothing.
    pub(super) fn beside(&self, file: &File<'_>) -> Result<Beside> {
        match found(file.folder.lookup(&Caller::root(), &file.sidecar_name()))? {
            Some(there) => self.judge(there, &file.key()),
            None => Ok(Beside::Nothing),
        }
    }

    fn judge(&self, there: Found, key: &HostKey) -> Result<Beside> {
        if there.attributes.kind != Kind::File {
            return Ok(Beside::Plain);
        }
        let owner = owner(&*there.object)?;
        if let Some(other) = owner.filter(|owner| owner.local() != key.local()) {
            return Ok(Beside::Foreign(other));
        }
        let sidecar = read(there, owner.is_some())?;
        // An empty file is a sidecar that is being written, as is one of the server's own without a
        // header.
        let is_sidecar = sidecar.owned || sidecar.head.is_empty() || sidecar.parsed().is_some();
        Ok(if is_sidecar { Beside::Own(sidecar) } else { Beside::Plain })
    }

    /// The file's sidecar. If a crash left it behind, it is moved to the file first.
    pub(super) fn sidecar(&self, file: &File<'_>) -> Result<Option<Sidecar>> {
        if let Beside::Own(sidecar) = self.beside(file)? {
            return Ok(Some(sidecar));
        }
        if !self.pairs().mend(file)? {
            return Ok(None);
        }
        Ok(if let Beside::Own(sidecar) = self.beside(file)? { Some(sidecar) } else { None })
    }

    /// The file's sidecar, made with this content if there is none.
    pub(super) fn sidecar_or_new(&self, file: &File<'_>, content: &[u8]) -> Result<Sidecar> {
        if let Some(mut sidecar) = self.sidecar(file)? {
            if !sidecar.owned {
                sidecar.claim(&file.key())?;
                mark_again(file.object, (file.folder, file.name))?;
            }
            return Ok(sidecar);
        }
        let name = file.sidecar_name();
        match self.beside(file)? {
            Beside::Foreign(owner) => self.displace(file.folder, &name, &owner)?,
            Beside::Plain => return Err(Error::Exists),
            Beside::Nothing | Beside::Own(_) => {}
        }
        let made = file.folder.create(&Caller::root(), &name, NewKind::File, 0o600)?;
        let mut sidecar =
            Sidecar { object: made.object, attributes: made.attributes, owned: false, head: vec![] };
        sidecar.claim(&file.key())?;
        mark_again(file.object, (file.folder, file.name))?;
        dress(&*sidecar.object, file.object)?;
        if !content.is_empty() {
            sidecar.write(0, content)?;
        }
        let mut sidecar = sidecar.again()?;
        sidecar.owned = true;
        Ok(sidecar)
    }

    /// Moves a sidecar out of the place where another one must go: to the store, where its own file
    /// finds it. If that file is certainly gone, removes the sidecar.
    pub(super) fn displace(&self, folder: &dyn Object, name: &[u8], owner: &HostKey) -> Result<()> {
        let root = Caller::root();
        let alive = match self.backend.by_key(owner) {
            Err(Error::Stale) if self.backend.finds(owner) == Finds::Always => {
                return found(folder.remove(&root, name)).map(drop);
            }
            Err(Error::Stale) => None, // the file has its mark since the sidecar was made
            other => Some(other?),
        };
        let store = self.own_store.make_folder(owner)?;
        if let Some(alive) = alive
            && found(alive.object.xattr(super::MOVING))?.is_none()
        {
            super::pair::mark(&*alive.object, folder, name)?;
        }
        folder.rename(&root, name, &*store, store::SIDECAR, RenameMode::Replace)
    }
}

impl Sidecar {
    /// The same, as it is now.
    pub(super) fn again(self) -> Result<Self> {
        let attributes = self.object.attributes()?;
        read(Found { object: self.object, attributes }, self.owned)
    }
}

/// Looks at what is in a sidecar.
pub(crate) fn read(there: Found, owned: bool) -> Result<Sidecar> {
    let (object, attributes) = (there.object, there.attributes);
    let mut sidecar = Sidecar { object, attributes, owned, head: Vec::new() };
    if attributes.size > 0 {
        sidecar.object.prepare(&Caller::root(), &attributes, Access::READ, true)?;
        sidecar.read_head(attributes.size.min(HEAD_LIMIT as u64))?;
        // The values of attributes may lie behind the limit, up to the fork.
        let start = sidecar.layout().map_or(0, |layout| layout.start);
        if start > HEAD_LIMIT as u64 && sidecar.parsed().is_some_and(|head| !head.xattrs.is_empty()) {
            sidecar.read_head(start.min((HEAD_LIMIT + MAX_VALUES) as u64))?;
        }
    }
    Ok(sidecar)
}

/// The key of the file that a sidecar names as its own.
pub(crate) fn owner(sidecar: &dyn Object) -> Result<Option<HostKey>> {
    let owner = found(sidecar.xattr(OWNER))?.and_then(|bytes| HostKey::new(&bytes));
    Ok(owner.map(|owner| owner.beside(&sidecar.key())))
}

/// The sidecar that belongs to a file by the file's mark: the server has made it, or has taken it over.
pub(crate) fn marked(backend: &dyn Backend, file: &dyn Object) -> Result<Option<Found>> {
    let mark = found(file.xattr(MOVING))?;
    let Some((folder, name)) = mark.and_then(|mark| unpack(&mark)) else { return Ok(None) };
    let folder = match backend.by_key(&folder.beside(&file.key())) {
        Err(Error::Stale) => return Ok(None),
        other => other?.object,
    };
    let there = found(folder.lookup(&Caller::root(), &name))?;
    let is_own = |there: &Found| -> Result<bool> {
        Ok(owner(&*there.object)?.is_some_and(|owner| owner.local() == file.key().local()))
    };
    match there {
        Some(there) if is_own(&there)? => Ok(Some(there)),
        _ => Ok(None),
    }
}

/// Gives a sidecar the owner, the ACLs and the mode of its file, as far as the server may.
pub(super) fn dress(sidecar: &dyn Object, file: &dyn Object) -> Result<()> {
    dress_as(sidecar, file, &file.attributes()?)
}

/// The same with other attributes than the file's.
pub(super) fn dress_as(sidecar: &dyn Object, file: &dyn Object, like: &Attributes) -> Result<()> {
    let root = Caller::root();
    let ids = SetAttributes { uid: Some(like.uid), gid: Some(like.gid), ..SetAttributes::default() };
    match sidecar.set_attributes(&root, &ids) {
        Ok(()) | Err(Error::NotPermitted) => {}
        Err(other) => return Err(other),
    }
    // The mode comes last: it limits what the ACL gives.
    take_attribute(posix::ACCESS, |_| true, sidecar, file)?;
    take_list(sidecar, file)?;
    let mode = SetAttributes { mode: Some(like.mode & 0o666), modified: SetTime::Keep, ..Default::default() };
    sidecar.set_attributes(&root, &mode)
}

/// Gives a sidecar the list that its file has in a team folder: clients can open it by its name.
pub(crate) fn take_list(sidecar: &dyn Object, file: &dyn Object) -> Result<()> {
    take_attribute(stored::ATTRIBUTE, StoredAcl::is_of_team, sidecar, file)
}

/// Makes an attribute of a sidecar what it is at the file. Only values that count are taken, and removed.
fn take_attribute(
    name: &[u8],
    counts: impl Fn(&[u8]) -> bool,
    sidecar: &dyn Object,
    file: &dyn Object,
) -> Result<()> {
    let of = |object: &dyn Object| -> Result<Option<Vec<u8>>> {
        Ok(found(object.xattr(name))?.filter(|value| counts(value)))
    };
    let taken = match (of(file)?, of(sidecar)?) {
        (Some(value), has) if has.as_ref() != Some(&value) => {
            sidecar.set_xattr(&Caller::root(), name, &value, XattrMode::Set)
        }
        (None, Some(_)) => sidecar.remove_xattr(&Caller::root(), name),
        _ => Ok(()),
    };
    match taken {
        Err(Error::NotSupported | Error::NotPermitted) => Ok(()),
        other => other,
    }
}
