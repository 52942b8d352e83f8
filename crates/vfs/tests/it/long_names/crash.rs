//! Every operation with a long name, with the power cut before its Nth call, for every N; and with the Nth call alone
//! failing. An entry has its old name or its new one, never a shortened one, and none that it was not given.

use super::*;

struct Step {
    what: &'static str,
    act: fn(&Scene) -> Result<()>,
    /// The names before and after it.
    before: fn() -> Vec<String>,
    after: fn() -> Vec<String>,
}

fn names(names: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    names.sort();
    names
}

const STEPS: [Step; 9] = [
    Step {
        what: "make a file",
        act: |scene| scene.make(&long('一')).map(drop),
        before: || names(&["a"]),
        after: || names(&["a", &long('一')]),
    },
    Step {
        what: "make a folder",
        act: |scene| {
            let (name, root) = (long('一'), &scene.root);
            scene.volume.create(&client(1), root, name.as_bytes(), NewKind::Folder, 0o755).map(drop)
        },
        before: || names(&["a"]),
        after: || names(&["a", &long('一')]),
    },
    Step {
        what: "short to long",
        act: |scene| scene.rename("a", &long('一'), RenameMode::Replace),
        before: || names(&["a"]),
        after: || names(&[&long('一')]),
    },
    Step {
        what: "long to long",
        act: |scene| scene.rename(&long('一'), &long('二'), RenameMode::Replace),
        before: || names(&["a", &long('一')]),
        after: || names(&["a", &long('二')]),
    },
    Step {
        what: "long over long",
        act: |scene| scene.rename(&long('一'), &long('二'), RenameMode::Replace),
        before: || names(&[&long('一'), &long('二')]),
        after: || names(&[&long('二')]),
    },
    Step {
        what: "long to short",
        act: |scene| scene.rename(&long('一'), "b", RenameMode::Replace),
        before: || names(&["a", &long('一')]),
        after: || names(&["a", "b"]),
    },
    Step {
        what: "exchange",
        act: |scene| scene.rename(&long('一'), &long('二'), RenameMode::Exchange),
        before: || names(&[&long('一'), &long('二')]),
        after: || names(&[&long('一'), &long('二')]),
    },
    Step {
        what: "link",
        act: |scene| scene.link("a", &long('一')),
        before: || names(&["a"]),
        after: || names(&["a", &long('一')]),
    },
    Step {
        what: "remove",
        act: |scene| scene.remove(&long('一')),
        before: || names(&["a", &long('一')]),
        after: || names(&["a"]),
    },
];

/// A volume whose Nth call of the step fails, and all after it if `on`. Returns whether the step was made.
fn run(step: &Step, nth: u64, on: bool) -> bool {
    let faulty = Arc::new(Faulty::losing_writes(Memory::ticking()));
    let disk = Disk::new(faulty.clone(), None);
    (step.before)().iter().for_each(|name| assert!(disk.scene.make(name).is_ok()));
    match on {
        true => faulty.plan().fail_from(nth, None, Error::Io),
        false => faulty.plan().fail(nth, None, Error::Io),
    }
    let done = (step.act)(&disk.scene);
    let was_reached = faulty.plan().calls(None);
    faulty.crash();
    let again = Volume::new(faulty.clone(), VolumeOptions::default());
    let now = names_in(&again.root().unwrap().object);
    let listed: Vec<String> =
        now.iter().filter(|name| !name.starts_with(".fourfold-new-")).cloned().collect();
    let (before, after) = ((step.before)(), (step.after)());
    assert!(listed == before || listed == after, "{}, call {nth}: {listed:?}", step.what);
    assert!(done.is_err() || listed == after, "{}, call {nth}: made, and not there", step.what);
    for name in &listed {
        found_in(&again, name).unwrap();
    }
    // What is left of it is in nobody's way.
    let scene = Scene { root: again.root().unwrap(), volume: Arc::new(again), dir: None };
    if listed == before && step.what != "exchange" {
        (step.act)(&scene).unwrap();
    }
    assert_eq!(scene.names(), after, "{}, call {nth}", step.what);
    assert!(was_reached > 0);
    done.is_ok()
}

#[test]
fn a_power_cut_leaves_the_old_name_or_the_new_one() {
    for step in &STEPS {
        let until = (1..200).find(|nth| run(step, *nth, true)).unwrap_or_else(|| panic!("{}", step.what));
        assert!(until > 2, "{}: {until} calls", step.what);
        // A failed call need not fail the operation.
        for nth in 1..until {
            run(step, nth, false);
        }
    }
}

#[test]
fn a_folder_with_an_unfinished_file_can_be_removed() {
    let faulty = Arc::new(Faulty::new(Memory::ticking()));
    let disk = Disk::new(faulty.clone(), None);
    let folder = disk.scene.folder("folder");
    faulty.plan().fail_from(1, Some(Call::SetXattr), Error::Io);
    faulty.plan().fail_from(1, Some(Call::Remove), Error::Io);
    let made = disk.scene.volume.create(&client(1), &folder, long('一').as_bytes(), NewKind::File, 0o644);
    assert_eq!(made.err(), Some(Error::Io));
    faulty.plan().clear();
    assert_eq!(disk.scene.volume.list(&client(1).caller, &folder, 0).unwrap().named().count(), 0);
    assert_eq!(names_in(&folder.object).len(), 1);
    disk.scene.volume.remove(&client(1), &disk.scene.root, b"folder", Kind::Folder).unwrap();
    assert!(disk.scene.names().is_empty());
}
