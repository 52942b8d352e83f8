use std::sync::Arc;

use super::*;
use crate::backend::faulty::Faulty;
use crate::backend::memory::Memory;
use crate::backend::{Backend, NewKind, Stability};
use crate::backups::BackupLimits;
use crate::mac::sparse_bundle::BANDS;
use crate::state::{ClientId, Modes, Party};
use crate::{Actor, Caller, OpenOptions, SetAttributes, SetTime, Volume, VolumeOptions};

const BAND_SIZE: usize = 4096;
const NOW: Time = Time { secs: 4_000_000_000, nanos: 0 };
const INFO_LIST: &str = "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>band-size</key><integer>4096</integer>\
                         <key>size</key><integer>1048576</integer></dict></plist>\n";

/// A share with one bundle.
struct Share {
    volume: Arc<Volume>,
    actor: Actor,
}

#[derive(Default)]
struct Seen {
    problems: Vec<ImageProblem>,
    read: Vec<u64>,
    /// After so many pieces the check ends.
    most: Option<usize>,
}

impl ImageObserver for Seen {
    fn found(&mut self, problem: ImageProblem) {
        self.problems.push(problem);
    }

    fn read(&mut self, band: u64, _: u64) -> bool {
        self.read.push(band);
        self.most.is_none_or(|most| self.read.len() < most)
    }
}

fn person(uid: u32) -> Caller {
    Caller { uid, ..Caller::root() }
}

impl Seen {
    fn words(&self) -> Vec<&'static str> {
        self.problems.iter().map(ImageProblem::word).collect()
    }
}

impl Share {
    /// A bundle with three whole bands.
    fn new() -> Self {
        Self::on(Arc::new(Memory::ticking()))
    }

    fn on(backend: Arc<dyn Backend>) -> Self {
        let volume = Arc::new(Volume::new(backend, VolumeOptions::default()));
        let actor = Actor::new(Caller::root(), Party::client(ClientId(1)));
        let share = Self { volume, actor };
        let root = share.volume.root().unwrap();
        let bundle = share.make(&root, b"a.sparsebundle", NewKind::Folder);
        share.make(&bundle, BANDS, NewKind::Folder);
        for name in [INFO, INFO_COPY] {
            share.write(name, INFO_LIST.as_bytes());
        }
        share.write(TOKEN, b"");
        for (number, byte) in [(0, 1), (1, 2), (0xa1, 3)] {
            share.band(number, &[byte; BAND_SIZE]);
        }
        share
    }

    fn make(&self, folder: &Found, name: &[u8], kind: NewKind<'_>) -> Found {
        self.volume.create(&self.actor, folder, name, kind, 0o755).unwrap().found
    }

    fn folder(&self) -> Found {
        self.volume.root().unwrap().object.lookup(&self.actor.caller, b"a.sparsebundle").unwrap()
    }

    fn bands(&self) -> Found {
        self.folder().object.lookup(&self.actor.caller, BANDS).unwrap()
    }

    fn write_in(&self, folder: &Found, name: &[u8], bytes: &[u8]) {
        let found = match folder.object.lookup(&self.actor.caller, name) {
            Ok(found) => found,
            Err(_) => self.make(folder, name, NewKind::File),
        };
        found.object.truncate(&self.actor.caller, 0).unwrap();
        found.object.write_at(&self.actor.caller, 0, bytes, Stability::Unstable).unwrap();
    }

    fn write(&self, name: &[u8], bytes: &[u8]) {
        self.write_in(&self.folder(), name, bytes);
    }

    fn band(&self, number: u64, bytes: &[u8]) {
        self.write_in(&self.bands(), format!("{number:x}").as_bytes(), bytes);
    }

    /// Changes a byte of a band as a failing disk does: its time of change stays.
    fn rot(&self, number: u64) {
        let found = self.bands().object.lookup(&self.actor.caller, format!("{number:x}").as_bytes()).unwrap();
        let modified = SetTime::To(found.attributes.modified);
        found.object.write_at(&self.actor.caller, 100, &[0xff], Stability::Unstable).unwrap();
        let changes = SetAttributes { modified, ..SetAttributes::default() };
        found.object.set_attributes(&self.actor.caller, &changes).unwrap();
    }

