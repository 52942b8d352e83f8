//! Each kind of damage is found, mended without a loss of bytes, and not found again.

use std::sync::Arc;

use super::*;
use crate::backend::memory::Memory;
use crate::backend::{Backend, NewKind, RenameMode, Stability, Wait, XattrMode};
use crate::changing::inhibited;
use crate::mac::{DosAttributes, sidecar as format};
use crate::streams::{File, MOVING, OWNER, pair, store};
use crate::{Access, Caller, OwnFolder, VolumeOptions};

/// Later than every time of the memory backend.
const LATER: Time = Time { secs: 4_000_000_000, nanos: 0 };
const LARGE: usize = 70_000;

#[derive(Default)]
struct Told {
    findings: Vec<Finding>,
    entries: u64,
    most: u64,
}

impl ScrubObserver for Told {
    fn found(&mut self, finding: Finding) {
        assert!(!finding.flaw.meaning().is_empty() && !finding.flaw.remedy().is_empty());
        assert!(!finding.flaw.to_string().is_empty());
        self.findings.push(finding);
    }

    fn looked(&mut self, count: u64) -> bool {
        self.entries += count;
        self.entries < self.most
    }
}

struct Scene {
    memory: Arc<Memory>,
    volume: Volume,
}

impl Scene {
    /// A tree with everything that a file can have: a fork, a stream in the store, and a folder.
    fn new() -> Self {
        let memory = Arc::new(Memory::ticking());
        let volume = Volume::new(memory.clone(), VolumeOptions::default());
        let scene = Self { memory, volume };
        scene.root().create(server(), b"sub", NewKind::Folder, 0o755).unwrap();
        for name in ["a", "b"] {
            scene.file(name, name.as_bytes());
            scene.with(name, |streams, file| {
                let mut fork = streams.fork_to_write(server(), file).unwrap();
                fork.write_at(0, format!("fork of {name}").as_bytes(), Stability::File).unwrap();
                let large = vec![name.as_bytes()[0]; LARGE];
                streams.write_stream(server(), file, b"large", 0, &large, Stability::File).unwrap();
            });
        }
        scene
    }

    fn root(&self) -> Node {
        self.memory.root().unwrap().object
    }

    fn file(&self, name: &str, content: &[u8]) -> Node {
        let made = self.root().create(server(), name.as_bytes(), NewKind::File, 0o644).unwrap();
        made.object.write_at(server(), 0, content, Stability::File).unwrap();
        made.object
    }

    fn find(&self, path: &str) -> Node {
        let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        self.root().lookup_path(server(), &names).unwrap().object
    }

