//! The way back: a bundle is put back to a restore point, moved to another share, and what that has kept is removed.
//!
//! ```text
//! roll back:  the newest point that verifies ─► its files, under a name that Macs do not know ─► the two change places
//! move:       its files in the other share, the same way ─► what was there gets a name that Macs do not know
//! ```
//!
//! Nothing is lost before a person says so: the damaged bundle, or the one that was moved, stays until `discard`.

use admin::control::{BackupName, Progress, RestoreRequest};
use anyhow::{Context, bail};
use jiff::Zoned;
use vfs::names::{from_text_view, text_view};
use vfs::{BackupImage, Error, Restore, RestoreObserver, RestoreOptions, RestoreOutcome};

use super::{Backups, Place, Point, inside};
use crate::shares::restoring;

/// What a name ends with while its files are being made.
const UNFINISHED: &str = "rolling-back";

impl Backups {
    /// Puts a bundle back to a restore point: to this one, or to the newest that verifies. Lines about it.
    ///
    /// # Errors
    /// A Mac writes into it, no point verifies, or the disk fails: the bundle is as it was.
    pub(crate) fn roll_back(
        &self,
        place: &Place<'_>,
        (snapshot, dry_run): (Option<&str>, bool),
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<Vec<String>> {
        let _working = self.work()?;
        check_changeable(place)?;
        let point = self.good_point(place, snapshot, progress)?;
        let name = &place.name.bundle;
        if dry_run {
            return Ok(vec![format!("{name} would be put back to {}", point.name())]);
        }
        let (staging, kept) = (staging(place), kept(place, "damaged"));
        self.clear(place, &staging)?;
        let replaced = stage(place, &point, &staging, progress)
            .and_then(|()| exchange(place, &point, (&staging, &kept)).map_err(|error| in_words(error, name)));
        if let Err(error) = replaced {
            let _ = self.clear(place, &staging); // the first error counts
            return Err(error);
        }
        self.change(&place.name, |record| {
            record.kept.push(kept.clone());
            (record.verification, record.next_band) = (None, 0);
            (record.is_unlearned, record.next_unlearned) = (true, 0);
            record.is_point_due = true;
        });
        tracing::info!(
            share = place.share.name,
            bundle = name,
            point = point.name(),
            "backups of a Mac rolled back"
        );
        Ok(vec![
            format!("{name} is again as it was in {}", point.name()),
            format!("what was there is kept as {kept:?}; `fourfold backups discard` removes it"),
        ])
    }

    /// The restore point that is wanted, or the newest that verifies.
    fn good_point(
        &self,
        place: &Place<'_>,
        wanted: Option<&str>,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<Point> {
        let points = place.points();
        if points.is_empty() {
            bail!(
                "the share {} has no snapshot with {}; `time-machine-snapshots` takes one after each backup, and \
                 `time-machine-journal` makes points where the file system has no snapshots",
                place.share.name,
                place.name.bundle
            );
        }
        let candidates: Vec<Point> = match wanted {
            None => points,
            Some(wanted) => points.into_iter().filter(|point| point.name() == wanted).collect(),
        };
        // A point whose bands are whole, but not the file systems in them, is better than none.
        let (mut why, mut doubtful) = (Vec::new(), None);
        for point in candidates {
            let verification = self.verified_point(place, &point, progress)?;
            match verification.problems.iter().find(|problem| problem.damage) {
                None if verification.problems.iter().all(|problem| problem.kind != inside::KIND) => {
                    return Ok(point);
                }
                None => _ = doubtful.get_or_insert(point),
                Some(problem) => why.push(format!("{}: {}", point.name(), problem.text)),
            }
        }
        if let Some(point) = doubtful {
            return Ok(point);
        }
        match wanted {
            Some(wanted) if why.is_empty() => bail!("there is no restore point {wanted:?}"),
            _ => bail!("no restore point is whole: {}", why.join("; ")),
        }
    }

    /// Removes what rollbacks and moves have kept. Lines about it.
    ///
    /// # Errors
    /// The disk fails; the rest stays.
    pub(crate) fn discard(
        &self,
        place: &Place<'_>,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<Vec<String>> {
        let _working = self.work()?;
        let (mut lines, mut done) = (Vec::new(), 0);
        for kept in self.record(&place.name).kept {
            let mut goes_on = || {
                done += 1;
                progress(Progress { done, total: 0 })
            };
            match place.volume.backup_bundles().remove_at_top(&from_text_view(&kept), &mut goes_on) {
                Ok(()) | Err(Error::NotFound) => {}
                Err(error) => return Err(error).with_context(|| format!("{kept:?} is not removed")),
            }
            self.change(&place.name, |record| record.kept.retain(|name| *name != kept));
            lines.push(format!("{kept:?} is removed"));
        }
        if lines.is_empty() {
            bail!("nothing is kept of {}", place.name.bundle);
        }
        Ok(lines)
    }

    /// Moves a bundle to another share. Lines about it.
    ///
    /// # Errors
    /// A Mac writes into it, the other share has one of this name, or a disk fails: the bundle is where it was.
    pub(crate) fn move_to(
        &self,
        place: &Place<'_>,
        to: &str,
        progress: &dyn Fn(Progress) -> bool,
    ) -> anyhow::Result<Vec<String>> {
        let _working = self.work()?;
        check_changeable(place)?;
        let shares = &place.current.settings.shares;
        let target = shares.iter().find(|share| share.name == to && share.name != place.share.name);
        let target = target.with_context(|| format!("there is no other share {to:?}"))?;
        if !target.time_machine || target.read_only {
            bail!("no Mac can back up to the share {to}; `fourfold set time-machine=on {to}` changes that");
        }
        let volume = place.volumes.open(target, &place.current.settings)?;
        let name = &place.name.bundle;
        if BackupImage::open(&volume, &place.bundle).is_ok() {
            bail!("the share {to} has a bundle {name:?} already");
        }
        let (staging, kept) = (from_text_view(&staging(place)), kept(place, "moved"));
        let mut copying = Copying { progress, bytes: 0, refused: None };
        let made = Restore::new(&place.volume, &volume, RestoreOptions::default(), &mut copying)
            .run(&[place.bundle.as_slice()], &[staging.as_slice()]);
        let whole = match (made, copying.refused) {
            (Err(error), _) => Err(in_words(error, name)),
            (Ok(false), _) => Err(anyhow::anyhow!("the move was ended")),
            (Ok(true), Some(why)) => Err(anyhow::anyhow!("{why}")),
            (Ok(true), None) => check_changeable(place),
        };
        let moved = whole.and_then(|()| {
            volume
                .backup_bundles()
                .rename_at_top(&staging, &place.bundle)
                .map_err(|error| in_words(error, name))
        });
        if let Err(error) = moved {
            let _ = volume.backup_bundles().remove_at_top(&staging, &mut || true); // the first error counts
            return Err(error);
        }
        place
            .volume
            .backup_bundles()
            .rename_at_top(&place.bundle, &from_text_view(&kept))
            .map_err(|error| in_words(error, name))?;
        let moved = BackupName { share: to.to_owned(), bundle: name.clone() };
        self.renamed(&place.name, &moved);
        tracing::info!(share = place.share.name, bundle = name, to, "backups of a Mac moved");
        Ok(vec![
            format!("{name} is in the share {to} now; choose that share in Time Machine on the Mac"),
            format!(
                "the old one is kept as {kept:?} in {}; remove it when the Mac has backed up",
                place.share.name
            ),
        ])
    }

    pub(super) fn renamed(&self, from: &BackupName, to: &BackupName) {
        let record = self.record(from);
        self.folder.rename(from, to);
        let mut records = self.records.lock();
        records.remove(from);
        records.insert(to.clone(), record);
    }

    /// Removes what a rollback has left that did not come to its end.
    fn clear(&self, place: &Place<'_>, staging: &str) -> anyhow::Result<()> {
        match place.volume.backup_bundles().remove_at_top(&from_text_view(staging), &mut || true) {
            Ok(()) | Err(Error::NotFound) => Ok(()),
            Err(error) => {
                Err(error).with_context(|| format!("{staging:?} is in the way, and is not removed"))
            }
        }
    }
}

/// Counts the bytes of a move, and keeps the first refusal.
struct Copying<'a> {
    progress: &'a dyn Fn(Progress) -> bool,
    bytes: u64,
    refused: Option<String>,
}

impl RestoreObserver for Copying<'_> {
    fn done(&mut self, path: &[u8], what: RestoreOutcome) {
        if let RestoreOutcome::Refused(error) = what {
            self.refused.get_or_insert_with(|| format!("{} cannot be copied: {error}", text_view(path)));
        }
    }

