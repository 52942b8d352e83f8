//! What the rules look at.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use admin::Settings;
use admin::control::{DiskHealth, Trouble};
use namespace::{Link, Namespace, Protocol, Target};
use rustix::time::{ClockId, clock_gettime};
use vfs::DiskCalls;

use super::certificate;
use crate::host::health;
use crate::shares::backups;
use crate::shares::keeper::{self, Failure};

/// How often slow things are looked at: backups, snapshots, the certificate.
const SELDOM: Duration = Duration::from_secs(300);
/// The most backups of a share.
const MOST_BACKUPS: usize = 64;

/// Everything at one time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) space: Vec<DiskSpace>,
    pub(crate) stuck: Vec<BlockedRequests>,
    /// Calls that wait for disks.
    pub(crate) waiting: usize,
    /// Failed and refused logins since the start.
    pub(crate) failed_logins: u64,
    /// The same within the last five minutes.
    pub(crate) recent_failures: u64,
    pub(crate) backups: Vec<Backup>,
    /// The share with a schedule, and the age of its newest snapshot.
    pub(crate) snapshots: Vec<(String, Duration)>,
    /// The share that can have snapshots, and their number.
    pub(crate) snapshot_counts: Vec<(String, usize)>,
    /// The file, and how long it is valid; `None`: it is over, or the file cannot be read.
    pub(crate) certificate: Option<(String, Option<Duration>)>,
    pub(crate) failures: Vec<Failure>,
    /// The disks and file systems of the machine.
    pub(crate) health: DiskHealth,
    /// The last jump of the clock in seconds, and when it was.
    pub(crate) jump: Option<(i64, Instant)>,
    /// Links with targets that are down.
    pub(crate) links: Vec<BrokenLink>,
    /// Why the API is off although the settings turn it on.
    pub(crate) api_failure: Option<String>,
    /// Why the index in the state folder cannot be written.
    pub(crate) index_trouble: Option<String>,
    /// What slows clients down.
    pub(crate) troubles: Vec<Trouble>,
}

/// A link with targets that are down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenLink {
    pub(crate) path: String,
    /// The targets that are down, each with the reason.
    pub(crate) down: Vec<(String, String)>,
    /// Clients of some protocol have no other target.
    pub(crate) is_cut: bool,
}

/// The links with targets that are down.
pub(super) fn links(namespace: &Namespace) -> Vec<BrokenLink> {
    let broken = |link: Link| {
        let health = |target: &Target| namespace.health(target).filter(|health| !health.is_up);
        let is_down = |target: &&Target| health(target).is_some();
        let down = link
            .targets
            .iter()
            .filter_map(|target| Some((target.to_string(), health(target)?.error.unwrap_or_default())));
        let mut of_each = Protocol::ALL.into_iter().map(|protocol| {
            link.targets.iter().filter(move |target| target.protocol == protocol).collect::<Vec<_>>()
        });
        let is_cut = of_each.any(|all| !all.is_empty() && all.iter().all(is_down));
        BrokenLink { path: link.path.clone(), down: down.collect(), is_cut }
    };
    namespace.table().links.into_iter().map(broken).filter(|link| !link.down.is_empty()).collect()
}

/// The space of a share's disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskSpace {
    pub(crate) share: String,
    pub(crate) free: u64,
    pub(crate) total: u64,
    /// Less should not be free.
    pub(crate) floor: Option<u64>,
}

/// Requests of a protocol that hold threads because the host does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockedRequests {
    pub(crate) protocol: &'static str,
    pub(crate) threads: usize,
    pub(crate) oldest: Duration,
}

/// The backup of a Mac.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backup {
    pub(crate) share: String,
    /// The name of the bundle.
    pub(crate) name: String,
    pub(crate) age: Duration,
    /// How old it may become; `None`: any age.
    pub(crate) most_age: Option<Duration>,
    /// A verification has found it damaged.
    pub(crate) is_damaged: bool,
}

/// The wall clock, compared with one that never jumps.
#[derive(Debug, Default)]
pub(super) struct Clock {
    last: Option<(SystemTime, Duration)>,
    jump: Option<(i64, Instant)>,
}

