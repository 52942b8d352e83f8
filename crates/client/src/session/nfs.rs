//! NFS version 3 over TCP or UDP, with the codecs of the crate `nfs`: MOUNT, NFS, and NLM for locks. `v4.rs` has versions 4.1
//! and 4.2.

mod metadata;
mod rpc;
#[cfg(test)]
mod scripted;
mod sidecar;
#[cfg(test)]
mod tests;
mod tree;
mod udp;
mod v4;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use ::nfs::wire::mount::{self, MountOk, MountRes};
use ::nfs::wire::nlm;
use ::nfs::wire::portmap;
use ::nfs::wire::rpc::xid;
use ::nfs::wire::v3::create::CreateHow;
use ::nfs::wire::v3::types::{DirOpArgs, Fattr3, FileHandle, Sattr3, Verifier, Wcc};
use ::nfs::wire::v3::write::StableHow;
use ::nfs::wire::v3::{commit, create, fsinfo, getattr, lookup, mkdir, read, readdirplus, remove, write};
use ::nfs::wire::xdr::{Encode, Opaque};
use rpc::{Rpc, decode, is_udp, ok, results};
use wire::Writer;

use super::pages::Pages;
use super::{
    Abilities, Completion, DataTransfer, HEAD, OpenFileId, OpenIntent, Reach, Session, Slots, Ticket, Traffic,
};
use crate::security::umask;
use crate::tree::Tree;
use crate::{Error, Result, Target};

/// The program and version of NFS, RFC 1813.
const NFS: (u32, u32) = (100_003, 3);
/// What no client of such a server can do.
const NO_MAPPER: &str = "locking on a server whose port mapper cannot be reached";
/// The most bytes of one answer to a listing.
const LIST_BYTES: u32 = 64 << 10;
/// The same of one that is only tried.
const GLANCE_BYTES: u32 = 8 << 10;
/// The most folders whose handles are remembered.
const MAX_FOLDERS: usize = 4096;

/// Procedures of NFS version 3, RFC 1813 section 3.
mod procedure {
    pub(super) const NULL: u32 = 0;
    pub(super) const GETATTR: u32 = 1;
    pub(super) const SETATTR: u32 = 2;
    pub(super) const LOOKUP: u32 = 3;
    pub(super) const READ: u32 = 6;
    pub(super) const WRITE: u32 = 7;
    pub(super) const CREATE: u32 = 8;
    pub(super) const MKDIR: u32 = 9;
    pub(super) const REMOVE: u32 = 12;
    pub(super) const RMDIR: u32 = 13;
    pub(super) const RENAME: u32 = 14;
    pub(super) const READDIRPLUS: u32 = 17;
    pub(super) const FSSTAT: u32 = 18;
    pub(super) const FSINFO: u32 = 19;
    pub(super) const COMMIT: u32 = 21;
}

/// A version that a target names.
enum TargetVersion {
    Three,
    /// This minor version of version 4.
    Four(u32),
    /// The newest minor version of the server that is known here.
    Newest,
}

/// A session by the version that the target names, else version 3.
pub(super) fn connect(target: &Target, reach: &Reach) -> Result<Box<dyn Tree>> {
    Ok(match version(target)? {
        TargetVersion::Three => Box::new(NfsSession::connect(target, reach)?),
        TargetVersion::Four(minor) => Box::new(v4::Nfs4::connect(target, reach, minor)?),
        TargetVersion::Newest => match v4::Nfs4::connect(target, reach, 2) {
            Err(Error::Unsupported(_)) => Box::new(v4::Nfs4::connect(target, reach, 1)?),
            other => Box::new(other?),
        },
    })
}

fn version(target: &Target) -> Result<TargetVersion> {
    let version = match target.options.get("vers").map(String::as_str) {
        None | Some("3") => return Ok(TargetVersion::Three),
        Some("4") => TargetVersion::Newest,
        Some("4.1") => TargetVersion::Four(1),
        Some("4.2") => TargetVersion::Four(2),
        Some(other) => return Err(Error::Address(format!("vers={other}: write 3, 4, 4.1 or 4.2"))),
    };
    match is_udp(target)? {
        true => Err(Error::Unsupported("NFS version 4 over UDP")),
        false => Ok(version),
    }
}

