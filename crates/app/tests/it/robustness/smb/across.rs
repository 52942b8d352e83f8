//! Opens, locks and leases of an SMB client bind clients of NFS, and vice versa, on one folder in
//! one process.
//!
//! | an NFS client… | while an SMB client has… | the answer |
//! |---|---|---|
//! | reads, writes, truncates, removes, renames | it open without sharing | NFS3ERR_ACCES: it may last |
//! | reads, writes, locks | a range locked | NFS3ERR_ACCES, DENIED |
//! | reads, writes, truncates, removes, renames | a lease or an oplock | NFS3ERR_JUKEBOX until it has been given up |
//! | looks up, reads | deleted it, and still open | as before |

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ::smb::client::Answer;
use ::smb::wire::change_notify::{self, CompletionFilter};
use ::smb::wire::create::{Disposition, Options, Request, ShareAccess};
use ::smb::wire::create_context::request::Context;
use ::smb::wire::create_context::values::{Lease, LeaseFlags};
use ::smb::wire::fscc::FileClass;
use ::smb::wire::fscc::file_info::Disposition as Disposal;
use ::smb::wire::fscc::file_name::Target;
use ::smb::wire::fscc::notify::{self, Action};
use ::smb::wire::oplock_break::{self, Notification, NotificationFlags, Oplock};
use ::smb::wire::security::AccessMask;
use ::smb::wire::{Command, FileKey, LeaseKey, LeaseState, OplockLevel, Status, lock};
use nfs::wire::nlm::NlmStat;
use nfs::wire::v3::types::{Sattr3, Status as NfsStatus};
use nfs::wire::v3::write::StableHow;

use super::client::{Smb, ok};
use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};
use crate::waiting::until;

/// One server, a client of each protocol, and a file with contents that both have looked up.
struct Scene {
    _top: tempfile::TempDir,
    share: PathBuf,
    server: Server,
    smb: Smb,
    nfs: Client,
    root: Vec<u8>,
    /// The NFS handle of "notes".
    handle: Vec<u8>,
}

const CONTENT: &[u8] = b"0123456789abcdefghij";

impl Scene {
    fn new() -> Self {
        let (top, share) = folder();
        let server = Server::start_with_smb(top.path(), &share);
        let (smb, mut nfs) = (Smb::enter(server.smb_port), Client::mount(server.port));
        let root = nfs.root.clone();
        let handle = nfs.create(&root, "notes").unwrap();
        nfs.write(&handle, 0, CONTENT, StableHow::FILE_SYNC).unwrap();
        Self { _top: top, share, server, smb, nfs, root, handle }
    }

