//! A client's session with a server: the same operations for each protocol.
//! Calls block. Reads and writes may be in flight at the same time: they are started, then finished.
//!
//! The clients have no cache: each operation goes to the server. Paths are relative to the folder of
//! the [`Target`], with slashes.

mod afp;
mod file;
mod iscsi;
mod nfs;
mod pages;
mod reach;
mod smb;
mod socket;
#[cfg(test)]
mod tests;

use conn::PieceWaitCounts;

use crate::metadata::Peer;
use crate::target::{Protocol, Target};
use crate::tree::Tree;
use crate::{Error, Result};

pub use file::{evict, keep};
pub use iscsi::{chap, is_empty, said as iscsi_failed};
pub use reach::{Detour, Reach};
pub use socket::Socket;

/// A file that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpenFileId(pub usize);

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenIntent {
    /// A new file, for reading and writing; the name must be free.
    Create,
    /// The same, which only its owner may use, as far as the protocol lets a client say so.
    Private,
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    Write,
}

impl OpenIntent {
    /// Whether the file is made.
    #[must_use]
    pub fn makes(self) -> bool {
        matches!(self, Self::Create | Self::Private)
    }
}

/// A read or a write.
#[derive(Debug, Clone, Copy)]
pub enum DataTransfer<'a> {
    /// Reads up to `length` bytes.
    Read {
        /// Where to begin.
        offset: u64,
        /// Bytes.
        length: usize,
    },
    /// Writes all of `data`.
    Write {
        /// Where to begin.
        offset: u64,
        /// The bytes.
        data: &'a [u8],
        /// The answer comes after the data are on the disk.
        stable: bool,
    },
}

/// The number of a transfer in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// The longest beginning of read data that is compared.
pub const HEAD: usize = 8;

/// A finished transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Which one.
    pub ticket: Ticket,
    /// Bytes read or written.
    pub length: usize,
    /// The first bytes read.
    pub head: [u8; HEAD],
}

impl Completion {
    fn wrote(ticket: u64, length: usize) -> Self {
        Self { ticket: Ticket(ticket), length, head: [0; HEAD] }
    }

    fn read(ticket: u64, data: &[u8]) -> Self {
        let mut head = [0; HEAD];
        let known = data.len().min(HEAD);
        head[..known].copy_from_slice(&data[..known]);
        Self { ticket: Ticket(ticket), length: data.len(), head }
    }
}

/// What a session can do besides reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// Names, folders, listings: all but disks have them.
    pub files: bool,
    /// Locks of byte ranges.
    pub locks: bool,
    /// Extended attributes.
    pub attributes: bool,
    /// Resource forks.
    pub forks: bool,
    /// Transfers in flight at the same time.
    pub pipelined: bool,
}

/// Bytes on the wire, with the protocol's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// To the server.
    pub sent: u64,
    /// From the server.
    pub received: u64,
    /// Waits inside an answer, of which the beginning had come.
    pub pieces: PieceWaitCounts,
}

/// What a server says of itself to Macs over SMB, by Apple's create context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MacService {
    /// A Mac may ask for F_FULLFSYNC.
    pub full_sync: bool,
    /// Names that differ only in case are two names.
    pub case_sensitive: bool,
    /// The server copies files with all that belongs to them.
    pub copies_files: bool,
    /// Listings have the Finder info of files.
    pub lists_finder_info: bool,
}

/// A client's session.
///
/// # Errors
/// All calls: those of [`Error`]. After one for which [`Error::ends_session`] holds, every other call fails, too.
pub trait Session: Send {
    /// What this session can do.
    fn abilities(&self) -> Abilities;

    /// The most bytes of one read or write.
    fn largest(&self) -> usize;

    /// What was agreed on, for the report.
    fn agreed(&self) -> String;

    /// Bytes on the wire so far.
    fn traffic(&self) -> Traffic;

    /// Makes a folder; the name must be free.
    fn make_folder(&mut self, path: &str) -> Result<()>;

    /// Removes an empty folder.
    fn remove_folder(&mut self, path: &str) -> Result<()>;

