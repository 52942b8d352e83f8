//! ECHO, MS-SMB2 2.2.28 and 2.2.29.

use wire::{Malformed, Writer};

use super::buffers::{decode_empty, encode_empty};

/// ECHO request, MS-SMB2 2.2.28.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request;

impl Request {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        decode_empty(message).map(|()| Self)
    }

    pub fn encode(&self, w: &mut Writer) {
        encode_empty(w);
    }
}

/// ECHO response, MS-SMB2 2.2.29.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response;

impl Response {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        decode_empty(message).map(|()| Self)
    }

    pub fn encode(&self, w: &mut Writer) {
        encode_empty(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_its_structure_size() {
        laid_out!(Request, b"\x04\0\0\0", Request);
        laid_out!(Response, b"\x04\0\0\0", Response);
    }
}
