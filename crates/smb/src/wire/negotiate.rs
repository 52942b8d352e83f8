//! NEGOTIATE, MS-SMB2 2.2.3 and 2.2.4.

use wire::{Malformed, Writer};

use super::buffers::{self, pad8};
use super::negotiate_context::{self, Context};
use super::{Capabilities, Dialect, Header, SecurityMode};

/// NEGOTIATE request, MS-SMB2 2.2.3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub security_mode: SecurityMode,
    pub capabilities: Capabilities,
    pub client_guid: [u8; 16],
    pub dialects: Vec<Dialect>,
    /// Only of clients that offer 3.1.1.
    pub contexts: Vec<Context>,
}

/// How long the body of a request is before its dialects.
const REQUEST_FIXED: usize = 36;
/// How long the body of a response is before its buffer.
const RESPONSE_FIXED: usize = 64;

impl Request {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 36)?;
        let (dialect_count, security_mode) = (r.u16_le()?, SecurityMode(r.u16_le()?));
        r.skip(2)?; // reserved
        let (capabilities, client_guid) = (Capabilities(r.u32_le()?), r.array()?);
        let (context_offset, context_count) = (r.u32_le()?, r.u16_le()?);
        r.skip(2)?; // reserved
        let dialects = buffers::utf16(r.take(usize::from(dialect_count) * 2)?)?;
        let dialects: Vec<_> = dialects.into_iter().map(Dialect).collect();
        let contexts = match dialects.contains(&Dialect::SMB_3_1_1) {
            true => contexts(message, REQUEST_FIXED + dialects.len() * 2, context_offset, context_count)?,
            false => Vec::new(), // the fields are a start time that no client sends
        };
        Ok(Self { security_mode, capabilities, client_guid, dialects, contexts })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        w.u16_le(36);
        w.u16_le(self.dialects.len() as u16);
        w.u16_le(self.security_mode.0);
        w.u16_le(0); // reserved
        w.u32_le(self.capabilities.0);
        w.put(&self.client_guid);
        let context_offset = w.len();
        w.u32_le(0);
        w.u16_le(self.contexts.len() as u16);
        w.u16_le(0); // reserved
        self.dialects.iter().for_each(|dialect| w.u16_le(dialect.0));
        put_contexts(&self.contexts, start, context_offset, w);
    }
}

/// NEGOTIATE response, MS-SMB2 2.2.4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub security_mode: SecurityMode,
    pub dialect: Dialect,
    pub server_guid: [u8; 16],
    pub capabilities: Capabilities,
    pub max_transact_size: u32,
    pub max_read_size: u32,
    pub max_write_size: u32,
    /// A FILETIME.
    pub system_time: u64,
    /// A FILETIME; 0 since Windows 8.
    pub server_start_time: u64,
    /// The first token of SPNEGO.
    pub security_buffer: Vec<u8>,
    /// Only of 3.1.1.
    pub contexts: Vec<Context>,
}

impl Response {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 65)?;
        let (security_mode, dialect) = (SecurityMode(r.u16_le()?), Dialect(r.u16_le()?));
        let (context_count, server_guid) = (r.u16_le()?, r.array()?);
        let capabilities = Capabilities(r.u32_le()?);
        let (max_transact_size, max_read_size) = (r.u32_le()?, r.u32_le()?);
        let max_write_size = r.u32_le()?;
        let (system_time, server_start_time) = (r.u64_le()?, r.u64_le()?);
        let (offset, length, context_offset) = (r.u16_le()?, r.u16_le()?, r.u32_le()?);
        let security_buffer = buffers::buffer(message, RESPONSE_FIXED, offset, length)?.to_vec();
        let contexts = match dialect {
            Dialect::SMB_3_1_1 => contexts(message, RESPONSE_FIXED, context_offset, context_count)?,
            _ => Vec::new(),
        };
        Ok(Self {
            security_mode,
            dialect,
            server_guid,
            capabilities,
            max_transact_size,
            max_read_size,
            max_write_size,
            system_time,
            server_start_time,
            security_buffer,
            contexts,
        })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        w.u16_le(65);
        w.u16_le(self.security_mode.0);
        w.u16_le(self.dialect.0);
        w.u16_le(self.contexts.len() as u16);
        w.put(&self.server_guid);
        w.u32_le(self.capabilities.0);
        w.u32_le(self.max_transact_size);
        w.u32_le(self.max_read_size);
        w.u32_le(self.max_write_size);
        w.u64_le(self.system_time);
        w.u64_le(self.server_start_time);
        w.u16_le((Header::LEN + RESPONSE_FIXED) as u16);
        w.u16_le(self.security_buffer.len() as u16);
        let context_offset = w.len();
        w.u32_le(0);
        w.put(&self.security_buffer);
        put_contexts(&self.contexts, start, context_offset, w);
    }
}

