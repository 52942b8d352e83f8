//! The frames of DSI as calls of ASP, and back: the client of the crate `afp` speaks DSI only.

use std::collections::VecDeque;
use std::time::Instant;

use afp::wire::dsi::{Command, DsiHeader};
use appletalk::Endpoint;
use appletalk::asp::{CallError, Client, ClientEvent, QUANTUM};
use appletalk::atp::Outgoing;
use wire::{Reader, Writer};

/// The session has ended, or there was none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the AppleTalk session has ended, or the server does not answer")]
pub struct Ended;

/// A workstation: frames go in and come out, datagrams are sent and arrive.
#[derive(Debug)]
pub struct AspFrames {
    client: Client,
    /// What was written and is no whole frame yet, or waits for the answer to the one before.
    requests: Vec<u8>,
    /// The request that waits for an answer.
    asked: Option<DsiHeader>,
    replies: VecDeque<u8>,
    has_ended: bool,
}

impl AspFrames {
    /// Without a session. The frame OpenSession opens one.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, requests: Vec::new(), asked: None, replies: VecDeque::new(), has_ended: false }
    }

    /// Takes bytes of requests in.
    ///
    /// # Errors
    /// The session has ended.
    pub fn write(&mut self, bytes: &[u8], now: Instant) -> Result<(), Ended> {
        self.requests.extend_from_slice(bytes);
        self.advance(now)
    }

    /// Bytes of replies, up to the length of `buffer`. Zero if none has arrived.
    ///
    /// # Errors
    /// None has arrived, and none will.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Ended> {
        let count = buffer.len().min(self.replies.len());
        for (place, byte) in buffer.iter_mut().zip(self.replies.drain(..count)) {
            *place = byte;
        }
        if count == 0 && self.has_ended { Err(Ended) } else { Ok(count) }
    }

    /// A datagram of the kind ATP that arrived at the workstation's socket.
    ///
    /// # Errors
    /// The session has ended.
    pub fn receive(&mut self, source: Endpoint, payload: &[u8], now: Instant) -> Result<(), Ended> {
        self.client.receive(source, payload, now);
        self.advance(now)
    }

    /// See [`Client::tick`].
    ///
    /// # Errors
    /// The session has ended.
    pub fn tick(&mut self, now: Instant) -> Result<(), Ended> {
        self.client.tick(now);
        self.advance(now)
    }

    /// See [`Client::deadline`].
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.client.deadline()
    }

    /// The next datagram to be sent.
    pub fn take_output(&mut self) -> Option<Outgoing> {
        self.client.take_output()
    }

    fn advance(&mut self, now: Instant) -> Result<(), Ended> {
        while let Some(event) = self.client.take_event() {
            self.answer(event);
        }
        while self.asked.is_none() && !self.has_ended {
            let Some((header, payload)) = self.next_request() else { return Ok(()) };
            self.ask(header, &payload, now).map_err(|_| Ended)?;
        }
        Ok(())
    }

    fn next_request(&mut self) -> Option<(DsiHeader, Vec<u8>)> {
        let header = DsiHeader::decode(&mut Reader::new(self.requests.get(..DsiHeader::LEN)?)).ok()?;
        let end = DsiHeader::LEN + header.length as usize;
        let payload = self.requests.get(DsiHeader::LEN..end)?.to_vec();
        self.requests.drain(..end);
        Some((header, payload))
    }

    fn ask(&mut self, header: DsiHeader, payload: &[u8], now: Instant) -> Result<(), CallError> {
        match header.command {
            Command::GET_STATUS => self.client.status(now)?,
            Command::OPEN_SESSION => self.client.open(now)?,
            Command::COMMAND => self.client.command(payload, QUANTUM, now)?,
            Command::WRITE => {
                let (block, data) = payload.split_at(payload.len().min(header.code as usize));
                self.client.write(block, data.to_vec(), QUANTUM, now)?;
            }
            Command::CLOSE_SESSION => self.client.close(now)?,
            // ASP sends its own tickles.
            _ => return Ok(()),
        }
        self.asked = Some(header);
        Ok(())
    }

    fn answer(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Status(Some(block)) => self.reply(0, &block),
            ClientEvent::Opened(Ok(())) => self.reply(0, &[]),
            ClientEvent::Reply(reply) => self.reply(reply.result as u32, &reply.data),
            ClientEvent::Attention(code) => {
                let data = code.to_be_bytes();
                let (command, length) = (Command::ATTENTION, data.len() as u32);
                self.push(DsiHeader { is_reply: false, command, id: 0, code: 0, length }, &data);
            }
            ClientEvent::Status(None) | ClientEvent::Opened(Err(_)) | ClientEvent::Closed => {
                if self.asked.is_some_and(|asked| asked.command == Command::CLOSE_SESSION) {
                    self.reply(0, &[]);
                }
                self.has_ended = true;
            }
        }
    }

    fn reply(&mut self, code: u32, data: &[u8]) {
        let Some(asked) = self.asked.take() else { return };
        self.push(DsiHeader { is_reply: true, code, length: data.len() as u32, ..asked }, data);
    }

    fn push(&mut self, header: DsiHeader, data: &[u8]) {
        let mut w = Writer::new();
        header.encode(&mut w);
        w.put(data);
        self.replies.extend(w.into_bytes());
    }
}
