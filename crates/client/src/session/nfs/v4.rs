//! NFS versions 4.1 and 4.2 over TCP, with the codecs of the crate `nfs`: a session without a back channel, so the server grants
//! no delegations.

mod acl;
mod compound;
mod metadata;
mod named;
mod naming;
mod session;
mod tree;

use std::collections::{HashMap, VecDeque};

use ::nfs::wire::rpc::xid;
use ::nfs::wire::v4::OperationNumber as Number;
use ::nfs::wire::v4::attributes::{self as attribute, Values};
use ::nfs::wire::v4::files::{Commit, CompoundOperation, Read, ReadDir};
use ::nfs::wire::v4::locks::{Lock, Locker, NewLocker, Unlock};
use ::nfs::wire::v4::opens::{Claim, Close, Create, CreateType, OpenArgs, OpenHow};
use ::nfs::wire::v4::sessions::SessionId;
use ::nfs::wire::v4::types::{
    Bitmap, Fattr, FileType, LockType, OwnerArgument, SHARE_READ, SHARE_WRITE, StableHow, StateId,
};
use ::nfs::wire::v4::xattrs::{SetOption, SetXattr};
use ::nfs::wire::xdr::Opaque;
use compound::{Compound, CompoundResults, EntryCallback, WriteHead};
use naming::IdMapper;
use session::{COMPOUND, NFS, SlotState};

use super::rpc::{Rpc, results};
use super::{GLANCE_BYTES, LIST_BYTES, MAX_FOLDERS, mode_of_new};
use crate::session::pages::Pages;
use crate::session::{
    Abilities, Completion, DataTransfer, HEAD, OpenFileId, OpenIntent, Reach, Session, Slots, Ticket, Traffic,
};
use crate::{Error, Result, Target};

pub(super) use compound::decode_answer;

/// OPEN4_SHARE_ACCESS_WANT_NO_DELEG, RFC 8881 18.16.
const WANT_NO_DELEGATION: u32 = 0x400;
/// An open file.
struct OpenNfsFile {
    handle: Vec<u8>,
    state: StateId,
    /// The locks of this client.
    locks: Option<StateId>,
}

struct Nfs4Flight {
    xid: u32,
    slot: usize,
    is_read: bool,
}

pub(super) struct Nfs4 {
    rpc: Rpc,
    minor: u32,
    client: u64,
    session: SessionId,
    slots: Vec<SlotState>,
    root: Vec<u8>,
    folders: HashMap<String, Vec<u8>>,
    files: Slots<OpenNfsFile>,
    flights: Vec<Nfs4Flight>,
    /// Replies that came while the client waited for a slot.
    arrived: VecDeque<Vec<u8>>,
    largest: usize,
    has_xattrs: bool,
    /// The attributes that the server has.
    supported: Bitmap,
    /// Whether the server keeps named attributes, as far as it was asked.
    has_named: Option<bool>,
    naming: IdMapper,
}

