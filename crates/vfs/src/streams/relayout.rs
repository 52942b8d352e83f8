//! Another layout for what a file has: everything is read, written in its new place, and compared. Before that the caller
//! saves what was on the disk (`Raw`), from which it can be restored byte for byte.

use std::collections::BTreeMap;
use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher24};

use super::elsewhere::{self, InAttribute};
use super::places::{Home, TERMINATED, samba_home, terminated_home};
use super::style::{ForkPlace, Info, NamedPlace};
use super::{File, Streams, Style, found, metadata, pair};
use crate::backend::{Object, Wait};
use crate::mac::depot::MARKER;
use crate::mac::layout::{
    APPLE_FINDER_INFO, INFO_STREAM, NETATALK_METADATA, PLAIN_INFO, RESOURCE_STREAM, stored_xattr,
};
use crate::mac::{DosAttributes, FileBits, FinderInfo, Metadata, StoredParts, samba};
use crate::{Caller, Error, Result};

/// Bytes that are read at a time to be summed.
const PIECE: usize = 1 << 20;

/// A length, and a sum of the bytes (SipHash-2-4-128, key 0).
type Sum = (u64, [u8; 16]);

/// What clients see of a file besides its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    metadata: Metadata,
    streams: BTreeMap<Vec<u8>, Sum>,
    fork: Sum,
}

impl Content {
    /// Whether nothing of this is missing in another one, which may have a time of creation more: Netatalk needs one.
    pub(crate) fn is_in(&self, other: &Self) -> bool {
        let says = |metadata: &Metadata| {
            let (info, mut bits) = (metadata.finder_info_with_date(), metadata.bits);
            // The Finder info and the DOS attributes say these, too.
            bits.set(FileBits::INVISIBLE, metadata.is_hidden());
            for (bit, attribute) in
                [(FileBits::SYSTEM, DosAttributes::SYSTEM), (FileBits::BACKUP_NEEDED, DosAttributes::ARCHIVE)]
            {
                bits.set(bit, bits.contains(bit) || metadata.dos.contains(attribute));
            }
            (info, metadata.comment.clone(), bits, metadata.dos, metadata.times.backup)
        };
        let created = self.metadata.times.created.is_none_or(|at| other.metadata.times.created == Some(at));
        let is_same = self.streams == other.streams && self.fork == other.fork;
        is_same && created && says(&self.metadata) == says(&other.metadata)
    }
}

impl Streams {
    /// The same streams, with one layout for all that is written.
    fn forced(&self, style: Style) -> Self {
        let forced = Self {
            style,
            forced: true,
            apple_double: self.apple_double,
            ..Self::at(self.backend.clone(), self.own_store.stores.clone())
        };
        forced.knowing(self)
    }
}

/// The layouts that what a file has besides its data can be given.
#[derive(Clone, Copy)]
pub(crate) struct Layouts<'a> {
    pub(super) streams: &'a Streams,
}

