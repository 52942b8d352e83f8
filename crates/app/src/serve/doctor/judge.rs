//! What slows a client down, judged by what it did in the last looks. Each rule is a function of recorded numbers.

use std::time::Duration;

use super::probe::PathSize;
use super::sample::{Activity, PathActivity, TimeParts, parts};
use super::scanning::ScannerEvidence;

/// A trouble, before it has a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) name: &'static str,
    pub(super) text: String,
}

/// What is known of a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    /// The client is on this machine.
    pub(super) is_local: bool,
    pub(super) activities: &'a [Activity],
    /// The time in which they lie.
    pub(super) window: Duration,
    /// The packets that reach it, if that was tried.
    pub(super) path: Option<PathSize>,
    /// It opens file after file.
    pub(super) scanner: Option<ScannerEvidence>,
}

/// Segments from which on a part of them says something.
const ENOUGH_SEGMENTS: u64 = 400;
/// The part of the segments that are lost on a network with a fault.
const LOSSY: f64 = 0.01;
/// The same for packets that came before others. One that is lost lets all that follow it within a round trip come too early, at least ten;
/// a network that loses none delivers some in another order: 2.8 % were measured on a virtual cable.
const DISORDERED: f64 = 0.1;
/// Looks with transfers that say something.
const ENOUGH_LOOKS: usize = 3;
/// Round trips while data flow, from which on something on the way keeps too many packets, and how many times the shortest one.
const BLOATED: (Duration, f64) = (Duration::from_millis(50), 8.0);
/// The shortest round trips of a radio. A cable within a building is faster, and other networks are slower.
const RADIO: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(20));
/// Round trips of a radio vary by more than this part, and are so many times the shortest one. A radio that is shared varied by 0.08 to
/// 0.22 in looks of 12 s, a cable by 0.01 to 0.02, and one that loses 2 of 1,000 segments by 0.03 to 0.04.
const RADIO_VARIES: (f64, f64) = (0.1, 3.0);
/// The part of the time in which a client's receive window is full, and of which it takes data too slowly.
const FULL_WINDOW: (f64, f64) = (0.5, 0.25);
/// The part of a whole window in each round trip from which on the window is full because it is small: the client takes data at once.
const TAKEN_AT_ONCE: f64 = 0.5;
/// The part of the time that a client needs for itself, the requests in a second without which it may just have nothing to do, and the
/// part of the looks that this must last.
const BUSY_CLIENT: (f64, f64, f64) = (0.8, 20.0, 0.5);
const SLOW_CLIENT: &str = "slow-client";
/// A look is two-way if the smaller direction has this part of the larger one, and one-way below the other part.
const TWO_WAY: (f64, f64) = (0.25, 0.05);
/// The part that is lost while data flow both ways, if one end is half duplex and the other is not, and how many times that of one way.
const COLLIDING: (f64, f64) = (0.02, 5.0);

/// Judges a client. The order is that in which the troubles explain each other: the first is to be mended first.
pub(super) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let of_pieces = delayed_ack(case);
    let scans = case.scanner.map(scanner);
    if case.is_local {
        return of_pieces.into_iter().chain(scans).collect(); // a loopback loses nothing
    }
    let spent = parts(case.activities, false);
    let path = PathSums::of(case.activities);
    let slow_client = slow_client(&path, spent);
    // A client drops what does not fit into a full window, and is probed: what is sent again says nothing of the network.
    let is_full = slow_client.as_ref().is_some_and(|found| found.name == SLOW_CLIENT);
    let lost = half_duplex(case, spent).or_else(|| loss(&path, spent)).filter(|_| !is_full);
    let slow_path = bufferbloat(&path, spent).or_else(|| wifi(&path, spent));
    let of_client = slow_client.or_else(|| busy_client(case, spent));
    [mtu(case), of_pieces, lost, slow_path, of_client, scans].into_iter().flatten().collect()
}

/// The network of one client in the last looks.
struct PathSums {
    sent: u64,
    lost: u64,
    received: u64,
    out_of_order: u64,
    busy: Duration,
    window_limited: Duration,
    /// The largest receive window, and the bytes that were sent.
    window: u64,
    bytes: u64,
    /// The median of the looks with transfers, and the shortest round trip.
    usual: Duration,
    least: Duration,
    /// The part of a round trip by which round trips vary while data flow.
    varies: f64,
    transfers: usize,
}

