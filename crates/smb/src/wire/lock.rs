//! LOCK, MS-SMB2 2.2.26 and 2.2.27.

use wire::{Malformed, Writer};

use super::layout::empty_body;
use super::{FileKey, buffers};

wire::bits! {
    /// MS-SMB2 2.2.26.1.
    pub Flags: u32 {
        SHARED = 0x01,
        EXCLUSIVE = 0x02,
        UNLOCK = 0x04,
        FAIL_IMMEDIATELY = 0x10,
    }
}

wire::layout! {
    LittleEndian;
    /// SMB2_LOCK_ELEMENT, MS-SMB2 2.2.26.1.
    pub struct Element {
        pub offset: u64,
        pub length: u64,
        pub flags: Flags [4],
    }
}

/// How long an element is.
const ELEMENT_LEN: usize = 24;

/// LOCK request, MS-SMB2 2.2.26.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Counts the requests of one sequence, 4 bits.
    pub sequence_number: u8,
    /// Which sequence of the open it belongs to, 28 bits. 0: no sequence.
    pub sequence_index: u32,
    pub file: FileKey,
    pub locks: Vec<Element>,
}

impl Request {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 48)?;
        let (count, sequence, file) = (r.u16_le()?, r.u32_le()?, FileKey::decode(&mut r)?);
        if r.remaining() < usize::from(count) * ELEMENT_LEN {
            return Err(Malformed("fewer locks than announced"));
        }
        let locks = (0..count).map(|_| Element::decode(&mut r)).collect::<Result<_, _>>()?;
        Ok(Self { sequence_number: (sequence & 0xF) as u8, sequence_index: sequence >> 4, file, locks })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(48);
        w.u16_le(self.locks.len() as u16);
        w.u32_le(self.sequence_index << 4 | u32::from(self.sequence_number & 0xF));
        self.file.encode(w);
        self.locks.iter().for_each(|lock| lock.encode(w));
    }
}

empty_body! {
    /// LOCK response, MS-SMB2 2.2.27.
    pub struct Response;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        let first = Element { offset: 1, length: 2, flags: Flags::SHARED | Flags::FAIL_IMMEDIATELY };
        let second = Element { offset: 1 << 63, length: u64::MAX, flags: Flags::UNLOCK };
        Request {
            sequence_number: 0xB,
            sequence_index: 0x0123_4567,
            file: FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 },
            locks: vec![first, second],
        }
    }

    const BODY: &[u8] =
        b"\x30\0\x02\0\x7b\x56\x34\x12\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\
        \x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0\
        \0\0\0\0\0\0\0\x80\xff\xff\xff\xff\xff\xff\xff\xff\x04\0\0\0\0\0\0\0";

    #[test]
    fn the_low_bits_of_the_sequence_are_the_number() {
        laid_out!(Request, BODY, request());
        laid_out!(Response, b"\x04\0\0\0", Response);
    }

    #[test]
    fn a_count_that_lies_is_malformed() {
        let mut message = buffers::after_header(BODY);
        message[66..68].copy_from_slice(&[0xff, 0xff]);
        assert!(Request::decode(&message).is_err());
    }

    #[test]
    fn a_request_of_no_lock_decodes_for_the_server_to_refuse() {
        let none = Request { locks: Vec::new(), ..request() };
        let mut w = Writer::new();
        none.encode(&mut w);
        assert_eq!(Request::decode(&buffers::after_header(w.as_bytes())), Ok(none));
    }
}
