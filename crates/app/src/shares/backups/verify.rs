//! Verification of bundles. The background works in slices; a request of a person is done at once. Both verify the bundle as it is,
//! or a restore point.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use admin::control::{BackupProblem, BackupVerification, Progress};
use anyhow::Context;
use vfs::{BackupImage, BandWork, BandsChecked, ImageObserver, ImageProblem, Volume};

use super::record::{BackupRecord, PointRecord};
use super::{Backups, Place, Point, inside, now, told};
use crate::shares::restoring;

/// How long a slice of the background's work takes.
const SLICE: Duration = Duration::from_secs(8);
/// The background rests as long as a piece took to read, but no longer than this.
const LONGEST_REST: Duration = Duration::from_millis(200);
/// Problems that are told of a bundle.
const MOST_PROBLEMS: usize = 200;

/// What the background does with a bundle in a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slice {
    /// Nothing is due.
    Nothing,
    /// There is more to do.
    More,
    /// It has come to the end of something.
    Ended,
}

/// Counts what is read, and decides when a check ends.
struct Reader<'a> {
    problems: Vec<BackupProblem>,
    read: u64,
    goes_on: &'a dyn Fn(u64) -> bool,
    /// The background rests between pieces.
    last: Option<Instant>,
}

impl<'a> Reader<'a> {
    fn new(is_background: bool, goes_on: &'a dyn Fn(u64) -> bool) -> Self {
        Self { problems: Vec::new(), read: 0, goes_on, last: is_background.then(Instant::now) }
    }
}

impl ImageObserver for Reader<'_> {
    fn found(&mut self, problem: ImageProblem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(told(&problem));
        }
    }

    fn read(&mut self, _: u64, bytes: u64) -> bool {
        self.read = self.read.saturating_add(bytes);
        if let Some(last) = self.last {
            std::thread::sleep(last.elapsed().min(LONGEST_REST)); // as long as the piece took: disks have other users
            self.last = Some(Instant::now());
        }
        (self.goes_on)(self.read)
    }
}

impl Backups {
    /// Makes checksums of what sessions have changed, or goes on with a verification that is due every `every`. The bundle is not
    /// being written.
    pub(crate) fn slice(&self, place: &Place<'_>, every: Duration) -> anyhow::Result<Slice> {
        let Some(_working) = self.background() else { return Ok(Slice::Nothing) };
        let record = self.record(&place.name);
        let is_learning = record.is_unlearned || !record.has_learned;
        if !is_learning && !is_due(&record, every, now()) {
            return Ok(Slice::Nothing);
        }
        let mut sums = self.folder.sums(&place.name);
        let began = Instant::now();
        let goes_on = |_| began.elapsed() < SLICE && !self.must_pause();
        let mut reader = Reader::new(true, &goes_on);
        let bundle = open(&place.volume, &place.bundle)?;
        if is_learning {
            let work = (BandWork::Learn, record.next_unlearned);
            let done = bundle.check_bands(work, SystemTime::now().into(), &mut sums, &mut reader)?;
            self.folder.write_sums(&place.name, &sums);
            self.change(&place.name, |record| {
                record.next_unlearned = done.next.unwrap_or(0);
                // What changed just now is looked at again.
                record.is_unlearned = done.next.is_some() || done.unsettled > 0;
                record.has_learned |= done.next.is_none();
            });
            return Ok(if done.next.is_some() { Slice::More } else { Slice::Ended });
        }
        let from = continued(&record);
        let work = (BandWork::Verify, from);
        let done = bundle.check_bands(work, SystemTime::now().into(), &mut sums, &mut reader)?;
        if done.learned > 0 {
            self.folder.write_sums(&place.name, &sums);
        }
        let lists = if from == 0 { bundle.check_lists() } else { Vec::new() };
        let found = lists.iter().map(told).chain(reader.problems).collect();
        let total = total(place);
        self.change(&place.name, |record| note(record, (from, total, reader.read), &done, found));
        Ok(if done.next.is_some() { Slice::More } else { Slice::Ended })
    }

