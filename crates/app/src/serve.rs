//! `fourfold serve`: shares folders until told to stop.

pub(crate) mod acme;
pub(crate) mod alerts;
pub(crate) mod announce;
pub(crate) mod api;
pub(crate) mod audit;
mod backups;
pub(crate) mod component;
pub(crate) mod console;
pub(crate) mod current;
pub(crate) mod doctor;
pub(crate) mod figures;
pub(crate) mod heartbeat;
pub(crate) mod https;
mod loops;
pub(crate) mod restart;
pub(crate) mod running;
pub(crate) mod slow;
pub(crate) mod streams;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::control::{self, Report};
use admin::{Arguments, Settings};
use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use vfs::index::Index;

use crate::cli::Serve;
use crate::commands::caches::CachesView;
use crate::commands::check;
use crate::fronts::{AllListeners, Announcers, AppleTalk, Front, Fronts, Launch, appletalk_line};
use crate::gateway::part::Part;
use crate::gateway::{self, in_common, witness};
use crate::host::memory::KernelMemory;
use crate::host::{confinement, here, memory, privileges};
use crate::people::{accounts, membership, rights, tickets, who};
use crate::serve::alerts::{Alerts, StateFolder};
use crate::serve::audit::Audit;
use crate::serve::backups::BackupsThread;
use crate::serve::component::Component;
use crate::serve::console::ConsoleNotifier;
use crate::serve::doctor::Doctor;
use crate::serve::loops::LoopsView;
use crate::serve::running::{Parts, Running};
use crate::serve::slow::Slow;
use crate::serve::streams::StreamsDesk;
use crate::shares::keeper::{self, Keeper};
use crate::shares::links::Links;
use crate::shares::volumes::Volumes;
use crate::shares::{availability, folders, stores};
use crate::terminal::{exit, log};

/// Threads for everything but connections: signals, timers, datagrams, other services. Most sleep:
/// they are there for requests that unexpectedly wait for a disk.
const BACKGROUND_THREADS: usize = 14;
/// The most threads that wait for disks by design.
const DISK_THREADS: usize = 128;
/// How often listings and open files are checked.
const TEND_EVERY: Duration = Duration::from_secs(5);
/// How often the host's memory is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long pending answers may take after the signal to stop.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Checks the settings as a whole, opens the listeners, drops privileges, and only then reads a
/// byte.
pub(crate) fn run(serve: &Serve) -> anyhow::Result<ExitCode> {
    let arguments = serve.arguments(here::privileged(), here::folder()?);
    let settings = match Settings::load(&Arguments { may_make_folders: true, ..arguments.clone() }) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    log::start(&settings.server)?;
    conn::observe::follow_log();
    let state = admin::State::open(&settings.server.state)?;
    let at_start = Arguments { may_make_folders: true, ..arguments.clone() };
    let settings = match gateway::settings::at_start(&at_start, settings) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    settings.notes.iter().for_each(|note| tracing::warn!("{note}"));
    keeper::mount_pools(&settings);
    // Folders of pools that are mounted now are found soon.
    let is_there = settings.absent.iter().any(|share| share.path.is_dir());
    if let Some(why) = check::none_served(&settings).filter(|_| !is_there) {
        anyhow::bail!("{why}; make their folders, or mount their disks (`must-be-mounted` waits for them)");
    }
    let keeper = Keeper::start(&settings)?.map(Arc::new);
    privileges::raise_descriptor_limit();
    privileges::keep_only_needed(&settings)
        .context("the privileges that are not needed cannot be given up")?;
    confinement::confine(&settings.server).tell();
    // No thread may begin above: it would keep all privileges. The one for AppleTalk keeps what only it needs.
    let appletalk = AppleTalk::start(&settings)?;
    let index = Index::open(state.path()).context("the index in the state folder cannot be used")?;
    stores::prepare(&settings, state.server_id())?;
    let settings = stores::divided(settings);
    memory::give_back(); // its thread must not have more privileges than others
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(BACKGROUND_THREADS)
        .max_blocking_threads(DISK_THREADS)
        .on_thread_start(conn::begin_thread)
        .enable_all()
        .build()?;
    let stopped =
        runtime.block_on(serve_until_stopped(arguments, settings, &state, (index, keeper, appletalk)));
    runtime.shutdown_timeout(STOP_WITHIN);
    stores::end(STOP_WITHIN);
    stopped.map(|()| restart::exit_code())
}