    fn with<T>(&self, name: &str, then: impl FnOnce(&Streams, &File<'_>) -> T) -> T {
        let (root, object) = (self.root(), self.find(name));
        let file = File { folder: &*root, name: name.as_bytes(), object: &*object };
        then(self.volume.streams.as_ref().unwrap(), &file)
    }

    fn set(&self, path: &str, xattr: &[u8], value: &[u8]) {
        self.find(path).set_xattr(server(), xattr, value, XattrMode::Set).unwrap();
    }

    /// The folder of a file in the store.
    fn stored(&self, name: &str) -> String {
        let key = store::folder_name(&self.find(name).key());
        format!(".fourfold-streams/{}", String::from_utf8(key).unwrap())
    }

    fn put(&self, folder: &str, name: &str, content: &[u8]) {
        let made = self.find(folder).create(server(), name.as_bytes(), NewKind::File, 0o600).unwrap();
        made.object.write_at(server(), 0, content, Stability::File).unwrap();
    }

    fn scrub(&self, repair: bool) -> Vec<Finding> {
        self.scrub_below(&[], repair, LATER)
    }

    fn scrub_below(&self, path: &[&[u8]], repair: bool, now: Time) -> Vec<Finding> {
        let mut told = Told { most: u64::MAX, ..Told::default() };
        let options = ScrubOptions { repair, now };
        assert!(Scrub::new(&self.volume, options, &mut told).unwrap().run(path).unwrap());
        told.findings
    }

    /// The bytes of each file, the server's own included.
    fn all(&self) -> Vec<Vec<u8>> {
        let (mut all, mut folders) = (Vec::new(), vec![self.root()]);
        while let Some(folder) = folders.pop() {
            for name in store::names(&*folder).unwrap() {
                let found = folder.lookup(server(), &name).unwrap();
                if found.attributes.kind == Kind::Folder {
                    folders.push(found.object);
                    continue;
                }
                let mut bytes = Vec::new();
                found.object.prepare(server(), &found.attributes, Access::READ, true).unwrap();
                found.object.read_at(0, 1 << 20, &mut bytes, Wait::Allowed).unwrap();
                all.push(bytes);
            }
        }
        all
    }
}

fn summary(findings: &[Finding]) -> Vec<(String, &'static str)> {
    let mut all: Vec<_> = findings
        .iter()
        .map(|one| (String::from_utf8_lossy(&one.path).into_owned(), one.flaw.code()))
        .collect();
    all.sort();
    all
}

/// What makes the damage, and the findings.
type Damage = (&'static str, fn(&Scene), &'static [(&'static str, &'static str)]);

/// A key that no file has.
const NOBODY: &[u8] = &[0xee; 12];

fn sidecar_with(fork: &[u8]) -> Vec<u8> {
    let mut info = crate::mac::FinderInfo::NONE;
    info.set_type(*b"TEXT", *b"ttxt");
    [format::stored_header(&info, fork.len() as u64), fork.to_vec()].concat()
}

const DAMAGES: &[Damage] = &[
    ("sidecar without a file", |s| _ = s.file("._x", &sidecar_with(b"alone")), &[("._x", "sidecar-alone")]),
    (
        "file removed by a local program",
        |s| {
            s.root().remove(server(), b"a").unwrap();
        },
        &[(".fourfold-streams/*", "streams-of-gone-file"), ("._a", "sidecar-of-gone-file")],
    ),
    (
        "file replaced by a local program",
        |s| {
            s.root().remove(server(), b"a").unwrap();
            s.file("a", b"another");
        },
        &[(".fourfold-streams/*", "streams-of-gone-file"), ("._a", "sidecar-of-gone-file")],
    ),
    (
        "file moved by a local program",
        |s| s.root().rename(server(), b"a", &*s.find("sub"), b"c", RenameMode::Keep).unwrap(),
        &[("._a", "sidecar-away"), ("sub/c", "sidecar-behind")],
    ),
    (
        "sidecars exchanged",
        |s| s.root().rename(server(), b"._a", &*s.root(), b"._b", RenameMode::Exchange).unwrap(),
        &[("._a", "sidecar-away"), ("._b", "sidecar-away")],
    ),
    (
        "sidecar that claims the file of another user",
        |s| {
            let made = s.root().create(&Caller::new(7, 7, &[]), b"._x", NewKind::File, 0o600).unwrap();
            made.object.write_at(server(), 0, &sidecar_with(b"forged"), Stability::File).unwrap();
            s.set("._x", OWNER, s.find("b").key().as_bytes());
        },
        &[("._x", "sidecar-forged")],
    ),
    (
        "copied tree",
        |s| {
            let (was, now) = (s.stored("a"), store::folder_name(&crate::HostKey::new(NOBODY).unwrap()));
            let store = s.find(".fourfold-streams");
            store.rename(server(), &was.as_bytes()[18..], &*store, &now, RenameMode::Keep).unwrap();
            s.set("._a", OWNER, NOBODY);
            s.set("a", MOVING, &[&[4][..], &NOBODY[..4], b"._a"].concat());
        },
        &[(".fourfold-streams/*", "streams-of-gone-file"), ("._a", "sidecar-of-copy")],
    ),
    (
        "damaged table of a sidecar",
        |s| {
            let mut bytes = sidecar_with(b"fork of a");
            bytes[46..50].copy_from_slice(&[0, 0, 9, 0]); // the length of the fork
            bytes[8..24].copy_from_slice(b"Mac OS X        ");
            s.find("._a").write_at(server(), 0, &bytes, Stability::File).unwrap();
        },
        &[("._a", "sidecar-damaged")],
    ),
    (
        "overwritten sidecar",
        |s| s.find("._a").write_at(server(), 0, b"no magic", Stability::File).unwrap(),
        &[("._a", "sidecar-unreadable")],
    ),
    (
        "mark of nothing",
        |s| {
            s.file("c", b"c");
            s.set("c", MOVING, &[&[4][..], &NOBODY[..4], b"._c"].concat());
        },
        &[("c", "mark-stale")],
    ),
    (
        "mark that is none",
        |s| {
            s.file("c", b"c");
            s.set("c", MOVING, b"\xff");
        },
        &[("c", "mark-stale")],
    ),
    (
        "whole name of another name",
        |s| {
            let name = [b'x'; 300];
            s.set("b", crate::names::long::ATTRIBUTE, &name);
        },
        &[("b", "long-name-stale")],
    ),
    ("damaged whole name", |s| s.set("b", crate::names::long::ATTRIBUTE, b"\0"), &[("b", "long-name-stale")]),
    (
        "new file without its name",
        |s| {
            s.root().create(server(), b".fourfold-new-0011223344556677", NewKind::File, 0o600).unwrap();
        },
        &[(".fourfold-new-0011223344556677", "new-unfinished")],
    ),
    (
        "damaged DOS attributes",
        |s| s.set("b", crate::mac::layout::DOSATTRIB, b"\0\0\x63\0\x63\0\0\0nonsense"),
        &[("b", "metadata-damaged")],
    ),
    (
        "damaged DOS attributes that are kept already, because a repair was killed",
        |s| {
            let damaged = b"\0\0\x63\0\x63\0\0\0nonsense";
            let parts = crate::mac::StoredParts { dosattrib: Some(damaged), ..Default::default() };
            let kept = crate::mac::Metadata::from_parts(&parts).0.to_kept().unwrap();
            s.set("b", crate::mac::layout::KEPT, &kept);
            s.set("b", crate::mac::layout::DOSATTRIB, damaged);
        },
        &[("b", "metadata-damaged")],
    ),
    (
        "damaged Mac metadata of a folder",
        |s| s.set("sub", crate::mac::layout::NETATALK_METADATA, b"\0\x05\x16\x07\0\x02\0\0"),
        &[("sub", "metadata-damaged")],
    ),
    (
        "locks without a note",
        |s| {
            let (mut metadata, _) = streams_of("b", s);
            metadata.dos.set(DosAttributes::READONLY, true);
            crate::streams::store_alone(server(), &*s.find("b"), &metadata).unwrap();
        },
        &[("", "locks-unnoted")],
    ),
    (
        "stray entries of the store",
        |s| {
            s.put(".fourfold-streams", "notes.txt", b"whose?");
            s.put(&s.stored("a"), "notes.txt", b"whose, too?");
        },
        &[(".fourfold-streams/*", "store-stray"), (".fourfold-streams/*", "store-stray")],
    ),
    (
        "stream without its name",
        |s| s.put(&s.stored("a"), "n.0011", b"nameless"),
        &[(".fourfold-streams/*", "stream-nameless")],
    ),
    (
        "stream moved to the store by half",
        |s| s.set("a", b"user.large", b"older"),
        &[(".fourfold-streams/*", "stream-twice")],
    ),
    (
        "interrupted copy",
        |s| s.put(&s.stored("a"), "unfinished", b""),
        &[(".fourfold-streams/*", "unfinished")],
    ),
    (
        "sidecar in the store that its file does not find",
        |s| {
            s.find("a").remove_xattr(server(), MOVING).unwrap();
            let stored = s.find(&s.stored("a"));
            s.root().rename(server(), b"._a", &*stored, b"sidecar", RenameMode::Keep).unwrap();
        },
        &[(".fourfold-streams/*", "sidecar-unmarked")],
    ),
    (
        "interrupted restore",
        |s| {
            s.find(".fourfold-streams").create(server(), b"restoring", NewKind::Folder, 0o700).unwrap();
            s.put(".fourfold-streams/restoring", "1", b"from a snapshot");
        },
        &[(".fourfold-streams/restoring", "restore-unfinished")],
    ),
];

fn streams_of(name: &str, scene: &Scene) -> (crate::mac::Metadata, Vec<crate::mac::Problem>) {
    crate::streams::load_alone(&*scene.find(name)).unwrap()
}

#[test]
fn a_sound_tree_has_no_findings() {
    let scene = Scene::new();
    let (root, caller) = (scene.volume.root().unwrap(), Caller::root());
    let actor = crate::Actor::new(caller, crate::state::Party::client(crate::state::ClientId(1)));
    scene.volume.create(&actor, &root, &[b'x'; 300][..200], NewKind::File, 0o644).unwrap();
    scene.volume.create(&actor, &root, "漢".repeat(100).as_bytes(), NewKind::File, 0o644).unwrap();
    assert_eq!(summary(&scene.scrub(false)), []);
    assert_eq!(summary(&scene.scrub(true)), []);
    assert!(scene.root().lookup(server(), OwnFolder::LOST.name()).is_err());
}

#[test]
fn each_damage_is_found_mended_and_gone_and_no_bytes_are_lost() {
    for (what, damage, expected) in DAMAGES {
        let scene = Scene::new();
        damage(&scene);
        let before = scene.all();
        let found = scene.scrub(false);
        let mut seen = summary(&found);
        for (path, _) in seen.iter_mut().filter(|(path, _)| path.starts_with(".fourfold-streams/")) {
            if !path.ends_with("restoring") {
                *path = ".fourfold-streams/*".into();
            }
        }
        let mut expected: Vec<(String, &str)> =
            expected.iter().map(|(path, code)| ((*path).into(), *code)).collect();
        seen.sort();
        expected.sort();
        assert_eq!(seen, expected, "{what}");
        assert!(found.iter().all(|one| one.outcome == Outcome::Mendable), "{what}: {found:?}");
        assert_eq!(scene.all(), before, "{what}: a look changes nothing");

        let mended = scene.scrub(true);
        let is_done = |one: &Finding| matches!(one.outcome, Outcome::Mended | Outcome::Moved(_));
        assert!(mended.iter().all(is_done), "{what}: {mended:?}");
        if what.contains("in the store") {
            scene.scrub(true); // this backend does not know paths, so the file is found by the next look
        }
        assert_eq!(summary(&scene.scrub(false)), [], "{what}: the second look");
        let after = scene.all();
        for bytes in &before {
            assert!(bytes.is_empty() || after.contains(bytes), "{what}: {}", bytes.escape_ascii());
        }
    }
}

#[test]
fn forks_that_could_be_kept_are_shown_after_the_repair() {
    let fork = |scene: &Scene, folder: &Node, name: &str| {
        let object = folder.lookup(server(), name.as_bytes()).unwrap().object;
        let file = File { folder: &**folder, name: name.as_bytes(), object: &*object };
        let streams = scene.volume.streams.as_ref().unwrap();
        let (mut bytes, fork) = (Vec::new(), streams.fork(server(), &file).unwrap());
        fork.map(|fork| fork.read_at(0, 100, &mut bytes, Wait::Allowed).unwrap());
        (bytes, streams.stream_len(server(), &file, b"large").unwrap_or(0))
    };
    for (what, place) in [
        ("file moved by a local program", "sub/c"),
        ("sidecars exchanged", "a"),
        ("copied tree", "a"),
        ("sidecar in the store that its file does not find", "a"),
        ("damaged table of a sidecar", "a"),
    ] {
        let scene = Scene::new();
        let damage = DAMAGES.iter().find(|(name, ..)| *name == what).unwrap().1;
        damage(&scene);
        scene.scrub(true);
        scene.scrub(true);
        let (folder, name) =
            place.rsplit_once('/').map_or((scene.root(), place), |(folder, name)| (scene.find(folder), name));
        assert_eq!(fork(&scene, &folder, name), (b"fork of a".to_vec(), LARGE as u64), "{what}");
    }
    // The fork of a file that was replaced is not shown with the new one.
    let scene = Scene::new();
    (DAMAGES[2].1)(&scene);
    scene.scrub(true);
    assert_eq!(fork(&scene, &scene.root(), "a"), (vec![], 0));
}

#[test]
fn what_only_a_person_can_decide_stays() {
    let scene = Scene::new();
    scene.put("sub", "plain", b"");
    scene.put("sub", "report~0123456789abcdef.txt", b"");
    scene.put("sub", "._plain", b"a letter to Grace");
    let acl = [&[1, 0, 0x01, 0xa4][..], &[0; 24]].concat();
    scene.set("a", crate::acl::STORED_ACL, &acl[..8]);
    scene.put(".fourfold-streams", "acl-key", b"short");
    scene.find("sub").create(server(), b".fourfold-streams", NewKind::Folder, 0o700).unwrap();
    let expected = [
        (".fourfold-streams/acl-key", "acl-key-damaged"),
        ("a", "acl-unsealed"),
        ("sub/._plain", "sidecar-taken"),
        ("sub/.fourfold-streams", "folder-astray"),
        ("sub/report~0123456789abcdef.txt", "long-name-missing"),
    ]
    .map(|(path, code)| (path.to_owned(), code));
    for repair in [false, true] {
        let found = scene.scrub(repair);
        assert_eq!(summary(&found), expected);
        assert!(found.iter().all(|one| one.outcome == Outcome::Left(Why::Undecided)));
    }
    assert!(!inhibited::has_note(&*scene.root()).unwrap());
}

#[test]
fn what_may_go_on_is_left_alone() {
    let scene = Scene::new();
    scene.file("._x", &sidecar_with(b"an archive unpacks it"));
    scene.put(&scene.stored("a"), "unfinished", b"a stream grows");
    let now = scene.find("._x").attributes().unwrap().changed;
    let found = scene.scrub_below(&[], true, now);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|one| one.outcome == Outcome::Left(Why::Recent)), "{found:?}");
    scene.find("._x");
}

#[test]
fn a_part_of_the_share_is_looked_at_alone_and_a_look_can_be_ended() {
    let scene = Scene::new();
    scene.put("sub", "._y", &sidecar_with(b"inside"));
    scene.file("._x", &sidecar_with(b"outside"));
    let found = scene.scrub_below(&[b"sub"], false, LATER);
    assert_eq!(summary(&found), [("sub/._y".to_owned(), "sidecar-alone")]);
    assert_eq!(summary(&scene.scrub_below(&[b"._x"], true, LATER)), [("._x".to_owned(), "sidecar-alone")]);
    let mut told = Told { most: 2, ..Told::default() };
    let options = ScrubOptions { repair: false, now: LATER };
    let scrub = Scrub::new(&scene.volume, options, &mut told).unwrap();
    assert_eq!(scrub.run(&[]), Ok(false));
    assert_eq!(told.entries, 2);
    assert_eq!(pair::unpack(b""), None);
}

#[test]
fn a_mark_by_another_name_of_the_file_is_sound() {
    let scene = Scene::new();
    let (root, a) = (scene.root(), scene.find("a"));
    root.link(server(), &*a, b"other name").unwrap();
    assert_eq!(summary(&scene.scrub(false)), []);
}