impl PathSums {
    fn of(activities: &[Activity]) -> Self {
        let paths: Vec<&PathActivity> = activities.iter().filter_map(|one| one.path.as_ref()).collect();
        let sum = |of: fn(&PathActivity) -> u64| paths.iter().map(|path| of(path)).sum();
        let transfers: Vec<&PathActivity> =
            activities.iter().filter(|one| one.transfers()).filter_map(|one| one.path.as_ref()).collect();
        let mut trips: Vec<Duration> = transfers.iter().map(|path| path.round_trip).collect();
        trips.sort_unstable();
        let trips_together: Duration = trips.iter().sum();
        let variations: Duration = transfers.iter().map(|path| path.variation).sum();
        Self {
            sent: sum(|path| path.sent),
            lost: sum(|path| path.lost),
            received: sum(|path| path.received),
            out_of_order: sum(|path| path.out_of_order),
            busy: paths.iter().map(|path| path.busy).sum(),
            window_limited: paths.iter().map(|path| path.window_limited).sum(),
            window: paths.iter().map(|path| path.window).max().unwrap_or_default(),
            bytes: activities.iter().map(|one| one.bytes_out).sum(),
            usual: trips.get(trips.len() / 2).copied().unwrap_or_default(),
            least: paths
                .iter()
                .map(|path| path.least)
                .filter(|least| !least.is_zero())
                .min()
                .unwrap_or_default(),
            // Of means: TCP forgets within milliseconds how much round trips vary, since packets of a burst have the same one.
            varies: variations.as_secs_f64() / trips_together.as_secs_f64().max(1e-6),
            transfers: transfers.len(),
        }
    }

