use super::*;
use crate::Error;
use crate::streams::STORE;

fn read(disk: &Disk, file: &Owned, name: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    disk.streams.read_stream(&user(), &file.file(), name, (0, 1 << 20), &mut bytes)?;
    Ok(bytes)
}

fn write(disk: &Disk, file: &Owned, name: &[u8], offset: u64, data: &[u8]) {
    disk.streams.write_stream(&user(), &file.file(), name, offset, data, Stability::File).unwrap();
}

fn list(disk: &Disk, file: &Owned) -> Vec<(Vec<u8>, u64)> {
    let mut streams: Vec<_> = disk
        .streams
        .streams(&user(), &file.file())
        .unwrap()
        .into_iter()
        .map(|stream| (stream.name, stream.len))
        .collect();
    streams.sort();
    streams
}

#[test]
fn a_small_stream_is_an_attribute() {
    let disk = Disk::new();
    let file = disk.make("f");
    write(&disk, &file, b"com.apple.quarantine", 2, b"83");
    assert_eq!(file.object.xattr(b"user.com.apple.quarantine").unwrap(), b"\0\x0083");
    assert_eq!(read(&disk, &file, b"com.apple.quarantine").unwrap(), b"\0\x0083");
    assert_eq!(list(&disk, &file), [(b"com.apple.quarantine".to_vec(), 4)]);
    disk.streams.truncate_stream(&user(), &file.file(), b"com.apple.quarantine", 3).unwrap();
    assert_eq!(read(&disk, &file, b"com.apple.quarantine").unwrap(), b"\0\x008");
    disk.streams.remove_stream(&user(), &file.file(), b"com.apple.quarantine").unwrap();
    assert_eq!(read(&disk, &file, b"com.apple.quarantine"), Err(Error::NoSuchAttribute));
    assert!(!disk.has(".fourfold-streams"));
}

#[test]
fn a_stream_too_long_for_the_host_moves_to_the_store_whole() {
    let disk = Disk::with_limits(Limits { xattr: 100, ..LIMITS });
    let file = disk.make("f");
    write(&disk, &file, b"a/b", 0, &[1; 100]);
    assert!(file.object.xattr(b"user.a/b").is_ok());
    write(&disk, &file, b"a/b", 90, &[2; 11]);
    assert_eq!(file.object.xattr(b"user.a/b"), Err(Error::NoSuchAttribute));
    assert_eq!(read(&disk, &file, b"a/b").unwrap(), [&[1; 90][..], &[2; 11]].concat());
    assert_eq!(list(&disk, &file), [(b"a/b".to_vec(), 101)]);
    let store = disk.root().lookup(&Caller::root(), STORE).unwrap();
    assert_eq!(store.attributes.mode, 0o700);
    let folder = format!("{:?}", file.object.key());
    let folder = store.object.lookup(&Caller::root(), folder.as_bytes()).unwrap().object;
    assert!(folder.lookup(&Caller::root(), b"s.a%2Fb").is_ok());
}

#[test]
fn a_stream_of_5_gb_is_sparse_in_the_store() {
    let disk = Disk::new();
    let file = disk.make("f");
    write(&disk, &file, b"big", 5_000_000_000, b"!");
    assert_eq!(disk.streams.stream_len(&user(), &file.file(), b"big"), Ok(5_000_000_001));
    let mut bytes = Vec::new();
    let range = (4_999_999_999, 9);
    disk.streams.read_stream(&user(), &file.file(), b"big", range, &mut bytes).unwrap();
    assert_eq!(bytes, b"\0!");
    disk.streams.truncate_stream(&user(), &file.file(), b"grown", 5_000_000_000).unwrap();
    assert_eq!(disk.streams.stream_len(&user(), &file.file(), b"grown"), Ok(5_000_000_000));
    disk.streams.remove_stream(&user(), &file.file(), b"big").unwrap();
    assert_eq!(list(&disk, &file), [(b"grown".to_vec(), 5_000_000_000)]);
}

