//! The opens of clients.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use lock::{Mutex, RwLock};
use vfs::backend::{Found, Stability};
use vfs::mac::{Metadata, info_stream};
use vfs::names::{Folding, Hiding};
use vfs::state::Stream;
use vfs::{Actor, Attributes, Beside, Caller, EarlyWrite, FileId, IdMap, Kind, SetAttributes, SetTime};

use super::durable::Durable;
use super::leases::CacheReference;
use super::replay::CreateNumber;
use super::session::Session;
use super::tree::Tree;
use crate::ranks;
use crate::server::files::change_notify::FolderWatch;
use crate::server::files::lock::LockSequences;
use crate::server::files::query_directory::Scan;
use crate::server::pipes::pipe_end::PipeEnd;
use crate::server::sequence::Sequence;
use crate::wire::Status;
use crate::wire::fscc::file_info::ModeFlags;
use crate::wire::security::AccessMask;
use crate::wire::time::NtTime;
use crate::wire::values::FileKey;

/// The most opens of one session.
pub(in crate::server) const MAX_OPENS: usize = 65_536;

/// An open of a file, folder or pipe, MS-SMB2 3.3.1.10.
pub(in crate::server) struct Open {
    /// The id by which the client names it.
    pub(in crate::server) key: FileKey,
    /// The tree connection through which it was opened.
    pub(in crate::server) tree: Arc<Tree>,
    /// The rights that it has.
    pub(in crate::server) granted: AccessMask,
    /// The session that owns it.
    pub(in crate::server) session: Weak<Session>,
    /// The open object.
    pub(in crate::server) what: OpenedObject,
    /// The cache that its client may keep because of it.
    pub(in crate::server) held: OnceLock<CacheReference>,
    /// It can be kept after its session is lost.
    pub(in crate::server) durable: OnceLock<Durable>,
    /// How long it waits for its client whatever it caches. 0: `durable` decides.
    pub(in crate::server) resilient_ms: AtomicU32,
    /// The number of its CREATE, which identifies a repeated CREATE.
    pub(in crate::server) number: OnceLock<CreateNumber>,
    /// Its channel sequence, 3.x.
    pub(in crate::server) sequence: Arc<Mutex<Sequence, ranks::SmbSequence>>,
}

/// What is open.
pub(in crate::server) enum OpenedObject {
    /// A file or folder, or a stream of one.
    File(Box<File>),
    /// A named pipe.
    Pipe(PipeEnd),
}

/// A link through which a file was opened.
pub(in crate::server) struct Via {
    /// The link's id.
    pub(in crate::server) id: FileId,
    /// The link itself, if the client may move or remove it.
    pub(in crate::server) open: Option<vfs::Open>,
}

/// An open file, folder or stream.
pub(in crate::server) struct File {
    /// The open in the tree.
    pub(in crate::server) open: vfs::Open,
    /// The link that its path ended with, if that was followed.
    via: Option<Via>,
    /// How its share compares names.
    pub(in crate::server) folding: Folding,
    /// The names that its share hides.
    pub(in crate::server) hiding: Arc<Hiding>,
    /// The position that FilePositionInformation reports. The server stores it for the client and
    /// does not use it.
    pub(in crate::server) position: AtomicU64,
    /// The path by which the client knows it, without a backslash in front.
    path: Mutex<Box<[u16]>, ranks::SmbOpenPath>,
    /// The client's position in the folder's listing.
    pub(in crate::server) scan: Mutex<Scan, ranks::SmbScan>,
    /// Its changes, for CHANGE_NOTIFY.
    pub(in crate::server) watched: FolderWatch,
    /// LOCK requests that have been answered.
    pub(in crate::server) lock_sequences: LockSequences,
    /// The mode of the open, as CREATE and FileModeInformation set it.
    mode: AtomicU32,
    /// The extended attribute that the next answer begins with.
    pub(in crate::server) ea_cursor: AtomicUsize,
    /// The client has marked it for removal through this open.
    goes: AtomicBool,
    /// It was opened with the POSIX extensions.
    pub(in crate::server) is_posix: bool,
    /// The special file that the client has made of it (SET_REPARSE_POINT), which its other requests are about.
    pub(in crate::server) became: OnceLock<vfs::Open>,
    /// Operations through this open do not change the modification time.
    keeps_modified: AtomicBool,
    /// The time of the last change of attributes that the client wants to see, whatever changes.
    keeps_changed: Mutex<Option<NtTime>, ranks::SmbOpenChanged>,
}

