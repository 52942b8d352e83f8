//! What other servers and macOS left, made by hand from their formats.

use super::*;
use crate::mac::{DosAttributes, apple_double};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// Netatalk's `._name`: 82 bytes, then the fork to the end of the file, whatever the row says.
#[test]
fn a_sidecar_of_netatalk() {
    let disk = Disk::new();
    let file = disk.make("f");
    let mut bytes = hex("00051607 00020000 4e65746174616c6b 2020202020202020 0002");
    bytes.extend(hex("00000009 00000032 00000020  00000002 00000052 00000003"));
    bytes.extend([0; 32]);
    bytes.extend(b"fork of netatalk");
    let sidecar = disk.put("._f", &bytes);
    assert_eq!(disk.fork(&file), b"fork of netatalk");
    let mut fork = disk.streams.fork_to_write(&user(), &file.file()).unwrap();
    fork.write_at(8, b"FOURFOLD!", Stability::File).unwrap();
    assert_eq!(disk.fork(&file), b"fork of FOURFOLD!");
    assert_eq!(content(&*sidecar)[46..50], [0, 0, 0, 17]);
    assert_eq!(sidecar.xattr(b"user.fourfold.owner").unwrap(), file.object.key().as_bytes());
}

/// macOS: Finder info, attributes behind it, then the fork. Offsets are from the first byte of the file.
#[test]
fn a_sidecar_of_macos_with_attributes() {
    let disk = Disk::new();
    let file = disk.make("f");
    let mut bytes = hex("00051607 00020000 4d6163204f5320582020202020202020 0002");
    bytes.extend(hex("00000009 00000032 0000004e  00000002 00000080 00000004"));
    bytes.extend(b"TEXTttxt");
    bytes.extend([0; 24]);
    bytes.extend(hex("0000")); // 82..84
    bytes.extend(b"ATTR"); // 84
    bytes.extend(hex("00000000 00000080 0000007e 00000002 00000000 00000000 00000000 0000 0001"));
    assert_eq!(bytes.len(), 120);
    // The value lies in the area, which ends at 50 + 78 = 128: no room for the row, so the area is longer.
    let row = hex("00000088 00000002 0000 02 7800"); // offset 136, 2 bytes, flags, name "x"
    bytes.extend(row);
    bytes.resize(136, 0);
    bytes.extend(b"vw"); // 136..138
    bytes.extend(b"fork"); // 138
    bytes[34..38].copy_from_slice(&(138_u32 - 50).to_be_bytes());
    bytes[42..46].copy_from_slice(&138_u32.to_be_bytes());
    disk.put("._f", &bytes);
    let (metadata, problems) = disk.streams.load(&file.file()).unwrap();
    assert_eq!((metadata.finder_info.file_type(), problems), (*b"TEXT", vec![]));
    assert_eq!(disk.fork(&file), b"fork");
    let streams = disk.streams.streams(&user(), &file.file()).unwrap();
    assert_eq!(streams, [crate::streams::Stream { name: b"x".to_vec(), len: 2 }]);
    assert_eq!(file.object.xattr(b"user.x").unwrap(), b"vw");
    let mut fork = disk.streams.fork_to_write(&user(), &file.file()).unwrap();
    fork.truncate(6).unwrap();
    assert_eq!(disk.fork(&file), b"fork\0\0");
    assert_eq!(content(&*disk.find("._f").unwrap().object)[..46], bytes[..46]);
}

/// "This resource fork intentionally left blank" is none, and gives way to a real one.
#[test]
fn a_placeholder_fork_of_macos() {
    let disk = Disk::new();
    let file = disk.make("f");
    let (mut bytes, _) = crate::mac::sidecar::synthesize(&crate::mac::FinderInfo::NONE, &[], 286);
    bytes.extend(crate::mac::resource::blank());
    disk.put("._f", &bytes);
    assert_eq!(disk.streams.fork_len(&file.file()), Ok(0));
    disk.put_fork(&file, b"real");
    assert_eq!(disk.fork(&file), b"real");
    assert_eq!(disk.find("._f").unwrap().object.attributes().unwrap().size, 86);
}

/// Nothing says that the fork comes last, or that there is a row for it.
#[test]
fn a_fork_that_cannot_grow_where_it_is_moves() {
    use apple_double::{Container, EntryId, pack};
    let fork_first: &[(EntryId, &[u8])] =
        &[(EntryId::RESOURCE_FORK, b"first"), (EntryId::FINDER_INFO, &[b'i'; 32]), (EntryId::COMMENT, b"c")];
    let no_row: &[(EntryId, &[u8])] = &[(EntryId::FINDER_INFO, &[b'i'; 32])];
    for (entries, before) in [(fork_first, &b"first"[..]), (no_row, b"")] {
        let disk = Disk::new();
        let file = disk.make("f");
        disk.put("._f", &pack(Container::Double, [0; 16], entries));
        assert_eq!(disk.fork(&file), before);
        let mut fork = disk.streams.fork_to_write(&user(), &file.file()).unwrap();
        fork.write_at(before.len() as u64, b", longer", Stability::File).unwrap();
        assert_eq!(disk.fork(&file), [before, b", longer"].concat());
        let (metadata, _) = disk.streams.load(&file.file()).unwrap();
        assert_eq!(metadata.finder_info.file_type(), *b"iiii");
        assert_eq!(metadata.comment, if before.is_empty() { &b""[..] } else { b"c" });
    }
}

/// A fork of 4 GiB or more: the row says as much as it can, the file's size the rest.
#[test]
fn a_sidecar_with_a_fork_longer_than_its_row_can_say() {
    let disk = Disk::new();
    let file = disk.make("f");
    let (bytes, _) = crate::mac::sidecar::synthesize(&crate::mac::FinderInfo::NONE, &[], u64::MAX);
    let sidecar = disk.put("._f", &bytes);
    let size = crate::SetAttributes { size: Some(82 + 5_000_000_000), ..Default::default() };
    sidecar.set_attributes(&user(), &size).unwrap();
    assert_eq!(disk.streams.fork_len(&file.file()), Ok(5_000_000_000));
}

/// Samba with `fruit:metadata = stream`: AfpInfo, 60 bytes and the byte that Samba appends; and its DOS attributes.
#[test]
fn metadata_of_samba() {
    let disk = Disk::new();
    let file = disk.make("f");
    let mut info = hex("41465000 00000100 00000000 80000000");
    info.extend(b"TEXTttxt");
    info.resize(61, 0);
    set_xattr(&*file.object, b"user.DosStream.AFP_AfpInfo:$DATA", &info);
    set_xattr(&*file.object, b"user.DOSATTRIB", b"0x22\0");
    let (metadata, problems) = disk.streams.load(&file.file()).unwrap();
    assert_eq!(problems, []);
    assert_eq!(metadata.finder_info.file_type(), *b"TEXT");
    assert_eq!(metadata.dos, DosAttributes(0x22));
    assert_eq!(disk.streams.streams(&user(), &file.file()), Ok(vec![]));
}
