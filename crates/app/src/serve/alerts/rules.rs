//! The rules: which facts are worth an alert, and what it says.

use std::time::Duration;

use admin::ToldSettings;
use admin::control::{DiskStatus, FilesystemStatus, Health, Severity, Trouble};
use admin::settings::units::format_size;

use super::facts::{Backup, BlockedRequests, BrokenLink, DiskSpace, Facts};
use super::raised::{AlertTable, Condition};
use crate::shares::keeper::{Failure, ScheduleKind};

/// A raised alert about space is cleared when so many percent more are free.
const SPACE_MARGIN: u64 = 2;
/// How long a call of the host may take.
const STUCK_AFTER: Duration = Duration::from_secs(10);
/// Failed logins within five minutes that are a burst, and those at which a burst is over.
const BURST: (u64, u64) = (30, 10);
/// A certificate that ends so soon is worth an alert, and so soon a critical one.
const CERTIFICATE: (Duration, Duration) = (Duration::from_secs(21 * 86_400), Duration::from_secs(3 * 86_400));
/// The troubles of the doctor that are worth an alert.
const DOCTORS: [&str; 8] =
    ["mtu", "delayed-ack", "half-duplex", "loss", "bufferbloat", "slow-client", "slow-disk", "interface"];
/// How long a jump of the clock is shown.
const JUMP_SHOWN: Duration = Duration::from_secs(3600);

/// What is wrong. Raised alerts need less to stay.
pub(super) fn conditions(facts: &Facts, told: &ToldSettings, raised: &AlertTable) -> Vec<Condition> {
    let space = facts.space.iter().filter_map(|space| low_space(space, told, raised));
    let disks = facts.stuck.iter().filter_map(stuck_disk);
    let backups = facts.backups.iter().filter_map(damaged_or_overdue);
    let failures = facts.failures.iter().map(failed);
    let links = facts.links.iter().map(broken);
    let troubles = facts.troubles.iter().filter_map(troubled);
    let health = facts.health.disks.iter().filter_map(unwell_disk);
    let filesystems = facts.health.filesystems.iter().filter_map(unwell_filesystem);
    let single = [logins(facts, raised), certificate(facts), clock(facts), index(facts), api(facts)];
    space
        .chain(disks)
        .chain(backups)
        .chain(failures)
        .chain(links)
        .chain(troubles)
        .chain(health)
        .chain(filesystems)
        .chain(single.into_iter().flatten())
        .collect()
}

fn low_space(space: &DiskSpace, told: &ToldSettings, raised: &AlertTable) -> Option<Condition> {
    let DiskSpace { share, free, total, floor } = space;
    let is_raised = raised.has("space", share);
    let margin = if is_raised { SPACE_MARGIN } else { 0 };
    let percent = |of: u64| u64::try_from(u128::from(*total) * u128::from(of) / 100).unwrap_or(u64::MAX);
    let wanted = if told.space == 0 { 0 } else { percent(told.space + margin) };
    let floor = floor.map_or(0, |floor| floor.saturating_add(floor / 50 * margin));
    if *free >= wanted.max(floor) {
        return None;
    }
    let severity = if *free < percent(1) { Severity::Critical } else { Severity::Warning };
    let text = format!(
        "{} of {} are free on the disk of the share {share}. Delete files or snapshots (`fourfold snapshot list {share}`), \
         or move the share to a larger disk.",
        format_size(*free),
        format_size(*total)
    );
    Some(Condition { name: "space", about: share.clone(), severity, text })
}

fn stuck_disk(stuck: &BlockedRequests) -> Option<Condition> {
    let BlockedRequests { protocol, threads, oldest } = stuck;
    let text = format!(
        "{threads} calls of the host have not returned, the oldest for {} s or more. Look at the disk: `dmesg | tail`, \
         `smartctl -a`, and whether a network file system below a share is reachable.",
        oldest.as_secs()
    );
    let about = (*protocol).to_owned();
    (*oldest >= STUCK_AFTER).then_some(Condition { name: "disk", about, severity: Severity::Critical, text })
}

fn severity(health: Health) -> Option<Severity> {
    match health {
        Health::Failing => Some(Severity::Critical),
        Health::Worn => Some(Severity::Warning),
        Health::Good | Health::Unknown => None,
    }
}

fn unwell_disk(disk: &DiskStatus) -> Option<Condition> {
    let severity = severity(disk.health)?;
    let advice = match severity {
        Severity::Critical => "Copy what is on it, and replace it",
        Severity::Warning => "Look at it again soon, and have another one ready",
    };
    let text = format!(
        "The disk {} ({}, serial number {}) is {}: {}. {advice}; `smartctl -a {}` says more.",
        disk.device,
        disk.model,
        disk.serial,
        disk.health.word(),
        disk.problems.join("; "),
        disk.device
    );
    // The name of a device is another one after a restart.
    let about = if disk.serial.is_empty() { disk.device.clone() } else { disk.serial.clone() };
    Some(Condition { name: "disk-health", about, severity, text })
}

