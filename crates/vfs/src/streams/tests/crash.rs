//! Every operation on pairs, with the power cut before its Nth call, for every N; and with the Nth
//! call alone failing. A fork is never shown with another file's data. After the repair no fork is
//! lost whose file is there.

use super::*;
use crate::Error;
use crate::backend::RenameMode;

/// A pair of files whose data and fork say the same, in two folders, and files without forks.
struct Scene {
    disk: Disk,
    root: Arc<dyn Object>,
    sub: Arc<dyn Object>,
}

const FILES: [(&str, &str); 3] = [("", "a"), ("", "b"), ("sub", "c")];

impl Scene {
    /// `foreign` sidecars do not name their file.
    fn new(foreign: bool) -> Self {
        let disk = Disk::new();
        let sub = disk.folder("sub");
        let scene = Self { root: disk.root(), sub, disk };
        for (folder, name) in FILES {
            let folder = scene.folder(folder);
            let object = folder.create(&user(), name.as_bytes(), NewKind::File, 0o644).unwrap().object;
            object.write_at(&user(), 0, name.as_bytes(), Stability::File).unwrap();
            let file = Owned { folder, name: name.into(), object };
            scene.disk.put_fork(&file, name.as_bytes());
            if foreign {
                let sidecar = find_in(file.folder.clone(), &format!("._{name}")).unwrap().object;
                for xattr in sidecar.list_xattrs().unwrap() {
                    sidecar.remove_xattr(&Caller::root(), &xattr).unwrap();
                }
            }
        }
        for name in ["plain", "other"] {
            scene.disk.put(name, name.as_bytes());
        }
        scene
    }

    fn folder(&self, name: &str) -> Arc<dyn Object> {
        if name.is_empty() { self.root.clone() } else { self.sub.clone() }
    }

    /// Every file there is, by its data, with its fork.
    fn forks(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut forks = Vec::new();
        for folder in ["", "sub"] {
            let folder = self.folder(folder);
            for name in crate::streams::store::names(&*folder).unwrap() {
                let name = std::str::from_utf8(&name).unwrap();
                let file = find_in(folder.clone(), name).unwrap();
                if !name.starts_with('.') && file.object.kind() == Kind::File {
                    forks.push((content(&*file.object), self.disk.fork(&file)));
                }
            }
        }
        forks
    }

    fn check(&self, what: &str) {
        for (data, fork) in self.forks() {
            let has_none = data == b"plain" || data == b"other" || data == b"fresh";
            let expected = if has_none { vec![] } else { data.clone() };
            assert_eq!(fork, expected, "{what}: the fork of {}", data.escape_ascii());
        }
    }
}

type Action = dyn Fn(&Scene) -> Result<()>;

fn rename(
    from: (&'static str, &'static str),
    to: (&'static str, &'static str),
    mode: RenameMode,
) -> Box<Action> {
    Box::new(move |scene| {
        let (source, target) = (scene.folder(from.0), scene.folder(to.0));
        let (from, to) = ((&*source, from.1.as_bytes()), (&*target, to.1.as_bytes()));
        scene.disk.streams.pairs().rename(&user(), from, to, mode)
    })
}

fn remove(name: &'static str) -> Box<Action> {
    Box::new(move |scene| {
        scene.disk.streams.pairs().remove(&user(), &*scene.folder(""), name.as_bytes(), None)
    })
}

/// If names are used again at once, a fork could meet the wrong data.
fn retake(scene: &Scene) {
    for name in ["a", "b", "new"] {
        if !scene.disk.has(name) {
            scene.disk.put(name, b"fresh");
        }
    }
}

fn actions() -> Vec<(&'static str, Box<Action>)> {
    use RenameMode::{Exchange, Keep, Replace};
    vec![
        ("move", rename(("", "a"), ("", "new"), Keep)),
        ("move to a folder", rename(("", "a"), ("sub", "new"), Replace)),
        ("replace a pair by a pair", rename(("", "a"), ("sub", "c"), Replace)),
        ("replace a pair by a plain file", rename(("", "plain"), ("", "b"), Replace)),
        ("replace a plain file by a pair", rename(("", "b"), ("", "plain"), Replace)),
        ("exchange pairs", rename(("", "a"), ("sub", "c"), Exchange)),
        ("exchange a pair and a plain file", rename(("", "a"), ("", "plain"), Exchange)),
        ("exchange a plain file and a pair", rename(("", "plain"), ("", "a"), Exchange)),
        ("remove", remove("a")),
        ("remove a plain file", remove("plain")),
    ]
}

