//! The figures of a scrape of the metrics: what is read at that moment. Their number is limited.

use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::control::{
    AlertStatus, BackupState, BackupStatus, LinkStatus, LinkTargetStatus, LunAnswer, LunRequest, LunStatus,
    Report,
};
use lock::Mutex;
use vfs::caches::Entry;
use web::{Figures, LabelledValue, Manage, Meaning};

use crate::host::memory;
use crate::ranks;
use crate::serve::alerts::BlockedRequests;
use crate::serve::component::ResourceCounts;
use crate::serve::console::Console;
use crate::serve::running::Running;

/// LUNs and backups that have figures of their own.
const MOST: usize = 256;
/// Backups are measured again after so long: their files are many.
const SELDOM: Duration = Duration::from_secs(300);

/// What scrapes ask.
pub(crate) struct Scrape {
    running: Arc<Running>,
    console: Arc<Console>,
    backups: Mutex<Option<(Instant, Vec<BackupStatus>)>, ranks::MeasuredBackups>,
}

impl Scrape {
    pub(crate) fn new(running: Arc<Running>, console: Arc<Console>) -> Self {
        Self { running, console, backups: Mutex::default() }
    }

    /// Everything. May wait for a disk.
    pub(crate) fn figures(&self) -> Figures {
        let held = self.running.held();
        let figures = caches(seen(process(&held, self.running.uptime()), &held), &held);
        let luns = match self.running.lun(LunRequest::List, &|_| true) {
            Ok(LunAnswer::Luns(luns)) => luns,
            _ => Vec::new(), // iSCSI is off
        };
        let figures = links(disks(figures, &luns), &held.links);
        webhooks(backups(figures, &self.backups()), &*self.console)
    }

    fn backups(&self) -> Vec<BackupStatus> {
        let known = self.backups.lock().clone();
        if let Some((at, backups)) = known
            && at.elapsed() < SELDOM
        {
            return backups;
        }
        let backups = self.console.backups().unwrap_or_default(); // the console says why
        *self.backups.lock() = Some((Instant::now(), backups.clone()));
        backups
    }
}

fn one(value: f64) -> Vec<LabelledValue> {
    vec![(Vec::new(), value)]
}