    fn check(&self, work: BandWork, sums: &mut BandSums) -> (BandsChecked, Seen) {
        let mut seen = Seen::default();
        let done = self.bundle().check_bands((work, 0), NOW, sums, &mut seen).unwrap();
        (done, seen)
    }

    /// On a disk that may fail.
    fn bundle_of_failing(&self) -> Result<BackupImage<'_>> {
        BackupImage::open(&self.volume, b"a.sparsebundle")
    }

    fn bundle(&self) -> BackupImage<'_> {
        BackupImage::open(&self.volume, b"a.sparsebundle").unwrap()
    }
}

#[test]
fn bands_without_a_checksum_get_one_and_others_are_not_read() {
    let (share, mut sums) = (Share::new(), BandSums::default());
    let (done, _) = share.check(BandWork::Learn, &mut sums);
    assert_eq!((done.learned, done.next, sums.len()), (3, None, 3));
    share.band(1, b"a session has changed it");
    let (done, seen) = share.check(BandWork::Learn, &mut sums);
    assert_eq!((done.learned, seen.read), (1, vec![1]));
}

#[test]
fn rot_is_named_by_its_band_and_stays_known() {
    let (share, mut sums) = (Share::new(), BandSums::default());
    share.check(BandWork::Learn, &mut sums);
    share.rot(0xa1);
    for _ in 0..2 {
        let (done, seen) = share.check(BandWork::Verify, &mut sums);
        assert_eq!((done.whole, done.learned, seen.words()), (2, 0, vec!["band-rotten"]));
        assert!(seen.problems[0].to_string().starts_with("bands/a1 "), "{}", seen.problems[0]);
    }
}

#[test]
fn a_band_that_a_mac_removes_is_no_damage_and_one_that_vanishes_is() {
    let (share, mut sums) = (Share::new(), BandSums::default());
    share.check(BandWork::Learn, &mut sums);
    let remove = |name: &[u8]| share.bands().object.remove(&share.actor.caller, name).unwrap();
    remove(b"1");
    let (_, seen) = share.check(BandWork::Learn, &mut sums);
    assert!(seen.problems.is_empty());
    remove(b"0");
    let (_, seen) = share.check(BandWork::Verify, &mut sums);
    assert_eq!(seen.problems, [ImageProblem::BandMissing { number: 0 }]);
}

#[test]
fn a_check_goes_on_where_it_was_ended() {
    let (share, mut sums) = (Share::new(), BandSums::default());
    let mut seen = Seen { most: Some(2), ..Seen::default() };
    let bundle = share.bundle();
    let done = bundle.check_bands((BandWork::Verify, 0), NOW, &mut sums, &mut seen).unwrap();
    assert_eq!((done.next, &*seen.read), (Some(2), &[0, 1][..]));
    let mut rest = Seen::default();
    let done = bundle.check_bands((BandWork::Verify, 2), NOW, &mut sums, &mut rest).unwrap();
    assert_eq!((done.next, &*rest.read, sums.len()), (None, &[0xa1][..], 3));
}

#[test]
fn bands_that_are_too_long_or_behind_the_image_are_named() {
    let (share, mut sums) = (Share::new(), BandSums::default());
    share.band(2, &[7; BAND_SIZE + 1]);
    share.band(0x100, b"behind 1 MiB");
    share.write_in(&share.bands(), b"B7", b"no band");
    let (_, seen) = share.check(BandWork::Verify, &mut sums);
    assert_eq!(seen.words(), ["no-band", "band-too-long", "band-beyond"]);
}

