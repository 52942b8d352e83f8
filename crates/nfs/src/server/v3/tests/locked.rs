//! A file that a Mac or Windows has locked is refused with EPERM, as UNIX refuses a file with such
//! a flag (chflags(2), ioctl_iflags(2)).

use vfs::mac::Metadata;
use vfs::{Beside, Caller};

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
