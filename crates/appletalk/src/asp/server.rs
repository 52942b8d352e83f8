//! The server's end of all sessions.
//!
//! The caller opens two sockets, registers its name on the first, and gives [`Server::receive`] each ATP datagram that arrives on
//! either. After each call of any method it takes all [`Server::take_output`] and [`Server::take_event`] have.

mod asker_limit;
mod operations;
mod requests;
mod session;

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use self::asker_limit::AskerLimit;
use self::session::Session;
use super::{MOST_SESSIONS, QUANTUM, SESSION_TIMEOUT};
use crate::Endpoint;
use crate::atp::{CallId, CallOutcome, Outbox, Outgoing, Requester, Responder, TransactionKey};
use crate::wire::atp::Packet;

/// The sockets of a server. The same may be both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketPair {
    /// SLS, the session listening socket: the one with the name.
    pub listening: u8,
    /// SSS, the session socket of all sessions.
    pub session: u8,
}

/// A session. No other session of the server ever has the same handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionHandle {
    serial: u64,
    id: u8,
}

impl SessionHandle {
    /// The number of the session in its packets, for logs. It comes back after some time.
    #[must_use]
    pub fn id(self) -> u8 {
        self.id
    }
}

/// A command that waits for its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandToken {
    /// The session.
    pub session: SessionHandle,
    sequence: u16,
}

/// A command of a workstation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// For [`Server::reply`] and [`Server::write_continue`].
    pub token: CommandToken,
    /// SPWrite: there is data to be written, which the server asks for by [`Server::write_continue`] if it wants it.
    pub is_write: bool,
    /// The command, at most [`super::MAX_COMMAND`] bytes.
    pub block: Vec<u8>,
    /// How many bytes of a reply the workstation has room for, at most [`QUANTUM`]. What is longer is cut off.
    pub room: usize,
}

/// Why a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// CloseSess.
    Workstation,
    /// Nothing arrived for two minutes.
    TimedOut,
}

/// What the caller has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEvent {
    /// A session is open.
    Opened {
        /// The session.
        session: SessionHandle,
        /// The workstation's node, and its session socket.
        workstation: Endpoint,
    },
    /// A command, to be answered by [`Server::reply`]. The next one of the session comes after that.
    Command(Command),
    /// The data that [`Server::write_continue`] asked for, at most as much as that.
    WriteData {
        /// The write.
        token: CommandToken,
        /// The data.
        data: Vec<u8>,
    },
    /// An attention has arrived, or has not after all tries.
    AttentionDone {
        /// The session.
        session: SessionHandle,
        /// The attention.
        code: u16,
        /// Whether the workstation has answered.
        is_acknowledged: bool,
    },
    /// A session has ended that the caller did not close. Its tokens are no longer valid.
    Closed {
        /// The session.
        session: SessionHandle,
        /// Why.
        reason: CloseReason,
    },
}

/// A call that cannot be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionError {
    /// SessClosed: the session has ended.
    Closed,
    /// ParamErr: the command was answered, or its data was asked for; the attention has the code 0, or too many wait.
    Parameter,
}

/// SizeErr: a status of more than [`QUANTUM`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusTooLong;

/// The sessions of a server.
#[derive(Debug)]
pub struct Server {
    sockets: SocketPair,
    max_sessions: usize,
    is_accepting: bool,
    status: Vec<u8>,
    askers: AskerLimit,
    sessions: BTreeMap<u8, Session>,
    last_id: u8,
    serial: u64,
    requester: Requester,
    responder: Responder,
    /// What the server's own calls are for.
    purposes: BTreeMap<CallId, Purpose>,
    outbox: Outbox,
    events: VecDeque<ServerEvent>,
}

/// What a call of the server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Purpose {
    session: SessionHandle,
    subject: Subject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    WriteData,
    Attention,
    Tickle,
}