    fn bytes(&mut self, count: u64) -> bool {
        self.bytes = self.bytes.saturating_add(count);
        (self.progress)(Progress { done: self.bytes, total: 0 })
    }
}

/// Makes the files of a point in a folder beside the bundle.
fn stage(
    place: &Place<'_>,
    point: &Point,
    staging: &str,
    progress: &dyn Fn(Progress) -> bool,
) -> anyhow::Result<()> {
    let to = from_text_view(staging);
    let point = match point {
        Point::Journal(point) => point,
        Point::Snapshot(snapshot) => {
            let request = RestoreRequest {
                share: place.share.name.clone(),
                snapshot: snapshot.name.clone(),
                path: place.bundle.clone(),
                to,
                keep: false,
                delete: false,
                dry_run: false,
            };
            let made = restoring::restore(&place.current.settings, place.volumes, &request, progress)?;
            return match made.refused {
                0 => Ok(()),
                refused => bail!("{refused} files of the restore point could not be made"),
            };
        }
    };
    let mut done = 0;
    let mut bytes = |count| {
        done += count;
        progress(Progress { done, total: 0 })
    };
    match place.volume.backup_journals().stage((&place.bundle, &point.name), &to, &mut bytes) {
        Ok(true) => Ok(()),
        Ok(false) => bail!("the rollback was ended"),
        Err(error) => Err(in_words(error, &place.name.bundle)),
    }
}

