//! Strings and other fields of messages that are not numbers. Each is a module, whose name stands for the form of a
//! field in `wire::layout!`.

use wire::{Malformed, Reader, Writer};

/// A Pascal string: a byte with its length, its bytes.
pub mod pascal {
    use super::*;

    pub fn read<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
        let length = usize::from(r.u8()?);
        r.take(length)
    }

    /// The string is cut after 255 bytes: the caller knows the limit.
    pub fn put(w: &mut Writer, bytes: &[u8]) {
        let length = bytes.len().min(usize::from(u8::MAX));
        w.u8(length as u8);
        w.put(&bytes[..length]);
    }
}

/// A string with a length of two bytes.
pub mod long {
    use super::*;

    pub fn read<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
        let length = usize::from(r.u16_be()?);
        r.take(length)
    }

    /// The string is cut after 65,535 bytes: the caller knows the limit.
    pub fn put(w: &mut Writer, bytes: &[u8]) {
        let length = bytes.len().min(usize::from(u16::MAX));
        w.u16_be(length as u16);
        w.put(&bytes[..length]);
    }
}

/// Bytes with a length of four bytes.
pub(super) mod blob {
    use super::*;

    pub(in crate::wire) fn read<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(r.u32_be()?).unwrap_or(usize::MAX);
        r.take(length)
    }

    pub(in crate::wire) fn put(w: &mut Writer, bytes: &[u8]) {
        w.u32_be(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        w.put(bytes);
    }
}

/// All bytes up to the end.
pub(super) mod rest {
    use super::*;

    pub(in crate::wire) fn read<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
        Ok(r.rest())
    }

    pub(in crate::wire) fn put(w: &mut Writer, bytes: &[u8]) {
        w.put(bytes);
    }
}

/// A flag that is the highest bit of its byte.
pub(super) mod high_bit {
    use super::*;

    pub(in crate::wire) fn read(r: &mut Reader<'_>) -> Result<bool, Malformed> {
        Ok(r.u8()? & 0x80 != 0)
    }

    pub(in crate::wire) fn put(w: &mut Writer, is_set: &bool) {
        w.u8(u8::from(*is_set) << 7);
    }
}

/// Padding to an even offset, which is counted from the command's number. That number is not part of the bytes here.
pub(super) mod even {
    use super::*;

    /// Skips the padding byte at an odd offset, if any byte is left.
    pub(in crate::wire) fn skip(r: &mut Reader<'_>) -> Result<(), Malformed> {
        if r.position().is_multiple_of(2) && r.remaining() > 0 { r.skip(1) } else { Ok(()) }
    }

    /// Pads the bytes from `start` on, which is the position after the command's number.
    pub(in crate::wire) fn pad(w: &mut Writer, start: usize) {
        if (w.len() - start).is_multiple_of(2) {
            w.u8(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pascal_string_has_its_length_before_it() {
        let mut r = Reader::new(b"\x02abc");
        assert_eq!((pascal::read(&mut r), r.rest()), (Ok(&b"ab"[..]), &b"c"[..]));
        assert!(pascal::read(&mut Reader::new(b"\x03ab")).is_err());
        let mut w = Writer::new();
        pascal::put(&mut w, &[b'x'; 300]);
        assert_eq!((w.len(), w.as_bytes()[0]), (256, 255));
    }

    #[test]
    fn offsets_are_counted_from_the_command() {
        let mut r = Reader::new(&[1, 2, 3, 4]);
        r.skip(1).unwrap(); // two bytes with the command: even
        even::skip(&mut r).unwrap();
        assert_eq!(r.u8(), Ok(2));
        even::skip(&mut r).unwrap();
        assert_eq!(r.rest(), [4]);
        even::skip(&mut r).unwrap();

        let mut w = Writer::onto(vec![9, 9]);
        w.u8(1);
        even::pad(&mut w, 2);
        w.u8(2);
        even::pad(&mut w, 2);
        assert_eq!(w.as_bytes(), [9, 9, 1, 2, 0]);
    }
}
