//! The forks that a session has open.

use std::collections::HashMap;
use std::sync::Arc;

use lock::{RwLock, rank};
use vfs::backend::Found;
use vfs::{FileId, Payload, Volume};

use crate::server::ids::Place;
use crate::server::limits::MAX_FORKS;
use crate::server::open_volume::OpenVolume;
use crate::server::target::Target;
use crate::wire::ResultCode;
use crate::wire::fork::AccessMode;

/// A fork as one client has it open.
pub(in crate::server) struct Fork {
    /// The volume that it was opened on.
    pub(in crate::server) volume: Arc<OpenVolume>,
    /// The resource fork, not the data fork.
    pub(in crate::server) resource: bool,
    pub(super) access: AccessMode,
    pub(super) content: Content,
}

/// Where its bytes are.
pub(super) enum Content {
    File(vfs::Open),
    /// The data fork of a symbolic link is where it leads to, to be read only. Its resource fork is empty.
    Link {
        found: Found,
        place: Place,
        leads_to: Vec<u8>,
    },
}

impl Fork {
    /// The fork in the tree; `None` for a symbolic link's.
    pub(in crate::server) fn open(&self) -> Option<&vfs::Open> {
        match &self.content {
            Content::File(open) => Some(open),
            Content::Link { .. } => None,
        }
    }

    /// The same where something is to be done to it that cannot be done to a link.
    pub(in crate::server) fn open_to_change(&self) -> Result<&vfs::Open, ResultCode> {
        self.open().ok_or(ResultCode::ACCESS_DENIED)
    }

    /// Which file it is of.
    pub(in crate::server) fn file(&self) -> FileId {
        match &self.content {
            Content::File(open) => open.node().id(),
            Content::Link { found, .. } => found.object.id(),
        }
    }

    /// Refuses what it was not opened for.
    pub(super) fn require(&self, access: AccessMode) -> Result<(), ResultCode> {
        if self.access.contains(access) { Ok(()) } else { Err(ResultCode::ACCESS_DENIED) }
    }

    /// How long it is now.
    pub(in crate::server) async fn size(&self) -> Result<u64, ResultCode> {
        match &self.content {
            Content::File(open) => Ok(open.size().await?),
            Content::Link { leads_to, .. } => Ok(leads_to.len() as u64),
        }
    }

    /// Up to `length` bytes of it, fewer only at its end.
    pub(super) async fn read(&self, offset: u64, length: usize) -> Result<Payload, ResultCode> {
        match &self.content {
            Content::File(open) => Ok(open.read_at(offset, length).await?.payload),
            Content::Link { leads_to, .. } => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(leads_to.len());
                match leads_to.len() - from <= length {
                    true => Ok(Payload::Bytes(leads_to[from..].to_vec())),
                    // A part of it would lead elsewhere. Netatalk says so, too.
                    false => Err(ResultCode::PARAM_ERROR),
                }
            }
        }
    }

    /// Whether a read takes no memory, because the data leave from the page cache.
    pub(super) fn is_resident(&self, offset: u64, length: usize) -> bool {
        matches!(&self.content, Content::File(open) if open.is_resident(offset, length))
    }

    /// Its file, and where that is now.
    pub(super) fn target(&self) -> Result<Target, ResultCode> {
        match &self.content {
            Content::Link { found, place, .. } => Ok(Target::at(found.clone(), Some(place.clone()))),
            Content::File(open) => {
                let found = Found { object: open.node().clone(), attributes: open.attributes()? };
                let (folder, name) = open.place().ok_or(ResultCode::MISC_ERROR)?;
                let folder = Found { attributes: folder.attributes()?, object: folder };
                Ok(Target::at(found, Some(Place { folder, name: name.to_vec() })))
            }
        }
    }
}

/// A session's open forks, by the numbers that the client knows them by.
#[derive(Default)]
pub(in crate::server) struct Forks {
    table: RwLock<Table, rank::AfpForks>,
}

#[derive(Default)]
struct Table {
    forks: HashMap<u16, Arc<Fork>>,
    /// The number given last. One that was closed is not given again at once: a client may still name it.
    last: u16,
    /// The session has ended: nothing is opened any more.
    is_over: bool,
}

impl Forks {
    /// The fork of a number.
    pub(in crate::server) fn find(&self, number: u16) -> Result<Arc<Fork>, ResultCode> {
        self.table.read().forks.get(&number).cloned().ok_or(ResultCode::PARAM_ERROR)
    }

    /// Whether there is room for one more.
    pub(super) fn has_room(&self) -> bool {
        self.table.read().forks.len() < MAX_FORKS
    }

    /// One more; its number, which is never 0.
    pub(super) fn add(&self, fork: Fork) -> Result<u16, ResultCode> {
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

    /// One less.
    pub(super) fn close(&self, number: u16) -> Result<(), ResultCode> {
        let closed = self.table.write().forks.remove(&number);
        closed.map(drop).ok_or(ResultCode::PARAM_ERROR)
    }

    /// Those of one volume, which is closed.
    pub(in crate::server) fn close_volume(&self, volume: u16) {
        self.close_where(|fork| fork.volume.id == volume);
    }

    /// Those of one file. Answers how many.
    pub(in crate::server) fn close_file(&self, volume: &Arc<Volume>, file: FileId) -> usize {
        self.close_where(|fork| {
            let Content::File(open) = &fork.content else { return false };
            Arc::ptr_eq(open.volume(), volume) && open.node().id() == file
        })
    }

    fn close_where(&self, which: impl Fn(&Fork) -> bool) -> usize {
        let mut table = self.table.write();
        let numbers: Vec<u16> =
            table.forks.iter().filter(|(_, fork)| which(fork)).map(|(number, _)| *number).collect();
        let closed: Vec<_> = numbers.iter().filter_map(|number| table.forks.remove(number)).collect();
        drop(table);
        closed.len() // what they held may be waited for by others, who then look for their own
    }

    /// All of them, now and later.
    pub(in crate::server) fn end(&self) {
        let mut table = self.table.write();
        table.is_over = true;
        let closed = std::mem::take(&mut table.forks);
        drop(table);
        drop(closed);
    }
}
