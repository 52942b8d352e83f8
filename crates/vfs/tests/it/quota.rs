//! Quotas that the server counts itself, on ext4 and XFS. Expected values are what `du` would say.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use vfs::backend::host::{Host, HostOptions, recount};
use vfs::backend::{Backend, Found, NewKind, Object, RenameMode, Stability};
use vfs::quota::{Charges, Inside, Meter, Quota};
use vfs::streams::{File, Streams};
use vfs::{Access, Caller, Error, FileId, HostKey, SetAttributes};

use crate::waiting::until;

const KIB: u64 = 1024;

/// A folder with a quota that the server counts.
struct Scene {
    dir: tempfile::TempDir,
    is_mounted: bool,
    meter: Arc<Meter>,
    quota: Arc<Quota>,
    host: Arc<Host>,
}

impl Scene {
    fn at(dir: tempfile::TempDir, is_mounted: bool, limit: u64) -> Self {
        let quota = Arc::new(Quota::counted(limit, Some((0, true))));
        let meter = Arc::new(Meter::new(&Arc::new(Charges::default())));
        meter.set(vec![quota.clone()]);
        let folder = folder(&dir, is_mounted);
        let options = HostOptions { meter: meter.clone(), ..HostOptions::default() };
        let host = Arc::new(Host::open(&folder, &options).unwrap());
        Self { dir, is_mounted, meter, quota, host }
    }

    fn new(limit: u64) -> Self {
        Self::at(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), false, limit)
    }

    /// `None`, with a message, where no XFS can be mounted.
    fn xfs(limit: u64) -> Option<Self> {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (image, root) = (dir.path().join("image"), folder(&dir, true));
        std::fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
        std::fs::create_dir(&root).unwrap();
        let run = |program: &str, words: &[&Path]| {
            Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
        };
        let is_mounted = run("mkfs.xfs", &["-q".as_ref(), &image])
            && run("mount", &["-o".as_ref(), "loop".as_ref(), &image, &root]);
        if !is_mounted {
            println!("skipped: no XFS, no loop device, or not root");
            return None;
        }
        Some(Self::at(dir, true, limit))
    }

    fn path(&self) -> PathBuf {
        folder(&self.dir, self.is_mounted)
    }

    fn root(&self) -> Arc<dyn Object> {
        self.host.root().unwrap().object
    }

    fn file(&self, name: &str) -> Arc<dyn Object> {
        file_in(&*self.root(), name)
    }

    fn used(&self) -> u64 {
        self.quota.used().unwrap()
    }

    /// Counts all files anew, while nothing changes.
    fn counted(&self) -> u64 {
        let quota = Quota::counted(u64::MAX, None);
        assert!(recount(&self.path(), None, &quota, None).unwrap().is_exact);
        quota.used().unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if self.is_mounted {
            let _ = Command::new("umount").arg("-l").arg(self.path()).status();
        }
    }
}

fn folder(dir: &tempfile::TempDir, is_mounted: bool) -> PathBuf {
    if is_mounted { dir.path().join("root") } else { dir.path().into() }
}

fn me() -> Caller {
    Caller::root()
}

fn ready(found: Found) -> Arc<dyn Object> {
    let both = Access::READ.union(Access::WRITE);
    found.object.prepare(&me(), &found.attributes, both, true).unwrap();
    found.object
}

fn file_in(folder: &dyn Object, name: &str) -> Arc<dyn Object> {
    ready(folder.create(&me(), name.as_bytes(), NewKind::File, 0o644).unwrap())
}

fn write(file: &dyn Object, offset: u64, length: u64) -> vfs::Result<()> {
    file.write_at(&me(), offset, &vec![7; length as usize], Stability::Unstable)
}

#[test]
fn there_is_room_for_all_of_a_write_or_for_nothing() {
    let scene = Scene::new(64 * KIB);
    let a = scene.file("a");
    write(&*a, 0, 60 * KIB).unwrap();
    assert_eq!(a.has_room_for(60 * KIB, 8 * KIB), Err(Error::QuotaExceeded));
    assert_eq!((a.has_room_for(60 * KIB, 4 * KIB), a.has_room_for(0, 64 * KIB)), (Ok(()), Ok(())));
    assert_eq!((scene.used(), a.attributes().unwrap().size), (60 * KIB, 60 * KIB));
}

