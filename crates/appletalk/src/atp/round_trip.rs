//! How long an answer takes: the time after which it is asked for again.

use std::time::Duration;

/// How long the first packet of a response took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseTime {
    /// The request was sent once.
    Known(Duration),
    /// It was sent again before the packet arrived, which may be the response to either.
    Ambiguous,
}

/// An estimate of the time between a request and the first packet of its response, by the smoothed mean and deviation of
/// RFC 6298, section 2. The specification leaves the time to the requester (page 9-17): a LocalTalk through a bridge needs a
/// hundred times as long as an Ethernet.
///
/// The time of a request that was repeated says nothing about the link (Karn's algorithm). It may have been lost, or the link may be full:
/// the next request waits twice as long, until one needs no repetition (RFC 6298, 5.5 to 5.7).
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundTrip {
    /// The mean and the deviation, once something was measured.
    measured: Option<(Duration, Duration)>,
    /// How often the time was doubled since then.
    doublings: u32,
}

impl RoundTrip {
    /// The time as long as nothing was measured.
    pub const UNKNOWN: Duration = Duration::from_millis(500);
    /// The shortest time.
    pub const MIN: Duration = Duration::from_millis(50);
    /// The longest time.
    pub const MAX: Duration = Duration::from_secs(2);
    /// From the shortest time to the longest.
    const MOST_DOUBLINGS: u32 = 6;

    /// Takes a measurement in.
    pub fn measure(&mut self, time: ResponseTime) {
        match time {
            ResponseTime::Known(time) => {
                self.doublings = 0;
                self.smooth(time);
            }
            ResponseTime::Ambiguous => self.doublings = (self.doublings + 1).min(Self::MOST_DOUBLINGS),
        }
    }

    fn smooth(&mut self, time: Duration) {
        self.measured = Some(match self.measured {
            None => (time, time / 2),
            Some((mean, deviation)) => {
                let difference = mean.abs_diff(time);
                ((mean * 7 + time) / 8, (deviation * 3 + difference) / 4)
            }
        });
    }

    /// After what time a request is sent again if nothing but this measurement is known.
    pub(super) fn retry_after_one(time: Duration) -> Duration {
        let mut link = Self::default();
        link.smooth(time);
        link.retry_after()
    }

    /// After what time a request is sent again.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        let time = self.measured.map_or(Self::UNKNOWN, |(mean, deviation)| mean + deviation * 4);
        (time.clamp(Self::MIN, Self::MAX) * (1 << self.doublings)).min(Self::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn known(millis: u64) -> ResponseTime {
        ResponseTime::Known(Duration::from_millis(millis))
    }

    #[test]
    fn the_retry_time_follows_the_link_within_limits() {
        let mut link = RoundTrip::default();
        assert_eq!(link.retry_after(), RoundTrip::UNKNOWN);
        (0..50).for_each(|_| link.measure(known(1)));
        assert_eq!(link.retry_after(), RoundTrip::MIN);
        (0..50).for_each(|_| link.measure(known(30_000)));
        assert_eq!(link.retry_after(), RoundTrip::MAX);
    }

    #[test]
    fn the_first_measurement_counts_three_times() {
        let mut link = RoundTrip::default();
        link.measure(known(100));
        assert_eq!(link.retry_after(), Duration::from_millis(300)); // RFC 6298, 2.2
    }

    #[test]
    fn a_lost_request_doubles_the_time_until_one_is_not_lost() {
        let mut link = RoundTrip::default();
        link.measure(known(100));
        link.measure(ResponseTime::Ambiguous);
        assert_eq!(link.retry_after(), Duration::from_millis(600));
        (0..100).for_each(|_| link.measure(ResponseTime::Ambiguous));
        assert_eq!(link.retry_after(), RoundTrip::MAX);
        link.measure(known(100));
        assert_eq!(link.retry_after(), Duration::from_micros(250_000)); // the deviation is 37.5 ms
    }
}
