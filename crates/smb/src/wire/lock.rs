//! LOCK, MS-SMB2 2.2.26 and 2.2.27.

use wire::{Malformed, Writer};

use super::{FileKey, buffers};

bits! {
    /// MS-SMB2 2.2.26.1.
    Flags: u32 {
        SHARED = 0x01,
        EXCLUSIVE = 0x02,
        UNLOCK = 0x04,
        FAIL_IMMEDIATELY = 0x10,
    }
}

/// SMB2_LOCK_ELEMENT, MS-SMB2 2.2.26.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    pub offset: u64,
    pub length: u64,
    pub flags: Flags,
}

/// How long an element is.
const ELEMENT_LEN: usize = 24;

/// LOCK request, MS-SMB2 2.2.26.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Counts the requests of one sequence, 4 bits.
    pub sequence_number: u8,
    /// Which sequence of the open it belongs to, 28 bits; 0: to none.
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
        let mut locks = Vec::with_capacity(count.into());
        for _ in 0..count {
            locks.push(Element { offset: r.u64_le()?, length: r.u64_le()?, flags: Flags(r.u32_le()?) });
            r.skip(4)?; // reserved
        }
        Ok(Self { sequence_number: (sequence & 0xF) as u8, sequence_index: sequence >> 4, file, locks })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(48);
        w.u16_le(self.locks.len() as u16);
        w.u32_le(self.sequence_index << 4 | u32::from(self.sequence_number & 0xF));
        self.file.encode(w);
        for lock in &self.locks {
            w.u64_le(lock.offset);
            w.u64_le(lock.length);
            w.u32_le(lock.flags.0);
            w.u32_le(0); // reserved
        }
    }
}

/// LOCK response, MS-SMB2 2.2.27.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response;

impl Response {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        buffers::decode_empty(message).map(|()| Self)
    }

    pub fn encode(&self, w: &mut Writer) {
        buffers::encode_empty(w);
    }
}