#[test]
fn a_write_that_crosses_the_limit_is_refused_whole() {
    let scene = Scene::new(64 * KIB);
    let a = scene.file("a");
    write(&*a, 0, 60 * KIB).unwrap();
    assert_eq!(scene.used(), 60 * KIB);
    assert_eq!(write(&*a, 60 * KIB, 8 * KIB), Err(Error::QuotaExceeded));
    assert_eq!(a.attributes().unwrap().size, 60 * KIB);
    let shown = scene.host.space(&*scene.root()).unwrap();
    assert_eq!((shown.total, shown.free, shown.available), (64 * KIB, 4 * KIB, 4 * KIB));
    // Ends in the last block that is left, and then fills it.
    write(&*a, 60 * KIB - 10, 1000).unwrap();
    write(&*a, 60 * KIB + 990, 3106).unwrap();
    assert_eq!(scene.used(), 64 * KIB);
    write(&*a, 0, 64 * KIB).unwrap(); // in place
    assert_eq!(write(&*a, 64 * KIB, 1), Err(Error::QuotaExceeded));
    assert_eq!(a.allocate(&me(), 68 * KIB), Err(Error::QuotaExceeded));
    assert_eq!(scene.host.space(&*scene.root()).unwrap().available, 0);
    // A new limit counts at once, for files that are open, too.
    scene.quota.set_limit(68 * KIB);
    write(&*a, 64 * KIB, 4 * KIB).unwrap();
    scene.quota.set_limit(8 * KIB);
    write(&*a, 0, 4 * KIB).unwrap();
    assert_eq!(write(&*scene.file("b"), 0, 1), Err(Error::QuotaExceeded));
    scene.meter.set(Vec::new());
    write(&*a, 0, 100 * KIB).unwrap();
    assert!(scene.host.space(&*scene.root()).unwrap().available > 1 << 20);
}

#[test]
fn what_is_cut_punched_or_removed_is_free_again() {
    let scenes = [Some(Scene::new(1 << 20)), Scene::xfs(1 << 20)];
    for scene in scenes.into_iter().flatten() {
        let (root, a) = (scene.root(), scene.file("a"));
        write(&*a, 0, 400 * KIB).unwrap();
        a.truncate(&me(), 100 * KIB).unwrap();
        assert_eq!(scene.used(), 100 * KIB);
        a.punch(&me(), 0, 40 * KIB).unwrap();
        assert_eq!(scene.used(), 60 * KIB);
        let smaller = SetAttributes { size: Some(48 * KIB), ..SetAttributes::default() };
        a.set_attributes(&me(), &smaller).unwrap();
        assert_eq!(scene.used(), 8 * KIB);
        // A second name keeps the space; the last one gives it back, also while the file is open.
        root.link(&me(), &*a, b"b").unwrap();
        root.remove(&me(), b"a").unwrap();
        assert_eq!(scene.used(), 8 * KIB);
        root.remove(&me(), b"b").unwrap();
        assert_eq!(scene.used(), 0);
        write(&*a, 100 * KIB, 4 * KIB).unwrap();
        assert_eq!(scene.used(), 0, "without a name");
        // A rename removes what it replaces.
        write(&*scene.file("c"), 0, 12 * KIB).unwrap();
        write(&*scene.file("d"), 0, 20 * KIB).unwrap();
        root.rename(&me(), b"c", &*root, b"d", RenameMode::Replace).unwrap();
        assert_eq!(scene.used(), 12 * KIB);
        assert_eq!(root.rename(&me(), b"x", &*root, b"d", RenameMode::Replace), Err(Error::NotFound));
        assert_eq!((scene.used(), scene.counted()), (12 * KIB, 12 * KIB));
    }
}

