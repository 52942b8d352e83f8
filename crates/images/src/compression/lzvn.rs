//! LZVN, Apple's fast compression without entropy coding. The opcodes are those of Apple's public decoder (github.com/lzfse).

use wire::{Malformed, Reader};

use super::Output;

/// Decompresses up to the end of the stream; returns how many bytes were written, and how many were read.
pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Result<(usize, usize), Malformed> {
    let mut input = Reader::new(input);
    let mut output = Output::new(output);
    let mut distance = 0;
    loop {
        let opcode = input.u8()?;
        let operation = Operation::read(opcode, &mut input)?;
        let (literals, matched) = match operation {
            Operation::End => {
                input.skip(7)?;
                return Ok((output.written, input.position()));
            }
            Operation::Nothing => continue,
            Operation::Copy { literals, matched, distance: new } => {
                distance = new.unwrap_or(distance);
                (literals, matched)
            }
        };
        output.literals(input.take(literals)?)?;
        if matched > 0 {
            output.copy(distance, matched)?;
        }
    }
}

enum Operation {
    End,
    Nothing,
    /// Literals from the input, then bytes that were written before. The distance is the last one if there is none.
    Copy {
        literals: usize,
        matched: usize,
        distance: Option<usize>,
    },
}

impl Operation {
    /// Reads what follows an opcode, without the literals.
    fn read(opcode: u8, input: &mut Reader<'_>) -> Result<Self, Malformed> {
        let code = usize::from(opcode);
        let (literals, matched) = (code >> 6, (code >> 3 & 7) + 3);
        let copy = |literals, matched, distance| Ok(Self::Copy { literals, matched, distance });
        match opcode {
            0x06 => Ok(Self::End),
            0x0E | 0x16 => Ok(Self::Nothing),
            0x1E | 0x26 | 0x2E | 0x36 | 0x3E | 0x70..=0x7F | 0xD0..=0xDF => {
                Err(Malformed("it has an operation of LZVN that is not defined"))
            }
            0xA0..=0xBF => {
                let rest = usize::from(input.u16_le()?);
                copy(code >> 3 & 3, ((code & 7) << 2 | rest & 3) + 3, Some(rest >> 2))
            }
            0xE0 => copy(usize::from(input.u8()?) + 16, 0, None),
            0xE1..=0xEF => copy(code & 15, 0, None),
            0xF0 => copy(0, usize::from(input.u8()?) + 16, None),
            0xF1..=0xFF => copy(0, code & 15, None),
            _ => match code & 7 {
                6 => copy(literals, matched, None),
                7 => {
                    let distance = usize::from(input.u16_le()?);
                    copy(literals, matched, Some(distance))
                }
                high => {
                    let distance = high << 8 | usize::from(input.u8()?);
                    copy(literals, matched, Some(distance))
                }
            },
        }
    }
}
