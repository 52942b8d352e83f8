//! File systems that are mounted inside a share: entered, told apart, and never a way out.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use vfs::backend::forest::{Forest, Offer, Tree};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Backend, Found, NewKind, RenameMode};
use vfs::state::{Modes, Stream};
use vfs::{Actor, Caller, Error, LastingKey, OpenOptions, Site, Time, Volume, VolumeOptions};

use crate::scene::{self, RWD, Scene, assert_bound, client, read, write};

/// A folder with file systems mounted in it, which are unmounted when it is dropped.
struct Mounted {
    dir: tempfile::TempDir,
    places: Vec<PathBuf>,
}

fn run(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Unmounts. A child of another test has the open files until it runs its program, so a few tries may be needed.
fn unmount(place: &Path) -> bool {
    (0..50).any(|_| {
        let is_done = run("umount", &[text(place)]);
        if !is_done {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        is_done
    })
}

impl Mounted {
    /// `None`, with a message on standard output, if this user may not mount.
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::create_dir(dir.path().join("share")).unwrap();
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            println!("skipped: mounting needs root");
        }
        is_root.then_some(Self { dir, places: Vec::new() })
    }

    fn share(&self) -> PathBuf {
        self.dir.path().join("share")
    }

    /// Makes a file system in a file and mounts it in the share; `false`, with a message on
    /// standard output, if that fails.
    fn mount(&mut self, kind: &str, name: &str, megabytes: u64) -> bool {
        let (image, place) = (self.dir.path().join(format!("{name}.image")), self.share().join(name));
        std::fs::File::create(&image).unwrap().set_len(megabytes << 20).unwrap();
        std::fs::create_dir(&place).unwrap();
        let mounts = run(&format!("mkfs.{kind}"), &["-q", text(&image)]) && self.mount_image(name, name);
        if !mounts {
            println!("skipped: no {kind} or no loop device");
        }
        mounts
    }

    /// Mounts a file system that was made before.
    fn mount_image(&mut self, image: &str, name: &str) -> bool {
        let (image, place) = (self.dir.path().join(format!("{image}.image")), self.share().join(name));
        let mounts = run("mount", &["-o", "loop", text(&image), text(&place)]);
        self.places.extend(mounts.then_some(place));
        mounts
    }

    fn bind(&mut self, from: &Path, name: &str) -> bool {
        let place = self.share().join(name);
        std::fs::create_dir(&place).unwrap();
        let mounts = run("mount", &["--bind", text(from), text(&place)]);
        self.places.extend(mounts.then_some(place));
        mounts
    }

    fn volume(&self, site: &Arc<Site>) -> Scene {
        open(&self.share(), site, true)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.places.iter().rev().for_each(|place| _ = run("umount", &["-l", text(place)]));
    }
}

fn open(path: &Path, site: &Arc<Site>, cross_mounts: bool) -> Scene {
    let host = Host::open(path, &HostOptions { cross_mounts, ..HostOptions::default() }).unwrap();
    let volume = Arc::new(Volume::in_site(Arc::new(host), VolumeOptions::default(), site.clone()));
    Scene { root: volume.root().unwrap(), volume, dir: None }
}

/// A folder of a volume as a scene of its own.
fn inside(scene: &Scene, name: &str) -> Scene {
    Scene { root: scene.find(name).unwrap(), volume: scene.volume.clone(), dir: None }
}

fn number(scene: &Scene, found: &Found) -> u64 {
    scene.volume.number(found.object.id())
}

