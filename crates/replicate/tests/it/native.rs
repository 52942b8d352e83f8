//! Replication by the stream of `btrfs send`, between two subvolumes of btrfs in image files.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use replicate::{Failure, Link, Method, Options, Progress, promote, receive, send};

use crate::scene::{self, Scene, at, described, names, plant, tree};

type Told = (Vec<String>, Vec<String>, Vec<Progress>);

/// Sends what the destination lacks. Returns the snapshots, the warnings, and what the progress was.
fn told(scene: &Scene, method: Method) -> Result<Told, Failure> {
    let [source, destination] = scene.datasets();
    let (one, other) = UnixStream::pair().unwrap();
    let link = |stream: UnixStream| Link::new(stream.try_clone().unwrap(), stream);
    let (to_destination, to_source) = (link(one), link(other));
    let options = Options { method, ..Options::default() };
    let mut progress = Vec::new();
    std::thread::scope(|scope| {
        let received = scope.spawn(move || receive(&destination, to_source, &mut |_| {}));
        let sent = send(&source, &options, to_destination, &mut |now| progress.push(now.clone()));
        let _ = received.join().unwrap();
        sent.map(|(names, warnings)| (names, warnings, progress))
    })
}

/// The methods of a run: the reason if it was not the stream.
fn methods(scene: &Scene, method: Method) -> Vec<String> {
    let (_, warnings, progress) = told(scene, method).unwrap();
    assert_eq!(warnings, [""; 0]);
    let mut all: Vec<String> = progress.into_iter().map(|now| now.native.err().unwrap_or_default()).collect();
    all.dedup();
    all
}

