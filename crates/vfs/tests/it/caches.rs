//! The caches of listings and of open files: what they count, and limits that change while they are in use.

use std::sync::Arc;

use vfs::backend::host::{Host, HostOptions, KeptFiles, ReadAhead};
use vfs::caches::Cache;
use vfs::state::{ClientId, Party};
use vfs::{Actor, CacheBudget, Caller, HostKey, Volume, VolumeOptions};

use crate::alone::is_alone;

struct Disk {
    dir: tempfile::TempDir,
    volume: Volume,
    me: Actor,
}

impl Disk {
    fn new(cache: &Arc<CacheBudget>, files: &Arc<KeptFiles>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = HostOptions { open_files: files.clone(), ..HostOptions::default() };
        let host = Host::open(dir.path(), &options).unwrap();
        let options = VolumeOptions { cache: cache.clone(), ..VolumeOptions::default() };
        let caller =
            Caller::new(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw(), &[]);
        let volume = Volume::new(Arc::new(host), options);
        Self { dir, volume, me: Actor::new(caller, Party::client(ClientId(1))) }
    }

    /// A folder with files of long names, so that it is one that is kept.
    fn folder(&self, name: &str, count: usize) {
        let folder = self.dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let file = |at: usize| folder.join(format!("a-file-with-a-rather-long-name-{at:08}"));
        (0..count).for_each(|at| std::fs::write(file(at), b"data").unwrap());
    }

    fn list(&self, name: &str) -> usize {
        let root = self.volume.root().unwrap();
        let folder = self.volume.lookup(&self.me.caller, &root.object, name.as_bytes()).unwrap();
        let (mut count, mut cookie) = (0, 0);
        loop {
            let page = self.volume.list(&self.me.caller, &folder, cookie).unwrap();
            count += page.named().count();
            match page.entries().last() {
                Some(last) if !page.complete => cookie = last.cookie,
                _ => return count,
            }
        }
    }

    /// Folders of 1,000 names each.
    fn folders_of_links(&self, files: usize) -> Vec<String> {
        const IN_A_FOLDER: usize = 1_000;
        /// ext4 allows 65,000 links of a file.
        const FOLDERS_OF_A_FILE: usize = 60;
        let folder = |at: usize| {
            let name = format!("{at:05}");
            let folder = self.dir.path().join(&name);
            let file = self.dir.path().join(format!("file-{}", at / FOLDERS_OF_A_FILE));
            std::fs::create_dir(&folder).unwrap();
            if at.is_multiple_of(FOLDERS_OF_A_FILE) {
                std::fs::write(&file, b"data").unwrap();
            }
            let link = |number: usize| folder.join(format!("a-file-with-a-rather-long-name-{number:08}"));
            (0..IN_A_FOLDER).for_each(|number| std::fs::hard_link(&file, link(number)).unwrap());
            name
        };
        (0..files / IN_A_FOLDER).map(folder).collect()
    }

    /// The keys of the files of a folder.
    fn keys(&self, name: &str) -> Vec<HostKey> {
        let root = self.volume.root().unwrap();
        let folder = self.volume.lookup(&self.me.caller, &root.object, name.as_bytes()).unwrap();
        let page = self.volume.list(&self.me.caller, &folder, 0).unwrap();
        page.named().map(|entry| page.details(&self.me.caller, entry).unwrap().key).collect()
    }
}

