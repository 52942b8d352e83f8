//! Snapshots by each engine: complete, atomic, named, held, and safe after a crash.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use snapshots::{Dataset, EngineKind, FOLDER, Refusal, steps};

use crate::scene::{Mounted, at, described, names, plant, run, text};

fn dataset_on(mounted: &Mounted, kind: EngineKind) -> Dataset {
    let folder = mounted.root().join("share");
    if kind == EngineKind::Btrfs {
        assert!(run("btrfs", &["-q", "subvolume", "create", text(&folder)]));
    } else {
        fs::create_dir(&folder).unwrap();
    }
    let dataset = Dataset::find(&folder).unwrap();
    assert_eq!(dataset.engine(), kind);
    dataset
}

/// What each engine must do.
fn keeps_its_promises(dataset: &Dataset) {
    let folder = dataset.folder();
    plant(folder);
    let before = described(folder);
    dataset.create("first", at(1)).unwrap();
    fs::write(folder.join("docs/a"), b"changed").unwrap();
    fs::remove_file(folder.join("sparse")).unwrap();
    dataset.create("second", at(2)).unwrap();
    assert_eq!(names(dataset), ["second", "first"]);
    let first = dataset.snapshot("first").unwrap();
    assert_eq!((first.created, &first.held), (at(1), &vec![]));
    assert_eq!(first.path, folder.join(FOLDER).join("first"));
    let kept = described(&first.path);
    assert_eq!(kept.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    for (path, want) in &before {
        assert_eq!(&kept[path], want, "{}", path.display());
    }
    // Hard links inside the tree are hard links inside the snapshot.
    let inode = |name: &str| first.path.join(name).metadata().unwrap().ino();
    assert_eq!(inode("docs/a"), inode("docs/deep/same as a"));
    let own = folder.join(FOLDER).metadata().unwrap();
    assert_eq!((own.mode() & 0o7777, own.uid()), (0o700, 0));

    assert!(matches!(dataset.create("first", at(3)), Err(Refusal::Exists { .. })));
    assert!(matches!(dataset.create("a/b", at(3)), Err(Refusal::Name { .. })));
    dataset.rename("first", "renamed").unwrap();
    let renamed = dataset.snapshot("renamed").unwrap();
    assert_eq!((renamed.created, described(&renamed.path)), (at(1), kept));
    assert!(matches!(dataset.rename("first", "x"), Err(Refusal::Missing { .. })));
    assert!(matches!(dataset.rename("renamed", "second"), Err(Refusal::Exists { .. })));
    holds(dataset);
    dataset.remove("renamed").unwrap();
    assert_eq!(names(dataset), ["second"]);
    assert!(!folder.join(FOLDER).join("renamed").exists());
}

fn holds(dataset: &Dataset) {
    dataset.hold("renamed", "backup").unwrap();
    dataset.hold("renamed", "audit").unwrap();
    assert!(matches!(dataset.hold("renamed", "audit"), Err(Refusal::Tag { .. })));
    assert_eq!(
        dataset.remove("renamed").unwrap_err().to_string(),
        "the snapshot renamed is held (backup, audit); release it first: \
         `fourfold snapshot release TAG SNAPSHOT`"
    );
    // Holds stay with a renamed snapshot, for another process, too.
    dataset.rename("renamed", "r2").unwrap();
    let next = Dataset::find(dataset.folder()).unwrap();
    assert_eq!(next.snapshot("r2").unwrap().held, ["backup", "audit"]);
    next.rename("r2", "renamed").unwrap();
    dataset.release("renamed", "backup").unwrap();
    assert!(matches!(dataset.release("renamed", "backup"), Err(Refusal::Tag { .. })));
    assert!(matches!(dataset.remove("renamed"), Err(Refusal::Held { .. })));
    dataset.release("renamed", "audit").unwrap();
}

type Act = fn(&Dataset) -> Result<(), Refusal>;

/// Stops an operation after each of its steps. Afterwards the snapshot is there as a whole under one
/// name, or under none, and the operation can be done again.
fn survives_crashes(dataset: &Dataset) {
    let folder = dataset.folder().to_owned();
    dataset.create("kept", at(1)).unwrap();
    let whole = described(&folder);
    let operations: [(&str, Act); 3] = [
        ("create", |dataset| dataset.create("new", at(5))),
        ("rename", |dataset| dataset.rename("new", "newer")),
        ("remove", |dataset| dataset.remove("newer")),
    ];
    for (operation, act) in operations {
        let mut stops = 0;
        loop {
            steps::stop_after(stops);
            let done = act(dataset);
            let is_stopped = steps::go_on();
            assert!(done.is_ok() || matches!(done, Err(Refusal::Stopped)), "{operation}: {done:?}");
            assert_eq!(done.is_err(), is_stopped && done.is_err(), "{operation}");
            // Another process, before and after it recovers.
            let next = Dataset::find(&folder).unwrap();
            for _ in 0..2 {
                for snapshot in next.list().unwrap() {
                    assert_eq!(described(&snapshot.path), whole, "{operation} {stops}");
                    let time = if snapshot.name == "kept" { at(1) } else { at(5) };
                    assert_eq!(snapshot.created, time, "{operation} {stops}: {}", snapshot.name);
                }
                assert!(names(&next).contains(&"kept".to_owned()));
                next.recover().unwrap();
            }
            let left = fs::read_dir(folder.join(FOLDER)).unwrap().flatten();
            let left: Vec<_> = left.filter_map(|entry| entry.file_name().into_string().ok()).collect();
            let is_left = |name: &String| name.starts_with(".making") || name.starts_with(".removing");
            assert!(!left.iter().any(is_left), "{operation} {stops}: {left:?}");
            let all = names(&next);
            let is_done = match operation {
                "create" => all.contains(&"new".to_owned()),
                "rename" => all.contains(&"newer".to_owned()),
                _ => !all.contains(&"newer".to_owned()),
            };
            // What was not done can be done now, what is done counts.
            if done.is_ok() {
                assert!(is_done, "{operation}");
                break;
            }
            if is_done {
                undo(&next, operation);
            }
            stops += 1;
            assert!(stops < 20, "{operation}");
        }
        assert!(stops > 0, "{operation} has steps");
    }
    assert_eq!(names(dataset), ["kept"]);
}

fn undo(dataset: &Dataset, operation: &str) {
    match operation {
        "create" => dataset.remove("new").unwrap(),
        "rename" => dataset.rename("newer", "new").unwrap(),
        _ => dataset.create("newer", at(5)).unwrap(),
    }
}

#[test]
fn btrfs_subvolumes() {
    let Some(mounted) = Mounted::new("btrfs") else { return };
    let dataset = dataset_on(&mounted, EngineKind::Btrfs);
    keeps_its_promises(&dataset);
    dataset.remove("second").unwrap();
    survives_crashes(&dataset);
    let kept = dataset.snapshot("kept").unwrap().path;
    let refused = fs::write(kept.join("new"), b"x").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);

    let below = dataset.make_subdataset(Path::new("docs/project")).unwrap();
    assert_eq!(Dataset::find(&below).unwrap().engine(), EngineKind::Btrfs);
    assert!(matches!(dataset.make_subdataset(Path::new("docs")), Err(Refusal::InTheWay { .. })));
    for path in ["", "..", "/x", "docs/../../x"] {
        assert!(matches!(dataset.make_subdataset(Path::new(path)), Err(Refusal::Path { .. })), "{path}");
    }
}

