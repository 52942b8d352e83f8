//! Names longer than the host's 255 bytes: clients know the whole name, local programs a shortened one.

mod crash;

use std::sync::Arc;

use bytes::Bytes;
use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::memory::Memory;
use vfs::backend::{Backend, Found, NewKind, RenameMode, Stability, XattrMode};
use vfs::events::{ChangeKind, Depth, Event, Filter};
use vfs::names::Folding;
use vfs::names::long::{ATTRIBUTE, check, is_shortened, shortened};
use vfs::state::{Modes, Stream};
use vfs::{Beside, Caller, Error, Kind, Node, OpenOptions, Result, Volume, VolumeOptions};

use crate::scene::{Scene, client};
use crate::waiting::until;

const FOLDED: Folding = Folding { case_sensitive: false, normalisation_sensitive: false };

/// A hundred characters of three bytes each.
fn long(character: char) -> String {
    format!("{}.txt", String::from(character).repeat(100))
}

fn on_host(name: &str) -> String {
    String::from_utf8(shortened(name.as_bytes(), 0)).unwrap()
}

/// A volume, and the folder as local programs see it.
pub(crate) struct Disk {
    scene: Scene,
    raw: Node,
}

impl Disk {
    fn new(backend: Arc<dyn Backend>, dir: Option<tempfile::TempDir>) -> Self {
        let raw = backend.root().unwrap().object;
        let volume = Arc::new(Volume::new(backend, VolumeOptions::default()));
        Self { scene: Scene { root: volume.root().unwrap(), volume, dir }, raw }
    }

    fn both() -> [Self; 2] {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
        [Self::new(Arc::new(Memory::ticking()), None), Self::new(Arc::new(host), Some(dir))]
    }

    /// As local programs see it, in order.
    fn raw_names(&self) -> Vec<String> {
        names_in(&self.raw)
    }

    fn attribute(&self, host: &str) -> Option<String> {
        let found = self.raw.lookup(&Caller::root(), host.as_bytes()).unwrap();
        found.object.xattr(ATTRIBUTE).ok().map(|value| String::from_utf8(value).unwrap())
    }

    fn rename(&self, from: &str, to: &str, mode: RenameMode) -> Result<()> {
        self.scene.rename(from, to, mode)
    }

    async fn fork(&self, name: &str) -> vfs::Open {
        let (file, place) = (self.scene.find(name).unwrap(), &self.scene.root.object);
        let place = Some(Beside { folder: place, name: name.as_bytes() });
        let both = Modes::READ.union(Modes::WRITE);
        let options = OpenOptions { stream: Stream::Resource, place, ..OpenOptions::data(both) };
        self.scene.volume.open(&client(1), &file, options).await.unwrap()
    }
}

pub(crate) fn names_in(folder: &Node) -> Vec<String> {
    let mut names = Vec::new();
    folder
        .list(0, &mut |entry| {
            names.push(String::from_utf8(entry.name.to_vec()).unwrap());
            true
        })
        .unwrap();
    names.retain(|name| name != "." && name != "..");
    names.sort();
    names
}

#[test]
fn clients_see_the_whole_name_and_local_programs_a_shortened_one() {
    for disk in Disk::both() {
        let (name, folder) = (long('漢'), "字".repeat(255));
        let id = disk.scene.make(&name).unwrap();
        let inside = disk.scene.folder(&folder);
        disk.scene.volume.create(&client(1), &inside, name.as_bytes(), NewKind::File, 0o444).unwrap();
        assert_eq!(disk.scene.names(), [folder.clone(), name.clone()]);
        assert_eq!(disk.scene.id(&name), Ok(id));
        assert_eq!(disk.scene.make(&name), Err(Error::Exists));
        assert_eq!(disk.raw_names(), [on_host(&folder), on_host(&name)]);
        assert!(on_host(&name).starts_with(&"漢".repeat(70)) && on_host(&name).ends_with(".txt"));
        assert_eq!(disk.attribute(&on_host(&name)), Some(name.clone()));
        assert_eq!(disk.scene.id(&on_host(&name)), Ok(id), "what local programs call it leads to it, too");
        let inner = inside.object.lookup(&client(1).caller, name.as_bytes()).unwrap();
        assert_eq!(inner.attributes.mode & 0o777, 0o444);
        let volume = &disk.scene.volume;
        let path = [folder.as_bytes(), name.as_bytes()];
        let found = volume.lookup_path(&client(1).caller, &disk.scene.root, &path, FOLDED).unwrap();
        assert_eq!(found.found.unwrap().object.id(), inner.object.id());
        assert_eq!(volume.path_of(&inside.object).unwrap(), [folder.as_bytes()]);
        assert_eq!(volume.place_of(&inner).unwrap().1, name.as_bytes());
        assert_eq!(disk.scene.root.object.name_on_host(name.as_bytes()), Some(on_host(&name).into_bytes()));
        assert_eq!(disk.scene.root.object.name_on_host(b"short"), None);
        disk.scene.remove(&name).unwrap();
        assert_eq!(disk.scene.id(&name), Err(Error::NotFound));
        inside.object.remove(&client(1).caller, name.as_bytes()).unwrap();
        volume.remove(&client(1), &disk.scene.root, folder.as_bytes(), Kind::Folder).unwrap();
        assert!(disk.raw_names().is_empty());
    }
}

