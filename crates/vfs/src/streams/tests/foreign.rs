//! Streams, Finder info and forks in files of other servers: Samba's depot, Netatalk with `ea = ad`, DSM of Synology.

use super::*;
use crate::backend::RenameMode;
use crate::mac::{depot, layout, netatalk_list};

pub(super) const TAGS: &[u8] = b"com.apple.metadata:_kMDItemUserTags";

pub(super) fn make(folder: &dyn Object, name: &[u8], content: &[u8]) -> Arc<dyn Object> {
    let made = folder.create(&user(), name, NewKind::File, 0o644).unwrap().object;
    if !content.is_empty() {
        made.write_at(&user(), 0, content, Stability::File).unwrap();
    }
    made
}

fn make_folder(folder: &dyn Object, name: &[u8]) -> Arc<dyn Object> {
    match folder.lookup(&user(), name) {
        Ok(there) => there.object,
        Err(_) => folder.create(&user(), name, NewKind::Folder, 0o755).unwrap().object,
    }
}

fn read(disk: &Disk, file: &Owned, name: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    disk.streams.read_stream(&user(), &file.file(), name, (0, 1 << 20), &mut bytes)?;
    Ok(bytes)
}

fn write(disk: &Disk, file: &Owned, name: &[u8], value: &[u8]) {
    disk.streams.truncate_stream(&user(), &file.file(), name, 0).unwrap();
    disk.streams.write_stream(&user(), &file.file(), name, 0, value, Stability::File).unwrap();
}

fn names(disk: &Disk, file: &Owned) -> Vec<String> {
    let streams = disk.streams.streams(&user(), &file.file()).unwrap();
    let mut names: Vec<_> =
        streams.iter().map(|stream| String::from_utf8_lossy(&stream.name).into_owned()).collect();
    names.sort();
    names
}

/// The folder that smbd makes for a file.
fn depot_of(disk: &Disk, file: &Owned) -> Arc<dyn Object> {
    let id = file.object.id();
    let path = depot::place(id.device, id.inode);
    path.iter().fold(make_folder(&*disk.root(), depot::DEPOT), |at, name| make_folder(&*at, name))
}

/// A file with streams as smbd stores them with `fruit:metadata = stream` and `fruit:resource = stream`.
pub(super) fn in_depot() -> (Disk, Owned, Arc<dyn Object>) {
    let mut disk = Disk::new();
    let file = disk.make("f");
    let folder = depot_of(&disk, &file);
    let mut info = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0TEXTttxt".to_vec();
    info.resize(60, 0);
    make(&*folder, b":AFP_AfpInfo:$DATA", &info);
    make(&*folder, b":AFP_Resource:$DATA", b"fork");
    make(&*folder, ":com.apple.metadata\u{f022}_kMDItemUserTags:$DATA".as_bytes(), b"tags");
    make(&*folder, b":plain:$DATA", b"plain");
    set_xattr(&*file.object, depot::MARKER, depot::MARKED);
    disk.streams = Streams::new(disk.faulty.clone()).with_what_is_there();
    (disk, file, folder)
}

fn type_of(disk: &Disk, file: &Owned) -> [u8; 4] {
    disk.streams.load(&file.file()).unwrap().0.finder_info.file_type()
}

