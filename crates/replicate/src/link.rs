//! The two pipes to the other side.

use std::io::{BufReader, BufWriter, Read, Write};

use wire::Writer;

use crate::failure::{Failure, Result};
use crate::wire::{HEAD, Head, Message};

/// Bytes that are buffered in each direction.
const BUFFER: usize = 256 << 10;

/// A connection to the other side of a replication.
pub struct Link {
    input: BufReader<Box<dyn Read + Send>>,
    output: BufWriter<Box<dyn Write + Send>>,
}

impl Link {
    /// Over these pipes.
    pub fn new(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> Self {
        Self {
            input: BufReader::with_capacity(BUFFER, Box::new(input)),
            output: BufWriter::with_capacity(BUFFER, Box::new(output)),
        }
    }

    /// Sends a message, at the latest with the next `flush`.
    pub(crate) fn send(&mut self, message: &Message) -> Result<()> {
        let mut w = Writer::new();
        message.encode(&mut w);
        let payload = w.into_bytes();
        let length =
            u32::try_from(payload.len()).ok().filter(|length| *length as usize <= crate::wire::MAX_PAYLOAD);
        let Some(length) = length else {
            return Err(Failure::Other(
                "the extended attributes of a file have more than 8 MiB, which cannot be sent; remove some of them".into(),
            ));
        };
        let head = Head { kind: message.kind(), length, checksum: crc32c::crc32c(&payload) };
        let mut w = Writer::new();
        head.encode(&mut w);
        let sent = self.output.write_all(w.as_bytes()).and_then(|()| self.output.write_all(&payload));
        sent.map_err(|why| self.said_before_it_ended(why))
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        let flushed = self.output.flush();
        flushed.map_err(|why| self.said_before_it_ended(why))
    }

    /// The other side may have reported why it ended.
    fn said_before_it_ended(&mut self, why: std::io::Error) -> Failure {
        loop {
            match self.receive() {
                Ok(_) => {}
                Err(failure @ Failure::Remote(_)) => return failure,
                Err(_) => return Failure::Ended(why),
            }
        }
    }

    /// The next message. A failure of the other side is an error.
    pub(crate) fn receive(&mut self) -> Result<Message> {
        let mut head = [0; HEAD];
        self.input.read_exact(&mut head).map_err(Failure::Ended)?;
        let head = Head::decode(&head).map_err(|why| Failure::Stream(why.to_string()))?;
        let mut payload = Vec::new();
        let read =
            (&mut self.input).take(head.length.into()).read_to_end(&mut payload).map_err(Failure::Ended)?;
        if read < head.length as usize {
            return Err(Failure::Ended(std::io::ErrorKind::UnexpectedEof.into()));
        }
        if crc32c::crc32c(&payload) != head.checksum {
            return Err(Failure::Stream("its checksum differs".into()));
        }
        match Message::decode(head.kind, &payload) {
            Ok(Message::Failed(why)) => Err(Failure::Remote(why)),
            Ok(message) => Ok(message),
            Err(why) => Err(Failure::Stream(why.to_string())),
        }
    }

    /// Tells the other side why this one ends.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        if !matches!(failure, Failure::Ended(_) | Failure::Remote(_)) {
            // The other side may have gone.
            let _ = self.send(&Message::Failed(failure.to_string())).and_then(|()| self.flush());
        }
    }
}
