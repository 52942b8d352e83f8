//! The rights of a tree: what does not say what the roles say, and how it is mended and taken back.

use std::collections::{BTreeSet, HashMap, HashSet};

use admin::ShareSettings;
use admin::control::{Progress, RightsFinding, RightsReport};
use anyhow::{Context, bail, ensure};
use auth::{ANONYMOUS, Roles};
use vfs::acl::Deviation;
use vfs::{Attributes, Error, Kind, RightsObserver, RightsRecord, RightsWork};

use super::names::RightsNames;
use super::record::{self, ChangeRecord};
use super::service::{RightsFile, RightsService, Tell, names_of};
use super::words;
use crate::people::person::RightsPerson;
use crate::serve::current::Current;
use crate::shares::entries;

/// Findings that are named, and the bytes of their paths and words: an answer has room for them.
const MOST_NAMED: usize = 1000;
const MOST_NAMED_BYTES: usize = 512 << 10;
/// Notes that are named.
const MOST_NOTES: usize = 100;
/// The progress is told after so many entries.
const TELL_EVERY: u64 = 256;
/// Owners that are remembered.
const MOST_OWNERS: usize = 4096;

/// Looks for what does not say what the roles say.
pub(super) fn check(
    service: &RightsService<'_>,
    file: &RightsFile<'_>,
    tell: Tell<'_>,
) -> anyhow::Result<RightsReport> {
    walk(service, file, (RightsWork { recursive: true, reset: false, all: false }, false), tell)
}

/// Brings files and folders to what the roles and lists say.
pub(super) fn reset(
    service: &RightsService<'_>,
    file: &RightsFile<'_>,
    (recursive, all, dry_run): (bool, bool, bool),
    tell: Tell<'_>,
) -> anyhow::Result<RightsReport> {
    if !dry_run {
        require_writable(file.share)?;
    }
    walk(service, file, (RightsWork { recursive, reset: !dry_run, all }, true), tell)
}

/// Refuses changes of a share that is only read.
pub(super) fn require_writable(share: &ShareSettings) -> anyhow::Result<()> {
    let name = &share.name;
    ensure!(
        !share.read_only,
        "the share {name} is read-only; `fourfold set read-only=off {name}` changes that"
    );
    Ok(())
}

/// Makes a change of a list, and passes it on to what is below.
pub(super) fn changing(
    service: &RightsService<'_>,
    file: &RightsFile<'_>,
    tell: Tell<'_>,
    change: &dyn Fn() -> vfs::Result<()>,
) -> anyhow::Result<RightsReport> {
    let mut recorder = TreeRecorder::new(service, file, true, tell)?;
    recorder.writes = true;
    recorder.changes(&file.path, &file.volume.stored_rights().record(&file.found)?)?;
    recorder.noted = Some(file.path.clone());
    change().context("the list cannot be changed")?;
    recorder.run(file, RightsWork { recursive: true, reset: true, all: false })
}

fn walk(
    service: &RightsService<'_>,
    file: &RightsFile<'_>,
    (work, counts): (RightsWork, bool),
    tell: Tell<'_>,
) -> anyhow::Result<RightsReport> {
    TreeRecorder::new(service, file, counts, tell)?.run(file, work)
}

/// Takes the changes of a record back.
pub(super) fn undo(
    service: &RightsService<'_>,
    share: &ShareSettings,
    name: &str,
    tell: Tell<'_>,
) -> anyhow::Result<RightsReport> {
    require_writable(share)?;
    let volume = service.volumes.open(share, &service.current.settings)?;
    let state = service.volumes.state();
    let mut report = RightsReport { share: share.name.clone(), ..RightsReport::default() };
    let mut found = FindingList::default();
    record::read(state, (&share.name, name), &mut |path, rights| {
        report.looked += 1;
        let put = names_of(&path)
            .map_err(|_| Error::Invalid)
            .and_then(|names| volume.stored_rights().put_record(&names, &rights));
        match put {
            Ok(()) => report.changed += 1,
            Err(error) => {
                report.failed += 1;
                found.add(&path, || failure(error));
            }
        }
        if report.looked.is_multiple_of(TELL_EVERY) && !tell(Progress { done: report.looked, total: 0 }) {
            report.ended = true;
        }
        !report.ended
    })?;
    report.findings = found.list;
    Ok(report)
}

/// What was found, as far as it is named. More takes no memory and no time.
#[derive(Default)]
struct FindingList {
    list: Vec<RightsFinding>,
    bytes: usize,
}

impl FindingList {
    /// The words of a finding: a word for its kind, what it means, and what mends it. They are made only if they are kept.
    fn add(&mut self, path: &[u8], words: impl FnOnce() -> (&'static str, String, &'static str)) {
        if self.list.len() >= MOST_NAMED || self.bytes >= MOST_NAMED_BYTES {
            return;
        }
        let (path, (kind, what, remedy)) = (String::from_utf8_lossy(path).into_owned(), words());
        self.bytes += path.len() + kind.len() + what.len() + remedy.len();
        self.list.push(RightsFinding { path, kind: kind.into(), what, remedy: remedy.into() });
    }
}

fn failure(error: Error) -> (&'static str, String, &'static str) {
    if error == Error::Stale {
        let what = "another file has this place now, and keeps its rights".to_owned();
        return ("replaced", what, "look at its rights with `fourfold rights show`");
    }
    ("failed", error.to_string(), "look at the file on the server")
}

