//! The stores of files. [`Backend`] is one volume's store and [`Object`] one file, folder, link or
//! device in it.
//!
//! There are seven: `host` (a folder of the host's file system), `ceph` (a folder of CephFS, by Ceph's
//! client library), `image` (a file system in a disk image, read-only), `forest` (a tree of several backends), `long_names` (any other, with names that
//! are longer than the host's), `memory` (tests) and `faulty` (any other, failing on demand). Every method may block
//! unless it says otherwise, and is called on the thread that answers the request. `crate::Volume`
//! moves calls that are known to wait for a disk to the blocking pool.

mod above;
mod call;
pub mod ceph;
pub(crate) mod copying;
mod facts;
pub mod faulty;
pub mod forest;
pub mod host;
pub mod image;
pub(crate) mod long_names;
pub mod memory;
mod modes;
mod trusted;
mod watching;

use std::any::Any;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use auth::Grant;

use self::forest::{Hidden, TeamGate};

use crate::caller::server;

pub use self::above::MAX_PATH_DEPTH;
pub(crate) use self::above::name_in;
pub use self::call::Call;
pub use self::facts::{Allowance, Finds, Limits, Space};
pub use self::modes::{NewKind, NextRead, RenameMode, Stability, Wait, XattrMode};
pub use self::trusted::DistrustReason;
pub(crate) use self::trusted::trust;
pub use self::watching::{DataNotice, Heard, WatchEvent, WatchId};
use super::{
    Access, Attributes, Caller, Error, FileId, HostKey, Kind, LastingKey, Result, SetAttributes, Time,
};
pub use coherence::guarding::{Against, Ends, HearsLocal, Hold, LocalChange, LocalOpen};

/// A file found or made, with its attributes as of then.
#[derive(Clone)]
pub struct Found {
    /// The file.
    pub object: Arc<dyn Object>,
    /// What the host says of it.
    pub attributes: Attributes,
}

/// Whose something new is.
#[derive(Debug, Clone, Copy)]
pub struct NewOwner<'a> {
    /// The client that makes it, and may make it whatever the host says.
    pub caller: &'a Caller,
    /// The group; `None`: that of the folder.
    pub gid: Option<u32>,
}

/// A file, folder, link or device of a volume. Cheap to clone; holding one keeps the file alive.
pub type Node = Arc<dyn Object>;

/// An entry of a folder as far as it is known without holding it.
#[derive(Debug, Clone)]
pub struct Glance {
    /// The host's own name for the file.
    pub key: HostKey,
    /// What the host says of it.
    pub attributes: Attributes,
    /// The names of its extended attributes; none where there cannot be any.
    pub xattrs: Vec<Vec<u8>>,
}

impl Glance {
    fn of(found: &Found) -> Result<Self> {
        let xattrs = match found.object.list_xattrs() {
            Err(Error::NotSupported) => Vec::new(),
            other => other?,
        };
        Ok(Self { key: found.object.key(), attributes: found.attributes, xattrs })
    }
}

/// One entry of a folder as the host lists it.
#[derive(Debug, Clone, Copy)]
pub struct ListEntry<'a> {
    /// The stored name.
    pub name: &'a [u8],
    /// Which file.
    pub id: FileId,
    /// What it is, where the host says so in listings.
    pub kind: Option<Kind>,
    /// Where to go on after this entry. Never 0; stays right while other entries come and go.
    pub cookie: u64,
}

/// The tree as it was at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Where its root is, from the root of the tree.
    pub path: [Vec<u8>; 2],
    /// When it was taken.
    pub taken: Time,
}

