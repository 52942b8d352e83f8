//! Names of entries: two normal forms are one name, and keep the bytes that were given; the server's own
//! names are refused. On the memory and the host backend.

use std::sync::{Arc, Barrier};

use crate::scene::{self, Scene, client, scenes};
use vfs::backend::faulty::Faulty;
use vfs::backend::memory::Memory;
use vfs::backend::{NewKind, RenameMode};
use vfs::events::{ChangeKind, Event, EventScope, Filter};
use vfs::names::Folding;
use vfs::state::Stream;
use vfs::{
    DistrustReason, Error, FileId, Kind, LookupResult, OpenOptions, Result, Volume, VolumeOptions,
    is_own_name,
};

/// "é" composed, decomposed, and both in one name.
const NFC: &str = "\u{e9}t\u{e9}";
const NFD: &str = "e\u{301}te\u{301}";
const MIXED: &str = "\u{e9}te\u{301}";
const FORMS: [&str; 3] = [NFC, NFD, MIXED];

impl Scene {
    pub(crate) fn make(&self, name: &str) -> Result<FileId> {
        let made = self.volume.create(&client(1), &self.root, name.as_bytes(), NewKind::File, 0o644)?;
        Ok(made.found.object.id())
    }

    pub(crate) fn id(&self, name: &str) -> Result<FileId> {
        Ok(self.find(name)?.object.id())
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.volume.remove(&client(1), &self.root, name.as_bytes(), Kind::File).map(drop)
    }

    pub(crate) fn rename(&self, from: &str, to: &str, mode: RenameMode) -> Result<()> {
        let (from, to) = ((&self.root, from.as_bytes()), (&self.root, to.as_bytes()));
        self.volume.rename(&client(1), from, to, mode).map(drop)
    }

    pub(crate) fn link(&self, target: &str, name: &str) -> Result<()> {
        self.volume.link(&client(1), &self.find(target)?, &self.root, name.as_bytes()).map(drop)
    }

    /// Without the rules of the volume, as a local program does it.
    pub(crate) fn make_locally(&self, name: &str, kind: NewKind<'_>, mode: u32) {
        self.root.object.create(&client(1).caller, name.as_bytes(), kind, mode).unwrap();
    }
}

#[test]
fn a_name_keeps_its_bytes_and_any_form_of_it_is_the_same_file() {
    for scene in scenes() {
        for name in FORMS {
            let id = scene.make(name).unwrap();
            assert_eq!(scene.names(), [name]);
            for form in FORMS {
                assert_eq!(scene.id(form), Ok(id), "{name:?} by {form:?}");
                assert_eq!(scene.make(form), Err(Error::Exists));
                assert_eq!(scene.link(name, form), Err(Error::Exists));
            }
            scene.make("other").unwrap();
            assert_eq!(scene.rename("other", NFC, RenameMode::Keep), Err(Error::Exists));
            assert_eq!(scene.rename("other", NFD, RenameMode::Keep), Err(Error::Exists));
            scene.remove("other").unwrap();
            scene.remove(MIXED).unwrap();
            assert!(scene.names().is_empty());
        }
    }
}

#[test]
fn forms_are_found_in_folders_that_are_kept_and_whether_or_not_case_counts() {
    for scene in scenes() {
        (0..100).for_each(|at| assert!(scene.make(&format!("some file {at}")).is_ok()));
        let id = scene.make(MIXED).unwrap();
        assert_eq!((scene.id(NFC), scene.id(NFD)), (Ok(id), Ok(id)));
        for case_sensitive in [false, true] {
            let folding = Folding { case_sensitive, ..Folding::default() };
            let find = |name: &str| {
                let (caller, name) = (client(1).caller, name.as_bytes());
                scene
                    .volume
                    .mac_tree()
                    .lookup_folded(&caller, &scene.root, name, folding)
                    .map(|(name, _)| name)
            };
            assert_eq!(find(NFD).as_deref(), Ok(MIXED.as_bytes()));
            let upper = find("\u{c9}T\u{c9}");
            assert_eq!(upper.is_ok(), !case_sensitive);
        }
    }
}

#[test]
fn a_file_is_given_its_own_name_in_another_form() {
    for scene in scenes() {
        let id = scene.make(NFD).unwrap();
        for (to, mode) in [(NFC, RenameMode::Replace), (MIXED, RenameMode::Keep), (NFD, RenameMode::Replace)]
        {
            scene.rename(NFC, to, mode).unwrap();
            let expected = if to == NFC { NFD } else { to }; // from NFC to NFC: no change
            assert_eq!((scene.names(), scene.id(to)), (vec![expected.into()], Ok(id)));
        }
        scene.rename(NFD, NFC, RenameMode::Replace).unwrap();
        assert_eq!(scene.names(), [NFC]);
    }
}

