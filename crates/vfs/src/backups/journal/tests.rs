//! A bundle that clients change, and its points. The rule of all tests: what comes back is what was there when the point began,
//! whatever clients did since then, and whenever the power was cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::point::parse;
use crate::backend::faulty::Faulty;
use crate::backend::memory::Memory;
use crate::backend::{Found, NewKind, Stability, Wait};
use crate::backups::sums::BandSums;
use crate::backups::{BackupImage, BandWork, ImageObserver, ImageProblem};
use crate::state::{ClientId, Party};
use crate::{Access, Actor, Caller, SetAttributes, Time, Volume, VolumeOptions};

const BUNDLE: &[u8] = b"mac.sparsebundle";
const LIST: &[u8] = b"<plist><key>band-size</key><integer>8192</integer></plist>";
/// Long after all times of the memory's clock.
const LATER: Time = Time { secs: i64::MAX / 2, nanos: 0 };

struct Scene {
    faulty: Arc<Faulty>,
    volume: Arc<Volume>,
}

/// What a check finds.
#[derive(Default)]
struct Problems(Vec<ImageProblem>);

impl ImageObserver for Problems {
    fn found(&mut self, problem: ImageProblem) {
        self.0.push(problem);
    }

    fn read(&mut self, _: u64, _: u64) -> bool {
        true
    }
}

fn volume(faulty: &Arc<Faulty>) -> Arc<Volume> {
    Arc::new(Volume::new(faulty.clone(), VolumeOptions::default()))
}

impl Scene {
    fn new(bands: &[(&str, &[u8])]) -> Self {
        let faulty = Arc::new(Faulty::losing_writes(Memory::ticking()));
        let scene = Self { volume: volume(&faulty), faulty };
        let root = scene.volume.root().unwrap();
        let bundle = scene.make(&root, BUNDLE, NewKind::Folder);
        for name in ["Info.plist", "Info.bckup"] {
            scene.write(&scene.make(&bundle, name.as_bytes(), NewKind::File), LIST);
        }
        scene.make(&bundle, b"token", NewKind::File);
        let folder = scene.make(&bundle, b"bands", NewKind::Folder);
        for (name, bytes) in bands {
            scene.write(&scene.make(&folder, name.as_bytes(), NewKind::File), bytes);
        }
        scene
    }

    fn actor(&self) -> Actor {
        Actor::new(Caller::root(), Party::client(ClientId(1)))
    }

    fn make(&self, folder: &Found, name: &[u8], kind: NewKind<'_>) -> Found {
        let folder = Found { attributes: folder.object.attributes().unwrap(), object: folder.object.clone() };
        self.volume.create(&self.actor(), &folder, name, kind, 0o755).unwrap().found
    }

    /// Writes at the beginning of a file, and syncs it, as a client does.
    fn write(&self, to: &Found, bytes: &[u8]) {
        let (actor, data) = (self.actor(), Bytes::copy_from_slice(bytes));
        let write = self.volume.stateless().write_only(&actor, to, 0, data, Stability::File, None);
        block_on(write).unwrap();
    }

    fn folder(&self) -> Found {
        self.volume.root().unwrap().object.lookup_path(&Caller::root(), &[BUNDLE, b"bands"]).unwrap()
    }

    fn band(&self, name: &str) -> Found {
        self.folder().object.lookup(&Caller::root(), name.as_bytes()).unwrap()
    }

    fn remove(&self, name: &str) {
        self.volume.remove(&self.actor(), &self.folder(), name.as_bytes(), crate::Kind::File).unwrap();
    }

    fn begin(&self, name: &str) -> bool {
        self.volume.backup_journals().begin_point(BUNDLE, name, LATER, 3).unwrap()
    }

    fn points(&self) -> Vec<String> {
        self.volume.backup_journals().points(BUNDLE).into_iter().map(|point| point.name).collect()
    }

    /// The bands of a folder, by name.
    fn bands(&self) -> BTreeMap<String, Vec<u8>> {
        let (folder, mut names) = (self.folder(), Vec::new());
        let list = folder.object.list(0, &mut |entry| {
            names.push(String::from_utf8(entry.name.to_vec()).unwrap());
            true
        });
        list.unwrap();
        names.retain(|name| !name.starts_with('.'));
        names.into_iter().map(|name| (name.clone(), self.content(&self.band(&name)))).collect()
    }

    fn content(&self, of: &Found) -> Vec<u8> {
        let mut bytes = Vec::new();
        of.object.prepare(&Caller::root(), &of.attributes, Access::READ, true).unwrap();
        of.object.read_at(0, 1 << 20, &mut bytes, Wait::Allowed).unwrap();
        bytes
    }