/// What clients hold, and the process.
fn process(held: &ResourceCounts, uptime: Duration) -> Figures {
    let connections = held.connections.iter();
    let connections =
        connections.map(|(protocol, count)| (vec![("protocol", (*protocol).to_owned())], *count as f64));
    let version = vec![(vec![("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0)];
    let resident = memory::resident().map(|bytes| one(bytes as f64)).unwrap_or_default();
    Figures::default()
        .with("build", "The version of the server", Meaning::Number, version)
        .with("uptime_seconds", "Since the server started", Meaning::Number, one(uptime.as_secs_f64()))
        .with("connections", "Connections of clients", Meaning::Number, connections.collect())
        .with("tls_connections", "Connections of NFS with TLS", Meaning::Number, one(held.tls as f64))
        .with("opens", "Open files", Meaning::Number, one(held.opens as f64))
        .with(
            "opens_limit",
            "Files that clients may have open",
            Meaning::Number,
            one(held.open_counts.limit as f64),
        )
        .with(
            "opens_of_guests",
            "Open files of clients without a login",
            Meaning::Number,
            one(held.open_counts.guests as f64),
        )
        .with(
            "opens_refused",
            "Opens that were refused because a client had too many",
            Meaning::Count,
            one(held.open_counts.refused as f64),
        )
        .with("locks", "Locked ranges", Meaning::Number, one(held.locks as f64))
        .with("leases", "Leases of clients", Meaning::Number, one(held.leases as f64))
        .with(
            "audit_lines",
            "Lines of the audit log, written and lost",
            Meaning::Count,
            vec![
                (vec![("result", "written".to_owned())], held.audit.0 as f64),
                (vec![("result", "lost".to_owned())], held.audit.1 as f64),
            ],
        )
        .with(
            "slow_operations",
            "Operations that took longer than slow-operation",
            Meaning::Count,
            one(held.slow as f64),
        )
        .with("resident_memory", "Memory of the process", Meaning::Bytes, resident)
        .with(
            "recalls",
            "Recalls of leases, answered by all holders or ended by the server",
            Meaning::Count,
            recalls(),
        )
}

fn recalls() -> Vec<LabelledValue> {
    let counts = vfs::state::recall_counts();
    vec![
        (vec![("result", "answered".to_owned())], counts.answered as f64),
        (vec![("result", "revoked".to_owned())], counts.revoked as f64),
    ]
}

/// The alerts, and what their rules look at.
fn seen(figures: Figures, held: &ResourceCounts) -> Figures {
    let facts = &held.seen.facts;
    let of_share = |share: &String, value: f64| (vec![("share", share.clone())], value);
    let stuck = |value: fn(&BlockedRequests) -> f64| {
        let labelled =
            |stuck: &BlockedRequests| (vec![("protocol", stuck.protocol.to_owned())], value(stuck));
        facts.stuck.iter().map(labelled).collect::<Vec<_>>()
    };
    let counts = facts.snapshot_counts.iter().map(|(share, count)| of_share(share, *count as f64));
    let snapshots = facts.snapshots.iter().map(|(share, age)| of_share(share, age.as_secs_f64()));
    let backups = facts.backups.iter().map(|backup| {
        let mac = backup.name.rsplit_once('.').map_or(&*backup.name, |(mac, _)| mac);
        (of_backup(&backup.share, mac), backup.age.as_secs_f64())
    });
    let free = facts.space.iter().map(|space| of_share(&space.share, space.free as f64));
    let size = facts.space.iter().map(|space| of_share(&space.share, space.total as f64));
    figures
        .with(
            "alerts",
            "Alerts that are raised",
            Meaning::Number,
            held.seen.alerts.iter().map(alert).collect(),
        )
        .with(
            "snapshot_age_seconds",
            "Since the newest snapshot of a share with a schedule",
            Meaning::Number,
            snapshots.collect(),
        )
        .with("snapshots", "Snapshots of a share", Meaning::Number, counts.collect())
        .with("backup_age_seconds", "Since a Mac's last backup", Meaning::Number, backups.collect())
        .with("disk_free", "Free space of a share's disk", Meaning::Bytes, free.collect())
        .with("disk_size", "Size of a share's disk", Meaning::Bytes, size.collect())
        .with(
            "alert_messages",
            "Messages about alerts, sent and failed",
            Meaning::Count,
            vec![
                (vec![("result", "sent".to_owned())], held.seen.messages.0 as f64),
                (vec![("result", "failed".to_owned())], held.seen.messages.1 as f64),
            ],
        )
        .with(
            "failed_logins",
            "Logins that failed or were refused",
            Meaning::Count,
            one(facts.failed_logins as f64),
        )
        .with(
            "disk_calls_waiting",
            "Calls of the host that wait for a disk",
            Meaning::Number,
            one(facts.waiting as f64),
        )
        .with(
            "disk_stuck_threads",
            "Threads that the host has not answered for some seconds, by protocol",
            Meaning::Number,
            stuck(|stuck| stuck.threads as f64),
        )
        .with(
            "disk_stuck_seconds",
            "Since when the oldest of these waits",
            Meaning::Number,
            stuck(|stuck| stuck.oldest.as_secs_f64()),
        )
}

/// A raised alert with the value 1. Their number is limited.
fn alert(alert: &AlertStatus) -> (Vec<(&'static str, String)>, f64) {
    let AlertStatus { name, about, severity, .. } = alert;
    let labels =
        vec![("alert", name.clone()), ("about", about.clone()), ("severity", severity.word().to_owned())];
    (labels, 1.0)
}

fn caches(figures: Figures, held: &ResourceCounts) -> Figures {
    let each = |value: fn(&Entry) -> f64| {
        let labelled = |entry: &Entry| (vec![("cache", entry.rules.name.to_owned())], value(entry));
        held.caches.iter().map(labelled).collect()
    };
    figures
        .with("cache", "Memory of the caches", Meaning::Bytes, each(|entry| entry.report.bytes as f64))
        .with(
            "cache_entries",
            "Entries of the caches",
            Meaning::Number,
            each(|entry| entry.report.entries as f64),
        )
        .with(
            "cache_hits",
            "Look-ups that the cache answered",
            Meaning::Count,
            each(|entry| entry.report.hits as f64),
        )
        .with(
            "cache_misses",
            "Look-ups that it did not",
            Meaning::Count,
            each(|entry| entry.report.misses as f64),
        )
        .with(
            "cache_evictions",
            "Entries dropped",
            Meaning::Count,
            each(|entry| entry.report.evictions as f64),
        )
}

fn disks(figures: Figures, luns: &[LunStatus]) -> Figures {
    let each = |value: fn(&LunStatus) -> Option<f64>| {
        let labels = |lun: &LunStatus| vec![("share", lun.share.clone()), ("lun", lun.name.clone())];
        let of = |lun: &LunStatus| Some((labels(lun), value(lun)?));
        luns.iter().take(MOST).filter_map(of).collect::<Vec<_>>()
    };
    figures
        .with("lun_size", "Size of a LUN", Meaning::Bytes, each(|lun| Some(lun.size as f64)))
        .with("lun_used", "What it takes on the disk", Meaning::Bytes, each(|lun| Some(lun.used? as f64)))
        .with(
            "lun_sessions",
            "Initiators that are logged in to its target",
            Meaning::Number,
            each(|lun| Some(lun.sessions.len() as f64)),
        )
        .with(
            "lun_served",
            "1: initiators can use it",
            Meaning::Number,
            each(|lun| Some(f64::from(u8::from(lun.served)))),
        )
}

fn links(figures: Figures, links: &[LinkStatus]) -> Figures {
    let each = |value: fn(&LinkTargetStatus) -> Option<f64>| {
        let all = links.iter().flat_map(|link| link.targets.iter().map(move |target| (link, target)));
        let labels = |link: &LinkStatus, target: &LinkTargetStatus| {
            vec![("link", link.path.clone()), ("target", target.url.clone())]
        };
        let of =
            |(link, target): (&LinkStatus, &LinkTargetStatus)| Some((labels(link, target), value(target)?));
        all.take(MOST).filter_map(of).collect::<Vec<_>>()
    };
    let is_up = |target: &LinkTargetStatus| target.up.map(|up| f64::from(u8::from(up)));
    figures
        .with("link_target_up", "1: the last check of the target succeeded", Meaning::Number, each(is_up))
        .with(
            "link_target_check_seconds",
            "How long the last check took",
            Meaning::Number,
            each(|target| Some(target.took_ms? as f64 / 1000.0)),
        )
        .with(
            "link_target_failures",
            "Checks of the target that failed",
            Meaning::Count,
            each(|target| Some(target.failures as f64)),
        )
}

fn of_backup(share: &str, mac: &str) -> Vec<(&'static str, String)> {
    vec![("share", share.to_owned()), ("backup", mac.to_owned())]
}

fn backups(figures: Figures, all: &[BackupStatus]) -> Figures {
    let each = |value: fn(&BackupStatus) -> Option<f64>| {
        let of = |backup: &BackupStatus| Some((of_backup(&backup.share, &backup.mac), value(backup)?));
        all.iter().take(MOST).filter_map(of).collect::<Vec<_>>()
    };
    figures
        .with("backup_size", "Size of a Mac's backups", Meaning::Bytes, each(|one| Some(one.size? as f64)))
        .with(
            "backup_limit",
            "What the backups of the share may take",
            Meaning::Bytes,
            each(|one| Some(one.limit? as f64)),
        )
        .with(
            "backup_completed_seconds",
            "When the newest backup was completed, in seconds since 1970",
            Meaning::Number,
            each(|one| Some(one.completed? as f64)),
        )
        .with(
            "backup_good",
            "0: the backups are overdue, incomplete or damaged",
            Meaning::Number,
            each(|one| {
                let is_good = matches!(
                    one.state,
                    BackupState::Good | BackupState::BackingUp | BackupState::Stopped | BackupState::Retired
                );
                Some(f64::from(u8::from(is_good)))
            }),
        )
}

fn webhooks(figures: Figures, manage: &dyn Manage) -> Figures {
    let all = manage.webhooks();
    let sum = |of: fn(&web::webhooks::WebhookStatus) -> u64| all.iter().map(of).sum::<u64>() as f64;
    let messages = vec![
        (vec![("result", "sent".to_owned())], sum(|hook| hook.sent)),
        (vec![("result", "failed".to_owned())], sum(|hook| hook.failed)),
    ];
    figures
        .with("webhook_messages", "Messages about changes, sent and failed", Meaning::Count, messages)
        .with(
            "webhook_lost_changes",
            "Changes that no message told",
            Meaning::Count,
            one(sum(|hook| hook.lost)),
        )
}