#[test]
fn listings_count_hits_and_misses_and_follow_their_limit() {
    let cache = CacheBudget::new(64 << 20);
    let disk = Disk::new(&cache, &KeptFiles::new(100));
    disk.folder("a", 200);
    disk.folder("b", 300);
    for name in ["a", "b", "a", "a", "b"] {
        disk.list(name);
    }
    let report = cache.report();
    assert_eq!((report.misses, report.hits, report.evictions), (2, 3, 0));
    assert_eq!(report.entries, 504, "with `.` and `..`");
    assert!(report.bytes > 500 * 40 && report.bytes == cache.used() as u64);
    assert!(report.miss_nanos > 0 && report.saved_nanos() > report.miss_nanos);
    disk.volume.tend();
    std::fs::write(disk.dir.path().join("a/new"), b"").unwrap();
    disk.list("a");
    assert_eq!(cache.report().misses, 3, "it has changed");

    let (used, half) = (cache.used(), cache.used() / 2);
    cache.limit_to(half as u64);
    disk.volume.limit_listings(used);
    let report = cache.report();
    assert!(report.bytes > 0 && report.bytes <= half as u64, "the folder that was used last stays");
    assert_eq!(report.evictions, 1);
    cache.limit_to(1_000);
    disk.volume.limit_listings(cache.used());
    assert_eq!((cache.used(), cache.report().entries), (0, 0));
    assert_eq!((disk.list("b"), cache.used()), (300, 0), "it does not fit");
    cache.limit_to(64 << 20);
    disk.volume.limit_listings(0);
    assert_eq!(disk.list("b"), 300);
    assert!(cache.used() > 0, "what did not fit before is tried again");
}

#[test]
fn a_folder_that_is_larger_than_the_limit_keeps_to_it() {
    const LIMIT: usize = 512 << 10;
    let cache = CacheBudget::new(LIMIT);
    let disk = Disk::new(&cache, &KeptFiles::new(100));
    disk.folder("large", 6_000);
    disk.folder("small", 100);
    for name in ["large", "small", "large", "small"] {
        assert_eq!(disk.list(name), if name == "large" { 6_000 } else { 100 });
        assert!(cache.used() <= LIMIT, "{} bytes", cache.used());
    }
    assert!(cache.report().hits >= 1, "the small one is kept beside");
}

#[test]
fn volumes_share_the_limit_of_open_files() {
    let files = KeptFiles::new(64);
    let cache = CacheBudget::new(64 << 20);
    let (one, other) = (Disk::new(&cache, &files), Disk::new(&cache, &files));
    for disk in [&one, &other] {
        disk.folder("a", 200);
        for key in disk.keys("a") {
            disk.volume.node(&key).unwrap();
        }
    }
    let report = files.report();
    assert!(report.entries > 16 && report.entries <= 64, "{report:?}");
    assert!(report.misses >= 300 && report.evictions >= 300, "{report:?}");
    assert_eq!(report.bytes, report.entries * vfs::backend::host::FILE_BYTES);

    let key = one.keys("a")[0];
    let hits = files.report().hits;
    (0..10).for_each(|_| drop(one.volume.node(&key).unwrap()));
    assert!(files.report().hits >= hits + 9);

    files.limit_to(32);
    assert!(files.report().entries <= 32);
    drop(other);
    one.volume.tend();
    files.limit_to(100_000);
    let keys = one.keys("a");
    (0..2).for_each(|_| keys.iter().for_each(|key| drop(one.volume.node(key).unwrap())));
    assert!(files.report().entries >= 200, "{:?}", files.report());
    let predicted = files.report().predicted;
    assert!(predicted.is_none_or(|predicted| predicted.half <= predicted.four_times));
}

#[tokio::test]
async fn what_the_page_cache_has_of_open_files_is_known() {
    let files = KeptFiles::new(64);
    let disk = Disk::new(&CacheBudget::new(1 << 20), &files);
    std::fs::write(disk.dir.path().join("f"), vec![7; 100_000]).unwrap();
    assert_eq!(files.resident(64), None, "no file is open");
    let root = disk.volume.root().unwrap();
    let file = disk.volume.lookup(&disk.me.caller, &root.object, b"f").unwrap();
    let read = disk.volume.stateless().read(&disk.me, &file, 0, 200_000).await.unwrap();
    assert_eq!(read.payload.len(), 100_000);
    if let Some(resident) = files.resident(64) {
        // A kernel before 6.5 cannot tell.
        assert_eq!((resident.files, resident.bytes, resident.cached), (1, 100_000, 100_000));
    }
    let traffic = disk.volume.site().traffic();
    assert_eq!((traffic.reads, traffic.read_bytes, traffic.writes), (1, 100_000, 0));
}

