use std::sync::Arc;

use super::*;
use crate::backend::memory::Memory;
use crate::backend::{NewKind, RenameMode, Stability, Wait};
use crate::{Access, Caller, Error, SetAttributes};

fn root() -> Caller {
    Caller::root()
}

fn file(folder: &dyn Object, name: &[u8]) -> Arc<dyn Object> {
    folder.create(&root(), name, NewKind::File, 0o644).unwrap().object
}

fn content(object: &dyn Object) -> Vec<u8> {
    let mut bytes = Vec::new();
    object.read_at(0, 1 << 20, &mut bytes, Wait::Allowed).unwrap();
    bytes
}

fn write(object: &dyn Object, offset: u64, data: &[u8], stability: Stability) {
    object.write_at(&root(), offset, data, stability).unwrap();
}

#[test]
fn only_the_planned_call_fails_and_does_nothing() {
    let disk = Faulty::new(Memory::ticking());
    let top = disk.root().unwrap().object;
    disk.plan().fail(2, Some(Call::Create), Error::NoSpace);
    file(&*top, b"one");
    let refused = top.create(&root(), b"two", NewKind::File, 0o644).map(drop);
    assert_eq!(refused, Err(Error::NoSpace));
    assert_eq!(top.lookup(&root(), b"two").map(drop), Err(Error::NotFound));
    file(&*top, b"two");
    assert_eq!((disk.plan().calls(Some(Call::Create)), disk.plan().calls(None)), (3, 5));
}

#[test]
fn from_the_planned_call_on_all_fail_until_cleared() {
    let disk = Faulty::new(Memory::ticking());
    let top = disk.root().unwrap().object;
    disk.plan().fail_from(2, None, Error::Io);
    assert!(top.attributes().is_ok());
    assert_eq!(top.attributes().map(drop), Err(Error::Io));
    assert_eq!(top.lookup(&root(), b"x").map(drop), Err(Error::Io));
    disk.plan().clear();
    assert!(top.attributes().is_ok());
}

#[test]
fn a_stalled_file_delays_only_its_own_calls() {
    let disk = Arc::new(Faulty::new(Memory::ticking()));
    let top = disk.root().unwrap().object;
    let (slow, fast) = (file(&*top, b"slow"), file(&*top, b"fast"));
    disk.plan().stall(slow.id());
    let waiting = std::thread::spawn({
        let slow = slow.clone();
        move || content(&*slow)
    });
    while disk.plan().waiting() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(content(&*fast), b"");
    assert_eq!(slow.read_at(0, 1, &mut Vec::new(), Wait::Never), Err(Error::WouldBlock));
    disk.plan().release(slow.id());
    assert_eq!(waiting.join().unwrap(), b"");
}

#[test]
fn unsynced_writes_are_read_back_and_lost_in_a_crash() {
    let disk = Faulty::losing_writes(Memory::ticking());
    let file = file(&*disk.root().unwrap().object, b"f");
    write(&*file, 0, b"kept and", Stability::Data);
    write(&*file, 5, b"lost in a crash", Stability::Unstable);
    assert_eq!(content(&*file), b"kept lost in a crash");
    assert_eq!(file.attributes().unwrap().size, 20);
    disk.crash();
    assert_eq!(content(&*file), b"kept and");
    assert_eq!(file.attributes().unwrap().size, 8);
}

#[test]
fn synced_writes_survive_a_crash() {
    let disk = Faulty::losing_writes(Memory::ticking());
    let file = file(&*disk.root().unwrap().object, b"f");
    write(&*file, 0, b"abc", Stability::Unstable);
    write(&*file, 5, b"def", Stability::Unstable);
    file.sync(Stability::Data).unwrap();
    disk.crash();
    assert_eq!(content(&*file), b"abc\0\0def");
}

#[test]
fn metadata_survives_a_crash_in_order() {
    let disk = Faulty::losing_writes(Memory::ticking());
    let top = disk.root().unwrap().object;
    let file = file(&*top, b"f");
    write(&*file, 0, b"0123456789", Stability::Unstable);
    file.set_attributes(&root(), &SetAttributes { size: Some(4), ..Default::default() }).unwrap();
    top.rename(&root(), b"f", &*top, b"g", RenameMode::Replace).unwrap();
    disk.crash();
    let found = top.lookup(&root(), b"g").unwrap();
    assert_eq!((found.attributes.size, content(&*found.object)), (4, vec![0; 4]));
}

#[test]
fn a_truncation_cuts_unsynced_writes() {
    let disk = Faulty::losing_writes(Memory::ticking());
    let file = file(&*disk.root().unwrap().object, b"f");
    write(&*file, 2, b"23456789", Stability::Unstable);
    file.set_attributes(&root(), &SetAttributes { size: Some(4), ..Default::default() }).unwrap();
    file.set_attributes(&root(), &SetAttributes { size: Some(6), ..Default::default() }).unwrap();
    assert_eq!(content(&*file), [0, 0, b'2', b'3', 0, 0]);
    file.prepare(&root(), &file.attributes().unwrap(), Access::WRITE, false).unwrap();
    file.sync(Stability::File).unwrap();
    assert_eq!(content(&*file), [0, 0, b'2', b'3', 0, 0]);
}
