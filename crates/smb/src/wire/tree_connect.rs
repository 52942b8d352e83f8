//! TREE_CONNECT, MS-SMB2 2.2.9 and 2.2.10.

use wire::{Malformed, Writer};

use super::layout::body;
use super::{Header, buffers};

wire::bits! {
    /// Of 3.1.1, MS-SMB2 2.2.9.
    pub RequestFlags: u16 {
        CLUSTER_RECONNECT = 1,
        REDIRECT_TO_OWNER = 2,
        /// An extension (2.2.9.1) stands before the path.
        EXTENSION_PRESENT = 4,
    }
}

wire::number! {
    /// MS-SMB2 2.2.10.
    pub ShareType: u8 {
        DISK = 1,
        PIPE = 2,
        PRINT = 3,
    }
}

wire::bits! {
    /// MS-SMB2 2.2.10. The two bits of offline caching are one number; 0 is manual caching.
    pub ShareFlags: u32 {
        DFS = 0x0000_0001,
        DFS_ROOT = 0x0000_0002,
        AUTO_CACHING = 0x0000_0010,
        VDO_CACHING = 0x0000_0020,
        NO_CACHING = 0x0000_0030,
        RESTRICT_EXCLUSIVE_OPENS = 0x0000_0100,
        FORCE_SHARED_DELETE = 0x0000_0200,
        ALLOW_NAMESPACE_CACHING = 0x0000_0400,
        ACCESS_BASED_DIRECTORY_ENUM = 0x0000_0800,
        FORCE_LEVEL_II_OPLOCK = 0x0000_1000,
        ENABLE_HASH_V1 = 0x0000_2000,
        ENABLE_HASH_V2 = 0x0000_4000,
        ENCRYPT_DATA = 0x0000_8000,
        IDENTITY_REMOTING = 0x0004_0000,
        COMPRESS_DATA = 0x0010_0000,
        ISOLATED_TRANSPORT = 0x0020_0000,
    }
}

wire::bits! {
    /// MS-SMB2 2.2.10.
    pub ShareCapabilities: u32 {
        DFS = 0x08,
        CONTINUOUS_AVAILABILITY = 0x10,
        SCALEOUT = 0x20,
        CLUSTER = 0x40,
        ASYMMETRIC = 0x80,
        REDIRECT_TO_OWNER = 0x100,
    }
}

/// TREE_CONNECT request, MS-SMB2 2.2.9. An extension is ignored: its contexts have nothing that a
/// server needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub flags: RequestFlags,
    /// `\\server\share`, in UTF-16.
    pub path: Vec<u16>,
}

/// How long the body of a request is before its buffer.
const REQUEST_FIXED: usize = 8;
/// How long an extension is before its path, MS-SMB2 2.2.9.1.
const EXTENSION_LEN: usize = 16;

impl Request {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 9)?;
        let (flags, offset, length) = (RequestFlags(r.u16_le()?), r.u16_le()?, r.u16_le()?);
        let path = buffers::utf16(buffers::buffer(message, REQUEST_FIXED, offset, length)?)?;
        Ok(Self { flags, path })
    }

    /// An extension has no contexts.
    pub fn encode(&self, w: &mut Writer) {
        let extension = if self.flags.contains(RequestFlags::EXTENSION_PRESENT) { EXTENSION_LEN } else { 0 };
        w.u16_le(9);
        w.u16_le(self.flags.0);
        w.u16_le((Header::LEN + REQUEST_FIXED + extension) as u16);
        w.u16_le((self.path.len() * 2) as u16);
        w.zeros(extension);
        buffers::put_utf16(w, &self.path);
    }
}

body! {
    /// TREE_CONNECT response, MS-SMB2 2.2.10.
    pub struct Response (16) {
        pub share_type: ShareType [1],
        pub share_flags: ShareFlags,
        pub capabilities: ShareCapabilities,
        /// An access mask.
        pub maximal_access: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(flags: RequestFlags) -> Request {
        Request { flags, path: r"\\s\a".encode_utf16().collect() }
    }

    #[test]
    fn a_request_has_a_path() {
        let body = b"\x09\0\0\0\x48\0\x0a\0\\\0\\\0s\0\\\0a\0";
        laid_out!(Request, body, request(RequestFlags::NONE));
    }

    #[test]
    fn an_extension_is_passed_over() {
        let body = b"\x09\0\x04\0\x58\0\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\\\0\\\0s\0\\\0a\0";
        laid_out!(Request, body, request(RequestFlags::EXTENSION_PRESENT));
    }

    #[test]
    fn the_response_says_what_the_share_is() {
        let body = b"\x10\0\x01\0\x31\0\0\0\x18\0\0\0\xff\x01\x1f\0";
        let response = Response {
            share_type: ShareType::DISK,
            share_flags: ShareFlags::DFS | ShareFlags::NO_CACHING,
            capabilities: ShareCapabilities::DFS | ShareCapabilities::CONTINUOUS_AVAILABILITY,
            maximal_access: 0x001F_01FF,
        };
        laid_out!(Response, body, response);
    }
}
