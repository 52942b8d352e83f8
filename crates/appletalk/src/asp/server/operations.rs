//! What the caller does with sessions: replies, data of writes, attentions, ends.

use std::time::Instant;

use super::session::Transfer;
use super::{CommandToken, Purpose, Server, ServerEvent, SessionError, SessionHandle, Subject};
use crate::asp::{ATTENTIONS, CLOSING, QUANTUM, TICKLES};
use crate::atp::{Call, CallId, CallOutcome, ResponseMessage, RetryRule, RoundTrip};
use crate::wire::asp::{Header, room};
use crate::wire::atp::{MAX_DATA, ReleaseTimer};

impl Server {
    /// SPCmdReply, SPWrtReply: answers a command. `result` is the client's 4-byte result, `data` is cut to what the workstation has
    /// room for. Returns how many bytes of it were sent. The next command of the session may follow as an event.
    ///
    /// # Errors
    /// The session has ended, or the command was answered.
    pub fn reply(
        &mut self,
        token: CommandToken,
        result: i32,
        mut data: Vec<u8>,
        now: Instant,
    ) -> Result<usize, SessionError> {
        let session = self.session(token.session).ok_or(SessionError::Closed)?;
        let command = session.command(token).ok_or(SessionError::Parameter)?;
        data.truncate(command.room);
        let (key, sent, transfer) = (command.key, data.len(), command.transfer);
        let is_next = session.advance();
        if let Transfer::Asked { call, .. } = transfer {
            self.requester.cancel(call);
            self.purposes.remove(&call);
        }
        let response = ResponseMessage { user: result.to_be_bytes(), data };
        self.responder.respond(key, response, now, &mut self.outbox);
        if is_next {
            self.announce(token.session);
        }
        Ok(sent)
    }

    /// SPWrtContinue: asks for the data of a write, at most `bytes` of it (and at most [`QUANTUM`]). It arrives as
    /// [`ServerEvent::WriteData`]. The workstation is asked until it answers or the session ends.
    ///
    /// # Errors
    /// The session has ended; the command is no write, was answered, or its data was asked for.
    pub fn write_continue(
        &mut self,
        token: CommandToken,
        bytes: usize,
        now: Instant,
    ) -> Result<(), SessionError> {
        let session = self.session(token.session).ok_or(SessionError::Closed)?;
        let retry =
            RetryRule { first: session.round_trip.retry_after(), longest: RoundTrip::MAX, tries: None };
        let command = session.command(token).ok_or(SessionError::Parameter)?;
        if !command.is_write || command.transfer != Transfer::NotAsked {
            return Err(SessionError::Parameter);
        }
        let bytes = bytes.min(QUANTUM);
        if bytes == 0 {
            command.transfer = Transfer::Received;
            self.events.push_back(ServerEvent::WriteData { token, data: Vec::new() });
            return Ok(());
        }
        let header = Header::WriteContinue { session: token.session.id, sequence: token.sequence };
        let data = room::encode(bytes as u16);
        let shape = CallShape { header, data, packets: bytes.div_ceil(MAX_DATA), retry };
        let purpose = Purpose { session: token.session, subject: Subject::WriteData };
        let call = self.call(purpose, shape, now).ok_or(SessionError::Parameter)?;
        if let Some(command) = self.session(token.session).and_then(|session| session.command(token)) {
            command.transfer = Transfer::Asked { call, room: bytes };
        }
        Ok(())
    }

    /// SPAttention: sends a code other than 0 to the workstation. [`ServerEvent::AttentionDone`] says whether it has arrived.
    ///
    /// # Errors
    /// The session has ended, the code is 0, or too many attentions wait.
    pub fn attention(&mut self, handle: SessionHandle, code: u16, now: Instant) -> Result<(), SessionError> {
        let session = self.session(handle).ok_or(SessionError::Closed)?;
        if code == 0 || !session.push_attention(code) {
            return Err(SessionError::Parameter);
        }
        self.send_attention(handle, now);
        Ok(())
    }

    /// SPCloseSession: ends a session at once, and tells the workstation. No event follows.
    ///
    /// # Errors
    /// The session has ended.
    pub fn close(&mut self, handle: SessionHandle, now: Instant) -> Result<(), SessionError> {
        let session = self.end(handle).ok_or(SessionError::Closed)?;
        let call = Call {
            source: session.local,
            destination: session.workstation,
            exactly_once: None,
            user: Header::CloseSession { session: handle.id }.encode(),
            data: Vec::new(),
            packets: 1,
            retry: CLOSING,
        };
        // A courtesy, page 11-37: without it the workstation sees the end in two minutes.
        let _ = self.requester.call(call, now, &mut self.outbox);
        Ok(())
    }

    pub(super) fn start_tickles(&mut self, handle: SessionHandle, now: Instant) {
        let header = Header::Tickle { session: handle.id };
        let shape = CallShape { header, data: Vec::new(), packets: 0, retry: TICKLES };
        self.call(Purpose { session: handle, subject: Subject::Tickle }, shape, now);
    }

    pub(super) fn write_data(&mut self, handle: SessionHandle, outcome: CallOutcome) {
        let Some(session) = self.session(handle) else { return };
        let Some(command) = &mut session.in_flight else { return };
        let Transfer::Asked { call, room } = command.transfer else { return };
        if call != outcome.id {
            return;
        }
        command.transfer = Transfer::Received;
        let token = CommandToken { session: handle, sequence: command.sequence };
        let mut data = outcome.data;
        data.truncate(room);
        self.events.push_back(ServerEvent::WriteData { token, data });
    }

    pub(super) fn attention_done(&mut self, handle: SessionHandle, is_acknowledged: bool, now: Instant) {
        let Some(code) = self.session(handle).and_then(|session| session.attention.take()) else { return };
        self.events.push_back(ServerEvent::AttentionDone { session: handle, code, is_acknowledged });
        self.send_attention(handle, now);
    }

    fn send_attention(&mut self, handle: SessionHandle, now: Instant) {
        let Some(code) = self.session(handle).and_then(|session| session.next_attention()) else { return };
        let header = Header::Attention { session: handle.id, code };
        let shape = CallShape { header, data: Vec::new(), packets: 1, retry: ATTENTIONS };
        if self.call(Purpose { session: handle, subject: Subject::Attention }, shape, now).is_none() {
            self.attention_done(handle, false, now);
        }
    }

    /// Sends a request of the session to its workstation.
    fn call(&mut self, purpose: Purpose, shape: CallShape, now: Instant) -> Option<CallId> {
        let session = self.session(purpose.session)?;
        let is_exactly_once = purpose.subject == Subject::WriteData;
        let call = Call {
            source: session.local,
            destination: session.workstation,
            exactly_once: is_exactly_once.then_some(ReleaseTimer::SECONDS_30),
            user: shape.header.encode(),
            data: shape.data,
            packets: shape.packets,
            retry: shape.retry,
        };
        let id = self.requester.call(call, now, &mut self.outbox).ok()?;
        self.purposes.insert(id, purpose);
        Some(id)
    }
}

/// What differs between the requests of a session.
struct CallShape {
    header: Header,
    data: Vec<u8>,
    packets: usize,
    retry: RetryRule,
}