#[test]
fn changes_at_the_same_time_wait_for_each_other() {
    let Some(mounted) = Mounted::new("btrfs") else { return };
    let dataset = dataset_on(&mounted, EngineKind::Btrfs);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let dataset = &dataset;
            scope.spawn(move || {
                for number in 0..3 {
                    dataset.create(&format!("t{thread}.{number}"), at(number)).unwrap();
                }
                dataset.rename(&format!("t{thread}.0"), &format!("r{thread}")).unwrap();
                dataset.remove(&format!("t{thread}.1")).unwrap();
            });
        }
    });
    assert_eq!(names(&dataset), ["t0.2", "t1.2", "t2.2", "t3.2", "r0", "r1", "r2", "r3"]);
    assert!(dataset.list().unwrap().iter().rev().take(4).all(|old| old.created == at(0)));
}

#[test]
fn folders_of_btrfs_are_copied_by_sharing_blocks() {
    let Some(mounted) = Mounted::new("btrfs") else { return };
    let dataset = dataset_on(&mounted, EngineKind::Reflink);
    keeps_its_promises(&dataset);
    let below = dataset.make_subdataset(Path::new("sub")).unwrap();
    assert_eq!(Dataset::find(&below).unwrap().engine(), EngineKind::Btrfs);
}

#[test]
fn folders_of_xfs_are_copied_by_sharing_blocks() {
    let Some(mounted) = Mounted::new("xfs") else { return };
    let dataset = dataset_on(&mounted, EngineKind::Reflink);
    keeps_its_promises(&dataset);
    dataset.remove("second").unwrap();
    survives_crashes(&dataset);
    assert!(dataset.make_subdataset(Path::new("sub")).unwrap().is_dir());

    // Copies take no space for data: of 100 MiB, ten snapshots.
    fs::write(dataset.folder().join("large"), vec![1; 100 << 20]).unwrap();
    (0..10).for_each(|number| dataset.create(&format!("n{number}"), at(10 + number)).unwrap());
    assert_eq!(names(&dataset)[0], "n9");
}

