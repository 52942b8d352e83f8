//! The file systems in the image of a bundle, checked for a person who waits. What is found is told, and does not make the bundle
//! damaged by itself: the Mac has the last word about its own file systems.

use std::sync::Arc;

use admin::control::BackupProblem;
use images::check::{self, Checked, Observer, Problem, Progress, Resume};
use vfs::{BackupImage, Caller, Volume, image_at};

/// The word for what is wrong inside of an image.
pub(super) const KIND: &str = "image";
/// Problems that are told of an image: the rest follows from the first ones.
const MOST_PROBLEMS: usize = 50;

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

/// Checks the file systems in an image. An encrypted one stays closed.
pub(super) fn check(volume: &Arc<Volume>, bundle: &BackupImage<'_>, goes_on: &dyn Fn() -> bool) -> Inside {
    let not_checked = |why: String| Inside { outcome: format!("not checked: {why}"), ..Inside::default() };
    if bundle.is_encrypted() != Some(false) {
        return not_checked("the image is encrypted".into());
    }
    let source = match image_at(volume, &Caller::root(), &bundle.folder) {
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
    fn what_was_not_checked_is_said() {
        let checked = Checked { finished: true, volumes: 1, unchecked: vec!["ext4".into()] };
        assert_eq!(outcome(&checked), "1 file system checked; not checked: ext4");
        let stopped = Checked { finished: false, volumes: 2, unchecked: Vec::new() };
        assert_eq!(outcome(&stopped), "2 file systems checked, not to their ends");
    }
}
