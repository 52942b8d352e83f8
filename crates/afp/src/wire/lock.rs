//! Byte-range locks, Apple Filing Protocol Reference, FPByteRangeLock and FPByteRangeLockExt.

use wire::{Malformed, Reader, Writer};

use super::fork::{Width, Write};

/// The request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRangeLock {
    /// Unlocks the range.
    pub unlock: bool,
    /// `offset` counts from the end of the fork. Only for locking.
    pub from_end: bool,
    pub fork: u16,
    pub offset: i64,
    /// [`Self::TO_END`] is up to the end of the largest fork.
    pub length: i64,
}

impl ByteRangeLock {
    /// The length of a range up to the end of the fork, wherever the end will be.
    pub const TO_END: i64 = -1;
    const UNLOCK: u8 = 0x01;

    pub fn decode(width: Width, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let flags = r.u8()?;
        Ok(Self {
            unlock: flags & Self::UNLOCK != 0,
            from_end: flags & Write::FROM_END != 0,
            fork: r.u16_be()?,
            offset: width.decode(r)?,
            length: width.decode(r)?,
        })
    }

    pub fn encode(&self, width: Width, w: &mut Writer) {
        let flag = |set, flag| if set { flag } else { 0 };
        w.u8(flag(self.unlock, Self::UNLOCK) | flag(self.from_end, Write::FROM_END));
        w.u16_be(self.fork);
        width.encode(self.offset, w);
        width.encode(self.length, w);
    }
}

/// The reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The start of the range, counted from the start of the fork.
    pub start: i64,
}

impl Reply {
    pub fn decode(width: Width, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { start: width.decode(r)? })
    }

    pub fn encode(&self, width: Width, w: &mut Writer) {
        width.encode(self.start, w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_says_where_it_counts_from() {
        let bytes = b"\x80\0\x07\xff\xff\xff\xf6\xff\xff\xff\xff";
        let lock = ByteRangeLock {
            unlock: false,
            from_end: true,
            fork: 7,
            offset: -10,
            length: ByteRangeLock::TO_END,
        };
        assert_eq!(ByteRangeLock::decode(Width::Bits32, &mut Reader::new(bytes)), Ok(lock));
        let mut w = Writer::new();
        lock.encode(Width::Bits32, &mut w);
        assert_eq!(w.as_bytes(), bytes);
    }

    #[test]
    fn an_unlock_of_64_bits_says_start_and_length() {
        let bytes = b"\x01\0\x07\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x64";
        let lock = ByteRangeLock { unlock: true, from_end: false, fork: 7, offset: 1 << 32, length: 100 };
        assert_eq!(ByteRangeLock::decode(Width::Bits64, &mut Reader::new(bytes)), Ok(lock));
        let mut w = Writer::new();
        lock.encode(Width::Bits64, &mut w);
        assert_eq!(w.as_bytes(), bytes);
        let mut w = Writer::new();
        Reply { start: 1 << 32 }.encode(Width::Bits64, &mut w);
        assert_eq!(w.as_bytes(), &bytes[3..11]);
        assert_eq!(Reply::decode(Width::Bits32, &mut Reader::new(&[0, 0, 1, 0])), Ok(Reply { start: 256 }));
    }
}