#[test]
fn other_file_systems_are_refused_with_the_next_step() {
    let Some(mounted) = Mounted::new("ext4") else { return };
    let refused = Dataset::find(&mounted.root()).unwrap_err().to_string();
    let want = format!(
        "{}: its file system (ext4) cannot make snapshots; make a pool with `fourfold pool create FILE SIZE DIR` \
         and move the folder into it",
        mounted.root().display()
    );
    assert_eq!(refused, want);
}

#[test]
fn a_folder_that_users_made_is_not_trusted() {
    let Some(mounted) = Mounted::new("btrfs") else { return };
    let dataset = dataset_on(&mounted, EngineKind::Btrfs);
    let own = dataset.folder().join(FOLDER);
    let refused = |why: &str| {
        let refused = dataset.create("x", at(1)).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
        assert_eq!(dataset.list().unwrap_err().to_string(), refused);
    };
    std::os::unix::fs::symlink(mounted.root(), &own).unwrap();
    refused("not a folder");
    fs::remove_file(&own).unwrap();
    fs::create_dir(&own).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    refused("other users have access");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::chown(&own, Some(1000), None).unwrap();
    refused("another user");
}

/// CephFS itself is not at hand: a folder `.snap` behaves like its own for empty trees.
#[test]
fn cephfs_by_a_folder_that_stands_in_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let snap = folder.path().join(".snap");
    fs::create_dir(&snap).unwrap();
    let dataset = Dataset::ceph(folder.path());
    dataset.create("one", at(1)).unwrap();
    dataset.create("two", at(2)).unwrap();
    fs::create_dir(snap.join("_of-the-parent_1099511627776")).unwrap();
    assert_eq!(names(&dataset), ["two", "one"]);
    assert_eq!(dataset.snapshot("one").unwrap().path, snap.join("one"));
    dataset.hold("one", "tag").unwrap();
    assert!(matches!(dataset.remove("one"), Err(Refusal::Held { .. })));
    dataset.rename("two", "three").unwrap();
    dataset.release("one", "tag").unwrap();
    dataset.remove("one").unwrap();
    assert_eq!(names(&dataset), ["three"]);
    assert!(!snap.join("one").exists() && snap.join("three").exists());
}

#[test]
fn twenty_thousand_files_take_less_than_a_second_on_btrfs() {
    let Some(mounted) = Mounted::new("btrfs") else { return };
    let dataset = dataset_on(&mounted, EngineKind::Btrfs);
    for number in 0..20_000 {
        let folder: PathBuf = dataset.folder().join(format!("d{}", number / 1000));
        if number % 1000 == 0 {
            fs::create_dir(&folder).unwrap();
        }
        fs::File::create(folder.join(number.to_string())).unwrap();
    }
    for name in ["dirty", "clean"] {
        let start = Instant::now();
        dataset.create(name, SystemTime::now()).unwrap();
        println!("{name}: {:?}", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
