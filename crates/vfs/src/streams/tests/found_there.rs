//! What other servers left, found in the folder where it is, wherever the share begins; and new files, written as those beside them.

use super::foreign::make;
use super::*;
use crate::backend::RenameMode;
use crate::mac::{DosAttributes, FinderInfo, Metadata, depot, sidecar};
use crate::waiting::until;

const TAGS: &[u8] = b"com.apple.metadata:_kMDItemUserTags";
const PRIVATE_TAGS: &str = "com.apple.metadata\u{f022}_kMDItemUserTags";

/// A folder below others, which do not tell a layout.
fn deep(disk: &Disk) -> Arc<dyn Object> {
    let mut folder = disk.root();
    for name in [&b"films"[..], b"1998", b"raw"] {
        folder = folder.create(&user(), name, NewKind::Folder, 0o755).unwrap().object;
    }
    folder
}

fn made_in(folder: &Arc<dyn Object>, name: &str) -> Owned {
    make(&**folder, name.as_bytes(), b"data");
    find_in(folder.clone(), name).unwrap()
}

fn folder_in(folder: &Arc<dyn Object>, name: &[u8]) -> Arc<dyn Object> {
    folder.create(&user(), name, NewKind::Folder, 0o755).unwrap().object
}

fn header(kind: &[u8; 4], fork: &[u8]) -> Vec<u8> {
    let mut metadata = Metadata::default();
    metadata.finder_info.set_type(*kind, *b"ttxt");
    [&metadata.to_netatalk2(b"f", fork.len() as u32)[..], fork].concat()
}

fn restart(disk: &mut Disk) {
    disk.streams = Streams::new(disk.faulty.clone()).with_what_is_there();
}

fn type_of(disk: &Disk, file: &Owned) -> [u8; 4] {
    disk.streams.load(&file.file()).unwrap().0.finder_info.file_type()
}

fn set_type(disk: &Disk, file: &Owned, kind: [u8; 4]) {
    let mut metadata = disk.streams.load(&file.file()).unwrap().0;
    let mut info = metadata.finder_info;
    info.set_type(kind, *b"ogle");
    metadata.set_finder_info(info);
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
}

fn set_fork(disk: &Disk, file: &Owned, fork: &[u8]) {
    disk.streams.cut_fork(&user(), &file.file(), 0).unwrap();
    disk.streams.write_fork(&user(), &file.file(), 0, fork, Stability::File).unwrap();
}

fn set_tags(disk: &Disk, file: &Owned, value: &[u8]) {
    disk.streams.truncate_stream(&user(), &file.file(), TAGS, 0).unwrap();
    disk.streams.write_stream(&user(), &file.file(), TAGS, 0, value, Stability::File).unwrap();
}

fn tags(disk: &Disk, file: &Owned) -> Vec<u8> {
    let mut bytes = Vec::new();
    disk.streams.read_stream(&user(), &file.file(), TAGS, (0, 100), &mut bytes).unwrap();
    bytes
}

/// The attributes of the host, without the server's own marks and DOS attributes.
fn xattrs(file: &Owned) -> Vec<(String, Vec<u8>)> {
    let names = file.object.list_xattrs().unwrap();
    let names =
        names.iter().filter(|name| !name.starts_with(b"user.fourfold.") && **name != b"user.DOSATTRIB");
    names.map(|name| (String::from_utf8(name.clone()).unwrap(), file.object.xattr(name).unwrap())).collect()
}