impl Server {
    /// A server without sessions, which accepts them. `max_sessions` is at most [`MOST_SESSIONS`]; `last_tid` should be random.
    #[must_use]
    pub fn new(sockets: SocketPair, max_sessions: usize, last_tid: u16) -> Self {
        Self {
            sockets,
            max_sessions: max_sessions.min(MOST_SESSIONS),
            is_accepting: true,
            status: Vec::new(),
            askers: AskerLimit::new(),
            sessions: BTreeMap::new(),
            last_id: 0,
            serial: 0,
            requester: Requester::new(last_tid),
            responder: Responder::default(),
            purposes: BTreeMap::new(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
        }
    }

    /// SPInit, SPNewStatus: the block that workstations get without a session. Until there is one they get no answer.
    ///
    /// # Errors
    /// It has more than [`QUANTUM`] bytes. The former one stays.
    pub fn set_status(&mut self, block: Vec<u8>) -> Result<(), StatusTooLong> {
        if block.len() > QUANTUM {
            return Err(StatusTooLong);
        }
        self.status = block;
        Ok(())
    }

    /// SPGetSession: whether sessions may be opened. If not, workstations hear that the server is busy.
    pub fn set_accepting(&mut self, is_accepting: bool) {
        self.is_accepting = is_accepting;
    }

    /// A datagram of the kind ATP from `source` that arrived at `destination`, which is a socket of this node. It may contain anything.
    pub fn receive(&mut self, source: Endpoint, destination: Endpoint, payload: &[u8], now: Instant) {
        // No request of ASP is sent to many, and an answer to one would have many senders.
        if !source.address.is_unicast() || !destination.address.is_unicast() {
            return;
        }
        match Packet::decode(payload) {
            Ok(Packet::Request(request)) => self.request(source, destination, &request, now),
            Ok(Packet::Response(response)) => {
                let socket = destination.socket;
                let outcome = self.requester.receive(source, socket, &response, now, &mut self.outbox);
                if let Some(outcome) = outcome {
                    self.answered(outcome, now);
                }
            }
            Ok(Packet::Release { tid }) => {
                self.responder.release(TransactionKey::new(source, destination.socket, tid));
            }
            Err(_) => {}
        }
    }

    /// Sends again what is due, and ends the sessions that are silent.
    pub fn tick(&mut self, now: Instant) {
        self.responder.tick(now);
        for id in self.requester.tick(now, &mut self.outbox) {
            if let Some(Purpose { session, subject: Subject::Attention }) = self.purposes.remove(&id) {
                self.attention_done(session, false, now);
            }
        }
        let is_silent = |session: &Session| session.heard + SESSION_TIMEOUT <= now;
        let silent = self.sessions.values().filter(|session| is_silent(session));
        let silent: Vec<_> = silent.map(|session| session.handle).collect();
        for session in silent {
            self.end(session);
            self.events.push_back(ServerEvent::Closed { session, reason: CloseReason::TimedOut });
        }
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let silence = self.sessions.values().map(|session| session.heard + SESSION_TIMEOUT).min();
        [self.requester.deadline(), self.responder.deadline(), silence].into_iter().flatten().min()
    }

    /// The next datagram to be sent.
    pub fn take_output(&mut self) -> Option<Outgoing> {
        self.outbox.take()
    }

    /// The next event.
    pub fn take_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// The open sessions and their workstations.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionHandle, Endpoint)> {
        self.sessions.values().map(|session| (session.handle, session.workstation))
    }

    /// How many responses and calls are kept, for tests of the limits and for `status`.
    #[must_use]
    pub fn transactions(&self) -> usize {
        self.responder.len() + self.requester.len()
    }

    fn session(&mut self, handle: SessionHandle) -> Option<&mut Session> {
        self.sessions.get_mut(&handle.id).filter(|session| session.handle == handle)
    }

    /// Forgets a session, its calls and its commands.
    fn end(&mut self, handle: SessionHandle) -> Option<Session> {
        self.session(handle)?;
        let session = self.sessions.remove(&handle.id)?;
        session.unanswered().for_each(|key| self.responder.forget(key));
        let requester = &mut self.requester;
        self.purposes.retain(|call, purpose| {
            let is_of_session = purpose.session == handle;
            if is_of_session {
                requester.cancel(*call);
            }
            !is_of_session
        });
        Some(session)
    }

    /// A call of the server has its whole response.
    fn answered(&mut self, outcome: CallOutcome, now: Instant) {
        let Some(purpose) = self.purposes.remove(&outcome.id) else { return };
        let Some(session) = self.session(purpose.session) else { return };
        session.heard = now;
        outcome.time.into_iter().for_each(|time| session.round_trip.measure(time));
        match purpose.subject {
            Subject::WriteData => self.write_data(purpose.session, outcome),
            Subject::Attention => self.attention_done(purpose.session, true, now),
            Subject::Tickle => {}
        }
    }
}