/// Lets the staged files and the bundle change places. Points of a journal that are of another bundle now are gone.
fn exchange(place: &Place<'_>, point: &Point, (staging, kept): (&str, &str)) -> vfs::Result<()> {
    let (volume, staging, kept) = (&place.volume, from_text_view(staging), from_text_view(kept));
    match point {
        Point::Journal(point) => {
            volume.backup_journals().put_back((&place.bundle, &point.name), &staging, &kept)
        }
        Point::Snapshot(_) => {
            volume.backup_bundles().replace(&staging, &place.bundle, &kept)?;
            volume.backup_journals().end(&place.bundle)
        }
    }
}

pub(super) fn check_changeable(place: &Place<'_>) -> anyhow::Result<()> {
    if place.share.read_only {
        bail!("the share {} is read-only", place.share.name);
    }
    let bundle = BackupImage::open(&place.volume, &place.bundle).context("the bundle is not there")?;
    if bundle.is_written()? {
        bail!("{}", in_words(Error::Busy, &place.name.bundle));
    }
    Ok(())
}

pub(super) fn in_words(error: Error, bundle: &str) -> anyhow::Error {
    match error {
        Error::Busy => anyhow::anyhow!(
            "a Mac writes into {bundle} now; stop its backup, or end its session with `fourfold disconnect`, and try again"
        ),
        other => anyhow::Error::new(other).context(format!("{bundle} stays as it is")),
    }
}

/// Its name has no ending that Macs look for.
fn staging(place: &Place<'_>) -> String {
    format!("{}.{UNFINISHED}", place.stem())
}

/// The same for what is kept.
fn kept(place: &Place<'_>, why: &str) -> String {
    format!("{} ({why} {})", place.stem(), Zoned::now().strftime("%Y-%m-%d %H.%M.%S"))
}
