//! Strings in messages.

use wire::{Malformed, Reader, Writer};

/// A Pascal string: a byte with its length, its bytes.
pub fn pascal<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let length = usize::from(r.u8()?);
    r.take(length)
}

/// Writes a Pascal string, cut after 255 bytes: the caller knows the limit.
pub fn put_pascal(w: &mut Writer, bytes: &[u8]) {
    let length = bytes.len().min(usize::from(u8::MAX));
    w.u8(length as u8);
    w.put(&bytes[..length]);
}

/// A string with a length of two bytes.
pub fn long_string<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let length = usize::from(r.u16_be()?);
    r.take(length)
}

/// Writes a string with a length of two bytes, cut after 65,535 bytes.
pub fn put_long_string(w: &mut Writer, bytes: &[u8]) {
    let length = bytes.len().min(usize::from(u16::MAX));
    w.u16_be(length as u16);
    w.put(&bytes[..length]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pascal_string_has_its_length_before_it() {
        let mut r = Reader::new(b"\x02abc");
        assert_eq!((pascal(&mut r), r.rest()), (Ok(&b"ab"[..]), &b"c"[..]));
        assert!(pascal(&mut Reader::new(b"\x03ab")).is_err());
        let mut w = Writer::new();
        put_pascal(&mut w, &[b'x'; 300]);
        assert_eq!((w.len(), w.as_bytes()[0]), (256, 255));
    }
}