    /// Verifies a bundle as it is now, for a person who waits.
    ///
    /// # Errors
    /// It cannot be read, or another request works.
    pub(crate) fn verify(
        &self,
        place: &Place<'_>,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<BackupVerification> {
        let _working = self.work()?;
        let (bundle, total) = (open(&place.volume, &place.bundle)?, total(place));
        if bundle.is_written()? {
            anyhow::bail!("a Mac writes into the bundle; verify it when it has ended its backup");
        }
        let mut sums = self.folder.sums(&place.name);
        // A session may have ended a moment ago.
        let work =
            if self.record(&place.name).is_unlearned { BandWork::VerifyPoint } else { BandWork::Verify };
        let goes_on = |done| progress(Progress { done, total }) && !self.has_stopped();
        let mut reader = Reader::new(false, &goes_on);
        let done = bundle.check_bands((work, 0), SystemTime::now().into(), &mut sums, &mut reader)?;
        let mut found: Vec<BackupProblem> =
            bundle.check_lists().iter().map(told).chain(reader.problems).collect();
        self.folder.write_sums(&place.name, &sums);
        let inside = self.inside(&place.volume, &bundle, done.next.is_none(), &mut found);
        self.change(&place.name, |record| {
            note(record, (0, total, reader.read), &done, found);
            record.verification.iter_mut().for_each(|last| last.inside.clone_from(&inside));
        });
        if done.next.is_some() {
            anyhow::bail!("the verification was ended; it goes on in the background");
        }
        let all = place.volume.backup_bundles().all().unwrap_or_default();
        let bundle = all.iter().find(|one| one.name == place.bundle);
        if bundle.is_some_and(|bundle| self.is_point_due(place, bundle)) {
            self.begin_point(place)?;
        }
        self.record(&place.name).verification.context("the verification is not known")
    }

    /// Verifies a bundle in a snapshot.
    ///
    /// # Errors
    /// It cannot be read, or another request works.
    pub(crate) fn verify_point(
        &self,
        place: &Place<'_>,
        snapshot: &str,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<BackupVerification> {
        let _working = self.work()?;
        self.verified_point(place, &place.point(snapshot)?, progress)
    }

    /// The same, while no other request works.
    pub(super) fn verified_point(
        &self,
        place: &Place<'_>,
        point: &Point,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<BackupVerification> {
        let volume = match point {
            Point::Snapshot(snapshot) => {
                restoring::snapshot_volume(place.share, &place.dataset()?, snapshot, place.volumes)?
            }
            Point::Journal(_) => place.volume.clone(),
        };
        let bundle = match point {
            Point::Snapshot(_) => open(&volume, &place.bundle)?,
            Point::Journal(one) => BackupImage::at_point(&volume, &place.bundle, &one.name)
                .with_context(|| format!("the point {} cannot be read", one.name))?,
        };
        let (mut sums, total, began) = (self.folder.sums(&place.name), total(place), now());
        let goes_on = |done| progress(Progress { done, total }) && !self.has_stopped();
        let mut reader = Reader::new(false, &goes_on);
        let done = bundle.check_bands(
            (BandWork::VerifyPoint, 0),
            SystemTime::now().into(),
            &mut sums,
            &mut reader,
        )?;
        if done.next.is_some() {
            anyhow::bail!("the verification of {} was ended", point.name());
        }
        let mut problems = bundle.check_lists().iter().map(told).chain(reader.problems).collect();
        let inside = self.inside(&volume, &bundle, true, &mut problems);
        let verification = BackupVerification {
            began,
            ended: Some(now()),
            done: reader.read,
            total: reader.read,
            whole: done.whole,
            learned: done.learned,
            problems,
            inside,
        };
        let found = PointRecord { at: now(), damaged: verification.is_damaged() };
        let there: Vec<String> = place.points().iter().map(|one| one.name().to_owned()).collect();
        self.change(&place.name, |record| record.note_point(point.name(), found, &there));
        Ok(verification)
    }

    /// Checks the file systems in the image if all bands are whole. In words how far.
    fn inside(
        &self,
        volume: &Arc<Volume>,
        bundle: &BackupImage<'_>,
        is_read: bool,
        found: &mut Vec<BackupProblem>,
    ) -> Option<String> {
        if !is_read || found.iter().any(|problem| problem.damage) {
            return None;
        }
        let inside = inside::check(volume, bundle, &|| !self.has_stopped());
        found.extend(inside.problems);
        Some(inside.outcome)
    }
}

fn open<'a>(volume: &'a Volume, bundle: &[u8]) -> anyhow::Result<BackupImage<'a>> {
    BackupImage::open(volume, bundle).context("the bundle is not there")
}

