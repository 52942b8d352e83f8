//! What limits a measurement, in words with their numbers.

use serde::{Deserialize, Serialize};

use crate::baseline::name;
use crate::record::{Baseline, MeasuredRun, PieceWaits, Record};
use crate::{Durability, Residency, Unit};

/// What is known of a measurement.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// How long the repeat took.
    pub seconds: f64,
    /// Bytes per second on the wire, or of content if the wire was not counted.
    pub speed: f64,
    /// The most bytes per second that the link carries, and what measured it.
    pub wire: Option<(f64, String)>,
    /// The most bytes per second that the server's disk reads or writes, if the disk is involved.
    pub disk: Option<f64>,
    /// The round trip to the server in seconds.
    pub round_trip: Option<f64>,
    /// The median latency of an operation in seconds.
    pub latency: f64,
    /// The part of the time that a client's thread computed.
    pub client_cpu: f64,
    /// Processors that the server used.
    pub server_cpu: Option<f64>,
    /// The part of this machine's processors that was busy, if the server is on it.
    pub machine_busy: Option<f64>,
    /// Processors of this machine.
    pub processors: usize,
    /// Transfers in flight of one client.
    pub depth: usize,
    /// Clients.
    pub clients: usize,
    /// Upper bounds in nanoseconds, and counts.
    pub histogram: Vec<(u64, u64)>,
    /// Waits inside answers, if the clients saw the connections.
    pub pieces: Option<PieceWaits>,
    /// The MTU of this end, and of the path.
    pub mtu: Option<(u64, u64)>,
    /// What crossed the interface while the clients moved their bytes, if a cache lies between.
    pub cached: Option<CacheTraffic>,
    /// Seconds by which the time of day jumped.
    pub clock_jump: Option<f64>,
    /// Seconds in which this machine slept.
    pub slept: Option<f64>,
}

/// Bytes before and behind the cache of a network file system's client.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CacheTraffic {
    /// Bytes that the clients read and wrote.
    pub moved: u64,
    /// Bytes on the wire.
    pub wire: u64,
    /// Where the wire was counted.
    pub interface: String,
}

impl CacheTraffic {
    /// The part that the cache hid.
    fn hidden(&self) -> f64 {
        1.0 - self.wire as f64 / self.moved.max(1) as f64
    }

    fn text(&self) -> String {
        format!(
            "this machine's cache hid {} of the transfers: the clients moved {} MB, and {} MB crossed {}. Use \
             files larger than the memory, --cache cold, or a URL of the protocol: its client has no cache",
            percent(self.hidden()),
            self.moved.div_ceil(1_000_000),
            self.wire / 1_000_000,
            self.interface
        )
    }
}

/// What limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The cache of this machine's network file system: the server is not measured.
    ClientCache,
    /// Acknowledgements come after a timer of so many milliseconds.
    DelayedAck(u32),
    /// The link is full.
    Link,
    /// The clients compute all the time.
    ClientProcessor,
    /// The server uses all processors.
    ServerProcessor,
    /// Clients and server share the processors of one machine, which are busy.
    SharedProcessors,
    /// The disk is as fast as alone.
    Disk,
    /// The round trips.
    Latency,
    /// A client waits for each answer before it asks again.
    Serialization,
    /// The server answers slowly, and the processors idle.
    Server,
    /// Other programs use the processors of this machine.
    OtherPrograms,
    /// The measurement was too short to tell.
    TooShort,
}

/// A verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What limits.
    pub limit: Limit,
    /// The sentence.
    pub text: String,
    /// What to know besides.
    pub notes: Vec<String>,
}

