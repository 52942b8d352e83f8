//! A folder of this machine. What files are besides their data is read in whatever layout the folder has, and written in it, as
//! the server does.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::XattrFlags;
use rustix::io::Errno;
use vfs::acl::{AclChange, Entries};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Backend, Found, Object, Stability};
use vfs::mac::{FileBits, FinderInfo};
use vfs::state::{ClientId, Party};
use vfs::streams::{File, Streams};
use vfs::{Actor, Caller, SetAttributes, SetTime, Time, Volume, VolumeOptions};

use super::{Local, said};
use crate::metadata::{Aspect, AspectState, MetadataValue, Peer};
use crate::security::{FileSecurity, PosixAcls};
use crate::session::{OpenFileId, Session};
use crate::tree::{
    Extra, ExtraWriter, FLAGS, Kind, LONGEST, MetadataLoss, Space, Stamp, Tree, TreeEntry, TreeListing,
    last_name, security_of,
};
use crate::{Error, Result};

/// The list of the host, beside the mode.
const POSIX_ACL: &[u8] = b"system.posix_acl_access";
/// What a folder passes on of it.
const POSIX_DEFAULT: &[u8] = b"system.posix_acl_default";

/// The folder as the server sees it.
pub(super) struct ServedFolder {
    root: Arc<dyn Object>,
    streams: Streams,
    /// For access control lists.
    volume: Volume,
}

impl ServedFolder {
    /// Reading changes nothing in the folder: the server itself tidies what it reads.
    fn of(folder: &Path, read_only: bool) -> Result<Self> {
        let folder = std::path::absolute(folder).map_err(|error| said(&error, &folder.to_string_lossy()))?;
        let host =
            Host::open(&folder, &HostOptions { read_only, keeps_umask: true, ..HostOptions::default() });
        let host = host.map_err(|error| Error::Other(format!("{}: {error}", folder.display())))?;
        let backend: Arc<dyn Backend> = Arc::new(host);
        let root = backend.root().map_err(|error| failed(&error, "the folder"))?.object;
        let volume = Volume::new(backend.clone(), VolumeOptions { read_only, ..VolumeOptions::default() });
        Ok(Self { root, streams: Streams::new(backend), volume })
    }

    /// The list of a file: one that Fourfold has stored, or one of the host.
    fn rights(&self, path: &str) -> Result<Option<Entries>> {
        let Some((_, _, found)) = self.find(path)? else { return Ok(None) };
        let read = || {
            let is_more = self.volume.has_stored_acl(&found)? || found.object.xattr(POSIX_ACL).is_ok();
            if is_more { self.volume.acl(&found).map(|acl| Some(acl.entries)) } else { Ok(None) }
        };
        read().map_err(|error| failed(&error, path))
    }

    fn set_rights(&self, path: &str, entries: &Entries) -> Result<()> {
        let Some((_, _, found)) = self.find(path)? else { return Ok(()) };
        let change = AclChange { entries: Some(entries.clone()), ..AclChange::default() };
        let actor = Actor::new(Caller::root(), Party::client(ClientId::unused()));
        self.volume.set_acl(&actor, &found, &change).map(drop).map_err(|error| failed(&error, path))
    }

    /// The folder of a path, its last name, and what is there. `None`: the folder itself.
    fn find(&self, path: &str) -> Result<Option<Place>> {
        let root = Caller::root();
        let mut folder = self.root.clone();
        let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            let found = folder.lookup(&root, name.as_bytes()).map_err(|error| failed(&error, path))?;
            if names.peek().is_none() {
                return Ok(Some((folder, name.as_bytes().to_vec(), found)));
            }
            folder = found.object;
        }
        Ok(None)
    }
}

/// A folder, a name in it, and what is there.
type Place = (Arc<dyn Object>, Vec<u8>, Found);

fn failed(error: &vfs::Error, path: &str) -> Error {
    match error {
        vfs::Error::NotFound => Error::Missing(path.to_owned()),
        vfs::Error::NoSpace => Error::Full,
        other => Error::Other(format!("{path}: {other}")),
    }
}

