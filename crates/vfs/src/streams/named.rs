//! Named streams, which are also the extended attributes of Macs. They are in `user.<name>` as long
//! as the host has room for them, beyond that in the store. Samba's streams in
//! `user.DosStream.<name>:$DATA` are used where they are.

use std::borrow::Cow;
use std::sync::Arc;

use super::style::NamedPlace;
use super::{File, Streams, found, store};
use crate::backend::{NewKind, Object, RenameMode, Stability, Wait, XattrMode};
use crate::mac::layout::{Stored, classify_xattr, may_be_stream, stored_xattr};
use crate::mac::samba;
use crate::names::Map;
use crate::{Access, Caller, Error, HostKey, Result, SetAttributes};

/// The longest name of an attribute, on any host.
const LONGEST_XATTR: usize = 255;

/// A named stream of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamInfo {
    /// Its name, as Macs see it: without `user.`, `:` and `:$DATA`.
    pub name: Vec<u8>,
    /// Its length.
    pub len: u64,
    /// The space that it takes. What is kept with the file itself takes as much as it is long.
    pub allocated: u64,
}

/// Where a stream is.
pub(super) enum Home {
    /// An attribute of this name, and its value.
    Xattr(Vec<u8>, Vec<u8>),
    /// The same, with another server's zero byte at the end of what is on the disk.
    Samba(Vec<u8>, Vec<u8>),
    /// A file of the store.
    Store(Arc<dyn Object>),
}

/// Whether there is a named stream among these attributes.
pub(crate) fn has_stream(xattrs: &[Vec<u8>]) -> bool {
    let is_stream =
        |name: &Vec<u8>| matches!(classify_xattr(name), Stored::Client(_) | Stored::SambaStream(_));
    xattrs.iter().any(is_stream)
}

impl Streams {
    /// All named streams, in no order.
    pub fn streams(&self, caller: &Caller, file: &File<'_>) -> Result<Vec<StreamInfo>> {
        file.require(caller, Access::READ)?;
        self.absorb_if_possible(file)?;
        self.streams_alone(file.object)
    }

    /// The same of a file that has no sidecar, asked for by the server itself.
    pub fn streams_alone(&self, object: &dyn Object) -> Result<Vec<StreamInfo>> {
        let mut streams: Vec<StreamInfo> = Vec::new();
        for (name, value) in self.attributes(object)? {
            let len = value.len() as u64;
            streams.push(StreamInfo { name, len, allocated: len });
        }
        let Some(folder) = self.stored(&object.key())? else { return Ok(streams) };
        for (name, attributes) in store::streams(&*folder)? {
            if streams.iter().all(|stream| stream.name != name) {
                streams.push(StreamInfo { name, len: attributes.size, allocated: attributes.allocated });
            }
        }
        Ok(streams)
    }

    /// Whether a file has named streams, by its own attributes and the store.
    pub fn has_streams(&self, object: &dyn Object) -> Result<bool> {
        let names = found(object.list_xattrs())?.unwrap_or_default();
        Ok(has_stream(&names) || self.has_stored_streams(&object.key())?)
    }

    /// Whether there are any in the store.
    pub(crate) fn has_stored_streams(&self, key: &HostKey) -> Result<bool> {
        if !self.may_be_stored(key)? {
            return Ok(false);
        }
        match self.stored(key)? {
            Some(folder) => Ok(!store::streams(&*folder)?.is_empty()),
            None => Ok(false),
        }
    }

    /// The same with what a sidecar may add; `false` is certain.
    pub(crate) fn may_have_streams(&self, object: &dyn Object, file: Option<&File<'_>>) -> Result<bool> {
        Ok(file.is_some_and(|file| self.may_have_sidecar(file)) || self.has_streams(object)?)
    }

