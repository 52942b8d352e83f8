//! Replication from ZFS and to ZFS, on a pool in a file.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::SystemTime;

use replicate::{Link, Options, receive, send};
use snapshots::{Dataset, EngineKind};

use crate::scene::zfs::Pool;
use crate::scene::{Mounted, names, run, text};

mod scene;

fn replicate(from: &Dataset, to: &Dataset) -> Vec<String> {
    let (one, other) = UnixStream::pair().unwrap();
    let (to_destination, to_source) =
        (Link::new(one.try_clone().unwrap(), one), Link::new(other.try_clone().unwrap(), other));
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receive(to, to_source, &mut |_| {}));
        let sent = send(from, &Options::default(), to_destination, &mut |_| {});
        received.join().unwrap().unwrap();
        sent.unwrap().0
    })
}

#[test]
fn from_zfs_to_btrfs_and_back() {
    let Some(pool) = Pool::new() else { return };
    let Some(mounted) = Mounted::new("btrfs") else { return };
    let root = Dataset::find(&pool.root()).unwrap();
    let zfs = |name: &str| {
        let folder = root.make_subdataset(Path::new(name)).unwrap();
        let dataset = Dataset::find(&folder).unwrap().with_mounts(&pool.mounts());
        assert_eq!(dataset.engine(), EngineKind::Zfs);
        dataset
    };
    let folder = mounted.root().join("btrfs");
    assert!(run("btrfs", &["-q", "subvolume", "create", text(&folder)]));
    let (source, between, back) = (zfs("source"), Dataset::find(&folder).unwrap(), zfs("back"));
    let big: Vec<u8> = (0..500_000u32).map(|number| (number / 100) as u8).collect();
    fs::create_dir(source.folder().join("docs")).unwrap();
    fs::write(source.folder().join("docs/big"), &big).unwrap();
    fs::hard_link(source.folder().join("docs/big"), source.folder().join("same")).unwrap();
    std::os::unix::fs::symlink("docs", source.folder().join("link")).unwrap();
    source.create("one", SystemTime::now()).unwrap();
    source.hold("one", "legal").unwrap();
    assert_eq!(replicate(&source, &between), ["one"]);
    assert_eq!(replicate(&between, &back), ["one"]);

    fs::rename(source.folder().join("docs/big"), source.folder().join("docs/moved")).unwrap();
    fs::write(source.folder().join("docs/new"), b"new").unwrap();
    source.create("two", SystemTime::now()).unwrap();
    assert_eq!(replicate(&source, &between), ["two"]);
    assert_eq!(replicate(&between, &back), ["two"]);
    for dataset in [&source, &between, &back] {
        let read = |name: &str, path: &str| fs::read(dataset.mount(name).unwrap().join(path));
        assert_eq!(names(dataset).len(), 2);
        assert_eq!(dataset.snapshot("one").unwrap().held, ["legal"]);
        assert!(read("one", "docs/big").unwrap() == big && read("one", "same").unwrap() == big);
        assert!(read("two", "docs/moved").unwrap() == big && read("two", "docs/big").is_err());
        assert_eq!(read("two", "docs/new").unwrap(), b"new");
        assert_eq!(fs::read_link(dataset.folder().join("link")).unwrap(), Path::new("docs"));
    }
    for dataset in [&source, &between, &back] {
        dataset.release("one", "legal").unwrap();
    }
}
