//! What a server asks its workstation for: data of writes, attention, an end.

use std::time::Instant;

use super::{Client, ClientEvent, Conversation};
use crate::Endpoint;
use crate::asp::QUANTUM;
use crate::atp::{ResponseMessage, TransactionKey};
use crate::wire::asp::{Header, room};
use crate::wire::atp::Request;

impl Client {
    pub(super) fn server_request(&mut self, source: Endpoint, request: &Request<'_>, now: Instant) {
        let key = TransactionKey::new(source, self.local.socket, request.tid);
        let Some(session) = &self.session else {
            // The answer to CloseSess is kept for a server that did not get it.
            self.responder.repeat(key, request, now, &mut self.outbox);
            return;
        };
        let Ok(header) = Header::decode(request.user) else { return };
        if !session.server.address.is_equivalent(source.address) || !is_of_session(header, session.id) {
            return;
        }
        if let Header::WriteContinue { sequence, .. } = header {
            self.command_is_known(sequence, now);
        }
        let Some(session) = &mut self.session else { return };
        session.heard = now;
        if self.responder.repeat(key, request, now, &mut self.outbox) {
            return;
        }
        match header {
            Header::WriteContinue { sequence, .. } => self.send_data(key, sequence, request, now),
            Header::Attention { code, .. } => {
                let is_new = session.attention.replace(request.tid) != Some(request.tid);
                let response = ResponseMessage::default();
                response.send(request.bitmap, request.tid, self.local, source, &mut self.outbox);
                if is_new {
                    self.events.push_back(ClientEvent::Attention(code));
                }
            }
            Header::CloseSession { .. } => {
                self.answer(key, ResponseMessage::default(), request, now);
                self.end();
            }
            _ => {}
        }
    }

    /// A server that asks for the data has the command. Only its reply can still be lost.
    fn command_is_known(&mut self, asked: u16, now: Instant) {
        let Some((call, Conversation::Command { sequence, .. })) = &self.conversation else { return };
        if *sequence != asked {
            return;
        }
        let time = self.requester.progress(*call, now);
        time.into_iter().for_each(|time| self.round_trip.measure(time));
    }

    /// Page 11-32: as much of the data as the server has room for.
    fn send_data(&mut self, key: TransactionKey, asked: u16, request: &Request<'_>, now: Instant) {
        let Some((_, Conversation::Command { sequence, data: Some(data), written, .. })) =
            &mut self.conversation
        else {
            return;
        };
        let Ok(room) = room::decode(request.data) else { return };
        if *sequence != asked {
            return;
        }
        *written = data.len().min(room.into()).min(QUANTUM);
        let response = ResponseMessage { user: [0; 4], data: data[..*written].to_vec() };
        self.answer(key, response, request, now);
    }

    fn answer(
        &mut self,
        key: TransactionKey,
        response: ResponseMessage,
        request: &Request<'_>,
        now: Instant,
    ) {
        if self.responder.admit(key, self.local, request).is_ok() {
            self.responder.respond(key, response, now, &mut self.outbox);
        }
    }
}

fn is_of_session(header: Header, id: u8) -> bool {
    match header {
        Header::WriteContinue { session, .. }
        | Header::Attention { session, .. }
        | Header::CloseSession { session }
        | Header::Tickle { session } => session == id,
        _ => false,
    }
}
