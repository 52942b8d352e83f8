//! AFP 3.x over DSI, with the client of the crate `afp`.

mod acl;
mod metadata;
mod tree;

use ::afp::client::{Client, ClientLogin, Error as AfpError, ForkId, ROOT};
use ::afp::wire::directory::Place;
use ::afp::wire::dsi::Command;
use ::afp::wire::enumerate::{Enumerate, EnumerateForm, Reply};
use ::afp::wire::fork::{self, AccessMode, Width};
use ::afp::wire::lock::ByteRangeLock;
use ::afp::wire::{DirBitmap, FileBitmap, Path, ResultCode, attribute, command};
use wire::{Reader, Writer};

use super::pages::Pages;
use super::socket::Socket;
use super::{
    Abilities, Completion, DataTransfer, OpenFileId, OpenIntent, Reach, Session, Slots, Ticket, Traffic,
};
use crate::{Error, Result, Target};

/// The version that the session asks for.
const VERSIONS: [&str; 4] = ["AFP3.4", "AFP3.3", "AFP3.2", "AFP3.1"];
/// Entries of one answer to a listing, as many as a Mac asks for.
const LIST_COUNT: u16 = 2000;
/// Entries of a listing that is only tried.
const GLANCE_COUNT: u16 = 16;
/// The most bytes of one answer to a listing.
const LIST_BYTES: u32 = 128 << 10;
/// Bytes of a request besides its data.
const HEAD_ROOM: usize = 64;
/// The longest extended attribute that is read.
const MAX_ATTRIBUTE: u32 = 64 << 10;

/// What a Finder asks for of each file.
const LISTED: FileBitmap = FileBitmap::ATTRIBUTES
    .union(FileBitmap::CREATED)
    .union(FileBitmap::MODIFIED)
    .union(FileBitmap::FINDER_INFO)
    .union(FileBitmap::FILE_NUMBER)
    .union(FileBitmap::EXTENDED_DATA_LENGTH)
    .union(FileBitmap::UTF8_NAME)
    .union(FileBitmap::EXTENDED_RESOURCE_LENGTH)
    .union(FileBitmap::UNIX_PRIVILEGES);

struct AfpFlight {
    /// The request whose answer ends the transfer.
    id: u16,
    ticket: Ticket,
    is_read: bool,
    length: usize,
}

pub(super) struct Afp {
    client: Client<Socket>,
    version: &'static str,
    volume: u16,
    /// The folder's names, each with a NUL behind it.
    base: String,
    files: Slots<ForkId>,
    flights: Vec<AfpFlight>,
    largest: usize,
    seconds: u64,
    /// The server has refused to show a list.
    hides_lists: bool,
}

impl Afp {
    pub(super) fn connect(target: &Target, reach: &Reach) -> Result<Self> {
        let mut refused = Error::Login("the server has none of the versions 3.1 to 3.4".into());
        for version in VERSIONS {
            let socket = Socket::connect(&target.address(), reach)?;
            let seconds = reach.seconds();
            let said = |error| said(error, seconds);
            let mut client = Client::open(socket).map_err(said)?;
            match log_in(&mut client, version, target) {
                Ok(()) => return Self::with_volume(client, version, target, seconds),
                Err(AfpError::Refused(ResultCode::BAD_VERSION)) => {}
                Err(AfpError::Refused(code)) => {
                    refused = Error::Login(format!("{code:?}"));
                    break;
                }
                Err(error) => return Err(said(error)),
            }
        }
        Err(refused)
    }

    fn with_volume(
        mut client: Client<Socket>,
        version: &'static str,
        target: &Target,
        seconds: u64,
    ) -> Result<Self> {
        let volume = client.open_volume(&target.share).map_err(|error| match error.code() {
            Some(ResultCode::OBJECT_NOT_FOUND | ResultCode::PARAM_ERROR) => {
                Error::Missing(format!("the volume {}", target.share))
            }
            _ => said(error, seconds),
        })?;
        let quantum = client.options.request_quantum.unwrap_or(64 << 10) as usize;
        let largest = 1 << quantum.saturating_sub(HEAD_ROOM).clamp(4096, 1 << 20).ilog2();
        let parts = target.path.split('/').filter(|part| !part.is_empty());
        let base = parts.flat_map(|part| [part, "\0"]).collect();
        Ok(Self {
            client,
            version,
            volume,
            base,
            files: Slots::default(),
            flights: Vec::new(),
            largest,
            seconds,
            hides_lists: false,
        })
    }

