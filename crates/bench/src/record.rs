//! The raw data: one JSON object per line. Reports and comparisons read nothing else.

use std::io::{BufRead, BufReader, Read};

use serde::{Deserialize, Serialize};

use crate::link::Rate;
use crate::sweep::Sweep;
use crate::{Durability, Protocol, Residency};

/// The longest line that is read.
const MAX_LINE: u64 = 4 << 20;
/// The most lines that are read.
const MAX_LINES: usize = 1_000_000;

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// The first line.
    Start(Box<Start>),
    /// A speed of the machine or the link.
    Baseline(Baseline),
    /// One repeat of a measurement.
    Run(Box<MeasuredRun>),
    /// A measurement that could not be made.
    Failure(Failure),
    /// What the options of a mount bring.
    Sweep(Box<Sweep>),
    /// The last line.
    End(End),
}

/// What is measured, where and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The version of this program.
    pub version: String,
    /// When it began.
    pub time: String,
    /// The command that repeats it.
    pub command: String,
    /// What data and random places depend on.
    pub seed: u64,
    /// The factor of sizes.
    pub scale: f64,
    /// Repeats of each measurement.
    pub repeats: usize,
    /// Transfers in flight of one client.
    pub depth: usize,
    /// The longest time of a repeat.
    pub limit_seconds: f64,
    /// What was compared.
    pub targets: Vec<String>,
    /// The published measurement that is repeated.
    #[serde(default)]
    pub suite: Option<String>,
    /// The client's machine.
    pub machine: Machine,
}

/// The machine of the clients.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named in full")]
pub struct Machine {
    pub system: String,
    pub kernel: String,
    pub processor: String,
    pub processors: usize,
    pub memory_bytes: u64,
    /// The file system of the served folder, if it is on this machine.
    pub file_system: Option<String>,
    /// Its disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<String>,
}

/// A speed or a time that bounds what a protocol can reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Its name.
    pub name: String,
    /// The target that it is about, if it is about one.
    pub target: Option<String>,
    /// The link to it, if that was slowed down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Rate>,
    /// The value.
    pub value: f64,
    /// The value's unit.
    pub unit: BaselineUnit,
}

/// The unit of a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "named in full")]
pub enum BaselineUnit {
    BytesPerSecond,
    Seconds,
    Bytes,
}

/// Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named in full")]
pub struct Latency {
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}

/// One repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRun {
    /// The target's URL, without the password.
    pub target: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// What the clients did.
    pub workload: String,
    /// How many they were.
    pub clients: usize,
    /// The state of the server's cache.
    pub cache: Residency,
    /// What writes promised.
    pub durability: Durability,
    /// The link to the server, if that was slowed down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Rate>,
    /// The number of the repeat, from 0.
    pub repeat: usize,
    /// What client and server agreed on.
    pub agreed: String,
    /// From the common start to the end of the last client.
    pub seconds: f64,
    /// Bytes of content.
    pub bytes: u64,
    /// Operations.
    pub operations: u64,
    /// Latencies of operations.
    pub latency: Latency,
    /// The histogram: upper bounds in nanoseconds, and counts.
    pub histogram: Vec<(u64, u64)>,
    /// Bytes on the wire, with the protocol's own; 0 if they were not counted.
    pub wire_bytes: u64,
    /// The interface whose bytes these are, if the folder is a mounted network file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_interface: Option<String>,
    /// Processor seconds of the clients' threads.
    pub client_cpu: f64,
    /// The most memory that the clients' process had.
    pub client_memory: u64,
    /// Processor seconds of the server, if it is on this machine.
    pub server_cpu: Option<f64>,
    /// The part of this machine's processors that was busy.
    pub machine_busy: f64,
    /// The part of the time in which the busiest disk of this machine worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_busy: Option<f64>,
    /// Waits inside answers of protocols over TCP.
    #[serde(default, skip_serializing_if = "PieceWaits::is_empty")]
    pub piece_waits: PieceWaits,
    /// When parts of the work were done, in seconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<(String, f64)>,
    /// Pictures of a video.
    pub pictures: u64,
    /// Pictures that came late.
    pub late: u64,
    /// The time was over before the work.
    pub cut_short: bool,
    /// Seconds by which the time of day jumped, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_jump: Option<f64>,
    /// Seconds in which this machine slept, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept: Option<f64>,
}

/// Waits inside answers, of which the beginning had come: those of the length of the timers of delayed acknowledgements, 40 and
/// 200 ms, and others of similar length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named in full")]
pub struct PieceWaits {
    pub held: [u32; 2],
    pub beside: [u32; 2],
}

