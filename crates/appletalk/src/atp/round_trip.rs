//! How long an answer takes: the time after which it is asked for again.

use std::time::Duration;

/// An estimate of the time between a request and the first packet of its response, by the smoothed mean and deviation of
/// RFC 6298, section 2. The specification leaves the time to the requester (page 9-17): a LocalTalk through a bridge needs a
/// hundred times as long as an Ethernet.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundTrip {
    /// The mean and the deviation, once something was measured.
    measured: Option<(Duration, Duration)>,
}

impl RoundTrip {
    /// The time as long as nothing was measured.
    pub const UNKNOWN: Duration = Duration::from_millis(500);
    /// The shortest time.
    pub const MIN: Duration = Duration::from_millis(50);
    /// The longest time.
    pub const MAX: Duration = Duration::from_secs(2);

    /// Takes a measurement in.
    pub fn measure(&mut self, time: Duration) {
        self.measured = Some(match self.measured {
            None => (time, time / 2),
            Some((mean, deviation)) => {
                let difference = mean.abs_diff(time);
                ((mean * 7 + time) / 8, (deviation * 3 + difference) / 4)
            }
        });
    }

    /// After what time a request is sent again.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        let time = self.measured.map_or(Self::UNKNOWN, |(mean, deviation)| mean + deviation * 4);
        time.clamp(Self::MIN, Self::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_retry_time_follows_the_link_within_limits() {
        let mut link = RoundTrip::default();
        assert_eq!(link.retry_after(), RoundTrip::UNKNOWN);
        (0..50).for_each(|_| link.measure(Duration::from_micros(200)));
        assert_eq!(link.retry_after(), RoundTrip::MIN);
        (0..50).for_each(|_| link.measure(Duration::from_secs(30)));
        assert_eq!(link.retry_after(), RoundTrip::MAX);
    }

    #[test]
    fn the_first_measurement_counts_three_times() {
        let mut link = RoundTrip::default();
        link.measure(Duration::from_millis(100));
        assert_eq!(link.retry_after(), Duration::from_millis(300)); // RFC 6298, 2.2
    }
}
