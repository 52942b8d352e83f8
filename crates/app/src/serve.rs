//! `fourfold serve`: shares folders until told to stop.

use std::process::ExitCode;
use std::sync::Arc;

use admin::control::{self, Report};
use admin::{Arguments, ServerSettings, Settings, State};
use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::Serve;
use crate::running::{Current, Running};
use crate::{accounts, announce, exit, here, log};

/// Checks the settings as a whole, opens the listeners, and only then reads a byte.
pub(crate) fn run(serve: &Serve) -> anyhow::Result<ExitCode> {
    let arguments = serve.arguments(here::privileged(), here::folder()?);
    let settings = match Settings::load(&arguments) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    log::start(&settings.server)?;
    settings.notes.iter().for_each(|note| tracing::warn!("{note}"));
    let state = State::open(&settings.server.state)?;
    let accounts = accounts::read(state.path(), &settings)?;
    let current = Arc::new(Current { settings, accounts });
    runtime(&current.settings.server)?.block_on(until_stopped(arguments, &state, current))?;
    Ok(ExitCode::SUCCESS)
}

fn runtime(settings: &ServerSettings) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if let Some(threads) = settings.threads {
        builder.worker_threads(threads);
    }
    builder
        .enable_all()
        .build()
        .context("the worker threads cannot be started; set `threads` in [server] lower")
}

async fn until_stopped(arguments: Arguments, state: &State, current: Arc<Current>) -> anyhow::Result<()> {
    let (listeners, nfs, views) = (Vec::new(), None, Vec::new());
    let running = Arc::new(Running::new(arguments, state.path(), current, (listeners, nfs), views));
    let socket = control::listen(state.path()).context("the control socket cannot be made")?;
    let control = tokio::spawn(control::serve(socket, Arc::clone(&running) as Arc<dyn Report>));
    let signals = Signals::new()?; // from here on, so that one sent on `ready` is not missed
    if let Err(error) = announce::ready(&running.current().settings, &running.shares()) {
        tracing::warn!(%error, "nobody reads standard output"); // which is no reason to stop
    }
    signals.wait(&running).await;
    control.abort();
    control::remove(state.path());
    Ok(())
}

/// What the operator tells the process.
struct Signals {
    stop: Signal,
    interrupt: Signal,
    reload: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        let (stop, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { stop, interrupt, reload: signal(SignalKind::hangup())? })
    }

    /// SIGHUP reloads; SIGTERM and SIGINT end the wait.
    async fn wait(mut self, running: &Arc<Running>) {
        loop {
            tokio::select! {
                _ = self.stop.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.reload.recv() => take_over(running).await,
            }
        }
    }
}

/// Reads the settings again, where blocking disturbs no one.
async fn take_over(running: &Arc<Running>) {
    let running = Arc::clone(running);
    match tokio::task::spawn_blocking(move || running.reload()).await {
        Ok(Ok(lines)) => {
            lines.iter().for_each(|line| tracing::info!("{line}"));
            tracing::info!("settings reloaded");
        }
        Ok(Err(lines)) => {
            lines.iter().for_each(|line| tracing::error!("{line}"));
            tracing::error!("the new settings are refused; the old ones stay");
        }
        Err(error) => tracing::error!(%error, "the reload failed"),
    }
}