    fn path(&self, path: &str) -> String {
        let names = path.replace('/', "\0").replace(':', "/"); // a colon of Unix is a slash of the Finder
        format!("{}{names}", self.base).trim_end_matches('\0').to_owned()
    }

    /// The answer with some entries of a folder from one on; no bytes behind the last one.
    fn page(
        &mut self,
        folder: &str,
        (start, count): (u32, u16),
        (files, folders): (FileBitmap, DirBitmap),
    ) -> Result<Vec<u8>> {
        let (name, volume) = (self.path(folder), self.volume);
        let place = Place { volume, folder: ROOT, path: Path::utf8(name.as_bytes()) };
        let request = Enumerate { place, files, folders, count, start, max_reply: LIST_BYTES };
        let answer = self.client.call(command::ENUMERATE_EXT2, |w| request.encode(EnumerateForm::Ext2, w));
        let answer = answer.map_err(|error| self.said(error, folder))?;
        match answer.code() {
            ResultCode::NO_ERROR => Ok(answer.payload),
            ResultCode::OBJECT_NOT_FOUND => Ok(Vec::new()),
            code => Err(self.said(AfpError::Refused(code), folder)),
        }
    }

    /// Some entries of a folder from one on, with what a Finder asks for; returns their number.
    fn listed(&mut self, folder: &str, start: u32, count: u16) -> Result<usize> {
        let folders = DirBitmap(LISTED.0 & DirBitmap::all().bits())
            .difference(DirBitmap::OFFSPRING_COUNT | DirBitmap::ACCESS_RIGHTS);
        let page = self.page(folder, (start, count), (LISTED, folders))?;
        if page.is_empty() {
            return Ok(0);
        }
        let reply = Reply::decode(&mut Reader::new(&page)).map_err(malformed)?;
        let mut count = 0;
        for entry in EnumerateForm::Ext2.framing().entries(reply.entries) {
            entry.map_err(malformed)?;
            count += 1;
        }
        Ok(count)
    }

    /// Opens a session of DSI only.
    pub(super) fn greet(target: &Target, reach: &Reach) -> Result<()> {
        let client = Client::open(Socket::connect(&target.address(), reach)?);
        client.map(drop).map_err(|error| said(error, reach.seconds()))
    }

    fn said(&self, error: AfpError, path: &str) -> Error {
        match error.code() {
            Some(ResultCode::OBJECT_NOT_FOUND | ResultCode::DIR_NOT_FOUND) => Error::Missing(path.to_owned()),
            Some(ResultCode::ACCESS_DENIED | ResultCode::VOLUME_LOCKED | ResultCode::OBJECT_LOCKED) => {
                Error::Refused(path.to_owned())
            }
            _ => said(error, self.seconds),
        }
    }

    fn call(&mut self, number: u8, path: &str, body: impl FnOnce(&mut Writer)) -> Result<Vec<u8>> {
        let answer = self.client.call(number, body).and_then(::afp::client::ServerFrame::well);
        answer.map_err(|error| self.said(error, path))
    }
}

fn log_in(client: &mut Client<Socket>, version: &str, target: &Target) -> ::afp::client::Result<()> {
    let (name, password) = (target.user.as_str(), target.password.as_str());
    if name.is_empty() {
        return client.log_in(version, &ClientLogin::Guest);
    }
    if target.options.get("login").is_some_and(|login| login == "cleartext") {
        return client.log_in(version, &ClientLogin::Cleartext { name, password });
    }
    client.log_in(version, &ClientLogin::Dhx2 { name, password })
}

impl Session for Afp {
    fn abilities(&self) -> Abilities {
        Abilities { files: true, locks: true, attributes: true, forks: true, pipelined: true }
    }

    fn largest(&self) -> usize {
        self.largest
    }

    fn agreed(&self) -> String {
        format!("{} over DSI, up to {} KiB, no client cache", self.version, self.largest >> 10)
    }

    fn traffic(&self) -> Traffic {
        self.client.link_ref().traffic()
    }