fn unwell_filesystem(one: &FilesystemStatus) -> Option<Condition> {
    let severity = severity(one.health)?;
    let advice = match one.kind.as_str() {
        "btrfs" => {
            "Run `btrfs scrub start` on it, and look at `btrfs device stats`, whose option -z begins to count anew"
        }
        "zfs" => "Replace the disk that `zpool status` names",
        _ => "Copy what is on it before you mend it",
    };
    let text =
        format!("The {} {} has had errors: {}. {advice}.", one.kind, one.name, one.problems.join("; "));
    Some(Condition { name: "filesystem", about: one.name.clone(), severity, text })
}

fn logins(facts: &Facts, raised: &AlertTable) -> Option<Condition> {
    let least = if raised.has("logins", "") { BURST.1 } else { BURST.0 };
    let text = format!(
        "{} logins have failed within five minutes. The log names their addresses (target `login`); block an address \
         by a client rule, or use fail2ban as docs/logs.md describes.",
        facts.recent_failures
    );
    let is_burst = facts.recent_failures >= least;
    is_burst.then_some(Condition { name: "logins", about: String::new(), severity: Severity::Warning, text })
}

fn damaged_or_overdue(backup: &Backup) -> Option<Condition> {
    let Backup { share, name, age, most_age, is_damaged } = backup;
    if *is_damaged {
        let text = format!(
            "The backups {name} on the share {share} are damaged. `fourfold backups show '{share}/{name}'` says where. Roll them back \
             before the Mac begins anew: `fourfold backups rollback '{share}/{name}'`."
        );
        let about = format!("{share}/{name}");
        return Some(Condition { name: "backup", about, severity: Severity::Critical, text });
    }
    let text = format!(
        "The last backup of {name} on the share {share} is {} days old. Turn that Mac on, and look at Time Machine in its \
         settings; if it is gone for good, `fourfold backups retire '{share}/{name}'`.",
        age.as_secs() / 86_400
    );
    let about = format!("{share}/{name}");
    most_age.is_some_and(|most| *age > most).then_some(Condition {
        name: "backup",
        about,
        severity: Severity::Warning,
        text,
    })
}

fn index(facts: &Facts) -> Option<Condition> {
    let why = facts.index_trouble.as_ref()?;
    let text = format!(
        "The index in the state folder cannot be written: {why}. New locks of NFS are refused, and new rows wait in memory. \
         Make space on that disk; the server tries again by itself and needs no restart."
    );
    Some(Condition { name: "index", about: String::new(), severity: Severity::Critical, text })
}

fn api(facts: &Facts) -> Option<Condition> {
    let text = facts.api_failure.clone()?;
    Some(Condition { name: "api", about: String::new(), severity: Severity::Critical, text })
}

fn certificate(facts: &Facts) -> Option<Condition> {
    let (file, left) = facts.certificate.as_ref()?;
    let left = left.unwrap_or_default();
    let (soon, now) = CERTIFICATE;
    if left > soon {
        return None;
    }
    let severity = if left <= now { Severity::Critical } else { Severity::Warning };
    let what = match left.as_secs() / 86_400 {
        0 => "has ended, ends today, or cannot be read".to_owned(),
        days => format!("ends in {days} days"),
    };
    let text = format!(
        "The certificate of the API, {file}, {what}. Put a new one there, and choose \"Read settings again\" in the console; or \
         upload one on its page Sign-ins and certificate."
    );
    Some(Condition { name: "certificate", about: file.clone(), severity, text })
}

fn failed(failure: &Failure) -> Condition {
    let Failure { kind, share, why } = failure;
    let (name, text) = match kind {
        ScheduleKind::Snapshots => (
            "snapshot",
            format!(
                "The schedule of snapshots of the share {share} is not kept: {why}. `fourfold snapshot list {share}` shows the snapshots that there are."
            ),
        ),
        ScheduleKind::Replica => (
            "replication",
            format!(
                "The replica {share} is not fetched: {why}. Look whether its source can be reached; the next run continues."
            ),
        ),
    };
    Condition { name, about: share.clone(), severity: Severity::Warning, text }
}

fn broken(link: &BrokenLink) -> Condition {
    let down = link.down.iter().map(|(url, why)| format!("{url} ({why})"));
    let left = match link.is_cut {
        true => "Clients of a protocol have no target left",
        false => "Clients are led to the others",
    };
    let text = format!(
        "Targets of the link are down: {}. {left}. `fourfold namespace test {}` tries them again now.",
        down.collect::<Vec<_>>().join(", "),
        link.path
    );
    let severity = if link.is_cut { Severity::Critical } else { Severity::Warning };
    Condition { name: "link", about: link.path.clone(), severity, text }
}

