//! The work of a scrub, in the server or without one.

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use admin::control::{MOST_NAMED, Progress, ScrubFinding, ScrubReport, ScrubRequest};
use admin::{Settings, ShareSettings};
use anyhow::{Context, anyhow, bail};
use vfs::backend::host::{Host, HostOptions};
use vfs::scrub::{Finding, Flaw, Outcome, Scrub, ScrubObserver, ScrubOptions};
use vfs::{Error, Volume, VolumeOptions};

use super::{catalogue, luns, quota};
use crate::shares::entries;
use crate::shares::volumes::Volumes;

/// The progress is told after so many entries.
const TELL_EVERY: u64 = 256;

/// Called with the progress. False: the scrub ends.
pub(super) type Tell<'a> = &'a dyn Fn(Progress) -> bool;

/// The shares, and what the server keeps of them.
pub(crate) struct Place<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) volumes: &'a Volumes,
    /// A running server does it.
    pub(crate) is_served: bool,
}

impl Place<'_> {
    /// Scrubs what is asked for.
    pub(crate) fn scrub(&self, request: &ScrubRequest, tell: Tell<'_>) -> anyhow::Result<ScrubReport> {
        let recorder = ScrubRecorder::new(request.share.clone(), tell);
        let Some(name) = &request.share else {
            catalogue::check(self, request.repair, &recorder)?;
            luns::check_kept(self, request.repair, &recorder)?;
            return Ok(recorder.report());
        };
        let share = self.settings.shares.iter().find(|share| share.name == *name).with_context(|| {
            let names: Vec<&str> = self.settings.shares.iter().map(|share| &*share.name).collect();
            format!("there is no share {name:?}; the shares are: {}", names.join(", "))
        })?;
        if request.repair && share.read_only {
            bail!("the share {name} is read-only; `fourfold set read-only=off {name}` changes that");
        }
        let volume = self.volumes.open(share, self.settings)?;
        if request.path.is_empty() {
            // First, because a repair changes what the files take.
            quota::check(self, share, request.repair, &recorder)?;
        }
        if !self.is_served && request.repair {
            crate::shares::quotas::forget(self.volumes.state())?;
        }
        recorder.expect(&share.path, request);
        tree(&volume, request, &recorder).with_context(|| format!("the share {name} cannot be scrubbed"))?;
        if request.path.is_empty() && recorder.goes_on() {
            luns::check(self, share, &volume, request.repair, &recorder)?;
        }
        Ok(recorder.report())
    }

    /// The volumes of all shares whose folders are there.
    pub(super) fn all(&self) -> Vec<Arc<Volume>> {
        let open = |share: &ShareSettings| self.volumes.open(share, self.settings).ok();
        self.settings.shares.iter().filter_map(open).collect()
    }
}

/// Scrubs a folder that is in no share.
pub(super) fn folder(
    folder: &Path,
    state: &Path,
    repair: bool,
    tell: Tell<'_>,
) -> anyhow::Result<ScrubReport> {
    let recorder = ScrubRecorder::new(Some(folder.display().to_string()), tell);
    let private = Some(state.to_path_buf());
    let host = Host::open(folder, &HostOptions { private, ..HostOptions::default() })
        .with_context(|| format!("{} cannot be opened", folder.display()))?;
    let volume = Volume::new(Arc::new(host), VolumeOptions::default());
    let request = ScrubRequest { share: None, path: Vec::new(), repair };
    recorder.expect(folder, &request);
    tree(&volume, &request, &recorder).with_context(|| format!("{} cannot be scrubbed", folder.display()))?;
    Ok(recorder.report())
}

fn tree(volume: &Volume, request: &ScrubRequest, recorder: &ScrubRecorder<'_>) -> anyhow::Result<()> {
    let names: Vec<&[u8]> =
        request.path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
    if names.iter().any(|name| matches!(*name, b"." | b"..") || name.contains(&0)) {
        bail!("give a path without ..");
    }
    let mut observer = ScrubNotes(recorder);
    let options = ScrubOptions { repair: request.repair, now: SystemTime::now().into() };
    let scrub = Scrub::new(volume, options, &mut observer)?;
    scrub.run(&names).map(drop).map_err(|error| match error {
        Error::NotFound => anyhow!("there is no {:?}", String::from_utf8_lossy(&request.path)),
        other => other.into(),
    })
}

