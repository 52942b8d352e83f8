//! Data that survive a power cut, RFC 1813 3.3.7 and 3.3.21: data written with DATA_SYNC or
//! FILE_SYNC, or committed.

use vfs::backend::faulty::{Call, Faulty};

use super::*;

fn session() -> (Session, Arc<Faulty>) {
    let disk = Arc::new(Faulty::losing_writes(Memory::ticking()));
    (Session::over(disk.clone()), disk)
}

#[test]
fn unstable_data_is_read_back_before_and_may_be_gone_after() {
    let (s, disk) = session();
    let file = s.file("notes", b"");
    s.write(&file, 0, b"abc", StableHow::UNSTABLE).unwrap();
    assert_eq!(s.content(&file), b"abc");
    disk.crash();
    // UNSTABLE data are not put on the disk: an UNSTABLE write costs no sync.
    assert_eq!(s.content(&file), b"");
}

#[test]
fn stable_data_is_there_after() {
    for level in [StableHow::DATA_SYNC, StableHow::FILE_SYNC] {
        let (s, disk) = session();
        let file = s.file("notes", b"");
        let ok = s.write(&file, 0, b"abc", level).unwrap();
        assert!(ok.committed.0 >= level.0);
        disk.crash();
        assert_eq!(s.content(&file), b"abc", "{level:?}");
    }
}

#[test]
fn committed_data_is_there_after_whatever_range_was_asked_for() {
    for (offset, count) in [(0, 0), (0, 3), (1, 1), (100, 5), (u64::MAX, u32::MAX)] {
        let (s, disk) = session();
        let file = s.file("notes", b"");
        s.write(&file, 0, b"abc", StableHow::UNSTABLE).unwrap();
        s.write(&file, 3, b"def", StableHow::UNSTABLE).unwrap();
        let before = s.attributes(&file);
        let request = commit::Request { file: Opaque(&file), offset, count };
        let ok = s.call(Procedure::COMMIT, &request).value::<commit::Res>().unwrap();
        assert_eq!(ok.wcc.before, Some(before.wcc()));
        assert_eq!(ok.wcc.after.map(|now| now.size), Some(6));
        disk.crash();
        if (offset, count) == (0, 0) || offset < 6 {
            assert_eq!(s.content(&file), b"abcdef", "{offset} {count}");
        }
    }
}

#[test]
fn a_stable_write_leaves_unstable_ones_before_it_in_order() {
    let (s, disk) = session();
    let file = s.file("notes", b"");
    s.write(&file, 0, b"aaaa", StableHow::UNSTABLE).unwrap();
    s.write(&file, 1, b"bb", StableHow::FILE_SYNC).unwrap();
    disk.crash();
    assert_eq!(&s.content(&file)[1..3], b"bb");
}

#[test]
fn a_commit_that_failed_promises_nothing_and_says_so() {
    let (s, disk) = session();
    let file = s.file("notes", b"");
    s.write(&file, 0, b"abc", StableHow::UNSTABLE).unwrap();
    disk.plan().fail(1, Some(Call::Sync), vfs::Error::Io);
    let fail = s.commit(&file).unwrap_err();
    assert_eq!(fail.status, Status::IO);
    assert!(fail.body.before.is_some() && fail.body.after.is_some());
    assert!(s.commit(&file).is_ok());
    disk.crash();
    assert_eq!(s.content(&file), b"abc");
}

#[test]
fn names_are_there_after_their_reply() {
    let (s, disk) = session();
    s.file("a", b"");
    s.rename((&s.root, b"a"), (&s.root, b"b")).unwrap();
    s.folder("folder");
    disk.crash();
    assert!(s.lookup(&s.root, b"b").is_ok() && s.lookup(&s.root, b"folder").is_ok());
    assert_eq!(s.lookup(&s.root, b"a").unwrap_err().status, Status::NOENT);
}