/// The part of a bound that counts as reaching it.
const NEAR: f64 = 0.85;
/// The part of the latency that must be the round trip.
const MOSTLY: f64 = 0.6;
/// The least part of all operations that must show the timer of delayed acknowledgements.
const DELAYED: f64 = 0.02;
/// If nearly all wait for the timer, no fast ones show it: then the latencies must be those of the timer in this part.
const ALL_DELAYED: f64 = 0.9;
/// Operations without which that may be chance.
const ENOUGH_DELAYED: u64 = 20;
/// Timers in milliseconds, the bounds of latencies that are theirs, and how far below and above those of others count.
const TIMERS: [(u32, (u64, u64), u64, u64); 2] = [(40, (40, 58), 28, 90), (200, (200, 270), 150, 340)];
/// The shortest measurement that is judged. Processor times are counted in steps of 10 ms.
const LONG_ENOUGH: f64 = 0.2;
/// Processors that other programs must use to be named.
const MANY: f64 = 0.4;
/// The part of the transfers that a cache must hide to be mentioned, and to be what was measured.
const SOME_CACHED: f64 = 0.1;
const MOST_CACHED: f64 = 0.5;
/// MTUs of loopback interfaces begin here. No path has them.
const LOOPBACK_MTU: u64 = 65_535;

/// Judges.
#[must_use]
pub fn judge(evidence: &Evidence) -> Verdict {
    let (limit, text) = short(evidence)
        .or_else(|| client_cache(evidence))
        .or_else(|| link(evidence))
        .or_else(|| delayed_ack(evidence))
        .or_else(|| processors(evidence))
        .or_else(|| disk(evidence))
        .unwrap_or_else(|| waiting(evidence));
    Verdict { limit, text, notes: notes(evidence) }
}

fn short(evidence: &Evidence) -> Option<(Limit, String)> {
    (evidence.seconds < LONG_ENOUGH).then(|| {
        let text =
            format!("Too short to judge: {:.0} ms. A larger --scale takes longer.", evidence.seconds * 1e3);
        (Limit::TooShort, text)
    })
}

