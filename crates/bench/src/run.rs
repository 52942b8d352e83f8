//! Runs a plan: target by target, cell by cell, repeat by repeat.
//!
//! The coordinator starts all clients at the same moment, and collects what they measured.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Client, ClientMeasurement, ClientMessage, StartOrder};
use crate::clock::{Change, Clocks};
use crate::folder::Folder;
use crate::link::Link;
use crate::machine::{self, DiskTimes, Server};
use crate::meter::MeterReading;
use crate::mount::Counter;
use crate::pattern::BytePattern;
use crate::plan::{Cell, Plan, Residency};
use crate::record::{End, Failure, Latency, MeasuredRun, PieceWaits, Record, Start};
use crate::{Error, Protocol, Result, Target, baseline, probe};
use client::{Connector, Detour, Reach, evict};
use conn::PieceWaitCounts;

/// The time between the order to start and the start.
const LEAD: Duration = Duration::from_millis(5);
/// The most folders and files that are looked at to drop them from the page cache.
const MAX_EVICTED: usize = 1_000_000;

/// Watches a run: shows progress, keeps records.
pub trait Watcher {
    /// A record.
    ///
    /// # Errors
    /// It cannot be kept: the run stops.
    fn record(&mut self, record: Record) -> Result<()>;

    /// What is done now.
    fn doing(&mut self, what: &str);

    /// So many repeats are done or skipped.
    fn advance(&mut self, repeats: usize);
}

/// Runs a plan, until it is done or `stop` is set. Returns whether it was completed.
///
/// # Errors
/// The plan makes no sense, or the watcher cannot keep a record.
pub fn run(plan: &Plan, stop: &AtomicBool, watcher: &mut dyn Watcher) -> Result<bool> {
    plan.check()?;
    let begun = Instant::now();
    watcher.record(Record::Start(Box::new(start(plan))))?;
    watcher.doing("baselines of this machine");
    for baseline in baseline::of_machine(plan.server_folder.as_deref()) {
        watcher.record(Record::Baseline(baseline))?;
    }
    let mut complete = all_links(plan, stop, watcher)?;
    complete &= !stop.load(Ordering::Relaxed);
    watcher.record(Record::End(End { complete, seconds: begun.elapsed().as_secs_f64() }))?;
    Ok(complete)
}

/// All targets by all links. Returns whether all could be measured.
pub(crate) fn all_links(plan: &Plan, stop: &AtomicBool, watcher: &mut dyn Watcher) -> Result<bool> {
    let pattern = BytePattern::new(plan.seed);
    let mut complete = true;
    for (number, rate) in plan.links.iter().enumerate() {
        let is_measured = |target: &&Target| number == 0 || target.protocol != Protocol::File;
        let link = match rate.map(Link::make).transpose() {
            Ok(link) => link,
            Err(error) => {
                for target in plan.targets.iter().filter(is_measured) {
                    let runner = Runner { plan, target, link: None, pattern: &pattern, stop };
                    watcher.record(runner.failure(None, &error, Vec::new()))?;
                    watcher.advance(plan.cells().len() * plan.repeats);
                }
                complete = false;
                continue;
            }
        };
        for target in plan.targets.iter().filter(is_measured) {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let link = link.clone().filter(|_| target.protocol != Protocol::File);
            complete &= Runner { plan, target, link, pattern: &pattern, stop }.run(watcher)?;
        }
    }
    Ok(complete)
}

/// What is measured, and on what machine.
pub(crate) fn start(plan: &Plan) -> Start {
    let local = plan.targets.iter().find(|target| target.protocol == Protocol::File);
    let folder = plan.server_folder.clone().or_else(|| local.map(|target| PathBuf::from(&target.share)));
    Start {
        version: env!("CARGO_PKG_VERSION").into(),
        time: jiff::Timestamp::now().to_string(),
        command: plan.command.clone(),
        seed: plan.seed,
        scale: plan.scale,
        repeats: plan.repeats,
        depth: plan.depth,
        limit_seconds: plan.limit.as_secs_f64(),
        targets: plan.targets.iter().map(Target::to_string).collect(),
        suite: plan.suite.map(|suite| suite.name.into()),
        machine: machine::machine(folder.as_deref()),
    }
}