#[test]
fn what_is_in_sambas_depot_is_read_and_written_there() {
    let (disk, file, folder) = in_depot();
    assert_eq!(names(&disk, &file), ["com.apple.metadata:_kMDItemUserTags", "plain"]);
    assert_eq!(read(&disk, &file, TAGS).unwrap(), b"tags");
    assert_eq!((type_of(&disk, &file), disk.fork(&file)), (*b"TEXT", b"fork".to_vec()));
    assert!(disk.streams.has_streams(&*file.object).unwrap());

    write(&disk, &file, TAGS, b"other tags");
    write(&disk, &file, b"new", b"new");
    disk.put_fork(&file, b"FORK, longer");
    let (mut metadata, _) = disk.streams.load(&file.file()).unwrap();
    metadata.finder_info.set_type(*b"JPEG", *b"ogle");
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();

    let there = |name: &str| content(&*folder.lookup(&user(), name.as_bytes()).unwrap().object);
    assert_eq!(there(":com.apple.metadata\u{f022}_kMDItemUserTags:$DATA"), b"other tags");
    assert_eq!(
        (there(":new:$DATA"), there(":AFP_Resource:$DATA")),
        (b"new".to_vec(), b"FORK, longer".to_vec())
    );
    assert_eq!(there(":AFP_AfpInfo:$DATA")[16..24], *b"JPEGogle");
    let xattrs = file.object.list_xattrs().unwrap();
    assert!(!xattrs.iter().any(|name| name == layout::NETATALK_METADATA), "{xattrs:?}");
    assert!(!disk.has("._f"));
    assert_eq!((type_of(&disk, &file), disk.fork(&file)), (*b"JPEG", b"FORK, longer".to_vec()));

    disk.streams.rename_stream(&user(), &file.file(), b"new", b"newer", false).unwrap();
    disk.streams.remove_stream(&user(), &file.file(), b"plain").unwrap();
    disk.streams.remove_fork(&user(), &file.file()).unwrap();
    assert_eq!(names(&disk, &file), ["com.apple.metadata:_kMDItemUserTags", "newer"]);
    assert!(disk.fork(&file).is_empty() && folder.lookup(&user(), b":AFP_Resource:$DATA").is_err());
}

#[test]
fn a_new_file_beside_files_of_the_depot_is_kept_there_too() {
    let (disk, _, _) = in_depot();
    let file = disk.make("g");
    write(&disk, &file, TAGS, b"tags");
    let folder = depot_of(&disk, &file);
    let name = ":com.apple.metadata\u{f022}_kMDItemUserTags:$DATA";
    assert_eq!(content(&*folder.lookup(&user(), name.as_bytes()).unwrap().object), b"tags");
    assert_eq!(file.object.xattr(depot::MARKER).as_deref(), Ok(depot::MARKED));
}

#[test]
fn streams_of_the_depot_go_with_their_file_and_stay_when_it_moves() {
    let (disk, file, _) = in_depot();
    let root = disk.root();
    disk.streams.pairs().rename(&user(), (&*root, b"f"), (&*root, b"moved"), RenameMode::Keep).unwrap();
    let moved = disk.find("moved").unwrap();
    assert_eq!(
        (read(&disk, &moved, b"plain").unwrap(), disk.fork(&moved)),
        (b"plain".to_vec(), b"fork".to_vec())
    );
    let [first, second, name] = depot::place(file.object.id().device, file.object.id().inode);
    let above = root.lookup_path(&user(), &[depot::DEPOT, &first, &second]).unwrap().object;
    // Another file replaces it.
    disk.make("other");
    disk.streams
        .pairs()
        .rename(&user(), (&*root, b"other"), (&*root, b"moved"), RenameMode::Replace)
        .unwrap();
    assert!(above.lookup(&user(), &name).is_err());
    assert_eq!(names(&disk, &disk.find("moved").unwrap()), [""; 0]);

    let (disk, file, _) = in_depot();
    let [first, second, name] = depot::place(file.object.id().device, file.object.id().inode);
    let above = disk.root().lookup_path(&user(), &[depot::DEPOT, &first, &second]).unwrap().object;
    disk.streams.pairs().remove(&user(), &*disk.root(), b"f", None).unwrap();
    assert!(above.lookup(&user(), &name).is_err());
}

#[test]
fn a_new_file_has_no_streams_of_a_file_with_its_inode() {
    let (mut disk, file, folder) = in_depot();
    file.object.remove_xattr(&Caller::root(), depot::MARKER).unwrap();
    assert_eq!(read(&disk, &file, b"plain").unwrap(), b"plain"); // Samba with check_valid = no makes no mark
    // A program on the host removes the file, and one with the same inode is made.
    disk.root().remove(&user(), b"f").unwrap();
    let young = disk.make("young");
    let place = |file: &Owned| depot::place(file.object.id().device, file.object.id().inode);
    let ([first, second, old], new) = (place(&file), place(&young));
    let above = disk.root().lookup_path(&user(), &[depot::DEPOT, &first, &second]).unwrap().object;
    if old != new[2] {
        let to = [&new[0], &new[1]].into_iter();
        let to = to.fold(make_folder(&*disk.root(), depot::DEPOT), |at, name| make_folder(&*at, name));
        above.rename(&user(), &old, &*to, &new[2], RenameMode::Keep).unwrap();
    }
    disk.streams = Streams::new(disk.faulty.clone()).with_what_is_there();
    assert_eq!(names(&disk, &young), [""; 0]);
    write(&disk, &young, b"new", b"new");
    assert_eq!(
        (names(&disk, &young), read(&disk, &young, b"plain").is_err()),
        (vec!["new".to_owned()], true)
    );
    assert_eq!(content(&*folder.lookup(&user(), b":plain:$DATA").unwrap().object), b"plain", "it is kept");
}

