//! A session at the server: who has it, what number its next command has, which commands wait.

use std::collections::VecDeque;
use std::time::Instant;

use super::{CommandToken, SessionHandle};
use crate::Endpoint;
use crate::asp::{MAX_WAITING_ATTENTIONS, MAX_WAITING_COMMANDS};
use crate::atp::{CallId, RoundTrip, TransactionKey};

#[derive(Debug)]
pub(super) struct Session {
    pub(super) handle: SessionHandle,
    /// The workstation session socket.
    pub(super) workstation: Endpoint,
    /// The server session socket.
    pub(super) local: Endpoint,
    /// When the last packet of the session arrived.
    pub(super) heard: Instant,
    /// How long the workstation takes to answer.
    pub(super) round_trip: RoundTrip,
    pub(super) in_flight: Option<PendingCommand>,
    waiting: VecDeque<PendingCommand>,
    /// The number of the next command, once there was one.
    next: Option<u16>,
    pub(super) attention: Option<u16>,
    attentions: VecDeque<u16>,
}

/// A command that is not answered.
#[derive(Debug)]
pub(super) struct PendingCommand {
    pub(super) key: TransactionKey,
    pub(super) sequence: u16,
    pub(super) is_write: bool,
    pub(super) block: Vec<u8>,
    /// How many bytes of a reply the workstation has room for.
    pub(super) room: usize,
    pub(super) transfer: Transfer,
}

/// The data of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transfer {
    NotAsked,
    Asked { call: CallId, room: usize },
    Received,
}

impl Session {
    pub(super) fn new(handle: SessionHandle, workstation: Endpoint, local: Endpoint, now: Instant) -> Self {
        Self {
            handle,
            workstation,
            local,
            heard: now,
            round_trip: RoundTrip::default(),
            in_flight: None,
            waiting: VecDeque::new(),
            next: None,
            attention: None,
            attentions: VecDeque::new(),
        }
    }

    /// Whether a command with this number is the next, and has room.
    ///
    /// Page 11-30 begins with 1. Apple's own workstations begin with 0. Both may.
    pub(super) fn expects(&self, sequence: u16) -> bool {
        let is_next = self.next.map_or(sequence <= 1, |next| next == sequence);
        is_next && self.waiting.len() < MAX_WAITING_COMMANDS
    }

    /// Takes the next command in. True if it is in flight at once.
    pub(super) fn push(&mut self, command: PendingCommand) -> bool {
        self.next = Some(command.sequence.wrapping_add(1));
        if self.in_flight.is_some() {
            self.waiting.push_back(command);
            return false;
        }
        self.in_flight = Some(command);
        true
    }

    /// The command in flight is finished. True if another one is in flight now.
    pub(super) fn advance(&mut self) -> bool {
        self.in_flight = self.waiting.pop_front();
        self.in_flight.is_some()
    }

    /// The command in flight, if the token is of it.
    pub(super) fn command(&mut self, token: CommandToken) -> Option<&mut PendingCommand> {
        self.in_flight.as_mut().filter(|command| command.sequence == token.sequence)
    }

    /// The transactions of the commands that are not answered.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = TransactionKey> {
        self.in_flight.iter().chain(&self.waiting).map(|command| command.key)
    }

    /// Takes an attention in. False if it is one too many. One that waits already is not sent twice.
    pub(super) fn push_attention(&mut self, code: u16) -> bool {
        if self.attentions.contains(&code) {
            return true;
        }
        let has_room = self.attentions.len() < MAX_WAITING_ATTENTIONS;
        if has_room {
            self.attentions.push_back(code);
        }
        has_room
    }

    /// The attention to be sent now, if there is one and no other waits for its acknowledgement.
    pub(super) fn next_attention(&mut self) -> Option<u16> {
        if self.attention.is_some() {
            return None;
        }
        self.attention = self.attentions.pop_front();
        self.attention
    }
}
