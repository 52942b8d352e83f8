//! Which options of an NFS mount are the fastest here: one option after the other, each until more brings
//! nothing.

mod table;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::record::{End, Record};
use crate::run::{Watcher, all_links, start};
use crate::stats::Summary;
use crate::{Durability, Error, Plan, Protocol, Residency, Result, Target, Workload, baseline};

pub(crate) use table::lines as table_lines;
pub use table::{MountCell, MountColumn};

/// A value counts as better if it is so many times as fast as the best before.
const BETTER: f64 = 1.05;
/// An option is done after so many values in a row that are not better.
const IN_VAIN: usize = 2;
/// Transfer sizes of Linux, the usual one first.
const SIZES: [u32; 8] = [1 << 20, 512 << 10, 256 << 10, 128 << 10, 64 << 10, 32 << 10, 16 << 10, 8 << 10];
/// Versions of NFS, the newest first: the number of the version times ten, and of the minor version.
const VERSIONS: [u32; 3] = [42, 41, VERSION_3];
const VERSION_3: u32 = 30;
/// TCP and UDP, by their numbers in IP.
const PROTOCOLS: [u32; 2] = [TCP, UDP];
const TCP: u32 = 6;
const UDP: u32 = 17;
/// Connections.
const CONNECTIONS: [u32; 4] = [1, 2, 4, 8];
/// The bytes in flight stay the same: smaller transfers are more. A client with a page cache does so, too.
const FULL: u32 = 1 << 20;
/// The most transfers in flight.
const MAX_DEPTH: usize = 128;

/// The same options as they were published, MacBook Air, 2011. `noac` turns off the caching of attributes by the client.
pub const PUBLISHED: &str = "Published (a MacBook Air at a backup server, 2011), MB/s: TCP 6.04, with noac 6.09, with noac and async 7.09; \
                             UDP 8.56, 8.67 and 10.93; transfer sizes of 64 to 512 KiB with UDP, noac and async 10.8 to 10.97. With noac \
                             the clients here ask for the attributes before each write; with async the server may keep what is written \
                             in its memory until COMMIT. A datagram of UDP has 32 KiB at most.";

/// An option of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The version of NFS, times ten.
    Vers,
    /// Bytes of a read.
    Rsize,
    /// TCP or UDP, by its number in IP.
    Proto,
    /// Bytes of a write that the server may keep in its memory until COMMIT.
    Wsize,
    /// Bytes of a write that is on the disk before its answer.
    #[serde(rename = "wsize-sync")]
    WsizeSync,
    /// Connections.
    Nconnect,
}

impl Choice {
    const ALL: [Self; 6] =
        [Self::Vers, Self::Rsize, Self::Proto, Self::Wsize, Self::WsizeSync, Self::Nconnect];

    fn values(self) -> &'static [u32] {
        match self {
            Self::Vers => &VERSIONS,
            Self::Proto => &PROTOCOLS,
            Self::Nconnect => &CONNECTIONS,
            Self::Rsize | Self::Wsize | Self::WsizeSync => &SIZES,
        }
    }

    /// The name in the report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vers => "vers",
            Self::Rsize => "rsize",
            Self::Proto => "proto",
            Self::Wsize => "wsize, async",
            Self::WsizeSync => "wsize, sync",
            Self::Nconnect => "nconnect",
        }
    }
}

/// A value that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The option.
    pub choice: Choice,
    /// Its value.
    pub value: u32,
    /// The median speed in bytes per second.
    pub speed: f64,
}

impl Step {
    /// The value as the mount command has it.
    #[must_use]
    pub fn shown(&self) -> String {
        match (self.choice, self.value) {
            (Choice::Vers, VERSION_3) => "3".into(),
            (Choice::Vers, version) => format!("{}.{}", version / 10, version % 10),
            (Choice::Proto, UDP) => "udp".into(),
            (Choice::Proto, _) => "tcp".into(),
            (_, value) => value.to_string(),
        }
    }
}

/// A finished sweep of one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The target's URL.
    pub target: String,
    /// All values, in the order of the measurement.
    pub steps: Vec<Step>,
    /// The best value of each option.
    pub best: Vec<Step>,
    /// The mount command with them.
    pub mount: String,
    /// Writing by TCP and UDP, with and without `noac` and `async`, and by the size of a write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<MountCell>,
}

impl Sweep {
    fn of(&self, choice: Choice) -> Option<&Step> {
        self.best.iter().find(|step| step.choice == choice)
    }

    /// What the winning line costs or brings, in words.
    #[must_use]
    pub fn text(&self) -> String {
        let Some((kept, stable)) = self.of(Choice::Wsize).zip(self.of(Choice::WsizeSync)) else {
            return "Not all options were measured.".into();
        };
        format!(
            "With the option sync, each write is on the disk before its answer: it reaches {:.0} % of the speed \
             without it.",
            stable.speed / kept.speed.max(1.0) * 100.0
        )
    }
}