#[test]
fn what_changed_just_now_gets_no_checksum() {
    let (share, mut sums) = (Share::new(), BandSums::default());
    let found = share.bands().object.lookup(&share.actor.caller, b"0").unwrap();
    let now = Time { secs: found.attributes.modified.secs + 1, nanos: 0 };
    let mut seen = Seen::default();
    let done = share.bundle().check_bands((BandWork::Learn, 0), now, &mut sums, &mut seen).unwrap();
    assert!(done.unsettled >= 1 && sums.of(0, 4096, found.attributes.modified).is_none());
}

#[test]
fn lists_that_are_missing_cut_off_or_disagree_are_named() {
    let words = |share: &Share| -> Vec<&'static str> {
        share.bundle().check_lists().iter().map(ImageProblem::word).collect()
    };
    let share = Share::new();
    assert_eq!(words(&share), Vec::<&str>::new());
    share.write(MACHINE, b"<plist><key>VerificationState</key><integer>2</integer></plist>");
    assert_eq!(words(&share), ["found-by-mac"]);
    share.write(MACHINE, b"<plist><key>VerificationState</key><integer>1</integer>");
    assert_eq!(words(&share), ["list-broken"]);
    share.write(MACHINE, b"<plist></plist>");
    share.write(INFO_COPY, INFO_LIST.replace("4096", "8192").as_bytes());
    assert_eq!(words(&share), ["info-differs"]);
    share.write(INFO, b"<plist></plist>");
    assert_eq!(words(&share), ["no-band-size"]);
    share.folder().object.remove(&share.actor.caller, INFO).unwrap();
    assert_eq!(words(&share), ["list-missing"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_is_in_use_while_a_client_writes_into_it() {
    let share = Share::new();
    let band = share.bands().object.lookup(&share.actor.caller, b"0").unwrap();
    let open = |access| share.volume.open(&share.actor, &band, OpenOptions::data(access));
    let reading = open(Modes::READ).await.unwrap();
    assert!(!share.bundle().is_written().unwrap());
    let writing = open(Modes::READ.union(Modes::WRITE)).await.unwrap();
    assert!(share.bundle().is_written().unwrap());
    let kept = || share.volume.backup_bundles().replace(b"new", b"a.sparsebundle", b"a (damaged)");
    let blocking = tokio::task::block_in_place(kept);
    assert_eq!(blocking, Err(Error::Busy));
    drop((reading, writing));
    assert!(!share.bundle().is_written().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_bundle_is_kept_by_another_name_until_it_is_removed() {
    tokio::task::block_in_place(|| {
        let share = Share::new();
        let new = share.make(&share.volume.root().unwrap(), b"a.new", NewKind::Folder);
        share.write_in(&new, INFO, b"new");
        share.volume.backup_bundles().replace(b"a.new", b"a.sparsebundle", b"a (damaged)").unwrap();
        assert_eq!(share.bundle().list(INFO).as_deref(), Some(&b"new"[..]));
        let kept = BackupImage::open(&share.volume, b"a (damaged)").unwrap();
        assert_eq!(kept.list(INFO).as_deref(), Some(INFO_LIST.as_bytes()));
        share.make(&share.volume.root().unwrap(), b"a.new", NewKind::Folder);
        let taken = share.volume.backup_bundles().replace(b"a.new", b"a.sparsebundle", b"a (damaged)");
        assert_eq!(taken, Err(Error::Exists));
        share.volume.backup_bundles().remove_at_top(b"a (damaged)", &mut || true).unwrap();
        assert_eq!(BackupImage::open(&share.volume, b"a (damaged)").err(), Some(Error::NotFound));
    });
}

#[test]
fn a_limit_of_a_mac_counts_for_the_user_that_its_bundle_belongs_to() {
    let share = Share::new();
    let (root, ada, grace) = (share.volume.root().unwrap(), person(1000), person(1001));
    let own = |name: &[u8], uid| {
        let found = root.object.lookup(&share.actor.caller, name).unwrap();
        let changes = SetAttributes { uid: Some(uid), ..SetAttributes::default() };
        found.object.set_attributes(&share.actor.caller, &changes).unwrap();
    };
    share.make(&root, b"b.sparsebundle", NewKind::Folder);
    own(b"a.sparsebundle", 1000);
    own(b"b.sparsebundle", 1001);
    let limits = BackupLimits { share: Some(100_000), macs: vec![("a".into(), 20_000)] };
    let space = |who: &Caller| {
        let space = share.volume.backup_bundles().space(who, &root.object, &limits).unwrap();
        (space.total, space.available)
    };
    let used = 3 * BAND_SIZE as u64;
    assert_eq!(space(&ada), (20_000, 20_000 - used));
    assert_eq!(space(&grace), (100_000, 100_000 - used), "her Mac has no limit of its own");
    share.make(&root, b"c.sparsebundle", NewKind::Folder);
    own(b"c.sparsebundle", 1000);
    assert_eq!(space(&ada).0, 100_000, "another Mac of the same user has none");
}

/// The power is cut at each call of the host.
#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_leaves_the_old_or_the_new_bundle_at_its_name() {
    tokio::task::block_in_place(|| {
        for nth in 1.. {
            let disk = Arc::new(Faulty::losing_writes(Memory::ticking()));
            let share = Share::on(disk.clone());
            let new = share.make(&share.volume.root().unwrap(), b"a.new", NewKind::Folder);
            share.write_in(&new, INFO, b"new");
            disk.sync().unwrap();
            disk.plan().fail_from(nth, None, Error::Io);
            let done = share.volume.backup_bundles().replace(b"a.new", b"a.sparsebundle", b"a (damaged)");
            disk.crash();
            let list = share.bundle().list(INFO).unwrap();
            match done {
                Ok(()) => return assert_eq!(list, b"new"),
                Err(_) => assert!([&b"new"[..], INFO_LIST.as_bytes()].contains(&&*list), "{nth}"),
            }
        }
    });
}

/// A Mac writes a band, a barrier follows, then another band: the power is cut at each call of the host.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_mac_has_synced_is_there_after_a_power_cut() {
    let mut cuts = 0;
    for nth in 1..=200 {
        let disk = Arc::new(Faulty::losing_writes(Memory::ticking()));
        let share = Share::on(disk.clone());
        disk.sync().unwrap();
        disk.plan().fail_from(nth, None, Error::Io);
        let synced = session(&share).await;
        disk.crash();
        let (mut sums, mut seen) = (BandSums::default(), Seen::default());
        share.bundle().check_bands((BandWork::Verify, 0), NOW, &mut sums, &mut seen).unwrap();
        assert!(
            seen.problems.is_empty() && share.bundle().check_lists().is_empty(),
            "{nth}: {:?}",
            seen.problems
        );
        for (number, byte) in synced {
            let band = share.bundle().band(format!("{number:x}").as_bytes()).unwrap();
            let mut bytes = Vec::new();
            band.object.prepare(server(), &band.attributes, Access::READ, true).unwrap();
            band.object.read_at(0, BAND_SIZE, &mut bytes, Wait::Allowed).unwrap();
            assert!(bytes.iter().all(|found| *found >= byte), "{nth}: band {number} has not what was synced");
        }
        cuts += 1;
    }
    assert_eq!(cuts, 200);
}

/// Writes bands 0, 1 and a1 with growing bytes, each put on the disk. Answers what is certainly there, until the disk fails.
async fn session(share: &Share) -> Vec<(u64, u8)> {
    let mut synced = Vec::new();
    for byte in 10..20 {
        for number in [0, 1, 0xa1] {
            let Ok(band) =
                share.bundle_of_failing().and_then(|bundle| bundle.band(format!("{number:x}").as_bytes()))
            else {
                return synced;
            };
            let write = async {
                let open = share.volume.open(
                    &share.actor,
                    &band,
                    OpenOptions::data(Modes::READ.union(Modes::WRITE)),
                );
                let open = open.await?;
                open.write_at(0, vec![byte; BAND_SIZE].into(), Stability::Unstable).await?;
                open.sync().await
            };
            if write.await.is_err() {
                return synced;
            }
            synced.retain(|(known, _)| *known != number);
            synced.push((number, byte));
        }
    }
    synced
}