fn received(scene: &Scene) -> Vec<PathBuf> {
    let folder = scene.destination().join(".fourfold-snapshots/.received");
    fs::read_dir(folder).map(|all| all.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

#[test]
fn a_small_change_of_a_large_file_is_small_in_the_stream_and_open_files_stay() {
    let Some(scene) = Scene::new("btrfs", "btrfs") else { return };
    let [source, destination] = scene.datasets();
    let (here, there) = (scene.source(), scene.destination());
    plant(&here);
    let large: Vec<u8> = (0..8_000_000u32).map(|number| (number / 1000 % 251) as u8).collect();
    fs::write(here.join("large"), &large).unwrap();
    source.create("one", at(100)).unwrap();
    source.hold("one", "legal").unwrap();
    assert_eq!(methods(&scene, Method::Auto), [""]);
    assert_eq!(tree(&there, "one"), tree(&here, "one"));
    let inode = || fs::metadata(there.join("large")).unwrap().ino();
    let (before, copy) = (inode(), received(&scene));
    assert_eq!(copy.len(), 1);

    fs::File::options()
        .write(true)
        .open(here.join("large"))
        .unwrap()
        .write_all_at(b"new", 4_000_000)
        .unwrap();
    source.rename("one", "older").unwrap();
    source.create("one", at(200)).unwrap();
    let (sent, bytes) = scene.try_replicate(&Options::default(), i64::MAX).unwrap();
    assert_eq!(sent, ["one"]);
    assert!(bytes < 20_000, "one block of 4 KiB has changed, and {bytes} bytes were sent");
    assert_eq!(inode(), before, "the file of the live tree stays the same");
    for name in ["one", "older"] {
        assert_eq!(tree(&there, name), tree(&here, name), "{name}");
    }
    assert_eq!(described(&there), tree(&here, "one"));
    let arrived = destination.snapshot("older").unwrap();
    assert_eq!((arrived.created, arrived.held), (at(100), vec!["legal".to_owned()]));
    assert!(received(&scene).len() == 1 && received(&scene) != copy, "only the newest is kept");
    assert_eq!(names(&destination), ["one", "older"]);
    promote(&destination).unwrap();
    assert!(received(&scene).is_empty(), "a promoted dataset needs none");
}

#[test]
fn without_a_common_snapshot_changed_files_are_sent_and_the_reason_is_told() {
    let Some(scene) = Scene::new("btrfs", "btrfs") else { return };
    let [source, _] = scene.datasets();
    let (here, there) = (scene.source(), scene.destination());
    let change = |text: &str, time| {
        fs::write(here.join("file"), text).unwrap();
        source.create(text, at(time)).unwrap();
    };
    change("one", 100);
    assert_eq!(methods(&scene, Method::Files), ["--method files was given"]);
    change("two", 200);
    let [why] = &methods(&scene, Method::Auto)[..] else { panic!("two methods") };
    assert!(why.contains("`--method send` once sends a whole one"), "{why}");
    change("three", 300);
    assert_eq!(methods(&scene, Method::Send), [""]);
    change("four", 400);
    assert_eq!(methods(&scene, Method::Auto), [""]);

    // The copy at the destination was replaced by something else: the stream fails, and the files come.
    let copy = received(&scene).remove(0);
    let name = copy.to_str().unwrap();
    assert!(scene::run("btrfs", &["-q", "subvolume", "delete", name]));
    assert!(scene::run("btrfs", &["-q", "subvolume", "create", name]));
    change("five", 500);
    let (_, warnings, _) = told(&scene, Method::Auto).unwrap();
    assert!(
        warnings[0].starts_with("five was sent by changed files, because a stream failed:"),
        "{warnings:?}"
    );
    assert_eq!(tree(&there, "five"), tree(&here, "five"));
    change("six", 600);
    assert_ne!(methods(&scene, Method::Auto), [""]);
    assert_eq!(described(&there), tree(&here, "six"));
}

#[test]
fn other_engines_send_changed_files() {
    let Some(scene) = Scene::new("btrfs", "xfs") else { return };
    let [source, _] = scene.datasets();
    fs::write(scene.source().join("file"), "1").unwrap();
    source.create("one", at(100)).unwrap();
    let refused = told(&scene, Method::Send).unwrap_err().to_string();
    assert!(
        refused.contains("--method send is not possible: the destination is neither a subvolume"),
        "{refused}"
    );
    assert_eq!(
        methods(&scene, Method::Auto),
        ["the destination is neither a subvolume of btrfs nor a dataset of ZFS"]
    );
    assert_eq!(described(&scene.destination()), tree(&scene.source(), "one"));
}

/// A crash of the destination between any two steps, and a connection that is cut anywhere.
#[test]
fn a_crash_or_a_cut_leaves_a_state_that_the_next_run_continues() {
    let Some(scene) = Scene::new("btrfs", "btrfs") else { return };
    let [source, destination] = scene.datasets();
    let (here, there) = (scene.source(), scene.destination());
    let options = Options { method: Method::Send, ..Options::default() };
    let (mut stops, mut cuts) = (0, 0);
    for round in 1..40 {
        fs::write(here.join(format!("file {round}")), vec![round as u8; 30_000]).unwrap();
        source.create(&format!("at.{round}"), at(round * 100)).unwrap();
        if round % 2 == 0 {
            let cut = scene.try_replicate(&options, round as i64 * 1300);
            cuts += i32::from(matches!(cut, Err(Failure::Ended(_))));
        } else {
            let stopped = scene.stopped(&options, i64::MAX, Some(round as u32 / 2));
            stops += i32::from(matches!(stopped, Err(Failure::Snapshot(snapshots::Refusal::Stopped))));
        }
        let complete: Vec<String> = names(&destination);
        let there_too = names(&source);
        for name in complete.iter().filter(|name| there_too.contains(name)) {
            assert_eq!(tree(&there, name), tree(&here, name), "round {round}");
        }
        scene.replicate(&options);
        assert_eq!(names(&destination), names(&source), "round {round}");
        assert_eq!(described(&there), tree(&here, &format!("at.{round}")), "round {round}");
        assert_eq!(received(&scene).len(), 1, "round {round}");
        if round > 3 {
            source.remove(&format!("at.{}", round - 3)).unwrap();
        }
    }
    assert!(stops > 8 && cuts > 8, "{stops} stops, {cuts} cuts");
}

/// The next of a sequence of numbers (Numerical Recipes' generator).
fn next(seed: &mut u32, below: usize) -> usize {
    *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*seed >> 8) as usize % below
}

fn all(root: &Path, folders: bool) -> Vec<PathBuf> {
    let is_wanted = |path: &PathBuf| root.join(path).symlink_metadata().unwrap().is_dir() == folders;
    described(root).into_keys().filter(is_wanted).collect()
}

fn change(here: &Path, seed: &mut u32, number: usize) {
    let (mut files, mut folders) = (all(here, false), all(here, true));
    // In an empty tree these fail.
    files.push("one".into());
    folders.push("none".into());
    let file = |seed: &mut u32| here.join(&files[next(seed, files.len())]);
    let mut above = here.join(&folders[next(seed, folders.len())]);
    if !above.is_dir() {
        above = here.to_owned();
    }
    let new = above.join(format!("n{number}"));
    let folder = here.join(&folders[next(seed, folders.len())]);
    // What the host refuses, such as a folder that would be in itself, is no change.
    let _ = match next(seed, 12) {
        0 | 1 => fs::write(new, vec![number as u8; number * 900]),
        2 => fs::create_dir(new),
        3 => fs::rename(file(seed), new),
        4 => fs::rename(folder, new),
        5 => fs::remove_file(file(seed)),
        6 => fs::write(file(seed), format!("{number}")),
        7 => fs::rename(file(seed), file(seed)),
        8 => fs::remove_dir_all(&folder).and_then(|()| fs::create_dir_all(&folder)),
        9 => fs::remove_file(file(seed)).and_then(|()| fs::create_dir_all(file(seed))),
        10 if number.is_multiple_of(5) => fs::hard_link(file(seed), new),
        10 => std::os::unix::fs::symlink("elsewhere", new),
        _ => fs::set_permissions(
            &folder,
            std::os::unix::fs::PermissionsExt::from_mode(0o700 + number as u32 % 64),
        ),
    };
}

/// Whatever users do, the destination is the same, although only the paths that btrfs names are looked at.
#[test]
fn any_changes_arrive_by_both_methods() {
    let (Some(scene), Some(other)) = (Scene::new("btrfs", "btrfs"), Scene::new("btrfs", "btrfs")) else {
        return;
    };
    let mut seed = 20_261_123;
    let mut number = 0;
    for round in 1..25u64 {
        for _ in 0..next(&mut seed, 12) {
            number += 1;
            let before = seed;
            change(&scene.source(), &mut seed, number);
            seed = before;
            change(&other.source(), &mut seed, number);
        }
        // At least two files are there.
        for scene in [&scene, &other] {
            for name in ["one", "two"] {
                let _ = fs::remove_dir_all(scene.source().join(name));
                fs::write(scene.source().join(name), round.to_string()).unwrap();
            }
            scene.datasets()[0].create(&format!("at.{round}"), at(round * 100)).unwrap();
        }
        assert_eq!(methods(&scene, Method::Auto), [""]);
        methods(&other, Method::Files);
        for (method, scene) in [("files", &other), ("stream", &scene)] {
            let expected = tree(&scene.source(), &format!("at.{round}"));
            let mut there = described(&scene.destination());
            let differs: Vec<_> = expected
                .iter()
                .map(|(path, facts)| (path, facts, there.remove(path).unwrap_or_default()))
                .filter(|(_, facts, there)| *facts != there)
                .collect();
            assert!(differs.is_empty() && there.is_empty(), "{method} {round}: {differs:?} and {there:?}");
        }
    }
}