#[test]
fn a_replaced_entry_takes_the_form_of_the_one_that_comes() {
    for scene in scenes() {
        let mut events =
            scene.volume.subscribe(EventScope::Folder(scene.root.object.id()), Filter::ALL, 16).unwrap();
        scene.make(NFD).unwrap();
        let id = scene.make(".tmp").unwrap();
        scene.rename(".tmp", NFC, RenameMode::Replace).unwrap();
        assert_eq!((scene.names(), scene.id(NFD)), (vec![NFC.into()], Ok(id)));
        let mut told = Vec::new();
        while let Some(Event::Changed(seen)) = events.try_next() {
            told.push((String::from_utf8_lossy(&seen.change.name).into_owned(), seen.change.what.clone()));
        }
        let old = ChangeKind::Renamed { old_folder: scene.root.object.id(), old_name: (*b".tmp").into() };
        assert_eq!(told[2..], [(NFD.into(), ChangeKind::Removed), (NFC.into(), old)]);
    }
}

#[test]
fn twins_of_a_local_program_are_each_found_by_their_own_name() {
    for scene in scenes() {
        scene.make_locally(NFC, NewKind::File, 0o644);
        scene.make_locally(NFD, NewKind::File, 0o644);
        assert_ne!(scene.id(NFC).unwrap(), scene.id(NFD).unwrap());
        assert!(scene.id(MIXED).is_ok());
        scene.make("other").unwrap();
        scene.rename("other", NFD, RenameMode::Replace).unwrap();
        scene.rename(NFD, NFC, RenameMode::Replace).unwrap();
        assert_eq!(scene.names(), [NFC]);
    }
}

/// Names with what Windows forbids, as Samba stores them by default (vfs_fruit(8), `fruit:encoding`).
const PRIVATE: [(&str, &str); 4] = [
    ("a:b", "a\u{f022}b"),
    ("Icon\r", "Icon\u{f00d}"),
    ("etc.", "etc\u{f029}"),
    ("\u{e9}?", "\u{e9}\u{f025}"),
];

#[test]
fn a_name_with_private_code_points_is_found_by_the_characters_that_they_stand_for() {
    for scene in scenes() {
        for (plain, private) in PRIVATE {
            scene.make_locally(private, NewKind::File, 0o644);
            let id = scene.id(private).unwrap();
            assert_eq!(scene.id(plain), Ok(id), "{plain:?}");
            assert_eq!(scene.make(plain), Err(Error::Exists), "it is one file");
            scene.make("other").unwrap();
            assert_eq!(scene.rename("other", plain, RenameMode::Keep), Err(Error::Exists));
            scene.remove("other").unwrap();
            for case_sensitive in [false, true] {
                let (caller, folding) = (client(1).caller, Folding { case_sensitive, ..Folding::default() });
                let found =
                    scene.volume.mac_tree().lookup_folded(&caller, &scene.root, plain.as_bytes(), folding);
                assert_eq!(found.unwrap().0, private.as_bytes());
                let upper = plain.to_uppercase();
                let found =
                    scene.volume.mac_tree().lookup_folded(&caller, &scene.root, upper.as_bytes(), folding);
                assert_eq!(found.is_ok(), !case_sensitive, "{upper:?}");
            }
            scene.rename(plain, "x", RenameMode::Keep).unwrap();
            assert_eq!(scene.names(), ["x"]);
            scene.rename("x", plain, RenameMode::Keep).unwrap();
            assert_eq!(
                (scene.names(), scene.id(private)),
                (vec![plain.into()], Ok(id)),
                "the other way round"
            );
            scene.remove(private).unwrap();
            assert!(scene.names().is_empty());
        }
    }
}