    /// The part of what was sent that was lost; 0 if too little was sent to tell.
    fn loss(&self) -> f64 {
        if self.sent < ENOUGH_SEGMENTS { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }

    fn disorder(&self) -> f64 {
        if self.received < ENOUGH_SEGMENTS { 0.0 } else { self.out_of_order as f64 / self.received as f64 }
    }
}

/// The time spent waiting for the network, for a sentence.
fn waited(spent: TimeParts) -> String {
    format!(
        "{:.0} of {:.0} s waiting for the network",
        spent.network.as_secs_f64(),
        spent.active.as_secs_f64()
    )
}

fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

fn mtu(case: &Case<'_>) -> Option<Finding> {
    let PathSize { passes, sent } = case.path?;
    (passes < sent).then(|| Finding {
        name: "mtu",
        text: format!(
            "packets of more than {passes} bytes vanish on the way to it, and this end sends {sent}: transfers hang, and small \
             requests work. Give this machine, the switches and the client the same MTU (`ip link set dev INTERFACE mtu \
             {passes}` here). Until then `sysctl -w net.ipv4.tcp_mtu_probing=1` lets TCP find the size; NFS over UDP has no such help."
        ),
    })
}

fn delayed_ack(case: &Case<'_>) -> Option<Finding> {
    let pieces = case.activities.last()?.pieces;
    let timer = pieces.timer_ms()?;
    let (count, cure) = (pieces.held_for(timer), pieces.acknowledges);
    let done = if cure {
        " The server acknowledges its pieces at once since then, and the waits have ended."
    } else {
        ""
    };
    Some(Finding {
        name: "delayed-ack",
        text: format!(
            "it sends its requests in small pieces and holds the last one back until the server acknowledges the others \
             (Nagle's algorithm): {count} waits of {timer} ms.{done} Its program should set TCP_NODELAY, or write each request with \
             one call."
        ),
    })
}

fn half_duplex(case: &Case<'_>, spent: TimeParts) -> Option<Finding> {
    let direction = |one: &&Activity| {
        let (less, more) = (one.bytes_in.min(one.bytes_out), one.bytes_in.max(one.bytes_out).max(1));
        less as f64 / more as f64
    };
    let rate = |is_it: &dyn Fn(f64) -> bool| {
        let looks: Vec<&PathActivity> = case
            .activities
            .iter()
            .filter(|one| is_it(direction(one)))
            .filter_map(|one| one.path.as_ref())
            .collect();
        let (lost, sent) = looks.iter().fold((0, 0), |(lost, sent), one| (lost + one.lost, sent + one.sent));
        (looks.len() >= ENOUGH_LOOKS && sent >= ENOUGH_SEGMENTS).then(|| lost as f64 / sent as f64)
    };
    let (both, one) = (rate(&|part| part >= TWO_WAY.0)?, rate(&|part| part <= TWO_WAY.1)?);
    let (much, times) = COLLIDING;
    (both >= much && both >= times * one).then(|| Finding {
        name: "half-duplex",
        text: format!(
            "{} of the segments are lost while data flow both ways, and {} while they flow one way; {}. So a port on the way is half \
             duplex, and its other end is not. Set both to automatic negotiation; on Linux `ethtool INTERFACE` shows what \
             was agreed.",
            percent(both),
            percent(one),
            waited(spent)
        ),
    })
}

fn loss(path: &PathSums, spent: TimeParts) -> Option<Finding> {
    let (there, back) = (path.loss(), path.disorder());
    if there < LOSSY && back < DISORDERED {
        return None;
    }
    let seen = match there >= LOSSY {
        true => format!("{} loss", percent(there)),
        false => format!("{} of its packets come before earlier ones, which were lost", percent(back)),
    };
    Some(Finding {
        name: "loss",
        text: format!(
            "{seen}, {}. Look at the cable, the plug and the port of the switch (their error counters), and at the signal if it is \
             Wi-Fi.",
            waited(spent)
        ),
    })
}

fn bufferbloat(path: &PathSums, spent: TimeParts) -> Option<Finding> {
    let (long, times) = BLOATED;
    let is_it = path.transfers >= ENOUGH_LOOKS
        && path.usual >= long
        && path.usual.as_secs_f64() >= times * path.least.as_secs_f64()
        && path.loss() < LOSSY;
    is_it.then(|| Finding {
        name: "bufferbloat",
        text: format!(
            "a round trip takes {} while data flow, and {} when they do not: something on the way keeps too many packets \
             (bufferbloat); {}. Programs that ask for one thing at a time wait that long for each. Turn on fair queueing in the router \
             or the access point (fq_codel, cake, SQM).",
            ms(path.usual),
            ms(path.least),
            waited(spent)
        ),
    })
}

fn wifi(path: &PathSums, spent: TimeParts) -> Option<Finding> {
    let (varies, times) = RADIO_VARIES;
    let is_it = path.transfers >= ENOUGH_LOOKS
        && (RADIO.0..=RADIO.1).contains(&path.least)
        && path.varies >= varies
        && path.usual.as_secs_f64() >= times * path.least.as_secs_f64();
    is_it.then(|| Finding {
        name: "wifi",
        text: format!(
            "its round trips take {} to {} and more, as over Wi-Fi, with {} loss; {}. A cable makes it faster; without one, the 5 or 6 GHz \
             band near the access point.",
            ms(path.least),
            ms(path.usual),
            percent(path.loss()),
            waited(spent)
        ),
    })
}

/// A receive window that is full for long: the client takes data slowly, or its window is too small for the distance.
fn slow_client(path: &PathSums, spent: TimeParts) -> Option<Finding> {
    let (of_busy, of_all) = FULL_WINDOW;
    let full = path.window_limited.as_secs_f64();
    let is_it = path.transfers >= ENOUGH_LOOKS
        && full >= of_busy * path.busy.as_secs_f64()
        && full >= of_all * spent.active.as_secs_f64();
    let trips = full / path.least.as_secs_f64().max(1e-6);
    if is_it && path.window > 0 && path.bytes as f64 >= TAKEN_AT_ONCE * path.window as f64 * trips {
        return Some(small_window(path));
    }
    is_it.then(|| Finding {
        name: SLOW_CLIENT,
        text: format!(
            "it takes data too slowly: its receive window was full for {full:.0} of {:.0} s. Its processor or its disk is busy, or its \
             program does not read.",
            spent.active.as_secs_f64()
        ),
    })
}

fn small_window(path: &PathSums) -> Finding {
    let (window, least) = (path.window as f64, path.least.as_secs_f64().max(1e-6));
    Finding {
        name: "small-window",
        text: format!(
            "it takes data at once, but its receive window is {:.0} KiB and a round trip takes {}: more than {:.1} MB/s cannot reach it, \
             however fast the network is. Let its system use larger buffers (Linux: `net.ipv4.tcp_rmem`; Windows: `netsh interface tcp set \
             global autotuninglevel=normal`), or several connections.",
            window / 1024.0,
            ms(path.least),
            window / least / 1e6
        ),
    }
}

fn scanner(seen: ScannerEvidence) -> Finding {
    let ScannerEvidence { files_per_second, folders, partly } = seen;
    Finding {
        name: "scanner",
        text: format!(
            "it opens {files_per_second:.0} files a second in {folders} folders, and reads less than half of {} of them: a virus scanner \
             or an indexer looks at every file. Exclude this share from its real-time protection and its scheduled scans, or let it \
             run at night.",
            percent(partly)
        ),
    }
}

fn busy_client(case: &Case<'_>, spent: TimeParts) -> Option<Finding> {
    let (part, rate, long) = BUSY_CLIENT;
    let requests: u64 = case.activities.iter().map(|one| one.requests).sum();
    let (own, all) = (spent.client.as_secs_f64(), spent.active.as_secs_f64());
    let lasts = all >= long * case.window.as_secs_f64();
    let is_it = lasts && own >= part * all && requests as f64 >= rate * all;
    is_it.then(|| Finding {
        name: "busy-client",
        text: format!(
            "it needs {own:.0} of {all:.0} s between a reply and its next request, and asks for one thing at a time: its processor \
             is busy, or its program works that way. The network and the server idle meanwhile."
        ),
    })
}

#[cfg(test)]
mod tests;