fn client_cache(evidence: &Evidence) -> Option<(Limit, String)> {
    let cached = evidence.cached.as_ref().filter(|cached| cached.hidden() >= MOST_CACHED)?;
    Some((Limit::ClientCache, format!("Not a measurement of the server: {}.", cached.text())))
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

fn mega(speed: f64) -> String {
    let digits = usize::from(speed < 20e6);
    format!("{:.digits$} MB/s", speed / 1e6)
}

/// The timers: 40 ms of Linux, 200 ms of Windows and macOS. A client of a protocol sees the waits themselves, inside answers. Of a
/// mounted folder only the latencies are known.
fn delayed_ack(evidence: &Evidence) -> Option<(Limit, String)> {
    let all = evidence.histogram.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let (timer, hits) = match &evidence.pieces {
        Some(pieces) => pieces.timer().map(|(timer, hits)| (timer, u64::from(hits)))?,
        None => timer_of_latencies(evidence, all)?,
    };
    let fix = match timer {
        40 => {
            "A Linux host delays acknowledgements. On that host: `ip route change … quickack 1` for the route between the two, and \
             TCP_NODELAY in the program that sends"
        }
        _ => {
            "A Windows or macOS host delays acknowledgements. Windows: set TcpAckFrequency to 1 (REG_DWORD) in \
             HKLM\\SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters\\Interfaces\\{the adapter}, and restart; Windows \
             2000: TcpDelAckTicks to 0. macOS: `sudo sysctl net.inet.tcp.delayed_ack=0`"
        }
    };
    let share = hits as f64 / all.max(1) as f64;
    let hit = if share < DELAYED { return None } else { percent(share.min(1.0)) };
    let text = format!("{hit} of the operations waited {timer} ms for a delayed acknowledgement. {fix}.");
    Some((Limit::DelayedAck(timer), text))
}

/// The timer that latencies show, and how many. A bound of the histogram is up to a quarter above the latencies under it.
fn timer_of_latencies(evidence: &Evidence, all: u64) -> Option<(u32, u64)> {
    // A processor that is busy lets operations wait for all kinds of times, those of the timers among them.
    if all == 0 || evidence.machine_busy.is_some_and(|busy| busy >= NEAR) {
        return None;
    }
    let within = |from: u64, to: u64| -> u64 {
        let is_in = |bound: u64| (from * 1_000_000..to * 1_000_000).contains(&bound);
        let hits = evidence.histogram.iter().filter(|(bound, _)| is_in(*bound));
        hits.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    };
    // Latencies just beside it show that the timer is not what they wait for.
    TIMERS.into_iter().find_map(|(timer, its, below, above)| {
        let hits = within(its.0, its.1);
        let near = within(below, its.0).saturating_add(within(its.1, above));
        let is_rare = evidence.latency * 1e3 < f64::from(timer) / 4.0 && hits as f64 >= DELAYED * all as f64;
        let is_all = hits as f64 >= ALL_DELAYED * all as f64 && all >= ENOUGH_DELAYED;
        ((is_rare || is_all) && near.saturating_mul(4) < hits).then_some((timer, hits))
    })
}

fn link(evidence: &Evidence) -> Option<(Limit, String)> {
    let (wire, source) = evidence.wire.as_ref()?;
    let part = evidence.speed / wire;
    (part >= NEAR).then(|| {
        let text = format!(
            "Limited by the link: {} of the wire, {} of {} ({source}).",
            percent(part),
            mega(evidence.speed),
            mega(*wire)
        );
        (Limit::Link, text)
    })
}

fn processors(evidence: &Evidence) -> Option<(Limit, String)> {
    let all = evidence.processors.max(1) as f64;
    if let Some(used) = evidence.server_cpu.filter(|used| used / all >= NEAR) {
        let text = format!("Limited by the server's processors: it used {used:.1} of {all:.0}.");
        return Some((Limit::ServerProcessor, text));
    }
    if evidence.client_cpu >= NEAR {
        let text = format!(
            "Limited by the clients' processors: each client computed {} of the time. The server can do \
             more; use more or faster client machines.",
            percent(evidence.client_cpu)
        );
        return Some((Limit::ClientProcessor, text));
    }
    let busy = evidence.machine_busy.filter(|busy| *busy >= NEAR)?;
    let own = evidence.client_cpu * evidence.clients as f64 + evidence.server_cpu.unwrap_or(0.0);
    let others = busy * all - own;
    if others > MANY * all {
        let text = format!(
            "Limited by other programs on this machine: they use {others:.1} of {all:.0} processors. Measure \
             again when it is idle."
        );
        return Some((Limit::OtherPrograms, text));
    }
    let used = evidence
        .server_cpu
        .map_or_else(String::new, |used| format!(" The server used {used:.1} of {all:.0}."));
    let text = format!(
        "Limited by the processors, which clients and server share here: {} busy.{used}",
        percent(busy)
    );
    Some((Limit::SharedProcessors, text))
}

fn disk(evidence: &Evidence) -> Option<(Limit, String)> {
    let disk = evidence.disk?;
    let part = evidence.speed / disk;
    (part >= NEAR).then(|| {
        let text =
            format!("Limited by the disk: {} of the {} that it reaches alone.", percent(part), mega(disk));
        (Limit::Disk, text)
    })
}

/// Nothing is full: somebody waits.
fn waiting(evidence: &Evidence) -> (Limit, String) {
    let milliseconds = evidence.latency * 1e3;
    let of_wire = evidence.wire.as_ref().map_or_else(String::new, |(wire, source)| {
        format!(" It reached {} of the wire ({source}).", percent(evidence.speed / wire))
    });
    let trip = evidence.round_trip.filter(|trip| evidence.latency > 0.0 && trip / evidence.latency >= MOSTLY);
    if let Some(trip) = trip {
        let text = format!(
            "Limited by latency: {:.2} ms of {milliseconds:.2} ms per operation are the round trip. More \
             transfers in flight help, a faster link does not.{of_wire}",
            trip * 1e3
        );
        return (Limit::Latency, text);
    }
    let flights = evidence.depth.saturating_mul(evidence.clients);
    if flights == 1 {
        let text = format!(
            "Limited by the client's own serialization: one transfer at a time, {milliseconds:.2} ms each; \
             nothing is full.{of_wire}"
        );
        return (Limit::Serialization, text);
    }
    let text = format!(
        "Limited by the server's answers: with {flights} in flight an operation takes {milliseconds:.2} ms, \
         and neither link nor processors are full.{of_wire}"
    );
    (Limit::Server, text)
}

fn notes(evidence: &Evidence) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((own, path)) = evidence
        .mtu
        .filter(|(own, path)| (1501..LOOPBACK_MTU).contains(own) && path.saturating_add(28) < *own)
    {
        notes.push(format!(
            "This end sends packets of {own} bytes, and the path carries {path}: the MTU of the other end or \
             of a switch is smaller. Give all of them the same MTU."
        ));
    }
    let hid_some = |cached: &&CacheTraffic| (SOME_CACHED..MOST_CACHED).contains(&cached.hidden());
    if let Some(cached) = evidence.cached.as_ref().filter(hid_some) {
        notes.push(format!("Note that {}.", cached.text()));
    }
    if let Some(jump) = evidence.clock_jump {
        notes.push(format!(
            "The time of day on this machine jumped by {jump:.1} s. The measurement uses another clock, and is \
             right."
        ));
    }
    if let Some(slept) = evidence.slept {
        notes.push(format!("This machine slept for {slept:.0} s in the measurement. Measure again."));
    }
    notes
}

