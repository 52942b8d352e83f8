//! The responses to a chain of requests, in one frame.

use std::sync::Arc;

use conn::{Reply as Frame, Reservation};
use vfs::Payload;

use crate::server::clients::session::Channel;
use crate::server::login::crypto::preauth::Preauth;
use crate::wire::frame;
use crate::wire::header::Header;
use crate::wire::transform::Transform;
use wire::Writer;

/// The length prefix of a frame, MS-SMB2 2.1.
const PREFIX: usize = 4;
/// Frames of at least this many bytes use buffers that are reused.
const LARGE: usize = 64 * 1024;
/// The room of a shorter frame: the responses that open, describe and close a file fit.
const SHORT: usize = 512;

/// Responses longer than [`SMALL`] use at most this much of one frame, whose prefix can say 16 MiB.
/// So the small responses that a client's credits allow always fit behind them.
const MOST: usize = 15 << 20;
/// The longest small response. Error responses are shorter.
const SMALL: usize = 96;

/// The responses of a chain so far.
pub(super) struct ChainOutput {
    /// The prefix, room for a transform header when sealed, and the responses.
    bytes: Vec<u8>,
    /// Where each response begins, and the session whose key signs it.
    responses: Vec<(usize, Option<Arc<Channel>>)>,
    /// Data of the last response that need not pass through `bytes`.
    data: Option<Payload>,
    /// The session whose key seals the frame.
    sealer: Option<Arc<Channel>>,
    /// The async id that the next response must carry, because the client got an interim response.
    pub(super) async_id: Option<u64>,
    /// The preauthentication hash that takes in the bytes of the last response.
    pub(super) preauth: Option<Preauth>,
    /// Memory that was reserved for the responses. It is kept until the frame has been sent.
    pub(super) reserved: Reservation,
    /// A response is incomplete: the connection has to end.
    broken: bool,
}

impl ChainOutput {
    /// An empty frame.
    pub(super) fn new(sealer: Option<Arc<Channel>>) -> Self {
        Self {
            bytes: Vec::new(),
            responses: Vec::new(),
            data: None,
            sealer,
            async_id: None,
            preauth: None,
            reserved: Reservation::default(),
            broken: false,
        }
    }

    /// Another frame that is sealed as this one is.
    pub(super) fn beside(&self) -> Self {
        Self::new(self.sealer.clone())
    }

    /// Whether a response with `length` bytes after its header still fits the frame.
    pub(super) fn has_room(&self, length: usize) -> bool {
        let so_far = self.bytes.len() + self.data.as_ref().map_or(0, Payload::len);
        length + Header::LEN <= SMALL || so_far + length <= MOST
    }

    /// Adds a response behind those already there.
    pub(super) fn push(
        &mut self,
        header: &Header,
        body: &[u8],
        data: Option<Payload>,
        signer: Option<Arc<Channel>>,
    ) {
        let signer = signer.filter(|_| self.sealer.is_none());
        let apart = signer.is_none() && self.sealer.is_none();
        if let Some(data) = self.data.take() {
            self.take_in(data);
        }
        match self.responses.last() {
            None => {
                let sealed = self.sealer.as_ref().map_or(0, |_| Transform::LEN);
                let data = data.as_ref().map_or(0, Payload::len);
                let behind = if apart { conn::room_behind_head(data) } else { data };
                let length = PREFIX + sealed + Header::LEN + body.len() + behind;
                self.bytes = match behind {
                    LARGE.. => conn::take_buffer(),
                    _ => Vec::with_capacity(length.max(SHORT)),
                };
                self.bytes.resize(PREFIX + sealed, 0);
            }
            Some(&(last, _)) => {
                self.bytes.resize(last + (self.bytes.len() - last).next_multiple_of(8), 0);
                let next = (self.bytes.len() - last) as u32;
                self.bytes[last + Header::NEXT_COMMAND..][..4].copy_from_slice(&next.to_le_bytes());
            }
        }
        let start = self.bytes.len();
        let mut writer = Writer::onto(std::mem::take(&mut self.bytes));
        header.encode(&mut writer);
        writer.put(body);
        self.bytes = writer.into_bytes();
        self.responses.push((start, signer));
        match data {
            Some(data) if apart => self.data = Some(data),
            Some(data) => self.take_in(data),
            None => {}
        }
    }

    fn take_in(&mut self, data: Payload) {
        if let Err(error) = data.append_or_zeros_to(&mut self.bytes) {
            // The response's header has already announced the length.
            tracing::warn!(%error, "a file cannot be read as far as it was a moment ago");
            self.broken = true;
        }
    }

    /// The signed or sealed frame. `None` if there is nothing to send. `Err` if the connection has
    /// to end.
    pub(super) fn finish(&mut self) -> Result<Option<Frame>, ()> {
        if self.broken {
            return Err(());
        }
        let responses = std::mem::take(&mut self.responses);
        let Some(&(last, _)) = responses.last() else { return Ok(None) };
        let mut bytes = std::mem::take(&mut self.bytes);
        let data = self.data.take();
        // In a chain the last one is padded, too: 3.3.4.1.3.
        let (length, tail) =
            (bytes.len() - last + data.as_ref().map_or(0, Payload::len), responses.len() > 1);
        let mut tail = if tail { length.next_multiple_of(8) - length } else { 0 };
        if data.is_none() {
            bytes.resize(bytes.len() + std::mem::take(&mut tail), 0);
        }
        for (index, (start, signer)) in responses.iter().enumerate() {
            let end = responses.get(index + 1).map_or(bytes.len(), |(next, _)| *next);
            if let Some(signer) = signer {
                signer.sign(&mut bytes[*start..end]);
            }
        }
        if let Some(preauth) = &self.preauth {
            preauth.update(&bytes[last..]);
        }
        if let Some(sealer) = &self.sealer {
            sealer.seal(&mut bytes[PREFIX..]).map_err(drop)?;
        }
        let length = bytes.len() - PREFIX + data.as_ref().map_or(0, Payload::len) + tail;
        debug_assert!(length <= frame::MESSAGE_LIMIT, "has_room was not asked");
        bytes[..PREFIX].copy_from_slice(&(length as u32).to_be_bytes());
        Ok(Some(Frame { head: bytes, body: data, tail, reserved: std::mem::take(&mut self.reserved) }))
    }
}
