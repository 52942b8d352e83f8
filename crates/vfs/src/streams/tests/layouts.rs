//! Files as other servers and macOS leave them, made by hand from their formats.

use super::*;
use crate::mac::{DosAttributes, apple_double};
use crate::streams::{SidecarView, Style};

fn hex(text: &str) -> Vec<u8> {
    wire::hex::decode_any(&text.split_whitespace().collect::<String>()).unwrap()
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
    assert_eq!(streams, [crate::streams::StreamInfo { name: b"x".to_vec(), len: 2, allocated: 2 }]);
    assert_eq!(file.object.xattr(b"user.x").unwrap(), b"vw");
    let mut fork = disk.streams.fork_to_write(&user(), &file.file()).unwrap();
    fork.truncate(6).unwrap();
    assert_eq!(disk.fork(&file), b"fork\0\0");
    assert_eq!(content(&*disk.find("._f").unwrap().object)[..46], bytes[..46]);
}

/// "This resource fork intentionally left blank" is no fork, and is replaced by a real one.
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

/// No rule says that the fork comes last, or that there is a row for it.
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

const INFO: &[u8] = b"user.DosStream.AFP_AfpInfo:$DATA";
const RESOURCE: &[u8] = b"user.DosStream.AFP_Resource:$DATA";
const NETATALK: &[u8] = b"user.org.netatalk.Metadata";

/// The value of [`INFO`] with this type, as Samba writes it.
fn info_of_samba(kind: &[u8; 8]) -> Vec<u8> {
    let mut info = hex("41465000 00000100 00000000 80000000");
    info.extend(kind);
    info.resize(61, 0);
    info
}

fn set_type(disk: &Disk, file: &Owned, kind: &[u8; 4]) {
    let (mut metadata, _) = disk.streams.load(&file.file()).unwrap();
    let mut info = metadata.finder_info;
    info.set_type(*kind, *b"ttxt");
    metadata.set_finder_info(info);
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
}

fn type_of(disk: &Disk, file: &Owned) -> [u8; 4] {
    disk.streams.load(&file.file()).unwrap().0.finder_info.file_type()
}

/// Samba (`fruit:resource = stream`, and with `streams_xattr:prefix = user.`), Netatalk on hosts with
/// large attributes, Services for Macintosh by ntfs-3g, and a Mac's own by `rsync -X`.
#[test]
fn forks_in_attributes_are_read_and_written_there() {
    // A whole fork, Inside Macintosh: More Macintosh Toolbox 1-121: no data, and a map of 30 bytes.
    let mut fork = hex("00000100 00000100 00000000 0000001e");
    fork.resize(286, 7);
    for (place, appended) in [
        (RESOURCE, &b"\0"[..]),
        (b"user.AFP_Resource:$DATA", b"\0"),
        (b"user.AFP_Resource", b""),
        (b"user.com.apple.ResourceFork", b""),
        (b"user.org.netatalk.ResourceFork", b""),
    ] {
        let disk = Disk::new();
        let file = disk.make("f");
        set_xattr(&*file.object, place, &[&fork[..], appended].concat());
        assert_eq!(disk.fork(&file), fork, "{}", place.escape_ascii());
        disk.streams.write_fork(&user(), &file.file(), 284, b"new", Stability::File).unwrap();
        let written = [&fork[..284], b"new"].concat();
        assert_eq!(file.object.xattr(place).unwrap(), [&written[..], appended].concat());
        assert!(!disk.has("._f"));
        // Too large for an attribute: it moves, and nothing is left.
        let end = u64::from(disk.streams.backend.limits().xattr);
        disk.streams.write_fork(&user(), &file.file(), end, b"!", Stability::File).unwrap();
        assert_eq!(disk.streams.fork_len(&file.file()), Ok(end + 1));
        assert_eq!(disk.fork(&file)[..287], written);
        assert_eq!(file.object.xattr(place), Err(crate::Error::NoSuchAttribute));
        assert!(disk.has("._f"));
    }
}

