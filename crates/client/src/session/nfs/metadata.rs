//! Metadata as clients of NFS version 3 write and read it: attributes, and `._name`.

use ::nfs::wire::v3::types::{DirOpArgs, Fattr3, NfsTime, Sattr3, SetTime, Wcc};
use ::nfs::wire::v3::{getattr, link, lookup, read, readlink, setattr, symlink};
use ::nfs::wire::xdr::Opaque;

use super::rpc::ok;
use super::sidecar::{LONGEST, PIECE, Sidecars, path_beside};
use super::{NFS, NfsSession, procedure};
use crate::metadata::{Aspect, AspectState, MetadataValue, Peer, second_name};
use crate::session::Session;
use crate::{Error, Result};

/// Where the data of a file with a hole is.
pub(super) const BEHIND_HOLE: u64 = 1 << 20;
/// The rights to write in a mode.
pub(super) const WRITE_BITS: u32 = 0o222;

const READLINK: u32 = 5;
const SYMLINK: u32 = 10;
const LINK: u32 = 15;

impl Peer for NfsSession {
    fn put(&mut self, path: &str, aspect: Aspect<'_>, value: &MetadataValue) -> Result<bool> {
        let mut set = Sattr3::default();
        match (aspect, value) {
            (Aspect::FinderInfo | Aspect::Fork | Aspect::Attribute(_) | Aspect::Comment, _) => {
                return self.put_beside(path, aspect, value);
            }
            (Aspect::Modified, MetadataValue::Time(..)) => set.mtime = time(value),
            (Aspect::Accessed, MetadataValue::Time(..)) => set.atime = time(value),
            (Aspect::Mode, MetadataValue::Number(mode)) => set.mode = Some(*mode as u32),
            (Aspect::ReadOnly, MetadataValue::Flag(on)) => {
                set.mode = Some(read_only(self.attributes(path)?.mode & 0o7777, *on));
            }
            (Aspect::Owner, MetadataValue::Number(uid)) if self.rpc.uid == 0 => set.uid = Some(*uid as u32),
            (Aspect::Group, MetadataValue::Number(gid)) => set.gid = Some(*gid as u32),
            (Aspect::Target, MetadataValue::Text(target)) => {
                let (folder, name) = self.place(path)?;
                let place = DirOpArgs { dir: Opaque::new(&folder), name: Opaque::new(name.as_bytes()) };
                let data = Opaque::new(target.as_bytes());
                let request = symlink::Request { place, attributes: Sattr3::default(), data };
                let answer = self.rpc.call(NFS, SYMLINK, &request)?;
                self.made(&answer, path)?;
                return Ok(true);
            }
            (Aspect::Links, _) => {
                let (handle, second) = (self.handle(path)?, second_name(path));
                let (folder, name) = self.place(&second)?;
                let link = DirOpArgs { dir: Opaque::new(&folder), name: Opaque::new(name.as_bytes()) };
                let answer = self.rpc.call(NFS, LINK, &link::Request { file: Opaque::new(&handle), link })?;
                ok::<link::ResOk, link::ResOk>(&answer, path)?;
                return Ok(true);
            }
            (Aspect::Sparse, _) => {
                self.write_all(path, BEHIND_HOLE, &[7; 4096])?;
                return Ok(true);
            }
            (Aspect::Name, _) => return self.make_file(path).map(|()| true),
            _ => return Ok(false),
        }
        let handle = self.handle(path)?;
        let request = setattr::Request { object: Opaque::new(&handle), new_attributes: set, guard: None };
        let answer = self.rpc.call(NFS, procedure::SETATTR, &request)?;
        ok::<setattr::ResOk, Wcc>(&answer, path)?;
        Ok(true)
    }