#[test]
fn a_file_moves_between_long_and_short_names() {
    for disk in Disk::both() {
        let (one, two) = (long('一'), long('二'));
        let id = disk.scene.make("short").unwrap();
        for (from, to) in [("short", &*one), (&one, &two), (&two, &two), (&two, "short"), ("short", &one)] {
            disk.rename(from, to, RenameMode::Replace).unwrap();
            assert_eq!(disk.scene.names(), [to], "{from} to {to}");
            assert_eq!(disk.scene.id(to), Ok(id));
            let host = &disk.raw_names()[0];
            let value = disk.attribute(host);
            assert_eq!(check(host.as_bytes(), value.as_deref().map(str::as_bytes)), None);
        }
        let other = disk.scene.make(&two).unwrap();
        assert_eq!(disk.rename(&one, &two, RenameMode::Keep), Err(Error::Exists));
        disk.rename(&one, &two, RenameMode::Exchange).unwrap();
        assert_eq!((disk.scene.id(&one), disk.scene.id(&two)), (Ok(other), Ok(id)));
        let third = disk.scene.make("plain").unwrap();
        disk.rename("plain", &two, RenameMode::Exchange).unwrap();
        assert_eq!((disk.scene.id("plain"), disk.scene.id(&two)), (Ok(id), Ok(third)));
        assert_eq!(disk.attribute("plain"), None);
        disk.rename(&one, &two, RenameMode::Replace).unwrap();
        assert_eq!((disk.scene.id(&one), disk.scene.id(&two)), (Err(Error::NotFound), Ok(other)));
        assert_eq!(disk.scene.names(), ["plain".to_owned(), two]);
    }
}

#[test]
fn a_taken_shortened_name_makes_the_next_number() {
    for disk in Disk::both() {
        let name = long('七');
        let taken = disk.scene.make(&on_host(&name)).unwrap();
        let id = disk.scene.make(&name).unwrap();
        assert_ne!(id, taken);
        let both = [on_host(&name), name.clone()];
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        assert_eq!(disk.scene.names(), sorted(both.to_vec()));
        assert_eq!((disk.scene.id(&both[0]), disk.scene.id(&name)), (Ok(taken), Ok(id)));
        disk.scene.remove(&both[0]).unwrap();
        assert_eq!((disk.scene.names(), disk.scene.id(&name)), (vec![name.clone()], Ok(id)));
        // Moved away and back, it gets the free one.
        disk.rename(&name, "x", RenameMode::Keep).unwrap();
        disk.rename("x", &name, RenameMode::Keep).unwrap();
        assert_eq!(disk.raw_names(), [on_host(&name)]);
        for number in 0..vfs::names::long::NUMBERS {
            let other = shortened(long('八').as_bytes(), number);
            disk.scene.make(std::str::from_utf8(&other).unwrap()).unwrap();
        }
        assert_eq!(disk.scene.make(&long('八')), Err(Error::Exists), "there are no more");
        assert!(disk.raw_names().iter().all(|name| !name.starts_with(".fourfold")));
    }
}

