//! Joins each session of ASP to a connection of the AFP server.
//!
//! ```text
//! ASP: Command ─────────────► DSI Command ──► reply ──► ASP's reply, with the result in its user bytes
//!      Write ─► WriteContinue, data ─► DSI Write ──┘
//!      CloseSess, silence ──► DSI CloseSession
//!                             DSI Attention ──► Attention
//!                             the connection ends ──► CloseSess, once the last attention has arrived
//! ```

use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use appletalk::Endpoint;
use appletalk::asp::{self, CommandToken, QUANTUM, ServerEvent, SessionHandle};
use wire::AppleTalkClient;

use super::pipe::{Pipe, PipeEvent};

/// How long the end of a session waits for the workstation to hear of it.
const LAST_ATTENTION: Duration = Duration::from_secs(1);

/// Gives a connection to the AFP server. Answers whether it is served.
pub(super) type Adopt = Box<dyn Fn(OwnedFd, AppleTalkClient) -> bool + Send>;

/// The sessions.
pub(super) struct Bridge {
    pub(super) asp: asp::Server,
    sessions: BTreeMap<SessionHandle, BridgedSession>,
    adopt: Adopt,
}

/// A session that both sides have.
struct BridgedSession {
    pipe: Pipe,
    workstation: Endpoint,
    /// The command that the AFP server executes, and the number that it has there.
    in_flight: Option<(u16, CommandToken)>,
    /// The command of a write whose data is still to come.
    write: Option<Vec<u8>>,
    /// Attentions that the workstation has not acknowledged.
    attentions: usize,
    /// The AFP server has ended it, and the workstation hears of it then at the latest.
    ends: Option<Instant>,
}

impl Bridge {
    pub(super) fn new(asp: asp::Server, adopt: Adopt) -> Self {
        Self { asp, sessions: BTreeMap::new(), adopt }
    }

    /// Takes what the workstations did: called after each datagram and each tick of ASP.
    pub(super) fn take_events(&mut self, now: Instant) {
        while let Some(event) = self.asp.take_event() {
            match event {
                ServerEvent::Opened { session, workstation } => self.open(session, workstation, now),
                ServerEvent::Command(command) => self.command(command, now),
                ServerEvent::WriteData { token, data } => self.write(token, &data),
                ServerEvent::AttentionDone { session, is_acknowledged, .. } => {
                    self.attention_done(session, is_acknowledged, now);
                }
                ServerEvent::Closed { session, reason } => {
                    tracing::debug!(?reason, session = session.id(), "a session over AppleTalk has ended");
                    if let Some(mut session) = self.sessions.remove(&session) {
                        session.pipe.close();
                    }
                }
            }
        }
    }

    fn open(&mut self, handle: SessionHandle, workstation: Endpoint, now: Instant) {
        let Endpoint { address, socket } = workstation;
        let (network, node) = (address.network, address.node);
        let client = AppleTalkClient { network, node, socket, session: handle.id() };
        let served = match Pipe::open() {
            Ok((pipe, other)) => (self.adopt)(other, client).then_some(pipe), // the log has the reason
            Err(error) => {
                tracing::warn!(%error, %workstation, "a session over AppleTalk cannot be served");
                None
            }
        };
        let Some(pipe) = served else { return self.close(handle, now) };
        let session =
            BridgedSession { pipe, workstation, in_flight: None, write: None, attentions: 0, ends: None };
        self.sessions.insert(handle, session);
    }

    fn command(&mut self, command: asp::Command, now: Instant) {
        let Some(session) = self.sessions.get_mut(&command.token.session) else { return };
        if command.is_write {
            session.write = Some(command.block);
            let _ = self.asp.write_continue(command.token, QUANTUM, now); // the session may have ended
        } else {
            let id = session.pipe.command(&command.block);
            session.in_flight = Some((id, command.token));
        }
    }

    fn write(&mut self, token: CommandToken, data: &[u8]) {
        let Some(session) = self.sessions.get_mut(&token.session) else { return };
        let Some(block) = session.write.take() else { return };
        let id = session.pipe.write(&block, data);
        session.in_flight = Some((id, token));
    }

    fn attention_done(&mut self, handle: SessionHandle, is_acknowledged: bool, now: Instant) {
        let Some(session) = self.sessions.get_mut(&handle) else { return };
        session.attentions = session.attentions.saturating_sub(1);
        if !is_acknowledged {
            tracing::debug!(workstation = %session.workstation, "a notice over AppleTalk was not acknowledged");
        }
        if session.attentions == 0 && session.ends.is_some() {
            self.close(handle, now);
        }
    }

    /// Takes what the AFP server has sent to this session.
    pub(super) fn receive(&mut self, handle: SessionHandle, now: Instant) {
        let Some(session) = self.sessions.get_mut(&handle) else { return };
        session.pipe.flush();
        let events = session.pipe.receive();
        for event in events {
            self.take_from_server(handle, event, now);
        }
        let Some(session) = self.sessions.get_mut(&handle) else { return };
        if session.pipe.is_over() && session.ends.is_none() {
            session.ends = Some(now + LAST_ATTENTION);
            if session.attentions == 0 {
                self.close(handle, now);
            }
        }
    }

    fn take_from_server(&mut self, handle: SessionHandle, event: PipeEvent, now: Instant) {
        let Some(session) = self.sessions.get_mut(&handle) else { return };
        match event {
            PipeEvent::Reply { id, result, data } => {
                if let Some((_, token)) = session.in_flight.take_if(|(number, _)| *number == id) {
                    let _ = self.asp.reply(token, result, data, now); // the session may have ended
                }
            }
            PipeEvent::Attention(code) => {
                if self.asp.attention(handle, code, now).is_ok() {
                    session.attentions += 1;
                }
            }
        }
    }

    fn close(&mut self, handle: SessionHandle, now: Instant) {
        self.sessions.remove(&handle);
        let _ = self.asp.close(handle, now); // the workstation may have ended it
    }

    /// Does what is due.
    pub(super) fn tick(&mut self, now: Instant) {
        self.asp.tick(now);
        let is_due = |session: &BridgedSession| session.ends.is_some_and(|ends| ends <= now);
        let due = self.sessions.iter().filter(|(_, session)| is_due(session));
        let due: Vec<SessionHandle> = due.map(|(handle, _)| *handle).collect();
        due.into_iter().for_each(|handle| self.close(handle, now));
        self.take_events(now);
    }

    /// When [`Bridge::tick`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let ends = self.sessions.values().filter_map(|session| session.ends).min();
        [self.asp.deadline(), ends].into_iter().flatten().min()
    }

    /// The sockets to be polled: the session, and whether something waits for the socket to take it. Those whose AFP server has
    /// ended them are left out.
    pub(super) fn sockets(&self) -> impl Iterator<Item = (SessionHandle, BorrowedFd<'_>, bool)> {
        use std::os::fd::AsFd;
        let open = self.sessions.iter().filter(|(_, session)| session.ends.is_none());
        open.map(|(handle, session)| (*handle, session.pipe.as_fd(), session.pipe.is_waiting()))
    }

    /// How many sessions there are.
    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Ends all sessions: the workstations hear of it.
    pub(super) fn end(&mut self, now: Instant) {
        let all: Vec<SessionHandle> = self.sessions.keys().copied().collect();
        all.into_iter().for_each(|handle| self.close(handle, now));
    }
}

#[cfg(test)]
mod tests;