impl Nfs4 {
    /// A client of this minor version, 1 or 2.
    pub(super) fn connect(target: &Target, reach: &Reach, minor: u32) -> Result<Self> {
        let rpc = Rpc::connect(&target.address(), target, reach)?;
        let mut nfs = Self {
            rpc,
            minor,
            client: 0,
            session: SessionId::default(),
            slots: Vec::new(),
            root: Vec::new(),
            folders: HashMap::new(),
            files: Slots::default(),
            flights: Vec::new(),
            arrived: VecDeque::new(),
            largest: 0,
            has_xattrs: false,
            supported: Bitmap::default(),
            has_named: None,
            naming: IdMapper::default(),
        };
        nfs.begin_session()?;
        let path = [&target.share, "/", &target.path].concat();
        let names = path.split('/').filter(|name| !name.is_empty());
        let mut operations = vec![CompoundOperation::PutRoot(())];
        operations.extend(names.map(|name| CompoundOperation::LookUp(Opaque::new(name.as_bytes()))));
        operations.push(CompoundOperation::GetHandle(()));
        let limits = [attribute::MAXREAD, attribute::MAXWRITE, attribute::XATTR_SUPPORT];
        let limits = [&limits[..], &[attribute::SUPPORTED_ATTRS]].concat();
        operations.push(CompoundOperation::GetAttr(Bitmap::of(&limits)));
        let answer = nfs.call(&operations, &path)?;
        let mut results = CompoundResults::of(&answer, &path)?;
        results.skip(Number::PUTROOTFH)?;
        for _ in operations.iter().filter(|operation| matches!(operation, CompoundOperation::LookUp(_))) {
            results.skip(Number::LOOKUP)?;
        }
        nfs.root = results.handle()?;
        let values: Values<'_> = results.values()?;
        nfs.has_xattrs = values.xattr_support == Some(true);
        nfs.supported = values.supported_attrs.unwrap_or_default();
        let size = |option| Ok::<u32, Error>(target.number(option)?.unwrap_or(u32::MAX));
        let server = values.maxread.unwrap_or(u64::MAX).min(values.maxwrite.unwrap_or(u64::MAX));
        let most = u64::from(size("rsize")?.min(size("wsize")?)).min(server).min(nfs.largest as u64);
        nfs.largest = (most as usize).max(1 << 10);
        Ok(nfs)
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
        let operations = [put(&above), look_up(name), CompoundOperation::GetHandle(())];
        let answer = self.call(&operations, path)?;
        let mut results = CompoundResults::of(&answer, path)?;
        results.skip(Number::PUTFH)?;
        results.skip(Number::LOOKUP)?;
        let handle = results.handle()?;
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

    fn remove_entry(&mut self, path: &str) -> Result<()> {
        let (folder, name) = self.place(path)?;
        let answer =
            self.call(&[put(&folder), CompoundOperation::Remove(Opaque::new(name.as_bytes()))], path)?;
        let mut results = CompoundResults::of(&answer, path)?;
        results.skip(Number::PUTFH)?;
        results.skip(Number::REMOVE)
    }

    /// OPEN of a name in a folder, for this access, which denies others something. `path` is for messages.
    fn open_in(
        &mut self,
        (folder, name): (&[u8], &str),
        (access, deny): (u32, u32),
        how: OpenHow<'_>,
        path: &str,
    ) -> Result<OpenFileId> {
        // An owner for each file that is open: two opens of one file would be one.
        let owner = (self.files.next() as u64).to_be_bytes();
        let open = CompoundOperation::Open(OpenArgs {
            sequence: 0,
            access: access | WANT_NO_DELEGATION,
            deny,
            owner: OwnerArgument { client: self.client, name: Opaque::new(&owner) },
            how,
            claim: Claim::Name(Opaque::new(name.as_bytes())),
        });
        let answer = self.call(&[put(folder), open, CompoundOperation::GetHandle(())], path)?;
        let mut results = CompoundResults::of(&answer, path)?;
        results.skip(Number::PUTFH)?;
        let state = results.opened()?;
        let handle = results.handle()?;
        Ok(self.files.put(OpenNfsFile { handle, state, locks: None }))
    }

    /// An operation on a name, after LOOKUP, or on the folder of the target, which has the empty path.
    fn on_name(&mut self, path: &str, operation: CompoundOperation<'_>) -> Result<Vec<u8>> {
        if path.is_empty() {
            return self.call(&[put(&self.root.clone()), operation], path);
        }
        let (folder, name) = self.place(path)?;
        self.call(&[put(&folder), look_up(name), operation], path)
    }
}

impl Nfs4 {
    /// READDIR until the end, with these attributes of each entry. `path` is for messages.
    fn pages(&mut self, folder: &[u8], path: &str, wanted: &[u32], each: EntryCallback<'_>) -> Result<()> {
        let (mut cookie, mut verifier, mut pages) = (0, [0; 8], Pages::of(path));
        loop {
            let request = CompoundOperation::ReadDir(ReadDir {
                cookie,
                verifier,
                dir_count: LIST_BYTES,
                max_count: LIST_BYTES,
                wanted: Bitmap::of(wanted),
            });
            let answer = self.call(&[put(folder), request], path)?;
            let mut results = CompoundResults::of(&answer, path)?;
            results.skip(Number::PUTFH)?;
            let page = results.page(&mut |name, attributes| {
                pages.entry(name.len())?;
                each(name, attributes)
            })?;
            if page.is_end {
                return Ok(());
            }
            let last = page.last.ok_or_else(|| pages.stuck())?;
            pages.go_on_behind(last)?;
            (cookie, verifier) = (last, page.verifier);
        }
    }
}

/// PUTFH.
fn put(handle: &[u8]) -> CompoundOperation<'_> {
    CompoundOperation::PutHandle(Opaque::new(handle))
}

/// LOOKUP.
fn look_up(name: &str) -> CompoundOperation<'_> {
    CompoundOperation::LookUp(Opaque::new(name.as_bytes()))
}

/// The attributes of something new: its mode, in bytes.
fn with_mode(mode: &[u8; 4]) -> Fattr<'_> {
    Fattr { which: Bitmap::of(&[attribute::MODE]), values: Opaque::new(mode) }
}

impl Session for Nfs4 {
    fn abilities(&self) -> Abilities {
        Abilities { files: true, locks: true, attributes: self.has_xattrs, forks: false, pipelined: true }
    }

    fn largest(&self) -> usize {
        self.largest
    }