async fn serve_until_stopped(
    arguments: Arguments,
    settings: Settings,
    state: &admin::State,
    (index, keeper, appletalk): (Index, Option<Arc<Keeper>>, Arc<AppleTalk>),
) -> anyhow::Result<()> {
    let ((stop, stopping), accounts_changed) = (watch::channel(false), Arc::new(Notify::new()));
    let mut orders = Orders::new(accounts_changed.clone())?;
    let bound = AllListeners::open(&settings.server)?;
    let (api, api_failure) = api::open(&settings.server)?;
    let listeners = bound.status().into_iter().chain(api::listeners(api.as_ref())).collect();
    let accounts = tickets::with_others(accounts::at_start(state.path(), &settings)?, &settings)?;
    let made = folders::make(&settings, &accounts, here::privileged())?;
    let said = made.into_iter().chain(who::surprising(&accounts, &settings)).collect();
    let current = tickets::current(settings, accounts)?;
    let (volumes, current) = in_common::joined(index, state.path(), current, bound.has_witness()).await?;
    let links = Links::start(&current, state.path(), volumes.namespace().clone());
    let (ports, login_guard) = (bound.ports(), Arc::new(auth::LoginGuard::default()));
    let (machine, (loops, count)) = (KernelMemory::here(), loops::start(&current.settings.server)?);
    let budget = memory::budget(&current.settings.server, &machine);
    let launch = Launch {
        current: &current,
        state,
        volumes: &volumes,
        ports,
        accounts_changed: &accounts_changed,
        login_guard: &login_guard,
        budget: &budget,
        loops: &loops,
        appletalk,
    };
    let (fronts, reach) = Fronts::begin(&launch, bound, &stopping).await?;
    let (announcers, part) = (Announcers::start(&launch), Part::start(&current, volumes.clone(), keeper));
    let caches = CachesView::new(&current, volumes.clone(), (budget, machine), count, reach);
    tokio::spawn(look_at_memory(caches.clone()));
    let (console, doctor) = (Arc::new(ConsoleNotifier::default()), Doctor::start(fronts.clone(), &current));
    let looked_at = (login_guard.clone(), volumes.namespace().clone(), doctor.clone());
    let (audit, slow) = (Arc::new(Audit::new(&current.settings)), Arc::new(Slow::new(&current.settings)));
    let of_state = StateFolder { path: state.path().to_owned(), index: volumes.index().clone(), api_failure };
    let alerts = Alerts::start(&current, of_state, looked_at, console.events.clone());
    let first: [Arc<dyn Component>; 4] = [volumes.clone(), links, part.clone(), LoopsView::component(&loops)];
    let streams = StreamsDesk::start(&current, &volumes, &loops);
    let (judge, log, desk) = (alerts.clone(), audit.clone(), streams.clone());
    let last: [Arc<dyn Component>; 7] =
        [desk, caches.clone(), console.clone(), log, slow.clone(), doctor, judge];
    let others = announcers.components().into_iter().chain(fronts.components());
    let components = first.into_iter().chain(others).chain(last).collect();
    let parts = Parts {
        components,
        fronts: fronts.clone(),
        volumes: volumes.clone(),
        in_common: part.clone(),
        caches,
        slow: slow.clone(),
        streams,
    };
    let running = membership::kept(Running::new(arguments, state.path(), current, (listeners, reach), parts));
    let control = serve_control(state.path(), &running)?;
    api::serve(api, &running, (login_guard.clone(), &console, alerts), &stopping)?;
    tokio::spawn(tend(volumes.clone(), fronts.clone(), login_guard, slow));
    let macs = watch(&running, &volumes)?;
    say_ready(&running, volumes.clone(), said).await?;
    orders.obey_until_stop(&running, &volumes).await;
    part.end();
    end_control(control, state.path());
    say_goodbye(&announcers, &fronts, &stop).await;
    let _ = tokio::task::spawn_blocking(move || (audit.stop(), macs.stop())).await; // a panic there was logged
    volumes.stop().await;
    Ok(())
}