    fn problems(&self, point: &str) -> Vec<ImageProblem> {
        let image = BackupImage::at_point(&self.volume, BUNDLE, point).unwrap();
        let (mut sums, mut problems) = (BandSums::default(), Problems::default());
        image.check_bands((BandWork::VerifyPoint, 0), LATER, &mut sums, &mut problems).unwrap();
        problems.0.extend(image.check_lists());
        problems.0
    }

    fn is_whole(&self, point: &str) {
        let problems = self.problems(point);
        assert!(problems.is_empty(), "{point}: {problems:?}");
    }

    fn roll_back(&self, point: &str) {
        let _runtime = runtime().enter();
        assert!(self.volume.backup_journals().stage((BUNDLE, point), b"staged", &mut |_| true).unwrap());
        self.volume.backup_journals().put_back((BUNDLE, point), b"staged", b"kept").unwrap();
    }

    /// The server starts again after a power cut.
    fn cut_power(&mut self) {
        self.faulty.crash();
        self.volume = volume(&self.faulty);
        self.volume.backup_journals().resume();
    }
}

fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: std::sync::LazyLock<tokio::runtime::Runtime> =
        std::sync::LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());
    &RUNTIME
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

fn map(bands: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
    bands.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect()
}

const FIRST: &[(&str, &[u8])] = &[("0", b"zero"), ("1", b"one"), ("a", b"ten")];

#[test]
fn what_clients_change_add_and_remove_comes_back() {
    let scene = Scene::new(FIRST);
    assert!(scene.begin("p1"));
    scene.write(&scene.band("0"), b"ZERO and more");
    scene.remove("1");
    scene.write(&scene.make(&scene.folder(), b"2", NewKind::File), b"new");
    scene.write(&scene.make(&scene.folder(), b"1", NewKind::File), b"other");
    scene.is_whole("p1");
    scene.roll_back("p1");
    assert_eq!(scene.bands(), map(FIRST));
    assert_eq!(scene.points(), [""; 0], "the bundle is the point now");
    let kept = scene.volume.root().unwrap().object.lookup_path(&Caller::root(), &[b"kept", b"bands", b"2"]);
    assert_eq!(scene.content(&kept.unwrap()), b"new", "what was there is kept");
}

#[test]
fn a_client_that_has_a_removed_band_open_does_not_change_the_point() {
    let scene = Scene::new(FIRST);
    assert!(scene.begin("p1"));
    let band = scene.band("1");
    scene.remove("1");
    scene.write(&band, b"ONE");
    scene.roll_back("p1");
    assert_eq!(scene.bands(), map(FIRST));
}

#[test]
fn each_of_several_points_is_what_it_was() {
    let scene = Scene::new(FIRST);
    assert!(scene.begin("p1"));
    scene.write(&scene.band("0"), b"0ERO");
    assert!(scene.begin("p2"));
    scene.write(&scene.band("0"), b"00RO");
    scene.write(&scene.band("a"), b"TEN");
    assert!(scene.begin("p3"));
    scene.remove("1");
    assert_eq!(scene.points(), ["p3", "p2", "p1"]);
    for point in ["p1", "p2", "p3"] {
        scene.is_whole(point);
    }
    scene.roll_back("p2");
    assert_eq!(scene.bands(), map(&[("0", b"0ERO"), ("1", b"one"), ("a", b"ten")]));
    assert_eq!(scene.points(), ["p1"]);
    scene.write(&scene.band("a"), b"tEN");
    scene.is_whole("p1");
}

#[test]
fn the_oldest_points_are_forgotten() {
    let scene = Scene::new(FIRST);
    for name in ["p1", "p2", "p3", "p4"] {
        assert!(scene.begin(name));
        scene.write(&scene.band("0"), name.as_bytes());
    }
    assert_eq!(scene.points(), ["p4", "p3", "p2"]);
    scene.is_whole("p2");
}

#[test]
fn a_journal_goes_on_after_a_restart() {
    let mut scene = Scene::new(FIRST);
    assert!(scene.begin("p1"));
    scene.write(&scene.band("0"), b"ZERO");
    scene.cut_power();
    scene.write(&scene.band("0"), b"NULL");
    scene.write(&scene.band("a"), b"TEN");
    scene.roll_back("p1");
    assert_eq!(scene.bands(), map(FIRST));
}

