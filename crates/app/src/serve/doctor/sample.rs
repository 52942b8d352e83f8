//! What a connection has done between two looks, and in the last ones.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use conn::diag::TcpInfo;
use conn::{ConnectionTimes, Peer, PieceWaitCounts};

/// Replies of so many segments are transfers: shorter ones leave at once.
const TRANSFER: u64 = 10;

/// The counts of a connection at one time.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionCounts {
    pub(super) requests: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) times: ConnectionTimes,
    pub(super) path: Option<TcpInfo>,
}

impl ConnectionCounts {
    /// Those of now.
    pub(super) fn of(peer: &Peer, path: Option<TcpInfo>) -> Self {
        Self {
            requests: peer.counters.requests.load(Ordering::Relaxed),
            bytes_in: peer.counters.bytes_in.load(Ordering::Relaxed),
            bytes_out: peer.counters.bytes_out.load(Ordering::Relaxed),
            times: peer.counters.timing.times(),
            path,
        }
    }

    /// Bytes in both directions.
    pub(super) fn moved(&self) -> u64 {
        self.bytes_in.wrapping_add(self.bytes_out)
    }

    /// Data wait to be acknowledged or sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.path.is_some_and(|path| path.unacknowledged > 0 || path.not_sent > 0)
    }
}

/// What happened between two looks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Activity {
    pub(super) span: Duration,
    pub(super) requests: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) answering: Duration,
    pub(super) arriving: Duration,
    pub(super) thinking: Duration,
    /// All so far.
    pub(super) pieces: PieceWaitCounts,
    /// What the kernel tells, if it does.
    pub(super) path: Option<PathActivity>,
}

/// The same of the network.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PathActivity {
    /// Segments with data that were sent, and those of them that were sent again.
    pub(super) sent: u64,
    pub(super) lost: u64,
    /// Segments with data that came, and packets that came before earlier ones.
    pub(super) received: u64,
    pub(super) out_of_order: u64,
    /// Data waited or were on their way; the part in which the client's receive window was full.
    pub(super) busy: Duration,
    pub(super) window_limited: Duration,
    /// At the end: the round trip, how much it varies, and the shortest one.
    pub(super) round_trip: Duration,
    pub(super) variation: Duration,
    pub(super) least: Duration,
    pub(super) segment: u64,
    /// The client's receive window in bytes; 0 where the kernel does not tell it.
    pub(super) window: u64,
}

/// The difference of counts that wrap.
fn since(before: u32, after: u32) -> u64 {
    u64::from(after.wrapping_sub(before))
}

impl Activity {
    /// What happened from one look to the next.
    pub(super) fn between(before: &ConnectionCounts, after: &ConnectionCounts, span: Duration) -> Self {
        let path = before.path.zip(after.path).map(|(before, after)| PathActivity {
            sent: since(before.data_segments_out, after.data_segments_out),
            lost: since(before.retransmitted, after.retransmitted),
            received: since(before.data_segments_in, after.data_segments_in),
            out_of_order: since(before.out_of_order, after.out_of_order),
            busy: Duration::from_micros(after.busy_us.saturating_sub(before.busy_us)),
            window_limited: Duration::from_micros(
                after.window_limited_us.saturating_sub(before.window_limited_us),
            ),
            round_trip: Duration::from_micros(after.round_trip_us.into()),
            variation: Duration::from_micros(after.variation_us.into()),
            least: least(&after),
            segment: after.send_segment.into(),
            window: after.receive_window.into(),
        });
        Self {
            span,
            requests: after.requests.saturating_sub(before.requests),
            bytes_in: after.bytes_in.saturating_sub(before.bytes_in),
            bytes_out: after.bytes_out.saturating_sub(before.bytes_out),
            answering: after.times.answering.saturating_sub(before.times.answering),
            arriving: after.times.arriving.saturating_sub(before.times.arriving),
            thinking: after.times.thinking.saturating_sub(before.times.thinking),
            pieces: after.times.pieces,
            path,
        }
    }

    /// Whether replies were transfers, whose time is that of the network. A short reply is on its way until the client
    /// acknowledges it, which it may do late: that says nothing. But data that wait while nothing is asked for are stuck.
    pub(super) fn transfers(&self) -> bool {
        let Some(path) = &self.path else { return false };
        let is_stuck = self.requests == 0 && 2 * path.busy >= self.span && !self.span.is_zero();
        path.lost > 0 || is_stuck || self.bytes_out >= self.requests.max(1) * TRANSFER * path.segment.max(1)
    }

    /// Round trips of the requests, at their shortest.
    fn trips(&self) -> Duration {
        let least = self.path.as_ref().map_or(Duration::ZERO, |path| path.least);
        least.saturating_mul(u32::try_from(self.requests).unwrap_or(u32::MAX))
    }