/// The tasks that answer commands: of the administrator, and of people if they may ask.
type ControlTasks = (JoinHandle<()>, Option<JoinHandle<()>>);

/// Answers commands from now on.
fn serve_control(state: &Path, running: &Arc<Running>) -> anyhow::Result<ControlTasks> {
    let socket = control::listen(state).context("the control socket cannot be made")?;
    Ok((tokio::spawn(control::serve(socket, running.clone())), serve_people(state, running)))
}

/// Commands cannot ask the server any more, neither those of the administrator nor those of people.
fn end_control((control, people): ControlTasks, state: &Path) {
    control.abort();
    control::remove(state);
    if let Some(people) = people {
        people.abort();
        control::leave_people(state);
    }
}

/// Ends the connections of clients, which are told of it where their protocol has words for that.
async fn say_goodbye(announcers: &Announcers, fronts: &Fronts, stop: &watch::Sender<bool>) {
    announcers.stopped().await;
    fronts.goodbye().await;
    stop.send_replace(true);
    fronts.stopped().await;
}

/// Follows what changes outside of this process: the folders of the shares, and what the servers of a cluster have in common.
/// The backups of Macs are followed by a thread, which is to be stopped.
fn watch(running: &Arc<Running>, volumes: &Volumes) -> anyhow::Result<BackupsThread> {
    keep_indexes(running.clone());
    tokio::spawn(availability::watch(running.clone()));
    tokio::spawn(running::browsing::watch(running.clone()));
    in_common::follow(running.clone(), volumes, volumes.state().to_owned());
    BackupsThread::start(running).context("the thread of the backups of Macs does not start")
}

async fn look_at_memory(caches: Arc<CachesView>) {
    let mut every = tokio::time::interval(LOOK_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        every.tick().await;
        let caches = caches.clone();
        let _ = tokio::task::spawn_blocking(move || caches.look()).await; // a panic there was logged
    }
}

/// Lets the users of the host search. A server that is not root has no other users.
fn serve_people(state: &Path, running: &Arc<Running>) -> Option<JoinHandle<()>> {
    if !here::privileged() {
        return None;
    }
    match control::listen_to_people(state) {
        Ok(socket) => Some(tokio::spawn(control::serve_people(socket, running.clone()))),
        Err(error) => {
            tracing::debug!(%error, "the users of the host cannot search by `fourfold find`");
            None
        }
    }
}

/// Begins to keep the indexes of the shares, in the background.
fn keep_indexes(running: Arc<Running>) {
    tokio::task::spawn_blocking(move || {
        running.keep_indexes().iter().for_each(|line| tracing::warn!("{line}"));
    });
}

/// Prints the mount lines of the shares, the earlier lines `said`, and the users' access to the
/// shares. The service manager is told, too.
async fn say_ready(running: &Running, volumes: Arc<Volumes>, mut said: Vec<String>) -> anyhow::Result<()> {
    let (now, privileged) = (running.current(), here::privileged());
    let rights = tokio::task::spawn_blocking(move || rights::lines(&now, &volumes, privileged));
    said.extend(rights.await.unwrap_or_default()); // a panic there was logged
    said.extend(appletalk_line(&running.current().settings));
    said.extend(running.console().map(|url| format!("console: {url}")));
    if let Err(error) = announce::ready(&running.current(), &running.status().shares, &said) {
        tracing::warn!("{error}; serving goes on");
    }
    heartbeat::start()?;
    notify(&[sd_notify::NotifyState::Ready]);
    Ok(())
}