impl Open {
    /// A new open of a session.
    pub(in crate::server) fn new(
        number: u64,
        session: &Arc<Session>,
        tree: &Arc<Tree>,
        granted: AccessMask,
        what: OpenedObject,
    ) -> Self {
        Self {
            key: FileKey { persistent: number, volatile: number },
            tree: tree.clone(),
            granted,
            session: Arc::downgrade(session),
            what,
            held: OnceLock::new(),
            durable: OnceLock::new(),
            resilient_ms: AtomicU32::new(0),
            number: OnceLock::new(),
            sequence: Arc::default(),
        }
    }

    /// An open of a lost server, whose client may come back.
    pub(in crate::server) fn without_session(
        persistent: u64,
        tree: &Arc<Tree>,
        granted: AccessMask,
        what: OpenedObject,
    ) -> Self {
        Self {
            key: FileKey { persistent, volatile: persistent },
            tree: tree.clone(),
            granted,
            session: Weak::new(),
            what,
            held: OnceLock::new(),
            durable: OnceLock::new(),
            resilient_ms: AtomicU32::new(0),
            number: OnceLock::new(),
            sequence: Arc::default(),
        }
    }

    /// The file; an error when it is a pipe.
    pub(in crate::server) fn file(&self) -> Result<&File, Status> {
        match &self.what {
            OpenedObject::File(file) => Ok(file),
            OpenedObject::Pipe(_) => Err(Status::INVALID_DEVICE_REQUEST),
        }
    }

    /// The pipe; an error when it is a file.
    pub(in crate::server) fn pipe(&self) -> Result<&PipeEnd, Status> {
        match &self.what {
            OpenedObject::Pipe(pipe) => Ok(pipe),
            OpenedObject::File(_) => Err(Status::INVALID_DEVICE_REQUEST),
        }
    }

    /// How long it waits for its client whatever it caches. `None` if it is not resilient: MS-SMB2
    /// 3.3.1.10, IsResilient.
    pub(in crate::server) fn resilience(&self) -> Option<Duration> {
        match self.resilient_ms.load(Ordering::Relaxed) {
            0 => None,
            ms => Some(Duration::from_millis(ms.into())),
        }
    }

    /// Open.IsPersistent, MS-SMB2 3.3.1.10.
    pub(in crate::server) fn is_persistent(&self) -> bool {
        self.durable.get().is_some_and(Durable::is_persistent)
    }

    /// Whether each change of its data must be on the disk before it is answered. What was answered to the client of a persistent
    /// open stays whatever happens to the server: the client does not send it again.
    pub(in crate::server) fn writes_through(&self) -> bool {
        self.is_persistent() || self.file().is_ok_and(File::writes_through)
    }

    /// Has a change that was not a write of data on the disk, if it must be before it is answered.
    pub(in crate::server) async fn settle(&self) -> Result<(), Status> {
        if self.writes_through() {
            self.file()?.open.sync().await?;
        }
        Ok(())
    }

    /// Fails unless it has one of these rights.
    pub(in crate::server) fn require(&self, any_of: AccessMask) -> Result<(), Status> {
        if self.granted.0 & any_of.0 != 0 { Ok(()) } else { Err(Status::ACCESS_DENIED) }
    }
}

/// The opens of one session.
#[derive(Default)]
pub(in crate::server) struct Opens {
    table: RwLock<IdMap<u64, Arc<Open>>, ranks::SmbOpens>,
    /// The session has ended; written under the table's lock.
    is_over: AtomicBool,
}

impl Opens {
    /// The open with this key.
    pub(in crate::server) fn find(&self, key: FileKey) -> Option<Arc<Open>> {
        self.table.read().get(&key.volatile).filter(|open| open.key == key).cloned()
    }

    /// Adds an open. Refused if there are too many, or if the session has ended in the meantime.
    pub(in crate::server) fn add(&self, open: Arc<Open>) -> Result<(), Status> {
        let mut table = self.table.write();
        if self.is_over.load(Ordering::Relaxed) {
            return Err(Status::USER_SESSION_DELETED);
        }
        if table.len() >= MAX_OPENS {
            return Err(Status::TOO_MANY_OPENED_FILES);
        }
        table.insert(open.key.volatile, open);
        Ok(())
    }

    /// Removes an open.
    pub(in crate::server) fn remove(&self, key: FileKey) -> Option<Arc<Open>> {
        self.table.write().remove(&key.volatile)
    }

    /// Removes all opens for which `which` holds, and returns them.
    pub(in crate::server) fn take(&self, which: impl Fn(&Open) -> bool) -> Vec<Arc<Open>> {
        let mut table = self.table.write();
        let keys: Vec<u64> = table.iter().filter(|(_, open)| which(open)).map(|(key, _)| *key).collect();
        keys.iter().filter_map(|key| table.remove(key)).collect()
    }

