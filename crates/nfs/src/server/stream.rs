//! RPC over TCP: record marking, RFC 5531 11.

use std::sync::{Arc, OnceLock};

use bytes::BytesMut;
use conn::{
    Allowance, Answer, CompletedHandshake, EarlyMessage, InFlight, Limits, LoopStream, Peer, Protocol,
    ToClient, Watchdog,
};
use rustls::ServerConfig;

use super::call::MAX_RECORD;
use super::tls::ConnectionTls;
use super::v3::EarlyFileWrite;
use super::{CallOrigin, Protection, Service, rpc};
use crate::wire::rpc::RecordMark;

/// The most fragments of one record. Real clients send one.
const MAX_FRAGMENTS: usize = 1024;

struct RecordStream {
    service: Arc<Service>,
    origin: CallOrigin,
    memory: Arc<Allowance>,
    /// The number of the connection, once it has begun.
    number: OnceLock<u64>,
    securing: ConnectionTls,
}

impl Protocol for RecordStream {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        let (mut at, mut record) = (0, 0);
        for _ in 0..MAX_FRAGMENTS {
            let Some(mark) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { return Ok(None) };
            let mark = RecordMark::from_bytes(*mark);
            at += RecordMark::SIZE + mark.len as usize;
            record += mark.len as usize;
            if record > MAX_RECORD {
                return Err("a record longer than any that is served");
            }
            if mark.last || at > bytes.len() {
                return Ok(Some(at));
            }
        }
        Err("a record of too many fragments")
    }

    fn began(&self, client: ToClient) {
        let _ = self.number.set(self.service.nfs4.back.began(self.origin, client)); // it begins once
    }

    fn ended(&self) {
        if let Some(number) = self.number.get() {
            self.service.nfs4.back.ended(self.origin, *number);
        }
    }

    fn answer(&self, message: BytesMut, in_flight: InFlight) -> Answer {
        let (service, memory) = (self.service.clone(), self.memory.clone());
        let origin = CallOrigin { protection: self.securing.protection(), ..self.origin };
        // The record without its marks; a record of one fragment is not copied.
        let (mut record, mut fragments) = (message.freeze(), BytesMut::new());
        let message = loop {
            let Some(mark) = record.first_chunk() else { break fragments.freeze() };
            let mark = RecordMark::from_bytes(*mark);
            let fragment = record.split_to(RecordMark::SIZE + mark.len as usize).slice(RecordMark::SIZE..);
            if mark.last && fragments.is_empty() {
                break fragment;
            }
            fragments.extend_from_slice(&fragment);
        };
        self.securing.note(&message, origin);
        Box::pin(rpc::answer(service, origin, memory, message, None, in_flight))
    }

    fn begin_early(
        &self,
        arrived: &[u8],
        length: usize,
        in_flight: &InFlight,
    ) -> Option<Box<dyn EarlyMessage>> {
        let mark = RecordMark::from_bytes(*arrived.first_chunk()?);
        let record = &arrived[RecordMark::SIZE..];
        if !mark.last || RecordMark::SIZE + mark.len as usize != length {
            return None; // its data may be in several fragments
        }
        let origin = CallOrigin { protection: self.securing.protection(), ..self.origin };
        let place = (&self.service, origin, &self.memory);
        let (data_at, write) = rpc::begin_early(place, (record, mark.len as usize), in_flight)?;
        let (service, memory) = (self.service.clone(), self.memory.clone());
        Some(Box::new(EarlyRecord { service, origin, memory, data_at: RecordMark::SIZE + data_at, write }))
    }

    fn begins_tls(&self) -> Option<Arc<ServerConfig>> {
        self.securing.begins()
    }

    fn secured(&self, handshake: Result<CompletedHandshake, String>) {
        self.securing.ended(handshake, &self.service, self.origin);
    }
}

/// A record of one fragment, with a WRITE whose data are written while they arrive.
struct EarlyRecord {
    service: Arc<Service>,
    origin: CallOrigin,
    memory: Arc<Allowance>,
    /// Where the data begin.
    data_at: usize,
    write: EarlyFileWrite,
}

impl EarlyMessage for EarlyRecord {
    fn write(&mut self, arrived: &[u8]) -> bool {
        arrived.get(self.data_at..).is_some_and(|data| self.write.write(data))
    }

    fn answer(self: Box<Self>, mut message: BytesMut, in_flight: InFlight) -> Answer {
        let Self { service, origin, memory, write, .. } = *self;
        let record = message.split_off(RecordMark::SIZE).freeze();
        Box::pin(rpc::answer(service, origin, memory, record, Some(write), in_flight))
    }
}

/// Serves one TCP connection with every program, until it ends.
pub async fn serve_stream(
    service: Arc<Service>,
    stream: LoopStream,
    peer: Peer,
    limits: Limits,
    watchdog: Arc<Watchdog>,
) {
    conn::serve(stream, &peer, protocol(service, &peer), limits, watchdog).await;
}

/// One TCP connection without its transport, for `conn` and for tests without sockets.
pub fn protocol(service: Arc<Service>, peer: &Peer) -> impl Protocol {
    let (address, port) = (peer.address.ip(), peer.address.port());
    let origin = CallOrigin { address, port, datagram: false, protection: Protection::None };
    let securing = ConnectionTls::new(service.tls.read().clone());
    RecordStream { service, origin, memory: peer.memory.clone(), number: OnceLock::new(), securing }
}
