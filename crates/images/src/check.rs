//! Checking what is in an image, read-only: every structure that has a checksum, a neighbour or a second place.

use std::sync::Arc;

use crate::content::{self, Content};
use crate::{Error, Passphrase, ReadAt, Result, Source, containers, partitions};

/// Damage that a check has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The structure in the words of its specification, such as "catalogue node 17".
    pub structure: String,
    /// Where it begins, in bytes of the volume or disk that has it.
    pub place: Option<u64>,
    /// The file or folder that it belongs to: its path if that is known, or else its number.
    pub file: Option<String>,
    /// What is wrong.
    pub problem: String,
}

impl Problem {
    /// Damage of a structure.
    pub fn new(structure: impl Into<String>, place: Option<u64>, problem: impl Into<String>) -> Self {
        Self { structure: structure.into(), place, file: None, problem: problem.into() }
    }

    /// The same, with the file that is concerned.
    #[must_use]
    pub fn of_file(self, file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..self }
    }
}

/// From where a check goes on: what is before was finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Resume {
    /// The volume, in the order of [`crate::open`].
    pub volume: u32,
    /// The step of its check.
    pub step: u32,
}

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Where the check goes on if it is stopped now.
    pub resume: Resume,
    /// What is checked now, for people.
    pub step: &'static str,
    /// How much of this step is done.
    pub done: u64,
    /// How much this step has, in the same unit.
    pub total: u64,
}

/// What a check reports to.
pub trait Observer {
    /// Called after every few pieces of work. `false` stops the check. A check at low priority waits here.
    fn progress(&mut self, progress: &Progress) -> bool;

    /// Called for each damage.
    fn problem(&mut self, problem: Problem);
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// Whether it came to its end; `false` if the observer has stopped it.
    pub finished: bool,
    /// How many volumes were checked.
    pub volumes: u32,
    /// What was not checked, and why, for people: encrypted volumes, formats that are not known.
    pub unchecked: Vec<String>,
}

/// The steps of the check of one volume.
pub struct Steps<'a> {
    observer: &'a mut dyn Observer,
    from: u32,
    progress: Progress,
    stopped: bool,
    found: u64,
}

impl<'a> Steps<'a> {
    /// The steps of a volume, of which those before `from.step` are finished.
    pub fn new(observer: &'a mut dyn Observer, from: Resume) -> Self {
        let progress = Progress { resume: from, step: "", done: 0, total: 0 };
        Self { observer, from: from.step, progress, stopped: false, found: 0 }
    }

    /// Begins a step. `false` if it is finished already, or the check was stopped.
    pub fn begin(&mut self, step: u32, name: &'static str, total: u64) -> bool {
        if self.stopped || step < self.from {
            return false;
        }
        let resume = Resume { step, ..self.progress.resume };
        self.progress = Progress { resume, step: name, done: 0, total };
        self.at(0)
    }

    /// Reports how much of the step is done. `false` stops the check.
    #[must_use]
    pub fn at(&mut self, done: u64) -> bool {
        self.progress.done = done;
        self.stopped = self.stopped || !self.observer.progress(&self.progress);
        !self.stopped
    }

    /// Reports damage.
    pub fn problem(&mut self, problem: Problem) {
        self.found += 1;
        self.observer.problem(problem);
    }

    /// How much damage was reported.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// Whether the observer has stopped the check.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }
}

/// Checks an image: its container, its partitions and each volume whose format is known.
///
/// # Errors
///
/// As [`crate::open`]; [`Error::Source`] if the source cannot be read. Damage is no error: the observer is told of it.
pub fn check(
    source: &Source,
    passphrase: Option<&Passphrase>,
    from: Resume,
    observer: &mut dyn Observer,
) -> Result<Checked> {
    let image = match containers::open(source, passphrase) {
        Err(Error::Damaged { structure, place, problem }) => {
            observer.problem(Problem::new(structure, Some(place), problem));
            return Ok(Checked { finished: true, ..Checked::default() });
        }
        opened => opened?,
    };
    let table = partitions::read(&image.disk)?;
    if from == Resume::default() {
        table.problems.iter().cloned().for_each(|problem| observer.problem(problem));
        if let Some(check) = &image.check {
            check(&mut Steps::new(observer, from))?;
        }
    }
    let mut checked = Checked { finished: true, ..Checked::default() };
    for (number, partition) in table.partitions.iter().enumerate() {
        let number = number as u32;
        if number < from.volume {
            continue;
        }
        let step = if number == from.volume { from.step } else { 0 };
        let mut steps = Steps::new(observer, Resume { volume: number, step });
        let bytes = partition.bytes(&image.disk);
        check_partition(content::of(partition, &bytes), bytes, passphrase, &mut steps, &mut checked)?;
        if steps.is_stopped() {
            return Ok(Checked { finished: false, ..checked });
        }
    }
    Ok(checked)
}

fn check_partition(
    content: Content,
    bytes: Arc<dyn ReadAt>,
    passphrase: Option<&Passphrase>,
    steps: &mut Steps<'_>,
    checked: &mut Checked,
) -> Result<()> {
    let result = content::check(content, bytes, passphrase, steps);
    match result {
        Ok(true) => checked.volumes += 1,
        Ok(false) if content == Content::Unknown => {}
        Ok(false) => checked.unchecked.push(format!("{}: its format is not checked", content.name())),
        Err(Error::Damaged { structure, place, problem }) => {
            steps.problem(Problem::new(structure, Some(place), problem));
            checked.volumes += 1;
        }
        Err(Error::Passphrase) => {
            checked.unchecked.push(format!("{}: it is encrypted", content.name()));
        }
        Err(error @ Error::NotSupported(_)) => {
            checked.unchecked.push(format!("{}: {error}", content.name()));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}