#[tokio::test]
async fn the_sidecar_follows_its_file() {
    for disk in Disk::both() {
        let (one, two) = (long('羊'), long('龜'));
        disk.scene.make(&one).unwrap();
        let fork = disk.fork(&one).await;
        fork.write_at(0, Bytes::from_static(b"resource"), Stability::Unstable).await.unwrap();
        fork.close().await.unwrap();
        let beside = |name: &str| vec![format!("._{}", on_host(name)), on_host(name)];
        assert_eq!((disk.scene.names(), disk.raw_names()), (vec![one.clone()], beside(&one)));
        disk.rename(&one, &two, RenameMode::Replace).unwrap();
        assert_eq!((disk.scene.names(), disk.raw_names()), (vec![two.clone()], beside(&two)));
        assert_eq!(disk.fork(&two).await.size().await, Ok(8));
        disk.rename(&two, "short", RenameMode::Replace).unwrap();
        assert_eq!(disk.raw_names(), ["._short", "short"]);
        disk.rename("short", &one, RenameMode::Replace).unwrap();
        assert_eq!(disk.fork(&one).await.size().await, Ok(8));
        disk.scene.remove(&one).unwrap();
        assert!(disk.raw_names().is_empty());
        // 254 bytes are no long name, but those of the sidecar are.
        let almost = "x".repeat(254);
        disk.scene.make(&almost).unwrap();
        let fork = disk.fork(&almost).await;
        fork.write_at(0, Bytes::from_static(b"fork"), Stability::Unstable).await.unwrap();
        assert_eq!(disk.fork(&almost).await.size().await, Ok(4));
        assert_eq!(disk.scene.names(), [almost]);
    }
}

/// The fork is made by one link, which is then removed: it comes to the other one through the server's own folder.
#[tokio::test]
async fn a_fork_comes_to_another_link_with_a_long_name() {
    for disk in Disk::both() {
        let (one, two) = (long('犬'), long('猫'));
        for other in ["c", &two] {
            disk.scene.make(&one).unwrap();
            disk.scene.link(&one, other).unwrap();
            let fork = disk.fork(other).await;
            fork.write_at(0, Bytes::from_static(b"resource"), Stability::Unstable).await.unwrap();
            fork.close().await.unwrap();
            disk.scene.remove(other).unwrap();
            let fork = disk.fork(&one).await;
            assert_eq!(fork.size().await, Ok(8));
            fork.write_at(8, Bytes::from_static(b"s"), Stability::Unstable).await.unwrap();
            fork.close().await.unwrap();
            let beside = vec![format!("._{}", on_host(&one)), on_host(&one)];
            let mut raw = disk.raw_names();
            raw.retain(|name| !name.starts_with(".fourfold"));
            assert_eq!((disk.scene.names(), raw), (vec![one.clone()], beside));
            disk.scene.remove(&one).unwrap();
        }
    }
}

#[test]
fn a_local_program_that_renames_or_copies_the_file_gives_it_its_name() {
    for disk in Disk::both() {
        let (name, other, ourselves) = (long('木'), long('林'), Caller::root());
        disk.scene.make(&name).unwrap();
        let move_raw = |from: &str, to: &str| {
            let (from, to) = (from.as_bytes(), to.as_bytes());
            disk.raw.rename(&ourselves, from, &*disk.raw, to, RenameMode::Replace).unwrap();
        };
        for to in ["notes.txt", &on_host(&other)] {
            move_raw(&on_host(&name), to);
            assert_eq!((disk.scene.names(), disk.scene.id(&name)), (vec![to.into()], Err(Error::NotFound)));
            assert_eq!(disk.scene.id(&other), Err(Error::NotFound));
            move_raw(to, &on_host(&name));
            assert_eq!(disk.scene.names(), [&*name]);
        }
        let copy = disk.raw.create(&ourselves, b"copy.txt", NewKind::File, 0o644).unwrap().object;
        copy.set_xattr(&ourselves, ATTRIBUTE, name.as_bytes(), XattrMode::Set).unwrap();
        assert_eq!(disk.scene.names(), ["copy.txt".to_owned(), name.clone()]);
        copy.set_xattr(&ourselves, ATTRIBUTE, b"../etc/passwd", XattrMode::Set).unwrap();
        assert_eq!(disk.scene.names(), ["copy.txt".to_owned(), name]);
    }
}

