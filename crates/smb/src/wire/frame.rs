//! The bytes before a message: the length in front of it on TCP (MS-SMB2 2.1), and the protocol id
//! that it begins with.

use wire::{Malformed, Reader, Writer};

use super::{compression, header, smb1, transform};

/// How many bytes stand before each message on TCP.
pub const PREFIX_LEN: usize = 4;
/// The longest message that the prefix can announce.
pub const MESSAGE_LIMIT: usize = 0x00FF_FFFF;

/// How long the message after `prefix` is: a zero, then 24 bits, big-endian. MS-SMB2 2.1.
pub fn decode(prefix: [u8; PREFIX_LEN]) -> Result<usize, Malformed> {
    match Reader::new(&prefix).u32_be()? as usize {
        length @ 0..=MESSAGE_LIMIT => Ok(length),
        _ => Err(Malformed("not a message of direct TCP")),
    }
}

/// Appends the prefix of a message of `length` bytes, which is at most [`MESSAGE_LIMIT`].
pub fn encode(length: usize, w: &mut Writer) {
    debug_assert!(length <= MESSAGE_LIMIT, "a message too long for its prefix");
    w.u32_be((length & MESSAGE_LIMIT) as u32);
}

/// What a message is, by the four bytes that it begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Smb1,
    Smb2,
    /// Encrypted, MS-SMB2 2.2.41.
    Transform,
    /// MS-SMB2 2.2.42.
    Compressed,
}

impl Kind {
    /// The kind of a message; `None` if its first bytes are unknown.
    pub fn of(message: &[u8]) -> Option<Self> {
        match *message.first_chunk()? {
            smb1::PROTOCOL_ID => Some(Self::Smb1),
            header::PROTOCOL_ID => Some(Self::Smb2),
            transform::PROTOCOL_ID => Some(Self::Transform),
            compression::PROTOCOL_ID => Some(Self::Compressed),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_a_zero_and_24_bits_big_endian() {
        assert_eq!(decode([0, 0, 1, 2]), Ok(258));
        assert_eq!(decode([0, 0xFF, 0xFF, 0xFF]), Ok(MESSAGE_LIMIT));
        let mut w = Writer::new();
        encode(0x0012_3456, &mut w);
        assert_eq!(w.as_bytes(), [0, 0x12, 0x34, 0x56]);
    }

    #[test]
    fn netbios_session_messages_are_not_served() {
        assert!(decode([0x81, 0, 0, 68]).is_err()); // RFC 1002 4.3.2: session request
        assert!(decode([0x85, 0, 0, 0]).is_err()); // RFC 1002 4.3.6: keep-alive
    }

    #[test]
    fn the_first_four_bytes_say_what_a_message_is() {
        assert_eq!(Kind::of(b"\xffSMBr"), Some(Kind::Smb1));
        assert_eq!(Kind::of(b"\xfeSMB@"), Some(Kind::Smb2));
        assert_eq!(Kind::of(b"\xfdSMB"), Some(Kind::Transform));
        assert_eq!(Kind::of(b"\xfcSMB"), Some(Kind::Compressed));
        assert_eq!(Kind::of(b"\xfbSMB"), None);
        assert_eq!(Kind::of(b"\xfeSM"), None);
    }
}