    fn agreed(&self) -> String {
        format!(
            "NFS version 4.{} over TCP, AUTH_SYS uid {}, up to {} KiB, {} slots, no client cache, no delegations",
            self.minor,
            self.rpc.uid,
            self.largest >> 10,
            self.slots.len()
        )
    }

    fn traffic(&self) -> Traffic {
        self.rpc.traffic()
    }

    fn make_folder(&mut self, path: &str) -> Result<()> {
        let (folder, name) = self.place(path)?;
        let mode = 0o755_u32.to_be_bytes();
        let create = CompoundOperation::Create(Create {
            kind: CreateType::Other(FileType::DIR),
            name: Opaque::new(name.as_bytes()),
            attributes: with_mode(&mode),
        });
        let answer = self.call(&[put(&folder), create, CompoundOperation::GetHandle(())], path)?;
        let mut results = CompoundResults::of(&answer, path)?;
        results.skip(Number::PUTFH)?;
        results.skip(Number::CREATE)?;
        let handle = results.handle()?;
        self.remember(path, &handle);
        Ok(())
    }

    fn remove_folder(&mut self, path: &str) -> Result<()> {
        self.folders.remove(path);
        self.remove_entry(path)
    }

    fn open(&mut self, path: &str, how: OpenIntent) -> Result<OpenFileId> {
        let (folder, name) = self.place(path)?;
        let mode = mode_of_new(how).to_be_bytes();
        let (access, made) = match how {
            OpenIntent::Create | OpenIntent::Private => {
                (SHARE_READ | SHARE_WRITE, OpenHow::Guarded(with_mode(&mode)))
            }
            OpenIntent::Read => (SHARE_READ, OpenHow::Existing),
            OpenIntent::Write => (SHARE_READ | SHARE_WRITE, OpenHow::Existing),
        };
        self.open_in((&folder, name), (access, 0), made, path)
    }

    fn open_alone(&mut self, path: &str) -> Result<OpenFileId> {
        let (folder, name) = self.place(path)?;
        let both = SHARE_READ | SHARE_WRITE;
        self.open_in((&folder, name), (both, both), OpenHow::Existing, path)
    }

    fn close(&mut self, file: OpenFileId) -> Result<()> {
        let file = self.files.take(file)?;
        let answer = self.call(
            &[put(&file.handle), CompoundOperation::Close(Close { sequence: 0, state: file.state })],
            "a close",
        )?;
        let mut results = CompoundResults::of(&answer, "a close")?;
        results.skip(Number::PUTFH)?;
        results.take::<StateId>(Number::CLOSE).map(drop)
    }

    fn start(&mut self, file: OpenFileId, transfer: DataTransfer<'_>) -> Result<Ticket> {
        let slot = self.free_slot()?;
        let sequence = Some(self.sequence(slot));
        let file = self.files.get(file)?;
        let (minor, state) = (self.minor, file.state);
        let (xid, is_read) = match transfer {
            DataTransfer::Read { offset, length } => {
                let read = CompoundOperation::Read(Read { state, offset, count: length as u32 });
                let request = Compound { minor, sequence, operations: &[put(&file.handle), read] };
                (self.rpc.send(NFS, COMPOUND, &request, &[])?, true)
            }
            DataTransfer::Write { offset, data, stable } => {
                let stable = if stable { StableHow::FILE_SYNC } else { StableHow::UNSTABLE };
                let request = Compound { minor, sequence, operations: &[put(&file.handle)] };
                let request = WriteHead { request, state, offset, stable, length: data.len() as u32 };
                (self.rpc.send(NFS, COMPOUND, &request, data)?, false)
            }
        };
        self.slots[slot].is_used = true;
        self.flights.push(Nfs4Flight { xid, slot, is_read });
        Ok(Ticket(xid.into()))
    }

    fn finish(&mut self) -> Result<Completion> {
        let (record, has_waited) = match self.arrived.pop_front() {
            Some(record) => (record, true),
            None => (self.rpc.receive()?, false),
        };
        let number = xid(&record);
        let at = self.flights.iter().position(|flight| flight.xid == number);
        let at = at.ok_or_else(|| Error::Other("an answer to another call".into()))?;
        let flight = self.flights.swap_remove(at);
        if !has_waited {
            self.slots[flight.slot].is_used = false;
        }
        let mut answer = CompoundResults::of(results(&record)?, "a transfer")?;
        answer.skip(Number::PUTFH)?;
        if flight.is_read {
            let data = answer.read()?;
            let finished = Completion::read(number.into(), &data[..data.len().min(HEAD)]);
            return Ok(Completion { length: data.len(), ..finished });
        }
        Ok(Completion::wrote(number.into(), answer.written()? as usize))
    }