/// The power is cut before each of the calls that a change of a band makes. The point is whole each time.
#[test]
fn a_power_cut_at_any_call_leaves_a_point_that_verifies() {
    for call in 1.. {
        let mut scene = Scene::new(FIRST);
        assert!(scene.begin("p1"));
        let (band, actor, data) = (scene.band("0"), scene.actor(), Bytes::from_static(b"ZERO"));
        scene.faulty.plan().fail_from(call, None, crate::Error::Io);
        let writing = scene.volume.stateless().write_only(&actor, &band, 0, data, Stability::File, None);
        let written = block_on(writing);
        scene.cut_power();
        scene.is_whole("p1");
        scene.roll_back("p1");
        assert_eq!(scene.bands(), map(FIRST), "call {call}");
        if written.is_ok() {
            return;
        }
    }
}

#[test]
fn a_copy_that_cannot_be_made_does_not_stop_the_backup() {
    let scene = Scene::new(FIRST);
    assert!(scene.begin("p1"));
    let top = scene.volume.own_folders().find(crate::OwnFolder::JOURNAL).unwrap();
    let journal = top.lookup_path(&Caller::root(), &[BUNDLE, b"p1"]).unwrap();
    // Something that is no file has the name of the copy.
    let bands = journal.object.lookup(&Caller::root(), b"bands").unwrap();
    let blocked = bands.object.create(&Caller::root(), b"0.new", NewKind::Folder, 0o700).unwrap();
    blocked.object.create(&Caller::root(), b"x", NewKind::File, 0o600).unwrap();
    scene.write(&scene.band("0"), b"ZERO");
    assert_eq!(scene.content(&scene.band("0")), b"ZERO");
    assert_eq!(scene.points(), [""; 0]);
    assert!(scene.begin("p2"), "and the next session has a way back again");
    assert_eq!(scene.points(), ["p2"]);
}

#[test]
fn a_band_that_something_else_has_changed_is_found() {
    let scene = Scene::new(FIRST);
    assert!(scene.begin("p1"));
    let band = scene.band("1");
    let longer = SetAttributes { size: Some(100), ..SetAttributes::default() };
    band.object.set_attributes(&Caller::root(), &longer).unwrap();
    assert_eq!(scene.problems("p1"), [ImageProblem::BandChanged { number: 1 }]);
    let _runtime = runtime().enter();
    let staged = scene.volume.backup_journals().stage((BUNDLE, "p1"), b"staged", &mut |_| true);
    assert_eq!(staged, Err(crate::Error::Stale));
}

#[test]
fn no_point_begins_just_after_a_write() {
    let scene = Scene::new(FIRST);
    let now = scene.band("0").attributes.modified;
    assert_eq!(scene.volume.backup_journals().begin_point(BUNDLE, "p1", now, 3), Ok(false));
    assert_eq!(scene.points(), [""; 0]);
}

#[test]
fn clients_do_not_see_the_journal_and_it_ends_with_the_setting() {
    let scene = Scene::new(FIRST);
    assert!(scene.begin("p1"));
    scene.write(&scene.band("0"), b"ZERO");
    let page = scene.volume.list(&Caller::root(), &scene.volume.root().unwrap(), 0).unwrap();
    assert_eq!(page.named().count(), 1);
    assert_eq!(scene.volume.backup_journals().bundles(), [BUNDLE]);
    scene.volume.backup_journals().end(BUNDLE).unwrap();
    assert!(scene.points().is_empty() && scene.volume.backup_journals().bundles().is_empty());
    scene.write(&scene.band("1"), b"ONE");
}

#[test]
fn a_manifest_that_is_damaged_is_none() {
    assert!(parse(b"fourfold point 1\n0 4 7.000000001\n").is_some_and(|bands| bands.len() == 1));
    for text in
        [&b""[..], b"fourfold point 2\n", b"fourfold point 1\n0 4", b"fourfold point 1\n0 4 1.0 x\n", b"\xff"]
    {
        assert!(parse(text).is_none(), "{}", text.escape_ascii());
    }
}

/// A client that moves a file of another person into its bundle, and removes it there, gets no file of its own by a rollback.
#[test]
fn a_band_that_comes_back_belongs_to_whom_it_belonged() {
    let scene = Scene::new(FIRST);
    let owner = |name: &str| (scene.band(name).attributes.uid, scene.band(name).attributes.mode & 0o777);
    for name in ["0", "1"] {
        let ids = SetAttributes { uid: Some(777), ..SetAttributes::default() };
        scene.band(name).object.set_attributes(&Caller::root(), &ids).unwrap();
        let mode = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
        scene.band(name).object.set_attributes(&Caller::root(), &mode).unwrap();
    }
    assert!(scene.begin("p1"));
    scene.remove("0");
    scene.write(&scene.band("1"), b"other");
    scene.roll_back("p1");
    assert_eq!((owner("0"), owner("1")), ((777, 0o600), (777, 0o600)));
}