#[test]
fn a_fork_in_an_attribute_is_cut_there_and_removed_with_it() {
    let disk = Disk::new();
    let file = disk.make("f");
    set_xattr(&*file.object, RESOURCE, b"fork\0");
    disk.streams.cut_fork(&user(), &file.file(), 2).unwrap();
    assert_eq!(file.object.xattr(RESOURCE).unwrap(), b"fo\0");
    // Windows cuts a stream before it writes it anew.
    disk.streams.cut_fork(&user(), &file.file(), 0).unwrap();
    assert_eq!((disk.fork(&file), file.object.xattr(RESOURCE).unwrap()), (vec![], b"\0".to_vec()));
    disk.streams.write_fork(&user(), &file.file(), 0, b"new", Stability::File).unwrap();
    assert_eq!(file.object.xattr(RESOURCE).unwrap(), b"new\0");
    disk.streams.remove_fork(&user(), &file.file()).unwrap();
    assert_eq!(file.object.list_xattrs().unwrap(), Vec::<Vec<u8>>::new());
    assert!(!disk.has("._f"));
}

#[test]
fn finder_info_is_written_where_the_file_has_it_and_all_copies_agree() {
    let disk = Disk::new();
    let file = disk.make("f");
    set_xattr(&*file.object, INFO, &info_of_samba(b"TEXTttxt"));
    set_type(&disk, &file, b"JPEG");
    assert_eq!(file.object.xattr(INFO).unwrap(), info_of_samba(b"JPEGttxt"));
    assert_eq!(file.object.xattr(NETATALK), Err(crate::Error::NoSuchAttribute), "nothing more to say");
    // Samba changes it, whatever this server has written beside it.
    let (mut metadata, _) = disk.streams.load(&file.file()).unwrap();
    metadata.comment = b"a comment".to_vec();
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
    assert!(file.object.xattr(NETATALK).is_ok());
    set_xattr(&*file.object, INFO, &info_of_samba(b"PDF ttxt"));
    let (metadata, _) = disk.streams.load(&file.file()).unwrap();
    assert_eq!((metadata.finder_info.file_type(), &metadata.comment[..]), (*b"PDF ", &b"a comment"[..]));

    let copies = disk.make("copies");
    set_xattr(&*copies.object, INFO, &info_of_samba(b"TEXTttxt"));
    set_xattr(&*copies.object, b"user.com.apple.FinderInfo", &[b'x'; 32]);
    let netatalk = disk.streams.load(&copies.file()).unwrap().0.to_netatalk();
    set_xattr(&*copies.object, NETATALK, &netatalk);
    set_type(&disk, &copies, b"JPEG");
    assert_eq!(copies.object.xattr(INFO).unwrap(), info_of_samba(b"JPEGttxt"));
    assert!(copies.object.xattr(b"user.com.apple.FinderInfo").unwrap().starts_with(b"JPEGttxt"));
    let (metadata, _) = crate::mac::Metadata::from_netatalk(&copies.object.xattr(NETATALK).unwrap());
    assert_eq!(metadata.finder_info.file_type(), *b"JPEG");
}

/// `rsync -X` from a Mac, and ntfs-3g from a volume of Services for Macintosh.
#[test]
fn finder_info_of_macs_and_of_services_for_macintosh() {
    let disk = Disk::new();
    let (mac, sfm) = (disk.make("mac"), disk.make("sfm"));
    set_xattr(&*mac.object, b"user.com.apple.FinderInfo", &[&b"TEXTttxt"[..], &[0; 24]].concat());
    set_xattr(&*sfm.object, b"user.AFP_AfpInfo", &info_of_samba(b"TEXTttxt")[..60]);
    for file in [&mac, &sfm] {
        assert_eq!(type_of(&disk, file), *b"TEXT");
        assert_eq!(streams_of(&disk, file), []);
    }
}

