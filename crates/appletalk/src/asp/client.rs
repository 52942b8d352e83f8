//! The workstation's end of a session: for tests, and for our own AFP client. One call at a time.

mod conversation;
mod server_requests;

use std::collections::VecDeque;
use std::time::Instant;

use self::conversation::Conversation;
use super::{FIRST_CONTACT, MAX_COMMAND, QUANTUM, SESSION_TIMEOUT, TICKLES};
use crate::Endpoint;
use crate::atp::{
    Call, CallId, CallOutcome, Outbox, Outgoing, Requester, Responder, RetryRule, RoundTrip, TransactionKey,
};
use crate::wire::asp::{Error, Header, OpenSessionReply, VERSION};
use crate::wire::atp::{MAX_DATA, MAX_PACKETS, Packet, ReleaseTimer};

/// The answer to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The server's 4-byte result.
    pub result: i32,
    /// The data, at most as much as there was room for.
    pub data: Vec<u8>,
    /// BufTooSmall: the server had more.
    pub is_cut: bool,
    /// How many bytes of a write the server has taken.
    pub written: usize,
}

/// What the caller has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvent {
    /// The answer to [`Client::status`]; `None` if there was no answer after all tries.
    Status(Option<Vec<u8>>),
    /// The answer to [`Client::open`]: NO_SERVER if there was none.
    Opened(Result<(), Error>),
    /// The answer to [`Client::command`] or [`Client::write`].
    Reply(Reply),
    /// The server wants attention.
    Attention(u16),
    /// The session has ended: by the server, by a silence of two minutes, or as [`Client::close`] asked.
    Closed,
}

/// A call that cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallError {
    /// There is no session.
    SessionClosed,
    /// SizeErr: more than [`MAX_COMMAND`] bytes of command.
    TooLong,
    /// The last call is not answered.
    Busy,
}

/// A workstation's socket: it asks a server for its status, and has one session with it.
#[derive(Debug)]
pub struct Client {
    /// WSS, from which all requests are sent, too.
    local: Endpoint,
    /// SLS.
    server: Endpoint,
    session: Option<ClientSession>,
    conversation: Option<(CallId, Conversation)>,
    requester: Requester,
    responder: Responder,
    round_trip: RoundTrip,
    outbox: Outbox,
    events: VecDeque<ClientEvent>,
}

#[derive(Debug)]
struct ClientSession {
    id: u8,
    /// SSS.
    server: Endpoint,
    /// The number of the next command.
    sequence: u16,
    heard: Instant,
    tickles: Option<CallId>,
    /// The last attention's transaction: its duplicates are answered only.
    attention: Option<u16>,
}

