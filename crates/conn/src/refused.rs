//! Clients that speak only a version of a protocol that the server does not: one line in the log for each host, so that a
//! person finds which machine it is and what it should use.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use lock::Mutex;

use crate::ranks;

/// A host has one line in this time for each version.
const SAY_EVERY: Duration = Duration::from_secs(60 * 60);
/// The most hosts that are remembered. Beyond that nothing is said until the oldest are forgotten.
const MOST_HOSTS: usize = 1_024;

/// Which hosts the log has named, with the version that each of them spoke.
#[derive(Debug, Default)]
pub struct RefusedVersions {
    said: Mutex<HashMap<(IpAddr, &'static str), Instant>, ranks::RefusedVersions>,
}

impl RefusedVersions {
    /// Logs that `client` was refused because it speaks `spoken`. `instead`: what it should use.
    pub fn tell(&self, client: IpAddr, spoken: &'static str, instead: &str) {
        if self.is_news(client, spoken, Instant::now()) {
            let client = client.to_canonical();
            tracing::warn!(%client, "a client was refused, because it speaks {spoken}, which this server does not: {instead}");
        }
    }

    fn is_news(&self, client: IpAddr, spoken: &'static str, now: Instant) -> bool {
        let mut said = self.said.lock();
        let is_recent = |at: &Instant| now.duration_since(*at) < SAY_EVERY;
        if said.get(&(client, spoken)).is_some_and(is_recent) {
            return false;
        }
        if said.len() >= MOST_HOSTS {
            said.retain(|_, at| is_recent(at));
        }
        let has_room = said.len() < MOST_HOSTS;
        if has_room {
            said.insert((client, spoken), now);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_line_in_an_hour_for_each_version() {
        let (refused, now) = (RefusedVersions::default(), Instant::now());
        let host = |last: u8| IpAddr::from([192, 0, 2, last]);
        assert!(refused.is_news(host(1), "SMB 1", now));
        assert!(!refused.is_news(host(1), "SMB 1", now + Duration::from_secs(3599)));
        assert!(refused.is_news(host(1), "NFS version 2", now));
        assert!(refused.is_news(host(2), "SMB 1", now));
        assert!(refused.is_news(host(1), "SMB 1", now + Duration::from_secs(3600)));
    }

    #[test]
    fn the_memory_for_hosts_is_bounded() {
        let (refused, now) = (RefusedVersions::default(), Instant::now());
        let said = (0..5_000_u32).filter(|n| refused.is_news(IpAddr::from(n.to_be_bytes()), "SMB 1", now));
        assert_eq!(said.count(), MOST_HOSTS);
        assert!(refused.is_news(IpAddr::from([9, 9, 9, 9]), "SMB 1", now + SAY_EVERY));
    }
}
