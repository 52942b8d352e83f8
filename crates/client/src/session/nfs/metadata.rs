//! Metadata as clients of NFS version 3 write and read it: attributes, and `._name` as Macs write it.

use ::nfs::wire::v3::types::{DirOpArgs, Fattr3, NfsTime, Sattr3, SetTime, Wcc};
use ::nfs::wire::v3::{getattr, link, lookup, read, readlink, setattr, symlink};
use ::nfs::wire::xdr::Opaque;
use vfs::mac::apple_double::HEAD_LIMIT;
use vfs::mac::{FinderInfo, plist, sidecar};

use super::rpc::ok;
use super::{NFS, Nfs, procedure};
use crate::metadata::{Aspect, COMMENT, Got, Peer, Value, second_name};
use crate::session::{How, Session, Transfer};
use crate::{Error, Result};

/// Bytes of one read or write.
const PIECE: usize = 32 << 10;
/// The longest file that is read.
const LONGEST: usize = 4 << 20;
/// Where the data of a file with a hole is.
const BEHIND_HOLE: u64 = 1 << 20;
/// The rights to write in a mode.
const WRITE_BITS: u32 = 0o222;

const SETATTR: u32 = 2;
const READLINK: u32 = 5;
const SYMLINK: u32 = 10;
const LINK: u32 = 15;

impl Peer for Nfs {
    fn put(&mut self, path: &str, aspect: Aspect<'_>, value: &Value) -> Result<bool> {
        let mut set = Sattr3::default();
        match (aspect, value) {
            (Aspect::FinderInfo, Value::Bytes(bytes)) => {
                self.put_sidecar(path, &FinderInfo::from_prefix(bytes), None, &[])?;
                return Ok(true);
            }
            (Aspect::Fork, Value::Bytes(bytes)) => {
                self.put_sidecar(path, &FinderInfo::NONE, None, bytes)?;
                return Ok(true);
            }
            (Aspect::Attribute(name), Value::Bytes(bytes)) => {
                self.put_sidecar(path, &FinderInfo::NONE, Some((name, bytes)), &[])?;
                return Ok(true);
            }
            (Aspect::Comment, Value::Text(text)) => {
                self.put_sidecar(path, &FinderInfo::NONE, Some((COMMENT, &plist::write_text(text))), &[])?;
                return Ok(true);
            }
            (Aspect::Modified, Value::Time(..)) => set.mtime = time(value),
            (Aspect::Accessed, Value::Time(..)) => set.atime = time(value),
            (Aspect::Mode, Value::Number(mode)) => set.mode = Some(*mode as u32),
            (Aspect::ReadOnly, Value::Flag(on)) => set.mode = Some(if *on { 0o444 } else { 0o644 }),
            (Aspect::Owner, Value::Number(uid)) if self.rpc.uid == 0 => set.uid = Some(*uid as u32),
            (Aspect::Target, Value::Text(target)) => {
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
            (Aspect::Name, _) => {
                let file = self.open(path, How::Create)?;
                self.close(file)?;
                return Ok(true);
            }
            _ => return Ok(false),
        }
        let handle = self.handle(path)?;
        let request = setattr::Request { object: Opaque::new(&handle), new_attributes: set, guard: None };
        let answer = self.rpc.call(NFS, SETATTR, &request)?;
        ok::<setattr::ResOk, Wcc>(&answer, path)?;
        Ok(true)
    }

    fn get(&mut self, path: &str, aspect: Aspect<'_>) -> Result<Got> {
        let time = |time: NfsTime| Got::Value(Value::Time(i64::from(time.seconds), time.nanoseconds));
        Ok(match aspect {
            Aspect::FinderInfo | Aspect::Fork | Aspect::Attribute(_) | Aspect::Comment => {
                self.sidecar(path, aspect)?
            }
            Aspect::Modified => time(self.attributes(path)?.mtime),
            Aspect::Accessed => time(self.attributes(path)?.atime),
            Aspect::Mode => Got::Value(Value::Number(u64::from(self.attributes(path)?.mode & 0o7777))),
            Aspect::ReadOnly => Got::Value(Value::Flag(self.attributes(path)?.mode & WRITE_BITS == 0)),
            Aspect::Owner => Got::Value(Value::Number(u64::from(self.attributes(path)?.uid))),
            Aspect::Links => Got::Value(Value::Number(u64::from(self.attributes(path)?.nlink))),
            Aspect::Sparse => {
                let attributes = self.attributes(path)?;
                Got::Value(Value::Flag(attributes.used < attributes.size / 2))
            }
            Aspect::Target => {
                let handle = self.handle(path)?;
                let request = readlink::Request { symlink: Opaque::new(&handle) };
                let answer = self.rpc.call(NFS, READLINK, &request)?;
                match ok::<readlink::ResOk<'_>, Option<Fattr3>>(&answer, path) {
                    Ok(found) => Got::Value(Value::Text(String::from_utf8_lossy(&found.data).into_owned())),
                    Err(Error::Other(_)) => Got::Missing, // it is no link
                    Err(error) => return Err(error),
                }
            }
            Aspect::Name => {
                self.handle(path)?;
                let name = path.rsplit('/').next().unwrap_or_default();
                Got::Value(Value::Text(name.into()))
            }
            _ => Got::Impossible,
        })
    }