/// Refuses what cannot be measured.
///
/// # Errors
/// A target is not one of NFS, or the plan makes no sense.
pub fn check(plan: &Plan) -> Result<()> {
    plan.check()?;
    match plan.targets.iter().find(|target| target.protocol != Protocol::Nfs) {
        Some(target) => {
            Err(Error::Address(format!("{target}: a sweep of NFS options needs a target of NFS")))
        }
        None => Ok(()),
    }
}

/// The most repeats of a sweep.
#[must_use]
pub fn runs(plan: &Plan) -> usize {
    let steps: usize = Choice::ALL.iter().map(|choice| choice.values().len()).sum();
    plan.targets.len() * (steps + table::CELLS) * plan.repeats
}

/// Measures, until it is done or `stop` is set. Returns whether it was completed.
///
/// # Errors
/// A target is not one of NFS, or the watcher cannot keep a record.
pub fn sweep(plan: &Plan, stop: &AtomicBool, watcher: &mut dyn Watcher) -> Result<bool> {
    check(plan)?;
    let begun = Instant::now();
    watcher.record(Record::Start(Box::new(start(plan))))?;
    for baseline in baseline::of_machine(plan.server_folder.as_deref()) {
        watcher.record(Record::Baseline(baseline))?;
    }
    let mut complete = true;
    for target in &plan.targets {
        let (sweep, whole) = of_target(plan, target, stop, watcher)?;
        complete &= whole;
        watcher.record(Record::Sweep(Box::new(sweep)))?;
    }
    watcher.record(Record::End(End { complete, seconds: begun.elapsed().as_secs_f64() }))?;
    Ok(complete)
}

fn of_target(
    plan: &Plan,
    target: &Target,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<(Sweep, bool)> {
    let mut sweep = Sweep {
        target: target.to_string(),
        steps: Vec::new(),
        best: Vec::new(),
        mount: String::new(),
        table: Vec::new(),
    };
    let mut complete = true;
    for choice in Choice::ALL {
        let mut search = Search::default();
        for &value in choice.values() {
            if stop.load(Ordering::Relaxed) {
                complete = false;
                break;
            }
            let plan = step(plan, target, (choice, value), &sweep);
            let mut tap = Tap { watcher: &mut *watcher, rates: Vec::new(), is_unsupported: false };
            let whole = all_links(&plan, stop, &mut tap)?;
            complete &= whole || tap.is_unsupported;
            if tap.rates.is_empty() && choice == Choice::Vers && tap.is_unsupported {
                continue; // the server may have an older version
            }
            if tap.rates.is_empty() {
                break; // the failure is recorded
            }
            let step = Step { choice, value, speed: Summary::of(&tap.rates).median };
            sweep.steps.push(step);
            if search.ends_with(step) {
                break;
            }
        }
        sweep.best.extend(search.best);
    }
    sweep.mount = mount(target, &sweep);
    complete &= table::measure(plan, target, stop, watcher, &mut sweep)?;
    Ok((sweep, complete))
}

/// The search for the best value of an option.
#[derive(Default)]
struct Search {
    best: Option<Step>,
    in_vain: usize,
}

impl Search {
    /// Whether no more values need to be tried after this.
    fn ends_with(&mut self, step: Step) -> bool {
        match self.best {
            Some(best) if step.speed < best.speed * BETTER => self.in_vain += 1,
            _ => (self.best, self.in_vain) = (Some(step), 0),
        }
        self.in_vain >= IN_VAIN
    }
}

/// The plan of one value, with the best values of the options before it.
fn step(plan: &Plan, target: &Target, (choice, value): (Choice, u32), so_far: &Sweep) -> Plan {
    let mut target = target.clone();
    let rsize = so_far.of(Choice::Rsize).map(|step| step.value);
    let tried = Step { choice, value, speed: 0.0 };
    let version = match (choice, value) {
        (Choice::Vers, _) => Some(&tried),
        (Choice::Proto, UDP) => None, // only version 3 has it, which is the client's default
        _ => so_far.of(Choice::Vers),
    };
    match version {
        Some(version) => drop(target.options.insert("vers".into(), version.shown())),
        None => drop(target.options.remove("vers")),
    }
    if choice == Choice::Proto {
        target.options.insert("proto".into(), tried.shown());
    }
    let mut set = |name: &str, value: u32| drop(target.options.insert(name.into(), value.to_string()));
    let (workload, durability, clients) = match choice {
        Choice::Vers | Choice::Rsize | Choice::Proto => ("seq-read", Durability::None, 1),
        Choice::Wsize => ("seq-write", Durability::End, 1),
        Choice::WsizeSync => ("seq-write", Durability::Each, 1),
        Choice::Nconnect => ("seq-read", Durability::None, value as usize),
    };
    let size = match choice {
        Choice::Rsize => (set("rsize", value), value).1,
        Choice::Wsize | Choice::WsizeSync => (set("wsize", value), value).1,
        Choice::Vers | Choice::Proto | Choice::Nconnect => {
            rsize.map_or(FULL, |rsize| (set("rsize", rsize), rsize).1)
        }
    };
    // More datagrams than a socket's buffer holds would be lost.
    let depth = match (choice, value) {
        (Choice::Proto, UDP) => plan.depth,
        _ => (plan.depth * (FULL / size) as usize).min(MAX_DEPTH.max(plan.depth)),
    };
    Plan {
        targets: vec![target],
        workloads: Workload::of(workload).into_iter().collect(),
        clients: vec![clients],
        caches: vec![Residency::Warm],
        durabilities: vec![durability],
        links: plan.links.iter().take(1).copied().collect(),
        depth,
        suite: None,
        ..plan.clone()
    }
}

/// The command for Linux with the best values.
fn mount(target: &Target, sweep: &Sweep) -> String {
    let is_udp = sweep.of(Choice::Proto).is_some_and(|step| step.value == UDP);
    let proto = if is_udp { "proto=udp" } else { "proto=tcp" };
    let version = sweep.of(Choice::Vers).filter(|_| !is_udp).map_or("3".into(), Step::shown);
    let mut options = vec![format!("vers={version}"), proto.to_owned(), "hard".to_owned()];
    // A client that uses UDP has one socket and its own sizes.
    let values = [("rsize", Choice::Rsize), ("wsize", Choice::Wsize), ("nconnect", Choice::Nconnect)];
    for (name, choice) in values.into_iter().filter(|_| !is_udp) {
        options.extend(sweep.of(choice).map(|step| format!("{name}={}", step.shown())));
    }
    if target.port != Protocol::Nfs.port() && version != "3" {
        options.push(format!("port={}", target.port)); // version 4 has no MOUNT
    } else if target.port != Protocol::Nfs.port() {
        let mount = target.options.get("mountport").cloned().unwrap_or_else(|| target.port.to_string());
        options.push(format!("port={},mountport={mount}", target.port));
    }
    let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.clone() };
    format!("mount -t nfs -o {} {host}:/{} /mnt", options.join(","), target.share)
}

