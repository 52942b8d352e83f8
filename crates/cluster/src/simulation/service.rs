//! The coordination service: leases of servers, and the list of members.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Random, SimulatedServer};
use crate::View;

/// How long a lease lasts without being renewed.
const LEASE: Duration = Duration::from_secs(3);
/// How much earlier a server stops to answer.
const MARGIN: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(super) struct SimulatedService {
    /// When the lease of each server ends.
    leases: BTreeMap<u16, Duration>,
    view: View,
    renew_at: BTreeMap<u16, Duration>,
    parted: BTreeMap<u16, Duration>,
}

impl SimulatedService {
    /// The service cannot be reached by a server until then.
    pub(super) fn part(&mut self, server: u16, until: Duration) {
        self.parted.insert(server, until);
    }

    pub(super) fn epoch(&self) -> u64 {
        self.view.epoch
    }

    /// How many members there are.
    pub(super) fn members(&self) -> usize {
        self.view.members.len()
    }

    pub(super) fn heal(&mut self) {
        self.parted.clear();
    }

    pub(super) fn step(&mut self, now: Duration, servers: &mut [SimulatedServer], random: &mut Random) {
        for server in servers.iter_mut().filter(|server| server.runs(now)) {
            if server.fence != Duration::ZERO && now >= server.fence {
                server.is_dead = true; // it ends itself
                continue;
            }
            let renew_at = self.renew_at.entry(server.number).or_default();
            if now < *renew_at || self.parted.get(&server.number).is_some_and(|until| now < *until) {
                continue;
            }
            *renew_at = now + Duration::from_millis(200 + random.below(100));
            self.renew(now, server);
        }
    }

    /// One call of a server: it renews its lease, looks who has one, and changes the list of members if it differs.
    fn renew(&mut self, now: Duration, server: &mut SimulatedServer) {
        let is_new = server.fence == Duration::ZERO;
        let is_alive = self.leases.get(&server.number).is_some_and(|end| now < *end);
        if !is_new && !is_alive {
            return; // the lease has ended: only the fence is left
        }
        self.leases.insert(server.number, now + LEASE);
        server.fence = now + LEASE - MARGIN;
        let alive = self.leases.iter().filter(|(_, end)| now < **end).map(|(number, _)| *number);
        let mut members: Vec<u16> = alive.collect();
        members.sort_unstable();
        if self.view.members != members {
            self.view = View { epoch: self.view.epoch + 1, members };
        }
        server.node.adopt(now, self.view.clone());
    }
}