#[test]
fn netatalks_files_are_found_deep_below_the_share() {
    let mut disk = Disk::new();
    let folder = deep(&disk);
    let file = made_in(&folder, "f");
    let books = folder_in(&folder, b".AppleDouble");
    make(&*books, b"f", &header(b"TEXT", b"fork"));
    restart(&mut disk);
    assert_eq!((type_of(&disk, &file), disk.fork(&file)), (*b"TEXT", b"fork".to_vec()));
    // It goes with its file, and is written there.
    disk.streams.pairs().rename(&user(), (&*folder, b"f"), (&*folder, b"g"), RenameMode::Keep).unwrap();
    let moved = find_in(folder.clone(), "g").unwrap();
    assert_eq!((type_of(&disk, &moved), disk.fork(&moved)), (*b"TEXT", b"fork".to_vec()));
    set_fork(&disk, &moved, b"other");
    set_type(&disk, &moved, *b"JPEG");
    let there = content(&*books.lookup(&user(), b"g").unwrap().object);
    assert!(there.ends_with(b"other") && there.windows(8).any(|bytes| bytes == b"JPEGogle"));
    assert!(books.lookup(&user(), b"f").is_err() && folder.lookup(&user(), b"._g").is_err());
    // So is a new file in a new folder inside; one beside it all is not.
    let inner = made_in(&folder_in(&folder, b"inner"), "new");
    set_type(&disk, &inner, *b"PNGf");
    assert!(inner.folder.lookup_path(&user(), &[b".AppleDouble", b"new"]).is_ok());
    let above = made_in(&disk.root(), "above");
    set_type(&disk, &above, *b"PNGf");
    assert!(disk.root().lookup(&user(), b".AppleDouble").is_err());
    disk.streams.pairs().remove(&user(), &*folder, b"g", None).unwrap();
    assert!(books.lookup(&user(), b"g").is_err());
}

#[test]
fn what_another_server_makes_later_is_found() {
    let mut disk = Disk::new();
    let folder = deep(&disk);
    let file = made_in(&folder, "f");
    restart(&mut disk);
    assert!(disk.fork(&file).is_empty() && type_of(&disk, &file) == [0; 4]);
    let books = folder_in(&folder, b".AppleDouble");
    make(&*books, b"f", &header(b"TEXT", b"fork"));
    // The folder's time is asked for again after a moment.
    let seen = |disk: &Disk| (type_of(disk, &file), disk.fork(&file)) == (*b"TEXT", b"fork".to_vec());
    until("it was not found", || seen(&disk));
}

#[test]
fn a_depot_of_samba_is_found_where_samba_shared() {
    let mut disk = Disk::new();
    let shared = deep(&disk);
    let file = made_in(&folder_in(&shared, b"inside"), "f");
    let id = file.object.id();
    let place = depot::place(id.device, id.inode);
    let store = folder_in(&shared, depot::DEPOT);
    let of_file = place.iter().fold(store, |at, name| folder_in(&at, name));
    make(&*of_file, format!(":{PRIVATE_TAGS}:$DATA").as_bytes(), b"tags");
    set_xattr(&*file.object, depot::MARKER, depot::MARKED);
    restart(&mut disk);
    assert_eq!(type_of(&disk, &file), [0; 4]);
    assert_eq!(tags(&disk, &file), b"tags");
    set_tags(&disk, &file, b"others");
    assert_eq!(
        content(&*of_file.lookup(&user(), format!(":{PRIVATE_TAGS}:$DATA").as_bytes()).unwrap().object),
        b"others"
    );
    // A new file beside it has its streams there, too.
    let new = made_in(&file.folder, "new");
    set_tags(&disk, &new, b"new");
    let id = new.object.id();
    let place = depot::place(id.device, id.inode);
    let path: Vec<&[u8]> = std::iter::once(depot::DEPOT).chain(place.iter().map(Vec::as_slice)).collect();
    assert!(shared.lookup_path(&user(), &path).is_ok());
    assert!(disk.root().lookup(&user(), depot::DEPOT).is_err());
}

/// Finder info as Services for Macintosh and ksmbd have it: `AFP_AfpInfo`, 60 bytes, AFP's version 1 and a backup date that says none.
fn info(kind: &[u8; 8]) -> Vec<u8> {
    let mut info = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0".to_vec();
    info.extend(kind);
    info.resize(60, 0);
    info
}