    fn flush(&mut self, file: OpenFileId) -> Result<()> {
        let handle = self.files.get(file)?.handle.clone();
        let commit = CompoundOperation::Commit(Commit { offset: 0, count: 0 });
        let answer = self.call(&[put(&handle), commit], "a commit")?;
        let mut results = CompoundResults::of(&answer, "a commit")?;
        results.skip(Number::PUTFH)?;
        results.take::<[u8; 8]>(Number::COMMIT).map(drop)
    }

    fn list(&mut self, folder: &str) -> Result<usize> {
        use attribute::*;
        let handle = self.folder(folder)?;
        let wanted = [TYPE, CHANGE, SIZE, FSID, FILEHANDLE, FILEID, MODE, NUMLINKS, OWNER, OWNER_GROUP];
        let wanted = [&wanted[..], &[SPACE_USED, TIME_ACCESS, TIME_METADATA, TIME_MODIFY]].concat();
        let mut count = 0;
        self.pages(&handle, folder, &wanted, &mut |_, _| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    fn glance(&mut self) -> Result<()> {
        let request = CompoundOperation::ReadDir(ReadDir {
            cookie: 0,
            verifier: [0; 8],
            dir_count: GLANCE_BYTES,
            max_count: GLANCE_BYTES,
            wanted: Bitmap::of(&[attribute::FILEID, attribute::RDATTR_ERROR]),
        });
        let root = self.root.clone();
        let answer = self.call(&[put(&root), request], "the folder")?;
        let mut results = CompoundResults::of(&answer, "the folder")?;
        results.skip(Number::PUTFH)?;
        results.page(&mut |_, _| Ok(())).map(drop)
    }

    /// LOOKUP and GETATTR in one request, as a client without a cache sends them.
    fn stat(&mut self, path: &str) -> Result<u64> {
        let answer = self.on_name(path, CompoundOperation::GetAttr(Bitmap::of(&[attribute::SIZE])))?;
        let mut results = CompoundResults::of(&answer, path)?;
        results.skip(Number::PUTFH)?;
        results.skip(Number::LOOKUP)?;
        let values: Values<'_> = results.values()?;
        values.size.ok_or_else(|| Error::Other(format!("{path}: the server tells no size")))
    }

    fn remove(&mut self, path: &str) -> Result<()> {
        self.remove_entry(path)
    }

    fn lock(&mut self, file: OpenFileId, offset: u64, length: u64, take: bool) -> Result<()> {
        let (client, kind) = (self.client, LockType::WRITE);
        let OpenNfsFile { handle, state: open, locks } = self.files.get(file)?;
        let (handle, open, locks) = (handle.clone(), *open, *locks);
        let name = (file.0 as u64).to_be_bytes();
        let owner = OwnerArgument { client, name: Opaque::new(&name) };
        let (operation, number) = match (take, locks) {
            (true, known) => {
                let new = NewLocker { open_sequence: 0, open, sequence: 0, owner };
                let locker = known.map_or(Locker::New(new), |state| Locker::Known(state, 0));
                (CompoundOperation::Lock(Lock { kind, reclaim: false, offset, length, locker }), Number::LOCK)
            }
            (false, Some(state)) => (
                CompoundOperation::Unlock(Unlock { kind, sequence: 0, state, offset, length }),
                Number::LOCKU,
            ),
            (false, None) => return Err(Error::Other("nothing is locked".into())),
        };
        let answer = self.call(&[put(&handle), operation], "a lock")?;
        let mut results = CompoundResults::of(&answer, "a lock")?;
        results.skip(Number::PUTFH)?;
        let state = results.take::<StateId>(number)?;
        self.files.change(file)?.locks = Some(state);
        Ok(())
    }

    fn set_attribute(&mut self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        let (option, name) = (SetOption::EITHER, Opaque::new(name.as_bytes()));
        let set = CompoundOperation::SetXattr(SetXattr { option, name, value: Opaque::new(value) });
        let answer = self.on_name(path, set)?;
        let mut results = CompoundResults::of(&answer, path)?;
        results.skip(Number::PUTFH)?;
        results.skip(Number::LOOKUP)?;
        results.skip(Number::SETXATTR)
    }

    fn attribute(&mut self, path: &str, name: &str) -> Result<usize> {
        let answer = self.on_name(path, CompoundOperation::GetXattr(Opaque::new(name.as_bytes())))?;
        let mut results = CompoundResults::of(&answer, path)?;
        results.skip(Number::PUTFH)?;
        results.skip(Number::LOOKUP)?;
        results.xattr()
    }
}

/// The server forgets the client at once, and not after a lease.
impl Drop for Nfs4 {
    fn drop(&mut self) {
        if self.flights.is_empty() && !self.slots.is_empty() {
            let _ = self.call_alone(CompoundOperation::DestroySession(self.session)); // the connection may be gone
            let _ = self.call_alone(CompoundOperation::DestroyClientId(self.client));
        }
    }
}