impl Local {
    fn kept(&mut self, to_write: bool) -> Result<&ServedFolder> {
        let kept = &mut self.kept[usize::from(to_write)];
        if kept.is_none() {
            *kept = Some(ServedFolder::of(&self.folder, !to_write)?);
        }
        kept.as_ref().ok_or(Error::Unsupported("metadata"))
    }
}

impl Peer for Local {
    fn put(&mut self, path: &str, aspect: Aspect<'_>, value: &MetadataValue) -> Result<bool> {
        let at = self.at(path);
        match (aspect, value) {
            (Aspect::Target, MetadataValue::Text(target)) => std::os::unix::fs::symlink(target, at),
            (Aspect::Mode, MetadataValue::Number(mode)) => {
                fs::set_permissions(at, fs::Permissions::from_mode(*mode as u32))
            }
            (Aspect::Owner, MetadataValue::Number(owner)) => {
                std::os::unix::fs::lchown(at, Some(*owner as u32), None)
            }
            (Aspect::Group, MetadataValue::Number(group)) => {
                std::os::unix::fs::lchown(at, None, Some(*group as u32))
            }
            _ => return Ok(false),
        }
        .map_err(|error| said(&error, path))?;
        Ok(true)
    }

    fn get(&mut self, path: &str, aspect: Aspect<'_>) -> Result<AspectState> {
        let about = fs::symlink_metadata(self.at(path)).map_err(|error| said(&error, path))?;
        Ok(match aspect {
            Aspect::Modified => {
                AspectState::Value(MetadataValue::Time(about.mtime(), about.mtime_nsec() as u32))
            }
            Aspect::Mode => AspectState::Value(MetadataValue::Number(u64::from(about.mode() & 0o7777))),
            Aspect::Owner => AspectState::Value(MetadataValue::Number(u64::from(about.uid()))),
            Aspect::Group => AspectState::Value(MetadataValue::Number(u64::from(about.gid()))),
            Aspect::Links => AspectState::Value(MetadataValue::Number(about.nlink())),
            _ => AspectState::Impossible,
        })
    }
}

impl Tree for Local {
    fn entries(&mut self, folder: &str) -> Result<TreeListing> {
        let mut listing = TreeListing::default();
        let at = self.at(folder);
        let found = match folder {
            "" => None,
            _ => self.kept(false)?.find(folder)?,
        };
        let kept = self.kept(false)?;
        let object = found.map_or_else(|| kept.root.clone(), |(_, _, found)| found.object);
        for entry in fs::read_dir(at).map_err(|error| said(&error, folder))? {
            let entry = entry.map_err(|error| said(&error, folder))?;
            let name = entry.file_name();
            let is_hidden = kept.streams.sidecar_files().hidden(&*object, name.as_bytes());
            if vfs::is_own_name(name.as_bytes()) || is_hidden.map_err(|error| failed(&error, folder))? {
                continue;
            }
            let Some(name) = name.to_str() else {
                listing.unreadable.push(name.to_string_lossy().into_owned());
                continue;
            };
            let about = entry.metadata().map_err(|error| said(&error, name))?;
            listing.entries.push(described(name, &about));
        }
        Ok(listing)
    }

    fn entry(&mut self, path: &str) -> Result<TreeEntry> {
        let about = fs::symlink_metadata(self.at(path)).map_err(|error| said(&error, path))?;
        Ok(described(last_name(path), &about))
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        fs::rename(self.at(from), self.at(to)).map_err(|error| said(&error, from))
    }

    fn set_length(&mut self, file: OpenFileId, length: u64) -> Result<()> {
        self.files.get(file)?.set_len(length).map_err(|error| said(&error, "a file"))
    }

    fn space(&mut self) -> Result<Space> {
        let found =
            rustix::fs::statvfs(&self.folder).map_err(|error| said(&error.into(), "the file system"))?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Ok(Space { total: bytes(found.f_blocks), free: bytes(found.f_bavail) })
    }

