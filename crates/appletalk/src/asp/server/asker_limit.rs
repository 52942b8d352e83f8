//! How often a node may ask for the status: a status is longer than the request for it, and its sender may be forged.

use std::time::{Duration, Instant};

/// A bucket of permits for each node number. Nodes of different networks share them: their number is limited.
#[derive(Debug)]
pub(super) struct AskerLimit {
    buckets: Vec<Bucket>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// Permits that were used, and when they were counted.
    used: u32,
    counted: Option<Instant>,
}

impl AskerLimit {
    /// The most answers at once. A workstation asks once for each time that a user looks at the server.
    pub(super) const BURST: u32 = 8;
    /// The time after which there is one more.
    pub(super) const REFILL: Duration = Duration::from_millis(250);

    pub(super) fn new() -> Self {
        Self { buckets: vec![Bucket::default(); 256] }
    }

    /// Whether this node gets an answer now.
    pub(super) fn permits(&mut self, node: u8, now: Instant) -> bool {
        let bucket = &mut self.buckets[usize::from(node)];
        let since = bucket.counted.map_or(Duration::MAX, |counted| now.saturating_duration_since(counted));
        let refilled = (since.as_millis() / Self::REFILL.as_millis()).min(u128::from(Self::BURST)) as u32;
        if refilled > 0 {
            bucket.used = bucket.used.saturating_sub(refilled);
            bucket.counted = Some(now);
        }
        let permits = bucket.used < Self::BURST;
        if permits {
            bucket.used += 1;
        }
        permits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_gets_a_burst_and_then_four_a_second() {
        let (mut limit, start) = (AskerLimit::new(), Instant::now());
        let mut asked = |millis: u64, times: usize| {
            let now = start + Duration::from_millis(millis);
            (0..times).filter(|_| limit.permits(7, now)).count()
        };
        assert_eq!(asked(0, 100), 8);
        assert_eq!(asked(200, 100), 0);
        assert_eq!(asked(250, 100), 1);
        assert_eq!(asked(1_250, 100), 4);
        assert_eq!(asked(1_000_000, 100), 8);
        assert!(limit.permits(8, start));
    }
}
