//! Trees that users can make, and that are not easy to copy, compare or remove.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags, linkat, mkdirat, openat,
};
use snapshots::{Dataset, EngineKind};

use crate::scene::{Mounted, at, names};

fn dataset_on(mounted: &Mounted) -> Dataset {
    let folder = mounted.root().join("share");
    fs::create_dir(&folder).unwrap();
    let dataset = Dataset::find(&folder).unwrap();
    assert_eq!(dataset.engine(), EngineKind::Reflink);
    dataset
}

/// Images of disks often have this flag. btrfs shares their blocks only with files that have it, too.
#[test]
fn files_that_btrfs_writes_in_place_are_copied() {
    let Some(mounted) = Mounted::new("btrfs") else { return };
    let dataset = dataset_on(&mounted);
    let disk = dataset.folder().join("disk");
    let file = fs::File::create(&disk).unwrap();
    ioctl_setflags(&file, ioctl_getflags(&file).unwrap() | IFlags::NOCOW).unwrap();
    fs::write(&disk, vec![5; 1 << 20]).unwrap();
    dataset.create("one", at(1)).unwrap();
    fs::write(&disk, vec![6; 1 << 20]).unwrap();
    let kept = dataset.snapshot("one").unwrap().path.join("disk");
    assert_eq!(fs::read(&kept).unwrap(), vec![5; 1 << 20]);
    let flags = ioctl_getflags(fs::File::open(&kept).unwrap()).unwrap();
    assert!(flags.contains(IFlags::NOCOW), "{flags:?}");
}

/// Makes folders in each other, and returns the innermost.
fn nest(folder: &Path, depth: usize, name: &str) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at: OwnedFd = openat(CWD, folder, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        mkdirat(&at, name, Mode::RWXU).unwrap();
        at = openat(&at, name, flags, Mode::empty()).unwrap();
    }
    at
}

/// A client makes such a tree one folder at a time; paths in it have more than PATH_MAX bytes.
#[test]
fn folders_are_nested_deeply() {
    let Some(mounted) = Mounted::new("xfs") else { return };
    let dataset = dataset_on(&mounted);
    nest(dataset.folder(), 1500, "d");
    dataset.create("one", at(1)).unwrap();
    dataset.create("two", at(2)).unwrap();
    assert_eq!(dataset.diff("one", Some("two")).unwrap(), []);
    dataset.remove("one").unwrap();

    nest(dataset.folder(), 6_000, "e");
    let refused = dataset.create("three", at(3)).unwrap_err().to_string();
    let want =
        "/share/e/e/e: folders are nested more than 2048 deep there; move the inner ones up, then try again";
    assert!(refused.ends_with(want), "{refused}");
    // Nothing is left of it, and the next one is possible.
    fs::rename(dataset.folder().join("e"), mounted.root().join("e")).unwrap();
    dataset.create("three", at(3)).unwrap();
    assert_eq!(names(&dataset), ["three", "two"]);
}

#[test]
fn hard_links_with_long_paths_are_copied() {
    let Some(mounted) = Mounted::new("xfs") else { return };
    let dataset = dataset_on(&mounted);
    let bottom = nest(dataset.folder(), 20, &"n".repeat(250));
    let file = openat(&bottom, "file", OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR);
    rustix::io::write(file.unwrap(), b"long").unwrap();
    linkat(&bottom, "file", CWD, dataset.folder().join("z"), AtFlags::empty()).unwrap();
    linkat(&bottom, "file", &bottom, "again", AtFlags::empty()).unwrap();
    dataset.create("one", at(1)).unwrap();
    let kept = dataset.snapshot("one").unwrap().path.join("z");
    assert_eq!((fs::read(&kept).unwrap(), kept.metadata().unwrap().nlink()), (b"long".to_vec(), 3));
}
