//! Seeing that the whole server does not go on: requests wait, and none has ended for a while. Requests that wait without a
//! thread (for a lock of another client, for a change in a folder) do not count.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use lock::Mutex;

use crate::ranks;
use crate::stall::Watchdog;
use crate::threads;

/// How long nothing may end while requests wait.
const AFTER: Duration = Duration::from_secs(10);
/// How often it is said again of a server that does not go on.
const SAY_EVERY: Duration = Duration::from_secs(300);

/// The watchdogs of all protocols.
static WATCHDOGS: Mutex<Vec<Weak<Watchdog>>, ranks::Watchdogs> = Mutex::new(Vec::new());

/// Has the monitors ask this watchdog.
pub(crate) fn register(watchdog: &Arc<Watchdog>) {
    let mut watchdogs = WATCHDOGS.lock();
    watchdogs.retain(|other| other.strong_count() > 0);
    watchdogs.push(Arc::downgrade(watchdog));
}

/// The requests of one protocol that threads are stuck with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Activity {
    pub(crate) protocol: &'static str,
    pub(crate) stuck: usize,
    pub(crate) oldest: Option<Instant>,
    /// Requests that have ended while others waited.
    pub(crate) ended: u64,
}

/// The requests of one protocol that hold threads because calls of the host do not return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StuckRequests {
    /// The protocol.
    pub protocol: &'static str,
    /// The threads that they hold.
    pub threads: usize,
    /// How long the oldest of them has waited; `None`: there is none.
    pub oldest: Option<Duration>,
}

/// The requests that hold threads now, of each protocol.
pub fn stuck_requests() -> Vec<StuckRequests> {
    let now = Instant::now();
    let of = |of: Activity| StuckRequests {
        protocol: of.protocol,
        threads: of.stuck,
        oldest: of.oldest.map(|since| now.duration_since(since)),
    };
    Sample::take().protocols.into_iter().map(of).collect()
}

/// Everything at one time.
#[derive(Debug, Clone, Default)]
struct Sample {
    protocols: Vec<Activity>,
    disk_calls: usize,
    ended: u64,
}

impl Sample {
    fn take() -> Self {
        let watchdogs: Vec<Arc<Watchdog>> = WATCHDOGS.lock().iter().filter_map(Weak::upgrade).collect();
        let protocols: Vec<Activity> = watchdogs.iter().map(|watchdog| watchdog.activity()).collect();
        let disk = resources::disk_calls();
        let ended = protocols.iter().map(|of| of.ended).sum::<u64>() + disk.ended;
        Self { protocols, disk_calls: disk.waiting, ended }
    }

    fn stuck(&self) -> usize {
        self.protocols.iter().map(|of| of.stuck).sum()
    }
}

/// Looks at the server again and again.
pub struct Monitor {
    ended: u64,
    /// Since when nothing has ended although requests wait.
    since: Option<Instant>,
    said: Option<Instant>,
}

/// What a look found.
#[derive(Debug)]
pub enum Hang {
    /// Requests end, or none waits.
    None,
    /// The server does not go on. With a report at first, and from time to time.
    Lasts(Option<Report>),
    /// It goes on again, after so long.
    Over(Duration),
}

/// Why a server does not go on.
#[derive(Debug)]
pub struct Report {
    quiet_for: Duration,
    stuck: usize,
    disk_calls: usize,
    oldest: Option<(&'static str, Duration)>,
    threads: Vec<String>,
}

impl Default for Monitor {
    fn default() -> Self {
        Self::new()
    }
}

impl Monitor {
    /// Has not looked yet.
    pub fn new() -> Self {
        Self { ended: 0, since: None, said: None }
    }

    /// Looks. To be called more often than every ten seconds.
    pub fn look(&mut self, now: Instant) -> Hang {
        self.judge(&Sample::take(), now)
    }

