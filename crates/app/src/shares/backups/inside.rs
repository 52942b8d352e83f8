//! The file systems in the image of a bundle, checked for a person who waits, or in the background after a verification. What is
//! found is told, and does not make the bundle damaged by itself: the Mac has the last word about its own file systems.
//!
//! The background works at low priority. It stops when a Mac writes or a person asks for something, and goes on later with the
//! first step that it has not finished.

use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::control::{BackupName, BackupProblem};
use images::check::{self, Checked, Observer, Problem, Progress, Resume};
use serde::{Deserialize, Serialize};
use vfs::{BackupImage, Error, Volume, image_of};

use super::record::BackupRecord;
use super::{Backups, Place};

/// The word for what is wrong inside of an image.
pub(super) const KIND: &str = "image";
/// Problems that are told of an image: the rest follows from the first ones.
const MOST_PROBLEMS: usize = 50;

/// The background rests as long as a piece took, but no longer than this.
const LONGEST_REST: Duration = Duration::from_millis(200);

/// How far a check in the background is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct InsideRecord {
    /// The volume and the step with which it goes on.
    volume: u32,
    step: u32,
    /// What the finished steps have found.
    problems: Vec<BackupProblem>,
}

/// What a check inside of an image has found.
#[derive(Debug, Default)]
pub(super) struct Inside {
    pub(super) problems: Vec<BackupProblem>,
    /// How far it came, in words.
    pub(super) outcome: String,
}

struct Found<'a> {
    problems: Vec<BackupProblem>,
    goes_on: &'a dyn Fn() -> bool,
}

impl Observer for Found<'_> {
    fn progress(&mut self, _: &Progress) -> bool {
        self.problems.len() < MOST_PROBLEMS && (self.goes_on)()
    }

    fn problem(&mut self, problem: Problem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(told(&problem));
        }
    }
}

/// A check in the background.
struct Slow<'a> {
    /// What finished steps have found, and where the check is.
    done: InsideRecord,
    /// What this step has found.
    found: Vec<BackupProblem>,
    last: Instant,
    goes_on: &'a dyn Fn() -> bool,
    step_done: &'a dyn Fn(&InsideRecord),
}

impl Observer for Slow<'_> {
    fn progress(&mut self, now: &Progress) -> bool {
        let Resume { volume, step } = now.resume;
        if (volume, step) != (self.done.volume, self.done.step) {
            self.done.problems.append(&mut self.found);
            (self.done.volume, self.done.step) = (volume, step);
            (self.step_done)(&self.done);
        }
        std::thread::sleep(self.last.elapsed().min(LONGEST_REST)); // as long as the piece took: disks have other users
        self.last = Instant::now();
        self.done.problems.len() + self.found.len() < MOST_PROBLEMS && (self.goes_on)()
    }

    fn problem(&mut self, problem: Problem) {
        if self.done.problems.len() + self.found.len() < MOST_PROBLEMS {
            self.found.push(told(&problem));
        }
    }
}

impl Backups {
    /// The bundles whose images are to be checked in the background: those that a verification has found whole.
    pub(crate) fn unchecked_inside(&self) -> Vec<BackupName> {
        self.known(is_due)
    }

    /// Checks the file systems in the image of a bundle, or goes on with that.
    pub(crate) fn check_inside(&self, place: &Place<'_>) {
        let name = &place.name;
        let goes_on = || !self.must_pause() && is_due(&self.record(name));
        let step_done = |done: &InsideRecord| self.change(name, |record| record.inside = Some(done.clone()));
        let done = self.record(name).inside.unwrap_or_default();
        let from = Resume { volume: done.volume, step: done.step };
        let mut slow =
            Slow { done, found: Vec::new(), last: Instant::now(), goes_on: &goes_on, step_done: &step_done };
        let checked = match BackupImage::open(&place.volume, &place.bundle) {
            Ok(bundle) if bundle.is_encrypted() == Some(false) => image_of(&place.volume, &bundle)
                .map_err(images::Error::Source)
                .and_then(|source| check::check(&source, None, from, &mut slow)),
            Ok(_) => Err(images::Error::NotSupported("the image is encrypted".into())),
            Err(error) => Err(images::Error::Source(error)),
        };
        let is_full = slow.done.problems.len() + slow.found.len() >= MOST_PROBLEMS;
        let outcome = match checked {
            Ok(checked) if checked.finished || is_full => outcome(&checked),
            Ok(_) | Err(images::Error::Source(Error::Stale)) => return, // it goes on later
            Err(error) => format!("not checked: {error}"),
        };
        let problems: Vec<BackupProblem> = slow.done.problems.into_iter().chain(slow.found).collect();
        self.change(name, |record| {
            record.inside = None;
            // Another verification may have begun, or a rollback was made.
            if is_due(record)
                && let Some(last) = record.verification.as_mut()
            {
                last.problems.extend(problems);
                last.inside = Some(outcome);
            }
        });
    }
}