/// Samba with `streams_xattr:prefix = user.` appends a byte to each value. Its byte behind the Finder info tells that.
#[test]
fn the_byte_behind_finder_info_tells_that_other_values_have_one() {
    let disk = Disk::new();
    let (samba, other) = (disk.make("samba"), disk.make("other"));
    for (file, length) in [(&samba, 61), (&other, 60)] {
        set_xattr(&*file.object, b"user.AFP_AfpInfo", &info_of_samba(b"TEXTttxt")[..length]);
        set_xattr(&*file.object, b"user.com.macromates.caret", b"{ line = 206; }\0");
        set_xattr(&*file.object, b"user.plain", b"of rsync");
    }
    let value = |file: &Owned, name: &[u8]| {
        let mut value = Vec::new();
        disk.streams.read_stream(&user(), &file.file(), name, (0, 100), &mut value).unwrap();
        value
    };
    assert_eq!(value(&samba, b"com.macromates.caret"), b"{ line = 206; }");
    assert_eq!(value(&samba, b"plain"), b"of rsync");
    assert_eq!(value(&other, b"com.macromates.caret"), b"{ line = 206; }\0");
    assert!(
        streams_of(&disk, &samba).contains(&("com.macromates.caret".to_owned(), b"{ line = 206; }".to_vec()))
    );
    disk.streams
        .write_stream(&user(), &samba.file(), b"com.macromates.caret", 0, b"[", Stability::File)
        .unwrap();
    assert_eq!(samba.object.xattr(b"user.com.macromates.caret").unwrap(), b"[ line = 206; }\0");
}

#[test]
fn what_is_new_gets_the_layout_of_the_file_then_of_its_folder_then_of_the_volume() {
    let tags = "com.apple.metadata:_kMDItemUserTags";
    let fill = |disk: &Disk, file: &Owned| {
        set_type(disk, file, b"JPEG");
        disk.streams.write_fork(&user(), &file.file(), 0, b"fork", Stability::File).unwrap();
        disk.streams.write_stream(&user(), &file.file(), tags.as_bytes(), 0, b"t", Stability::File).unwrap();
        assert_eq!((type_of(disk, file), disk.fork(file)), (*b"JPEG", b"fork".to_vec()));
        assert_eq!(streams_of(disk, file), [(tags.to_owned(), b"t".to_vec())]);
        let mut names = file.object.list_xattrs().unwrap();
        names.retain(|name| !name.starts_with(b"user.fourfold") && name != b"user.DOSATTRIB");
        names.sort();
        names.into_iter().map(|name| String::from_utf8(name).unwrap()).collect::<Vec<_>>()
    };
    let text = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
    let private = "user.DosStream.com.apple.metadata\u{f022}_kMDItemUserTags:$DATA".to_owned();
    let native = format!("user.DosStream.{tags}:$DATA");
    let plain = vec![format!("user.{tags}"), text(NETATALK)];
    let streams = vec![text(INFO), text(RESOURCE), private.clone()];

    let disk = Disk::new();
    assert_eq!(fill(&disk, &disk.make("alone")), plain);

    let disk = Disk::new();
    let neighbour = disk.make("neighbour");
    set_xattr(&*neighbour.object, INFO, &info_of_samba(b"TEXTttxt"));
    set_xattr(&*neighbour.object, RESOURCE, b"fork\0");
    set_xattr(&*neighbour.object, private.as_bytes(), b"t\0");
    assert_eq!(fill(&disk, &disk.make("beside")), streams);
    // The file itself tells more than the others.
    let file = disk.make("f");
    set_xattr(&*file.object, NETATALK, &crate::mac::Metadata::default().to_netatalk());
    set_xattr(&*file.object, b"user.DosStream.com.apple.x:y:$DATA", b"t\0");
    disk.streams.remove_stream(&user(), &file.file(), b"com.apple.x:y").unwrap();
    set_xattr(&*file.object, native.as_bytes(), b"old\0");
    disk.streams.truncate_stream(&user(), &file.file(), tags.as_bytes(), 0).unwrap();
    assert_eq!(fill(&disk, &file), [text(RESOURCE), native, text(NETATALK)]);

    let mut disk = Disk::new();
    disk.streams = disk.streams.with_style(Style::SAMBA_STREAMS);
    assert_eq!(fill(&disk, &disk.make("alone")), streams);
}

