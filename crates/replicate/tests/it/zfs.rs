//! Replication from ZFS and to ZFS, on a pool in a file.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::SystemTime;

use replicate::{Link, Method, Options, Progress, receive, send};
use snapshots::{Dataset, EngineKind};

use crate::scene::zfs::Pool;
use crate::scene::{Mounted, names, run, text, until_next_second};

fn replicate(from: &Dataset, to: &Dataset) -> Vec<String> {
    by(Method::Auto, from, to).0
}

/// Sends what the destination lacks. Returns the names of the snapshots, the reasons why they did not come by a stream (empty:
/// they did), and the warnings.
fn by(method: Method, from: &Dataset, to: &Dataset) -> (Vec<String>, Vec<String>, Vec<String>) {
    let options = Options { method, ..Options::default() };
    let mut reasons = Vec::new();
    let (one, other) = UnixStream::pair().unwrap();
    let (to_destination, to_source) =
        (Link::new(one.try_clone().unwrap(), one), Link::new(other.try_clone().unwrap(), other));
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receive(to, to_source, &mut |_| {}));
        let sent = send(from, &options, to_destination, &mut |now: &Progress| {
            reasons.push(now.native.clone().err().unwrap_or_default());
        });
        received.join().unwrap().unwrap();
        let (names, warnings) = sent.unwrap();
        reasons.dedup();
        (names, reasons, warnings)
    })
}

fn subdataset(pool: &Pool, name: &str) -> Dataset {
    let root = Dataset::find(&pool.root()).unwrap();
    let dataset = Dataset::find(&root.make_subdataset(Path::new(name)).unwrap()).unwrap();
    assert_eq!(dataset.engine(), EngineKind::Zfs);
    dataset.with_mounts(&pool.mounts())
}

/// They share the pool: to start the daemon takes most of the time.
#[test]
fn replicas_on_zfs() {
    let Some(pool) = Pool::new() else { return };
    streams_of_zfs_carry_the_changes(&pool);
    from_zfs_to_btrfs_and_back(&pool);
}

fn streams_of_zfs_carry_the_changes(pool: &Pool) {
    let (source, destination) = (subdataset(pool, "studio"), subdataset(pool, "vault"));
    let (here, there) = (source.folder(), destination.folder());
    let mut disk: Vec<u8> = (0..3_000_000u32).map(|number| (number / 100) as u8 | 1).collect();
    fs::create_dir(here.join("docs")).unwrap();
    fs::write(here.join("docs/disk"), &disk).unwrap();
    fs::write(here.join("docs/gone"), "gone").unwrap();
    let same = |name: &str, disk: &[u8]| {
        let path = destination.mount(name).unwrap();
        assert!(fs::read(path.join("docs/disk")).unwrap() == disk, "{name}");
        assert!(fs::read(there.join("docs/disk")).unwrap() == disk, "{name}");
    };
    let received = || {
        let names = fs::read_dir(there.join(".fourfold-snapshots/.received"));
        names.map_or(0, |names| names.count())
    };
    source.create("one", SystemTime::now()).unwrap();
    let (names, reasons, _) = by(Method::Auto, &source, &destination);
    assert_eq!(names, ["one"]);
    assert!(reasons[0].contains("a second time"), "a stream takes space, and was not asked for: {reasons:?}");
    same("one", &disk);
    assert_eq!(received(), 0);

    disk[1_000_000..1_000_003].copy_from_slice(b"new");
    fs::write(here.join("docs/disk"), &disk).unwrap();
    source.create("two", SystemTime::now()).unwrap();
    let whole = by(Method::Send, &source, &destination);
    assert_eq!(whole, (vec!["two".to_owned()], vec![String::new()], vec![]));
    same("two", &disk);
    assert!(received() > 0);

    // From here on, the difference is sent: also under another name, and with the older snapshot gone at the source.
    disk[2_000_000..2_000_003].copy_from_slice(b"new");
    until_next_second(); // the time tells that the file has changed
    fs::write(here.join("docs/disk"), &disk).unwrap();
    fs::remove_file(here.join("docs/gone")).unwrap();
    fs::write(here.join("docs/came"), "came").unwrap();
    source.rename("two", "older").unwrap();
    source.remove("one").unwrap();
    source.create("two", SystemTime::now()).unwrap();
    let difference = by(Method::Auto, &source, &destination);
    assert_eq!(difference, (vec!["two".to_owned()], vec![String::new()], vec![]));
    same("two", &disk);
    assert!(!there.join("docs/gone").exists() && there.join("docs/came").exists());
    let list = |dataset: &Dataset| -> Vec<String> {
        let mut names: Vec<_> = dataset.list().unwrap().into_iter().map(|one| one.name).collect();
        names.sort();
        names
    };
    assert_eq!(list(&destination), ["older", "two"]);

    // Somebody has destroyed what the difference is for: the files come instead, and the reason is told.
    let streamed = format!("{}/fourfold-received", destination.zfs_name().unwrap());
    let newest = destination.streamed(Path::new("/")).unwrap().snapshots().unwrap().pop().unwrap();
    assert!(run("zfs", &["snapshot", &format!("{streamed}@{}", "0".repeat(32))]));
    assert!(run("zfs", &["destroy", &format!("{streamed}@{newest}")]));
    fs::write(here.join("docs/came"), "again").unwrap();
    source.create("three", SystemTime::now()).unwrap();
    let (names, reasons, _) = by(Method::Auto, &source, &destination);
    assert_eq!(names, ["three"]);
    assert_ne!(reasons, [""]);
    assert_eq!(fs::read(there.join("docs/came")).unwrap(), b"again");

    replicate::promote(&destination).unwrap();
    assert!(!run("zfs", &["list", &streamed]), "a promoted dataset needs none");
    assert!(!there.join(".fourfold-snapshots/.received").exists());
}

fn from_zfs_to_btrfs_and_back(pool: &Pool) {
    let Some(mounted) = Mounted::new("btrfs") else { return };
    let folder = mounted.root().join("btrfs");
    assert!(run("btrfs", &["-q", "subvolume", "create", text(&folder)]));
    let (source, between, back) =
        (subdataset(pool, "source"), Dataset::find(&folder).unwrap(), subdataset(pool, "back"));
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