    fn read(&mut self, file: OpenFileId, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut data = vec![0; length.min(self.largest())];
        let mut got = 0;
        let open = self.files.get(file)?;
        while got < data.len() {
            match open.read_at(&mut data[got..], offset + got as u64) {
                Ok(0) => break,
                Ok(count) => got += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(said(&error, "a file")),
            }
        }
        data.truncate(got);
        Ok(data)
    }

    fn next_data(&mut self, file: OpenFileId, offset: u64) -> Result<Option<u64>> {
        match rustix::fs::seek(self.files.get(file)?, rustix::fs::SeekFrom::Data(offset)) {
            Ok(next) => Ok(Some(next)),
            Err(rustix::io::Errno::NXIO) => Ok(None), // lseek(2): there are no more data
            Err(_) => Ok(Some(offset)),
        }
    }

    fn rights(&mut self, path: &str) -> Result<Option<Entries>> {
        self.kept(false)?.rights(path)
    }

    fn set_rights(&mut self, path: &str, entries: &Entries) -> Result<bool> {
        self.kept(true)?.set_rights(path, entries).map(|()| true)
    }

    fn extra(&mut self, path: &str, kind: Kind) -> Result<Extra> {
        let about = fs::symlink_metadata(self.at(path)).map_err(|error| said(&error, path))?;
        let mut extra = Extra {
            modified: Some((about.mtime(), about.mtime_nsec() as u32)),
            mode: Some(about.mode() & 0o7777),
            owner: Some(about.uid()),
            group: Some(about.gid()),
            ..Extra::default()
        };
        if kind == Kind::Link {
            let target = fs::read_link(self.at(path)).map_err(|error| said(&error, path))?;
            extra.target = Some(target.to_string_lossy().into_owned());
            return Ok(extra);
        }
        let kept = self.kept(false)?;
        let Some((folder, name, found)) = kept.find(path)? else { return Ok(extra) };
        let file = File { folder: &*folder, name: &name, object: &*found.object };
        kept.describe(&file, kind, &mut extra).map_err(|error| failed(&error, path))?;
        Ok(extra)
    }

    fn set_extra(&mut self, path: &str, kind: Kind, extra: &Extra) -> Result<Vec<MetadataLoss>> {
        let mut writing = ExtraWriter { tree: self, path, lost: Vec::new() };
        let mode = writing.owners(kind, extra)?;
        let lost = writing.lost;
        if kind == Kind::Link {
            return Ok(lost);
        }
        let kept = self.kept(true)?;
        let Some((folder, name, found)) = kept.find(path)? else { return Ok(lost) };
        let file = File { folder: &*folder, name: &name, object: &*found.object };
        keep(&kept.streams, &file, extra).map_err(|error| failed(&error, path))?;
        if let Some(mode) = mode {
            self.set_mode(path, kind, mode)?;
        }
        if let Some((secs, nanos)) = extra.modified {
            let times =
                SetAttributes { modified: SetTime::To(Time { secs, nanos }), ..SetAttributes::default() };
            found.object.set_attributes(&Caller::root(), &times).map_err(|error| failed(&error, path))?;
        }
        Ok(lost)
    }

    fn security(&mut self, path: &str, kind: Kind, extra: &Extra) -> Result<FileSecurity> {
        let mut security = security_of(self, path, extra)?;
        let kept = self.kept(false)?;
        if kind != Kind::Link
            && let Some((_, _, found)) = kept.find(path)?
            && !kept.volume.has_stored_acl(&found).map_err(|error| failed(&error, path))?
        {
            let value = |name: &[u8]| found.object.xattr(name).ok();
            security.posix = PosixAcls {
                access: value(POSIX_ACL),
                default: value(POSIX_DEFAULT).filter(|_| kind == Kind::Folder),
            };
        }
        Ok(security)
    }

    fn set_posix(&mut self, path: &str, acls: &PosixAcls) -> Result<bool> {
        let at = self.at(path);
        for (name, value) in [(POSIX_ACL, &acls.access), (POSIX_DEFAULT, &acls.default)] {
            let Some(value) = value else { continue };
            match rustix::fs::lsetxattr(&at, name, value, XattrFlags::empty()) {
                Err(Errno::NOTSUP) => return Ok(false),
                done => done.map_err(|error| said(&error.into(), path))?,
            }
        }
        Ok(true)
    }

