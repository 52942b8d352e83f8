//! The open forks of a session.

use std::sync::Arc;

use lock::RwLock;
use vfs::backend::Found;
use vfs::{FileId, IdMap, Payload, Volume};

use crate::ranks;
use crate::server::limits::MAX_FORKS;
use crate::server::volumes::ids::EntryPlace;
use crate::server::volumes::open_volume::OpenVolume;
use crate::server::volumes::target::Target;
use crate::wire::ResultCode;
use crate::wire::fork::AccessMode;

/// An open fork of a client.
pub(in crate::server) struct ClientFork {
    /// The volume on which it was opened.
    pub(in crate::server) volume: Arc<OpenVolume>,
    /// It is the resource fork, not the data fork.
    pub(in crate::server) resource: bool,
    pub(super) access: AccessMode,
    pub(super) content: ForkSource,
}

/// The source of its bytes.
pub(super) enum ForkSource {
    File(vfs::Open),
    /// The data fork of a symbolic link is its target, which is read-only. Its resource fork is
    /// empty.
    Link {
        found: Found,
        place: EntryPlace,
        bytes: Vec<u8>,
        /// The bytes are a document that leads to another server.
        is_document: bool,
    },
}

impl ClientFork {
    /// The open in `vfs`; `None` for a symbolic link.
    pub(in crate::server) fn open(&self) -> Option<&vfs::Open> {
        match &self.content {
            ForkSource::File(open) => Some(open),
            ForkSource::Link { .. } => None,
        }
    }

    /// The open in `vfs`, for a change, which a symbolic link does not allow.
    pub(in crate::server) fn open_to_change(&self) -> Result<&vfs::Open, ResultCode> {
        self.open().ok_or(ResultCode::ACCESS_DENIED)
    }

    /// The file that it belongs to.
    pub(in crate::server) fn file(&self) -> FileId {
        match &self.content {
            ForkSource::File(open) => open.node().id(),
            ForkSource::Link { found, .. } => found.object.id(),
        }
    }

    /// Refuses an access mode that it was not opened for.
    pub(super) fn require(&self, access: AccessMode) -> Result<(), ResultCode> {
        if self.access.contains(access) { Ok(()) } else { Err(ResultCode::ACCESS_DENIED) }
    }

    /// Its current length.
    pub(in crate::server) async fn size(&self) -> Result<u64, ResultCode> {
        match &self.content {
            ForkSource::File(open) => Ok(open.size().await?),
            ForkSource::Link { bytes, .. } => Ok(bytes.len() as u64),
        }
    }

    /// Reads up to `length` bytes; fewer only at its end.
    pub(super) async fn read(&self, offset: u64, length: usize) -> Result<Payload, ResultCode> {
        match &self.content {
            ForkSource::File(open) => Ok(open.read_at(offset, length).await?.payload),
            ForkSource::Link { bytes, is_document, .. } => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let left = &bytes[from..];
                match left.len() <= length || *is_document {
                    true => Ok(Payload::Bytes(left[..left.len().min(length)].to_vec())),
                    // A part of a link's target would name another file. Netatalk refuses it, too.
                    false => Err(ResultCode::PARAM_ERROR),
                }
            }
        }
    }

    /// Whether a read needs no memory, because the data are sent from the page cache.
    pub(super) fn is_resident(&self, offset: u64, length: usize) -> bool {
        matches!(&self.content, ForkSource::File(open) if open.is_resident(offset, length))
    }

    /// Its file, and the file's current place.
    pub(super) fn target(&self) -> Result<Target, ResultCode> {
        match &self.content {
            ForkSource::Link { found, place, .. } => Ok(Target::at(found.clone(), Some(place.clone()))),
            ForkSource::File(open) => {
                let found = Found { object: open.node().clone(), attributes: open.attributes()? };
                let (folder, name) = open.place().ok_or(ResultCode::MISC_ERROR)?;
                let folder = Found { attributes: folder.attributes()?, object: folder };
                Ok(Target::at(found, Some(EntryPlace { folder, name: name.to_vec() })))
            }
        }
    }
}

/// A session's open forks, by the numbers that the client uses.
#[derive(Default)]
pub(in crate::server) struct Forks {
    table: RwLock<ForkTable, ranks::AfpForks>,
}

#[derive(Default)]
struct ForkTable {
    forks: IdMap<u16, Arc<ClientFork>>,
    /// The last number. The number of a closed fork is not used again at once, because a client may
    /// still send it.
    last: u16,
    /// The session has ended: no fork is opened any more.
    is_over: bool,
}

impl Forks {
    /// The fork with this number.
    pub(in crate::server) fn find(&self, number: u16) -> Result<Arc<ClientFork>, ResultCode> {
        self.table.read().forks.get(&number).cloned().ok_or(ResultCode::PARAM_ERROR)
    }

    /// Whether one more fork may be opened.
    pub(super) fn has_room(&self) -> bool {
        self.table.read().forks.len() < MAX_FORKS
    }

    /// Adds a fork; returns its number, which is never 0.
    pub(super) fn add(&self, fork: ClientFork) -> Result<u16, ResultCode> {
        let mut table = self.table.write();
        if table.is_over {
            return Err(ResultCode::SESSION_CLOSED);
        }
        if table.forks.len() >= MAX_FORKS {
            return Err(ResultCode::TOO_MANY_FILES_OPEN);
        }
        let mut number = table.last;
        loop {
            number = number.checked_add(1).unwrap_or(1);
            if !table.forks.contains_key(&number) {
                break;
            }
        }
        table.last = number;
        table.forks.insert(number, Arc::new(fork));
        Ok(number)
    }

    /// Removes a fork.
    pub(super) fn close(&self, number: u16) -> Result<(), ResultCode> {
        let closed = self.table.write().forks.remove(&number);
        closed.map(drop).ok_or(ResultCode::PARAM_ERROR)
    }

    /// Closes all forks of a volume.
    pub(in crate::server) fn close_volume(&self, volume: u16) {
        self.close_where(|fork| fork.volume.id == volume);
    }

    /// Closes all forks of a file. Answers how many.
    pub(in crate::server) fn close_file(&self, volume: &Arc<Volume>, file: FileId) -> usize {
        self.close_where(|fork| {
            let ForkSource::File(open) = &fork.content else { return false };
            Arc::ptr_eq(open.volume(), volume) && open.node().id() == file
        })
    }

    fn close_where(&self, which: impl Fn(&ClientFork) -> bool) -> usize {
        let mut table = self.table.write();
        let numbers: Vec<u16> =
            table.forks.iter().filter(|(_, fork)| which(fork)).map(|(number, _)| *number).collect();
        let closed: Vec<_> = numbers.iter().filter_map(|number| table.forks.remove(number)).collect();
        drop(table);
        closed.len() // their drop may wake other clients, which use their own tables
    }

    /// Closes all forks, and refuses new ones.
    pub(in crate::server) fn end(&self) {
        let mut table = self.table.write();
        table.is_over = true;
        let closed = std::mem::take(&mut table.forks);
        drop(table);
        drop(closed);
    }
}
