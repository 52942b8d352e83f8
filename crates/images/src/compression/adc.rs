//! Apple Data Compression: literals, and repetitions with a distance of 10 or 16 bits.

use wire::{Malformed, Reader};

use super::Output;

pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Result<usize, Malformed> {
    let mut input = Reader::new(input);
    let mut output = Output::new(output);
    while input.remaining() > 0 && output.written < output.bytes.len() {
        let first = usize::from(input.u8()?);
        if first & 0x80 != 0 {
            output.literals(input.take((first & 0x7F) + 1)?)?;
        } else if first & 0x40 != 0 {
            let distance = usize::from(input.u16_be()?) + 1;
            output.copy(distance, (first & 0x3F) + 4)?;
        } else {
            let distance = ((first & 3) << 8 | usize::from(input.u8()?)) + 1;
            output.copy(distance, (first >> 2) + 3)?;
        }
    }
    Ok(output.written)
}
