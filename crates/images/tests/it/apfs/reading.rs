//! Reading what was written.

use formats::Kind;
use images::Error;
use images::tree::{FileSystem, Fork, NodeId};

use super::content::Names;
use super::{PASSPHRASE, everything, files, long_name, long_names, pattern, sealed, volumes};

fn find(files: &dyn FileSystem, path: &str) -> images::Result<NodeId> {
    path.split('/').try_fold(files.root(), |folder, name| Ok(files.lookup(folder, name)?.node))
}

fn data(files: &dyn FileSystem, path: &str, fork: Fork) -> Vec<u8> {
    let node = find(files, path).unwrap();
    let size = files.node(node).unwrap();
    let size = if fork == Fork::Data { size.size } else { size.resource_size };
    let mut bytes = vec![0; size as usize + 10];
    let read = files.read(node, fork, 0, &mut bytes).unwrap();
    assert_eq!(read as u64, size, "{path} has as many bytes as it says");
    bytes.truncate(read);
    bytes
}

/// The names in a folder, page by page.
fn names(files: &dyn FileSystem, folder: &str, page: usize) -> Vec<String> {
    let folder = if folder.is_empty() { files.root() } else { find(files, folder).unwrap() };
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let page = files.entries(folder, after.as_deref(), page).unwrap();
        names.extend(page.entries.into_iter().map(|entry| entry.name));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    names.sort();
    names
}

fn assert_everything(files: &dyn FileSystem) {
    assert_eq!(files.name(), "Data of Ann");
    assert_eq!(data(files, "hello.txt", Fork::Data), b"hello, world\n");
    assert_eq!(find(files, "hello.txt"), find(files, "Documents/also hello.txt"));
    assert_eq!(files.node(find(files, "hello.txt").unwrap()).unwrap().links, 2);
    assert_eq!(data(files, "Documents/Ünïcödé – ordner/café.txt", Fork::Data), b"accents");
    assert_eq!(data(files, "empty", Fork::Data), b"");
    let link = find(files, "link").unwrap();
    assert_eq!(files.link_target(link).unwrap(), b"Documents/also hello.txt");
    assert_eq!((files.node(link).unwrap().kind, files.node(link).unwrap().size), (Kind::Link, 24));
    let sparse = data(files, "Documents/sparse", Fork::Data);
    let mut expected = vec![0; (1 << 20) + 100_000];
    expected[..5000].fill(1);
    expected[1 << 20..(1 << 20) + 100].fill(2);
    assert!(sparse == expected, "holes are zeros, and pieces are where they were written");
    assert_eq!(data(files, "with fork", Fork::Data), b"data");
    assert_eq!(data(files, "with fork", Fork::Resource), pattern(9000));
    let node = find(files, "with fork").unwrap();
    assert_eq!(files.node(node).unwrap().finder_info[..9], *b"TEXTttxt\x01");
    assert_eq!(files.attribute_names(node).unwrap(), ["user.large", "user.small"]);
    assert_eq!(files.attribute(node, "user.small").unwrap(), b"small");
    assert_eq!(files.attribute(node, "user.large").unwrap(), pattern(5000));
    assert_eq!(files.attribute(node, "com.apple.FinderInfo"), Err(Error::NotFound));
    assert_eq!(data(files, "Documents/clone", Fork::Data), pattern(20_000));
    let mut middle = [0; 3000];
    assert_eq!(files.read(find(files, "Documents/clone").unwrap(), Fork::Data, 4001, &mut middle), Ok(3000));
    assert_eq!(middle[..], pattern(20_000)[4001..7001]);
    assert_eq!(
        names(files, "Documents", 2),
        ["also hello.txt", "clone", "original", "sparse", "Ünïcödé – ordner"]
    );
    let folder = find(files, "Documents/Ünïcödé – ordner").unwrap();
    assert_eq!(files.parent(folder), find(files, "Documents"));
    assert_eq!(files.parent(files.root()), Ok(files.root()));
    assert_eq!(find(files, "nothing"), Err(Error::NotFound));
    assert_eq!(files.lookup(find(files, "hello.txt").unwrap(), "x"), Err(Error::NotFound));
}

#[test]
fn everything_that_was_written_is_read() {
    for case in [Names::Folded, Names::Normalized, Names::Exact] {
        for passphrase in [None, Some(PASSPHRASE)] {
            let volume = &volumes(everything(case, passphrase))[0];
            assert_everything(&*files(volume));
            assert_eq!(names(&*files(volume), "many", 37).len(), 400);
        }
    }
}