impl Client {
    /// A client without a session. `local` is a socket of its own; `last_tid` should be random.
    #[must_use]
    pub fn new(local: Endpoint, server: Endpoint, last_tid: u16) -> Self {
        Self {
            local,
            server,
            session: None,
            conversation: None,
            requester: Requester::new(last_tid),
            responder: Responder::default(),
            round_trip: RoundTrip::default(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
        }
    }

    /// SPGetStatus: asks for the status block.
    ///
    /// # Errors
    /// A call is not answered; also of all functions below.
    pub fn status(&mut self, now: Instant) -> Result<(), CallError> {
        let call = Call {
            exactly_once: None,
            packets: MAX_PACKETS,
            ..self.request(self.server, Header::GetStatus, Vec::new(), FIRST_CONTACT)
        };
        self.begin(call, Conversation::Status, now)
    }

    /// SPOpenSession.
    pub fn open(&mut self, now: Instant) -> Result<(), CallError> {
        let header = Header::OpenSession { socket: self.local.socket, version: VERSION };
        let call = self.request(self.server, header, Vec::new(), FIRST_CONTACT);
        self.begin(call, Conversation::Open, now)
    }

    /// SPCommand: sends a command, and has room for so many bytes of the reply (at most [`QUANTUM`]).
    pub fn command(&mut self, block: &[u8], room: usize, now: Instant) -> Result<(), CallError> {
        self.send_command(block, None, room, now)
    }

    /// SPWrite: sends a command, and `data` when the server asks for it, at most [`QUANTUM`] bytes.
    pub fn write(&mut self, block: &[u8], data: Vec<u8>, room: usize, now: Instant) -> Result<(), CallError> {
        self.send_command(block, Some(data), room, now)
    }

    /// SPCloseSession. [`ClientEvent::Closed`] follows, in any case.
    pub fn close(&mut self, now: Instant) -> Result<(), CallError> {
        let session = self.session.as_ref().ok_or(CallError::SessionClosed)?;
        let (server, header) = (session.server, Header::CloseSession { session: session.id });
        if let Some((call, _)) = self.conversation.take() {
            self.requester.cancel(call);
        }
        let call = Call { exactly_once: None, ..self.request(server, header, Vec::new(), super::CLOSING) };
        self.begin(call, Conversation::Close, now)
    }

    fn send_command(
        &mut self,
        block: &[u8],
        data: Option<Vec<u8>>,
        room: usize,
        now: Instant,
    ) -> Result<(), CallError> {
        let session = self.session.as_ref().ok_or(CallError::SessionClosed)?;
        if block.len() > MAX_COMMAND {
            return Err(CallError::TooLong);
        }
        let (server, id, sequence) = (session.server, session.id, session.sequence);
        let header = match data {
            Some(_) => Header::Write { session: id, sequence },
            None => Header::Command { session: id, sequence },
        };
        let room = room.min(QUANTUM);
        let retry = RetryRule { first: self.round_trip.retry_after(), longest: RoundTrip::MAX, tries: None };
        let call = self.request(server, header, block.to_vec(), retry);
        let call = Call { packets: packets_for(room), ..call };
        self.begin(call, Conversation::Command { sequence, room, data, written: 0 }, now)
    }

    /// An exactly-once request for one packet.
    fn request(&self, destination: Endpoint, header: Header, data: Vec<u8>, retry: RetryRule) -> Call {
        let exactly_once = Some(ReleaseTimer::SECONDS_30);
        Call { source: self.local, destination, exactly_once, user: header.encode(), data, packets: 1, retry }
    }

    fn begin(&mut self, call: Call, conversation: Conversation, now: Instant) -> Result<(), CallError> {
        if self.conversation.is_some() {
            return Err(CallError::Busy);
        }
        let id = self.requester.call(call, now, &mut self.outbox).map_err(|_| CallError::Busy)?;
        self.conversation = Some((id, conversation));
        Ok(())
    }

    /// A datagram of the kind ATP that arrived at the client's socket.
    pub fn receive(&mut self, source: Endpoint, payload: &[u8], now: Instant) {
        match Packet::decode(payload) {
            Ok(Packet::Request(request)) => self.server_request(source, &request, now),
            Ok(Packet::Response(response)) => {
                let socket = self.local.socket;
                let outcome = self.requester.receive(source, socket, &response, now, &mut self.outbox);
                if let Some(outcome) = outcome {
                    self.answered(outcome, now);
                }
            }
            Ok(Packet::Release { tid }) => {
                self.responder.release(TransactionKey::new(source, self.local.socket, tid));
            }
            Err(_) => {}
        }
    }

    /// Sends again what is due, and ends a silent session.
    pub fn tick(&mut self, now: Instant) {
        self.responder.tick(now);
        for id in self.requester.tick(now, &mut self.outbox) {
            let Some((_, conversation)) = self.conversation.take_if(|(call, _)| *call == id) else {
                continue;
            };
            match conversation {
                Conversation::Status => self.events.push_back(ClientEvent::Status(None)),
                Conversation::Open => self.events.push_back(ClientEvent::Opened(Err(Error::NO_SERVER))),
                Conversation::Close | Conversation::Command { .. } => self.end(),
            }
        }
        if self.session.as_ref().is_some_and(|session| session.heard + SESSION_TIMEOUT <= now) {
            self.end();
        }
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let silence = self.session.as_ref().map(|session| session.heard + SESSION_TIMEOUT);
        [self.requester.deadline(), self.responder.deadline(), silence].into_iter().flatten().min()
    }

    /// The next datagram to be sent.
    pub fn take_output(&mut self) -> Option<Outgoing> {
        self.outbox.take()
    }

    /// The next event.
    pub fn take_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// The number of the session, if there is one.
    #[must_use]
    pub fn session_id(&self) -> Option<u8> {
        self.session.as_ref().map(|session| session.id)
    }

    fn answered(&mut self, outcome: CallOutcome, now: Instant) {
        let Some((_, conversation)) = self.conversation.take_if(|(call, _)| *call == outcome.id) else {
            return;
        };
        outcome.time.into_iter().for_each(|time| self.round_trip.measure(time));
        match conversation {
            Conversation::Status => self.events.push_back(ClientEvent::Status(Some(outcome.data))),
            Conversation::Open => self.opened(OpenSessionReply::decode(outcome.user), now),
            Conversation::Close => self.end(),
            Conversation::Command { room, written, .. } => {
                let Some(session) = &mut self.session else { return };
                session.heard = now;
                session.sequence = session.sequence.wrapping_add(1);
                let (result, mut data) = (i32::from_be_bytes(outcome.user), outcome.data);
                let is_cut = data.len() > room;
                data.truncate(room);
                self.events.push_back(ClientEvent::Reply(Reply { result, data, is_cut, written }));
            }
        }
    }

    fn opened(&mut self, reply: OpenSessionReply, now: Instant) {
        if reply.error != Error::NO_ERROR {
            return self.events.push_back(ClientEvent::Opened(Err(reply.error)));
        }
        let header = Header::Tickle { session: reply.session };
        let call =
            Call { exactly_once: None, packets: 0, ..self.request(self.server, header, Vec::new(), TICKLES) };
        let tickles = self.requester.call(call, now, &mut self.outbox).ok();
        self.session = Some(ClientSession {
            id: reply.session,
            server: Endpoint { address: self.server.address, socket: reply.socket },
            // Page 11-30 begins with 1. Apple's own workstations and servers begin with 0.
            sequence: 0,
            heard: now,
            tickles,
            attention: None,
        });
        self.events.push_back(ClientEvent::Opened(Ok(())));
    }

    /// Page 11-37: all that waits is canceled.
    fn end(&mut self) {
        let Some(session) = self.session.take() else { return };
        let calls = session.tickles.into_iter().chain(self.conversation.take().map(|(call, _)| call));
        calls.for_each(|call| self.requester.cancel(call));
        self.events.push_back(ClientEvent::Closed);
    }
}

/// How many packets a reply may have. One more if there is room for full packets only: a reply that is too long is seen by it, page
/// 11-37.
fn packets_for(room: usize) -> usize {
    (room / MAX_DATA + 1).min(MAX_PACKETS)
}
