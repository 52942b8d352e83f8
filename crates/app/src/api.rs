//! The API over HTTP of a running server.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use admin::control::{AlertStatus, Listener, ListenerStatus};
use admin::{ApiSettings, ServerSettings};
use anyhow::Context;
use auth::LoginGuard;
use tokio::sync::watch;
use vfs::caches::Entry;
use web::{Api, Certificate, Events, Figures, Manage, Meaning, Metrics};

use crate::bind::{self, Bound};
use crate::console::Console;
use crate::running::{Held, Running};
use crate::{log, memory};

/// Opens the listeners, if the API is on.
pub(crate) fn open(settings: &ServerSettings) -> anyhow::Result<Option<Bound>> {
    let admin::Port::Number(port) = settings.api.port else { return Ok(None) };
    bind::tcp("the API", "admin", &settings.api.listen, port).map(Some)
}

/// The listeners for a status.
pub(crate) fn listeners(bound: Option<&Bound>) -> Vec<ListenerStatus> {
    let addresses = bound.into_iter().flat_map(|bound| &bound.tcp).filter_map(|tcp| tcp.local_addr().ok());
    let status = |address| ListenerStatus { protocol: Listener::Api, transport: "tcp".into(), address };
    addresses.map(status).collect()
}

/// Serves the API until told to stop.
pub(crate) fn serve(
    bound: Option<Bound>,
    settings: &ServerSettings,
    running: &Arc<Running>,
    (logins, events): (Arc<LoginGuard>, Events),
    stopping: &watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let Some(bound) = bound else { return Ok(()) };
    let certificate = certificate(&settings.api, &settings.state).context("the certificate of the API")?;
    let (started, counted) = (Instant::now(), running.clone());
    let figures = Arc::new(move || figures(&counted.held(), started));
    let metrics = (Metrics::of_process(), figures as Arc<dyn Fn() -> Figures + Send + Sync>);
    let console = Arc::new(Console::new(running.clone()));
    console.start();
    let manage: Arc<dyn Manage> = console;
    let api =
        Api::new(settings.state.clone(), (running.clone(), manage), metrics, logins, (events, log::kept()));
    web::serve(bound.tcp, certificate.as_ref(), api, stopping).context("the API cannot start")
}

fn certificate(settings: &ApiSettings, state: &Path) -> std::io::Result<Option<Certificate>> {
    if !settings.tls {
        return Ok(None);
    }
    let given = settings.certificate.clone().map(|(chain, key)| Certificate { chain, key });
    given.map_or_else(|| web::own_certificate(state, &settings.listen), Ok).map(Some)
}

fn figures(held: &Held, started: Instant) -> Figures {
    let one = |value: f64| vec![(Vec::new(), value)];
    let connections = held.connections.iter();
    let connections =
        connections.map(|(protocol, count)| (vec![("protocol", (*protocol).to_owned())], *count as f64));
    let version = vec![(vec![("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0)];
    let resident = memory::resident().map(|bytes| one(bytes as f64)).unwrap_or_default();
    let figures = Figures::default()
        .with("build", "The version of the server", Meaning::Number, version)
        .with(
            "uptime_seconds",
            "Since the server started",
            Meaning::Number,
            one(started.elapsed().as_secs_f64()),
        )
        .with("connections", "Connections of clients", Meaning::Number, connections.collect())
        .with("opens", "Open files", Meaning::Number, one(held.opens as f64))
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
        .with("resident_memory", "Memory of the process", Meaning::Bytes, resident);
    caches(seen(figures, held), held)
}

/// The alerts, and what their rules look at.
fn seen(figures: Figures, held: &Held) -> Figures {
    let one = |value: f64| vec![(Vec::new(), value)];
    let facts = &held.seen.facts;
    let of_share = |share: &String, value: f64| (vec![("share", share.clone())], value);
    let snapshots = facts.snapshots.iter().map(|(share, age)| of_share(share, age.as_secs_f64()));
    let backups = facts.backups.iter().map(|backup| {
        let labels = vec![("share", backup.share.clone()), ("backup", backup.name.clone())];
        (labels, backup.age.as_secs_f64())
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
            one(held.seen.facts.failed_logins as f64),
        )
        .with(
            "disk_calls_waiting",
            "Calls of the host that wait for a disk",
            Meaning::Number,
            one(held.seen.facts.waiting as f64),
        )
}

/// A raised alert with the value 1. Their number is limited.
fn alert(alert: &AlertStatus) -> (Vec<(&'static str, String)>, f64) {
    let AlertStatus { name, about, severity, .. } = alert;
    let labels =
        vec![("alert", name.clone()), ("about", about.clone()), ("severity", severity.word().to_owned())];
    (labels, 1.0)
}

fn caches(figures: Figures, held: &Held) -> Figures {
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
