//! What stands at an even offset, counted from the command's number, which is not part of what is decoded here.

use wire::{Malformed, Reader, Writer};

/// Passes over the byte that an odd offset is padded with, where there is anything left.
pub(super) fn skip_to_even(r: &mut Reader<'_>) -> Result<(), Malformed> {
    if r.position().is_multiple_of(2) && r.remaining() > 0 { r.skip(1) } else { Ok(()) }
}

/// Pads what was written from `start` on, where the byte after the command's number is.
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
