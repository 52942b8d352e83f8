//! The cursor that all decoders use. It never reads past the end of its bytes.

use std::fmt;

/// The bytes do not follow the specification. Says what was expected; a peer is told only its protocol's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed message: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// A cursor over received bytes. Every method fails with [`Malformed`] rather than read past the end.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

macro_rules! integers {
    ($($be:ident $le:ident $t:ty, $n:literal;)*) => {$(
        #[doc = concat!("A big-endian `", stringify!($t), "`.")]
        pub fn $be(&mut self) -> Result<$t, Malformed> {
            Ok(<$t>::from_be_bytes(self.array::<$n>()?))
        }
        #[doc = concat!("A little-endian `", stringify!($t), "`.")]
        pub fn $le(&mut self) -> Result<$t, Malformed> {
            Ok(<$t>::from_le_bytes(self.array::<$n>()?))
        }
    )*};
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    integers! {
        u16_be u16_le u16, 2;
        u32_be u32_le u32, 4;
        u64_be u64_le u64, 8;
        i16_be i16_le i16, 2;
        i32_be i32_le i32, 4;
        i64_be i64_le i64, 8;
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// The next `count` bytes, borrowed.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(Malformed("shorter than its fields say"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// The next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// Passes over `count` bytes.
    pub fn skip(&mut self, count: usize) -> Result<(), Malformed> {
        self.take(count).map(|_| ())
    }

    /// All bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Fails when bytes are left over.
    pub fn finish(self) -> Result<(), Malformed> {
        if self.remaining() == 0 { Ok(()) } else { Err(Malformed("bytes left over")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_byte_orders() {
        let mut r = Reader::new(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(r.u16_be(), Ok(0x0102));
        assert_eq!(r.u16_le(), Ok(0x0403));
        assert_eq!(r.u32_be(), Ok(0x0506_0708));
        assert_eq!(r.u8(), Ok(9));
        assert_eq!(r.finish(), Ok(()));
    }

    #[test]
    fn never_reads_past_the_end_and_stays_where_it_was() {
        let mut r = Reader::new(&[1, 2, 3]);
        assert!(r.u32_be().is_err());
        assert!(r.take(usize::MAX).is_err());
        assert_eq!(r.position(), 0);
        assert_eq!(r.rest(), &[1, 2, 3]);
    }

    #[test]
    fn left_over_bytes_are_an_error() {
        let mut r = Reader::new(&[0, 0, 0]);
        r.skip(2).unwrap();
        assert!(r.finish().is_err());
    }
}