    /// Removes all opens, and refuses new ones from now on.
    pub(in crate::server) fn end(&self) {
        let mut table = self.table.write();
        self.is_over.store(true, Ordering::Relaxed);
        let ended = std::mem::take(&mut *table);
        drop(table);
        drop(ended); // requests that wait for their locks then look into the table
    }

    pub(in crate::server) fn all(&self) -> Vec<Arc<Open>> {
        self.table.read().values().cloned().collect()
    }

    pub(in crate::server) fn len(&self) -> usize {
        self.table.read().len()
    }
}

impl File {
    /// A newly opened file.
    pub(in crate::server) fn new(
        open: vfs::Open,
        via: Option<Via>,
        path: &[u16],
        mode: ModeFlags,
        tree: &Tree,
    ) -> Self {
        let inner = open.volume().hidden(open.node());
        Self {
            open,
            via,
            folding: tree.folding(),
            hiding: inner.map_or_else(|| tree.hiding.clone(), |inner| inner.hiding.clone()),
            position: AtomicU64::new(0),
            path: Mutex::new(path.into()),
            scan: Mutex::default(),
            watched: FolderWatch::default(),
            lock_sequences: LockSequences::default(),
            mode: AtomicU32::new(mode.0),
            ea_cursor: AtomicUsize::new(0),
            goes: AtomicBool::new(false),
            is_posix: false,
            became: OnceLock::new(),
            keeps_modified: AtomicBool::new(false),
            keeps_changed: Mutex::default(),
        }
    }

    /// The same, opened with the POSIX extensions.
    pub(in crate::server) fn with_posix(self) -> Self {
        let folding = Folding { case_sensitive: true, ..self.folding };
        Self { is_posix: true, folding, ..self }
    }

    /// The open whose facts the client is told.
    pub(in crate::server) fn shown(&self) -> &vfs::Open {
        self.became.get().unwrap_or(&self.open)
    }

    /// The object that the client moves or removes: the file, or the link by which it opened the
    /// file.
    pub(in crate::server) fn named(&self) -> &vfs::Open {
        self.via.as_ref().and_then(|via| via.open.as_ref()).unwrap_or(&self.open)
    }

    /// Whether a link was followed to it. The client then moves or removes the link.
    pub(in crate::server) fn is_by_link(&self) -> bool {
        self.via.is_some()
    }

    /// The id of the entry by which it was opened, as listings show it: the link's, if a link was
    /// followed.
    pub(in crate::server) fn entry_id(&self) -> FileId {
        self.via.as_ref().map_or(self.shown().node().id(), |via| via.id)
    }

    /// The path by which the client knows it, with a backslash in front.
    pub(in crate::server) fn opened_as(&self) -> Vec<u16> {
        [&[u16::from(b'\\')][..], &self.path.lock()].concat()
    }

    /// Whether this is the path by which the client knows it.
    pub(in crate::server) fn is_known_as(&self, path: &[u16]) -> bool {
        let lower = |path: &[u16]| String::from_utf16_lossy(path).to_lowercase();
        lower(&self.path.lock()) == lower(path)
    }

    /// The path by which the client knows it, without a backslash in front.
    pub(in crate::server) fn known_as(&self) -> Vec<u16> {
        self.path.lock().to_vec()
    }

    /// Whether the client has marked it for removal through this open.
    pub(in crate::server) fn goes(&self) -> bool {
        self.goes.load(Ordering::Relaxed)
    }

    /// Whether its close takes the file's name, whoever else has the file open: so it is with the POSIX extensions.
    pub(in crate::server) fn unlinks(&self) -> bool {
        let goes = self.goes() || self.mode().contains(ModeFlags::DELETE_ON_CLOSE);
        self.is_posix && goes && self.open.is_data() && self.open.node().kind() != Kind::Folder
    }

    /// Records that it has, or has cleared the mark.
    pub(in crate::server) fn set_going(&self, goes: bool) {
        self.goes.store(goes, Ordering::Relaxed);
    }

    /// Records that the client has moved the file.
    pub(in crate::server) fn moved_to(&self, path: &[u16]) {
        *self.path.lock() = path.into();
    }

    /// Changes the file's metadata. The client's right to do so was checked when it opened the
    /// file.
    pub(in crate::server) fn change_metadata(
        &self,
        change: impl FnOnce(&mut Metadata),
    ) -> Result<(), Status> {
        let found = Found { object: self.open.node().clone(), attributes: self.open.attributes()? };
        let place = self.open.place();
        let place = place.as_ref().map(|(folder, name)| Beside { folder, name });
        let by_server = Actor { caller: Caller::root(), ..self.open.actor().clone() };
        Ok(self.open.volume().change_metadata(&by_server, &found, place, change)?)
    }