    fn open(&mut self, change: impl FnOnce(&mut Request<'_>)) -> FileKey {
        self.smb
            .open("notes", |request| {
                request.disposition = Disposition::OPEN;
                change(request);
            })
            .unwrap()
    }

    fn reads(&mut self, offset: u64) -> Result<(), NfsStatus> {
        self.nfs.read(&self.handle, offset, 5).map(drop)
    }

    fn writes(&mut self, offset: u64) -> Result<(), NfsStatus> {
        self.nfs.write(&self.handle, offset, b"nfs", StableHow::UNSTABLE).map(drop)
    }

    fn cuts(&mut self) -> Result<(), NfsStatus> {
        self.nfs.setattr(&self.handle, Sattr3 { size: Some(12), ..Sattr3::default() })
    }

    /// LOCK, MS-SMB2 2.2.26.
    fn lock(
        &mut self,
        file: FileKey,
        (offset, length): (u64, u64),
        flags: lock::Flags,
    ) -> Result<(), Status> {
        let locks = vec![lock::Element { offset, length, flags }];
        let request = lock::Request { sequence_number: 0, sequence_index: 0, file, locks };
        ok(&self.smb.call(Command::LOCK, |w| request.encode(w)))
    }

    /// Opens with all rights that a lease can have.
    fn lease(&mut self) -> FileKey {
        let state = LeaseState::READ | LeaseState::HANDLE | LeaseState::WRITE;
        let lease = Lease { key: LeaseKey(*b"a key of a lease"), state, flags: LeaseFlags::NONE, v2: None };
        let context = Context::Lease(lease);
        self.open(|request| {
            request.oplock_level = OplockLevel::LEASE;
            request.contexts = vec![context.encode()];
        })
    }

    /// Returns the lease state that the server requests; acknowledges it, MS-SMB2 2.2.24.2.
    fn gives_up(&mut self) -> LeaseState {
        let Notification::Lease(told) = notification(&self.smb.notified()) else { panic!("not of a lease") };
        assert!(told.flags.contains(NotificationFlags::ACK_REQUIRED));
        let ack = oplock_break::LeaseBreak { key: told.key, state: told.new_state };
        let answer = self.smb.call(Command::OPLOCK_BREAK, |w| ack.encode(w));
        assert_eq!(answer.status(), Status::SUCCESS);
        told.new_state
    }

    /// Repeats a request, as an NFS client does after JUKEBOX.
    fn until_done(&mut self, mut ask: impl FnMut(&mut Self) -> Result<(), NfsStatus>) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while let Err(status) = ask(self) {
            assert_eq!(status, NfsStatus::JUKEBOX);
            assert!(Instant::now() < deadline, "still blocked");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn notification(answer: &Answer) -> Notification {
    Notification::decode(&answer.message).unwrap()
}

#[test]
fn what_smb_does_not_share_nfs_may_not_touch() {
    let mut scene = Scene::new();
    let file = scene.open(|request| request.share_access = ShareAccess::NONE);
    let (root, denied) = (scene.root.clone(), Err(NfsStatus::ACCES));
    assert_eq!((scene.reads(0), scene.writes(0), scene.cuts()), (denied, denied, denied));
    assert_eq!(scene.nfs.remove(&root, "notes"), denied);
    assert_eq!(scene.nfs.rename(&root, "notes", "other"), denied);
    assert!(scene.nfs.getattr(&scene.handle).is_ok());
    assert_eq!(std::fs::read(scene.share.join("notes")).unwrap(), CONTENT);
    scene.smb.close(file).unwrap();

    scene.open(|request| request.share_access = ShareAccess::READ | ShareAccess::DELETE);
    assert_eq!((scene.reads(0), scene.writes(0), scene.cuts()), (Ok(()), denied, denied));
    assert_eq!(scene.nfs.rename(&root, "notes", "other"), Ok(()));
}

#[test]
fn a_lost_connection_frees_what_it_did_not_share() {
    let mut scene = Scene::new();
    scene.open(|request| request.share_access = ShareAccess::NONE);
    scene.smb = Smb::enter_as_machine(scene.server.smb_port, 2);
    until("the open of the lost connection stays", || scene.writes(0).is_ok());
}

#[test]
fn a_range_locked_over_smb_binds_nfs() {
    let mut scene = Scene::new();
    let file = scene.open(|_| ());
    let at_once = lock::Flags::FAIL_IMMEDIATELY;
    scene.lock(file, (0, 10), lock::Flags::EXCLUSIVE | at_once).unwrap();
    let (handle, refused) = (scene.handle.clone(), Err(NfsStatus::ACCES));
    assert_eq!((scene.reads(0), scene.writes(5), scene.cuts()), (refused, refused, Ok(())));
    assert_eq!((scene.reads(10), scene.writes(10)), (Ok(()), Ok(())));
    assert_eq!(scene.nfs.lock(&handle, 1, (5, 10), false), NlmStat::DENIED);
    assert_eq!(scene.nfs.lock(&handle, 1, (10, 5), true), NlmStat::GRANTED);
    scene.lock(file, (0, 10), lock::Flags::UNLOCK).unwrap();
    assert_eq!((scene.reads(0), scene.writes(5)), (Ok(()), Ok(())));

    scene.lock(file, (0, 10), lock::Flags::SHARED | at_once).unwrap();
    assert_eq!((scene.reads(0), scene.writes(5)), (Ok(()), refused));
    assert_eq!(scene.nfs.lock(&handle, 1, (0, 5), false), NlmStat::GRANTED);
    assert_eq!(scene.nfs.lock(&handle, 1, (5, 5), true), NlmStat::DENIED);
    scene.smb.close(file).unwrap();
    assert_eq!(scene.nfs.lock(&handle, 1, (0, 10), true), NlmStat::GRANTED);
}

#[test]
fn a_range_locked_over_nfs_binds_locks_of_smb_and_not_its_reads_and_writes() {
    let mut scene = Scene::new();
    let (handle, file) = (scene.handle.clone(), scene.open(|_| ()));
    assert_eq!(scene.nfs.lock(&handle, 1, (0, 10), true), NlmStat::GRANTED);
    let at_once = lock::Flags::EXCLUSIVE | lock::Flags::FAIL_IMMEDIATELY;
    assert_eq!(scene.lock(file, (9, 1), at_once), Err(Status::LOCK_NOT_GRANTED));
    assert_eq!(scene.lock(file, (10, 5), at_once), Ok(()));
    assert_eq!(scene.smb.read(file, 0, 5).as_deref(), Ok(&CONTENT[..5]));
    assert_eq!(scene.smb.write(file, 0, b"smb"), Ok(()));

    // A waiting lock gets an interim response, and is granted when NFS releases its lock: MS-SMB2
    // 3.3.5.14.2.
    let locks = vec![lock::Element { offset: 0, length: 5, flags: lock::Flags::EXCLUSIVE }];
    let request = lock::Request { sequence_number: 0, sequence_index: 0, file, locks };
    let request = scene.smb.request(Command::LOCK, |w| request.encode(w));
    let message = scene.smb.start(request).unwrap();
    scene.smb.told_to_wait(message);
    assert_eq!(scene.nfs.unlock(&handle, 1, (0, 10)), NlmStat::GRANTED);
    assert_eq!(scene.smb.answer(message).unwrap().status(), Status::SUCCESS);
    assert_eq!(scene.nfs.lock(&handle, 1, (0, 1), false), NlmStat::DENIED);
}

#[test]
fn a_lease_is_given_up_before_nfs_has_its_way() {
    type Ask = fn(&mut Scene) -> Result<(), NfsStatus>;
    let read = LeaseState::READ;
    // When others read, data need only be written back; when others write, caching must end: MS-FSA
    // 2.1.4.12.
    let cases: [(&str, Ask, LeaseState); 5] = [
        ("read", |scene| scene.reads(0), read | LeaseState::HANDLE),
        ("write", |scene| scene.writes(3), LeaseState::NONE),
        ("cut", Scene::cuts, LeaseState::NONE),
        ("rename", |scene| scene.nfs.rename(&scene.root.clone(), "notes", "other"), read),
        ("remove", |scene| scene.nfs.remove(&scene.root.clone(), "notes"), read),
    ];
    for (what, ask, left) in cases {
        let mut scene = Scene::new();
        let file = scene.lease();
        assert_eq!(ask(&mut scene), Err(NfsStatus::JUKEBOX), "{what}");
        // A look at the data by this process would break the lease.
        let length = std::fs::metadata(scene.share.join("notes")).unwrap().len();
        assert_eq!(length, CONTENT.len() as u64, "{what}: not done yet");
        // The client's cached write arrives now, and takes effect.
        scene.smb.write(file, 0, b"cached").unwrap();
        assert_eq!(ask(&mut scene), Err(NfsStatus::JUKEBOX), "{what}");
        assert_eq!(scene.gives_up(), left, "{what}");
        scene.until_done(ask);
        let expected: &[u8] = match what {
            "write" => b"cacnfs6789abcdefghij",
            "cut" => b"cached6789ab",
            _ => b"cached6789abcdefghij",
        };
        assert_eq!(scene.smb.content(file).unwrap(), expected, "{what}");
        assert_eq!(scene.share.join("notes").exists(), !matches!(what, "rename" | "remove"), "{what}");
    }
}

#[test]
fn a_read_lease_is_broken_by_a_write_without_waiting() {
    let mut scene = Scene::new();
    let file = scene.lease();
    assert_eq!(scene.reads(0), Err(NfsStatus::JUKEBOX));
    assert_eq!(scene.gives_up(), LeaseState::READ | LeaseState::HANDLE);
    scene.until_done(|scene| scene.reads(0));
    assert_eq!(scene.nfs.rename(&scene.root.clone(), "notes", "other"), Err(NfsStatus::JUKEBOX));
    assert_eq!(scene.gives_up(), LeaseState::READ);
    scene.until_done(|scene| scene.nfs.rename(&scene.root.clone(), "notes", "other"));
    assert_eq!(scene.writes(0), Ok(()));
    let Notification::Lease(told) = notification(&scene.smb.notified()) else { panic!("not of a lease") };
    assert_eq!((told.flags, told.new_state), (NotificationFlags::NONE, LeaseState::NONE));
    assert_eq!(scene.smb.read(file, 0, 3).unwrap(), b"nfs");
}

#[test]
fn a_batch_oplock_is_given_up_before_nfs_has_its_way() {
    let mut scene = Scene::new();
    let file = scene.open(|request| request.oplock_level = OplockLevel::BATCH);
    assert_eq!(scene.writes(0), Err(NfsStatus::JUKEBOX));
    let Notification::Oplock(told) = notification(&scene.smb.notified()) else { panic!("not of an oplock") };
    assert_eq!(told.file, file);
    let level = told.level;
    let answer = scene.smb.call(Command::OPLOCK_BREAK, |w| Oplock { level, file }.encode(w));
    assert_eq!(answer.status(), Status::SUCCESS);
    scene.until_done(|scene| scene.writes(0));
    assert_eq!(scene.smb.read(file, 0, 5).unwrap(), b"nfs34");
}

#[test]
fn a_client_that_holds_a_lease_and_is_lost_does_not_stand_in_the_way() {
    let mut scene = Scene::new();
    scene.lease();
    assert_eq!(scene.writes(0), Err(NfsStatus::JUKEBOX));
    scene.smb = Smb::enter_as_machine(scene.server.smb_port, 2);
    scene.until_done(|scene| scene.writes(0));
}

/// Starts to watch the share's folder.
fn watch(smb: &mut Smb) -> u64 {
    let file = smb
        .open("", |request| {
            request.desired_access = AccessMask::READ_DATA.0;
            request.options = Options::DIRECTORY_FILE;
            request.disposition = Disposition::OPEN;
        })
        .unwrap();
    watch_again(smb, file).1
}

fn watch_again(smb: &mut Smb, file: FileKey) -> (FileKey, u64) {
    let request = change_notify::Request {
        flags: change_notify::Flags::NONE,
        output_buffer_length: 4096,
        file,
        completion_filter: CompletionFilter::FILE_NAME | CompletionFilter::DIR_NAME,
    };
    let id = smb.start(smb.request(Command::CHANGE_NOTIFY, |w| request.encode(w))).unwrap();
    smb.told_to_wait(id);
    (file, id)
}

/// The changes that a watch has reported.
fn told(smb: &mut Smb, watch: u64) -> Vec<(Action, String)> {
    let answer = smb.answer(watch).unwrap();
    assert_eq!(answer.status(), Status::SUCCESS);
    let list = change_notify::Response::decode(&answer.message).unwrap().data;
    let changes = notify::decode(&mut wire::Reader::new(&list)).unwrap();
    changes.into_iter().map(|change| (change.action, String::from_utf16(&change.name).unwrap())).collect()
}

#[test]
fn changes_over_nfs_and_by_local_programs_are_told() {
    type Change = fn(&mut Scene);
    let cases: [(Change, Action, &str); 5] = [
        (|scene| drop(scene.nfs.create(&scene.root.clone(), "new").unwrap()), Action::ADDED, "new"),
        (|scene| drop(scene.nfs.mkdir(&scene.root.clone(), "folder").unwrap()), Action::ADDED, "folder"),
        (|scene| scene.nfs.remove(&scene.root.clone(), "notes").unwrap(), Action::REMOVED, "notes"),
        (|scene| std::fs::write(scene.share.join("local"), b"x").unwrap(), Action::ADDED, "local"),
        (|scene| std::fs::remove_file(scene.share.join("notes")).unwrap(), Action::REMOVED, "notes"),
    ];
    for (change, action, name) in cases {
        let mut scene = Scene::new();
        let watch = watch(&mut scene.smb);
        change(&mut scene);
        assert_eq!(told(&mut scene.smb, watch).first(), Some(&(action, name.to_owned())));
    }
    let mut scene = Scene::new();
    let watch = watch(&mut scene.smb);
    scene.nfs.rename(&scene.root.clone(), "notes", "other").unwrap();
    let told = told(&mut scene.smb, watch);
    let renamed =
        [(Action::RENAMED_OLD_NAME, "notes".to_owned()), (Action::RENAMED_NEW_NAME, "other".to_owned())];
    assert_eq!(told, renamed);
}

#[test]
fn a_file_deleted_over_smb_goes_with_its_last_open_and_nfs_sees_it_until_then() {
    let mut scene = Scene::new();
    let root = scene.root.clone();
    let kept = scene.open(|_| ());
    let deleted = scene.open(|request| {
        request.desired_access = AccessMask::DELETE.0;
        request.options = Options::DELETE_ON_CLOSE;
    });
    scene.smb.close(deleted).unwrap();
    assert_eq!(scene.smb.open("notes", |_| ()), Err(Status::DELETE_PENDING)); // MS-FSA 2.1.5.1.2
    assert_eq!(scene.nfs.lookup(&root, "notes").as_ref(), Ok(&scene.handle));
    assert_eq!(scene.reads(0), Ok(()));
    assert_eq!(scene.nfs.names(&root).unwrap().iter().filter(|name| *name == "notes").count(), 1);
    scene.smb.close(kept).unwrap();
    assert_eq!(scene.nfs.lookup(&root, "notes"), Err(NfsStatus::NOENT));
    assert_eq!(scene.reads(0), Err(NfsStatus::STALE));
    assert!(!scene.share.join("notes").exists());
}

#[test]
fn a_deletion_that_is_taken_back_leaves_the_file() {
    let mut scene = Scene::new();
    let file = scene.open(|_| ());
    for delete_pending in [true, false] {
        let set = scene.smb.set(file, FileClass::DISPOSITION, |w| Disposal { delete_pending }.encode(w));
        assert_eq!(set, Ok(()));
        assert_eq!(scene.reads(0), Ok(()));
    }
    scene.smb.close(file).unwrap();
    assert_eq!(scene.reads(0), Ok(()));
}

#[test]
fn a_file_renamed_over_smb_keeps_its_handle_and_the_one_in_its_place_is_gone() {
    let mut scene = Scene::new();
    let root = scene.root.clone();
    let other = scene.nfs.create(&root, "other").unwrap();
    let file = scene.open(|_| ());
    let target =
        Target { replace_if_exists: true, root_directory: 0, name: "Other".encode_utf16().collect() };
    assert_eq!(scene.smb.set(file, FileClass::RENAME, |w| target.encode(w)), Ok(()));
    assert_eq!(scene.nfs.lookup(&root, "other").as_ref(), Ok(&scene.handle));
    assert_eq!(scene.nfs.lookup(&root, "notes"), Err(NfsStatus::NOENT));
    assert_eq!(scene.nfs.content(&scene.handle).unwrap(), CONTENT);
    assert_eq!(scene.nfs.getattr(&other).err(), Some(NfsStatus::STALE));
    assert_eq!(scene.nfs.names(&root).unwrap().iter().filter(|name| *name == "other").count(), 1);
    assert_eq!(scene.smb.content(file).unwrap(), CONTENT);
}

#[test]
fn what_nfs_writes_smb_reads_and_the_other_way_round() {
    let mut scene = Scene::new();
    let file = scene.open(|_| ());
    assert_eq!(scene.smb.content(file).unwrap(), CONTENT);
    scene.writes(0).unwrap();
    assert_eq!(scene.smb.read(file, 0, 5).unwrap(), b"nfs34");
    scene.smb.write(file, 0, b"smb").unwrap();
    assert_eq!(scene.nfs.read(&scene.handle, 0, 5).unwrap().bytes, b"smb34");
    scene.cuts().unwrap();
    assert_eq!(scene.smb.content(file).unwrap(), b"smb3456789ab");
    scene.nfs.rename(&scene.root.clone(), "notes", "Other").unwrap();
    assert_eq!(scene.smb.read(file, 0, 3).unwrap(), b"smb");
    let again = scene.smb.open("OTHER", |request| request.disposition = Disposition::OPEN).unwrap();
    assert_eq!(scene.smb.read(again, 0, 3).unwrap(), b"smb");
}