#[test]
fn sambas_streams_are_read_and_written_where_they_are() {
    let disk = Disk::with_limits(Limits { xattr: 100, ..LIMITS });
    let file = disk.make("f");
    let place = b"user.DosStream.Zone.Identifier:$DATA";
    set_xattr(&*file.object, place, b"[ZoneTransfer]\0");
    set_xattr(&*file.object, b"user.DosStream.bare", b"x\0"); // store_stream_type = no
    assert_eq!(list(&disk, &file), [(b"Zone.Identifier".to_vec(), 14), (b"bare".to_vec(), 1)]);
    write(&disk, &file, b"Zone.Identifier", 14, b"+");
    assert_eq!(file.object.xattr(place).unwrap(), b"[ZoneTransfer]+\0");
    write(&disk, &file, b"Zone.Identifier", 100, b"+");
    assert_eq!(file.object.xattr(place), Err(Error::NoSuchAttribute));
    assert_eq!(&read(&disk, &file, b"Zone.Identifier").unwrap()[..15], b"[ZoneTransfer]+");
}

#[test]
fn the_models_own_attributes_are_no_streams() {
    let disk = Disk::new();
    let file = disk.make("f");
    set_xattr(&*file.object, b"user.DOSATTRIB", b"0x20\0");
    set_xattr(&*file.object, b"user.DosStream.AFP_AfpInfo:$DATA", &[0; 61]);
    assert_eq!(list(&disk, &file), []);
    for name in [&b"com.apple.ResourceFork"[..], b"com.apple.FinderInfo", b"AFP_AfpInfo", b""] {
        let written = disk.streams.write_stream(&user(), &file.file(), name, 0, b"x", Stability::Unstable);
        assert_eq!(written, Err(Error::InvalidName), "{}", name.escape_ascii());
        assert_eq!(read(&disk, &file, name), Err(Error::NoSuchAttribute));
    }
    // Words of the host's layout only: streams like any others, elsewhere.
    for name in [&b"DOSATTRIB"[..], b"fourfold.owner", b"DosStream.x:$DATA"] {
        write(&disk, &file, name, 0, b"stream");
        assert_eq!(read(&disk, &file, name).unwrap(), b"stream");
    }
    assert_eq!(file.object.xattr(b"user.DOSATTRIB").unwrap(), b"0x20\0");
    assert_eq!(file.object.list_xattrs().unwrap().len(), 2);
}

#[test]
fn streams_follow_a_rename_and_leave_with_the_file() {
    let disk = Disk::with_limits(Limits { xattr: 100, ..LIMITS });
    let file = disk.make("f");
    write(&disk, &file, b"big", 0, &[7; 1000]);
    let root = disk.root();
    disk.streams
        .pairs()
        .rename(&user(), (&*root, b"f"), (&*root, b"g"), crate::backend::RenameMode::Replace)
        .unwrap();
    assert_eq!(read(&disk, &disk.find("g").unwrap(), b"big").unwrap(), [7; 1000]);
    disk.streams.pairs().remove(&user(), &*root, b"g", None).unwrap();
    let store = root.lookup(&Caller::root(), STORE).unwrap();
    assert_eq!(crate::streams::store::names(&*store.object).unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn the_store_is_scrubbed_of_files_that_are_gone() {
    let disk = Disk::with_limits(Limits { xattr: 100, ..LIMITS });
    let (gone, kept) = (disk.make("gone"), disk.make("kept"));
    write(&disk, &gone, b"s", 0, &[7; 1000]);
    write(&disk, &kept, b"s", 0, &[8; 1000]);
    disk.root().remove(&user(), b"gone").unwrap();
    assert_eq!(disk.streams.own_store.scrub(), Ok(1));
    assert_eq!(read(&disk, &kept, b"s").unwrap(), [8; 1000]);
    assert_eq!(disk.streams.own_store.scrub(), Ok(0));
}

/// Whatever call fails while a stream outgrows its attribute, the stream is the old one or the new one.
#[test]
fn a_stream_that_moves_to_the_store_is_never_half_there() {
    let (old, new) = (vec![1; 100], [&[1; 100][..], &[2; 100]].concat());
    let mut finished = false;
    for nth in 1..200 {
        let mut disk = Disk::with_limits(Limits { xattr: 100, ..LIMITS });
        let file = disk.make("f");
        write(&disk, &file, b"s", 0, &old);
        disk.faulty.plan().fail_from(nth, None, Error::Io);
        let written = disk.streams.write_stream(&user(), &file.file(), b"s", 100, &[2; 100], Stability::File);
        disk.crash();
        let after = read(&disk, &disk.find("f").unwrap(), b"s").unwrap();
        assert!(after == new || written.is_err() && after == old, "call {nth}");
        finished = written.is_ok();
        if finished {
            break;
        }
    }
    assert!(finished);
}