impl PieceWaits {
    /// These counts.
    #[must_use]
    pub fn of(counts: &conn::PieceWaitCounts) -> Self {
        Self { held: counts.held, beside: counts.beside }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The timer that answers wait for, in milliseconds, and how many waits were its.
    #[must_use]
    pub fn timer(&self) -> Option<(u32, u32)> {
        let counts = conn::PieceWaitCounts { held: self.held, beside: self.beside, ..Default::default() };
        counts.timer_ms().map(|timer| (timer, counts.held_for(timer)))
    }
}

impl MeasuredRun {
    /// Bytes or operations per second, by the workload's unit.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let amount = match self.unit() {
            crate::Unit::Bytes => self.bytes,
            crate::Unit::Operations => self.operations,
        };
        amount as f64 / self.seconds.max(1e-9)
    }

    /// The workload's unit.
    #[must_use]
    pub fn unit(&self) -> crate::Unit {
        crate::Workload::of(&self.workload).map_or(crate::Unit::Operations, |workload| workload.unit)
    }

    /// What makes two repeats comparable across targets.
    #[must_use]
    pub fn cell(&self) -> String {
        let Self { workload, clients, cache, durability, link, .. } = self;
        let plural = if *clients == 1 { "" } else { "s" };
        let mut cell = format!("{workload}, {clients} client{plural}");
        if *cache == Residency::Cold {
            cell += ", cold";
        }
        if *durability != Durability::None {
            cell += &format!(", durability {durability}");
        }
        if let Some(link) = link {
            cell += &format!(", link {link}");
        }
        cell
    }
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The target's URL, without the password.
    pub target: String,
    /// What was measured, if it was a single measurement.
    pub cell: Option<String>,
    /// The reason.
    pub message: String,
    /// Whether the protocol cannot do it: no fault.
    pub skipped: bool,
    /// Files and folders that could not be removed.
    pub left: Vec<String>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Nothing was stopped, and no server failed.
    pub complete: bool,
    /// The whole time.
    pub seconds: f64,
}

/// Reads the lines of a file. A last line that is cut off is ignored.
///
/// # Errors
/// The file cannot be read, or has another format.
pub fn read(input: impl Read) -> std::io::Result<Vec<Record>> {
    let mut records = Vec::new();
    let mut input = BufReader::new(input);
    for number in 1..=MAX_LINES {
        let mut line = String::new();
        let length = (&mut input).take(MAX_LINE).read_line(&mut line)?;
        if length == 0 {
            break;
        }
        match serde_json::from_str(&line) {
            Ok(record) => records.push(record),
            Err(_) if !line.ends_with('\n') => break,
            Err(error) => {
                let text = format!("line {number} is not a record of fourfold bench: {error}");
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, text));
            }
        }
    }
    Ok(records)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A repeat with this rate.
    pub(crate) fn example(
        target: &str,
        workload: &str,
        clients: usize,
        repeat: usize,
        rate: f64,
    ) -> MeasuredRun {
        let protocol = target.split(':').next().unwrap_or_default();
        MeasuredRun {
            target: target.into(),
            protocol: Protocol::ALL.into_iter().find(|p| p.name() == protocol).unwrap_or(Protocol::Smb),
            workload: workload.into(),
            clients,
            cache: Residency::Warm,
            durability: Durability::None,
            link: None,
            repeat,
            agreed: "version".into(),
            seconds: 2.0,
            bytes: (2.0 * rate) as u64,
            operations: (2.0 * rate) as u64,
            latency: Latency { p50: 100_000, p95: 200_000, p99: 300_000, max: 1_000_000 },
            histogram: vec![(100_000, 50), (200_000, 45), (1_000_000, 5)],
            wire_bytes: 0,
            wire_interface: None,
            client_cpu: 0.2,
            client_memory: 1 << 20,
            server_cpu: None,
            machine_busy: 0.3,
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

    #[test]
    fn lines_are_read_back_and_a_cut_line_is_ignored() {
        let run = Record::Run(Box::new(example("smb://h/s", "seq-read", 5, 0, 1e8)));
        let end = Record::End(End { complete: false, seconds: 1.5 });
        let line = |record: &Record| serde_json::to_string(record).unwrap() + "\n";
        let text = format!("{}{}{{\"kind\":\"ru", line(&run), line(&end));
        assert_eq!(read(text.as_bytes()).unwrap(), [run, end]);
        assert!(read(&b"{\"kind\":\"other\"}\n"[..]).is_err());
    }

    #[test]
    fn a_rate_is_in_the_unit_of_the_workload() {
        assert_eq!(example("smb://h/s", "seq-read", 1, 0, 5e6).rate(), 5e6);
        let run = MeasuredRun { bytes: 7, ..example("smb://h/s", "enumerate", 1, 0, 100.0) };
        assert_eq!(run.rate(), 100.0);
        assert_eq!(run.cell(), "enumerate, 1 client");
    }
}