/// Runs the decoders on any bytes.
pub(super) fn decode_answer(record: &[u8]) {
    rpc::decode_answer(record);
    v4::decode_answer(record);
}

struct NfsFlight {
    xid: u32,
    is_read: bool,
}

struct NfsSession {
    rpc: Rpc,
    /// The lock manager, if it is another connection.
    locks: Option<Rpc>,
    target: Target,
    reach: Reach,
    root: Vec<u8>,
    folders: HashMap<String, Vec<u8>>,
    files: Slots<Vec<u8>>,
    flights: Vec<NfsFlight>,
    largest: usize,
    is_udp: bool,
    /// What tells its locks from those of other sessions of this program.
    lock_owner: [u8; 8],
}

/// Counts the sessions of this program.
static SESSIONS: AtomicU32 = AtomicU32::new(0);

impl NfsSession {
    fn connect(target: &Target, reach: &Reach) -> Result<Self> {
        let mut rpc = Rpc::connect(&target.address(), target, reach)?;
        let is_udp = is_udp(target)?;
        if is_udp {
            // Nothing tells a server without UDP from a silent one.
            rpc.call(NFS, procedure::NULL, &()).map_err(|_| Error::Unsupported("NFS over UDP"))?;
        }
        let root = mounted(&mut rpc, target, reach)?;
        let info = rpc.call(NFS, procedure::FSINFO, &fsinfo::Request { root: Opaque::new(&root) })?;
        let info: fsinfo::ResOk = ok::<_, Option<Fattr3>>(&info, "the export")?;
        let size = |option| Ok::<u32, Error>(target.number(option)?.unwrap_or(u32::MAX));
        let (rsize, wsize) = (size("rsize")?, size("wsize")?);
        let mut nfs = Self {
            rpc,
            locks: None,
            target: target.clone(),
            reach: reach.clone(),
            root,
            folders: HashMap::new(),
            files: Slots::default(),
            flights: Vec::new(),
            largest: (info.rtmax.min(rsize).min(info.wtmax).min(wsize) as usize)
                .clamp(1 << 10, if is_udp { udp::LARGEST } else { 1 << 20 }),
            is_udp,
            lock_owner: lock_owner(),
        };
        nfs.root = target
            .path
            .split('/')
            .filter(|part| !part.is_empty())
            .try_fold(nfs.root.clone(), |folder, name| {
                nfs.look_up(&folder, name).map(|(handle, _)| handle)
            })?;
        Ok(nfs)
    }

    fn look_up(&mut self, folder: &[u8], name: &str) -> Result<(Vec<u8>, u64)> {
        let what = DirOpArgs { dir: Opaque::new(folder), name: Opaque::new(name.as_bytes()) };
        let answer = self.rpc.call(NFS, procedure::LOOKUP, &lookup::Request { what })?;
        let found: lookup::ResOk<'_> = ok::<_, Option<Fattr3>>(&answer, name)?;
        Ok((found.object.to_vec(), found.attributes.map_or(0, |attributes| attributes.size)))
    }

    /// The handle of a folder, which is looked up once.
    fn folder(&mut self, path: &str) -> Result<Vec<u8>> {
        if path.is_empty() {
            return Ok(self.root.clone());
        }
        if let Some(handle) = self.folders.get(path) {
            return Ok(handle.clone());
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let above = self.folder(above)?;
        let (handle, _) = self.look_up(&above, name)?;
        self.remember(path, &handle);
        Ok(handle)
    }

    fn remember(&mut self, path: &str, handle: &[u8]) {
        if self.folders.len() < MAX_FOLDERS {
            self.folders.insert(path.to_owned(), handle.to_vec());
        }
    }

    /// The folder of a path, and the last name.
    fn place<'p>(&mut self, path: &'p str) -> Result<(Vec<u8>, &'p str)> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.folder(above)?, name))
    }

    fn made(&mut self, results: &[u8], path: &str) -> Result<Vec<u8>> {
        let made: create::ResOk<'_> = ok::<_, Wcc>(results, path)?;
        match made.object {
            Some(handle) => Ok(handle.to_vec()),
            None => {
                let (folder, name) = self.place(path)?;
                Ok(self.look_up(&folder, name)?.0)
            }
        }
    }