/// Methods that call the same method of the object behind this one: [`Object::through`] says which object that is.
macro_rules! forwarded {
    ($($(#[$doc:meta])* $call:ident: fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $ok:ty;)*) => {$(
        $(#[$doc])*
        fn $name(&self $(, $arg: $type)*) -> Result<$ok> {
            self.through(Call::$call)?.$name($($arg),*)
        }
    )*};
}

/// One file, folder, link or device. Holding it keeps the file alive, as an open descriptor does.
///
/// Names are stored names: one component, never `.`, `..`, empty, or with `/` or NUL (the caller has checked them).
pub trait Object: Any + Send + Sync {
    /// Which file.
    fn id(&self) -> FileId;
    /// The host's own name for it.
    fn key(&self) -> HostKey;
    /// What it is.
    fn kind(&self) -> Kind;
    /// What the host says of it now.
    fn attributes(&self) -> Result<Attributes>;
    forwarded! {
        /// Changes attributes as the caller. `size` needs write permission, or ownership, as POSIX says.
        SetAttributes: fn set_attributes(&self, caller: &Caller, changes: &SetAttributes) -> ();
        /// Which of `want` the caller may do, by these fresh `attributes`.
        Access: fn access(&self, caller: &Caller, attributes: &Attributes, want: Access) -> Access;
    }

    /// The entry of this folder with exactly this stored name; links are not followed.
    fn lookup(&self, caller: &Caller, name: &[u8]) -> Result<Found>;
    /// What can be said of an entry without opening it.
    fn glance(&self, caller: &Caller, name: &[u8]) -> Result<Glance> {
        Glance::of(&self.lookup(caller, name)?)
    }
    /// The key and attributes of an entry, without opening it where the host can tell.
    fn entry(&self, caller: &Caller, name: &[u8]) -> Result<(HostKey, Attributes)> {
        let found = self.lookup(caller, name)?;
        Ok((found.object.key(), found.attributes))
    }
    /// What the host says of an entry, without opening it.
    fn entry_attributes(&self, caller: &Caller, name: &[u8]) -> Result<Attributes> {
        Ok(self.lookup(caller, name)?.attributes)
    }
    /// An extended attribute of an entry, without opening it.
    fn glance_xattr(&self, caller: &Caller, name: &[u8], xattr: &[u8]) -> Result<Vec<u8>> {
        self.lookup(caller, name)?.object.xattr(xattr)
    }
    /// `false` if there is certainly no entry of this name: for all callers, without a switch of identity.
    fn may_have(&self, _name: &[u8]) -> bool {
        true
    }
    /// The entry at the end of a path of stored names. No link is followed: one on the way is `IsLink`, a file `NotFolder`.
    fn lookup_path(&self, caller: &Caller, path: &[&[u8]]) -> Result<Found> {
        let (last, above) = path.split_last().ok_or(Error::Invalid)?;
        let mut folder: Option<Arc<dyn Object>> = None;
        for name in above {
            let found =
                folder.as_deref().map_or_else(|| self.lookup(caller, name), |at| at.lookup(caller, name))?;
            match found.attributes.kind {
                Kind::Folder => folder = Some(found.object),
                Kind::Link => return Err(Error::IsLink),
                _ => return Err(Error::NotFolder),
            }
        }
        folder.as_deref().map_or_else(|| self.lookup(caller, last), |at| at.lookup(caller, last))
    }
    /// The folder that this folder is in; the share's folder is its own parent. `Stale` when it has left the share.
    fn parent(&self) -> Result<Found>;
    /// Makes an entry; fails with `Exists` when there is one. `mode` is final: no umask is applied.
    fn create(&self, caller: &Caller, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found>;
    /// As [`Object::create`] for an owner that may make the entry whatever the host says, with the server's own rights if need
    /// be. Nobody else has it before.
    fn create_owned(&self, name: &[u8], new: NewKind<'_>, mode: u32, owner: NewOwner<'_>) -> Result<Found> {
        let made = self.create(server(), name, new, mode)?;
        let ids = SetAttributes { uid: Some(owner.caller.uid), gid: owner.gid, ..SetAttributes::default() };
        let given = made.object.set_attributes(server(), &ids).and_then(|()| made.object.attributes());
        let given = given.inspect_err(|_| {
            let undone = match new {
                NewKind::Folder => self.remove_folder(server(), name),
                _ => self.remove(server(), name),
            };
            undone.unwrap_or_else(
                |error| tracing::warn!(%error, "a new file without its owner was not removed"),
            );
        });
        Ok(Found { attributes: given?, object: made.object })
    }
    /// Another name in this folder for `target`.
    fn link(&self, caller: &Caller, target: &dyn Object, name: &[u8]) -> Result<()> {
        self.through(Call::Link)?.link(caller, self.peer(target)?, name)
    }
    forwarded! {
        /// Removes an entry that is not a folder.
        Remove: fn remove(&self, caller: &Caller, name: &[u8]) -> ();
        /// Removes an empty folder.
        RemoveFolder: fn remove_folder(&self, caller: &Caller, name: &[u8]) -> ();
        /// Calls `sink` for each entry after `cookie` (0: from the start), `.` and `..` included, until it answers false.
        /// Returns whether the end was reached.
        List: fn list(&self, cookie: u64, sink: &mut dyn FnMut(ListEntry<'_>) -> bool) -> bool;
        /// The target of a symbolic link.
        ReadLink: fn read_link(&self) -> Vec<u8>;
    }
    /// As [`Object::remove`]. `found` is the file that the caller has found there, if it has looked: so a backend
    /// that keeps files open need not look which one to close.
    fn remove_found(&self, caller: &Caller, name: &[u8], _found: Option<&dyn Object>) -> Result<()> {
        self.remove(caller, name)
    }
    /// Moves this folder's entry `name` to `to` under `new_name`.
    fn rename(
        &self,
        caller: &Caller,
        name: &[u8],
        to: &dyn Object,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<()> {
        self.through(Call::Rename)?.rename(caller, name, self.peer(to)?, new_name, mode)
    }
    /// The name of an entry that listings of this folder omit.
    fn unlisted_name(&self, _entry: &dyn Object) -> Option<Vec<u8>> {
        None
    }
    /// The name on the host of the entry with this name, if that is another, shorter one.
    fn name_on_host(&self, _name: &[u8]) -> Option<Vec<u8>> {
        None
    }
    forwarded! {
        /// Makes ready for `want` as this caller: checks permission by these fresh `attributes` and opens what is needed.
        /// An owner may always read and write its own file's data when `owner_may` is set (for clients that were allowed
        /// at open, before the mode changed).
        Prepare: fn prepare(&self, caller: &Caller, attributes: &Attributes, want: Access, owner_may: bool) -> ();
        /// Appends up to `length` bytes from `offset` to `into`; fewer only at the end of the file. `prepare` came first.
        ReadAt: fn read_at(&self, offset: u64, length: usize, into: &mut Vec<u8>, wait: Wait) -> usize;
        /// Writes all of `data` at `offset`. `prepare` came first.
        WriteAt: fn write_at(&self, caller: &Caller, offset: u64, data: &[u8], stability: Stability) -> ();
        /// Cuts the file off, or lets zeros follow. `prepare` came first.
        Truncate: fn truncate(&self, caller: &Caller, size: u64) -> ();
        /// Makes sure of space for the first `length` bytes, without making the file longer. `prepare` came first.
        Allocate: fn allocate(&self, caller: &Caller, length: u64) -> ();
        /// Makes sure of space for a range. The file gets longer if the range ends behind it. `prepare` came first.
        Reserve: fn reserve(&self, caller: &Caller, offset: u64, length: u64) -> ();
        /// Puts everything written to this file (or this folder's entries) on the disk.
        Sync: fn sync(&self, stability: Stability) -> ();
        /// Gives back the space of a range, which then reads as zeros.
        Punch: fn punch(&self, caller: &Caller, offset: u64, length: u64) -> ();
        /// Where the first data (`true`) or the first hole (`false`) begins, at `offset` or later. `None`: the file ends before that.
        Seek: fn seek(&self, offset: u64, data: bool) -> Option<u64>;

        /// An extended attribute, by its full host name (`user.…`).
        Xattr: fn xattr(&self, name: &[u8]) -> Vec<u8>;
        /// Sets an extended attribute.
        SetXattr: fn set_xattr(&self, caller: &Caller, name: &[u8], value: &[u8], mode: XattrMode) -> ();
        /// Removes an extended attribute.
        RemoveXattr: fn remove_xattr(&self, caller: &Caller, name: &[u8]) -> ();
        /// The names of all extended attributes.
        ListXattrs: fn list_xattrs(&self) -> Vec<Vec<u8>>;

        /// Makes local processes wait that open this file, until `hears` lets them. It also hears of names that the file
        /// gets or loses by them, and of its attributes: from now on with `at_once`, else a moment later. This lasts until
        /// the result is dropped. `WouldBlock`: a local process has it open now. `NotSupported`: the file system cannot do
        /// that.
        Guard: fn guard(&self, against: Against, at_once: bool, hears: &Arc<dyn HearsLocal>) -> Hold;
        /// `hears` is told if local processes make, remove or rename entries of this folder, until the result is dropped.
        GuardEntries: fn guard_entries(&self, hears: &Arc<dyn HearsLocal>) -> Hold;
    }
    /// Copies up to `length` bytes from another file of the same kind of store, inside of it; answers how many, fewer
    /// than asked for at the end of the source. `NotSupported`, `CrossVolume` or `Invalid` (overlapping ranges): copy
    /// them by reading and writing. `prepare` came first, of both.
    fn copy_range(
        &self,
        caller: &Caller,
        source: &dyn Object,
        from: u64,
        to: u64,
        length: u64,
    ) -> Result<u64> {
        self.through(Call::CopyRange)?.copy_range(caller, self.peer(source)?, from, to, length)
    }
    /// Makes a range of this file share another one's blocks (0 bytes: to its end), or fails without having changed
    /// anything. `prepare` came first, of both.
    fn clone_range(
        &self,
        caller: &Caller,
        source: &dyn Object,
        from: u64,
        to: u64,
        length: u64,
    ) -> Result<()> {
        self.through(Call::CloneRange)?.clone_range(caller, self.peer(source)?, from, to, length)
    }
    /// Whether quotas that the server keeps leave room for a write of all of this range. It fails as the write would.
    fn has_room_for(&self, offset: u64, length: u64) -> Result<()> {
        self.through(Call::Attributes).map_or(Ok(()), |behind| behind.has_room_for(offset, length))
    }
    /// A descriptor from which `offset..offset + length` can be sent without waiting for a disk, if there is one.
    fn resident(&self, offset: u64, length: u64) -> Option<Arc<OwnedFd>> {
        self.through(Call::Resident).ok()?.resident(offset, length)
    }
    /// Has the host write a range to the disk that is in memory only, and waits until its bytes are there. It may still be lost: what
    /// the file system notes of the range is not written.
    fn write_out(&self, offset: u64, length: u64) {
        let _ = self.through(Call::Resident).map(|behind| behind.write_out(offset, length));
    }
    /// Tells the host when a range is read next, which may make reads faster and changes nothing else.
    fn expect(&self, offset: u64, length: u64, next: NextRead) {
        let _ = self.through(Call::Resident).map(|behind| behind.expect(offset, length, next));
    }

    /// Whether a watch on its folder hears of changes made through this object.
    fn is_heard(&self) -> bool {
        true
    }

    /// Whether a write may wait for another machine, even one that need not be on the disk.
    fn is_remote(&self) -> bool {
        false
    }

    /// Whether it may close the descriptor for reading while a client has it open, and opens it again when it is read.
    fn lends_data(&self) -> bool {
        self.through(Call::Attributes).is_ok_and(|behind| behind.lends_data())
    }

    /// Whether it is in a tree that refuses every change, in whichever volume.
    fn is_read_only(&self) -> bool {
        false
    }

    /// What the rules of the share that it belongs to let a caller do, beside permissions: `None` is nothing at all. They are
    /// those of a share inside the one that the caller uses.
    fn admits(&self, _: &Caller) -> Option<Grant> {
        Some(Grant::ReadWrite)
    }

    /// The share inside the one that the caller uses that it belongs to.
    fn gate(&self) -> Option<TeamGate> {
        None
    }

    /// The names that listings of this folder leave out, if the rules of a share inside the one that the caller uses count.
    fn hidden(&self) -> Option<Arc<Hidden>> {
        None
    }

    /// The object behind this one that answers a call, if this one is a wrapper and the call passes. Every method that
    /// has no other meaning here goes there.
    fn through(&self, _: Call) -> Result<&dyn Object> {
        Err(Error::NotSupported)
    }

    /// Another object of this backend, as the backend of the object behind this one knows it.
    fn peer<'a>(&self, other: &'a dyn Object) -> Result<&'a dyn Object> {
        Ok(other)
    }

    /// For a backend to find its own kind of object again.
    fn as_any(&self) -> &dyn Any;
}

/// Whether two objects are one file, through whichever mount or volume they were reached.
pub(crate) fn same_file(a: &dyn Object, b: &dyn Object) -> bool {
    a.id() == b.id() && a.key().local() == b.key().local()
}

/// A file, through whichever mount or volume it is reached: its device, and its key there. It is never used twice.
pub(crate) type FileKey = (u32, HostKey);

pub(crate) fn file_key(object: &dyn Object) -> FileKey {
    (object.id().device, object.key().local())
}

/// One volume's store.
pub trait Backend: Send + Sync {
    /// The backend behind this one, if this one is a wrapper. What a wrapper does not do itself goes there.
    fn behind(&self) -> Option<&dyn Backend> {
        None
    }
    /// Whether shares inside this one have rules of their own: see [`Object::admits`].
    fn has_gates(&self) -> bool {
        self.behind().is_some_and(Backend::has_gates)
    }
    /// Whether any of them is a team folder: see [`Object::gate`].
    fn has_team_gates(&self) -> bool {
        self.behind().is_some_and(Backend::has_team_gates)
    }
    /// The share's folder.
    fn root(&self) -> Result<Found>;
    /// The file with this key, wherever it is by now; `Stale` when it is gone.
    fn by_key(&self, key: &HostKey) -> Result<Found>;
    /// Whether `by_key` finds files with keys like this one.
    fn finds(&self, key: &HostKey) -> Finds {
        self.behind().map_or(Finds::Always, |behind| behind.finds(key))
    }
    /// A hint, which may be wrong: the stored names from the share's folder down to a file, found without looking.
    fn path_hint(&self, _object: &dyn Object) -> Option<Vec<Vec<u8>>> {
        None
    }
    /// The file system of a file: 0 for that of the share's folder, another number, which stays the same over restarts,
    /// for a subvolume or a file system that is mounted inside the share.
    fn file_system(&self, file: FileId) -> u64 {
        self.behind().map_or(0, |behind| behind.file_system(file))
    }
    /// The key of a file that does not depend on this backend.
    fn lasting_key(&self, key: &HostKey) -> Result<LastingKey> {
        let own = Ok(LastingKey { file_system: 0, key: *key });
        self.behind().map_or(own, |behind| behind.lasting_key(key))
    }
    /// The keys by which [`Backend::by_key`] may find a file. The file may be outside the share. Mounts that are not in use
    /// yet count only `with_all_mounts`.
    fn keys_of(&self, file: &LastingKey, with_all_mounts: bool) -> Vec<HostKey> {
        let own = || if file.file_system == 0 { vec![file.key] } else { Vec::new() };
        self.behind().map_or_else(own, |behind| behind.keys_of(file, with_all_mounts))
    }
    /// Folders in which the server's own folder for a file's streams may be, on the file system of the file. New streams are
    /// stored in the first one.
    fn homes(&self, _key: &HostKey) -> Result<Vec<Arc<dyn Object>>> {
        Ok(vec![self.root()?.object])
    }
    /// The folders above the share's folder on the same file system, the nearest first.
    fn above(&self) -> Vec<Arc<dyn Object>> {
        Vec::new()
    }
    /// Whether files of other mounts inside the share may be in use.
    fn has_mounts(&self) -> bool {
        false
    }
    /// The snapshots of the tree, the newest first.
    fn snapshots(&self) -> Vec<Snapshot> {
        self.behind().map_or_else(Vec::new, |behind| behind.snapshots())
    }
    /// The space of the file system that a file or folder is on.
    fn space(&self, at: &dyn Object) -> Result<Space>;
    /// What the host can do, on the file system of the share's folder.
    fn limits(&self) -> Limits;
    /// The same on the file system of a file.
    fn limits_of(&self, file: FileId) -> Limits {
        self.behind().map_or_else(|| self.limits(), |behind| behind.limits_of(file))
    }

    /// Starts to hear of changes to this folder's entries; `None` where that cannot be had. Watching a folder twice gives
    /// the same watch, which lasts until both have stopped it. It tells what either wants to know.
    fn watch(&self, _folder: &dyn Object, _data: DataNotice) -> Option<WatchId> {
        None
    }
    /// Stops what was begun with the same `data`.
    fn unwatch(&self, watch: WatchId, data: DataNotice) {
        self.behind().inspect(|behind| behind.unwatch(watch, data));
    }
    /// Takes every event queued so far; an event is queued before the call that caused it returns.
    fn watch_events(&self, sink: &mut dyn FnMut(WatchEvent)) {
        self.behind().inspect(|behind| behind.watch_events(sink));
    }
    /// Waits until an event is queued, but no longer than this; says whether one is.
    fn wait_for_events(&self, most: Duration) -> bool {
        let sleep = || {
            std::thread::sleep(most);
            false
        };
        self.behind().map_or_else(sleep, |behind| behind.wait_for_events(most))
    }
    /// The identity whose permissions are checked for this caller.
    fn effective<'a>(&'a self, caller: &'a Caller) -> &'a Caller {
        self.behind().map_or(caller, |behind| behind.effective(caller))
    }
    /// The user that owns the server's own files.
    fn own_user(&self) -> u32 {
        self.behind().map_or(0, |behind| behind.own_user())
    }
    /// Puts everything written to any file on the disk.
    fn sync(&self) -> Result<()>;
    /// Releases what was not used lately. Called every few seconds.
    fn tend(&self) {
        self.behind().inspect(|behind| behind.tend());
    }
}

/// Looks the first name of a path up, and leaves the rest of the path to the folder of this name.
fn first_step(folder: &dyn Object, caller: &Caller, path: &[&[u8]]) -> Result<Found> {
    let (name, rest) = path.split_first().ok_or(Error::Invalid)?;
    let found = folder.lookup(caller, name)?;
    match found.attributes.kind {
        _ if rest.is_empty() => Ok(found),
        Kind::Folder => found.object.lookup_path(caller, rest),
        Kind::Link => Err(Error::IsLink),
        _ => Err(Error::NotFolder),
    }
}
