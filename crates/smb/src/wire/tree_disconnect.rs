//! TREE_DISCONNECT, MS-SMB2 2.2.11 and 2.2.12.

use wire::{Malformed, Writer};

use super::buffers::{decode_empty, encode_empty};

/// TREE_DISCONNECT request, MS-SMB2 2.2.11.
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

/// TREE_DISCONNECT response, MS-SMB2 2.2.12.
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