/// Bytes of the bands, at most.
fn total(place: &Place<'_>) -> u64 {
    let all = place.volume.backup_bundles().all().unwrap_or_default();
    all.iter().find(|one| one.name == place.bundle).and_then(|one| one.size).unwrap_or(0)
}

/// With which band a verification goes on; 0: it begins.
fn continued(record: &BackupRecord) -> u64 {
    let goes_on = record.verification.as_ref().is_some_and(|last| last.ended.is_none());
    if goes_on { record.next_band } else { 0 }
}

fn is_due(record: &BackupRecord, every: Duration, now: i64) -> bool {
    let every = i64::try_from(every.as_secs()).unwrap_or(i64::MAX);
    match record.verification.as_ref().map(|last| (last.began, last.ended)) {
        None | Some((_, None)) => true,
        Some((_, Some(ended))) => now - ended >= every,
    }
}

/// Notes a part of a verification: from which band, of how many bytes, and how many of them were read.
fn note(
    record: &mut BackupRecord,
    (from, total, read): (u64, u64, u64),
    done: &BandsChecked,
    found: Vec<BackupProblem>,
) {
    let begun = record.verification.take().filter(|last| from > 0 && last.ended.is_none());
    let mut now_known =
        begun.unwrap_or_else(|| BackupVerification { began: now(), total, ..BackupVerification::default() });
    now_known.done = now_known.done.saturating_add(read);
    now_known.total = now_known.total.max(now_known.done);
    now_known.whole += done.whole;
    now_known.learned += done.learned;
    now_known.problems.extend(found);
    now_known.problems.truncate(MOST_PROBLEMS);
    if done.next.is_none() {
        now_known.ended = Some(now());
        now_known.total = now_known.done;
    }
    record.next_band = done.next.unwrap_or(0);
    record.verification = Some(now_known);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(next: Option<u64>) -> BandsChecked {
        BandsChecked { whole: 5, next, ..BandsChecked::default() }
    }

    #[test]
    fn a_verification_in_parts_is_one() {
        let mut record = BackupRecord::default();
        let problem = BackupProblem { kind: "band-rotten".into(), text: "x".into(), damage: true };
        assert!(is_due(&record, Duration::from_secs(100), now()));
        note(&mut record, (0, 1000, 400), &checked(Some(7)), vec![problem]);
        assert_eq!(continued(&record), 7);
        note(&mut record, (7, 1000, 300), &checked(None), Vec::new());
        let verification = record.verification.clone().unwrap();
        assert_eq!((verification.done, verification.total, verification.whole), (700, 700, 10));
        assert!(verification.is_damaged() && verification.ended.is_some());
        assert_eq!(continued(&record), 0, "the next begins anew");
        assert!(!is_due(&record, Duration::from_secs(100), now()));
        assert!(is_due(&record, Duration::from_secs(100), now() + 200));
        note(&mut record, (0, 1000, 400), &checked(None), Vec::new());
        assert!(!record.verification.unwrap().is_damaged(), "what the last one found counts");
    }
}
