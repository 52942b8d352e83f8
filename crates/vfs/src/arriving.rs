//! Files that arrive from another server while clients use them.
//!
//! ```text
//! Volume ──► Arriving ──► host      what is here
//!               └──────► Source     what is not here yet: the server that the files come from
//! ```
//!
//! A folder is *listed* when it is used first: each of its entries is made on the host at once, with all that it has
//! besides its data. So names, numbers, dates and rights are those of the host from then on, and stay. The data of a file
//! arrive when they are read, piece by piece, or by [`Arriving::pass`], which brings everything. A change of a file's data
//! waits until the file is here as a whole; one that cuts it off to nothing does not need the old data.
//!
//! What is not here is marked by an extended attribute (`mark`), which goes with the file when it is renamed and is gone
//! when it is removed. So a stopped server goes on where it was:
//!
//! ```text
//! folder  Folder ─────────────► no mark
//! file    Bare ──► Data ──────► no mark
//! folder  Folder ──► Partly ──► no mark, if something in it cannot be made (`missing`)
//! share   no mark ─► Folder ─► Listed ─► Here
//!                                └─► AllButMissing ─► Here
//! ```
//!
//! A new entry has a name of the server's own until it has its mark. A file gets the rest of what it is (`Bare`) before its
//! folder counts as listed. The mark of a file goes when its data are on the disk.

mod far;
mod file;
mod folder;
mod mark;
mod missing;
mod object;
mod pass;
mod rights;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use lock::Mutex;

use self::file::Fetch;
use self::mark::{ArrivalStage, Mark};
pub use self::mark::{NAME as MARK, is_incomplete};
pub use self::missing::Missing;
use self::missing::Tally;
use self::object::{ArrivingObject, inner_of};
pub use self::rights::ArrivingRights;
use crate::backend::{Backend, DataNotice, Found, Limits, Object, Space, WatchId};
use crate::caller::server;
use crate::ranks;
use crate::streams::{File, Streams, Style};
use crate::{HostKey, Kind, Result, Site, Time, Volume, VolumeOptions};

/// Files whose arrived pieces are remembered although no client has them open.
const REMEMBERED: usize = 256;

/// Folders whose entries can arrive at the same time.
const TURNS: usize = 16;

/// An entry of a folder of the other server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coming {
    /// Its name.
    pub name: Vec<u8>,
    /// A file, a folder or a symbolic link.
    pub kind: Kind,
    /// Bytes of its data.
    pub length: u64,
    /// When its data were last changed.
    pub modified: Option<Time>,
    /// User and group of a link, if the server tells them.
    pub owner: Option<(u32, u32)>,
    /// The target of a symbolic link.
    pub target: Vec<u8>,
}

/// The entries of a folder of the other server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Those that can be asked for.
    pub entries: Vec<Coming>,
    /// Others, by what can be told of their names.
    pub unreadable: Vec<String>,
}

/// What became of what a file has besides its data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArrivedMetadata {
    /// Its rights there.
    pub rights: ArrivingRights,
    /// Why some of it is not here, in words; `None`: all of it is.
    pub lost: Option<String>,
}

