//! Replication by changed files between real file systems.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};

use replicate::{Failure, Method, Options, promote};

use crate::scene::{Scene, at, described, names, plant, run, text, tree};

/// Everything that a tree can contain arrives, then a change of each kind.
fn all_and_changes(from: &str, to: &str) {
    let Some(scene) = Scene::new(from, to) else { return };
    let [source, destination] = scene.datasets();
    let (here, there) = (scene.source(), scene.destination());
    plant(&here);
    let big: Vec<u8> = (0..3_000_000u32).map(|number| ((number / 1000) as u8).max(1)).collect();
    fs::write(here.join("big"), &big).unwrap();
    fs::create_dir(here.join("folder to move")).unwrap();
    fs::write(here.join("folder to move/film"), &big).unwrap();
    source.create("one", at(100)).unwrap();
    source.hold("one", "legal").unwrap();
    let (sent, bytes) = scene.try_replicate(&Options::default(), i64::MAX).unwrap();
    assert_eq!(sent, ["one"]);
    assert!(bytes > 6_000_000, "{bytes}");
    assert_eq!(tree(&there, "one"), tree(&here, "one"));
    let arrived = destination.snapshot("one").unwrap();
    assert_eq!((arrived.created, arrived.held), (at(100), vec!["legal".to_owned()]));
    assert_eq!(described(&there), tree(&here, "one"), "the live tree");

    fs::File::options()
        .write(true)
        .open(here.join("big"))
        .unwrap()
        .write_all_at(b"changed", 1_500_000)
        .unwrap();
    fs::File::options().write(true).open(here.join("sparse")).unwrap().set_len(9 << 20).unwrap();
    fs::rename(here.join("folder to move"), here.join("moved")).unwrap();
    fs::remove_file(here.join("docs/a")).unwrap();
    fs::remove_dir_all(here.join("docs/deep/er")).unwrap();
    fs::write(here.join("docs/deep/er"), b"a file now").unwrap();
    fs::remove_file(here.join("dangling")).unwrap();
    std::os::unix::fs::symlink("elsewhere", here.join("dangling")).unwrap();
    fs::hard_link(here.join("tool"), here.join("tool 2")).unwrap();
    source.rename("one", "older").unwrap();
    source.create("one", at(200)).unwrap();
    let (sent, bytes) = scene.try_replicate(&Options::default(), i64::MAX).unwrap();
    assert_eq!(sent, ["one"]);
    assert!(from == "xfs" || bytes < 600_000, "moved files and unchanged parts are not sent: {bytes}");
    for name in ["one", "older"] {
        assert_eq!(tree(&there, name), tree(&here, name), "{name}");
    }
    let inode = |name: &str| fs::metadata(there.join(name)).unwrap().ino();
    assert_eq!(inode("tool"), inode("tool 2"));
    assert_eq!(fs::metadata(there.join("sparse")).unwrap().len(), 9 << 20);
    assert!(fs::metadata(there.join("sparse")).unwrap().blocks() < 4096, "holes stay holes");

    // What the source removes is removed, unless it is held at the destination.
    destination.hold("older", "here").unwrap();
    source.release("older", "legal").unwrap();
    source.remove("older").unwrap();
    source.create("three", at(300)).unwrap();
    assert_eq!(scene.replicate(&Options::default()), ["three"]);
    assert_eq!(names(&destination), ["three", "one", "older"]);
    assert_eq!(destination.snapshot("older").unwrap().held, ["here"]);
    assert!(scene.replicate(&Options::default()).is_empty());
    // Schedules take several at one time.
    source.create("also three", at(300)).unwrap_err();
    source.create("also-three", at(300)).unwrap();
    assert_eq!(scene.replicate(&Options::default()), ["also-three"]);
}

#[test]
fn from_btrfs_to_xfs() {
    all_and_changes("btrfs", "xfs");
}

#[test]
fn from_xfs_to_btrfs() {
    all_and_changes("xfs", "btrfs");
}

#[test]
fn a_connection_that_is_cut_anywhere_is_continued() {
    let Some(scene) = Scene::new("btrfs", "btrfs") else { return };
    let [source, destination] = scene.datasets();
    plant(&scene.source());
    let big: Vec<u8> = (0..6_000_000u32).map(|number| ((number / 777) as u8).max(1)).collect();
    fs::write(scene.source().join("big"), &big).unwrap();
    source.create("first", at(100)).unwrap();
    let (mut tries, mut moved) = (0, 0);
    let sent = loop {
        tries += 1;
        assert!(tries < 20, "no progress");
        match scene.try_replicate(&Options::default(), 1_000_000 + tries * 50_000) {
            Ok((sent, bytes)) => {
                moved += bytes;
                break sent;
            }
            Err(failure) => {
                moved += 1_000_000 + tries * 50_000;
                assert!(matches!(failure, Failure::Ended(_)), "{failure}");
                assert!(names(&destination).is_empty(), "what is not complete is no snapshot");
            }
        }
    };
    assert_eq!(sent, ["first"]);
    assert!(tries > 4 && moved < 9_000_000, "{tries} tries, {moved} bytes: it begins again each time");
    assert_eq!(tree(&scene.destination(), "first"), tree(&scene.source(), "first"));
}