#[test]
fn holes_take_nothing_until_they_are_written() {
    let scenes = [Some(Scene::new(64 * KIB)), Scene::xfs(64 * KIB)];
    for scene in scenes.into_iter().flatten() {
        let a = scene.file("a");
        a.truncate(&me(), 1 << 30).unwrap();
        assert_eq!(scene.used(), 0);
        write(&*a, 1 << 20, 60 * KIB).unwrap();
        assert_eq!(scene.used(), 60 * KIB);
        // 56 KiB of data and 4 KiB of a hole fit, but not 8 KiB of a hole.
        write(&*a, (1 << 20) + 4 * KIB, 60 * KIB).unwrap();
        assert_eq!(scene.used(), 64 * KIB);
        assert_eq!(write(&*a, (1 << 20) + 32 * KIB, 40 * KIB), Err(Error::QuotaExceeded));
        write(&*a, 1 << 20, 64 * KIB).unwrap();
        assert_eq!(scene.counted(), 64 * KIB);
    }
}

#[test]
fn copies_and_clones_count_with_all_their_blocks() {
    let Some(scene) = Scene::xfs(1 << 20) else { return };
    let (a, b, c) = (scene.file("a"), scene.file("b"), scene.file("c"));
    write(&*a, 0, 400 * KIB).unwrap();
    a.sync(Stability::File).unwrap();
    b.clone_range(&me(), &*a, 0, 0, 0).unwrap();
    assert_eq!(scene.used(), 800 * KIB);
    assert_eq!(c.clone_range(&me(), &*a, 0, 0, 0), Err(Error::QuotaExceeded));
    assert_eq!(c.copy_range(&me(), &*a, 0, 0, 400 * KIB), Err(Error::QuotaExceeded));
    assert_eq!(c.copy_range(&me(), &*a, 0, 0, 100 * KIB), Ok(100 * KIB));
    assert_eq!((scene.used(), scene.counted()), (900 * KIB, 900 * KIB));
}

#[test]
fn forks_count_with_their_file_and_go_with_it() {
    let scene = Scene::new(1 << 20);
    let (root, a) = (scene.root(), scene.file("a"));
    let streams = Streams::new(scene.host.clone());
    let file = File { folder: &*root, name: b"a", object: &*a };
    let mut fork = streams.fork_to_write(&me(), &file).unwrap();
    fork.write_at(0, &vec![7; 300 << 10], Stability::Unstable).unwrap();
    let used = scene.used();
    assert!((300 * KIB..=308 * KIB).contains(&used), "{used}");
    assert_eq!(scene.counted(), used);
    assert_eq!(fork.write_at(300 << 10, &vec![7; 800 << 10], Stability::Unstable), Err(Error::QuotaExceeded));
    drop(fork);
    streams.pairs().remove(&me(), &*root, b"a", None).unwrap();
    assert_eq!((scene.used(), scene.counted()), (0, 0));
}

/// A sequence of numbers that is the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// What the clients that change files have in common.
#[derive(Default)]
struct Clients {
    stop: AtomicBool,
    names: Mutex<()>,
    changes: AtomicU64,
}

/// One client that changes files until it is told to stop: all clients use the same names.
fn change(host: &Host, seed: u64, Clients { stop, names, changes }: &Clients) {
    let (mut numbers, root) = (Numbers(seed), host.root().unwrap().object);
    // A recount follows 1024 moves of folders, and an exchange moves two: four clients stay below it on any machine.
    let mut exchanges = 100;
    while !stop.load(Ordering::Relaxed) {
        changes.fetch_add(1, Ordering::Relaxed);
        let [from, to] = [0, 1].map(|_| format!("folder{}", numbers.below(8)));
        let (name, other) = (format!("f{}", numbers.below(20)), format!("f{}", numbers.below(20)));
        let Ok(folder) = root.lookup(&me(), from.as_bytes()) else { continue };
        let folder = folder.object;
        let (name, other) = (name.as_bytes(), other.as_bytes());
        // Each of these may find that another client was faster.
        let change = if exchanges > 0 && numbers.below(2000) == 0 { 11 } else { numbers.below(11) };
        match change {
            0..=2 => drop(folder.create(&me(), name, NewKind::File, 0o644)),
            3..=5 => {
                let Ok(found) = folder.lookup(&me(), name) else { continue };
                let file = ready(found);
                let _ = write(&*file, numbers.below(64) * 1500, 1 + numbers.below(20_000));
            }
            6 => {
                let Ok(found) = folder.lookup(&me(), name) else { continue };
                let _ = ready(found).truncate(&me(), numbers.below(60_000));
            }
            7 => {
                let Ok(found) = folder.lookup(&me(), name) else { continue };
                let _ = ready(found).punch(&me(), numbers.below(9) * 4096, 8192);
            }
            // `Volume` lets one client at a time change a name.
            8 => {
                let _one = names.lock().unwrap();
                let _ = folder.remove(&me(), name);
            }
            9 => {
                let _one = names.lock().unwrap();
                let Ok(to) = root.lookup(&me(), to.as_bytes()) else { continue };
                let _ = folder.rename(&me(), name, &*to.object, other, RenameMode::Replace);
            }
            // A link that is made while a name goes would hide that it went: the recount would begin again.
            10 => {
                let _one = names.lock().unwrap();
                let Ok(found) = folder.lookup(&me(), name) else { continue };
                let _ = folder.link(&me(), &*found.object, other);
            }
            _ => {
                exchanges -= 1;
                let _ = root.rename(&me(), from.as_bytes(), &*root, to.as_bytes(), RenameMode::Exchange);
            }
        }
    }
}