/// The server that files come from. Paths are those of that server, with slashes; its folder itself is the empty one.
///
/// # Errors
/// [`Error::Away`](crate::Error::Away) if the server does not answer.
pub trait Source: Send + Sync {
    /// The entries of a folder.
    fn entries(&self, folder: &str) -> Result<Listing>;
    /// Gives a file or folder here all that it has there besides its data, its dates and its rights. Returns these, and
    /// what could not be kept.
    fn describe(&self, path: &str, kind: Kind, file: &File<'_>, streams: &Streams)
    -> Result<ArrivedMetadata>;
    /// Up to `length` bytes of a file; fewer only at its end.
    fn read(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>>;
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Everything is here: the other server is not needed any more.
    pub is_done: bool,
    /// The other server did not answer the last request.
    pub is_away: bool,
    /// Files whose data have arrived since the start.
    pub files: u64,
    /// Bytes that have arrived since the start.
    pub bytes: u64,
    /// Files that are not here, as of the last time that all folders were looked at.
    pub files_left: u64,
    /// Their bytes.
    pub bytes_left: u64,
    /// Files and folders that failed in the last pass for another reason than the server's absence.
    pub failed: u64,
    /// Entries that cannot be made here, or not with all that they have besides their data. They are on the other server only.
    pub missing: u64,
    /// The first of those that are missing, then of those that failed.
    pub named: Vec<Missing>,
}

/// A backend whose files arrive from a [`Source`].
pub struct Arriving {
    shared: Arc<ArrivalState>,
}

/// What all objects share.
struct ArrivalState {
    inner: Arc<dyn Backend>,
    source: Arc<dyn Source>,
    streams: Streams,
    /// Where the access control lists of arrived files are stored.
    lists: Volume,
    root: HostKey,
    is_done: AtomicBool,
    is_away: AtomicBool,
    files: AtomicU64,
    bytes: AtomicU64,
    left: AtomicU64,
    bytes_left: AtomicU64,
    /// What cannot be made, and what failed in the last pass.
    absent: Mutex<Tally, ranks::ArrivalTallies>,
    failed: Mutex<Tally, ranks::ArrivalTallies>,
    fetches: Mutex<Fetches, ranks::ArrivalTallies>,
    /// Held while the entries of a folder arrive, one for some of the folders.
    turns: [Mutex<(), ranks::Arriving>; TURNS],
}

/// The files that are arriving and are in use.
#[derive(Default)]
struct Fetches {
    all: HashMap<HostKey, Weak<Fetch>>,
    recent: VecDeque<Arc<Fetch>>,
}

impl Arriving {
    /// The files of `inner`, and those of `source` that are not there. New metadata get the layout `style`. The site of the volume
    /// that will be made of it learns of access control lists.
    ///
    /// # Errors
    /// The host's folder cannot be used, or has no extended attributes.
    pub fn over(
        inner: Arc<dyn Backend>,
        source: Arc<dyn Source>,
        style: Style,
        site: Arc<Site>,
    ) -> Result<Self> {
        let root = inner.root()?.object;
        let stage = match mark::read(&*root)? {
            Some(mark) => mark.stage,
            None => {
                mark::write(&*root, &Mark::new(ArrivalStage::Folder, ""))?;
                ArrivalStage::Folder
            }
        };
        let streams = Streams::new(inner.clone()).with_style(style);
        let without_streams = VolumeOptions { sidecars: false, ..VolumeOptions::default() };
        let shared = ArrivalState {
            lists: Volume::in_site(inner.clone(), without_streams, site),
            root: root.key(),
            inner,
            source,
            streams,
            is_done: AtomicBool::new(stage == ArrivalStage::Here),
            is_away: AtomicBool::default(),
            files: AtomicU64::default(),
            bytes: AtomicU64::default(),
            left: AtomicU64::default(),
            bytes_left: AtomicU64::default(),
            absent: Mutex::default(),
            failed: Mutex::default(),
            fetches: Mutex::default(),
            turns: Default::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let absent = self.shared.absent.lock().clone();
        let failed = self.shared.failed.lock().clone();
        Progress {
            is_done: self.shared.is_done(),
            is_away: self.shared.is_away.load(Ordering::Relaxed),
            files: load(&self.shared.files),
            bytes: load(&self.shared.bytes),
            files_left: load(&self.shared.left),
            bytes_left: load(&self.shared.bytes_left),
            failed: failed.count,
            missing: absent.count,
            named: absent.named.into_iter().chain(failed.named).collect(),
        }
    }

    fn found(&self, found: Found) -> Found {
        self.shared.wrapped(found)
    }
}

impl ArrivalState {
    fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Relaxed)
    }

    fn wrapped(self: &Arc<Self>, found: Found) -> Found {
        match found.attributes.kind {
            Kind::File | Kind::Folder if !self.is_done() => {
                let object = Arc::new(ArrivingObject::new(self.clone(), found.object));
                Found { object, attributes: found.attributes }
            }
            _ => found,
        }
    }

    /// Notes whether the other server answers.
    fn heard<T>(&self, answer: Result<T>) -> Result<T> {
        self.is_away.store(matches!(answer, Err(crate::Error::Away)), Ordering::Relaxed);
        answer
    }

    /// What is known of the arrival of a file; `None` if its data are here.
    fn fetch(&self, object: &Arc<dyn Object>) -> Result<Option<Arc<Fetch>>> {
        if self.is_done() || object.kind() != Kind::File {
            return Ok(None);
        }
        let key = object.key();
        if let Some(known) = self.fetches.lock().all.get(&key).and_then(Weak::upgrade) {
            return Ok(known.is_under_way().then_some(known));
        }
        let Some(mark) = self.mark(&**object)? else { return Ok(None) };
        let fetch = Arc::new(Fetch::new(mark, object.attributes()?.size));
        let mut fetches = self.fetches.lock();
        // Another request may have been faster.
        if let Some(known) = fetches.all.get(&key).and_then(Weak::upgrade) {
            return Ok(known.is_under_way().then_some(known));
        }
        fetches.all.insert(key, Arc::downgrade(&fetch));
        fetches.recent.push_back(fetch.clone());
        if fetches.recent.len() > REMEMBERED {
            fetches.recent.pop_front();
            fetches.all.retain(|_, known| known.strong_count() > 0);
        }
        Ok(Some(fetch))
    }
}

impl Backend for Arriving {
    fn behind(&self) -> Option<&dyn Backend> {
        Some(&*self.shared.inner)
    }

    fn root(&self) -> Result<Found> {
        Ok(self.found(self.shared.inner.root()?))
    }

    fn by_key(&self, key: &HostKey) -> Result<Found> {
        Ok(self.found(self.shared.inner.by_key(key)?))
    }

    fn path_hint(&self, object: &dyn Object) -> Option<Vec<Vec<u8>>> {
        self.shared.inner.path_hint(inner_of(object))
    }

    /// The server's own folders do not arrive.
    fn homes(&self, key: &HostKey) -> Result<Vec<Arc<dyn Object>>> {
        self.shared.inner.homes(key)
    }

    fn above(&self) -> Vec<Arc<dyn Object>> {
        self.shared.inner.above()
    }

    fn has_mounts(&self) -> bool {
        self.shared.inner.has_mounts()
    }

    fn space(&self, at: &dyn Object) -> Result<Space> {
        self.shared.inner.space(inner_of(at))
    }

    fn limits(&self) -> Limits {
        self.shared.inner.limits()
    }

    fn watch(&self, folder: &dyn Object, data: DataNotice) -> Option<WatchId> {
        self.shared.inner.watch(inner_of(folder), data)
    }

    fn sync(&self) -> Result<()> {
        self.shared.inner.sync()
    }
}

/// Restores the date of the last change, which the arrival of data or entries has moved.
fn keep_date(object: &dyn Object, modified: Time) -> Result<()> {
    let changes =
        crate::SetAttributes { modified: crate::SetTime::To(modified), ..crate::SetAttributes::default() };
    object.set_attributes(server(), &changes)
}