    /// An owner or a group that the file has already need not be set, which only root may.
    fn put_unix(&mut self, path: &str, kind: Kind, aspect: Aspect<'_>, number: u32) -> Result<bool> {
        let about = fs::symlink_metadata(self.at(path)).map_err(|error| said(&error, path))?;
        match aspect {
            Aspect::Owner if about.uid() == number => Ok(true),
            Aspect::Group if about.gid() == number => Ok(true),
            Aspect::Mode => self.set_mode(path, kind, number).map(|()| true),
            _ => self.put(path, aspect, &MetadataValue::Number(number.into())),
        }
    }
}

impl Local {
    /// The mode alone says who may use the file: what the folder has passed on to it, a default ACL, would let others in. The bit by
    /// which a folder passes on its group stays.
    fn set_mode(&mut self, path: &str, kind: Kind, mode: u32) -> Result<()> {
        const PASSES_ON_GROUP: u32 = 0o2000;
        let at = self.at(path);
        for name in [POSIX_ACL, POSIX_DEFAULT] {
            match rustix::fs::lremovexattr(&at, name) {
                Ok(()) | Err(Errno::NODATA | Errno::NOTSUP) => {}
                Err(error) => return Err(said(&error.into(), path)),
            }
        }
        let about = fs::symlink_metadata(&at).map_err(|error| said(&error, path))?;
        let passed_on = if kind == Kind::Folder { about.mode() & PASSES_ON_GROUP } else { 0 };
        self.put(path, Aspect::Mode, &MetadataValue::Number((mode | passed_on).into())).map(drop)
    }
}

fn described(name: &str, about: &fs::Metadata) -> TreeEntry {
    let kind = match about.file_type() {
        kind if kind.is_dir() => Kind::Folder,
        kind if kind.is_symlink() => Kind::Link,
        kind if kind.is_file() => Kind::File,
        _ => Kind::Other,
    };
    TreeEntry {
        name: name.to_owned(),
        kind,
        length: about.len(),
        modified: Some((about.mtime(), about.mtime_nsec() as u32)),
        changed: Some((about.ctime(), about.ctime_nsec() as u32)),
        links: if about.is_dir() { 1 } else { u32::try_from(about.nlink()).unwrap_or(u32::MAX) },
        is_locked: false,
        mode: Some(about.mode() & 0o7777),
        owner: Some((about.uid(), about.gid())),
    }
}

/// The prefix of extended attributes of OS/2 and Windows on the host: docs/on-disk-format.md.
const EA: &[u8] = b"user.fourfold.ea.";

impl ServedFolder {
    fn describe(&self, file: &File<'_>, kind: Kind, extra: &mut Extra) -> vfs::Result<()> {
        let root = Caller::root();
        if kind == Kind::File
            && let Some(fork) = self.streams.fork(&root, file)?
        {
            let length = usize::try_from(fork.len()).unwrap_or(usize::MAX);
            if length > LONGEST {
                return Err(vfs::Error::FileTooLarge);
            }
            while extra.fork.len() < length {
                let (at, left) = (extra.fork.len(), length - extra.fork.len());
                let got =
                    fork.read_at(at as u64, left.min(1 << 20), &mut extra.fork, vfs::backend::Wait::Allowed)?;
                if got == 0 {
                    break;
                }
            }
        }
        for stream in self.streams.streams(&root, file)? {
            let mut value = Vec::new();
            let length = usize::try_from(stream.len).unwrap_or(usize::MAX);
            if length > LONGEST {
                return Err(vfs::Error::FileTooLarge);
            }
            self.streams.read_stream(&root, file, &stream.name, (0, length), &mut value)?;
            extra.streams.push((String::from_utf8_lossy(&stream.name).into_owned(), value));
        }
        for name in file.object.list_xattrs().unwrap_or_default() {
            if let Some(shown) = name.strip_prefix(EA) {
                let shown = String::from_utf8_lossy(shown).into_owned();
                extra.attributes.push((shown, file.object.xattr(&name)?));
            }
        }
        let (metadata, _) = self.streams.load(file)?;
        let stamp = |time: Time| -> Stamp { (time.secs, time.nanos) };
        extra.finder_info = Some(metadata.finder_info.as_bytes().to_vec());
        extra.comment = Some(String::from_utf8_lossy(&metadata.comment).into_owned())
            .filter(|comment| !comment.is_empty());
        extra.created = metadata.times.created.map(stamp);
        extra.backup = metadata.times.backup.map(stamp);
        let bits = metadata.shown_bits();
        for (flag, bit) in extra.flags.iter_mut().zip(BITS) {
            *flag = Some(bits.intersects(bit));
        }
        Ok(())
    }
}