    /// The connection to the lock manager: the server's own port, or the one that its port mapper
    /// names.
    fn lock_manager(&mut self) -> Result<&mut Rpc> {
        if self.locks.is_none() {
            let mut here = Rpc::connect(&self.target.address(), &self.target, &self.reach)?;
            let ping = here.call((nlm::PROGRAM, nlm::VERSION), nlm::Procedure::NULL.0, &());
            let manager = match ping {
                Ok(_) => here,
                Err(Error::Unsupported(_)) => {
                    let port = match port(&self.target, &self.reach, (nlm::PROGRAM, nlm::VERSION)) {
                        Err(Error::Unreachable(..)) => return Err(Error::Unsupported(NO_MAPPER)),
                        other => other?,
                    };
                    let target = Target { port, ..self.target.clone() };
                    Rpc::connect(&target.address(), &target, &self.reach)?
                }
                Err(error) => return Err(error),
            };
            self.locks = Some(manager);
        }
        self.locks.as_mut().ok_or(Error::Unsupported("locking"))
    }
}

/// Mounts the export: at the port of NFS, at `mountport`, or where the port mapper says.
fn mounted(rpc: &mut Rpc, target: &Target, reach: &Reach) -> Result<Vec<u8>> {
    let path = format!("/{}", target.share);
    let program = (mount::PROGRAM, mount::VERSIONS.1);
    let request = mount::Request { path: Opaque::new(path.as_bytes()) };
    let elsewhere = |port: u16| -> Result<Vec<u8>> {
        let other = Target { port, ..target.clone() };
        let mut rpc = Rpc::connect(&other.address(), &other, reach)?;
        rpc.call(program, mount::Procedure::MNT.0, &request)
    };
    let answer = match target.number("mountport")? {
        Some(port) => elsewhere(port)?,
        None => match rpc.call(program, mount::Procedure::MNT.0, &request) {
            Err(Error::Unsupported(_)) => elsewhere(port(target, reach, program)?)?,
            other => other?,
        },
    };
    match decode::<MountRes<MountOk<'_>>>(&answer)?.0 {
        Ok(mount) => Ok(mount.handle.to_vec()),
        Err(mount::Status::ACCES | mount::Status::PERM) => Err(Error::Refused(format!("the export {path}"))),
        Err(mount::Status::NOENT) => Err(Error::Missing(format!("the export {path}"))),
        Err(status) => Err(Error::Other(format!("the export {path}: {status:?}"))),
    }
}

/// The port of a program, by the server's port mapper.
fn port(target: &Target, reach: &Reach, (program, version): (u32, u32)) -> Result<u16> {
    let mapper = Target { port: portmap::PORT, ..target.clone() };
    let mut rpc = Rpc::connect(&mapper.address(), &mapper, reach)?;
    let protocol = if is_udp(target)? { portmap::Protocol::UDP } else { portmap::Protocol::TCP };
    let wanted = portmap::PortMapping { program, version, protocol, port: 0 };
    let answer = rpc.call((portmap::PROGRAM, portmap::VERSIONS.0), portmap::Procedure::GETPORT.0, &wanted)?;
    match u16::try_from(decode::<u32>(&answer)?) {
        Ok(port) if port != 0 => Ok(port),
        _ => Err(Error::Unsupported("this RPC program")),
    }
}

impl Session for NfsSession {
    fn abilities(&self) -> Abilities {
        Abilities { files: true, locks: true, attributes: false, forks: false, pipelined: true }
    }

    fn largest(&self) -> usize {
        self.largest
    }

    fn agreed(&self) -> String {
        format!(
            "NFS version 3 over {}, AUTH_SYS uid {}, up to {} KiB, no client cache",
            if self.is_udp { "UDP" } else { "TCP" },
            self.rpc.uid,
            self.largest >> 10
        )
    }

    fn traffic(&self) -> Traffic {
        self.rpc.traffic()
    }