/// Samba writes a fork into `._name` with entries in another order, and leaves the Finder info that is
/// in it: what it has in its own attribute is newer.
#[test]
fn a_sidecar_that_another_server_writes_has_no_newer_finder_info() {
    let disk = Disk::new();
    let file = disk.make("f");
    set_type(&disk, &file, b"JPEG");
    disk.put_fork(&file, b"fork");
    let sidecar = disk.find("._f").unwrap().object;
    let (mut bytes, known) = (content(&*sidecar), disk.streams.load(&file.file()).unwrap().0);
    disk.streams.absorb(&file.file()).unwrap();
    let rows = [bytes[26..38].to_vec(), bytes[38..50].to_vec()];
    bytes[26..50].copy_from_slice(&[&rows[1][..], &rows[0]].concat());
    sidecar.write_at(&user(), 0, &bytes, Stability::File).unwrap();
    let (mut changed, mut info) = (known.clone(), known.finder_info);
    info.set_type(*b"TEXT", *b"ttxt");
    changed.set_finder_info(info);
    set_xattr(&*file.object, NETATALK, &changed.to_netatalk());
    assert_eq!((type_of(&disk, &file), disk.fork(&file)), (*b"TEXT", b"fork".to_vec()));
    // A Mac that writes Finder info into the sidecar means it.
    bytes[50..58].copy_from_slice(b"PDF prvw");
    sidecar.write_at(&user(), 0, &bytes, Stability::File).unwrap();
    assert_eq!(type_of(&disk, &file), *b"PDF ");
}

/// A folder in which only other servers' books are left is empty to clients.
#[test]
fn a_folder_goes_with_what_other_servers_know_of_its_files() {
    let disk = Disk::new();
    let (folder, root) = (disk.folder("folder"), disk.root());
    let make =
        |folder: &dyn Object, name: &[u8], kind| folder.create(&user(), name, kind, 0o755).unwrap().object;
    let store = make(&*folder, b".AppleDouble", NewKind::Folder);
    make(&*store, b".Parent", NewKind::File);
    let index = make(&*folder, b"@eaDir", NewKind::Folder);
    let of_file = make(&*index, b"photo.jpg", NewKind::Folder);
    make(&*of_file, b"SYNOPHOTO_THUMB_M.jpg", NewKind::File);
    make(&*folder, b"kept", NewKind::File);
    assert_eq!(disk.streams.pairs().remove_folder(&user(), &*root, b"folder"), Err(crate::Error::NotEmpty));
    assert!(store.lookup(&user(), b".Parent").is_ok());
    folder.remove(&user(), b"kept").unwrap();
    // Files that no server makes there belong to somebody.
    for place in [&store, &of_file] {
        make(&**place, b"letter", NewKind::File).write_at(&user(), 0, b"Dear", Stability::File).unwrap();
        assert_eq!(
            disk.streams.pairs().remove_folder(&user(), &*root, b"folder"),
            Err(crate::Error::NotEmpty)
        );
        assert!(store.lookup(&user(), b".Parent").is_ok());
        assert!(of_file.lookup(&user(), b"SYNOPHOTO_THUMB_M.jpg").is_ok());
        place.remove(&user(), b"letter").unwrap();
    }
    disk.streams.pairs().remove_folder(&user(), &*root, b"folder").unwrap();
    // A file of such a name is a file.
    let other = disk.folder("other");
    make(&*other, b"@eaDir", NewKind::File);
    assert_eq!(disk.streams.pairs().remove_folder(&user(), &*root, b"other"), Err(crate::Error::NotEmpty));
    assert!(other.lookup(&user(), b"@eaDir").is_ok());
}

fn streams_of(disk: &Disk, file: &Owned) -> Vec<(String, Vec<u8>)> {
    let names = disk.streams.streams(&user(), &file.file()).unwrap();
    let mut all: Vec<_> = names
        .into_iter()
        .map(|info| {
            let mut value = Vec::new();
            disk.streams.read_stream(&user(), &file.file(), &info.name, (0, 1000), &mut value).unwrap();
            assert_eq!(info.len, value.len() as u64);
            (String::from_utf8(info.name).unwrap(), value)
        })
        .collect();
    all.sort();
    all
}

