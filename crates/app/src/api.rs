//! The API over HTTP of a running server.

use std::path::Path;
use std::sync::Arc;

use admin::control::{Listener, ListenerStatus};
use admin::{ApiSettings, ServerSettings};
use anyhow::Context;
use auth::LoginGuard;
use tokio::sync::watch;
use web::{Api, Certificate, Events, Figures, Manage, Metrics};

use crate::bind::{self, Bound};
use crate::console::Console;
use crate::figures::Scrape;
use crate::log;
use crate::running::Running;

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
    let console = Arc::new(Console::new(running.clone()));
    console.start();
    let scrape = Scrape::new(running.clone(), console.clone());
    let figures: Arc<dyn Fn() -> Figures + Send + Sync> = Arc::new(move || scrape.figures());
    let metrics = (Metrics::of_process(), figures);
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