fn contexts(message: &[u8], fixed: usize, offset: u32, count: u16) -> Result<Vec<Context>, Malformed> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let outside = Malformed("negotiate contexts outside of their message");
    let offset = usize::try_from(offset).map_err(|_| outside)?;
    let length = message.len().checked_sub(offset).filter(|_| offset.is_multiple_of(8)).ok_or(outside)?;
    negotiate_context::decode_list(buffers::buffer(message, fixed, offset, length)?, count)
}

/// Appends `contexts` to the body that began at `start`, and their offset at `offset_at`.
fn put_contexts(contexts: &[Context], start: usize, offset_at: usize, w: &mut Writer) {
    if contexts.is_empty() {
        return;
    }
    pad8(w, start);
    w.patch_u32_le(offset_at, (Header::LEN + w.len() - start) as u32);
    negotiate_context::encode_list(contexts, w);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::negotiate_context::Cipher;

    fn request() -> Request {
        Request {
            security_mode: SecurityMode::SIGNING_ENABLED,
            capabilities: Capabilities(0x7F),
            client_guid: *b"ABCDEFGHIJKLMNOP",
            dialects: vec![Dialect::SMB_2_0_2, Dialect::SMB_2_1, Dialect::SMB_3_1_1],
            contexts: vec![Context::Encryption(vec![Cipher::AES_128_GCM])],
        }
    }

    const REQUEST: &[u8] = b"\x24\0\x03\0\x01\0\0\0\x7f\0\0\0ABCDEFGHIJKLMNOP\x70\0\0\0\x01\0\0\0\
        \x02\x02\x10\x02\x11\x03\0\0\0\0\0\0\x02\0\x04\0\0\0\0\0\x01\0\x02\0";

    #[test]
    fn contexts_come_after_the_dialects_at_a_multiple_of_eight() {
        laid_out!(Request, REQUEST, request());
    }

    #[test]
    fn without_3_1_1_there_are_no_contexts() {
        let mut body = REQUEST.to_vec();
        body[40..42].copy_from_slice(&[0x02, 0x03]);
        let dialects = vec![Dialect::SMB_2_0_2, Dialect::SMB_2_1, Dialect::SMB_3_0_2];
        let request = Request { dialects, contexts: Vec::new(), ..request() };
        assert_eq!(Request::decode(&buffers::after_header(&body)), Ok(request));
    }

    #[test]
    fn counts_and_offsets_that_lie_are_malformed() {
        for (at, byte) in [(3, 1), (28, 0x71), (28, 0x68), (30, 1), (32, 2), (28, 0x78)] {
            let mut body = REQUEST.to_vec();
            body[at] = byte;
            assert!(Request::decode(&buffers::after_header(&body)).is_err(), "{byte} at {at}");
        }
    }

    #[test]
    fn a_response_of_3_1_1_has_a_token_and_contexts() {
        let response = Response {
            security_mode: SecurityMode::SIGNING_ENABLED | SecurityMode::SIGNING_REQUIRED,
            dialect: Dialect::SMB_3_1_1,
            server_guid: *b"abcdefghijklmnop",
            capabilities: Capabilities::LEASING | Capabilities::LARGE_MTU,
            max_transact_size: 0x0080_0000,
            max_read_size: 0x0080_0001,
            max_write_size: 0x0080_0002,
            system_time: 0x0102_0304_0506_0708,
            server_start_time: 0,
            security_buffer: b"token".to_vec(),
            contexts: vec![Context::Encryption(vec![Cipher::AES_128_GCM])],
        };
        let body = b"\x41\0\x03\0\x11\x03\x01\0abcdefghijklmnop\x06\0\0\0\0\0\x80\0\x01\0\x80\0\x02\0\x80\0\
            \x08\x07\x06\x05\x04\x03\x02\x01\0\0\0\0\0\0\0\0\x80\0\x05\0\x88\0\0\0token\0\0\0\
            \x02\0\x04\0\0\0\0\0\x01\0\x02\0";
        laid_out!(Response, body, response);
    }
}