/// Passes all on, and keeps the rates.
struct Tap<'a> {
    watcher: &'a mut dyn Watcher,
    rates: Vec<f64>,
    /// A failure is that the server cannot do it.
    is_unsupported: bool,
}

impl Watcher for Tap<'_> {
    fn record(&mut self, record: Record) -> Result<()> {
        if let Record::Run(run) = &record {
            self.rates.push(run.rate());
        }
        if let Record::Failure(failure) = &record {
            self.is_unsupported = failure.skipped;
        }
        self.watcher.record(record)
    }

    fn doing(&mut self, what: &str) {
        self.watcher.doing(what);
    }

    fn advance(&mut self, repeats: usize) {
        self.watcher.advance(repeats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(speeds: &[f64]) -> (usize, u32) {
        let mut search = Search::default();
        let mut count = 0;
        for (speed, value) in speeds.iter().zip(SIZES) {
            count += 1;
            if search.ends_with(Step { choice: Choice::Rsize, value, speed: *speed }) {
                break;
            }
        }
        (count, search.best.map_or(0, |step| step.value))
    }

    #[test]
    fn an_option_is_done_when_two_values_in_a_row_bring_nothing() {
        assert_eq!(tried(&[100.0, 101.0, 99.0, 500.0]), (3, 1 << 20));
        assert_eq!(tried(&[100.0, 104.0, 110.0, 111.0, 90.0, 500.0]), (5, 256 << 10));
        assert_eq!(tried(&[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]), (8, 8 << 10));
    }

    #[test]
    fn the_winning_line_has_the_best_values_and_the_ports() {
        let target = Target::parse("nfs://[2001:db8::1]:12049/data?uid=1").unwrap();
        let best = |choice, value, speed| Step { choice, value, speed };
        let mut sweep = Sweep {
            target: target.to_string(),
            steps: Vec::new(),
            best: vec![
                best(Choice::Rsize, 1 << 20, 9e8),
                best(Choice::Wsize, 512 << 10, 8e8),
                best(Choice::WsizeSync, 1 << 20, 2e8),
                best(Choice::Nconnect, 4, 2e9),
            ],
            mount: String::new(),
            table: Vec::new(),
        };
        assert_eq!(
            mount(&target, &sweep),
            "mount -t nfs -o vers=3,proto=tcp,hard,rsize=1048576,wsize=524288,nconnect=4,port=12049,\
             mountport=12049 [2001:db8::1]:/data /mnt"
        );
        assert!(sweep.text().contains("25 % of the speed"), "{}", sweep.text());
        sweep.best.push(best(Choice::Vers, 42, 1e9));
        assert_eq!(
            mount(&target, &sweep),
            "mount -t nfs -o vers=4.2,proto=tcp,hard,rsize=1048576,wsize=524288,nconnect=4,port=12049 \
             [2001:db8::1]:/data /mnt"
        );
        sweep.best.push(best(Choice::Proto, UDP, 1e9));
        let line = mount(&target, &sweep);
        assert!(line.starts_with("mount -t nfs -o vers=3,proto=udp,hard,port="), "{line}");
    }
}