    fn get(&mut self, path: &str, aspect: Aspect<'_>) -> Result<AspectState> {
        let time = |time: NfsTime| {
            AspectState::Value(MetadataValue::Time(i64::from(time.seconds), time.nanoseconds))
        };
        Ok(match aspect {
            Aspect::FinderInfo | Aspect::Fork | Aspect::Attribute(_) | Aspect::Comment => {
                self.beside(path, aspect)?
            }
            Aspect::Modified => time(self.attributes(path)?.mtime),
            Aspect::Accessed => time(self.attributes(path)?.atime),
            Aspect::Mode => {
                AspectState::Value(MetadataValue::Number(u64::from(self.attributes(path)?.mode & 0o7777)))
            }
            Aspect::ReadOnly => {
                AspectState::Value(MetadataValue::Flag(self.attributes(path)?.mode & WRITE_BITS == 0))
            }
            Aspect::Owner => AspectState::Value(MetadataValue::Number(u64::from(self.attributes(path)?.uid))),
            Aspect::Links => {
                AspectState::Value(MetadataValue::Number(u64::from(self.attributes(path)?.nlink)))
            }
            Aspect::Sparse => {
                let attributes = self.attributes(path)?;
                AspectState::Value(MetadataValue::Flag(attributes.used < attributes.size / 2))
            }
            Aspect::Target => {
                let handle = self.handle(path)?;
                let request = readlink::Request { symlink: Opaque::new(&handle) };
                let answer = self.rpc.call(NFS, READLINK, &request)?;
                match ok::<readlink::ResOk<'_>, Option<Fattr3>>(&answer, path) {
                    Ok(found) => AspectState::Value(MetadataValue::Text(
                        String::from_utf8_lossy(&found.data).into_owned(),
                    )),
                    Err(Error::Other(_)) => AspectState::Missing, // it is no link
                    Err(error) => return Err(error),
                }
            }
            Aspect::Name => {
                self.handle(path)?;
                let name = path.rsplit('/').next().unwrap_or_default();
                AspectState::Value(MetadataValue::Text(name.into()))
            }
            _ => AspectState::Impossible,
        })
    }

    fn sweep(&mut self, path: &str) {
        let _ = self.remove(&path_beside(path));
    }
}

/// The mode of a file that becomes read-only, or can be written by its owner again.
pub(super) fn read_only(mode: u32, on: bool) -> u32 {
    if on { mode & !WRITE_BITS } else { mode | 0o200 }
}

fn time(value: &MetadataValue) -> SetTime {
    match value {
        MetadataValue::Time(secs, nanoseconds) => {
            SetTime::ToClientTime(NfsTime { seconds: *secs as u32, nanoseconds: *nanoseconds })
        }
        _ => SetTime::DontChange,
    }
}

impl NfsSession {
    pub(super) fn handle(&mut self, path: &str) -> Result<Vec<u8>> {
        let (folder, name) = self.place(path)?;
        let what = DirOpArgs { dir: Opaque::new(&folder), name: Opaque::new(name.as_bytes()) };
        let answer = self.rpc.call(NFS, procedure::LOOKUP, &lookup::Request { what })?;
        Ok(ok::<lookup::ResOk<'_>, Option<Fattr3>>(&answer, path)?.object.to_vec())
    }

    pub(super) fn attributes(&mut self, path: &str) -> Result<Fattr3> {
        let handle = self.handle(path)?;
        let request = getattr::Request { object: Opaque::new(&handle) };
        let answer = self.rpc.call(NFS, procedure::GETATTR, &request)?;
        Ok(ok::<getattr::ResOk, ()>(&answer, path)?.attributes)
    }
}

impl Sidecars for NfsSession {
    fn read_all(&mut self, path: &str) -> Result<Vec<u8>> {
        self.read_whole(path, LONGEST)
    }
}

impl NfsSession {
    /// All bytes of a file, if it has at most so many.
    pub(super) fn read_whole(&mut self, path: &str, most: usize) -> Result<Vec<u8>> {
        let handle = self.handle(path)?;
        let mut all = Vec::new();
        while all.len() < most {
            let (file, offset) = (Opaque::new(&handle[..]), all.len() as u64);
            let request = read::Request { file, offset, count: PIECE as u32 };
            let answer = self.rpc.call(NFS, procedure::READ, &request)?;
            let done: read::ResOkData<'_> = ok::<_, Option<Fattr3>>(&answer, path)?;
            all.extend_from_slice(&done.data);
            if done.eof || done.data.is_empty() {
                return Ok(all);
            }
        }
        Err(Error::Other("a file that is too long to be held in memory".into()))
    }
}