/// A layout in attributes: the names of Finder info, fork and tags. No other server's byte follows the values.
fn in_attributes(names: [&str; 3], old: &[u8], new: &[u8]) {
    let [info_at, fork_at, tags_at] = names;
    let mut disk = Disk::new();
    let folder = deep(&disk);
    let file = made_in(&folder, "f");
    for (name, value) in [(info_at, old), (fork_at, b"fork"), (tags_at, b"tags")] {
        set_xattr(&*file.object, name.as_bytes(), value);
    }
    restart(&mut disk);
    assert_eq!((type_of(&disk, &file), disk.fork(&file)), (*b"TEXT", b"fork".to_vec()), "{info_at}");
    assert_eq!(tags(&disk, &file), b"tags", "{tags_at}");
    let made = made_in(&folder, "g");
    for file in [file, made] {
        set_type(&disk, &file, *b"JPEG");
        set_fork(&disk, &file, b"a new fork");
        set_tags(&disk, &file, b"new tags");
        let there = xattrs(&file);
        let value = |at: &str| there.iter().find(|(name, _)| name == at).map(|(_, value)| value.as_slice());
        assert_eq!(value(info_at), Some(new), "{there:?}");
        assert_eq!(value(fork_at), Some(&b"a new fork"[..]), "{there:?}");
        assert_eq!(value(tags_at), Some(&b"new tags"[..]), "{there:?}");
        assert!(folder.lookup(&user(), &[b"._", &file.name[..]].concat()).is_err());
        assert_eq!((type_of(&disk, &file), disk.fork(&file)), (*b"JPEG", b"a new fork".to_vec()));
    }
}

#[test]
fn what_ksmbd_left_goes_on_as_ksmbd_has_it() {
    // Linux fs/smb/server/vfs.c: the stream's bytes and nothing else.
    let tags = format!("user.DosStream.{PRIVATE_TAGS}:$DATA");
    let names = ["user.DosStream.AFP_AfpInfo:$DATA", "user.DosStream.AFP_Resource:$DATA", &tags];
    in_attributes(names, &info(b"TEXTttxt"), &info(b"JPEGogle"));
}

#[test]
fn copies_from_services_for_macintosh_go_on_as_they_are() {
    let tags = format!("user.{}", String::from_utf8_lossy(TAGS));
    in_attributes(["user.AFP_AfpInfo", "user.AFP_Resource", &tags], &info(b"TEXTttxt"), &info(b"JPEGogle"));
}

/// smbd with `streams_xattr:prefix = user.` takes the last byte of each attribute for its own: vfs_streams_xattr(8).
#[test]
fn forks_without_sambas_prefix_keep_its_byte_while_they_are_written() {
    // A whole fork, Inside Macintosh: More Macintosh Toolbox 1-121: 200 bytes of data, and a map of 30.
    let mut fork: Vec<u8> = [256_u32, 456, 200, 30].into_iter().flat_map(u32::to_be_bytes).collect();
    fork.resize(486, 0);
    let at = b"user.AFP_Resource";
    let with_byte = [&fork[..], &[0]].concat();
    let disk = Disk::new();
    let folder = deep(&disk);
    let old = made_in(&folder, "f");
    set_xattr(&*old.object, b"user.AFP_AfpInfo", &[&info(b"TEXTttxt")[..], &[0]].concat());
    set_xattr(&*old.object, at, &with_byte);
    for file in [old, made_in(&folder, "g")] {
        // A client cuts the stream off before it writes it anew, as a whole and in pieces that end in zeros.
        set_fork(&disk, &file, &fork);
        assert_eq!(file.object.xattr(at).unwrap(), with_byte);
        for piece in [100, 7] {
            disk.streams.cut_fork(&user(), &file.file(), 0).unwrap();
            for (number, part) in fork.chunks(piece).enumerate() {
                let offset = (number * piece) as u64;
                disk.streams.write_fork(&user(), &file.file(), offset, part, Stability::Unstable).unwrap();
                assert_eq!(disk.streams.fork_len(&file.file()), Ok(offset + part.len() as u64));
            }
            assert_eq!((file.object.xattr(at).unwrap(), disk.fork(&file)), (with_byte.clone(), fork.clone()));
        }
    }
}

#[test]
fn copies_of_rsync_go_on_as_they_are() {
    let tags = format!("user.{}", String::from_utf8_lossy(TAGS));
    let record = |kind: &[u8; 8]| [&kind[..], &[0; 24]].concat();
    let names = ["user.com.apple.FinderInfo", "user.com.apple.ResourceFork", &tags];
    in_attributes(names, &record(b"TEXTttxt"), &record(b"JPEGogle"));
}

#[test]
fn a_stream_of_ksmbd_may_end_in_a_zero_byte() {
    let disk = Disk::new();
    let file = disk.make("f");
    set_xattr(&*file.object, b"user.DosStream.com.apple.quarantine:$DATA", b"0083");
    set_tags(&disk, &file, b"tags\0");
    assert_eq!(tags(&disk, &file), b"tags\0");
}