#[test]
fn a_snapshot_has_the_files_of_its_time() {
    for passphrase in [None, Some(PASSPHRASE)] {
        let volume = &volumes(everything(Names::Folded, passphrase))[0];
        let taken: Vec<_> = volume.snapshots.iter().map(|snapshot| &snapshot.name[..]).collect();
        assert_eq!(taken, ["first", "second"]);
        assert_eq!(volume.snapshots[0].taken.secs, 1_706_788_800);
        let (first, second) = ((volume.snapshots[0].open)().unwrap(), (volume.snapshots[1].open)().unwrap());
        assert_everything(&*first);
        assert_everything(&*second);
        assert_eq!(data(&*first, "doomed", Fork::Data), b"only in the first snapshot");
        assert_eq!(find(&*second, "doomed"), Err(Error::NotFound));
        assert_eq!(find(&*first, "later"), Err(Error::NotFound));
        assert_eq!(data(&*second, "later", Fork::Data), b"not in the first snapshot");
        assert_eq!(find(&*second, "many"), Err(Error::NotFound));
    }
}

#[test]
fn names_are_found_by_the_comparison_of_the_volume() {
    // "É" as one and as two characters, in both cases.
    let spellings = ["Documents", "documents", "U\u{308}nïcödé – ordner", "ÜNÏCÖDÉ – ORDNER"];
    let expected = [
        (Names::Folded, [true, true, true, true]),
        (Names::Normalized, [true, false, true, false]),
        (Names::Exact, [true, false, false, false]),
    ];
    for (case, found) in expected {
        let files = files(&volumes(everything(case, None))[0]);
        let folder = find(&*files, "Documents").unwrap();
        let is_found =
            |name: &str| files.lookup(files.root(), name).is_ok() || files.lookup(folder, name).is_ok();
        assert_eq!(spellings.map(is_found), found);
        assert_eq!(files.case_sensitive(), case != Names::Folded);
    }
}

#[test]
fn an_encrypted_volume_is_listed_without_its_passphrase() {
    let disk: std::sync::Arc<dyn images::ReadAt> =
        std::sync::Arc::new(everything(Names::Folded, Some(PASSPHRASE)));
    let wrong = images::Passphrase::new("wrong".to_owned());
    for passphrase in [None, Some(&wrong)] {
        let volumes = images::apfs::volumes(&disk, passphrase).unwrap();
        assert_eq!((volumes.len(), &volumes[0].name[..]), (1, "Data of Ann"));
        assert_eq!(volumes[0].files.as_ref().err(), Some(&Error::Passphrase));
    }
}

#[test]
fn space_is_that_of_the_container() {
    let (total, free) = files(&volumes(everything(Names::Folded, None))[0]).space();
    assert_eq!(total, 512 << 20);
    assert!(free < total && free > 500 << 20);
}

#[test]
fn volumes_of_one_container_have_their_own_files_and_keys() {
    let mut container = super::writer::ContainerWriter::new();
    for (name, passphrase) in [("Plain", None), ("Secret", Some(PASSPHRASE)), ("Other", Some("another one"))]
    {
        let volume = container.volume(name, Names::Normalized, passphrase);
        container.file(volume, 2, "name", name.as_bytes());
    }
    let volumes = volumes(container.finish());
    assert_eq!(data(&*files(&volumes[0]), "name", Fork::Data), b"Plain");
    assert_eq!(data(&*files(&volumes[1]), "name", Fork::Data), b"Secret");
    assert_eq!((&volumes[2].name[..], volumes[2].files.as_ref().err()), ("Other", Some(&Error::Passphrase)));
    assert_eq!(volumes[1].format, "APFS (case-sensitive), encrypted");
}

#[test]
fn long_names_in_trees_of_several_levels_are_found() {
    let files = files(&volumes(long_names())[0]);
    let expected: Vec<String> = (0..400).map(long_name).collect();
    assert_eq!(names(&*files, "folder", 64), expected);
    for name in &expected {
        let decomposed = name.replace('ü', "u\u{308}").to_uppercase();
        assert_eq!(find(&*files, &format!("folder/{decomposed}")), find(&*files, &format!("folder/{name}")));
    }
}

#[test]
fn a_sealed_volume_is_read() {
    let files = files(&volumes(sealed())[0]);
    assert_eq!(names(&*files, "usr", 7).len(), 60);
    for number in [0, 1, 59] {
        assert_eq!(
            data(&*files, &format!("usr/program with the number {number}"), Fork::Data),
            pattern(number * 100)
        );
    }
}