impl Layouts<'_> {
    pub(crate) fn content(&self, file: &File<'_>) -> Result<Content> {
        let ourselves = Caller::root();
        let mut streams = BTreeMap::new();
        for info in self.streams.streams(&ourselves, file)? {
            let read = |at, into: &mut Vec<u8>| {
                self.streams.read_stream(&ourselves, file, &info.name, (at, PIECE), into)
            };
            streams.insert(info.name.clone(), sum(&read)?);
        }
        let fork = match self.streams.fork(&ourselves, file)? {
            Some(fork) => sum(&|at, into: &mut Vec<u8>| fork.read_at(at, PIECE, into, Wait::Allowed))?,
            None => sum(&|_, _: &mut Vec<u8>| Ok(0))?,
        };
        Ok(Content { metadata: self.streams.load(file)?.0, streams, fork })
    }

    /// What is not in this layout yet, in words; empty: nothing has to move.
    pub(crate) fn outside(&self, file: &File<'_>, style: Style) -> Result<Vec<&'static str>> {
        let (mut outside, names) = (Vec::new(), metadata::names(file.object)?);
        let has = |name: &[u8]| names.iter().any(|known| known == name);
        let target = info_attribute(style.info);
        let infos = names.iter().filter(|name| crate::mac::layout::is_info_stream(name));
        let is_elsewhere = infos.into_iter().any(|name| target.as_ref() != Some(name));
        let in_netatalk = has(NETATALK_METADATA) && style.info != Info::Netatalk && {
            let value = file.object.xattr(NETATALK_METADATA)?;
            !Metadata::from_netatalk(&value).0.finder_info.is_none()
        };
        if is_elsewhere
            || in_netatalk
            || has(APPLE_FINDER_INFO)
            || self.streams.depots().info(file.object)?.is_some()
        {
            outside.push("Finder info");
        }
        if self.streams.server_files().header_file(file)?.is_some() {
            outside.push("header file");
        }
        if self.fork_is_outside(file, &names, style)? {
            outside.push("resource fork");
        }
        let mut streams = self.streams.streams(&Caller::root(), file)?.into_iter();
        if streams
            .try_fold(false, |any, info| Ok::<_, Error>(any || !self.is_at_home(file, &info.name, style)?))?
        {
            outside.push("named streams");
        }
        if has(MARKER) && self.streams.depots().folder(file.object)?.is_some() && outside.is_empty() {
            outside.push("empty folder in Samba's depot");
        }
        Ok(outside)
    }

    fn fork_is_outside(&self, file: &File<'_>, names: &[Vec<u8>], style: Style) -> Result<bool> {
        if self.streams.depots().fork(file.object)?.is_some() {
            return Ok(true);
        }
        let target = InAttribute::new(style.fork).map(|new| new.name);
        let in_attributes = names.iter().filter(|name| elsewhere::is_fork(name));
        if in_attributes.into_iter().any(|name| target.as_ref() != Some(name)) {
            return Ok(true);
        }
        let room = u64::from(self.streams.backend.limits().xattr);
        Ok(target.is_some()
            && self.streams.sidecar(file)?.is_some()
            && (1..room).contains(&self.streams.fork_len(file)?))
    }

    /// Whether a stream is where this layout has it. One that is too long for an attribute is in the store.
    fn is_at_home(&self, file: &File<'_>, name: &[u8], style: Style) -> Result<bool> {
        let Some(stored) = stored_xattr(name) else { return Ok(true) };
        let expected = match style.named {
            NamedPlace::Samba => samba_home(name, true),
            NamedPlace::SambaNative => samba_home(name, false),
            NamedPlace::SambaPlain => terminated_home(name, true),
            NamedPlace::UserTerminated => terminated_home(name, false),
            NamedPlace::User
            | NamedPlace::Depot
            | NamedPlace::AppleDouble
            | NamedPlace::Synology
            | NamedPlace::Ksmbd => Home::Xattr(stored, Vec::new()),
        };
        Ok(match (self.streams.home(file, name)?, expected) {
            (Some(Home::Store(_)) | None, _) => true,
            (Some(Home::Xattr(at, _)), Home::Xattr(expected, _)) => at == expected,
            (Some(Home::Samba(at, _)), Home::Samba(expected, _)) => at == expected,
            _ => false,
        })
    }

    /// Copies of one thing that differ, in words. The first copy is what clients see.
    pub(crate) fn conflicts(&self, file: &File<'_>) -> Result<Vec<&'static str>> {
        let (mut conflicts, names) = (Vec::new(), metadata::names(file.object)?);
        let shown = self.streams.load(file)?.0.finder_info;
        let mut infos: Vec<FinderInfo> = Vec::new();
        for name in &names {
            let Some(value) = found(file.object.xattr(name))? else { continue };
            let parts = match &name[..] {
                NETATALK_METADATA => StoredParts { netatalk: Some(&value), ..StoredParts::default() },
                APPLE_FINDER_INFO => StoredParts { finder_info: Some(&value), ..StoredParts::default() },
                _ if crate::mac::layout::is_info_stream(name) => {
                    StoredParts { info_stream: Some(&value), ..StoredParts::default() }
                }
                _ => continue,
            };
            infos.push(Metadata::from_parts(&parts).0.finder_info);
        }
        if infos.iter().any(|info| !info.is_none() && *info != shown) {
            conflicts.push("Finder info");
        }
        let forks = self.all_forks(file, &names)?;
        if forks.iter().any(|fork| Some(fork) != forks.first()) {
            conflicts.push("resource fork");
        }
        if self.has_two_values(file.object, &names)? {
            conflicts.push("named streams");
        }
        Ok(conflicts)
    }

    /// Moves everything to its place in this layout.
    pub(crate) fn relayout(&self, file: &File<'_>, style: Style) -> Result<()> {
        let forced = self.streams.forced(style);
        let layouts = forced.layouts();
        forced.absorb(file)?;
        layouts.move_fork_to(file, style.fork)?;
        forced.give_up_header_file(file)?;
        layouts.move_streams_to(file, style)?;
        forced.put_model_in(file, info_attribute(style.info))?;
        layouts.leave_depot(file.object)?;
        forced.settle(file)
    }

    /// All attributes are read first, because they tell of each other whether a zero byte follows them.
    fn move_streams_to(&self, file: &File<'_>, style: Style) -> Result<()> {
        let (mut moving, room) = (Vec::new(), u64::from(self.streams.backend.limits().xattr));
        for info in self.streams.streams(&Caller::root(), file)? {
            if self.is_at_home(file, &info.name, style)? {
                continue;
            }
            let mut value = Vec::new();
            let range = (0, usize::try_from(info.len).map_err(|_| Error::FileTooLarge)?);
            self.streams.read_stream(&Caller::root(), file, &info.name, range, &mut value)?;
            if info.len > room {
                self.streams.drop_stream(file, &info.name)?;
                self.streams.absorb_stream(file, &info.name, &value, true)?;
            } else {
                moving.push((info.name, value));
            }
        }
        moving.iter().try_for_each(|(name, _)| self.streams.drop_stream(file, name))?;
        if !matches!(style.named, NamedPlace::SambaPlain | NamedPlace::UserTerminated) {
            found(file.object.remove_xattr(&Caller::root(), TERMINATED))?;
        }
        moving.iter().try_for_each(|(name, value)| self.streams.absorb_stream(file, name, value, true))
    }

    fn move_fork_to(&self, file: &File<'_>, place: ForkPlace) -> Result<()> {
        let ourselves = Caller::root();
        let Some(fork) = self.streams.fork(&ourselves, file)? else {
            elsewhere::drop_attribute(file.object)?;
            return self.streams.depots().drop_stream(file.object, RESOURCE_STREAM);
        };
        let room = u64::from(self.streams.backend.limits().xattr);
        if let Some(mut new) = InAttribute::new(place).filter(|_| fork.len() < room) {
            fork.read_at(0, fork.len() as usize, &mut new.fork, Wait::Allowed)?;
            let names = metadata::names(file.object)?;
            let others = names.iter().filter(|name| elsewhere::is_fork(name) && **name != new.name);
            others.into_iter().try_for_each(|name| file.object.remove_xattr(&ourselves, name))?;
            if new.put(file.object)? {
                if self.streams.sidecar(file)?.is_some() {
                    found(file.folder.remove(&ourselves, &file.sidecar_name()))?;
                    pair::unmark(file.object)?;
                }
                return self.streams.depots().drop_stream(file.object, RESOURCE_STREAM);
            }
        }
        if !fork.is_in_sidecar() {
            self.streams.move_behind(file, self.streams.load(file)?.0.to_stored_sidecar(0), false)?;
        }
        elsewhere::drop_attribute(file.object)?;
        self.streams.depots().drop_stream(file.object, RESOURCE_STREAM)
    }

    /// Removes the file's empty folder in the depot.
    fn leave_depot(&self, object: &dyn Object) -> Result<()> {
        if let Some(there) = self.streams.depots().place(object)? {
            there.forget()?;
            found(object.remove_xattr(&Caller::root(), MARKER))?;
        }
        Ok(())
    }
}

/// The attribute of the stream with Finder info in a layout that has it.
pub(super) fn info_attribute(info: Info) -> Option<Vec<u8>> {
    match info {
        Info::Netatalk | Info::AppleDouble | Info::Synology | Info::MacCopy | Info::Sidecar => None,
        Info::Stream | Info::Ksmbd => Some(samba::stream_attribute(INFO_STREAM)),
        Info::PlainStream | Info::ServicesForMacintosh => Some(PLAIN_INFO.to_vec()),
    }
}

/// Reads until nothing follows.
fn sum(read: &dyn Fn(u64, &mut Vec<u8>) -> Result<usize>) -> Result<Sum> {
    let (mut hasher, mut at) = (SipHasher24::new(), 0);
    loop {
        let mut bytes = Vec::new();
        let count = read(at, &mut bytes)?;
        if count == 0 {
            return Ok((at, hasher.finish128().as_bytes()));
        }
        hasher.write(&bytes);
        at += count as u64;
    }
}

impl Layouts<'_> {
    /// The forks of a file in all places, by their sums.
    fn all_forks(&self, file: &File<'_>, names: &[Vec<u8>]) -> Result<Vec<Sum>> {
        let mut forks = Vec::new();
        let mut add = |fork: Option<super::Fork>| -> Result<()> {
            if let Some(fork) = fork.filter(|fork| fork.len() > 0) {
                fork.open()?;
                forks.push(sum(&|at, into: &mut Vec<u8>| fork.read_at(at, PIECE, into, Wait::Allowed))?);
            }
            Ok(())
        };
        add(self.streams.sidecar(file)?.and_then(super::Fork::in_file))?;
        add(self.streams.depots().fork(file.object)?.map(super::Fork::whole))?;
        add(self.streams.server_files().header_file(file)?.and_then(super::Fork::in_file))?;
        for name in names.iter().filter(|name| elsewhere::is_fork(name)) {
            let there = elsewhere::place(file.object, std::slice::from_ref(name))?;
            let bytes = there.map(|there| there.fork).unwrap_or_default();
            if !bytes.is_empty() {
                forks.push(sum(&|at, into: &mut Vec<u8>| {
                    let rest = &bytes[(at as usize).min(bytes.len())..];
                    into.extend_from_slice(rest);
                    Ok(rest.len())
                })?);
            }
        }
        Ok(forks)
    }

    /// Whether two attributes hold one stream, and differ.
    fn has_two_values(&self, object: &dyn Object, names: &[Vec<u8>]) -> Result<bool> {
        let mut values: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for name in names {
            let Some(place) = super::places::Place::of(name) else { continue };
            let Some(value) = found(object.xattr(name))? else { continue };
            let value = samba::stream_data(&value).0.to_vec();
            if values.get(&*place.name).is_some_and(|known| *known != value) {
                return Ok(true);
            }
            values.insert(place.name.into_owned(), value);
        }
        Ok(false)
    }
}