/// Writes what a file of the host has besides its data, but for its owner, mode and date of the last change, as the server
/// keeps it. A part that cannot be written keeps no other part from being written.
///
/// # Errors
/// The first of those of the host.
pub fn keep(streams: &Streams, file: &File<'_>, extra: &Extra) -> vfs::Result<()> {
    let streams_kept = extra.streams.iter().map(|(name, value)| keep_stream(streams, file, name, value));
    let attributes_kept = extra.attributes.iter().map(|(name, value)| {
        let name = [EA, name.as_bytes()].concat();
        file.object.set_xattr(&Caller::root(), &name, value, vfs::backend::XattrMode::Set)
    });
    let fork = || keep_fork(streams, file, &extra.fork);
    let rest = [&fork as &dyn Fn() -> vfs::Result<()>, &|| keep_metadata(streams, file, extra)];
    let all = streams_kept.chain(attributes_kept).chain(rest.into_iter().map(|part| part()));
    all.fold(Ok(()), std::result::Result::and)
}

fn keep_stream(streams: &Streams, file: &File<'_>, name: &str, value: &[u8]) -> vfs::Result<()> {
    let root = Caller::root();
    streams.truncate_stream(&root, file, name.as_bytes(), 0)?;
    streams.write_stream(&root, file, name.as_bytes(), 0, value, Stability::Unstable)?;
    Ok(())
}

fn keep_fork(streams: &Streams, file: &File<'_>, fork: &[u8]) -> vfs::Result<()> {
    if fork.is_empty() {
        return Ok(());
    }
    streams.cut_fork(&Caller::root(), file, 0)?;
    streams.write_fork(&Caller::root(), file, 0, fork, Stability::Unstable)?;
    Ok(())
}

fn keep_metadata(streams: &Streams, file: &File<'_>, extra: &Extra) -> vfs::Result<()> {
    let (mut metadata, _) = streams.load(file)?;
    let before = metadata.clone();
    if let Some(info) = &extra.finder_info {
        metadata.set_finder_info(FinderInfo::from_prefix(info));
    }
    if let Some(comment) = &extra.comment {
        metadata.comment = comment.clone().into_bytes();
    }
    let time = |stamp: Stamp| Time { secs: stamp.0, nanos: stamp.1 };
    metadata.times.created = extra.created.map(time).or(metadata.times.created);
    metadata.times.backup = extra.backup.map(time).or(metadata.times.backup);
    let mut bits = metadata.shown_bits();
    for (flag, bit) in extra.flags.iter().zip(BITS) {
        bits.set(bit, flag.unwrap_or(bits.contains(bit)));
    }
    metadata.set_bits(bits);
    if metadata != before {
        streams.store(&Caller::root(), file, &metadata)?;
    }
    Ok(())
}

/// In the order of [`FLAGS`].
const BITS: [FileBits; FLAGS.len()] = [
    FileBits::INVISIBLE,
    FileBits::SYSTEM,
    FileBits::BACKUP_NEEDED,
    FileBits::WRITE_INHIBIT,
    FileBits::RENAME_INHIBIT,
    FileBits::DELETE_INHIBIT,
];