/// What is the same for all measurements of a target.
struct Runner<'a> {
    plan: &'a Plan,
    target: &'a Target,
    link: Option<Arc<Link>>,
    pattern: &'a BytePattern,
    stop: &'a AtomicBool,
}

impl Runner<'_> {
    fn connector(&self, cell: Option<&Cell>) -> Connector {
        let (slots, room) =
            cell.map_or((1, 0), |cell| (cell.clients, cell.workload.room(self.plan.scale, cell.clients)));
        Connector::new(self.target.clone(), self.reach(), slots, room)
    }

    fn reach(&self) -> Reach {
        let detour = self.link.clone().map(|link| link as Arc<dyn Detour>);
        Reach { detour, ..Reach::direct(self.plan.timeout) }
    }

    fn failure(&self, cell: Option<&Cell>, error: &Error, left: Vec<String>) -> Record {
        let skipped = matches!(error, Error::Unsupported(_));
        let cell = cell.map(|cell| self.empty(cell, 0).cell());
        Record::Failure(Failure {
            target: self.target.to_string(),
            cell,
            message: error.to_string(),
            skipped,
            left,
        })
    }

    /// All measurements of the target. Returns whether all could be made.
    fn run(&self, watcher: &mut dyn Watcher) -> Result<bool> {
        let cells = self.plan.cells();
        watcher.doing(&format!("{}: connecting", self.target));
        let folder = match Folder::make(&self.connector(None)) {
            Ok(folder) => folder,
            Err(error) => {
                watcher.record(self.failure(None, &error, Vec::new()))?;
                watcher.advance(cells.len() * self.plan.repeats);
                return Ok(false);
            }
        };
        for baseline in baseline::of_target(self.target, &self.reach(), self.link.as_ref()) {
            watcher.record(Record::Baseline(baseline))?;
        }
        let mut complete = true;
        for (number, cell) in cells.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                complete = false;
                break;
            }
            match self.cell(cell, &format!("{}/{number}", folder.name), watcher)? {
                Outcome::Done => {}
                Outcome::Failed => complete = false,
                Outcome::ServerGone => {
                    complete = false;
                    watcher.advance((cells.len() - number - 1) * self.plan.repeats);
                    break;
                }
            }
        }
        watcher.doing(&format!("{}: removing the folder", self.target));
        if let Some(left) = folder.remove(&self.connector(None)) {
            let error = Error::Other("the folder of the measurement could not be removed".into());
            watcher.record(self.failure(None, &error, vec![left]))?;
            complete = false;
        }
        Ok(complete)
    }

    /// One cell, with its repeats.
    fn cell(&self, cell: &Cell, prefix: &str, watcher: &mut dyn Watcher) -> Result<Outcome> {
        let connector = self.connector(Some(cell));
        let is_beside_server = machine::is_here(self.target);
        let mut advanced = 0;
        let (error, left) = thread::scope(|scope| {
            let (say, said) = mpsc::channel();
            let mut orders = Vec::new();
            for client in 0..cell.clients {
                let (order, ordered) = mpsc::channel();
                let client = Client {
                    plan: self.plan,
                    pattern: self.pattern,
                    stop: self.stop,
                    cell: *cell,
                    connector: &connector,
                    client,
                    is_beside_server,
                    folder: format!("{prefix}-{client}"),
                };
                let say = say.clone();
                scope.spawn(move || client.work(&say, &ordered));
                orders.push(order);
            }
            drop(say);
            let done = self.repeats(cell, &orders, &said, watcher, &mut advanced);
            drop(orders); // the clients clean up
            let mut left = Vec::new();
            for said in &said {
                if let ClientMessage::Left(names) = said {
                    left.extend(names);
                }
            }
            (done.err(), left)
        });
        watcher.advance(self.plan.repeats - advanced);
        match error {
            None if left.is_empty() => Ok(Outcome::Done),
            None => {
                let error = Error::Other("some files could not be removed".into());
                watcher.record(self.failure(Some(cell), &error, left))?;
                Ok(Outcome::Failed)
            }
            Some(Error::Stopped) => Ok(Outcome::Failed),
            Some(error) => {
                let error = self.explained(error, prefix);
                watcher.record(self.failure(Some(cell), &error, left))?;
                let is_hopeless = matches!(error, Error::LargePacketsLost(_));
                let gone = is_hopeless || error.ends_session() && connector.connect(0).is_err();
                let skipped = matches!(error, Error::Unsupported(_));
                Ok(if gone {
                    Outcome::ServerGone
                } else if skipped {
                    Outcome::Done
                } else {
                    Outcome::Failed
                })
            }
        }
    }

    /// The reason of a failure, if a test finds more than the failure says.
    fn explained(&self, error: Error, prefix: &str) -> Error {
        let is_remote = self.target.protocol != Protocol::File;
        match error {
            Error::Silent(_) if is_remote && !self.stop.load(Ordering::Relaxed) => {
                probe::lost_packets(self.target, &self.reach(), prefix).unwrap_or(error)
            }
            error => error,
        }
    }

    /// Orders the repeats, when all clients are ready.
    fn repeats(
        &self,
        cell: &Cell,
        orders: &[Sender<StartOrder>],
        said: &Receiver<ClientMessage>,
        watcher: &mut dyn Watcher,
        advanced: &mut usize,
    ) -> Result<()> {
        let example = self.empty(cell, 0);
        watcher.doing(&format!("{}: preparing {}", self.target.protocol, example.cell()));
        let mut agreed = String::new();
        for said in said.iter().take(orders.len()) {
            match said {
                ClientMessage::Ready(what) => agreed = what,
                ClientMessage::Failed(error) => return Err(error),
                ClientMessage::Done(_) | ClientMessage::Left(_) => {
                    return Err(Error::Other("a client is gone".into()));
                }
            }
        }
        let server = Server::find(self.target, self.plan.server_pid);
        let counter = Counter::of(self.target);
        let counted = || counter.as_ref().and_then(Counter::bytes);
        for repeat in 0..self.plan.repeats {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            if cell.cache == Residency::Cold {
                self.evict()?;
            }
            watcher.doing(&format!("{}: {}", self.target.protocol, example.cell()));
            let (server_before, busy_before, disks) = (server.cpu(), machine::busy(), DiskTimes::now());
            let (clocks, counted_before) = (Clocks::now(), counted());
            let at = Instant::now() + LEAD;
            for order in orders {
                // A client that is gone has said why.
                let _ = order.send(StartOrder { at, deadline: at + self.plan.limit });
            }
            let done = collect(said, orders.len())?;
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped); // a repeat that was stopped is no result
            }
            let mut run = self.empty(cell, repeat);
            fill(&mut run, &done, at);
            run.agreed.clone_from(&agreed);
            Change { jump: run.clock_jump, slept: run.slept } = clocks.change(&Clocks::now());
            if let Some((after, before)) = counted().zip(counted_before) {
                run.wire_bytes = after.saturating_sub(before);
                run.wire_interface = counter.as_ref().map(|counter| counter.interface.clone());
            }
            run.server_cpu = server.cpu().zip(server_before).map(|(after, before)| (after - before).max(0.0));
            run.disk_busy = disks.busiest(&DiskTimes::now(), run.seconds);
            let busy = machine::busy();
            let all = busy.1.saturating_sub(busy_before.1).max(1);
            run.machine_busy = busy.0.saturating_sub(busy_before.0) as f64 / all as f64;
            watcher.record(Record::Run(Box::new(run)))?;
            *advanced += 1;
            watcher.advance(1);
        }
        Ok(())
    }

    /// Drops the files of the measurement from the page cache.
    fn evict(&self) -> Result<()> {
        let local = PathBuf::from(&self.target.share);
        let top = match self.target.protocol {
            Protocol::File => local,
            Protocol::Iscsi => return Err(Error::Unsupported("a cold run on a disk")),
            _ => self.plan.server_folder.clone().unwrap_or(local).join(&self.target.path),
        };
        let own = std::fs::read_dir(&top).map_err(|error| Error::Other(error.to_string()))?.flatten();
        let is_own = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(crate::folder::PREFIX);
        let mut left: Vec<PathBuf> =
            own.filter(|entry| is_own(&entry.file_name())).map(|entry| entry.path()).collect();
        for _ in 0..MAX_EVICTED {
            let Some(path) = left.pop() else { break };
            if path.is_dir() {
                left.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|e| e.path()));
            } else {
                evict(&path).map_err(|error| Error::Other(format!("{}: {error}", path.display())))?;
            }
        }
        Ok(())
    }

    fn empty(&self, cell: &Cell, repeat: usize) -> MeasuredRun {
        MeasuredRun {
            target: self.target.to_string(),
            protocol: self.target.protocol,
            workload: cell.workload.name.into(),
            clients: cell.clients,
            cache: cell.cache,
            durability: cell.durability,
            link: self.link.as_ref().map(|link| link.rate()),
            repeat,
            agreed: String::new(),
            seconds: 0.0,
            bytes: 0,
            operations: 0,
            latency: Latency::default(),
            histogram: Vec::new(),
            wire_bytes: 0,
            wire_interface: None,
            client_cpu: 0.0,
            client_memory: 0,
            server_cpu: None,
            machine_busy: 0.0,
            disk_busy: None,
            piece_waits: PieceWaits::default(),
            marks: Vec::new(),
            pictures: 0,
            late: 0,
            cut_short: false,
            clock_jump: None,
            slept: None,
        }
    }
}