#[test]
fn names_that_have_one_form_cost_no_call_more() {
    let faulty = Arc::new(Faulty::new(Memory::ticking()));
    let volume = Arc::new(Volume::new(faulty.clone(), VolumeOptions::default()));
    let scene = Scene { root: volume.root().unwrap(), volume, dir: None };
    let count = |act: &dyn Fn()| {
        let before = faulty.plan().calls(None);
        act();
        faulty.plan().calls(None) - before
    };
    scene.make("first").unwrap(); // what is looked at once
    let plain = count(&|| assert!(scene.make("aa").is_ok()));
    assert_eq!(count(&|| assert!(scene.make("\u{65e5}\u{672c}").is_ok())), plain);
    assert_eq!(count(&|| assert!(scene.id("aa").is_ok())), 1);
    assert_eq!(count(&|| assert_eq!(scene.id("no such file.txt"), Err(Error::NotFound))), 1);
    let folding = Folding { case_sensitive: true, ..Folding::default() };
    let folded = |name: &[u8]| {
        scene.volume.mac_tree().lookup_folded(&client(1).caller, &scene.root, name, folding).is_ok()
    };
    assert_eq!(count(&|| assert!(folded(b"aa") && !folded(b"no such file.txt"))), 2);
    // One more for each way in which other servers store the name: Samba, two ways, and Netatalk 2.
    assert_eq!(count(&|| assert_eq!(scene.id("no: file"), Err(Error::NotFound))), 3 + 1);
    assert_eq!(count(&|| assert!(!folded(b"no: file."))), 3 + 1);
}

#[tokio::test]
async fn the_sidecar_of_a_file_with_private_code_points_goes_by_its_plain_name() {
    for scene in scenes() {
        let (plain, private) = PRIVATE[0];
        scene.make_locally(private, NewKind::File, 0o644);
        let file = scene.find(plain).unwrap();
        let fork = OpenOptions { stream: Stream::Resource, create: true, ..scene::at(&scene.root, private) };
        let fork = scene.volume.open(&client(1), &file, fork).await.unwrap();
        scene::write(&fork, 0, b"fork").await.unwrap();
        drop(fork);
        assert!(scene.root.object.lookup(&client(1).caller, format!("._{private}").as_bytes()).is_ok());
        let looked =
            scene.volume.stateless().look(&client(1).caller, &scene.root, format!("._{plain}").as_bytes());
        assert!(matches!(looked, Ok(LookupResult::File(_))));
        assert_eq!(scene.make(&format!("._{plain}")), Err(Error::Exists));
        assert_eq!(scene.names(), [private], "the sidecar is a part of the file");
    }
}

#[tokio::test]
async fn the_sidecar_of_a_file_goes_by_any_form_and_moves_along() {
    for scene in scenes() {
        let file = scene.file(NFD);
        let fork = OpenOptions { stream: Stream::Resource, create: true, ..scene::at(&scene.root, NFD) };
        let fork = scene.volume.open(&client(1), &file, fork).await.unwrap();
        scene::write(&fork, 0, b"fork").await.unwrap();
        drop(fork);
        let sidecar = |name: &str| {
            let name = format!("._{name}");
            let looked = scene.volume.stateless().look(&client(1).caller, &scene.root, name.as_bytes());
            looked.map(|looked| matches!(looked, LookupResult::File(_)))
        };
        for form in FORMS {
            assert_eq!(sidecar(form), Ok(true), "{form:?}");
            assert_eq!(scene.make(&format!("._{form}")), Err(Error::Exists));
        }
        scene.rename(NFD, NFC, RenameMode::Replace).unwrap();
        assert_eq!((scene.names(), sidecar(NFD), sidecar(NFC)), (vec![NFC.into()], Ok(true), Ok(true)));
        let on_disk = scene.root.object.lookup(&client(1).caller, format!("._{NFC}").as_bytes());
        assert!(on_disk.is_ok());
        // The rename that a Mac's NFS client makes next.
        scene.rename(&format!("._{NFD}"), &format!("._{NFC}"), RenameMode::Replace).unwrap();
        assert_eq!(sidecar(NFC), Ok(true));
        scene.remove(NFD).unwrap();
        assert_eq!(sidecar(NFC), Err(Error::NotFound));
    }
}

#[test]
fn two_forms_made_at_once_are_one_file() {
    for scene in scenes() {
        for round in 0..50 {
            let (barrier, source) = (Barrier::new(3), format!("source {round}"));
            scene.make(&source).unwrap();
            let made = std::thread::scope(|threads| {
                let one = threads.spawn(|| (barrier.wait(), scene.make(NFC)).1.is_ok());
                let other = threads.spawn(|| (barrier.wait(), scene.make(NFD)).1.is_ok());
                let linked = threads.spawn(|| (barrier.wait(), scene.link(&source, MIXED)).1.is_ok());
                [one, other, linked].map(|thread| thread.join().unwrap())
            });
            assert_eq!(made.iter().filter(|made| **made).count(), 1, "{:?}", scene.names());
            scene.remove(NFC).unwrap();
            scene.remove(&source).unwrap();
        }
    }
}

/// Names of the server's own folders and of their sidecars, also in the case variants that a file
/// system without case takes for them.
const OWN: [&str; 6] = [
    ".fourfold-streams",
    ".fourfold-luns",
    ".FOURFOLD-Streams",
    ".fourfold-\u{17f}treams",
    "._.fourfold-streams",
    "._.Fourfold-LUNs",
];