async fn tend(volumes: Arc<Volumes>, fronts: Fronts, login_guard: Arc<auth::LoginGuard>, slow: Arc<Slow>) {
    let mut every = tokio::time::interval(TEND_EVERY);
    loop {
        every.tick().await;
        login_guard.log.tend(Instant::now());
        slow.tend(Instant::now());
        let (volumes, fronts) = (volumes.clone(), fronts.clone());
        let work = move || {
            volumes.tend();
            fronts.iter().for_each(Front::tend);
        };
        let _ = tokio::task::spawn_blocking(work).await; // a panic there was logged
    }
}

/// Runs on a thread of its own: the threads that answer requests may act as another user.
async fn reload(running: Arc<Running>) {
    notify(&[sd_notify::NotifyState::Reloading]);
    let reloaded = tokio::task::spawn_blocking(move || vfs::backend::host::as_ourselves(|| running.reload()));
    match reloaded.await {
        Ok(Ok(Ok(lines))) => {
            tracing::info!("settings read again");
            lines.iter().for_each(|line| tracing::warn!("{line}"));
        }
        Ok(Ok(Err(lines))) => {
            tracing::error!("the settings were refused; the old ones stay");
            lines.iter().for_each(|line| tracing::error!("{line}"));
        }
        Ok(Err(error)) => tracing::error!(%error, "the settings could not be read again"),
        Err(error) => tracing::error!(%error, "the settings could not be read again"),
    }
    notify(&[sd_notify::NotifyState::Ready]);
}

/// Waits for the order from another machine to stop, and then until clients had the time to move.
async fn drained(order: Option<&mut DrainOrder>) {
    if let Some(DrainOrder { order, wait }) = order
        && order.wait_for(|is_drained| *is_drained).await.is_ok()
    {
        tracing::info!("`fourfold cluster drain`: the other servers take over");
        tokio::time::sleep(*wait).await;
        return;
    }
    std::future::pending().await // the server is alone, or has left its cluster
}

/// Notifies the service manager, if there is one.
pub(crate) fn notify(states: &[sd_notify::NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the service manager cannot be told");
    }
}

enum ServerSignal {
    Reload,
    Stop,
}

/// The sources of signals and orders.
struct Orders {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
    accounts_changed: Arc<Notify>,
    /// The order from another machine to this server of a cluster to stop.
    drained: Option<DrainOrder>,
}

/// Whether this server is to stop, and how long its clients have to move then: witnesses tell them where to.
struct DrainOrder {
    order: watch::Receiver<bool>,
    wait: Duration,
}

impl Orders {
    fn new(accounts_changed: Arc<Notify>) -> std::io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            accounts_changed,
            drained: None,
        })
    }

    /// Reloads the settings as often as ordered, until the order to stop.
    async fn obey_until_stop(&mut self, running: &Arc<Running>, volumes: &Volumes) {
        self.drained = volumes.cluster.as_ref().map(|cluster| DrainOrder {
            order: cluster.drained(),
            wait: if cluster.is_witness() { witness::MOVE_WITHIN } else { Duration::ZERO },
        });
        while let ServerSignal::Reload = self.next().await {
            reload(running.clone()).await;
        }
        tracing::info!("stopping");
        notify(&[sd_notify::NotifyState::Stopping]);
    }

    async fn next(&mut self) -> ServerSignal {
        tokio::select! {
            _ = self.hangup.recv() => ServerSignal::Reload,
            () = self.accounts_changed.notified() => ServerSignal::Reload,
            _ = self.terminate.recv() => ServerSignal::Stop,
            _ = self.interrupt.recv() => ServerSignal::Stop,
            () = restart::ordered() => ServerSignal::Stop,
            () = drained(self.drained.as_mut()) => ServerSignal::Stop,
        }
    }
}