#[tokio::test]
async fn a_mounted_file_system_is_entered_and_its_files_are_others() {
    let Some(mut mounted) = Mounted::new() else { return };
    if !mounted.mount("ext4", "one", 16) || !mounted.mount("ext4", "two", 16) {
        return;
    }
    let share = mounted.volume(&Arc::default());
    let (one, two) = (inside(&share, "one"), inside(&share, "two"));
    let (a, b) = (one.file("file"), two.file("file"));
    // Two new file systems number their files alike.
    assert_eq!(a.attributes.id.inode, b.attributes.id.inode);
    assert_ne!(a.attributes.id, b.attributes.id);
    assert_ne!(a.object.key(), b.object.key());
    assert_ne!(number(&share, &a), number(&share, &b));
    assert_ne!(share.volume.file_system(a.object.id()), share.volume.file_system(b.object.id()));
    assert_eq!(share.volume.file_system(share.root.object.id()), 0);

    write(&one.open(1, "file").await.unwrap(), 0, b"one").await.unwrap();
    write(&two.open(1, "file").await.unwrap(), 0, b"two").await.unwrap();
    // A server that has just been started knows them by the same keys and numbers.
    let next = mounted.volume(&Arc::default());
    for (file, content) in [(&a, b"one"), (&b, b"two")] {
        let found = next.volume.node(&file.object.key()).unwrap();
        assert_eq!((found.object.id(), found.object.key()), (file.object.id(), file.object.key()));
        assert_eq!(number(&next, &found), number(&share, file));
        let open = next.volume.open(&client(1), &found, OpenOptions::data(RWD)).await.unwrap();
        assert_eq!(read(&open, 0, 3).await, content);
    }
}

#[tokio::test]
async fn it_has_its_own_space_and_nothing_moves_across() {
    let Some(mut mounted) = Mounted::new() else { return };
    if !mounted.mount("ext4", "one", 16) {
        return;
    }
    let share = mounted.volume(&Arc::default());
    let one = inside(&share, "one");
    let space = |found: &Found| share.volume.space(&found.object).unwrap().total;
    assert!(space(&one.root) <= 16 << 20, "{}", space(&one.root));
    assert!(space(&share.root) > 16 << 20);

    let (here, there) = (share.file("here"), one.file("there"));
    let name = |name: &'static str| name.as_bytes();
    let moved = |from: (&Found, &'static str), to: (&Found, &'static str)| {
        share
            .volume
            .rename(&client(1), (from.0, name(from.1)), (to.0, name(to.1)), RenameMode::Replace)
            .map(drop)
    };
    assert_eq!(moved((&share.root, "here"), (&one.root, "new")), Err(Error::CrossVolume));
    assert_eq!(moved((&one.root, "there"), (&share.root, "new")), Err(Error::CrossVolume));
    assert_eq!(share.volume.link(&client(1), &here, &one.root, b"link").err(), Some(Error::CrossVolume));
    assert!(share.find("here").is_ok() && one.find("there").is_ok());
    // What is mounted is inside the share: its parent is the share's folder, and that has none above it.
    let above = share.volume.parent(&one.root).unwrap();
    assert_eq!(above.object.id(), share.root.object.id());
    assert_eq!(share.volume.parent(&above).unwrap().object.id(), share.root.object.id());
    assert_eq!(share.volume.place_of(&there).unwrap().1, b"there");
    // A mount point stays where it is.
    let refused = share.volume.remove(&client(1), &share.root, b"one", vfs::Kind::Folder);
    assert!(matches!(refused.err(), Some(Error::Busy | Error::NotEmpty)));
}

