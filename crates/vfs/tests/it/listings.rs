//! Kept listings and names on the host backend: right for changes by clients and local programs,
//! and fast.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Found, NewKind, RenameMode, XattrMode};
use vfs::mac::{DosAttributes, FileBits, FinderInfo};
use vfs::names::Folding;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Beside, CacheBudget, Caller, Description, Error, Kind, Time, Volume, VolumeOptions};

struct Disk {
    dir: tempfile::TempDir,
    volume: Volume,
    me: Actor,
}

impl Disk {
    fn new() -> Self {
        Self::with_cache(64 << 20)
    }

    fn with_cache(cache_bytes: usize) -> Self {
        Self::with_budget(&CacheBudget::new(cache_bytes))
    }

    fn with_budget(cache: &Arc<CacheBudget>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
        let volume =
            Volume::new(Arc::new(host), VolumeOptions { cache: cache.clone(), ..VolumeOptions::default() });
        let caller =
            Caller::new(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw(), &[]);
        Self { dir, volume, me: Actor::new(caller, Party::client(ClientId(1))) }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn root(&self) -> Found {
        self.volume.root().unwrap()
    }

    fn folded(&self, name: &str) -> Result<String, Error> {
        let found = self.volume.mac_tree().lookup_folded(
            &self.me.caller,
            &self.root(),
            name.as_bytes(),
            Folding::default(),
        );
        found.map(|(name, _)| String::from_utf8(name).unwrap())
    }

    fn create(&self, name: &str) -> Found {
        self.volume.create(&self.me, &self.root(), name.as_bytes(), NewKind::File, 0o644).unwrap().found
    }

    /// Files with long names, so that their folder is one that is kept.
    fn fill(&self, count: usize) {
        (0..count).for_each(|at| std::fs::write(self.path().join(long(at)), b"x").unwrap());
    }

    fn listed(&self) -> BTreeSet<String> {
        let page = self.volume.list(&self.me.caller, &self.root(), 0).unwrap();
        page.named().map(|entry| String::from_utf8(entry.name().to_vec()).unwrap()).collect()
    }

    /// How many entries a client counts if it asks for page after page.
    fn listed_by_pages(&self) -> usize {
        let (mut count, mut cookie) = (0, 0);
        loop {
            let page = self.volume.list(&self.me.caller, &self.root(), cookie).unwrap();
            count += page.named().count();
            match page.entries().last() {
                Some(last) if !page.complete => cookie = last.cookie,
                _ => return count,
            }
        }
    }

    fn rich(&self, name: &str) -> Description {
        let page = self.volume.list(&self.me.caller, &self.root(), 0).unwrap();
        let entry = page.named().find(|entry| entry.name() == name.as_bytes()).unwrap();
        page.rich_details(&self.me.caller, entry).unwrap()
    }
}

fn long(at: usize) -> String {
    format!("a file with a rather long name so that folders grow {at:06}")
}

#[test]
fn names_that_are_not_exact_are_found_whoever_brought_them() {
    let disk = Disk::new();
    disk.fill(200);
    assert_eq!(disk.folded("NEW"), Err(Error::NotFound));
    disk.create("New");
    assert_eq!(disk.folded("NEW").unwrap(), "New");
    std::fs::write(disk.path().join("Local"), b"").unwrap();
    assert_eq!(disk.folded("LOCAL").unwrap(), "Local");
    std::fs::rename(disk.path().join("Local"), disk.path().join("Moved")).unwrap();
    assert_eq!(
        (disk.folded("LOCAL"), disk.folded("MOVED").unwrap().as_str()),
        (Err(Error::NotFound), "Moved")
    );
    let root = disk.root();
    disk.volume.rename(&disk.me, (&root, b"Moved"), (&root, b"Again"), RenameMode::Replace).unwrap();
    assert_eq!(
        (disk.folded("MOVED"), disk.folded("again").unwrap().as_str()),
        (Err(Error::NotFound), "Again")
    );
    std::fs::remove_file(disk.path().join("Again")).unwrap();
    disk.volume.remove(&disk.me, &root, b"New", Kind::File).unwrap();
    assert_eq!((disk.folded("NEW"), disk.folded("again")), (Err(Error::NotFound), Err(Error::NotFound)));
    // Of two that fold alike the first in the order of bytes, and then the other one.
    std::fs::write(disk.path().join("two"), b"").unwrap();
    std::fs::write(disk.path().join("Two"), b"").unwrap();
    assert_eq!(disk.folded("TWO").unwrap(), "Two");
    std::fs::remove_file(disk.path().join("Two")).unwrap();
    assert_eq!(disk.folded("TWO").unwrap(), "two");
}

#[test]
fn sidecars_are_not_found_by_folding_while_their_file_is_there() {
    let disk = Disk::new();
    disk.fill(200);
    // RFC 1740: magic, version, filler, no entries. It has no contents, but it is a sidecar.
    let sidecar = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \x00\x00";
    std::fs::write(disk.path().join("File"), b"").unwrap();
    assert_eq!(disk.folded("._FILE"), Err(Error::NotFound));
    std::fs::write(disk.path().join("._File"), sidecar).unwrap();
    assert_eq!(disk.folded("._FILE"), Err(Error::NotFound));
    assert!(!disk.listed().contains("._File"));
    std::fs::remove_file(disk.path().join("File")).unwrap();
    assert_eq!(disk.folded("._FILE").unwrap(), "._File");
    assert!(disk.listed().contains("._File"));
}

#[test]
fn listings_and_cookies_are_right_while_names_come_and_go() {
    let disk = Disk::new();
    disk.fill(300);
    let mut expected = disk.listed();
    assert_eq!(expected.len(), 300);
    disk.folded("missing").unwrap_err();
    for round in 0..50 {
        std::fs::remove_file(disk.path().join(long(round))).unwrap();
        disk.create(&format!("new {round}"));
        expected.remove(&long(round));
        expected.insert(format!("new {round}"));
        assert_eq!(disk.listed(), expected);
    }
    let (mut walked, mut cookie) = (BTreeSet::new(), 0);
    for round in 0.. {
        let page = disk.volume.list(&disk.me.caller, &disk.root(), cookie).unwrap();
        let mut entries = page.entries().iter();
        let some: Vec<_> = entries.by_ref().take(40).collect();
        walked.extend(some.iter().map(|entry| String::from_utf8(entry.name().to_vec()).unwrap()));
        let Some(last) = some.last() else { break };
        cookie = last.cookie;
        // Something changes between any two pages.
        disk.create(&format!("later {round}"));
    }
    assert!(walked.is_superset(&expected));
}

#[test]
fn rich_details_say_what_there_is_and_hear_of_changes() {
    let disk = Disk::new();
    disk.fill(200);
    let name = long(7);
    let file = disk.volume.lookup(&disk.me.caller, &disk.root().object, name.as_bytes()).unwrap();
    let plain = disk.rich(&name);
    assert!(plain.plain && !plain.has_streams && plain.fork_len == 0 && plain.finder_info.is_none());
    assert_eq!(plain.details.key, file.object.key());
    assert_eq!((plain.details.attributes.size, Some(plain.created)), (1, file.attributes.created));

    let root = disk.root();
    let place = Some(Beside { folder: &root.object, name: name.as_bytes() });
    let info = FinderInfo::new(*b"TEXTttxt\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    disk.volume
        .change_metadata(&disk.me, &file, place, |metadata| {
            metadata.dos = DosAttributes::ARCHIVE;
            metadata.set_finder_info(info);
            metadata.dos = DosAttributes::ARCHIVE;
        })
        .unwrap();
    let one = |_| Ok(vec![(b"name".to_vec(), Some(b"value".to_vec()))]);
    disk.volume.change_xattrs(&disk.me, &file, place, one).unwrap();
    let rich = disk.rich(&name);
    assert_eq!((rich.dos, rich.finder_info, rich.plain), (DosAttributes::ARCHIVE, info, false));
    assert_eq!((rich.xattr_count, rich.xattr_bytes, rich.has_streams), (1, 9, false));
    file.object.set_xattr(&disk.me.caller, b"user.tag", b"red", XattrMode::Set).unwrap();
    assert!(disk.rich(&name).has_streams);
    // A local program brings a fork of 5 bytes: RFC 1740, the fork (2) at 38.
    let mut sidecar =
        b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \x00\x01\0\0\0\x02\0\0\0\x26\0\0\0\x05".to_vec();
    sidecar.extend(b"fork!");
    std::fs::write(disk.path().join(format!("._{name}")), &sidecar).unwrap();
    assert_eq!(disk.rich(&name).fork_len, 5);
    std::fs::remove_file(disk.path().join(format!("._{name}"))).unwrap();
    assert_eq!(disk.rich(&name).fork_len, 0);
    // Details stay after changes to other entries, and are given up after changes to this one.
    std::fs::write(disk.path().join("other"), b"").unwrap();
    std::fs::write(disk.path().join(&name), b"12345").unwrap();
    assert_eq!(disk.rich(&name).details.attributes.size, 5);
    std::fs::rename(disk.path().join("other"), disk.path().join(&name)).unwrap();
    let replaced = disk.rich(&name);
    assert!(replaced.plain && replaced.details.attributes.size == 0);
    let other = long(8);
    assert_eq!(disk.rich(&other).details.attributes.links, 1);
    std::fs::hard_link(disk.path().join(&other), disk.path().join("link")).unwrap();
    assert_eq!(disk.rich(&other).details.attributes.links, 2);
}

#[test]
fn rich_details_say_what_a_mac_set() {
    let disk = Disk::new();
    disk.fill(200);
    let name = long(7);
    let root = disk.root();
    let file = disk.volume.lookup(&disk.me.caller, &root.object, name.as_bytes()).unwrap();
    assert_eq!((disk.rich(&name).bits, disk.rich(&name).backup), (FileBits(0), None));
    let place = Some(Beside { folder: &root.object, name: name.as_bytes() });
    let backup = Some(Time { secs: 1_000_000_000, nanos: 0 });
    disk.volume
        .change_metadata(&disk.me, &file, place, |metadata| {
            metadata.bits = FileBits::WRITE_INHIBIT;
            metadata.times.backup = backup;
        })
        .unwrap();
    let rich = disk.rich(&name);
    assert_eq!((rich.bits, rich.backup, rich.plain), (FileBits::WRITE_INHIBIT, backup, false));
}

/// A watch on a folder does not tell of what happens in the folders in it.
#[test]
fn folders_in_a_kept_listing_are_as_they_are_now() {
    let disk = Disk::new();
    disk.fill(200);
    std::fs::create_dir(disk.path().join("folder")).unwrap();
    let count = |disk: &Disk| {
        let page = disk.volume.list(&disk.me.caller, &disk.root(), 0).unwrap();
        let entry = page.named().find(|entry| entry.name() == b"folder").unwrap();
        let now = page.rich_details(&disk.me.caller, entry).unwrap().details.attributes;
        disk.volume.mac_tree().offspring_of(&page, entry, &now).unwrap()
    };
    let was = disk.rich("folder").details.attributes;
    assert_eq!(count(&disk), 0);
    for round in 1..20 {
        std::fs::write(disk.path().join(format!("folder/{round}")), b"").unwrap();
        assert_eq!(count(&disk), round);
        if round % 5 == 0 {
            std::thread::sleep(Duration::from_millis(110)); // a count is kept if the folder's time is older than 100 ms
            assert_eq!((count(&disk), count(&disk)), (round, round));
        }
    }
    let now = disk.rich("folder").details.attributes;
    assert!(now.modified > was.modified, "{was:?} {now:?}");
    let folder = disk.volume.lookup(&disk.me.caller, &disk.root().object, b"folder").unwrap();
    assert_eq!(disk.volume.mac_tree().offspring(&folder), Ok(19));
    assert_eq!(disk.volume.mac_tree().offspring(&disk.root()), Ok(201));
}

#[test]
fn the_cache_keeps_within_its_bytes_and_stays_right() {
    let disk = Disk::with_cache(100_000);
    disk.fill(200);
    assert_eq!(disk.folded(&long(5).to_uppercase()).unwrap(), long(5));
    for at in 200..2_000 {
        std::fs::write(disk.path().join(long(at)), b"x").unwrap();
        if at % 100 == 0 {
            assert_eq!(disk.folded(&long(at).to_uppercase()).unwrap(), long(at));
            assert_eq!(disk.listed().len(), at + 1);
        }
    }
}

/// Before each creation there is a look-up that finds nothing, as from a client that ignores case.
#[test]
fn creating_many_files_takes_no_longer_for_the_later_ones() {
    let disk = Disk::new();
    // The host's own part, making the file, takes as long as its disk needs. The median leaves out the look-ups during
    // which another process had the processor.
    let create = |range: std::ops::Range<usize>| {
        let mut looked = Vec::with_capacity(range.len());
        for at in range {
            let name = format!("Name {at:06}");
            let start = Instant::now();
            assert_eq!(disk.folded(&name), Err(Error::NotFound));
            looked.push(start.elapsed());
            disk.create(&name);
        }
        looked.sort_unstable();
        looked[looked.len() / 2]
    };
    let (first, second) = (create(0..5_000), create(5_000..10_000));
    println!("a look-up of the first 5,000 took {first:?}, one of the second {second:?}");
    assert!(second < first.max(Duration::from_micros(10)) * 3, "{first:?} then {second:?}");
    assert_eq!(disk.folded("NAME 009999").unwrap(), "Name 009999");
}

#[test]
fn rich_details_of_ten_thousand_entries_are_asked_for_once() {
    let disk = Disk::new();
    disk.fill(10_000);
    let look = || {
        let start = Instant::now();
        let page = disk.volume.list(&disk.me.caller, &disk.root(), 0).unwrap();
        let listed = start.elapsed();
        let plain =
            page.named().filter(|entry| page.rich_details(&disk.me.caller, entry).unwrap().plain).count();
        assert_eq!(plain, 10_000);
        (listed, start.elapsed())
    };
    let (first, second) = (look(), look());
    disk.create("one more");
    std::fs::remove_file(disk.path().join("one more")).unwrap();
    let third = look();
    println!("10,000 rich entries (listing, all): {first:?}, again {second:?}, after a change {third:?}");
    assert!(second.1 * 3 < first.1 && third.1 < first.1, "{first:?}, {second:?}, {third:?}");
}

/// A client that asks for an entry's details and one that lists the folder anew each need the entry and the changes.
#[test]
fn listings_and_details_of_a_folder_that_changes_do_not_wait_for_each_other() {
    const FILES: usize = 3_000;
    const LISTERS: usize = 3;
    let disk = Arc::new(Disk::new());
    disk.fill(FILES);
    let (end, (tell, told)) = (Instant::now() + Duration::from_secs(3), mpsc::channel());
    let start = |work: fn(&Disk, usize)| {
        let (disk, tell) = (disk.clone(), tell.clone());
        std::thread::spawn(move || {
            (0..).take_while(|_| Instant::now() < end).for_each(|round| work(&disk, round));
            tell.send(()).unwrap();
        });
    };
    for _ in 0..LISTERS {
        start(|disk, _| {
            let page = disk.volume.list(&disk.me.caller, &disk.root(), 0).unwrap();
            for entry in page.named() {
                page.details(&disk.me.caller, entry).unwrap();
            }
        });
    }
    start(|disk, round| {
        std::fs::write(disk.path().join(long(round % FILES)), format!("{round}")).unwrap();
        if round % 10 == 0 {
            disk.create(&format!("new {round}"));
        }
        std::thread::sleep(Duration::from_micros(100)); // the pace of a client
    });
    for _ in 0..=LISTERS {
        told.recv_timeout(Duration::from_secs(60)).expect("a thread has waited for a minute");
    }
    std::fs::write(disk.path().join(long(7)), "four").unwrap();
    assert_eq!(disk.rich(&long(7)).details.attributes.size, 4);
}

/// A page that is older than the change takes no event away from the listing that follows.
#[test]
fn a_name_that_became_a_links_is_heard_of_although_an_old_page_asked_about_it() {
    let disk = Disk::new();
    disk.fill(200);
    let (file, replaced) = (long(8), long(9));
    assert_eq!(disk.rich(&file).details.attributes.links, 1);
    let old = disk.volume.list(&disk.me.caller, &disk.root(), 0).unwrap();
    std::fs::remove_file(disk.path().join(&replaced)).unwrap();
    std::fs::hard_link(disk.path().join(&file), disk.path().join(&replaced)).unwrap();
    disk.volume.mac_tree().offspring(&disk.root()).unwrap(); // takes in the events
    let entry = old.named().find(|entry| entry.name() == replaced.as_bytes()).unwrap();
    assert_eq!(old.details(&disk.me.caller, entry).unwrap().attributes.links, 2);
    assert_eq!(disk.rich(&file).details.attributes.links, 2);
}

/// A look-up of a missing name costs no walk through the folder, though its entries do not fit into the cache.
#[test]
fn a_folder_too_large_for_its_entries_keeps_its_names() {
    const FILES: usize = 6_000;
    let missing = |disk: &Disk, rounds: usize| {
        let start = Instant::now();
        for at in 0..rounds {
            assert_eq!(disk.folded(&format!("missing {at}")), Err(Error::NotFound));
        }
        start.elapsed() / rounds as u32
    };
    // 6,000 entries take some 1.5 MB, their names 0.6 MB.
    let (names_only, nothing) = (Disk::with_cache(1_000_000), Disk::with_cache(100_000));
    for disk in [&names_only, &nothing] {
        disk.fill(FILES);
        assert_eq!(disk.folded(&long(5).to_uppercase()).unwrap(), long(5));
    }
    let (kept, walked) = (missing(&names_only, 200), missing(&nothing, 20));
    println!("a missing name among {FILES}: {kept:?} with names kept, {walked:?} without");
    assert!(kept * 5 < walked, "{kept:?}, {walked:?}");

    for disk in [&names_only, &nothing] {
        disk.create("Came Later");
        std::fs::rename(disk.path().join(long(1)), disk.path().join("Moved")).unwrap();
        std::fs::remove_file(disk.path().join(long(2))).unwrap();
        assert_eq!(disk.folded("CAME LATER").unwrap(), "Came Later");
        assert_eq!(disk.folded("moved").unwrap(), "Moved");
        assert_eq!(disk.folded(&long(1).to_uppercase()), Err(Error::NotFound));
        assert_eq!(disk.folded(&long(2).to_uppercase()), Err(Error::NotFound));
        assert_eq!(disk.listed_by_pages(), FILES);
    }
}

/// Names that come while a folder is read are repeated once it is kept. So a folder that changes
/// all the time can be kept, too.
#[test]
fn a_folder_that_changes_while_it_is_read_is_kept_as_it_then_is() {
    const MADE: usize = 400;
    let disk = Arc::new(Disk::new());
    disk.fill(2_000);
    let maker = {
        let disk = disk.clone();
        std::thread::spawn(move || {
            for at in 0..MADE {
                std::fs::write(disk.path().join(format!("Made {at}")), b"x").unwrap();
                std::fs::remove_file(disk.path().join(long(at))).unwrap();
                disk.volume.mac_tree().offspring(&disk.root()).unwrap(); // takes in the events
            }
        })
    };
    for round in 0..50 {
        assert_eq!(disk.folded(&format!("missing {round}")), Err(Error::NotFound));
        disk.listed();
    }
    maker.join().unwrap();
    for at in 0..MADE {
        assert_eq!(disk.folded(&format!("MADE {at}")).unwrap(), format!("Made {at}"));
        assert_eq!(disk.folded(&long(at).to_uppercase()), Err(Error::NotFound));
    }
    assert_eq!(disk.listed().len(), 2_000);
}

/// Folders that are not used are dropped for those that are, also across volumes.
#[test]
fn volumes_share_one_budget() {
    let cache = CacheBudget::new(400_000);
    let disks = [Disk::with_budget(&cache), Disk::with_budget(&cache)];
    disks.iter().for_each(|disk| disk.fill(1_000));
    for _ in 0..2 {
        for disk in &disks {
            assert_eq!(disk.listed().len(), 1_000);
            assert_eq!(disk.folded(&long(5).to_uppercase()).unwrap(), long(5));
            assert!(cache.used() <= cache.limit(), "{}", cache.used());
        }
    }
    assert!(cache.used() > 0);
    drop(disks);
    assert_eq!(cache.used(), 0);
}
