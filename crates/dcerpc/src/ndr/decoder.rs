//! Arguments of a call out of their bytes, C706 chapter 14.

use wire::{Malformed, Reader, Sid};

use super::Handle;
use crate::tower::Tower;

/// Reads arguments.
///
/// Bytes after the last argument are no error: clients pad, and Windows appends a verification trailer (MS-RPCE 2.2.2.13)
/// that repeats what the headers said.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    r: Reader<'a>,
}

macro_rules! aligned {
    ($($name:ident $t:ty = $from:ident;)*) => {$(
        pub fn $name(&mut self) -> Result<$t, Malformed> {
            self.align(size_of::<$t>())?;
            self.r.$from()
        }
    )*};
}

impl<'a> Decoder<'a> {
    /// A decoder of the arguments `stub`.
    pub fn new(stub: &'a [u8]) -> Self {
        Self { r: Reader::new(stub) }
    }

    aligned! {
        u8 u8 = u8;
        u16 u16 = u16_le;
        u32 u32 = u32_le;
        u64 u64 = u64_le;
    }

    fn align(&mut self, size: usize) -> Result<(), Malformed> {
        let at = self.r.position();
        self.r.skip(at.next_multiple_of(size) - at)
    }

    /// The next bytes as they are.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.r.array()
    }

    /// A value in a form of its own, after the zeros up to a multiple of `size`.
    pub fn own_form<T>(
        &mut self,
        size: usize,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        self.align(size)?;
        read(&mut self.r)
    }

    /// Fails if there are bytes after the last argument.
    pub fn finish(self) -> Result<(), Malformed> {
        self.r.finish()
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.r.remaining()
    }

    /// A context handle.
    pub fn handle(&mut self) -> Result<Handle, Malformed> {
        self.align(4)?;
        self.r.array()
    }

    /// The bytes of a tower, `twr_t`, C706 appendix L.
    pub fn tower(&mut self) -> Result<&'a [u8], Malformed> {
        self.align(4)?;
        Tower::take(&mut self.r)
    }

    /// Whether a unique or full pointer points to something, C706 14.3.11.
    pub fn pointer(&mut self) -> Result<bool, Malformed> {
        Ok(self.u32()? != 0)
    }

    /// A number behind a unique pointer.
    pub fn unique_u32(&mut self) -> Result<Option<u32>, Malformed> {
        if self.pointer()? { Ok(Some(self.u32()?)) } else { Ok(None) }
    }

    /// `[string] wchar_t *` behind a reference pointer: a conformant and varying array, C706 14.3.4.3.
    pub fn wide_string(&mut self) -> Result<String, Malformed> {
        let mut text = self.wide_characters()?;
        if text.last() == Some(&0) {
            text.pop();
        }
        Ok(String::from_utf16_lossy(&text))
    }

    /// `[string, unique] wchar_t *`.
    pub fn unique_wide_string(&mut self) -> Result<Option<String>, Malformed> {
        if self.pointer()? { Ok(Some(self.wide_string()?)) } else { Ok(None) }
    }

    /// The part of an `RPC_UNICODE_STRING` (MS-DTYP 2.3.10) that stands inside its structure: whether characters follow.
    pub fn counted_head(&mut self) -> Result<bool, Malformed> {
        self.align(4)?;
        let (length, maximum) = (self.u16()?, self.u16()?);
        if length > maximum || !length.is_multiple_of(2) {
            return Err(Malformed("string longer than its buffer"));
        }
        self.pointer()
    }

    /// The part of an `RPC_UNICODE_STRING` that follows: its characters.
    pub fn counted_tail(&mut self) -> Result<String, Malformed> {
        Ok(String::from_utf16_lossy(&self.wide_characters()?))
    }

    /// A whole `RPC_UNICODE_STRING`.
    pub fn counted(&mut self) -> Result<String, Malformed> {
        if self.counted_head()? { self.counted_tail() } else { Ok(String::new()) }
    }

    /// The fixed parts of `count` elements, each `size` bytes long, in an array of `maximum`.
    pub fn heads(
        &mut self,
        count: u32,
        maximum: u32,
        size: usize,
        head: impl Fn(&mut Self) -> Result<bool, Malformed>,
    ) -> Result<Vec<bool>, Malformed> {
        if count != maximum || count as usize > self.remaining() / size {
            return Err(Malformed("an array of another length"));
        }
        (0..count).map(|_| head(self)).collect()
    }

    /// SIDs behind pointers in an array behind a pointer, after their count: MS-LSAT 2.2.18 and MS-SAMR 2.2.7.4.
    pub fn sids(&mut self) -> Result<Vec<Sid>, Malformed> {
        let count = self.u32()?;
        if !self.pointer()? {
            return if count == 0 { Ok(Vec::new()) } else { Err(Malformed("SIDs that are not there")) };
        }
        let maximum = self.u32()?;
        let heads = self.heads(count, maximum, 4, Self::pointer)?;
        let sid = |head| if head { self.sid() } else { Err(Malformed("a SID that is not there")) };
        heads.into_iter().map(sid).collect()
    }

    /// A SID behind a pointer, MS-DTYP 2.4.2.3.
    pub fn sid(&mut self) -> Result<Sid, Malformed> {
        let count = self.u32()?;
        let sid = Sid::decode(&mut self.r)?;
        if sid.subs().len() == count as usize { Ok(sid) } else { Err(Malformed("a SID of two lengths")) }
    }

    fn wide_characters(&mut self) -> Result<Vec<u16>, Malformed> {
        let (maximum, offset, actual) = (self.u32()?, self.u32()?, self.u32()?);
        if offset != 0 || actual > maximum {
            return Err(Malformed("string outside its array"));
        }
        let bytes = (actual as usize).checked_mul(2).ok_or(Malformed("string too long"))?;
        let bytes = self.r.take(bytes)?;
        Ok(bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_at_multiples_of_their_size() {
        let mut d = Decoder::new(&[1, 0xff, 2, 0, 3, 0, 0, 0]);
        assert_eq!((d.u8(), d.u16(), d.u32()), (Ok(1), Ok(2), Ok(3)));
    }

    #[test]
    fn a_string_ends_before_its_nul_and_stays_inside_its_array() {
        let bytes = [3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, b'a', 0, b'b', 0, 0, 0];
        assert_eq!(Decoder::new(&bytes).wide_string().as_deref(), Ok("ab"));
        for (at, value) in [(0, 2), (4, 1), (8, 4)] {
            let mut wrong = bytes;
            wrong[at] = value; // array shorter than the string, an offset, a string longer than the bytes
            assert!(Decoder::new(&wrong).wide_string().is_err());
        }
        let huge = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        assert!(Decoder::new(&huge).wide_string().is_err());
    }
}
