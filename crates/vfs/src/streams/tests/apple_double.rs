//! Netatalk's files in `.AppleDouble`: read and written where they are, moved and removed with their file.

use super::foreign::{left, netatalk_ea};
use super::*;
use crate::Error;
use crate::backend::RenameMode;
use crate::mac::{FinderInfo, Metadata, layout, netatalk, netatalk_list};

const TAGS: &[u8] = b"com.apple.metadata:_kMDItemUserTags";

/// A volume with Netatalk 2's header file of `f`: Finder info, comment and fork.
fn netatalk2() -> (Disk, Owned) {
    let mut disk = Disk::new();
    let file = disk.make("f");
    let mut metadata = Metadata::default();
    let mut info = FinderInfo::NONE;
    info.set_type(*b"TEXT", *b"ttxt");
    metadata.set_finder_info(info);
    metadata.comment = b"remember".to_vec();
    let header = metadata.to_netatalk2(b"f", 4);
    assert_eq!(header.len(), 741);
    let folder = disk.folder(".AppleDouble");
    let made = folder.create(&user(), b"f", NewKind::File, 0o644).unwrap().object;
    made.write_at(&user(), 0, &[&header[..], b"fork"].concat(), Stability::File).unwrap();
    disk.streams = Streams::new(disk.faulty.clone()).with_what_is_there();
    (disk, file)
}

fn check_netatalk2(disk: &Disk, name: &str, fork: &[u8]) {
    let file = disk.find(name).unwrap();
    let (metadata, _) = disk.streams.load(&file.file()).unwrap();
    assert_eq!((metadata.finder_info.file_type(), &metadata.comment[..]), (*b"TEXT", &b"remember"[..]));
    assert_eq!(disk.fork(&file), fork);
}

fn header_file_is_there(disk: &Disk) -> bool {
    find_in(disk.root(), ".AppleDouble").is_some_and(|store| find_in(store.object, "f").is_some())
}

#[test]
fn header_files_of_netatalk_2_are_read_where_they_are() {
    let (disk, _) = netatalk2();
    check_netatalk2(&disk, "f", b"fork");
    assert!(header_file_is_there(&disk) && !disk.has("._f"));
}

#[test]
fn header_files_of_netatalk_2_go_with_their_file() {
    let (disk, _) = netatalk2();
    let root = disk.root();
    let rename = |from: &[u8], to: &[u8]| {
        disk.streams.pairs().rename(&user(), (&*root, from), (&*root, to), RenameMode::Replace)
    };
    rename(b"f", b"g").unwrap();
    check_netatalk2(&disk, "g", b"fork");
    let (disk, _) = netatalk2();
    disk.streams.pairs().remove(&user(), &*disk.root(), b"f", None).unwrap();
    let fresh = disk.make("f");
    assert!(disk.streams.load(&fresh.file()).unwrap().0.is_empty() && disk.fork(&fresh).is_empty());
}

/// Whatever call fails while a header file is taken over, nothing in it is lost.
#[test]
fn taking_over_can_be_cut_off_anywhere() {
    let mut through = false;
    for nth in 1..300 {
        let (mut disk, file) = netatalk2();
        disk.faulty.plan().fail_from(nth, None, Error::Io);
        through = disk.streams.take_over(&file.file()).is_ok();
        disk.crash();
        disk.streams = Streams::new(disk.faulty.clone()).with_what_is_there();
        check_netatalk2(&disk, "f", b"fork");
        if through {
            break;
        }
    }
    assert!(through);
}

/// What Netatalk reads in a header file: its places are fixed (libatalk's `ad_open.c`, `entry_order2`).
struct Header {
    file_type: [u8; 4],
    comment: Vec<u8>,
    fork: Vec<u8>,
}

fn header(disk: &Disk, name: &str) -> Option<Header> {
    let store = find_in(disk.root(), ".AppleDouble")?.object;
    let bytes = content(&*find_in(store, name)?.object);
    let (fields, _) = netatalk::parse(&bytes).unwrap();
    let file_type = bytes[653..657].try_into().unwrap();
    Some(Header { file_type, comment: fields.comment.unwrap_or_default(), fork: bytes[741..].to_vec() })
}