impl Clock {
    /// The last jump.
    pub(super) fn look(&mut self) -> Option<(i64, Instant)> {
        let booted = clock_gettime(ClockId::Boottime); // goes on while the machine sleeps
        let booted = Duration::new(booted.tv_sec.unsigned_abs(), u32::try_from(booted.tv_nsec).unwrap_or(0));
        self.judge(SystemTime::now(), booted, Instant::now())
    }

    fn judge(&mut self, wall: SystemTime, booted: Duration, now: Instant) -> Option<(i64, Instant)> {
        /// Less is the work of programs that keep the clock right.
        const LEAST: i64 = 30;
        if let Some((before, then)) = self.last.replace((wall, booted)) {
            let expected = before + booted.saturating_sub(then);
            let seconds = |duration: Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
            let jump = wall.duration_since(expected).map_or_else(|back| -seconds(back.duration()), seconds);
            if jump.abs() >= LEAST {
                self.jump = Some((jump, now));
            }
        }
        self.jump
    }
}

/// What waits for disks: it is measured while other looks go on.
#[derive(Debug, Clone, Default)]
pub(super) struct DiskFacts {
    space: Vec<DiskSpace>,
    failures: Vec<Failure>,
    health: DiskHealth,
    /// When the rest was measured, which is done less often.
    seldom: Option<Instant>,
    backups: Vec<Backup>,
    snapshots: Vec<(String, Duration)>,
    snapshot_counts: Vec<(String, usize)>,
    certificate: Option<(String, Option<Duration>)>,
}

impl DiskFacts {
    /// Measures again. May wait for a disk.
    pub(super) fn again(mut self, settings: &Settings, state: &Path) -> Self {
        let now = Instant::now();
        (self.space, self.failures) = (space(settings), keeper::failures(state));
        self.health = health::read(state);
        if self.seldom.is_none_or(|at| now.duration_since(at) >= SELDOM) {
            self.seldom = Some(now);
            self.backups = bundles(settings);
            (self.snapshots, self.snapshot_counts) = snapshots(settings);
            self.certificate = certificate::of(settings, state);
        }
        self
    }
}

/// Gathers facts without waiting.
#[derive(Debug, Default)]
pub(super) struct Gatherer {
    /// The counts of failed logins, with their times.
    failed: Vec<(Instant, u64)>,
    /// The disk calls that had ended at the last look.
    ended: u64,
    /// Since when none has ended although some wait.
    quiet: Option<Instant>,
}

impl Gatherer {
    pub(super) fn gather(
        &mut self,
        measured: &DiskFacts,
        failed_logins: u64,
        jump: Option<(i64, Instant)>,
    ) -> Facts {
        let (now, disk) = (Instant::now(), vfs::disk_calls());
        let DiskFacts { space, failures, health, backups, snapshots, snapshot_counts, certificate, .. } =
            measured.clone();
        let (stuck, recent_failures) = (self.stuck(disk, now), self.recent(failed_logins, now));
        let waiting = disk.waiting;
        Facts {
            space,
            stuck,
            waiting,
            failed_logins,
            recent_failures,
            backups,
            snapshots,
            snapshot_counts,
            certificate,
            failures,
            health,
            jump,
            links: Vec::new(),
            api_failure: None,
            index_trouble: None,
            troubles: Vec::new(),
        }
    }

    fn stuck(&mut self, disk: DiskCalls, now: Instant) -> Vec<BlockedRequests> {
        let ended = std::mem::replace(&mut self.ended, disk.ended);
        let is_quiet = disk.waiting > 0 && ended == disk.ended;
        self.quiet = is_quiet.then(|| self.quiet.unwrap_or(now));
        let requests = conn::stuck_requests().into_iter().filter(|of| of.threads > 0);
        let requests = requests.filter_map(|of| {
            Some(BlockedRequests { protocol: of.protocol, threads: of.threads, oldest: of.oldest? })
        });
        let calls = self.quiet.map(|since| BlockedRequests {
            protocol: "disk",
            threads: disk.waiting,
            oldest: now.duration_since(since),
        });
        requests.chain(calls).collect()
    }

    /// Failures within the last five minutes.
    fn recent(&mut self, failed: u64, now: Instant) -> u64 {
        const WINDOW: Duration = Duration::from_secs(300);
        self.failed.push((now, failed));
        self.failed.retain(|(at, _)| now.duration_since(*at) <= WINDOW);
        failed - self.failed.first().map_or(failed, |(_, then)| *then)
    }
}