    fn make_folder(&mut self, path: &str) -> Result<()> {
        let (folder, name) = self.place(path)?;
        let place = DirOpArgs { dir: Opaque::new(&folder), name: Opaque::new(name.as_bytes()) };
        let attributes = Sattr3 { mode: Some(0o755 & !umask()), ..Sattr3::default() };
        let answer = self.rpc.call(NFS, procedure::MKDIR, &mkdir::Request { place, attributes })?;
        let handle = self.made(&answer, path)?;
        self.remember(path, &handle);
        Ok(())
    }

    fn remove_folder(&mut self, path: &str) -> Result<()> {
        let (folder, name) = self.place(path)?;
        let object = DirOpArgs { dir: Opaque::new(&folder), name: Opaque::new(name.as_bytes()) };
        let answer = self.rpc.call(NFS, procedure::RMDIR, &remove::Request { object })?;
        self.folders.remove(path);
        ok::<remove::ResOk, Wcc>(&answer, path).map(drop)
    }

    fn open(&mut self, path: &str, how: OpenIntent) -> Result<OpenFileId> {
        let (folder, name) = self.place(path)?;
        let handle = match how {
            OpenIntent::Create | OpenIntent::Private => {
                let place = DirOpArgs { dir: Opaque::new(&folder), name: Opaque::new(name.as_bytes()) };
                let how = CreateHow::Guarded(Sattr3 { mode: Some(mode_of_new(how)), ..Sattr3::default() });
                let answer = self.rpc.call(NFS, procedure::CREATE, &create::Request { place, how })?;
                self.made(&answer, path)?
            }
            OpenIntent::Read | OpenIntent::Write => self.look_up(&folder, name)?.0,
        };
        Ok(self.files.put(handle))
    }

    fn close(&mut self, file: OpenFileId) -> Result<()> {
        self.files.take(file).map(drop)
    }

    fn start(&mut self, file: OpenFileId, transfer: DataTransfer<'_>) -> Result<Ticket> {
        let handle: FileHandle<'_> = Opaque::new(self.files.get(file)?);
        let (xid, is_read) = match transfer {
            DataTransfer::Read { offset, length } => {
                let request = read::Request { file: handle, offset, count: length as u32 };
                (self.rpc.send(NFS, procedure::READ, &request, &[])?, true)
            }
            DataTransfer::Write { offset, data, stable } => {
                let stable = if stable { StableHow::FILE_SYNC } else { StableHow::UNSTABLE };
                let request = WriteHead(handle, offset, data.len() as u32, stable);
                (self.rpc.send(NFS, procedure::WRITE, &request, data)?, false)
            }
        };
        self.flights.push(NfsFlight { xid, is_read });
        Ok(Ticket(xid.into()))
    }

    fn finish(&mut self) -> Result<Completion> {
        let record = self.rpc.receive()?;
        let number = xid(&record);
        let at = self.flights.iter().position(|flight| flight.xid == number);
        let at = at.ok_or_else(|| Error::Other("an answer to another call".into()))?;
        let flight = self.flights.swap_remove(at);
        let results = results(&record)?;
        if flight.is_read {
            let done: read::ResOkData<'_> = ok::<_, Option<Fattr3>>(results, "a read")?;
            let finished = Completion::read(number.into(), &done.data[..done.data.len().min(HEAD)]);
            return Ok(Completion { length: done.data.len(), ..finished });
        }
        let done: write::ResOk = ok::<_, Wcc>(results, "a write")?;
        Ok(Completion::wrote(number.into(), done.count as usize))
    }

    fn flush(&mut self, file: OpenFileId) -> Result<()> {
        let request = commit::Request { file: Opaque::new(self.files.get(file)?), offset: 0, count: 0 };
        let answer = self.rpc.call(NFS, procedure::COMMIT, &request)?;
        ok::<commit::ResOk, Wcc>(&answer, "a commit").map(drop)
    }