#[tokio::test]
async fn its_streams_stay_on_it_and_are_found_by_whoever_shares_it() {
    let Some(mut mounted) = Mounted::new() else { return };
    if !mounted.mount("ext4", "one", 16) {
        return;
    }
    let site = Arc::default();
    let (share, alone) = (mounted.volume(&site), open(&mounted.share().join("one"), &site, true));
    let one = inside(&share, "one");
    for (number, (writer, reader)) in [(&one, &alone), (&alone, &one)].into_iter().enumerate() {
        let name = format!("file{number}");
        writer.file(&name);
        let large = vec![number as u8; 100_000];
        let stream = |scene: &Scene| {
            let (volume, root, name) = (scene.volume.clone(), scene.root.clone(), name.clone());
            let found = scene.find(&name).unwrap();
            async move { volume.open(&client(1), &found, scene::stream(&root, &name, "large")).await.unwrap() }
        };
        write(&stream(writer).await, 0, &large).await.unwrap();
        assert_eq!(read(&stream(reader).await, 0, 200_000).await, large, "{number}");
        assert_bound(writer, reader, &name).await;
    }
    assert!(mounted.share().join("one/.fourfold-streams").is_dir());
    assert!(!mounted.share().join(".fourfold-streams").exists());
    one.volume.remove(&client(1), &one.root, b"file0", vfs::Kind::File).unwrap();
    assert_eq!(std::fs::read_dir(mounted.share().join("one/.fourfold-streams")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_bind_mount_shows_the_same_files() {
    let Some(mut mounted) = Mounted::new() else { return };
    std::fs::create_dir(mounted.share().join("real")).unwrap();
    let outside = mounted.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    if !mounted.bind(&mounted.share().join("real"), "bound") || !mounted.bind(&outside, "elsewhere") {
        return;
    }
    let share = mounted.volume(&Arc::default());
    let (real, bound, elsewhere) =
        (inside(&share, "real"), inside(&share, "bound"), inside(&share, "elsewhere"));
    real.file("file");
    assert_eq!(real.find("file").unwrap().object.id(), bound.find("file").unwrap().object.id());
    assert_bound(&real, &bound, "file").await;
    assert_bound(&bound, &real, "file").await;
    // A folder that is mounted from outside ends at the share, however a file in it is reached.
    let file = elsewhere.file("file");
    let next = mounted.volume(&Arc::default());
    let found = next.volume.node(&file.object.key()).unwrap();
    assert_eq!(next.volume.place_of(&found).unwrap().1, b"file");
    let above = next.volume.parent(&next.find("elsewhere").unwrap()).unwrap();
    assert_eq!(above.object.id(), next.root.object.id());
}

#[tokio::test]
async fn a_subvolume_is_a_file_system_of_its_own() {
    let Some(mut mounted) = Mounted::new() else { return };
    if !mounted.mount("btrfs", "pool", 128) {
        return;
    }
    let pool = mounted.share().join("pool");
    let made =
        ["one", "two"].map(|name| run("btrfs", &["-q", "subvolume", "create", text(&pool.join(name))]));
    assert_eq!(made, [true, true]);
    for (top, path) in [("pool/", mounted.share()), ("", pool.clone())] {
        let share = open(&path, &Arc::default(), true);
        let base = if top.is_empty() { inside_of(&share) } else { inside(&share, "pool") };
        let (one, two) = (inside(&base, "one"), inside(&base, "two"));
        let name = format!("file{}", top.len());
        let (a, b) = (one.file(&name), two.file(&name));
        assert_eq!(a.attributes.id.inode, b.attributes.id.inode);
        assert_ne!(a.attributes.id, b.attributes.id);
        assert_ne!(a.object.key(), b.object.key());
        assert_ne!(number(&share, &a), number(&share, &b));
        // A share of the subvolume alone shows the same files.
        let alone = open(&pool.join("one"), share.volume.site(), true);
        assert_bound(&one, &alone, &name).await;
        assert_bound(&alone, &one, &name).await;
        let moved = share.volume.rename(
            &client(1),
            (&one.root, name.as_bytes()),
            (&two.root, b"new"),
            RenameMode::Replace,
        );
        assert_eq!(moved.err(), Some(Error::CrossVolume));
        let next = open(&path, &Arc::default(), true);
        for file in [&a, &b] {
            let found = next.volume.node(&file.object.key()).unwrap();
            assert_eq!((found.object.id(), number(&next, &found)), (file.object.id(), number(&share, file)));
        }
        let open = share.volume.open(&client(1), &a, scene::stream(&one.root, &name, "large")).await.unwrap();
        write(&open, 0, &vec![1; 100_000]).await.unwrap();
        assert_eq!(read(&open, 99_999, 10).await, [1]);
    }
}

/// What is kept apart from a file is found by the file's handle, which btrfs changes in a snapshot.
#[tokio::test]
async fn a_snapshot_has_the_forks_and_streams_of_its_files() {
    let Some(mut mounted) = Mounted::new() else { return };
    if !mounted.mount("btrfs", "pool", 128) {
        return;
    }
    let live = mounted.share().join("pool/live");
    assert!(run("btrfs", &["-q", "subvolume", "create", text(&live)]));
    let host = Host::open(&live, &HostOptions::default()).unwrap();
    let snapshot_of = Some(host.root().unwrap().object.key());
    let names = Offer { hidden: vec![b".snapshot".to_vec()], listed: None };
    let forest = Arc::new(Forest::new(Arc::new(host), names).unwrap());
    let volume = Volume::in_site(forest.clone(), VolumeOptions::default(), Arc::default());
    let share = Scene { root: volume.root().unwrap(), volume: Arc::new(volume), dir: None };
    let file = share.file("film");
    let streams = [scene::stream(&share.root, "film", "large"), resource(&share.root, "film")];
    for (stream, byte) in streams.iter().zip([1, 2]) {
        let open = share.volume.open(&client(1), &file, stream.clone()).await.unwrap();
        write(&open, 0, &vec![byte; 200_000]).await.unwrap();
    }
    let taken = live.join(".fourfold-snapshots/one");
    std::fs::create_dir(live.join(".fourfold-snapshots")).unwrap();
    assert!(run("btrfs", &["-q", "subvolume", "snapshot", "-r", text(&live), text(&taken)]));
    for (stream, byte) in streams.iter().zip([3, 4]) {
        let open = share.volume.open(&client(1), &file, stream.clone()).await.unwrap();
        write(&open, 0, &vec![byte; 200_000]).await.unwrap();
    }
    let options = HostOptions { snapshot_of, cross_mounts: false, read_only: true, ..HostOptions::default() };
    let host = Host::open(&taken, &options).unwrap();
    let tree = Tree::new(NonZeroU64::new(7).unwrap(), Arc::new(host)).taken(Time { secs: 1, nanos: 0 });
    forest.offer(b"one", Arc::new(tree), Time { secs: 1, nanos: 0 }).unwrap();
    let inner = inside(&inside(&share, ".snapshot"), "one");
    let kept = inner.find("film").unwrap();
    for (stream, byte) in
        [scene::stream(&inner.root, "film", "large"), resource(&inner.root, "film")].iter().zip([1, 2])
    {
        let open = share
            .volume
            .open(&client(2), &kept, OpenOptions { access: Modes::READ, create: false, ..stream.clone() })
            .await;
        assert_eq!(read(&open.unwrap(), 199_999, 10).await, [byte]);
    }
    assert_ne!(kept.object.key(), file.object.key());
    assert_ne!(kept.attributes.id, file.attributes.id);
    let [of_kept, of_live] =
        [&kept, &file].map(|found| share.volume.lasting_key(&found.object.key()).unwrap());
    assert_ne!(of_kept, of_live);
    for (found, lasting) in [(&kept, &of_kept), (&file, &of_live)] {
        assert_eq!(share.volume.node(&found.object.key()).unwrap().object.id(), found.object.id());
        let keys = share.volume.keys_of(lasting, true);
        let ids: Vec<_> =
            keys.iter().filter_map(|key| Some(share.volume.node(key).ok()?.object.id())).collect();
        assert!(!ids.is_empty() && ids.iter().all(|id| *id == found.object.id()), "{ids:?}");
        assert_eq!(share.volume.node(&keys[0]).unwrap().object.key(), found.object.key());
    }
    let names = share.names();
    assert!(names.iter().all(|name| !name.starts_with(".fourfold")), "{names:?}");
}

fn resource<'a>(folder: &'a Found, name: &'a str) -> OpenOptions<'a> {
    OpenOptions { stream: Stream::Resource, ..scene::stream(folder, name, "") }
}

fn inside_of(scene: &Scene) -> Scene {
    Scene { root: scene.root.clone(), volume: scene.volume.clone(), dir: None }
}

#[tokio::test]
async fn a_share_can_forbid_mounts() {
    let Some(mut mounted) = Mounted::new() else { return };
    if !mounted.mount("ext4", "one", 16) {
        return;
    }
    let entered = mounted.volume(&Arc::default());
    let key = inside(&entered, "one").file("file").object.key();
    let share = open(&mounted.share(), &Arc::default(), false);
    assert_eq!(share.find("one").err(), Some(Error::CrossVolume));
    assert_eq!(share.volume.node(&key).err(), Some(Error::Stale));
    let path: [&[u8]; 2] = [b"one", b"file"];
    assert_eq!(share.root.object.lookup_path(&client(1).caller, &path).err(), Some(Error::CrossVolume));
}

#[tokio::test]
async fn what_nobody_uses_can_be_unmounted_and_mounted_again() {
    let Some(mut mounted) = Mounted::new() else { return };
    if !mounted.mount("ext4", "one", 16) {
        return;
    }
    let share = mounted.volume(&Arc::default());
    let file = {
        let one = inside(&share, "one");
        one.file("file").object.key()
    };
    let place = mounted.share().join("one");
    // Files are kept open between requests until they were not used between two calls.
    (0..4).for_each(|_| share.volume.tend());
    assert!(unmount(&place));
    assert_eq!(inside(&share, "one").find("file").err(), Some(Error::NotFound));
    assert_eq!(share.volume.node(&file).err(), Some(Error::Stale));
    let image = mounted.dir.path().join("one.image");
    assert!(run("mount", &["-o", "loop", text(&image), text(&place)]));
    assert_eq!(inside(&share, "one").find("file").unwrap().object.key(), file);
    share.volume.create(&client(1), &inside(&share, "one").root, b"new", NewKind::File, 0o644).unwrap();
    share.volume.node(&file).unwrap();
}

#[tokio::test]
async fn a_mounted_file_is_a_file_of_the_share() {
    let Some(mut mounted) = Mounted::new() else { return };
    let (outside, place) = (mounted.dir.path().join("outside"), mounted.share().join("file"));
    std::fs::write(&outside, b"content").unwrap();
    std::fs::write(&place, b"").unwrap();
    assert!(run("mount", &["--bind", text(&outside), text(&place)]));
    mounted.places.push(place);
    let share = mounted.volume(&Arc::default());
    let open = share.open(1, "file").await.unwrap();
    assert_eq!(read(&open, 0, 20).await, b"content");
    let found = share.find("file").unwrap();
    let next = mounted.volume(&Arc::default());
    assert_eq!(next.volume.node(&found.object.key()).unwrap().object.id(), found.object.id());
    // It has no folder on its mount for large streams.
    let open =
        share.volume.open(&client(1), &found, scene::stream(&share.root, "file", "large")).await.unwrap();
    write(&open, 0, b"small").await.unwrap();
    assert!(write(&open, 0, &vec![1; 100_000]).await.is_err());
    assert_eq!(read(&open, 0, 20).await, b"small");
}

#[test]
fn a_user_that_may_search_a_mounted_folder_but_not_read_it_enters_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(mut mounted) = Mounted::new() else { return };
    if !mounted.mount("ext4", "one", 16) {
        return;
    }
    let place = mounted.share().join("one");
    std::fs::write(place.join("file"), b"content").unwrap();
    for (path, mode) in [(mounted.share(), 0o755), (place.clone(), 0o711), (place.join("file"), 0o644)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let share = mounted.volume(&Arc::default());
    let user = Caller::new(12_345, 12_345, &[]);
    let one = share.volume.lookup(&user, &share.root.object, b"one").unwrap();
    let file = share.volume.lookup(&user, &one.object, b"file").unwrap();
    assert_eq!(file.attributes.size, 7);
    assert_eq!(share.volume.list(&user, &one, 0).err(), Some(Error::AccessDenied));
    let made = share.volume.create(&Actor { caller: user, ..client(1) }, &one, b"new", NewKind::File, 0o644);
    assert_eq!(made.err(), Some(Error::AccessDenied));
}

/// The key of a file that is the same in each volume.
fn lasting(scene: &Scene, found: &Found) -> LastingKey {
    scene.volume.lasting_key(&found.object.key()).unwrap()
}

#[test]
fn a_file_has_one_lasting_key_through_each_share_and_mount() {
    let Some(mut mounted) = Mounted::new() else { return };
    std::fs::create_dir(mounted.share().join("plain")).unwrap();
    if !mounted.mount("xfs", "one", 320) || !mounted.bind(&mounted.share().join("plain"), "bound") {
        return;
    }
    let site = Arc::default();
    let share = mounted.volume(&site);
    let file = inside(&share, "one").file("file");
    let direct = open(&mounted.share().join("one"), &site, true);
    let key = lasting(&share, &file);
    assert_eq!(lasting(&direct, &direct.find("file").unwrap()), key);
    assert_ne!(direct.find("file").unwrap().object.key(), file.object.key());
    assert_eq!(share.volume.keys_of(&key, false), [file.object.key()]);
    assert_eq!(direct.volume.keys_of(&key, false), [direct.find("file").unwrap().object.key()]);
    let plain = inside(&share, "plain").file("file");
    let bound = inside(&share, "bound").find("file").unwrap();
    assert_eq!(lasting(&share, &plain), lasting(&share, &bound));
    assert_eq!(share.volume.keys_of(&lasting(&share, &plain), false), [plain.object.key()]);
    let both = share.volume.keys_of(&lasting(&share, &plain), true);
    assert_eq!(both, [plain.object.key(), bound.object.key()]);
    assert_ne!(lasting(&share, &plain).file_system, key.file_system);
    assert_eq!(direct.volume.keys_of(&lasting(&share, &plain), true), []);
    // Mounted again, on another loop device; another file system is mounted from the one that it had.
    drop((share, direct, file, plain, bound));
    let place = mounted.share().join("one");
    assert!(unmount(&place));
    mounted.places.retain(|known| *known != place);
    assert!(mounted.mount("ext4", "other", 16));
    assert!(mounted.mount_image("one", "one"));
    let again = open(&place, &Arc::default(), true);
    assert_eq!(lasting(&again, &again.find("file").unwrap()), key);
}

#[test]
fn a_copy_of_a_disk_is_another_file_system_while_both_are_mounted() {
    let Some(mut mounted) = Mounted::new() else { return };
    if !mounted.mount("ext4", "one", 16) {
        return;
    }
    std::fs::write(mounted.share().join("one/file"), b"content").unwrap();
    assert!(run("sync", &["-f", text(&mounted.share().join("one"))]));
    let (image, copy) = (mounted.dir.path().join("one.image"), mounted.dir.path().join("copy.image"));
    std::fs::copy(image, copy).unwrap();
    std::fs::create_dir(mounted.share().join("copy")).unwrap();
    assert!(mounted.mount_image("copy", "copy"));
    let share = mounted.volume(&Arc::default());
    let (one, copy) =
        (inside(&share, "one").find("file").unwrap(), inside(&share, "copy").find("file").unwrap());
    let (one, copy) = (lasting(&share, &one), lasting(&share, &copy));
    assert_eq!(one.key, copy.key);
    assert_ne!(one.file_system, copy.file_system);
}