fn space(settings: &Settings) -> Vec<DiskSpace> {
    let of = |share: &admin::ShareSettings| {
        let found = rustix::fs::statvfs(&share.path).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        let (free, total) = (bytes(found.f_bavail), bytes(found.f_blocks));
        Some(DiskSpace { share: share.name.clone(), free, total, floor: share.snapshot_floor })
    };
    settings.shares.iter().filter_map(of).filter(|space| space.total > 0).collect()
}

fn bundles(settings: &Settings) -> Vec<Backup> {
    let shares = settings.shares.iter().filter(|share| share.time_machine);
    let of = |share: &admin::ShareSettings| {
        let bundles = keeper::bundles(&share.path).into_iter().take(MOST_BACKUPS);
        let backup = |bundle: std::path::PathBuf| {
            let age = keeper::changed(&bundle)?.elapsed().unwrap_or_default();
            let name = bundle.file_name()?.to_string_lossy().into_owned();
            let mac = name.rsplit_once('.').map_or(&*name, |(mac, _)| mac);
            let most_age = match share.mac_policy(mac) {
                Some(policy) => policy.alert_after(settings.server.told.backup),
                None => settings.server.told.backup,
            };
            let is_damaged = backups::is_damaged(&settings.server.state, &share.name, &name);
            Some(Backup { share: share.name.clone(), name, age, most_age, is_damaged })
        };
        bundles.filter_map(backup).collect::<Vec<_>>()
    };
    shares.flat_map(of).collect()
}

/// Shares, each with something.
type OfShares<T> = Vec<(String, T)>;

/// The ages of the newest snapshots of shares that have a schedule, and the numbers of all.
fn snapshots(settings: &Settings) -> (OfShares<Duration>, OfShares<usize>) {
    let (mut ages, mut counts) = (Vec::new(), Vec::new());
    for share in &settings.shares {
        let found = ::snapshots::Dataset::find(&share.path).and_then(|dataset| dataset.list());
        let Ok(all) = found else { continue };
        counts.push((share.name.clone(), all.len()));
        let newest = all.iter().map(|one| one.created).max();
        if let Some(created) = newest.filter(|_| !share.snapshot_schedule.rows.is_empty()) {
            ages.push((share.name.clone(), created.elapsed().unwrap_or_default()));
        }
    }
    (ages, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_has_jumped_and_one_of_a_sleeping_machine_has_not() {
        let (mut clock, now) = (Clock::default(), Instant::now());
        let wall = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let mut look = |seconds, booted| {
            clock.judge(wall(seconds), Duration::from_secs(booted), now).map(|(jump, _)| jump)
        };
        assert_eq!(look(1000, 10), None);
        assert_eq!(look(1010, 20), None);
        assert_eq!(look(8210, 7220), None, "the machine slept");
        assert_eq!(look(8225, 7230), None, "it is put right slowly");
        assert_eq!(look(4635, 7240), Some(-3600));
        assert_eq!(look(4645, 7250), Some(-3600), "it is remembered");
        assert_eq!(look(8255, 7260), Some(3600));
    }

    #[test]
    fn failed_logins_are_those_of_the_last_minutes() {
        let (mut gatherer, start) = (Gatherer::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(gatherer.recent(100, at(0)), 0, "those before are old");
        assert_eq!(gatherer.recent(115, at(10)), 15);
        assert_eq!(gatherer.recent(140, at(200)), 40);
        assert_eq!(gatherer.recent(140, at(305)), 25);
        assert_eq!(gatherer.recent(140, at(700)), 0);
    }

    #[test]
    fn calls_that_wait_while_none_ends_are_stuck() {
        let (mut gatherer, start) = (Gatherer::default(), Instant::now());
        let mut look = |waiting, ended, seconds| {
            let stuck = gatherer.stuck(DiskCalls { waiting, ended }, start + Duration::from_secs(seconds));
            stuck.into_iter().find(|of| of.protocol == "disk").map(|of| of.oldest.as_secs())
        };
        assert_eq!(look(2, 7, 0), None);
        assert_eq!(look(2, 7, 10), Some(0));
        assert_eq!(look(2, 7, 30), Some(20));
        assert_eq!(look(2, 8, 40), None);
        assert_eq!(look(0, 8, 50), None);
    }
}
