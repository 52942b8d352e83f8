//! Data Stream Interface: AFP's frames on TCP, Apple Filing Protocol Programming Guide, "Data Stream Interface".

use wire::{Malformed, Reader, Writer};

wire::number! {
    /// The kind of a frame.
    pub Command: u8 {
        CLOSE_SESSION = 1,
        COMMAND = 2,
        GET_STATUS = 3,
        OPEN_SESSION = 4,
        TICKLE = 5,
        WRITE = 6,
        ATTENTION = 8,
    }
}

/// The 16 bytes before each frame's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DsiHeader {
    /// 0 for requests, 1 for replies.
    pub is_reply: bool,
    pub command: Command,
    /// Chosen by the sender of the request, per direction.
    pub id: u16,
    /// In a WRITE request: the offset of the data in the payload. In a reply: the result. Otherwise
    /// 0.
    pub code: u32,
    /// Bytes of payload.
    pub length: u32,
}

impl DsiHeader {
    /// Bytes of the encoded header.
    pub const LEN: usize = 16;

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let is_reply = match r.u8()? {
            0 => false,
            1 => true,
            _ => return Err(Malformed("a DSI frame that is neither request nor reply")),
        };
        let header = Self {
            is_reply,
            command: Command(r.u8()?),
            id: r.u16_be()?,
            code: r.u32_be()?,
            length: r.u32_be()?,
        };
        r.skip(4)?; // reserved
        Ok(header)
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(u8::from(self.is_reply));
        w.u8(self.command.0);
        w.u16_be(self.id);
        w.u32_be(self.code);
        w.u32_be(self.length);
        w.u32_be(0);
    }
}

/// Options of OpenSession, in both directions: type, length, value. Unknown types are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The most bytes of a request that the server accepts.
    pub request_quantum: Option<u32>,
    /// The most bytes of an attention that the client accepts.
    pub attention_quantum: Option<u32>,
    /// How many replies the server keeps.
    pub replay_cache: Option<u32>,
}

impl Options {
    const REQUEST_QUANTUM: u8 = 0;
    const ATTENTION_QUANTUM: u8 = 1;
    const REPLAY_CACHE: u8 = 2;

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut options = Self::default();
        while r.remaining() > 0 {
            let (kind, length) = (r.u8()?, usize::from(r.u8()?));
            let value = r.take(length)?;
            let number = value.first_chunk().filter(|_| length == 4).map(|bytes| u32::from_be_bytes(*bytes));
            match kind {
                Self::REQUEST_QUANTUM => options.request_quantum = number,
                Self::ATTENTION_QUANTUM => options.attention_quantum = number,
                Self::REPLAY_CACHE => options.replay_cache = number,
                _ => {}
            }
        }
        Ok(options)
    }

    pub fn encode(&self, w: &mut Writer) {
        let all = [
            (Self::REQUEST_QUANTUM, self.request_quantum),
            (Self::ATTENTION_QUANTUM, self.attention_quantum),
            (Self::REPLAY_CACHE, self.replay_cache),
        ];
        for (kind, value) in all {
            let Some(value) = value else { continue };
            w.u8(kind);
            w.u8(4);
            w.u32_be(value);
        }
    }
}

/// The notification of an attention, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attention(pub u16);

impl Attention {
    /// The server shuts down in the minutes that the low bits give.
    pub const SHUTDOWN: u16 = 0x8000;
    pub const CRASH: u16 = 0x4000;
    /// FPGetSrvrMsg has a new message.
    pub const MESSAGE: u16 = 0x2000;
    pub const DONT_RECONNECT: u16 = 0x1000;
    /// With [`Attention::NOTIFY`]: the contents of a volume have changed.
    pub const VOLUME_CHANGED: u16 = 0x0001;
    /// A notification: both bits together.
    pub const NOTIFY: u16 = 0x3000;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_sixteen_bytes() {
        // AFP Programming Guide, DSI header: flags, command, id, code, length, reserved. A reply "object not found" without payload.
        let bytes = [1, 2, 0, 7, 0xff, 0xff, 0xec, 0x66, 0, 0, 0, 0, 0, 0, 0, 0];
        let header = DsiHeader::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(header.code as i32, -5018);
        assert_eq!((header.is_reply, header.command, header.id), (true, Command::COMMAND, 7));
        let mut w = Writer::new();
        header.encode(&mut w);
        assert_eq!(w.into_bytes(), bytes);
    }

    #[test]
    fn options_of_unknown_types_are_passed_over() {
        let bytes = [9, 1, 0, 1, 4, 0, 0, 4, 0];
        let options = Options::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(options, Options { attention_quantum: Some(1024), ..Options::default() });
        assert!(Options::decode(&mut Reader::new(&bytes[..8])).is_err());
    }
}
