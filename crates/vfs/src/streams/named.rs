//! Named streams, which are also the extended attributes of Macs. They are in `user.<name>` as long
//! as the host has room for them, beyond that in the store. Samba's streams in
//! `user.DosStream.<name>:$DATA` are used where they are.

use super::places::{
    AttributeRank, Home, Place, TERMINATED, attribute_of, is_marked, is_terminated, mark_terminated,
    plain_home, samba_home, terminated_home,
};
use super::style::NamedPlace;
use super::{File, Streams, depot, found, store};
use crate::backend::{Object, RenameMode, Stability, Wait, XattrMode};
use crate::mac::layout::{PLAIN_INFO, XattrRole, classify_xattr, may_be_stream, stored_xattr};
use crate::mac::samba;
use crate::names::Map;
use crate::{Access, Caller, Error, HostKey, Kind, Result, SetAttributes};

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

/// Whether there is a named stream among these attributes.
pub(crate) fn has_stream(xattrs: &[Vec<u8>]) -> bool {
    let is_stream =
        |name: &Vec<u8>| matches!(classify_xattr(name), XattrRole::Client(_) | XattrRole::SambaStream(_));
    xattrs.iter().any(is_stream)
}

impl Streams {
    /// All named streams, in no order.
    pub fn streams(&self, caller: &Caller, file: &File<'_>) -> Result<Vec<StreamInfo>> {
        file.require(caller, Access::READ)?;
        self.absorb_if_possible(file)?;
        let mut streams = self.streams_alone(file.object)?;
        for (name, value) in self.server_files().streams(file)? {
            let len = value.len() as u64;
            add(&mut streams, StreamInfo { name, len, allocated: len });
        }
        Ok(streams)
    }

    /// The same of a file that has no sidecar, asked for by the server itself.
    pub fn streams_alone(&self, object: &dyn Object) -> Result<Vec<StreamInfo>> {
        let mut streams: Vec<StreamInfo> = Vec::new();
        for (name, value) in self.attributes(object)? {
            let len = value.len() as u64;
            streams.push(StreamInfo { name, len, allocated: len });
        }
        if let Some(folder) = self.own_store.folder(&object.key())? {
            for (name, attributes) in store::streams(&*folder)? {
                let (len, allocated) = (attributes.size, attributes.allocated);
                add(&mut streams, StreamInfo { name, len, allocated });
            }
        }
        for (name, there) in self.depots().streams(object)? {
            let (len, allocated) = (there.attributes.size, there.attributes.allocated);
            add(&mut streams, StreamInfo { name, len, allocated });
        }
        Ok(streams)
    }

    /// Whether a file has named streams, by its own attributes and the store.
    pub fn has_streams(&self, object: &dyn Object) -> Result<bool> {
        let names = found(object.list_xattrs())?.unwrap_or_default();
        let is_own = has_stream(&names) || self.has_stored_streams(&object.key())?;
        Ok(is_own || !self.depots().streams(object)?.is_empty())
    }

    /// Whether there are any in the store.
    pub(crate) fn has_stored_streams(&self, key: &HostKey) -> Result<bool> {
        if !self.own_store.may_have(key)? {
            return Ok(false);
        }
        match self.own_store.folder(key)? {
            Some(folder) => Ok(!store::streams(&*folder)?.is_empty()),
            None => Ok(false),
        }
    }

    /// The same with what a sidecar may add; `false` is certain.
    pub(crate) fn may_have_streams(&self, object: &dyn Object, file: Option<&File<'_>>) -> Result<bool> {
        if let Some(file) = file
            && (self.others().looks_beside(file.folder)? || self.may_have_sidecar(file))
        {
            return Ok(true);
        }
        // Netatalk's files of a folder are in it.
        let is_inside = object.kind() == Kind::Folder && self.others().looks_beside(object)?;
        Ok(is_inside || self.has_streams(object)?)
    }

