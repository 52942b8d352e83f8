//! The PDUs for an initiator: with sequence numbers and digests, in the order of the numbers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use conn::{Reply, ToClient};
use lock::Mutex;
use vfs::Payload;

use crate::ranks;
use crate::wire::digest::{crc32c, crc32c_of_two};
use crate::wire::pdu::{BHS, SequenceNumbers, padding};

/// The status number of a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatSn {
    /// Its own number: it is a response.
    Own,
    /// The number of the next response.
    Next,
    /// No number.
    None,
}

/// A PDU without its numbers.
#[derive(Debug)]
pub(super) struct Pdu {
    /// The 48 bytes.
    pub(super) header: Vec<u8>,
    pub(super) stat_sn: StatSn,
    /// The data segment.
    pub(super) data: Option<Payload>,
}

/// The sending side of one connection.
#[derive(Debug, Default)]
pub(super) struct Sender {
    to_client: OnceLock<ToClient>,
    /// The number of the next response.
    stat_sn: Mutex<u32, ranks::IscsiStatSn>,
    header_digest: AtomicBool,
    data_digest: AtomicBool,
}

impl Sender {
    /// The connection has begun.
    pub(super) fn begin(&self, to_client: ToClient) {
        let _ = self.to_client.set(to_client); // a connection begins once
    }

    /// Uses the negotiated digests from the next PDU on.
    pub(super) fn set_digests(&self, header: bool, data: bool) {
        self.header_digest.store(header, Ordering::Release);
        self.data_digest.store(data, Ordering::Release);
    }

    /// Bytes of the digests after headers and data.
    pub(super) fn digests(&self) -> (usize, usize) {
        let length = |on: &AtomicBool| if on.load(Ordering::Acquire) { 4 } else { 0 };
        (length(&self.header_digest), length(&self.data_digest))
    }

    /// Queues a PDU behind the other pending answers. `window` returns ExpCmdSN and MaxCmdSN. False
    /// when the connection is over, or when a file has become shorter since its read: the
    /// connection then ends.
    pub(super) fn queue(&self, pdu: Pdu, window: impl FnOnce() -> (u32, u32)) -> bool {
        let Some(to_client) = self.to_client.get() else { return false };
        let Ok((body, tail)) = self.body(pdu.data) else {
            to_client.close();
            return false;
        };
        // Held until the PDU is in the queue, so that numbers are sent in their order.
        let mut stat_sn = self.stat_sn.lock();
        let (exp_cmd_sn, max_cmd_sn) = window();
        let numbers = SequenceNumbers { stat_sn: *stat_sn, exp_cmd_sn, max_cmd_sn };
        let mut head = pdu.header;
        numbers.stamp(&mut head, pdu.stat_sn != StatSn::None);
        if pdu.stat_sn == StatSn::Own {
            *stat_sn = stat_sn.wrapping_add(1);
        }
        if self.header_digest.load(Ordering::Acquire) {
            let digest = crc32c(&head);
            head.extend_from_slice(&digest);
        }
        to_client.queue(Reply { head, body, tail, ..Reply::default() })
    }

    /// Sends a PDU now.
    pub(super) fn send(&self, pdu: Pdu, window: impl FnOnce() -> (u32, u32)) -> bool {
        let queued = self.queue(pdu, window);
        self.flush();
        queued
    }

    /// The data segment with its padding and its digest.
    fn body(&self, data: Option<Payload>) -> vfs::Result<(Option<Payload>, usize)> {
        let Some(data) = data.filter(|data| !data.is_empty()) else { return Ok((None, 0)) };
        let padding = padding(data.len());
        if !self.data_digest.load(Ordering::Acquire) {
            return Ok((Some(data), padding));
        }
        let mut bytes = match data {
            Payload::Bytes(bytes) => bytes,
            file @ Payload::File { .. } => {
                let mut bytes = conn::take_buffer();
                file.append_to(&mut bytes)?;
                bytes
            }
        };
        let digest = crc32c_of_two(&bytes, &[0; 3][..padding]);
        bytes.resize(bytes.len() + padding, 0);
        bytes.extend_from_slice(&digest);
        Ok((Some(Payload::Bytes(bytes)), 0))
    }

    /// Waits until at most this many bytes wait for the client.
    pub(super) async fn room(&self, limit: usize) {
        if let Some(to_client) = self.to_client.get() {
            to_client.room(limit).await;
        }
    }

    /// Charges the queued bytes to the client, before their reservation is released.
    pub(super) fn charge(&self) {
        if let Some(to_client) = self.to_client.get() {
            to_client.charge();
        }
    }

    /// Ends the connection at once.
    pub(super) fn close(&self) {
        if let Some(to_client) = self.to_client.get() {
            to_client.close();
        }
    }

    /// Ends the connection once everything is sent.
    pub(super) fn finish(&self) {
        if let Some(to_client) = self.to_client.get() {
            to_client.finish();
        }
    }

    /// Sends what is in the queue, outside of an answer.
    pub(super) fn flush(&self) {
        if let Some(to_client) = self.to_client.get() {
            to_client.flush();
        }
    }
}

/// A header to write a PDU to.
pub(super) fn header() -> wire::Writer {
    wire::Writer::onto(Vec::with_capacity(BHS + 4))
}
