//! The file of a call's handle, and the user that the caller acts as.

use std::sync::Arc;

use vfs::backend::Found;
use vfs::names::long::{check_long, is_long};
use vfs::state::Party;
use vfs::{Actor, Attributes, Change, Error, FileId, HostKey, Kind, LookupResult, Node, SetAttributes, Time};

use crate::server::call::Call;
use crate::server::clients::NFS_CLIENT;
use crate::server::export::Export;
use crate::server::handle::{HandleContent, HandleView, SealedHandle};
use crate::wire::v3::types::{Fail, Fattr3, FileType, NfsTime, Sattr3, SetTime, SpecData, Status, Wcc};

/// The file of a handle.
#[derive(Clone)]
pub(in crate::server) struct Target {
    pub(in crate::server) export: Arc<Export>,
    pub(in crate::server) found: Found,
    /// The content of a Mac sidecar that is not on the disk; `found` is then the file it belongs to, with the sidecar's
    /// attributes.
    pub(in crate::server) sidecar: Option<Vec<u8>>,
    pub(in crate::server) actor: Actor,
    pub(in crate::server) writable: bool,
    /// The content of the handle.
    pub(in crate::server) named: HandleContent,
}

impl Call<'_> {
    /// The file of a handle, after all checks that do not depend on the procedure.
    pub(in crate::server) fn target(&self, handle: &[u8]) -> Result<Target, Status> {
        let named = HandleContent::open(&self.service.secret, handle)?;
        match named.view {
            HandleView::File | HandleView::Sidecar => self.target_of(named, false),
            HandleView::Attributes | HandleView::Attribute(_) => Err(Status::BADHANDLE), // only version 4 has named attributes
        }
    }

    /// The same with the content of a handle. `keeps_files`: a file without a name is found, too, while a client holds it.
    pub(in crate::server) fn target_of(
        &self,
        named: HandleContent,
        keeps_files: bool,
    ) -> Result<Target, Status> {
        let export = self.service.export_tagged(named.tag).ok_or(Status::STALE)?;
        self.note(&export);
        let rule = export.rule_of_call(self, &named)?;
        // NFSv3 has no login: a valid handle from an address that may use the export takes its
        // place.
        self.memory.logged_in(true);
        let caller = export.caller(rule, self);
        let writable = rule.writable && !export.volume.is_read_only();
        let mut found = match export.volume.node(&named.key) {
            // It has lost its last name, but a client has it open or holds locks in it.
            Err(Error::Stale) if keeps_files => {
                let object = self.service.locks.file(named.tag, named.key).ok_or(Status::STALE)?;
                let attributes = object.attributes()?;
                Found { object, attributes }
            }
            found => found?,
        };
        let mut sidecar = None;
        if named.view == HandleView::Sidecar {
            match export.volume.stateless().sidecar_of(found)? {
                LookupResult::File(there) => found = there,
                LookupResult::Sidecar(made_up) => {
                    found = Found { object: made_up.owner, attributes: made_up.attributes };
                    sidecar = Some(made_up.bytes);
                }
            }
        }
        let by_address = || Party::client(self.service.clients.of(self.origin.address));
        let party = self.party.get().copied().unwrap_or_else(by_address);
        let holder = self.holder(&caller);
        let actor = Actor::new(caller, party).held_by(holder).with_profile(NFS_CLIENT);
        Ok(Target { export, found, sidecar, actor, writable, named })
    }

    /// The same for a procedure that changes something.
    pub(super) fn target_to_change(&self, handle: &[u8]) -> Result<Target, Fail<Wcc>> {
        let mut target = self.target(handle)?;
        if !target.writable {
            return Err(target.fail(Status::ROFS));
        }
        if target.sidecar.take().is_some() {
            let materialized =
                target.export.volume.stateless().materialize(&target.actor.caller, &target.found.object);
            target.found = materialized.map_err(|error| target.fail(error))?;
        }
        Ok(target)
    }

    /// The handle of a file of the target's export.
    pub(in crate::server) fn seal(&self, target: &Target, found: &Found) -> SealedHandle {
        self.seal_view(target, HandleView::File, found.object.key())
    }

    /// The handle of a view of a file of the target's export.
    pub(in crate::server) fn seal_view(
        &self,
        target: &Target,
        view: HandleView,
        key: HostKey,
    ) -> SealedHandle {
        HandleContent { tag: target.export.tag, view, key }.seal(&self.service.secret)
    }
}

impl Target {
    /// Another file of the same export, for the same caller.
    pub(in crate::server) fn sibling(&self, found: Found) -> Self {
        let named = HandleContent { tag: self.named.tag, view: HandleView::File, key: found.object.key() };
        let (export, actor) = (self.export.clone(), self.actor.clone());
        Self { export, found, sidecar: None, actor, writable: self.writable, named }
    }

    /// The file system of a file of the export. One that is mounted inside the export has an id of its own, by which
    /// clients know it for another one.
    pub(in crate::server) fn fsid(&self, file: FileId) -> u64 {
        u64::from(self.export.tag) ^ self.export.volume.file_system(file)
    }

    /// Attributes as the wire has them.
    pub(in crate::server) fn fattr(&self, attributes: &Attributes) -> Fattr3 {
        Fattr3 {
            file_type: file_type(attributes.kind),
            mode: attributes.mode,
            nlink: attributes.links,
            uid: attributes.uid,
            gid: attributes.gid,
            size: attributes.size,
            used: attributes.allocated,
            rdev: SpecData { major: attributes.device.0, minor: attributes.device.1 },
            fsid: self.fsid(attributes.id),
            fileid: attributes.id.inode,
            atime: nfs_time(attributes.accessed),
            mtime: nfs_time(attributes.modified),
            ctime: nfs_time(attributes.changed),
        }
    }