/// Counts what is found and changed, and names it as far as the answer may be long.
struct TreeRecorder<'a> {
    current: &'a Current,
    names: RightsNames<'a>,
    roles: std::sync::Arc<Roles>,
    report: RightsReport,
    found: FindingList,
    record: ChangeRecord,
    /// What is in the record already, as it was before the change that is passed on.
    noted: Option<Vec<u8>>,
    /// Changes are recorded, or would be made: else they are only found.
    writes: bool,
    counts: bool,
    total: u64,
    tell: Tell<'a>,
    owners: HashMap<u32, bool>,
    /// What the disk cannot say, and in words.
    noticed: HashSet<Deviation>,
    notes: BTreeSet<String>,
}

impl<'a> TreeRecorder<'a> {
    fn new(
        service: &'a RightsService<'_>,
        file: &RightsFile<'_>,
        counts: bool,
        tell: Tell<'a>,
    ) -> anyhow::Result<Self> {
        let share = &file.share.name;
        let Some(roles) = file.volume.roles_at(&file.found)? else {
            bail!(
                "{share} is no team folder: modes and lists decide there, and `fourfold set editors=NAMES {share}` gives it roles"
            );
        };
        let report = RightsReport {
            share: share.clone(),
            path: String::from_utf8_lossy(&file.path).into_owned(),
            ..RightsReport::default()
        };
        Ok(Self {
            current: service.current,
            names: RightsNames::new(&service.current.accounts),
            roles,
            report,
            found: FindingList::default(),
            noted: None,
            record: ChangeRecord::new(service.volumes.state(), share),
            writes: false,
            counts,
            total: 0,
            tell,
            owners: HashMap::new(),
            noticed: HashSet::new(),
            notes: BTreeSet::new(),
        })
    }

    fn run(mut self, file: &RightsFile<'_>, work: RightsWork) -> anyhow::Result<RightsReport> {
        self.writes = work.reset;
        if work.recursive {
            let goes_on = || (self.tell)(Progress { done: 0, total: 0 });
            self.total = entries::count(&file.on_disk(), &vfs::is_own_name, &goes_on).unwrap_or_default() + 1;
        }
        let names = names_of(&file.path)?;
        let all = file.volume.stored_rights().walk(&names, work, &mut self)?;
        self.record.end()?;
        self.report.ended = !all;
        self.report.record = self.record.name();
        self.report.notes = self.notes.into_iter().collect();
        self.report.findings = self.found.list;
        Ok(self.report)
    }

    /// Whether somebody has no role who owns files. The superuser, and what belongs to nobody, is no such owner.
    fn has_role(&self, uid: u32) -> bool {
        if uid == 0 || uid == ANONYMOUS {
            return true;
        }
        let acts_so = |account: &&auth::Account| account.identity.uid == uid;
        let mut accounts = self.current.accounts.accounts().iter().filter(acts_so);
        let by_login = accounts.any(|account| !self.roles.of(&RightsPerson::of(account).identity).is_empty());
        by_login || !self.roles.of(&RightsPerson::numbered(uid, self.current).identity).is_empty()
    }
}

impl RightsObserver for TreeRecorder<'_> {
    fn is_foreign(&mut self, uid: u32) -> bool {
        if let Some(known) = self.owners.get(&uid) {
            return *known;
        }
        let is_foreign = !self.has_role(uid);
        if self.owners.len() >= MOST_OWNERS {
            self.owners.clear(); // those that follow are near each other
        }
        self.owners.insert(uid, is_foreign);
        is_foreign
    }

    fn deviates(&mut self, path: &[u8], of: &Attributes, deviations: &[Deviation]) {
        let is_folder = of.kind == Kind::Folder;
        let said = |deviation| words::deviation(deviation, is_folder, of.uid, &self.names);
        let (notes, wrong): (Vec<_>, Vec<_>) = deviations.iter().partition(|deviation| deviation.is_note());
        for note in notes {
            if self.notes.len() < MOST_NOTES && self.noticed.insert(note.clone()) {
                let (_, what, remedy) = said(note);
                self.notes.insert(format!("{what}; {remedy}"));
            }
        }
        if wrong.is_empty() {
            return;
        }
        self.report.found += 1;
        self.report.too_wide += u64::from(wrong.iter().any(|deviation| deviation.is_too_wide()));
        for deviation in wrong {
            self.found.add(path, || said(deviation));
        }
    }

    fn changes(&mut self, path: &[u8], before: &RightsRecord) -> vfs::Result<()> {
        if self.noted.as_deref() == Some(path) {
            return Ok(());
        }
        self.report.changed += u64::from(self.counts);
        if !self.writes {
            return Ok(());
        }
        self.record.note(path, before).map_err(|error| {
            tracing::error!(%error, "changes of rights cannot be recorded, so they are not made");
            Error::NoSpace
        })
    }

    fn failed(&mut self, path: &[u8], error: Error) {
        self.report.failed += 1;
        self.found.add(path, || failure(error));
    }

    fn looked(&mut self, count: u64) -> bool {
        let before = self.report.looked / TELL_EVERY;
        self.report.looked += count;
        if self.report.looked / TELL_EVERY == before {
            return true;
        }
        let done = self.report.looked;
        (self.tell)(Progress { done, total: if self.total > 0 { self.total.max(done) } else { 0 } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_take_bounded_memory_however_many_there_are() {
        let (mut few, mut made) = (FindingList::default(), 0_usize);
        for number in 0..20_000 {
            few.add(format!("folder/{number}").as_bytes(), || {
                made += 1;
                failure(Error::NoSpace)
            });
        }
        assert_eq!((few.list.len(), made), (MOST_NAMED, MOST_NAMED));
        let (mut long, path) = (FindingList::default(), vec![b'x'; 4096]);
        for _ in 0..20_000 {
            long.add(&path, || failure(Error::NoSpace));
        }
        let bytes: usize = long.list.iter().map(|finding| finding.path.len()).sum();
        assert!(bytes <= MOST_NAMED_BYTES + path.len() && !long.list.is_empty(), "{bytes}");
    }
}