/// `fruit:encoding = private`, Samba's default: a colon in a stream's name stays as U+F022, which macOS sends.
#[test]
fn streams_of_samba_with_private_code_points() {
    let (disk, tags) = (Disk::new(), "com.apple.metadata:_kMDItemUserTags");
    for stored in [
        "user.DosStream.com.apple.metadata\u{f022}_kMDItemUserTags:$DATA",
        "user.com.apple.metadata\u{f022}_kMDItemUserTags",
    ] {
        let file = disk.make(if stored.contains("Dos") { "samba" } else { "plain" });
        let zero: &[u8] = if stored.contains("Dos") { b"\0" } else { b"" };
        set_xattr(&*file.object, stored.as_bytes(), &[b"tags", zero].concat());
        assert_eq!(streams_of(&disk, &file), [(tags.to_owned(), b"tags".to_vec())]);
        disk.streams.truncate_stream(&user(), &file.file(), tags.as_bytes(), 0).unwrap();
        disk.streams
            .write_stream(&user(), &file.file(), tags.as_bytes(), 0, b"new", Stability::File)
            .unwrap();
        assert_eq!(file.object.xattr(stored.as_bytes()).unwrap(), [b"new", zero].concat(), "in its place");
        disk.streams.remove_stream(&user(), &file.file(), tags.as_bytes()).unwrap();
        assert_eq!(
            (streams_of(&disk, &file), file.object.list_xattrs().unwrap()),
            (vec![], Vec::<Vec<u8>>::new())
        );
    }
}

/// Linux's ksmbd stores streams where Samba does, without Samba's byte.
#[test]
fn streams_of_ksmbd_keep_their_last_byte() {
    let disk = Disk::new();
    let file = disk.make("f");
    set_xattr(&*file.object, b"user.DosStream.Zone.Identifier:$DATA", b"[ZoneTransfer]\r\nZoneId=3\r\n");
    set_xattr(&*file.object, b"user.DosStream.x:$DATA", b"data");
    let expected = [("Zone.Identifier", &b"[ZoneTransfer]\r\nZoneId=3\r\n"[..]), ("x", b"data")];
    assert_eq!(streams_of(&disk, &file), expected.map(|(name, value)| (name.to_owned(), value.to_vec())));
    disk.streams.write_stream(&user(), &file.file(), b"x", 4, b"!", Stability::File).unwrap();
    assert_eq!(file.object.xattr(b"user.DosStream.x:$DATA").unwrap(), b"data!");
}

/// Netatalk with `ea = samba` appends a zero byte to each attribute.
#[test]
fn attributes_with_a_zero_byte_that_is_not_theirs() {
    let disk = Disk::new();
    let file = disk.make("f");
    let tags = crate::mac::tags::write(&["Red\n6".to_owned()]);
    set_xattr(&*file.object, b"user.other", b"value\0");
    assert_eq!(streams_of(&disk, &file)[0].1, b"value\0", "no attribute tells");
    file.object.remove_xattr(&Caller::root(), b"user.other").unwrap();
    set_xattr(&*file.object, b"user.com.apple.TextEncoding", b"utf-8;134217984\0");
    assert_eq!(streams_of(&disk, &file)[0].1, b"utf-8;134217984", "this text has no zero byte");
    file.object.remove_xattr(&Caller::root(), b"user.com.apple.TextEncoding").unwrap();
    set_xattr(&*file.object, b"user.com.apple.quarantine", b"0083;Safari\0");
    assert_eq!(streams_of(&disk, &file)[0].1, b"0083;Safari\0", "Mac OS X 10.6 wrote such a value itself");
    set_xattr(&*file.object, b"user.com.apple.metadata:_kMDItemUserTags", &[&tags[..], b"\0"].concat());
    let expected =
        [("com.apple.metadata:_kMDItemUserTags", tags), ("com.apple.quarantine", b"0083;Safari".to_vec())];
    assert_eq!(streams_of(&disk, &file), expected.map(|(name, value)| (name.to_owned(), value)));
    disk.streams
        .write_stream(&user(), &file.file(), b"com.apple.quarantine", 0, b"1", Stability::File)
        .unwrap();
    assert_eq!(file.object.xattr(b"user.com.apple.quarantine").unwrap(), b"1083;Safari\0");
}

