//! A client of AFP 3.4.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read, Write};

use afp::client::{Client, ClientLogin, Error, ForkId, ROOT};
use afp::wire::directory::{Place, SetParms};
use afp::wire::enumerate::{Enumerate, EnumerateForm, Reply};
use afp::wire::file::{CopyFile, ExchangeFiles, MoveAndRename};
use afp::wire::fork::{AccessMode, SetForkParms, Width};
use afp::wire::lock::ByteRangeLock;
use afp::wire::{DirBitmap, FileBitmap, Path, ResultCode, SetParameters, attribute, command};
use tokio::runtime::Handle;
use wire::{Reader, Writer};

use crate::link::Link;
use crate::op::{At, Data, Fork, Modes, Op, ServerAnswer, Slot, Stat, XATTRS};
use crate::world::{self, info_of, info_seed};

/// AFP counts seconds from the year 2000.
const EPOCH: i64 = 946_684_800;
const WRITE_INHIBIT: u16 = 1 << 5;
const RENAME_INHIBIT: u16 = 1 << 7;
const DELETE_INHIBIT: u16 = 1 << 8;
/// Sets the bits instead of clearing them.
const SET: u16 = 1 << 15;

struct Over(Link, Handle);

impl Read for Over {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        into.copy_from_slice(&self.0.fetch(into.len())?);
        Ok(into.len())
    }
}

impl Write for Over {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.block_on(self.0.put(bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub struct Afp {
    client: Client<Over>,
    volume: u16,
    slots: HashMap<Slot, (ForkId, Fork)>,
}

type AfpResult<T> = Result<T, ResultCode>;

/// The name of a place as AFP writes paths. `keep` owns the bytes.
fn path(keep: &[u8]) -> Path<'_> {
    Path::utf8(keep)
}

fn bytes(at: &str) -> Vec<u8> {
    at.bytes().map(|byte| if byte == b'/' { 0 } else { byte }).collect()
}

impl Afp {
    pub fn new(link: Link, runtime: &Handle) -> Self {
        let mut client = Client::open(Over(link, runtime.clone())).expect("a session");
        let user = world::user();
        let login = ClientLogin::Cleartext { name: &user.name, password: &user.password };
        client.log_in("AFP3.4", &login).expect("a login");
        let volume = client.open_volume(world::share()).expect("the volume");
        Self { client, volume, slots: HashMap::new() }
    }

    fn call(&mut self, number: u8, body: impl FnOnce(&mut Writer)) -> AfpResult<Vec<u8>> {
        let frame = self.client.call(number, body).expect("an answer");
        match frame.code() {
            ResultCode::NO_ERROR => Ok(frame.payload),
            code => Err(code),
        }
    }

    fn place<'a>(&self, at: &'a [u8]) -> Place<'a> {
        Place { volume: self.volume, folder: ROOT, path: path(at) }
    }

    fn open(&mut self, at: &str, fork: Fork, access: Modes, deny: Modes, slot: Slot) -> AfpResult<()> {
        let bit = |is_set, bit: AccessMode| if is_set { bit.0 } else { 0 };
        let access = bit(access.r, AccessMode::READ)
            | bit(access.w, AccessMode::WRITE)
            | bit(deny.r, AccessMode::DENY_READ)
            | bit(deny.w, AccessMode::DENY_WRITE);
        let (at, access) = (at.replace('/', "\0"), AccessMode(access));
        let opened = said(self.client.open_fork((self.volume, ROOT, &at), fork == Fork::Resource, access))?;
        self.slots.insert(slot, (opened, fork));
        Ok(())
    }

    fn lock(&mut self, slot: Slot, At(offset, length): At, unlock: bool) -> AfpResult<()> {
        let (offset, length) = (offset as i64, length as i64);
        let lock = ByteRangeLock { unlock, from_end: false, fork: self.slots[&slot].0.0, offset, length };
        self.call(command::BYTE_RANGE_LOCK_EXT, |w| lock.encode(Width::Bits64, w)).map(drop)
    }

    fn set(&mut self, at: &str, parameters: &SetParameters) -> AfpResult<()> {
        let (at, bytes) = (bytes(at), parameters.to_bytes());
        let set = SetParms { place: self.place(&at), bitmap: parameters.bitmap(), parameters: &bytes };
        self.call(command::SET_FILE_DIR_PARMS, |w| set.encode(w)).map(drop)
    }

    fn parameters(&mut self, at: &str, files: FileBitmap, folders: DirBitmap) -> AfpResult<(bool, Vec<u8>)> {
        let at = at.replace('/', "\0");
        said(self.client.parameters((self.volume, ROOT, &at), files, folders))
    }