    /// Opens a file.
    fn open(&mut self, path: &str, how: OpenIntent) -> Result<OpenFileId>;

    /// Closes a file.
    fn close(&mut self, file: OpenFileId) -> Result<()>;

    /// Sends a read or a write.
    fn start(&mut self, file: OpenFileId, transfer: DataTransfer<'_>) -> Result<Ticket>;

    /// Waits for the next transfer to finish, in any order.
    fn finish(&mut self) -> Result<Completion>;

    /// Waits for the transfers in flight and closes all files, after a failure: files that are open cannot be
    /// removed everywhere.
    fn abandon(&mut self) {}

    /// Brings written data to the disk.
    fn flush(&mut self, file: OpenFileId) -> Result<()>;

    /// Lists a folder with the attributes that a file browser shows; returns the number of entries.
    fn list(&mut self, folder: &str) -> Result<usize>;

    /// Lists the first entries of the folder of the target.
    ///
    /// # Errors
    /// The folder cannot be listed.
    fn glance(&mut self) -> Result<()> {
        self.list("").map(drop)
    }

    /// The length of a file.
    fn stat(&mut self, path: &str) -> Result<u64>;

    /// Removes a file.
    fn remove(&mut self, path: &str) -> Result<()>;

    /// Locks a range of a file for this session alone, or unlocks it.
    fn lock(&mut self, _: OpenFileId, _offset: u64, _length: u64, _take: bool) -> Result<()> {
        Err(Error::Unsupported("locking"))
    }

    /// Sets an extended attribute.
    fn set_attribute(&mut self, _path: &str, _name: &str, _value: &[u8]) -> Result<()> {
        Err(Error::Unsupported("setting extended attributes"))
    }

    /// The length of an extended attribute, read with its value.
    fn attribute(&mut self, _path: &str, _name: &str) -> Result<usize> {
        Err(Error::Unsupported("setting extended attributes"))
    }

    /// Opens an existing file for reading and writing, and denies it to all other clients meanwhile: O_EXLOCK of Macs.
    fn open_alone(&mut self, _path: &str) -> Result<OpenFileId> {
        Err(Error::Unsupported("an open that is denied to others"))
    }

    /// Brings written data to the disk, and through the disk's own cache: F_FULLFSYNC of Macs. Where the protocol has one way
    /// only, it is [`Self::flush`].
    fn full_sync(&mut self, file: OpenFileId) -> Result<()> {
        self.flush(file)
    }

    /// What the server says of itself to Macs. `None`: the protocol has no such question, or the server does not answer it.
    fn mac_service(&mut self) -> Result<Option<MacService>> {
        Ok(None)
    }

    /// Opens the resource fork of an existing file.
    fn open_fork(&mut self, _path: &str, _how: OpenIntent) -> Result<OpenFileId> {
        Err(Error::Unsupported("a resource fork"))
    }
}

/// Opens sessions with one target.
pub struct Connector {
    target: Target,
    reach: Reach,
    regions: iscsi::Regions,
}

impl Connector {
    /// Makes no connection yet. `slots` is the most clients at the same time, and `room` the bytes that
    /// each of them needs: what disks are divided by.
    #[must_use]
    pub fn new(target: Target, reach: Reach, slots: usize, room: u64) -> Self {
        Self { target, reach, regions: iscsi::Regions { slots, room } }
    }

    /// A new session, of the client with this number.
    ///
    /// # Errors
    /// The server cannot be reached, refuses the login, or has no such share.
    pub fn connect(&self, client: usize) -> Result<Box<dyn Session>> {
        let (target, reach) = (&self.target, &self.reach);
        Ok(match target.protocol {
            Protocol::File => Box::new(file::Local::open(&target.share)?),
            Protocol::Afp => Box::new(afp::Afp::connect(target, reach)?),
            Protocol::Smb => Box::new(smb::Smb::connect(target, reach)?),
            Protocol::Nfs => nfs::connect(target, reach)?,
            Protocol::Iscsi => Box::new(iscsi::IscsiDisk::connect(target, reach, self.regions, client)?),
        })
    }