    /// The target's own attributes as of the start of the call.
    pub(super) fn attributes(&self) -> Option<Fattr3> {
        self.current(&self.found.object, &self.found.attributes)
    }

    /// Whether the file is immutable to clients of NFS: a client of another protocol has locked it,
    /// or has made it read-only.
    pub(in crate::server) fn is_locked(&self) -> Result<bool, Status> {
        Ok(self.export.volume.is_locked(&self.found.object)?)
    }

    /// The attributes of a file of the same export, as clients see them: the mode of a locked
    /// file has no right to write.
    pub(in crate::server) fn shown(&self, file: &Node, attributes: &Attributes) -> Fattr3 {
        let mode = self.export.volume.stateless().mode_with_locks(file, attributes);
        self.fattr(&Attributes { mode, ..*attributes })
    }

    /// The attributes of a file of the same export that go with a reply. There are none while
    /// another client may have data in its cache. This client then sends GETATTR, which makes the
    /// other client write its data.
    pub(super) fn current(&self, file: &Node, attributes: &Attributes) -> Option<Fattr3> {
        self.is_current(file.id()).then(|| self.shown(file, attributes))
    }

    /// Whether no other client may have data of a file in its cache.
    pub(super) fn is_current(&self, file: FileId) -> bool {
        !self.export.volume.stateless().is_written_behind(&self.actor, file)
    }

    /// The attributes before and after a change.
    pub(super) fn wcc(&self, change: &Change) -> Wcc {
        let after = Some(self.shown(&self.found.object, &change.after));
        Wcc { before: Some(self.fattr(&change.before).wcc()), after }
    }

    /// The attributes before a failed change, and now.
    pub(super) fn wcc_now(&self) -> Wcc {
        Wcc {
            before: Some(self.fattr(&self.found.attributes).wcc()),
            after: self.found.object.attributes().ok().map(|now| self.shown(&self.found.object, &now)),
        }
    }

    /// A failure of a procedure that would have changed the target.
    pub(super) fn fail(&self, status: impl Into<Status>) -> Fail<Wcc> {
        Fail::new(status.into(), self.wcc_now())
    }
}

/// The number of a kind, which is the same in version 4.
pub(in crate::server) fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::REG,
        Kind::Folder => FileType::DIR,
        Kind::Link => FileType::LNK,
        Kind::Fifo => FileType::FIFO,
        Kind::Socket => FileType::SOCK,
        Kind::CharDevice => FileType::CHR,
        Kind::BlockDevice => FileType::BLK,
    }
}

/// A name that can be made, removed or moved, RFC 1813 4.6: never empty, never an alias of a folder.
pub(super) fn entry_name(name: &[u8]) -> Result<&[u8], Status> {
    match name {
        b"" => Err(Status::ACCES),
        b"." | b".." => Err(Status::INVAL),
        _ if name.contains(&b'/') || name.contains(&0) => Err(Status::ACCES),
        _ if is_long(name) && check_long(name).is_err() => Err(Status::NAMETOOLONG),
        _ => Ok(name),
    }
}

/// A name for a new entry. The names `.` and `..` exist in every folder, RFC 1813 3.3.9.
pub(super) fn new_name(name: &[u8]) -> Result<&[u8], Status> {
    match name {
        b"." | b".." => Err(Status::EXIST),
        name => entry_name(name),
    }
}

/// A time on the wire, where it is unsigned. Times before 1970 or after 2106 are shown as the
/// nearest limit.
pub(super) fn nfs_time(time: Time) -> NfsTime {
    match u32::try_from(time.secs) {
        Ok(seconds) => NfsTime { seconds, nanoseconds: time.nanos },
        Err(_) if time.secs < 0 => NfsTime { seconds: 0, nanoseconds: 0 },
        Err(_) => NfsTime { seconds: u32::MAX, nanoseconds: 0 },
    }
}

/// The changes that a sattr3 asks for.
pub(super) fn changes(wanted: &Sattr3) -> Result<SetAttributes, Status> {
    Ok(SetAttributes {
        mode: wanted.mode.map(|mode| mode & 0o7777),
        uid: wanted.uid,
        gid: wanted.gid,
        size: wanted.size.map(size).transpose()?,
        accessed: set_time(wanted.atime)?,
        modified: set_time(wanted.mtime)?,
    })
}

/// Checks a size or the end of a range: FBIG if no file can have it.
pub(in crate::server) fn size(wanted: u64) -> Result<u64, Status> {
    if wanted > i64::MAX as u64 { Err(Status::FBIG) } else { Ok(wanted) }
}

fn set_time(wanted: SetTime) -> Result<vfs::SetTime, Status> {
    match wanted {
        SetTime::DontChange => Ok(vfs::SetTime::Keep),
        SetTime::ToServerTime => Ok(vfs::SetTime::Now),
        SetTime::ToClientTime(time) if time.nanoseconds >= 1_000_000_000 => Err(Status::INVAL),
        SetTime::ToClientTime(time) => {
            Ok(vfs::SetTime::To(Time { secs: i64::from(time.seconds), nanos: time.nanoseconds }))
        }
    }
}
