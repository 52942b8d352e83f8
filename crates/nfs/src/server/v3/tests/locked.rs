//! A file that a Mac or Windows has locked is refused with EPERM, as UNIX refuses a file with such
//! a flag (chflags(2), ioctl_iflags(2)).

use bytes::Bytes;
use vfs::backend::Stability;
use vfs::mac::Metadata;
use vfs::state::{LockKind, Modes, Range, Stream};
use vfs::{Beside, Caller, OpenOptions};

use super::*;
use crate::server::testing::actor;

#[test]
fn a_locked_file_is_neither_written_nor_cut_nor_moved_nor_removed() {
    let export = export("share", 1, Arc::new(Memory::ticking()));
    let volume = export.volume.clone();
    let s = Session::with(vec![export]);
    let (file, other) = (s.file("notes", b"abc"), s.file("other", b"x"));
    let lock = |on| {
        let root = volume.root().unwrap();
        let found = volume.lookup(&Caller::root(), &root.object, b"notes").unwrap();
        let place = Some(Beside { folder: &root.object, name: b"notes" });
        let set = |metadata: &mut Metadata| metadata.set_locked(on);
        volume.change_metadata(&actor(&Caller::root()), &found, place, set).unwrap();
    };
    lock(true);
    let root = s.root.clone();
    assert_eq!(s.write(&file, 0, b"new", StableHow::FILE_SYNC).unwrap_err().status, Status::PERM);
    assert_eq!(s.setattr(&file, size(0), None).unwrap_err().status, Status::PERM);
    let again = s.create(&root, b"notes", CreateHow::Unchecked(size(0)));
    assert_eq!(again.unwrap_err().status, Status::PERM);
    assert_eq!(s.rename((&root, b"notes"), (&root, b"moved")).unwrap_err().status, Status::PERM);
    assert_eq!(s.rename((&root, b"other"), (&root, b"notes")).unwrap_err().status, Status::PERM);
    assert_eq!(s.remove(&root, b"notes").unwrap_err().status, Status::PERM);
    assert_eq!(s.content(&file), b"abc");
    s.write(&other, 0, b"y", StableHow::FILE_SYNC).unwrap();
    lock(false);
    s.write(&file, 0, b"new", StableHow::FILE_SYNC).unwrap();
    s.remove(&root, b"notes").unwrap();
}

/// What clients of other protocols deny or lock of a resource fork is refused in `._name` with the statuses that it has for
/// data: docs/nfs.md.
#[test]
fn a_fork_that_others_deny_or_have_locked_is_refused_in_the_sidecar() {
    let export = export("share", 1, Arc::new(Memory::ticking()));
    let volume = export.volume.clone();
    let s = Session::with(vec![export]);
    s.file("notes", b"abc");
    let root = volume.root().unwrap();
    let found = volume.lookup(&Caller::root(), &root.object, b"notes").unwrap();
    let open = |access, deny| {
        let place = Some(Beside { folder: &root.object, name: b"notes" });
        let options = OpenOptions { stream: Stream::Resource, deny, place, ..OpenOptions::data(access) };
        now(volume.open(&actor(&Caller::root()), &found, options)).unwrap()
    };
    let write = open(Modes::WRITE, Modes::NONE);
    now(write.write_at(0, Bytes::from_static(b"0123456789"), Stability::Unstable)).unwrap();
    drop(write);
    let sidecar = s.lookup(&s.root, b"._notes").unwrap().handle;
    let start = u64::from(s.attributes(&sidecar).size as u32) - 10; // the fork is last
    let statuses = || {
        [
            s.read(&sidecar, start, 4).err().map(|fail| fail.status),
            s.write(&sidecar, start, b"x", StableHow::UNSTABLE).err().map(|fail| fail.status),
            s.setattr(&sidecar, size(0), None).err().map(|fail| fail.status),
            s.rename((&s.root, b"._notes"), (&s.root, b"other")).err().map(|fail| fail.status),
            s.remove(&s.root, b"._notes").err().map(|fail| fail.status),
        ]
    };
    let denying = open(Modes::READ, Modes::READ | Modes::WRITE);
    assert_eq!(statuses(), [Some(Status::ACCES); 5]);
    let head = s.read(&sidecar, 0, 4096).unwrap();
    assert_eq!((head.data.len() as u64, head.eof), (start, false));
    drop(denying);
    let locking = open(Modes::READ | Modes::WRITE, Modes::NONE);
    now(locking.lock(Range::new(0, 4).unwrap(), LockKind::Exclusive)).unwrap();
    assert_eq!(statuses(), [Some(Status::ACCES); 5]);
    drop(locking);
    assert_eq!(s.read(&sidecar, start, 4).unwrap().data, b"0123");
    s.remove(&s.root, b"._notes").unwrap();
}