/// Clients that are slow for a reason that somebody can mend. A radio, and a client that works for itself, are none.
fn troubled(trouble: &Trouble) -> Option<Condition> {
    let name = DOCTORS.into_iter().find(|name| *name == trouble.name)?;
    let text = format!("{}: {}", trouble.about, trouble.text);
    Some(Condition { name, about: trouble.about.clone(), severity: Severity::Warning, text })
}

fn clock(facts: &Facts) -> Option<Condition> {
    let (seconds, at) = facts.jump?;
    let (by, way) = (seconds.unsigned_abs(), if seconds < 0 { "back" } else { "forward" });
    let text = format!(
        "The clock of this machine was set {way} by {by} s. Times of files, schedules and Kerberos depend on it: see \
         `timedatectl`, and let a program such as chrony keep it."
    );
    let about = String::new();
    (at.elapsed() < JUMP_SHOWN).then_some(Condition {
        name: "clock",
        about,
        severity: Severity::Warning,
        text,
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Instant, SystemTime};

    use admin::control::DiskHealth;

    use super::*;

    fn told() -> ToldSettings {
        ToldSettings {
            audit_log: "/audit.log".into(),
            audit_log_size: 1,
            audit_log_files: 1,
            slow_operation: None,
            record_slowest: false,
            doctor_interval: None,
            space: 5,
            backup: Some(Duration::from_secs(7 * 86_400)),
            webhook: None,
            mail: None,
        }
    }

    /// The kinds of alerts, and how much they matter.
    fn found(facts: &Facts, raised: &AlertTable) -> Vec<(&'static str, Severity)> {
        conditions(facts, &told(), raised).into_iter().map(|one| (one.name, one.severity)).collect()
    }

    fn with_space(free: u64, floor: Option<u64>) -> Facts {
        Facts { space: vec![DiskSpace { share: "a".into(), free, total: 1000, floor }], ..Facts::default() }
    }

    #[test]
    fn nothing_is_wrong_with_a_server_that_is_well() {
        assert_eq!(found(&Facts::default(), &AlertTable::default()), []);
    }

    #[test]
    fn space_is_low_below_a_part_or_the_floor_and_needs_more_to_be_well_again() {
        let mut raised = AlertTable::default();
        let (warning, critical) = (Severity::Warning, Severity::Critical);
        assert_eq!(found(&with_space(50, None), &raised), []);
        assert_eq!(found(&with_space(49, None), &raised), [("space", warning)]);
        assert_eq!(found(&with_space(9, None), &raised), [("space", critical)]);
        assert_eq!(found(&with_space(299, Some(300)), &raised), [("space", warning)]);
        let off = ToldSettings { space: 0, ..told() };
        assert!(conditions(&with_space(9, None), &off, &raised).is_empty(), "it is off");
        raised.update(conditions(&with_space(49, None), &told(), &raised), SystemTime::UNIX_EPOCH);
        assert_eq!(found(&with_space(69, None), &raised), [("space", warning)], "it stays for a while");
        assert_eq!(found(&with_space(70, None), &raised), []);
    }

    #[test]
    fn a_disk_that_does_not_answer_is_critical() {
        let stuck =
            |seconds| BlockedRequests { protocol: "smb", threads: 2, oldest: Duration::from_secs(seconds) };
        let facts = |seconds| Facts { stuck: vec![stuck(seconds)], ..Facts::default() };
        assert_eq!(found(&facts(9), &AlertTable::default()), []);
        assert_eq!(found(&facts(10), &AlertTable::default()), [("disk", Severity::Critical)]);
    }

    #[test]
    fn bursts_of_failed_logins_end_below_another_number() {
        let mut raised = AlertTable::default();
        let facts = |recent_failures| Facts { recent_failures, ..Facts::default() };
        assert_eq!(found(&facts(29), &raised), []);
        assert_eq!(found(&facts(30), &raised), [("logins", Severity::Warning)]);
        raised.update(conditions(&facts(30), &told(), &raised), SystemTime::UNIX_EPOCH);
        assert_eq!(found(&facts(10), &raised), [("logins", Severity::Warning)]);
        assert_eq!(found(&facts(9), &raised), []);
    }

    #[test]
    fn a_link_is_critical_when_clients_of_a_protocol_have_no_target() {
        let down = vec![("smb://a/b".to_owned(), "no answer within 2 s".to_owned())];
        let facts = |is_cut| {
            let link = BrokenLink { path: "studio/archive".into(), down: down.clone(), is_cut };
            Facts { links: vec![link], ..Facts::default() }
        };
        assert_eq!(found(&facts(false), &AlertTable::default()), [("link", Severity::Warning)]);
        assert_eq!(found(&facts(true), &AlertTable::default()), [("link", Severity::Critical)]);
    }

    #[test]
    fn troubles_that_somebody_can_mend_raise_alerts() {
        let trouble = |name: &str| Trouble {
            name: name.into(),
            about: "ada at 192.0.2.7 (SMB)".into(),
            since: String::new(),
            text: "3.0 % loss".into(),
        };
        let facts = Facts { troubles: vec![trouble("loss"), trouble("wifi")], ..Facts::default() };
        assert_eq!(found(&facts, &AlertTable::default()), [("loss", Severity::Warning)]);
        let all = conditions(&facts, &told(), &AlertTable::default());
        assert_eq!(all[0].text, "ada at 192.0.2.7 (SMB): 3.0 % loss");
    }

    #[test]
    fn a_disk_that_fails_is_critical_and_one_that_is_well_or_asleep_is_not_told() {
        let disk = |health| DiskStatus {
            device: "/dev/sda".into(),
            serial: "Z1".into(),
            health,
            problems: vec!["3 sectors cannot be read".into()],
            ..DiskStatus::default()
        };
        let pool = FilesystemStatus {
            kind: "zfs".into(),
            name: "tank".into(),
            health: Health::Failing,
            ..Default::default()
        };
        let of = |disks: Vec<DiskStatus>, filesystems: Vec<FilesystemStatus>| {
            let health = DiskHealth { disks, filesystems, ..DiskHealth::default() };
            conditions(&Facts { health, ..Facts::default() }, &told(), &AlertTable::default())
        };
        assert!(of(vec![disk(Health::Good), disk(Health::Unknown)], Vec::new()).is_empty());
        let all = of(vec![disk(Health::Worn), disk(Health::Failing)], vec![pool]);
        let short: Vec<_> = all.iter().map(|one| (one.name, &*one.about, one.severity)).collect();
        let (warning, critical) = (Severity::Warning, Severity::Critical);
        assert_eq!(
            short,
            [
                ("disk-health", "Z1", warning),
                ("disk-health", "Z1", critical),
                ("filesystem", "tank", critical)
            ]
        );
        assert!(
            all[0].text.contains("/dev/sda") && all[0].text.contains("3 sectors cannot be read"),
            "{}",
            all[0].text
        );
    }

    #[test]
    fn old_backups_certificates_failures_and_jumps_are_told_with_what_to_do() {
        let day = Duration::from_secs(86_400);
        let backup = |days| Backup {
            share: "tm".into(),
            name: "ada.sparsebundle".into(),
            age: day * days,
            most_age: Some(day * 7),
            is_damaged: false,
        };
        let failure = |kind| Failure { kind, share: "video".into(), why: "no space".into() };
        let facts = Facts {
            backups: vec![backup(7), backup(8)],
            certificate: Some(("/c.pem".into(), Some(day * 20))),
            failures: vec![failure(ScheduleKind::Snapshots), failure(ScheduleKind::Replica)],
            jump: Some((-3600, Instant::now())),
            ..Facts::default()
        };
        let all = conditions(&facts, &told(), &AlertTable::default());
        let names: Vec<_> = all.iter().map(|one| (one.name, one.about.as_str())).collect();
        let expected = [
            ("backup", "tm/ada.sparsebundle"),
            ("snapshot", "video"),
            ("replication", "video"),
            ("certificate", "/c.pem"),
            ("clock", ""),
        ];
        assert_eq!(names, expected);
        assert!(all[0].text.contains("8 days old") && all[4].text.contains("back by 3600 s"), "{all:?}");
        let retired = Facts { backups: vec![Backup { most_age: None, ..backup(800) }], ..Facts::default() };
        assert_eq!(found(&retired, &AlertTable::default()), []);
        let damaged = Facts { backups: vec![Backup { is_damaged: true, ..backup(1) }], ..Facts::default() };
        assert_eq!(found(&damaged, &AlertTable::default()), [("backup", Severity::Critical)]);
        let full = Facts { index_trouble: Some("No space left on device".into()), ..Facts::default() };
        assert_eq!(found(&full, &AlertTable::default()), [("index", Severity::Critical)]);
        let off = Facts { api_failure: Some("it is damaged".into()), ..Facts::default() };
        assert_eq!(found(&off, &AlertTable::default()), [("api", Severity::Critical)]);
        let ended = Facts { certificate: Some(("/c.pem".into(), None)), ..Facts::default() };
        assert_eq!(found(&ended, &AlertTable::default()), [("certificate", Severity::Critical)]);
    }
}