#[test]
fn what_was_begun_and_then_removed_at_the_source_leaves_nothing() {
    let Some(scene) = Scene::new("btrfs", "btrfs") else { return };
    let [source, _] = scene.datasets();
    let here = scene.source();
    fs::write(here.join("stays"), b"1").unwrap();
    source.create("base", at(100)).unwrap();
    scene.replicate(&Options::default());
    for number in 0..600 {
        fs::write(here.join(format!("new {number}")), vec![7; 5000]).unwrap();
    }
    source.create("gone", at(200)).unwrap();
    let files = Options { method: Method::Files, ..Options::default() };
    assert!(scene.try_replicate(&files, 2_000_000).is_err());
    assert!(fs::read_dir(scene.destination()).unwrap().count() > 100, "a part of it is there");
    source.remove("gone").unwrap();
    for number in 0..600 {
        fs::remove_file(here.join(format!("new {number}"))).unwrap();
    }
    source.create("next", at(300)).unwrap();
    assert_eq!(scene.replicate(&Options::default()), ["next"]);
    assert_eq!(described(&scene.destination()), tree(&here, "next"));
}

#[test]
fn a_replica_is_verified_repaired_and_promoted() {
    let Some(scene) = Scene::new("btrfs", "btrfs") else { return };
    let [source, destination] = scene.datasets();
    let there = scene.destination();
    plant(&scene.source());
    source.create("one", at(100)).unwrap();
    scene.replicate(&Options::default());
    assert!(snapshots::is_replica(&there));
    // Rot: the content differs, and size and time are the same.
    let times = fs::metadata(there.join("docs/deep/er/b")).unwrap().modified().unwrap();
    let file = fs::File::options().write(true).open(there.join("docs/deep/er/b")).unwrap();
    file.write_all_at(b"rot", 70_000).unwrap();
    file.set_times(fs::FileTimes::new().set_modified(times)).unwrap();
    source.create("two", at(200)).unwrap();
    scene.replicate(&Options { verify: true, ..Options::default() });
    assert_eq!(described(&there), tree(&scene.source(), "two"));

    for number in 0..600 {
        fs::write(scene.source().join(format!("new {number}")), vec![7; 5000]).unwrap();
    }
    source.create("three", at(300)).unwrap();
    let files = Options { method: Method::Files, ..Options::default() };
    assert!(scene.try_replicate(&files, 1_500_000).is_err());
    // It is promoted in the middle of a run, and becomes what it was after the last complete one.
    assert_eq!(promote(&destination).unwrap(), destination.snapshot("two").unwrap().name);
    assert!(!snapshots::is_replica(&there));
    assert_eq!(described(&there), tree(&scene.source(), "two"));
    let refused = scene.try_replicate(&Options::default(), i64::MAX).unwrap_err().to_string();
    assert!(refused.contains("has files of its own"), "{refused}");
    assert!(promote(&destination).unwrap_err().to_string().contains("is no replica"));
}

#[test]
fn a_replica_of_another_dataset_and_a_dataset_inside_are_refused() {
    let Some(scene) = Scene::new("btrfs", "btrfs") else { return };
    let [source, _] = scene.datasets();
    fs::create_dir(scene.source().join("inner")).unwrap();
    fs::write(scene.source().join("inner/file"), b"1").unwrap();
    source.create("one", at(100)).unwrap();
    scene.replicate(&Options::default());
    fs::remove_dir_all(scene.destination().join("inner")).unwrap();
    assert!(run("btrfs", &["-q", "subvolume", "create", text(&scene.destination().join("inner"))]));
    fs::write(scene.source().join("inner/file"), b"2").unwrap();
    source.create("two", at(200)).unwrap();
    let refused = scene.try_replicate(&Options::default(), i64::MAX).unwrap_err().to_string();
    assert!(refused.contains("inner of the destination is another dataset"), "{refused}");
    fs::rename(scene.source(), scene.source().with_extension("old")).unwrap();
    assert!(run("btrfs", &["-q", "subvolume", "create", text(&scene.source())]));
    let refused = scene.try_replicate(&Options::default(), i64::MAX).unwrap_err().to_string();
    assert!(refused.contains("which is another dataset"), "{refused}");
}

/// A crash of the destination between any two steps of its snapshots: the next run puts names and holds right.
#[test]
fn names_and_holds_follow_a_rotation_through_crashes() {
    let Some(scene) = Scene::new("btrfs", "btrfs") else { return };
    let [source, destination] = scene.datasets();
    let rotate = |round: u64| {
        fs::write(scene.source().join("file"), round.to_string()).unwrap();
        let there = names(&source);
        for number in (0..3).rev() {
            if there.contains(&format!("hourly.{number}")) {
                source.rename(&format!("hourly.{number}"), &format!("hourly.{}", number + 1)).unwrap();
            }
        }
        source.create("hourly.0", at(round * 100)).unwrap();
        source.hold("hourly.0", "newest").unwrap();
        if there.contains(&"hourly.0".to_owned()) {
            source.release("hourly.1", "newest").unwrap();
        }
        if there.contains(&"hourly.2".to_owned()) {
            source.remove("hourly.3").unwrap();
        }
    };
    let mut stops = 0;
    for round in 1..40 {
        rotate(round);
        let stopped = scene.stopped(&Options::default(), i64::MAX, Some(round as u32 - 1));
        let is_stopped = match stopped {
            Ok(_) => false,
            Err(Failure::Snapshot(snapshots::Refusal::Stopped)) => true,
            Err(other) => panic!("round {round}: {other}"),
        };
        stops += u32::from(is_stopped);
        scene.replicate(&Options::default());
        let facts = |dataset: &snapshots::Dataset| -> Vec<_> {
            let all = dataset.list().unwrap().into_iter();
            all.map(|one| (one.created, one.held, fs::read(one.path.join("file")).unwrap(), one.name))
                .collect()
        };
        assert_eq!(facts(&destination), facts(&source), "round {round}");
        if !is_stopped {
            break;
        }
    }
    assert!(stops > 8, "only {stops} steps");
}
