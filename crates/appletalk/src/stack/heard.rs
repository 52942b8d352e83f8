//! The nodes that were heard, for status.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::address::Address;
use crate::limits::HEARD;

#[derive(Debug, Clone, Copy)]
pub(super) struct HeardEntry {
    pub(super) port: usize,
    pub(super) at: Instant,
    pub(super) is_router: bool,
}

/// The nodes that sent something to this one, or to all. A new one takes the place of the one that was heard longest ago.
#[derive(Debug, Default)]
pub(super) struct HeardTable(BTreeMap<Address, HeardEntry>);

impl HeardTable {
    pub(super) fn hear(&mut self, address: Address, port: usize, is_router: bool, now: Instant) {
        if self.0.len() >= HEARD && !self.0.contains_key(&address) {
            let oldest = self.0.iter().min_by_key(|(_, entry)| entry.at).map(|(at, _)| *at);
            oldest.map(|at| self.0.remove(&at));
        }
        let was_router = self.0.get(&address).is_some_and(|entry| entry.is_router);
        self.0.insert(address, HeardEntry { port, at: now, is_router: is_router || was_router });
    }

    /// The network of a port became known: its nodes are called by another address.
    pub(super) fn forget_unknown(&mut self, port: usize) {
        self.0.retain(|address, entry| address.network != 0 || entry.port != port);
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&Address, &HeardEntry)> {
        self.0.iter()
    }
}