/// Whether the image is to be checked: a verification has found all bands whole, no check of the image came after it, and no Mac has the
/// bundle open.
fn is_due(record: &BackupRecord) -> bool {
    let is_whole = record
        .verification
        .as_ref()
        .is_some_and(|last| last.ended.is_some() && last.inside.is_none() && !last.is_damaged());
    is_whole && record.session.is_none()
}

/// Checks the file systems in an image. An encrypted one stays closed.
pub(super) fn check(volume: &Arc<Volume>, bundle: &BackupImage<'_>, goes_on: &dyn Fn() -> bool) -> Inside {
    let not_checked = |why: String| Inside { outcome: format!("not checked: {why}"), ..Inside::default() };
    if bundle.is_encrypted() != Some(false) {
        return not_checked("the image is encrypted".into());
    }
    let source = match image_of(volume, bundle) {
        Ok(source) => source,
        Err(error) => return not_checked(error.to_string()),
    };
    let mut found = Found { problems: Vec::new(), goes_on };
    match check::check(&source, None, Resume::default(), &mut found) {
        Ok(checked) => Inside { outcome: outcome(&checked), problems: found.problems },
        Err(error) => Inside { problems: found.problems, ..not_checked(error.to_string()) },
    }
}

fn outcome(checked: &Checked) -> String {
    let count = checked.volumes;
    let end = if checked.finished { "" } else { ", not to their ends" };
    let volumes = format!("{count} file system{} checked{end}", if count == 1 { "" } else { "s" });
    match checked.unchecked.as_slice() {
        [] => volumes,
        others => format!("{volumes}; not checked: {}", others.join("; ")),
    }
}

fn told(problem: &Problem) -> BackupProblem {
    let place = problem.place.map(|place| format!(" at byte {place}")).unwrap_or_default();
    let file = problem.file.as_ref().map(|file| format!(" ({file})")).unwrap_or_default();
    let text = format!("in the image, {}{place}: {}{file}", problem.structure, problem.problem);
    BackupProblem { kind: KIND.into(), text, damage: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_told_with_its_structure_place_and_file() {
        let problem =
            Problem::new("catalogue node 17", Some(4096), "it has a wrong kind").of_file("Users/ada");
        let told = told(&problem);
        assert_eq!(
            told.text,
            "in the image, catalogue node 17 at byte 4096: it has a wrong kind (Users/ada)"
        );
        assert!(!told.damage);
    }

    #[test]
    fn a_check_in_the_background_keeps_what_finished_steps_have_found() {
        let kept = std::cell::RefCell::new(InsideRecord::default());
        let step_done = |done: &InsideRecord| *kept.borrow_mut() = done.clone();
        let mut slow = Slow {
            done: InsideRecord::default(),
            found: Vec::new(),
            last: Instant::now(),
            goes_on: &|| true,
            step_done: &step_done,
        };
        let at = |step| Progress { resume: Resume { volume: 0, step }, step: "", done: 0, total: 0 };
        assert!(slow.progress(&at(0)));
        slow.problem(Problem::new("catalogue", None, "one"));
        assert!(kept.borrow().problems.is_empty(), "the step is repeated after a stop");
        assert!(slow.progress(&at(1)));
        slow.problem(Problem::new("bitmap", None, "two"));
        let kept = kept.borrow();
        assert_eq!((kept.step, kept.problems.len()), (1, 1));
    }

    #[test]
    fn images_are_checked_after_a_verification_and_not_while_a_mac_writes() {
        use admin::control::BackupVerification;
        let verified = |ended| {
            let verification = Some(BackupVerification { ended, ..BackupVerification::default() });
            BackupRecord { verification, ..BackupRecord::default() }
        };
        assert!(is_due(&verified(Some(5))));
        assert!(!is_due(&verified(None)) && !is_due(&BackupRecord::default()));
        let mut checked = verified(Some(5));
        checked.verification.as_mut().unwrap().inside = Some("1 file system checked".into());
        assert!(!is_due(&checked));
    }

    #[test]
    fn what_was_not_checked_is_said() {
        let checked = Checked { finished: true, volumes: 1, unchecked: vec!["ext4".into()] };
        assert_eq!(outcome(&checked), "1 file system checked; not checked: ext4");
        let stopped = Checked { finished: false, volumes: 2, unchecked: Vec::new() };
        assert_eq!(outcome(&stopped), "2 file systems checked, not to their ends");
    }
}