/// The names are links of few files, so that a disk has room for 10,000,000 of them:
/// `FOURFOLD_TEST_FILES=10000000 cargo test --release -p vfs --test it any_size -- --nocapture`.
#[test]
fn listings_of_a_volume_of_any_size_keep_to_their_budget() {
    // It measures the memory of its process.
    if !is_alone("caches::listings_of_a_volume_of_any_size_keep_to_their_budget") {
        return;
    }
    const LIMIT: usize = 2 << 20;
    let files: usize = std::env::var("FOURFOLD_TEST_FILES").map_or(20_000, |text| text.parse().unwrap());
    let cache = CacheBudget::new(LIMIT);
    let disk = Disk::new(&cache, &KeptFiles::new(100));
    let folders = disk.folders_of_links(files);
    let (before, mut count, mut most) = (resident(), 0, 0);
    for (at, folder) in folders.iter().enumerate() {
        // Each folder, and one that is asked for again and again.
        for folder in [folder.as_str(), "00000"] {
            count += disk.list(folder);
        }
        assert!(cache.used() <= LIMIT, "{} bytes after {at} folders", cache.used());
        most = most.max(resident());
    }
    let (report, grown) = (cache.report(), most.saturating_sub(before) >> 10);
    println!("{files} files: {} KiB of listings, {grown} KiB more memory; {report:?}", cache.used() >> 10);
    assert_eq!(count, files * 2);
    assert!(report.hits as usize >= folders.len() - 1, "{report:?}");
    assert!(report.evictions as usize > folders.len() / 2, "{report:?}");
    assert!(grown < 16 << 10, "{grown} KiB for {files} files");
}

/// Memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim_end_matches(" kB").trim().parse::<u64>().unwrap() << 10
}

/// The bytes of a file of 4 MiB that are in memory after its first 4 KiB were read. `None`: the kernel cannot tell, or the file
/// system has no disk behind its memory.
async fn read_ahead(read_ahead: ReadAhead) -> Option<u64> {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(dir.path().join("f"), vec![7; 4 << 20]).unwrap();
    let written = std::fs::File::open(dir.path().join("f")).unwrap();
    rustix::fs::fsync(&written).unwrap();
    rustix::fs::fadvise(&written, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let files = KeptFiles::new(64);
    let options = HostOptions { open_files: files.clone(), read_ahead, ..HostOptions::default() };
    let host = Host::open(dir.path(), &options).unwrap();
    let volume = Volume::new(Arc::new(host), VolumeOptions::default());
    let caller = Caller::new(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw(), &[]);
    let me = Actor::new(caller, Party::client(ClientId(1)));
    let root = volume.root().unwrap();
    let file = volume.lookup(&me.caller, &root.object, b"f").unwrap();
    let read = volume.stateless().read(&me, &file, 0, 4096).await.unwrap();
    assert_eq!(read.payload.len(), 4096);
    drop(read);
    files.resident(64).map(|resident| resident.cached).filter(|cached| *cached < 4 << 20)
}

#[tokio::test]
async fn a_share_without_read_ahead_reads_what_is_asked_for() {
    let (Some(off), Some(normal)) = (read_ahead(ReadAhead::Off).await, read_ahead(ReadAhead::Normal).await)
    else {
        println!("skipped: the kernel cannot tell what is in memory, or the tests' folder has no disk");
        return;
    };
    assert!(off < normal || normal == 4096, "{off} bytes without, {normal} with the host's own");
    assert!(read_ahead(ReadAhead::Double).await.is_none_or(|double| double >= normal));
}
