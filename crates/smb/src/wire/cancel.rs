//! CANCEL, MS-SMB2 2.2.30. It has no response.

use wire::{Malformed, Writer};

use super::buffers::{decode_empty, encode_empty};

/// CANCEL request, MS-SMB2 2.2.30. The header says which request is cancelled.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_its_structure_size() {
        laid_out!(Request, b"\x04\0\0\0", Request);
    }
}