    fn make_folder(&mut self, path: &str) -> Result<()> {
        let name = self.path(path);
        let made = self.client.create_folder(self.volume, ROOT, &name);
        made.map(drop).map_err(|error| self.said(error, path))
    }

    fn remove_folder(&mut self, path: &str) -> Result<()> {
        self.remove(path)
    }

    fn open(&mut self, path: &str, how: OpenIntent) -> Result<OpenFileId> {
        let name = self.path(path);
        if how.makes() {
            let made = self.client.create_in(self.volume, ROOT, &name);
            made.map_err(|error| self.said(error, path))?;
        }
        self.open_either(path, &name, false, how)
    }

    fn close(&mut self, file: OpenFileId) -> Result<()> {
        let fork = self.files.take(file)?;
        self.client.close(fork).map_err(|error| self.said(error, "a fork"))
    }

    fn start(&mut self, file: OpenFileId, transfer: DataTransfer<'_>) -> Result<Ticket> {
        let fork = self.files.get(file)?.0;
        let mut w = Writer::new();
        let (command, code, tail, flight) = match transfer {
            DataTransfer::Read { offset, length } => {
                w.u8(command::READ_EXT);
                let (offset, count) = (offset as i64, length as i64);
                fork::Read { fork, offset, count, newline_mask: 0, newline: 0 }.encode(Width::Bits64, &mut w);
                (Command::COMMAND, 0, &[][..], (true, length))
            }
            DataTransfer::Write { offset, data, .. } => {
                w.u8(command::WRITE_EXT);
                let (offset, count) = (offset as i64, data.len() as i64);
                fork::Write { from_end: false, fork, offset, count }.encode(Width::Bits64, &mut w);
                (Command::WRITE, w.len() as u32, data, (false, data.len()))
            }
        };
        let (head, id) = self.client.head_of(command, code, w.as_bytes(), tail.len());
        let socket = self.client.link();
        socket.put(&[&head, tail]).map_err(|error| socket.failed(&error))?;
        let ticket = Ticket(id.into());
        self.flights.push(AfpFlight { id, ticket, is_read: flight.0, length: flight.1 });
        // AFP has no stable write: the fork is flushed, as clients do it.
        if let DataTransfer::Write { stable: true, .. } = transfer {
            self.flush_behind(fork)?;
        }
        Ok(ticket)
    }

    fn finish(&mut self) -> Result<Completion> {
        loop {
            let answer = self.client.receive().map_err(|error| said(error, self.seconds))?;
            let id = answer.header.id;
            let Some(at) = self.flights.iter().position(|flight| flight.id == id) else { continue };
            let flight = self.flights.swap_remove(at);
            return match (answer.code(), flight.is_read) {
                (ResultCode::NO_ERROR | ResultCode::EOF_ERROR, true) => {
                    Ok(Completion::read(flight.ticket.0, &answer.payload))
                }
                (ResultCode::NO_ERROR, false) => Ok(Completion::wrote(flight.ticket.0, flight.length)),
                (code, _) => Err(self.said(AfpError::Refused(code), "a transfer")),
            };
        }
    }

    fn abandon(&mut self) {
        for _ in 0..self.flights.len() {
            match self.finish() {
                Err(error) if error.ends_session() => return,
                _ => {}
            }
        }
        for file in self.files.used() {
            let _ = self.close(file); // the removal of the file says what is wrong
        }
    }

    fn flush(&mut self, file: OpenFileId) -> Result<()> {
        let fork = *self.files.get(file)?;
        self.client.flush(fork).map_err(|error| self.said(error, "a fork"))
    }

    fn list(&mut self, folder: &str) -> Result<usize> {
        let (mut start, mut total, mut pages) = (1, 0, Pages::of(folder));
        loop {
            match self.listed(folder, start, LIST_COUNT)? {
                0 => return Ok(total),
                count => (start, total) = (start + count as u32, total + count),
            }
            pages.entry(0)?;
        }
    }

    fn glance(&mut self) -> Result<()> {
        self.listed("", 1, GLANCE_COUNT).map(drop)
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        let name = self.path(path);
        let wanted = FileBitmap::EXTENDED_DATA_LENGTH;
        let found = self.client.parameters((self.volume, ROOT, &name), wanted, DirBitmap::DIR_ID);
        let (_, bytes) = found.map_err(|error| self.said(error, path))?;
        Reader::new(&bytes).u64_be().map_err(malformed)
    }