    fn list(&mut self, at: &str) -> AfpResult<BTreeSet<String>> {
        let at = bytes(at);
        let (files, folders) = (FileBitmap::UTF8_NAME, DirBitmap::UTF8_NAME);
        let asked =
            Enumerate { place: self.place(&at), files, folders, count: 100, start: 1, max_reply: 1 << 15 };
        let reply = match self.call(command::ENUMERATE_EXT2, |w| asked.encode(EnumerateForm::Ext2, w)) {
            Err(ResultCode::OBJECT_NOT_FOUND) => {
                // An empty folder, or none at all.
                let at = String::from_utf8(at).expect("ours").replace('\0', "/");
                return self
                    .parameters(&at, FileBitmap::empty(), DirBitmap::empty())
                    .map(|_| BTreeSet::new());
            }
            other => other?,
        };
        let entries = Reply::decode(&mut Reader::new(&reply)).expect("entries").entries;
        let name = |parameters: &[u8]| {
            let at = usize::from(u16::from_be_bytes([parameters[0], parameters[1]]));
            // An encoding hint of four bytes, then the length.
            let length = usize::from(u16::from_be_bytes([parameters[at + 4], parameters[at + 5]]));
            String::from_utf8(parameters[at + 6..][..length].to_vec()).expect("UTF-8")
        };
        Ok(EnumerateForm::Ext2
            .framing()
            .entries(entries)
            .map(|entry| name(entry.expect("an entry").parameters))
            .collect())
    }

    fn stat(&mut self, at: &str) -> AfpResult<Stat> {
        let files = FileBitmap::ATTRIBUTES | FileBitmap::MODIFIED | FileBitmap::EXTENDED_DATA_LENGTH;
        let (folder, found) = self.parameters(at, files, DirBitmap::ATTRIBUTES | DirBitmap::MODIFIED)?;
        let mut r = Reader::new(&found);
        let (attributes, date) = (r.u16_be().expect("attributes"), r.i32_be().expect("a date"));
        let size = if folder { 0 } else { r.u64_be().expect("a length") };
        let read_only = Some(attributes & WRITE_INHIBIT != 0);
        Ok(Stat { folder, size, date: u32::try_from(i64::from(date) + EPOCH).ok(), read_only })
    }

    fn rename(&mut self, from: &str, to: &str) -> AfpResult<()> {
        let (folder, name) = to.rsplit_once('/').unwrap_or(("", to));
        let (from, folder) = (bytes(from), bytes(folder));
        let moves = MoveAndRename {
            from: self.place(&from),
            to_folder: ROOT,
            to_path: path(&folder),
            new_name: path(name.as_bytes()),
        };
        self.call(command::MOVE_AND_RENAME, |w| moves.encode(w)).map(drop)
    }

    fn copy(&mut self, from: &str, to: &str) -> AfpResult<()> {
        let (folder, name) = to.rsplit_once('/').unwrap_or(("", to));
        let (from, folder) = (bytes(from), bytes(folder));
        let copy =
            CopyFile { from: self.place(&from), to: self.place(&folder), new_name: path(name.as_bytes()) };
        self.call(command::COPY_FILE, |w| copy.encode(w)).map(drop)
    }

    fn get_xattr(&mut self, at: &str, name: usize) -> AfpResult<Vec<u8>> {
        let (at, volume) = (bytes(at), self.volume);
        let get = attribute::Get {
            volume,
            directory: ROOT,
            bitmap: attribute::Bitmap::empty(),
            offset: 0,
            count: 1 << 16,
            max_reply: 1 << 16,
            path: path(&at),
            name: XATTRS[name].as_bytes(),
        };
        let reply = self.call(command::GET_EXT_ATTR, |w| get.encode(w))?;
        let reply = attribute::Reply::decode(&mut Reader::new(&reply)).expect("an attribute");
        Ok(reply.bytes.unwrap_or_default().to_vec())
    }

    fn set_xattr(&mut self, at: &str, name: usize, value: &[u8]) -> AfpResult<()> {
        let (at, volume) = (bytes(at), self.volume);
        let set = attribute::Set {
            volume,
            directory: ROOT,
            bitmap: attribute::Bitmap::empty(),
            offset: 0,
            path: path(&at),
            name: XATTRS[name].as_bytes(),
            bytes: value,
        };
        self.call(command::SET_EXT_ATTR, |w| set.encode(w)).map(drop)
    }

    fn remove_xattr(&mut self, at: &str, name: usize) -> AfpResult<()> {
        let (at, volume) = (bytes(at), self.volume);
        let (bitmap, name) = (attribute::Bitmap::empty(), XATTRS[name].as_bytes());
        let remove = attribute::Remove { volume, directory: ROOT, bitmap, path: path(&at), name };
        self.call(command::REMOVE_EXT_ATTR, |w| remove.encode(w)).map(drop)
    }

