//! Images that other programs made (tests/data/MANIFEST.md): they are shown as these programs meant them, and are sound.

use formats::Kind;
use images::Error;
use images::tree::Fork;

use crate::common::{check, file, files, find, lines, list, names, read, stored};

#[test]
fn a_volume_that_linux_wrote_is_shown_and_sound() {
    let source = file(stored("kernel.img.gz"));
    let (checked, problems) = check(&source);
    assert_eq!(lines(&problems), [""; 0]);
    assert!(checked.finished && checked.volumes == 1);
    let files = files(&source);
    let files = files.as_ref();
    assert_eq!((files.name().as_str(), files.format().as_str()), ("Kernel", "HFS+"));
    assert_eq!(
        names(files, files.root()),
        ["folder", "fragmented", "gone2", "Gro\u{308}ße", "one", "symbolic", "two"]
    );
    // 400 files, of which every third one of the first 300 was removed.
    assert_eq!(list(files, find(files, "folder/inner").unwrap()).len(), 300);
    let path = "folder/inner/file with a long name to fill nodes 397";
    assert_eq!(read(files, find(files, path).unwrap(), Fork::Data), b"number 397\n");
    let fragmented = read(files, find(files, "fragmented").unwrap(), Fork::Data);
    assert!(fragmented.len() == 60 * 4096 && fragmented.iter().all(|byte| *byte == b'a'));
    assert_eq!(files.node(find(files, "folder/plain moved").unwrap()).unwrap().mode, 0o600);
    assert_eq!(read(files, find(files, "größe/NAÏVE").unwrap(), Fork::Data), b"umlaut\n");
    assert_eq!(files.link_target(find(files, "symbolic").unwrap()).unwrap(), b"folder/plain");
}

#[test]
fn hard_links_of_linux_are_one_file() {
    let source = file(stored("kernel.img.gz"));
    let files = files(&source);
    let files = files.as_ref();
    let one = find(files, "one").unwrap();
    assert_eq!((find(files, "two").unwrap(), find(files, "folder/three").unwrap()), (one, one));
    assert_eq!(files.node(one).unwrap().links, 3);
    assert_eq!(read(files, one, Fork::Data), b"shared by three\n");
    assert_eq!(files.node(find(files, "gone2").unwrap()).unwrap().links, 1);
    assert_eq!(find(files, "gone"), Err(Error::NotFound));
}

#[test]
fn attributes_that_linux_wrote_are_read() {
    let source = file(stored("kernel.img.gz"));
    let files = files(&source);
    let one = find(files.as_ref(), "one").unwrap();
    assert_eq!(files.attribute_names(one).unwrap(), ["user.small"]);
    assert_eq!(files.attribute(one, "user.small").unwrap(), b"value");
    let folder = find(files.as_ref(), "folder").unwrap();
    assert_eq!(files.attribute(folder, "user.other").unwrap(), vec![b'v'; 1000]);
}

/// An ISO image with Apple's partition map, in which xorriso has a volume of HFS+ with the same files. Apple's `fsck_hfs` says
/// of it "Volume bitmap needs minor repair for orphaned blocks", and nothing else of the records.
#[test]
fn a_volume_that_xorriso_wrote_has_one_orphaned_block() {
    let source = file(stored("xorriso.iso.gz"));
    let (checked, problems) = check(&source);
    let orphaned = "allocation bitmap: blocks 15 to 15 are not free in the bitmap, but nothing has them";
    assert_eq!(lines(&problems), [orphaned]);
    assert_eq!(checked.volumes, 1);
    let files = files(&source);
    let files = files.as_ref();
    assert_eq!(names(files, files.root()), ["hello.txt", "link", "sub", "zeros"]);
    assert_eq!(read(files, find(files, "hello.txt").unwrap(), Fork::Data), b"hello\n");
    assert_eq!(read(files, find(files, "zeros").unwrap(), Fork::Data), vec![b'z'; 30_000]);
    let link = find(files, "link").unwrap();
    assert_eq!(
        (files.node(link).unwrap().kind, files.link_target(link).unwrap()),
        (Kind::Link, b"hello.txt".to_vec())
    );
    assert_eq!(list(files, find(files, "sub").unwrap()).len(), 40);
}

/// The names of a damaged tree may be in any order: the pages of a folder end all the same.
#[test]
fn pages_of_a_folder_whose_names_are_out_of_order_end() {
    let mut bytes = stored("kernel.img.gz");
    let whole = files(&file(bytes.clone()));
    let inner = find(whole.as_ref(), "folder/inner").unwrap();
    let seventh = list(whole.as_ref(), inner).swap_remove(6).name;
    let name: Vec<u8> = seventh.encode_utf16().flat_map(u16::to_be_bytes).collect();
    // A key: its length, the folder, the length of the name, the name.
    let length = (seventh.len() as u16).to_be_bytes();
    let key = [&(6 + name.len() as u16).to_be_bytes()[..], &(inner.0 as u32).to_be_bytes(), &length, &name]
        .concat();
    let at = bytes.windows(key.len()).position(|window| window == key).expect("the key is there");
    bytes[at + 9] = b'a'; // before all others
    let files = files(&file(bytes));
    let (mut after, mut pages) = (None::<String>, 0);
    loop {
        let page = files.entries(inner, after.as_deref(), 7).unwrap();
        pages += 1;
        assert!(pages < 300, "as many pages as entries are too many");
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
}
