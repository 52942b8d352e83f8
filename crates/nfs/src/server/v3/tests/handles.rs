//! File handles, RFC 1813 2.6 (STALE, BADHANDLE) and 3.3: the file of a handle, and handles that
//! this server did not make.

use std::time::{Duration, SystemTime};

use super::*;
use crate::server::{HandleSecret, Service};
use crate::wire::rpc::Outcome;

/// The status of every procedure with this handle as its first argument.
fn statuses(s: &Session, handle: &[u8]) -> Vec<(&'static str, Status)> {
    let all = vec![
        ("getattr", s.getattr(handle).err()),
        ("setattr", s.setattr(handle, mode(0o600), None).err().map(|fail| fail.status)),
        ("lookup", s.lookup(handle, b"a").err().map(|fail| fail.status)),
        ("access", s.access(handle, 0x3f).err().map(|fail| fail.status)),
        ("readlink", s.readlink(handle).err().map(|fail| fail.status)),
        ("read", s.read(handle, 0, 1).err().map(|fail| fail.status)),
        ("write", s.write(handle, 0, b"x", StableHow::FILE_SYNC).err().map(|fail| fail.status)),
        ("create", s.create(handle, b"a", CreateHow::Exclusive([1; 8])).err().map(|fail| fail.status)),
        ("mkdir", s.mkdir(handle, b"a", mode(0o755)).err().map(|fail| fail.status)),
        ("symlink", s.symlink(handle, b"a", b"x").err().map(|fail| fail.status)),
        ("mknod", s.mknod(handle, b"a", MknodData::Fifo(mode(0o644))).err().map(|fail| fail.status)),
        ("remove", s.remove(handle, b"a").err().map(|fail| fail.status)),
        ("rmdir", s.rmdir(handle, b"a").err().map(|fail| fail.status)),
        ("rename from", s.rename((handle, b"a"), (&s.root, b"b")).err().map(|fail| fail.status)),
        ("rename to", s.rename((&s.root, b"there"), (handle, b"b")).err().map(|fail| fail.status)),
        ("link", s.link(handle, &s.root, b"b").err().map(|fail| fail.status)),
        ("readdir", s.readdir(handle, 0, 4096).err().map(|fail| fail.status)),
        ("readdirplus", s.readdirplus(handle, 0, 4096, 4096).err().map(|fail| fail.status)),
        ("fsstat", s.fsstat(handle).err().map(|fail| fail.status)),
        ("fsinfo", s.fsinfo(handle).err().map(|fail| fail.status)),
        ("pathconf", s.pathconf(handle).err().map(|fail| fail.status)),
        ("commit", s.commit(handle).err().map(|fail| fail.status)),
    ];
    all.into_iter().map(|(procedure, status)| (procedure, status.unwrap_or(Status::OK))).collect()
}

fn refused(s: &Session, handle: &[u8], expected: Status) {
    for (procedure, status) in statuses(s, handle) {
        assert_eq!(status, expected, "{procedure}");
    }
}

#[test]
fn a_handle_of_a_removed_file_is_stale_everywhere() {
    let s = Session::new();
    s.file("there", b"");
    let file = s.file("notes", b"abc");
    s.remove(&s.root, b"notes").unwrap();
    refused(&s, &file, Status::STALE);
}

#[test]
fn a_new_file_with_the_number_of_a_removed_one_has_another_handle() {
    let s = Session::new();
    let old = s.file("notes", b"old");
    let number = s.attributes(&old).fileid;
    s.remove(&s.root, b"notes").unwrap();
    let new = s.file("notes", b"new");
    assert_eq!(s.attributes(&new).fileid, number, "the memory backend uses numbers again");
    assert_ne!(old, new);
    assert_eq!(s.getattr(&old), Err(Status::STALE));
}

#[test]
fn a_handle_that_this_server_did_not_make_is_badhandle_everywhere() {
    let s = Session::new();
    s.file("there", b"");
    let file = s.file("notes", b"abc");
    let mut flipped = file.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let longer = [&file[..], &[0]].concat();
    let half = &file[..file.len() / 2];
    for forged in [&flipped[..], &longer, half, b"", &[0; 64], &[0xff; 64], b"/etc/passwd"] {
        refused(&s, forged, Status::BADHANDLE);
    }
}

#[test]
fn a_handle_of_more_than_64_bytes_is_garbage() {
    let s = Session::new();
    let answer = s.call(Procedure::GETATTR, &getattr::Request { object: Opaque(&[0; 65]) });
    assert_eq!(answer.outcome, Outcome::GarbageArgs);
}

#[test]
fn a_handle_cannot_be_turned_to_another_share() {
    let exports = [("one", 1), ("two", 2)].map(|(name, tag)| export(name, tag, Arc::new(Memory::ticking())));
    let one = Session::with(exports.into());
    let two = Session::mounted(one.client.clone(), "/two");
    let file = one.file("notes", b"abc");
    // The tag is at bytes 4 to 7, as a handle of the other share shows.
    let mut turned = file.clone();
    turned[4..8].copy_from_slice(&two.root[4..8]);
    assert_ne!(turned, file);
    assert_eq!(one.getattr(&turned), Err(Status::BADHANDLE));
}

#[test]
fn a_handle_sealed_by_another_server_is_badhandle() {
    let ours = Session::new();
    let theirs = Service::new(
        vec![export("share", 1, Arc::new(Memory::ticking()))],
        HandleSecret::new([8; 16]),
        SystemTime::UNIX_EPOCH,
    );
    let theirs = Session::mounted(Client::new(&theirs), "/share");
    assert_eq!(ours.getattr(&theirs.root), Err(Status::BADHANDLE));
}

#[test]
fn handles_outlive_a_restart() {
    let disk = Arc::new(Memory::ticking());
    let s = Session::over(disk.clone());
    let file = s.file("notes", b"abc");
    s.rename((&s.root, b"notes"), (&s.root, b"moved")).unwrap();
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let next = Service::new(vec![export("share", 1, disk)], HandleSecret::new([7; 16]), started);
    let next = s.becoming(Client::new(&next));
    assert_eq!(next.content(&file), b"abc");
    assert_eq!(next.lookup(&s.root, b"moved").unwrap().handle, file);
}

#[test]
fn handles_of_a_share_that_is_no_longer_offered_are_stale_and_come_back_with_it() {
    let disk = Arc::new(Memory::ticking());
    let s = Session::over(disk.clone());
    s.file("there", b"");
    let file = s.file("notes", b"abc");
    s.client.service.set_exports(vec![export("other", 2, Arc::new(Memory::ticking()))]);
    refused(&Session { client: s.client.clone(), root: s.root.clone() }, &file, Status::STALE);
    s.client.service.set_exports(vec![export("share", 1, disk)]);
    assert_eq!(s.content(&file), b"abc");
}
