//! New entries of a folder.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};

use super::descriptors::Descriptor;
use super::object::{ENTRY, HostObject, attributes_of};
use super::{OpenMethod, failure, stat};
use crate::backend::{Found, NewKind, NewOwner};
use crate::caller::server;
use crate::{Attributes, Caller, Error, HostKey, Result};

impl HostObject {
    pub(super) fn make(&self, caller: &Caller, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Found> {
        self.shared.act_to_change(caller)?;
        let made = self.make_entry(name, new, mode)?;
        self.found_new(caller, name, made)
    }

    /// Makes an entry for its owner, who may make it whatever the host says. With the owner's ids it is the owner's from the
    /// beginning, and this thread has the ids with which the owner goes on. If the host refuses them, the server makes the
    /// entry and gives it away.
    pub(super) fn make_owned(
        &self,
        name: &[u8],
        new: NewKind<'_>,
        mode: u32,
        owner: NewOwner<'_>,
    ) -> Result<Found> {
        let NewOwner { caller, gid } = owner;
        if !self.refused.is(caller.uid) {
            self.shared.act_to_change(caller)?;
            match self.make_entry(name, new, mode) {
                Err(Error::AccessDenied | Error::NotPermitted) => self.refused.note(caller.uid),
                made => {
                    let found = self.found_new(caller, name, made?)?;
                    return self.with_group(found, (name, new), gid);
                }
            }
        }
        self.shared.act_to_change(server())?;
        let made = self.make_entry(name, new, mode)?;
        let (uid, gid) = (Some(Uid::from_raw(caller.uid)), gid.map(Gid::from_raw));
        let given = match &made {
            Some(fd) => rustix::fs::chownat(fd, c"", uid, gid, AtFlags::EMPTY_PATH),
            None => rustix::fs::chownat(&self.fd, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW),
        };
        given
            .map_err(failure::of_entry("fchownat", &self.fd, name))
            .inspect_err(|_| self.unmake(name, new))?;
        self.found_new(server(), name, made)
    }

    /// Something new with the group that it should have: that of its folder counts on some mounts.
    fn with_group(
        &self,
        mut found: Found,
        (name, new): (&[u8], NewKind<'_>),
        gid: Option<u32>,
    ) -> Result<Found> {
        let Some(gid) = gid.filter(|gid| *gid != found.attributes.gid) else { return Ok(found) };
        let changes = crate::SetAttributes { gid: Some(gid), ..Default::default() };
        let given = found.object.set_attributes(server(), &changes);
        given.inspect_err(|_| self.unmake(name, new))?;
        found.attributes = found.object.attributes()?;
        Ok(found)
    }

    fn unmake(&self, name: &[u8], new: NewKind<'_>) {
        let flags = if matches!(new, NewKind::Folder) { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        let removed = self.shared.act_to_change(server()).and_then(|()| {
            rustix::fs::unlinkat(&self.fd, name, flags).map_err(failure::of_entry("unlinkat", &self.fd, name))
        });
        if let Err(error) = removed {
            tracing::warn!(%error, "a new file without its owner was not removed");
        }
    }

    /// Makes an entry with the ids that this thread has. A file is open then.
    fn make_entry(&self, name: &[u8], new: NewKind<'_>, mode: u32) -> Result<Option<OwnedFd>> {
        let bits = Mode::from_raw_mode(mode & 0o7777);
        let node = |kind, major, minor| {
            rustix::fs::mknodat(&self.fd, name, kind, bits, rustix::fs::makedev(major, minor))
        };
        match new {
            NewKind::File => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | ENTRY;
                let made = rustix::fs::openat(&self.fd, name, flags, bits);
                return made.map(Some).map_err(failure::of_entry("openat", &self.fd, name));
            }
            NewKind::Folder => rustix::fs::mkdirat(&self.fd, name, bits),
            NewKind::Link(target) => rustix::fs::symlinkat(target, &self.fd, name),
            NewKind::Fifo => node(FileType::Fifo, 0, 0),
            NewKind::Socket => node(FileType::Socket, 0, 0),
            NewKind::CharDevice(major, minor) => node(FileType::CharacterDevice, major, minor),
            NewKind::BlockDevice(major, minor) => node(FileType::BlockDevice, major, minor),
        }
        .map_err(failure::of_entry("mkdirat, symlinkat or mknodat", &self.fd, name))?;
        Ok(None)
    }

    /// What was made. A new file stays open for writing, as its maker will write it next.
    fn found_new(&self, caller: &Caller, name: &[u8], made: Option<OwnedFd>) -> Result<Found> {
        let Some(fd) = made else { return self.find(caller, name) };
        let stat = stat(fd.as_fd())?;
        let attributes = attributes_of(&stat);
        let key = self.shared.key_of(fd.as_fd(), &stat)?;
        let object =
            self.shared.objects.keep(key, OpenMethod::ByName, || new_file(self, fd, key, &attributes));
        self.shared.trace(&object, self, name);
        Ok(Found { object, attributes })
    }
}

fn new_file(folder: &HostObject, fd: OwnedFd, key: HostKey, attributes: &Attributes) -> HostObject {
    folder.shared.read_ahead.advise(&fd);
    let fd = std::sync::Arc::new(fd);
    let object = HostObject::new(folder.shared.clone(), fd.clone(), key, attributes, OpenMethod::ByName);
    object.data.lock().write = Some(Descriptor::uncounted(fd)); // it names the file, too
    object
}

/// The user that the host has refused a new entry in a folder lately. The next one is not tried with the user's ids.
#[derive(Default)]
pub(super) struct RefusedMaker(AtomicU64);

impl RefusedMaker {
    /// So many seconds later the host is asked again.
    const BELIEVED_FOR: u64 = 1;

    fn is(&self, uid: u32) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        word != 0 && word as u32 == uid && seconds() <= (word >> 32) + Self::BELIEVED_FOR
    }

    fn note(&self, uid: u32) {
        self.0.store(seconds() << 32 | u64::from(uid), Ordering::Relaxed);
    }
}

/// The time since this was first asked, and one second.
fn seconds() -> u64 {
    static SINCE: LazyLock<Instant> = LazyLock::new(Instant::now);
    SINCE.elapsed().as_secs() + 1
}