/// The evidence of a measurement's median repeat.
#[must_use]
pub fn evidence(records: &[Record], run: &MeasuredRun) -> Evidence {
    let baselines = || {
        records.iter().filter_map(|record| match record {
            Record::Baseline(baseline) => Some(baseline),
            _ => None,
        })
    };
    let of = |name: &str, target: Option<&str>| {
        let is_it = |b: &&Baseline| {
            b.name == name && b.target.as_deref() == target && (target.is_none() || b.link == run.link)
        };
        baselines().find(is_it).map(|baseline| baseline.value)
    };
    let start = records.iter().find_map(|record| match record {
        Record::Start(start) => Some(start),
        _ => None,
    });
    let target = Some(run.target.as_str());
    let is_here = of(name::MTU, target).is_none_or(|mtu| mtu >= 65_536.0);
    let interface = of(name::INTERFACE, target).map(|speed| (speed, "the speed of the interface".to_owned()));
    let loopback = || of(name::LOOPBACK, None).map(|speed| (speed, "loopback TCP".to_owned()));
    let is_network = run.protocol != crate::Protocol::File || run.wire_interface.is_some();
    let reads = crate::Workload::of(&run.workload).is_some_and(|workload| workload.reads);
    let raw = of(if reads { name::RAW_FROM } else { name::RAW_TO }, target);
    let raw = raw.map(|speed| (speed, "raw TCP".to_owned()));
    let nominal = of(name::LINK, target).map(|speed| (speed, "the link's rate".to_owned()));
    let wire =
        raw.or(nominal).or(interface).or_else(|| is_here.then(loopback).flatten()).filter(|_| is_network);
    let writes = run.durability != Durability::None;
    let disk = match (writes, run.cache) {
        (true, _) => of(name::DISK_WRITE, None),
        (_, Residency::Cold) => of(name::DISK_READ, None),
        _ => None,
    };
    let bytes = if run.wire_bytes > 0 { run.wire_bytes } else { run.bytes };
    let seconds = run.seconds.max(1e-9);
    let is_bytes =
        run.unit() == Unit::Bytes && !run.workload.contains("512B") && !run.workload.contains("1K");
    Evidence {
        seconds,
        speed: bytes as f64 / seconds,
        wire,
        disk,
        round_trip: of(name::ROUND_TRIP, target).filter(|_| !is_here),
        latency: run.latency.p50 as f64 / 1e9,
        client_cpu: run.client_cpu / seconds / run.clients.max(1) as f64,
        server_cpu: run.server_cpu.map(|cpu| cpu / seconds),
        machine_busy: Some(run.machine_busy).filter(|_| is_here || run.server_cpu.is_some()),
        processors: start.map_or(1, |start| start.machine.processors),
        depth: if is_bytes { start.map_or(1, |start| start.depth) } else { 1 },
        pieces: (run.protocol != crate::Protocol::File).then_some(run.piece_waits),
        clients: run.clients,
        histogram: run.histogram.clone(),
        cached: cached(run),
        clock_jump: run.clock_jump,
        slept: run.slept,
        mtu: of(name::MTU, target).zip(of(name::PATH_MTU, target)).map(|(a, b)| (a as u64, b as u64)),
    }
}

