//! Files whose extended attributes have no room for more, as on ext4.

use super::*;
use crate::Error;
use crate::backend::RenameMode;
use crate::mac::{DosAttributes, Metadata};

/// About what ext4 has in a block.
const ROOM: usize = 4_000;

/// A disk with this room, and a file with a stream that takes nearly all of it.
fn crowded() -> (Disk, Owned) {
    let memory = Memory::ticking();
    memory.set_xattr_room(ROOM);
    let disk = Disk::on(Faulty::losing_writes(memory));
    let file = disk.make("f");
    let long = vec![7; ROOM - 60];
    disk.streams.write_stream(&user(), &file.file(), b"long", 0, &long, Stability::File).unwrap();
    assert!(disk.streams.has_attribute(&*file.object, b"long").unwrap(), "it is in an attribute");
    (disk, file)
}

fn long_of(disk: &Disk, file: &Owned) -> Vec<u8> {
    let mut bytes = Vec::new();
    disk.streams.read_stream(&user(), &file.file(), b"long", (0, 9_000), &mut bytes).unwrap();
    bytes
}

#[test]
fn a_stream_makes_room_for_what_describes_its_file() {
    let (disk, file) = crowded();
    let mut metadata = Metadata::default();
    metadata.set_dos(DosAttributes::HIDDEN);
    metadata.comment = b"a comment".to_vec();
    metadata.times.created = Some(Time { secs: 1_000_000_000, nanos: 0 });
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
    let (stored, problems) = disk.streams.load(&file.file()).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!((stored.dos, &*stored.comment), (DosAttributes::HIDDEN, &b"a comment"[..]));
    assert_eq!(stored.times.created, metadata.times.created);
    assert_eq!(long_of(&disk, &file), vec![7; ROOM - 60]);
    assert!(!disk.streams.has_attribute(&*file.object, b"long").unwrap(), "it is in the store");
}

#[test]
fn what_one_attribute_says_need_not_fit_twice() {
    // Attributes of programs that are no streams: nothing can move.
    let memory = Memory::ticking();
    memory.set_xattr_room(ROOM);
    let disk = Disk::on(Faulty::losing_writes(memory));
    let file = disk.make("f");
    set_xattr(&*file.object, b"security.other", &vec![7; ROOM - 200]);
    let mut metadata = Metadata::default();
    metadata.set_dos(DosAttributes::HIDDEN);
    metadata.times.created = Some(Time { secs: 1_000_000_000, nanos: 0 });
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
    let stored = disk.streams.load(&file.file()).unwrap().0;
    assert_eq!((stored.dos, stored.times.created), (metadata.dos, metadata.times.created));
    // A comment has no other place.
    metadata.comment = b"a comment".to_vec();
    assert_eq!(disk.streams.store(&user(), &file.file(), &metadata), Err(Error::NoRoomForAttribute));
}

#[test]
fn a_file_without_room_moves_with_its_sidecar() {
    let (disk, file) = crowded();
    disk.put_fork(&file, b"fork");
    let root = disk.root();
    disk.streams.pairs().rename(&user(), (&*root, b"f"), (&*root, b"g"), RenameMode::Keep).unwrap();
    let moved = disk.find("g").unwrap();
    assert_eq!((disk.fork(&moved), long_of(&disk, &moved).len()), (b"fork".to_vec(), ROOM - 60));
}