fn other_type(disk: &Disk, file: &Owned) {
    let (mut metadata, _) = disk.streams.load(&file.file()).unwrap();
    metadata.finder_info.set_type(*b"PDF ", *b"prvw");
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
}

fn xattrs(file: &Owned) -> Vec<String> {
    let names = file.object.list_xattrs().unwrap();
    names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

#[test]
fn header_files_of_netatalk_are_written_where_they_are() {
    let (disk, file) = netatalk2();
    let mut fork = disk.streams.fork_to_write(&user(), &file.file()).unwrap();
    fork.write_at(4, b"!", Stability::File).unwrap();
    other_type(&disk, &file);
    let there = header(&disk, "f").unwrap();
    assert_eq!(
        (&there.file_type, &there.comment[..], &there.fork[..]),
        (b"PDF ", &b"remember"[..], &b"fork!"[..])
    );
    let (mut metadata, _) = disk.streams.load(&file.file()).unwrap();
    metadata.comment = b"another".to_vec();
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
    assert_eq!(header(&disk, "f").unwrap().comment, b"another");
    assert_eq!(disk.streams.load(&file.file()).unwrap().0, metadata);
    assert_eq!((xattrs(&file), disk.has("._f")), (vec!["user.DOSATTRIB".to_owned()], false));
    disk.streams.remove_fork(&user(), &file.file()).unwrap();
    assert_eq!((header(&disk, "f").unwrap().fork, disk.fork(&file)), (vec![], vec![]));
}

#[test]
fn new_files_and_folders_get_the_layout_of_the_folder() {
    let (disk, _) = netatalk2();
    let file = disk.make("new");
    other_type(&disk, &file);
    disk.put_fork(&file, b"its fork");
    disk.streams.write_stream(&user(), &file.file(), TAGS, 0, b"tags", Stability::File).unwrap();
    let there = header(&disk, "new").unwrap();
    assert_eq!((&there.file_type, &there.fork[..]), (b"PDF ", &b"its fork"[..]));
    let list = find_in(find_in(disk.root(), ".AppleDouble").unwrap().object, "new::EA").unwrap();
    // Netatalk's include/atalk/ea.h.
    assert_eq!(content(&*list.object), b"adEA\0\x01\0\x01\0\0\0\x04com.apple.metadata:_kMDItemUserTags\0");
    assert_eq!((xattrs(&file), disk.has("._new")), (vec![], false));
    // A new folder, and a file in it.
    let made = disk.folder("folder");
    let folder = disk.find("folder").unwrap();
    other_type(&disk, &folder);
    let store = find_in(made.clone(), ".AppleDouble").unwrap().object;
    assert_eq!(content(&*find_in(store.clone(), ".Parent").unwrap().object)[653..657], *b"PDF ");
    let inner = made.create(&user(), b"inner", NewKind::File, 0o644).unwrap().object;
    let inner = Owned { folder: made, name: b"inner".to_vec(), object: inner };
    other_type(&disk, &inner);
    assert!(find_in(store, "inner").is_some());
    // Neither does a file of other attributes get it.
    let other = disk.make("other");
    set_xattr(&*other.object, layout::NETATALK_METADATA, &Metadata::default().to_netatalk());
    other_type(&disk, &other);
    assert!(header(&disk, "other").is_none());
}

#[test]
fn attributes_of_netatalk_are_written_where_they_are() {
    let (disk, file) = netatalk_ea();
    let value = |disk: &Disk, file: &Owned, name: &[u8]| {
        let mut value = Vec::new();
        disk.streams.read_stream(&user(), &file.file(), name, (0, 100), &mut value).map(|_| value)
    };
    let write = |file: &Owned, name: &[u8], value: &[u8]| {
        disk.streams.truncate_stream(&user(), &file.file(), name, 0).unwrap();
        disk.streams.write_stream(&user(), &file.file(), name, 0, value, Stability::File).unwrap();
    };
    assert_eq!(value(&disk, &file, TAGS).unwrap(), b"tags");
    write(&file, TAGS, b"longer tags");
    write(&file, b"new", b"1");
    let store = find_in(disk.root(), ".AppleDouble").unwrap().object;
    let there = |name: &str| find_in(store.clone(), name).map(|there| content(&*there.object));
    assert_eq!(there("f::EA::com.apple.metadata:3a_kMDItemUserTags").unwrap(), b"longer tags");
    let list = netatalk_list::parse(&there("f::EA").unwrap()).unwrap();
    let lens: Vec<u32> = list.iter().map(|listed| listed.len).collect();
    assert_eq!((lens, xattrs(&file)), (vec![4, 11, 1], vec![]));
    let rename = |from: &[u8], to: &[u8]| disk.streams.rename_stream(&user(), &file.file(), from, to, false);
    rename(b"new", b"newer").unwrap();
    assert_eq!((there("f::EA::new"), there("f::EA::newer").unwrap()), (None, b"1".to_vec()));
    for name in [&b"newer"[..], TAGS, b"com.apple.quarantine"] {
        disk.streams.remove_stream(&user(), &file.file(), name).unwrap();
    }
    assert_eq!(left(&disk, ".AppleDouble"), [""; 0]);
    // One that is too long for an attribute is in the store.
    write(&file, TAGS, &vec![b'x'; 1 << 17]);
    assert_eq!(disk.streams.stream_len(&user(), &file.file(), TAGS).unwrap(), 1 << 17);
    let folder = disk.find("folder").unwrap();
    write(&folder, b"x", b"22");
    let store = find_in(folder.object.clone(), ".AppleDouble").unwrap().object;
    assert_eq!(content(&*find_in(store, ".Parent::EA::x").unwrap().object), b"22");
}

/// A volume with a file of type and fork `f`, with an attribute; `g` likewise if that is wanted.
fn with_all(names: &[&str]) -> Disk {
    let (mut disk, _) = netatalk2();
    for name in names {
        let file = disk.find(name).unwrap_or_else(|| disk.make(name));
        describe(&disk, &file, name.as_bytes());
    }
    disk.folder("folder");
    disk.streams = Streams::new(disk.faulty.clone()).with_what_is_there();
    disk
}

fn describe(disk: &Disk, file: &Owned, say: &[u8]) {
    let (mut metadata, _) = disk.streams.load(&file.file()).unwrap();
    metadata.comment = say.to_vec();
    disk.streams.store(&user(), &file.file(), &metadata).unwrap();
    disk.streams.cut_fork(&user(), &file.file(), 0).unwrap();
    disk.streams.write_fork(&user(), &file.file(), 0, say, Stability::File).unwrap();
    disk.streams.write_stream(&user(), &file.file(), b"says", 0, say, Stability::File).unwrap();
}

/// What a file says of itself, in all three places; they must not differ.
fn says(disk: &Disk, file: &Owned) -> Vec<u8> {
    let (metadata, problems) = disk.streams.load(&file.file()).unwrap();
    let mut value = Vec::new();
    let read = disk.streams.read_stream(&user(), &file.file(), b"says", (0, 100), &mut value);
    assert!(matches!(read, Ok(_) | Err(Error::NoSuchAttribute)));
    assert_eq!((&metadata.comment, problems.len()), (&value, 0));
    assert_eq!(disk.fork(file), value);
    value
}

#[test]
fn what_netatalk_keeps_moves_and_goes_with_its_file() {
    let disk = with_all(&["f", "g"]);
    let (root, folder) = (disk.root(), disk.find("folder").unwrap().object);
    let rename = |from: (&dyn Object, &[u8]), to: (&dyn Object, &[u8]), mode| {
        disk.streams.pairs().rename(&user(), from, to, mode).unwrap();
    };
    rename((&*root, b"f"), (&*root, b"g"), RenameMode::Exchange);
    for (name, expected) in [("f", &b"g"[..]), ("g", b"f")] {
        assert_eq!(says(&disk, &disk.find(name).unwrap()), expected);
        assert_eq!(header(&disk, name).unwrap().comment, expected, "Netatalk finds it");
    }
    assert_eq!(left(&disk, ".AppleDouble").len(), 6);
    rename((&*root, b"g"), (&*root, b"f"), RenameMode::Replace);
    assert_eq!(says(&disk, &disk.find("f").unwrap()), b"f");
    assert_eq!(left(&disk, ".AppleDouble").len(), 3, "nothing of the replaced file is left");
    rename((&*root, b"f"), (&*folder, b"new"), RenameMode::Keep);
    assert_eq!(left(&disk, ".AppleDouble"), [""; 0]);
    let moved = find_in(folder.clone(), "new").unwrap();
    assert_eq!((says(&disk, &moved), xattrs(&moved)), (b"f".to_vec(), vec![]));
    let store = find_in(folder.clone(), ".AppleDouble").unwrap().object;
    let there = find_in(store.clone(), "new").unwrap();
    let (fields, _) = netatalk::parse(&content(&*there.object)).unwrap();
    assert_eq!(fields.real_name.as_deref(), Some(&b"new"[..]));
    assert_eq!(there.object.list_xattrs().unwrap(), Vec::<Vec<u8>>::new());
    disk.streams.pairs().remove(&user(), &*folder, b"new", None).unwrap();
    assert_eq!(super::super::store::names(&*store).unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn a_file_with_two_names_takes_what_netatalk_keeps_into_attributes() {
    let disk = with_all(&["f"]);
    let (root, file) = (disk.root(), disk.find("f").unwrap());
    root.link(&user(), &*file.object, b"second").unwrap();
    disk.streams.pairs().remove(&user(), &*root, b"f", None).unwrap();
    assert_eq!(disk.streams.load(&disk.find("second").unwrap().file()).unwrap().0.comment, b"f");
    assert_eq!(left(&disk, ".AppleDouble"), [""; 0]);
}

/// What is cut off, with the root and a folder in it.
type Act = dyn Fn(&Streams, &dyn Object, &dyn Object) -> Result<()>;

/// The moves that are cut off: after a crash anywhere each file is there with all that is its own, and Netatalk's files of no
/// other.
fn cut_off(act: &Act, check: &dyn Fn(&Disk)) {
    for nth in 1..400 {
        let mut disk = with_all(&["f", "g"]);
        let (root, folder) = (disk.root(), disk.find("folder").unwrap().object);
        let before = disk.faulty.plan().calls(None);
        disk.faulty.plan().fail_from(nth, None, Error::Io);
        let is_through =
            act(&disk.streams, &*root, &*folder).is_ok() && disk.faulty.plan().calls(None) - before < nth;
        disk.crash();
        disk.streams = Streams::new(disk.faulty.clone()).with_what_is_there();
        check(&disk);
        if is_through {
            return;
        }
    }
    panic!("it never comes through");
}

#[test]
fn a_move_can_be_cut_off_anywhere() {
    cut_off(
        &|streams, root, folder| {
            streams.pairs().rename(&user(), (root, b"f"), (folder, b"moved"), RenameMode::Keep)
        },
        &|disk| {
            let moved = disk.find("folder").and_then(|folder| find_in(folder.object, "moved"));
            let file = moved.or_else(|| disk.find("f")).unwrap();
            assert_eq!(says(disk, &file), b"f");
            // Another file of the old name has nothing of it.
            if file.name != b"f" {
                assert_eq!(says(disk, &disk.make("f")), b"");
            }
        },
    );
}

#[test]
fn a_file_that_replaces_another_can_be_cut_off_anywhere() {
    cut_off(
        &|streams, root, _| streams.pairs().rename(&user(), (root, b"f"), (root, b"g"), RenameMode::Replace),
        &|disk| {
            let g = disk.find("g").unwrap();
            match disk.find("f") {
                Some(f) => assert_eq!((says(disk, &f), says(disk, &g)), (b"f".to_vec(), b"g".to_vec())),
                None => assert_eq!(says(disk, &g), b"f"),
            }
        },
    );
}

#[test]
fn an_exchange_can_be_cut_off_anywhere() {
    cut_off(
        &|streams, root, _| streams.pairs().rename(&user(), (root, b"f"), (root, b"g"), RenameMode::Exchange),
        &|disk| {
            let [f, g] = ["f", "g"].map(|name| says(disk, &disk.find(name).unwrap()));
            assert!([(&b"f"[..], &b"g"[..]), (b"g", b"f")].contains(&(&f[..], &g[..])), "{f:?} {g:?}");
        },
    );
}

#[test]
fn a_removal_can_be_cut_off_anywhere() {
    cut_off(&|streams, root, _| streams.pairs().remove(&user(), root, b"f", None), &|disk| match disk
        .find("f")
    {
        Some(f) => assert_eq!(says(disk, &f), b"f"),
        None => assert_eq!(says(disk, &disk.make("f")), b""),
    });
}
