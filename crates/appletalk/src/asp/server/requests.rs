//! What workstations ask for: status, sessions, commands, ends. "Inside AppleTalk" chapter 11, "Packet formats and algorithms".

use std::time::Instant;

use super::session::{PendingCommand, Session, Transfer};
use super::{CloseReason, Command, CommandToken, Server, ServerEvent, SessionHandle};
use crate::Endpoint;
use crate::asp::MAX_SESSIONS_OF_NODE;
use crate::atp::{ResponseMessage, TransactionKey, room_of};
use crate::wire::asp::{Error, Header, OpenSessionReply, VERSION};
use crate::wire::atp::Request;

/// A request and its ends.
struct Incoming<'a> {
    source: Endpoint,
    destination: Endpoint,
    request: &'a Request<'a>,
    key: TransactionKey,
    now: Instant,
}

impl Server {
    pub(super) fn request(
        &mut self,
        source: Endpoint,
        destination: Endpoint,
        request: &Request<'_>,
        now: Instant,
    ) {
        let key = TransactionKey::new(source, destination.socket, request.tid);
        let incoming = Incoming { source, destination, request, key, now };
        let is_for_listening = destination.socket == self.sockets.listening;
        let is_for_session = destination.socket == self.sockets.session;
        match Header::decode(request.user) {
            Ok(Header::GetStatus) if is_for_listening => self.send_status(&incoming),
            Ok(Header::OpenSession { socket, version }) if is_for_listening => {
                self.open(&incoming, socket, version);
            }
            // Workstations send tickles to the listening socket, page 11-35. Those of other makes use the session's.
            Ok(Header::Tickle { session }) if is_for_listening || is_for_session => {
                self.heard(&incoming, session);
            }
            Ok(Header::Command { session, sequence }) if is_for_session => {
                self.command(&incoming, session, sequence, false);
            }
            Ok(Header::Write { session, sequence }) if is_for_session => {
                self.command(&incoming, session, sequence, true);
            }
            Ok(Header::CloseSession { session }) if is_for_session => {
                self.close_by_workstation(&incoming, session);
            }
            _ => {}
        }
    }

    /// Page 11-29: at least once, so nothing is kept.
    fn send_status(&mut self, incoming: &Incoming<'_>) {
        let &Incoming { source, destination, request, now, .. } = incoming;
        if self.status.is_empty() || !self.askers.permits(source.address.node, now) {
            return;
        }
        let response = ResponseMessage { user: [0; 4], data: std::mem::take(&mut self.status) };
        response.send(request.bitmap, request.tid, destination, source, &mut self.outbox);
        self.status = response.data;
    }

    /// Page 11-27. A refusal is not kept: if it is lost, the workstation is refused again.
    fn open(&mut self, incoming: &Incoming<'_>, socket: u8, version: u16) {
        let &Incoming { source, destination, request, key, now } = incoming;
        if request.bitmap & 1 == 0 || self.responder.repeat(key, request, now, &mut self.outbox) {
            return;
        }
        let mut error = self.judge(source, socket, version);
        if error == Error::NO_ERROR && self.responder.admit(key, destination, request).is_err() {
            error = Error::SERVER_BUSY;
        }
        if error != Error::NO_ERROR {
            let reply = OpenSessionReply { socket: 0, session: 0, error };
            let response = ResponseMessage::of_user_bytes(reply.encode());
            return response.send(request.bitmap, request.tid, destination, source, &mut self.outbox);
        }
        let handle = self.next_handle();
        let workstation = Endpoint { address: source.address, socket };
        let local = Endpoint { address: destination.address, socket: self.sockets.session };
        self.sessions.insert(handle.id, Session::new(handle, workstation, local, now));
        let reply = OpenSessionReply { socket: local.socket, session: handle.id, error };
        let response = ResponseMessage::of_user_bytes(reply.encode());
        self.responder.respond(key, response, now, &mut self.outbox);
        self.events.push_back(ServerEvent::Opened { session: handle, workstation });
        self.start_tickles(handle, now);
    }

    /// Whether a session can be opened.
    fn judge(&self, source: Endpoint, socket: u8, version: u16) -> Error {
        let is_of_node = |session: &&Session| session.workstation.address.is_equivalent(source.address);
        let has_room = self.is_accepting
            && self.sessions.len() < self.max_sessions
            && self.sessions.values().filter(is_of_node).count() < MAX_SESSIONS_OF_NODE;
        if !has_room {
            Error::SERVER_BUSY
        } else if version != VERSION {
            Error::BAD_VERSION
        } else if matches!(socket, 0 | u8::MAX) {
            Error::PARAMETER
        } else {
            Error::NO_ERROR
        }
    }

    /// A number from 1 to 255 that no session has. There are fewer than [`super::MOST_SESSIONS`].
    fn next_handle(&mut self) -> SessionHandle {
        loop {
            self.last_id = self.last_id.checked_add(1).unwrap_or(1);
            if !self.sessions.contains_key(&self.last_id) {
                break;
            }
        }
        self.serial += 1;
        SessionHandle { serial: self.serial, id: self.last_id }
    }

    /// The session, if it is of the node that the request comes from. It is alive.
    fn heard(&mut self, incoming: &Incoming<'_>, id: u8) -> Option<&mut Session> {
        let session = self.sessions.get_mut(&id)?;
        if !session.workstation.address.is_equivalent(incoming.source.address) {
            return None;
        }
        session.heard = incoming.now;
        Some(session)
    }

    /// Pages 11-30 and 11-32. Every command is treated as one to be executed once, also if its sender forgot to say so.
    fn command(&mut self, incoming: &Incoming<'_>, id: u8, sequence: u16, is_write: bool) {
        let &Incoming { destination, request, key, now, .. } = incoming;
        if self.heard(incoming, id).is_none() || self.responder.repeat(key, request, now, &mut self.outbox) {
            return;
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        // A request that wants no packet of a response could never be answered.
        if request.bitmap == 0 || !session.expects(sequence) {
            return;
        }
        if self.responder.admit(key, destination, request).is_err() {
            return;
        }
        let command = PendingCommand {
            key,
            sequence,
            is_write,
            block: request.data.to_vec(),
            room: room_of(request.bitmap),
            transfer: Transfer::NotAsked,
        };
        let handle = session.handle;
        if session.push(command) {
            self.announce(handle);
        }
    }

    /// Gives the command in flight to the caller.
    pub(super) fn announce(&mut self, handle: SessionHandle) {
        let Some(command) = self.session(handle).and_then(|session| session.in_flight.as_mut()) else {
            return;
        };
        let token = CommandToken { session: handle, sequence: command.sequence };
        let (is_write, room) = (command.is_write, command.room);
        let block = std::mem::take(&mut command.block);
        self.events.push_back(ServerEvent::Command(Command { token, is_write, block, room }));
    }

    /// Page 11-36. The answer is kept for a workstation that does not get it.
    fn close_by_workstation(&mut self, incoming: &Incoming<'_>, id: u8) {
        let &Incoming { source, destination, request, key, now } = incoming;
        if self.responder.repeat(key, request, now, &mut self.outbox) {
            return;
        }
        let Some(handle) = self.heard(incoming, id).map(|session| session.handle) else { return };
        self.end(handle);
        let response = ResponseMessage::default();
        match self.responder.admit(key, destination, request) {
            Ok(()) => {
                self.responder.respond(key, response, now, &mut self.outbox);
            }
            Err(_) => response.send(request.bitmap, request.tid, destination, source, &mut self.outbox),
        }
        let reason = CloseReason::Workstation;
        self.events.push_back(ServerEvent::Closed { session: handle, reason });
    }
}