/// With this setting Netatalk cuts the last byte of each attribute.
#[test]
fn new_attributes_get_the_byte_where_netatalk_appends_it() {
    let disk = Disk::new();
    let (old, new) = (disk.make("a"), disk.make("new"));
    let tags = crate::mac::tags::write(&["Red\n6".to_owned()]);
    set_xattr(&*old.object, b"user.com.apple.metadata:_kMDItemUserTags", &[&tags[..], b"\0"].concat());
    let write = |name: &[u8], value: &[u8]| {
        disk.streams.write_stream(&user(), &new.file(), name, 0, value, Stability::File).unwrap();
    };
    write(b"plain", b"value");
    assert_eq!(new.object.xattr(b"user.plain").unwrap(), b"value\0");
    assert_eq!(streams_of(&disk, &new), [("plain".to_owned(), b"value".to_vec())]);
    write(b"com.apple.metadata:_kMDItemUserTags", &tags);
    disk.streams.remove_stream(&user(), &new.file(), b"com.apple.metadata:_kMDItemUserTags").unwrap();
    assert_eq!(streams_of(&disk, &new), [("plain".to_owned(), b"value".to_vec())], "without a list");
    disk.streams.rename_stream(&user(), &new.file(), b"plain", b"a:b", false).unwrap();
    assert_eq!(new.object.xattr(b"user.a:b").unwrap(), b"value\0");
}

/// Attributes tell of each other that a byte follows them: all are read before one moves.
#[test]
fn another_layout_for_attributes_with_the_byte() {
    for name in ["a", "zzz"] {
        let disk = Disk::new();
        let file = disk.make("f");
        let tags = crate::mac::tags::write(&["Red\n6".to_owned()]);
        set_xattr(&*file.object, b"user.com.apple.metadata:_kMDItemUserTags", &[&tags[..], b"\0"].concat());
        set_xattr(&*file.object, format!("user.{name}").as_bytes(), b"value\0");
        let before = streams_of(&disk, &file);
        for style in [Style::NETATALK, Style::SAMBA] {
            disk.streams.layouts().relayout(&file.file(), style).unwrap();
            assert_eq!(streams_of(&disk, &file), before, "{style:?}");
            assert!(file.object.xattr(b"user.fourfold.terminated").is_err());
        }
        assert!(file.object.xattr(format!("user.DosStream.{name}:$DATA").as_bytes()).is_ok());
    }
}

/// `fruit:resource = stream`, or Netatalk where attributes may be large: a Mac on NFS finds the fork in `._f`.
#[test]
fn a_fork_in_an_attribute_is_in_the_sidecar_that_clients_see() {
    for (name, value) in
        [("user.DosStream.AFP_Resource:$DATA", &b"fork\0"[..]), ("user.org.netatalk.ResourceFork", b"fork")]
    {
        let disk = Disk::new();
        let (file, root) = (disk.make("f"), disk.root());
        set_xattr(&*file.object, name.as_bytes(), value);
        let SidecarView::Synthesized(shown) =
            disk.streams.sidecar_files().view(&user(), &*root, b"._f").unwrap()
        else {
            panic!("not composed");
        };
        let head = crate::mac::sidecar::parse(&shown.bytes, shown.bytes.len() as u64).unwrap();
        let at = head.resource_range.start as usize..head.resource_range.end as usize;
        assert_eq!(shown.bytes[at], *b"fork", "{name}");

        let made = disk.streams.sidecar_files().materialize(&user(), &*root, b"._f").unwrap().unwrap();
        assert_eq!(content(&*made.object), shown.bytes, "as it was shown");
        assert!(file.object.xattr(name.as_bytes()).is_err());
        assert_eq!(disk.fork(&file), b"fork");
        assert!(disk.streams.sidecar_files().remove_view(&user(), &*root, b"._f").unwrap());
        assert_eq!(disk.streams.fork_len(&file.file()), Ok(0));

        set_xattr(&*file.object, name.as_bytes(), value);
        assert!(disk.streams.sidecar_files().remove_view(&user(), &*root, b"._f").unwrap());
        assert_eq!(disk.streams.fork_len(&file.file()), Ok(0), "nothing is left of it");
    }
}