#[test]
fn each_link_of_a_file_has_its_own_long_name() {
    for disk in Disk::both() {
        let names = ['東', '西', '南'].map(long);
        let id = disk.scene.make("short").unwrap();
        for name in &names {
            disk.scene.link("short", name).unwrap();
            assert_eq!(disk.scene.link("short", name), Err(Error::Exists));
        }
        disk.scene.link(&names[0], "another").unwrap();
        for name in names.iter().map(String::as_str).chain(["short", "another"]) {
            assert_eq!(disk.scene.id(name), Ok(id));
        }
        assert_eq!(disk.scene.names().len(), 5);
        disk.rename(&names[0], &long('北'), RenameMode::Replace).unwrap();
        disk.scene.remove(&names[1]).unwrap();
        let left = ["another", "short", &long('北'), &names[2]].map(str::to_owned);
        assert_eq!(disk.scene.names(), left);
    }
}

#[test]
fn what_cannot_have_a_long_name_is_refused() {
    for disk in Disk::both() {
        let (volume, root) = (&disk.scene.volume, &disk.scene.root);
        let make = |name: &str, kind| volume.create(&client(1), root, name.as_bytes(), kind, 0o644).err();
        assert_eq!(make(&long('山'), NewKind::Link(b"there")), Some(Error::NameTooLong));
        assert_eq!(make(&long('山'), NewKind::Fifo), Some(Error::NameTooLong));
        assert_eq!(make(&"山".repeat(256), NewKind::File), Some(Error::NameTooLong));
        assert_eq!(make(&"x".repeat(256), NewKind::File), Some(Error::NameTooLong));
        make("link", NewKind::Link(b"there"));
        assert_eq!(disk.rename("link", &long('山'), RenameMode::Replace), Err(Error::NameTooLong));
        assert_eq!(disk.scene.find(&"x".repeat(256)).err(), Some(Error::NameTooLong));
        assert_eq!(disk.scene.names(), ["link"]);
        disk.scene.make("file").unwrap();
        for at in 0..8 {
            disk.scene.link("file", &long(char::from_u32(0x4e00 + at).unwrap())).unwrap();
        }
        assert_eq!(disk.scene.link("file", &long('山')), Err(Error::TooManyLinks));
    }
}

#[test]
fn case_and_normal_form_of_a_long_name_do_not_matter() {
    for disk in Disk::both() {
        let (composed, decomposed) = ("\u{c9}".repeat(140), "E\u{301}".repeat(110));
        let ids = [disk.scene.make(&composed).unwrap(), disk.scene.make(&decomposed).unwrap()];
        let lower = composed.to_lowercase();
        let (volume, caller) = (&disk.scene.volume, &client(1).caller);
        let (stored, found) =
            volume.mac_tree().lookup_folded(caller, &disk.scene.root, lower.as_bytes(), FOLDED).unwrap();
        assert_eq!((stored, found.object.id()), (composed.into_bytes(), ids[0]));
        let other = "\u{c9}".repeat(110); // 220 bytes, and 330 as it was made
        assert_eq!(disk.scene.id(&other), Ok(ids[1]));
        assert_eq!(disk.scene.make(&other), Err(Error::Exists));
        let folded = "e\u{301}".repeat(110);
        let found =
            volume.mac_tree().lookup_folded(caller, &disk.scene.root, folded.as_bytes(), FOLDED).unwrap();
        assert_eq!(found.1.object.id(), ids[1]);
    }
}

