//! The API over HTTP of a running server.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use admin::control::{Listener, ListenerStatus};
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
    let manage: Arc<dyn Manage> = Arc::new(Console::new(running.clone()));
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
    caches(figures, held)
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
