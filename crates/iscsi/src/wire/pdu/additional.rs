//! Additional header segments, RFC 7143 11.2.2.

use wire::{Malformed, Reader};

/// Longest command descriptor block, SPC-4 4.2.3.
pub const MAX_CDB: usize = 260;

/// The contents of the additional header segments of a SCSI command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Additional {
    /// The rest of a command of more than 16 bytes.
    pub cdb: Vec<u8>,
    /// How many bytes the initiator expects from a bidirectional command.
    pub bidirectional: Option<u32>,
}

impl Additional {
    /// Reads all segments. Segments of unknown types are skipped, as 11.2.2.1 says.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut all = Self::default();
        while r.remaining() > 0 {
            let (length, kind) = (usize::from(r.u16_be()?), r.u8()?);
            // The length counts the bytes after the type; the segment is padded to whole words,
            // which include its own first four bytes.
            let mut body = Reader::new(r.take(length)?);
            r.skip((4 - (length + 3) % 4) % 4)?;
            match kind & 0x3f {
                1 => {
                    body.skip(1)?;
                    if 16 + body.remaining() > MAX_CDB {
                        return Err(Malformed("a command longer than SCSI has"));
                    }
                    all.cdb = body.rest().to_vec();
                }
                2 => {
                    body.skip(1)?;
                    all.bidirectional = Some(body.u32_be()?);
                }
                _ => {}
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_32_byte_command_is_read() {
        let mut bytes = vec![0, 17, 1, 0];
        bytes.extend(16..32);
        let all = Additional::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(all.cdb, (16..32).collect::<Vec<u8>>());
    }

    #[test]
    fn an_expected_read_length_behind_an_unknown_header_is_read() {
        let bytes = [0, 2, 9, 0xaa, 0xbb, 0, 0, 0, 0, 5, 2, 0, 0, 0, 2, 0];
        let all = Additional::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(all.bidirectional, Some(512));
        assert!(Additional::decode(&mut Reader::new(&bytes[..15])).is_err());
    }
}