/// How a cell ended.
enum Outcome {
    Done,
    Failed,
    ServerGone,
}

/// What all clients measured, or the first failure.
fn collect(said: &Receiver<ClientMessage>, clients: usize) -> Result<Vec<ClientMeasurement>> {
    let (mut done, mut failed) = (Vec::new(), None);
    for said in said.iter().take(clients) {
        match said {
            ClientMessage::Done(measured) => done.push(*measured),
            ClientMessage::Failed(error) => failed = failed.or(Some(error)),
            ClientMessage::Ready(_) | ClientMessage::Left(_) => {}
        }
    }
    match failed {
        Some(error) => Err(error),
        None if done.len() == clients => Ok(done),
        None => Err(Error::Other("a client is gone".into())),
    }
}

fn fill(run: &mut MeasuredRun, done: &[ClientMeasurement], begun: Instant) {
    let mut all = MeterReading::default();
    done.iter().for_each(|done| all.add(&done.measured));
    let ended = done.iter().map(|done| done.ended).max().unwrap_or(begun);
    run.seconds = ended.saturating_duration_since(begun).as_secs_f64();
    (run.bytes, run.operations) = (all.bytes, all.operations);
    let at = |quantile: f64| all.latency.value_at_quantile(quantile);
    run.latency = Latency { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: all.latency.max() };
    run.histogram = buckets(&all);
    run.client_cpu = done.iter().map(|done| done.cpu).sum();
    run.client_memory = machine::peak_memory();
    let pieces = done.iter().fold(PieceWaitCounts::default(), |sum, done| sum.plus(&done.pieces));
    run.piece_waits = PieceWaits::of(&pieces);
    run.wire_bytes = done.iter().map(|done| done.wire).sum();
    (run.pictures, run.late) = all.pictures;
    run.marks = all.marks.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect();
    run.cut_short = all.cut_short;
}

/// Counts between bounds that grow by a quarter.
fn buckets(all: &MeterReading) -> Vec<(u64, u64)> {
    let mut buckets: Vec<(u64, u64)> = Vec::new();
    for value in all.latency.iter_recorded() {
        let (value, count) = (value.value_iterated_to(), value.count_at_value());
        match buckets.last_mut() {
            Some((bound, sum)) if value <= *bound => *sum += count,
            _ => buckets.push((value + value / 4, count)),
        }
    }
    buckets
}