    fn list(&mut self, folder: &str) -> Result<usize> {
        let handle = self.folder(folder)?;
        let (mut cookie, mut verifier, mut count) = (0, Verifier::default(), 0);
        let mut pages = Pages::of(folder);
        loop {
            let dir = Opaque::new(&handle[..]);
            let (dircount, maxcount) = (LIST_BYTES, LIST_BYTES);
            let request = readdirplus::Request { dir, cookie, verifier, dircount, maxcount };
            let answer = self.rpc.call(NFS, procedure::READDIRPLUS, &request)?;
            let page: readdirplus::ResOk<'_> = ok::<_, Option<Fattr3>>(&answer, folder)?;
            let is_own = |name: &[u8]| name == b"." || name == b"..";
            count += page.entries.iter().filter(|entry| !is_own(&entry.name)).count();
            let last = page.entries.last().map(|entry| entry.cookie);
            if page.eof {
                return Ok(count);
            }
            let last = last.ok_or_else(|| pages.stuck())?;
            pages.go_on_behind(last)?;
            (cookie, verifier) = (last, page.verifier);
        }
    }

    fn glance(&mut self) -> Result<()> {
        let dir = Opaque::new(&self.root[..]);
        let (cookie, verifier) = (0, Verifier::default());
        let request =
            readdirplus::Request { dir, cookie, verifier, dircount: GLANCE_BYTES, maxcount: GLANCE_BYTES };
        let answer = self.rpc.call(NFS, procedure::READDIRPLUS, &request)?;
        let page: readdirplus::ResOk<'_> = ok::<_, Option<Fattr3>>(&answer, "the folder")?;
        drop(page);
        Ok(())
    }

    /// LOOKUP and GETATTR, as a client without a cache sends them.
    fn stat(&mut self, path: &str) -> Result<u64> {
        let (folder, name) = self.place(path)?;
        let (handle, _) = self.look_up(&folder, name)?;
        let request = getattr::Request { object: Opaque::new(&handle) };
        let answer = self.rpc.call(NFS, procedure::GETATTR, &request)?;
        Ok(ok::<getattr::ResOk, ()>(&answer, path)?.attributes.size)
    }

    fn remove(&mut self, path: &str) -> Result<()> {
        let (folder, name) = self.place(path)?;
        let object = DirOpArgs { dir: Opaque::new(&folder), name: Opaque::new(name.as_bytes()) };
        let answer = self.rpc.call(NFS, procedure::REMOVE, &remove::Request { object })?;
        ok::<remove::ResOk, Wcc>(&answer, path).map(drop)
    }

    fn lock(&mut self, file: OpenFileId, offset: u64, len: u64, take: bool) -> Result<()> {
        let handle = self.files.get(file)?.clone();
        let owner = self.lock_owner;
        let cookie = Opaque::new(b"lock");
        let lock = nlm::NlmLock {
            caller_name: Opaque::new(b"fourfold-bench"),
            handle: Opaque::new(&handle),
            owner: Opaque::new(&owner),
            svid: 1,
            offset,
            len,
        };
        let program = (nlm::PROGRAM, nlm::VERSION);
        let manager = self.lock_manager()?;
        let answer = if take {
            let request =
                nlm::LockRequest { cookie, block: false, exclusive: true, lock, reclaim: false, state: 0 };
            manager.call(program, nlm::Procedure::LOCK.0, &request)?
        } else {
            manager.call(program, nlm::Procedure::UNLOCK.0, &nlm::UnlockRequest { cookie, lock })?
        };
        match decode::<nlm::Res<'_>>(&answer)?.stat {
            nlm::NlmStat::GRANTED => Ok(()),
            stat => Err(Error::Other(format!("the lock manager says {stat:?}"))),
        }
    }
}

/// An owner of locks that no other session on this machine has.
fn lock_owner() -> [u8; 8] {
    let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
    (u64::from(std::process::id()) << 32 | u64::from(session)).to_be_bytes()
}

/// The mode of a new file.
fn mode_of_new(how: OpenIntent) -> u32 {
    if how == OpenIntent::Private { 0o600 } else { 0o644 & !umask() }
}

/// The arguments of WRITE up to the length of the data, RFC 1813 3.3.7.
struct WriteHead<'a>(FileHandle<'a>, u64, u32, StableHow);

impl Encode for WriteHead<'_> {
    fn encode(&self, w: &mut Writer) {
        self.0.encode(w);
        self.1.encode(w);
        self.2.encode(w);
        self.3.encode(w);
        self.2.encode(w);
    }
}
