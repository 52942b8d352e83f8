//! Messages of the AppleTalk Echo Protocol, "Inside AppleTalk" chapter 6.

use wire::{Malformed, Reader};

wire::number! {
    /// Whether it asks or answers.
    pub EchoFunction: u8 ["echo function {}"] {
        REQUEST = 1,
        REPLY = 2,
    }
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo<'a> {
    /// Whether it asks or answers.
    pub function: EchoFunction,
    /// Bytes that the answer repeats, at most 585.
    pub data: &'a [u8],
}

impl<'a> Echo<'a> {
    /// From a datagram's data.
    ///
    /// # Errors
    /// It is empty.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(payload);
        Ok(Self { function: EchoFunction(r.u8()?), data: r.rest() })
    }

    /// A datagram's data.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [&[self.function.0], self.data].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_is_the_function() {
        let echo = Echo { function: EchoFunction::REQUEST, data: b"ping" };
        assert_eq!(echo.encode(), b"\x01ping");
        assert_eq!(Echo::decode(b"\x01ping"), Ok(echo));
        assert!(Echo::decode(b"").is_err());
    }
}