    fn remove(&mut self, path: &str) -> Result<()> {
        let name = self.path(path);
        self.client.delete(self.volume, ROOT, &name).map_err(|error| self.said(error, path))
    }

    fn lock(&mut self, file: OpenFileId, offset: u64, length: u64, take: bool) -> Result<()> {
        let fork = self.files.get(file)?.0;
        let (offset, length) = (offset as i64, length as i64);
        let request = ByteRangeLock { unlock: !take, from_end: false, fork, offset, length };
        self.call(command::BYTE_RANGE_LOCK_EXT, "a lock", |w| request.encode(Width::Bits64, w)).map(drop)
    }

    fn set_attribute(&mut self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        let place = self.path(path);
        let request = attribute::Set {
            volume: self.volume,
            directory: ROOT,
            bitmap: attribute::Bitmap::default(),
            offset: 0,
            path: Path::utf8(place.as_bytes()),
            name: name.as_bytes(),
            bytes: value,
        };
        self.call(command::SET_EXT_ATTR, path, |w| request.encode(w)).map(drop)
    }

    fn attribute(&mut self, path: &str, name: &str) -> Result<usize> {
        let place = self.path(path);
        let request = attribute::Get {
            volume: self.volume,
            directory: ROOT,
            bitmap: attribute::Bitmap::default(),
            offset: 0,
            count: u64::MAX,
            max_reply: MAX_ATTRIBUTE,
            path: Path::utf8(place.as_bytes()),
            name: name.as_bytes(),
        };
        let answer = self.call(command::GET_EXT_ATTR, path, |w| request.encode(w))?;
        let reply = attribute::Reply::decode(&mut Reader::new(&answer)).map_err(malformed)?;
        Ok(reply.bytes.map_or(0, <[u8]>::len))
    }

    fn open_alone(&mut self, path: &str) -> Result<OpenFileId> {
        let name = self.path(path);
        let deny = AccessMode::DENY_READ | AccessMode::DENY_WRITE;
        let access = AccessMode::READ | AccessMode::WRITE | deny;
        let fork = self.client.open_fork((self.volume, ROOT, &name), false, access);
        Ok(self.files.put(fork.map_err(|error| self.said(error, path))?))
    }

    fn open_fork(&mut self, path: &str, how: OpenIntent) -> Result<OpenFileId> {
        let name = self.path(path);
        self.open_either(path, &name, true, how)
    }
}

impl Afp {
    fn open_either(&mut self, path: &str, name: &str, resource: bool, how: OpenIntent) -> Result<OpenFileId> {
        let access = match how {
            OpenIntent::Read => AccessMode::READ,
            OpenIntent::Create | OpenIntent::Private | OpenIntent::Write => {
                AccessMode::READ | AccessMode::WRITE
            }
        };
        let fork = self.client.open_fork((self.volume, ROOT, name), resource, access);
        Ok(self.files.put(fork.map_err(|error| self.said(error, path))?))
    }

    /// Sends a flush behind the write.
    fn flush_behind(&mut self, fork: u16) -> Result<()> {
        let mut w = Writer::new();
        w.u8(command::FLUSH_FORK);
        fork::OneFork { fork }.encode(&mut w);
        let sent = self.client.send(Command::COMMAND, 0, w.as_bytes());
        let flush = sent.map_err(|error| said(error, self.seconds))?;
        // The write counts as finished with the flush's answer.
        if let Some(flight) = self.flights.last_mut() {
            flight.id = flush;
        }
        Ok(())
    }
}

fn malformed(error: wire::Malformed) -> Error {
    Error::Other(format!("an answer that is not AFP: {error}"))
}

fn said(error: AfpError, seconds: u64) -> Error {
    match error {
        AfpError::Io(error) => Error::of_io(&error, seconds),
        AfpError::Refused(ResultCode::DISK_FULL) => Error::Full,
        AfpError::Refused(ResultCode::CALL_NOT_SUPPORTED) => Error::Unsupported("this operation"),
        other => Error::Other(other.to_string()),
    }
}
