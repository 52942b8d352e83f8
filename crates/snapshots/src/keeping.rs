//! Keeping a schedule: taking what is due, renumbering, removing what is too old.
//!
//! Of a period with the count N there are `hourly.0`, the newest, to `hourly.N-1`. A run does this:
//!
//! 1. It takes `hourly.new`, if a snapshot is due.
//! 2. It renames those before the first free number, the highest first: 1 to 2, 0 to 1.
//! 3. It renames `hourly.new` to `hourly.0`.
//! 4. It removes the numbers from N on. A held one leaves the numbering instead, as
//!    `hourly-20261123T013400Z`, which is its time. The first run after its release removes it.
//!
//! A higher number is older at every moment. After a crash between two steps the next run finds
//! `hourly.new`, or too high a number, and goes on from there. Nothing is removed before its
//! successor exists.

use std::fs::File;
use std::time::SystemTime;

use auth::durable;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::schedule::{Period, Schedule};
use crate::{Dataset, EngineKind, FOLDER, Refusal, Snapshot, steps};

/// What a run did, for the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The names of new snapshots.
    pub taken: Vec<String>,
    /// The names of removed snapshots, and why.
    pub removed: Vec<(String, String)>,
    /// Held snapshots that left the numbering: the old and the new name.
    pub set_aside: Vec<(String, String)>,
    /// Sentences about what could not be done.
    pub warnings: Vec<String>,
}

impl Dataset {
    /// Takes the snapshots that are due, and removes what the schedule does not keep.
    ///
    /// # Errors
    /// The engine failed. The next run goes on from there.
    pub fn keep(&self, schedule: &Schedule, now: SystemTime, zone: &TimeZone) -> Result<Report, Refusal> {
        self.recover()?;
        let _lock = self.keeping_lock()?;
        let mut report = Report::default();
        for (period, count) in &schedule.rows {
            self.keep_period(*period, *count, now, zone, &mut report)?;
        }
        Ok(report)
    }

    /// Keeps the newest snapshots whose names begin so, and held ones, and removes the others.
    ///
    /// # Errors
    /// The engine failed.
    pub fn keep_newest(&self, prefix: &str, count: usize) -> Result<Report, Refusal> {
        let mut report = Report::default();
        let all = self.list()?;
        for over in all.iter().filter(|one| one.name.starts_with(prefix)).skip(count) {
            if over.held.is_empty() {
                self.remove(&over.name)?;
                report.removed.push((over.name.clone(), format!("{count} of {prefix} are kept")));
            }
        }
        Ok(report)
    }

    /// Removes the oldest snapshots that are not held while the disk has less free space than
    /// `floor` bytes. The newest snapshot stays.
    ///
    /// # Errors
    /// The engine failed.
    pub fn make_room(&self, floor: u64) -> Result<Report, Refusal> {
        self.make_room_by(floor, || {
            self.settle()?;
            let space = rustix::fs::statvfs(self.folder()).map_err(Refusal::io("read", self.folder()))?;
            Ok(space.f_bavail.saturating_mul(space.f_frsize))
        })
    }

    /// The same with another measure of free space.
    ///
    /// # Errors
    /// The engine or the measure failed.
    pub fn make_room_by(
        &self,
        floor: u64,
        free: impl Fn() -> Result<u64, Refusal>,
    ) -> Result<Report, Refusal> {
        let mut report = Report::default();
        let all = self.list()?;
        let mut removable = all.iter().skip(1).rev().filter(|snapshot| snapshot.held.is_empty());
        loop {
            let free = free()?;
            if free >= floor {
                return Ok(report);
            }
            let Some(oldest) = removable.next() else {
                report.warnings.push(format!(
                    "{}: {free} bytes are free, less than the floor of {floor}, and no snapshot is left that \
                     may be removed; release holds, remove files, or lower the floor",
                    self.folder().display()
                ));
                return Ok(report);
            };
            self.remove(&oldest.name)?;
            let why = format!("{free} bytes were free, less than the floor of {floor}");
            report.removed.push((oldest.name.clone(), why));
            steps::pass()?;
        }
    }

    /// Two processes do not renumber at the same time. The folder is missing before the first
    /// snapshot. Recovery has verified it, except for ZFS, which needs none: there a second process
    /// fails because `hourly.new` exists.
    fn keeping_lock(&self) -> Result<Option<File>, Refusal> {
        let own = self.folder().join(FOLDER);
        if self.engine() == EngineKind::Zfs || !own.is_dir() {
            return Ok(None);
        }
        let lock = own.join(".keeping");
        durable::lock(&lock).map(Some).map_err(Refusal::io("lock", &lock))
    }

    fn keep_period(
        &self,
        period: Period,
        count: u32,
        now: SystemTime,
        zone: &TimeZone,
        report: &mut Report,
    ) -> Result<(), Refusal> {
        let fresh = format!("{}.new", period.name());
        let all = self.list()?;
        let named = |name: &str| all.iter().find(|snapshot| snapshot.name == name);
        let is_unfinished = named(&fresh).is_some();
        // After a crash between two renames, the newest one has another number than 0.
        let newest = all.iter().find(|snapshot| period.number(&snapshot.name).is_some());
        if is_unfinished || period.is_due(newest.map(|newest| newest.created), now, zone) {
            if !is_unfinished {
                self.create(&fresh, now)?;
                steps::pass()?;
            }
            let first_free = (0..).find(|number| named(&period.numbered(*number)).is_none()).unwrap_or(0);
            for number in (0..first_free).rev() {
                self.rename(&period.numbered(number), &period.numbered(number + 1))?;
                steps::pass()?;
            }
            self.rename(&fresh, &period.numbered(0))?;
            steps::pass()?;
            report.taken.push(period.numbered(0));
        }
        self.prune(period, count, report)
    }

    fn prune(&self, period: Period, count: u32, report: &mut Report) -> Result<(), Refusal> {
        // The oldest first.
        for snapshot in self.list()?.iter().rev() {
            let name = &snapshot.name;
            let is_over = period.number(name).is_some_and(|number| number >= count);
            let is_aside = *name == aside(period, snapshot);
            if is_over && !snapshot.held.is_empty() {
                let to = aside(period, snapshot);
                self.rename(name, &to)?;
                report.set_aside.push((name.clone(), to));
                steps::pass()?;
            } else if is_over || (is_aside && snapshot.held.is_empty()) {
                self.remove(name)?;
                let why = format!("the schedule keeps {count} of {}", period.name());
                report.removed.push((name.clone(), why));
                steps::pass()?;
            }
        }
        Ok(())
    }
}

/// The name of a snapshot that left the numbering.
fn aside(period: Period, snapshot: &Snapshot) -> String {
    let created = Timestamp::try_from(snapshot.created).unwrap_or_default();
    format!("{}-{}", period.name(), created.strftime("%Y%m%dT%H%M%SZ"))
}
