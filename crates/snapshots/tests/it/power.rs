//! The power fails between two steps: the image is copied from under the mounted file system, and
//! what the copy holds is all that is left.

use std::fs;
use std::os::fd::AsFd;

use snapshots::{Dataset, Refusal, steps};

use crate::scene::{Mounted, at, described, names, plant, run, text, unmount};

type Act = fn(&Dataset) -> Result<(), Refusal>;

const CREATE: Act = |dataset| dataset.create("new", at(5));
const RENAME: Act = |dataset| dataset.rename("old", "new");
const REMOVE: Act = |dataset| dataset.remove("old");

/// Cuts the power after this many steps of the operation. Returns whether it was at its end, or
/// `None` if nothing can be mounted here.
fn cut(kind: &str, act: Act, number: u32) -> Option<bool> {
    let mounted = Mounted::new(kind)?;
    let folder = mounted.root().join("share");
    let is_subvolume = kind == "btrfs" && run("btrfs", &["-q", "subvolume", "create", text(&folder)]);
    if !is_subvolume {
        fs::create_dir(&folder).unwrap();
    }
    plant(&folder);
    let whole = described(&folder);
    let dataset = Dataset::find(&folder).unwrap();
    dataset.create("old", at(1)).unwrap();
    rustix::fs::syncfs(fs::File::open(&folder).unwrap().as_fd()).unwrap();

    steps::stop_after(number);
    let done = act(&dataset);
    let copy = mounted.image().with_extension("copy");
    assert!(run("cp", &["--sparse=always", text(&mounted.image()), text(&copy)]));
    steps::go_on();
    assert!(matches!(done, Ok(()) | Err(Refusal::Stopped)), "{done:?}");

    assert!(unmount(&mounted.root()));
    // XFS mounts no second file system of one identity, and may be ending the first one.
    let options = if kind == "xfs" { "loop,nouuid" } else { "loop" };
    assert!(run("mount", &["-o", options, text(&copy), text(&mounted.root())]), "{kind} {number}");
    let dataset = Dataset::find(&folder).unwrap();
    for is_recovered in [false, true] {
        let all = dataset.list().unwrap();
        for snapshot in &all {
            assert_eq!(described(&snapshot.path), whole, "{kind} {number} {is_recovered}: {}", snapshot.name);
            let is_new = act as usize == CREATE as usize && snapshot.name == "new";
            assert_eq!(snapshot.created, at(if is_new { 5 } else { 1 }), "{kind} {number}");
        }
        let wants = match act as usize {
            act if act == CREATE as usize => [&["old"][..], &["new", "old"]],
            act if act == RENAME as usize => [&["old"][..], &["new"]],
            _ => [&["old"][..], &[]],
        };
        let have = names(&dataset);
        assert!(have == wants[0] || have == wants[1], "{kind} {number}: {have:?}");
        assert!(done.is_err() || have == wants[1], "{kind}: what was promised is lost: {have:?}");
        dataset.recover().unwrap();
    }
    Some(done.is_ok())
}

fn cut_after_each_step(kind: &str, act: Act) {
    for number in 0..10 {
        if cut(kind, act, number) != Some(false) {
            return;
        }
    }
    panic!("the operation has more than ten steps");
}

#[test]
fn a_subvolume_after_a_power_cut() {
    cut_after_each_step("btrfs", CREATE);
    cut_after_each_step("btrfs", RENAME);
}

#[test]
fn a_new_copy_after_a_power_cut() {
    cut_after_each_step("xfs", CREATE);
}

#[test]
fn a_renamed_or_removed_copy_after_a_power_cut() {
    cut_after_each_step("xfs", RENAME);
    cut_after_each_step("xfs", REMOVE);
}

/// What was written and acknowledged as unstable is in the snapshot, and on the disk when the snapshot is.
fn unstable_data_are_in_it(kind: &str) -> Option<()> {
    let mounted = Mounted::new(kind)?;
    let folder = mounted.root().join("share");
    let is_subvolume = kind == "btrfs" && run("btrfs", &["-q", "subvolume", "create", text(&folder)]);
    if !is_subvolume {
        fs::create_dir(&folder).unwrap();
    }
    let dataset = Dataset::find(&folder).unwrap();
    let file = fs::File::create(folder.join("film")).unwrap();
    for (at, mark) in [(0, 1), (5_000_000, 2)] {
        std::os::unix::fs::FileExt::write_all_at(&file, &vec![mark; 1_000_000], at).unwrap();
    }
    dataset.create("taken", at(1)).unwrap();
    let copy = mounted.image().with_extension("copy");
    assert!(run("cp", &["--sparse=always", text(&mounted.image()), text(&copy)]));
    drop(file);
    assert!(unmount(&mounted.root()));
    let options = if kind == "xfs" { "loop,nouuid" } else { "loop" };
    assert!(run("mount", &["-o", options, text(&copy), text(&mounted.root())]), "{kind}");
    let mut want = vec![0; 6_000_000];
    want[..1_000_000].fill(1);
    want[5_000_000..].fill(2);
    let taken = Dataset::find(&folder).unwrap().snapshot("taken").unwrap();
    assert!(fs::read(taken.path.join("film")).unwrap() == want, "{kind}");
    Some(())
}

#[test]
fn what_was_acknowledged_as_unstable_survives_in_a_snapshot() {
    let _ = unstable_data_are_in_it("btrfs").and_then(|()| unstable_data_are_in_it("xfs"));
}
