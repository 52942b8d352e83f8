//! Packets on their way to the network.

use std::collections::VecDeque;

use crate::Endpoint;
use crate::wire::atp::Packet;

/// A datagram's addresses and payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The socket of this node that sends it.
    pub source: Endpoint,
    /// Who gets it.
    pub destination: Endpoint,
    /// An ATP packet.
    pub payload: Vec<u8>,
}

/// Packets that wait until the owner of the protocol takes them. A packet that does not fit is dropped: the protocol sends it again.
#[derive(Debug, Default)]
pub struct Outbox {
    packets: VecDeque<Outgoing>,
}

impl Outbox {
    /// The most packets that wait: 64 for each of 64 sessions.
    pub const MAX_PACKETS: usize = 4_096;

    /// Sends a packet.
    pub fn send(&mut self, source: Endpoint, destination: Endpoint, packet: &Packet<'_>) {
        if self.packets.len() < Self::MAX_PACKETS {
            self.packets.push_back(Outgoing { source, destination, payload: packet.encode() });
        }
    }

    /// The oldest packet.
    pub fn take(&mut self) -> Option<Outgoing> {
        self.packets.pop_front()
    }

    /// How many packets wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}