/// Runs an action with the fault at every call until it is through without one. `on`: every call
/// fails from there.
fn for_every_call(foreign: bool, on: bool, after: impl Fn(&mut Scene, &str)) {
    for (name, action) in actions() {
        let mut through = false;
        for nth in 1..100 {
            let mut scene = Scene::new(foreign);
            scene.disk.streams.pairs().remove(&user(), &*scene.folder(""), b"other", None).unwrap();
            if on {
                scene.disk.faulty.plan().fail_from(nth, None, Error::Io);
            } else {
                scene.disk.faulty.plan().fail(nth, None, Error::Io);
            }
            let before = scene.disk.faulty.plan().calls(None);
            let result = action(&scene);
            through = scene.disk.faulty.plan().calls(None) - before < nth;
            assert!(!through || result.is_ok(), "{name}: {result:?}");
            scene.disk.faulty.plan().clear();
            after(&mut scene, &format!("{name}, foreign {foreign}, call {nth}, on {on}"));
            if through {
                break;
            }
        }
        assert!(through, "{name}");
    }
}

#[test]
fn after_a_crash_at_any_call_each_file_has_its_own_fork() {
    for foreign in [false, true] {
        for_every_call(foreign, true, |scene, what| {
            scene.disk.crash();
            scene.check(what);
        });
    }
}

#[test]
fn after_a_crash_a_name_taken_again_shows_no_old_fork() {
    for foreign in [false, true] {
        for_every_call(foreign, true, |scene, what| {
            scene.disk.crash();
            retake(scene);
            scene.check(what);
        });
    }
}

#[test]
fn a_failure_at_any_single_call_parts_no_file_from_its_fork() {
    for foreign in [false, true] {
        for_every_call(foreign, false, |scene, what| scene.check(what));
    }
}

#[test]
fn a_second_move_before_mending_still_finds_the_fork() {
    for_every_call(false, true, |scene, what| {
        scene.disk.crash();
        retake(scene);
        for name in ["a", "b", "new", "plain"] {
            let root = scene.folder("");
            let to = format!("{name}-moved");
            if scene.disk.has(name) {
                scene
                    .disk
                    .streams
                    .pairs()
                    .rename(&user(), (&*root, name.as_bytes()), (&*root, to.as_bytes()), RenameMode::Keep)
                    .unwrap();
            }
        }
        scene.check(what);
    });
}

#[test]
fn a_crash_while_mending_is_mended_later() {
    for nth in 1..60 {
        let mut scene = Scene::new(false);
        scene.disk.faulty.plan().fail(2, Some(crate::backend::faulty::Call::Rename), Error::Io);
        rename(("", "a"), ("sub", "c"), RenameMode::Exchange)(&scene).unwrap();
        scene.disk.crash();
        scene.disk.faulty.plan().fail_from(nth, None, Error::Io);
        for (folder, name) in FILES {
            let folder = scene.folder(folder);
            let Ok(found) = folder.lookup(&user(), name.as_bytes()) else { break };
            let file = File { folder: &*folder, name: name.as_bytes(), object: &*found.object };
            let _ = scene.disk.streams.pairs().mend(&file);
        }
        scene.disk.crash();
        scene.check(&format!("mending, call {nth}"));
    }
}

#[test]
fn a_fork_acknowledged_stable_survives_a_crash_at_any_later_call() {
    for nth in 1..60 {
        let mut disk = Disk::new();
        let file = disk.make("f");
        disk.put_fork(&file, b"acknowledged");
        disk.faulty.plan().fail_from(nth, None, Error::Io);
        let more = disk.streams.fork_to_write(&user(), &file.file()).and_then(|mut fork| {
            fork.write_at(12, b"!", Stability::Unstable)?;
            fork.sync(Stability::File)
        });
        disk.crash();
        let fork = disk.fork(&disk.find("f").unwrap());
        let whole: &[u8] = b"acknowledged!";
        assert!(fork == whole || more.is_err() && fork == whole[..12], "call {nth}: {}", fork.escape_ascii());
    }
}
