//! The one SMB1 message that the server understands: a NEGOTIATE that may ask for SMB2, MS-SMB
//! 2.2.4.5.1 and MS-CIFS 2.2.4.52.1.

use wire::{Malformed, Reader, Writer};

/// The first four bytes of an SMB1 message.
pub const PROTOCOL_ID: [u8; 4] = [0xFF, b'S', b'M', b'B'];

/// SMB_COM_NEGOTIATE, MS-CIFS 2.2.2.1.
const NEGOTIATE: u8 = 0x72;
/// The byte before each dialect, MS-CIFS 2.2.4.52.1.
const BUFFER_FORMAT: u8 = 2;

/// The dialects of an SMB1 NEGOTIATE, in the client's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negotiate<'a> {
    pub dialects: Vec<&'a [u8]>,
}

impl<'a> Negotiate<'a> {
    /// Says that the client speaks SMB 2.0.2, MS-SMB2 3.3.5.3.
    pub const SMB_2_002: &'static [u8] = b"SMB 2.002";
    /// Says that the client speaks later dialects of SMB2 too.
    pub const SMB_2_WILDCARD: &'static [u8] = b"SMB 2.???";

    /// Whether `dialect` is offered.
    pub fn offers(&self, dialect: &[u8]) -> bool {
        self.dialects.contains(&dialect)
    }

    /// Decodes the whole message. Any other SMB1 message is malformed here.
    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(message);
        if r.array()? != PROTOCOL_ID || r.u8()? != NEGOTIATE {
            return Err(Malformed("not an SMB1 NEGOTIATE"));
        }
        r.skip(27)?; // status, flags and ids
        if r.u8()? != 0 {
            return Err(Malformed("parameters in an SMB1 NEGOTIATE"));
        }
        let length = r.u16_le()?;
        let mut data = r.take(length.into())?;
        let mut dialects = Vec::new();
        while let Some((&format, rest)) = data.split_first() {
            let end = rest.iter().position(|&byte| byte == 0);
            let end = end.filter(|_| format == BUFFER_FORMAT).ok_or(Malformed("not a dialect"))?;
            dialects.push(&rest[..end]);
            data = &rest[end + 1..];
        }
        Ok(Self { dialects })
    }

    /// Encodes the whole message, with a minimal header.
    pub fn encode(&self, w: &mut Writer) {
        w.put(&PROTOCOL_ID);
        w.u8(NEGOTIATE);
        w.zeros(27);
        w.u8(0); // parameter words
        let length: usize = self.dialects.iter().map(|dialect| dialect.len() + 2).sum();
        w.u16_le(length as u16);
        for dialect in &self.dialects {
            w.u8(BUFFER_FORMAT);
            w.put(dialect);
            w.u8(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first message of macOS.
    const MESSAGE: &[u8] = b"\xffSMBr\0\0\0\0\x08\x01\xc8\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0\
        \0\x22\0\x02NT LM 0.12\0\x02SMB 2.002\0\x02SMB 2.???\0";

    #[test]
    fn the_dialects_are_strings_with_a_two_before() {
        let negotiate = Negotiate::decode(MESSAGE).unwrap();
        assert_eq!(negotiate.dialects, [&b"NT LM 0.12"[..], b"SMB 2.002", b"SMB 2.???"]);
        assert!(negotiate.offers(Negotiate::SMB_2_002) && negotiate.offers(Negotiate::SMB_2_WILDCARD));
        let mut w = Writer::new();
        negotiate.encode(&mut w);
        assert_eq!(w.as_bytes()[32..], MESSAGE[32..]);
    }

    #[test]
    fn other_messages_and_broken_strings_are_malformed() {
        for (at, byte) in [(4, 0x73), (32, 1), (33, 0x23), (35, 4), (MESSAGE.len() - 1, b'?')] {
            let mut bytes = MESSAGE.to_vec();
            bytes[at] = byte;
            assert!(Negotiate::decode(&bytes).is_err(), "byte {at}");
        }
        assert!(Negotiate::decode(&MESSAGE[..34]).is_err());
    }
}
