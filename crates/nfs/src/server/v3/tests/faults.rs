//! The host's errors and the status of RFC 1813 2.6 for each, whichever call to the host fails.

use vfs::Error;
use vfs::backend::faulty::{Call, Faulty};

use super::*;

/// Errors of a host and their statuses.
const FACTS: [(Error, Status); 14] = [
    (Error::NoSpace, Status::NOSPC),
    (Error::QuotaExceeded, Status::DQUOT),
    (Error::Io, Status::IO),
    (Error::AccessDenied, Status::ACCES),
    (Error::NotPermitted, Status::PERM),
    (Error::Stale, Status::STALE),
    (Error::ReadOnly, Status::ROFS),
    (Error::FileTooLarge, Status::FBIG),
    (Error::NoRoomForAttribute, Status::FBIG),
    (Error::TooManyLinks, Status::MLINK),
    (Error::NotSupported, Status::NOTSUPP),
    (Error::TooMany, Status::SERVERFAULT),
    (Error::Exhausted, Status::JUKEBOX),
    (Error::Busy, Status::ACCES),
];

/// An operation that returns its status.
type Action = fn(&Session) -> Status;

fn status<T, B>(result: Result<T, Fail<B>>) -> Status {
    result.err().map_or(Status::OK, |fail| fail.status)
}

fn notes(s: &Session) -> Handle {
    s.lookup(&s.root, b"notes").unwrap().handle
}

fn session() -> (Session, Arc<Faulty>) {
    let disk = Arc::new(Faulty::new(Memory::ticking()));
    let s = Session::over(disk.clone());
    s.file("notes", b"abc");
    s.folder("folder");
    s.symlink(&s.root, b"link", b"x").unwrap();
    (s, disk)
}

#[test]
fn each_fact_of_the_host_is_its_status() {
    let actions: [(Call, Action); 13] = [
        (Call::ByKey, |s| s.getattr(&s.root).err().unwrap_or(Status::OK)),
        (Call::Lookup, |s| status(s.lookup(&s.root, b"notes"))),
        (Call::Create, |s| status(s.create(&s.root, b"new", CreateHow::Guarded(mode(0o644))))),
        (Call::Create, |s| status(s.mkdir(&s.root, b"new", mode(0o755)))),
        (Call::Create, |s| status(s.symlink(&s.root, b"new", b"x"))),
        (Call::Create, |s| status(s.mknod(&s.root, b"new", MknodData::Fifo(mode(0o644))))),
        (Call::Remove, |s| status(s.remove(&s.root, b"notes"))),
        (Call::RemoveFolder, |s| status(s.rmdir(&s.root, b"folder"))),
        (Call::Rename, |s| status(s.rename((&s.root, b"notes"), (&s.root, b"new")))),
        (Call::List, |s| status(s.readdir(&s.root, 0, 4096))),
        (Call::List, |s| status(s.readdirplus(&s.root, 0, 4096, 4096))),
        (Call::Space, |s| status(s.fsstat(&s.root))),
        (Call::Access, |s| status(s.access(&s.root, 1))),
    ];
    for (error, expected) in FACTS {
        for (number, (call, action)) in actions.iter().enumerate() {
            let (s, disk) = session();
            disk.plan().fail_from(1, Some(*call), error);
            assert_eq!(action(&s), expected, "{error:?} of {call:?}, action {number}");
            disk.plan().clear();
            assert_eq!(action(&s), Status::OK, "{call:?}, action {number}, when it works again");
        }
    }
}

#[test]
fn each_fact_about_data_is_its_status() {
    for (error, expected) in FACTS {
        let (s, disk) = session();
        let file = notes(&s);
        let link = s.lookup(&s.root, b"link").unwrap().handle;
        let failing = |call| disk.plan().fail(1, Some(call), error);
        failing(Call::ReadAt);
        assert_eq!(status(s.read(&file, 0, 3)), expected, "{error:?} reading");
        failing(Call::WriteAt);
        let now = s.attributes(&file);
        let fail = s.write(&file, 0, b"x", StableHow::UNSTABLE).unwrap_err();
        assert_eq!(fail.status, expected, "{error:?} writing");
        assert_wcc(&fail.body, &now, &now);
        failing(Call::WriteAt);
        assert_eq!(status(s.write(&file, 0, b"x", StableHow::FILE_SYNC)), expected, "{error:?} writing");
        failing(Call::Sync);
        assert_eq!(status(s.commit(&file)), expected, "{error:?} committing");
        failing(Call::SetAttributes);
        assert_eq!(status(s.setattr(&file, mode(0o600), None)), expected, "{error:?} setting");
        failing(Call::Prepare);
        assert_eq!(status(s.read(&file, 0, 3)), expected, "{error:?} opening");
        failing(Call::ReadLink);
        assert_eq!(status(s.readlink(&link)), expected, "{error:?} reading a link");
        failing(Call::Link);
        assert_eq!(status(s.link(&file, &s.root, b"new")), expected, "{error:?} linking");
        assert_eq!(s.content(&file), b"abc");
    }
}

#[test]
fn whichever_call_fails_the_answer_says_so_and_the_next_one_works() {
    let actions: [fn(&Session, &[u8]) -> Status; 17] = [
        |s, file| s.getattr(file).err().unwrap_or(Status::OK),
        |s, file| status(s.setattr(file, size(2), None)),
        |s, _| status(s.lookup(&s.root, b"notes")),
        |s, _| status(s.access(&s.root, 0x3f)),
        |s, file| status(s.read(file, 0, 3)),
        |s, file| status(s.write(file, 0, b"x", StableHow::UNSTABLE)),
        |s, file| status(s.write(file, 0, b"x", StableHow::FILE_SYNC)),
        |s, file| status(s.commit(file)),
        |s, _| status(s.create(&s.root, b"new", CreateHow::Unchecked(size(5)))),
        |s, _| status(s.create(&s.root, b"new", CreateHow::Exclusive([1; 8]))),
        |s, _| status(s.mkdir(&s.root, b"new", mode(0o755))),
        |s, _| status(s.remove(&s.root, b"notes")),
        |s, _| status(s.rmdir(&s.root, b"folder")),
        |s, _| status(s.rename((&s.root, b"notes"), (&s.root, b"new"))),
        |s, file| status(s.link(file, &s.root, b"new")),
        |s, _| status(s.readdir(&s.root, 0, 4096)),
        |s, _| status(s.readdirplus(&s.root, 0, 4096, 4096)),
    ];
    for (number, action) in actions.iter().enumerate() {
        for nth in 1.. {
            assert!(nth < 50, "action {number} asks the host too often");
            let (s, disk) = session();
            let file = notes(&s);
            let before = disk.plan().calls(None);
            disk.plan().fail(nth, None, Error::Io);
            let status = action(&s, &file);
            let asked = disk.plan().calls(None) - before;
            disk.plan().clear();
            assert!(matches!(status, Status::OK | Status::IO), "action {number}, call {nth}: {status:?}");
            assert!(s.getattr(&s.root).is_ok() && s.readdir(&s.root, 0, 4096).is_ok());
            if asked < nth {
                assert_eq!(status, Status::OK);
                break;
            }
        }
    }
}