#[test]
fn a_recount_is_exact_although_clients_change_files_meanwhile() {
    // In memory: a file system on a disk may add blocks of its own to a file with holes when it writes it back.
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let scene = Scene::at(memory, false, u64::MAX);
    for folder in 0..8 {
        let name = format!("folder{folder}");
        let made = scene.root().create(&me(), name.as_bytes(), NewKind::Folder, 0o755).unwrap().object;
        for file in 0..200 {
            write(&*file_in(&*made, &format!("old{file}")), 0, 5000).unwrap();
        }
    }
    let exact = Arc::new(Quota::counted(u64::MAX, Some((123_456_789, false))));
    scene.meter.set(vec![scene.quota.clone(), exact.clone()]);
    let common = Arc::new(Clients::default());
    let clients: Vec<_> = (1..=4)
        .map(|seed| {
            let (host, common) = (scene.host.clone(), common.clone());
            std::thread::spawn(move || change(&host, seed, &common))
        })
        .collect();
    assert!(!exact.is_exact());
    assert!(recount(&scene.path(), None, &exact, None).unwrap().is_exact);
    let then = common.changes.load(Ordering::Relaxed);
    until("the clients do not go on", || common.changes.load(Ordering::Relaxed) > then + 1000);
    common.stop.store(true, Ordering::Relaxed);
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert!(exact.is_exact());
    let counted = scene.counted();
    assert_eq!((scene.used(), exact.used().unwrap()), (counted, counted));
}

/// What `find` would add up: each file once, in whole blocks.
#[test]
fn a_recount_adds_up_what_the_host_says_without_snapshots_and_private_folders() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for (path, length) in
        [("a", 5000), ("deep/er/b", 1), (".fourfold-snapshots/x/a", 9000), ("state/s", 4096)]
    {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, vec![7; length]).unwrap();
    }
    std::fs::hard_link(dir.path().join("a"), dir.path().join("deep/a")).unwrap();
    std::os::unix::fs::symlink("/", dir.path().join("link")).unwrap();
    let quota = Quota::counted(u64::MAX, None);
    assert!(recount(dir.path(), Some(&dir.path().join("state")), &quota, None).unwrap().is_exact);
    let blocks = |path: &str| std::fs::metadata(dir.path().join(path)).unwrap().blocks() * 512;
    assert_eq!(quota.used(), Some(blocks("a") + blocks("deep/er/b")));
}

/// Two quotas count for a share below another one, and a file that is reached by its key counts, too.
#[test]
fn the_quota_of_the_share_above_counts_too() {
    let scene = Scene::new(1 << 20);
    let inner = Arc::new(Quota::counted(20 * KIB, Some((0, true))));
    scene.meter.set(vec![inner.clone(), scene.quota.clone()]);
    let key: HostKey = scene.file("a").key();
    let file = ready(scene.host.by_key(&key).unwrap());
    write(&*file, 0, 16 * KIB).unwrap();
    assert_eq!((inner.used(), scene.quota.used()), (Some(16 * KIB), Some(16 * KIB)));
    assert_eq!(write(&*file, 16 * KIB, 8 * KIB), Err(Error::QuotaExceeded));
    assert_eq!(scene.host.space(&*scene.root()).unwrap().total, 20 * KIB);
}

