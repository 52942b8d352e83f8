//! Messages to one other server, and from it: each one exactly once and in order, over one
//! connection after another.

use std::collections::VecDeque;

use crate::wire::{Message, PeerFrame};

/// The numbers of messages to and from one server.
#[derive(Default)]
pub(super) struct PeerLink {
    /// The number of the last message to it.
    sent: u64,
    /// Messages that it has not acknowledged, as frames. Only changes, and what a successor is told of opens, can be left out of it:
    /// what else is in it is bounded by what the states of files have.
    unacknowledged: VecDeque<(u64, Vec<u8>)>,
    /// Whether there is a connection over which messages can go now.
    is_connected: bool,
    /// The number of the last message from it.
    pub(super) received: u64,
    /// The last message to it that it received while it was in the same epoch as this server.
    reported: u64,
    /// A change was left out.
    pub(super) has_lost: bool,
}

impl PeerLink {
    /// Numbers a message. Returns its number, and its frame if it can go now.
    pub(super) fn send(&mut self, epoch: u64, message: Message) -> (u64, Option<Vec<u8>>) {
        self.sent += 1;
        let frame = PeerFrame::Data { number: self.sent, epoch, message }.encode();
        let now = self.is_connected.then(|| frame.clone());
        self.unacknowledged.push_back((self.sent, frame));
        (self.sent, now)
    }

    /// Another message is to go instead of one that was not acknowledged.
    pub(super) fn replace(&mut self, number: u64, epoch: u64, message: Message) {
        let at = self.unacknowledged.iter_mut().find(|(other, _)| *other == number);
        at.into_iter().for_each(|(_, frame)| {
            *frame = PeerFrame::Data { number, epoch, message: message.clone() }.encode()
        });
    }

    /// Everything up to this number has arrived, and the receiver was in the same epoch.
    pub(super) fn acknowledge_in_epoch(&mut self, received: u64) {
        self.reported = self.reported.max(received);
    }

    /// Whether this message arrived in time for the receiver's report at the begin of the next epoch.
    pub(super) fn is_reported(&self, number: u64) -> bool {
        number <= self.reported
    }

    /// Everything up to this number has arrived.
    pub(super) fn acknowledge(&mut self, received: u64) {
        while self.unacknowledged.front().is_some_and(|(number, _)| *number <= received) {
            self.unacknowledged.pop_front();
        }
    }

    /// Whether everything up to this number has arrived.
    pub(super) fn has_arrived(&self, number: u64) -> bool {
        self.unacknowledged.front().is_none_or(|(first, _)| *first > number)
    }

    /// There is a connection, whose receiver has received this. Returns what is to be sent again.
    pub(super) fn connect(&mut self, received: u64) -> Vec<Vec<u8>> {
        self.acknowledge(received);
        self.is_connected = true;
        self.unacknowledged.iter().map(|(_, frame)| frame.clone()).collect()
    }

    /// Whether there is a connection over which messages go.
    pub(super) fn is_connected(&self) -> bool {
        self.is_connected
    }

    pub(super) fn disconnect(&mut self) {
        self.is_connected = false;
    }

    /// How many messages have not arrived.
    pub(super) fn waiting(&self) -> usize {
        self.unacknowledged.len()
    }
}
