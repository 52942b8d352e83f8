//! Pools in image files: made, remembered, mounted again, destroyed; after crashes, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use snapshots::{Dataset, EngineKind, Pools, Refusal, steps};

use crate::scene::{run, text, unmount};

const SIZE: u64 = 128 << 20;

/// A state folder, an image and a mount point. Dropped, nothing is mounted.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Option<Self> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || !run("mkfs.btrfs", &["--version"]) {
            println!("skipped: pools need root and mkfs.btrfs");
            return None;
        }
        Some(Self { dir: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn pools(&self) -> Pools {
        Pools::new(self.dir.path())
    }

    fn create(&self) -> Result<(), Refusal> {
        self.pools().create(&self.path("image"), SIZE, &self.path("pool")).map(drop)
    }

    fn umount(&self) -> bool {
        unmount(&self.path("pool"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        run("umount", &["-l", text(&self.path("pool"))]);
    }
}

#[test]
fn the_file_of_a_pool_is_not_in_its_own_folder() {
    let Some(place) = Place::new() else { return };
    fs::create_dir(place.path("pool")).unwrap();
    let refused = place.pools().create(&place.path("pool/image"), SIZE, &place.path("pool")).unwrap_err();
    assert!(refused.to_string().contains("would hide its own file"), "{refused}");
    assert_eq!((place.pools().list().unwrap().len(), place.path("pool/image").exists()), (0, false));
}

#[test]
fn a_pool_holds_datasets_and_is_mounted_again() {
    let Some(place) = Place::new() else { return };
    let (pools, image) = (place.pools(), place.path("image"));
    if let Err(why @ Refusal::Command { .. }) = place.create() {
        println!("skipped: no loop device: {why}");
        return;
    }
    let pool = pools.list().unwrap().remove(0);
    assert_eq!((&pool.image, &pool.folder, pool.is_mounted), (&image, &place.path("pool"), true));
    let share = Dataset::find(&pool.folder).unwrap().make_subdataset(Path::new("share")).unwrap();
    assert_eq!(Dataset::find(&share).unwrap().engine(), EngineKind::Btrfs);
    fs::write(share.join("file"), b"kept").unwrap();

    // As after a restart of the host.
    assert!(place.umount());
    assert!(!pools.list().unwrap()[0].is_mounted);
    assert_eq!(place.pools().mount_all().unwrap().len(), 0);
    assert_eq!(fs::read(share.join("file")).unwrap(), b"kept");
    assert_eq!(pools.mount_all().unwrap().len(), 0);

    let taken = pools.create(&image, SIZE, &place.path("other"));
    assert!(matches!(taken, Err(Refusal::InTheWay { .. })));
    let small = pools.create(&place.path("small"), 1 << 20, &place.path("other")).unwrap_err();
    assert!(small.to_string().contains("too small"), "{small}");
    let open = fs::File::open(share.join("file")).unwrap();
    let busy = pools.destroy(&image).unwrap_err().to_string();
    assert!(busy.contains("is in use") && share.join("file").exists(), "{busy}");
    drop(open);
    pools.destroy(&image).unwrap();
    assert!(!image.exists() && !place.path("pool").exists());
    assert_eq!(pools.list().unwrap(), []);
    assert!(pools.destroy(&image).unwrap_err().to_string().contains("is no pool"));
}

/// A program between fork and exec holds the files of its parent for a moment.
#[test]
fn a_pool_that_is_busy_for_a_moment_is_destroyed() {
    let Some(place) = Place::new() else { return };
    if let Err(why @ Refusal::Command { .. }) = place.create() {
        println!("skipped: no loop device: {why}");
        return;
    }
    let open = fs::File::open(place.path("pool")).unwrap();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(150)); // the moment
        drop(open);
    });
    place.pools().destroy(&place.path("image")).unwrap();
    holder.join().unwrap();
    assert!(!place.path("image").exists());
}