#[test]
fn kept_listings_of_many_long_names_stay_true() {
    for disk in Disk::both() {
        let name = |at: u32| long(char::from_u32(0x4e00 + at).unwrap());
        (0..600).for_each(|at| assert!(disk.scene.make(&name(at)).is_ok()));
        disk.scene.make("short").unwrap();
        assert_eq!(disk.scene.names().len(), 601);
        let ourselves = Caller::root();
        disk.raw.remove(&ourselves, on_host(&name(7)).as_bytes()).unwrap();
        disk.scene.remove(&name(8)).unwrap();
        let (from, to) = (on_host(&name(9)), "moved");
        disk.raw.rename(&ourselves, from.as_bytes(), &*disk.raw, to.as_bytes(), RenameMode::Keep).unwrap();
        let names = disk.scene.names();
        assert_eq!((names.len(), names.iter().any(|name| is_shortened(name.as_bytes()))), (599, false));
        let folded = |name: &str| {
            disk.scene.volume.mac_tree().lookup_folded(
                &client(1).caller,
                &disk.scene.root,
                name.as_bytes(),
                FOLDED,
            )
        };
        assert_eq!(folded(&name(10).to_uppercase()).unwrap().0, name(10).into_bytes());
        for gone in [name(7), name(8), name(9)] {
            assert_eq!(folded(&gone.to_uppercase()).err(), Some(Error::NotFound));
        }
    }
}

#[test]
fn events_have_whole_names() {
    for disk in Disk::both() {
        let (one, two, ourselves) = (long('日'), long('月'), Caller::root());
        let (volume, root) = (&disk.scene.volume, &disk.scene.root);
        let mut watching = volume.watch(&client(1).caller, root, Depth::Entries, Filter::ALL, 100).unwrap();
        let mut next = |wanted: &dyn Fn(&ChangeKind) -> bool| {
            let mut name = None;
            until("no event", || {
                match watching.try_next() {
                    Some(Event::Changed(seen)) if wanted(&seen.change.what) => {
                        name = Some(String::from_utf8(seen.change.name.to_vec()).unwrap());
                    }
                    Some(Event::Changed(_)) | None => {}
                    Some(other) => panic!("{other:?}"),
                }
                name.is_some()
            });
            name.unwrap()
        };
        let is_new = |what: &ChangeKind| matches!(what, ChangeKind::Created);
        let is_moved = |what: &ChangeKind| matches!(what, ChangeKind::Renamed { .. });
        let is_gone = |what: &ChangeKind| matches!(what, ChangeKind::Removed);
        disk.scene.make(&one).unwrap();
        assert_eq!(next(&is_new), one);
        disk.rename(&one, &two, RenameMode::Replace).unwrap();
        assert_eq!(next(&is_moved), two);
        if disk.scene.dir.is_none() {
            continue; // memory has no local programs
        }
        let raw = on_host(&two);
        disk.raw.rename(&ourselves, raw.as_bytes(), &*disk.raw, b"x", RenameMode::Keep).unwrap();
        assert_eq!(next(&is_moved), "x");
        disk.raw.rename(&ourselves, b"x", &*disk.raw, raw.as_bytes(), RenameMode::Keep).unwrap();
        assert_eq!(next(&is_moved), two);
        disk.raw.remove(&ourselves, raw.as_bytes()).unwrap();
        assert_eq!(next(&is_gone), two);
    }
}

#[test]
fn short_names_cost_no_call_more() {
    let faulty = Arc::new(Faulty::new(Memory::ticking()));
    let disk = Disk::new(faulty.clone(), None);
    let (root, user) = (&disk.scene.root.object, Caller::root());
    let count = |act: &dyn Fn(), call: Call| {
        let (before, of_kind) = (faulty.plan().calls(None), faulty.plan().calls(Some(call)));
        act();
        assert_eq!(faulty.plan().calls(None) - before, 1, "{call:?}");
        assert_eq!(faulty.plan().calls(Some(call)) - of_kind, 1);
    };
    let made = |name: &str| drop(root.create(&user, name.as_bytes(), NewKind::File, 0o644).unwrap());
    count(&|| made("a"), Call::Create);
    count(&|| made(&"x".repeat(255)), Call::Create);
    count(&|| drop(root.lookup(&user, b"a").unwrap()), Call::Lookup);
    count(&|| assert!(root.lookup(&user, b"b").is_err()), Call::Lookup);
    count(&|| assert!(root.list(0, &mut |_| true).unwrap()), Call::List);
    count(&|| root.rename(&user, b"a", &**root, b"b", RenameMode::Replace).unwrap(), Call::Rename);
    count(&|| root.remove(&user, b"b").unwrap(), Call::Remove);
}

pub(crate) fn found_in(volume: &Volume, name: &str) -> Result<Found> {
    volume.lookup(&client(1).caller, &volume.root()?.object, name.as_bytes())
}