/// A folder as macOS leaves it on a disk without attributes.
fn of_macos() -> (Disk, Arc<dyn Object>, Owned) {
    let mut disk = Disk::new();
    let folder = deep(&disk);
    let file = made_in(&folder, "f");
    let (head, _) = sidecar::synthesize(&FinderInfo::from_prefix(b"TEXTttxt"), &[(TAGS, b"tags")], 4);
    assert_eq!(head[8..16], *b"Mac OS X");
    make(&*folder, b"._f", &[&head[..], b"fork"].concat());
    restart(&mut disk);
    (disk, folder, file)
}

/// What macOS finds in a sidecar: the type of the file, and the fork.
fn by_macos(folder: &dyn Object, name: &[u8]) -> ([u8; 4], Vec<u8>) {
    let bytes = content(&*folder.lookup(&user(), name).unwrap().object);
    let head = sidecar::parse(&bytes, bytes.len() as u64).unwrap();
    let range = head.resource_range.start as usize..head.resource_range.end as usize;
    (head.finder_info.file_type(), bytes[range].to_vec())
}

#[test]
fn new_files_beside_those_of_macos_have_a_sidecar() {
    let (disk, folder, file) = of_macos();
    let new = made_in(&folder, "g");
    set_type(&disk, &new, *b"JPEG");
    assert_eq!(by_macos(&*folder, b"._g"), (*b"JPEG", Vec::new()));
    set_fork(&disk, &new, b"new fork");
    assert_eq!(by_macos(&*folder, b"._g"), (*b"JPEG", b"new fork".to_vec()));
    set_type(&disk, &new, *b"PNGf");
    assert_eq!(by_macos(&*folder, b"._g"), (*b"PNGf", b"new fork".to_vec()));
    disk.streams.remove_fork(&user(), &new.file()).unwrap();
    assert_eq!(by_macos(&*folder, b"._g"), (*b"PNGf", Vec::new()));
    set_type(&disk, &file, *b"JPEG");
    assert_eq!(by_macos(&*folder, b"._f"), (*b"JPEG", b"fork".to_vec()));
    // It moves and goes with the file.
    disk.streams.pairs().rename(&user(), (&*folder, b"g"), (&*folder, b"h"), RenameMode::Keep).unwrap();
    assert_eq!(by_macos(&*folder, b"._h").0, *b"PNGf");
    disk.streams.pairs().remove(&user(), &*folder, b"h", None).unwrap();
    assert!(folder.lookup(&user(), b"._h").is_err());
    // A file without Finder info needs none.
    let plain = made_in(&folder, "plain");
    disk.streams.store(&user(), &plain.file(), &Metadata::default()).unwrap();
    assert!(folder.lookup(&user(), b"._plain").is_err());
}

#[test]
fn bits_of_netatalks_header_count_beside_sambas_attributes() {
    // Samba notes ARCHIVE for each file that it makes; a Mac hides and locks it through Netatalk.
    let mut disk = Disk::new();
    let folder = deep(&disk);
    let file = made_in(&folder, "f");
    let mut of_mac = Metadata::default();
    of_mac.set_hidden(true);
    of_mac.set_system(true);
    of_mac.set_locked(true);
    of_mac.times.created = Some(Time { secs: 1_000_000_000, nanos: 0 });
    make(&*folder_in(&folder, b".AppleDouble"), b"f", &of_mac.to_netatalk2(b"f", 0));
    restart(&mut disk);
    let all = DosAttributes::HIDDEN | DosAttributes::SYSTEM | DosAttributes::READONLY;
    let seen = disk.streams.load(&file.file()).unwrap().0;
    assert_eq!((seen.dos.intersection(all), seen.times.created), (all, of_mac.times.created));
    set_xattr(&*file.object, b"user.DOSATTRIB", b"0x20\0");
    let seen = disk.streams.load(&file.file()).unwrap().0;
    assert_eq!(seen.dos, all | DosAttributes::ARCHIVE);
    assert_eq!(seen.times.created, of_mac.times.created);
    // Windows shows it again: both agree.
    let mut shown = seen;
    shown.set_dos(DosAttributes::ARCHIVE);
    disk.streams.store(&user(), &file.file(), &shown).unwrap();
    assert_eq!(disk.streams.load(&file.file()).unwrap().0.dos, DosAttributes::ARCHIVE);
}