    /// The streams that are attributes, with their values; of two places of one name the first counts.
    pub(super) fn attributes(&self, object: &dyn Object) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let stored = found(object.list_xattrs())?.unwrap_or_default();
        let mut places: Vec<_> = stored.iter().filter_map(|xattr| Some((Place::of(xattr)?, xattr))).collect();
        places.sort_by_key(|(place, _)| place.rank);
        let mut attributes: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut plain = 0;
        for (place, xattr) in places {
            if attributes.iter().any(|(known, _)| *known == *place.name) {
                continue;
            }
            let Some(value) = found(object.xattr(xattr))? else { continue };
            let from_samba = place.rank == Rank::Samba;
            let value = if from_samba { samba::stream_data(&value).0.to_vec() } else { value };
            attributes.push((place.name.into_owned(), value));
            plain += usize::from(!from_samba);
        }
        let plain = &mut attributes[..plain];
        if samba::are_terminated(plain.iter().map(|(_, value)| &value[..])) {
            for (_, value) in plain {
                value.pop();
            }
        }
        Ok(attributes)
    }

    /// Whether a stream is an attribute of its file, so that a file of the store does not count.
    pub(crate) fn has_attribute(&self, object: &dyn Object, name: &[u8]) -> Result<bool> {
        Ok(self.attributes(object)?.iter().any(|(known, _)| known == name))
    }

    /// The length of a stream.
    pub fn stream_len(&self, caller: &Caller, file: &File<'_>, name: &[u8]) -> Result<u64> {
        match self.open_stream(caller, file, name)? {
            Home::Xattr(_, value) | Home::Samba(_, value) => Ok(value.len() as u64),
            Home::Store(object) => Ok(object.attributes()?.size),
        }
    }

    /// Appends up to `length` bytes from `offset` to `into`; fewer only at the end of the stream.
    pub fn read_stream(
        &self,
        caller: &Caller,
        file: &File<'_>,
        name: &[u8],
        (offset, length): (u64, usize),
        into: &mut Vec<u8>,
    ) -> Result<usize> {
        match self.open_stream(caller, file, name)? {
            Home::Xattr(_, value) | Home::Samba(_, value) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| value.get(offset..));
                let rest = rest.unwrap_or_default();
                let count = rest.len().min(length);
                into.extend_from_slice(&rest[..count]);
                Ok(count)
            }
            Home::Store(object) => {
                object.prepare(&Caller::root(), &object.attributes()?, Access::READ, true)?;
                object.read_at(offset, length, into, Wait::Allowed)
            }
        }
    }

    pub(super) fn open_stream(&self, caller: &Caller, file: &File<'_>, name: &[u8]) -> Result<Home> {
        file.require(caller, Access::READ)?;
        self.absorb_if_possible(file)?;
        self.home(file, name)?.ok_or(Error::NoSuchAttribute)
    }

    /// Writes all of `data` at `offset`, making the stream if there is none; a gap before it reads as zeros.
    pub fn write_stream(
        &self,
        caller: &Caller,
        file: &File<'_>,
        name: &[u8],
        offset: u64,
        data: &[u8],
        stability: Stability,
    ) -> Result<()> {
        file.require(caller, Access::WRITE)?;
        self.absorb(file)?;
        let end = offset.checked_add(data.len() as u64).ok_or(Error::FileTooLarge)?;
        let home = self.home_or_new(file, name)?;
        let (Home::Xattr(stored, value) | Home::Samba(stored, value)) = &home else {
            return self.write_stored(file, name, offset, data, stability);
        };
        if end <= self.limit() {
            let mut new = value.clone();
            new.resize(new.len().max(end as usize), 0);
            new[offset as usize..end as usize].copy_from_slice(data);
            if self.put(file, &home, &new)? {
                return file.object.sync(stability);
            }
        }
        self.spill(file, name, value, |new| write_prepared(new, offset, data))?;
        file.object.remove_xattr(&Caller::root(), stored).or_else(ignore_missing)?;
        self.write_stored(file, name, offset, &[], stability)
    }

    /// Cuts a stream or extends it with zeros, making it if there is none.
    pub fn truncate_stream(&self, caller: &Caller, file: &File<'_>, name: &[u8], size: u64) -> Result<()> {
        file.require(caller, Access::WRITE)?;
        self.absorb(file)?;
        let resize = |object: &dyn Object| {
            object.set_attributes(&Caller::root(), &SetAttributes { size: Some(size), ..Default::default() })
        };
        let home = self.home_or_new(file, name)?;
        let (stored, value) = match &home {
            Home::Store(object) => return resize(&**object),
            Home::Xattr(stored, value) | Home::Samba(stored, value) => (stored, value),
        };
        if size <= self.limit() {
            let mut new = value.clone();
            new.resize(size as usize, 0);
            if self.put(file, &home, &new)? {
                return Ok(());
            }
        }
        self.spill(file, name, value, resize)?;
        file.object.remove_xattr(&Caller::root(), stored).or_else(ignore_missing)
    }

    /// Removes a stream.
    pub fn remove_stream(&self, caller: &Caller, file: &File<'_>, name: &[u8]) -> Result<()> {
        file.require(caller, Access::WRITE)?;
        self.absorb(file)?;
        self.home(file, name)?.ok_or(Error::NoSuchAttribute)?;
        self.drop_stream(file, name)
    }

    /// Gives a stream another name. If a stream of that name exists, it is removed with `replace`;
    /// else the result is `Exists`. The new stream is complete before the old one is removed.
    pub fn rename_stream(
        &self,
        caller: &Caller,
        file: &File<'_>,
        from: &[u8],
        to: &[u8],
        replace: bool,
    ) -> Result<()> {
        file.require(caller, Access::WRITE)?;
        self.absorb(file)?;
        let stored = stored_xattr(to).ok_or(Error::InvalidName)?;
        let home = self.home(file, from)?.ok_or(Error::NoSuchAttribute)?;
        if self.home(file, to)?.is_some() {
            if !replace {
                return Err(Error::Exists);
            }
            self.drop_stream(file, to)?;
        }
        let (Home::Xattr(_, value) | Home::Samba(_, value)) = &home else {
            let folder = self.stored(&file.key())?.ok_or(Error::Io)?;
            let (from, to) = (store::stream_file(from), store::stream_file(to));
            return folder.rename(&Caller::root(), &from, &*folder, &to, RenameMode::Replace);
        };
        // It stays in the layout that it has.
        let new = match &home {
            Home::Samba(from, _) if from.starts_with(samba::STREAM_PREFIX) => {
                samba_home(to, from.contains(&b'\xef'))
            }
            _ => Home::Xattr(stored, Vec::new()),
        };
        if !self.put(file, &new, value)? {
            self.spill(file, to, value, |_| Ok(()))?;
        }
        self.drop_stream(file, from)
    }

    /// Removes a stream from everywhere, if it is there.
    pub(super) fn drop_stream(&self, file: &File<'_>, name: &[u8]) -> Result<()> {
        while let Some(home) = self.home(file, name)? {
            match home {
                Home::Xattr(stored, _) | Home::Samba(stored, _) => {
                    file.object.remove_xattr(&Caller::root(), &stored)?;
                }
                Home::Store(_) => {
                    let folder = self.stored(&file.key())?.ok_or(Error::Io)?;
                    folder.remove(&Caller::root(), &store::stream_file(name))?;
                    self.note_stored_change();
                }
            }
        }
        Ok(())
    }

    /// Takes an attribute out of a sidecar. `newer` says that the sidecar was written after the stream.
    pub(super) fn absorb_stream(
        &self,
        file: &File<'_>,
        name: &[u8],
        value: &[u8],
        newer: bool,
    ) -> Result<()> {
        // Attributes that clients may not set stay in the sidecar only.
        let Some(stored) = stored_xattr(name) else { return Ok(()) };
        match self.home(file, name)? {
            Some(_) if !newer => Ok(()),
            Some(home @ (Home::Xattr(..) | Home::Samba(..))) if self.put(file, &home, value)? => Ok(()),
            None if self.put(file, &self.new_home(file, name, stored)?, value)? => Ok(()),
            _ => {
                self.drop_stream(file, name)?;
                self.spill(file, name, value, |_| Ok(()))
            }
        }
    }

    /// Absorbs the sidecar, as far as a volume that cannot be written allows.
    fn absorb_if_possible(&self, file: &File<'_>) -> Result<()> {
        match self.absorb(file) {
            Err(Error::ReadOnly | Error::NoSpace | Error::QuotaExceeded) => Ok(()),
            other => other,
        }
    }

    fn limit(&self) -> u64 {
        u64::from(self.backend.limits().xattr)
    }

    /// An attribute comes before the store: it is removed last when a stream moves to the store.
    pub(super) fn home(&self, file: &File<'_>, name: &[u8]) -> Result<Option<Home>> {
        if !may_be_stream(name) {
            return Ok(None);
        }
        if let Some(stored) = attribute_of(name)
            && let Some(value) = found(file.object.xattr(&stored))?
        {
            return plain_home(file.object, stored, value).map(Some);
        }
        let xattrs = found(file.object.list_xattrs())?.unwrap_or_default();
        let mut places: Vec<_> = xattrs.iter().filter_map(|xattr| Some((Place::of(xattr)?, xattr))).collect();
        places.retain(|(place, _)| place.name == name);
        places.sort_by_key(|(place, _)| place.rank);
        for (place, xattr) in places {
            let Some(value) = found(file.object.xattr(xattr))? else { continue };
            if place.rank != Rank::Samba {
                return plain_home(file.object, xattr.clone(), value).map(Some);
            }
            let (data, appended) = samba::stream_data(&value);
            let data = data.to_vec();
            return Ok(Some(match appended {
                true => Home::Samba(xattr.clone(), data),
                false => Home::Xattr(xattr.clone(), data),
            }));
        }
        let Some(folder) = self.stored(&file.key())? else { return Ok(None) };
        Ok(store::find_stream(&*folder, name)?.map(Home::Store))
    }

    fn home_or_new(&self, file: &File<'_>, name: &[u8]) -> Result<Home> {
        if !may_be_stream(name) {
            return Err(Error::InvalidName);
        }
        if let Some(home) = self.home(file, name)? {
            return Ok(home);
        }
        if let Some(stored) = attribute_of(name) {
            return self.new_home(file, name, stored);
        }
        self.spill(file, name, &[], |_| Ok(()))?;
        self.home(file, name)?.ok_or(Error::Io)
    }

    /// The place of a stream that is not there yet, in the layout of the file and its folder.
    fn new_home(&self, file: &File<'_>, name: &[u8], stored: Vec<u8>) -> Result<Home> {
        let xattrs = found(file.object.list_xattrs())?.unwrap_or_default();
        Ok(match self.style(file, &xattrs)?.named {
            NamedPlace::User => Home::Xattr(stored, Vec::new()),
            NamedPlace::Samba => samba_home(name, true),
            NamedPlace::SambaNative => samba_home(name, false),
        })
    }

    /// Sets the attribute; `false` if the host has no room for so long a value.
    fn put(&self, file: &File<'_>, home: &Home, value: &[u8]) -> Result<bool> {
        let set = |stored, value| file.object.set_xattr(&Caller::root(), stored, value, XattrMode::Set);
        let done = match home {
            Home::Xattr(stored, _) => set(stored, value),
            Home::Samba(stored, _) => set(stored, &[value, &[0]].concat()),
            Home::Store(_) => return Ok(false),
        };
        match done {
            Ok(()) => Ok(true),
            Err(Error::FileTooLarge | Error::NoSpace | Error::TooMany | Error::NotSupported) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Makes a file of the store with this value, changed by `change`, appear whole.
    fn spill(
        &self,
        file: &File<'_>,
        name: &[u8],
        value: &[u8],
        change: impl FnOnce(&dyn Object) -> Result<()>,
    ) -> Result<()> {
        let root = Caller::root();
        let folder = self.make_stored(&file.key())?;
        found(folder.remove(&root, store::UNFINISHED))?;
        let new = folder.create(&root, store::UNFINISHED, NewKind::File, 0o600)?.object;
        store::note_name(&*new, name)?;
        write_prepared(&*new, 0, value)?;
        change(&*new)?;
        new.sync(Stability::File)?; // the attribute goes next, and must not be all there was
        let stream = store::stream_file(name);
        folder.rename(&root, store::UNFINISHED, &*folder, &stream, RenameMode::Replace)?;
        self.note_stored_change();
        Ok(())
    }

    fn write_stored(
        &self,
        file: &File<'_>,
        name: &[u8],
        offset: u64,
        data: &[u8],
        stability: Stability,
    ) -> Result<()> {
        let Some(Home::Store(object)) = self.home(file, name)? else { return Err(Error::Io) };
        if !data.is_empty() {
            write_prepared(&*object, offset, data)?;
        }
        object.sync(stability)
    }
}

/// Which of several attributes for one stream counts: the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// An attribute of exactly this name.
    Exact,
    /// One whose name has private code points, as Macs send them to a server that keeps them.
    Private,
    /// One of Samba or ksmbd.
    Samba,
}