/// A folder with a quota of its own in a folder with another one. Clients come to it by both.
struct Nested {
    dir: tempfile::TempDir,
    quotas: [Arc<Quota>; 2],
    hosts: [Host; 2],
}

impl Nested {
    /// The outer folder has the first quota, and `inner` in it the second one.
    fn new(limits: [u64; 2]) -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let inner = dir.path().canonicalize().unwrap().join("inner");
        std::fs::create_dir_all(inner.join("deep")).unwrap();
        let charges = Arc::new(Charges::default());
        let quotas = limits.map(|limit| Arc::new(Quota::counted(limit, Some((0, true)))));
        let meters = [Arc::new(Meter::new(&charges)), Arc::new(Meter::new(&charges))];
        meters[0].set(vec![quotas[0].clone()]);
        meters[1].set(quotas.to_vec());
        let found = std::fs::metadata(&inner).unwrap().dev();
        let device = FileId::device_of(rustix::fs::major(found), rustix::fs::minor(found));
        meters[0].set_inside(vec![Inside { path: inner.clone(), device, meter: meters[1].clone() }]);
        let open = |folder: &Path, meter: &Arc<Meter>| {
            Host::open(folder, &HostOptions { meter: meter.clone(), ..HostOptions::default() }).unwrap()
        };
        let hosts = [open(dir.path(), &meters[0]), open(&inner, &meters[1])];
        Self { dir, quotas, hosts }
    }

    /// A folder as clients of the outer share find it.
    fn folder(&self, names: &[&[u8]]) -> Arc<dyn Object> {
        let root = self.hosts[0].root().unwrap().object;
        if names.is_empty() { root } else { root.lookup_path(&me(), names).unwrap().object }
    }

    #[track_caller]
    fn used(&self, expected: [u64; 2]) {
        assert_eq!(self.quotas.each_ref().map(|quota| quota.used().unwrap()), expected);
        assert!(self.quotas.iter().all(|quota| quota.is_exact()));
    }

    /// The same, and all files are counted anew.
    #[track_caller]
    fn counted(&self, expected: [u64; 2]) {
        self.used(expected);
        let counted = [self.dir.path().to_owned(), self.dir.path().join("inner")].map(|folder| {
            let quota = Quota::counted(u64::MAX, None);
            assert!(recount(&folder, None, &quota, None).unwrap().is_exact);
            quota.used().unwrap()
        });
        assert_eq!(counted, expected);
    }
}

#[test]
fn changes_through_the_upper_share_count_for_the_lower_one_at_once() {
    let nested = Nested::new([1 << 20, 64 * KIB]);
    let deep = nested.folder(&[b"inner", b"deep"]);
    let by_upper = file_in(&*deep, "a");
    write(&*by_upper, 0, 40 * KIB).unwrap();
    nested.used([40 * KIB, 40 * KIB]);
    assert_eq!(write(&*by_upper, 40 * KIB, 32 * KIB), Err(Error::QuotaExceeded));
    // The same file through both shares.
    let by_lower = nested.hosts[1].root().unwrap().object.lookup_path(&me(), &[b"deep", b"a"]).unwrap();
    let by_lower = ready(by_lower);
    write(&*by_lower, 40 * KIB, 8 * KIB).unwrap();
    write(&*by_upper, 48 * KIB, 8 * KIB).unwrap();
    nested.used([56 * KIB, 56 * KIB]);
    by_upper.truncate(&me(), 4 * KIB).unwrap();
    nested.used([4 * KIB, 4 * KIB]);
    let beside = file_in(&*nested.folder(&[]), "beside");
    write(&*beside, 0, 100 * KIB).unwrap();
    nested.used([104 * KIB, 4 * KIB]);
    // By its key, as NFS finds it, after all objects of it were closed.
    let key = by_upper.key();
    drop((by_upper, by_lower));
    write(&*ready(nested.hosts[0].by_key(&key).unwrap()), 4 * KIB, 4 * KIB).unwrap();
    nested.used([108 * KIB, 8 * KIB]);
    let space = |at: &[&[u8]]| nested.hosts[0].space(&*nested.folder(at)).unwrap().total;
    assert_eq!((space(&[]), space(&[b"inner"])), (1 << 20, 64 * KIB));
    nested.counted([108 * KIB, 8 * KIB]);
    deep.remove(&me(), b"a").unwrap();
    nested.used([100 * KIB, 0]);
}