/// A snapshot needs room for its metadata only. Where there is none, the answer names the next step, and that step helps.
#[test]
fn a_full_pool_says_so_and_is_whole_when_there_is_room_again() {
    let Some(place) = Place::new() else { return };
    if let Err(why @ Refusal::Command { .. }) = place.create() {
        println!("skipped: no loop device: {why}");
        return;
    }
    let pool = Dataset::find(&place.path("pool")).unwrap();
    let share = pool.make_subdataset(Path::new("share")).unwrap();
    // A plain folder is copied file by file, and each copy has a name and an inode.
    let folder = place.path("pool/folder");
    fs::create_dir(&folder).unwrap();
    let mut count = 0;
    let is_full = |why: &std::io::Error| why.kind() == std::io::ErrorKind::StorageFull;
    let large = fs::write(share.join("large"), vec![7; 128 << 20]);
    assert!(large.as_ref().is_err_and(is_full), "{large:?}");
    // Files that lie in the metadata fill that, too.
    let full = loop {
        match fs::write(folder.join(count.to_string()), [7; 2000]) {
            Err(why) => break why,
            Ok(()) if count > 100_000 => panic!("{count} files fit"),
            Ok(()) => count += 1,
        }
    };
    assert!(is_full(&full), "{full:?}");
    let copied = Dataset::find(&folder).unwrap();
    assert_eq!(copied.engine(), EngineKind::Reflink);
    let refused = copied.create("full", SystemTime::now()).unwrap_err();
    assert!(matches!(refused, Refusal::Full { .. }), "{refused:?}");
    assert!(refused.to_string().contains("fourfold snapshot remove"), "{refused}");
    let subvolume = Dataset::find(&share).unwrap();
    match subvolume.create("full", SystemTime::now()) {
        Ok(()) => subvolume.remove("full").unwrap(),
        Err(refused) => assert!(matches!(refused, Refusal::Full { .. }), "{refused:?}"),
    }
    fs::remove_file(share.join("large")).unwrap();
    (0..count).skip(10).for_each(|at| fs::remove_file(folder.join(at.to_string())).unwrap());
    assert!(run("btrfs", &["filesystem", "sync", text(&place.path("pool"))]));
    assert_eq!(copied.list().unwrap(), [], "what was copied before is not seen");
    copied.create("again", SystemTime::now()).unwrap();
    assert_eq!(copied.list().unwrap().len(), 1);
    subvolume.create("again", SystemTime::now()).unwrap();
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().count();
    let without_own = entries(&folder) - 1; // the folder of the snapshots
    assert_eq!(entries(&copied.list().unwrap()[0].path), without_own);
}

#[test]
fn a_missing_image_does_not_keep_the_others_from_being_mounted() {
    let Some(place) = Place::new() else { return };
    let row =
        |name: &str| format!("[[pool]]\nimage = {:?}\nfolder = {:?}\n", place.path(name), place.path("pool"));
    fs::write(place.path("pools.toml"), format!("format = 1\n{}", row("gone"))).unwrap();
    let failed = place.pools().mount_all().unwrap();
    assert_eq!((failed.len(), &failed[0].0.image), (1, &place.path("gone")));
}

#[test]
fn a_crash_between_two_steps_leaves_a_pool_or_none() {
    let Some(place) = Place::new() else { return };
    let (pools, image) = (place.pools(), place.path("image"));
    let (mut stops, mut is_done) = (0, false);
    while !is_done {
        steps::stop_after(stops);
        let done = place.create();
        steps::go_on();
        if let Err(why @ Refusal::Command { .. }) = done {
            println!("skipped: no loop device: {why}");
            return;
        }
        is_done = done.is_ok();
        assert_eq!(pools.mount_all().unwrap().len(), 0, "{stops}");
        assert!(!place.path("image.new").exists(), "{stops}");
        let all = pools.list().unwrap();
        assert_eq!((all.len() == 1, all.first().is_some_and(|pool| pool.is_mounted)), {
            let exists = image.exists();
            (exists, exists)
        });
        if !all.is_empty() {
            destroy(&place, stops);
        }
        stops += 1;
        assert!(stops < 12);
    }
    assert_eq!(stops, 6);
}

/// Destroys the pool with a crash after each step in turn.
fn destroy(place: &Place, number: u32) {
    let (pools, image) = (place.pools(), place.path("image"));
    steps::stop_after(number % 3);
    let done = pools.destroy(&image);
    steps::go_on();
    assert!(matches!(done, Ok(()) | Err(Refusal::Stopped)), "{done:?}");
    pools.mount_all().unwrap();
    if !pools.list().unwrap().is_empty() {
        assert!(image.exists());
        pools.destroy(&image).unwrap();
    }
    assert!(!image.exists() && !place.path("pool").exists());
}