/// Only workloads of bytes are judged: the others have more on the wire than content.
fn cached(run: &MeasuredRun) -> Option<CacheTraffic> {
    let interface = run.wire_interface.clone()?;
    (run.unit() == Unit::Bytes).then_some(CacheTraffic { moved: run.bytes, wire: run.wire_bytes, interface })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measurement that nothing limits: one client with one transfer of 1 ms in flight.
    fn idle() -> Evidence {
        Evidence {
            seconds: 5.0,
            speed: 50e6,
            wire: Some((125e6, "raw TCP".into())),
            latency: 1e-3,
            client_cpu: 0.1,
            processors: 2,
            depth: 1,
            clients: 1,
            histogram: vec![(1_000_000, 1000)],
            ..Evidence::default()
        }
    }

    fn limit(change: impl FnOnce(&mut Evidence)) -> (Limit, String) {
        let mut evidence = idle();
        change(&mut evidence);
        let verdict = judge(&evidence);
        (verdict.limit, verdict.text)
    }

    #[test]
    fn a_full_link_is_named_with_its_part() {
        let (found, text) = limit(|e| e.speed = 122.5e6);
        assert_eq!(found, Limit::Link);
        assert!(text.contains("98 % of the wire, 122 MB/s of 125 MB/s (raw TCP)"), "{text}");
    }

    #[test]
    fn busy_processors_are_told_apart() {
        assert_eq!(limit(|e| e.client_cpu = 0.97).0, Limit::ClientProcessor);
        assert_eq!(limit(|e| e.server_cpu = Some(1.9)).0, Limit::ServerProcessor);
        let shared = limit(|e| {
            (e.server_cpu, e.machine_busy, e.client_cpu) = (Some(1.0), Some(0.95), 0.6);
        });
        let others = limit(|e| (e.server_cpu, e.machine_busy) = (Some(0.5), Some(0.95)));
        assert_eq!(others.0, Limit::OtherPrograms, "{}", others.1);
        assert_eq!(limit(|e| e.seconds = 0.1).0, Limit::TooShort);
        assert_eq!(shared.0, Limit::SharedProcessors);
        assert!(shared.1.contains("95 % busy") && shared.1.contains("1.0 of 2"), "{}", shared.1);
    }

    #[test]
    fn a_disk_at_its_own_speed_is_named() {
        assert_eq!(limit(|e| e.disk = Some(52e6)).0, Limit::Disk);
        assert_ne!(limit(|e| e.disk = Some(500e6)).0, Limit::Disk);
    }

    #[test]
    fn waiting_is_latency_serialization_or_the_server() {
        assert_eq!(limit(|_| {}).0, Limit::Serialization);
        assert_eq!(limit(|e| e.round_trip = Some(0.8e-3)).0, Limit::Latency);
        assert_eq!(limit(|e| e.depth = 4).0, Limit::Server);
    }

    #[test]
    fn the_timers_of_delayed_acknowledgements_are_found_with_the_fix_of_the_system() {
        let (found, text) = limit(|e| e.histogram = vec![(1_000_000, 900), (48_000_000, 100)]);
        assert_eq!(found, Limit::DelayedAck(40));
        assert!(text.contains("10 % of the operations waited 40 ms") && text.contains("quickack"), "{text}");
        let (found, text) = limit(|e| e.histogram = vec![(1_000_000, 900), (230_000_000, 100)]);
        assert_eq!(found, Limit::DelayedAck(200));
        assert!(text.contains("TcpAckFrequency") && text.contains("delayed_ack=0"), "{text}");
        // A link of 100 Mbit/s that was measured: most operations wait for others, not for a timer.
        let queued = vec![(230_000_000, 9), (355_000_000, 91)];
        assert_eq!(limit(|e| (e.histogram, e.latency) = (queued, 0.346)).0, Limit::Serialization);
        // A slow disk has all latencies up to there.
        let slow = vec![(20_000_000, 100), (30_000_000, 200), (38_000_000, 100), (48_000_000, 100)];
        assert_eq!(limit(|e| e.histogram = slow).0, Limit::Serialization);
    }

    #[test]
    fn waits_inside_answers_are_named_even_if_all_operations_have_them() {
        let pieces = |held, beside| Some(PieceWaits { held: [held, 0], beside: [beside, 0] });
        let slow = |e: &mut Evidence| {
            (e.latency, e.histogram) = (0.048, vec![(1_250_000, 1), (48_000_000, 65)]);
            (e.machine_busy, e.server_cpu) = (Some(0.95), Some(0.5));
        };
        let found = limit(|e| (slow(e), e.pieces = pieces(65, 2)).1);
        assert_eq!(found.0, Limit::DelayedAck(40), "{}", found.1);
        assert!(found.1.contains("98 % of the operations waited 40 ms"), "{}", found.1);
        // The same latencies on a busy machine, without waits inside answers.
        let busy = limit(|e| (slow(e), e.pieces = pieces(0, 0)).1);
        assert_eq!(busy.0, Limit::OtherPrograms, "{}", busy.1);
        let mixed = limit(|e| (slow(e), e.pieces = pieces(20, 30)).1);
        assert_eq!(mixed.0, Limit::OtherPrograms, "{}", mixed.1);
    }

    #[test]
    fn a_mounted_folder_shows_the_timer_by_its_latencies() {
        let all = vec![(1_250_000, 1), (48_000_000, 65)];
        let waiting =
            |busy| limit(|e| (e.histogram, e.latency, e.machine_busy) = (all.clone(), 0.048, busy)).0;
        assert_eq!(waiting(None), Limit::DelayedAck(40));
        assert_eq!(waiting(Some(0.95)), Limit::OtherPrograms, "a busy machine has all latencies");
        let few = limit(|e| (e.histogram, e.latency) = (vec![(48_000_000, 12)], 0.048)).0;
        assert_eq!(few, Limit::Serialization);
    }

    #[test]
    fn what_a_cache_hid_is_told_by_the_bytes_on_the_wire() {
        let cached = |wire| Some(CacheTraffic { moved: 500_000_000, wire, interface: "eth0".into() });
        let (found, text) = limit(|e| e.cached = cached(10_000_000));
        assert_eq!(found, Limit::ClientCache);
        assert!(text.contains("hid 98 %") && text.contains("500 MB, and 10 MB crossed eth0"), "{text}");
        let some = judge(&Evidence { cached: cached(400_000_000), ..idle() });
        assert_eq!(some.limit, Limit::Serialization);
        assert!(some.notes[0].contains("hid 20 %"), "{:?}", some.notes);
        assert!(judge(&Evidence { cached: cached(520_000_000), ..idle() }).notes.is_empty());
    }

    #[test]
    fn a_clock_that_jumped_and_a_machine_that_slept_are_noted() {
        let notes = judge(&Evidence { clock_jump: Some(-3600.0), slept: Some(60.0), ..idle() }).notes;
        assert!(notes[0].contains("jumped by -3600.0 s") && notes[1].contains("slept for 60 s"), "{notes:?}");
    }

    #[test]
    fn a_path_with_a_smaller_mtu_is_noted() {
        let of = |mtu| judge(&Evidence { mtu: Some(mtu), ..idle() }).notes;
        assert_eq!(of((9000, 1500)).len(), 1);
        assert!(
            of((9000, 9000)).is_empty() && of((1500, 1500)).is_empty() && of((65_536, 65_535)).is_empty()
        );
    }
}