#[test]
fn a_file_takes_its_space_along_to_another_quota_and_a_folder_does_not_go() {
    let nested = Nested::new([1 << 20, 64 * KIB]);
    let (root, inner) = (nested.folder(&[]), nested.folder(&[b"inner"]));
    for (name, size) in [("small", 40 * KIB), ("large", 40 * KIB)] {
        write(&*file_in(&*root, name), 0, size).unwrap();
    }
    nested.used([80 * KIB, 0]);
    root.rename(&me(), b"small", &*inner, b"small", RenameMode::Keep).unwrap();
    nested.used([80 * KIB, 40 * KIB]);
    let refused = root.rename(&me(), b"large", &*inner, b"large", RenameMode::Keep);
    assert_eq!(refused, Err(Error::QuotaExceeded));
    assert!(nested.dir.path().join("large").exists());
    // It fits in place of the other one only after that is gone, as a copy would.
    inner.rename(&me(), b"small", &*root, b"small", RenameMode::Keep).unwrap();
    nested.used([80 * KIB, 0]);
    root.rename(&me(), b"large", &*inner, b"large", RenameMode::Keep).unwrap();
    nested.used([80 * KIB, 40 * KIB]);
    let moved = ready(inner.lookup(&me(), b"large").unwrap());
    write(&*moved, 40 * KIB, 4 * KIB).unwrap();
    nested.used([84 * KIB, 44 * KIB]);
    // A folder could not be counted at once, and a file with names in both places would count for one of them only.
    let deep = inner.rename(&me(), b"deep", &*root, b"deep", RenameMode::Keep);
    assert_eq!(deep, Err(Error::CrossVolume));
    assert_eq!(root.link(&me(), &*moved, b"also"), Err(Error::CrossVolume));
    let exchanged = root.rename(&me(), b"small", &*inner, b"large", RenameMode::Exchange);
    assert_eq!(exchanged, Err(Error::CrossVolume));
    nested.counted([84 * KIB, 44 * KIB]);
}

/// Prints what counting costs: `cargo test -p vfs --release --test it quota -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn the_cost_of_counting() {
    const PARTS: u64 = 100;
    for is_counted in [false, true, false, true] {
        let scene = Scene::new(u64::MAX);
        if !is_counted {
            scene.meter.set(Vec::new());
        }
        let (root, file) = (scene.root(), scene.file("a"));
        let each = |what: &str, many: u64, act: &mut dyn FnMut(u64)| {
            // The fastest of many parts: this machine may have other work to do.
            let part = |part| {
                let start = Instant::now();
                (part * many / PARTS..(part + 1) * many / PARTS).for_each(&mut *act);
                start.elapsed().as_nanos() / u128::from(many / PARTS)
            };
            let nanos = (0..PARTS).map(part).min().unwrap();
            println!("{what}, {}: {nanos} ns", if is_counted { "counted" } else { "not counted" });
        };
        let data = vec![7; 4096];
        let at = |at| file.write_at(&me(), at, &data, Stability::Unstable).unwrap();
        each("append of 4 KiB", 20_000, &mut |n| at(n * 4096));
        each("overwrite of 4 KiB", 200_000, &mut |n| at(n * 7919 % 20_000 * 4096));
        each("create, write 4 KiB, remove", 10_000, &mut |n| {
            let name = format!("n{n}");
            write(&*file_in(&*root, &name), 0, 4096).unwrap();
            root.remove(&me(), name.as_bytes()).unwrap();
        });
    }
}