/// What an attribute of the host is to clients.
struct Place<'a> {
    rank: Rank,
    name: Cow<'a, [u8]>,
}

impl<'a> Place<'a> {
    fn of(xattr: &'a [u8]) -> Option<Self> {
        let (name, from_samba) = match classify_xattr(xattr) {
            Stored::Client(name) => (name, false),
            Stored::SambaStream(name) => (name, true),
            Stored::Internal | Stored::System => return None,
        };
        let shown = Map::Sfm.decode(name);
        if !may_be_stream(&shown) {
            return None;
        }
        let rank = match (from_samba, *shown == *name) {
            (true, _) => Rank::Samba,
            (false, true) => Rank::Exact,
            (false, false) => Rank::Private,
        };
        Some(Self { rank, name: shown })
    }
}

/// The stream in a plain attribute, which may have a byte at the end that is not its own.
fn plain_home(object: &dyn Object, stored: Vec<u8>, mut value: Vec<u8>) -> Result<Home> {
    if value.last() != Some(&0) {
        return Ok(Home::Xattr(stored, value));
    }
    let mut values = Vec::new();
    for xattr in found(object.list_xattrs())?.unwrap_or_default() {
        if Place::of(&xattr).is_some_and(|place| place.rank != Rank::Samba) {
            values.extend(found(object.xattr(&xattr))?);
        }
    }
    if !samba::are_terminated(values.iter().map(|value| &value[..])) {
        return Ok(Home::Xattr(stored, value));
    }
    value.pop();
    Ok(Home::Samba(stored, value))
}

/// Samba's place of a new stream. A Mac sends characters that Windows forbids in names as private
/// code points, and Samba stores what it is sent, unless `fruit:encoding` is `native`.
fn samba_home(name: &[u8], is_private: bool) -> Home {
    let shown = if is_private { Map::Sfm.encode(name) } else { Cow::Borrowed(name) };
    Home::Samba(samba::stream_attribute(&shown), Vec::new())
}

/// The attribute of a stream, unless its name is too long for one or means something else there.
fn attribute_of(name: &[u8]) -> Option<Vec<u8>> {
    stored_xattr(name).filter(|stored| stored.len() <= LONGEST_XATTR)
}

fn write_prepared(object: &dyn Object, offset: u64, data: &[u8]) -> Result<()> {
    let root = Caller::root();
    object.prepare(&root, &object.attributes()?, Access::WRITE, true)?;
    object.write_at(&root, offset, data, Stability::Unstable)
}

fn ignore_missing(error: Error) -> Result<()> {
    if error == Error::NoSuchAttribute { Ok(()) } else { Err(error) }
}
