use super::*;
use crate::backend::faulty::Call;
use crate::{Error, SetAttributes};

#[test]
fn a_fork_of_one_byte_is_a_header_of_82_bytes_and_the_byte() {
    let disk = Disk::new();
    let file = disk.make("f");
    disk.put_fork(&file, b"!");
    assert_eq!(disk.fork(&file), b"!");
    let sidecar = content(&*disk.find("._f").unwrap().object);
    assert_eq!(
        (sidecar.len(), &sidecar[..8], &sidecar[82..]),
        (83, &b"\0\x05\x16\x07\0\x02\0\0"[..], &b"!"[..])
    );
    assert_eq!(sidecar[38..50], [0, 0, 0, 2, 0, 0, 0, 82, 0, 0, 0, 1]); // the row of the fork
}

#[test]
fn a_sidecar_says_whose_it_is_and_looks_like_its_file() {
    let disk = Disk::new();
    let file = disk.make("f");
    disk.put_fork(&file, b"!");
    let sidecar = disk.find("._f").unwrap().object;
    assert_eq!(sidecar.xattr(b"user.fourfold.owner").unwrap(), file.object.key().as_bytes());
    let attributes = sidecar.attributes().unwrap();
    assert_eq!((attributes.uid, attributes.gid, attributes.mode), (10, 20, 0o644));
}

#[test]
fn a_sidecar_is_no_more_readable_than_its_file() {
    let disk = Disk::new();
    let file = disk.make("f");
    disk.put_fork(&file, b"!");
    let secret = SetAttributes { mode: Some(0o700), ..Default::default() };
    file.object.set_attributes(&user(), &secret).unwrap();
    disk.streams.dress(&file.file()).unwrap();
    assert_eq!(disk.find("._f").unwrap().object.attributes().unwrap().mode, 0o600);
}

#[test]
fn a_fork_of_no_bytes_leaves_no_sidecar() {
    let disk = Disk::new();
    let file = disk.make("f");
    disk.put_fork(&file, b"resources");
    let mut fork = disk.streams.fork_to_write(&user(), &file.file()).unwrap();
    fork.truncate(0).unwrap();
    assert_eq!(disk.streams.fork_len(&file.file()), Ok(0));
    disk.streams.settle(&file.file()).unwrap();
    assert!(!disk.has("._f"));
    assert_eq!(disk.fork(&file), b"");
}

#[test]
fn a_fork_of_5_gb_is_read_at_its_end_and_costs_what_was_written() {
    let disk = Disk::new();
    let file = disk.make("f");
    let end = 5_000_000_000_u64;
    let mut fork = disk.streams.fork_to_write(&user(), &file.file()).unwrap();
    fork.write_at(end - 3, b"end", Stability::File).unwrap();
    assert_eq!(disk.streams.fork_len(&file.file()), Ok(end));
    let mut bytes = Vec::new();
    let fork = disk.streams.fork(&user(), &file.file()).unwrap().unwrap();
    assert_eq!(fork.read_at(end - 5, 10, &mut bytes, Wait::Allowed), Ok(5));
    assert_eq!(bytes, b"\0\0end");
    let sidecar = disk.find("._f").unwrap().object;
    assert!(sidecar.attributes().unwrap().allocated < 20_000);
    let mut head = Vec::new();
    sidecar.read_at(46, 4, &mut head, Wait::Allowed).unwrap();
    assert_eq!(head, [0xFF; 4]); // more than the row can say
    let mut fork = disk.streams.fork_to_write(&user(), &file.file()).unwrap();
    fork.truncate(4).unwrap();
    assert_eq!(disk.fork(&file), [0; 4]);
}

#[test]
fn writes_leave_gaps_and_truncation_cuts() {
    let disk = Disk::new();
    let file = disk.make("f");
    let mut fork = disk.streams.fork_to_write(&user(), &file.file()).unwrap();
    fork.write_at(4, b"5678", Stability::Unstable).unwrap();
    fork.write_at(1, b"2", Stability::Unstable).unwrap();
    fork.truncate(6).unwrap();
    fork.truncate(8).unwrap();
    assert_eq!(disk.fork(&file), b"\x002\0\x0056\0\0");
    assert_eq!(fork.write_at(u64::MAX, b"x", Stability::Unstable), Err(Error::FileTooLarge));
    assert_eq!(fork.truncate(u64::MAX), Err(Error::FileTooLarge));
}

#[test]
fn a_synced_fork_survives_a_crash() {
    let mut disk = Disk::new();
    let file = disk.make("f");
    let mut fork = disk.streams.fork_to_write(&user(), &file.file()).unwrap();
    fork.write_at(0, b"kept", Stability::Unstable).unwrap();
    fork.sync(Stability::File).unwrap();
    fork.write_at(4, b" and lost", Stability::Unstable).unwrap();
    disk.crash();
    assert_eq!(disk.fork(&file), b"kept");
}

#[test]
fn another_files_sidecar_is_never_shown_and_gives_way() {
    let disk = Disk::new();
    let old = disk.make("f");
    disk.put_fork(&old, b"old");
    disk.root().remove(&user(), b"f").unwrap(); // by a program that does not know of sidecars
    drop(old);
    let new = disk.make("f");
    assert_eq!(disk.fork(&new), b"");
    disk.put_fork(&new, b"new");
    assert_eq!(disk.fork(&new), b"new");
}

#[test]
fn a_plain_file_with_a_sidecars_name_is_left_alone() {
    let disk = Disk::new();
    let file = disk.make("f");
    let plain = disk.put("._f", b"just some text");
    assert_eq!(disk.fork(&file), b"");
    let refused = disk.streams.fork_to_write(&user(), &file.file()).map(drop);
    assert_eq!(refused, Err(Error::Exists));
    assert_eq!(content(&*plain), b"just some text");
}

#[test]
fn forks_are_opened_by_those_who_may_open_the_file() {
    let disk = Disk::new();
    let file = disk.make("f");
    disk.put_fork(&file, b"x");
    let other = Caller::new(11, 21, &[]);
    assert!(disk.streams.fork(&other, &file.file()).is_ok());
    assert_eq!(disk.streams.fork_to_write(&other, &file.file()).map(drop), Err(Error::AccessDenied));
    let secret = SetAttributes { mode: Some(0o600), ..Default::default() };
    file.object.set_attributes(&user(), &secret).unwrap();
    assert_eq!(disk.streams.fork(&other, &file.file()).map(drop), Err(Error::AccessDenied));
    let link = disk.root().create(&user(), b"l", NewKind::Link(b"f"), 0o777).unwrap().object;
    let link = Owned { folder: disk.root(), name: b"l".into(), object: link };
    assert_eq!(disk.streams.fork(&user(), &link.file()).map(drop), Err(Error::NotSupported));
}

#[test]
fn a_file_without_a_fork_costs_one_look_up_and_one_question() {
    let disk = Disk::new();
    let file = disk.make("f");
    disk.streams.fork_len(&file.file()).unwrap();
    // The first file of a folder costs three look-ups more, of folders of other servers.
    let calls = || [None, Some(Call::Lookup)].map(|call| disk.faulty.plan().calls(call));
    let before = calls();
    assert_eq!(before[1], 1 + 3);
    disk.streams.fork_len(&file.file()).unwrap();
    // After a moment the folder is asked for the time of its last change.
    assert!((2..=3).contains(&(calls()[0] - before[0])));
    assert_eq!(calls()[1] - before[1], 1);
}