/// Counts what is found, and names it as far as the answer may be long.
pub(super) struct ScrubRecorder<'a> {
    report: RefCell<ScrubReport>,
    /// How many there are; 0: that is not known.
    total: Cell<u64>,
    tell: Tell<'a>,
}

impl<'a> ScrubRecorder<'a> {
    fn new(share: Option<String>, tell: Tell<'a>) -> Self {
        let report = RefCell::new(ScrubReport { share, ..ScrubReport::default() });
        Self { report, total: Cell::new(0), tell }
    }

    /// Counts what is to be looked at in a folder, for the progress.
    fn expect(&self, folder: &Path, request: &ScrubRequest) {
        let names = request.path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let top = names.fold(folder.to_path_buf(), |top, name| top.join(OsStr::from_bytes(name)));
        if request.path.split(|byte| *byte == b'/').any(|name| name == b"..") {
            return; // it is refused
        }
        let goes_on = || self.looked(0);
        self.total.set(entries::count(&top, &|_| false, &goes_on).unwrap_or_default());
    }

    /// Something is wrong.
    pub(super) fn found(&self, finding: ScrubFinding) {
        let mut report = self.report.borrow_mut();
        report.found += 1;
        match &finding.outcome[..] {
            "mended" => report.mended += 1,
            "mendable" => report.mendable += 1,
            _ => {}
        }
        report.unreadable += u64::from(finding.kind == "unreadable");
        if report.findings.len() < MOST_NAMED {
            report.findings.push(finding);
        }
    }

    /// So many more were looked at. False: the scrub is to end.
    pub(super) fn looked(&self, count: u64) -> bool {
        let mut report = self.report.borrow_mut();
        let before = report.looked / TELL_EVERY;
        report.looked += count;
        if (count == 0 || report.looked / TELL_EVERY > before) && !report.ended {
            let total = self.total.get();
            let total = if total > 0 { total.max(report.looked) } else { 0 };
            report.ended = !(self.tell)(Progress { done: report.looked, total });
        }
        !report.ended
    }

    pub(super) fn goes_on(&self) -> bool {
        !self.report.borrow().ended
    }

    fn report(self) -> ScrubReport {
        self.report.into_inner()
    }
}

struct ScrubNotes<'a, 'b>(&'a ScrubRecorder<'b>);

impl ScrubObserver for ScrubNotes<'_, '_> {
    fn found(&mut self, finding: Finding) {
        let Finding { path, flaw, outcome } = finding;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (outcome, why, moved_to) = match outcome {
            Outcome::Mendable => ("mendable", None, None),
            Outcome::Mended => ("mended", None, None),
            Outcome::Moved(to) => ("mended", None, Some(text(&to))),
            Outcome::Left(_) if matches!(flaw, Flaw::Unreadable(_)) => ("left", None, None),
            Outcome::Left(why) => ("left", Some(why.to_string()), None),
        };
        self.0.found(ScrubFinding {
            path: text(&path),
            kind: flaw.code().into(),
            what: flaw.to_string(),
            meaning: flaw.meaning().into(),
            remedy: flaw.remedy().into(),
            outcome: outcome.into(),
            why,
            moved_to,
        });
    }

    fn looked(&mut self, count: u64) -> bool {
        self.0.looked(count)
    }
}

/// A finding outside the tree. With `mend` it is mended if that is wanted; without, it stays.
pub(super) fn settle(
    recorder: &ScrubRecorder<'_>,
    (path, kind, what): (String, &str, String),
    (meaning, remedy): (&str, &str),
    (repair, mend): (bool, Option<&dyn Fn() -> anyhow::Result<()>>),
) {
    let (outcome, why) = match mend {
        None => ("left", Some("a person must decide".to_owned())),
        Some(_) if !repair => ("mendable", None),
        Some(mend) => match mend() {
            Ok(()) => ("mended", None),
            Err(error) => ("left", Some(format!("it could not be mended: {error:#}"))),
        },
    };
    recorder.found(ScrubFinding {
        path,
        kind: kind.into(),
        what,
        meaning: meaning.into(),
        remedy: remedy.into(),
        outcome: outcome.into(),
        why,
        moved_to: None,
    });
}