#[test]
fn a_file_that_others_may_not_read_is_no_stream() {
    let (disk, file, folder) = in_depot();
    let other = Caller::new(11, 21, &[]);
    let private = disk.root().create(&other, b"private", NewKind::File, 0o600).unwrap().object;
    private.write_at(&other, 0, b"secret", Stability::File).unwrap();
    folder.remove(&user(), b":plain:$DATA").unwrap();
    disk.root().rename(&Caller::root(), b"private", &*folder, b":plain:$DATA", RenameMode::Keep).unwrap();
    assert!(read(&disk, &file, b"plain").is_err());
    // Nor is a file with another name, which this one's owner may not write.
    let linked = make(&*disk.root(), b"linked", b"linked");
    folder.link(&user(), &*linked, b":second:$DATA").unwrap();
    assert!(read(&disk, &file, b"second").is_err());
    write(&disk, &file, b"third", b"3");
    assert_eq!(content(&*linked), b"linked");
}

fn list(names: &[(&str, usize)]) -> Vec<u8> {
    let mut bytes = [b"adEA\0\x01", &(names.len() as u16).to_be_bytes()[..]].concat();
    for (name, len) in names {
        bytes.extend((*len as u32).to_be_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(0);
    }
    bytes
}

/// A file and a folder with attributes as Netatalk keeps them with `ea = ad`.
pub(super) fn netatalk_ea() -> (Disk, Owned) {
    let mut disk = Disk::new();
    let file = disk.make("f");
    let store = disk.folder(".AppleDouble");
    make(
        &*store,
        b"f::EA",
        &list(&[("com.apple.quarantine", 4), ("com.apple.metadata:_kMDItemUserTags", 4)]),
    );
    make(&*store, b"f::EA::com.apple.quarantine", b"0083");
    make(&*store, b"f::EA::com.apple.metadata:3a_kMDItemUserTags", b"tags");
    let folder = disk.folder("folder");
    let store = make_folder(&*folder, b".AppleDouble");
    make(&*store, b".Parent::EA", &list(&[("x", 1)]));
    make(&*store, b".Parent::EA::x", b"1");
    disk.streams = Streams::new(disk.faulty.clone()).with_what_is_there();
    (disk, file)
}

pub(super) fn left(disk: &Disk, folder: &str) -> Vec<String> {
    let mut left = Vec::new();
    let folder = disk.root().lookup(&user(), folder.as_bytes()).unwrap().object;
    folder
        .list(0, &mut |entry| {
            if !matches!(entry.name, b"." | b"..") {
                left.push(String::from_utf8_lossy(entry.name).into_owned());
            }
            true
        })
        .unwrap();
    left
}

#[test]
fn a_damaged_list_of_netatalk_stays_as_it_is() {
    let (disk, file) = netatalk_ea();
    let store = disk.root().lookup(&user(), b".AppleDouble").unwrap().object;
    store.remove(&user(), b"f::EA").unwrap();
    make(&*store, b"f::EA", b"adEA\0\x01\xff\xff\0\0");
    assert_eq!(names(&disk, &file), [""; 0]);
    write(&disk, &file, b"x", b"1");
    assert_eq!(content(&*store.lookup(&user(), b"f::EA").unwrap().object), b"adEA\0\x01\xff\xff\0\0");
    assert!(netatalk_list::parse(b"adEA\0\x01\xff\xff\0\0").is_err());
}

/// A file and a folder with DSM's files, in the forms that the corpus has: a header as Netatalk 2 writes it, and attributes
/// as macOS writes them.
pub(super) fn synology() -> (Disk, Owned) {
    let mut disk = Disk::new();
    let file = disk.make("f");
    disk.folder("sub");
    let store = disk.folder("@eaDir");
    let mut metadata = crate::mac::Metadata::default();
    metadata.finder_info.set_type(*b"PNGf", *b"CARO");
    let header = [&metadata.to_netatalk2(b"", 4)[..], b"fork"].concat();
    make(&*store, b"f@SynoResource", &header);
    let attributes = |value: &[u8]| crate::mac::Metadata::default().to_sidecar(&[(TAGS, value)], 0).0;
    make(&*store, b"f@SynoEAStream", &attributes(b"tags"));
    make(&*store, b"sub@SynoEAStream", &attributes(b"of folder"));
    make(&*store, b"SYNOINDEX_MEDIA_INFO", b"");
    disk.streams = Streams::new(disk.faulty.clone()).with_what_is_there();
    (disk, file)
}

/// The attributes in DSM's file of a file, which is as macOS writes a sidecar.
fn by_dsm(disk: &Disk, name: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let store = disk.root().lookup(&user(), b"@eaDir").unwrap().object;
    let Ok(there) = store.lookup(&user(), format!("{name}@SynoEAStream").as_bytes()) else {
        return Vec::new();
    };
    let bytes = content(&*there.object);
    let head = crate::mac::sidecar::parse(&bytes, bytes.len() as u64).unwrap();
    head.xattrs.iter().map(|attr| (attr.name.to_vec(), attr.value.unwrap().to_vec())).collect()
}

/// Type and fork in DSM's header of a file: Netatalk 2's places.
fn header_by_dsm(disk: &Disk, name: &str) -> ([u8; 4], Vec<u8>) {
    let store = disk.root().lookup(&user(), b"@eaDir").unwrap().object;
    let there = store.lookup(&user(), format!("{name}@SynoResource").as_bytes()).unwrap();
    let bytes = content(&*there.object);
    (*bytes[653..].first_chunk().unwrap(), bytes[741..].to_vec())
}

#[test]
fn what_dsm_keeps_is_read_and_written_there() {
    let (disk, file) = synology();
    assert_eq!((type_of(&disk, &file), disk.fork(&file)), (*b"PNGf", b"fork".to_vec()));
    assert_eq!(read(&disk, &file, TAGS).unwrap(), b"tags");
    let sub = disk.find("sub").unwrap();
    assert_eq!(read(&disk, &sub, TAGS).unwrap(), b"of folder");
    assert_eq!(left(&disk, "@eaDir").len(), 4, "nothing is rewritten");
    // What a client without forks sees, too.
    let view = disk.streams.sidecar_files().view(&user(), &*disk.root(), b"._f").unwrap();
    let crate::streams::SidecarView::Synthesized(composed) = view else { panic!("no sidecar is composed") };
    assert!(composed.bytes.ends_with(b"fork"));
    assert!(composed.bytes.windows(4).any(|window| window == b"tags"));

    write(&disk, &file, TAGS, b"other");
    write(&disk, &file, b"second", b"2");
    assert_eq!(by_dsm(&disk, "f"), [(TAGS.to_vec(), b"other".to_vec()), (b"second".to_vec(), b"2".to_vec())]);
    disk.put_fork(&file, b"FORK, longer");
    let (mut metadata, _) = disk.streams.load(&file.file()).unwrap();
    metadata.finder_info.set_type(*b"JPEG", *b"ogle");
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
    assert_eq!(header_by_dsm(&disk, "f"), (*b"JPEG", b"FORK, longer".to_vec()));
    assert_eq!((type_of(&disk, &file), disk.fork(&file)), (*b"JPEG", b"FORK, longer".to_vec()));
    assert!(!disk.has("._f"));
    disk.streams.rename_stream(&user(), &file.file(), b"second", b"third", false).unwrap();
    disk.streams.remove_stream(&user(), &file.file(), TAGS).unwrap();
    assert_eq!(by_dsm(&disk, "f"), [(b"third".to_vec(), b"2".to_vec())]);
    let xattrs = file.object.list_xattrs().unwrap();
    assert!(
        !xattrs.iter().any(|name| name.starts_with(b"user.com.apple") || name == layout::NETATALK_METADATA)
    );
}

#[test]
fn a_new_file_beside_those_of_dsm_is_kept_there_too() {
    let (disk, _) = synology();
    let file = disk.make("g");
    write(&disk, &file, TAGS, b"tags");
    disk.put_fork(&file, b"new fork");
    let (mut metadata, _) = disk.streams.load(&file.file()).unwrap();
    metadata.finder_info.set_type(*b"TEXT", *b"ttxt");
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
    assert_eq!(by_dsm(&disk, "g"), [(TAGS.to_vec(), b"tags".to_vec())]);
    assert_eq!(header_by_dsm(&disk, "g"), (*b"TEXT", b"new fork".to_vec()));
    // A folder in which DSM has thumbnails only tells nothing.
    let other = disk.folder("other");
    make(&*make_folder(&*other, b"@eaDir"), b"SYNOPHOTO_THUMB_M.jpg", b"x");
    let made = make(&*other, b"h", b"");
    let file = Owned { folder: other.clone(), name: b"h".to_vec(), object: made };
    write(&disk, &file, TAGS, b"tags");
    assert!(file.object.xattr(&[b"user.", TAGS].concat()).is_ok());
}

#[test]
fn what_dsm_keeps_goes_with_its_file() {
    let (disk, _) = synology();
    let root = disk.root();
    let rename = |from: &[u8], to: &[u8], mode| {
        disk.streams.pairs().rename(&user(), (&*root, from), (&*root, to), mode).unwrap();
    };
    rename(b"sub", b"sub2", RenameMode::Keep);
    assert_eq!(by_dsm(&disk, "sub2"), [(TAGS.to_vec(), b"of folder".to_vec())]);
    rename(b"f", b"g", RenameMode::Keep);
    let moved = disk.find("g").unwrap();
    assert_eq!((type_of(&disk, &moved), disk.fork(&moved)), (*b"PNGf", b"fork".to_vec()));
    assert_eq!((header_by_dsm(&disk, "g").1, by_dsm(&disk, "f")), (b"fork".to_vec(), vec![]));
    // Two files exchange their names.
    let other = disk.make("other");
    write(&disk, &other, TAGS, b"of other");
    rename(b"g", b"other", RenameMode::Exchange);
    assert_eq!(by_dsm(&disk, "g"), [(TAGS.to_vec(), b"of other".to_vec())]);
    assert_eq!(header_by_dsm(&disk, "other").1, b"fork");
    // One replaces the other, into a folder without any.
    let inner = disk.folder("inner");
    disk.streams.pairs().rename(&user(), (&*root, b"other"), (&*inner, b"f"), RenameMode::Keep).unwrap();
    let moved = find_in(inner.clone(), "f").unwrap();
    assert_eq!((read(&disk, &moved, TAGS).unwrap(), disk.fork(&moved)), (b"tags".to_vec(), b"fork".to_vec()));
    disk.streams.pairs().remove(&user(), &*root, b"g", None).unwrap();
    disk.streams.pairs().remove_folder(&user(), &*root, b"sub2").unwrap();
    assert_eq!(left(&disk, "@eaDir"), ["SYNOINDEX_MEDIA_INFO"]);
}

/// Whatever call fails while DSM's files follow their file, it finds them.
#[test]
fn a_move_of_dsms_files_can_be_cut_off_anywhere() {
    let mut through = false;
    for nth in 1..400 {
        let (mut disk, _) = synology();
        let root = disk.root();
        disk.faulty.plan().fail_from(nth, None, crate::Error::Io);
        let from = (&*root, &b"f"[..]);
        let moved = disk.streams.pairs().rename(&user(), from, (&*root, b"g"), RenameMode::Keep);
        let calls = disk.faulty.plan().calls(None);
        disk.crash();
        disk.streams = Streams::new(disk.faulty.clone()).with_what_is_there();
        let file = disk.find("f").or_else(|| disk.find("g")).unwrap();
        assert_eq!(disk.fork(&file), b"fork", "{nth}");
        assert_eq!(
            (type_of(&disk, &file), read(&disk, &file, TAGS)),
            (*b"PNGf", Ok(b"tags".to_vec())),
            "{nth}"
        );
        through = moved.is_ok() && calls < nth;
        if through {
            break;
        }
    }
    assert!(through);
}