    fn judge(&mut self, sample: &Sample, now: Instant) -> Hang {
        let waits = sample.stuck() + sample.disk_calls > 0;
        let goes_on = !waits || sample.ended != self.ended;
        self.ended = sample.ended;
        if goes_on {
            let since = std::mem::replace(&mut self.since, waits.then_some(now));
            return match (self.said.take(), since) {
                (Some(_), Some(since)) => Hang::Over(now.duration_since(since)),
                _ => Hang::None,
            };
        }
        let since = *self.since.get_or_insert(now);
        let quiet_for = now.duration_since(since);
        if quiet_for < AFTER {
            return Hang::None;
        }
        if self.said.is_some_and(|said| now.duration_since(said) < SAY_EVERY) {
            return Hang::Lasts(None);
        }
        self.said = Some(now);
        let oldest = sample.protocols.iter().filter_map(|of| Some((of.protocol, of.oldest?)));
        let oldest = oldest.min_by_key(|(_, since)| *since);
        Hang::Lasts(Some(Report {
            quiet_for,
            stuck: sample.stuck(),
            disk_calls: sample.disk_calls,
            oldest: oldest.map(|(protocol, since)| (protocol, now.duration_since(since))),
            threads: threads::that_wait(),
        }))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quiet_for, stuck, disk_calls, oldest, threads } = self;
        write!(f, "no request has ended for {} s: ", quiet_for.as_secs())?;
        write!(f, "{stuck} hold a thread of the server, {disk_calls} wait for a disk")?;
        if let Some((protocol, age)) = oldest {
            write!(f, "; the oldest is of {protocol}, {} s old", age.as_secs())?;
        }
        threads.iter().try_for_each(|thread| write!(f, "; {thread}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(stuck: usize, disk_calls: usize, ended: u64, oldest: Instant) -> Sample {
        let oldest = (stuck > 0).then_some(oldest);
        Sample { protocols: vec![Activity { protocol: "NFS", stuck, oldest, ended }], disk_calls, ended }
    }

    #[test]
    fn requests_that_wait_while_none_ends_are_reported_once_until_it_goes_on() {
        let (mut monitor, start) = (Monitor::new(), Instant::now());
        let at = |secs| start + Duration::from_secs(secs);
        let mut look = |secs, stuck, disk, ended| monitor.judge(&sample(stuck, disk, ended, start), at(secs));
        assert!(matches!(look(0, 2, 1, 7), Hang::None));
        assert!(matches!(look(9, 2, 1, 7), Hang::None));
        let Hang::Lasts(Some(report)) = look(10, 2, 1, 7) else { panic!("no report") };
        let said = report.to_string();
        assert!(said.contains("ended for 10 s: 2 hold a thread of the server, 1 wait for a disk"), "{said}");
        assert!(said.contains("the oldest is of NFS, 10 s old"), "{said}");
        assert!(matches!(look(11, 2, 1, 7), Hang::Lasts(None)));
        assert!(matches!(look(309, 3, 1, 7), Hang::Lasts(None)));
        assert!(matches!(look(310, 3, 1, 7), Hang::Lasts(Some(_))));
        let Hang::Over(lasted) = look(311, 3, 1, 8) else { panic!("it goes on") };
        assert_eq!(lasted, Duration::from_secs(311));
        assert!(matches!(look(320, 3, 1, 8), Hang::None));
        assert!(matches!(look(321, 3, 1, 8), Hang::Lasts(Some(_))));
    }

    #[test]
    fn a_server_without_requests_and_one_whose_requests_end_is_not_reported() {
        let (mut monitor, start) = (Monitor::new(), Instant::now());
        for secs in 0..100 {
            let now = start + Duration::from_secs(secs);
            assert!(matches!(monitor.judge(&sample(0, 0, 0, start), now), Hang::None));
        }
        for secs in 100..200 {
            let now = start + Duration::from_secs(secs);
            assert!(matches!(monitor.judge(&sample(1, 1, secs, start), now), Hang::None));
        }
    }
}