    pub fn apply(&mut self, op: &Op) -> ServerAnswer {
        self.done(op).map_err(|code| i64::from(code.0))
    }

    fn done(&mut self, op: &Op) -> AfpResult<Data> {
        let nothing = match *op {
            Op::Make(_, at) => said(self.client.create(self.volume, &at.replace('/', "\0"))),
            Op::MakeFolder(_, at) => {
                said(self.client.create_folder(self.volume, ROOT, &at.replace('/', "\0"))).map(drop)
            }
            Op::Open { at, fork, access, deny, slot, .. } => self.open(at, fork, access, deny, slot),
            Op::Read(slot, At(offset, length)) => {
                let read = self.client.read(self.slots[&slot].0, offset as i64, length as i64);
                return said(read).map(Data::Bytes);
            }
            Op::Write(slot, At(offset, length), byte) => {
                let data = vec![byte; length as usize];
                said(self.client.write(self.slots[&slot].0, offset as i64, &data))
            }
            Op::Truncate(slot, length) => {
                let (fork, which) = self.slots[&slot];
                let bitmap = match which {
                    Fork::Data => FileBitmap::EXTENDED_DATA_LENGTH,
                    Fork::Resource => FileBitmap::EXTENDED_RESOURCE_LENGTH,
                };
                let set = SetForkParms { fork: fork.0, bitmap, length: length as i64 };
                self.call(command::SET_FORK_PARMS, |w| set.encode(w)).map(drop)
            }
            Op::Lock { slot, range, .. } => self.lock(slot, range, false),
            Op::Unlock(slot, range) => self.lock(slot, range, true),
            Op::Close(slot) => {
                let (fork, _) = self.slots.remove(&slot).expect("open");
                said(self.client.close(fork))
            }
            _ => return self.done_by_name(op),
        };
        nothing.map(|()| Data::Nothing)
    }

    fn done_by_name(&mut self, op: &Op) -> AfpResult<Data> {
        let nothing = match *op {
            Op::Rename { from, to, .. } => self.rename(from, to),
            Op::Remove(_, at) | Op::RemoveFolder(_, at) => {
                said(self.client.delete(self.volume, ROOT, &at.replace('/', "\0")))
            }
            Op::List(_, at) => return self.list(at).map(Data::Names),
            Op::SetInfo(_, at, seed) => {
                let mut finder_info = [0; 32];
                finder_info[..8].copy_from_slice(&info_of(seed));
                self.set(at, &SetParameters { finder_info: Some(finder_info), ..SetParameters::default() })
            }
            Op::GetInfo(_, at) => {
                let found = self.parameters(at, FileBitmap::FINDER_INFO, DirBitmap::FINDER_INFO)?.1;
                return Ok(Data::Bytes(info_seed(&found[..8])));
            }
            Op::SetXattr { at, name, length, byte, .. } => self.set_xattr(at, name, &vec![byte; length]),
            Op::GetXattr { at, name, .. } => return self.get_xattr(at, name).map(Data::Bytes),
            Op::RemoveXattr { at, name, .. } => self.remove_xattr(at, name),
            Op::SetDate(_, at, secs) => {
                let modified = Some((i64::from(secs) - EPOCH) as i32);
                self.set(at, &SetParameters { modified, ..SetParameters::default() })
            }
            Op::SetLocked(_, at, locked) => {
                let bit = |on, bit| if on { bit } else { 0 };
                let on = bit(locked.write, WRITE_INHIBIT)
                    | bit(locked.rename, RENAME_INHIBIT)
                    | bit(locked.delete, DELETE_INHIBIT);
                let off = (WRITE_INHIBIT | RENAME_INHIBIT | DELETE_INHIBIT) & !on;
                let attributes = |bits| SetParameters { attributes: Some(bits), ..SetParameters::default() };
                self.set(at, &attributes(off)).and_then(|()| self.set(at, &attributes(on | SET)))
            }
            Op::Stat(_, at) => return self.stat(at).map(Data::Stat),
            Op::Exchange { one, other, .. } => {
                let (one, other) = (bytes(one), bytes(other));
                let exchange =
                    ExchangeFiles { one: self.place(&one), other_folder: ROOT, other_path: path(&other) };
                self.call(command::EXCHANGE_FILES, |w| exchange.encode(w)).map(drop)
            }
            Op::Copy { from, to, .. } => self.copy(from, to),
            _ => unreachable!("{op:?} is not generated for AFP"),
        };
        nothing.map(|()| Data::Nothing)
    }
}

fn said<T>(done: afp::client::Result<T>) -> AfpResult<T> {
    done.map_err(|error| match error {
        Error::Refused(code) => code,
        other => panic!("{other}"),
    })
}