    /// The streams that are attributes, with their values; of two places of one name the first counts.
    pub(super) fn attributes(&self, object: &dyn Object) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let stored = found(object.list_xattrs())?.unwrap_or_default();
        let mut places: Vec<_> = stored.iter().filter_map(|xattr| Some((Place::of(xattr)?, xattr))).collect();
        places.sort_by_key(|(place, _)| place.rank);
        let mut attributes: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let (mut plain, mut terminated) = (0, Vec::new());
        for (place, xattr) in places {
            if attributes.iter().any(|(known, _)| *known == *place.name) {
                continue;
            }
            let Some(value) = found(object.xattr(xattr))? else { continue };
            let from_samba = place.rank == AttributeRank::Samba;
            let value = if from_samba { samba::stream_data(&value).0.to_vec() } else { value };
            terminated.push(is_terminated(xattr, &value));
            attributes.push((place.name.into_owned(), value));
            plain += usize::from(!from_samba);
        }
        let plain = &mut attributes[..plain];
        let mut are_all = samba::are_terminated(plain.iter().map(|(name, value)| (&name[..], &value[..])));
        are_all |=
            stored.iter().any(|xattr| xattr == PLAIN_INFO || xattr == TERMINATED) && is_marked(object)?;
        for ((_, value), is_terminated) in plain.iter_mut().zip(terminated) {
            if is_terminated || are_all && value.last() == Some(&0) {
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
            Home::Xattr(_, value)
            | Home::Samba(_, value)
            | Home::Listed(_, value)
            | Home::Synology(_, value) => Ok(value.len() as u64),
            Home::Store(object) | Home::Depot(object) => Ok(object.attributes()?.size),
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
            Home::Xattr(_, value)
            | Home::Samba(_, value)
            | Home::Listed(_, value)
            | Home::Synology(_, value) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| value.get(offset..));
                let rest = rest.unwrap_or_default();
                let count = rest.len().min(length);
                into.extend_from_slice(&rest[..count]);
                Ok(count)
            }
            Home::Store(object) | Home::Depot(object) => {
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
        let (Home::Xattr(_, value)
        | Home::Samba(_, value)
        | Home::Listed(_, value)
        | Home::Synology(_, value)) = &home
        else {
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
        self.clear_home(file, &home)?;
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
        let value = match &home {
            Home::Store(object) | Home::Depot(object) => return resize(&**object),
            Home::Xattr(_, value)
            | Home::Samba(_, value)
            | Home::Listed(_, value)
            | Home::Synology(_, value) => value,
        };
        if size <= self.limit() {
            let mut new = value.clone();
            new.resize(size as usize, 0);
            if self.put(file, &home, &new)? {
                return Ok(());
            }
        }
        self.spill(file, name, value, resize)?;
        self.clear_home(file, &home)
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
        if let Home::Depot(_) = &home {
            return self.depots().rename_stream(file.object, from, to);
        }
        let (Home::Xattr(_, value)
        | Home::Samba(_, value)
        | Home::Listed(_, value)
        | Home::Synology(_, value)) = &home
        else {
            let folder = self.own_store.folder(&file.key())?.ok_or(Error::Io)?;
            let (from, to) = (store::stream_file(from), store::stream_file(to));
            return folder.rename(&Caller::root(), &from, &*folder, &to, RenameMode::Replace);
        };
        // It stays in the layout that it has.
        let new = match &home {
            Home::Samba(from, _) if from.starts_with(samba::STREAM_PREFIX) => {
                samba_home(to, from.contains(&b'\xef'))
            }
            Home::Samba(from, _) => terminated_home(to, from.contains(&b'\xef')),
            Home::Listed(..) if self.server_files().may_list(file, to)? => {
                Home::Listed(to.to_vec(), Vec::new())
            }
            Home::Synology(..) => Home::Synology(to.to_vec(), Vec::new()),
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
                Home::Xattr(stored, _) => file.object.remove_xattr(&Caller::root(), &stored)?,
                Home::Samba(stored, _) => {
                    mark_terminated(file.object, &stored)?;
                    file.object.remove_xattr(&Caller::root(), &stored)?;
                }
                Home::Store(_) => {
                    let folder = self.own_store.folder(&file.key())?.ok_or(Error::Io)?;
                    folder.remove(&Caller::root(), &store::stream_file(name))?;
                    self.own_store.note_change();
                }
                Home::Depot(_) => self.depots().drop_stream(file.object, name)?,
                Home::Listed(..) => self.server_files().drop_listed(file, name)?,
                Home::Synology(..) => self.server_files().put_synology(file, name, None)?,
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
        let home = match self.home(file, name)? {
            None => {
                let new = self.new_home(file, name, stored)?;
                let is_put = self.put(file, &new, value)?;
                return if is_put { Ok(()) } else { self.spill(file, name, value, |_| Ok(())) };
            }
            Some(_) if !newer => return Ok(()),
            Some(home) => home,
        };
        if self.put(file, &home, value)? {
            return Ok(());
        }
        self.drop_stream(file, name)?;
        self.spill(file, name, value, |_| Ok(()))
    }

    /// Absorbs the sidecar, as far as a volume that cannot be written allows.
    fn absorb_if_possible(&self, file: &File<'_>) -> Result<()> {
        match self.absorb(file) {
            Err(Error::ReadOnly | Error::NoSpace | Error::NoRoomForAttribute | Error::QuotaExceeded) => {
                Ok(())
            }
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
            if place.rank != AttributeRank::Samba {
                return plain_home(file.object, xattr.clone(), value).map(Some);
            }
            let (data, appended) = samba::stream_data(&value);
            let data = data.to_vec();
            return Ok(Some(match appended {
                true => Home::Samba(xattr.clone(), data),
                false => Home::Xattr(xattr.clone(), data),
            }));
        }
        if let Some(folder) = self.own_store.folder(&file.key())?
            && let Some(stream) = store::find_stream(&*folder, name)?
        {
            return Ok(Some(Home::Store(stream)));
        }
        if let Some(home) = self.depots().home(file.object, name)? {
            return Ok(Some(home));
        }
        if let Some(value) = self.server_files().listed_value(file, name)? {
            return Ok(Some(Home::Listed(name.to_vec(), value)));
        }
        let in_synology = self.server_files().in_synology(file)?.into_iter().find(|(known, _)| known == name);
        Ok(in_synology.map(|(name, value)| Home::Synology(name, value)))
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
    pub(super) fn new_home(&self, file: &File<'_>, name: &[u8], stored: Vec<u8>) -> Result<Home> {
        let xattrs = found(file.object.list_xattrs())?.unwrap_or_default();
        Ok(match self.style(file, &xattrs)?.named {
            NamedPlace::User => Home::Xattr(stored, Vec::new()),
            NamedPlace::Samba => samba_home(name, true),
            NamedPlace::SambaNative => samba_home(name, false),
            NamedPlace::Ksmbd => Home::Xattr(samba::stream_attribute(&Map::Sfm.encode(name)), Vec::new()),
            NamedPlace::SambaPlain => terminated_home(name, true),
            NamedPlace::UserTerminated => terminated_home(name, false),
            NamedPlace::AppleDouble if self.server_files().may_list(file, name)? => {
                Home::Listed(name.to_vec(), Vec::new())
            }
            NamedPlace::Synology if self.server_files().may_be_in_synology(file)? => {
                Home::Synology(name.to_vec(), Vec::new())
            }
            NamedPlace::AppleDouble | NamedPlace::Synology => Home::Xattr(stored, Vec::new()),
            NamedPlace::Depot => match self.depots().new_stream(file.object, name)? {
                Some(object) => Home::Depot(object),
                None => Home::Xattr(stored, Vec::new()),
            },
        })
    }

    /// Sets the attribute; `false` if the host has no room for so long a value.
    pub(super) fn put(&self, file: &File<'_>, home: &Home, value: &[u8]) -> Result<bool> {
        let set = |stored: &[u8], value: &[u8]| {
            file.object.set_xattr(&Caller::root(), stored, value, XattrMode::Set)
        };
        let done = match home {
            // A zero byte at the end of a stream in Samba's place would be taken for Samba's.
            Home::Xattr(stored, _)
                if value.last() == Some(&0) && stored.starts_with(samba::STREAM_PREFIX) =>
            {
                set(stored, &[value, &[0]].concat())
            }
            Home::Xattr(stored, _) => set(stored, value),
            Home::Samba(stored, _) => {
                mark_terminated(file.object, stored).and_then(|()| set(stored, &[value, &[0]].concat()))
            }
            Home::Depot(object) => depot::rewrite(&**object, value),
            Home::Listed(name, _) => self.server_files().put_listed(file, name, value),
            Home::Synology(name, _) => self.server_files().put_synology(file, name, Some(value)),
            Home::Store(_) => return Ok(false),
        };
        match done {
            Ok(()) => Ok(true),
            Err(error) if error.is_no_place_for_attribute() => Ok(false),
            Err(other) => Err(other),
        }
    }

    fn write_stored(
        &self,
        file: &File<'_>,
        name: &[u8],
        offset: u64,
        data: &[u8],
        stability: Stability,
    ) -> Result<()> {
        let Some(Home::Store(object) | Home::Depot(object)) = self.home(file, name)? else {
            return Err(Error::Io);
        };
        if !data.is_empty() {
            write_prepared(&*object, offset, data)?;
        }
        object.sync(stability)
    }
}

/// Adds a stream unless one of its name is known.
fn add(streams: &mut Vec<StreamInfo>, stream: StreamInfo) {
    if streams.iter().all(|known| known.name != stream.name) {
        streams.push(stream);
    }
}

pub(super) fn write_prepared(object: &dyn Object, offset: u64, data: &[u8]) -> Result<()> {
    let root = Caller::root();
    object.prepare(&root, &object.attributes()?, Access::WRITE, true)?;
    object.write_at(&root, offset, data, Stability::Unstable)
}
