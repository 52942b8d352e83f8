//! Reports to the log and the service manager whether the server answers.
//!
//! The thread shares no lock and no runtime with the threads that answer requests, so that it runs when those do not. It
//! pings systemd's watchdog (`WatchdogSec=`) only while requests end or none waits: a server that hangs is restarted.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use conn::{Hang, Monitor};

use crate::serve::notify;

/// How often it checks, unless the service manager wants more frequent pings.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Starts the thread, which ends with the process.
pub(crate) fn start() -> io::Result<()> {
    let ping_every = sd_notify::watchdog_enabled().map(|within| within / 2);
    let mut heart = Heart { ping_every, pinged: None };
    let look_every = ping_every.map_or(LOOK_EVERY, |every| every.min(LOOK_EVERY));
    let beat = move || {
        let mut monitor = Monitor::new();
        loop {
            let now = Instant::now();
            if heart.beat(&monitor.look(now), now) {
                notify(&[sd_notify::NotifyState::Watchdog]);
            }
            thread::sleep(look_every);
        }
    };
    thread::Builder::new().name("heartbeat".into()).spawn(beat).map(drop)
}

struct Heart {
    /// The interval of pings that the service manager wants.
    ping_every: Option<Duration>,
    pinged: Option<Instant>,
}

impl Heart {
    /// Logs the findings. Answers whether to ping the service manager.
    fn beat(&mut self, found: &Hang, now: Instant) -> bool {
        match found {
            Hang::None => {}
            Hang::Over(lasted) => tracing::warn!("requests end again after {} s", lasted.as_secs()),
            Hang::Lasts(report) => {
                if let Some(report) = report {
                    tracing::error!("the server hangs: {report}");
                }
                return false;
            }
        }
        let Some(every) = self.ping_every else { return false };
        // An early ping does no harm, a late one does.
        let is_due = self.pinged.is_none_or(|pinged| now.duration_since(pinged) + LOOK_EVERY > every);
        if is_due {
            self.pinged = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_manager_is_pinged_while_the_server_goes_on() {
        let start = Instant::now();
        let mut heart = Heart { ping_every: Some(Duration::from_secs(5)), pinged: None };
        let mut beat = |secs, found| heart.beat(&found, start + Duration::from_secs(secs));
        let pinged: Vec<u64> = (0..20).filter(|secs| beat(*secs, Hang::None)).collect();
        assert!(pinged.windows(2).all(|two| two[1] - two[0] <= 5) && pinged.len() <= 5, "{pinged:?}");
        assert!((20..60).all(|secs| !beat(secs, Hang::Lasts(None))));
        assert!(beat(60, Hang::Over(Duration::from_secs(40))));
    }

    #[test]
    fn without_a_watchdog_nothing_is_pinged() {
        let mut heart = Heart { ping_every: None, pinged: None };
        assert!(!heart.beat(&Hang::None, Instant::now()));
    }
}