    fn sweep(&mut self, path: &str) {
        let _ = self.remove(&beside(path));
    }
}

fn time(value: &Value) -> SetTime {
    match value {
        Value::Time(secs, nanoseconds) => {
            SetTime::ToClientTime(NfsTime { seconds: *secs as u32, nanoseconds: *nanoseconds })
        }
        _ => SetTime::DontChange,
    }
}

/// The path of a file's AppleDouble file.
pub(super) fn beside(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{folder}/._{name}")
}

impl Nfs {
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

    /// A new file with these bytes.
    pub(super) fn write_all(&mut self, path: &str, offset: u64, bytes: &[u8]) -> Result<()> {
        let file = match self.open(path, How::Create) {
            Err(Error::Other(why)) if why.contains("EXIST") => self.open(path, How::Write)?,
            other => other?,
        };
        for (number, data) in bytes.chunks(PIECE).enumerate() {
            let offset = offset + (number * PIECE) as u64;
            self.start(file, Transfer::Write { offset, data, stable: true })?;
            self.finish()?;
        }
        self.close(file)
    }

    fn put_sidecar(
        &mut self,
        path: &str,
        info: &FinderInfo,
        attribute: Option<(&str, &[u8])>,
        fork: &[u8],
    ) -> Result<()> {
        let attributes: Vec<(&[u8], &[u8])> =
            attribute.iter().map(|(name, value)| (name.as_bytes(), *value)).collect();
        let (head, _) = sidecar::synthesize(info, &attributes, fork.len() as u64);
        self.write_all(&beside(path), 0, &[&head, fork].concat())
    }

    pub(super) fn read_all(&mut self, path: &str, most: usize) -> Result<Vec<u8>> {
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

    /// What the AppleDouble file says.
    fn sidecar(&mut self, path: &str, aspect: Aspect<'_>) -> Result<Got> {
        let all = match self.read_all(&beside(path), LONGEST) {
            Err(Error::Missing(_)) => return Ok(Got::Missing),
            other => other?,
        };
        let head = &all[..all.len().min(HEAD_LIMIT.max(LONGEST))];
        let parsed = sidecar::parse(head, all.len() as u64)
            .map_err(|error| Error::Other(format!("the ._ file is not AppleDouble: {error}")))?;
        let value = |name: &str| {
            let found = parsed.xattrs.iter().find(|one| one.name == name.as_bytes())?;
            let at = found.offset as usize;
            found.value.or_else(|| all.get(at..at + found.length as usize))
        };
        Ok(match aspect {
            Aspect::FinderInfo => Got::Value(Value::Bytes(parsed.finder_info.as_bytes().to_vec())),
            Aspect::Fork => {
                let range = parsed.resource_range.start as usize..parsed.resource_range.end as usize;
                match all.get(range) {
                    Some(fork) if !fork.is_empty() => Got::Value(Value::Bytes(fork.to_vec())),
                    _ => Got::Missing,
                }
            }
            Aspect::Attribute(name) => {
                value(name).map_or(Got::Missing, |bytes| Got::Value(Value::Bytes(bytes.to_vec())))
            }
            _ => match value(COMMENT).and_then(plist::read_text) {
                Some(text) => Got::Value(Value::Text(text)),
                None => Got::Missing,
            },
        })
    }
}