    /// A new session that writes and reads metadata.
    ///
    /// # Errors
    /// As of [`Self::connect`]; the protocol has no metadata.
    pub fn peer(&self) -> Result<Box<dyn Peer>> {
        let (target, reach) = (&self.target, &self.reach);
        Ok(match target.protocol {
            Protocol::Afp => Box::new(afp::Afp::connect(target, reach)?),
            Protocol::Smb => Box::new(smb::Smb::connect(target, reach)?),
            Protocol::Nfs => nfs::connect(target, reach)?,
            Protocol::File | Protocol::Iscsi => {
                return Err(Error::Address("write a URL of smb, afp or nfs".into()));
            }
        })
    }

    /// Connects and lets the server answer, without a login.
    ///
    /// # Errors
    /// The server cannot be reached, or does not answer.
    pub fn greet(&self) -> Result<()> {
        let (target, reach) = (&self.target, &self.reach);
        match target.protocol {
            Protocol::Smb => smb::Smb::greet(target, reach),
            Protocol::Afp => afp::Afp::greet(target, reach),
            _ => self.connect(0).map(drop), // they have no logins, or none before the first answer
        }
    }

    /// Opens an existing file, writes to it, loses the connection, comes back within the timeout, and reads by the same open: what
    /// programs need when a Mac sleeps with a project open. Two sessions are used for it.
    ///
    /// # Errors
    /// As of [`Self::connect`]; [`Error::Unsupported`]: the protocol has no such opens, or the server grants none.
    pub fn survive(&self, path: &str) -> Result<()> {
        match self.target.protocol {
            Protocol::Smb => smb::Smb::survive(&self.target, &self.reach, path),
            _ => Err(Error::Unsupported("an open that outlives its connection")),
        }
    }

    /// A new session that walks, reads and writes a tree with all that its files are.
    ///
    /// # Errors
    /// As of [`Self::connect`]; the protocol has no files.
    pub fn tree(&self) -> Result<Box<dyn Tree>> {
        let (target, reach) = (&self.target, &self.reach);
        Ok(match target.protocol {
            Protocol::File => Box::new(file::Local::open(&target.share)?),
            Protocol::Afp => Box::new(afp::Afp::connect(target, reach)?),
            Protocol::Smb => Box::new(smb::Smb::connect(target, reach)?),
            Protocol::Nfs => nfs::connect(target, reach)?,
            Protocol::Iscsi => return Err(Error::Address("a disk has no files".into())),
        })
    }

    /// What sessions are opened with.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }
}

/// Runs the decoders of the clients here on any bytes: what fuzz targets call.
pub fn decode_answers(bytes: &[u8]) {
    smb::decode_answer(bytes);
    nfs::decode_answer(bytes);
}

/// Things with numbers that are given again.
struct Slots<T>(Vec<Option<T>>);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Slots<T> {
    fn put(&mut self, thing: T) -> OpenFileId {
        let at = self.next();
        if at == self.0.len() {
            self.0.push(None);
        }
        self.0[at] = Some(thing);
        OpenFileId(at)
    }

    /// The number that the next thing gets.
    fn next(&self) -> usize {
        self.0.iter().position(Option::is_none).unwrap_or(self.0.len())
    }

    /// The numbers that are used.
    fn used(&self) -> Vec<OpenFileId> {
        let used = |(at, slot): (usize, &Option<T>)| slot.as_ref().map(|_| OpenFileId(at));
        self.0.iter().enumerate().filter_map(used).collect()
    }

    fn get(&self, file: OpenFileId) -> Result<&T> {
        self.0.get(file.0).and_then(Option::as_ref).ok_or_else(|| Error::Other("a closed file".into()))
    }

    fn change(&mut self, file: OpenFileId) -> Result<&mut T> {
        let slot = self.0.get_mut(file.0).and_then(Option::as_mut);
        slot.ok_or_else(|| Error::Other("a closed file".into()))
    }

    fn take(&mut self, file: OpenFileId) -> Result<T> {
        let slot = self.0.get_mut(file.0).and_then(Option::take);
        slot.ok_or_else(|| Error::Other("a closed file".into()))
    }
}
