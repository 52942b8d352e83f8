//! What happened.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lock::{Mutex, MutexGuard};
use serde::Serialize;

use crate::ranks;

/// Paths that a report names for one loss.
const EXAMPLES: usize = 20;
/// Failures that a report names.
const FAILURES: usize = 10_000;

/// A file that was not copied, or that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Its path below the folder.
    pub path: String,
    /// Why.
    pub why: String,
}

/// Something that did not survive, of some files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Loss {
    /// How many files lost it.
    pub files: u64,
    /// Why, of the first.
    pub why: String,
    /// Some of them.
    pub examples: Vec<String>,
}

/// Owners, groups, modes and lists of the copies: how many are those of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct RightsReport {
    /// The same.
    pub carried: BTreeMap<String, u64>,
    /// The same in another form, or of the account that is meant.
    pub mapped: BTreeMap<String, u64>,
    /// Others: nobody may do more than in the source, or, if the source does not say who may, than in the folder.
    pub replaced: BTreeMap<String, Loss>,
    /// Rights that the source may have and has not shown, and what to do about it.
    pub unseen: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Report {
    /// Files that were copied, or compared.
    pub files: u64,
    /// Bytes of their data.
    pub bytes: u64,
    /// Files that were there already.
    pub unchanged: u64,
    /// Of the copied files, those that took the place of another one.
    pub overwritten: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic links.
    pub links: u64,
    /// Files and folders that were removed from the destination.
    pub removed: u64,
    /// What did not survive, by kind.
    pub lost: BTreeMap<String, Loss>,
    /// Who may use the copies.
    pub rights: RightsReport,
    /// Files that failed, the first 10,000.
    pub failed: Vec<Failure>,
    /// All files that failed.
    pub failures: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Report {
    /// Whether every file is there with its data. Details may be lost.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.failures == 0
    }
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Files that were found so far.
    pub found: u64,
    /// Bytes of those that are copied.
    pub bytes_found: u64,
    /// Files that are done.
    pub done: u64,
    /// Bytes that were copied.
    pub bytes: u64,
    /// Whether all files are found: before that, `found` grows.
    pub walked: bool,
}

/// What the threads write together.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) found: AtomicU64,
    pub(crate) bytes_found: AtomicU64,
    pub(crate) done: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) walked: AtomicBool,
    report: Mutex<Report, ranks::Migration>,
}

impl Tally {
    fn report(&self) -> MutexGuard<'_, Report, ranks::Migration> {
        self.report.lock()
    }

    pub(crate) fn progress(&self) -> Progress {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Progress {
            found: load(&self.found),
            bytes_found: load(&self.bytes_found),
            done: load(&self.done),
            bytes: load(&self.bytes),
            walked: self.walked.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Report)) {
        change(&mut self.report());
    }

    pub(crate) fn fail(&self, path: &str, why: impl Into<String>) {
        let mut report = self.report();
        report.failures += 1;
        if report.failed.len() < FAILURES {
            report.failed.push(Failure { path: shown(path), why: why.into() });
        }
    }

    pub(crate) fn lose(&self, path: &str, what: &str, why: &str) {
        self.report().lost.entry(what.to_owned()).or_default().add(path, why);
    }

    /// A right that a copy does not have from the source.
    pub(crate) fn replace(&self, path: &str, what: &str, why: &str) {
        self.report().rights.replaced.entry(what.to_owned()).or_default().add(path, why);
    }

    /// A right that a copy has from the source.
    pub(crate) fn keep(&self, what: &str, is_mapped: bool) {
        let rights = &mut self.report().rights;
        let counts = if is_mapped { &mut rights.mapped } else { &mut rights.carried };
        *counts.entry(what.to_owned()).or_default() += 1;
    }

    pub(crate) fn finish(&self, took: Duration) -> Report {
        let mut report = self.report().clone();
        report.seconds = took.as_secs_f64();
        report.failed.sort_by(|a, b| a.path.cmp(&b.path));
        report
    }
}

impl Loss {
    fn add(&mut self, path: &str, why: &str) {
        self.files += 1;
        if self.files == 1 {
            why.clone_into(&mut self.why);
        }
        if self.examples.len() < EXAMPLES {
            self.examples.push(shown(path));
        }
    }
}

/// The folder itself has no path.
fn shown(path: &str) -> String {
    if path.is_empty() { ".".to_owned() } else { path.to_owned() }
}