    /// The position that the client has set.
    pub(in crate::server) fn position(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }

    /// Whether this is the Finder info, as a stream.
    pub(in crate::server) fn is_info(&self) -> bool {
        !self.open.is_data() && self.open.guard().stream() == Stream::Info
    }

    /// Sets the position.
    pub(in crate::server) fn set_position(&self, position: u64) {
        self.position.store(position, Ordering::Relaxed);
    }

    /// The mode of the open.
    pub(in crate::server) fn mode(&self) -> ModeFlags {
        ModeFlags(self.mode.load(Ordering::Relaxed))
    }

    /// Changes the mode.
    pub(in crate::server) fn set_mode(&self, mode: ModeFlags) {
        self.mode.store(mode.0, Ordering::Relaxed);
    }

    /// Whether its client wants every write on the disk before it is answered.
    fn writes_through(&self) -> bool {
        self.mode().contains(ModeFlags::WRITE_THROUGH)
    }

    /// Sets whether operations through this open keep the modification time. The client asks for
    /// that by setting the time, or explicitly. MS-FSA 2.1.5.14.2.
    pub(in crate::server) fn keep_modified(&self, keep: bool) {
        self.keeps_modified.store(keep, Ordering::Relaxed);
    }

    /// The time of the last change of attributes, as this client sees it.
    pub(in crate::server) fn changed_at(&self, now: &Attributes) -> NtTime {
        let kept = *self.keeps_changed.lock();
        kept.unwrap_or_else(|| self.open.volume().changed(now).into())
    }

    /// Shows another time of the last change of attributes. If `keep` is set, this client sees it
    /// as long as it has the file open. Other clients see it until the file changes again.
    pub(in crate::server) fn show_changed(&self, shown: NtTime, keep: bool) -> Result<(), Status> {
        *self.keeps_changed.lock() = keep.then_some(shown);
        if let Some(time) = shown.time() {
            self.open.volume().caching_tree().show_changed(&self.open.attributes()?, time);
        }
        Ok(())
    }

    /// The time of the last change of attributes that this open keeps, if any.
    pub(in crate::server) fn kept_changed(&self) -> Option<NtTime> {
        *self.keeps_changed.lock()
    }

    /// Runs an operation that changes the file's bytes. Restores the modification time afterwards
    /// if the open keeps it.
    pub(in crate::server) async fn changing<T>(
        &self,
        change: impl Future<Output = vfs::Result<T>>,
    ) -> Result<T, Status> {
        if !self.keeps_modified.load(Ordering::Relaxed) {
            return Ok(change.await?);
        }
        let before = self.open.attributes()?;
        let changed = change.await?;
        let modified = SetTime::To(before.modified);
        self.open.set_attributes(&SetAttributes { modified, ..SetAttributes::default() }).await?;
        Ok(changed)
    }

    /// Fails for folders and links, which have no bytes to read or write.
    fn has_bytes(&self) -> Result<(), Status> {
        match self.open.is_data() && matches!(self.open.node().kind(), Kind::Folder | Kind::Link) {
            true => Err(Status::INVALID_DEVICE_REQUEST),
            false => Ok(()),
        }
    }

    /// Where a READ at this offset begins. macOS's server reads the Finder info from its beginning, whatever the offset.
    /// Clients rely on it.
    pub(in crate::server) fn begin_of_read(&self, offset: u64) -> Result<u64, Status> {
        self.has_bytes()?;
        let of_info = self.is_info() && offset <= info_stream::LEN as u64;
        Ok(if of_info { 0 } else { offset })
    }

    /// Writes all of `data`, except for what is written already.
    pub(in crate::server) async fn write(
        &self,
        offset: u64,
        data: Bytes,
        stability: Stability,
        early: Option<&EarlyWrite>,
    ) -> Result<(), Status> {
        self.has_bytes()?;
        self.changing(self.open.write_rest(offset, data, stability, early)).await
    }

    /// Begins a write whose data are still arriving, if a part of them may be written before.
    pub(in crate::server) fn begin_early(&self, offset: u64, length: u64) -> Option<EarlyWrite> {
        self.has_bytes().ok()?;
        match self.writes_through() || self.keeps_modified.load(Ordering::Relaxed) {
            true => None, // each of its calls would have to do what the whole write does
            false => self.open.begin_early(offset, length),
        }
    }
}