    /// Where its time went. The parts overlap where a client asks for several things at once; together they are no longer than the
    /// time that there was.
    pub(super) fn parts(&self, is_local: bool) -> TimeParts {
        let empty = PathActivity::default();
        let path = self.path.as_ref().unwrap_or(&empty);
        let busy = path.busy.saturating_sub(path.window_limited);
        let sending = if self.transfers() { busy } else { busy.min(self.trips()) };
        // Nothing is on its way on one machine: it is the client that has not sent the rest.
        let (arriving, late) =
            if is_local { (Duration::ZERO, self.arriving) } else { (self.arriving, Duration::ZERO) };
        let thought = self.thinking.saturating_sub(self.arriving).saturating_sub(self.trips());
        let parts = TimeParts {
            active: self.span,
            network: (sending + arriving).min(self.span),
            server: self.answering.min(self.span),
            client: (thought + path.window_limited + late).min(self.span),
        };
        parts.fitted()
    }
}

/// The shortest round trip; the usual one where the kernel does not know it.
fn least(path: &TcpInfo) -> Duration {
    let is_unknown = matches!(path.least_round_trip_us, 0 | u32::MAX);
    Duration::from_micros(if is_unknown { path.round_trip_us } else { path.least_round_trip_us }.into())
}

/// Where time went.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TimeParts {
    pub(super) active: Duration,
    pub(super) network: Duration,
    pub(super) server: Duration,
    pub(super) client: Duration,
}

impl TimeParts {
    /// The same proportions within the time that there was.
    fn fitted(self) -> Self {
        let sum = self.network + self.server + self.client;
        if sum <= self.active || sum.is_zero() {
            return self;
        }
        let factor = self.active.as_secs_f64() / sum.as_secs_f64();
        let fit = |part: Duration| part.mul_f64(factor);
        Self { network: fit(self.network), server: fit(self.server), client: fit(self.client), ..self }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            active: self.active + other.active,
            network: self.network + other.network,
            server: self.server + other.server,
            client: self.client + other.client,
        }
    }
}

/// The activities of the looks that are judged together.
#[derive(Debug, Clone, Default)]
pub(super) struct ActivityWindow(VecDeque<(Instant, Activity)>);

impl ActivityWindow {
    pub(super) fn push(&mut self, now: Instant, activity: Activity) {
        self.0.push_back((now, activity));
    }

    /// Forgets what is over.
    pub(super) fn expire(&mut self, now: Instant, after: Duration) {
        self.0.retain(|(at, _)| now.duration_since(*at) < after);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn all(&self) -> Vec<Activity> {
        self.0.iter().map(|(_, activity)| activity.clone()).collect()
    }
}

/// The sums of some activities.
pub(super) fn parts(activities: &[Activity], is_local: bool) -> TimeParts {
    activities.iter().map(|one| one.parts(is_local)).fold(TimeParts::default(), TimeParts::plus)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn counts_of_the_kernel_may_wrap() {
        let path = |count| Some(TcpInfo { retransmitted: count, ..TcpInfo::default() });
        let counts = |count| ConnectionCounts { path: path(count), ..ConnectionCounts::default() };
        let activity = Activity::between(&counts(u32::MAX - 1), &counts(3), 5 * S);
        assert_eq!(activity.path.unwrap().lost, 5);
    }

    #[test]
    fn a_client_that_acknowledges_short_replies_late_does_not_wait_for_the_network() {
        let path = PathActivity {
            busy: 4 * S,
            least: Duration::from_micros(300),
            round_trip: Duration::from_millis(40),
            segment: 1448,
            sent: 100,
            ..PathActivity::default()
        };
        let activity = Activity {
            span: 5 * S,
            requests: 100,
            bytes_out: 20_000,
            path: Some(path.clone()),
            ..Activity::default()
        };
        assert_eq!(activity.parts(false).network, Duration::from_millis(30));
        let stuck = Activity { requests: 0, bytes_out: 0, ..activity.clone() };
        assert_eq!(stuck.parts(false).network, 4 * S, "nothing is asked for, and data wait");
        let transfer = Activity { bytes_out: 100 << 20, ..activity };
        assert_eq!(transfer.parts(false).network, 4 * S);
    }

    #[test]
    fn the_parts_are_no_longer_than_the_time_that_there_was() {
        let activity = Activity {
            span: 5 * S,
            answering: 5 * S,
            arriving: 5 * S,
            thinking: 15 * S,
            ..Activity::default()
        };
        let parts = activity.parts(false);
        let sum = parts.network + parts.server + parts.client;
        assert!(sum <= 5 * S + Duration::from_millis(1) && parts.network == parts.server, "{parts:?}");
        assert_eq!(activity.parts(true).network, Duration::ZERO, "nothing is on its way on one machine");
    }

    #[test]
    fn what_is_older_than_the_window_is_forgotten() {
        let (mut window, start) = (ActivityWindow::default(), Instant::now());
        window.push(start, Activity::default());
        window.push(start + 30 * S, Activity::default());
        window.expire(start + 60 * S, 60 * S);
        assert_eq!(window.all().len(), 1);
        window.expire(start + 120 * S, 60 * S);
        assert!(window.is_empty());
    }
}
