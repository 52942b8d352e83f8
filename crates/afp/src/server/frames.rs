//! One connection: DSI frames in and out, Apple Filing Protocol Programming Guide, "Data Stream Interface".

use std::pin::pin;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use conn::{
    Answer, EarlyMessage, InFlight, Limits, LoopStream, Peer, Protocol, Reply as Frame, ToClient, Watchdog,
};
use wire::{Reader, Writer};

use super::connection::Connection;
use super::dispatch;
use super::reply::{Outcome, Reply};
use super::service::Service;
use super::status;
use super::transport::Transport;
use crate::server::files::fork::EarlyForkWrite;
use crate::server::sessions::login;
use crate::server::sessions::session_replies::REPLIES;
use crate::wire::ResultCode;
use crate::wire::dsi::{Command, DsiHeader, Options};

/// Serves one connection until either side ends it. The frames of one over AppleTalk are made from ASP's messages.
pub async fn serve_stream(
    service: Arc<Service>,
    stream: LoopStream,
    (peer, transport): (Peer, Transport),
    watchdog: Arc<Watchdog>,
) {
    let limits = Limits::default();
    let protocol = AfpProtocol(Connection::new(service, peer.clone(), transport));
    conn::serve(stream, &peer, protocol, limits, watchdog).await;
}

/// One connection without its transport, for `conn` and for tests without sockets.
pub fn protocol(service: Arc<Service>, peer: Peer) -> impl Protocol {
    AfpProtocol(Connection::new(service, peer, Transport::Tcp))
}

impl Connection {
    /// One whole message.
    async fn answer(
        self: Arc<Self>,
        mut message: BytesMut,
        early: Option<EarlyForkWrite>,
        in_flight: InFlight,
    ) -> Option<Frame> {
        let header = DsiHeader::decode(&mut Reader::new(&message)).ok()?;
        message.advance(DsiHeader::LEN);
        let payload = message.freeze();
        if header.is_reply {
            return None; // the answer to an attention is not needed
        }
        let outcome = match header.command {
            Command::TICKLE => {
                if let Some(session) = self.session() {
                    session.life.hear();
                }
                return None;
            }
            Command::GET_STATUS => status::run(&self.service, self.transport),
            Command::OPEN_SESSION => self.open_session(&payload),
            Command::CLOSE_SESSION => {
                if let Some(session) = self.leave() {
                    self.service.end_session(&session);
                }
                self.close();
                return None;
            }
            Command::COMMAND => {
                pin!(dispatch::run(&self, header.id, (payload, Bytes::new()), None, in_flight)).await
            }
            Command::WRITE => match parts(header, payload) {
                Some(parts) => pin!(dispatch::run(&self, header.id, parts, early, in_flight)).await,
                None => Err(ResultCode::PARAM_ERROR),
            },
            _ => Err(ResultCode::CALL_NOT_SUPPORTED),
        };
        Some(framed(header, outcome.and_then(|reply| self.fitting(reply))))
    }

    fn open_session(&self, payload: &[u8]) -> Outcome {
        let _asked = Options::decode(&mut Reader::new(payload))?;
        self.open()?;
        let options = Options {
            request_quantum: Some(self.transport.quantum()),
            replay_cache: Some(REPLIES as u32),
            ..Options::default()
        };
        Ok(Reply::encoded(|w| options.encode(w)))
    }

    /// The reply, if the transport can carry it: commands cut theirs to what fits.
    fn fitting(&self, reply: Reply) -> Outcome {
        match reply.len() <= self.transport.longest_reply() {
            true => Ok(reply),
            false => Err(ResultCode::MISC_ERROR),
        }
    }
}

/// A command, and the data behind it: the header says where they begin.
fn parts(header: DsiHeader, mut payload: Bytes) -> Option<(Bytes, Bytes)> {
    let at = header.code as usize;
    let data = (at <= payload.len()).then(|| payload.split_off(at))?;
    Some((payload, data))
}

/// A reply with its header.
fn framed(request: DsiHeader, outcome: Outcome) -> Frame {
    let (code, reply) = match outcome {
        Ok(reply) => (reply.code.unwrap_or(ResultCode::NO_ERROR), reply),
        Err(code) => (code, Reply::empty()),
    };
    let length = reply.len();
    let header = DsiHeader { is_reply: true, code: code.0 as u32, length: length as u32, ..request };
    let room = conn::room_behind_head(length - reply.head.len());
    let mut w = Writer::onto(Vec::with_capacity(DsiHeader::LEN + reply.head.len() + room));
    header.encode(&mut w);
    w.put(&reply.head);
    Frame { head: w.into_bytes(), body: reply.data, tail: 0, reserved: reply.reserved }
}

/// A frame whose data are written while they arrive.
struct EarlyFrame {
    connection: Arc<Connection>,
    /// Where its data begin.
    data_at: usize,
    write: EarlyForkWrite,
}

impl EarlyMessage for EarlyFrame {
    fn write(&mut self, arrived: &[u8]) -> bool {
        arrived.get(self.data_at..).is_some_and(|data| self.write.write(data))
    }

    fn answer(self: Box<Self>, message: BytesMut, in_flight: InFlight) -> Answer {
        let Self { connection, write, .. } = *self;
        Box::pin(connection.answer(message, Some(write), in_flight))
    }
}

/// The connection's interface to `conn`.
pub(super) struct AfpProtocol(pub(super) Arc<Connection>);

impl Protocol for AfpProtocol {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        let Some(header) = bytes.get(..DsiHeader::LEN) else { return Ok(None) };
        let header = DsiHeader::decode(&mut Reader::new(header)).map_err(|_| "not a frame of DSI")?;
        match header.length as usize {
            length if length > self.0.longest_message() => Err("a message longer than any that is served"),
            length => Ok(Some(DsiHeader::LEN + length)),
        }
    }

    fn answer(&self, message: BytesMut, in_flight: InFlight) -> Answer {
        Box::pin(self.0.clone().answer(message, None, in_flight))
    }

    fn begin_early(
        &self,
        arrived: &[u8],
        length: usize,
        in_flight: &InFlight,
    ) -> Option<Box<dyn EarlyMessage>> {
        let header = DsiHeader::decode(&mut Reader::new(arrived)).ok()?;
        let is_tcp = matches!(self.0.transport, Transport::Tcp); // over ASP a client may send less than it says
        if header.is_reply || header.command != Command::WRITE || !is_tcp {
            return None;
        }
        let data_at = DsiHeader::LEN.checked_add(header.code as usize)?;
        let (body, bytes) = (arrived.get(DsiHeader::LEN..data_at)?, length.checked_sub(data_at)?);
        let write = EarlyForkWrite::begin(&*self.0.session()?, body, bytes, in_flight)?;
        Some(Box::new(EarlyFrame { connection: self.0.clone(), data_at, write }))
    }

    fn began(&self, client: ToClient) {
        self.0.begin(client);
        login::watch(&self.0);
    }

    fn ended(&self) {
        if let Some(session) = self.0.leave() {
            self.0.service.session_lost(&session, &self.0);
        }
    }
}
