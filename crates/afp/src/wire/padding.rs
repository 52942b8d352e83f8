//! Padding to even offsets, which are counted from the command's number. That number is not part of
//! the bytes here.

use wire::{Malformed, Reader, Writer};

/// Skips the padding byte at an odd offset, if any byte is left.
pub(super) fn skip_to_even(r: &mut Reader<'_>) -> Result<(), Malformed> {
    if r.position().is_multiple_of(2) && r.remaining() > 0 { r.skip(1) } else { Ok(()) }
}

/// Pads the bytes from `start` on, which is the position after the command's number.
pub(super) fn pad_to_even(w: &mut Writer, start: usize) {
    if (w.len() - start).is_multiple_of(2) {
        w.u8(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_counted_from_the_command() {
        let mut r = Reader::new(&[1, 2, 3, 4]);
        r.skip(1).unwrap(); // two bytes with the command: even
        skip_to_even(&mut r).unwrap();
        assert_eq!(r.u8(), Ok(2));
        skip_to_even(&mut r).unwrap();
        assert_eq!(r.rest(), [4]);
        skip_to_even(&mut r).unwrap();

        let mut w = Writer::onto(vec![9, 9]);
        w.u8(1);
        pad_to_even(&mut w, 2);
        w.u8(2);
        pad_to_even(&mut w, 2);
        assert_eq!(w.as_bytes(), [9, 9, 1, 2, 0]);
    }
}