#[test]
fn no_way_of_making_a_name_makes_one_of_the_servers_own() {
    for scene in scenes() {
        let (volume, ada) = (&scene.volume, client(1));
        let below = scene.folder("folder");
        scene.make("file").unwrap();
        let file = scene.find("file").unwrap();
        for (folder, name) in
            [&scene.root, &below].into_iter().flat_map(|folder| OWN.map(|name| (folder, name)))
        {
            assert!(is_own_name(name.as_bytes()));
            let name = name.as_bytes();
            let mut refused = Vec::new();
            let kinds = [NewKind::File, NewKind::Folder, NewKind::Link(b"x"), NewKind::Fifo, NewKind::Socket];
            refused.extend(kinds.map(|kind| volume.create(&ada, folder, name, kind, 0o644).map(drop)));
            refused.push(volume.link(&ada, &file, folder, name).map(drop));
            for mode in [RenameMode::Replace, RenameMode::Keep, RenameMode::Exchange] {
                let source: (&_, &[u8]) = (&scene.root, b"file");
                refused.push(volume.rename(&ada, source, (folder, name), mode).map(drop));
                refused.push(volume.rename(&ada, (folder, name), source, mode).map(drop));
            }
            refused.extend(
                [Kind::File, Kind::Folder].map(|kind| volume.remove(&ada, folder, name, kind).map(drop)),
            );
            refused.push(volume.lookup(&ada.caller, &folder.object, name).map(drop));
            refused.push(volume.stateless().look(&ada.caller, folder, name).map(drop));
            let folded = volume.mac_tree().lookup_folded(&ada.caller, folder, name, Folding::default());
            refused.push(folded.map(drop));
            let path = volume.lookup_path(&ada.caller, folder, &[name], Folding::default());
            refused.push(path.map(drop).map_err(|error| error.why));
            for (at, outcome) in refused.iter().enumerate() {
                assert_eq!(*outcome, Err(Error::AccessDenied), "{} at {at}", name.escape_ascii());
            }
        }
        assert_eq!(scene.names(), ["file", "folder"]);
    }
}

/// Entries that may be there before the server starts, or that a local program may make.
#[tokio::test]
async fn what_is_in_the_place_of_the_store_is_told_and_breaks_nothing_else() {
    let big = vec![7; 300_000];
    for (kind, mode) in [(NewKind::File, 0o644), (NewKind::Link(b"/tmp"), 0o777), (NewKind::Folder, 0o777)] {
        for scene in scenes() {
            scene.make_locally(".fourfold-streams", kind, mode);
            let misplaced = scene.volume.own_folders().conflicts().unwrap();
            let expected = match kind {
                NewKind::Folder => DistrustReason::WritableByOthers(0o777),
                _ => DistrustReason::NotAFolder,
            };
            let why = misplaced.iter().map(|found| (found.name, kept(found.why))).collect::<Vec<_>>();
            assert_eq!(why, [(&b".fourfold-streams"[..], expected)]);
            let file = scene.file("file");
            let open = |stream: &'static str| scene::stream(&scene.root, "file", stream);
            let small = scene.volume.open(&client(1), &file, open("small")).await.unwrap();
            scene::write(&small, 0, b"abc").await.unwrap();
            let large = scene.volume.open(&client(1), &file, open("large")).await.unwrap();
            assert_eq!(scene::write(&large, 0, &big).await, Err(Error::NotPermitted));
            drop((small, large));
            scene.rename("file", "moved", RenameMode::Replace).unwrap();
            assert_eq!(scene.names(), ["moved"]);
            scene.remove("moved").unwrap();
            // Once it is gone, the store works.
            let removed = match kind {
                NewKind::Folder => scene.root.object.remove_folder(&client(1).caller, b".fourfold-streams"),
                _ => scene.root.object.remove(&client(1).caller, b".fourfold-streams"),
            };
            removed.unwrap();
            let file = scene.file("file");
            let large = scene.volume.open(&client(1), &file, open("large")).await.unwrap();
            scene::write(&large, 0, &big).await.unwrap();
            large.sync().await.unwrap();
            assert_eq!(large.size().await, Ok(300_000));
            assert_eq!(scene.volume.own_folders().conflicts(), Ok(Vec::new()));
        }
    }
}

/// Without the bits that tell its type.
fn kept(why: DistrustReason) -> DistrustReason {
    match why {
        DistrustReason::WritableByOthers(mode) => DistrustReason::WritableByOthers(mode & 0o7777),
        other => other,
    }
}
